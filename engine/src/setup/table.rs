//! The table of UCI options, one line each.

use std::time::Duration;

use super::options::{OptionEffect, OptionKind, UciOption};
use super::settings::Backend;
use super::strength::{FULL_SKILL, STRONGEST, WEAKEST};
use crate::nets::eval::Precision;
use crate::nets::onnx::MAX_STEPS;
use crate::search::Params;
use crate::search::players::Player;

/// A whole number in UCI.
trait Whole: Sized {
    fn to_spin(&self) -> i64;
    /// `number` is within the option's range.
    fn of_spin(number: i64) -> Self;
}

macro_rules! whole {
    ($($number:ty),*) => {
        $(impl Whole for $number {
            fn to_spin(&self) -> i64 {
                i64::try_from(*self).unwrap_or(i64::MAX)
            }
            fn of_spin(number: i64) -> $number {
                <$number>::try_from(number).unwrap_or_default()
            }
        })*
    };
}
whole!(usize, u32, u64, i64);

/// Milliseconds.
impl Whole for Duration {
    fn to_spin(&self) -> i64 {
        i64::try_from(self.as_millis()).unwrap_or(i64::MAX)
    }
    fn of_spin(number: i64) -> Duration {
        Duration::from_millis(number.unsigned_abs())
    }
}

/// A `combo` in UCI.
trait OneOf: Sized {
    const NAMES: &'static [&'static str];
    /// Index in `NAMES`.
    fn place(&self) -> usize;
    fn at(place: usize) -> Self;
}

impl OneOf for Backend {
    const NAMES: &'static [&'static str] = &Backend::NAMES;
    fn place(&self) -> usize {
        Backend::ALL.iter().position(|backend| backend == self).unwrap_or(0)
    }
    fn at(place: usize) -> Backend {
        Backend::ALL.get(place).copied().unwrap_or_default()
    }
}

impl OneOf for Option<Precision> {
    const NAMES: &'static [&'static str] = &["auto", "fp32", "int8"];
    fn place(&self) -> usize {
        Precision::ALL.iter().position(|one| Some(*one) == *self).map_or(0, |place| place + 1)
    }
    fn at(place: usize) -> Option<Precision> {
        place.checked_sub(1).and_then(|place| Precision::ALL.get(place)).copied()
    }
}

impl OneOf for Option<Player> {
    const NAMES: &'static [&'static str] = &{
        let [random, minimax, alpha_beta, uct, uct_value] = Player::NAMES;
        ["network", random, minimax, alpha_beta, uct, uct_value]
    };
    fn place(&self) -> usize {
        Player::ALL.iter().position(|one| Some(*one) == *self).map_or(0, |place| place + 1)
    }
    fn at(place: usize) -> Option<Player> {
        place.checked_sub(1).and_then(|place| Player::ALL.get(place)).copied()
    }
}

/// The argument only selects the type.
const fn names<T: OneOf>(_: fn(&super::settings::Settings) -> &T) -> &'static [&'static str] {
    T::NAMES
}

fn about() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("Philidor {version}, a UCI chess engine with a neural network; GPL-3.0-or-later")
}

/// Takes a kind, a field of [`Settings`](super::settings::Settings), and a range.
macro_rules! kind {
    (button()) => { OptionKind::Button };
    (fixed($text:ident)) => { OptionKind::Fixed($text) };
    (check($($field:ident).+)) => { OptionKind::Check(|s| s.$($field).+, |s, v| s.$($field).+ = v) };
    (spin($($field:ident).+, $min:expr, $max:expr)) => {
        OptionKind::Spin($min, $max, |s| s.$($field).+.to_spin(), |s, v| s.$($field).+ = Whole::of_spin(v))
    };
    (number($($field:ident).+, $min:expr, $max:expr)) => {
        OptionKind::Number($min, $max, |s| s.$($field).+, |s, v| s.$($field).+ = v)
    };
    (tuned($($field:ident).+, $min:expr, $max:expr)) => {
        OptionKind::Tuned($min, $max, |s| s.$($field).+, |s, v| s.$($field).+ = v)
    };
    (text($($field:ident).+, $none:expr)) => {
        OptionKind::Text($none, |s| s.$($field).+.as_deref(), |s, v| s.$($field).+ = v)
    };
    (choice($($field:ident).+)) => {
        OptionKind::Choice(names(|s| &s.$($field).+), |s| s.$($field).+.place(), |s, v| s.$($field).+ = OneOf::at(v))
    };
}

macro_rules! options {
    ($($list:ident { $(($name:literal, [$($alias:literal),*], $kind:ident $arguments:tt, $effect:ident, $doc:literal);)* })*) => {
        /// The listed options, then the tuning options.
        pub static TABLE: &[UciOption] = &[$($(UciOption {
            name: $name,
            aliases: &[$($alias),*],
            kind: kind!($kind $arguments),
            effect: OptionEffect::$effect,
            is_tuning: stringify!($list).as_bytes()[0] == b't',
            doc: $doc,
        },)*)*];
    };
}

