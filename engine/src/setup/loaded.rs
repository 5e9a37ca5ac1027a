use std::borrow::Cow;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::settings::{Backend, Settings};
use crate::nets::catalogue;
use crate::nets::encoding::Input;
use crate::nets::eval::{Evaluator, Precision, SharedEvaluator};
use crate::nets::onnx::{
    Device, NetError, Network, NetworkPair, OnnxSparseEvaluator, PrecisionCache, StepLimits,
};
use crate::nets::sparse::{SparseError, SparseFile, SparseNetwork};

/// Least batch of the evaluator that all workers share on a GPU.
const GPU_BATCH: usize = 256;

pub enum LoadedNetwork {
    Onnx(Box<Network>),
    Native(SparseNetwork),
    /// The file of a `sparse` network that ONNX Runtime runs.
    OnnxSparse(Vec<u8>, Device),
}

#[derive(Debug, Error)]
pub enum LoadError {
    /// Reason why the network settings were refused earlier.
    #[error(
        "{0}; the engine plays no other network instead: correct the option, or set WeightsFile to <embedded>, Backend and Precision to auto, ThinkSteps and ThinkEpsilon to 0"
    )]
    Refused(String),
    /// Network file, folders searched.
    #[error("network {name}: no such file{looked}", looked = looked_in(.1), name = .0.display())]
    Missing(PathBuf, Vec<PathBuf>),
    #[error("network {0}: it is a folder: name a file in it")]
    Folder(PathBuf),
    #[error("network {0}: this is a pipe or a device: copy it into a file")]
    NoFile(PathBuf),
    #[error(transparent)]
    Onnx(#[from] NetError),
    #[error("network {0}: {1}")]
    Sparse(PathBuf, SparseError),
    #[error("Backend native needs a network of the family sparse: choose auto, onnx-cpu or onnx-cuda")]
    NeedsOnnx,
    #[error("a classical player has no workers")]
    NoWorkers,
}

fn looked_in(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if folders.is_empty() { String::new() } else { format!(", looked in {}", folders.join(", ")) }
}

/// Searches the working directory, the program's folder and the network folders for a relative path, with and without a
/// leading `nets/`.
pub fn locate(weights: &Path) -> Result<PathBuf, LoadError> {
    let missing = |looked| LoadError::Missing(weights.to_owned(), looked);
    if weights.is_file() {
        return Ok(weights.to_owned());
    }
    if weights.is_dir() {
        return Err(LoadError::Folder(weights.to_owned()));
    }
    if weights.exists() {
        return Err(LoadError::NoFile(weights.to_owned()));
    }
    if weights.is_absolute() {
        return Err(missing(Vec::new()));
    }
    let mut looked: Vec<PathBuf> = std::env::current_dir().into_iter().collect();
    looked.extend(std::env::current_exe().ok().as_deref().and_then(Path::parent).map(Path::to_owned));
    looked.extend(catalogue::folders().into_iter().filter(|folder| folder.is_dir()));
    let inside = weights.strip_prefix("nets").unwrap_or(weights);
    let names = |folder: &PathBuf| [folder.join(weights), folder.join(inside)];
    let found = looked.iter().flat_map(names).find(|path| path.is_file());
    found.ok_or_else(|| missing(looked))
}

impl LoadedNetwork {
    pub fn load(settings: &Settings, notes: &mut Vec<String>) -> Result<LoadedNetwork, LoadError> {
        let network = LoadedNetwork::load_noting(settings, notes)?;
        notes.extend(network.ignored(settings));
        Ok(network)
    }

