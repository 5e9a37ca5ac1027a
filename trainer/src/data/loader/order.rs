//! The order of samples: which position of which game is in which batch.

use std::io;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use shakmaty::Position;

use super::batch::{Batch, Origin};
use super::corpus::{Corpus, GameBuffer};
use super::teacher::Teacher;
use crate::data::record::DamagedGame;
use crate::data::samples::{Phase, Sample, SampleOptions};

/// Samples after which the interleaving of sources repeats; sets the precision of their weights.
const PERIOD: usize = 1024;

/// Games are validated at import, so repeated damage is no accident.
const MAX_REPLACEMENTS: u64 = 64;

pub(super) const DAMAGED: &str = "the games are damaged: `philidor-trainer inspect` names the file";

#[derive(Clone, Debug)]
pub struct Source {
    pub corpus: Arc<Corpus>,
    /// Share of the samples, relative to the other sources.
    pub weight: f64,
}

/// Determined by the sources, the seed and a sample's number.
#[derive(Clone, Debug)]
pub struct SampleOrder {
    sources: Vec<Source>,
    options: SampleOptions,
    seed: u64,
    batch: usize,
    /// For [`PERIOD`] consecutive samples: the source, and the sample's rank within that source.
    schedule: Vec<(u8, u32)>,
    /// Samples per source in a period.
    shares: Vec<u64>,
}

impl SampleOrder {
    /// Sources without games or weight are never drawn.
    pub fn new(
        sources: Vec<Source>,
        options: SampleOptions,
        batch: usize,
        seed: u64,
    ) -> anyhow::Result<SampleOrder> {
        let (count, most) = (sources.len(), usize::from(u8::MAX));
        ensure!(count <= most, "{count} sources, at most {most} can be mixed");
        let usable = |source: &Source| source.weight > 0.0 && source.corpus.positions() > 0;
        let total: f64 = sources.iter().filter(|s| usable(s)).map(|s| s.weight).sum();
        ensure!(total > 0.0 && batch > 0, "no games to draw samples from");
        let ratios: Vec<f64> =
            sources.iter().map(|s| if usable(s) { s.weight / total } else { 0.0 }).collect();
        let (schedule, shares) = interleave(&ratios);
        Ok(SampleOrder { sources, options, seed, batch, schedule, shares })
    }

    /// Also returns the number of replaced damaged games.
    pub fn batch(&self, k: u64, teacher: Option<&mut Teacher>) -> anyhow::Result<(Batch, usize)> {
        let n = self.batch as u64;
        let origins: Vec<Origin> = (k * n..(k + 1) * n).map(|number| self.origin(number)).collect();
        self.collect(&origins, teacher)
    }

    /// Samples in the order of `origins`, and the number of damaged games.
    pub fn collect(
        &self,
        origins: &[Origin],
        teacher: Option<&mut Teacher>,
    ) -> anyhow::Result<(Batch, usize)> {
        let n = origins.len();
        let mut batch = Batch {
            size: n,
            policy: Vec::with_capacity(n),
            wdl: Vec::with_capacity(n * 3),
            results: Vec::with_capacity(n * 3),
            source: Vec::with_capacity(n),
            draw: Vec::with_capacity(n),
            tactical: Vec::with_capacity(n),
            phase: Vec::with_capacity(n),
            ..Batch::default()
        };
        let mut damaged = 0;
        let mut buffer = GameBuffer::default();
        let mut games = Vec::new();
        for &Origin(source, draw) in origins {
            // A damaged game's sample is replaced by the permutation's next position.
            let mut attempts = draw..draw + MAX_REPLACEMENTS;
            let sample = loop {
                let Some(draw) = attempts.next() else { bail!(DAMAGED) };
                let sample = self.sample(usize::from(source), draw, &mut buffer);
                match sample.context("cannot read the games")? {
                    Ok(sample) => break sample,
                    Err(DamagedGame { .. }) => damaged += 1,
                }
            };
            batch.masks.extend_from_slice(&sample.input.masks);
            batch.scalars.extend_from_slice(&sample.input.scalars);
            batch.legal.extend_from_slice(&sample.legal);
            batch.policy.push(sample.policy.0);
            batch.wdl.extend_from_slice(&sample.wdl);
            batch.results.extend_from_slice(&sample.result);
            batch.source.push(source);
            batch.draw.push(draw);
            batch.tactical.push(sample.tactical);
            batch.shares.push(&sample.shares);
            batch.phase.push(Phase::of(sample.game.position().board()) as u8);
            if teacher.is_some() {
                games.push(sample.game);
            }
        }
        batch.teacher_targets =
            teacher.map(|teacher| teacher.targets(&games, self.options.policy)).transpose()?;
        Ok((batch, damaged))
    }

