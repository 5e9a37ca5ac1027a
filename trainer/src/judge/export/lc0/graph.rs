use engine::nets::encoding::{az4672, lc0_112, lc0_1858};
use shakmaty::{Bitboard, Color, Move, Role, Square, attacks};

use super::layers::{Lc0Conv, Lc0Dense};
use super::network::Lc0Activation;
use super::network::{Lc0Block, Lc0Net, Lc0PolicyHead, Lc0Squeeze, Lc0ValueHead};
use crate::judge::export::graph::{GraphBuilder, GraphValue};

/// Draw logit of networks with a scalar value: P(draw) ≈ 0.
const NO_DRAW: f32 = -100.0;

/// Divides the half-move clock plane and multiplies its weights, which int8 would otherwise round to zero.
const CLOCK_SCALE: f32 = 64.0;

pub fn graph(net: &Lc0Net) -> GraphBuilder {
    let mut writer = Lc0GraphWriter { graph: GraphBuilder::default(), activation: net.activation };
    let input = writer.graph.input("input", &[lc0_112::PLANES as i64, 8, 8]);
    let mut x = writer.first_layer(&input, &net.input);
    for block in &net.blocks {
        x = writer.block(&x, block);
    }
    let policy = writer.policy(&x, &net.policy);
    let wdl = writer.value(&x, &net.value);
    writer.graph.output("policy", &policy, &[lc0_1858::SIZE as i64]);
    writer.graph.output("wdl", &wdl, &[3]);
    writer.graph
}

struct Lc0GraphWriter {
    graph: GraphBuilder,
    activation: Lc0Activation,
}

impl Lc0GraphWriter {
    fn act(&mut self, x: &GraphValue) -> GraphValue {
        match self.activation {
            Lc0Activation::Relu => self.graph.relu(x),
            Lc0Activation::Mish => self.graph.mish(x),
        }
    }

    fn conv(&mut self, x: &GraphValue, conv: &Lc0Conv) -> GraphValue {
        let (out, kernel) = (conv.out() as i64, conv.kernel as i64);
        let inputs = conv.weight.len() as i64 / (out * kernel * kernel);
        let weight = self.graph.floats(&[out, inputs, kernel, kernel], &conv.weight);
        let bias = self.graph.floats(&[out], &conv.bias);
        self.graph.conv(x, &weight, Some(&bias), kernel)
    }

    fn layer(&mut self, x: &GraphValue, conv: &Lc0Conv) -> GraphValue {
        let sum = self.conv(x, conv);
        self.act(&sum)
    }

    /// Scales the half-move clock by [`CLOCK_SCALE`].
    fn first_layer(&mut self, input: &GraphValue, conv: &Lc0Conv) -> GraphValue {
        let mut scales = vec![1.0; lc0_112::PLANES];
        scales[lc0_112::CLOCK] = CLOCK_SCALE.recip();
        let scales = self.graph.floats(&[1, lc0_112::PLANES as i64, 1, 1], &scales);
        let scaled = self.graph.mul(input, &scales);
        let mut conv = conv.clone();
        let kernel = conv.kernel * conv.kernel;
        for weights in conv.weight.chunks_exact_mut(lc0_112::PLANES * kernel) {
            weights[lc0_112::CLOCK * kernel..][..kernel].iter_mut().for_each(|x| *x *= CLOCK_SCALE);
        }
        self.layer(&scaled, &conv)
    }

    fn dense(&mut self, x: &GraphValue, dense: &Lc0Dense) -> GraphValue {
        let out = dense.out() as i64;
        let weight = self.graph.floats(&[out, dense.weight.len() as i64 / out], &dense.weight);
        let bias = self.graph.floats(&[out], &dense.bias);
        self.graph.gemm(x, &weight, &bias)
    }

    /// On pooled channels `[batch, c, 1, 1]`.
    fn pointwise(&mut self, x: &GraphValue, dense: &Lc0Dense) -> GraphValue {
        let Lc0Dense { weight, bias } = dense.clone();
        self.conv(x, &Lc0Conv { weight, bias, kernel: 1 })
    }

    fn block(&mut self, x: &GraphValue, block: &Lc0Block) -> GraphValue {
        let y = self.layer(x, &block.first);
        let mut y = self.conv(&y, &block.second);
        if let Some(squeeze) = &block.squeeze {
            y = self.squeeze(&y, squeeze);
        }
        let sum = self.graph.add(&y, x);
        self.act(&sum)
    }

    fn squeeze(&mut self, x: &GraphValue, squeeze: &Lc0Squeeze) -> GraphValue {
        let pooled = self.graph.global_average(x);
        let hidden = self.pointwise(&pooled, &squeeze.reduce);
        let hidden = self.act(&hidden);
        let scale = self.pointwise(&hidden, &squeeze.scale);
        let scale = self.graph.sigmoid(&scale);
        let shift = self.pointwise(&hidden, &squeeze.shift);
        let scaled = self.graph.mul(x, &scale);
        self.graph.add(&scaled, &shift)
    }

