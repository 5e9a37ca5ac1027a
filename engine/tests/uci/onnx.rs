//! Small ONNX networks of any scheme, with two matrices: `logits = x · A · B`. Their answers are also computed here
//! without ONNX Runtime.

use std::path::PathBuf;

use engine::chess::position::Game;
use engine::nets::encoding::Policy;
use engine::nets::eval::{Golden, Schemes, ValueScheme, softmax};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const WIDTH: usize = 8;

const GOLDEN: [(&str, &str); 4] = [
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ""),
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e2e4 c7c5 g1f3"),
    ("r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R b KQkq - 8 8", ""),
    ("8/P6k/8/8/8/8/p6K/8 w - - 0 1", ""),
];

/// The policy over the legal moves in their order, and WDL.
pub fn probabilities(game: &Game, scheme: Policy, logits: &[f32], wdl: &[f32]) -> (Vec<f32>, [f32; 3]) {
    let index = |m: &shakmaty::Move| scheme.index(game.turn(), *m).offset();
    let mut policy: Vec<f32> = game.legal_moves().iter().map(|m| logits[index(m)]).collect();
    softmax(&mut policy);
    let mut wdl: [f32; 3] = wdl.try_into().expect("three");
    softmax(&mut wdl);
    (policy, wdl)
}

pub fn best_prior(game: &Game, priors: &[f32]) -> String {
    let best = priors.iter().zip(game.legal_moves()).max_by(|a, b| a.0.total_cmp(b.0));
    Game::uci(best.expect("a legal move").1, false)
}

pub fn golden(answer: impl Fn(&Game) -> (Vec<f32>, [f32; 3])) -> Vec<Golden> {
    let golden = |(fen, moves): (&str, &str)| {
        let game = Game::from_uci(Some(fen), moves.split_whitespace()).expect("legal moves");
        let (policy, wdl) = answer(&game);
        let names = game.legal_moves().into_iter().map(|m| Game::uci(m, false));
        Golden { fen: fen.into(), moves: moves.into(), wdl, policy: names.zip(policy).collect() }
    };
    GOLDEN.into_iter().map(golden).collect()
}

/// A network with random matrices.
pub struct Tiny {
    schemes: Schemes,
    into: Vec<f32>,
    policy: Vec<f32>,
    wdl: Vec<f32>,
}

impl Tiny {
    pub fn new(schemes: Schemes, seed: u64) -> Tiny {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut matrix = |rows: usize, columns: usize, scale: f32| -> Vec<f32> {
            (0..rows * columns).map(|_| (random.random::<f32>() - 0.5) * scale).collect()
        };
        Tiny {
            schemes,
            into: matrix(schemes.input.size(), WIDTH, 1.0),
            policy: matrix(WIDTH, schemes.policy.size(), 1.0),
            wdl: matrix(WIDTH, 3, 0.5),
        }
    }

    /// Returns policy and WDL like [`probabilities`].
    pub fn answer(&self, game: &Game) -> (Vec<f32>, [f32; 3]) {
        let input = self.schemes.input.tensor(std::slice::from_ref(game));
        let hidden = product(&input, &self.into, WIDTH);
        let logits = product(&hidden, &self.policy, self.schemes.policy.size());
        probabilities(game, self.schemes.policy, &logits, &product(&hidden, &self.wdl, 3))
    }

    pub fn best_prior(&self, game: &Game) -> String {
        best_prior(game, &self.answer(game).0)
    }

    pub fn golden(&self) -> Vec<Golden> {
        golden(|game| self.answer(game))
    }

    /// Writes the network into the target folder, with a card that has these golden answers.
    pub fn write(&self, name: &str, golden: &[Golden]) -> PathBuf {
        self.write_as(name, self.schemes, golden)
    }

