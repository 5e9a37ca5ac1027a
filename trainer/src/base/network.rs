use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result, bail};
use engine::nets::encoding::Input;
use engine::nets::eval::{EvalError, Evaluator, Request, SplitEvaluator, ValueScheme};
use engine::nets::onnx::Network;
use engine::nets::sparse::{SparseFile, SparseNetwork};
use engine::search::{SteppedSearch, check_answers};
use xxhash_rust::xxh3::xxh3_64;

pub trait Backend: Send + Sync {
    /// The key of evaluation caches. `None` if a look-up costs more than an evaluation.
    fn cached_input(&self) -> Option<Input>;

    fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>>;

    /// Whether the outputs are bit-identical on every machine and in every batch.
    fn is_exact(&self) -> bool {
        false
    }
}

/// ONNX Runtime, on the worker's own thread.
impl Backend for Network {
    fn cached_input(&self) -> Option<Input> {
        Some(self.schemes().input)
    }

    fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>> {
        Ok(Network::evaluator(self, max_batch)?)
    }
}

/// The engine's own kernels, one position at a time.
impl Backend for SparseNetwork {
    fn cached_input(&self) -> Option<Input> {
        None
    }

    fn evaluator(&self, _max_batch: usize) -> Result<Box<dyn Evaluator>> {
        Ok(Box::new(SparseNetwork::evaluator(self)))
    }

    fn is_exact(&self) -> bool {
        true
    }
}

pub enum LoadedNet {
    Onnx(Box<Network>),
    /// Family `sparse`, in the engine's own kernels.
    Native(SparseNetwork),
}

impl LoadedNet {
    pub fn name(&self) -> &str {
        match self {
            LoadedNet::Onnx(network) => network.name(),
            LoadedNet::Native(network) => network.name(),
        }
    }

    pub fn describe(&self) -> String {
        match self {
            LoadedNet::Onnx(network) => network.describe(),
            LoadedNet::Native(network) => network.describe(),
        }
    }

    pub fn has_value(&self) -> bool {
        match self {
            LoadedNet::Onnx(network) => network.schemes().value == ValueScheme::Wdl,
            LoadedNet::Native(_) => true,
        }
    }

    /// Hash of outputs for fixed positions.
    pub fn fingerprint(&self) -> u64 {
        match self {
            LoadedNet::Onnx(network) => {
                xxh3_64(&serde_json::to_vec(&network.card().golden).unwrap_or_default())
            }
            LoadedNet::Native(network) => {
                let mut evaluator = network.evaluator();
                let answers = engine::apps::bench::POSITIONS.iter().map(|fen| {
                    let game = engine::chess::position::Game::from_fen(fen).expect("a legal FEN");
                    let wdl = evaluator.value(&game);
                    [wdl.win, wdl.draw, wdl.loss].map(f32::to_bits)
                });
                xxh3_64(&answers.flatten().flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
            }
        }
    }

    /// Fails for the family `sparse`; `what` names the refused request.
    pub fn onnx(self, what: &str) -> Result<Network> {
        match self {
            LoadedNet::Onnx(network) => Ok(*network),
            LoadedNet::Native(network) => {
                bail!("{}: {what} does not apply to networks of the family sparse", network.name())
            }
        }
    }
}

impl Backend for LoadedNet {
    fn cached_input(&self) -> Option<Input> {
        match self {
            LoadedNet::Onnx(network) => network.cached_input(),
            LoadedNet::Native(network) => network.cached_input(),
        }
    }

    fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>> {
        match self {
            LoadedNet::Onnx(network) => Backend::evaluator(&**network, max_batch),
            LoadedNet::Native(network) => Backend::evaluator(network, max_batch),
        }
    }

    fn is_exact(&self) -> bool {
        matches!(self, LoadedNet::Native(_))
    }
}

/// Loads a network file, or the built-in network for the name `embedded`.
pub fn load_network(name: &Path) -> Result<LoadedNet> {
    if name == Path::new("embedded") {
        return Ok(LoadedNet::Native(SparseNetwork::embedded()));
    }
    let sparse = std::fs::read(name).ok().and_then(|bytes| SparseFile::recognise(&bytes));
    if let Some(file) = sparse {
        let network = file.network().with_context(|| format!("network {}", name.display()))?;
        return Ok(LoadedNet::Native(network));
    }
    Ok(LoadedNet::Onnx(Box::new(Network::load(name)?)))
}

/// The bytes of a network file, or of the built-in network for the name `embedded`.
pub fn network_file(name: &Path) -> Result<Cow<'static, [u8]>> {
    match name == Path::new("embedded") {
        true => Ok(SparseNetwork::embedded_file().into()),
        false => {
            let bytes = std::fs::read(name).with_context(|| format!("cannot read {}", name.display()))?;
            Ok(bytes.into())
        }
    }
}

/// Runs a search to its end in batches of up to `leaves` positions.
pub fn search_alone(
    search: &mut SteppedSearch,
    leaves: usize,
    evaluator: &mut dyn Evaluator,
) -> Result<(), EvalError> {
    while search.gather(leaves) > 0 {
        let requests: Vec<Request<'_>> = search.requests().collect();
        let answers = evaluator.evaluate(&requests)?;
        check_answers(&requests, &answers)?;
        search.answer(&answers);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::export::{OnnxStorage, sparse_onnx};
    use crate::learn::sparse::{SparseModel, SparseShape};

    #[test]
    fn a_sparse_network_in_either_form_is_run_by_the_engines_kernels() {
        let folder = tempfile::tempdir().unwrap();
        let model = SparseModel::new(SparseShape { policy: 128, value: 64, ..SparseShape::STANDARD }, 1);
        let load = |name: &str, model: &SparseModel, storage| {
            let path = folder.path().join(name);
            std::fs::write(&path, sparse_onnx(name, model, "{}", storage)).unwrap();
            load_network(&path).unwrap()
        };
        let float = load("float", &model, OnnxStorage::Float);
        let integer = load("integer", &model, OnnxStorage::Integer);
        assert!(matches!((&float, &integer), (LoadedNet::Native(_), LoadedNet::Native(_))));
        assert_eq!(float.fingerprint(), integer.fingerprint(), "the same integers");
        let other = SparseModel::new(model.shape, 2);
        assert_ne!(load("other", &other, OnnxStorage::Float).fingerprint(), float.fingerprint());
        assert!(float.has_value() && float.cached_input().is_none() && integer.name() == "integer");
        let error = format!("{:#}", integer.onnx("--raw").err().unwrap());
        assert_eq!(error, "integer: --raw does not apply to networks of the family sparse");
    }
}