    fn policy(&mut self, x: &GraphValue, policy: &Lc0PolicyHead) -> GraphValue {
        match policy {
            Lc0PolicyHead::Conv { hidden, out } => {
                let hidden = self.layer(x, hidden);
                let planes = self.conv(&hidden, out);
                let flat = self.graph.reshape(&planes, &[-1]);
                self.graph.select(&flat, 1, &plane_squares())
            }
            Lc0PolicyHead::Dense { hidden, out } => {
                let hidden = self.layer(x, hidden);
                let flat = self.graph.reshape(&hidden, &[-1]);
                self.dense(&flat, out)
            }
        }
    }

    fn value(&mut self, x: &GraphValue, value: &Lc0ValueHead) -> GraphValue {
        let squeezed = self.layer(x, &value.squeeze);
        let flat = self.graph.reshape(&squeezed, &[-1]);
        let hidden = self.dense(&flat, &value.hidden);
        let hidden = self.act(&hidden);
        let out = if value.out.out() == 1 { &wdl_from_scalar(&value.out) } else { &value.out };
        self.dense(&hidden, out)
    }
}

/// Logits are (x, no draw, −x). As in lc0, tanh x is the expected result, so P(win) = `(1 + tanh x)/2 = eˣ/(eˣ + e⁻ˣ)`.
fn wdl_from_scalar(scalar: &Lc0Dense) -> Lc0Dense {
    let zero = vec![0.0; scalar.weight.len()];
    let minus: Vec<f32> = scalar.weight.iter().map(|x| -x).collect();
    Lc0Dense {
        weight: [&scalar.weight[..], &zero, &minus].concat(),
        bias: vec![scalar.bias[0], NO_DRAW, -scalar.bias[0]],
    }
}

/// For each of the 1,858 moves: the flat index of its logit in planes `[73, 8, 8]`. They are those of `az4672/1`, but
/// promotion planes stand for rook, bishop and queen, and knight promotions use the plain move's plane (lc0,
/// `neural/tables/policy_map.h`).
fn plane_squares() -> Vec<i64> {
    const PROMOTIONS: i64 = 64;
    let mut all = Vec::with_capacity(lc0_1858::SIZE);
    for from in Square::ALL {
        for to in attacks::queen_attacks(from, Bitboard::EMPTY) | attacks::knight_attacks(from) {
            let m = Move::Normal { role: Role::Queen, from, capture: None, to, promotion: None };
            let index = az4672::index(Color::White, m).offset();
            all.push((index % az4672::TYPES * 64 + index / az4672::TYPES) as i64);
        }
    }
    for file in 0..8 {
        let steps = (-1..=1).filter(|step| (0..8).contains(&(file + step)));
        // Queen, rook, bishop.
        let planes = steps.flat_map(|step| [2, 0, 1].map(|piece| PROMOTIONS + 3 * (step + 1) + piece));
        all.extend(planes.map(|plane| plane * 64 + 48 + file));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn move_planes_match_lc0s_table() {
        let planes = plane_squares();
        assert_eq!(planes.len(), lc0_1858::SIZE);
        // lc0's table: plane, square → index.
        let table = [
            (0, 0, 7),
            (0, 1, 31),
            (1, 1, 35),
            (2, 0, 13),
            (8, 0, 12),
            (14, 0, 0),
            (56, 0, 11),
            (57, 8, 206),
            (58, 8, 196),
            (59, 16, 413),
            (60, 17, 437),
            (61, 10, 245),
            (62, 2, 54),
            (63, 1, 34),
            (64, 49, 1799),
            (65, 55, 1854),
            (66, 50, 1807),
            (67, 48, 1793),
            (68, 48, 1794),
            (69, 55, 1855),
            (70, 48, 1796),
            (72, 54, 1849),
        ];
        for (plane, square, index) in table {
            assert_eq!(planes[index], plane * 64 + square, "plane {plane}, square {square}");
        }
    }

    #[test]
    fn a_scalar_value_becomes_wdl_logits_without_draws() {
        let three = wdl_from_scalar(&Lc0Dense { weight: vec![0.5, -2.0], bias: vec![0.25] });
        let logit =
            |row: usize| three.weight[2 * row] * 0.3 + three.weight[2 * row + 1] * 0.1 + three.bias[row];
        let wdl = engine::nets::eval::Wdl::from_logits([0, 1, 2].map(logit));
        let q = (0.5f32 * 0.3 - 2.0 * 0.1 + 0.25).tanh();
        assert!((wdl.q() - q).abs() < 1e-6 && wdl.draw < 1e-30, "{wdl:?} {q}");
    }
}
