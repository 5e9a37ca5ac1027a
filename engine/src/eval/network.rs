//! A network file, loaded and checked.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ort::value::{Outlet, TensorElementType, ValueType};

use super::card::{Card, CardError, Golden, Schemes, Value};
use super::precision::Timing;
use super::runtime::RuntimeError;
use super::session::{ANSWER, OnnxEvaluator, SCRATCHPAD, Session};
use super::tensors::Tensors;
use super::thinking::{TOKENS, Thinking};
use super::{EvalError, Evaluator, Request};
use crate::position::Game;

/// A network whose card is known, whose tensors have the shapes that the card promises, and whose
/// golden answers have been reproduced on this machine.
#[derive(Clone)]
pub struct Network {
    bytes: Arc<[u8]>,
    card: Card,
    source: Option<PathBuf>,
    /// The steps that it was trained with, if it thinks in steps.
    steps: Option<usize>,
    /// The session that the check was made with: the first one to need a session takes it.
    checked: Arc<Mutex<Option<Session>>>,
}

/// Why a network can't be used; its text is one line and names the file.
#[derive(Debug)]
pub enum NetError {
    /// ONNX Runtime is missing.
    Runtime(RuntimeError),
    /// The file can't be read.
    Unreadable(std::io::Error),
    /// ONNX Runtime refuses the file.
    NotOnnx(String),
    /// The file is one of Leela's, not ONNX.
    Leela,
    /// The file's card is missing or unknown.
    Card(CardError),
    /// A tensor is missing or has another shape or type than its scheme.
    Shape {
        /// The tensor.
        name: &'static str,
        /// What the file has.
        found: String,
        /// What its card promises.
        expected: String,
    },
    /// The network can't be run.
    Evaluation(EvalError),
    /// The network answers something else than its card says.
    Golden(String),
    /// One of the above, in this file.
    InFile(PathBuf, Box<NetError>),
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetError::Runtime(error) => write!(f, "{error}"),
            NetError::Unreadable(error) => write!(f, "can't be read: {error}"),
            NetError::NotOnnx(why) => write!(f, "not an ONNX file that can be run: {why}"),
            NetError::Leela => f.write_str(
                "weights in Leela's own format: `philidor-trainer convert-lc0 FILE --out NAME.onnx` makes a network \
                 of them that can be played with",
            ),
            NetError::Card(error) => write!(f, "{error}"),
            NetError::Shape { name, found, expected } => {
                write!(f, "tensor \"{name}\" is {found}, expected {expected}")
            }
            NetError::Evaluation(error) => write!(f, "{error}"),
            NetError::Golden(why) => write!(f, "wrong answers, the file is damaged or misread: {why}"),
            NetError::InFile(path, error) => write!(f, "network {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for NetError {}

impl Network {
    /// Loads a network file; [`super::Pair`] chooses between the two of a network.
    ///
    /// # Errors
    ///
    /// If the file can't be read, isn't ONNX, has no card or one that this engine doesn't know, has
    /// other tensors than its card promises, or doesn't reproduce its golden answers.
    pub fn load(path: &Path) -> Result<Network, NetError> {
        let bytes = std::fs::read(path)
            .map_err(|error| NetError::InFile(path.to_owned(), Box::new(NetError::Unreadable(error))))?;
        Network::from_file(bytes.into(), Some(path.to_owned()))
    }

    /// The network in the bytes of a file; `None` is one that is part of the program.
    pub(super) fn from_file(bytes: Arc<[u8]>, source: Option<PathBuf>) -> Result<Network, NetError> {
        let name = source.clone().unwrap_or_else(|| "<embedded>".into());
        Network::from_bytes(bytes, source).map_err(|error| match error {
            NetError::Runtime(_) => error,
            other => NetError::InFile(name, Box::new(other)),
        })
    }

    fn from_bytes(bytes: Arc<[u8]>, source: Option<PathBuf>) -> Result<Network, NetError> {
        if LEELA.iter().any(|beginning| bytes.starts_with(beginning)) {
            return Err(NetError::Leela);
        }
        let session = Session::open(&bytes)?;
        let tensors = session.tensors();
        let card = match tensors {
            Tensors::Ours => {
                let metadata =
                    session.inner().metadata().map_err(|error| NetError::NotOnnx(error.to_string()))?;
                Card::read(|name| metadata.custom(name)).map_err(NetError::Card)?
            }
            Tensors::Lc0(_) => {
                let stem = source.as_deref().and_then(Path::file_stem);
                Card::of_lc0(stem.map_or("lc0".into(), |stem| stem.to_string_lossy().into_owned()))
            }
        };
        let Schemes { input, policy, value } = card.schemes;
        check_tensor(tensors.input(), session.inner().inputs(), input.shape())?;
        check_tensor(tensors.policy(), session.inner().outputs(), &[policy.size()])?;
        if let Some((value, width)) = tensors.value(value) {
            check_tensor(value, session.inner().outputs(), &[width])?;
        }
        if let Some(core) = session.core() {
            let width = core.width();
            for ((given, made), tokens) in [(ANSWER, 1), (SCRATCHPAD, TOKENS)] {
                check_tensor(given, session.inner().inputs(), &[tokens, width])?;
                check_tensor(made, session.inner().outputs(), &[tokens, width])?;
            }
        }
        let steps = session.core().map(|core| core.steps);
        let mut evaluator = OnnxEvaluator::new(session, card.golden.len().max(1), Thinking::default());
        check_golden(&mut evaluator, &card)?;
        let checked = Arc::new(Mutex::new(Some(evaluator.into_session())));
        Ok(Network { bytes, card, source, steps, checked })
    }

    /// What the file says of itself.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The network's name, as its card gives it.
    pub fn name(&self) -> &str {
        &self.card.name
    }

    /// One line for people: name, precision, family, schemes, size, where it came from.
    pub fn describe(&self) -> String {
        let Card { name, family, schemes, precision, .. } = &self.card;
        let (input, policy) = (schemes.input.name(), schemes.policy.name());
        let value = if schemes.value == Value::None { ", without a value" } else { "" };
        let steps = self.steps.map_or(String::new(), |steps| format!(", thinks in {steps} steps"));
        let size = self.bytes.len() as f64 / 1e6;
        let source = self.source.as_ref().map_or("embedded".to_owned(), |path| path.display().to_string());
        format!("{name} ({precision} {family}, {input} -> {policy}{value}{steps}, {size:.1} MB, {source})")
    }

    /// What a network has to be asked with, and what its answers depend on.
    pub fn schemes(&self) -> Schemes {
        self.card.schemes
    }

    /// An evaluator with a session of its own: one per worker. A network that thinks in steps takes all that it was
    /// trained with.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime can't open another session.
    pub fn evaluator(&self, max_batch: usize) -> Result<Box<dyn Evaluator>, NetError> {
        self.thinker(max_batch, Thinking::default())
    }

    /// An evaluator that thinks about each position as long as `thinking` says, if the network thinks in steps.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime can't open another session.
    pub fn thinker(&self, max_batch: usize, thinking: Thinking) -> Result<Box<dyn Evaluator>, NetError> {
        Ok(Box::new(OnnxEvaluator::new(self.session()?, max_batch, thinking)))
    }

    /// A bare session, for measurements and for comparing logits.
    ///
    /// # Errors
    ///
    /// If ONNX Runtime can't open another session.
    pub fn session(&self) -> Result<Session, NetError> {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner).take();
        checked.map_or_else(|| Session::open(&self.bytes), Ok)
    }

    /// Times two networks against each other, in the sessions that they were checked with.
    pub(super) fn race(fp32: &Network, int8: &Network, batch: usize) -> Result<Timing, NetError> {
        let mut sessions = [fp32.session()?, int8.session()?];
        let [slow, fast] = &mut sessions;
        let timing = Timing::measure(slow, fast, batch).map_err(NetError::Evaluation)?;
        for (network, session) in [fp32, int8].into_iter().zip(sessions) {
            *network.checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        }
        Ok(timing)
    }
}

/// How Leela's weights begin: packed by gzip as they come, or unpacked, with their magic number.
const LEELA: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x0d, 0xc0, 0x01, 0x00, 0x00]];

