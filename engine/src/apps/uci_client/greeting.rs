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
        match self.has_option(name) {
            true => Ok(format!("setoption name {name} value {value}")),
            false => Err(format!("has no option \"{name}\"")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_were_listed_are_set() {
        let mut greeting = Greeting::default();
        let lines =
            ["id name My Engine", "Stockfish by someone", "option name Clear Hash type button", "uciok"];
        assert_eq!(lines.map(|line| greeting.hear(line)), [false, false, false, true]);
        assert_eq!(greeting.name.as_deref(), Some("My Engine"));
        assert_eq!(greeting.set_option("clear hash", "").unwrap(), "setoption name clear hash value ");
        assert_eq!(greeting.set_option("Hash", "1").unwrap_err(), "has no option \"Hash\"");
    }
}
