//! What the engines of a game think: for the page while they think, and for the PGN of each move.

use std::collections::VecDeque;
use std::time::Duration;

use engine::search::Score;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::lane::LaneGame;
use crate::engines::EngineEvent;
use crate::play::{ActionError, PlayedGame, PlayedMove, Thoughts, TreeView};

/// In plies.
const LONGEST_PATH: usize = 200;

/// Lines kept of an engine with `MultiPV`, which may number them without bound.
const MOST_LINES: usize = 10;

/// A [`Score`] that can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordedScore {
    Cp(i32),
    Mate(i32),
}

impl From<Score> for RecordedScore {
    fn from(score: Score) -> RecordedScore {
        match score {
            Score::Cp(cp) => RecordedScore::Cp(cp),
            Score::Mate(moves) => RecordedScore::Mate(moves),
        }
    }
}

impl RecordedScore {
    fn reversed_if(self, is_so: bool) -> RecordedScore {
        match self {
            RecordedScore::Cp(cp) if is_so => RecordedScore::Cp(-cp),
            RecordedScore::Mate(moves) if is_so => RecordedScore::Mate(-moves),
            score => score,
        }
    }
}

/// What an engine reported of a move that it played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveRecord {
    /// From White's view.
    pub score: Option<RecordedScore>,
    /// White's wins, draws, Black's wins, per mille.
    pub wdl: Option<[u16; 3]>,
    pub depth: u32,
    pub nodes: u64,
    pub ms: u64,
}

impl MoveRecord {
    /// As fastchess writes it: from the mover's view, with depth and time, and the nodes.
    pub fn comment(&self, white_moved: bool) -> String {
        let score = match self.score.map(|score| score.reversed_if(!white_moved)) {
            Some(RecordedScore::Cp(cp)) => format!("{:+.2}/{} ", f64::from(cp) / 100.0, self.depth),
            Some(RecordedScore::Mate(moves)) => {
                format!("{}M{}/{} ", if moves < 0 { '-' } else { '+' }, moves.abs(), self.depth)
            }
            None => String::new(),
        };
        format!("{score}{:.3}s n={}", self.ms as f64 / 1000.0, self.nodes)
    }

    /// Reads [`MoveRecord::comment`], and fastchess's comments.
    pub fn read(comment: &str, white_moved: bool) -> Option<MoveRecord> {
        let mut record = MoveRecord { score: None, wdl: None, depth: 0, nodes: 0, ms: 0 };
        for word in comment.split_ascii_whitespace().map(|word| word.trim_end_matches(',')) {
            if let Some((score, depth)) = word.split_once('/') {
                let score = match score.split_once('M') {
                    Some((sign, moves)) => RecordedScore::Mate(format!("{sign}{moves}").parse().ok()?),
                    None => RecordedScore::Cp((score.parse::<f64>().ok()? * 100.0).round() as i32),
                };
                record.score = Some(score.reversed_if(!white_moved));
                record.depth = depth.parse().unwrap_or(0);
            } else if let Some(nodes) = word.strip_prefix("n=") {
                record.nodes = nodes.parse().ok()?;
            } else if let Some(seconds) = word.strip_suffix('s').and_then(|text| text.parse::<f64>().ok()) {
                record.ms = (seconds * 1000.0).round() as u64;
            }
        }
        (record.score.is_some() || record.ms > 0).then_some(record)
    }
}

/// A question about the search tree of a side's engine.
#[derive(Debug)]
pub struct TreeQuestion {
    pub white: bool,
    pub moves: Vec<String>,
    pub answer: oneshot::Sender<Result<TreeView, ActionError>>,
}

/// What one engine thinks of the position that it searched last.
#[derive(Debug, Default)]
pub struct Mind {
    search: u64,
    game: Option<PlayedGame>,
    thoughts: Thoughts,
    begun: Option<Instant>,
    /// Of the finished search.
    took: Option<Duration>,
    /// In this game.
    spent: Duration,
    moves: u32,
    questions: VecDeque<TreeQuestion>,
}

