//! lc0 files with random weights.

use std::io::Write;

use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::proto::{
    MAGIC, ProtoConvBlock, ProtoFormat, ProtoLayer, ProtoNet, ProtoNetworkFormat, ProtoResidual, ProtoSeUnit,
    ProtoWeights,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lc0Variant {
    pub name: &'static str,
    pub squeeze: bool,
    pub convolutional: bool,
    pub wdl: bool,
    pub mish: bool,
}

/// Each kind of head with and without squeeze-and-excitation, and a network with Mish.
pub const VARIANTS: [Lc0Variant; 4] = [
    Lc0Variant { name: "se-conv-wdl", squeeze: true, convolutional: true, wdl: true, mish: false },
    Lc0Variant { name: "se-dense-scalar", squeeze: true, convolutional: false, wdl: false, mish: false },
    Lc0Variant { name: "plain-dense-wdl", squeeze: false, convolutional: false, wdl: true, mish: false },
    Lc0Variant { name: "mish-conv-scalar", squeeze: true, convolutional: true, wdl: false, mish: true },
];

const FILTERS: usize = 16;

/// Required by lc0's own ONNX converter.
const VALUE_CHANNELS: usize = 32;
const VALUE_HIDDEN: usize = 128;

/// A `.pb.gz` file.
pub fn file(variant: Lc0Variant) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    file.write_all(&net(variant).encode_to_vec()).unwrap();
    file.finish().unwrap()
}

pub fn net(variant: Lc0Variant) -> ProtoNet {
    let mut layers = RandomLayers(Rng::with_seed(variant.name.len() as u64));
    let network_format = ProtoNetworkFormat {
        input: Some(1),
        output: Some(if variant.wdl { 2 } else { 1 }),
        network: Some(if variant.squeeze { 4 } else { 3 }),
        policy: Some(if variant.convolutional { 2 } else { 1 }),
        value: Some(if variant.wdl { 2 } else { 1 }),
        default_activation: Some(i32::from(variant.mish)),
    };
    ProtoNet {
        magic: Some(MAGIC),
        license: None,
        format: Some(ProtoFormat { weights_encoding: Some(1), network_format: Some(network_format) }),
        training_params: None,
        weights: Some(layers.weights(variant)),
    }
}

struct RandomLayers(Rng);

impl RandomLayers {
    /// `count` values within `spread` of `middle`, in lc0's 16-bit encoding.
    fn layer(&mut self, count: usize, middle: f32, spread: f32) -> Option<ProtoLayer> {
        let params = (0..count).flat_map(|_| self.0.u16(..).to_le_bytes()).collect();
        Some(ProtoLayer {
            min_val: Some(middle - spread),
            max_val: Some(middle + spread),
            params: Some(params),
            encoding: None,
        })
    }

    /// The spread preserves the scale of the activations.
    fn matrix(&mut self, inputs: usize, out: usize) -> Option<ProtoLayer> {
        self.layer(inputs * out, 0.0, (4.0 / inputs as f32).sqrt())
    }

    /// With BatchNorm and without bias, as in the tower.
    fn normed(&mut self, inputs: usize, out: usize, kernel: usize) -> Option<ProtoConvBlock> {
        Some(ProtoConvBlock {
            weights: self.matrix(inputs * kernel * kernel, out),
            biases: None,
            bn_means: self.layer(out, 0.0, 0.2),
            bn_stddivs: self.layer(out, 1.0, 0.5),
            bn_gammas: self.layer(out, 1.0, 0.3),
            bn_betas: self.layer(out, 0.0, 0.3),
        })
    }

    fn weights(&mut self, variant: Lc0Variant) -> ProtoWeights {
        let policy_channels = 4;
        let mut weights = ProtoWeights {
            input: self.normed(112, FILTERS, 3),
            residual: (0..2).map(|_| self.residual(variant.squeeze)).collect(),
            value: self.normed(FILTERS, VALUE_CHANNELS, 1),
            ip1_val_w: self.matrix(VALUE_CHANNELS * 64, VALUE_HIDDEN),
            ip1_val_b: self.layer(VALUE_HIDDEN, 0.0, 0.3),
            ..ProtoWeights::default()
        };
        let values = if variant.wdl { 3 } else { 1 };
        weights.ip2_val_w = self.layer(VALUE_HIDDEN * values, 0.0, 0.1);
        weights.ip2_val_b = self.layer(values, 0.0, 0.5);
        if variant.convolutional {
            weights.policy1 = self.normed(FILTERS, FILTERS, 3);
            weights.policy = Some(ProtoConvBlock {
                weights: self.layer(FILTERS * 9 * 80, 0.0, 0.15),
                biases: self.layer(80, 0.0, 0.5),
                ..ProtoConvBlock::default()
            });
        } else {
            weights.policy = self.normed(FILTERS, policy_channels, 1);
            weights.ip_pol_w = self.layer(policy_channels * 64 * 1858, 0.0, 0.1);
            weights.ip_pol_b = self.layer(1858, 0.0, 0.5);
        }
        weights
    }

    fn residual(&mut self, squeeze: bool) -> ProtoResidual {
        let hidden = 8;
        ProtoResidual {
            conv1: self.normed(FILTERS, FILTERS, 3),
            conv2: self.normed(FILTERS, FILTERS, 3),
            se: squeeze.then(|| ProtoSeUnit {
                w1: self.matrix(FILTERS, hidden),
                b1: self.layer(hidden, 0.0, 0.3),
                w2: self.matrix(hidden, 2 * FILTERS),
                b2: self.layer(2 * FILTERS, 0.0, 0.3),
            }),
        }
    }
}