    fn origin(&self, number: u64) -> Origin {
        let (source, rank) = self.schedule[(number % PERIOD as u64) as usize];
        Origin(source, number / PERIOD as u64 * self.shares[usize::from(source)] + u64::from(rank))
    }

    /// Every pass takes each position once, in a new order.
    fn sample(
        &self,
        source: usize,
        draw: u64,
        buffer: &mut GameBuffer,
    ) -> io::Result<Result<Sample, DamagedGame>> {
        let corpus = &self.sources.get(source).ok_or_else(missing_source)?.corpus;
        let positions = corpus.positions();
        if positions == 0 {
            return Err(missing_source());
        }
        let (pass, place) = (draw / positions, draw % positions);
        let source_seed = mix(self.seed, source as u64);
        let (target, game) = corpus.at(permute(place, positions, mix(source_seed, pass)), buffer)?;
        Ok(game.sample(game.target_ply(target), &self.options, mix(source_seed ^ 0x9e37_79b9, draw)))
    }
}

/// For repeating a sample of a source that the run no longer has.
fn missing_source() -> io::Error {
    io::Error::other("a source is gone that the run began with: name it again, or begin a new run")
}

/// Interleaves the sources evenly: each slot goes to the source furthest behind.
fn interleave(ratios: &[f64]) -> (Vec<(u8, u32)>, Vec<u64>) {
    let mut counts = vec![0u64; ratios.len()];
    let mut schedule = Vec::with_capacity(PERIOD);
    for slot in 0..PERIOD {
        let behind = |source: usize| ratios[source] * (slot + 1) as f64 - counts[source] as f64;
        let next = (0..ratios.len())
            .filter(|source| ratios[*source] > 0.0)
            .max_by(|a, b| behind(*a).total_cmp(&behind(*b)))
            .expect("a source with weight");
        schedule.push((next as u8, counts[next] as u32));
        counts[next] += 1;
    }
    (schedule, counts)
}

