//! Judges moves from the last position to the first, by all searches or by those up to a level.

use shakmaty::{Color, Move, Position};

use super::evidence::Evidence;
use super::game_review::{positions_of, value_of_end};
use super::judgement::{Class, Mark, MateChange, PositionValue, Praise, Thresholds, judge_error, misses_win};
use super::material::is_sacrifice;
use crate::chess::openings::opening_of;
use crate::chess::pgn::PgnGame;
use crate::chess::position::Game;

/// A move is searched again if it loses this many points, or if the position's value changes by this many once the move
/// is made.
const SUSPICIOUS: f64 = 6.0;
/// A mistake or blunder is printed only if the positions after it and after the better move were searched to this level.
const COMPARED: u32 = 1;
/// The level at which such a comparison settles an error.
const CONFIRMED: u32 = 2;
/// With a move, at most this many positions after the next one are searched again.
const GROUNDS: usize = 4;

/// The decision to print nothing.
const UNMARKED: (Option<Mark>, bool) = (None, false);

/// Of a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub value: PositionValue,
    /// Begins with the best move; empty at the game's end.
    pub line: Vec<Move>,
    second: Option<Second>,
    /// Of the deepest search of this position.
    choice: Option<Move>,
    /// Of the search that found the value; the highest number for ends and tablebases.
    level: u32,
    /// The value is that of the next position.
    is_fed_back: bool,
    /// The value before the next position's was known.
    alone: PositionValue,
}

/// The second best move of a position.
#[derive(Clone, Debug, PartialEq)]
struct Second {
    value: PositionValue,
    /// Begins with the move.
    line: Vec<Move>,
}

/// Of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    pub class: Class,
    pub mark: Option<Mark>,
    pub mate: Option<MateChange>,
    /// In points, at least 0.
    loss: f64,
}

impl Judgement {
    fn of(class: Class) -> Judgement {
        Judgement { class, mark: None, mate: None, loss: 0.0 }
    }

    fn is_error(&self) -> bool {
        self.mark.is_some_and(Mark::is_error)
    }

    /// For a move that is no error, though the searches do not agree on how good it is.
    fn without_praise(self) -> Judgement {
        if self.decision() == UNMARKED { self } else { Judgement::of(Class::Best) }
    }

    /// Two searches agree about a move if this is the same.
    fn decision(&self) -> (Option<Mark>, bool) {
        (self.mark, matches!(self.class, Class::Only | Class::Brilliant))
    }
}

pub struct Verdicts {
    pub moves: Vec<Move>,
    pub games: Vec<Game>,
    /// By level; `None` where not evaluated.
    by_level: Vec<Vec<Option<Verdict>>>,
    /// The level of each position's deepest search.
    levels: Vec<u32>,
    /// For each position, the searches of the positions after it: the move that leads there, the level, the value.
    after: Vec<Vec<(Move, u32, PositionValue)>>,
    /// Plies up to the last position of the opening book.
    book: usize,
    thresholds: Thresholds,
}

impl Verdicts {
    pub fn new(game: &PgnGame, evidence: &[Evidence]) -> Verdicts {
        let games = positions_of(game);
        let is_known = |now: &Game, found: &Evidence| found.known.is_some() || value_of_end(now).is_some();
        let levels: Vec<u32> = games
            .iter()
            .zip(evidence)
            .map(|(now, found)| if is_known(now, found) { u32::MAX } else { found.level().unwrap_or(0) })
            .collect();
        let deepest = evidence.iter().filter_map(Evidence::deepest).max().unwrap_or(0);
        let after = evidence.iter().map(Evidence::searched_after).collect();
        let moves = game.moves();
        let by_level = (0..=deepest).map(|level| verdicts(&games, &moves, evidence, level)).collect();
        let book = games.iter().rposition(|now| opening_of(now).is_some()).unwrap_or(0);
        let is_own = evidence.iter().any(|found| found.is_own);
        let thresholds = if is_own { Thresholds::OWN } else { Thresholds::EXACT };
        Verdicts { moves, games, by_level, levels, after, book, thresholds }
    }

    /// By all searches.
    pub fn verdict(&self, ply: usize) -> Option<&Verdict> {
        self.by_level.last()?[ply].as_ref()
    }

    /// The level to which both positions of a move were searched.
    pub fn level(&self, ply: usize) -> u32 {
        self.levels[ply].min(self.levels[ply + 1])
    }

    /// Whether the position's value needs no search.
    pub fn is_known(&self, ply: usize) -> bool {
        self.levels[ply] == u32::MAX
    }

    pub fn position_level(&self, ply: usize) -> u32 {
        self.levels[ply]
    }

