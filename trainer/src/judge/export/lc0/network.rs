use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use prost::Message;
use serde::Serialize;

use super::layers::{Lc0Conv, Lc0Dense, conv, dense};
use super::proto;
use super::proto::{MAGIC, ProtoNetworkFormat, ProtoWeights};

/// Of lc0's classical input.
const PLANES: usize = 112;

/// Move planes of a convolutional policy head; files may have more planes.
const MOVE_PLANES: usize = 73;

const MOVES: usize = 1858;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lc0Activation {
    Relu,
    /// x · tanh(ln(1 + eˣ))
    Mish,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lc0Net {
    /// Follows every layer except the last of each head.
    pub activation: Lc0Activation,
    pub input: Lc0Conv,
    pub blocks: Vec<Lc0Block>,
    pub policy: Lc0PolicyHead,
    pub value: Lc0ValueHead,
    pub steps: Option<u32>,
    pub licence: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lc0Block {
    pub first: Lc0Conv,
    pub second: Lc0Conv,
    pub squeeze: Option<Lc0Squeeze>,
}

/// With a scale and a shift per channel, computed from the channel means.
#[derive(Clone, Debug, PartialEq)]
pub struct Lc0Squeeze {
    pub reduce: Lc0Dense,
    /// Channel scales before the sigmoid.
    pub scale: Lc0Dense,
    pub shift: Lc0Dense,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Lc0PolicyHead {
    Conv {
        hidden: Lc0Conv,
        out: Lc0Conv,
    },
    Dense {
        /// 1x1.
        hidden: Lc0Conv,
        out: Lc0Dense,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lc0ValueHead {
    pub squeeze: Lc0Conv,
    pub hidden: Lc0Dense,
    /// Three WDL logits, or a number whose tanh is the expected result (−1 to 1).
    pub out: Lc0Dense,
}

impl Lc0Net {
    pub fn load(path: &Path) -> Result<Lc0Net> {
        let file = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Lc0Net::decode(&file).with_context(|| path.display().to_string())
    }

    /// `file` may be gzipped.
    pub fn decode(file: &[u8]) -> Result<Lc0Net> {
        let mut unpacked = Vec::new();
        let bytes = if file.starts_with(&[0x1f, 0x8b]) {
            GzDecoder::new(file).read_to_end(&mut unpacked).context("the file is damaged or truncated")?;
            &unpacked[..]
        } else {
            file
        };
        let net = proto::ProtoNet::decode(bytes).context("not an lc0 network")?;
        ensure!(net.magic == Some(MAGIC), "not an lc0 network: the magic number is missing");
        let format = net.format.and_then(|format| format.network_format).unwrap_or_default();
        let format = Lc0Format::new(&format)?;
        let weights =
            net.weights.context("the file holds no weights (an ONNX network inside an lc0 file?)")?;
        let steps = net.training_params.and_then(|training| training.training_steps);
        let licence = net.license.filter(|text| !text.trim().is_empty());
        format.build(&weights, steps, licence)
    }
}

struct Lc0Format {
    activation: Lc0Activation,
    convolutional: bool,
    wdl: bool,
}

impl Lc0Format {
    /// As in lc0 (`neural/loader.cc`), missing fields have the oldest format's values.
    fn new(format: &ProtoNetworkFormat) -> Result<Lc0Format> {
        match format.input.unwrap_or(1) {
            1 => {}
            other => bail!("input format {other} is not supported, only 1 (112 classical planes)"),
        }
        let (policy, value) = match format.network.unwrap_or(1) {
            0..=2 => (1, 1),
            3 | 4 => (format.policy.unwrap_or(1), format.value.unwrap_or(1)),
            5 => bail!("the file holds an ONNX network already: extract it with `lc0 leela2onnx`"),
            other => {
                bail!(
                    "network structure {other} (a transformer?) is not supported, only residual ones: 1 to 4"
                )
            }
        };
        Ok(Lc0Format {
            convolutional: match policy {
                1 => false,
                2 => true,
                other => {
                    bail!(
                        "policy head {other} (attention?) is not supported, only 1 (dense), 2 (convolutional)"
                    )
                }
            },
            wdl: match value {
                1 => false,
                2 => true,
                other => bail!("value head {other} is not supported, only 1 (scalar), 2 (win, draw, loss)"),
            },
            activation: match format.default_activation.unwrap_or(0) {
                0 => Lc0Activation::Relu,
                1 => Lc0Activation::Mish,
                other => bail!("activation {other} is not supported, only 0 (ReLU), 1 (Mish)"),
            },
        })
    }

    fn build(self, w: &ProtoWeights, steps: Option<u32>, licence: Option<String>) -> Result<Lc0Net> {
        ensure!(
            w.encoder.is_empty(),
            "the network has transformer layers, only residual networks are supported"
        );
        let input = conv(w.input.as_ref(), "input", PLANES, 3)?;
        let channels = input.out();
        let blocks = w.residual.iter().enumerate().map(|(i, block)| residual(block, i, channels));
        let blocks = blocks.collect::<Result<_, _>>()?;
        let policy = if self.convolutional {
            let hidden = conv(w.policy1.as_ref(), "policy1", channels, 3)?;
            let out = conv(w.policy.as_ref(), "policy", hidden.out(), 3)?;
            ensure!(
                out.out() >= MOVE_PLANES,
                "policy has {} planes, expected {MOVE_PLANES} or more",
                out.out()
            );
            Lc0PolicyHead::Conv { hidden, out: out.first(MOVE_PLANES) }
        } else {
            let hidden = conv(w.policy.as_ref(), "policy", channels, 1)?;
            let out = dense((&w.ip_pol_w, "ip_pol_w"), (&w.ip_pol_b, "ip_pol_b"), hidden.out() * 64)?;
            Lc0PolicyHead::Dense { hidden, out: sized(out, MOVES, "ip_pol_b")? }
        };
        let squeeze = conv(w.value.as_ref(), "value", channels, 1)?;
        let hidden = dense((&w.ip1_val_w, "ip1_val_w"), (&w.ip1_val_b, "ip1_val_b"), squeeze.out() * 64)?;
        let out = dense((&w.ip2_val_w, "ip2_val_w"), (&w.ip2_val_b, "ip2_val_b"), hidden.out())?;
        let out = sized(out, if self.wdl { 3 } else { 1 }, "ip2_val_b")?;
        let value = Lc0ValueHead { squeeze, hidden, out };
        Ok(Lc0Net { activation: self.activation, input, blocks, policy, value, steps, licence })
    }
}

fn residual(block: &proto::ProtoResidual, index: usize, channels: usize) -> Result<Lc0Block> {
    let place = |part: &str| format!("residual[{index}].{part}");
    let layer = |block: &Option<proto::ProtoConvBlock>, part: &str| {
        let layer = conv(block.as_ref(), &place(part), channels, 3)?;
        let out = layer.out();
        ensure!(out == channels, "{} has {out} output channels, expected {channels}", place(part));
        Ok(layer)
    };
    let squeeze = |se: &proto::ProtoSeUnit| -> Result<Lc0Squeeze> {
        let [w1, b1, w2, b2] = ["se.w1", "se.b1", "se.w2", "se.b2"].map(place);
        let reduce = dense((&se.w1, &w1), (&se.b1, &b1), channels)?;
        let expand = dense((&se.w2, &w2), (&se.b2, &b2), reduce.out())?;
        let expand = sized(expand, 2 * channels, &b2)?;
        let (scale, shift) = (expand.rows(0..channels), expand.rows(channels..2 * channels));
        Ok(Lc0Squeeze { reduce, scale, shift })
    };
    Ok(Lc0Block {
        first: layer(&block.conv1, "conv1")?,
        second: layer(&block.conv2, "conv2")?,
        squeeze: block.se.as_ref().map(squeeze).transpose()?,
    })
}

fn sized(layer: Lc0Dense, out: usize, place: &str) -> Result<Lc0Dense> {
    ensure!(layer.out() == out, "{place} has {} numbers, expected {out}", layer.out());
    Ok(layer)
}
