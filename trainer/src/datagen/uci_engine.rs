//! A UCI engine as a process, asked what it thinks of positions.
//!
//! Its lines are read here word by word, as GUIs do: `shakmaty-uci` refuses lines with `wdl`, or with
//! mates of more than 127 moves.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, unbounded};
use engine::position::{Game, PositionError};
use serde::{Deserialize, Serialize};
use shakmaty::{Move, Position};

use crate::files::file_name;
use crate::record::{EvalComment, MAX_CENTIPAWNS, NO_EVAL};

/// How often somebody who waits for an engine looks whether he should go on waiting.
const GLANCE: Duration = Duration::from_millis(50);

/// How long an engine that has closed its pipes may take to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// An engine to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineCommand {
    /// The program.
    pub program: PathBuf,
    /// Options to set, by name.
    pub options: Vec<(String, String)>,
    /// How long it may be silent when it should say something, thinking time not included.
    pub patience: Duration,
}

/// How long an engine may think about a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Plies.
    Depth(u32),
    /// Nodes.
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

/// What is wrong with an engine.
#[derive(Debug)]
pub enum EngineError {
    /// It can't be started.
    Start(PathBuf, std::io::Error),
    /// It is no UCI engine, or lacks an option.
    Unfit(PathBuf, String),
    /// It ended, or said nothing for too long, or something impossible.
    Failed(PathBuf, String),
    /// Whoever waited was told to stop.
    Interrupted,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Start(program, error) => {
                write!(f, "can't start the engine {}: {error}; name one with --engine", program.display())
            }
            EngineError::Unfit(program, why) => write!(f, "the engine {} {why}", program.display()),
            EngineError::Failed(program, why) => write!(f, "the engine {} {why}", program.display()),
            EngineError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for EngineError {}

/// A game as engines are told of it.
#[derive(Clone, Debug)]
pub struct UciPosition {
    /// Where it stands.
    pub game: Game,
    told: String,
    has_moves: bool,
}

impl UciPosition {
    /// A game that begins with `start`, `None` for the initial position.
    ///
    /// # Errors
    ///
    /// If the start is no position.
    pub fn new(start: Option<&str>) -> Result<UciPosition, PositionError> {
        let game = start.map_or_else(|| Ok(Game::new()), Game::from_fen)?;
        let told = start.map_or_else(|| "position startpos".to_owned(), |fen| format!("position fen {fen}"));
        Ok(UciPosition { game, told, has_moves: false })
    }

    /// Plays a legal move.
    pub fn play(&mut self, m: Move) {
        if !self.has_moves {
            self.told += " moves";
            self.has_moves = true;
        }
        self.told.push(' ');
        self.told += &Game::uci(m, self.is_chess960());
        self.game.play(m);
    }

    /// Whether castling is to be told as in Chess960.
    pub fn is_chess960(&self) -> bool {
        self.game.position().castles().mode().is_chess960()
    }
}

/// What an engine thinks of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoredMove {
    /// The move.
    pub m: Move,
    /// What the position is worth if it is played, as in `games/1`: centipawns for White, or a mate in plies;
    /// [`NO_EVAL`] if the engine didn't say.
    pub eval: i16,
    /// Win, draw and loss for the mover in thousandths, if the engine says so (`UCI_ShowWDL`).
    pub wdl: Option<[u16; 3]>,
}

/// A running engine. It ends with this value.
#[derive(Debug)]
pub struct UciEngine {
    program: PathBuf,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    patience: Duration,
    name: String,
    /// Names of its options in lower case.
    options: Vec<String>,
    multi_pv: usize,
    chess960: bool,
}

