use std::hash::{BuildHasher, Hasher};
use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use shakmaty::Move;

use super::{Answer, EvalError, Evaluator, Request};
use crate::chess::position::PackedMove;
use crate::nets::encoding::Input;

const ENTRY_OVERHEAD: usize = 96;

/// Shared by all workers, bounded in bytes. The key covers the encoder's input, the side to move and the requested
/// moves, so a hit equals the evaluator's answer.
pub struct EvalCache {
    answers: Cache<u64, Arc<Answer>, Bytes, Identity>,
    hits: AtomicU64,
}

impl EvalCache {
    /// `memory` is in bytes.
    pub fn new(memory: usize) -> EvalCache {
        let likely = memory / (size_of::<Answer>() + ENTRY_OVERHEAD + 35 * size_of::<f32>());
        EvalCache {
            answers: Cache::with(
                likely.max(1),
                memory as u64,
                Bytes,
                Identity::default(),
                quick_cache::sync::DefaultLifecycle::default(),
            ),
            hits: AtomicU64::new(0),
        }
    }

    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    pub fn clear(&self) {
        self.answers.clear();
        self.hits.store(0, Ordering::Relaxed);
    }
}

pub struct CachedEvaluator<E> {
    inner: E,
    input: Input,
    cache: Arc<EvalCache>,
}

impl<E: Evaluator> CachedEvaluator<E> {
    /// `input` is `inner`'s encoder. Evaluators of one network may share a cache.
    pub fn new(inner: E, input: Input, cache: Arc<EvalCache>) -> CachedEvaluator<E> {
        CachedEvaluator { inner, input, cache }
    }
}

impl<E: Evaluator> Evaluator for CachedEvaluator<E> {
    fn max_batch(&self) -> usize {
        self.inner.max_batch()
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let keys: Vec<u64> = batch.iter().map(|request| key(self.input, request)).collect();
        let known: Vec<Option<Arc<Answer>>> =
            keys.iter().zip(batch).map(|(key, request)| self.find(*key, request.moves)).collect();
        let new: Vec<Request<'_>> = batch
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(request, _)| *request)
            .collect();
        self.cache.hits.fetch_add((batch.len() - new.len()) as u64, Ordering::Relaxed);
        let mut answers = if new.is_empty() { Vec::new() } else { self.inner.evaluate(&new)? }.into_iter();
        let mut all = Vec::with_capacity(batch.len());
        for (key, known) in keys.into_iter().zip(known) {
            if let Some(answer) = known {
                all.push(Answer::clone(&answer));
                continue;
            }
            let missing = || EvalError("the evaluator returned too few answers".into());
            let answer = answers.next().ok_or_else(missing)?;
            self.cache.answers.insert(key, Arc::new(answer.clone()));
            all.push(answer);
        }
        Ok(all)
    }
}

impl<E> CachedEvaluator<E> {
    fn find(&self, key: u64, moves: &[Move]) -> Option<Arc<Answer>> {
        // A key collision (1 in 2^64) is noticed unless the number of moves is equal.
        self.cache.answers.get(&key).filter(|answer| answer.priors.len() == moves.len())
    }
}

/// The key need not cover the material value, which follows from board and side to move.
fn key(input: Input, request: &Request<'_>) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    input.read(request.game, |masks, scalars| {
        masks.iter().for_each(|mask| hash.update(&mask.to_le_bytes()));
        scalars.iter().for_each(|scalar| hash.update(&scalar.to_le_bytes()));
    });
    hash.update(&[u8::from(request.game.turn().is_black())]);
    request.moves.iter().for_each(|m| hash.update(&PackedMove::new(*m).0.to_le_bytes()));
    hash.digest()
}

#[derive(Clone)]
struct Bytes;

impl Weighter<u64, Arc<Answer>> for Bytes {
    fn weight(&self, _: &u64, answer: &Arc<Answer>) -> u64 {
        (size_of::<Answer>() + ENTRY_OVERHEAD + answer.priors.len() * size_of::<f32>()) as u64
    }
}

/// Keys are hashes already; hashing them deterministically keeps searches reproducible.
#[derive(Clone, Copy, Default)]
struct Identity(u64);

impl BuildHasher for Identity {
    type Hasher = Identity;

