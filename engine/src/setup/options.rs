//! Reads, sets and describes the UCI options of [`TABLE`]. Defaults are those of [`Settings::default`].

use std::fmt::{self, Write};
use std::num::IntErrorKind;

use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::settings::Settings;
use super::table::TABLE;
use crate::search::Params;

/// The only alias that `uci` lists, because cutechess hides options whose names begin with `UCI_`.
const LISTED_ALIAS: &str = "ShowWDL";

pub struct UciOption {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub kind: OptionKind,
    pub effect: OptionEffect,
    pub is_tuning: bool,
    pub doc: &'static str,
}

pub enum OptionKind {
    Check(fn(&Settings) -> bool, fn(&mut Settings, bool)),
    /// `spin`: minimum, maximum, getter, setter.
    Spin(i64, i64, fn(&Settings) -> i64, fn(&mut Settings, i64)),
    /// Decimal number, a `string` in UCI: minimum, maximum, getter, setter.
    Number(f32, f32, fn(&Settings) -> f32, fn(&mut Settings, f32)),
    /// Like `Number`; `auto` selects the loaded network's default.
    Tuned(f32, f32, fn(&Settings) -> Option<f32>, fn(&mut Settings, Option<f32>)),
    /// `string`: word shown for `None`, getter, setter.
    Text(&'static str, fn(&Settings) -> Option<&str>, fn(&mut Settings, Option<String>)),
    /// `string`; setting it is ignored.
    Fixed(fn() -> String),
    /// `combo`: choices, getter and setter by index.
    Choice(&'static [&'static str], fn(&Settings) -> usize, fn(&mut Settings, usize)),
    Button,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionEffect {
    /// The next `go` reads the setting.
    None,
    /// Changes the memory bound, which needs new workers.
    Memory,
    Params,
    Workers,
    Network,
    Clear,
    Book,
    Tables,
    TableRules,
    Log,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionChange {
    /// The name, even if an alias was given.
    pub option: &'static str,
    pub effect: OptionEffect,
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    #[error("no such option: {0}")]
    Unknown(String),
    #[error("option {0} needs a value")]
    NoValue(&'static str),
    #[error("option {name} needs {expected}, not {found}")]
    Value { name: &'static str, expected: String, found: String },
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

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionDescription {
    name: &'static str,
    aliases: &'static [&'static str],
    /// UCI's type, but `number` for decimal numbers.
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Value::is_null")]
    default: Value,
    /// Values that `auto` stands for: with native networks, with others.
    #[serde(skip_serializing_if = "Value::is_null")]
    auto: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    min: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    max: Value,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    values: &'static [&'static str],
    effect: OptionEffect,
    tuning: bool,
    doc: &'static str,
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

impl UciOption {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    fn kind(&self, now: &Settings) -> String {
        match &self.kind {
            OptionKind::Check(get, _) => format!("type check default {}", get(now)),
            OptionKind::Spin(min, max, get, _) => {
                format!("type spin default {} min {min} max {max}", get(now))
            }
            OptionKind::Number(_, _, get, _) => format!("type string default {}", get(now)),
            OptionKind::Tuned(_, _, get, _) => match get(now) {
                Some(number) => format!("type string default {number}"),
                None => format!("type string default {AUTO}"),
            },
            OptionKind::Text(none, get, _) => format!("type string default {}", get(now).unwrap_or(none)),
            OptionKind::Fixed(text) => format!("type string default {}", text()),
            OptionKind::Choice(names, get, _) => {
                format!("type combo default {} var {}", chosen(names, get(now)), names.join(" var "))
            }
            OptionKind::Button => "type button".to_owned(),
        }
    }

    fn summary(&self, now: &Settings) -> String {
        match &self.kind {
            OptionKind::Spin(min, max, ..) if self.name == "Threads" => {
                format!("spin, physical cores that may be used, {min}..{max}")
            }
            OptionKind::Check(get, _) => format!("check, {}", get(now)),
            OptionKind::Spin(min, max, get, _) => format!("spin, {}, {min}..{max}", get(now)),
            OptionKind::Number(min, max, get, _) => format!("string, {}, {min}..{max}", get(now)),
            OptionKind::Tuned(min, max, get, _) => {
                let [native, other] = tuned_defaults(*get);
                format!("string, `{AUTO}`: {native} with native networks, else {other}; {min}..{max}")
            }
            OptionKind::Text(none, get, _) => format!("string, `{}`", get(now).unwrap_or(none)),
            OptionKind::Fixed(_) => "string".to_owned(),
            OptionKind::Choice(names, get, _) => {
                format!("combo, `{}`: `{}`", chosen(names, get(now)), names.join("`, `"))
            }
            OptionKind::Button => "button".to_owned(),
        }
    }

    fn description(&self, now: &Settings) -> OptionDescription {
        let (kind, default, [min, max]) = match &self.kind {
            OptionKind::Check(get, _) => ("check", json!(get(now)), [Value::Null, Value::Null]),
            OptionKind::Spin(min, max, get, _) => ("spin", json!(get(now)), [json!(min), json!(max)]),
            OptionKind::Number(min, max, get, _) => ("number", decimal(get(now)), [*min, *max].map(decimal)),
            OptionKind::Tuned(min, max, get, _) => {
                ("number", get(now).map_or_else(|| json!(AUTO), decimal), [*min, *max].map(decimal))
            }
            OptionKind::Text(none, get, _) => {
                ("string", json!(get(now).unwrap_or(none)), [Value::Null, Value::Null])
            }
            OptionKind::Fixed(text) => ("string", json!(text()), [Value::Null, Value::Null]),
            OptionKind::Choice(names, get, _) => {
                ("combo", json!(chosen(names, get(now))), [Value::Null, Value::Null])
            }
            OptionKind::Button => ("button", Value::Null, [Value::Null, Value::Null]),
        };
        let auto = match &self.kind {
            OptionKind::Tuned(_, _, get, _) => {
                let [native, other] = tuned_defaults(*get).map(decimal);
                json!({"native": native, "other": other})
            }
            _ => Value::Null,
        };
        let values = match &self.kind {
            OptionKind::Choice(names, ..) => names,
            _ => &[][..],
        };
        let &UciOption { name, aliases, effect, is_tuning, doc, .. } = self;
        OptionDescription {
            name,
            aliases,
            kind,
            default,
            auto,
            min,
            max,
            values,
            effect,
            tuning: is_tuning,
            doc,
        }
    }

    fn write(&self, settings: &mut Settings, value: Option<&str>) -> Result<Option<String>, OptionError> {
        let given = || value.ok_or(OptionError::NoValue(self.name));
        let wrong = |expected: &str, found: &str| OptionError::Value {
            name: self.name,
            expected: expected.to_owned(),
            found: found.to_owned(),
        };
        match &self.kind {
            OptionKind::Button | OptionKind::Fixed(_) => Ok(None),
            OptionKind::Check(_, set) => {
                let text = given()?;
                let on = text.to_ascii_lowercase().parse().map_err(|_| wrong("true or false", text))?;
                set(settings, on);
                Ok(None)
            }
            OptionKind::Spin(min, max, _, set) => {
                let text = given()?;
                let number = whole(text).ok_or_else(|| wrong("a whole number", text))?;
                let clamped = number.clamp(*min, *max);
                set(settings, clamped);
                Ok((number != clamped).then(|| self.clamped(text, &clamped)))
            }
            OptionKind::Number(min, max, _, set) => {
                let text = given()?;
                let number = text.parse().ok().filter(|number: &f32| number.is_finite());
                let number = number.ok_or_else(|| wrong("a number", text))?;
                let clamped = number.clamp(*min, *max);
                set(settings, clamped);
                Ok((number != clamped).then(|| self.clamped(text, &clamped)))
            }
            OptionKind::Tuned(min, max, _, set) => {
                let text = given()?;
                if text.eq_ignore_ascii_case(AUTO) {
                    set(settings, None);
                    return Ok(None);
                }
                let number = text.parse().ok().filter(|number: &f32| number.is_finite());
                let number = number.ok_or_else(|| wrong("a number or auto", text))?;
                let clamped = number.clamp(*min, *max);
                set(settings, Some(clamped));
                Ok((number != clamped).then(|| self.clamped(text, &clamped)))
            }
            OptionKind::Text(none, _, set) => {
                // Cute Chess sends no value for an empty string.
                let text = value.unwrap_or_default();
                let is = |word: &str| text.eq_ignore_ascii_case(word);
                let empty = is("") || is("<empty>") || is(none);
                set(settings, (!empty).then(|| text.to_owned()));
                Ok(None)
            }
            OptionKind::Choice(names, _, set) => {
                let text = given()?;
                let place = names.iter().position(|name| name.eq_ignore_ascii_case(text));
                set(settings, place.ok_or_else(|| wrong(&names.join(" or "), text))?);
                Ok(None)
            }
        }
    }

    fn clamped(&self, found: &str, clamped: &impl fmt::Display) -> String {
        format!("option {} cannot be {found}: set to {clamped}", self.name)
    }
}

/// Selects the loaded network's default.
const AUTO: &str = "auto";

/// Defaults with native networks, with others.
fn tuned_defaults(get: fn(&Settings) -> Option<f32>) -> [f32; 2] {
    [Params::native(), Params::default()].map(|params| {
        let settings = Settings { params: params.into(), ..Settings::default() };
        get(&settings).expect("everything is set")
    })
}

/// Returns the shortest decimal: 0.72, not the `f64` nearest to the `f32`.
fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

fn chosen(names: &[&'static str], place: usize) -> &'static str {
    names.get(place).copied().unwrap_or_default()
}

/// Numbers beyond 64 bits saturate.
fn whole(text: &str) -> Option<i64> {
    match text.parse() {
        Ok(number) => Some(number),
        Err(error) => match std::num::ParseIntError::kind(&error) {
            IntErrorKind::PosOverflow => Some(i64::MAX),
            IntErrorKind::NegOverflow => Some(i64::MIN),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::nets::eval::Precision;
    use crate::setup::settings::Backend;

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
