//! All UCI options, one line each, and their defaults. What belongs to a lower floor has its default there: `params` in
//! `search/params.rs`, `time` in `search/time_management/params.rs`, `table_rules` in `chess/tables/mod.rs`, `uct` in
//! `search/players/uct.rs`, `step_limits` in `nets/onnx/recurrence.rs`.

use std::fmt::Write;
use std::time::Duration;

use super::settings::{Backend, Settings, default_threads, processors};
use super::strength::{FULL_SKILL, STRONGEST, WEAKEST};
use super::uci_option::{OneOf, OptionKind, UciOption, Whole, kind, names};
pub use super::uci_option::{OptionChange, OptionDescription, OptionEffect, OptionError};
use crate::base::threads;
use crate::chess::tables::ProbeRules;
use crate::nets::onnx::{MAX_STEPS, StepLimits};
use crate::search::players::UctParams;
use crate::search::time_management::TimeParams;
use crate::search::{ParamSettings, Params};

/// The only alias that `uci` lists, because cutechess hides options whose names begin with `UCI_`.
const LISTED_ALIAS: &str = "ShowWDL";

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            hash: 256,
            threads: default_threads(num_cpus::get_physical(), processors()),
            move_overhead: Duration::from_millis(100),
            multipv: 1,
            ponder: false,
            show_wdl: false,
            chess960: false,
            analyse: false,
            limit_strength: false,
            elo: 1500,
            skill: FULL_SKILL,
            opponent: None,
            temperature: 0.0,
            verbose_move_stats: false,
            log_live_stats: false,
            weights: None,
            precision: None,
            step_limits: StepLimits::default(),
            backend: Backend::default(),
            player: None,
            uct: UctParams::default(),
            seed: 0,
            own_book: false,
            book: None,
            book_depth: 20,
            tables: None,
            table_rules: ProbeRules::default(),
            log_file: None,
            params: ParamSettings::unset(),
            least_batch: 1,
            time: TimeParams::default(),
        }
    }
}

fn about() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("Philidor {version}, a UCI chess engine with a neural network; GPL-3.0-or-later")
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

/// WebAssembly addresses 4 GiB.
const MOST_MIB: i64 = if cfg!(target_family = "wasm") { 2048 } else { 33_554_432 };
const MOST_THREADS: i64 = match (threads::AVAILABLE, cfg!(target_family = "wasm")) {
    (true, true) => 16,
    (true, false) => 512,
    (false, _) => 1,
};

