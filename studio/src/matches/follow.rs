//! Matches of fastchess, cutechess or our arena, followed through the PGN that they write.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use engine::apps::matches::MatchResults;
use engine::chess::pgn::{PgnGame, last_game_start, read_games};
use serde::Serialize;
use tokio::sync::watch;

use super::standing::Standing;
use super::view::FinishedGame;
use crate::boards::{Boards, LiveBoard};
use crate::play::{PlayedGame, Winner, recorded_result};

const POLL_INTERVAL: Duration = Duration::from_secs(1);

const SHOWN_GAMES: usize = 20;
const SHOWN_BOARDS: usize = 4;

/// In bytes, per read.
const LARGEST_READ: u64 = 64 << 20;

#[derive(Clone, Debug, Serialize)]
pub struct FollowedPairing {
    /// The player whose score is counted.
    pub first: String,
    pub second: String,
    pub standing: Standing,
}

#[derive(Clone, Debug, Serialize)]
pub struct FollowedView {
    pub name: String,
    pub games: usize,
    pub broken: usize,
    pub pairings: Vec<FollowedPairing>,
    /// Board names: the unfinished game, then the last ones.
    pub boards: Vec<String>,
    pub finished: Vec<FinishedGame>,
    /// Time of the last change, in seconds since 1970.
    pub modified_s: Option<u64>,
    /// Why nothing can be read, and what to do.
    pub problem: Option<String>,
}

/// Half-points of the games between two players, by round.
type Rounds = BTreeMap<String, Vec<u8>>;

#[derive(Debug, Default)]
struct PgnFollower {
    path: PathBuf,
    /// Bytes read, up to the end of a finished game.
    read: u64,
    length: u64,
    modified: Option<SystemTime>,
    games: usize,
    broken: usize,
    pairings: BTreeMap<(String, String), Rounds>,
    finished: Vec<FinishedGame>,
    boards: Vec<LiveBoard>,
    problem: Option<String>,
}

impl PgnFollower {
    fn new(path: PathBuf) -> PgnFollower {
        PgnFollower { path, ..PgnFollower::default() }
    }

    fn poll(&mut self) -> bool {
        match self.read_new() {
            Ok(changed) => self.problem.take().is_some() || changed,
            Err(error) => {
                let problem = Some(match error.kind() {
                    io::ErrorKind::NotFound => {
                        format!("There is no {} yet: it appears with the first game.", self.path.display())
                    }
                    _ => format!("{} cannot be read: {error}.", self.path.display()),
                });
                let changed = problem != self.problem;
                self.problem = problem;
                changed
            }
        }
    }

    fn read_new(&mut self) -> io::Result<bool> {
        let mut file = File::open(&self.path)?;
        let metadata = file.metadata()?;
        let (length, modified) = (metadata.len(), metadata.modified().ok());
        if length == self.length && modified == self.modified {
            return Ok(false);
        }
        if length < self.read {
            *self = PgnFollower::new(std::mem::take(&mut self.path));
        }
        (self.length, self.modified) = (length, modified);
        file.seek(SeekFrom::Start(self.read))?;
        let mut text = Vec::new();
        file.take(LARGEST_READ).read_to_end(&mut text)?;
        // The last game may be half written.
        let last = last_game_start(&text).unwrap_or(0);
        self.take(&text[..last]);
        let (games, _) = read_games(&text[last..]);
        let ends_cleanly = text.ends_with(b"\n");
        self.boards.retain(|board| board.end.is_some());
        match games.last() {
            Some((_, game)) if game.result.is_some() && ends_cleanly => {
                self.take(&text[last..]);
                self.read += text.len() as u64;
            }
            Some((_, game)) => {
                self.boards.extend(board_of(game));
                self.read += last as u64;
            }
            None => self.read += last as u64,
        }
        Ok(true)
    }

    fn take(&mut self, text: &[u8]) {
        if text.trim_ascii().is_empty() {
            return;
        }
        let (games, broken) = read_games(text);
        self.broken += broken.len();
        for (_, game) in &games {
            self.add(game);
        }
    }

    fn add(&mut self, game: &PgnGame) {
        let name = |tag| game.tag(tag).unwrap_or_else(|| "?".to_owned());
        let (white, black) = (name("White"), name("Black"));
        let Some(end) = recorded_result(game) else { return };
        let number = self.games;
        self.games += 1;
        // The first player is the one who had White first.
        let is_known = self.pairings.contains_key(&(black.clone(), white.clone()));
        let (key, first_is_white) = match is_known {
            true => ((black.clone(), white.clone()), false),
            false => ((white.clone(), black.clone()), true),
        };
        let halves = match (end.winner, first_is_white) {
            (Winner::Draw, _) => 1,
            (Winner::White, true) | (Winner::Black, false) => 2,
            _ => 0,
        };
        let start = || game.tag("FEN").unwrap_or_default();
        let round = game.tag("Round").filter(|round| round != "-").unwrap_or_else(start);
        self.pairings.entry(key).or_default().entry(round).or_default().push(halves);
        let board = board_of(game);
        let opening = board.as_ref().map(|board| board.title.clone()).unwrap_or_default();
        self.finished.push(FinishedGame {
            number,
            white,
            black,
            opening,
            result: end.result().to_owned(),
            text: end.sentence(),
            plies: game.moves().len(),
        });
        self.boards.extend(board.map(|board| LiveBoard { end: Some(end.sentence()), ..board }));
        let surplus = self.finished.len().saturating_sub(SHOWN_GAMES);
        self.finished.drain(..surplus);
        let surplus = self.boards.len().saturating_sub(SHOWN_BOARDS);
        self.boards.drain(..surplus);
    }

