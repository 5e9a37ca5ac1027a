//! The rows of the table of options.

use std::time::Duration;

use super::options::{Effect, Entry, Kind};
use super::settings::{Backend, Settings};
use crate::eval::Precision;

/// A count from a spin, which the table keeps above zero.
fn count(value: i64) -> usize {
    usize::try_from(value).unwrap_or(1)
}

/// A count for a spin.
fn spin(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn about() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("Philidor {version}, a chess engine that thinks with a neural network; GPL-3.0-or-later")
}

/// The choice of the faster precision.
const AUTO: &str = "auto";

fn set_precision(settings: &mut Settings, name: &str) -> Option<()> {
    settings.precision = match name {
        auto if auto.eq_ignore_ascii_case(AUTO) => None,
        name => Some(name.parse().ok()?),
    };
    Some(())
}

fn set_backend(settings: &mut Settings, name: &str) -> Option<()> {
    let named = |backend: &Backend| backend.name().eq_ignore_ascii_case(name);
    settings.backend = Backend::ALL.into_iter().find(named)?;
    Some(())
}

/// Every option there is.
pub static TABLE: &[Entry] = &[
    Entry {
        name: "Hash",
        aliases: &[],
        kind: Kind::Spin(1, 33_554_432, |s| spin(s.hash), |s, v| s.hash = count(v)),
        effect: Effect::Memory,
        doc: "MiB for the tree: a hard bound",
    },
    Entry {
        name: "Threads",
        aliases: &[],
        kind: Kind::Spin(1, 512, |s| spin(s.threads), |s, v| s.threads = count(v)),
        effect: Effect::Workers,
        doc: "search workers, each with a session of its own",
    },
    Entry {
        name: "Clear Hash",
        aliases: &[],
        kind: Kind::Button,
        effect: Effect::Clear,
        doc: "forget the tree",
    },
    Entry {
        name: "Ponder",
        aliases: &[],
        kind: Kind::Check(|s| s.ponder, |s, v| s.ponder = v),
        effect: Effect::Nothing,
        doc: "tells GUIs that they may use `go ponder`; the engine needs no telling",
    },
    Entry {
        name: "MultiPV",
        aliases: &[],
        kind: Kind::Spin(1, 500, |s| spin(s.multipv), |s, v| s.multipv = count(v)),
        effect: Effect::Nothing,
        doc: "lines to show",
    },
    Entry {
        name: "Move Overhead",
        aliases: &["MoveOverhead", "MoveOverheadMs"],
        kind: Kind::Spin(
            0,
            5000,
            |s| i64::try_from(s.move_overhead.as_millis()).unwrap_or(i64::MAX),
            |s, v| s.move_overhead = Duration::from_millis(v.unsigned_abs()),
        ),
        effect: Effect::Nothing,
        doc: "milliseconds that a move costs outside the engine",
    },
    Entry {
        name: "UCI_Chess960",
        aliases: &[],
        kind: Kind::Check(|s| s.chess960, |s, v| s.chess960 = v),
        effect: Effect::Nothing,
        doc: "write castling as king takes rook (both ways are always understood)",
    },
    Entry {
        name: "UCI_ShowWDL",
        aliases: &["ShowWDL"],
        kind: Kind::Check(|s| s.show_wdl, |s, v| s.show_wdl = v),
        effect: Effect::Nothing,
        doc: "show win, draw and loss per mille",
    },
    Entry {
        name: "UCI_EngineAbout",
        aliases: &[],
        kind: Kind::Fixed(about),
        effect: Effect::Nothing,
        doc: "what this is",
    },
    Entry {
        name: "WeightsFile",
        aliases: &["EvalFile"],
        kind: Kind::Text("<embedded>", |s| s.weights.as_deref(), |s, v| s.weights = v),
        effect: Effect::Network,
        doc: "the network to think with, an ONNX file; a bad one leaves the previous in place",
    },
    Entry {
        name: "Precision",
        aliases: &[],
        kind: Kind::Choice(
            &[AUTO, "fp32", "int8"],
            |s| s.precision.map_or(AUTO, Precision::name),
            set_precision,
        ),
        effect: Effect::Network,
        doc: "of the network's two files, `NAME.onnx` and `NAME.int8.onnx`; `auto` is the faster one here",
    },
    Entry {
        name: "Backend",
        aliases: &[],
        kind: Kind::Choice(&["onnx-cpu", "uniform"], |s| s.backend.name(), set_backend),
        effect: Effect::Workers,
        doc: "what answers for positions; `uniform` is no network at all",
    },
    Entry {
        name: "Debug Log File",
        aliases: &["LogFile"],
        kind: Kind::Text("<empty>", |s| s.log_file.as_deref(), |s, v| s.log_file = v),
        effect: Effect::Log,
        doc: "UCI traffic both ways",
    },
    Entry {
        name: "MinibatchSize",
        aliases: &[],
        kind: Kind::Spin(1, 1024, |s| spin(s.params.batch), |s, v| s.params.batch = count(v)),
        effect: Effect::Workers,
        doc: "positions that a worker has evaluated at once",
    },
    Entry {
        name: "VirtualLoss",
        aliases: &[],
        kind: Kind::Number(0.0, 10.0, |s| s.params.virtual_loss, |s, v| s.params.virtual_loss = v),
        effect: Effect::Params,
        doc: "losses that a visit under way counts for",
    },
    Entry {
        name: "CPuct",
        aliases: &[],
        kind: Kind::Number(0.0, 100.0, |s| s.params.cpuct, |s, v| s.params.cpuct = v),
        effect: Effect::Params,
        doc: "how much the search explores",
    },
    Entry {
        name: "CPuctBase",
        aliases: &[],
        kind: Kind::Number(1.0, 1e9, |s| s.params.cpuct_base, |s, v| s.params.cpuct_base = v),
        effect: Effect::Params,
        doc: "visits from which on it explores more",
    },
    Entry {
        name: "CPuctFactor",
        aliases: &[],
        kind: Kind::Number(0.0, 1000.0, |s| s.params.cpuct_factor, |s, v| s.params.cpuct_factor = v),
        effect: Effect::Params,
        doc: "how much more",
    },
    Entry {
        name: "FpuValue",
        aliases: &[],
        kind: Kind::Number(-100.0, 100.0, |s| s.params.fpu_value, |s, v| s.params.fpu_value = v),
        effect: Effect::Params,
        doc: "how much worse than its parent an unvisited move is taken to be",
    },
    Entry {
        name: "PolicyTemperature",
        aliases: &[],
        kind: Kind::Number(
            0.1,
            10.0,
            |s| s.params.policy_temperature,
            |s, v| s.params.policy_temperature = v,
        ),
        effect: Effect::Params,
        doc: "above 1 flattens the network's policy",
    },
];
