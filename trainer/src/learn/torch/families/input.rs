//! Expands compact batches to input tensors on the device. A sample of `planes72/1` is uploaded as bit masks (about 1.2
//! kB with legal moves) instead of floats (18 kB).

use crate::data::loader::{Batch, PolicyShares, TeacherTargets};
use engine::nets::encoding::{Input, onehot832, planes72};
use engine::nets::eval::Schemes;
use tch::{Device, Kind, Tensor};

const PLANES: i64 = planes72::PLANES as i64;
const ROWS: i64 = planes72::ROWS as i64;
const SCALARS: i64 = planes72::SCALARS as i64;
const CENTRE: i64 = planes72::CENTRE as i64;

/// A batch of size `n` on the device. `size` is the number of policy indices.
pub struct DeviceBatch {
    /// `[n]` + the input scheme's shape, in the compute dtype; channels-last for `planes72/1`.
    pub input: Tensor,
    /// `[n, size]` bool
    pub illegal: Tensor,
    /// `[n]` i64: index of the move played.
    pub policy: Tensor,
    /// `[n, 3]` fp32: WDL for the side to move; all zero if unknown.
    pub wdl: Tensor,
    /// `[n]` i64
    pub source: Tensor,
    /// `[n]` fp32: 1 if the move played captures, promotes or gives check; `None` if the batch lacks these flags.
    pub tactical: Option<Tensor>,
    /// Of all samples, if any sample's target has more than one move.
    pub shares: Option<DeviceShares>,
    pub teacher_targets: Option<DeviceTeacherTargets>,
}

/// A sparse matrix, one entry per move with non-zero probability.
pub struct DeviceShares {
    /// `[m]` i64: sample index.
    pub rows: Tensor,
    /// `[m]` i64: index into the flattened logits, `size · row + index`.
    pub places: Tensor,
    /// `[m]` fp32: target probability.
    pub shares: Tensor,
    /// `[n]` bool: whether the target is the move played alone.
    pub played: Tensor,
}

pub struct DeviceTeacherTargets {
    /// `[n, size]` fp32: probabilities, 0 for illegal moves.
    pub policy: Tensor,
    /// `[n, 3]` fp32: WDL for the side to move.
    pub wdl: Tensor,
}

pub struct Expander {
    device: Device,
    kind: Kind,
    input: Input,
    policy: i64,
    /// `[8]` u8: 0 to 7, the bit of each file in a rank's byte.
    files: Tensor,
    /// `[73]` fp32: constant value of each row of `planes72/1`; 0 if the value depends on the sample.
    constants: Tensor,
    /// `[3, 73]` fp32: one-hot row of each scalar.
    selector: Tensor,
}

impl Expander {
    /// `kind` is the dtype of the inputs. Panics if no trainable family uses the input scheme.
    pub fn new(device: Device, kind: Kind, schemes: Schemes) -> Expander {
        let trainable = !matches!(schemes.input, Input::Lc0112 | Input::Planes119);
        assert!(trainable, "{} is no input scheme of a trainable family", schemes.input.name());
        let mut constants: Vec<f32> = (0..planes72::ROWS).map(planes72::constant_value).collect();
        let mut selector = vec![0f32; planes72::SCALARS * planes72::ROWS];
        for (i, &row) in planes72::SCALAR_ROWS.iter().enumerate() {
            constants[row] = 0.0;
            selector[i * planes72::ROWS + row] = 1.0;
        }
        Expander {
            device,
            kind,
            input: schemes.input,
            policy: schemes.policy.size() as i64,
            files: Tensor::from_slice(&[0u8, 1, 2, 3, 4, 5, 6, 7]).to_device(device),
            constants: Tensor::from_slice(&constants).to_device(device),
            selector: Tensor::from_slice(&selector).view([SCALARS, ROWS]).to_device(device),
        }
    }

    /// Asynchronous on a GPU.
    pub fn upload(&self, batch: &Batch) -> DeviceBatch {
        let _guard = tch::no_grad_guard();
        let n = batch.size as i64;
        let indices: Vec<i64> = batch.policy.iter().map(|&index| i64::from(index)).collect();
        let sources: Vec<i64> = batch.source.iter().map(|&source| i64::from(source)).collect();
        let legal = self.bits(&batch.legal).view([n, -1]).narrow(1, 0, self.policy);
        DeviceBatch {
            input: self.expand(batch),
            illegal: legal.logical_not(),
            policy: self.send(Tensor::from_slice(&indices)),
            wdl: self.send(Tensor::from_slice(&batch.wdl).view([n, 3])),
            source: self.send(Tensor::from_slice(&sources)),
            tactical: (batch.tactical.len() == batch.size).then(|| {
                let tactical: Vec<f32> = batch.tactical.iter().map(|&tactical| f32::from(tactical)).collect();
                self.send(Tensor::from_slice(&tactical))
            }),
            shares: (!batch.shares.is_empty()).then(|| self.shares(&batch.shares, &batch.policy)),
            teacher_targets: batch
                .teacher_targets
                .as_ref()
                .map(|teacher_targets| self.teacher_targets(teacher_targets, n)),
        }
    }