    fn view(&self, number: usize) -> FollowedView {
        let pairing = |((first, second), rounds): (&(String, String), &Rounds)| FollowedPairing {
            first: first.clone(),
            second: second.clone(),
            standing: Standing::of(&results(rounds), None),
        };
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        let since = |time: SystemTime| Some(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs());
        FollowedView {
            name: name.to_string_lossy().into_owned(),
            games: self.games,
            broken: self.broken,
            pairings: self.pairings.iter().map(pairing).collect(),
            boards: (0..self.boards.len()).map(|board| format!("followed/{number}/{board}")).collect(),
            finished: self.finished.clone(),
            modified_s: self.modified.and_then(since),
            problem: self.problem.clone(),
        }
    }
}

/// Games of a round form pairs in their order: they share an opening, with colours reversed.
fn results(rounds: &Rounds) -> MatchResults {
    let mut results = MatchResults::default();
    for games in rounds.values() {
        for pair in games.chunks(2) {
            match pair {
                [first, second] => results.add_pair([*first, *second]),
                single => single.iter().for_each(|halves| results.add_single(*halves)),
            }
        }
    }
    results
}

fn board_of(game: &PgnGame) -> Option<LiveBoard> {
    let start = game.tag("FEN").is_some().then(|| game.start().fen());
    let mut played = PlayedGame::new(start).ok()?;
    game.moves().into_iter().try_for_each(|m| played.play(m)).ok()?;
    let name = |tag| game.tag(tag).unwrap_or_else(|| "?".to_owned());
    let last = played.moves().last();
    let title = played.opening().map_or_else(String::new, |opening| opening.name.clone());
    Some(LiveBoard {
        white: name("White"),
        black: name("Black"),
        title,
        fen: played.game().fen(),
        last: last.map(|m| m.uci.clone()),
        san: last.map(|m| m.san.clone()),
        check: last.is_some_and(|m| m.check),
        ply: played.ply(),
        left_ms: None,
        end: None,
    })
}

#[derive(Clone, Debug)]
pub struct FollowedMatches {
    pub list: watch::Receiver<Arc<str>>,
}

impl FollowedMatches {
    /// The files need not exist yet.
    pub fn start(files: Vec<PathBuf>, boards: Boards) -> FollowedMatches {
        let (out, list) = watch::channel(Arc::from("[]"));
        let mut followers: Vec<PgnFollower> = files.into_iter().map(PgnFollower::new).collect();
        if !followers.is_empty() {
            tokio::spawn(async move {
                while !out.is_closed() {
                    let read = move || {
                        let changed = followers.iter_mut().fold(false, |changed, file| file.poll() | changed);
                        (followers, changed)
                    };
                    let Ok((read, changed)) = tokio::task::spawn_blocking(read).await else { return };
                    followers = read;
                    if changed {
                        publish(&followers, &boards, &out);
                    }
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            });
        }
        FollowedMatches { list }
    }
}

fn publish(followers: &[PgnFollower], boards: &Boards, out: &watch::Sender<Arc<str>>) {
    let views: Vec<FollowedView> = followers.iter().enumerate().map(|(n, file)| file.view(n)).collect();
    for (view, file) in views.iter().zip(followers) {
        let named: Vec<_> = view.boards.iter().cloned().zip(file.boards.iter().cloned()).collect();
        for (name, board) in &named {
            boards.set(name, board);
        }
    }
    out.send_replace(serde_json::to_string(&views).expect("views can be written as JSON").into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn game(white: &str, black: &str, round: &str, moves: &str) -> String {
        let result = moves.rsplit(' ').next().unwrap();
        format!(
            "[Event \"x\"]\n[Round \"{round}\"]\n[White \"{white}\"]\n[Black \"{black}\"]\n[Result \"{result}\"]\n\n{moves}\n\n"
        )
    }

    #[test]
    fn a_file_is_followed_while_it_grows_and_its_last_game_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.pgn");
        let mut follower = PgnFollower::new(path.clone());
        assert!(follower.poll() && follower.view(0).problem.unwrap().contains("no "));
        let append = |text: &str| {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        append(&game("A", "B", "1", "1. f3 e5 2. g4 Qh4# 0-1"));
        append(
            "[Event \"x\"]\n[Round \"1\"]\n[White \"B\"]\n[Black \"A\"]\n[Result \"*\"]\n\n1. e4 {+0.2/5} e5",
        );
        assert!(follower.poll());
        let view = follower.view(0);
        assert_eq!((view.games, view.boards.len(), view.problem), (1, 2, None));
        assert_eq!((follower.boards[1].ply, follower.boards[1].end.is_none()), (2, true));
        append(" 2. Nf3 Nc6 1/2-1/2\n\n");
        assert!(follower.poll());
        append(&game("A", "B", "2", "1. d4 Ke3 1-0"));
        append(&game("B", "A", "2", "1. d4 d5 0-1"));
        assert!(follower.poll());
        let view = follower.view(0);
        assert_eq!((view.games, view.broken, view.pairings.len()), (3, 1, 1));
        let standing = &view.pairings[0].standing;
        // A lost, drew and won. The game with the illegal move is skipped, so its partner counts as single.
        assert_eq!((standing.games, standing.pairs), ([1, 1, 1], [0, 1, 0, 0, 0]));
        assert_eq!(view.pairings[0].first, "A");
        assert!(!follower.poll(), "nothing has changed");
        std::fs::write(&path, game("A", "B", "1", "1. e4 1-0")).unwrap();
        assert!(follower.poll());
        assert_eq!(follower.view(0).games, 1, "a file that begins anew is read anew");
    }
}