    /// Positions whose values the verdict on the move stands on.
    pub fn grounds(&self, ply: usize) -> Vec<usize> {
        let mut last = ply + 1;
        while last <= ply + GROUNDS && self.verdict(last).is_some_and(|verdict| verdict.is_fed_back) {
            last += 1;
        }
        (ply..=last).collect()
    }

    /// `None` if the position before or after the move was not evaluated.
    pub fn final_judgement(&self, ply: usize) -> Option<Judgement> {
        let judged = self.weighed(ply)?;
        // Only searches of the positions after the move are against it.
        let is_choice = self.verdict(ply).is_some_and(|before| before.choice == Some(self.moves[ply]));
        Some(if is_choice && judged.is_error() { Judgement::of(Class::Unclear) } else { judged })
    }

    fn weighed(&self, ply: usize) -> Option<Judgement> {
        let now = self.judgement(ply, self.by_level.len() as u32 - 1)?;
        if self.is_settled(ply) {
            return Some(now);
        }
        let seen = self.decisive(ply);
        // An error must be found twice; that a move is none is taken from the deepest searches.
        if seen[1..].iter().flatten().all(|judged| !judged.is_error()) {
            return Some(now.without_praise());
        }
        let errors = seen.iter().map(|judged| judged.filter(Judgement::is_error));
        // If all agree that the move is an error, the mildest mark holds.
        let mildest: Option<Vec<Judgement>> = errors.collect();
        let mildest = mildest.filter(|_| self.level(ply) > 0);
        let mildest = mildest.and_then(|all| all.into_iter().min_by_key(|judged| judged.mark));
        // A comparison that has been made still stands when the position before is searched deeper.
        let is_allowed = |judged: &Judgement| {
            judged.mark == Some(Mark::Inaccuracy) || self.missing(ply, judged.mark, COMPARED).is_none()
        };
        Some(mildest.filter(is_allowed).unwrap_or(Judgement::of(Class::Unclear)))
    }

    /// Whether the move needs no further search. An error is settled by its comparison, any other move if the last two
    /// levels and all searches agree.
    pub fn is_settled(&self, ply: usize) -> bool {
        if !self.is_candidate(ply) || self.level(ply) == u32::MAX {
            return true;
        }
        if self.level(ply) == 0 {
            return false;
        }
        let decisive = self.decisive(ply);
        if decisive[2].is_some_and(|judged| judged.is_error()) {
            return self.comparison(ply).is_none();
        }
        let decisions = decisive.map(|judged| judged.map(|judged| judged.decision()));
        let is_unmarked = decisions[2].is_none_or(|decision| decision == UNMARKED);
        (is_unmarked && self.is_acquitted(ply)) || decisions.iter().all(|decision| *decision == decisions[0])
    }

    /// The better move of what seems an error.
    pub fn better(&self, ply: usize) -> Option<Move> {
        let now = self.judgement(ply, self.by_level.len() as u32 - 1)?;
        let is_open = now.is_error() && !self.is_known(ply);
        self.verdict(ply)?.line.first().copied().filter(|_| is_open)
    }

    /// The better move of what seems an error, and the level at which the positions after both moves are to be searched
    /// next. `None` if they have been, or if the move seems no error.
    pub fn comparison(&self, ply: usize) -> Option<(Move, u32)> {
        self.better(ply).filter(|_| self.level(ply) > 0)?;
        let levels = [COMPARED, CONFIRMED].map(|level| self.due(ply, level));
        let mark = self.judgement(ply, self.by_level.len() as u32 - 1)?.mark;
        levels.into_iter().find_map(|level| Some((self.missing(ply, mark, level)?, level)))
    }

    /// The level of searches after a move that are to weigh as much as the deepest search before it, and at least `level`.
    fn due(&self, ply: usize, level: u32) -> u32 {
        self.levels[ply].max(level)
    }

    /// The best move, if the comparison with it at that level is incomplete: the position after the move played or that
    /// after the best move lacks a search. Of searches after other moves, and of those after the best move that are less
    /// deep than the position's own, only one that shows an error as large as `mark` counts.
    fn missing(&self, ply: usize, mark: Option<Mark>, level: u32) -> Option<Move> {
        let best = *self.verdict(ply)?.line.first()?;
        let (after, mover) = (self.verdict(ply + 1)?.value, self.games[ply].turn());
        let proves = |(_, of, value): &(Move, u32, PositionValue)| {
            let found = judge_error(value, &after, mover, self.thresholds).map(|(mark, _)| mark);
            *of >= level && found >= mark
        };
        let is_compared =
            self.is_searched_after(ply, best, self.due(ply, level)) || self.after[ply].iter().any(proves);
        (self.levels[ply + 1] < level || !is_compared).then_some(best)
    }

