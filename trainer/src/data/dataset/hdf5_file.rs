use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use engine::base::interrupt;
use hdf5::filters::Filter;
use hdf5::{File, Group, H5Type};
use tempfile::{NamedTempFile, TempPath};
use thiserror::Error;

use super::VERSION;
use super::chunk::Chunk;
use crate::base::files;
use crate::base::files::STANDARD_INPUT;
use crate::base::hdf5_read::{StoredFen, StoredText, TEXT, cause, get, text_attribute, texts, unlocked};
use crate::base::lock::InUse;
use crate::base::stream::Stream;
use crate::data::record::{FORMAT, SearchColumns};

/// Entries per compressed block, the unit of decompression.
const BLOCK: usize = 1 << 16;

/// Best compression: files are written once and read often.
const DEFLATE: u8 = 9;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChunkError {
    #[error("{}: there is no such file", .0.display())]
    Missing(PathBuf),
    #[error("{}: {}, not a file of games: `philidor-trainer import` makes one of PGN", .0.display(), .1)]
    NotHdf5(PathBuf, &'static str),
    /// Truncated or unreadable.
    #[error("{}: cannot be read, damaged or truncated: {}", .0.display(), .1)]
    Unreadable(PathBuf, String),
    /// HDF5, but not `games/1` or of an unknown version.
    #[error("{}: not games/1: {}", .0.display(), .1)]
    Foreign(PathBuf, String),
    /// `games/1` with inconsistent contents.
    #[error("{}: damaged: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    #[error("{}: cannot be written: {}", .0.display(), .1)]
    Unwritable(PathBuf, String),
    #[error("{0}")]
    InUse(InUse),
}

/// Writes under a temporary name and renames. A failure leaves `path` unchanged.
pub fn write(chunk: &Chunk, path: &Path) -> Result<(), ChunkError> {
    let unwritable = |error: &dyn Display| ChunkError::Unwritable(path.to_owned(), cause(error));
    let file = files::temporary(path).map_err(|error| unwritable(&error))?;
    write_file(chunk, file.path()).map_err(|error| unwritable(&error))?;
    // On a full disk HDF5 can lose data without an error, so the file is read back.
    let mut written =
        read(file.path()).map_err(|_| unwritable(&"it cannot be read back, is the disk full?"))?;
    written.source.clone_from(&chunk.source);
    if written != *chunk {
        return Err(unwritable(&"what was read back differs, is the disk full?"));
    }
    files::persist(file, path).map_err(|error| unwritable(&error))
}

fn write_file(chunk: &Chunk, path: &Path) -> hdf5::Result<()> {
    // HDF5 1.10's format has checksums for its structures too. Times are left out, so that equal games make equal
    // files.
    let mut options = File::with_options();
    options.with_fapl(|access| unlocked(access).libver_v110());
    let file = options.with_fcpl(|creation| creation.obj_track_times(false)).create(path)?;
    let new_group = |name: &str| file.create_group_builder().obj_track_times(false).create(name);
    let text = |name: &str, value: &str| -> hdf5::Result<()> {
        let value = StoredText::from_str(&value[..value.floor_char_boundary(TEXT)]);
        let value = value.map_err(|_| hdf5::Error::from(format!("{name} holds a NUL character")))?;
        file.new_attr::<StoredText>().create(name)?.write_scalar(&value)
    };
    text("format", FORMAT)?;
    text("source", &chunk.source)?;
    file.new_attr::<u32>().create("version")?.write_scalar(&VERSION)?;
    file.new_attr::<u64>().create("positions")?.write_scalar(&(chunk.positions() as u64))?;
    file.new_attr::<u64>().create("games")?.write_scalar(&(chunk.games() as u64))?;

    let games = new_group("games")?;
    put(&games, "first_ply", &chunk.first_ply)?;
    put(&games, "plies", &chunk.plies)?;
    put(&games, "result", &chunk.result)?;
    put(&games, "white_elo", &chunk.white_elo)?;
    put(&games, "black_elo", &chunk.black_elo)?;
    put(&games, "date", &chunk.date)?;
    put(&games, "flags", &chunk.flags)?;
    put(&games, "start", &chunk.start)?;
    let starts: Vec<StoredFen> = chunk
        .starts
        .iter()
        .map(|fen| {
            StoredFen::from_ascii(fen.as_bytes()).map_err(|error| hdf5::Error::from(error.to_string()))
        })
        .collect::<Result<_, _>>()?;
    put(&file, "starts", &starts)?;
    let plies = new_group("plies")?;
    put(&plies, "move", &chunk.moves)?;
    put(&plies, "eval", &chunk.evals)?;
    let searches = &chunk.searches;
    if !searches.q.is_empty() {
        put(&plies, "q", &searches.q)?;
        put(&plies, "d", &searches.d)?;
        let policy = new_group("policy")?;
        put(&policy, "first", &searches.first)?;
        put(&policy, "len", &searches.len)?;
        put(&policy, "move", &searches.moves)?;
        put(&policy, "share", &searches.shares)?;
        if !searches.scores.is_empty() {
            put(&policy, "eval", &searches.scores)?;
        }
    }
    file.flush()?;
    file.close()
}

/// An open file, and the temporary copy that it is read from, which is removed after it is closed.
struct Opened {
    file: File,
    _copy: Option<TempPath>,
}

/// HDF5 reads in any order, so standard input (`-`) and pipes are copied into a temporary file first.
fn open(path: &Path) -> Result<Opened, ChunkError> {
    let unreadable = |error: &dyn Display| ChunkError::Unreadable(path.to_owned(), cause(error));
    let hdf5 = |path: &Path| File::with_options().with_fapl(unlocked).open(path);
    let is_stdin = path == Path::new(STANDARD_INPUT);
    if !is_stdin && path.metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Err(ChunkError::Missing(path.to_owned()));
    }
    if path.is_dir() {
        return Err(ChunkError::NotHdf5(path.to_owned(), "a folder"));
    }
    let is_pipe = path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    if !is_stdin && !is_pipe {
        if !has_signature(path) {
            return Err(ChunkError::NotHdf5(path.to_owned(), "a file of another kind"));
        }
        return Ok(Opened { file: hdf5(path).map_err(|error| unreadable(&error))?, _copy: None });
    }
    let copied = || -> io::Result<TempPath> {
        let mut copy = NamedTempFile::new()?;
        io::copy(&mut Stream::open(path, &interrupt::has_come), &mut copy)?;
        Ok(copy.into_temp_path())
    };
    let copy = copied().map_err(|error| unreadable(&error))?;
    Ok(Opened { file: hdf5(&copy).map_err(|error| unreadable(&error))?, _copy: Some(copy) })
}

