//! A Leela file, read and understood: which layers there are, with which numbers.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use prost::Message;
use serde::Serialize;

use crate::export::lc0::layers::{Lc0Conv, Lc0Dense, conv, dense};
use crate::export::lc0::proto;
use crate::export::lc0::proto::{MAGIC, ProtoNetworkFormat, ProtoWeights};

/// Planes of the classical input.
const PLANES: usize = 112;

/// Channels of a convolutional policy's last layer that mean moves; files have some more.
const MOVE_PLANES: usize = 73;

/// Logits of a policy.
const MOVES: usize = 1858;

/// The function between the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lc0Activation {
    /// max(x, 0)
    Relu,
    /// x · tanh(ln(1 + eˣ))
    Mish,
}

/// A residual network of Leela's.
#[derive(Clone, Debug, PartialEq)]
pub struct Lc0Net {
    /// Between all layers.
    pub activation: Lc0Activation,
    /// From the input's planes to the tower's channels.
    pub input: Lc0Conv,
    /// The tower.
    pub blocks: Vec<Lc0Block>,
    /// What the moves are worth.
    pub policy: Lc0PolicyHead,
    /// What the position is worth.
    pub value: Lc0ValueHead,
    /// Training steps, if the file says.
    pub steps: Option<u32>,
    /// The licence, in the file's own words.
    pub licence: Option<String>,
}

/// Two convolutions, and what they give added to what they got.
#[derive(Clone, Debug, PartialEq)]
pub struct Lc0Block {
    /// The first.
    pub first: Lc0Conv,
    /// The second.
    pub second: Lc0Conv,
    /// The gates after it.
    pub squeeze: Option<Lc0Squeeze>,
}

/// Channels are averaged, and scaled and shifted by what two layers make of that.
#[derive(Clone, Debug, PartialEq)]
pub struct Lc0Squeeze {
    /// To few.
    pub reduce: Lc0Dense,
    /// What the channels are scaled by, after the logistic function.
    pub scale: Lc0Dense,
    /// What is added to them.
    pub shift: Lc0Dense,
}

/// A policy head.
#[derive(Clone, Debug, PartialEq)]
pub enum Lc0PolicyHead {
    /// A convolution and one more to 73 planes of move types, from which the 1,858 moves are picked.
    Conv {
        /// The first.
        hidden: Lc0Conv,
        /// The last, `[73]` planes.
        out: Lc0Conv,
    },
    /// A pointwise convolution and a fully connected layer.
    Dense {
        /// The convolution.
        hidden: Lc0Conv,
        /// To the 1,858 moves.
        out: Lc0Dense,
    },
}

/// A value head.
#[derive(Clone, Debug, PartialEq)]
pub struct Lc0ValueHead {
    /// To few channels.
    pub squeeze: Lc0Conv,
    /// Of all squares.
    pub hidden: Lc0Dense,
    /// To win, draw and loss, or to one number whose tanh is the expected result.
    pub out: Lc0Dense,
}

impl Lc0Net {
    /// Reads `FILE.pb.gz` (or the same unpacked).
    ///
    /// # Errors
    /// One line that names the file and says what is wrong with it or isn't supported.
    pub fn load(path: &Path) -> Result<Lc0Net, String> {
        let named = |why: String| format!("{}: {why}", path.display());
        let file = std::fs::read(path).map_err(|error| named(format!("cannot be read: {error}")))?;
        Lc0Net::decode(&file).map_err(named)
    }

    /// The network in the bytes of a file.
    ///
    /// # Errors
    /// As [`Lc0Net::load`], without the file's name.
    pub fn decode(file: &[u8]) -> Result<Lc0Net, String> {
        let mut unpacked = Vec::new();
        let bytes = if file.starts_with(&[0x1f, 0x8b]) {
            let unzipped = GzDecoder::new(file).read_to_end(&mut unpacked);
            unzipped.map_err(|error| format!("damaged or cut short: {error}"))?;
            &unpacked[..]
        } else {
            file
        };
        let net = proto::ProtoNet::decode(bytes).map_err(|error| format!("not a Leela network: {error}"))?;
        if net.magic != Some(MAGIC) {
            return Err("not a Leela network: their magic number is missing".into());
        }
        let format = net.format.and_then(|format| format.network_format).unwrap_or_default();
        let kind = Lc0Format::of(&format)?;
        let weights = net.weights.ok_or("it holds no weights (an ONNX network inside a Leela file?)")?;
        let steps = net.training_params.and_then(|training| training.training_steps);
        let licence = net.license.filter(|text| !text.trim().is_empty());
        kind.build(&weights, steps, licence)
    }
}

