use std::path::{Path, PathBuf};

use thiserror::Error;

use super::runtime::LIBRARY;
use crate::nets::eval::{CardError, EvalError, GoldenError};

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("ONNX Runtime's library ({LIBRARY} 1.31 or newer) cannot be loaded: {}; {MEND}", list(tried))]
pub struct RuntimeError {
    /// Each path tried, with its error.
    pub(super) tried: Vec<String>,
}

const MEND: &str = if cfg!(windows) {
    "put it beside the program, or name it in ORT_DYLIB_PATH; it needs Microsoft's Visual C++ Redistributable for x64, \
     which Microsoft's site has under that name. The network inside the program needs neither"
} else {
    "put it beside the program or name it in ORT_DYLIB_PATH; `pip install philidor[nets]` brings it for pip's program, \
     `scripts/setup.sh engine` for one that was built in a clone. The network inside the program does not need it"
};

fn list(tried: &[String]) -> String {
    if tried.is_empty() { "none was found".to_owned() } else { tried.join("; ") }
}

/// The text is one line. [`NetError::InFile`] names the file.
#[derive(Debug, Error)]
pub enum NetError {
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    #[error("not a usable ONNX file: {0}")]
    NotOnnx(String),
    #[error(
        "weights in Leela's own format (.pb): convert them first, with lc0 (`lc0 leela2onnx --input=FILE \
         --output=NAME.onnx`) or with the trainer, which is built from the source (`philidor-trainer convert-lc0 \
         FILE --out NAME.onnx`)"
    )]
    Leela,
    #[error(
        "a checkpoint (safetensors), not a network: `philidor-trainer export --checkpoint FILE --out NAME.onnx` \
         makes one of it"
    )]
    Checkpoint,
    #[error(transparent)]
    Card(#[from] CardError),
    /// A tensor is missing, or its type or shape is not the card's.
    #[error("tensor \"{name}\" is {found}, expected {expected}")]
    Shape { name: &'static str, found: String, expected: String },
    #[error(
        "Backend onnx-cuda needs an NVIDIA GPU with its driver, and ONNX Runtime for GPUs with CUDA 13 and cuDNN: \
         `pip install onnxruntime-gpu[cuda,cudnn]` brings them, and ORT_DYLIB_PATH names the library; in a clone \
         `scripts/setup.sh cuda` does both: {0}"
    )]
    Gpu(String),
    #[error(transparent)]
    Evaluation(#[from] EvalError),
    #[error("wrong answers to the golden positions, the file is damaged or misread: {0}")]
    Golden(String),
    #[error("network {path}: {1}", path = .0.display())]
    InFile(PathBuf, Box<NetError>),
}

impl NetError {
    /// Names the network's file, unless the error is not about it.
    pub fn in_file(self, path: &Path) -> NetError {
        match self {
            NetError::Runtime(_) | NetError::Gpu(_) => self,
            other => NetError::InFile(path.to_owned(), Box::new(other)),
        }
    }
}

impl From<GoldenError> for NetError {
    fn from(error: GoldenError) -> NetError {
        match error {
            GoldenError::Evaluation(error) => NetError::Evaluation(error),
            GoldenError::Wrong(why) => NetError::Golden(why),
        }
    }
}