/// Whether the file begins as HDF5 does; true if it cannot be read.
fn has_signature(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(8).read_to_end(&mut head));
    read.is_err() || head == b"\x89HDF\r\n\x1a\n"
}

fn put<T: H5Type>(group: &Group, name: &str, data: &[T]) -> hdf5::Result<()> {
    let builder = group.new_dataset_builder().obj_track_times(false);
    if data.is_empty() {
        // HDF5 has no empty chunks.
        return builder.empty::<T>().shape(0).create(name).map(drop);
    }
    let block = data.len().min(BLOCK);
    let dataset =
        builder.chunk(block).shuffle().deflate(DEFLATE).fletcher32().with_data(data).create(name)?;
    // The destructor would flush too, but ignore errors.
    dataset.flush()
}

/// Checks checksums, lengths and ranges, but does not replay moves.
pub fn read(path: &Path) -> Result<Chunk, ChunkError> {
    read_chunk(&open(path)?.file, path)
}

/// Like [`read`], with how the datasets are stored.
pub fn read_described(path: &Path) -> Result<(Chunk, Vec<DatasetLayout>), ChunkError> {
    let opened = open(path)?;
    Ok((read_chunk(&opened.file, path)?, layouts(&opened.file, path)?))
}

fn read_chunk(file: &File, path: &Path) -> Result<Chunk, ChunkError> {
    let unreadable = |error: hdf5::Error| ChunkError::Unreadable(path.to_owned(), cause(&error));
    let foreign = |why: String| ChunkError::Foreign(path.to_owned(), why);
    let text =
        |name: &str| text_attribute(file, name).map_err(|_| foreign(format!("no attribute \"{name}\"")));
    let format = text("format")?;
    if format != FORMAT {
        return Err(foreign(format!("format is \"{format}\", expected \"{FORMAT}\"")));
    }
    let number = |name: &str| {
        let value = file.attr(name).and_then(|attr| attr.read_scalar::<u64>());
        value.map_err(|_| foreign(format!("no attribute \"{name}\"")))
    };
    let version = number("version")?;
    if version != u64::from(VERSION) {
        return Err(foreign(format!("version is {version}, this program reads {VERSION}")));
    }
    let chunk = read_columns(file, &text("source")?).map_err(unreadable)?;
    let damaged = |why: String| ChunkError::Damaged(path.to_owned(), why);
    chunk.check().map_err(|error| damaged(error.to_string()))?;
    let (games, positions) = (number("games")?, number("positions")?);
    if (games, positions) != (chunk.games() as u64, chunk.positions() as u64) {
        let found = format!("{} games, {} positions", chunk.games(), chunk.positions());
        return Err(damaged(format!("{found}, but the attributes name {games} and {positions}")));
    }
    Ok(chunk)
}

