use std::path::{Path, PathBuf};
use std::str::FromStr;

use engine::apps::uci_client::command_words;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSpec {
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Always set.
    pub options: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RosterError {
    #[error("\"{0}\" is not NAME=COMMAND: write for example --engine 'Stockfish=/usr/games/stockfish'")]
    Form(String),
    #[error("\"{0}\" is not OPTION=VALUE: after -- stand UCI options, as in -- 'Hash=64'")]
    Option(String),
    #[error("a quotation mark is not closed in \"{0}\"")]
    Quote(String),
    #[error("two engines are called \"{0}\": give one of them another name")]
    Twice(String),
}

impl FromStr for EngineSpec {
    type Err = RosterError;

    /// Parses `NAME=COMMAND [ARGUMENT…] [-- OPTION=VALUE…]`; words with spaces need quotation marks.
    fn from_str(text: &str) -> Result<EngineSpec, RosterError> {
        let form = || RosterError::Form(text.to_owned());
        let (name, command) = text.split_once('=').ok_or_else(form)?;
        let mut words =
            command_words(command).ok_or_else(|| RosterError::Quote(text.to_owned()))?.into_iter();
        let program = PathBuf::from(words.next().ok_or_else(form)?);
        let arguments: Vec<String> = words.by_ref().take_while(|word| word != "--").collect();
        let option = |word: String| match word.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(RosterError::Option(word)),
        };
        let options = words.map(option).collect::<Result<_, _>>()?;
        let name = name.trim().to_owned();
        if name.is_empty() {
            return Err(form());
        }
        Ok(EngineSpec { name, program, arguments, options })
    }
}

impl EngineSpec {
    /// Philidor playing with this network, and named after its file. `None` unless the file ends in `.onnx`.
    pub fn of_network(philidor: &Path, network: &Path) -> Option<EngineSpec> {
        let name = network.file_name()?.to_str()?.strip_suffix(".onnx")?;
        let file = network.to_str()?;
        Some(EngineSpec {
            name: name.to_owned(),
            program: philidor.to_owned(),
            arguments: Vec::new(),
            options: vec![("WeightsFile".to_owned(), file.to_owned())],
        })
    }
}

#[derive(Clone, Debug, Default)]
pub struct Roster {
    engines: Vec<EngineSpec>,
}

impl Roster {
    /// Philidor and its classical players, if the program is at `philidor`, then the named engines.
    pub fn new(philidor: Option<&Path>, named: Vec<EngineSpec>) -> Result<Roster, RosterError> {
        let mut engines = Vec::new();
        if let Some(program) = philidor {
            let player = |name: &str, player: &str| EngineSpec {
                name: name.to_owned(),
                program: program.to_owned(),
                arguments: Vec::new(),
                options: vec![("Player".to_owned(), player.to_owned())],
            };
            engines.extend([
                player("Philidor", "network"),
                player("Alpha-beta", "alpha-beta"),
                player("Minimax", "minimax"),
                player("UCT with rollouts", "uct"),
                player("Random moves", "random"),
            ]);
            // A named engine replaces a built-in engine of the same name.
            engines.retain(|engine| named.iter().all(|other| other.name != engine.name));
        }
        for engine in named {
            if engines.iter().any(|other| other.name == engine.name) {
                return Err(RosterError::Twice(engine.name));
            }
            engines.push(engine);
        }
        Ok(Roster { engines })
    }

    /// The first is the default.
    pub fn engines(&self) -> &[EngineSpec] {
        &self.engines
    }

    pub fn find(&self, name: &str) -> Option<&EngineSpec> {
        self.engines.iter().find(|engine| engine.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_arguments_and_options() {
        let spec: EngineSpec =
            "My net='/a b/philidor' uci -- WeightsFile=/n.onnx 'Move Overhead=50'".parse().unwrap();
        assert_eq!((spec.name.as_str(), spec.program.to_str()), ("My net", Some("/a b/philidor")));
        assert_eq!(spec.arguments, ["uci"]);
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(spec.options, [option("WeightsFile", "/n.onnx"), option("Move Overhead", "50")]);
    }

    #[test]
    fn what_is_no_engine_is_refused_with_a_way_out() {
        for text in ["stockfish", "=stockfish", "Name=", "Name='open", "Name=x -- Hash"] {
            let error = text.parse::<EngineSpec>().unwrap_err();
            assert!(!error.to_string().is_empty(), "{text}");
        }
        let twice = vec!["A=x".parse().unwrap(), "A=y".parse().unwrap()];
        assert_eq!(Roster::new(None, twice).unwrap_err(), RosterError::Twice("A".into()));
    }

    #[test]
    fn a_network_is_an_engine_of_its_name() {
        let spec = EngineSpec::of_network(Path::new("/p"), Path::new("nets/big.int8.onnx")).unwrap();
        assert_eq!((spec.name.as_str(), spec.program.to_str()), ("big.int8", Some("/p")));
        assert_eq!(spec.options, [("WeightsFile".to_owned(), "nets/big.int8.onnx".to_owned())]);
        assert_eq!(EngineSpec::of_network(Path::new("/p"), Path::new("a.safetensors")), None);
    }

    #[test]
    fn an_engine_called_philidor_takes_the_place_of_ours() {
        let own = Roster::new(Some(Path::new("/p")), vec!["Philidor=/q".parse().unwrap()]).unwrap();
        assert_eq!(own.find("Philidor").unwrap().program, Path::new("/q"));
        assert_eq!(own.engines().len(), 5);
    }
}