    fn load_noting(settings: &Settings, notes: &mut Vec<String>) -> Result<LoadedNetwork, LoadError> {
        let path = match &settings.weights {
            Some(weights) => locate(Path::new(weights))?,
            None => PathBuf::from("<embedded>"),
        };
        let path = path.as_path();
        let bytes = match settings.weights {
            Some(_) => std::fs::read(path)
                .map(Cow::Owned)
                .map_err(|error| NetError::Unreadable(error).in_file(path))?,
            None => Cow::Borrowed(SparseNetwork::embedded_file()),
        };
        let device = if settings.backend == Backend::OnnxCuda { Device::Cuda } else { Device::Cpu };
        if let Some(file) = SparseFile::recognise(&bytes) {
            if matches!(settings.backend, Backend::OnnxCpu | Backend::OnnxCuda) {
                // Opened once, so that errors appear before a search.
                OnnxSparseEvaluator::open_on(device, &bytes, 1).map_err(|error| error.in_file(path))?;
                return Ok(LoadedNetwork::OnnxSparse(bytes.into_owned(), device));
            }
            let network = file.network().map_err(|error| LoadError::Sparse(path.to_owned(), error))?;
            log::info!("network: {}, native ({})", network.name(), network.evaluator().instructions());
            return Ok(LoadedNetwork::Native(network));
        }
        if settings.backend == Backend::Native {
            return Err(LoadError::NeedsOnnx);
        }
        let chosen = NetworkPair::beside(path)?.on(device).choose(
            settings.precision,
            settings.batch(),
            &PrecisionCache::of_user(),
        )?;
        notes.extend(chosen.note);
        log::info!("network: {}", chosen.network.describe());
        Ok(LoadedNetwork::Onnx(Box::new(chosen.network)))
    }

    pub fn name(&self) -> &str {
        match self {
            LoadedNetwork::Onnx(network) => network.name(),
            LoadedNetwork::Native(network) => network.name(),
            LoadedNetwork::OnnxSparse(..) => "sparse",
        }
    }

    /// Notes about settings without effect on this network.
    fn ignored(&self, settings: &Settings) -> Vec<String> {
        let is_sparse = !matches!(self, LoadedNetwork::Onnx(_));
        let thinks = settings.step_limits != StepLimits::default();
        let has_no_steps = match self {
            LoadedNetwork::Onnx(network) => !network.is_recurrent(),
            LoadedNetwork::Native(_) | LoadedNetwork::OnnxSparse(..) => true,
        };
        let name = self.name();
        let precision = (is_sparse && settings.precision == Some(Precision::Fp32)).then(|| {
            format!(
                "Precision fp32 has no effect on {name}: networks of the family sparse play in int8; \
                 it will apply to the next WeightsFile"
            )
        });
        let steps = (thinks && has_no_steps).then(|| {
            format!(
                "ThinkSteps and ThinkEpsilon have no effect on {name}, which does not think in steps; they will apply \
                 to the next WeightsFile that does"
            )
        });
        precision.into_iter().chain(steps).collect()
    }

    pub fn batch(&self, settings: &Settings) -> usize {
        match self {
            // In a large batch, ONNX Runtime gathers rows outside the CPU cache.
            LoadedNetwork::OnnxSparse(_, Device::Cpu) => settings.params.batch,
            _ => settings.batch(),
        }
    }

    /// Returns an evaluator for one worker, or on a GPU for all.
    pub fn evaluator(&self, settings: &Settings) -> Result<Box<dyn Evaluator>, LoadError> {
        let batch = self.batch(settings).max(if self.is_on_gpu() { GPU_BATCH } else { 1 });
        match self {
            LoadedNetwork::Onnx(network) => Ok(network.evaluator_with(batch, settings.step_limits)?),
            LoadedNetwork::Native(network) => Ok(Box::new(network.evaluator())),
            LoadedNetwork::OnnxSparse(bytes, device) => {
                Ok(Box::new(OnnxSparseEvaluator::open_on(*device, bytes, batch)?))
            }
        }
    }

    pub fn evaluators(
        &self,
        settings: &Settings,
        workers: usize,
    ) -> Result<Vec<Box<dyn Evaluator>>, LoadError> {
        if self.is_on_gpu() {
            let parts = SharedEvaluator::share(self.evaluator(settings)?, workers);
            return Ok(parts.into_iter().map(|part| Box::new(part) as Box<_>).collect());
        }
        (0..workers).map(|_| self.evaluator(settings)).collect()
    }