/// Hash of two numbers by SplitMix64's finaliser.
fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x2545_f491_4f6c_dd1d);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A pseudo-random permutation of `0..n`: a Feistel network on the next power of four, iterated until the result is
/// below `n` (cycle walking; Black and Rogaway 2002).
fn permute(index: u64, n: u64, seed: u64) -> u64 {
    let half_bits = (64 - (n - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half_bits) - 1;
    let mut x = index;
    loop {
        let (mut left, mut right) = (x >> half_bits, x & mask);
        for round in 0..4 {
            (left, right) = (right, left ^ (mix(seed ^ round, right) & mask));
        }
        x = left << half_bits | right;
        if x < n {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::loader::corpus::CorpusBuilder;
    use crate::data::record::GameView;
    use engine::chess::position::{Game, PackedMove};
    use std::collections::HashSet;

    /// Games of a few moves, with distinct first moves if possible.
    fn corpus(games: usize, plies: usize, result: i8) -> Arc<Corpus> {
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        for number in 0..games {
            let moves = random_game(number, plies);
            builder.push(&GameView { moves: &moves, result, ..GameView::default() }).unwrap();
        }
        Arc::new(builder.build().unwrap())
    }

    fn random_game(number: usize, plies: usize) -> Vec<u16> {
        let mut game = Game::new();
        let choose = |ply: usize| {
            let legal = game.legal_moves();
            let m = legal[(number / 20usize.pow(ply as u32)) % legal.len()];
            game.play(m);
            PackedMove::new(m).0
        };
        (0..plies).map(choose).collect()
    }

    fn order(weights: &[f64], batch: usize, seed: u64) -> SampleOrder {
        let sources = weights.iter().zip([1, 0, -1].into_iter().cycle());
        let sources =
            sources.map(|(weight, result)| Source { corpus: corpus(50, 6, result), weight: *weight });
        SampleOrder::new(sources.collect(), SampleOptions::default(), batch, seed).unwrap()
    }

    #[test]
    fn a_permutation_is_a_bijection() {
        for n in [1, 2, 3, 20, 64, 1000] {
            for seed in 0..5 {
                let images: HashSet<u64> = (0..n).map(|index| permute(index, n, seed)).collect();
                assert_eq!(images.len() as u64, n);
                assert!(images.iter().all(|image| *image < n));
            }
        }
        let order = |seed| (0..100).map(|index| permute(index, 100, seed)).collect::<Vec<_>>();
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn batches_are_a_function_of_seed_and_number() {
        assert_eq!(
            order(&[1.0], 16, 7).batch(3, None).unwrap(),
            order(&[1.0], 16, 7).batch(3, None).unwrap()
        );
        assert_ne!(
            order(&[1.0], 16, 7).batch(3, None).unwrap().0,
            order(&[1.0], 16, 7).batch(4, None).unwrap().0
        );
        assert_ne!(
            order(&[1.0], 16, 7).batch(3, None).unwrap().0,
            order(&[1.0], 16, 8).batch(3, None).unwrap().0
        );
    }

    #[test]
    fn sources_are_interleaved_by_weight() {
        let order = order(&[3.0, 1.0, 0.0], 64, 1);
        let (batch, damaged) = order.batch(5, None).unwrap();
        assert_eq!(damaged, 0);
        let of = |source| batch.source.iter().filter(|s| **s == source).count();
        assert_eq!((of(0), of(1), of(2)), (48, 16, 0));
        // The games of source 1 are drawn, those of source 0 decisive.
        for (source, wdl) in batch.source.iter().zip(batch.wdl.as_chunks::<3>().0) {
            assert_eq!(wdl[1] == 1.0, *source == 1);
        }
    }

    #[test]
    fn a_pass_takes_every_position_once() {
        // Games of one to nine plies with different first moves.
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        let games: Vec<Vec<u16>> = (0..9).map(|number| random_game(number, number + 1)).collect();
        games.iter().for_each(|moves| builder.push(&GameView { moves, ..GameView::default() }).unwrap());
        let corpus = Arc::new(builder.build().unwrap());
        assert_eq!((corpus.games(), corpus.positions()), (9, 45));
        let options = SampleOptions::default();
        let expected: Vec<Vec<u64>> = (games.iter())
            .map(|moves| GameView { moves, ..GameView::default() })
            .flat_map(|game| (0..game.moves.len()).map(move |ply| game.sample(ply, &options, 0).unwrap()))
            .map(|sample| sample.input.masks)
            .collect();
        let source = Source { corpus, weight: 1.0 };
        let order = SampleOrder::new(vec![source], options, 45, 9).unwrap();
        let pass = |k| {
            let (batch, _) = order.batch(k, None).unwrap();
            let width = batch.masks.len() / batch.size;
            batch.masks.chunks(width).map(<[u64]>::to_vec).collect::<Vec<_>>()
        };
        let sorted = |mut masks: Vec<Vec<u64>>| {
            masks.sort();
            masks
        };
        for k in 0..4 {
            assert_eq!(sorted(pass(k)), sorted(expected.clone()), "short games as often as long ones");
        }
        assert_ne!(pass(0), pass(1), "another order");
    }

    #[test]
    fn no_games_are_an_error() {
        let empty = Source {
            corpus: Arc::new(CorpusBuilder::new(&std::env::temp_dir()).unwrap().build().unwrap()),
            weight: 1.0,
        };
        assert!(SampleOrder::new(vec![empty], SampleOptions::default(), 8, 0).is_err());
        assert!(SampleOrder::new(Vec::new(), SampleOptions::default(), 8, 0).is_err());
    }

    #[test]
    fn a_damaged_game_is_replaced_by_another() {
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        builder.push(&GameView { moves: &[12 | 60 << 6], result: 1, ..GameView::default() }).unwrap();
        for _ in 0..9 {
            builder.push(&GameView { moves: &[12 | 28 << 6], result: 1, ..GameView::default() }).unwrap();
        }
        let source = Source { corpus: Arc::new(builder.build().unwrap()), weight: 1.0 };
        let order = SampleOrder::new(vec![source], SampleOptions::default(), 10, 0).unwrap();
        let (batch, damaged) = order.batch(0, None).unwrap();
        assert_eq!((batch.policy.len(), damaged), (10, 1));
    }
}
