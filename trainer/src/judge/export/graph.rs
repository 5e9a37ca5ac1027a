//! Builds ONNX graphs, with one method per operator.

use engine::nets::onnx_file::proto::{
    AttributeProto, DimensionProto, FLOAT, GraphProto, INT64, ModelProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};

/// The first operator set with LayerNormalization.
const OPSET: i64 = 17;
const IR_VERSION: i64 = 8;

#[derive(Clone, Debug)]
pub struct GraphValue(String);

/// Every shape starts with the batch axis.
#[derive(Default)]
pub struct GraphBuilder {
    graph: GraphProto,
}

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i: Some(i), r#type: 2, ..AttributeProto::default() }
}

fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto { name: name.into(), f: Some(f), r#type: 1, ..AttributeProto::default() }
}

fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { name: name.into(), ints: ints.to_vec(), r#type: 7, ..AttributeProto::default() }
}

impl GraphBuilder {
    /// Input of shape `[batch] + dims`.
    pub fn input(&mut self, name: &str, dims: &[i64]) -> GraphValue {
        self.graph.input.push(value_info(name, dims));
        GraphValue(name.into())
    }

    pub fn output(&mut self, name: &str, value: &GraphValue, dims: &[i64]) {
        self.graph.output.push(value_info(name, dims));
        self.graph.node.push(NodeProto {
            input: vec![value.0.clone()],
            output: vec![name.into()],
            name: format!("output/{name}"),
            op_type: "Identity".into(),
            attribute: Vec::new(),
        });
    }

    fn constant(&mut self, dims: &[i64], data_type: i32, raw_data: Vec<u8>) -> GraphValue {
        let name = format!("constant/{}", self.graph.initializer.len());
        self.graph.initializer.push(TensorProto {
            dims: dims.to_vec(),
            data_type,
            name: name.clone(),
            raw_data,
            ..TensorProto::default()
        });
        GraphValue(name)
    }