    fn is_on_gpu(&self) -> bool {
        match self {
            LoadedNetwork::Onnx(network) => network.device() == Device::Cuda,
            LoadedNetwork::Native(_) => false,
            LoadedNetwork::OnnxSparse(_, device) => *device == Device::Cuda,
        }
    }

    pub fn describe(&self) -> String {
        match self {
            LoadedNetwork::Onnx(network) => network.describe(),
            LoadedNetwork::Native(network) => network.describe(),
            LoadedNetwork::OnnxSparse(..) => "a network of the family sparse, run by ONNX Runtime".to_owned(),
        }
    }

    /// Keys the evaluation cache; `None` if a look-up costs more than an evaluation.
    pub fn cached_input(&self) -> Option<Input> {
        match self {
            LoadedNetwork::Onnx(network) => Some(network.schemes().input),
            LoadedNetwork::Native(_) | LoadedNetwork::OnnxSparse(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;
    use crate::nets::eval::Request;
    use crate::nets::sparse::small_file;

    #[test]
    fn a_sparse_network_is_run_natively_and_others_by_onnx_runtime() {
        let path = std::env::temp_dir().join(format!("philidor-sparse-{}.onnx", std::process::id()));
        std::fs::write(&path, small_file()).unwrap();
        let load = |weights: Option<&Path>, backend| {
            let weights = weights.map(|path| path.to_str().unwrap().to_owned());
            let settings = Settings { weights, backend, ..Settings::default() };
            LoadedNetwork::load(&settings, &mut Vec::new()).map(|network| (network, settings))
        };
        let missing =
            load(Some(Path::new("no/such.onnx")), Backend::Auto).err().expect("refused").to_string();
        let here = std::env::current_dir().unwrap();
        assert!(missing.starts_with("network no/such.onnx: no such file, looked in"), "{missing}");
        assert!(missing.contains(here.to_str().unwrap()) && missing.contains("nets"), "{missing}");
        let folder = load(Some(Path::new("/")), Backend::Auto).err().expect("refused").to_string();
        assert_eq!(folder, "network /: it is a folder: name a file in it");
        for name in ["philidor.int8.onnx", "nets/philidor.int8.onnx"] {
            assert!(load(Some(Path::new(name)), Backend::Auto).is_ok(), "{name}");
        }
        for backend in [Backend::Auto, Backend::Native] {
            let (network, settings) = load(Some(&path), backend).unwrap();
            assert!(matches!(network, LoadedNetwork::Native(_)) && network.cached_input().is_none());
            let (game, mut evaluator) = (Game::new(), network.evaluator(&settings).unwrap());
            let moves = game.legal_moves();
            let answers = evaluator.evaluate(&[Request { game: &game, moves: &moves }]).unwrap();
            assert!((answers[0].priors.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
        let refused = |weights, backend| load(weights, backend).err().expect("refused").to_string();
        // The file has weights but no graph.
        assert!(refused(Some(path.as_path()), Backend::OnnxCpu).contains("not a usable ONNX file"));
        let mlp = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/mlp.int8.onnx"));
        for weights in [None, Some(mlp)] {
            match load(weights, Backend::OnnxCuda) {
                Ok((network, settings)) => assert_eq!(network.evaluators(&settings, 3).unwrap().len(), 3),
                Err(why) => assert!(why.to_string().contains("scripts/setup.sh cuda"), "{why}"),
            }
        }
        assert!(refused(Some(mlp), Backend::Native).contains("family sparse"));
        assert!(matches!(load(Some(mlp), Backend::Auto).unwrap().0, LoadedNetwork::Onnx(_)));
        assert!(matches!(load(None, Backend::Auto).unwrap().0, LoadedNetwork::Native(_)));
        std::fs::remove_file(&path).unwrap();
    }
}
