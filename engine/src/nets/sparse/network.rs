use std::path::Path;
use std::sync::Arc;

use thiserror::Error;

use super::evaluator::SparseEvaluator;
use super::integers::Weights;
use super::simd::Level;
use super::tensors::SparseTensors;
use crate::nets::encoding::{moves1, sparse1};
use crate::nets::eval::{CARD_FORMAT, CardError, Golden, GoldenError, ValueScheme, golden, parse_golden};
use crate::nets::onnx_file::OnnxFile;

/// Largest difference of a probability from its fp32 golden answer.
pub const TOLERANCE: f32 = 0.03;

/// Clones share the weights.
#[derive(Clone, Debug)]
pub struct SparseNetwork {
    weights: Arc<Weights>,
    name: String,
}

#[derive(Debug, Error)]
pub enum SparseError {
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    #[error("not an ONNX model: {0}")]
    NotOnnx(String),
    #[error(transparent)]
    Card(#[from] CardError),
    #[error("there is no initialiser {0}")]
    Missing(&'static str),
    #[error("{name} is {found}, expected {expected}")]
    Shape { name: &'static str, found: String, expected: String },
    #[error("{name} is too large for integers: {found}")]
    TooLarge { name: &'static str, found: String },
    #[error("a golden answer is not reproduced: {0}")]
    Golden(#[from] GoldenError),
}

pub struct SparseFile(OnnxFile);

impl SparseFile {
    /// `None` if the bytes are not a network of this family.
    pub fn recognise(bytes: &[u8]) -> Option<SparseFile> {
        let file = OnnxFile::read(bytes).ok()?;
        let is_sparse = file.metadata.get("philidor.family").is_some_and(|family| family == "sparse");
        is_sparse.then_some(SparseFile(file))
    }

    pub fn tensors(&self) -> Result<SparseTensors, SparseError> {
        SparseTensors::read(&self.0)
    }

    pub fn network(&self) -> Result<SparseNetwork, SparseError> {
        let SparseFile(file) = self;
        let golden = card(file)?;
        let name = file.metadata.get("philidor.name").cloned().unwrap_or_default();
        let network = SparseNetwork { name, ..SparseNetwork::new(&SparseTensors::read(file)?)? };
        golden::compare(&mut network.evaluator(), &golden, ValueScheme::Wdl, TOLERANCE)?;
        Ok(network)
    }

    pub fn check(&self, evaluator: &mut SparseEvaluator) -> Result<(), SparseError> {
        Ok(golden::compare(evaluator, &card(&self.0)?, ValueScheme::Wdl, TOLERANCE)?)
    }
}

/// A `static`, because each use of a `const` could copy the bytes.
static EMBEDDED: &[u8] = include_bytes!(env!("EMBEDDED_NETWORK"));

impl SparseNetwork {
    pub fn embedded_file() -> &'static [u8] {
        EMBEDDED
    }

    pub fn load(path: &Path) -> Result<SparseNetwork, SparseError> {
        SparseNetwork::read(&std::fs::read(path).map_err(SparseError::Unreadable)?)
    }

    pub fn embedded() -> SparseNetwork {
        SparseNetwork::read(EMBEDDED).expect("the embedded network is sound")
    }

    pub fn read(bytes: &[u8]) -> Result<SparseNetwork, SparseError> {
        SparseFile(OnnxFile::read(bytes).map_err(SparseError::NotOnnx)?).network()
    }

    pub fn new(tensors: &SparseTensors) -> Result<SparseNetwork, SparseError> {
        Ok(SparseNetwork { weights: Arc::new(Weights::new(tensors)?), name: String::new() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn describe(&self) -> String {
        format!("{} (family sparse, native, {})", self.name, self.evaluator().instructions())
    }

    pub fn evaluator(&self) -> SparseEvaluator {
        SparseEvaluator::new(self.weights.clone(), Level::best())
    }

    /// One per instruction set of this machine, best first. All give the same answers.
    pub fn evaluators(&self) -> Vec<SparseEvaluator> {
        Level::all().into_iter().map(|level| SparseEvaluator::new(self.weights.clone(), level)).collect()
    }
}

/// The card must be of this family.
fn card(file: &OnnxFile) -> Result<Vec<Golden>, CardError> {
    let get = |name: &'static str| file.metadata.get(name).ok_or(CardError::Missing(name));
    let schemes = [
        ("philidor.format", CARD_FORMAT),
        ("philidor.family", "sparse"),
        ("philidor.input", sparse1::NAME),
        ("philidor.policy", moves1::NAME),
        ("philidor.value", "wdl"),
    ];
    for (property, expected) in schemes {
        let found = get(property)?;
        if found != expected {
            let (found, expected) = (found.clone(), format!("\"{expected}\""));
            return Err(CardError::Unknown { property, found, expected });
        }
    }
    parse_golden(get("philidor.golden")?)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::chess::position::Game;
    use crate::nets::onnx_file::tests::file;

    const PLACES: [(&str, &str); 4] = [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ""),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e2e4 e7e5 g1f3"),
        ("r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 1", ""),
        ("8/P6k/8/8/8/8/7K/8 w - - 12 60", ""),
    ];

    fn tensors() -> SparseTensors {
        SparseTensors::random(128, 64, 7)
    }

    fn golden(network: &SparseNetwork) -> Vec<Golden> {
        let mut evaluator = network.evaluator();
        let answers = PLACES.iter().map(|(fen, moves)| {
            let mut golden = Golden {
                fen: (*fen).into(),
                moves: (*moves).into(),
                wdl: [0.0; 3],
                policy: Default::default(),
            };
            let game = Game::from_uci(Some(fen), moves.split_whitespace()).unwrap();
            let legal = game.legal_moves();
            let mut priors = vec![0.0; legal.len()];
            let wdl = evaluator.evaluate_into(&game, &legal, &mut priors);
            golden.wdl = [wdl.win, wdl.draw, wdl.loss];
            golden.policy = legal.iter().map(|m| Game::uci(*m, false)).zip(priors).collect();
            golden
        });
        answers.collect()
    }

    fn bytes(tensors: &SparseTensors, golden: &[Golden], family: &str) -> Vec<u8> {
        let golden = serde_json::to_string(golden).unwrap();
        let named = tensors.named();
        let named: Vec<_> = named.iter().map(|(name, shape, values)| (*name, &shape[..], *values)).collect();
        let metadata = [
            ("philidor.format", "1"),
            ("philidor.name", "small"),
            ("philidor.family", family),
            ("philidor.input", "sparse/1"),
            ("philidor.policy", "moves/1"),
            ("philidor.value", "wdl"),
            ("philidor.golden", &golden),
        ];
        file(&named, &metadata)
    }

    pub fn small_file() -> Vec<u8> {
        let tensors = tensors();
        let golden = golden(&SparseNetwork::new(&tensors).unwrap());
        bytes(&tensors, &golden, "sparse")
    }

    fn refused(bytes: &[u8]) -> String {
        SparseNetwork::read(bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_read_and_its_golden_answers_are_checked() {
        let tensors = tensors();
        let mut golden = golden(&SparseNetwork::new(&tensors).unwrap());
        let read = SparseNetwork::read(&bytes(&tensors, &golden, "sparse")).unwrap();
        assert_eq!(read.name(), "small");
        assert_eq!(read.weights.embedding.len(), SparseTensors::FEATURE_ROWS * (128 + 64) / 32);
        golden[2].wdl[1] += 0.05;
        let error = refused(&bytes(&tensors, &golden, "sparse"));
        assert!(error.contains("draw") && error.contains("r3k2r"), "{error}");
        golden[2].wdl[1] -= 0.05;
        golden[3].policy.remove("a7a8q");
        let error = refused(&bytes(&tensors, &golden, "sparse"));
        assert!(error.contains("no answer for a7a8q"), "{error}");
    }

    #[test]
    fn what_is_no_such_network_is_refused() {
        let tensors = tensors();
        let golden = golden(&SparseNetwork::new(&tensors).unwrap());
        let error = refused(&bytes(&tensors, &golden, "resnet"));
        assert_eq!(error, "philidor.family is \"resnet\", expected \"sparse\"");
        let refused = |change: fn(&mut SparseTensors)| {
            let mut changed = tensors.clone();
            change(&mut changed);
            refused(&bytes(&changed, &golden, "sparse"))
        };
        let error = refused(|tensors| tensors.rows_a[5] = 2.0);
        assert_eq!(error, "rows_a is too large for integers: 2, at most 1.984");
        let error = refused(|tensors| tensors.policy_embedding[5] = f32::NAN);
        assert!(error.starts_with("policy_embedding is too large"), "{error}");
        let error = refused(|tensors| tensors.value_l1_weight.fill(63.0));
        assert!(error.starts_with("value_l1_weight is too large for integers: weights of unit 0"), "{error}");
        let error = refused(|tensors| tensors.layer_width = 31);
        assert_eq!(error, "value_l1_weight is 2048 numbers, expected [64, 31]");
        let error = refused(|tensors| tensors.rows_b.truncate(64));
        assert_eq!(error, "rows_b is 64 numbers, expected [3329, 64]");
        let error = refused(|tensors| tensors.policy_width = 64);
        assert_eq!(error, "policy_bias is 64, expected a multiple of 128");
        assert!(self::refused(b"no network").starts_with("not an ONNX model"));
        assert!(self::refused(&file(&[], &[])).contains("philidor.format"));
    }
}
