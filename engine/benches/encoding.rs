//! Time to encode a position: `cargo bench -p engine --bench encoding`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::chess::position::Game;
use engine::nets::encoding::planes72::{self, INPUT_SIZE};

const OPENING: &str = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8";

fn positions() -> Vec<Game> {
    let mut game = Game::new();
    let mut all = Vec::new();
    for text in OPENING.split_whitespace() {
        let m = game.parse_uci(text).expect("a legal move");
        game.play(m);
        all.push(game.clone());
    }
    all
}

fn encode(c: &mut Criterion) {
    let games = positions();
    let legal: Vec<_> = games.iter().map(Game::legal_moves).collect();
    let mut tensor = vec![0.0; INPUT_SIZE];
    let mut group = c.benchmark_group("planes72");
    group.throughput(Throughput::Elements(games.len() as u64));
    group.bench_function("masks", |b| {
        b.iter(|| {
            games.iter().zip(&legal).for_each(|(game, legal)| {
                black_box(planes72::encode_given(game, legal));
            })
        });
    });
    group.bench_function("tensor", |b| {
        b.iter(|| {
            for (game, legal) in games.iter().zip(&legal) {
                planes72::encode_given(game, legal).write(black_box(&mut tensor));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, encode);
criterion_main!(benches);
