//! One network in two precisions: `NAME.onnx` and `NAME.int8.onnx`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::NetError;
use super::network::Network;
use super::precision_cache::{PrecisionCache, key};
use super::runtime::version;
use super::session::Device;
use super::timing::measured_batch;
use crate::nets::eval::Precision;

/// Both files, read but not parsed.
#[derive(Clone)]
pub struct NetworkPair {
    fp32: NetworkFile,
    int8: NetworkFile,
    /// The precision of the user's file, whose error is reported if neither works.
    named: Precision,
    device: Device,
}

#[derive(Clone)]
struct NetworkFile {
    /// `None` if there is no such file.
    bytes: Option<Arc<[u8]>>,
    /// `None` if embedded in the program.
    path: Option<PathBuf>,
}

pub struct ChosenNetwork {
    pub network: Network,
    /// For the user, if a file is missing or unusable.
    pub note: Option<String>,
}

impl NetworkPair {
    /// Reads `file` and the other precision beside it, which may be missing.
    pub fn beside(file: &Path) -> Result<NetworkPair, NetError> {
        let (named, sibling) = sibling(file);
        let bytes = std::fs::read(file).map_err(|error| NetError::Unreadable(error).in_file(file))?;
        let this = NetworkFile { bytes: Some(bytes.into()), path: Some(file.to_owned()) };
        let other = NetworkFile { bytes: std::fs::read(&sibling).ok().map(Arc::from), path: Some(sibling) };
        let device = Device::Cpu;
        Ok(match named {
            Precision::Fp32 => NetworkPair { fp32: this, int8: other, named, device },
            Precision::Int8 => NetworkPair { fp32: other, int8: this, named, device },
        })
    }

    pub fn on(self, device: Device) -> NetworkPair {
        NetworkPair { device, ..self }
    }

    pub fn all(&self) -> Result<Vec<Network>, NetError> {
        let present = Precision::ALL.into_iter().filter(|precision| self.has(*precision));
        present.map(|precision| self.exactly(precision)).collect()
    }

    fn has(&self, precision: Precision) -> bool {
        self.file(precision).bytes.is_some()
    }

    pub fn exactly(&self, precision: Precision) -> Result<Network, NetError> {
        let NetworkFile { bytes, path } = self.file(precision);
        let bytes = bytes.clone().ok_or_else(|| {
            let missing = NetError::Unreadable(std::io::ErrorKind::NotFound.into());
            missing.in_file(&path.clone().unwrap_or_default())
        })?;
        Network::from_file(bytes, path.clone(), self.device)
    }

    /// Loads the `wanted` precision. `None` means fp32 on a GPU, else the faster one for `batch` positions, measured
    /// once and stored in `cache`. If the file is missing, loads the other precision, with a note.
    pub fn choose(
        &self,
        wanted: Option<Precision>,
        batch: usize,
        cache: &PrecisionCache,
    ) -> Result<ChosenNetwork, NetError> {
        let missing = Precision::ALL.into_iter().find(|precision| !self.has(*precision));
        let wanted = wanted.or((self.device == Device::Cuda).then_some(Precision::Fp32));
        match (wanted, missing) {
            (Some(wanted), _) if missing != Some(wanted) => self.only(wanted, None),
            (_, Some(missing)) => {
                let (file, present) = (self.file(missing).name(), missing.other());
                self.only(present, Some(format!("{file} is missing: playing in {present}")))
            }
            (_, None) => self.faster(batch, cache),
        }
    }

    fn only(&self, precision: Precision, note: Option<String>) -> Result<ChosenNetwork, NetError> {
        Ok(ChosenNetwork { network: self.exactly(precision)?, note })
    }

    fn faster(&self, batch: usize, cache: &PrecisionCache) -> Result<ChosenNetwork, NetError> {
        let key = self.key(measured_batch(batch))?;
        if let Some(precision) = cache.recall(&key) {
            log::info!("{precision} was measured as faster on this machine");
            return self.only(precision, None).or_else(|error| {
                let other = precision.other();
                self.only(other, Some(format!("{error}: playing in {other}")))
            });
        }
        let [named, other] = [self.named, self.named.other()].map(|precision| self.only(precision, None));
        let named = named?;
        let other = match other {
            Ok(other) => other,
            Err(error) => {
                let note = format!("{error}: playing in {}", self.named);
                return Ok(ChosenNetwork { note: Some(note), ..named });
            }
        };
        let [fp32, int8] = match self.named {
            Precision::Fp32 => [named, other],
            Precision::Int8 => [other, named],
        };
        let timing = match Network::time(&fp32.network, &int8.network, batch) {
            Ok(timing) => timing,
            Err(error) => {
                let note = Some(format!("{error}: playing in {}", self.named));
                let named = if self.named == Precision::Fp32 { fp32 } else { int8 };
                return Ok(ChosenNetwork { note, ..named });
            }
        };
        log::info!("a batch of {batch}: fp32 {:.2} ms, int8 {:.2} ms", timing.fp32_ms, timing.int8_ms);
        cache.remember(&key, fp32.network.name(), timing);
        Ok(match timing.better() {
            Precision::Fp32 => fp32,
            Precision::Int8 => int8,
        })
    }

    fn key(&self, batch: usize) -> Result<String, NetError> {
        let version = version()?;
        let bytes = |file: &NetworkFile| file.bytes.clone().unwrap_or_default();
        Ok(key(&bytes(&self.fp32), &bytes(&self.int8), batch, version))
    }

    fn file(&self, precision: Precision) -> &NetworkFile {
        match precision {
            Precision::Fp32 => &self.fp32,
            Precision::Int8 => &self.int8,
        }
    }
}

impl NetworkFile {
    fn name(&self) -> String {
        self.path.as_ref().map_or("<embedded>".to_owned(), |path| path.display().to_string())
    }
}

/// Returns the precision that a file's name implies, and the other precision's file.
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
    fn either_name_gives_the_other() {
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
