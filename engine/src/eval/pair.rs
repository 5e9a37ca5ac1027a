//! One network in two precisions: `NAME.onnx` and `NAME.int8.onnx`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::network::{NetError, Network};
use super::precision::Precision;
use super::runtime::version;
use super::verdicts::{Verdicts, key};

/// The network that is part of the program, in both precisions.
const EMBEDDED: [&[u8]; 2] =
    [include_bytes!("../../../nets/philidor.onnx"), include_bytes!("../../../nets/philidor.int8.onnx")];

/// A network's files, read but not looked into.
#[derive(Clone)]
pub struct Pair {
    fp32: Half,
    int8: Half,
    /// What was asked for by name: if nothing can be used, this one's error is told.
    named: Precision,
}

/// One of the two.
#[derive(Clone)]
struct Half {
    /// `None`: there is no such file.
    bytes: Option<Arc<[u8]>>,
    /// `None`: part of the program.
    path: Option<PathBuf>,
}

/// A network that was chosen from a pair.
pub struct Chosen {
    /// The network, loaded and checked.
    pub network: Network,
    /// One line for the user, if it isn't what was to be expected.
    pub note: Option<String>,
}

impl Pair {
    /// The network that is part of the program.
    pub fn embedded() -> Pair {
        let [fp32, int8] = EMBEDDED.map(|bytes| Half { bytes: Some(bytes.into()), path: None });
        Pair { fp32, int8, named: Precision::Fp32 }
    }

    /// The network of which `file` is one precision; the other one stands beside it, or doesn't.
    ///
    /// # Errors
    ///
    /// If `file` itself can't be read.
    pub fn beside(file: &Path) -> Result<Pair, NetError> {
        let (named, sibling) = sibling(file);
        let bytes = std::fs::read(file)
            .map_err(|error| NetError::InFile(file.to_owned(), Box::new(NetError::Unreadable(error))))?;
        let this = Half { bytes: Some(bytes.into()), path: Some(file.to_owned()) };
        let other = Half { bytes: std::fs::read(&sibling).ok().map(Arc::from), path: Some(sibling) };
        Ok(match named {
            Precision::Fp32 => Pair { fp32: this, int8: other, named },
            Precision::Int8 => Pair { fp32: other, int8: this, named },
        })
    }

    /// Loads the network in every precision that is there.
    ///
    /// # Errors
    ///
    /// If one of them can't be used.
    pub fn all(&self) -> Result<Vec<Network>, NetError> {
        let there = Precision::ALL.into_iter().filter(|precision| self.has(*precision));
        there.map(|precision| self.exactly(precision)).collect()
    }

    fn has(&self, precision: Precision) -> bool {
        self.half(precision).bytes.is_some()
    }

    /// Loads the network in this precision and no other.
    ///
    /// # Errors
    ///
    /// If the file is missing or isn't a network that can be used.
    pub fn exactly(&self, precision: Precision) -> Result<Network, NetError> {
        let Half { bytes, path } = self.half(precision);
        let bytes = bytes.clone().ok_or_else(|| {
            let missing = NetError::Unreadable(std::io::ErrorKind::NotFound.into());
            NetError::InFile(path.clone().unwrap_or_default(), Box::new(missing))
        })?;
        Network::from_file(bytes, path.clone())
    }

    /// Loads the network in the `wanted` precision, or, if none is, in the one that is faster in batches of
    /// `batch` on this machine, which is measured once and then remembered in `verdicts`. What is missing is
    /// replaced by what is there.
    ///
    /// # Errors
    ///
    /// If what is to be loaded can't be used.
    pub fn choose(
        &self,
        wanted: Option<Precision>,
        batch: usize,
        verdicts: &Verdicts,
    ) -> Result<Chosen, NetError> {
        let missing = Precision::ALL.into_iter().find(|precision| !self.has(*precision));
        match (wanted, missing) {
            (Some(wanted), _) if missing != Some(wanted) => self.only(wanted, None),
            (_, Some(missing)) => {
                let (file, there) = (self.half(missing).name(), missing.other());
                self.only(there, Some(format!("{file} is missing: playing in {there}")))
            }
            (_, None) => self.faster(batch, verdicts),
        }
    }

    fn only(&self, precision: Precision, note: Option<String>) -> Result<Chosen, NetError> {
        Ok(Chosen { network: self.exactly(precision)?, note })
    }

    /// Of the two, both being there.
    fn faster(&self, batch: usize, verdicts: &Verdicts) -> Result<Chosen, NetError> {
        let key = self.key()?;
        if let Some(precision) = verdicts.recall(&key) {
            log::info!("{precision} was the faster one on this machine");
            return self.only(precision, None).or_else(|error| {
                let there = precision.other();
                self.only(there, Some(format!("{error}: playing in {there}")))
            });
        }
        let [named, other] = [self.named, self.named.other()].map(|precision| self.only(precision, None));
        let named = named?;
        // Half a network is better than none.
        let other = match other {
            Ok(other) => other,
            Err(error) => {
                let note = format!("{error}: playing in {}", self.named);
                return Ok(Chosen { note: Some(note), ..named });
            }
        };
        let [fp32, int8] = match self.named {
            Precision::Fp32 => [named, other],
            Precision::Int8 => [other, named],
        };
        let timing = match Network::race(&fp32.network, &int8.network, batch) {
            Ok(timing) => timing,
            Err(error) => {
                let note = Some(format!("{error}: playing in {}", self.named));
                let named = if self.named == Precision::Fp32 { fp32 } else { int8 };
                return Ok(Chosen { note, ..named });
            }
        };
        log::info!("a batch of {batch}: fp32 {:.2} ms, int8 {:.2} ms", timing.fp32_ms, timing.int8_ms);
        verdicts.remember(&key, fp32.network.name(), timing);
        Ok(match timing.better() {
            Precision::Fp32 => fp32,
            Precision::Int8 => int8,
        })
    }

    /// What the verdict on this pair is remembered by.
    fn key(&self) -> Result<String, NetError> {
        let version = version().map_err(NetError::Runtime)?;
        let bytes = |half: &Half| half.bytes.clone().unwrap_or_default();
        Ok(key(&bytes(&self.fp32), &bytes(&self.int8), version))
    }

    fn half(&self, precision: Precision) -> &Half {
        match precision {
            Precision::Fp32 => &self.fp32,
            Precision::Int8 => &self.int8,
        }
    }
}

impl Half {
    fn name(&self) -> String {
        self.path.as_ref().map_or("<embedded>".to_owned(), |path| path.display().to_string())
    }
}

/// The precision that a file's name stands for, and the name of the file in the other one.
fn sibling(file: &Path) -> (Precision, PathBuf) {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match (name.strip_suffix(".int8.onnx"), name.strip_suffix(".onnx")) {
        (Some(stem), _) => (Precision::Int8, file.with_file_name(format!("{stem}.onnx"))),
        (None, Some(stem)) => (Precision::Fp32, file.with_file_name(format!("{stem}.int8.onnx"))),
        (None, None) => (Precision::Fp32, file.with_file_name(format!("{name}.int8.onnx"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_name_leads_to_the_other() {
        for (name, precision, other) in [
            ("nets/a.onnx", Precision::Fp32, "nets/a.int8.onnx"),
            ("nets/a.int8.onnx", Precision::Int8, "nets/a.onnx"),
            ("a.b.onnx", Precision::Fp32, "a.b.int8.onnx"),
            ("/x/net", Precision::Fp32, "/x/net.int8.onnx"),
        ] {
            assert_eq!(sibling(Path::new(name)), (precision, PathBuf::from(other)), "{name}");
        }
    }
}
