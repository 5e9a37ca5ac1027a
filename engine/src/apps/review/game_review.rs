use std::time::Duration;

use shakmaty::san::SanPlus;
use shakmaty::{Chess, Color, Move, Position};

use super::clocks::times_spent;
use super::evidence::Evidence;
use super::explanation::{Error, Explanation};
use super::judgement::{Class, Mark, MateChange, PositionValue, game_accuracy, move_accuracy};
use super::level::Level;
use super::material::Phase;
use super::verdict::Verdicts;
use crate::chess::openings::{LONGEST_LINE, Opening, opening_of};
use crate::chess::pgn::PgnGame;
use crate::chess::position::{Game, played};

/// In plies.
pub const LINE_LENGTH: usize = 10;

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
    pub class: Class,
    pub mark: Option<Mark>,
    pub mate: Option<MateChange>,
    /// Whether the review is of this side's moves.
    pub wanted: bool,
    /// Empty if the best move was played.
    pub best: Vec<Move>,
    pub best_san: Vec<String>,
    /// Of an error; `None` if nothing is proven.
    pub reason: Option<Explanation>,
    /// The line that follows, with move numbers.
    pub answer: String,
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
    /// Of a game that is reviewed from its first move.
    pub level: Option<Level>,
    pub inaccuracies: usize,
    pub mistakes: usize,
    pub blunders: usize,
    pub missed_wins: usize,
    pub unclear: usize,
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

impl ReviewedMove {
    fn begins_a_game(&self) -> bool {
        self.ply == 0 && self.position == Chess::default()
    }
}

impl<'a> GameReview<'a> {
    /// Whether nothing before the judged moves is left out.
    pub fn is_whole(&self) -> bool {
        self.moves.first().is_none_or(ReviewedMove::begins_a_game)
    }

