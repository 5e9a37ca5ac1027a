//! Runs UCI engines in child processes to evaluate positions.

mod greeting;
mod info_line;
mod line;

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, unbounded};
use serde::{Deserialize, Serialize};
use shakmaty::{Move, Position};
use thiserror::Error;

pub use greeting::Greeting;
pub use info_line::InfoLine;
pub use line::{EngineLine, MoveNumbers, OptionSpec};

use crate::chess::position::{Game, PositionError};
use crate::search::Score;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// An engine that searches more than this multiple of its node limit, and more than `LEAST_EXCESS_NODES`, ignores the
/// limit and is sent `stop`.
const NODE_LIMIT_FACTOR: u64 = 2;
const LEAST_EXCESS_NODES: u64 = 10_000;

/// How long an engine may take to exit after it has closed its pipes.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub options: Vec<(String, String)>,
    /// Longest wait for a line, beyond the time of `movetime`.
    pub timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    Depth(u32),
    Nodes(u64),
    /// Milliseconds.
    Movetime(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Depth(plies) => write!(f, "depth {plies}"),
            Limit::Nodes(nodes) => write!(f, "nodes {nodes}"),
            Limit::Movetime(milliseconds) => write!(f, "movetime {milliseconds}"),
        }
    }
}

#[derive(Debug, Error)]
pub enum EngineError {
    #[error("cannot start the engine {}: {}", .0.display(), .1)]
    Start(PathBuf, std::io::Error),
    #[error("the engine {} {}", .0.display(), .1)]
    Unfit(PathBuf, String),
    #[error("the engine {} {}", .0.display(), .1)]
    Failed(PathBuf, String),
    #[error("interrupted")]
    Interrupted,
}

#[derive(Clone, Debug)]
pub struct UciPosition {
    pub game: Game,
    /// The whole game, for engines that use earlier positions.
    whole: PositionCommand,
    /// Starts after the last capture or pawn move, which is enough for repetitions and the fifty-move rule. Saves the
    /// engine the 1 to 2 µs that it takes to read each earlier move.
    recent: PositionCommand,
}

#[derive(Clone, Debug)]
struct PositionCommand {
    text: String,
    has_moves: bool,
}

impl PositionCommand {
    /// `None` is the initial position.
    fn new(start: Option<&str>) -> PositionCommand {
        let text = start.map_or_else(|| "position startpos".to_owned(), |fen| format!("position fen {fen}"));
        PositionCommand { text, has_moves: false }
    }

    fn push(&mut self, m: &str) {
        if !self.has_moves {
            self.text += " moves";
            self.has_moves = true;
        }
        self.text.push(' ');
        self.text += m;
    }
}

impl UciPosition {
    pub fn new(start: Option<&str>) -> Result<UciPosition, PositionError> {
        let game = start.map_or_else(|| Ok(Game::new()), Game::from_fen)?;
        let command = PositionCommand::new(start);
        Ok(UciPosition { game, whole: command.clone(), recent: command })
    }

    pub fn play(&mut self, m: Move) {
        let written = Game::uci(m, self.is_chess960());
        self.game.play(m);
        self.whole.push(&written);
        if m.is_zeroing() {
            self.recent = PositionCommand::new(Some(&self.game.fen()));
        } else {
            self.recent.push(&written);
        }
    }