/// Checks that a tensor is `[batch] + dimensions` of floats.
fn check_tensor(name: &'static str, outlets: &[Outlet], dimensions: &[usize]) -> Result<(), NetError> {
    let dimensions: Vec<i64> = dimensions.iter().map(|dimension| *dimension as i64).collect();
    let wrong = |found: String| {
        let expected = format!("f32 [batch, {}]", join(&dimensions));
        Err(NetError::Shape { name, found, expected })
    };
    let Some(outlet) = outlets.iter().find(|outlet| outlet.name() == name) else {
        let names: Vec<_> = outlets.iter().map(Outlet::name).collect();
        return wrong(format!("missing among {}", names.join(", ")));
    };
    match outlet.dtype() {
        ValueType::Tensor { ty: TensorElementType::Float32, shape, .. }
            if shape.len() == dimensions.len() + 1 && shape[0] == -1 && shape[1..] == dimensions =>
        {
            Ok(())
        }
        ValueType::Tensor { ty, shape, .. } => wrong(format!("{ty} [{}]", join(shape))),
        other => wrong(format!("{other:?}")),
    }
}

fn join(dimensions: &[i64]) -> String {
    dimensions.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

fn check_golden(evaluator: &mut OnnxEvaluator, card: &Card) -> Result<(), NetError> {
    let mut games: Vec<Game> = card.golden.iter().map(golden_game).collect::<Result<_, _>>()?;
    if games.is_empty() {
        // Nothing to compare with: but it has to answer.
        games.push(Game::new());
    }
    let legal: Vec<_> = games.iter().map(Game::legal_moves).collect();
    let requests: Vec<Request<'_>> =
        games.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
    let answers = evaluator.evaluate(&requests).map_err(NetError::Evaluation)?;
    let tolerance = card.tolerance();
    for ((golden, answer), moves) in card.golden.iter().zip(&answers).zip(&legal) {
        let check = |what: &str, got: f32, want: f32| {
            if (got - want).abs() <= tolerance {
                Ok(())
            } else {
                let place = format!("{} {}", golden.fen, golden.moves);
                Err(NetError::Golden(format!("{what} {got:.4} instead of {want:.4} in {}", place.trim())))
            }
        };
        if card.schemes.value == Value::Wdl {
            check("win", answer.wdl.win, golden.wdl[0])?;
            check("draw", answer.wdl.draw, golden.wdl[1])?;
            check("loss", answer.wdl.loss, golden.wdl[2])?;
        }
        for (m, prior) in moves.iter().zip(&answer.priors) {
            let uci = Game::uci(*m, false);
            let want = golden.policy.get(&uci).copied();
            let want =
                want.ok_or_else(|| NetError::Golden(format!("no answer for {uci} in {}", golden.fen)))?;
            check(&uci, *prior, want)?;
        }
    }
    Ok(())
}

fn golden_game(golden: &Golden) -> Result<Game, NetError> {
    let unplayable = |error: crate::position::PositionError| NetError::Golden(error.to_string());
    let mut game = Game::from_fen(&golden.fen).map_err(unplayable)?;
    for text in golden.moves.split_whitespace() {
        let m = game.parse_uci(text).map_err(unplayable)?;
        game.play(m);
    }
    if game.legal_moves().is_empty() {
        return Err(NetError::Golden(format!("no legal move in {} {}", golden.fen, golden.moves)));
    }
    Ok(game)
}