    /// `evidence` includes the final position's. With `side`, only that side's moves are marked.
    pub fn new(game: &'a PgnGame, evidence: &[Evidence], side: Option<Color>) -> GameReview<'a> {
        let verdicts = Verdicts::new(game, evidence);
        let spent = times_spent(game);
        let mut phase = Phase::Opening;
        let mut moves = Vec::new();
        for (ply, &spent) in spent.iter().enumerate().take(verdicts.moves.len()) {
            phase = Phase::after(phase, verdicts.games[ply].position().board());
            moves.extend(reviewed_move(&verdicts, ply, side).map(|reviewed| ReviewedMove {
                phase,
                spent,
                ..reviewed
            }));
        }
        let games = &verdicts.games;
        let opening = games.iter().take(LONGEST_LINE + 1).filter_map(opening_of).next_back();
        let values: Vec<Option<PositionValue>> =
            (0..games.len()).map(|ply| verdicts.verdict(ply).map(|verdict| verdict.value)).collect();
        let players = summaries(&moves, &values);
        GameReview { game, moves, players, opening }
    }
}

/// `None` if a position was not evaluated.
fn reviewed_move(verdicts: &Verdicts, ply: usize, side: Option<Color>) -> Option<ReviewedMove> {
    let (before, after) = (verdicts.verdict(ply)?, verdicts.verdict(ply + 1)?);
    let m = verdicts.moves[ply];
    let position = verdicts.games[ply].position();
    let mover = position.turn();
    let judged = verdicts.final_judgement(ply)?;
    let wanted = side.is_none_or(|side| side == mover);
    let best: Vec<Move> = match before.line.first() == Some(&m) {
        true => Vec::new(),
        false => before.line.iter().copied().take(LINE_LENGTH).collect(),
    };
    let dots = mover.fold_wb(".", "...");
    let mark = judged.mark.filter(|mark| wanted && mark.is_error());
    let reason = mark.and_then(|mark| {
        let last = verdicts.games[ply].last_move();
        let mates = |side: Color, value: &PositionValue| value.mate.is_some_and(|mate| mate.winner == side);
        let error = Error { position, last, m, mark, is_mated: mates(!mover, &after.value) };
        error.explain(&after.line, &before.line, mates(mover, &before.value))
    });
    let next = played(position, m);
    let answer = numbered(&next, &sans(&next, after.line.get(..LINE_LENGTH).unwrap_or(&after.line)));
    let (before, after) = (before.value, after.value);
    Some(ReviewedMove {
        reason,
        answer,
        ply,
        position: position.clone(),
        last_move: verdicts.games[ply].last_move(),
        m,
        san: format!("{}{dots} {}", position.fullmoves(), sans(position, &[m])[0]),
        before,
        after,
        class: judged.class,
        wanted,
        mark: judged.mark.filter(|_| wanted),
        mate: judged.mate.filter(|_| wanted),
        best_san: sans(position, &best),
        best,
        accuracy: move_accuracy(
            mover.fold_wb(before.lichess_percent(), 100.0 - before.lichess_percent()),
            mover.fold_wb(after.lichess_percent(), 100.0 - after.lichess_percent()),
        ),
        phase: Phase::Opening,
        spent: None,
    })
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

fn summaries(moves: &[ReviewedMove], values: &[Option<PositionValue>]) -> [PlayerSummary; 2] {
    let Some(first) = moves.first() else { return Default::default() };
    let known: Vec<PositionValue> =
        values.iter().copied().skip_while(Option::is_none).map_while(|v| v).collect();
    let accuracy = game_accuracy(&known, first.position.turn());
    let of = |side: Color, accuracy| {
        let own: Vec<&ReviewedMove> = moves.iter().filter(|played| played.position.turn() == side).collect();
        let count = |mark| own.iter().filter(|played| played.mark == Some(mark)).count();
        let of_class = |class| own.iter().filter(|played| played.wanted && played.class == class).count();
        let mean = |phase| {
            let of_phase: Vec<f64> =
                own.iter().filter(|played| played.phase == phase).map(|played| played.accuracy).collect();
            (!of_phase.is_empty()).then(|| of_phase.iter().sum::<f64>() / of_phase.len() as f64)
        };
        let mean_of_all = own.iter().map(|played| played.accuracy).sum::<f64>() / own.len() as f64;
        PlayerSummary {
            moves: own.len(),
            accuracy,
            level: first.begins_a_game().then(|| Level::new(mean_of_all, own.len(), 1)).flatten(),
            inaccuracies: count(Mark::Inaccuracy),
            mistakes: count(Mark::Mistake),
            blunders: count(Mark::Blunder),
            missed_wins: of_class(Class::MissedWin),
            unclear: of_class(Class::Unclear),
            phases: Phase::ALL.map(mean),
            spent: own.iter().filter_map(|played| played.spent).reduce(|sum, spent| sum + spent),
        }
    };
    [of(Color::White, accuracy[0]), of(Color::Black, accuracy[1])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::review::evidence::{Moves, SearchKey};
    use crate::apps::review::judge::JudgedLine;
    use crate::apps::review::judgement::JudgedMate;
    use crate::chess::pgn::read_games;

    /// A search of each level per position; `best` has its move and White's expected points, `second` those of another.
    fn searches(game: &PgnGame, levels: u32, best: &[(&str, f64)], second: &[f64]) -> Vec<Evidence> {
        let line = |now: &Game, m: &str, white| {
            let pv = now.parse_uci(m).into_iter().collect();
            JudgedLine { value: PositionValue { white, mate: None }, wdl: None, pv }
        };
        let games = positions_of(game);
        let judged = games.iter().zip(best).zip(second).map(|((now, (m, white)), second)| {
            let mut found = Evidence::default();
            if value_of_end(now).is_none() {
                let other =
                    now.legal_moves().into_iter().map(|m| Game::uci(m, false)).find(|other| other != m);
                let lines = vec![line(now, m, *white), line(now, &other.unwrap(), *second)];
                (0..levels).for_each(|level| found.add(SearchKey::all(level), lines.clone()));
            }
            found
        });
        judged.collect()
    }

    /// Searches the position after the best move, too, which finds the same value.
    fn compare(found: &mut Evidence, level: u32) {
        if let Some([best, ..]) = found.found(SearchKey::all(level)).map(<[JudgedLine]>::to_vec).as_deref() {
            found.add(SearchKey { level, moves: Moves::Only(best.pv[0]) }, vec![best.clone()]);
        }
    }

    fn evidence(game: &PgnGame, levels: u32, best: &[(&str, f64)], second: &[f64]) -> Vec<Evidence> {
        let mut all = searches(game, levels, best, second);
        all.iter_mut().for_each(|found| (0..levels).for_each(|level| compare(found, level)));
        all
    }

    const BEST: [(&str, f64); 5] = [("e2e4", 54.0), ("e7e5", 42.0), ("e2e4", 40.0), ("d8h4", 0.0), ("", 0.0)];
    const SECOND: [f64; 5] = [54.0, 42.0, 40.0, 60.0, 0.0];

    #[test]
    fn a_short_game_by_hand() {
        let (games, _) = read_games(b"[Event \"x\"]\n\n1. f3 e5 2. g4 Qh4# 0-1");
        let game = &games[0].1;
        let verified = evidence(game, 2, &BEST, &SECOND);
        let review = GameReview::new(game, &verified, None);
        let marks: Vec<_> = review.moves.iter().map(|played| played.mark).collect();
        // 14 points lost; the best move; 40 points lost; mate, which the book knows.
        assert_eq!(marks, [Some(Mark::Inaccuracy), None, Some(Mark::Blunder), None]);
        let classes: Vec<_> = review.moves.iter().map(|played| played.class).collect();
        assert_eq!(classes, [Class::Inaccuracy, Class::Book, Class::Blunder, Class::Book]);
        assert_eq!(review.moves[2].san, "2. g4");
        assert_eq!(review.moves[2].best_san, ["e4"]);
        assert_eq!(review.moves[3].after.mate, Some(JudgedMate { winner: Color::Black, moves: 0 }));
        let [white, black] = &review.players;
        assert_eq!((white.moves, white.inaccuracies, white.mistakes, white.blunders), (2, 1, 0, 1));
        assert_eq!((black.moves, black.accuracy), (2, Some(100.0)));
        assert!(white.accuracy.unwrap() < 50.0, "{:?}", white.accuracy);
        assert_eq!(review.opening.unwrap().name, "Barnes Opening: Fool's Mate");
        let white_only = GameReview::new(game, &verified, Some(Color::White));
        assert_eq!(white_only.moves.iter().filter(|played| played.mark.is_some()).count(), 2);
        let mut late = verified.clone();
        late[..2].fill(Evidence::default());
        let review = GameReview::new(game, &late, None);
        assert_eq!((review.moves.len(), review.players[0].moves), (2, 1));
        assert_eq!(review.players[1].accuracy, Some(100.0));
    }

    #[test]
    fn our_own_values_mark_later_than_another_judges() {
        let (games, _) = read_games(b"1. f3 e5 2. g4 *");
        let game = &games[0].1;
        // 1. f3 loses 12 points, 2. g4 28.
        let best = [("e2e4", 52.0), ("e7e5", 40.0), ("e2e4", 40.0), ("d8h4", 12.0)];
        let mut found = evidence(game, 2, &best, &[52.0, 40.0, 40.0, 60.0]);
        let marks = |found: &[Evidence]| {
            GameReview::new(game, found, None).moves.iter().map(|m| m.mark).collect::<Vec<_>>()
        };
        assert_eq!(marks(&found), [Some(Mark::Inaccuracy), None, Some(Mark::Mistake)]);
        found.iter_mut().for_each(|found| found.is_own = true);
        assert_eq!(marks(&found), [None, None, Some(Mark::Mistake)]);
    }

    #[test]
    fn one_search_alone_marks_no_move() {
        let (games, _) = read_games(b"1. f3 e5 2. g4 Qh4# 0-1");
        let game = &games[0].1;
        let review = GameReview::new(game, &evidence(game, 1, &BEST, &SECOND), None);
        assert!(review.moves.iter().all(|played| played.mark.is_none()));
        let unclear = review.moves.iter().filter(|played| played.class == Class::Unclear).count();
        assert_eq!((unclear, review.players[0].unclear), (2, 2));
    }

    #[test]
    fn searches_that_differ_leave_a_move_unclear_or_mildly_marked() {
        let (games, _) = read_games(b"1. f3 e5 2. g4 *");
        let game = &games[0].1;
        // By level, the value before and after 2. g4.
        let class = |first: (f64, f64), second: (f64, f64)| {
            let of = |(before, after): (f64, f64)| {
                let best = [("e2e4", 54.0), ("e7e5", before), ("e2e4", before), ("g8f6", after)];
                evidence(game, 1, &best, &[54.0, before, before, after])
            };
            let (mut found, deeper) = (of(first), of(second));
            let shallow = SearchKey::all(0);
            for (found, deeper) in found.iter_mut().zip(&deeper) {
                let lines = deeper.found(shallow).unwrap().to_vec();
                found.add(SearchKey::all(1), lines);
                compare(found, 1);
            }
            GameReview::new(game, &found, None).moves[2].class
        };
        assert_eq!(class((50.0, 5.0), (50.0, 10.0)), Class::Blunder);
        assert_eq!(class((50.0, 5.0), (50.0, 48.0)), Class::Good, "the deeper search finds no error");
        assert_eq!(class((50.0, 48.0), (50.0, 5.0)), Class::Unclear);
        assert_eq!(class((50.0, 5.0), (50.0, 35.0)), Class::Inaccuracy, "the milder of two marks");
        assert_eq!(class((50.0, 42.0), (50.0, 45.0)), Class::Good);
    }

    #[test]
    fn no_mistake_is_printed_before_the_better_move_has_been_tried() {
        let (games, _) = read_games(b"1. f3 e5 2. g4 *");
        let game = &games[0].1;
        // `after`: White's points after 2. g4; `tried`: those found by a search after 2. e4.
        let class = |after: f64, tried: Option<f64>| {
            let best = [("e2e4", 52.0), ("e7e5", 50.0), ("e2e4", 50.0), ("g8f6", after)];
            let mut found = searches(game, 2, &best, &[52.0, 50.0, 20.0, after]);
            let key = SearchKey::all(1);
            let mut line = found[2].found(key).unwrap()[0].clone();
            if let Some(white) = tried {
                line.value.white = white;
                found[2].add(SearchKey { moves: Moves::Only(line.pv[0]), ..key }, vec![line]);
            }
            GameReview::new(game, &found, None).moves[2].class
        };
        assert_eq!([class(28.0, None), class(12.0, None)], [Class::Unclear; 2]);
        assert_eq!(class(28.0, Some(49.0)), Class::Mistake);
        assert_eq!(class(28.0, Some(30.0)), Class::Good, "2. e4 loses as much");
        assert_eq!(class(28.0, Some(10.0)), Class::Best);
        assert_eq!(class(38.0, None), Class::Inaccuracy);
        // Compared once, a mistake stays one when the position is searched deeper and the budget ends.
        for deeper in ["e2e4", "d2d4"] {
            let best = [("e2e4", 52.0), ("e7e5", 50.0), ("e2e4", 50.0), ("g8f6", 28.0)];
            let mut found = searches(game, 2, &best, &[52.0, 50.0, 20.0, 28.0]);
            compare(&mut found[2], 1);
            let mut line = found[2].found(SearchKey::all(1)).unwrap()[0].clone();
            line.pv = vec![positions_of(game)[2].parse_uci(deeper).unwrap()];
            found[2].add(SearchKey::all(2), vec![line]);
            assert_eq!(GameReview::new(game, &found, None).moves[2].class, Class::Mistake, "{deeper}");
        }
        // A comparison that found 2. e4 as bad proves nothing against 2. g4.
        let best = [("e2e4", 52.0), ("e7e5", 50.0), ("e2e4", 50.0), ("g8f6", 28.0)];
        let mut found = searches(game, 4, &best, &[52.0, 50.0, 20.0, 28.0]);
        let mut line = found[2].found(SearchKey::all(1)).unwrap()[0].clone();
        line.value.white = 30.0;
        found[2].add(SearchKey { level: 1, moves: Moves::Only(line.pv[0]) }, vec![line]);
        assert_eq!(GameReview::new(game, &found, None).moves[2].class, Class::Unclear);
        // With 2. e4 refuted at the last level, 2. g4 stands alone; no search without it has settled that.
        let best = [("e2e4", 52.0), ("e7e5", 50.0), ("e2e4", 50.0), ("g8f6", 45.0)];
        let mut found = searches(game, 3, &best, &[52.0, 50.0, 20.0, 45.0]);
        let mut line = found[2].found(SearchKey::all(2)).unwrap()[0].clone();
        line.value.white = 10.0;
        found[2].add(SearchKey { level: 2, moves: Moves::Only(line.pv[0]) }, vec![line]);
        let reviewed = GameReview::new(game, &found, None);
        assert_eq!((reviewed.moves[2].class, reviewed.moves[2].mark), (Class::Best, None));
    }

    #[test]
    fn what_is_found_later_is_known_earlier() {
        // Nobody sees 2... Qh4# before it is on the board.
        let (games, _) = read_games(b"1. f3 e5 2. g4 Qh4# 0-1");
        let game = &games[0].1;
        let best = [("e2e4", 50.0), ("e7e5", 50.0), ("g2g4", 50.0), ("d7d5", 50.0), ("", 0.0)];
        let review = GameReview::new(game, &evidence(game, 2, &best, &[50.0; 5]), None);
        let mate = JudgedMate { winner: Color::Black, moves: 1 };
        assert_eq!((review.moves[3].before.white, review.moves[3].before.mate), (0.0, Some(mate)));
        assert_eq!(review.moves[3].mark, None, "mate is the best move");
        // The choice of its own searches is no error, though a later one is against it: the position was worth its second
        // best move.
        let choice = &review.moves[2];
        assert_eq!((choice.mark, choice.class, choice.before.white), (None, Class::Unclear, 50.0));
    }

    #[test]
    fn praise_that_is_not_settled_is_left_out() {
        let (games, _) = read_games(b"[FEN \"4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1\"]\n\n1. Ra7 Kf8 *");
        let game = &games[0].1;
        // White's expected points after the second best move.
        let of = |second: f64| {
            let best = [("a1a7", 80.0), ("e8f8", 80.0), ("h1h8", 80.0)];
            evidence(game, 1, &best, &[second, 80.0, 80.0])
        };
        let class = |first: f64, second: f64| {
            let (mut found, key) = (of(first), SearchKey::all(0));
            for (found, deeper) in found.iter_mut().zip(of(second)) {
                found.add(SearchKey { level: 1, ..key }, deeper.found(key).unwrap().to_vec());
            }
            GameReview::new(game, &found, None).moves[0].class
        };
        assert_eq!(
            (class(50.0, 55.0), class(50.0, 75.0), class(75.0, 50.0)),
            (Class::Only, Class::Best, Class::Best)
        );
    }
}
