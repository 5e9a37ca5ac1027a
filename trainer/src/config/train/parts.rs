//! The parts of a run's settings that stand on their own.

use crate::config::Selection;
use serde::{Deserialize, Serialize};

/// How the gradient becomes a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimiserKind {
    /// AdamW (Loshchilov and Hutter 2019).
    #[default]
    AdamW,
    /// Stochastic gradient descent with momentum, Nesterov's unless told otherwise (Sutskever et al. 2013). Its
    /// learning rates are some hundred times AdamW's.
    Sgd,
}

/// One set of games to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    /// What metrics call it.
    pub name: String,
    /// `games/1` files; `*` and `?` stand for parts of file names.
    pub paths: Vec<String>,
    /// Its share of the samples, relative to the other sources'.
    #[serde(default = "one")]
    pub weight: f64,
    /// Which of their games are learnt from and validated on.
    #[serde(default)]
    pub select: Selection,
    /// Most passes that are an epoch of this source, each of which takes one position of every game, another each time;
    /// 0 for as many as a game has positions on average.
    #[serde(default)]
    pub positions_per_game: u64,
}

fn one() -> f64 {
    1.0
}

/// How the learning rate goes on after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// Half a cosine from `lr` down to `min_lr`, over `samples` or `minutes`, whichever ends first.
    #[default]
    Cosine,
    /// `lr` throughout.
    Constant,
    /// `lr`, times `plateau_factor` whenever `plateau_patience` validations in a row brought nothing, down to
    /// `min_lr`.
    Plateau,
}

/// Elastic weight consolidation: an earlier task's weights are held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EwcConfig {
    /// How firmly; 0 for not at all.
    pub weight: f64,
    /// The earlier task's games: what the first weights do there is not to be forgotten.
    pub sources: Vec<SourceConfig>,
    /// How many of its samples are looked at.
    pub samples: u64,
}

impl Default for EwcConfig {
    fn default() -> Self {
        EwcConfig { weight: 0.0, sources: Vec::new(), samples: 20_000 }
    }
}

/// Hard tactical positions are shown again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TacticalReplay {
    /// Their share of a batch, as far as there are enough; 0 for none.
    pub share: f64,
    /// How many are kept.
    pub capacity: usize,
    /// Policy loss (nat) from which a capture, check or promotion counts as hard.
    pub threshold: f64,
}

impl Default for TacticalReplay {
    fn default() -> Self {
        TacticalReplay { share: 0.0, capacity: 20_000, threshold: 2.0 }
    }
}

/// Distillation (Hinton, Vinyals and Dean 2015): a network that is there already is imitated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TeacherConfig {
    /// Its file, any that the engine loads; empty for no teacher.
    pub net: String,
    /// Its share of policy and value loss; the rest is the game's.
    pub alpha: f64,
    /// What both policies' logits are divided by before they are compared.
    pub temperature: f64,
}

impl Default for TeacherConfig {
    fn default() -> Self {
        TeacherConfig { net: String::new(), alpha: 0.5, temperature: 1.0 }
    }
}
