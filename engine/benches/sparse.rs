//! How long a sparse network takes for a position: `cargo bench -p engine --bench sparse`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::encoding::moves1::{self, Rows};
use engine::encoding::sparse1::View;
use engine::position::Game;
use engine::sparse::{SparseNetwork, SparseTensors};
use shakmaty::MoveList;

/// Positions of random games, as different from one another as those of a search are alike: the worst case.
fn positions() -> Vec<(Game, MoveList)> {
    let mut random = fastrand::Rng::with_seed(3);
    let mut all = Vec::new();
    while all.len() < 1000 {
        let mut game = Game::new();
        for _ in 0..random.usize(6..80) {
            let legal = game.legal_moves();
            if legal.is_empty() {
                break;
            }
            game.play(legal[random.usize(..legal.len())]);
        }
        let legal = game.legal_moves();
        if !legal.is_empty() {
            all.push((game, legal));
        }
    }
    all
}

fn encoder(c: &mut Criterion) {
    let positions = positions();
    let mut rows = [Rows::default(); 256];
    let mut group = c.benchmark_group("sparse/encode");
    group.throughput(Throughput::Elements(positions.len() as u64));
    group.bench_function("features", |b| {
        b.iter(|| positions.iter().map(|(game, _)| View::of(game).features().len()).sum::<usize>())
    });
    group.bench_function("features and rows", |b| {
        b.iter(|| {
            for (game, legal) in &positions {
                let view = View::of(game);
                black_box(view.features());
                moves1::rows(&view, legal, &mut rows[..legal.len()]);
                black_box(&rows);
            }
        })
    });
    group.bench_function("legal moves", |b| {
        b.iter(|| positions.iter().map(|(game, _)| game.legal_moves().len()).sum::<usize>())
    });
    group.finish();
}

fn evaluator(c: &mut Criterion) {
    let positions = positions();
    for (policy, value) in [(768, 256), (1536, 512)] {
        let network = SparseNetwork::new(&SparseTensors::random(policy, value, 1)).expect("small weights");
        let mut priors = [0.0; 256];
        let mut group = c.benchmark_group(format!("sparse/{policy}+{value}"));
        group.throughput(Throughput::Elements(positions.len() as u64));
        for mut evaluator in network.evaluators() {
            let name = evaluator.instructions();
            group.bench_function(name, |b| {
                b.iter(|| {
                    for (game, legal) in &positions {
                        black_box(evaluator.evaluate_into(game, legal, &mut priors[..legal.len()]));
                    }
                })
            });
        }
        let mut evaluator = network.evaluator();
        group.bench_function("value alone", |b| {
            b.iter(|| {
                for (game, _) in &positions {
                    black_box(evaluator.value(game));
                }
            })
        });
        group.finish();
    }
}

criterion_group!(benches, encoder, evaluator);
criterion_main!(benches);
