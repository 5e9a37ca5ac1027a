//! A learner's state in a file (safetensors).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use safetensors::tensor::{Dtype, SafeTensors, View};

use super::network::SparseModel;
use super::shape::SparseShape;
use super::tensor::SparseTensor;
use crate::files::write_file;

/// The version of the file.
const FORMAT: &str = "sparse-checkpoint/1";

/// A network with its moments, a running average of its weights, and the rest of a run's state.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseCheckpoint {
    /// The network in training.
    pub network: SparseModel,
    /// The running average of its weights; its moments are of no meaning.
    pub average: SparseModel,
    /// What else the trainer needs to resume, JSON.
    pub state: String,
}

/// A row-major table of fp32.
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
    /// Writes a checkpoint under a temporary name, flushes it to the disk, and renames it.
    ///
    /// # Errors
    ///
    /// If the file cannot be written; an existing file of that name is unchanged then.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut tables = Vec::new();
        for (tensor, average) in self.network.tensors().into_iter().zip(self.average.tensors()) {
            let shape = [tensor.rows, tensor.width];
            for (kind, numbers) in
                [("w", &tensor.w), ("m", &tensor.m), ("v", &tensor.v), ("average", &average.w)]
            {
                let bytes = tensor.plain(numbers).into_iter().flat_map(f32::to_le_bytes).collect();
                tables.push((format!("{kind}/{}", tensor.name), Table { shape, bytes }));
            }
        }
        let shape = serde_json::to_string(&self.network.shape).expect("numbers make JSON");
        let entries = [("format", FORMAT.to_owned()), ("shape", shape), ("state", self.state.clone())];
        let metadata: HashMap<String, String> = entries.map(|(key, value)| (key.to_owned(), value)).into();
        write_file(path, &safetensors::serialize(tables, &Some(metadata))?)
    }

    /// Whether a file is a checkpoint of this family; a file that cannot be read is none.
    pub fn recognises(path: &Path) -> bool {
        header(path).is_ok_and(|header| header["__metadata__"]["format"] == FORMAT)
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is no checkpoint of this family.
    pub fn read(path: &Path) -> Result<SparseCheckpoint> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        parse(&bytes).with_context(|| format!("{}: not a checkpoint of a sparse network", path.display()))
    }
}

/// The JSON header of a safetensors file.
fn header(path: &Path) -> Result<serde_json::Value> {
    let mut file = File::open(path)?;
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    Ok(serde_json::from_reader(file.take(u64::from_le_bytes(length)))?)
}

fn parse(bytes: &[u8]) -> Result<SparseCheckpoint> {
    let (_, header) = SafeTensors::read_metadata(bytes)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let get = |key: &str| metadata.get(key).with_context(|| format!("it has no {key}"));
    let format = get("format")?;
    ensure!(format == FORMAT, "its format is {format}, this program reads {FORMAT}");
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
        tensor.w = numbers("w", tensor)?;
        tensor.m = numbers("m", tensor)?;
        tensor.v = numbers("v", tensor)?;
        average.w = numbers("average", average)?;
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