impl Mind {
    pub fn begin(&mut self, search: u64, game: &PlayedGame) {
        (self.search, self.game, self.thoughts) = (search, Some(game.clone()), Thoughts::default());
        (self.begun, self.took) = (Some(Instant::now()), None);
    }

    pub fn forget(&mut self) {
        *self = Mind { questions: std::mem::take(&mut self.questions), ..Mind::default() };
    }

    /// The search has ended with a move.
    pub fn end(&mut self) -> MoveRecord {
        let took = self.begun.map(|begun| begun.elapsed()).unwrap_or_default();
        self.took = Some(took);
        self.spent += took;
        self.moves += 1;
        self.thoughts.done = true;
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let best = self.thoughts.lines.first();
        MoveRecord {
            score: best.map(|line| line.value.score.into()),
            wdl: best.and_then(|line| line.value.wdl),
            depth: best.map_or(0, |line| line.depth),
            nodes: best.map_or(0, |line| line.nodes),
            ms,
        }
    }

    /// Whether what is shown has changed.
    pub fn hear(&mut self, event: EngineEvent) -> bool {
        let Some(game) = &self.game else { return false };
        match event {
            EngineEvent::Info { id, info } if id == self.search => {
                self.thoughts.hear(game, &info, MOST_LINES)
            }
            EngineEvent::Numbers { id, numbers } if id == self.search => {
                self.thoughts.hear_numbers(game, &numbers);
                numbers.uci == "node"
            }
            EngineEvent::Tree(answer) => {
                self.answer(answer);
                false
            }
            _ => false,
        }
    }

    /// The moves to ask the engine for, if the question makes sense.
    pub fn ask(&mut self, question: TreeQuestion) -> Option<Vec<String>> {
        self.questions.retain(|question| !question.answer.is_closed());
        match self.check(&question.moves) {
            Ok(()) => {
                let moves = question.moves.clone();
                self.questions.push_back(question);
                Some(moves)
            }
            Err(error) => {
                let _ = question.answer.send(Err(error));
                None
            }
        }
    }

    /// The moves are sent to the engine in a line of text.
    fn check(&self, moves: &[String]) -> Result<(), ActionError> {
        let none = || ActionError::NotNow("This engine has not searched yet.".into());
        let mut board = self.game.as_ref().ok_or_else(none)?.game().clone();
        if moves.len() > LONGEST_PATH {
            return Err(ActionError::Invalid(format!("A line has at most {LONGEST_PATH} moves.")));
        }
        for text in moves {
            let illegal = |_| ActionError::Invalid(format!("{text} is no legal move there."));
            board.play(board.parse_uci(text).map_err(illegal)?);
        }
        Ok(())
    }

    fn answer(&mut self, answer: Result<String, String>) {
        // Engines also answer questions whose time is over.
        let of_line = |question: &TreeQuestion| TreeView::is_of(&answer, &question.moves);
        let Some(asked) = self.questions.iter().position(of_line) else { return };
        let Some(question) = self.questions.remove(asked) else { return };
        let changed = || ActionError::NotNow("The position has changed meanwhile.".into());
        let tree = match (answer, &self.game) {
            (Ok(text), Some(game)) => TreeView::read(&text, game).ok_or_else(changed),
            (Err(reason), _) => Err(ActionError::NotNow(format!("The engine shows no tree: {reason}."))),
            _ => Err(changed()),
        };
        let _ = question.answer.send(tree);
    }

    /// `None` if no search is running.
    pub fn thinking_ms(&self) -> Option<u64> {
        let begun = self.begun.filter(|_| self.took.is_none())?;
        Some(begun.elapsed().as_millis() as u64)
    }

