//! The one table of options: it makes the `option` lines, the parsing, the clamping and the
//! README's table. Defaults are read off [`Settings::default`], so nothing is said twice.

use std::fmt::{self, Write};
use std::num::IntErrorKind;

use super::settings::Settings;
use super::table::TABLE;

/// One option.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Other names for it, advertised as options of their own.
    pub aliases: &'static [&'static str],
    /// Its type, and how it is read and written.
    pub kind: Kind,
    /// What has to follow when it is set.
    pub effect: Effect,
    /// What it is for, in Markdown.
    pub doc: &'static str,
}

/// The types of UCI, and numbers, which travel as strings.
pub enum Kind {
    /// `check`.
    Check(fn(&Settings) -> bool, fn(&mut Settings, bool)),
    /// `spin`: least, greatest, read, write.
    Spin(i64, i64, fn(&Settings) -> i64, fn(&mut Settings, i64)),
    /// `string` holding a number: least, greatest, read, write.
    Number(f32, f32, fn(&Settings) -> f32, fn(&mut Settings, f32)),
    /// `string`; empty is `None`, and shown as the word given here.
    Text(&'static str, fn(&Settings) -> Option<&str>, fn(&mut Settings, Option<String>)),
    /// `string` that only tells: whatever a GUI sets is ignored.
    Fixed(fn() -> String),
    /// `combo`: the choices, read and write by their place.
    Choice(&'static [&'static str], fn(&Settings) -> usize, fn(&mut Settings, usize)),
    /// `button`.
    Button,
}

/// What has to follow when an option is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: the next `go` looks at it.
    Nothing,
    /// The search's memory has another bound.
    Memory,
    /// The search has other numbers.
    Params,
    /// The workers have to be made anew.
    Workers,
    /// Another network has to be loaded.
    Network,
    /// The tree is to be forgotten.
    Clear,
    /// Another book has to be opened.
    Book,
    /// Other endgame tables have to be opened.
    Tables,
    /// The endgame tables are to be used otherwise.
    TableRules,
    /// The log goes to another file.
    Log,
}

/// A setting that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What has to follow.
    pub effect: Effect,
    /// What the GUI should hear: the value was out of range.
    pub note: Option<String>,
}

/// Why an option can't be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// No option has this name.
    Unknown(String),
    /// The option needs a value, and none was given.
    NoValue(&'static str),
    /// The value is not of the option's type.
    Value {
        /// The option.
        name: &'static str,
        /// What it needs.
        expected: String,
        /// What was given.
        found: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionError::Unknown(name) => write!(f, "no such option: {name}"),
            OptionError::NoValue(name) => write!(f, "option {name} needs a value"),
            OptionError::Value { name, expected, found } => {
                write!(f, "option {name} needs {expected}, not {found}")
            }
        }
    }
}

impl std::error::Error for OptionError {}

/// Sets the option `name` (in any case, or by an alias). Numbers out of range are clamped.
///
/// # Errors
///
/// If there is no such option or the value is not of its type; `settings` are then as before.
pub fn set(settings: &mut Settings, name: &str, value: Option<&str>) -> Result<Change, OptionError> {
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let entry = TABLE
        .iter()
        .find(|entry| entry.names().any(|known| known.eq_ignore_ascii_case(&words)))
        .ok_or(OptionError::Unknown(words))?;
    let note = entry.write(settings, value)?;
    Ok(Change { effect: entry.effect, note })
}

/// The `option` lines, in the table's order, each alias after its option.
pub fn lines() -> Vec<String> {
    let defaults = Settings::default();
    TABLE
        .iter()
        .flat_map(|entry| entry.names().map(|name| format!("option name {name} {}", entry.kind(&defaults))))
        .collect()
}

/// The README's table.
pub fn markdown() -> String {
    let defaults = Settings::default();
    let mut table = String::from("| option | type, default, range | what it does |\n|---|---|---|\n");
    for entry in TABLE {
        // Writing to a string doesn't fail.
        let _ = write!(table, "| {} | {} | {}", entry.name, entry.summary(&defaults), entry.doc);
        if !entry.aliases.is_empty() {
            let _ = write!(table, " (also `{}`)", entry.aliases.join("`, `"));
        }
        table.push_str(" |\n");
    }
    table
}

impl Entry {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// The part of the `option` line after the name.
    fn kind(&self, now: &Settings) -> String {
        match &self.kind {
            Kind::Check(get, _) => format!("type check default {}", get(now)),
            Kind::Spin(min, max, get, _) => format!("type spin default {} min {min} max {max}", get(now)),
            Kind::Number(_, _, get, _) => format!("type string default {}", get(now)),
            Kind::Text(none, get, _) => format!("type string default {}", get(now).unwrap_or(none)),
            Kind::Fixed(text) => format!("type string default {}", text()),
            Kind::Choice(names, get, _) => {
                format!("type combo default {} var {}", chosen(names, get(now)), names.join(" var "))
            }
            Kind::Button => "type button".to_owned(),
        }
    }

