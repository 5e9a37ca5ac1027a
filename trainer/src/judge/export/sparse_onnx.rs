use std::collections::BTreeMap;

use engine::chess::position::Game;
use engine::nets::encoding::{moves1, sparse1};
use engine::nets::eval::{CARD_FORMAT, Golden};
use prost::Message;

use super::golden::{POSITIONS, golden_games};
use crate::learn::sparse::{SparseModel, SparseTensor};
use engine::nets::onnx_file::proto::{self, FLOAT, INT8, INT16, INT64};
use engine::nets::sparse::SparseTensors;

/// As in every network that the trainer writes.
const OPSET: i64 = 17;
const IR_VERSION: i64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnnxStorage {
    Float,
    /// The engine's integers: INT8 for a tensor whose numbers all fit, else INT16. The file is a third to two fifths as
    /// large as with `Float`; its card says `int8` in either case.
    Integer,
}

pub fn sparse_onnx(name: &str, network: &SparseModel, config: &str, storage: OnnxStorage) -> Vec<u8> {
    let answers = match storage {
        OnnxStorage::Float => golden(network),
        OnnxStorage::Integer => golden(&rounded(network)),
    };
    let answers = serde_json::to_string(&answers).expect("numbers and text make JSON");
    let precision = match storage {
        OnnxStorage::Float => "fp32",
        OnnxStorage::Integer => "int8",
    };
    let entries = [
        ("format", CARD_FORMAT),
        ("input", sparse1::NAME),
        ("policy", moves1::NAME),
        ("value", "wdl"),
        ("name", name),
        ("family", "sparse"),
        ("config", config),
        ("precision", precision),
        ("golden", &answers),
    ];
    let property = |(key, value): (&str, &str)| proto::StringStringEntryProto {
        key: format!("philidor.{key}"),
        value: value.into(),
    };
    let model = proto::ModelProto {
        ir_version: IR_VERSION,
        producer_name: "philidor-trainer".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        graph: Some(GraphWriter::new(name, storage).network(network)),
        opset_import: vec![proto::OperatorSetIdProto { domain: String::new(), version: OPSET }],
        metadata_props: entries.into_iter().map(property).collect(),
    };
    model.encode_to_vec()
}

fn golden(network: &SparseModel) -> Vec<Golden> {
    let answer = |(game, (fen, moves)): (Game, &(&str, &str))| {
        let answer = network.probabilities(&game);
        let names = game.legal_moves().into_iter().map(|m| Game::uci(m, false));
        Golden {
            fen: (*fen).into(),
            moves: (*moves).into(),
            wdl: answer.wdl,
            policy: names.zip(answer.policy).collect::<BTreeMap<_, _>>(),
        }
    };
    golden_games().into_iter().zip(&POSITIONS).map(answer).collect()
}

/// Steps per 1.0 of a tensor that is stored as integers.
fn steps(tensor: &SparseTensor) -> Option<f32> {
    match tensor.name {
        "policy_embedding" | "policy_bias" | "value_embedding" | "value_bias" => {
            Some(SparseTensors::EMBEDDING_STEPS)
        }
        "rows_a" | "rows_b" => Some(SparseTensors::ROW_STEPS),
        _ => None,
    }
}

/// Rounds the weights as [`OnnxStorage::Integer`] stores them.
fn rounded(network: &SparseModel) -> SparseModel {
    let mut network = network.clone();
    for tensor in network.tensors_mut() {
        if let Some(steps) = steps(tensor) {
            tensor.w.iter_mut().for_each(|w| *w = (*w * steps).round() / steps);
        }
    }
    network
}

/// Data type and bytes: 8 bits if all numbers fit.
fn smallest_integers(numbers: Vec<i16>) -> (i32, Vec<u8>) {
    let narrow: Result<Vec<i8>, _> = numbers.iter().map(|number| i8::try_from(*number)).collect();
    match narrow {
        Ok(narrow) => (INT8, narrow.into_iter().flat_map(i8::to_le_bytes).collect()),
        Err(_) => (INT16, numbers.into_iter().flat_map(i16::to_le_bytes).collect()),
    }
}

struct GraphWriter {
    graph: proto::GraphProto,
    storage: OnnxStorage,
}

