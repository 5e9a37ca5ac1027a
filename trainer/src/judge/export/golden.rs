//! Golden outputs: a network's outputs for fixed positions, stored in its card and checked on loading.

use std::collections::BTreeMap;

use anyhow::Result;
use engine::chess::position::Game;
use engine::nets::encoding::Policy;
use engine::nets::eval;
use engine::nets::eval::Golden;
use engine::nets::onnx::OnnxSession;
use prost::Message;

use crate::data::record::INITIAL_FEN;
use engine::nets::onnx_file::proto::{ModelProto, StringStringEntryProto};

/// FEN and moves: initial; a middlegame, Black to move; a repetition; castling on both sides; promotions and en
/// passant; an endgame with a high half-move clock; en passant for Black.
pub(super) const POSITIONS: [(&str, &str); 7] = [
    (INITIAL_FEN, ""),
    (INITIAL_FEN, "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3"),
    (INITIAL_FEN, "g1f3 g8f6 f3g1 f6g8"),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", ""),
    ("n1n1k3/PP6/8/2pP4/8/8/6pp/4K1N1 w - c6 0 40", ""),
    ("8/5k2/8/3R4/8/2K5/6r1/8 b - - 88 97", "g2g3 c3c4 f7e6"),
    ("4k3/8/8/8/2pP4/8/8/4K2R b K d3 0 30", ""),
];

pub fn golden_games() -> Vec<Game> {
    let replay = |(fen, moves): &(&str, &str)| {
        Game::from_uci(Some(fen), moves.split_whitespace()).expect("a legal game")
    };
    POSITIONS.iter().map(replay).collect()
}

/// Logits are `[n, size]` and `[n, 3]`. Without a value head `values` is empty and the WDL zeros.
pub fn outputs_of_logits(scheme: Policy, games: &[Game], policies: &[f32], values: &[f32]) -> Vec<Golden> {
    let output = |(index, game): (usize, &Game)| {
        let logits = values.as_chunks::<3>().0.get(index);
        let wdl = logits.map_or(vec![0.0; 3], |logits| softmax(logits));
        let policy = &policies[index * scheme.size()..][..scheme.size()];
        let moves = game.legal_moves();
        let chosen: Vec<f32> = moves.iter().map(|m| policy[scheme.index(game.turn(), *m).offset()]).collect();
        let names = moves.iter().map(|m| Game::uci(*m, false));
        let (fen, moves) = POSITIONS[index];
        Golden {
            fen: fen.into(),
            moves: moves.into(),
            wdl: [wdl[0], wdl[1], wdl[2]],
            policy: names.zip(softmax(&chosen)).collect::<BTreeMap<_, _>>(),
        }
    };
    games.iter().enumerate().map(output).collect()
}

/// The file of `model`, with `precision` and ONNX Runtime's golden outputs in its card.
pub fn with_golden_outputs(mut model: ModelProto, precision: &str) -> Result<Vec<u8>> {
    let mut session = OnnxSession::open(&model.encode_to_vec())?;
    let schemes = session.schemes();
    let games = golden_games();
    let outputs = session.run(&schemes.input.tensor(&games), |logits| {
        outputs_of_logits(schemes.policy, &games, logits.policy, logits.wdl)
    })?;
    let outputs = serde_json::to_string(&outputs).expect("numbers and text make JSON");
    for (key, value) in [("philidor.precision", precision), ("philidor.golden", &outputs)] {
        if let Some(old) = property(&mut model.metadata_props, key) {
            *old = value.to_owned();
        }
    }
    Ok(model.encode_to_vec())
}

pub fn property<'a>(card: &'a mut [StringStringEntryProto], key: &str) -> Option<&'a mut String> {
    card.iter_mut().find(|property| property.key == key).map(|property| &mut property.value)
}

pub fn softmax(logits: &[f32]) -> Vec<f32> {
    let mut probabilities = logits.to_vec();
    eval::softmax(&mut probabilities);
    probabilities
}