    /// A sample without shares gets the move `played` with probability 1.
    fn shares(&self, shares: &PolicyShares, played: &[u16]) -> DeviceShares {
        let (mut rows, mut places, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let mut entries = shares.indices.iter().zip(&shares.shares);
        for ((row, length), played) in (0i64..).zip(&shares.lengths).zip(played) {
            let alone = (*length == 0).then_some((played, &1.0));
            for (index, share) in entries.by_ref().take(usize::from(*length)).chain(alone) {
                rows.push(row);
                places.push(self.policy * row + i64::from(*index));
                parts.push(*share);
            }
        }
        DeviceShares {
            rows: self.send(Tensor::from_slice(&rows)),
            places: self.send(Tensor::from_slice(&places)),
            shares: self.send(Tensor::from_slice(&parts)),
            played: self.send(Tensor::from_slice(&shares.lengths).eq(0)),
        }
    }

    fn teacher_targets(&self, teacher_targets: &TeacherTargets, n: i64) -> DeviceTeacherTargets {
        let moves = teacher_targets.rows.iter().zip(&teacher_targets.indices);
        let places: Vec<i64> =
            moves.map(|(row, index)| i64::from(*row) * self.policy + i64::from(*index)).collect();
        let places = self.send(Tensor::from_slice(&places));
        let probabilities = self.send(Tensor::from_slice(&teacher_targets.probabilities));
        let policy =
            Tensor::zeros([n * self.policy], (Kind::Float, self.device)).scatter_(0, &places, &probabilities);
        DeviceTeacherTargets {
            policy: policy.view([n, self.policy]),
            wdl: self.send(Tensor::from_slice(&teacher_targets.wdl).view([n, 3])),
        }
    }

    pub fn expand(&self, batch: &Batch) -> Tensor {
        let _guard = tch::no_grad_guard();
        let n = batch.size as i64;
        let bits = self.bits(&batch.masks).view([n, -1, 8, 8]);
        match self.input {
            Input::Planes72 => {
                let scalars = self.send(Tensor::from_slice(&batch.scalars).view([n, SCALARS]));
                self.planes72(&bits, &scalars)
            }
            Input::Planes19 | Input::Planes14 => bits.to_kind(self.kind),
            Input::Onehot832 => {
                // From [state, rank, file] to [rank, file, state], with the ranks from 8 to 1.
                let squares = bits.flip([2]).permute([0, 2, 3, 1]);
                squares.reshape([n, onehot832::INPUT_SIZE as i64]).to_kind(self.kind)
            }
            Input::Lc0112 | Input::Planes119 => unreachable!("rejected by Expander::new"),
        }
    }

    fn send(&self, tensor: Tensor) -> Tensor {
        if self.device.is_cuda() {
            // Copies from pinned memory overlap with computation. `pin_memory` does the same, but libtorch 2.11 prints
            // a warning at each call with a device, and tch always gives one.
            tensor.internal_pin_memory(self.device).to_device_(self.device, tensor.kind(), true, false)
        } else {
            tensor
        }
    }

    /// Lowest bit first, as 0 or 1: `[words · 64]` u8.
    fn bits(&self, words: &[u64]) -> Tensor {
        let words: Vec<i64> = words.iter().map(|word| i64::from_le(word.cast_signed())).collect();
        let bytes = self.send(Tensor::from_slice(&words)).view_dtype(Kind::Uint8);
        bytes.unsqueeze(-1).bitwise_right_shift(&self.files).bitwise_and(1)
    }

    /// Multiplies `bits` `[n, 73, 8, 8]` by each row's value; `scalars` is `[n, 3]`.
    fn planes72(&self, bits: &Tensor, scalars: &Tensor) -> Tensor {
        let bits = bits.permute([0, 2, 3, 1]).contiguous();
        let values = self.constants.addmm(scalars, &self.selector).to_kind(self.kind);
        let values = values.narrow(1, 0, PLANES).unsqueeze(1).unsqueeze(1);
        let planes = bits.narrow(3, 0, PLANES).to_kind(self.kind) * values;
        // The last row holds the squares with the centre plane's second value, disjoint from the first.
        let centre = bits.select(3, ROWS - 1).to_kind(self.kind);
        let extra = f64::from(planes72::constant_value(planes72::ROWS - 1));
        _ = planes.select(3, CENTRE).g_add_(&(centre * extra));
        planes.permute([0, 3, 1, 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::data::samples::EncodedInput;
    use engine::chess::position::Game;

    fn families() -> Vec<Schemes> {
        let config = |family: &str| serde_json::from_value(serde_json::json!({ "family": family }));
        ["resnet", "mlp", "linear", "trm"]
            .map(|family| config(family).unwrap())
            .iter()
            .map(ModelConfig::schemes)
            .collect()
    }

    #[test]
    fn expansion_equals_the_engines_own_inputs() {
        for schemes in families() {
            let mut game = Game::new();
            let mut batch = Batch::default();
            let mut expected: Vec<f32> = Vec::new();
            for uci in ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5c6", "d7c6", "e1g1", "d8d6"] {
                let EncodedInput { masks, scalars } =
                    EncodedInput::new(schemes.input, &game, &game.legal_moves(), None);
                batch.size += 1;
                batch.masks.extend(masks);
                batch.scalars.extend(scalars);
                expected.extend(schemes.input.tensor(std::slice::from_ref(&game)));
                let m = game.parse_uci(uci).unwrap();
                game.play(m);
            }
            let input = Expander::new(Device::Cpu, Kind::Float, schemes).expand(&batch);
            let shape: Vec<usize> = input.size().iter().map(|n| *n as usize).collect();
            assert_eq!((shape[0], &shape[1..]), (10, schemes.input.shape()));
            let got: Vec<f32> = input.contiguous().view([-1]).try_into().unwrap();
            assert_eq!(got, expected, "{}", schemes.input.name());
        }
    }

    #[test]
    fn teacher_targets_become_dense_rows() {
        let schemes = ModelConfig::default().schemes();
        let game = Game::new();
        let moves = game.legal_moves();
        let encoded = EncodedInput::new(schemes.input, &game, &moves, None);
        let mut legal = vec![0; schemes.policy.size().div_ceil(64)];
        let mut targets = TeacherTargets { wdl: vec![0.25; 12], ..TeacherTargets::default() };
        for m in &moves {
            let index = schemes.policy.index(game.turn(), *m);
            legal[index.offset() / 64] |= 1 << (index.offset() % 64);
            for row in 0..4 {
                targets.rows.push(row);
                targets.indices.push(index.0);
                targets.probabilities.push(1.0 / moves.len() as f32);
            }
        }
        let batch = Batch {
            size: 4,
            masks: encoded.masks.repeat(4),
            scalars: encoded.scalars.repeat(4),
            legal: legal.repeat(4),
            policy: vec![targets.indices[0]; 4],
            wdl: vec![0.0; 12],
            source: vec![0; 4],
            teacher_targets: Some(targets),
            ..Batch::default()
        };
        let device = Expander::new(Device::Cpu, Kind::Float, schemes).upload(&batch);
        let teacher_targets = device.teacher_targets.expect("a teacher's answers");
        assert_eq!((teacher_targets.policy.size(), teacher_targets.wdl.size()), (vec![4, 4672], vec![4, 3]));
        let sums: Vec<f32> =
            teacher_targets.policy.sum_dim_intlist([1i64].as_slice(), false, Kind::Float).try_into().unwrap();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-5), "{sums:?}");
        let illegal = teacher_targets.policy.masked_select(&device.illegal).sum(Kind::Float);
        assert_eq!(illegal.double_value(&[]), 0.0);
    }

    #[test]
    fn legal_bits_become_the_mask_of_illegal_moves() {
        for schemes in families() {
            let size = schemes.policy.size();
            let expander = Expander::new(Device::Cpu, Kind::Float, schemes);
            let encoded = EncodedInput::new(schemes.input, &Game::new(), &Game::new().legal_moves(), None);
            let batch = Batch {
                size: 1,
                masks: encoded.masks,
                scalars: encoded.scalars,
                legal: (0..size.div_ceil(64)).map(|word| if word == 2 { 1 << 5 } else { 0 }).collect(),
                policy: vec![133],
                wdl: vec![1.0, 0.0, 0.0],
                source: vec![0],
                ..Batch::default()
            };
            let device = expander.upload(&batch);
            assert_eq!(device.illegal.size(), [1, size as i64]);
            assert_eq!(i64::try_from(device.illegal.sum(Kind::Int64)).unwrap(), size as i64 - 1);
            assert!(!bool::try_from(device.illegal.get(0).get(133)).unwrap());
        }
    }
}
