//! One UCI option: its kind, how it is set and described.

use std::fmt;
use std::num::IntErrorKind;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::settings::{Backend, Settings};
use crate::nets::eval::Precision;
use crate::search::Params;
use crate::search::players::Player;

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
    #[error("option {name} needs {expected}, not {}", or_nothing(.found))]
    Value { name: &'static str, expected: String, found: String },
}

fn or_nothing(found: &str) -> &str {
    if found.is_empty() { "nothing" } else { found }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionDescription {
    pub(super) name: &'static str,
    aliases: &'static [&'static str],
    /// UCI's type, but `number` for decimal numbers.
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
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

impl UciOption {
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub fn kind(&self, now: &Settings) -> String {
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

    pub fn summary(&self, now: &Settings) -> String {
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

    pub fn description(&self, now: &Settings) -> OptionDescription {
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

    pub fn write(&self, settings: &mut Settings, value: Option<&str>) -> Result<Option<String>, OptionError> {
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
pub fn tuned_defaults(get: fn(&Settings) -> Option<f32>) -> [f32; 2] {
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

/// A whole number in UCI.
pub trait Whole: Sized {
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
pub trait OneOf: Sized {
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
pub const fn names<T: OneOf>(_: fn(&Settings) -> &T) -> &'static [&'static str] {
    T::NAMES
}

/// Takes a kind, a field of [`Settings`], and a range.
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
pub(super) use kind;
