//! What the options set.

use std::time::Duration;

use crate::eval::Precision;
use crate::search::Params;

/// Everything a GUI can set, with the defaults it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The bound on the search's memory, in MiB.
    pub hash: usize,
    /// Search workers.
    pub threads: usize,
    /// What a move costs outside the search.
    pub move_overhead: Duration,
    /// Lines to report.
    pub multipv: usize,
    /// The GUI may ask to think on the opponent's time. Nothing depends on it.
    pub ponder: bool,
    /// Report win, draw and loss.
    pub show_wdl: bool,
    /// Write castling as king takes rook.
    pub chess960: bool,
    /// The network's file; `None` is the embedded one.
    pub weights: Option<String>,
    /// The network's precision; `None` is the faster one.
    pub precision: Option<Precision>,
    /// What answers for the positions.
    pub backend: Backend,
    /// Where the UCI traffic is written down.
    pub log_file: Option<String>,
    /// The search's own numbers.
    pub params: Params,
}

/// What answers for the positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The network, through ONNX Runtime on the CPU.
    #[default]
    OnnxCpu,
    /// Nothing: all moves alike, all games drawn.
    Uniform,
}

impl Backend {
    /// All of them, the default first.
    pub const ALL: [Backend; 2] = [Backend::OnnxCpu, Backend::Uniform];

    /// The name of this one.
    pub fn name(self) -> &'static str {
        match self {
            Backend::OnnxCpu => "onnx-cpu",
            Backend::Uniform => "uniform",
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            hash: 256,
            threads: num_cpus::get_physical().clamp(1, 512),
            move_overhead: Duration::from_millis(100),
            multipv: 1,
            ponder: false,
            show_wdl: false,
            chess960: false,
            weights: None,
            precision: None,
            backend: Backend::default(),
            log_file: None,
            params: Params::default(),
        }
    }
}

impl Settings {
    /// The bound on the search's memory, in bytes.
    pub fn memory(&self) -> usize {
        self.hash.saturating_mul(1 << 20)
    }
}