/// Like [`read`], but replays every game: other programs may write illegal moves.
pub fn read_replayed(path: &Path) -> Result<Chunk, ChunkError> {
    let chunk = read(path)?;
    for index in 0..chunk.games() {
        let damaged = |error| ChunkError::Damaged(path.to_owned(), format!("game {index}: {error}"));
        chunk.replay(index).check_moves().map_err(damaged)?;
    }
    Ok(chunk)
}

fn read_columns(file: &File, source: &str) -> hdf5::Result<Chunk> {
    Ok(Chunk {
        source: source.to_owned(),
        first_ply: get(file, "games/first_ply")?,
        plies: get(file, "games/plies")?,
        result: get(file, "games/result")?,
        white_elo: get(file, "games/white_elo")?,
        black_elo: get(file, "games/black_elo")?,
        date: get(file, "games/date")?,
        flags: get(file, "games/flags")?,
        start: get(file, "games/start")?,
        starts: texts(&file.dataset("starts")?, None)?,
        moves: get(file, "plies/move")?,
        evals: get(file, "plies/eval")?,
        searches: read_searches(file)?,
    })
}

fn read_searches(file: &File) -> hdf5::Result<SearchColumns> {
    if !file.link_exists("policy") {
        return Ok(SearchColumns::default());
    }
    Ok(SearchColumns {
        q: get(file, "plies/q")?,
        d: get(file, "plies/d")?,
        first: get(file, "policy/first")?,
        len: get(file, "policy/len")?,
        moves: get(file, "policy/move")?,
        shares: get(file, "policy/share")?,
        scores: if file.link_exists(SCORES) { get(file, SCORES)? } else { Vec::new() },
    })
}

pub(super) const SEARCH_DATASETS: [&str; 6] =
    ["plies/q", "plies/d", "policy/first", "policy/len", "policy/move", "policy/share"];

/// Only in files with an engine's scores of its best moves.
pub(super) const SCORES: &str = "policy/eval";

