use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use engine::base::words::counted;
use engine::chess::position::PackedMove;

use super::chunk::Chunk;
use super::hdf5_file::{DatasetLayout, read_described};
use crate::data::record::{
    self, FLAG_CHESS960, FLAG_PUZZLE, FLAG_SELF_PLAY, GameResult, LONGEST_LINE, NO_EVAL, Opening, Split,
};

/// With `replay`, replays every game first.
pub fn describe(path: &Path, replay: bool) -> anyhow::Result<String> {
    let (chunk, layouts) = read_described(path)?;
    let inspection = inspect(&chunk, replay).with_context(|| format!("{}: damaged", path.display()))?;
    let mut text = format!("{}\n{inspection}\n", path.display());
    text += "  dataset          entries  type              checksums  minimum to maximum, missing\n";
    for (DatasetLayout { name, kind, shape, checksums }, range) in layouts.iter().zip(ranges(&chunk)) {
        let entries = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let checksums = if *checksums { "yes" } else { "no" };
        writeln!(text, "  {name:15} {entries:>8}  {kind:16}  {checksums:9}  {range}").expect("memory");
    }
    text.pop();
    Ok(text)
}

fn ranges(chunk: &Chunk) -> Vec<String> {
    let mut ranges = vec![
        range(&chunk.first_ply, None),
        range(&chunk.plies, None),
        range(&chunk.result, Some(GameResult::Unknown.code())),
        range(&chunk.white_elo, Some(0)),
        range(&chunk.black_elo, Some(0)),
        range(&chunk.date, Some(0)),
        range(&chunk.flags, None),
        range(&chunk.start, None),
        format!("at most {} bytes", chunk.starts.iter().map(String::len).max().unwrap_or(0)),
        range(&chunk.moves, None),
        range(&chunk.evals, Some(NO_EVAL)),
    ];
    let searches = &chunk.searches;
    if !searches.q.is_empty() {
        ranges.extend([
            range(&searches.q, None),
            range(&searches.d, None),
            range(&searches.first, None),
            range(&searches.len, Some(0)),
            range(&searches.moves, None),
            range(&searches.shares, None),
        ]);
    }
    if !searches.scores.is_empty() {
        ranges.push(range(&searches.scores, Some(NO_EVAL)));
    }
    ranges
}

/// Minimum, maximum, and the count of values equal to `missing`.
fn range<T: Copy + Ord + fmt::Display>(values: &[T], missing: Option<T>) -> String {
    let known = || values.iter().filter(|value| Some(**value) != missing);
    let range = match (known().min(), known().max()) {
        (Some(least), Some(greatest)) => format!("{least} to {greatest}"),
        _ => "none".to_owned(),
    };
    missing.map_or(range.clone(), |_| format!("{range}, {} missing", values.len() - known().count()))
}

const FAMILIES: usize = 6;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    source: String,
    games: usize,
    positions: usize,
    /// White, draw, Black, unknown.
    results: [usize; 4],
    splits: [usize; 3],
    /// Games by the lower known rating, in steps of 200.
    ratings: BTreeMap<u16, usize>,
    dates: Option<(u32, u32)>,
    evaluated: usize,
    mates: usize,
    chess960: usize,
    puzzles: usize,
    self_play: usize,
    searched: usize,
    /// Moves of recorded policies that have a score.
    scored: usize,
    own_start: usize,
    longest: u16,
    /// Games by [`Opening::family`]; only if `replayed`.
    openings: BTreeMap<&'static str, usize>,
    replayed: bool,
}

/// With `replay`, replays every game first.
pub fn inspect(chunk: &Chunk, replay: bool) -> anyhow::Result<Inspection> {
    let mut found = Inspection {
        source: chunk.source.clone(),
        games: chunk.games(),
        positions: chunk.positions(),
        replayed: replay,
        ..Inspection::default()
    };
    for index in 0..chunk.games() {
        if replay && let Some(opening) = replay_game(chunk, index)? {
            *found.openings.entry(opening.family()).or_default() += 1;
        }
        let result = [1, 0, -1, 2].iter().position(|code| *code == chunk.result[index]);
        found.results[result.unwrap_or(3)] += 1;
        found.splits[record::split(chunk.identity(index)) as usize] += 1;
        let ratings = [chunk.white_elo[index], chunk.black_elo[index]];
        let lower = ratings.into_iter().filter(|elo| *elo > 0).min().unwrap_or(0);
        *found.ratings.entry(lower / 200 * 200).or_default() += 1;
        let date = chunk.date[index];
        if date > 0 {
            let (first, last) = found.dates.unwrap_or((date, date));
            found.dates = Some((first.min(date), last.max(date)));
        }
        let has = |flag: u16| usize::from(chunk.flags[index] & flag != 0);
        found.chess960 += has(FLAG_CHESS960);
        found.puzzles += has(FLAG_PUZZLE);
        found.self_play += has(FLAG_SELF_PLAY);
        found.own_start += usize::from(chunk.start[index] > 0);
        found.longest = found.longest.max(chunk.plies[index]);
    }
    found.evaluated = chunk.evals.iter().filter(|eval| **eval != NO_EVAL).count();
    found.searched = chunk.searches.len.iter().filter(|len| **len > 0).count();
    found.scored = chunk.searches.scores.iter().filter(|score| **score != NO_EVAL).count();
    found.mates = chunk.evals.iter().filter(|eval| **eval != NO_EVAL && eval.unsigned_abs() > 29_000).count();
    Ok(found)
}

