//! Games in a temporary file: two bytes per ply, four with evaluations, plus about twenty per game. Memory holds only a
//! number per [`STEP`] positions.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::data::record::{self, GameView, INITIAL_FEN, NO_EVAL, SearchColumns};

/// Bytes before a record's start FEN: plies (2), result, flags, FEN length.
const HEAD: usize = 5;
const ENTRY: usize = 16;
/// Positions per entry of [`Corpus::steps`].
const STEP: u64 = 256;
const HAS_EVALS: u8 = 1;
const PUZZLE: u8 = 2;
/// After the evaluations come q, d and policy move count of every ply, then the moves with their shares.
const HAS_SEARCHES: u8 = 4;

#[derive(Debug)]
pub struct Corpus {
    records: File,
    /// Per game: record offset and number of preceding positions. Last: end offset and total positions.
    index: File,
    /// The game of every [`STEP`]-th position.
    steps: Vec<u64>,
    games: u64,
    positions: u64,
    digest: u64,
}

#[derive(Debug)]
pub struct CorpusBuilder {
    records: BufWriter<File>,
    index: BufWriter<File>,
    steps: Vec<u64>,
    end: u64,
    games: u64,
    positions: u64,
    digest: u64,
}

impl CorpusBuilder {
    /// Unnamed temporary files in `folder`, which vanish with the corpus.
    pub fn new(folder: &Path) -> io::Result<CorpusBuilder> {
        let file = || tempfile::tempfile_in(folder).map(|file| BufWriter::with_capacity(1 << 18, file));
        let (records, index, steps) = (file()?, file()?, Vec::new());
        Ok(CorpusBuilder { records, index, steps, end: 0, games: 0, positions: 0, digest: 0 })
    }

    pub fn games(&self) -> u64 {
        self.games
    }

    /// The number of target positions.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Leaves out games without targets.
    pub fn push(&mut self, game: &GameView<'_>) -> io::Result<()> {
        let moves = &game.moves[..game.moves.len().min(usize::from(u16::MAX))];
        if moves.is_empty() || game.targets() == 0 {
            return Ok(());
        }
        let has_evals = game.evals.len() >= moves.len() && game.evals.iter().any(|eval| *eval != NO_EVAL);
        let evals = if has_evals { &game.evals[..moves.len()] } else { &[] };
        let start = game.start.unwrap_or_default();
        let [low, high] = (moves.len() as u16).to_le_bytes();
        let searches = if game.searches.is_empty() { None } else { Some(game.searches) };
        let flags = if has_evals { HAS_EVALS } else { 0 }
            | if game.puzzle { PUZZLE } else { 0 }
            | if searches.is_some() { HAS_SEARCHES } else { 0 };
        let length = u8::try_from(start.len()).map_err(io::Error::other)?;
        self.index.write_all(&self.entry())?;
        self.records.write_all(&[low, high, game.result.cast_unsigned(), flags, length])?;
        self.records.write_all(start.as_bytes())?;
        let mut words: Vec<u16> = moves.to_vec();
        words.extend(evals.iter().map(|eval| eval.cast_unsigned()));
        if let Some(searches) = searches {
            for ply in 0..moves.len() {
                words.extend([
                    searches.q[ply].cast_unsigned(),
                    searches.d[ply],
                    u16::from(searches.len[ply]),
                ]);
            }
            (0..moves.len()).for_each(|ply| {
                words.extend(searches.shares(ply).flat_map(|(m, share)| [m, share]));
            });
        }
        for word in &words {
            self.records.write_all(&word.to_le_bytes())?;
        }
        self.end += (HEAD + start.len() + 2 * words.len()) as u64;
        self.positions += game.targets() as u64;
        self.steps.resize(self.positions.div_ceil(STEP) as usize, self.games);
        self.games += 1;
        let game = record::identity(game.start.unwrap_or(INITIAL_FEN), moves.iter().copied());
        let words = [self.digest, game, self.positions];
        self.digest = xxh3_64(words.map(u64::to_le_bytes).as_flattened());
        Ok(())
    }

    fn entry(&self) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&self.end.to_le_bytes());
        entry[8..].copy_from_slice(&self.positions.to_le_bytes());
        entry
    }

    pub fn build(mut self) -> io::Result<Corpus> {
        self.index.write_all(&self.entry())?;
        Ok(Corpus {
            steps: self.steps,
            records: self.records.into_inner().map_err(io::IntoInnerError::into_error)?,
            index: self.index.into_inner().map_err(io::IntoInnerError::into_error)?,
            games: self.games,
            positions: self.positions,
            digest: self.digest,
        })
    }
}

/// Reusable.
#[derive(Clone, Debug, Default)]
pub struct GameBuffer {
    bytes: Vec<u8>,
    moves: Vec<u16>,
    evals: Vec<i16>,
    searches: SearchColumns,
}

impl Corpus {
    pub fn games(&self) -> u64 {
        self.games
    }

