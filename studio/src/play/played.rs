use engine::chess::openings::{Opening, opening_of};
use engine::chess::position::{DrawReason, Game, Outcome, PositionError};
use serde::{Deserialize, Serialize};
use shakmaty::san::{San, SanPlus};
use shakmaty::{Color, Move, Position};

/// In plies.
const LONGEST_GAME: usize = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Winner {
    White,
    Black,
    Draw,
}

impl From<Color> for Winner {
    fn from(color: Color) -> Winner {
        color.fold_wb(Winner::White, Winner::Black)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Checkmate,
    Stalemate,
    InsufficientMaterial,
    Threefold,
    /// A hundred plies without a capture or pawn move.
    FiftyMoves,
    Resignation,
    Time,
    Agreement,
    TooLong,
    /// The result of a loaded game.
    Recorded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameEnd {
    pub winner: Winner,
    pub reason: EndReason,
}

impl GameEnd {
    pub fn result(self) -> &'static str {
        match self.winner {
            Winner::White => "1-0",
            Winner::Black => "0-1",
            Winner::Draw => "1/2-1/2",
        }
    }

    pub fn sentence(self) -> String {
        let reason = match self.reason {
            EndReason::Checkmate => "by checkmate",
            EndReason::Stalemate => "by stalemate",
            EndReason::InsufficientMaterial => "because neither side can mate",
            EndReason::Threefold => "by threefold repetition",
            EndReason::FiftyMoves => "by the fifty-move rule",
            EndReason::Resignation => "by resignation",
            EndReason::Time => "on time",
            EndReason::Agreement => "by agreement",
            EndReason::TooLong => "because the game is too long",
            EndReason::Recorded => "as recorded",
        };
        match self.winner {
            Winner::White => format!("White wins {reason}."),
            Winner::Black => format!("Black wins {reason}."),
            Winner::Draw => format!("Draw {reason}."),
        }
    }
}

impl From<Outcome> for GameEnd {
    fn from(outcome: Outcome) -> GameEnd {
        let draw = |reason| GameEnd { winner: Winner::Draw, reason };
        match outcome {
            Outcome::Decisive { winner } => GameEnd { winner: winner.into(), reason: EndReason::Checkmate },
            Outcome::Draw(DrawReason::Stalemate) => draw(EndReason::Stalemate),
            Outcome::Draw(DrawReason::InsufficientMaterial) => draw(EndReason::InsufficientMaterial),
            Outcome::Draw(DrawReason::Threefold) => draw(EndReason::Threefold),
            Outcome::Draw(DrawReason::FiftyMoves) => draw(EndReason::FiftyMoves),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LegalMove {
    /// UCI notation; castling is listed in both notations if both are understood.
    pub uci: String,
    pub san: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlayedMove {
    pub uci: String,
    pub san: String,
    pub fen: String,
    pub check: bool,
}

#[derive(Clone, Debug)]
pub struct PlayedGame {
    start: Option<String>,
    game: Game,
    moves: Vec<PlayedMove>,
    /// The opening after each move; stays that of the last position with a name.
    openings: Vec<Option<&'static Opening>>,
}

impl PlayedGame {
    pub fn new(start: Option<String>) -> Result<PlayedGame, PositionError> {
        let game = start.as_deref().map_or_else(|| Ok(Game::new()), Game::from_fen)?;
        Ok(PlayedGame { start, game, moves: Vec::new(), openings: Vec::new() })
    }

    pub fn game(&self) -> &Game {
        &self.game
    }

    pub fn start(&self) -> Option<&str> {
        self.start.as_deref()
    }

    pub fn start_fen(&self) -> String {
        self.start.clone().unwrap_or_else(|| Game::new().fen())
    }

    pub fn moves(&self) -> &[PlayedMove] {
        &self.moves
    }

    pub fn ply(&self) -> usize {
        self.moves.len()
    }

    /// The start, and the moves from there.
    pub fn start_and_moves(&self) -> (Game, Vec<Move>) {
        let start = Game::from_fen(&self.start_fen()).expect("the game was played from it");
        let mut game = start.clone();
        let read = |played: &PlayedMove| {
            let m = game.parse_uci(&played.uci).expect("the move was played");
            game.play(m);
            m
        };
        (start, self.moves.iter().map(read).collect())
    }

    pub fn turn(&self) -> Color {
        self.game.turn()
    }

    /// Castling is then written as king takes rook.
    pub fn is_chess960(&self) -> bool {
        self.start.is_some() && self.game.position().castles().mode().is_chess960()
    }

    pub fn legal(&self) -> Vec<LegalMove> {
        let mut legal = Vec::new();
        for m in self.game.legal_moves() {
            let san = San::from_move(self.game.position(), m).to_string();
            let uci = Game::uci(m, self.is_chess960());
            let rook = Game::uci(m, true);
            if rook != uci {
                legal.push(LegalMove { uci: rook, san: san.clone() });
            }
            legal.push(LegalMove { uci, san });
        }
        legal
    }

    /// Accepts SAN and UCI notation, also in lower case.
    pub fn parse(&self, text: &str) -> Result<Move, String> {
        let text = text.trim();
        let position = self.game.position();
        if let Ok(m) = self.game.parse_uci(&text.to_ascii_lowercase()) {
            return Ok(m);
        }
        let read = |text: &str| SanPlus::from_ascii(text.as_bytes()).ok()?.san.to_move(position).ok();
        spellings(text).iter().find_map(|text| read(text)).ok_or_else(|| {
            let shown: String = text.chars().take(12).collect();
            let side = self.turn().fold_wb("White", "Black");
            format!(
                "{shown} is not a legal move for {side} here. Write moves like Nf3, exd5, O-O, e8=Q or e2e4."
            )
        })
    }

    pub fn play(&mut self, m: Move) -> Result<(), String> {
        if self.ply() >= LONGEST_GAME {
            return Err(format!("A game has at most {} moves here: start a new one.", LONGEST_GAME / 2));
        }
        let uci = Game::uci(m, self.is_chess960());
        let san = SanPlus::from_move(self.game.position().clone(), m).to_string();
        self.game.play(m);
        let check = self.game.position().is_check();
        self.openings.push(opening_of(&self.game).or(self.opening()));
        self.moves.push(PlayedMove { uci, san, fen: self.game.fen(), check });
        Ok(())
    }

    /// Takes back at most all moves.
    pub fn take_back(&mut self, plies: usize) {
        let keep = self.ply().saturating_sub(plies);
        let moves: Vec<String> = self.moves[..keep].iter().map(|m| m.uci.clone()).collect();
        self.game = Game::from_uci(self.start.as_deref(), moves.iter().map(String::as_str))
            .expect("these moves were legal when they were played");
        self.moves.truncate(keep);
        self.openings.truncate(keep);
    }

    /// The last named opening.
    pub fn opening(&self) -> Option<&'static Opening> {
        *self.openings.last()?
    }

    pub fn end(&self) -> Option<GameEnd> {
        self.game.outcome().map(GameEnd::from)
    }

    /// The end if the side to move runs out of time: a draw if the other side cannot mate.
    pub fn end_on_time(&self) -> GameEnd {
        let other = !self.turn();
        let can_mate = !self.game.position().has_insufficient_material(other);
        GameEnd { winner: if can_mate { other.into() } else { Winner::Draw }, reason: EndReason::Time }
    }

    pub fn position_command(&self) -> String {
        let mut command = match &self.start {
            None => "position startpos".to_owned(),
            Some(fen) => format!("position fen {fen}"),
        };
        for (index, m) in self.moves.iter().enumerate() {
            command += if index == 0 { " moves " } else { " " };
            command += &m.uci;
        }
        command
    }
}

fn spellings(text: &str) -> Vec<String> {
    let castling = text.trim_end_matches(['+', '#']).to_ascii_uppercase().replace('0', "O");
    let mut promotion = text.to_owned();
    if let Some(last) = promotion.pop() {
        promotion.push(last.to_ascii_uppercase());
    }
    let mut piece = text.to_owned();
    if let Some(first) = piece.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    vec![text.to_owned(), castling, promotion.clone(), with_equals_sign(&promotion), piece]
}

/// `e8Q` as `e8=Q`.
fn with_equals_sign(text: &str) -> String {
    match text.char_indices().last() {
        Some((index, _)) if !text.contains('=') => format!("{}={}", &text[..index], &text[index..]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(start: Option<&str>, moves: &str) -> PlayedGame {
        let mut game = PlayedGame::new(start.map(str::to_owned)).unwrap();
        for text in moves.split_whitespace() {
            game.play(game.parse(text).unwrap()).unwrap();
        }
        game
    }

    fn sans(game: &PlayedGame) -> String {
        game.moves().iter().map(|m| m.san.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn moves_are_read_as_people_type_them() {
        let typed = "e4 e7e5 nf3 Nc6 bb5 a6 0-0 Nf6 d4 exd4";
        assert_eq!(sans(&played(None, typed)), "e4 e5 Nf3 Nc6 Bb5 a6 O-O Nf6 d4 exd4");
        for text in ["e8=q", "e8q", "e8Q", "e7e8q", "E7E8Q"] {
            assert_eq!(sans(&played(Some("8/4P3/8/8/8/2k5/8/K7 w - - 0 1"), text)), "e8=Q", "{text}");
        }
        let error = played(None, "").parse("e5").unwrap_err();
        assert!(error.contains("e5 is not a legal move for White"), "{error}");
        for text in ["", "é", "💥", "0", "=", "e", &"x".repeat(10_000)] {
            assert!(played(None, "").parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn castling_is_offered_in_both_ways_and_in_chess960_as_king_takes_rook() {
        let castlings = |fen| {
            let legal = played(Some(fen), "").legal();
            legal.into_iter().filter(|m| m.san == "O-O").map(|m| m.uci).collect::<Vec<_>>()
        };
        assert_eq!(castlings("4k3/8/8/8/8/8/8/4K2R w K - 0 1"), ["e1h1", "e1g1"]);
        assert_eq!(castlings("4k3/8/8/8/8/8/8/5K1R w H - 0 1"), ["f1h1"]);
    }

    #[test]
    fn moves_are_taken_back() {
        let mut game = played(None, "e4 e5 Nf3");
        game.take_back(2);
        assert_eq!((sans(&game).as_str(), game.turn()), ("e4", Color::Black));
        game.take_back(9);
        assert_eq!((game.ply(), game.position_command().as_str()), (0, "position startpos"));
    }

    #[test]
    fn the_last_named_position_names_the_game() {
        let name = |game: &PlayedGame| game.opening().map(ToString::to_string).unwrap_or_default();
        let mut game = played(None, "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 a5 a3");
        assert_eq!(name(&game), "C70 Ruy Lopez: Morphy Defense");
        game.take_back(4);
        assert_eq!(name(&game), "C60 Ruy Lopez");
        game.take_back(9);
        assert_eq!(name(&game), "");
    }

    #[test]
    fn games_end_by_the_rules_and_on_time() {
        let mate = played(None, "f3 e5 g4 Qh4");
        assert_eq!(sans(&mate), "f3 e5 g4 Qh4#");
        assert_eq!(mate.end().unwrap().sentence(), "Black wins by checkmate.");
        assert_eq!(mate.end().unwrap().result(), "0-1");
        let stalemate = played(Some("k7/8/1Q6/8/8/8/8/K7 b - - 0 1"), "");
        assert_eq!(stalemate.end().unwrap().sentence(), "Draw by stalemate.");
        assert_eq!(played(None, "e4").end(), None);
        assert_eq!(played(None, "e4").end_on_time().winner, Winner::White);
        let bare = played(Some("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"), "");
        assert_eq!(bare.end_on_time().winner, Winner::Draw, "a bare king cannot mate");
    }

    #[test]
    fn an_engine_is_sent_the_whole_game() {
        let game = played(Some("4k3/8/8/8/8/8/4P3/4K2R w K - 0 1"), "e2e4 e8d8 O-O");
        assert_eq!(
            game.position_command(),
            "position fen 4k3/8/8/8/8/8/4P3/4K2R w K - 0 1 moves e2e4 e8d8 e1g1"
        );
    }
}
