use std::time::Duration;

use shakmaty::san::SanPlus;
use shakmaty::{Chess, Color, Move, Position};

use super::clocks::times_spent;
use super::judge::JudgedLine;
use super::judgement::{Mark, MateChange, PositionValue, Praise, game_accuracy, judge_error, move_accuracy};
use super::material::{Phase, is_sacrifice};
use crate::chess::openings::{LONGEST_LINE, Opening, opening_of};
use crate::chess::pgn::PgnGame;
use crate::chess::position::Game;

/// In plies.
const LINE_LENGTH: usize = 10;

#[derive(Clone, Debug)]
pub struct ReviewedMove {
    /// Plies before the move.
    pub ply: usize,
    /// Before the move.
    pub position: Chess,
    pub last_move: Option<Move>,
    pub m: Move,
    /// With the move number.
    pub san: String,
    pub before: PositionValue,
    pub after: PositionValue,
    pub mark: Option<Mark>,
    pub mate: Option<MateChange>,
    /// Empty if the best move was played.
    pub best: Vec<Move>,
    pub best_san: Vec<String>,
    /// 0 to 100.
    pub accuracy: f64,
    /// Before the move.
    pub phase: Phase,
    pub spent: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
pub struct PlayerSummary {
    pub moves: usize,
    /// 0 to 100.
    pub accuracy: Option<f64>,
    pub inaccuracies: usize,
    pub mistakes: usize,
    pub blunders: usize,
    /// Mean accuracies in opening, middlegame and endgame.
    pub phases: [Option<f64>; 3],
    pub spent: Option<Duration>,
}

#[derive(Clone, Debug)]
pub struct GameReview<'a> {
    pub game: &'a PgnGame,
    /// Moves whose positions before and after are evaluated.
    pub moves: Vec<ReviewedMove>,
    pub players: [PlayerSummary; 2],
    pub opening: Option<&'static Opening>,
}

/// `None` if play goes on.
pub fn value_of_end(game: &Game) -> Option<PositionValue> {
    let position = game.position();
    if position.is_checkmate() {
        Some(PositionValue::of_end(Some(!position.turn())))
    } else {
        (position.is_stalemate() || position.is_insufficient_material()).then_some(PositionValue::DRAW)
    }
}

pub fn sans(position: &Chess, line: &[Move]) -> Vec<String> {
    let mut position = position.clone();
    line.iter().map(|m| SanPlus::from_move_and_play_unchecked(&mut position, *m).to_string()).collect()
}

/// As in `12... Nf6 13. Bg5`.
pub fn numbered(position: &Chess, sans: &[String]) -> String {
    let first = usize::from(position.turn() == Color::Black);
    let number = u32::from(position.fullmoves()) as usize;
    let mut text = String::new();
    for (index, san) in sans.iter().enumerate() {
        let ply = first + index;
        let number = number + ply / 2;
        match (ply % 2, index) {
            (0, _) => text += &format!("{number}. "),
            (_, 0) => text += &format!("{number}... "),
            _ => (),
        }
        text = text + san + " ";
    }
    text.trim_end().to_owned()
}

impl<'a> GameReview<'a> {
    /// `positions` includes the final one: judged lines, empty where the game is over, `None` where not evaluated. With
    /// `side`, only that side's moves are marked.
    pub fn new(
        game: &'a PgnGame,
        positions: &[Option<Vec<JudgedLine>>],
        side: Option<Color>,
    ) -> GameReview<'a> {
        let games = positions_of(game);
        let values: Vec<Option<PositionValue>> = games
            .iter()
            .zip(positions)
            .map(|(game, lines)| value_of_end(game).or_else(|| Some(lines.as_ref()?.first()?.value)))
            .collect();
        let spent = times_spent(game);
        let mut phase = Phase::Opening;
        let mut moves = Vec::new();
        for (ply, m) in game.moves().iter().enumerate() {
            let position = games[ply].position();
            phase = Phase::after(phase, position.board());
            let (Some(before), Some(after)) = (values[ply], values[ply + 1]) else { continue };
            let mover = position.turn();
            let lines = positions[ply].as_deref().unwrap_or_default();
            let earlier = ply.checked_sub(1).and_then(|ply| values[ply]).map(|value| value.of(mover));
            let (mark, mate) = match side.is_none_or(|side| side == mover) {
                true => judge_move(position, *m, lines, (before, after), earlier),
                false => (None, None),
            };
            let best: Vec<Move> = match lines.first() {
                Some(line) if line.pv.first() != Some(m) => {
                    line.pv.iter().copied().take(LINE_LENGTH).collect()
                }
                _ => Vec::new(),
            };
            let dots = mover.fold_wb(".", "...");
            let number = position.fullmoves();
            moves.push(ReviewedMove {
                ply,
                position: position.clone(),
                last_move: games[ply].last_move(),
                m: *m,
                san: format!("{number}{dots} {}", sans(position, &[*m])[0]),
                before,
                after,
                mark,
                mate,
                best_san: sans(position, &best),
                best,
                accuracy: move_accuracy(before.of(mover), after.of(mover)),
                phase,
                spent: spent[ply],
            });
        }
        let opening = games.iter().take(LONGEST_LINE + 1).filter_map(opening_of).next_back();
        let players = summaries(&moves, &values);
        GameReview { game, moves, players, opening }
    }
}