impl UciEngine {
    /// Starts an engine, sets its options, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// If it can't be started, is none, or lacks one of the options; or if `stop` is raised.
    pub fn start(command: &EngineCommand, stop: &AtomicBool) -> Result<UciEngine, EngineError> {
        let program = command.program.clone();
        let mut process = Command::new(&program);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A Ctrl-C is for us: the engine shall answer until we are done with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        let start = |error| EngineError::Start(program.clone(), error);
        let mut child = process.spawn().map_err(start)?;
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (said, lines) = unbounded();
        thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                if said.send(String::from_utf8_lossy(&line).trim().to_owned()).is_err() {
                    return;
                }
            }
        });
        let patience = command.patience;
        let name = file_name(&program);
        let (options, multi_pv, chess960) = (Vec::new(), 1, false);
        let mut engine =
            UciEngine { program, child, input, lines, patience, name, options, multi_pv, chess960 };
        engine.shake_hands(stop)?;
        for (name, value) in &command.options {
            engine.set_option(name, value)?;
        }
        engine.wait_until_ready(stop)?;
        Ok(engine)
    }

    fn shake_hands(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        self.say("uci")?;
        loop {
            let line = self.hear(self.patience, stop)?;
            if let Some(name) = line.strip_prefix("id name ") {
                self.name = name.trim().to_owned();
            } else if let Some(option) = line.strip_prefix("option name ") {
                let name = option.split(" type ").next().unwrap_or(option);
                self.options.push(name.trim().to_ascii_lowercase());
            } else if line == "uciok" {
                return Ok(());
            }
        }
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        if !self.options.contains(&name.to_ascii_lowercase()) {
            return Err(EngineError::Unfit(self.program.clone(), format!("has no option \"{name}\"")));
        }
        self.say(&format!("setoption name {name} value {value}"))
    }

    fn wait_until_ready(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        self.say("isready")?;
        while self.hear(self.patience, stop)? != "readyok" {}
        Ok(())
    }

    /// What the engine calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells the engine that what comes has nothing to do with what was.
    ///
    /// # Errors
    ///
    /// If it fails, or `stop` is raised.
    pub fn new_game(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        self.say("ucinewgame")?;
        self.wait_until_ready(stop)
    }

    /// The engine's `count` best moves (fewer, if there are fewer) in a position where the game isn't over, the
    /// best first.
    ///
    /// # Errors
    ///
    /// If it fails, or `stop` is raised: then the engine is to be dropped.
    pub fn best(
        &mut self,
        course: &UciPosition,
        limit: Limit,
        count: usize,
        stop: &AtomicBool,
    ) -> Result<Vec<ScoredMove>, EngineError> {
        if self.multi_pv != count {
            self.set_option("MultiPV", &count.to_string())?;
            self.multi_pv = count;
        }
        if self.chess960 != course.is_chess960() {
            self.chess960 = course.is_chess960();
            self.set_option("UCI_Chess960", if self.chess960 { "true" } else { "false" })?;
        }
        self.say(&course.told)?;
        self.say(&format!("go {limit}"))?;
        let thinking = match limit {
            Limit::Movetime(milliseconds) => Duration::from_millis(milliseconds),
            Limit::Depth(_) | Limit::Nodes(_) => Duration::ZERO,
        };
        let mut found: Vec<Option<ScoredMove>> = vec![None; count];
        loop {
            let line = self.hear(self.patience + thinking, stop)?;
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("info") => {
                    if let Some((rank, line)) = read_info(&course.game, words)
                        && let Some(place) = found.get_mut(rank)
                    {
                        *place = Some(line);
                    }
                }
                Some("bestmove") => return self.conclude(course, words.next().unwrap_or(""), found),
                _ => (),
            }
        }
    }

    fn conclude(
        &self,
        course: &UciPosition,
        best: &str,
        found: Vec<Option<ScoredMove>>,
    ) -> Result<Vec<ScoredMove>, EngineError> {
        let m = course.game.parse_uci(best).map_err(|error| {
            self.failed(format!("answered \"bestmove {best}\" in {}: {error}", course.game.fen()))
        })?;
        let mut lines: Vec<ScoredMove> = found.into_iter().map_while(|line| line).collect();
        // Its last word counts: it may have changed its mind after its last lines, or said none.
        if lines.first().is_none_or(|first| first.m != m) {
            let (eval, wdl) = lines.first().map_or((NO_EVAL, None), |first| (first.eval, first.wdl));
            lines.retain(|line| line.m != m);
            lines.insert(0, ScoredMove { m, eval, wdl });
        }
        Ok(lines)
    }

    pub(crate) fn failed(&self, why: String) -> EngineError {
        EngineError::Failed(self.program.clone(), why)
    }

    fn say(&mut self, line: &str) -> Result<(), EngineError> {
        let said = self.input.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.input.flush());
        said.map_err(|_| self.gone())
    }

    /// An engine that ends closes its pipes a moment before its exit status is there to be asked for.
    fn gone(&mut self) -> EngineError {
        let last = Instant::now() + FAREWELL;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return self.failed(format!("ended ({status})")),
                Ok(None) if Instant::now() < last => thread::sleep(Duration::from_millis(1)),
                _ => return self.failed("closed its output".to_owned()),
            }
        }
    }

    /// The next line; it must come within `patience`.
    fn hear(&mut self, patience: Duration, stop: &AtomicBool) -> Result<String, EngineError> {
        let last = Instant::now() + patience;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(EngineError::Interrupted);
            }
            match self.lines.recv_timeout(GLANCE) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= last => {
                    return Err(self.failed(format!("was silent for {} s", patience.as_secs())));
                }
                Err(RecvTimeoutError::Timeout) => (),
            }
        }
    }
}