    /// Target positions.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Hash of all games in order: starts, moves and numbers of positions.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Reads the game of target `position`, and returns the position's number among the game's targets. Panics if there
    /// is no such position.
    pub fn at<'a>(&self, position: u64, buffer: &'a mut GameBuffer) -> io::Result<(usize, GameView<'a>)> {
        assert!(position < self.positions, "position {position} of {}", self.positions);
        let step = (position / STEP) as usize;
        let first = self.steps[step];
        let last = self.steps.get(step + 1).copied().unwrap_or(self.games - 1);
        let entries = self.entries(first, last - first + 2, buffer)?;
        let next = entries.partition_point(|(_, before)| *before <= position);
        let [(offset, before), (end, _)] = entries[next - 1..][..2] else { unreachable!("two entries") };
        buffer.bytes.resize((end - offset) as usize, 0);
        read_at(&self.records, &mut buffer.bytes, offset)?;
        Ok(((position - before) as usize, buffer.decode()))
    }

    /// Record offsets and numbers of preceding positions, from entry `first` on.
    fn entries(&self, first: u64, count: u64, buffer: &mut GameBuffer) -> io::Result<Vec<(u64, u64)>> {
        buffer.bytes.resize(count as usize * ENTRY, 0);
        read_at(&self.index, &mut buffer.bytes, first * ENTRY as u64)?;
        let (numbers, _) = buffer.bytes.as_chunks::<8>();
        let pairs = numbers.as_chunks::<2>().0.iter();
        Ok(pairs.map(|[offset, before]| (u64::from_le_bytes(*offset), u64::from_le_bytes(*before))).collect())
    }
}

impl GameBuffer {
    fn decode(&mut self) -> GameView<'_> {
        let [low, high, result, flags, length, rest @ ..] = self.bytes.as_slice() else {
            unreachable!("a record has a head")
        };
        let (start, words) = rest.split_at(usize::from(*length));
        let plies = usize::from(u16::from_le_bytes([*low, *high]));
        let mut words = words.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
        self.moves.clear();
        self.moves.extend(words.by_ref().take(plies));
        self.evals.clear();
        let scored = if flags & HAS_EVALS != 0 { plies } else { 0 };
        self.evals.extend(words.by_ref().take(scored).map(u16::cast_signed));
        self.searches = SearchColumns::default();
        if flags & HAS_SEARCHES != 0 {
            let plies: Vec<u16> = words.by_ref().take(3 * plies).collect();
            for [q, d, len] in plies.as_chunks::<3>().0 {
                let mut shares = words.by_ref().take(2 * usize::from(*len));
                let pairs = std::iter::from_fn(|| Some((shares.next()?, shares.next()?)));
                self.searches.push(q.cast_signed(), *d, pairs);
            }
        }
        GameView {
            start: (!start.is_empty()).then(|| std::str::from_utf8(start).expect("it was a str")),
            moves: &self.moves,
            evals: &self.evals,
            result: result.cast_signed(),
            puzzle: flags & PUZZLE != 0,
            searches: self.searches.get(0..plies),
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (bytes, offset) = (&mut bytes[read..], offset + read as u64),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_read_back_as_they_were_added() {
        let plain = GameView { moves: &[1, 2, 3], result: 1, ..GameView::default() };
        let scored = GameView {
            start: Some("a fen"),
            moves: &[4, 5],
            evals: &[10, NO_EVAL],
            result: -1,
            puzzle: true,
            ..plain
        };
        let unscored = GameView { evals: &[NO_EVAL; 3], ..plain };
        let empty = GameView { moves: &[], ..plain };
        let mut columns = SearchColumns::default();
        columns.push(-5, 7, [(1, 40_000), (9, 25_535)].into_iter());
        columns.pad(2);
        columns.push(3, 60_000, [(3, 65_535)].into_iter());
        let searched = GameView { searches: columns.get(0..3), evals: &[1, 2, 3], ..plain };
        let mut nothing = SearchColumns::default();
        nothing.pad(3);
        let unrecorded = GameView { searches: nothing.get(0..3), ..plain };
        let folder = tempfile::tempdir().unwrap();
        let mut builder = CorpusBuilder::new(folder.path()).unwrap();
        [plain, scored, empty, unscored, searched, unrecorded]
            .iter()
            .for_each(|game| builder.push(game).unwrap());
        let corpus = builder.build().unwrap();
        let counts = (corpus.games(), corpus.positions());
        assert_eq!(counts, (4, 9), "neither a puzzle's second ply nor one without a policy is a target");
        let mut record = GameBuffer::default();
        for _ in 0..2 {
            assert_eq!(corpus.at(3, &mut record).unwrap(), (0, scored));
            assert_eq!(corpus.at(2, &mut record).unwrap(), (2, plain));
            assert_eq!(corpus.at(8, &mut record).unwrap(), (1, searched));
            assert_eq!(corpus.at(4, &mut record).unwrap(), (0, plain), "a game without evaluations has none");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the files have no name");
    }

    #[test]
    fn every_position_is_found_in_long_and_in_short_games() {
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        let lengths = [1, 300, 2, 255, 1, 1, 600].into_iter().chain([1; 700]);
        let games: Vec<Vec<u16>> = (0..).zip(lengths).map(|(number, plies)| vec![number; plies]).collect();
        games.iter().for_each(|moves| builder.push(&GameView { moves, ..GameView::default() }).unwrap());
        let corpus = builder.build().unwrap();
        let all = games.iter().flat_map(|moves| (0..moves.len()).map(move |target| (target, moves)));
        let mut record = GameBuffer::default();
        for (position, (target, moves)) in (0..).zip(all) {
            let (found, game) = corpus.at(position, &mut record).unwrap();
            assert_eq!((found, game.moves), (target, &moves[..]), "position {position}");
        }
    }
}
