use std::path::PathBuf;

use super::settings::Settings;

#[derive(Clone, Debug, clap::Args)]
pub struct EngineArgs {
    /// Network file [default: the embedded network]
    #[arg(long)]
    pub weights: Option<PathBuf>,
    /// Search workers
    #[arg(long, default_value_t = Settings::default().threads as u16, value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: u16,
    /// Memory of the search in MiB
    #[arg(long, default_value_t = Settings::default().hash as u32, value_parser = clap::value_parser!(u32).range(1..))]
    pub hash: u32,
}

impl EngineArgs {
    pub fn settings(&self) -> Settings {
        Settings {
            weights: self.weights.as_ref().map(|path| path.to_string_lossy().into_owned()),
            threads: usize::from(self.threads),
            hash: self.hash as usize,
            ..Settings::default()
        }
    }
}
