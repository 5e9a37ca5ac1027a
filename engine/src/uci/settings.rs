//! What the options set.

use std::time::Duration;

use crate::search::Params;

/// Everything a GUI can set, with the defaults it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The bound on the search's memory, in MiB.
    pub hash: usize,
    /// The part of it that evaluations are kept in, in per cent.
    pub cache_share: usize,
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
    /// All of them, in the order of [`Backend::NAMES`].
    pub const ALL: [Backend; 2] = [Backend::OnnxCpu, Backend::Uniform];
    /// Names as the option shows them, the default first.
    pub const NAMES: [&'static str; 2] = ["onnx-cpu", "uniform"];
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            hash: 256,
            cache_share: 12,
            threads: num_cpus::get_physical().clamp(1, 512),
            move_overhead: Duration::from_millis(100),
            multipv: 1,
            ponder: false,
            show_wdl: false,
            chess960: false,
            weights: None,
            backend: Backend::default(),
            log_file: None,
            params: Params::default(),
        }
    }
}

impl Settings {
    /// The bounds on the search's memory in bytes: the tree's, and the kept answers'.
    pub fn memory(&self) -> (usize, usize) {
        let all = self.hash.saturating_mul(1 << 20);
        let answers = all / 100 * self.cache_share;
        (all - answers, answers)
    }
}
