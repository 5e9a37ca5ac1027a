use crate::config::Selection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OptimiserKind {
    /// AdamW (Loshchilov and Hutter 2019).
    #[default]
    AdamW,
    /// SGD, by default with Nesterov momentum (Sutskever et al. 2013). Its learning rates are about a hundred times
    /// AdamW's.
    Sgd,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    /// Name of the source in reports.
    pub name: String,
    /// `games/1` files; `*` and `?` are wildcards.
    pub paths: Vec<String>,
    /// Share of the samples, relative to the other sources.
    #[serde(default = "one")]
    pub weight: f64,
    #[serde(default)]
    pub select: Selection,
    /// Share of the training games that are used, above 0 to 1, chosen by their hash: a larger share has the games of a
    /// smaller. Validation uses all of its games.
    #[serde(default = "one")]
    pub fraction: f64,
    /// Bounds an epoch to this many samples per game of the source; 0 for every position once. The samples are drawn
    /// from all positions, so long games give more.
    #[serde(default)]
    pub positions_per_game: u64,
}

fn one() -> f64 {
    1.0
}

/// Elastic weight consolidation (Kirkpatrick et al. 2017): a quadratic penalty on changes of weights that matter for an
/// earlier task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EwcConfig {
    /// 0 for none.
    pub weight: f64,
    /// Games on which the network should not get worse.
    pub sources: Vec<SourceConfig>,
    /// For the estimate of the Fisher information.
    pub samples: u64,
}

impl Default for EwcConfig {
    fn default() -> Self {
        EwcConfig { weight: 0.0, sources: Vec::new(), samples: 20_000 }
    }
}

/// Tactical replay: repeats captures, checks and promotions that had a high policy loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TacticalReplay {
    /// Largest share of a batch; 0 for none.
    pub share: f64,
    /// Positions in the replay buffer.
    pub capacity: usize,
    /// Least policy loss, in nats, of a position that is repeated.
    pub threshold: f64,
}

impl Default for TacticalReplay {
    fn default() -> Self {
        TacticalReplay { share: 0.0, capacity: 20_000, threshold: 2.0 }
    }
}

/// Knowledge distillation (Hinton, Vinyals and Dean 2015) from an existing network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TeacherConfig {
    /// Network file of any family; empty for no teacher.
    pub net: String,
    /// Weight of the distillation terms in policy and value loss; the recorded targets get the rest.
    pub alpha: f64,
    /// Softmax temperature of both policies in the distillation loss.
    pub temperature: f64,
}

impl Default for TeacherConfig {
    fn default() -> Self {
        TeacherConfig { net: String::new(), alpha: 0.5, temperature: 1.0 }
    }
}