    /// As `write`, but the card names these schemes.
    pub fn write_as(&self, name: &str, named: Schemes, golden: &[Golden]) -> PathBuf {
        let Schemes { input, policy, value } = self.schemes;
        let matrices = [
            tensor("a", &[input.size(), WIDTH], &self.into),
            tensor("b", &[WIDTH, policy.size()], &self.policy),
            tensor("c", &[WIDTH, 3], &self.wdl),
        ];
        let mut nodes = vec![
            node("Flatten", &["input"], "x"),
            node("MatMul", &["x", "a"], "h"),
            node("MatMul", &["h", "b"], "policy"),
        ];
        let mut outputs = vec![("policy", vec![policy.size()])];
        if value == ValueScheme::Wdl {
            nodes.push(node("MatMul", &["h", "c"], "wdl"));
            outputs.push(("wdl", vec![3]));
        }
        let golden = serde_json::to_string(golden).expect("JSON");
        let card = card(name, "linear", named, &golden);
        write_model(name, &nodes, &matrices, &[("input", input.shape().to_vec())], &outputs, &card)
    }
}

/// The card of an fp32 network.
pub fn card<'a>(
    name: &'a str,
    family: &'a str,
    schemes: Schemes,
    golden: &'a str,
) -> Vec<(&'static str, &'a str)> {
    vec![
        ("format", "1"),
        ("name", name),
        ("family", family),
        ("input", schemes.input.name()),
        ("policy", schemes.policy.name()),
        ("value", schemes.value.name()),
        ("precision", "fp32"),
        ("config", "{}"),
        ("golden", golden),
    ]
}

/// A tensor's name and shape without the batch axis.
pub type Outlet = (&'static str, Vec<usize>);

pub fn write_model(
    name: &str,
    nodes: &[Vec<u8>],
    constants: &[Vec<u8>],
    inputs: &[Outlet],
    outputs: &[Outlet],
    card: &[(&str, &str)],
) -> PathBuf {
    let mut graph: Vec<u8> = nodes.iter().flat_map(|node| field(1, node)).collect();
    graph.extend(field(2, name.as_bytes()));
    constants.iter().for_each(|constant| graph.extend(field(5, constant)));
    inputs.iter().for_each(|(name, shape)| graph.extend(field(11, &value_info(name, shape))));
    outputs.iter().for_each(|(name, shape)| graph.extend(field(12, &value_info(name, shape))));
    // The model: IR version 8, graph, operator set 17, card.
    let mut model = [number(1, 8), field(7, &graph), field(8, &number(2, 17))].concat();
    for (key, value) in card {
        let key = format!("philidor.{key}");
        model.extend(field(14, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat()));
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.onnx"));
    std::fs::write(&path, model).expect("the network is written");
    path
}

/// `matrix` is row-major.
pub fn product(x: &[f32], matrix: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0; columns];
    for (x, row) in x.iter().zip(matrix.chunks_exact(columns)) {
        sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += x * weight);
    }
    sums
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A protobuf field with a number.
fn number(id: u64, value: u64) -> Vec<u8> {
    [varint(id << 3), varint(value)].concat()
}

/// A protobuf field with bytes.
fn field(id: u64, bytes: &[u8]) -> Vec<u8> {
    [&varint(id << 3 | 2)[..], &varint(bytes.len() as u64), bytes].concat()
}

/// A NodeProto.
pub fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|input| field(1, input.as_bytes()));
    inputs.chain(field(2, output.as_bytes())).chain(field(4, operator.as_bytes())).collect()
}

/// A TensorProto of floats.
pub fn tensor(name: &str, shape: &[usize], data: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    let shape = shape.iter().flat_map(|size| number(1, *size as u64));
    shape.chain(number(2, 1)).chain(field(8, name.as_bytes())).chain(field(9, &bytes)).collect()
}

/// A TensorProto of integers with one axis.
pub fn integers(name: &str, data: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    [number(1, data.len() as u64), number(2, 7), field(8, name.as_bytes()), field(9, &bytes)].concat()
}

/// A ValueInfoProto of floats with the shape `[batch] + shape`.
fn value_info(name: &str, shape: &[usize]) -> Vec<u8> {
    let batch = field(1, &field(2, b"batch"));
    let shape = shape.iter().flat_map(|size| field(1, &number(1, *size as u64)));
    let shape: Vec<u8> = batch.into_iter().chain(shape).collect();
    let tensor = [number(1, 1), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}
