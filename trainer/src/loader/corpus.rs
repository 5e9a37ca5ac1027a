//! Games in memory: about two bytes a ply, four with evaluations.

use crate::samples::Replay;

/// A set of games that samples are drawn from.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    moves: Vec<u16>,
    /// As long as `moves`, or empty if no game has an evaluation.
    evals: Vec<i16>,
    games: Vec<Entry>,
    starts: Vec<String>,
    targets: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    first: u64,
    plies: u16,
    result: i8,
    puzzle: bool,
    /// Index into `starts` plus one; 0 is the initial position.
    start: u32,
}

/// Collects games into a [`Corpus`].
#[derive(Clone, Debug, Default)]
pub struct CorpusBuilder(Corpus);

impl CorpusBuilder {
    /// Adds a game; one without moves has nothing to teach and is left out.
    pub fn push(&mut self, game: &Replay<'_>) {
        let corpus = &mut self.0;
        let plies = game.moves.len().min(usize::from(u16::MAX));
        if plies == 0 {
            return;
        }
        let first = corpus.moves.len();
        corpus.moves.extend_from_slice(&game.moves[..plies]);
        let has_evals = game.evals.iter().any(|eval| *eval != i16::MIN);
        if has_evals || !corpus.evals.is_empty() {
            // Games before the first evaluated one, and moves without a score.
            corpus.evals.resize(first, i16::MIN);
            corpus.evals.extend(game.evals.iter().take(plies));
            corpus.evals.resize(first + plies, i16::MIN);
        }
        let start = game.start.map_or(0, |fen| {
            corpus.starts.push(fen.to_owned());
            corpus.starts.len() as u32
        });
        corpus.targets += game.targets();
        corpus.games.push(Entry {
            first: first as u64,
            plies: plies as u16,
            result: game.result,
            puzzle: game.puzzle,
            start,
        });
    }

    /// The finished corpus.
    pub fn build(mut self) -> Corpus {
        self.0.moves.shrink_to_fit();
        self.0.evals.shrink_to_fit();
        self.0.games.shrink_to_fit();
        self.0
    }
}

impl Corpus {
    /// Number of games.
    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// Number of positions that a sample can be taken of.
    pub fn positions(&self) -> usize {
        self.targets
    }

    /// One game.
    ///
    /// # Panics
    ///
    /// If there is no such game.
    pub fn game(&self, index: usize) -> Replay<'_> {
        let entry = self.games[index];
        let range = entry.first as usize..entry.first as usize + usize::from(entry.plies);
        Replay {
            start: (entry.start > 0).then(|| self.starts[entry.start as usize - 1].as_str()),
            moves: &self.moves[range.clone()],
            evals: self.evals.get(range).unwrap_or_default(),
            result: entry.result,
            puzzle: entry.puzzle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_come_back_as_they_went_in() {
        let plain = Replay { start: None, moves: &[1, 2, 3], evals: &[], result: 1, puzzle: false };
        let scored =
            Replay { start: Some("a fen"), moves: &[4, 5], evals: &[10, i16::MIN], result: -1, puzzle: true };
        let empty = Replay { start: None, moves: &[], evals: &[], result: 0, puzzle: false };
        let mut builder = CorpusBuilder::default();
        [plain, scored, empty, plain].iter().for_each(|game| builder.push(game));
        let corpus = builder.build();
        assert_eq!((corpus.games(), corpus.positions()), (3, 7), "a puzzle's second ply is no target");
        assert_eq!((corpus.game(1).start, corpus.game(1).evals), (Some("a fen"), &[10, i16::MIN][..]));
        assert_eq!(corpus.game(2).moves, &[1, 2, 3]);
        assert!(corpus.game(2).evals.iter().all(|eval| *eval == i16::MIN));
        assert_eq!((corpus.game(0).result, corpus.game(1).result), (1, -1));
    }
}