/// From the start, with their history.
pub fn positions_of(game: &PgnGame) -> Vec<Game> {
    let mut now = game.start().clone();
    let mut games = vec![now.clone()];
    for m in game.moves() {
        now.play(m);
        games.push(now.clone());
    }
    games
}

/// The judge's own choice is never an error.
fn judge_move(
    position: &Chess,
    m: Move,
    lines: &[JudgedLine],
    (before, after): (PositionValue, PositionValue),
    earlier: Option<f64>,
) -> (Option<Mark>, Option<MateChange>) {
    let mover = position.turn();
    if lines.first().is_some_and(|line| line.pv.first() == Some(&m)) {
        let best = before.of(mover);
        let second = lines.get(1).map(|line| line.value.of(mover));
        let praise = Praise { earlier, best, second, sacrifice: false };
        // The sacrifice test is expensive and matters only for an only good move.
        let sacrifice = Praise { sacrifice: true, ..praise }.mark().is_some() && is_sacrifice(position, m);
        let turned_out = judge_error(&before, &after, mover).is_none();
        return (Praise { sacrifice, ..praise }.mark().filter(|_| turned_out), None);
    }
    match judge_error(&before, &after, mover) {
        Some((mark, mate)) => (Some(mark), mate),
        None => (None, None),
    }
}

fn summaries(moves: &[ReviewedMove], values: &[Option<PositionValue>]) -> [PlayerSummary; 2] {
    let Some(first) = moves.first() else { return Default::default() };
    let known: Vec<PositionValue> =
        values.iter().copied().skip_while(Option::is_none).map_while(|v| v).collect();
    let accuracy = game_accuracy(&known, first.position.turn());
    let of = |side: Color, accuracy| {
        let own: Vec<&ReviewedMove> = moves.iter().filter(|played| played.position.turn() == side).collect();
        let count = |mark| own.iter().filter(|played| played.mark == Some(mark)).count();
        let mean = |phase| {
            let of_phase: Vec<f64> =
                own.iter().filter(|played| played.phase == phase).map(|played| played.accuracy).collect();
            (!of_phase.is_empty()).then(|| of_phase.iter().sum::<f64>() / of_phase.len() as f64)
        };
        PlayerSummary {
            moves: own.len(),
            accuracy,
            inaccuracies: count(Mark::Inaccuracy),
            mistakes: count(Mark::Mistake),
            blunders: count(Mark::Blunder),
            phases: [Phase::Opening, Phase::Middlegame, Phase::Endgame].map(mean),
            spent: own.iter().filter_map(|played| played.spent).reduce(|sum, spent| sum + spent),
        }
    };
    [of(Color::White, accuracy[0]), of(Color::Black, accuracy[1])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::review::judgement::JudgedMate;
    use crate::chess::pgn::read_games;

    /// `best` has White's win probabilities; another move has `second`.
    fn lines(game: &PgnGame, best: &[(&str, f64)], second: &[f64]) -> Vec<Option<Vec<JudgedLine>>> {
        let line = |now: &Game, m: &str, white| {
            let pv = now.parse_uci(m).into_iter().collect();
            JudgedLine { value: PositionValue { white, mate: None }, wdl: None, pv }
        };
        let games = positions_of(game);
        let judged = games.iter().zip(best).zip(second).map(|((now, (m, white)), second)| {
            let other = now.legal_moves().into_iter().next().map_or(String::new(), |m| Game::uci(m, false));
            if value_of_end(now).is_some() {
                vec![]
            } else {
                vec![line(now, m, *white), line(now, &other, *second)]
            }
        });
        judged.map(Some).collect()
    }

    #[test]
    fn a_short_game_by_hand() {
        let (games, _) = read_games(b"[Event \"x\"]\n\n1. f3 e5 2. g4 Qh4# 0-1");
        let game = &games[0].1;
        let best = [("e2e4", 54.0), ("e7e5", 45.0), ("e2e4", 43.0), ("d8h4", 0.0), ("", 0.0)];
        let positions = lines(game, &best, &[54.0, 45.0, 43.0, 60.0, 0.0]);
        let review = GameReview::new(game, &positions, None);
        let marks: Vec<_> = review.moves.iter().map(|played| played.mark).collect();
        // 9 points lost; the best move; 43 points lost; mate, the only good move, after a blunder.
        assert_eq!(marks, [Some(Mark::Inaccuracy), None, Some(Mark::Blunder), Some(Mark::Good)]);
        assert_eq!(review.moves[2].san, "2. g4");
        assert_eq!(review.moves[2].best_san, ["e4"]);
        assert_eq!(review.moves[3].after.mate, Some(JudgedMate { winner: Color::Black, moves: 0 }));
        let [white, black] = &review.players;
        assert_eq!((white.moves, white.inaccuracies, white.mistakes, white.blunders), (2, 1, 0, 1));
        assert_eq!((black.moves, black.accuracy), (2, Some(100.0)));
        assert!(white.accuracy.unwrap() < 40.0);
        assert_eq!(review.opening.unwrap().name, "Barnes Opening: Fool's Mate");
        let white_only = GameReview::new(game, &positions, Some(Color::White));
        assert_eq!(white_only.moves.iter().filter(|played| played.mark.is_some()).count(), 2);
        let mut late = positions.clone();
        late[..2].fill(None);
        let review = GameReview::new(game, &late, None);
        assert_eq!((review.moves.len(), review.players[0].moves), (2, 1));
        assert_eq!(review.players[1].accuracy, Some(100.0));
    }
}