fn int(name: &str, i: i64) -> proto::AttributeProto {
    proto::AttributeProto { name: name.into(), i: Some(i), r#type: 2, ..proto::AttributeProto::default() }
}

fn value_info(name: &str, elem_type: i32, dims: &[Result<i64, &str>]) -> proto::ValueInfoProto {
    let dim = |dim: &Result<i64, &str>| match *dim {
        Ok(size) => proto::DimensionProto { dim_value: Some(size), dim_param: None },
        Err(name) => proto::DimensionProto { dim_value: None, dim_param: Some(name.into()) },
    };
    let tensor = proto::TensorTypeProto {
        elem_type,
        shape: Some(proto::TensorShapeProto { dim: dims.iter().map(dim).collect() }),
    };
    proto::ValueInfoProto { name: name.into(), r#type: Some(proto::TypeProto { tensor_type: Some(tensor) }) }
}

impl GraphWriter {
    fn new(name: &str, storage: OnnxStorage) -> GraphWriter {
        GraphWriter {
            graph: proto::GraphProto { name: name.into(), ..proto::GraphProto::default() },
            storage,
        }
    }

    fn network(mut self, network: &SparseModel) -> proto::GraphProto {
        let batch = Err("batch");
        for (name, axis) in [("features", "active"), ("moves_a", "moves"), ("moves_b", "moves")] {
            self.graph.input.push(value_info(name, INT64, &[batch, Err(axis)]));
        }
        self.integers("axis_1", &[1], &[1]);
        self.integers("axis_2", &[1], &[2]);
        let half = network.shape.half() as i64;
        self.integers("halves", &[2], &[half, half]);
        self.constant("zero", &[], FLOAT, 0f32.to_le_bytes().to_vec());
        self.constant("one", &[], FLOAT, 1f32.to_le_bytes().to_vec());

        let sums = self.body(&network.policy_embedding, &network.policy_bias);
        let clipped = self.node("Clip", &[&sums, "zero", "one"], vec![]);
        let halves = ["left", "right"];
        self.graph.node.push(proto::NodeProto {
            input: vec![clipped, "halves".into()],
            output: halves.map(String::from).to_vec(),
            name: "Split".into(),
            op_type: "Split".into(),
            attribute: vec![int("axis", 1)],
        });
        let hidden = self.node("Mul", &halves, vec![]);
        let column = self.node("Unsqueeze", &[&hidden, "axis_2"], vec![]);
        let rows_a = self.gathered(&network.rows_a, "moves_a");
        let rows_b = self.gathered(&network.rows_b, "moves_b");
        let rows = self.node("Add", &[&rows_a, &rows_b], vec![]);
        let product = self.node("MatMul", &[&rows, &column], vec![]);
        let product = self.node("Squeeze", &[&product, "axis_2"], vec![]);
        let bias_a = self.biases(&network.row_bias_a, "moves_a");
        let bias_b = self.biases(&network.row_bias_b, "moves_b");
        let bias = self.node("Add", &[&bias_a, &bias_b], vec![]);
        let logits = self.node("Add", &[&product, &bias], vec![]);
        self.output("policy", &logits, &[batch, Err("moves")]);

        let sums = self.body(&network.value_embedding, &network.value_bias);
        let body = self.clipped_square(&sums);
        let sums = self.dense(&body, &network.value_l1_weight, &network.value_l1_bias);
        let units = self.clipped_square(&sums);
        let wdl = self.dense(&units, &network.value_out_weight, &network.value_out_bias);
        self.output("wdl", &wdl, &[batch, Ok(3)]);
        self.graph
    }

    fn constant(&mut self, name: &str, dims: &[i64], data_type: i32, raw_data: Vec<u8>) {
        let tensor = proto::TensorProto {
            dims: dims.to_vec(),
            data_type,
            name: name.into(),
            raw_data,
            ..proto::TensorProto::default()
        };
        self.graph.initializer.push(tensor);
    }

    fn integers(&mut self, name: &str, dims: &[i64], numbers: &[i64]) {
        self.constant(name, dims, INT64, numbers.iter().flat_map(|n| n.to_le_bytes()).collect());
    }

    /// A row of zeros is added for padding if `padded`. Vectors have one axis.
    fn weights(&mut self, tensor: &SparseTensor, padded: bool) {
        let mut numbers = tensor.plain(&tensor.w);
        if padded {
            numbers.resize(numbers.len() + tensor.width, 0.0);
        }
        let [rows, width] = [numbers.len() / tensor.width, tensor.width].map(|n| n as i64);
        let dims = match (tensor.rows, tensor.width) {
            (1, _) => vec![width],
            (_, 1) => vec![rows],
            _ => vec![rows, width],
        };
        let steps = if self.storage == OnnxStorage::Integer { steps(tensor) } else { None };
        let (data_type, bytes) = match steps {
            None => (FLOAT, numbers.into_iter().flat_map(f32::to_le_bytes).collect()),
            Some(steps) => {
                smallest_integers(numbers.into_iter().map(|x| (x * steps).round() as i16).collect())
            }
        };
        self.constant(tensor.name, &dims, data_type, bytes);
    }

    fn node(&mut self, op: &str, inputs: &[&str], attribute: Vec<proto::AttributeProto>) -> String {
        let name = format!("{op}/{}", self.graph.node.len());
        self.graph.node.push(proto::NodeProto {
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output: vec![name.clone()],
            name: name.clone(),
            op_type: op.into(),
            attribute,
        });
        name
    }

    fn output(&mut self, name: &str, value: &str, dims: &[Result<i64, &str>]) {
        self.graph.output.push(value_info(name, FLOAT, dims));
        self.graph.node.push(proto::NodeProto {
            input: vec![value.into()],
            output: vec![name.into()],
            name: format!("output/{name}"),
            op_type: "Identity".into(),
            attribute: Vec::new(),
        });
    }

    /// `value` in fp32. In integer storage its unit is one step of `tensor`.
    fn scaled(&mut self, value: String, tensor: &SparseTensor) -> String {
        let (OnnxStorage::Integer, Some(steps)) = (self.storage, steps(tensor)) else { return value };
        let float = self.node("Cast", &[&value], vec![int("to", i64::from(FLOAT))]);
        let step = format!("step_{}", tensor.name);
        self.constant(&step, &[], FLOAT, steps.recip().to_le_bytes().to_vec());
        self.node("Mul", &[&float, &step], vec![])
    }

    /// Rows `[batch, n, width]` of the table at the input `indices`.
    fn gathered(&mut self, table: &SparseTensor, indices: &str) -> String {
        self.weights(table, true);
        let rows = self.node("Gather", &[table.name, indices], vec![int("axis", 0)]);
        self.scaled(rows, table)
    }

    /// Biases `[batch, n]` at the input `indices`.
    fn biases(&mut self, table: &SparseTensor, indices: &str) -> String {
        self.weights(table, true);
        self.node("Gather", &[table.name, indices], vec![int("axis", 0)])
    }

    /// `bias + Σ embedding[f]`, `[batch, width]`.
    fn body(&mut self, embedding: &SparseTensor, bias: &SparseTensor) -> String {
        let rows = self.gathered(embedding, "features");
        let sums = self.node("ReduceSum", &[&rows, "axis_1"], vec![int("keepdims", 0)]);
        self.weights(bias, false);
        let bias = self.scaled(bias.name.to_owned(), bias);
        self.node("Add", &[&sums, &bias], vec![])
    }

    fn clipped_square(&mut self, value: &str) -> String {
        let clipped = self.node("Clip", &[value, "zero", "one"], vec![]);
        self.node("Mul", &[&clipped, &clipped], vec![])
    }

    fn dense(&mut self, value: &str, weight: &SparseTensor, bias: &SparseTensor) -> String {
        self.weights(weight, false);
        self.weights(bias, false);
        let product = self.node("MatMul", &[value, weight.name], vec![]);
        self.node("Add", &[&product, bias.name], vec![])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::sparse::SparseShape;
    use engine::nets::sparse::{SparseFile, SparseNetwork};

    #[test]
    fn the_engine_reads_every_form_and_gives_the_golden_answers() {
        let narrow = SparseModel::new(SparseShape { policy: 128, value: 64, ..SparseShape::STANDARD }, 1);
        let mut wide = narrow.clone();
        wide.value_embedding.w[7] = 0.6;
        let forms =
            [(&narrow, OnnxStorage::Float), (&wide, OnnxStorage::Integer), (&narrow, OnnxStorage::Integer)];
        let sizes = forms.map(|(network, storage)| {
            let bytes = sparse_onnx("test", network, "{}", storage);
            // Loading checks the golden outputs.
            assert_eq!(SparseNetwork::read(&bytes).unwrap().name(), "test");
            let read = SparseModel::of_tensors(&SparseFile::recognise(&bytes).unwrap().tensors().unwrap());
            let expected = if storage == OnnxStorage::Float { network.clone() } else { rounded(network) };
            for (read, expected) in read.tensors().into_iter().zip(expected.tensors()) {
                let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
                assert!(read.w.iter().zip(&expected.w).all(close), "{}", read.name);
            }
            bytes.len()
        });
        assert!(sizes[1] < sizes[0] / 2, "{sizes:?}");
        // The value's embedding has a row of zeros more than features.
        let halved = (SparseShape::STANDARD.features + 1) * 64;
        assert!((sizes[1] - sizes[2]).abs_diff(halved) < 100, "{sizes:?}");
    }
}
