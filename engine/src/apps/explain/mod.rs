//! `philidor explain`: searches for the best moves, and then each of them and the asked move alone, so that all have a
//! line and comparable values. [`words`] turns facts into sentences.

mod facts;
pub mod words;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use shakmaty::{Color, Move, Position};
use thiserror::Error;

use crate::apps::review::judgement::{Mark, Thresholds, judge_error};
use crate::apps::review::{JudgeError, JudgedLine, OwnJudge, OwnSearchArgs, judged_line, sans, value_of_end};
use crate::chess::pgn::read_move;
use crate::chess::position::{Game, PositionError};

pub use facts::{GivenUp, LikelyResult, OpponentReply, Trade};

const BEST_MOVES: usize = 3;
/// In plies.
const LINE_LENGTH: usize = 12;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: philidor explain --fen 'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1' --move Rxa8+")]
pub struct ExplainConfig {
    /// FEN of the position [default: the initial position]
    #[arg(long)]
    pub fen: Option<String>,
    /// Moves from --fen, in SAN or UCI notation; the search needs them to recognise repetitions
    #[arg(long, value_delimiter = ' ')]
    pub moves: Vec<String>,
    /// The move asked about, in SAN (Nf3) or UCI notation (g1f3)
    #[arg(long = "move", value_name = "MOVE")]
    pub asked: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub search: OwnSearchArgs,
}