    /// fp32 constant, row-major.
    pub fn floats(&mut self, dims: &[i64], data: &[f32]) -> GraphValue {
        debug_assert_eq!(dims.iter().product::<i64>(), data.len() as i64);
        self.constant(dims, FLOAT, data.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    fn integers(&mut self, data: &[i64]) -> GraphValue {
        let bytes = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(&[data.len() as i64], INT64, bytes)
    }

    fn node(&mut self, op: &str, inputs: &[&GraphValue], attribute: Vec<AttributeProto>) -> GraphValue {
        let name = format!("{op}/{}", self.graph.node.len());
        self.graph.node.push(NodeProto {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: vec![name.clone()],
            name: name.clone(),
            op_type: op.into(),
            attribute,
        });
        GraphValue(name)
    }

    /// The weight is `[out, in, kernel, kernel]`. Stride 1; padding keeps the board's size.
    pub fn conv(
        &mut self,
        x: &GraphValue,
        weight: &GraphValue,
        bias: Option<&GraphValue>,
        kernel: i64,
    ) -> GraphValue {
        let pad = kernel / 2;
        let attributes = vec![ints("kernel_shape", &[kernel; 2]), ints("pads", &[pad; 4])];
        match bias {
            Some(bias) => self.node("Conv", &[x, weight, bias], attributes),
            None => self.node("Conv", &[x, weight], attributes),
        }
    }

    /// `x · weightᵀ + bias`; the weight is `[out, in]`.
    pub fn gemm(&mut self, x: &GraphValue, weight: &GraphValue, bias: &GraphValue) -> GraphValue {
        self.node("Gemm", &[x, weight, bias], vec![int("transB", 1)])
    }

    /// Over the last two axes.
    pub fn matmul(&mut self, a: &GraphValue, b: &GraphValue) -> GraphValue {
        self.node("MatMul", &[a, b], Vec::new())
    }

    pub fn add(&mut self, a: &GraphValue, b: &GraphValue) -> GraphValue {
        self.node("Add", &[a, b], Vec::new())
    }

    pub fn sub(&mut self, a: &GraphValue, b: &GraphValue) -> GraphValue {
        self.node("Sub", &[a, b], Vec::new())
    }

    pub fn concat(&mut self, values: &[&GraphValue], axis: i64) -> GraphValue {
        self.node("Concat", values, vec![int("axis", axis)])
    }

    /// `x` has shape `dims`, the result `[batch] + dims`.
    pub fn repeat_for_batch(&mut self, batch: &GraphValue, x: &GraphValue, dims: &[i64]) -> GraphValue {
        let size = self.node("Shape", &[batch], vec![int("start", 0), int("end", 1)]);
        let dims = self.integers(dims);
        let shape = self.concat(&[&size, &dims], 0);
        self.node("Expand", &[x, &shape], Vec::new())
    }

    pub fn mul(&mut self, a: &GraphValue, b: &GraphValue) -> GraphValue {
        self.node("Mul", &[a, b], Vec::new())
    }

    pub fn relu(&mut self, x: &GraphValue) -> GraphValue {
        self.node("Relu", &[x], Vec::new())
    }

    pub fn sigmoid(&mut self, x: &GraphValue) -> GraphValue {
        self.node("Sigmoid", &[x], Vec::new())
    }

    pub fn tanh(&mut self, x: &GraphValue) -> GraphValue {
        self.node("Tanh", &[x], Vec::new())
    }

    /// `½ · x · (1 + erf(x/√2))`, a form that ONNX Runtime fuses into one operator.
    pub fn gelu(&mut self, x: &GraphValue) -> GraphValue {
        let root = self.floats(&[1], &[std::f32::consts::SQRT_2]);
        let one = self.floats(&[1], &[1.0]);
        let half = self.floats(&[1], &[0.5]);
        let scaled = self.node("Div", &[x, &root], Vec::new());
        let erf = self.node("Erf", &[&scaled], Vec::new());
        let sum = self.add(&erf, &one);
        let product = self.mul(x, &sum);
        self.mul(&product, &half)
    }

    /// `x · tanh(ln(1 + eˣ))`
    pub fn mish(&mut self, x: &GraphValue) -> GraphValue {
        let softplus = self.node("Softplus", &[x], Vec::new());
        let gate = self.node("Tanh", &[&softplus], Vec::new());
        self.mul(x, &gate)
    }

    /// Mean of each channel: `[batch, c, 8, 8]` to `[batch, c, 1, 1]`.
    pub fn global_average(&mut self, x: &GraphValue) -> GraphValue {
        self.node("GlobalAveragePool", &[x], Vec::new())
    }

    /// Normalises `[batch, c, …]` per sample and channel.
    pub fn instance_norm(
        &mut self,
        x: &GraphValue,
        scale: &GraphValue,
        shift: &GraphValue,
        epsilon: f64,
    ) -> GraphValue {
        self.node("InstanceNormalization", &[x, scale, shift], vec![float("epsilon", epsilon as f32)])
    }

    /// Normalises over the last axis.
    pub fn layer_norm(
        &mut self,
        x: &GraphValue,
        scale: &GraphValue,
        shift: &GraphValue,
        epsilon: f64,
    ) -> GraphValue {
        let attributes = vec![int("axis", -1), float("epsilon", epsilon as f32)];
        self.node("LayerNormalization", &[x, scale, shift], attributes)
    }

    pub fn softmax(&mut self, x: &GraphValue) -> GraphValue {
        self.node("Softmax", &[x], vec![int("axis", -1)])
    }

    pub fn transpose(&mut self, x: &GraphValue, axes: &[i64]) -> GraphValue {
        self.node("Transpose", &[x], vec![ints("perm", axes)])
    }

    /// To `[batch] + dims`; one dimension may be −1 (inferred).
    pub fn reshape(&mut self, x: &GraphValue, dims: &[i64]) -> GraphValue {
        // 0 keeps the batch axis.
        let shape: Vec<i64> = std::iter::once(0).chain(dims.iter().copied()).collect();
        let shape = self.integers(&shape);
        self.node("Reshape", &[x, &shape], Vec::new())
    }

    /// Takes element `index` of an axis and removes the axis.
    pub fn pick(&mut self, x: &GraphValue, axis: i64, index: i64) -> GraphValue {
        let index = self.constant(&[], INT64, index.to_le_bytes().to_vec());
        self.node("Gather", &[x, &index], vec![int("axis", axis)])
    }

    pub fn select(&mut self, x: &GraphValue, axis: i64, indices: &[i64]) -> GraphValue {
        let indices = self.integers(indices);
        self.node("Gather", &[x, &indices], vec![int("axis", axis)])
    }

    pub fn finish(self, name: &str, metadata: Vec<(String, String)>) -> ModelProto {
        ModelProto {
            ir_version: IR_VERSION,
            producer_name: "philidor-trainer".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            graph: Some(GraphProto { name: name.into(), ..self.graph }),
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPSET }],
            metadata_props: metadata
                .into_iter()
                .map(|(key, value)| StringStringEntryProto { key, value })
                .collect(),
        }
    }
}

fn value_info(name: &str, dims: &[i64]) -> ValueInfoProto {
    let batch = DimensionProto { dim_param: Some("batch".into()), dim_value: None };
    let fixed = |dim: &i64| DimensionProto { dim_value: Some(*dim), dim_param: None };
    let dim = std::iter::once(batch).chain(dims.iter().map(fixed)).collect();
    let tensor = TensorTypeProto { elem_type: FLOAT, shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}
