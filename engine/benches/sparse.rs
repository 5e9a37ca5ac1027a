//! Time of a sparse network per position: `cargo bench -p engine --bench sparse`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::chess::position::Game;
use engine::nets::encoding::moves1::{self, Rows};
use engine::nets::encoding::sparse1::View;
use engine::nets::eval::SplitEvaluator;
use engine::nets::sparse::{SparseNetwork, SparseTensors};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::MoveList;

/// The processor time of `iterations` of `work`, so that other programs disturb little; wall time except on Linux.
fn timed(iterations: u64, mut work: impl FnMut()) -> Duration {
    let on_processor = || {
        // The kernel updates the count when a thread yields.
        std::thread::yield_now();
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    };
    let (start, busy) = (Instant::now(), on_processor());
    (0..iterations).for_each(|_| work());
    match (busy, on_processor()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed(),
    }
}

/// Positions of random games. They differ far more than those of a search: the worst case for caches.
fn positions() -> Vec<(Game, MoveList)> {
    let mut random = SmallRng::seed_from_u64(3);
    let mut all = Vec::new();
    while all.len() < 1000 {
        let mut game = Game::new();
        for _ in 0..random.random_range(6..80) {
            let legal = game.legal_moves();
            if legal.is_empty() {
                break;
            }
            game.play(legal[random.random_range(0..legal.len())]);
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
        b.iter_custom(|n| {
            timed(n, || {
                for (game, _) in &positions {
                    black_box(View::of(game).features());
                }
            })
        })
    });
    group.bench_function("features and rows", |b| {
        b.iter_custom(|n| {
            timed(n, || {
                for (game, legal) in &positions {
                    let view = View::of(game);
                    black_box(view.features());
                    moves1::rows(&view, legal, &mut rows[..legal.len()]);
                    black_box(&rows);
                }
            })
        })
    });
    group.bench_function("legal moves", |b| {
        b.iter_custom(|n| {
            timed(n, || {
                for (game, _) in &positions {
                    black_box(game.legal_moves());
                }
            })
        })
    });
    group.finish();
}

fn evaluator(c: &mut Criterion) {
    let positions = positions();
    let random = |policy, value| {
        let network = SparseNetwork::new(&SparseTensors::random(policy, value, 1)).expect("small weights");
        (format!("{policy}+{value}"), network)
    };
    let embedded = ("embedded".to_owned(), SparseNetwork::embedded());
    for (name, network) in [embedded, random(768, 256), random(1536, 512)] {
        let mut priors = [0.0; 256];
        let mut group = c.benchmark_group(format!("sparse/{name}"));
        group.throughput(Throughput::Elements(positions.len() as u64));
        for mut evaluator in network.evaluators() {
            let name = evaluator.instructions();
            group.bench_function(name, |b| {
                b.iter_custom(|n| {
                    timed(n, || {
                        for (game, legal) in &positions {
                            black_box(evaluator.evaluate_into(game, legal, &mut priors[..legal.len()]));
                        }
                    })
                })
            });
        }
        let mut evaluator = network.evaluator();
        group.bench_function("value alone", |b| {
            b.iter_custom(|n| {
                timed(n, || {
                    for (game, _) in &positions {
                        black_box(evaluator.value(game));
                    }
                })
            })
        });
        group.finish();
    }
}

criterion_group!(benches, encoder, evaluator);
criterion_main!(benches);