#[derive(Debug, Error)]
pub enum ExplainError {
    #[error(transparent)]
    Position(#[from] PositionError),
    /// Ply, from 1, and text.
    #[error("--moves, ply {0}: no legal move there: {1}")]
    Before(usize, String),
    #[error("no legal move here: {0}")]
    Move(String),
    #[error("the game is over here")]
    Over,
    #[error("{0}")]
    Network(String),
    #[error(transparent)]
    Search(#[from] JudgeError),
    #[error("{0}")]
    Output(#[from] io::Error),
}

/// Values are from the mover's view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MoveExplanation {
    pub san: String,
    pub uci: String,
    /// Per cent; a draw counts as half.
    pub win_probability: f64,
    /// 0 to 1.
    pub wdl: [f32; 3],
    /// Negative if the mover is mated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mate: Option<i64>,
    /// Win probability below the best move's, in percentage points.
    pub loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<&'static str>,
    /// SAN; begins with the move.
    pub line: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<OpponentReply>,
    /// Pieces lost without equal exchanges, as UCI letters, most valuable first.
    pub loses: String,
    pub wins: String,
    pub gives_up: Vec<GivenUp>,
    pub words: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    pub fen: String,
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    pub asked: Option<MoveExplanation>,
    /// Best first.
    pub best: Vec<MoveExplanation>,
}

pub fn run(config: &ExplainConfig, stop: &Arc<AtomicBool>, out: &mut impl Write) -> Result<(), ExplainError> {
    let mut game = Game::from_uci(config.fen.as_deref(), [])?;
    let words = config.moves.iter().map(|text| without_number(text)).filter(|text| !text.is_empty());
    for (text, ply) in words.zip(1..) {
        let m = read_move(&game, text).ok_or_else(|| ExplainError::Before(ply, text.to_owned()))?;
        game.play(m);
    }
    let legal = |text: &String| {
        read_move(&game, without_number(text)).ok_or_else(|| ExplainError::Move(text.clone()))
    };
    let asked = config.asked.as_ref().map(legal).transpose()?;
    if game.legal_moves().is_empty() || value_of_end(&game).is_some() {
        return Err(ExplainError::Over);
    }
    let mut judge = config.search.judge().map_err(ExplainError::Network)?;
    let explanation = explain(&game, asked, &mut judge, stop)?;
    if config.json {
        serde_json::to_writer_pretty(&mut *out, &explanation).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", words::text(&game, &explanation))?;
    }
    Ok(())
}

/// `Nf3` of `2. Nf3` or `2.Nf3`, and nothing of `2.`.
fn without_number(text: &str) -> &str {
    let text = text.trim();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < text.len() && rest.starts_with('.') { rest.trim_start_matches('.').trim() } else { text }
}

pub fn explain(
    game: &Game,
    asked: Option<Move>,
    judge: &mut OwnJudge,
    stop: &Arc<AtomicBool>,
) -> Result<Explanation, ExplainError> {
    let mover = game.turn();
    let found = judge.search(game, &[], stop)?;
    let mut moves: Vec<Move> =
        found.report.lines.iter().take(BEST_MOVES).filter_map(|line| line.pv.first().copied()).collect();
    moves.extend(asked.filter(|m| !moves.contains(m)));
    let mut lines = Vec::new();
    for m in moves {
        let alone = judge.search(game, &[m], stop)?;
        lines.extend(alone.report.lines.first().map(|line| judged_line(line, mover)));
    }
    // Equal limits make the values comparable.
    lines.sort_by(|a, b| rank(b, mover).total_cmp(&rank(a, mover)));
    let best = lines.first().cloned().ok_or(ExplainError::Over)?;
    let best_line = ShownLine::new(game, &best);
    let explained = |line: &JudgedLine| explain_move(game, line, &best, &best_line);
    let asked = asked.and_then(|m| lines.iter().find(|line| line.pv.first() == Some(&m))).map(explained);
    let best = lines.iter().take(BEST_MOVES).map(explained).collect();
    Ok(Explanation { fen: game.fen(), asked, best })
}

/// The value, changed so that quick mates by the mover rank first and quick mates against the mover last.
fn rank(line: &JudgedLine, mover: Color) -> f64 {
    let mate = line.value.mate.map_or(0.0, |mate| {
        let nearness = 1000.0 - f64::from(mate.moves.min(900));
        if mate.winner == mover { nearness } else { -nearness }
    });
    line.value.of(mover) + mate
}

struct ShownLine {
    pv: Vec<Move>,
    sans: Vec<String>,
    trade: Trade,
}

impl ShownLine {
    fn new(game: &Game, line: &JudgedLine) -> ShownLine {
        let pv: Vec<Move> = line.pv.iter().copied().take(LINE_LENGTH).collect();
        ShownLine { sans: sans(game.position(), &pv), trade: facts::trade(game, &pv), pv }
    }
}

fn explain_move(game: &Game, line: &JudgedLine, best: &JudgedLine, best_line: &ShownLine) -> MoveExplanation {
    let mover = game.turn();
    let ShownLine { pv, sans, trade } = ShownLine::new(game, line);
    let m = pv[0];
    let is_best = best_line.pv.first() == Some(&m);
    let error = judge_error(&best.value, &line.value, mover, Thresholds::OWN).filter(|_| !is_best);
    let less = best_line.trade.balance() - trade.balance();
    let mut explanation = MoveExplanation {
        san: sans[0].clone(),
        uci: Game::uci(m, game.position().castles().mode().is_chess960()),
        win_probability: line.value.of(mover),
        wdl: line.wdl.map_or([0.0; 3], |wdl| [wdl.win, wdl.draw, wdl.loss]),
        mate: line.value.mate.map(|mate| if mate.winner == mover { 1 } else { -1 } * i64::from(mate.moves)),
        loss: (best.value.of(mover) - line.value.of(mover)).max(0.0),
        mark: error.map(|(mark, _): (Mark, _)| mark.symbol()),
        line: sans,
        reply: facts::reply(game, &pv),
        loses: facts::letters(&trade.lost),
        wins: facts::letters(&trade.won),
        gives_up: if is_best { Vec::new() } else { facts::given_up(mover, line, best, less) },
        words: String::new(),
    };
    explanation.words = words::of_move(game, &explanation, &trade, (!is_best).then_some(best_line));
    explanation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::uci_client::Limit;
    use crate::nets::eval::Uniform;
    use crate::search::{Params, Pool};

    #[test]
    fn move_numbers_are_no_moves() {
        let read = ["2. Nf3", "2.Nf3", "12...", "Nf3", "e2e4", "1-0", "0-0"].map(without_number);
        assert_eq!(read, ["Nf3", "Nf3", "", "Nf3", "e2e4", "1-0", "0-0"]);
    }

    fn explained(fen: &str, asked: &str) -> Explanation {
        let pool = Pool::new(vec![Box::new(Uniform)], Params::default(), 16 << 20);
        let mut judge = OwnJudge::new("test".to_owned(), pool, Limit::Nodes(3000));
        let game = Game::from_fen(fen).unwrap();
        let asked = read_move(&game, asked).unwrap();
        explain(&game, Some(asked), &mut judge, &Arc::default()).unwrap()
    }

    #[test]
    fn a_move_that_is_mated_and_one_that_mates() {
        // White can mate on the back rank or be mated there.
        let fen = "6k1/Rp3ppp/8/8/8/1r6/5PPP/6K1 w - - 0 1";
        let explanation = explained(fen, "Ra6??");
        let asked = explanation.asked.unwrap();
        assert_eq!((asked.uci.as_str(), asked.mate, asked.mark), ("a7a6", Some(-1), Some("??")), "{asked:?}");
        assert_eq!(asked.line[1], "Rb1#");
        let best = &explanation.best[0];
        assert_eq!((best.san.as_str(), best.mate, best.mark), ("Ra8#", Some(1), None));
        assert!(asked.gives_up.contains(&GivenUp::MissedMate { moves: 1 }), "{asked:?}");
        assert!(asked.gives_up.contains(&GivenUp::Mated { moves: 1 }), "{asked:?}");
        assert!(best.words.contains("checkmate"), "{}", best.words);
        assert!(asked.words.contains("Black mates in 1"), "{}", asked.words);
        assert!(
            serde_json::to_string(&asked).unwrap().contains("\"gives_up\":[{\"missed_mate\":{\"moves\":1}}")
        );
    }

    #[test]
    fn moves_are_read_as_they_are_written() {
        let game = Game::new();
        for text in ["Nf3", "g1f3", " Nf3! ", "Ng1f3"] {
            assert_eq!(Game::uci(read_move(&game, text).unwrap(), false), "g1f3", "{text}");
        }
        assert_eq!(read_move(&game, "Nf4"), None);
        let castling = Game::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1").unwrap();
        for text in ["O-O", "0-0", "e1h1"] {
            assert_eq!(read_move(&castling, text).unwrap(), read_move(&castling, "e1g1").unwrap(), "{text}");
        }
    }
}