// Columns: name, aliases, type (with field and range), effect, Markdown.
options! {
listed {
    ("Hash", [], spin(hash, 1, MOST_MIB), Memory, "memory of the search tree and the evaluation cache together, in MiB; never exceeded");
    ("Threads", [], spin(threads, 1, MOST_THREADS), Workers, "search workers; each has its own evaluator");
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

/// `name` is case-insensitive and may be an alias. Numbers out of range are clamped.
pub fn set(settings: &mut Settings, name: &str, value: Option<&str>) -> Result<OptionChange, OptionError> {
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let option = TABLE
        .iter()
        .find(|option| option.names().any(|known| known.eq_ignore_ascii_case(&words)))
        .ok_or(OptionError::Unknown(words))?;
    let note = option.write(settings, value)?;
    Ok(OptionChange { option: option.name, effect: option.effect, note })
}

/// Returns the `option` lines of the answer to `uci`; tuning options only if `tuning`.
pub fn lines(tuning: bool) -> Vec<String> {
    let defaults = Settings::default();
    let listed = TABLE.iter().filter(|option| tuning || !option.is_tuning);
    let names = |option: &'static UciOption| {
        option.names().filter(|name| *name == option.name || *name == LISTED_ALIAS)
    };
    listed
        .flat_map(|option| names(option).map(|name| format!("option name {name} {}", option.kind(&defaults))))
        .collect()
}

/// Returns the ranges of decimal numbers for tuners, because a `string` in an `option` line has no range.
pub fn ranges() -> Vec<String> {
    let range = |option: &UciOption| match option.kind {
        OptionKind::Number(min, max, ..) | OptionKind::Tuned(min, max, ..) => {
            Some(format!("option {} takes {min} to {max}", option.name))
        }
        _ => None,
    };
    TABLE.iter().filter_map(range).collect()
}

pub fn descriptions() -> Vec<OptionDescription> {
    let defaults = Settings::default();
    TABLE.iter().map(|option| option.description(&defaults)).collect()
}

pub fn markdown() -> String {
    format!("{}\nFor tuning:\n\n{}", markdown_table(false), markdown_table(true))
}

fn markdown_table(tuning: bool) -> String {
    let defaults = Settings::default();
    let mut table = String::from("| option | type, default, range | what it does |\n|---|---|---|\n");
    for option in TABLE.iter().filter(|option| option.is_tuning == tuning) {
        let _ = write!(table, "| {} | {} | {}", option.name, option.summary(&defaults), option.doc);
        if !option.aliases.is_empty() {
            let _ = write!(table, " (also `{}`)", option.aliases.join("`, `"));
        }
        table.push_str(" |\n");
    }
    table
}

impl OptionError {
    pub fn option(&self) -> Option<(&'static str, OptionEffect)> {
        let (OptionError::NoValue(wrong) | OptionError::Value { name: wrong, .. }) = self else {
            return None;
        };
        let option = TABLE.iter().find(|option| option.name == *wrong)?;
        Some((option.name, option.effect))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::nets::eval::Precision;
    use crate::setup::uci_option::tuned_defaults;

    #[test]
    fn names_are_unique_and_every_default_is_in_range() {
        let mut seen = std::collections::HashSet::new();
        let defaults = Settings::default();
        for option in TABLE {
            for name in option.names() {
                assert!(seen.insert(name.to_ascii_lowercase()), "{name} twice");
                assert!(!name.contains(" value"), "{name} cannot be parsed");
            }
            match &option.kind {
                OptionKind::Spin(min, max, get, _) => assert!((*min..=*max).contains(&get(&defaults))),
                OptionKind::Number(min, max, get, _) => assert!((*min..=*max).contains(&get(&defaults))),
                OptionKind::Tuned(min, max, get, _) => {
                    assert!(tuned_defaults(*get).iter().all(|default| (*min..=*max).contains(default)));
                }
                _ => {}
            }
        }
    }

    #[test]
    fn every_advertised_default_is_understood() {
        let mut settings = Settings::default();
        for line in lines(true) {
            let rest = line.strip_prefix("option name ").unwrap();
            let (name, rest) = rest.split_once(" type ").unwrap();
            let default = rest
                .split_once(" default ")
                .map(|(_, default)| default.split(" min ").next().unwrap().split(" var ").next().unwrap());
            let change = set(&mut settings, name, default).unwrap();
            assert_eq!(change.note, None, "{line}");
            assert_eq!(settings, Settings::default(), "{line}");
        }
    }

    #[test]
    fn lines_have_the_protocols_form() {
        let lines = lines(false);
        for line in [
            "option name Hash type spin default 256 min 1 max 33554432",
            "option name Move Overhead type spin default 100 min 0 max 5000",
            "option name UCI_ShowWDL type check default false",
            "option name ShowWDL type check default false",
            "option name WeightsFile type string default <embedded>",
            "option name Debug Log File type string default <empty>",
            "option name Backend type combo default auto var auto var native var onnx-cpu var onnx-cuda var uniform",
            "option name Precision type combo default auto var auto var fp32 var int8",
            "option name Player type combo default network var network var random var minimax var alpha-beta \
             var uct var uct-value",
            "option name Clear Hash type button",
        ] {
            assert!(lines.iter().any(|other| other == line), "{line} is missing from {lines:#?}");
        }
    }

    #[test]
    fn descriptions_say_the_same_as_the_lines() {
        let (lines, ranges, all) = (lines(true), ranges(), descriptions());
        assert_eq!(all.len(), TABLE.len());
        for option in &all {
            let json = serde_json::to_value(option).unwrap();
            let line =
                lines.iter().find(|line| line.starts_with(&format!("option name {} type ", option.name)));
            let line = line.expect(option.name);
            if let Some(default) = json.get("default") {
                let shown = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
                let shown = shown.strip_suffix(".0").unwrap_or(&shown);
                assert!(format!("{line} ").contains(&format!(" default {shown} ")), "{line}: {json}");
            }
            match (option.kind, &json["min"], &json["max"]) {
                ("spin", min, max) => assert!(line.ends_with(&format!(" min {min} max {max}")), "{json}"),
                ("number", min, max) => {
                    let numbers = [min, max].map(|bound| bound.as_f64().unwrap());
                    let range = format!("option {} takes {} to {}", option.name, numbers[0], numbers[1]);
                    assert!(ranges.contains(&range), "{json}");
                }
                (_, min, max) => assert!(min.is_null() && max.is_null(), "{json}"),
            }
        }
        let cpuct = serde_json::to_value(all.iter().find(|option| option.name == "CPuct")).unwrap();
        assert_eq!(
            (&cpuct["default"], &cpuct["auto"], &cpuct["effect"], &cpuct["tuning"]),
            (&json!("auto"), &json!({"native": 0.72, "other": 1.745}), &json!("params"), &json!(true))
        );
    }

    /// Unlisted options are accepted, too.
    #[test]
    fn options_for_tuning_and_other_names_are_not_listed() {
        let [few, all] = [false, true].map(lines);
        assert!(few.len() <= 32, "{} options", few.len());
        assert_eq!(all.len(), TABLE.len() + 1, "every option, and ShowWDL");
        assert!(few.iter().all(|line| all.contains(line)));
        let is_listed =
            |name: &str| few.iter().any(|line| line.starts_with(&format!("option name {name} type ")));
        for name in
            ["Hash", "Threads", "Move Overhead", "SyzygyPath", "UCI_ShowWDL", "ShowWDL", "LogLiveStats"]
        {
            assert!(is_listed(name), "{name}");
        }
        for (name, value) in
            [("CPuct", "2"), ("MoveOverheadMs", "5"), ("EvalFile", "<embedded>"), ("LogFile", "")]
        {
            assert!(!is_listed(name), "{name}");
            set(&mut Settings::default(), name, Some(value)).unwrap();
        }
    }

    #[test]
    fn good_values_are_set() {
        let mut settings = Settings::default();
        for (name, value, effect) in [
            ("hash", Some("64"), OptionEffect::Memory),
            ("THREADS", Some("3"), OptionEffect::Workers),
            ("move  overhead", Some("30"), OptionEffect::None),
            ("UCI_Chess960", Some("TRUE"), OptionEffect::None),
            ("ShowWDL", Some("true"), OptionEffect::None),
            ("EvalFile", Some("a b.onnx"), OptionEffect::Network),
            ("Backend", Some("Uniform"), OptionEffect::Network),
            ("precision", Some("INT8"), OptionEffect::Network),
            ("CPuct", Some("2.5"), OptionEffect::Params),
            ("Clear Hash", None, OptionEffect::Clear),
        ] {
            let change = set(&mut settings, name, value).unwrap();
            assert_eq!((change.effect, change.note), (effect, None), "{name}");
        }
        assert_eq!((settings.hash, settings.threads), (64, 3));
        assert_eq!(settings.memory().0 + settings.memory().1, 64 << 20);
        assert_eq!(settings.move_overhead, Duration::from_millis(30));
        assert!(settings.chess960 && settings.show_wdl);
        assert_eq!(settings.weights.as_deref(), Some("a b.onnx"));
        assert_eq!(settings.backend, Backend::Uniform);
        assert_eq!(settings.precision, Some(Precision::Int8));
        set(&mut settings, "Precision", Some("Auto")).unwrap();
        assert_eq!(settings.precision, None);
        assert_eq!(settings.params.puct.c, Some(2.5));
        // An explicit value stays, even if it is the default of one kind of network.
        set(&mut settings, "CPuct", Some("0.72")).unwrap();
        set(&mut settings, "CPuctDeviation", Some("1")).unwrap();
        let resolved = settings.search_params(false).puct;
        assert_eq!((resolved.c, resolved.deviation), (0.72, 1.0));
        set(&mut settings, "CPuct", Some("Auto")).unwrap();
        assert_eq!([true, false].map(|native| settings.search_params(native).puct.c), [0.72, 1.745]);
        for none in [None, Some(""), Some("<empty>"), Some("<embedded>"), Some("<EMBEDDED>")] {
            settings.weights = Some("x".into());
            set(&mut settings, "WeightsFile", none).unwrap();
            assert_eq!(settings.weights, None);
        }
    }

    #[test]
    fn numbers_out_of_range_are_clamped_with_a_note() {
        for (value, threads) in
            [("-5", 1), ("0", 1), ("999999999999", 512), ("99999999999999999999999", 512), ("-9e", 7)]
        {
            let mut settings = Settings { threads: 7, ..Settings::default() };
            match set(&mut settings, "Threads", Some(value)) {
                Ok(change) => assert!(change.note.is_some(), "{value}"),
                Err(error) => assert!(matches!(error, OptionError::Value { .. })),
            }
            assert_eq!(settings.threads, threads, "{value}");
        }
    }

    #[test]
    fn bad_values_change_nothing() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("Threads", Some("abc")),
            ("Threads", Some("")),
            ("Threads", None),
            ("Hash", Some("1.5")),
            ("UCI_Chess960", Some("maybe")),
            ("Backend", Some("gpu")),
            ("Precision", Some("fp16")),
            ("CPuct", Some("NaN")),
            ("CPuct", Some("inf")),
            ("CPuct", Some("one")),
            ("SyzygyProbeLimit", Some("all")),
            ("", Some("1")),
        ] {
            assert!(set(&mut settings, name, value).is_err(), "{name} {value:?}");
            assert_eq!(settings, Settings::default());
        }
    }

    #[test]
    fn the_markdown_table_has_every_option() {
        let table = markdown();
        for option in TABLE {
            assert!(table.contains(&format!("| {} |", option.name)));
        }
        assert_eq!(table.lines().count(), TABLE.len() + 2 * 2 + 3);
    }
}