    /// Whether a move that is no error has been compared with another by searches of the positions after both.
    fn is_acquitted(&self, ply: usize) -> bool {
        let level = self.due(ply, CONFIRMED);
        self.levels[ply + 1] >= level && self.after[ply].iter().any(|(_, of, _)| *of >= level)
    }

    /// Whether the position after a move has a search of that level, or needs none.
    pub fn is_searched_after(&self, ply: usize, m: Move, level: u32) -> bool {
        let mut next = self.games[ply].clone();
        next.play(m);
        let is_found = |(searched, of, _): &(Move, u32, PositionValue)| *searched == m && *of >= level;
        // A search that begins at a drawn position would go on as if the game did.
        let is_drawn = next.repetitions() >= 2 || next.position().halfmoves() >= 100;
        is_drawn || value_of_end(&next).is_some() || self.after[ply].iter().any(is_found)
    }

    /// How much is at stake, in points; orders what is searched first.
    pub fn stake(&self, ply: usize) -> f64 {
        self.decisive(ply).iter().flatten().map(|judged| judged.loss).fold(0.0, f64::max)
    }

    /// Whether the move is the best one, and so much better than others that it may be praised.
    pub fn may_be_praised(&self, ply: usize) -> bool {
        let mover = self.games[ply].turn();
        self.verdict(ply).is_some_and(|before| {
            before.line.first() == Some(&self.moves[ply])
                && before
                    .second
                    .as_ref()
                    .is_some_and(|second| Praise::is_possible(before.value.of(mover), second.value.of(mover)))
        })
    }

    fn is_candidate(&self, ply: usize) -> bool {
        let (Some(before), Some(after)) = (self.verdict(ply), self.verdict(ply + 1)) else { return false };
        if self.games[ply].legal_moves().len() == 1 {
            return false;
        }
        let mover = self.games[ply].turn();
        // The search may like its own choice less, or the other move more, once it has been made.
        let swing = (before.alone.of(mover) - after.value.of(mover)).abs();
        let stands_out = |judged: &Judgement| judged.decision() != UNMARKED || judged.loss >= SUSPICIOUS;
        swing >= SUSPICIOUS || self.decisive(ply).iter().flatten().any(stands_out)
    }

    /// By the last two levels to which the move was searched, and by all searches.
    fn decisive(&self, ply: usize) -> [Option<Judgement>; 3] {
        let last = self.by_level.len() as u32 - 1;
        let level = self.level(ply).min(last);
        [level.saturating_sub(1), level, last].map(|level| self.judgement(ply, level))
    }

    fn judgement(&self, ply: usize, level: u32) -> Option<Judgement> {
        let verdicts = &self.by_level[level as usize];
        let (before, after) = (verdicts[ply].as_ref()?, verdicts[ply + 1].as_ref()?);
        let (m, mover) = (self.moves[ply], self.games[ply].turn());
        if self.games[ply].legal_moves().len() == 1 {
            return Some(Judgement::of(Class::Forced));
        }
        if before.line.first() == Some(&m) {
            return Some(self.judge_best(
                ply,
                before,
                ply.checked_sub(1).and_then(|ply| verdicts[ply].as_ref()),
            ));
        }
        let loss = (before.value.of(mover) - after.value.of(mover)).max(0.0);
        let class = match judge_error(&before.value, &after.value, mover, self.thresholds) {
            Some((mark, mate)) => {
                let class = match mark {
                    Mark::Mistake | Mark::Blunder if misses_win(&before.value, &after.value, mover) => {
                        Class::MissedWin
                    }
                    Mark::Blunder => Class::Blunder,
                    Mark::Mistake => Class::Mistake,
                    _ => Class::Inaccuracy,
                };
                return Some(Judgement { class, mark: Some(mark), mate, loss });
            }
            None if self.is_known(ply) && self.is_known(ply + 1) => Class::Tablebase,
            None if ply < self.book => Class::Book,
            None => Class::Good,
        };
        Some(Judgement { loss, ..Judgement::of(class) })
    }

    fn judge_best(&self, ply: usize, before: &Verdict, earlier: Option<&Verdict>) -> Judgement {
        let (position, m) = (self.games[ply].position(), self.moves[ply]);
        let mover = position.turn();
        let plain = match self.is_known(ply) && self.is_known(ply + 1) {
            true => Class::Tablebase,
            false if ply < self.book => Class::Book,
            false => Class::Best,
        };
        let (best, Some(second)) = (before.value.of(mover), &before.second) else {
            return Judgement::of(plain);
        };
        let second = second.value.of(mover);
        if plain != Class::Best || !Praise::is_possible(best, second) {
            return Judgement::of(plain);
        }
        let last = self.games[ply].last_move();
        let recapture = m.is_capture() && last.is_some_and(|last| last.is_capture() && last.to() == m.to());
        let earlier = earlier.map(|earlier| earlier.value.of(mover));
        let sacrifice = is_sacrifice(position, m);
        let (class, mark) = Praise { earlier, best, second, sacrifice, recapture }.class();
        Judgement { mark, ..Judgement::of(class) }
    }
}