// Columns: name, aliases, type (with field and range), effect, Markdown. Defaults are in `Settings::default` or in the
// parameters' own `default`.
options! {
listed {
    ("Hash", [], spin(hash, 1, 33_554_432), Memory, "memory of the search tree and the evaluation cache together, in MiB; never exceeded");
    ("Threads", [], spin(threads, 1, 512), Workers, "search workers; each has its own evaluator");
    ("Clear Hash", [], button(), Clear, "clears the search tree and the evaluation cache");
    ("Ponder", [], check(ponder), None, "tells the GUI that `go ponder` works; no effect of its own");
    ("MultiPV", [], spin(multipv, 1, 500), None, "variations to report");
    ("Move Overhead", ["MoveOverhead", "MoveOverheadMs"], spin(move_overhead, 0, 5000), None, "milliseconds of the clock kept back for delays outside the engine; a larger measured delay counts instead");
    ("UCI_Chess960", [], check(chess960), None, "writes castling as king takes rook; both notations are always read");
    ("UCI_ShowWDL", ["ShowWDL"], check(show_wdl), None, "reports win, draw and loss per mille");
    ("UCI_AnalyseMode", [], check(analyse), Params, "analysis: no strength limit, no smart pruning, no contempt, no book");
    ("UCI_LimitStrength", [], check(limit_strength), Params, "plays at `UCI_Elo`: fewer visits, a flatter policy, a random choice among nearly equal moves");
    ("UCI_Elo", [], spin(elo, WEAKEST, STRONGEST), Params, "rating to play at with `UCI_LimitStrength`");
    ("Skill Level", [], spin(skill, 0, FULL_SKILL), Params, "the scale of `UCI_Elo` in steps, used without `UCI_LimitStrength`; 20 is full strength");
    ("UCI_Opponent", [], text(opponent, "<empty>"), None, "the opponent's name; has no effect");
    ("UCI_EngineAbout", [], fixed(about), None, "name, version and licence; cannot be set");
    ("WeightsFile", ["EvalFile"], text(weights, "<embedded>"), Network, "network file (ONNX); a relative path is looked for in the working directory, beside the program and in the networks' folder");
    ("Precision", [], choice(precision), Network, "which of the network's two files to use, `NAME.onnx` or `NAME.int8.onnx`; `auto` is the faster one on this machine");
    ("ThinkSteps", [], spin(step_limits.steps, 0, MAX_STEPS as i64), Network, "refinement steps of a recurrent network per position; 0 is the number of its training");
    ("Backend", [], choice(backend), Network, "what runs the network: our own kernels (`native`, family `sparse` only), ONNX Runtime on the CPU or a GPU, or no network; `auto` is the fastest on the CPU");
    ("Player", [], choice(player), Workers, "the network's search, or a classical player");
    ("OwnBook", [], check(own_book), None, "plays moves of the book, except in analysis");
    ("BookFile", [], text(book, "<empty>"), Book, "opening book in Polyglot format");
    ("BookDepth", [], spin(book_depth, 1, 100), None, "plies from the start of the game in which the book is used");
    ("SyzygyPath", [], text(tables, "<empty>"), Tables, "folders of further Syzygy tables, separated by `:` (not on Windows) or `;`; tables of up to four pieces are built in");
    ("SyzygyProbeDepth", [], spin(table_rules.depth, 1, 100), TableRules, "plies from the root at which the search begins to probe the tables");
    ("Syzygy50MoveRule", [], check(table_rules.fifty_moves), TableRules, "wins and losses that the fifty-move rule prevents count as draws");
    ("SyzygyProbeLimit", [], spin(table_rules.pieces, 0, 7), TableRules, "most pieces of a position to probe; 0 uses no tables at all");
    ("Debug Log File", ["LogFile"], text(log_file, "<empty>"), Log, "file that records the UCI traffic in both directions");
    ("VerboseMoveStats", [], check(verbose_move_stats), None, "writes statistics of the root moves at the end of a search, in lc0's format");
    ("LogLiveStats", [], check(log_live_stats), None, "writes these statistics with every `info`, as Nibbler expects");
    ("MinibatchSize", [], spin(params.batch, 1, 1024), Workers, "most positions that a worker evaluates at once");
    ("Temperature", [], number(temperature, 0.0, 100.0), None, "above 0, draws the move with probability proportional to visits^(1/T), or to prior^(1/T) with `go nodes 1`");
}
tuning {
    ("ThinkEpsilon", [], number(step_limits.epsilon, 0.0, 1.0), Network, "a recurrent network stops refining a position when no probability changes by more than this in a step; 0 never stops early");
    ("UctExploration", [], number(uct.exploration, 0.0, 100.0), None, "exploration constant of the players `uct` and `uct-value`; the default is √2");
    ("Seed", [], spin(seed, 0, 2_147_483_647), None, "seed of random numbers: classical players, limited strength, `Temperature`; 0 draws a new one for every game");
    ("VirtualLoss", [], number(params.virtual_loss, 0.0, 10.0), Params, "virtual loss per visit in flight: 1 counts it as a loss, 0 leaves Q as it is");
    ("CPuct", [], tuned(params.puct.c, 0.0, 100.0), Params, "exploration constant of PUCT at a node without visits");
    ("CPuctBase", [], number(params.puct.base, 1.0, 1e9), Params, "visits from which exploration grows noticeably: `CPuct + CPuctFactor · ln((N + base) / base)`");
    ("CPuctFactor", [], number(params.puct.factor, 0.0, 1000.0), Params, "how fast exploration grows with the visits N");
    ("CPuctExponent", [], tuned(params.puct.exponent, 0.0, 1.0), Params, "exponent of the parent's visits in the exploration term; 0.5 is AlphaZero's square root");
    ("CPuctDeviation", [], tuned(params.puct.deviation, 0.0, 1.0), Params, "how much the standard deviation of a node's results scales its exploration");
    ("CPuctRoot", [], tuned(params.puct.root, 0.0, 100.0), Params, "factor on exploration at the root");
    ("CPuctJitter", [], tuned(params.puct.jitter, 0.0, 1.0), Params, "every worker except the first has a factor of its own on exploration, from 1 − this to 1 + this");
    ("FpuValue", [], tuned(params.fpu, -100.0, 100.0), Params, "first-play urgency (FPU) reduction: Q of an unvisited move is its parent's minus this times √(visited prior)");
    ("PolicyTemperature", [], tuned(params.policy_temperature, 0.1, 10.0), Params, "softmax temperature of the policy; above 1 flattens the priors");
    ("RootPolicyTemperature", [], tuned(params.root_policy_temperature, 0.1, 10.0), Params, "softmax temperature of the policy at the root");
    ("ReplyPolicyTemperature", [], tuned(params.reply_policy_temperature, 0.1, 10.0), Params, "softmax temperature of the policy after the root's moves");
    ("Transpositions", [], check(params.transpositions), Params, "positions reached by different move orders share one node");
    ("TreeReuse", [], check(params.reuse), Params, "keeps the part of the last tree that contains the new root");
    ("Solver", [], check(params.solver), Params, "backs up proven wins, losses and draws");
    ("VisitSeries", [], spin(params.series, 1, Params::MOST_SERIES as i64), Params, "with `native`, most visits in a row below a node before their results are backed up; a node gets one, and one more for every 16 of its visits; 1 is off");
    ("MateSearch", [], check(params.mates), Params, "looks for a forced mate at the root and on the most visited line, in at most a tenth of the time; needs `Solver`");
    ("TwoFoldDraws", [], check(params.twofold_draws), Params, "the first repetition within the search counts as a draw");
    ("SmartPruningFactor", [], number(params.smart_pruning, 0.0, 10.0), Params, "stops visiting root moves that cannot become best in the expected time, and the search when one is left; larger prunes earlier, 0 is off");
    ("TimeMidpoint", [], number(time.midpoint, 1.0, 200.0), None, "move number after which the expected number of moves left hardly falls");
    ("TimeVisitsBase", [], number(time.visits_base, 0.1, 10.0), None, "factor of the time for a best move without visits");
    ("TimeVisitsSlope", [], number(time.visits_slope, 0.0, 10.0), None, "how much that factor falls as the best move's share of the visits grows from 0 to 1");
    ("TimeInstability", [], number(time.instability, 0.0, 10.0), None, "more time after recent changes of the best move: factor `1 + ln(1 + this · changes)`");
    ("TimeFalling", [], number(time.falling, 0.0, 100.0), None, "more time if the expected result fell since the last move: factor `1 + this · fall`, from 0.85 to 1.6");
    ("Contempt", [], number(params.contempt, -10.0, 10.0), Params, "when winning, reduces a move's Q by this times (win − loss) times its draw probability (NeuralMatePlay)");
    ("UncertaintyWeight", [], number(params.uncertainty, 0.0, 100.0), Params, "multiplies exploration of a move by 1 + this · √(win · loss) (NeuralMatePlay)");
    ("DrawSiblingFpu", [], check(params.draw_sibling_fpu), Params, "no FPU reduction at a node where a move certainly draws (NeuralMatePlay)");
    ("ProgressWeight", [], number(params.progress, 0.0, 1.0), Params, "against a bare king, how much less a win counts the farther that king is from the edges and the other king; 0 is off");
}
}
