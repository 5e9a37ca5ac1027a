//! Small networks and game files for tests.

use std::path::{Path, PathBuf};

use engine::chess::position::{Game, PackedMove};
use prost::Message;
use tch::{Device, Kind};

use crate::config::TrainConfig;
use crate::data::dataset::{self, Chunk};
use crate::data::record::GameRecord;
use crate::judge::export::golden::with_golden_outputs;
use crate::judge::export::torch::onnx;
use crate::learn::torch::families::{Net, Weights};
use engine::nets::onnx_file::proto::ModelProto;

pub const RESNET: &str = r#"{"model": {"filters": 16, "blocks": 2}}"#;

/// A dense policy head. The default's 32 channels would make rounding take a minute unoptimised.
pub const DENSE_HEAD: [&str; 2] = ["model.policy_head=dense", "model.policy_channels=8"];

pub fn fp32(overrides: &[&str]) -> Vec<u8> {
    fp32_of(RESNET, overrides)
}

pub fn fp32_of(model: &str, overrides: &[&str]) -> Vec<u8> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let config = TrainConfig::parse(model, &overrides).unwrap();
    let net = Net::new(&config.model).unwrap();
    let weights = Weights::new(net.layout(), Device::Cpu, Kind::Float, 3);
    onnx("net", &net, &weights, &config)
}

/// A network whose first layer is very sensitive to quantisation, and that layer's node. `sharpness` multiplies the
/// last policy layer.
pub fn with_a_sensitive_layer(sharpness: f32) -> (Vec<u8>, usize) {
    let mut model = ModelProto::decode(&fp32(&[])[..]).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let layer = graph.node.iter().position(|node| node.input[0] == "input").unwrap();
    let name = graph.node[layer].input[1].clone();
    let weight = graph.initializer.iter_mut().find(|tensor| tensor.name == name).unwrap();
    // A huge weight of the mostly zero repetition plane changes few outputs, but leaves few of the 255 steps to the
    // other weights of its channel.
    let (channel, plane) = (72 * 9 * 4, 56 * 9 * 4);
    for bytes in weight.raw_data.chunks_exact_mut(channel) {
        bytes[plane..plane + 4].copy_from_slice(&1000f32.to_le_bytes());
    }
    let last = graph.initializer.iter_mut().find(|tensor| tensor.dims.first() == Some(&73)).unwrap();
    for bytes in last.raw_data.as_chunks_mut::<4>().0 {
        *bytes = (f32::from_le_bytes(*bytes) * sharpness).to_le_bytes();
    }
    (with_golden_outputs(model, "fp32").unwrap(), layer)
}

pub fn games_file(folder: &Path, source: &str, games: usize) -> PathBuf {
    let mut random = fastrand::Rng::with_seed(games as u64);
    let mut chunk = Chunk::new(source);
    for _ in 0..games {
        let mut board = Game::new();
        let mut moves = Vec::new();
        for _ in 0..20 {
            let legal = board.legal_moves();
            let Some(m) = random.choice(legal.iter()).copied() else { break };
            moves.push(PackedMove::new(m));
            board.play(m);
        }
        chunk.push(&GameRecord { moves, ..GameRecord::default() });
    }
    let path = folder.join(format!("{source}-{games}.h5"));
    dataset::write(&chunk, &path).unwrap();
    path
}
