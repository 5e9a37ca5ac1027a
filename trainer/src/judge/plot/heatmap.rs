use std::path::Path;

use anyhow::{Result, anyhow, bail};
use engine::nets::encoding::{Input, Policy, onehot832};
use shakmaty::uci::UciMove;
use shakmaty::{Color, Move, Piece, Rank, Role, Square, attacks};

use super::canvas::{Canvas, LINE, width_of};
use crate::base::network::load_network;

const BATCH: usize = 64;
/// Pixels between boards.
const GAP: u32 = 12;
/// Share of the weights within the colour scale; outliers are clipped.
const IN_SCALE: f64 = 0.995;

/// Without biases.
pub struct LinearWeights {
    /// `[832, 1968]`.
    weights: Vec<f32>,
}

/// A weight between one input and one output.
pub struct WeightTerm {
    pub weight: f32,
    pub name: String,
}

impl LinearWeights {
    /// Reads weights of any precision as the logits of each unit vector minus those of the zero vector. The schemes
    /// must be `onehot832/1` and `uci1968/1`.
    pub fn load(path: &Path) -> Result<LinearWeights> {
        let network = load_network(path)?.onnx("a heat map of weights")?;
        let schemes = network.schemes();
        let is_linear = network.card().family == "linear";
        if !is_linear || schemes.input != Input::Onehot832 || schemes.policy != Policy::Uci1968 {
            bail!("only linear networks have weights that can be drawn, not {}", network.describe());
        }
        let mut session = network.session()?;
        let mut run = |input: &[f32]| session.run(input, |logits| logits.policy.to_vec());
        let bias = run(&[0.0; onehot832::INPUT_SIZE])?;
        let mut weights = Vec::with_capacity(onehot832::INPUT_SIZE * bias.len());
        for first in (0..onehot832::INPUT_SIZE).step_by(BATCH) {
            let mut input = vec![0.0; BATCH.min(onehot832::INPUT_SIZE - first) * onehot832::INPUT_SIZE];
            for (i, row) in input.chunks_exact_mut(onehot832::INPUT_SIZE).enumerate() {
                row[first + i] = 1.0;
            }
            for row in run(&input)?.chunks_exact(bias.len()) {
                weights.extend(row.iter().zip(&bias).map(|(logit, bias)| logit - bias));
            }
        }
        Ok(LinearWeights { weights })
    }

    /// Weight for the logit of `m`; `None` is an empty square.
    fn weight(&self, piece: Option<Piece>, square: Square, m: Move) -> f32 {
        let state = piece.map_or(0, |Piece { color, role }| color.fold_wb(0, 6) + role as usize);
        let row = square.flip_vertical() as usize * onehot832::STATES + state;
        self.weights[row * Policy::Uci1968.size() + Policy::Uci1968.index(Color::White, m).offset()]
    }

    /// Weights for every state of every square.
    pub fn of_move(&self, m: Move) -> Vec<WeightTerm> {
        let term = |piece: Option<Piece>| {
            Square::ALL.map(|square| WeightTerm {
                weight: self.weight(piece, square, m),
                name: format!("{} on {square}", name(piece)),
            })
        };
        states().into_iter().flat_map(term).collect()
    }

    /// Weights for the piece's moves from each square.
    pub fn of_piece(&self, piece: Piece) -> Vec<WeightTerm> {
        let mut terms = Vec::new();
        for from in Square::ALL {
            for m in Square::ALL.into_iter().filter_map(|to| joining(piece.role, from, to)) {
                let name = format!("{}{} for the {} on {from}", from, m.to(), name(Some(piece)));
                terms.push(WeightTerm { weight: self.weight(Some(piece), from, m), name });
            }
        }
        terms
    }
}

/// In input order: empty, White's pieces, Black's.
fn states() -> Vec<Option<Piece>> {
    let of = |color: Color| Role::ALL.map(move |role| Some(Piece { color, role }));
    [None].into_iter().chain(of(Color::White)).chain(of(Color::Black)).collect()
}

fn name(piece: Option<Piece>) -> String {
    match piece {
        None => "empty".into(),
        Some(Piece { color, role }) => {
            let role = ["pawn", "knight", "bishop", "rook", "queen", "king"][role as usize - 1];
            format!("{} {role}", color.fold_wb("white", "black"))
        }
    }
}

/// A pawn's move to the last rank is the queen promotion.
fn joining(role: Role, from: Square, to: Square) -> Option<Move> {
    let queens = attacks::queen_attacks(from, shakmaty::Bitboard::EMPTY);
    let is_last = (from.rank(), to.rank()) == (Rank::Seventh, Rank::Eighth)
        || (from.rank(), to.rank()) == (Rank::Second, Rank::First);
    let near = (from.file() as i32 - to.file() as i32).abs() <= 1;
    let promotion = (role == Role::Pawn && is_last && near).then_some(Role::Queen);
    (queens | attacks::knight_attacks(from)).contains(to).then_some(Move::Normal {
        role,
        from,
        capture: None,
        to,
        promotion,
    })
}

pub fn parse(uci: &UciMove) -> Result<Move> {
    let unknown = || anyhow!("no move is called {uci}");
    let UciMove::Normal { from, to, promotion } = *uci else { bail!(unknown()) };
    let role = if promotion.is_some() { Role::Pawn } else { Role::Queen };
    match joining(role, from, to).ok_or_else(unknown)? {
        Move::Normal { promotion: Some(_), .. } => {
            match promotion {
                Some(Role::Knight | Role::Bishop | Role::Rook | Role::Queen) => {}
                _ => bail!(unknown()),
            }
            Ok(Move::Normal { role, from, capture: None, to, promotion })
        }
        _ if promotion.is_some() => bail!(unknown()),
        m => Ok(m),
    }
}

