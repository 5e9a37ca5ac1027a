//! The rows of the table of options.

use std::time::Duration;

use super::options::{Effect, Entry, Kind};
use super::settings::Backend;
use super::strength::{FULL_SKILL, STRONGEST, WEAKEST};
use crate::eval::Precision;
use crate::onnx::MAX_STEPS;
use crate::players::Player;

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

/// The network, then the classical players.
const PLAYERS: [&str; 6] = {
    let [random, minimax, alpha_beta, uct, uct_value] = Player::NAMES;
    ["network", random, minimax, alpha_beta, uct, uct_value]
};

/// Every option there is.
pub static TABLE: &[Entry] = &[
    Entry {
        name: "Hash",
        aliases: &[],
        kind: Kind::Spin(1, 33_554_432, |s| spin(s.hash), |s, v| s.hash = count(v)),
        effect: Effect::Memory,
        doc: "MiB for tree and cache together: a hard bound",
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
        name: "UCI_AnalyseMode",
        aliases: &[],
        kind: Kind::Check(|s| s.analyse, |s, v| s.analyse = v),
        effect: Effect::Params,
        doc: "analysis: no limit of the strength, no early end of a search",
    },
    Entry {
        name: "UCI_LimitStrength",
        aliases: &[],
        kind: Kind::Check(|s| s.limit_strength, |s, v| s.limit_strength = v),
        effect: Effect::Params,
        doc: "play to `UCI_Elo`, like a human: sees less, and chooses among moves that are nearly as good",
    },
    Entry {
        name: "UCI_Elo",
        aliases: &[],
        kind: Kind::Spin(WEAKEST, STRONGEST, |s| s.elo, |s, v| s.elo = v),
        effect: Effect::Params,
        doc: "the rating to play to",
    },
    Entry {
        name: "Skill Level",
        aliases: &[],
        kind: Kind::Spin(0, FULL_SKILL, |s| s.skill, |s, v| s.skill = v),
        effect: Effect::Params,
        doc: "the same scale in steps, without `UCI_LimitStrength`; 20 is no limit",
    },
    Entry {
        name: "UCI_Opponent",
        aliases: &[],
        kind: Kind::Text("<empty>", |s| s.opponent.as_deref(), |s, v| s.opponent = v),
        effect: Effect::Nothing,
        doc: "who plays against us; only noted",
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
            &["auto", "fp32", "int8"],
            |s| Precision::ALL.iter().position(|one| Some(*one) == s.precision).map_or(0, |at| at + 1),
            |s, v| s.precision = v.checked_sub(1).and_then(|at| Precision::ALL.get(at)).copied(),
        ),
        effect: Effect::Network,
        doc: "of the network's two files, `NAME.onnx` and `NAME.int8.onnx`; `auto` is the faster one here",
    },
    Entry {
        name: "ThinkSteps",
        aliases: &[],
        kind: Kind::Spin(
            0,
            MAX_STEPS as i64,
            |s| spin(s.thinking.steps),
            |s, v| s.thinking.steps = usize::try_from(v).unwrap_or(0),
        ),
        effect: Effect::Workers,
        doc: "steps in which a network that thinks in steps thinks about each position; 0 is as many as it was trained with",
    },
    Entry {
        name: "ThinkEpsilon",
        aliases: &[],
        kind: Kind::Number(0.0, 1.0, |s| s.thinking.epsilon, |s, v| s.thinking.epsilon = v),
        effect: Effect::Workers,
        doc: "fewer steps where the answer has settled: no chance has changed by more than this in a step; 0 is never",
    },
    Entry {
        name: "Backend",
        aliases: &[],
        kind: Kind::Choice(
            &Backend::NAMES,
            |s| Backend::ALL.iter().position(|backend| *backend == s.backend).unwrap_or(0),
            |s, v| s.backend = Backend::ALL.get(v).copied().unwrap_or_default(),
        ),
        effect: Effect::Workers,
        doc: "what answers for positions; `uniform` is no network at all",
    },
    Entry {
        name: "Player",
        aliases: &[],
        kind: Kind::Choice(
            &PLAYERS,
            |s| Player::ALL.iter().position(|one| Some(*one) == s.player).map_or(0, |at| at + 1),
            |s, v| s.player = v.checked_sub(1).and_then(|at| Player::ALL.get(at)).copied(),
        ),
        effect: Effect::Clear,
        doc: "who plays: the network's search, or one of the lesson's classical players",
    },
    Entry {
        name: "UctExploration",
        aliases: &[],
        kind: Kind::Number(0.0, 100.0, |s| s.uct.exploration, |s, v| s.uct.exploration = v),
        effect: Effect::Nothing,
        doc: "how much `uct` and `uct-value` explore: √2 is the lesson's",
    },
    Entry {
        name: "Seed",
        aliases: &[],
        kind: Kind::Spin(
            0,
            2_147_483_647,
            |s| i64::try_from(s.seed).unwrap_or(0),
            |s, v| s.seed = v.unsigned_abs(),
        ),
        effect: Effect::Nothing,
        doc: "where the dice of classical players and of limited strength begin, the same in every game; 0 is always somewhere else",
    },
    Entry {
        name: "OwnBook",
        aliases: &[],
        kind: Kind::Check(|s| s.own_book, |s, v| s.own_book = v),
        effect: Effect::Nothing,
        doc: "play the book's moves at once, unless asked to analyse",
    },
    Entry {
        name: "BookFile",
        aliases: &[],
        kind: Kind::Text("<empty>", |s| s.book.as_deref(), |s, v| s.book = v),
        effect: Effect::Book,
        doc: "an opening book in Polyglot's format",
    },
    Entry {
        name: "BookDepth",
        aliases: &[],
        kind: Kind::Spin(1, 100, |s| spin(s.book_depth), |s, v| s.book_depth = count(v)),
        effect: Effect::Nothing,
        doc: "plies of a game that may come from the book",
    },
    Entry {
        name: "SyzygyPath",
        aliases: &[],
        kind: Kind::Text("<empty>", |s| s.tables.as_deref(), |s, v| s.tables = v),
        effect: Effect::Tables,
        doc: "folders of Syzygy endgame tables, separated by `:` (not on Windows) or `;`",
    },
    Entry {
        name: "SyzygyProbeDepth",
        aliases: &[],
        kind: Kind::Spin(1, 100, |s| spin(s.table_rules.depth), |s, v| s.table_rules.depth = count(v)),
        effect: Effect::TableRules,
        doc: "plies from the root from which on the search looks positions up",
    },
    Entry {
        name: "Syzygy50MoveRule",
        aliases: &[],
        kind: Kind::Check(|s| s.table_rules.fifty_moves, |s, v| s.table_rules.fifty_moves = v),
        effect: Effect::TableRules,
        doc: "take what the fifty-move rule would spoil for a draw",
    },
    Entry {
        name: "SyzygyProbeLimit",
        aliases: &[],
        kind: Kind::Spin(0, 7, |s| spin(s.table_rules.pieces), |s, v| s.table_rules.pieces = count(v)),
        effect: Effect::TableRules,
        doc: "the most pieces of a position that is looked up",
    },
    Entry {
        name: "Debug Log File",
        aliases: &["LogFile"],
        kind: Kind::Text("<empty>", |s| s.log_file.as_deref(), |s, v| s.log_file = v),
        effect: Effect::Log,
        doc: "UCI traffic both ways",
    },
    Entry {
        name: "VerboseMoveStats",
        aliases: &[],
        kind: Kind::Check(|s| s.verbose_move_stats, |s, v| s.verbose_move_stats = v),
        effect: Effect::Nothing,
        doc: "show the root moves' statistics at the end of a search, in Leela's form",
    },
    Entry {
        name: "LogLiveStats",
        aliases: &[],
        kind: Kind::Check(|s| s.log_live_stats, |s, v| s.log_live_stats = v),
        effect: Effect::Nothing,
        doc: "show them with every `info`: what Nibbler displays",
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
        kind: Kind::Number(0.0, 100.0, |s| s.params.puct.c, |s, v| s.params.puct.c = v),
        effect: Effect::Params,
        doc: "how much the search explores",
    },
    Entry {
        name: "CPuctBase",
        aliases: &[],
        kind: Kind::Number(1.0, 1e9, |s| s.params.puct.base, |s, v| s.params.puct.base = v),
        effect: Effect::Params,
        doc: "visits from which on it explores more",
    },
    Entry {
        name: "CPuctFactor",
        aliases: &[],
        kind: Kind::Number(0.0, 1000.0, |s| s.params.puct.factor, |s, v| s.params.puct.factor = v),
        effect: Effect::Params,
        doc: "how much more",
    },
    Entry {
        name: "FpuValue",
        aliases: &[],
        kind: Kind::Number(-100.0, 100.0, |s| s.params.fpu, |s, v| s.params.fpu = v),
        effect: Effect::Params,
        doc: "first-play urgency: an unvisited move's Q is its parent's less this times √(visited prior)",
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
    Entry {
        name: "Temperature",
        aliases: &[],
        kind: Kind::Number(0.0, 100.0, |s| s.temperature, |s, v| s.temperature = v),
        effect: Effect::Nothing,
        doc: "above 0 the move is drawn: chances are visits to the power of 1/T, or the policy to that power with `go nodes 1`",
    },
    Entry {
        name: "Transpositions",
        aliases: &[],
        kind: Kind::Check(|s| s.params.transpositions, |s, v| s.params.transpositions = v),
        effect: Effect::Params,
        doc: "ways to the same position share what is known of it",
    },
    Entry {
        name: "TreeReuse",
        aliases: &[],
        kind: Kind::Check(|s| s.params.reuse, |s, v| s.params.reuse = v),
        effect: Effect::Params,
        doc: "go on with the last search's tree where the new position stands in it",
    },
    Entry {
        name: "Solver",
        aliases: &[],
        kind: Kind::Check(|s| s.params.solver, |s, v| s.params.solver = v),
        effect: Effect::Params,
        doc: "proven wins, losses and draws travel up the tree",
    },
    Entry {
        name: "TwoFoldDraws",
        aliases: &[],
        kind: Kind::Check(|s| s.params.twofold_draws, |s, v| s.params.twofold_draws = v),
        effect: Effect::Params,
        doc: "a position that stands for the second time in the search is a draw",
    },
    Entry {
        name: "SmartPruningFactor",
        aliases: &[],
        kind: Kind::Number(0.0, 10.0, |s| s.params.smart_pruning, |s, v| s.params.smart_pruning = v),
        effect: Effect::Params,
        doc: "visits go only to moves that can still become best, and a clock's search ends when one is left; 0 is off",
    },
    Entry {
        name: "Contempt",
        aliases: &[],
        kind: Kind::Number(-10.0, 10.0, |s| s.params.contempt, |s, v| s.params.contempt = v),
        effect: Effect::Params,
        doc: "while winning, how much to shun drawish moves",
    },
    Entry {
        name: "UncertaintyWeight",
        aliases: &[],
        kind: Kind::Number(0.0, 100.0, |s| s.params.uncertainty, |s, v| s.params.uncertainty = v),
        effect: Effect::Params,
        doc: "how much more to explore sharp moves",
    },
    Entry {
        name: "DrawSiblingFpu",
        aliases: &[],
        kind: Kind::Check(|s| s.params.draw_sibling_fpu, |s, v| s.params.draw_sibling_fpu = v),
        effect: Effect::Params,
        doc: "next to a certain draw, unvisited moves are as good as their parent",
    },
];
