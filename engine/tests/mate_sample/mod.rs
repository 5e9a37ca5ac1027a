use std::path::Path;

use engine::chess::position::Game;

/// Positions with the moves to their shortest mate.
pub fn sample() -> Vec<(Game, u8)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/mates.tsv");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        (Game::from_fen(columns[2]).expect("a position"), columns[3].parse().expect("moves to mate"))
    });
    rows.collect()
}
