//! A learner's state in a file (safetensors).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, View};

use super::network::SparseModel;
use super::shape::SparseShape;
use super::tensor::SparseTensor;

/// The version of the file.
const FORMAT: &str = "sparse-checkpoint/1";

/// Why a checkpoint cannot be used.
#[derive(Debug)]
pub enum SparseCheckpointError {
    /// The file cannot be read or written.
    Io(io::Error),
    /// It can be read, but isn't a checkpoint of this program.
    Foreign(String),
}

impl fmt::Display for SparseCheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SparseCheckpointError::Io(error) => error.fmt(f),
            SparseCheckpointError::Foreign(why) => write!(f, "not a checkpoint of a sparse network: {why}"),
        }
    }
}

impl std::error::Error for SparseCheckpointError {}

impl From<io::Error> for SparseCheckpointError {
    fn from(error: io::Error) -> Self {
        SparseCheckpointError::Io(error)
    }
}

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
    /// Writes a checkpoint beside its name, flushes it, and renames it.
    ///
    /// # Errors
    ///
    /// If the file cannot be written; then a file of that name is as it was.
    pub fn write(&self, path: &Path) -> Result<(), SparseCheckpointError> {
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
        let bytes = safetensors::serialize(tables, &Some(metadata))
            .map_err(|error| SparseCheckpointError::Foreign(error.to_string()))?;
        let part = path.with_extension("part");
        let mut file = std::fs::File::create(&part)?;
        let written = file.write_all(&bytes).and_then(|()| file.sync_all());
        let written = written.and_then(|()| std::fs::rename(&part, path));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        Ok(written?)
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or isn't one.
    pub fn read(path: &Path) -> Result<SparseCheckpoint, SparseCheckpointError> {
        let bytes = std::fs::read(path)?;
        let foreign = |why: &dyn fmt::Display| SparseCheckpointError::Foreign(why.to_string());
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| foreign(&error))?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let get = |key: &str| metadata.get(key).ok_or_else(|| foreign(&format!("it has no {key}")));
        if get("format")? != FORMAT {
            return Err(foreign(&format!("its format is {}", get("format")?)));
        }
        let shape: SparseShape = serde_json::from_str(get("shape")?).map_err(|error| foreign(&error))?;
        let tables = SafeTensors::deserialize(&bytes).map_err(|error| foreign(&error))?;
        let numbers = |kind: &str, tensor: &SparseTensor| -> Result<Vec<f32>, SparseCheckpointError> {
            let name = format!("{kind}/{}", tensor.name);
            let table = tables.tensor(&name).map_err(|error| foreign(&error))?;
            if table.dtype() != Dtype::F32 || table.shape() != [tensor.rows, tensor.width] {
                return Err(foreign(&format!("{name} has another shape")));
            }
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
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(matches!(SparseCheckpoint::read(&path), Err(SparseCheckpointError::Foreign(_))));
        assert!(matches!(
            SparseCheckpoint::read(&folder.path().join("b")),
            Err(SparseCheckpointError::Io(_))
        ));
    }
}