/// What a file says of its network.
struct Lc0Format {
    activation: Lc0Activation,
    convolutional: bool,
    wdl: bool,
}

impl Lc0Format {
    /// Reads the format, as lc0 does (`neural/loader.cc`): what is missing is the oldest there was.
    fn of(format: &ProtoNetworkFormat) -> Result<Lc0Format, String> {
        match format.input.unwrap_or(1) {
            1 => {}
            other => {
                return Err(format!("input format {other} isn't supported, only 1 (112 classical planes)"));
            }
        }
        let (policy, value) = match format.network.unwrap_or(1) {
            0..=2 => (1, 1),
            3 | 4 => (format.policy.unwrap_or(1), format.value.unwrap_or(1)),
            5 => {
                return Err(
                    "it holds an ONNX network, nothing to convert: `lc0 leela2onnx` unpacks it".into()
                );
            }
            other => {
                return Err(format!(
                    "network structure {other} (a transformer?) isn't supported, only residual ones: 1 to 4"
                ));
            }
        };
        Ok(Lc0Format {
            convolutional: match policy {
                1 => false,
                2 => true,
                other => {
                    return Err(format!(
                        "policy head {other} (attention?) isn't supported, only 1 (dense), 2 (convolutional)"
                    ));
                }
            },
            wdl: match value {
                1 => false,
                2 => true,
                other => {
                    return Err(format!(
                        "value head {other} isn't supported, only 1 (scalar), 2 (win, draw, loss)"
                    ));
                }
            },
            activation: match format.default_activation.unwrap_or(0) {
                0 => Lc0Activation::Relu,
                1 => Lc0Activation::Mish,
                other => return Err(format!("activation {other} isn't supported, only 0 (ReLU), 1 (Mish)")),
            },
        })
    }

    fn build(self, w: &ProtoWeights, steps: Option<u32>, licence: Option<String>) -> Result<Lc0Net, String> {
        if !w.encoder.is_empty() {
            return Err("it has transformer layers: only residual networks are supported".into());
        }
        let input = conv(w.input.as_ref(), "input", PLANES, 3)?;
        let channels = input.out();
        let blocks = w.residual.iter().enumerate().map(|(i, block)| residual(block, i, channels));
        let blocks = blocks.collect::<Result<_, _>>()?;
        let policy = if self.convolutional {
            let hidden = conv(w.policy1.as_ref(), "policy1", channels, 3)?;
            let out = conv(w.policy.as_ref(), "policy", hidden.out(), 3)?;
            if out.out() < MOVE_PLANES {
                return Err(format!("policy has {} planes, expected {MOVE_PLANES} or more", out.out()));
            }
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

fn residual(block: &proto::ProtoResidual, index: usize, channels: usize) -> Result<Lc0Block, String> {
    let place = |part: &str| format!("residual[{index}].{part}");
    let layer = |block: &Option<proto::ProtoConvBlock>, part: &str| {
        let layer = conv(block.as_ref(), &place(part), channels, 3)?;
        if layer.out() == channels {
            Ok(layer)
        } else {
            Err(format!("{} makes {} channels, expected {channels}", place(part), layer.out()))
        }
    };
    let squeeze = |se: &proto::ProtoSeUnit| -> Result<Lc0Squeeze, String> {
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

fn sized(layer: Lc0Dense, out: usize, place: &str) -> Result<Lc0Dense, String> {
    if layer.out() == out {
        Ok(layer)
    } else {
        Err(format!("{place} has {} numbers, expected {out}", layer.out()))
    }
}