/// In the order of [`Chunk`]'s columns.
pub(super) const DATASETS: [&str; 11] = [
    "games/first_ply",
    "games/plies",
    "games/result",
    "games/white_elo",
    "games/black_elo",
    "games/date",
    "games/flags",
    "games/start",
    "starts",
    "plies/move",
    "plies/eval",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetLayout {
    pub name: &'static str,
    pub kind: String,
    pub shape: Vec<usize>,
    /// Whether the bytes have checksums.
    pub checksums: bool,
}

/// Fails if a dataset is missing.
fn layouts(file: &File, path: &Path) -> Result<Vec<DatasetLayout>, ChunkError> {
    let described = || {
        let more: &[&'static str] = if file.link_exists("policy") { &SEARCH_DATASETS } else { &[] };
        let scores: &[&'static str] = if file.link_exists(SCORES) { &[SCORES] } else { &[] };
        let layouts = DATASETS.iter().chain(more).chain(scores).map(|name| {
            let dataset = file.dataset(name)?;
            Ok(DatasetLayout {
                name,
                kind: dataset.dtype()?.to_descriptor()?.to_string(),
                shape: dataset.shape(),
                checksums: dataset.filters().contains(&Filter::Fletcher32),
            })
        });
        layouts.collect::<hdf5::Result<_>>()
    };
    described().map_err(|error| ChunkError::Unreadable(path.to_owned(), cause(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::{FLAG_CHESS960, FLAG_SELF_PLAY, GameRecord, GameResult, SearchRecord};
    use engine::chess::position::PackedMove;
    use hdf5::types::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};

    fn chunk() -> Chunk {
        let mut chunk = Chunk::new("a test");
        let e4 = PackedMove(12 | 28 << 6);
        chunk.push(&GameRecord {
            moves: vec![e4, PackedMove(52 | 36 << 6)],
            evals: vec![30, i16::MIN],
            result: GameResult::White,
            white_elo: 2700,
            date: 20_240_131,
            ..GameRecord::default()
        });
        chunk.push(&GameRecord {
            start: Some("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1".into()),
            moves: vec![e4],
            result: GameResult::Draw,
            flags: FLAG_CHESS960,
            ..GameRecord::default()
        });
        chunk
    }

    #[test]
    fn a_file_that_another_process_has_locked_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        write(&chunk(), &path).unwrap();
        let held = std::fs::File::open(&path).unwrap();
        held.lock().unwrap();
        assert_eq!(read(&path).unwrap(), chunk());
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        write(&chunk(), &path).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back, chunk());
        assert_eq!(back.game(1), chunk().game(1));
        assert_eq!(back.game(0).evals, [30, i16::MIN]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left behind");
        write(&Chunk::new("nothing"), &path).unwrap();
        assert_eq!(read(&path).unwrap().games(), 0);
    }

    #[test]
    fn texts_of_variable_length_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        let same = |path: &Path| assert_eq!(read(path).unwrap(), chunk());
        fn rewrite<T: H5Type>(path: &Path, text: fn(&str) -> T) {
            write(&chunk(), path).unwrap();
            let file = File::open_rw(path).unwrap();
            for (name, value) in [("format", FORMAT), ("source", "a test")] {
                file.delete_attr(name).unwrap();
                file.new_attr::<T>().create(name).unwrap().write_scalar(&text(value)).unwrap();
            }
            // As h5py writes Python's numbers.
            for (name, value) in [("version", i64::from(VERSION)), ("games", 2), ("positions", 3)] {
                file.delete_attr(name).unwrap();
                file.new_attr::<i64>().create(name).unwrap().write_scalar(&value).unwrap();
            }
            file.unlink("starts").unwrap();
            let starts: Vec<T> = chunk().starts.iter().map(|fen| text(fen)).collect();
            file.new_dataset_builder().with_data(&starts).create("starts").unwrap();
        }
        rewrite(&path, |text| text.parse::<VarLenUnicode>().unwrap());
        same(&path);
        rewrite(&path, |text| VarLenAscii::from_ascii(text).unwrap());
        same(&path);
        rewrite(&path, |text| text.parse::<FixedUnicode<100>>().unwrap());
        same(&path);
        rewrite(&path, |text| FixedAscii::<100>::from_ascii(text).unwrap());
        same(&path);
    }

    #[test]
    fn equal_games_make_equal_files_whenever_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        write(&chunk(), &path).unwrap();
        // In object headers of version 2, bit 5 of the flags says that times are stored.
        let bytes = std::fs::read(&path).unwrap();
        let headers: Vec<&[u8]> = bytes.windows(6).filter(|header| header.starts_with(b"OHDR\x02")).collect();
        assert!(headers.len() > DATASETS.len(), "{} objects", headers.len());
        assert!(headers.iter().all(|header| header[5] & 0x20 == 0), "{headers:?}");
    }

    #[test]
    fn searches_of_self_play_are_written_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        let mut both = chunk();
        let moves = both.game(0).moves;
        let learnt = SearchRecord::new(0.3, 0.4, [(moves[0], 0.75), (PackedMove(11 | 27 << 6), 0.25)]);
        let searches = vec![learnt, SearchRecord::new(-0.5, 0.0, [])];
        let game = GameRecord { searches, flags: FLAG_SELF_PLAY, ..both.game(0) };
        both.push(&game);
        both.push(&chunk().game(1));
        write(&both, &path).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back, both);
        assert_eq!((back.game(2), back.game(2).searches.len()), (game.clone(), 2));
        assert!(back.game(0).searches.is_empty() && back.replay(3).searches.is_empty());
        let labelled = GameRecord { flags: 0, ..game };
        let mut chunk = both.clone();
        chunk.push(&labelled);
        write(&chunk, &path).unwrap();
        let back = read(&path).unwrap();
        assert_eq!((back.game(4), back.replay(4).targets()), (labelled, 1));
        write(&both, &path).unwrap();
        let names: Vec<&str> = read_described(&path).unwrap().1.iter().map(|layout| layout.name).collect();
        assert_eq!(names[11..], SEARCH_DATASETS);
        let judged =
            SearchRecord::scored(0.3, 0.4, [(moves[0], 1.0, 25), (PackedMove(11 | 27 << 6), 0.0, -310)]);
        let mut chunk = both.clone();
        chunk.push(&GameRecord { searches: vec![judged, SearchRecord::default()], ..both.game(0) });
        write(&chunk, &path).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(
            (back.game(2), back.game(4).searches[0].scores.as_slice()),
            (both.game(2), &[25, -310][..])
        );
        assert_eq!((&back, read_described(&path).unwrap().1.last().unwrap().name), (&chunk, SCORES));
        chunk.searches.scores[0] = 31_000;
        assert_eq!(chunk.check().unwrap_err().to_string(), "entry 0 of policy/eval is 31000");
        let mut bad = both.clone();
        bad.searches.len[3] = 1;
        let error = bad.check().unwrap_err().to_string();
        assert!(error.starts_with("the policy of ply 4 starts at 2"), "{error}");
    }

    #[test]
    fn illegal_moves_are_found_when_games_are_replayed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        write(&chunk(), &path).unwrap();
        assert_eq!(read_replayed(&path), Ok(chunk()));
        let error = |game: GameRecord| {
            let mut bad = chunk();
            bad.push(&game);
            write(&bad, &path).unwrap();
            assert!(read(&path).is_ok(), "the checksums are valid");
            read_replayed(&path).unwrap_err().to_string()
        };
        let (first, illegal) = (chunk().game(0), PackedMove(12 | 60 << 6));
        let played = error(GameRecord { moves: vec![first.moves[0], illegal], ..first.clone() });
        assert!(played.ends_with("games.h5: damaged: game 2: no legal move at ply 1"), "{played}");
        let searches = vec![SearchRecord::new(0.0, 0.5, [(illegal, 1.0)]), SearchRecord::default()];
        let searched = error(GameRecord { searches, flags: FLAG_SELF_PLAY, ..first });
        assert!(searched.ends_with("games.h5: damaged: game 2: no legal move at ply 0"), "{searched}");
    }

    #[test]
    fn truncated_and_foreign_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        write(&chunk(), &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, ChunkError::Unreadable(..)), "{error}");
        assert!(error.to_string().contains("games.h5"));
        std::fs::write(&path, "[Event \"a PGN\"]").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.ends_with("games.h5: a file of another kind, not a file of games: `philidor-trainer import` makes one of PGN"));
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(": a folder, not a file of games"), "{error}");
        drop(File::create(&path).unwrap());
        assert!(matches!(read(&path), Err(ChunkError::Foreign(..))));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read(&path), Err(ChunkError::Missing(_))));
    }

    fn many(path: &Path) -> Vec<u8> {
        let mut many = Chunk::new("many");
        let game = chunk().game(0);
        (0..500u16)
            .for_each(|elo| many.push(&GameRecord { white_elo: elo.wrapping_mul(7919), ..game.clone() }));
        write(&many, path).unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn flipped_bits_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        let bytes = many(&path);
        let sound = read(&path).unwrap();
        let mut found = 0;
        for at in (0..bytes.len()).step_by(11) {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (at % 8);
            std::fs::write(&path, bad).unwrap();
            match read(&path) {
                // Some bytes of a file have no meaning.
                Ok(chunk) => assert_eq!(chunk, sound, "byte {at} of {}", bytes.len()),
                Err(error) => {
                    assert!(error.to_string().contains("games.h5"));
                    found += 1;
                }
            }
        }
        assert!(found > bytes.len() / 11 / 4, "{found} in {} bytes", bytes.len());
    }

    #[test]
    fn a_truncated_file_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        let bytes = many(&path);
        for length in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(read(&path).is_err(), "{length} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn another_version_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        write(&chunk(), &path).unwrap();
        let file = File::open_rw(&path).unwrap();
        file.attr("version").unwrap().write_scalar(&2u32).unwrap();
        file.close().unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("version is 2, this program reads 1"), "{error}");
    }

    #[test]
    fn inconsistent_columns_are_reported() {
        let check = |chunk: &Chunk| chunk.check().map_err(|error| error.to_string());
        let mut bad = chunk();
        bad.plies[0] = 7;
        assert!(check(&bad).unwrap_err().contains("game 1 starts at ply 2, expected 7"));
        let mut bad = chunk();
        bad.result[1] = 5;
        assert_eq!(check(&bad), Err("game 1 has result 5".into()));
        let mut bad = chunk();
        bad.start[1] = 9;
        assert!(check(&bad).is_err());
        let mut bad = chunk();
        bad.evals[1] = 29_000;
        assert_eq!(check(&bad), Ok(()));
        bad.evals[1] = 29_001;
        assert_eq!(check(&bad), Ok(()));
        bad.evals[1] = -30_001;
        assert_eq!(check(&bad), Err("ply 1 has evaluation -30001".into()));
        let mut bad = chunk();
        bad.date[0] = 20_241_301;
        assert_eq!(check(&bad), Err("game 0 has date 20241301".into()));
    }
}
