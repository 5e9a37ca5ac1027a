//! The card of a network file, read without ONNX Runtime.

use serde_json::Value;
use thiserror::Error;

use crate::nets::onnx_file::FileContents;

/// Of a network of any family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCard {
    pub name: String,
    pub family: String,
    /// `fp32` or `int8`; `integers` for a `sparse` network that names none.
    pub precision: String,
    pub input: String,
    pub policy: String,
    pub value: String,
    pub config: String,
    /// 0 if the golden answers cannot be parsed.
    pub golden: usize,
    pub parameters: usize,
    pub bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CardReadError {
    #[error("not an ONNX file: {0}")]
    NotOnnx(String),
    #[error("an ONNX file without a Philidor card: there is no {0} in its metadata")]
    Missing(&'static str),
}

impl FileCard {
    /// Accepts names unknown to this version.
    pub fn read(bytes: &[u8]) -> Result<FileCard, CardReadError> {
        let contents = FileContents::read(bytes).map_err(CardReadError::NotOnnx)?;
        let get =
            |name: &'static str| contents.metadata.get(name).cloned().ok_or(CardReadError::Missing(name));
        let golden = serde_json::from_str::<Value>(&get("philidor.golden")?).ok();
        let family = get("philidor.family")?;
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

    pub fn is_sparse(&self) -> bool {
        self.family == "sparse"
    }
}