    fn build_hasher(&self) -> Identity {
        Identity(0)
    }
}

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;
    use crate::nets::eval::Wdl;

    struct Counting(usize);

    impl Evaluator for Counting {
        fn max_batch(&self) -> usize {
            8
        }

        fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
            let answer = |request: &Request<'_>| {
                self.0 += 1;
                let win = self.0 as f32 / 10_000.0;
                let priors = vec![1.0 / request.moves.len() as f32; request.moves.len()];
                Answer { wdl: Wdl { win, draw: 1.0 - win, loss: 0.0 }, priors }
            };
            Ok(batch.iter().map(answer).collect())
        }
    }

    fn played(moves: &str) -> Game {
        Game::from_uci(None, moves.split_whitespace()).unwrap()
    }

    fn ask(evaluator: &mut CachedEvaluator<Counting>, games: &[Game]) -> Vec<Answer> {
        let moves: Vec<_> = games.iter().map(Game::legal_moves).collect();
        let requests: Vec<_> =
            games.iter().zip(&moves).map(|(game, moves)| Request { game, moves }).collect();
        evaluator.evaluate(&requests).unwrap()
    }

    #[test]
    fn only_positions_not_in_the_cache_are_evaluated() {
        let cache = Arc::new(EvalCache::new(1 << 20));
        let mut evaluator = CachedEvaluator::new(Counting(0), Input::Planes72, Arc::clone(&cache));
        let games = [played(""), played("e2e4"), played("d2d4")];
        let first = ask(&mut evaluator, &games[..2]);
        let again = ask(&mut evaluator, &games);
        assert_eq!(evaluator.inner.0, 3);
        assert_eq!(again[..2], first[..]);
        assert_eq!(cache.hits(), 2);
        cache.clear();
        assert_ne!(ask(&mut evaluator, &games)[0], first[0]);
    }

    #[test]
    fn the_key_covers_what_the_encoder_reads() {
        let mut evaluator =
            CachedEvaluator::new(Counting(0), Input::Planes72, Arc::new(EvalCache::new(1 << 20)));
        let round = "g1f3 g8f6 f3g1 f6g8";
        let fen = |fen| Game::from_fen(fen).unwrap();
        let games = [
            // One position: first, repeated, and by another move order.
            played(""),
            played(round),
            played(&format!("{round} {round}")),
            played("b1c3 b8c6 c3b1 c6b8"),
            // One board with another fifty-move counter or move number.
            fen("7k/8/8/8/8/8/R7/K7 w - - 0 1"),
            fen("7k/8/8/8/8/8/R7/K7 w - - 9 1"),
            fen("7k/8/8/8/8/8/R7/K7 w - - 0 9"),
        ];
        ask(&mut evaluator, &games);
        assert_eq!(evaluator.inner.0, games.len());
        // Other encoders read less, and equal inputs are evaluated once.
        for (input, seen) in [
            (Input::Planes19, 4),
            (Input::Planes14, 4),
            (Input::Onehot832, 2),
            (Input::Lc0112, 6),
            (Input::Planes119, 7),
        ] {
            let mut evaluator = CachedEvaluator::new(Counting(0), input, Arc::new(EvalCache::new(1 << 20)));
            games.iter().for_each(|game| {
                ask(&mut evaluator, std::slice::from_ref(game));
            });
            assert_eq!(evaluator.inner.0, seen, "{}", input.name());
        }
    }

    #[test]
    fn other_requested_moves_are_another_key() {
        let mut evaluator =
            CachedEvaluator::new(Counting(0), Input::Planes72, Arc::new(EvalCache::new(1 << 20)));
        let game = Game::new();
        let moves = game.legal_moves();
        for some in [&moves[..], &moves[..3], &moves[1..4]] {
            let answer = evaluator.evaluate(&[Request { game: &game, moves: some }]).unwrap();
            assert_eq!(answer[0].priors.len(), some.len());
        }
        assert_eq!(evaluator.inner.0, 3);
    }

    #[test]
    fn memory_is_bounded() {
        let cache = Arc::new(EvalCache::new(100_000));
        let mut evaluator = CachedEvaluator::new(Counting(0), Input::Planes72, Arc::clone(&cache));
        for clock in 0..100 {
            for number in 1..100 {
                ask(
                    &mut evaluator,
                    &[Game::from_fen(&format!("7k/8/8/8/8/8/R7/K7 w - - {clock} {number}")).unwrap()],
                );
            }
        }
        assert!(cache.answers.weight() <= 100_000);
        assert!(cache.answers.len() > 100, "{}", cache.answers.len());
    }
}