    pub fn view(&self, name: &str) -> MindView<'_> {
        let now = self.took.or_else(|| Some(self.begun?.elapsed())).unwrap_or_default();
        let nodes = self.thoughts.lines.first().map_or(0, |line| line.nodes);
        let seconds = now.as_secs_f64();
        MindView {
            name: name.to_owned(),
            thinking: self.thinking_ms().is_some(),
            fen: self.game.as_ref().map(|game| game.game().fen()),
            thoughts: &self.thoughts,
            ms: now.as_millis() as u64,
            nps: if seconds > 0.0 { (nodes as f64 / seconds) as u64 } else { 0 },
            mean_ms: self.spent.as_millis() as u64 / u64::from(self.moves.max(1)),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct MindView<'a> {
    name: String,
    thinking: bool,
    /// The position that it searched.
    fen: Option<String>,
    #[serde(flatten)]
    thoughts: &'a Thoughts,
    /// Of this search.
    ms: u64,
    /// Nodes a second.
    nps: u64,
    /// Mean time of its moves in this game.
    mean_ms: u64,
}

#[derive(Debug, Serialize)]
pub struct MindsView<'a> {
    /// From 0.
    pub game: usize,
    /// White, Black.
    pub minds: [MindView<'a>; 2],
}

/// A game move by move, while it is played or afterwards.
#[derive(Debug, Serialize)]
pub struct MovesView<'a> {
    pub game: usize,
    pub start: String,
    pub moves: &'a [PlayedMove],
    /// By move; `null` for moves of the opening.
    pub records: &'a [Option<MoveRecord>],
}

impl<'a> MovesView<'a> {
    pub fn of(live: &'a LaneGame) -> MovesView<'a> {
        MovesView {
            game: live.number,
            start: live.game.start_fen(),
            moves: live.game.moves(),
            records: &live.records,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(mind: &mut Mind, moves: &[&str]) -> oneshot::Receiver<Result<TreeView, ActionError>> {
        let (answer, answered) = oneshot::channel();
        let moves = moves.iter().map(|uci| (*uci).to_owned()).collect();
        assert!(mind.ask(TreeQuestion { white: true, moves, answer }).is_some());
        answered
    }

    #[test]
    fn an_answer_that_comes_too_late_is_not_taken_for_that_to_the_next_question() {
        let mut mind = Mind::default();
        mind.begin(1, &PlayedGame::new(None).unwrap());
        drop(ask(&mut mind, &["e2e4"]));
        let mut root = ask(&mut mind, &[]);
        let mut line = ask(&mut mind, &["d2d4"]);
        let tree = |moves: &str| format!(r#"{{"moves":[{moves}],"held":true,"children":[]}}"#);
        mind.hear(EngineEvent::Tree(Ok(tree("\"e2e4\""))));
        assert!(root.try_recv().is_err() && line.try_recv().is_err());
        mind.hear(EngineEvent::Tree(Ok(tree("\"d2d4\""))));
        assert_eq!(line.try_recv().unwrap().unwrap().moves, ["d2d4"]);
        mind.hear(EngineEvent::Tree(Err("nothing was searched".into())));
        assert!(root.try_recv().unwrap().is_err());
    }

    #[test]
    fn what_an_engine_reported_is_written_as_fastchess_does_and_read_back() {
        let record = |score| MoveRecord { score: Some(score), wdl: None, depth: 9, nodes: 1234, ms: 512 };
        for (score, white, text) in [
            (RecordedScore::Cp(31), true, "+0.31/9 0.512s n=1234"),
            (RecordedScore::Cp(31), false, "-0.31/9 0.512s n=1234"),
            (RecordedScore::Mate(-3), true, "-M3/9 0.512s n=1234"),
            (RecordedScore::Mate(-3), false, "+M3/9 0.512s n=1234"),
        ] {
            assert_eq!(record(score).comment(white), text);
            assert_eq!(MoveRecord::read(text, white), Some(record(score)), "{text}");
        }
        let silent = MoveRecord { score: None, wdl: None, depth: 0, nodes: 0, ms: 20 };
        assert_eq!(MoveRecord::read(&silent.comment(true), true), Some(silent));
        assert_eq!(MoveRecord::read("a comment", true), None);
    }
}