    pub fn is_chess960(&self) -> bool {
        self.game.position().castles().mode().is_chess960()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineMove {
    pub m: Move,
    /// Legal; begins with `m`.
    pub pv: Vec<Move>,
    /// For the side that plays `m`.
    pub score: Option<Score>,
    /// Per mille, for the side that plays `m`, if the engine reports it (`UCI_ShowWDL`).
    pub wdl: Option<[u16; 3]>,
}

/// Ends the process when dropped.
#[derive(Debug)]
pub struct UciEngine {
    program: PathBuf,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    timeout: Duration,
    greeting: Greeting,
    /// The last `info string`, which may say why the engine ends.
    said: Option<String>,
    multi_pv: usize,
    chess960: bool,
}

impl UciEngine {
    pub fn start(command: &EngineCommand, stop: &AtomicBool) -> Result<UciEngine, EngineError> {
        let program = command.program.clone();
        let mut process = engine_process(&program, &command.arguments);
        let start = |error| EngineError::Start(program.clone(), error);
        let mut child = process.spawn().map_err(start)?;
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (output_lines, lines) = unbounded();
        thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                if output_lines.send(String::from_utf8_lossy(&line).trim().to_owned()).is_err() {
                    return;
                }
            }
        });
        let timeout = command.timeout;
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let greeting = Greeting { name: Some(name), ..Greeting::default() };
        let (said, multi_pv, chess960) = (None, 1, false);
        let mut engine =
            UciEngine { program, child, input, lines, timeout, greeting, said, multi_pv, chess960 };
        engine.send("uci")?;
        let last = Instant::now() + timeout;
        while !engine.hear_greeting(last, stop)? {}
        for (name, value) in &command.options {
            engine.set_option(name, value)?;
        }
        engine.wait_until_ready(stop)?;
        Ok(engine)
    }

    fn hear_greeting(&mut self, last: Instant, stop: &AtomicBool) -> Result<bool, EngineError> {
        let unfit = |engine: &UciEngine| {
            EngineError::Unfit(
                engine.program.clone(),
                "did not answer \"uci\" by \"uciok\": is it a UCI engine?".to_owned(),
            )
        };
        let left = last.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(unfit(self));
        }
        let line = match self.receive(left, stop) {
            Err(EngineError::Failed(..)) if Instant::now() >= last => return Err(unfit(self)),
            line => line?,
        };
        Ok(self.greeting.hear(&line))
    }

    /// Sets the longest wait for a line, which may be longer in a search than while the engine starts.
    pub fn wait_at_most(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    pub fn has_option(&self, name: &str) -> bool {
        self.greeting.has_option(name)
    }

    /// Sets a check option, and returns whether the engine has it.
    pub fn try_check(&mut self, name: &str, value: bool) -> Result<bool, EngineError> {
        let known = self.has_option(name);
        if known {
            self.set_option(name, if value { "true" } else { "false" })?;
        }
        Ok(known)
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        let command = self.greeting.set_option(name, value);
        self.send(&command.map_err(|why| EngineError::Unfit(self.program.clone(), why))?)
    }

    fn wait_until_ready(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        self.send("isready")?;
        while EngineLine::parse(&self.receive(self.timeout, stop)?) != EngineLine::ReadyOk {}
        Ok(())
    }

    pub fn name(&self) -> &str {
        self.greeting.name.as_deref().unwrap_or_default()
    }

    pub fn new_game(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        self.send("ucinewgame")?;
        self.wait_until_ready(stop)
    }

    /// Returns at most `count` moves, best first. The position must have a legal move. After an error the engine must
    /// be dropped.
    ///
    /// Sends no position during a search, because Stockfish would count its moves as nodes.
    pub fn best(
        &mut self,
        position: &UciPosition,
        limit: Limit,
        count: usize,
        stop: &AtomicBool,
    ) -> Result<Vec<EngineMove>, EngineError> {
        self.prepare(position, count)?;
        let command = if self.needs_only_recent() { &position.recent } else { &position.whole };
        self.send(&format!("{}\ngo {limit}", command.text))?;
        self.answer(position, limit, count, stop)
    }

    /// Returns whether the engine uses earlier positions only for repetitions.
    fn needs_only_recent(&self) -> bool {
        self.name().starts_with("Stockfish")
    }

    fn prepare(&mut self, position: &UciPosition, count: usize) -> Result<(), EngineError> {
        if self.multi_pv != count {
            self.set_option("MultiPV", &count.to_string())?;
            self.multi_pv = count;
        }
        if self.chess960 != position.is_chess960() {
            self.chess960 = position.is_chess960();
            self.set_option("UCI_Chess960", if self.chess960 { "true" } else { "false" })?;
        }
        Ok(())
    }

    fn answer(
        &mut self,
        position: &UciPosition,
        limit: Limit,
        count: usize,
        stop: &AtomicBool,
    ) -> Result<Vec<EngineMove>, EngineError> {
        let search_time = match limit {
            Limit::Movetime(milliseconds) => Duration::from_millis(milliseconds),
            Limit::Depth(_) | Limit::Nodes(_) => Duration::ZERO,
        };
        let mut found: Vec<Option<InfoLine>> = vec![None; count];
        let mut is_told_to_stop = false;
        loop {
            let line = self.receive(self.timeout + search_time, stop)?;
            if !is_told_to_stop && ignores_limit(&line, limit) {
                self.send("stop")?;
                is_told_to_stop = true;
            }
            match EngineLine::parse(&line) {
                EngineLine::Info(info) => {
                    if let Some(place) = found.get_mut(info.rank) {
                        *place = Some(info);
                    }
                }
                EngineLine::Best(best) => return self.conclude(position, &best, found),
                _ => (),
            }
        }
    }

    fn conclude(
        &self,
        position: &UciPosition,
        best: &str,
        found: Vec<Option<InfoLine>>,
    ) -> Result<Vec<EngineMove>, EngineError> {
        let m = position.game.parse_uci(best).map_err(|error| {
            self.failed(format!("answered \"bestmove {best}\" in {}: {error}", position.game.fen()))
        })?;
        let mut moves: Vec<EngineMove> =
            found.iter().map_while(|info| scored_move(&position.game, info.as_ref()?)).collect();
        // The engine may have changed its mind after its last `info`, or sent none.
        if moves.first().is_none_or(|first| first.m != m) {
            let (score, wdl) = moves.first().map_or((None, None), |first| (first.score, first.wdl));
            moves.retain(|scored| scored.m != m);
            moves.insert(0, EngineMove { m, pv: vec![m], score, wdl });
        }
        Ok(moves)
    }

    fn failed(&self, why: String) -> EngineError {
        EngineError::Failed(self.program.clone(), why)
    }

    fn send(&mut self, line: &str) -> Result<(), EngineError> {
        let sent = self.input.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|_| self.exited())
    }

    /// Waits, because the exit status is available only a moment after the pipes close.
    fn exited(&mut self) -> EngineError {
        let last = Instant::now() + EXIT_TIMEOUT;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let said = self.said.as_ref().map_or(String::new(), |said| format!("; it said: {said}"));
                    return self.failed(format!("ended ({status}){said}"));
                }
                Ok(None) if Instant::now() < last => thread::sleep(Duration::from_millis(1)),
                _ => return self.failed("closed its output".to_owned()),
            }
        }
    }

    fn receive(&mut self, timeout: Duration, stop: &AtomicBool) -> Result<String, EngineError> {
        let last = Instant::now() + timeout;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(EngineError::Interrupted);
            }
            match self.lines.recv_timeout(POLL_INTERVAL) {
                Ok(line) => {
                    if let Some(said) = line.strip_prefix("info string ") {
                        self.said = Some(said.to_owned());
                    }
                    return Ok(line);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.exited()),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= last => {
                    return Err(self.failed(format!("did not answer for {} s", timeout.as_secs())));
                }
                Err(RecvTimeoutError::Timeout) => (),
            }
        }
    }
}

