//! Perft counts of other move generators, reproduced by [`Game`].

use std::path::Path;

use engine::apps::bench::perft;
use engine::chess::position::Game;

/// Most nodes of a case, so that it ends within seconds.
const MOST: u64 = 500_000;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/perft").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn check(fen: &str, depth: u32, nodes: u64) {
    let game = Game::from_fen(fen).unwrap_or_else(|error| panic!("{fen}: {error}"));
    assert_eq!(perft::count(game.position(), depth), nodes, "{fen} at depth {depth}");
}

/// Blocks of `epd FEN` and `perft DEPTH NODES`.
#[test]
fn tricky_positions() {
    let text = read("tricky.perft");
    let mut fen = "";
    let mut cases = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["epd", ..] => fen = &line[4..],
            ["perft", depth, nodes] => {
                let nodes = nodes.parse().unwrap();
                if nodes <= MOST {
                    check(fen, depth.parse().unwrap(), nodes);
                    cases += 1;
                }
            }
            _ => {}
        }
    }
    assert!(cases > 60, "{cases}");
}

/// Lines of `FEN ;D1 NODES ;D2 NODES …`.
fn check_lines(text: &str) {
    for line in text.lines() {
        let mut fields = line.split(" ;D");
        let fen = fields.next().unwrap();
        for field in fields {
            let (depth, nodes) = field.split_once(' ').unwrap();
            let nodes = nodes.trim().parse().unwrap();
            if nodes <= MOST {
                check(fen, depth.parse().unwrap(), nodes);
            }
        }
    }
}

#[test]
fn standard_positions() {
    check_lines(&read("standard.epd"));
}

#[test]
fn chess960_positions() {
    check_lines(&read("chess960.epd"));
}
