//! A learner's state as a safetensors file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use engine::nets::sparse::SparseFile;
use safetensors::tensor::{Dtype, SafeTensors, View};

use super::network::SparseModel;
use super::shape::SparseShape;
use super::tensor::SparseTensor;
use crate::base::files::write_file;
use crate::config::sparse::safetensors_format;

const FORMAT: &str = "sparse-checkpoint/1";
/// A file of weights alone.
const WEIGHTS: &str = "sparse-weights/1";

#[derive(Clone, Debug, PartialEq)]
pub struct SparseCheckpoint {
    /// The network in training, with moments.
    pub network: SparseModel,
    /// The running average of its weights. Its moments are meaningless.
    pub average: SparseModel,
    /// The trainer's other state, as JSON.
    pub state: String,
}

/// A row-major fp32 table.
struct Table {
    shape: [usize; 2],
    bytes: Vec<u8>,
}

impl View for Table {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

impl SparseCheckpoint {
    pub fn write(&self, path: &Path) -> Result<()> {
        self.write_as(path, FORMAT)
    }

    /// Writes only the averaged weights, a quarter of a checkpoint, from which a run can begin.
    pub fn write_weights(&self, path: &Path) -> Result<()> {
        self.write_as(path, WEIGHTS)
    }

    fn write_as(&self, path: &Path, format: &str) -> Result<()> {
        let mut tables = Vec::new();
        for (tensor, average) in self.network.tensors().into_iter().zip(self.average.tensors()) {
            let shape = [tensor.rows, tensor.width];
            let all = [("average", &average.w), ("w", &tensor.w), ("m", &tensor.m), ("v", &tensor.v)];
            for (kind, numbers) in &all[..if format == WEIGHTS { 1 } else { all.len() }] {
                let bytes = tensor.plain(numbers).into_iter().flat_map(f32::to_le_bytes).collect();
                tables.push((format!("{kind}/{}", tensor.name), Table { shape, bytes }));
            }
        }
        let shape = serde_json::to_string(&self.network.shape).expect("numbers make JSON");
        let entries = [("format", format.to_owned()), ("shape", shape), ("state", self.state.clone())];
        let metadata: HashMap<String, String> = entries.map(|(key, value)| (key.to_owned(), value)).into();
        write_file(path, &safetensors::serialize(tables, &Some(metadata))?)
    }

    /// False if the file cannot be read.
    pub fn recognises(path: &Path) -> bool {
        safetensors_format(path).is_some_and(|format| [FORMAT, WEIGHTS].contains(&format.as_str()))
    }

    /// A file of weights alone becomes both network and average, without moments.
    pub fn read(path: &Path) -> Result<SparseCheckpoint> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        parse(&bytes).with_context(|| format!("{}: not a checkpoint of a sparse network", path.display()))
    }
}

impl SparseModel {
    /// Reads the averaged weights of a checkpoint, a file of weights, or an ONNX network. Integer weights keep their
    /// quantisation error.
    pub fn load(path: &Path) -> Result<SparseModel> {
        if SparseCheckpoint::recognises(path) {
            return Ok(SparseCheckpoint::read(path)?.average);
        }
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = SparseFile::recognise(&bytes);
        let file =
            file.with_context(|| format!("{} holds no network of the family sparse", path.display()))?;
        Ok(SparseModel::of_tensors(&file.tensors().with_context(|| path.display().to_string())?))
    }
}

fn parse(bytes: &[u8]) -> Result<SparseCheckpoint> {
    let (_, header) = SafeTensors::read_metadata(bytes)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let get = |key: &str| metadata.get(key).with_context(|| format!("it has no {key}"));
    let format = get("format")?;
    let known = [FORMAT, WEIGHTS].contains(&format.as_str());
    ensure!(known, "its format is {format}, this program reads {FORMAT} and {WEIGHTS}");
    let shape: SparseShape = serde_json::from_str(get("shape")?)?;
    let tables = SafeTensors::deserialize(bytes)?;
    let numbers = |kind: &str, tensor: &SparseTensor| -> Result<Vec<f32>> {
        let name = format!("{kind}/{}", tensor.name);
        let table = tables.tensor(&name)?;
        let same = table.dtype() == Dtype::F32 && table.shape() == [tensor.rows, tensor.width];
        ensure!(same, "{name} has another shape");
        let (numbers, _) = table.data().as_chunks::<4>();
        let plain: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Ok(tensor.blocked(&plain))
    };
    let (mut network, mut average) = (SparseModel::zeros(shape), SparseModel::zeros(shape));
    for (tensor, average) in network.tensors_mut().into_iter().zip(average.tensors_mut()) {
        average.w = numbers("average", average)?;
        if format == WEIGHTS {
            tensor.w.clone_from(&average.w);
            continue;
        }
        tensor.w = numbers("w", tensor)?;
        tensor.m = numbers("m", tensor)?;
        tensor.v = numbers("v", tensor)?;
    }
    Ok(SparseCheckpoint { network, average, state: get("state")?.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        let shape = SparseShape { features: 9, rows_a: 7, rows_b: 5, policy: 256, value: 6, hidden: 4 };
        let mut network = SparseModel::new(shape, 1);
        for (index, tensor) in network.tensors_mut().into_iter().enumerate() {
            tensor.m.fill(index as f32);
            tensor.v.fill(0.5 * index as f32);
        }
        let checkpoint =
            SparseCheckpoint { network, average: SparseModel::new(shape, 2), state: "{\"x\":1}".into() };
        checkpoint.write(&path).unwrap();
        assert_eq!(SparseCheckpoint::read(&path).unwrap(), checkpoint);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no part is left behind");
        assert!(SparseCheckpoint::recognises(&path));
        let light = folder.path().join("weights");
        checkpoint.write_weights(&light).unwrap();
        let weights = SparseCheckpoint::read(&light).unwrap();
        assert_eq!((&weights.network, &weights.average), (&checkpoint.average, &checkpoint.average));
        assert!(light.metadata().unwrap().len() * 3 < path.metadata().unwrap().len());
        assert!(SparseCheckpoint::recognises(&light));
        std::fs::remove_file(&light).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let error = format!("{:#}", SparseCheckpoint::read(&path).unwrap_err());
        assert!(error.contains("a.safetensors: not a checkpoint of a sparse network"), "{error}");
        let missing = folder.path().join("b");
        let error = format!("{:#}", SparseCheckpoint::read(&missing).unwrap_err());
        assert!(error.starts_with("cannot read "), "{error}");
        assert!(!SparseCheckpoint::recognises(&missing));
    }
}
