//! What a network file says of itself.

use serde_json::Value;
use thiserror::Error;

use crate::nets::sparse::FileContents;

/// The card of a network file of any family, read without ONNX Runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCard {
    /// The network's name.
    pub name: String,
    /// The family.
    pub family: String,
    /// `fp32` or `int8`.
    pub precision: String,
    /// The input scheme.
    pub input: String,
    /// The policy scheme.
    pub policy: String,
    /// The value scheme.
    pub value: String,
    /// The training configuration, JSON.
    pub config: String,
    /// The number of golden answers.
    pub golden: usize,
    /// The numbers in all constant tensors.
    pub parameters: usize,
    /// The length of the file.
    pub bytes: usize,
}

/// Why there is no card.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CardReadError {
    /// The file is no ONNX model.
    #[error("not an ONNX file: {0}")]
    NotOnnx(String),
    /// It is one, but not ours.
    #[error("an ONNX file without a Philidor card: there is no {0} in its metadata")]
    Missing(&'static str),
}

impl FileCard {
    /// Reads the card from a file's bytes; what it names need not be known to this version.
    ///
    /// # Errors
    ///
    /// If the file is not an ONNX model with a card.
    pub fn read(bytes: &[u8]) -> Result<FileCard, CardReadError> {
        let contents = FileContents::read(bytes).map_err(CardReadError::NotOnnx)?;
        let get =
            |name: &'static str| contents.metadata.get(name).cloned().ok_or(CardReadError::Missing(name));
        let golden = serde_json::from_str::<Value>(&get("philidor.golden")?).ok();
        let family = get("philidor.family")?;
        // Cards of the family `sparse` need not name the precision: they have one.
        let precision = get("philidor.precision").or_else(|error| match family.as_str() {
            "sparse" => Ok("integers".to_owned()),
            _ => Err(error),
        })?;
        Ok(FileCard {
            name: get("philidor.name")?,
            precision,
            input: get("philidor.input")?,
            policy: get("philidor.policy")?,
            value: get("philidor.value")?,
            config: get("philidor.config").unwrap_or_default(),
            golden: golden.as_ref().and_then(Value::as_array).map_or(0, Vec::len),
            parameters: contents.parameters,
            bytes: bytes.len(),
            family,
        })
    }

    /// Whether our own kernels run it.
    pub fn is_sparse(&self) -> bool {
        self.family == "sparse"
    }
}
