//! The table of options.

use std::time::Duration;

use super::options::{OptionEffect, OptionKind, UciOption};
use super::settings::Backend;
use super::strength::{FULL_SKILL, STRONGEST, WEAKEST};
use crate::nets::eval::Precision;
use crate::nets::onnx::MAX_STEPS;
use crate::search::Params;
use crate::search::players::Player;

/// A count from a spin whose minimum is 1.
fn count(value: i64) -> usize {
    usize::try_from(value).unwrap_or(1)
}

/// A count as a spin value.
fn spin(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn about() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("Philidor {version}, a UCI chess engine with a neural network; GPL-3.0-or-later")
}

/// The network search, then the classical players.
const PLAYERS: [&str; 6] = {
    let [random, minimax, alpha_beta, uct, uct_value] = Player::NAMES;
    ["network", random, minimax, alpha_beta, uct, uct_value]
};

/// All options.
pub static TABLE: &[UciOption] = &[
    UciOption {
        name: "Hash",
        aliases: &[],
        kind: OptionKind::Spin(1, 33_554_432, |s| spin(s.hash), |s, v| s.hash = count(v)),
        effect: OptionEffect::Memory,
        doc: "memory for the search tree and the evaluation cache together, in MiB; never exceeded",
    },
    UciOption {
        name: "Threads",
        aliases: &[],
        kind: OptionKind::Spin(1, 512, |s| spin(s.threads), |s, v| s.threads = count(v)),
        effect: OptionEffect::Workers,
        doc: "search workers, each with an evaluator of its own",
    },
    UciOption {
        name: "Clear Hash",
        aliases: &[],
        kind: OptionKind::Button,
        effect: OptionEffect::Clear,
        doc: "clear the search tree and the evaluation cache",
    },
    UciOption {
        name: "Ponder",
        aliases: &[],
        kind: OptionKind::Check(|s| s.ponder, |s, v| s.ponder = v),
        effect: OptionEffect::None,
        doc: "tells the GUI that `go ponder` is supported; has no effect of its own",
    },
    UciOption {
        name: "MultiPV",
        aliases: &[],
        kind: OptionKind::Spin(1, 500, |s| spin(s.multipv), |s, v| s.multipv = count(v)),
        effect: OptionEffect::None,
        doc: "number of variations to report",
    },
    UciOption {
        name: "Move Overhead",
        aliases: &["MoveOverhead", "MoveOverheadMs"],
        kind: OptionKind::Spin(
            0,
            5000,
            |s| i64::try_from(s.move_overhead.as_millis()).unwrap_or(i64::MAX),
            |s, v| s.move_overhead = Duration::from_millis(v.unsigned_abs()),
        ),
        effect: OptionEffect::None,
        doc: "time in milliseconds of a clock that is never used, for what a move costs outside the engine; a larger measured delay is used instead",
    },
    UciOption {
        name: "UCI_Chess960",
        aliases: &[],
        kind: OptionKind::Check(|s| s.chess960, |s, v| s.chess960 = v),
        effect: OptionEffect::None,
        doc: "write castling as king takes rook (both notations are always accepted)",
    },
    UciOption {
        name: "UCI_ShowWDL",
        aliases: &["ShowWDL"],
        kind: OptionKind::Check(|s| s.show_wdl, |s, v| s.show_wdl = v),
        effect: OptionEffect::None,
        doc: "report win, draw and loss per mille",
    },
    UciOption {
        name: "UCI_AnalyseMode",
        aliases: &[],
        kind: OptionKind::Check(|s| s.analyse, |s, v| s.analyse = v),
        effect: OptionEffect::Params,
        doc: "analysis: no strength limit, no smart pruning, no contempt, no book",
    },
    UciOption {
        name: "UCI_LimitStrength",
        aliases: &[],
        kind: OptionKind::Check(|s| s.limit_strength, |s, v| s.limit_strength = v),
        effect: OptionEffect::Params,
        doc: "play at `UCI_Elo`: fewer visits, a flatter policy, and a random choice among nearly equal moves",
    },
    UciOption {
        name: "UCI_Elo",
        aliases: &[],
        kind: OptionKind::Spin(WEAKEST, STRONGEST, |s| s.elo, |s, v| s.elo = v),
        effect: OptionEffect::Params,
        doc: "rating to play at when `UCI_LimitStrength` is set",
    },
    UciOption {
        name: "Skill Level",
        aliases: &[],
        kind: OptionKind::Spin(0, FULL_SKILL, |s| s.skill, |s, v| s.skill = v),
        effect: OptionEffect::Params,
        doc: "the same scale in steps, without `UCI_LimitStrength`; 20 is full strength",
    },
    UciOption {
        name: "UCI_Opponent",
        aliases: &[],
        kind: OptionKind::Text("<empty>", |s| s.opponent.as_deref(), |s, v| s.opponent = v),
        effect: OptionEffect::None,
        doc: "name of the opponent; recorded only",
    },
    UciOption {
        name: "UCI_EngineAbout",
        aliases: &[],
        kind: OptionKind::Fixed(about),
        effect: OptionEffect::None,
        doc: "name, version and licence of the engine",
    },
    UciOption {
        name: "WeightsFile",
        aliases: &["EvalFile"],
        kind: OptionKind::Text("<embedded>", |s| s.weights.as_deref(), |s, v| s.weights = v),
        effect: OptionEffect::Network,
        doc: "network file (ONNX); a relative path is looked for in the working directory, beside the program and in the networks' folder",
    },
    UciOption {
        name: "Precision",
        aliases: &[],
        kind: OptionKind::Choice(
            &["auto", "fp32", "int8"],
            |s| Precision::ALL.iter().position(|one| Some(*one) == s.precision).map_or(0, |at| at + 1),
            |s, v| s.precision = v.checked_sub(1).and_then(|at| Precision::ALL.get(at)).copied(),
        ),
        effect: OptionEffect::Network,
        doc: "which of the network's two files to use, `NAME.onnx` or `NAME.int8.onnx`; `auto` is the faster one on this machine",
    },
    UciOption {
        name: "ThinkSteps",
        aliases: &[],
        kind: OptionKind::Spin(
            0,
            MAX_STEPS as i64,
            |s| spin(s.step_limits.steps),
            |s, v| s.step_limits.steps = usize::try_from(v).unwrap_or(0),
        ),
        effect: OptionEffect::Network,
        doc: "refinement steps of a recurrent network per position; 0 is the number that it was trained with",
    },
    UciOption {
        name: "ThinkEpsilon",
        aliases: &[],
        kind: OptionKind::Number(0.0, 1.0, |s| s.step_limits.epsilon, |s, v| s.step_limits.epsilon = v),
        effect: OptionEffect::Network,
        doc: "halting threshold of a recurrent network: a position is final when no probability changed by more than this in a step; 0 never halts early",
    },
    UciOption {
        name: "Backend",
        aliases: &[],
        kind: OptionKind::Choice(
            &Backend::NAMES,
            |s| Backend::ALL.iter().position(|backend| *backend == s.backend).unwrap_or(0),
            |s, v| s.backend = Backend::ALL.get(v).copied().unwrap_or_default(),
        ),
        effect: OptionEffect::Network,
        doc: "evaluator of positions: our kernels for networks of the family `sparse`, ONNX Runtime on the CPU or a GPU, or no network; `auto` is the fastest that runs the network on the CPU",
    },
    UciOption {
        name: "Player",
        aliases: &[],
        kind: OptionKind::Choice(
            &PLAYERS,
            |s| Player::ALL.iter().position(|one| Some(*one) == s.player).map_or(0, |at| at + 1),
            |s, v| s.player = v.checked_sub(1).and_then(|at| Player::ALL.get(at)).copied(),
        ),
        // The network search and a classical player have the same memory in turn.
        effect: OptionEffect::Workers,
        doc: "what plays: the network search, or one of the classical players",
    },
    UciOption {
        name: "UctExploration",
        aliases: &[],
        kind: OptionKind::Number(0.0, 100.0, |s| s.uct.exploration, |s, v| s.uct.exploration = v),
        effect: OptionEffect::None,
        doc: "exploration constant of `uct` and `uct-value`; √2 by default",
    },
    UciOption {
        name: "Seed",
        aliases: &[],
        kind: OptionKind::Spin(
            0,
            2_147_483_647,
            |s| i64::try_from(s.seed).unwrap_or(0),
            |s, v| s.seed = v.unsigned_abs(),
        ),
        effect: OptionEffect::None,
        doc: "seed of the random numbers of the classical players, of limited strength and of `Temperature`; 0 is a new seed for every game",
    },
    UciOption {
        name: "OwnBook",
        aliases: &[],
        kind: OptionKind::Check(|s| s.own_book, |s, v| s.own_book = v),
        effect: OptionEffect::None,
        doc: "play moves from the book, except in analysis",
    },
    UciOption {
        name: "BookFile",
        aliases: &[],
        kind: OptionKind::Text("<empty>", |s| s.book.as_deref(), |s, v| s.book = v),
        effect: OptionEffect::Book,
        doc: "opening book in Polyglot format",
    },
    UciOption {
        name: "BookDepth",
        aliases: &[],
        kind: OptionKind::Spin(1, 100, |s| spin(s.book_depth), |s, v| s.book_depth = count(v)),
        effect: OptionEffect::None,
        doc: "the number of plies from the start of the game in which the book is used",
    },
    UciOption {
        name: "SyzygyPath",
        aliases: &[],
        kind: OptionKind::Text("<empty>", |s| s.tables.as_deref(), |s, v| s.tables = v),
        effect: OptionEffect::Tables,
        doc: "folders of further Syzygy endgame tables, separated by `:` (except on Windows) or `;`; those of up to four pieces are built in",
    },
    UciOption {
        name: "SyzygyProbeDepth",
        aliases: &[],
        kind: OptionKind::Spin(1, 100, |s| spin(s.table_rules.depth), |s, v| s.table_rules.depth = count(v)),
        effect: OptionEffect::TableRules,
        doc: "least distance from the root, in plies, at which the search probes the tables",
    },
    UciOption {
        name: "Syzygy50MoveRule",
        aliases: &[],
        kind: OptionKind::Check(|s| s.table_rules.fifty_moves, |s, v| s.table_rules.fifty_moves = v),
        effect: OptionEffect::TableRules,
        doc: "count wins and losses that the fifty-move rule prevents as draws",
    },
    UciOption {
        name: "SyzygyProbeLimit",
        aliases: &[],
        kind: OptionKind::Spin(0, 7, |s| spin(s.table_rules.pieces), |s, v| s.table_rules.pieces = count(v)),
        effect: OptionEffect::TableRules,
        doc: "largest number of pieces of a position to probe; 0 uses no tables, not even those built in",
    },
    UciOption {
        name: "Debug Log File",
        aliases: &["LogFile"],
        kind: OptionKind::Text("<empty>", |s| s.log_file.as_deref(), |s, v| s.log_file = v),
        effect: OptionEffect::Log,
        doc: "log file for the UCI traffic in both directions",
    },
    UciOption {
        name: "VerboseMoveStats",
        aliases: &[],
        kind: OptionKind::Check(|s| s.verbose_move_stats, |s, v| s.verbose_move_stats = v),
        effect: OptionEffect::None,
        doc: "write the root moves' statistics at the end of a search, in lc0's format",
    },
    UciOption {
        name: "LogLiveStats",
        aliases: &[],
        kind: OptionKind::Check(|s| s.log_live_stats, |s, v| s.log_live_stats = v),
        effect: OptionEffect::None,
        doc: "write them with every `info`, as Nibbler expects",
    },
    UciOption {
        name: "MinibatchSize",
        aliases: &[],
        kind: OptionKind::Spin(1, 1024, |s| spin(s.params.batch), |s, v| s.params.batch = count(v)),
        effect: OptionEffect::Workers,
        doc: "positions per evaluation batch of a worker",
    },
    UciOption {
        name: "VirtualLoss",
        aliases: &[],
        kind: OptionKind::Number(0.0, 10.0, |s| s.params.virtual_loss, |s, v| s.params.virtual_loss = v),
        effect: OptionEffect::Params,
        doc: "virtual loss per in-flight visit",
    },
    UciOption {
        name: "CPuct",
        aliases: &[],
        kind: OptionKind::Tuned(0.0, 100.0, |s| s.params.puct.c, |s, v| s.params.puct.c = v),
        effect: OptionEffect::Params,
        doc: "exploration constant of PUCT",
    },
    UciOption {
        name: "CPuctBase",
        aliases: &[],
        kind: OptionKind::Number(1.0, 1e9, |s| s.params.puct.base, |s, v| s.params.puct.base = v),
        effect: OptionEffect::Params,
        doc: "visit count that scales the growth of exploration: `CPuct + CPuctFactor · ln((N + base) / base)`",
    },
    UciOption {
        name: "CPuctFactor",
        aliases: &[],
        kind: OptionKind::Number(0.0, 1000.0, |s| s.params.puct.factor, |s, v| s.params.puct.factor = v),
        effect: OptionEffect::Params,
        doc: "factor of the growth of exploration with the visits N",
    },
    UciOption {
        name: "CPuctExponent",
        aliases: &[],
        kind: OptionKind::Tuned(0.0, 1.0, |s| s.params.puct.exponent, |s, v| s.params.puct.exponent = v),
        effect: OptionEffect::Params,
        doc: "exponent of the visits of all moves in the exploration of one: 0.5 is the square root",
    },
    UciOption {
        name: "CPuctDeviation",
        aliases: &[],
        kind: OptionKind::Tuned(0.0, 1.0, |s| s.params.puct.deviation, |s, v| s.params.puct.deviation = v),
        effect: OptionEffect::Params,
        doc: "weight of the standard deviation of a node's results in its exploration",
    },
    UciOption {
        name: "CPuctRoot",
        aliases: &[],
        kind: OptionKind::Tuned(0.0, 100.0, |s| s.params.puct.root, |s, v| s.params.puct.root = v),
        effect: OptionEffect::Params,
        doc: "factor on the exploration at the root",
    },
    UciOption {
        name: "CPuctJitter",
        aliases: &[],
        kind: OptionKind::Tuned(0.0, 1.0, |s| s.params.puct.jitter, |s, v| s.params.puct.jitter = v),
        effect: OptionEffect::Params,
        doc: "each worker but the first explores more or less, by a factor between 1 − this and 1 + this",
    },
    UciOption {
        name: "FpuValue",
        aliases: &[],
        kind: OptionKind::Tuned(-100.0, 100.0, |s| s.params.fpu, |s, v| s.params.fpu = v),
        effect: OptionEffect::Params,
        doc: "first-play urgency reduction: an unvisited move's Q is the parent's less this times √(visited prior)",
    },
    UciOption {
        name: "PolicyTemperature",
        aliases: &[],
        kind: OptionKind::Tuned(
            0.1,
            10.0,
            |s| s.params.policy_temperature,
            |s, v| s.params.policy_temperature = v,
        ),
        effect: OptionEffect::Params,
        doc: "softmax temperature of the policy; above 1 flattens the priors",
    },
    UciOption {
        name: "RootPolicyTemperature",
        aliases: &[],
        kind: OptionKind::Tuned(
            0.1,
            10.0,
            |s| s.params.root_policy_temperature,
            |s, v| s.params.root_policy_temperature = v,
        ),
        effect: OptionEffect::Params,
        doc: "softmax temperature of the policy at the root",
    },
    UciOption {
        name: "ReplyPolicyTemperature",
        aliases: &[],
        kind: OptionKind::Tuned(
            0.1,
            10.0,
            |s| s.params.reply_policy_temperature,
            |s, v| s.params.reply_policy_temperature = v,
        ),
        effect: OptionEffect::Params,
        doc: "softmax temperature of the policy at the positions after the root's moves",
    },
    UciOption {
        name: "Temperature",
        aliases: &[],
        kind: OptionKind::Number(0.0, 100.0, |s| s.temperature, |s, v| s.temperature = v),
        effect: OptionEffect::None,
        doc: "above 0, the move is drawn with probability proportional to visits^(1/T), or to prior^(1/T) with `go nodes 1`",
    },
    UciOption {
        name: "Transpositions",
        aliases: &[],
        kind: OptionKind::Check(|s| s.params.transpositions, |s, v| s.params.transpositions = v),
        effect: OptionEffect::Params,
        doc: "share one node between positions reached by different move orders",
    },
    UciOption {
        name: "TreeReuse",
        aliases: &[],
        kind: OptionKind::Check(|s| s.params.reuse, |s, v| s.params.reuse = v),
        effect: OptionEffect::Params,
        doc: "reuse the previous search tree if it contains the new root",
    },
    UciOption {
        name: "Solver",
        aliases: &[],
        kind: OptionKind::Check(|s| s.params.solver, |s, v| s.params.solver = v),
        effect: OptionEffect::Params,
        doc: "propagate proven wins, losses and draws up the tree",
    },
    UciOption {
        name: "VisitSeries",
        aliases: &[],
        kind: OptionKind::Spin(
            1,
            Params::MOST_SERIES as i64,
            |s| i64::from(s.params.series),
            |s, v| s.params.series = u32::try_from(v).unwrap_or(1),
        ),
        effect: OptionEffect::Params,
        doc: "most visits in a row of a node before the node above gets their results: one, and one more for each 16 that it has, with the backend `native`; 1 is off",
    },
    UciOption {
        name: "MateSearch",
        aliases: &[],
        kind: OptionKind::Check(|s| s.params.mates, |s, v| s.params.mates = v),
        effect: OptionEffect::Params,
        doc: "look for a forced mate at the root and on the most visited line, on a tenth of the time or less; needs `Solver`",
    },
    UciOption {
        name: "TwoFoldDraws",
        aliases: &[],
        kind: OptionKind::Check(|s| s.params.twofold_draws, |s, v| s.params.twofold_draws = v),
        effect: OptionEffect::Params,
        doc: "count the first repetition of a position within the search as a draw",
    },
    UciOption {
        name: "SmartPruningFactor",
        aliases: &[],
        kind: OptionKind::Number(0.0, 10.0, |s| s.params.smart_pruning, |s, v| s.params.smart_pruning = v),
        effect: OptionEffect::Params,
        doc: "give no more visits to root moves that cannot become best in the expected time, and stop when only one can; larger prunes earlier, 0 is off",
    },
    UciOption {
        name: "TimeMidpoint",
        aliases: &[],
        kind: OptionKind::Number(1.0, 200.0, |s| s.time.midpoint, |s, v| s.time.midpoint = v),
        effect: OptionEffect::None,
        doc: "the move at which the number of moves that the clock is divided by has nearly stopped falling",
    },
    UciOption {
        name: "TimeVisitsBase",
        aliases: &[],
        kind: OptionKind::Number(0.1, 10.0, |s| s.time.visits_base, |s, v| s.time.visits_base = v),
        effect: OptionEffect::None,
        doc: "factor of a move's time for a best move without visits",
    },
    UciOption {
        name: "TimeVisitsSlope",
        aliases: &[],
        kind: OptionKind::Number(0.0, 10.0, |s| s.time.visits_slope, |s, v| s.time.visits_slope = v),
        effect: OptionEffect::None,
        doc: "what that factor loses as the best move's share of the visits grows from 0 to 1",
    },
    UciOption {
        name: "TimeInstability",
        aliases: &[],
        kind: OptionKind::Number(0.0, 10.0, |s| s.time.instability, |s, v| s.time.instability = v),
        effect: OptionEffect::None,
        doc: "more time by recent changes of the best move: factor `1 + ln(1 + this · changes)`",
    },
    UciOption {
        name: "TimeFalling",
        aliases: &[],
        kind: OptionKind::Number(0.0, 100.0, |s| s.time.falling, |s, v| s.time.falling = v),
        effect: OptionEffect::None,
        doc: "more time if the expected result has fallen since the previous move: factor `1 + this · fall`, from 0.85 to 1.6",
    },
    UciOption {
        name: "Contempt",
        aliases: &[],
        kind: OptionKind::Number(-10.0, 10.0, |s| s.params.contempt, |s, v| s.params.contempt = v),
        effect: OptionEffect::Params,
        doc: "while winning, a move's Q is reduced by this times (win − loss) times its draw probability (NeuralMatePlay)",
    },
    UciOption {
        name: "UncertaintyWeight",
        aliases: &[],
        kind: OptionKind::Number(0.0, 100.0, |s| s.params.uncertainty, |s, v| s.params.uncertainty = v),
        effect: OptionEffect::Params,
        doc: "exploration of a move is multiplied by 1 + this · √(win · loss) (NeuralMatePlay)",
    },
    UciOption {
        name: "DrawSiblingFpu",
        aliases: &[],
        kind: OptionKind::Check(|s| s.params.draw_sibling_fpu, |s, v| s.params.draw_sibling_fpu = v),
        effect: OptionEffect::Params,
        doc: "no first-play urgency reduction at nodes with a certain draw among the moves (NeuralMatePlay)",
    },
    UciOption {
        name: "ProgressWeight",
        aliases: &[],
        kind: OptionKind::Number(0.0, 1.0, |s| s.params.progress, |s, v| s.params.progress = v),
        effect: OptionEffect::Params,
        doc: "against a bare king a win counts less, by at most this part, the farther that king is from the edges and from the other king; 0 is off",
    },
];
