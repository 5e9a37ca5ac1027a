//! The lines of an engine between `uci` and `uciok`.

use super::{EngineLine, OptionSpec};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// `id name`, if the engine sends it.
    pub name: Option<String>,
    pub options: Vec<OptionSpec>,
}

impl Greeting {
    /// Returns true at `uciok`.
    pub fn hear(&mut self, line: &str) -> bool {
        match EngineLine::parse(line) {
            EngineLine::Name(name) => self.name = Some(name),
            EngineLine::Option(option) => self.options.push(option),
            EngineLine::UciOk => return true,
            _ => {}
        }
        false
    }

    /// Ignores case.
    pub fn has_option(&self, name: &str) -> bool {
        self.options.iter().any(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// Returns the `setoption` command, or an error text that continues "the engine NAME".
    pub fn set_option(&self, name: &str, value: &str) -> Result<String, String> {
        let known = self.options.iter().find(|known| known.name.eq_ignore_ascii_case(name));
        let known = known.ok_or_else(|| format!("has no option \"{name}\""))?;
        if let Some((min, max)) = known.range {
            let is_in_range = value.parse().is_ok_and(|number: i64| (min..=max).contains(&number));
            if !is_in_range {
                return Err(format!("takes a number from {min} to {max} for {name}, not \"{value}\""));
            }
        }
        let choices = &known.choices;
        if !choices.is_empty() && !choices.iter().any(|choice| choice.eq_ignore_ascii_case(value)) {
            return Err(format!("takes one of {} for {name}, not \"{value}\"", choices.join(", ")));
        }
        Ok(format!("setoption name {name} value {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_were_listed_are_set() {
        let mut greeting = Greeting::default();
        let lines = [
            "id name My Engine",
            "Stockfish by someone",
            "option name Clear Hash type button",
            "option name Threads type spin default 1 min 1 max 64",
            "option name Ponder type check default false",
            "option name Style type combo default Very Solid var Very Solid var Risky",
            "uciok",
        ];
        assert_eq!(lines.map(|line| greeting.hear(line)), [false, false, false, false, false, false, true]);
        assert_eq!(greeting.name.as_deref(), Some("My Engine"));
        assert_eq!(greeting.set_option("clear hash", "").unwrap(), "setoption name clear hash value ");
        assert_eq!(greeting.set_option("Hash", "1").unwrap_err(), "has no option \"Hash\"");
        for (name, value) in [("threads", "64"), ("Ponder", "True"), ("Style", "very solid")] {
            assert!(greeting.set_option(name, value).is_ok(), "{name} {value}");
        }
        let refused = |name, value| greeting.set_option(name, value).unwrap_err();
        assert_eq!(refused("Threads", "x"), "takes a number from 1 to 64 for Threads, not \"x\"");
        assert_eq!(refused("Threads", "65"), "takes a number from 1 to 64 for Threads, not \"65\"");
        assert_eq!(refused("Ponder", "ture"), "takes one of true, false for Ponder, not \"ture\"");
        assert_eq!(refused("Style", "wild"), "takes one of Very Solid, Risky for Style, not \"wild\"");
    }
}