    /// The middle column of the README's table.
    fn summary(&self, now: &Settings) -> String {
        match &self.kind {
            // The machine that prints the table is not the reader's.
            Kind::Spin(min, max, ..) if self.name == "Threads" => {
                format!("spin, physical cores, {min}..{max}")
            }
            Kind::Check(get, _) => format!("check, {}", get(now)),
            Kind::Spin(min, max, get, _) => format!("spin, {}, {min}..{max}", get(now)),
            Kind::Number(min, max, get, _) => format!("string, {}, {min}..{max}", get(now)),
            Kind::Text(none, get, _) => format!("string, `{}`", get(now).unwrap_or(none)),
            Kind::Fixed(_) => "string".to_owned(),
            Kind::Choice(names, get, _) => {
                format!("combo, `{}`: `{}`", chosen(names, get(now)), names.join("`, `"))
            }
            Kind::Button => "button".to_owned(),
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
            Kind::Button | Kind::Fixed(_) => Ok(None),
            Kind::Check(_, set) => {
                let text = given()?;
                let on = text.to_ascii_lowercase().parse().map_err(|_| wrong("true or false", text))?;
                set(settings, on);
                Ok(None)
            }
            Kind::Spin(min, max, _, set) => {
                let text = given()?;
                let number = whole(text).ok_or_else(|| wrong("a whole number", text))?;
                let clamped = number.clamp(*min, *max);
                set(settings, clamped);
                Ok((number != clamped).then(|| self.clamped(text, &clamped)))
            }
            Kind::Number(min, max, _, set) => {
                let text = given()?;
                let number = text.parse().ok().filter(|number: &f32| number.is_finite());
                let number = number.ok_or_else(|| wrong("a number", text))?;
                let clamped = number.clamp(*min, *max);
                set(settings, clamped);
                Ok((number != clamped).then(|| self.clamped(text, &clamped)))
            }
            Kind::Text(none, _, set) => {
                let text = given()?;
                let empty = text.is_empty() || text == "<empty>" || text == *none;
                set(settings, (!empty).then(|| text.to_owned()));
                Ok(None)
            }
            Kind::Choice(names, _, set) => {
                let text = given()?;
                let place = names.iter().position(|name| name.eq_ignore_ascii_case(text));
                set(settings, place.ok_or_else(|| wrong(&names.join(" or "), text))?);
                Ok(None)
            }
        }
    }

    fn clamped(&self, found: &str, clamped: &impl fmt::Display) -> String {
        format!("option {} can't be {found}: set to {clamped}", self.name)
    }
}

/// A choice by its place.
fn chosen(names: &[&'static str], place: usize) -> &'static str {
    names.get(place).copied().unwrap_or_default()
}

/// A whole number; one beyond 64 bits is as good as the greatest or least of them.
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
    use crate::eval::Precision;
    use crate::uci::settings::Backend;

    #[test]
    fn names_are_unique_and_every_default_is_in_range() {
        let mut seen = std::collections::HashSet::new();
        let defaults = Settings::default();
        for entry in TABLE {
            for name in entry.names() {
                assert!(seen.insert(name.to_ascii_lowercase()), "{name} twice");
                assert!(!name.contains(" value"), "{name} can't be parsed");
            }
            match &entry.kind {
                Kind::Spin(min, max, get, _) => assert!((*min..=*max).contains(&get(&defaults))),
                Kind::Number(min, max, get, _) => assert!((*min..=*max).contains(&get(&defaults))),
                _ => {}
            }
        }
    }

    /// Setting every option to the default it advertises changes nothing, without complaint.
    #[test]
    fn every_advertised_default_is_understood() {
        let mut settings = Settings::default();
        for line in lines() {
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
        let lines = lines();
        for line in [
            "option name Hash type spin default 256 min 1 max 33554432",
            "option name Move Overhead type spin default 100 min 0 max 5000",
            "option name MoveOverhead type spin default 100 min 0 max 5000",
            "option name MoveOverheadMs type spin default 100 min 0 max 5000",
            "option name UCI_ShowWDL type check default false",
            "option name ShowWDL type check default false",
            "option name WeightsFile type string default <embedded>",
            "option name EvalFile type string default <embedded>",
            "option name Debug Log File type string default <empty>",
            "option name Backend type combo default onnx-cpu var onnx-cpu var uniform",
            "option name Precision type combo default auto var auto var fp32 var int8",
            "option name Player type combo default network var network var random var minimax var alpha-beta \
             var uct var uct-value",
            "option name Clear Hash type button",
        ] {
            assert!(lines.iter().any(|other| other == line), "{line} is missing from {lines:#?}");
        }
    }

    #[test]
    fn good_values_are_set() {
        let mut settings = Settings::default();
        for (name, value, effect) in [
            ("hash", Some("64"), Effect::Memory),
            ("THREADS", Some("3"), Effect::Workers),
            ("move  overhead", Some("30"), Effect::Nothing),
            ("UCI_Chess960", Some("TRUE"), Effect::Nothing),
            ("ShowWDL", Some("true"), Effect::Nothing),
            ("EvalFile", Some("a b.onnx"), Effect::Network),
            ("Backend", Some("Uniform"), Effect::Workers),
            ("precision", Some("INT8"), Effect::Network),
            ("CPuct", Some("2.5"), Effect::Params),
            ("Clear Hash", None, Effect::Clear),
        ] {
            assert_eq!(set(&mut settings, name, value), Ok(Change { effect, note: None }), "{name}");
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
        assert_eq!(settings.params.puct.c, 2.5);
        for none in ["", "<empty>", "<embedded>"] {
            settings.weights = Some("x".into());
            set(&mut settings, "WeightsFile", Some(none)).unwrap();
            assert_eq!(settings.weights, None);
        }
    }

    #[test]
    fn numbers_out_of_range_are_clamped_and_the_gui_is_told() {
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
    fn the_readmes_table_has_every_option() {
        let table = markdown();
        for entry in TABLE {
            assert!(table.contains(&format!("| {} |", entry.name)));
        }
        assert_eq!(table.lines().count(), TABLE.len() + 2);
    }
}