impl Drop for UciEngine {
    fn drop(&mut self) {
        // It may be thinking, or hang.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Of the words of an `info` line which of the best moves it is about, from 0, and what it says of it.
///
/// Bounds say too little, and lines without a move or a score are about something else.
fn read_info<'a>(game: &Game, mut words: impl Iterator<Item = &'a str>) -> Option<(usize, ScoredMove)> {
    let turn = game.turn();
    let mut rank = 0;
    let (mut eval, mut wdl) = (None, None);
    while let Some(word) = words.next() {
        match word {
            "multipv" => rank = words.next()?.parse::<usize>().ok()?.checked_sub(1)?,
            "score" => {
                let kind = words.next()?;
                let number: i32 = words.next()?.parse().ok()?;
                let for_mover = |n: i32| turn.fold_wb(n, -n);
                let limit = i32::from(MAX_CENTIPAWNS);
                eval = Some(match kind {
                    "cp" => for_mover(number).clamp(-limit, limit) as i16,
                    "mate" => {
                        let winner = if number > 0 { turn } else { !turn };
                        EvalComment::Mate { winner, count: number.unsigned_abs() }.after(turn)
                    }
                    _ => return None,
                });
            }
            "wdl" => {
                let mut number = || words.next()?.parse().ok();
                wdl = Some([number()?, number()?, number()?]);
            }
            "lowerbound" | "upperbound" | "string" => return None,
            "pv" => {
                let m = game.parse_uci(words.next()?).ok()?;
                return Some((rank, ScoredMove { m, eval: eval?, wdl }));
            }
            _ => (),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(fen: &str, line: &str) -> Option<(usize, String, i16)> {
        let game = Game::from_fen(fen).unwrap();
        read_info(&game, line.split_ascii_whitespace())
            .map(|(rank, line)| (rank, Game::uci(line.m, false), line.eval))
    }

    const WHITE: &str = "4k3/8/8/8/8/8/4P3/4K2R w K - 0 1";
    const BLACK: &str = "4k3/8/8/8/8/8/4P3/4K2R b K - 0 1";

    #[test]
    fn scores_are_turned_to_white_and_mates_count_plies() {
        let read = |fen, line| info(fen, line).map(|(_, _, eval)| eval);
        assert_eq!(
            info(WHITE, "depth 9 multipv 2 score cp 35 nodes 7 pv e1g1 e8d8"),
            Some((1, "e1g1".into(), 35))
        );
        assert_eq!(read(BLACK, "depth 9 score cp 35 wdl 1 2 3 pv e8d8"), Some(-35));
        assert_eq!(read(BLACK, "score cp -99999 pv e8d8"), Some(29_000));
        assert_eq!(read(WHITE, "score mate 3 pv e2e4"), Some(29_995), "the mover mates with his third move");
        assert_eq!(read(WHITE, "score mate -3 pv e2e4"), Some(-29_994));
        assert_eq!(read(BLACK, "score mate 1 pv e8d8"), Some(-29_999));
        assert_eq!(read(BLACK, "score mate -200 pv e8d8"), Some(29_600));
    }

    #[test]
    fn what_is_no_line_about_a_move_is_passed_over() {
        for line in [
            "depth 9 currmove e2e4 currmovenumber 3",
            "string score cp 3 pv e2e4",
            "depth 9 score cp 3 lowerbound nodes 4 pv e2e4",
            "depth 9 score cp 3",
            "score cp three pv e2e4",
            "score cp 3 pv e2e5",
            "multipv 0 score cp 3 pv e2e4",
            "score",
        ] {
            assert_eq!(info(WHITE, line), None, "{line}");
        }
    }

    #[test]
    fn an_engine_hears_the_whole_game() {
        let mut course = UciPosition::new(None).unwrap();
        assert_eq!(course.told, "position startpos");
        for text in ["e2e4", "e7e5"] {
            let m = course.game.parse_uci(text).unwrap();
            course.play(m);
        }
        assert_eq!(course.told, "position startpos moves e2e4 e7e5");
        let mut course =
            UciPosition::new(Some("1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 w GBgb - 0 1")).unwrap();
        assert!(course.is_chess960());
        let m = course.game.parse_uci("c1g1").unwrap();
        course.play(m);
        assert!(course.told.ends_with(" moves c1g1"), "{}", course.told);
    }
}