impl Drop for UciEngine {
    fn drop(&mut self) {
        // The engine may be searching or hang.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn engine_process(program: &Path, arguments: &[String]) -> Command {
    let mut process = Command::new(program);
    process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Ctrl-C must not reach the engine before we are done with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut process, 0);
    process
}

/// Debian installs Stockfish in /usr/games, which is not in root's PATH.
pub fn find_program(program: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let games = Path::new("/usr/games").join(program);
    let known = program.components().count() > 1
        || std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !known && games.is_file() { games } else { program.to_owned() }
}

/// Quotation marks keep spaces. Returns `None` if a mark is not closed. A backslash is an ordinary letter, because it
/// separates folders on Windows.
pub fn command_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

pub fn name_and_value(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("an option is NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn ignores_limit(line: &str, limit: Limit) -> bool {
    let Limit::Nodes(most) = limit else { return false };
    let mut words = line.split_ascii_whitespace();
    if words.next() != Some("info") {
        return false;
    }
    let nodes: Option<u64> =
        words.skip_while(|word| *word != "nodes").nth(1).and_then(|nodes| nodes.parse().ok());
    nodes.is_some_and(|nodes| nodes > most.saturating_mul(NODE_LIMIT_FACTOR).max(LEAST_EXCESS_NODES))
}

/// `None` if the first move is illegal.
fn scored_move(game: &Game, info: &InfoLine) -> Option<EngineMove> {
    let mut after = game.clone();
    let legal = |word: &String| {
        let m = after.parse_uci(word).ok()?;
        after.play(m);
        Some(m)
    };
    let pv: Vec<Move> = info.pv.iter().map_while(legal).collect();
    Some(EngineMove { m: *pv.first()?, pv, score: Some(info.score), wdl: info.wdl })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(fen: &str, line: &str) -> Option<(usize, EngineMove)> {
        let info = InfoLine::parse(line.split_ascii_whitespace())?;
        Some((info.rank, scored_move(&Game::from_fen(fen).unwrap(), &info)?))
    }

    const WHITE: &str = "4k3/8/8/8/8/8/4P3/4K2R w K - 0 1";
    const BLACK: &str = "4k3/8/8/8/8/8/4P3/4K2R b K - 0 1";

    #[test]
    fn a_command_has_words_with_and_without_quotation_marks() {
        let words = |text| command_words(text).map(|words| words.join("|"));
        assert_eq!(words("gnuchess  --uci").as_deref(), Some("gnuchess|--uci"));
        assert_eq!(words(r#""C:\My engines\a.exe" 'b c' d"#).as_deref(), Some(r"C:\My engines\a.exe|b c|d"));
        assert_eq!((words("").as_deref(), words("a 'b")), (Some(""), None));
    }

    #[test]
    fn a_line_has_its_rank_its_score_for_the_mover_and_its_legal_moves() {
        let (rank, found) = info(WHITE, "depth 9 multipv 2 score cp 35 nodes 7 pv e1g1 e8d8 e2e5").unwrap();
        let pv: Vec<String> = found.pv.iter().map(|m| Game::uci(*m, false)).collect();
        assert_eq!((rank, found.score, found.wdl), (1, Some(Score::Cp(35)), None));
        assert_eq!((pv, found.m), (vec!["e1g1".to_owned(), "e8d8".to_owned()], found.pv[0]));
        let score = |line| info(BLACK, line).and_then(|(_, found)| found.score);
        assert_eq!(score("depth 9 score cp -35 wdl 1 2 3 pv e8d8"), Some(Score::Cp(-35)));
        assert_eq!(score("score mate -200 pv e8d8"), Some(Score::Mate(-200)));
        assert_eq!(info(BLACK, "score cp 0 wdl 1 2 997 pv e8d8").unwrap().1.wdl, Some([1, 2, 997]));
    }

    #[test]
    fn lines_without_a_scored_move_are_ignored() {
        for line in ["depth 9 score cp 3", "score cp 3 pv e2e5", "string score cp 3 pv e2e4"] {
            assert_eq!(info(WHITE, line), None, "{line}");
        }
    }

    #[test]
    fn a_game_is_sent_whole_or_from_the_last_irreversible_move() {
        let mut position = UciPosition::new(None).unwrap();
        assert_eq!(position.whole.text, "position startpos");
        for text in ["e2e4", "e7e5"] {
            let m = position.game.parse_uci(text).unwrap();
            position.play(m);
        }
        assert_eq!(position.whole.text, "position startpos moves e2e4 e7e5");
        let recent = "position fen rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";
        assert_eq!(position.recent.text, recent);
        for text in ["g1f3", "b8c6"] {
            let m = position.game.parse_uci(text).unwrap();
            position.play(m);
        }
        assert_eq!(position.recent.text, format!("{recent} moves g1f3 b8c6"));
        let mut position =
            UciPosition::new(Some("1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 w GBgb - 0 1")).unwrap();
        assert!(position.is_chess960());
        let m = position.game.parse_uci("c1g1").unwrap();
        position.play(m);
        assert!(position.whole.text.ends_with(" moves c1g1"), "{}", position.whole.text);
    }
}