/// The absolute weight that is drawn in full colour: the `IN_SCALE` quantile, so that outliers do not pale the rest.
fn scale(weights: impl Iterator<Item = f32>) -> f32 {
    let mut sizes: Vec<f32> = weights.map(f32::abs).collect();
    sizes.sort_by(f32::total_cmp);
    let within = (sizes.len().saturating_sub(1) as f64 * IN_SCALE) as usize;
    sizes.get(within).copied().unwrap_or(0.0).max(f32::MIN_POSITIVE)
}

/// Upper left corner, for a board at `[x, y]` with squares of `side` pixels.
fn corner([x, y]: [u32; 2], square: Square, side: u32) -> [u32; 2] {
    [x + square.file() as u32 * side, y + (7 - square.rank() as u32) * side]
}

fn titled(title: &str, [width, height]: [u32; 2]) -> Canvas {
    let mut canvas = Canvas::new(width.max(width_of(title) + 2 * GAP), height);
    canvas.text([GAP, GAP], title);
    canvas
}

/// One board per state of a square.
pub fn draw_move(weights: &LinearWeights, m: Move, uci: &UciMove, side: u32) -> Canvas {
    let step = [8 * side + GAP, 8 * side + LINE + GAP];
    let limit = scale(weights.of_move(m).iter().map(|term| term.weight));
    let title = format!("weights for {uci}: positive red, negative blue; full colour: {limit:.2}");
    let mut canvas = titled(&title, [7 * step[0] + GAP, 2 * step[1] + LINE + 2 * GAP]);
    for piece in states() {
        let [column, row] = piece.map_or([0, 0], |Piece { color, role }| [role as u32, color.fold_wb(0, 1)]);
        let [x, y] = [GAP + column * step[0], LINE + 2 * GAP + row * step[1]];
        canvas.text([x, y], &name(piece));
        for square in Square::ALL {
            let weight = weights.weight(piece, square, m);
            canvas.square(corner([x, y + LINE], square, side), side, Some(weight / limit));
        }
        for square in [m.from(), Some(m.to())].into_iter().flatten() {
            canvas.outline(corner([x, y + LINE], square, side), side);
        }
        canvas.outline([x - 1, y + LINE - 1], 8 * side + 2);
    }
    canvas
}

/// One small board per square of the piece.
pub fn draw_piece(weights: &LinearWeights, piece: Piece, side: u32) -> Canvas {
    let side = side.div_ceil(2);
    let step = 8 * side + GAP / 2;
    let limit = scale(weights.of_piece(piece).iter().map(|term| term.weight));
    let title =
        format!("weights of a {} for its moves from each square; full colour: {limit:.2}", name(Some(piece)));
    let mut canvas = titled(&title, [8 * step + 2 * GAP, 8 * step + LINE + 3 * GAP]);
    for from in Square::ALL {
        let place = corner([GAP, LINE + 2 * GAP], from, step);
        for to in Square::ALL {
            let weight = joining(piece.role, from, to).map(|m| weights.weight(Some(piece), from, m) / limit);
            canvas.square(corner(place, to, side), side, weight);
        }
        canvas.outline(corner(place, from, side), side);
    }
    canvas
}

#[cfg(all(test, feature = "libtorch"))]
pub(crate) mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::TrainConfig;
    use crate::judge::export::onnx;
    use crate::learn::torch::families::{Net, Weights};
    use tch::{Device, Kind};

    pub(crate) fn net(folder: &Path, model: &str) -> (PathBuf, Weights) {
        let config = TrainConfig::parse(model, &[]).unwrap();
        let net = Net::new(&config.model).unwrap();
        let weights = Weights::new(net.layout(), Device::Cpu, Kind::Float, 3);
        let path = folder.join("net.onnx");
        std::fs::write(&path, onnx("net", &net, &weights, &config)).unwrap();
        (path, weights)
    }

    fn square(name: &str) -> Square {
        name.parse().unwrap()
    }

    #[test]
    fn the_weights_are_the_networks() {
        let folder = tempfile::tempdir().unwrap();
        let (path, weights) = net(folder.path(), r#"{"model": {"family": "linear"}}"#);
        let linear = LinearWeights::load(&path).unwrap();
        let (_, w) = weights.layout().named_params(&weights.flat).swap_remove(0);
        // The 13 inputs of e2 begin at (6 · 8 + 4) · 13; e2e4 is move 930.
        let e2e4 = parse(&"e2e4".parse().unwrap()).unwrap();
        let pawn = Piece { color: Color::White, role: Role::Pawn };
        let expected = w.get(930).get((6 * 8 + 4) * 13 + 1).double_value(&[]) as f32;
        assert!((linear.weight(Some(pawn), square("e2"), e2e4) - expected).abs() < 1e-5);
        let king = Piece { color: Color::Black, role: Role::King };
        let expected = w.get(930).get((3 * 8 + 7) * 13 + 12).double_value(&[]) as f32;
        assert!((linear.weight(Some(king), square("h5"), e2e4) - expected).abs() < 1e-5);
        assert_eq!(linear.of_move(e2e4).len(), 832);
        assert_eq!(linear.of_piece(king).len(), 1792);
    }

    #[test]
    fn other_networks_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = net(folder.path(), r#"{"model": {"family": "mlp", "hidden": [4]}}"#);
        assert!(LinearWeights::load(&path).err().unwrap().to_string().contains("only linear networks"));
    }
}