/// Backwards: what was found later is known earlier. A position is worth at least what the move played turned out to be
/// worth, unless the later search was the shallower one.
fn verdicts(games: &[Game], moves: &[Move], evidence: &[Evidence], most: u32) -> Vec<Option<Verdict>> {
    let mut verdicts: Vec<Option<Verdict>> = vec![None; games.len()];
    for ply in (0..games.len()).rev() {
        let alone = alone(&games[ply], &evidence[ply], most);
        let next = verdicts.get(ply + 1).and_then(Option::as_ref);
        verdicts[ply] = match (alone, next) {
            (Some(alone), Some(next)) => Some(fed_back(alone, next, moves[ply], games[ply].turn())),
            (alone, _) => alone,
        };
    }
    verdicts
}

fn alone(game: &Game, evidence: &Evidence, most: u32) -> Option<Verdict> {
    let (level, lines) = match value_of_end(game) {
        Some(value) => {
            let (line, second, choice, level, is_fed_back) = (Vec::new(), None, None, u32::MAX, false);
            return Some(Verdict { value, line, second, choice, level, is_fed_back, alone: value });
        }
        None => evidence.lines(most)?,
    };
    let best = lines.first()?;
    let second = evidence.second(*best.pv.first()?, most);
    let second = second.map(|second| Second { value: second.value, line: second.pv.clone() });
    let value = evidence.known.unwrap_or(best.value);
    let level = if evidence.known.is_some() { u32::MAX } else { level };
    let line = best.pv.clone();
    let choice = line.first().copied();
    let found = Verdict { value, line, second, choice, level, is_fed_back: false, alone: value };
    Some(if evidence.known.is_some() { found } else { compared(found, evidence, most, game.turn()) })
}

/// With what searches of the positions after the two best moves found.
fn compared(mut verdict: Verdict, evidence: &Evidence, most: u32, mover: Color) -> Verdict {
    let after =
        |line: &[Move]| evidence.after(*line.first()?, most).filter(|(level, _)| *level >= verdict.level);
    let own = verdict.level;
    let best = after(&verdict.line);
    let second = verdict.second.as_ref().and_then(|second| after(&second.line));
    if let Some((_, line)) = second {
        verdict.second = Some(Second { value: line.value, line: line.pv.clone() });
    }
    if let Some((level, line)) = best {
        (verdict.value, verdict.line, verdict.level) = (line.value, line.pv.clone(), level);
    }
    let level = second.map_or(own, |(level, _)| level);
    match verdict.second.take() {
        Some(other) if best.is_some() && other.value.of(mover) > verdict.value.of(mover) => {
            let is_more = second.is_none() && other.value.of(mover) > verdict.alone.of(mover);
            let value = if is_more { verdict.alone } else { other.value };
            let second = Some(Second { value: verdict.value, line: verdict.line });
            Verdict { value, line: other.line, second, level, alone: value, ..verdict }
        }
        second => Verdict { second, alone: verdict.value, ..verdict },
    }
}

fn fed_back(verdict: Verdict, next: &Verdict, m: Move, mover: Color) -> Verdict {
    if next.level < verdict.level {
        return verdict;
    }
    let is_choice = verdict.line.first() == Some(&m);
    let later = next.value.before(mover);
    let alone = verdict.value;
    let line: Vec<Move> = std::iter::once(m).chain(next.line.iter().copied()).collect();
    if later.of(mover) > alone.of(mover) {
        // The search's choice is the second best of another move.
        let choice = Second { value: alone, line: verdict.line };
        let second = if is_choice { verdict.second } else { Some(choice) };
        return Verdict { value: later, line, second, is_fed_back: true, ..verdict };
    }
    match verdict.second {
        // The choice turns out worse than the second best move.
        Some(second) if is_choice && second.value.of(mover) > later.of(mover) => {
            let value = if second.value.of(mover) < alone.of(mover) { second.value } else { alone };
            let choice = Some(Second { value: later, line });
            Verdict { value, line: second.line, second: choice, ..verdict }
        }
        second if is_choice => Verdict { value: later, line, second, is_fed_back: true, ..verdict },
        second => Verdict { second, ..verdict },
    }
}
