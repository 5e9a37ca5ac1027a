//! A network file, loaded and checked.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::encoding::{moves1, sparse1};
use crate::eval::{CARD_FORMAT, CardError, Golden};
use crate::position::Game;

use super::evaluator::SparseEvaluator;
use super::integers::Weights;
use super::protobuf::OnnxFile;
use super::simd::Level;
use super::tensors::SparseTensors;

/// How far an answer in integers may be from its golden one, which is computed in fp32.
const TOLERANCE: f32 = 0.02;

/// A network of the family `sparse` as integers: cheap to clone.
#[derive(Clone, Debug)]
pub struct SparseNetwork {
    weights: Arc<Weights>,
    name: String,
}

/// Why a file can't be used as a network of the family `sparse`.
#[derive(Debug)]
pub enum SparseError {
    /// The file can't be read.
    Unreadable(std::io::Error),
    /// It is not an ONNX model.
    NotOnnx(String),
    /// Its card is missing or unknown.
    Card(CardError),
    /// A tensor is missing.
    Missing(&'static str),
    /// A tensor has another shape or type than it must.
    Shape {
        /// The tensor.
        name: &'static str,
        /// What the file has.
        found: String,
        /// What it should have.
        expected: String,
    },
    /// A weight is too large for its integer.
    TooLarge {
        /// The tensor.
        name: &'static str,
        /// The weight.
        found: String,
    },
    /// The network answers something else than its card says.
    Golden(String),
}

impl fmt::Display for SparseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SparseError::Unreadable(error) => write!(f, "{error}"),
            SparseError::NotOnnx(why) => write!(f, "not an ONNX model: {why}"),
            SparseError::Card(error) => write!(f, "{error}"),
            SparseError::Missing(name) => write!(f, "there is no initialiser {name}"),
            SparseError::Shape { name, found, expected } => {
                write!(f, "{name} is {found}, expected {expected}")
            }
            SparseError::TooLarge { name, found } => write!(f, "{name} is too large for integers: {found}"),
            SparseError::Golden(why) => write!(f, "a golden answer is not reproduced: {why}"),
        }
    }
}

impl std::error::Error for SparseError {}

impl SparseNetwork {
    /// Reads a network file and checks its golden answers.
    ///
    /// # Errors
    ///
    /// If the file can't be read, is no network of this family, has weights that don't fit into their integers, or
    /// doesn't give its golden answers.
    pub fn load(path: &Path) -> Result<SparseNetwork, SparseError> {
        SparseNetwork::read(&std::fs::read(path).map_err(SparseError::Unreadable)?)
    }

    /// [`SparseNetwork::load`] for a file's bytes.
    ///
    /// # Errors
    ///
    /// As [`SparseNetwork::load`].
    pub fn read(bytes: &[u8]) -> Result<SparseNetwork, SparseError> {
        let file = OnnxFile::read(bytes).map_err(SparseError::NotOnnx)?;
        let golden = card(&file).map_err(SparseError::Card)?;
        let name = file.metadata.get("philidor.name").cloned().unwrap_or_default();
        let network = SparseNetwork { name, ..SparseNetwork::new(&SparseTensors::read(&file)?)? };
        network.check(&golden)?;
        Ok(network)
    }

    /// A network of these weights, without a card.
    ///
    /// # Errors
    ///
    /// If a weight doesn't fit into its integer.
    pub fn new(tensors: &SparseTensors) -> Result<SparseNetwork, SparseError> {
        Ok(SparseNetwork { weights: Arc::new(Weights::new(tensors)?), name: String::new() })
    }

    /// The name on its card.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An evaluator that uses the best instructions that this machine has.
    pub fn evaluator(&self) -> SparseEvaluator {
        SparseEvaluator::new(self.weights.clone(), Level::best())
    }

    /// An evaluator for each instruction set that this machine has, the best first: all give the same answers.
    pub fn evaluators(&self) -> Vec<SparseEvaluator> {
        Level::all().into_iter().map(|level| SparseEvaluator::new(self.weights.clone(), level)).collect()
    }

    /// Compares answers with golden ones.
    ///
    /// # Errors
    ///
    /// If a position can't be set up, or an answer is too far from what it should be.
    pub fn check(&self, golden: &[Golden]) -> Result<(), SparseError> {
        let mut evaluator = self.evaluator();
        for golden in golden {
            let place = format!("{} {}", golden.fen, golden.moves);
            let wrong = |what: String| SparseError::Golden(format!("{what} in {}", place.trim()));
            let game = set_up(golden).map_err(|error| wrong(error.to_string()))?;
            let legal = game.legal_moves();
            let mut priors = vec![0.0; legal.len()];
            let wdl = evaluator.evaluate_into(&game, &legal, &mut priors);
            let value = [("win", wdl.win), ("draw", wdl.draw), ("loss", wdl.loss)];
            let value = value
                .into_iter()
                .zip(golden.wdl)
                .map(|((what, got), want)| (what.to_owned(), got, Some(want)));
            let policy = legal.iter().zip(&priors).map(|(m, prior)| {
                let uci = Game::uci(*m, false);
                let want = golden.policy.get(&uci).copied();
                (uci, *prior, want)
            });
            for (what, got, want) in value.chain(policy) {
                let want = want.ok_or_else(|| wrong(format!("no answer for {what}")))?;
                let close = (got - want).abs() <= TOLERANCE;
                // NaN isn't close to anything.
                if !close {
                    return Err(wrong(format!("{what} {got:.4} instead of {want:.4}")));
                }
            }
        }
        Ok(())
    }
}

/// The golden answers of a card that says that the file is of this family.
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
    serde_json::from_str(get("philidor.golden")?).map_err(|error| CardError::Golden(error.to_string()))
}

fn set_up(golden: &Golden) -> Result<Game, crate::position::PositionError> {
    let mut game = Game::from_fen(&golden.fen)?;
    for text in golden.moves.split_whitespace() {
        let m = game.parse_uci(text)?;
        game.play(m);
    }
    Ok(game)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::protobuf::tests::file;

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
            let game = set_up(&golden).unwrap();
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
