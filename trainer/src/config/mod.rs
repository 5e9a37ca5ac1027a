//! Settings as plain structs with defaults, read from JSON. An unknown key is an error.

pub mod layers;
pub mod bounds;
mod json;
mod selection;
pub mod model;
mod run;
pub mod train;
pub mod sparse;
pub mod selfplay;
mod arena;
pub mod rl;
pub mod keys;

pub use arena::{MatchRules, Sprt};
pub use model::ModelConfig;
pub use rl::{
    ArenaRules, KlRules, LearnerConfig, ReferenceConfig, RlConfig, RlPreset, RlSettings, Runtime, VetoRules,
};
pub use run::{RunConfig, Schedule};
pub use selection::{GameKind, Selection, UnknownElo};
pub use selfplay::{
    GumbelRules, NoiseRules, PlayoutCap, ResignRules, SearchRules, SelfPlayRules, TemperatureRules,
    tree_memory, worker_count,
};
pub use sparse::{
    SparseAdam, SparseFamily, SparseModelConfig, SparseSourceConfig, SparseTrainConfig, holds_sparse,
    is_sparse,
};
pub use train::{
    EwcConfig, OptimiserKind, Precision, SourceConfig, TacticalReplay, TeacherConfig, TrainConfig,
};