/// Half a unit for each of at most 218 moves.
const ROUNDING: u32 = 110;

/// Checks moves and searches, and returns the opening.
pub fn replay_game(chunk: &Chunk, index: usize) -> anyhow::Result<Option<&'static Opening>> {
    let stored = chunk.replay(index);
    let mut game = stored.initial().with_context(|| format!("game {index}"))?;
    let mut opening = None;
    for (ply, packed) in stored.moves.iter().enumerate() {
        let m = PackedMove(*packed).to_move(game.position());
        let m = m.with_context(|| format!("game {index}: no legal move at ply {ply} in {}", game.fen()))?;
        let mut total = 0;
        for (shared, share) in stored.searches.shares(ply) {
            total += u32::from(share);
            if PackedMove(shared).to_move(game.position()).is_none() {
                bail!("game {index}: an illegal move in the policy of ply {ply} in {}", game.fen());
            }
        }
        let sound = !stored.searches.is_recorded(ply) || total.abs_diff(65535) <= ROUNDING;
        ensure!(sound, "game {index}: the shares of ply {ply} sum to {total} of 65535");
        game.play(m);
        if ply < LONGEST_LINE {
            opening = record::opening_of(&game).or(opening);
        }
    }
    Ok(opening)
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let [white, draws, black, unknown] = self.results;
        writeln!(f, "  source      {}", self.source)?;
        writeln!(
            f,
            "  games       {} ({}, longest {})",
            self.games,
            counted(self.positions, "position"),
            counted(self.longest, "ply")
        )?;
        writeln!(f, "  results     White {white}, draw {draws}, Black {black}, unknown {unknown}")?;
        let [train, validation, test] = self.splits;
        writeln!(f, "  split       train {train}, validation {validation}, test {test}")?;
        let share = percent(self.evaluated, self.positions);
        writeln!(
            f,
            "  evaluated   {} ({share:.1} %), {} of them mates",
            counted(self.evaluated, "position"),
            self.mates
        )?;
        if self.searched > 0 {
            let share = percent(self.searched, self.positions);
            let searched = counted(self.searched, "position");
            writeln!(f, "  searched    {searched} ({share:.1} %) with visit shares")?;
        }
        if self.scored > 0 {
            writeln!(f, "  scored      {} of their moves, by an engine", self.scored)?;
        }
        let ratings: Vec<String> = self
            .ratings
            .iter()
            .map(
                |(from, games)| {
                    if *from == 0 { format!("unrated {games}") } else { format!("{from}+ {games}") }
                },
            )
            .collect();
        writeln!(f, "  ratings     {}", ratings.join(", "))?;
        if let Some((first, last)) = self.dates {
            writeln!(f, "  dates       {first} to {last}")?;
        }
        let Inspection { chess960, puzzles, self_play, own_start, .. } = self;
        writeln!(
            f,
            "  kinds       Chess960 {chess960}, puzzles {puzzles}, self-play {self_play}, own start {own_start}"
        )?;
        if self.replayed {
            let mut families: Vec<(&str, usize)> =
                self.openings.iter().map(|(name, n)| (*name, *n)).collect();
            families.sort_by_key(|(_, games)| std::cmp::Reverse(*games));
            let named: usize = families.iter().map(|(_, games)| games).sum();
            let first = families.iter().take(FAMILIES).map(|(name, games)| format!("{name} {games}"));
            let other = families.iter().skip(FAMILIES).map(|(_, games)| games).sum::<usize>();
            let rest = [("others", other), ("unnamed", self.games - named)];
            let rest = rest.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {n}"));
            writeln!(f, "  openings    {}", first.chain(rest).collect::<Vec<_>>().join(", "))?;
        }
        let proof = if self.replayed { "every move replayed" } else { "moves not replayed (--quick)" };
        write!(f, "  checked     checksums, lengths, ranges; {proof}")
    }
}

/// [`Split`] is an index of [`Inspection::splits`].
const _: () = assert!(Split::Train as usize == 0 && Split::Test as usize == 2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::GameRecord;

    #[test]
    fn ranges_exclude_missing_values() {
        assert_eq!(range(&[0, 2500, 2400], Some(0)), "2400 to 2500, 1 missing");
        assert_eq!(range(&[0, 0], Some(0)), "none, 2 missing");
        assert_eq!(range(&[3, 0], None), "0 to 3");
    }

    #[test]
    fn a_sound_file_is_described_and_an_illegal_move_reported() {
        let mut chunk = Chunk::new("a test");
        let e4e5 = vec![PackedMove(12 | 28 << 6), PackedMove(52 | 36 << 6)];
        let game = GameRecord {
            moves: e4e5,
            evals: vec![25, 29_999],
            result: GameResult::Draw,
            white_elo: 2450,
            black_elo: 2390,
            ..GameRecord::default()
        };
        chunk.push(&game);
        let found = inspect(&chunk, true).unwrap();
        assert_eq!((found.results, found.evaluated, found.mates), ([0, 1, 0, 0], 2, 1));
        assert_eq!(found.ratings, BTreeMap::from([(2200, 1)]));
        assert!(found.to_string().contains("every move replayed"));
        assert!(found.to_string().contains("openings    King's Pawn Game 1\n"), "{found}");

        chunk.push(&GameRecord { moves: vec![PackedMove(12 | 44 << 6)], ..game });
        assert!(inspect(&chunk, true).unwrap_err().to_string().starts_with("game 1: no legal move at ply 0"));
        assert!(inspect(&chunk, false).is_ok());
    }
}
