//! What the options set.

use std::time::Duration;

use super::strength::{FULL_SKILL, Strength};
use crate::eval::Precision;
use crate::onnx::StepLimits;
use crate::players::{Player, UctParams};
use crate::search::Params;
use crate::tables::Rules;
use crate::time::Pace;

/// Share of `Hash` used for the evaluation cache, in per cent; the tree gets the rest.
const CACHE_SHARE: usize = 12;

/// Everything a GUI can set, with the defaults it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The bound on the search's memory, in MiB.
    pub hash: usize,
    /// Search workers.
    pub threads: usize,
    /// What a move costs outside the search.
    pub move_overhead: Duration,
    /// Lines to report.
    pub multipv: usize,
    /// The GUI may ask to think on the opponent's time. Nothing depends on it.
    pub ponder: bool,
    /// Report win, draw and loss.
    pub show_wdl: bool,
    /// Write castling as king takes rook.
    pub chess960: bool,
    /// The GUI analyses: nothing limits the strength or ends a search early.
    pub analyse: bool,
    /// Play to `elo`.
    pub limit_strength: bool,
    /// The rating to play to, if the strength is limited.
    pub elo: i64,
    /// Below 20 a limit too, where `limit_strength` sets none.
    pub skill: i64,
    /// Who plays against us, as the GUI says. Nothing depends on it.
    pub opponent: Option<String>,
    /// How much chance there is in the choice of a move, where the strength isn't limited: 0 is none.
    pub temperature: f32,
    /// Show the root moves' statistics at the end of a search.
    pub verbose_move_stats: bool,
    /// Show them with every `info`.
    pub log_live_stats: bool,
    /// The network's file; `None` is the embedded one.
    pub weights: Option<String>,
    /// The network's precision; `None` is the faster one.
    pub precision: Option<Precision>,
    /// How long a network that thinks in steps thinks about a position.
    pub thinking: StepLimits,
    /// What answers for the positions.
    pub backend: Backend,
    /// Who plays; `None` is the network's search.
    pub player: Option<Player>,
    /// The numbers of the players who play random games.
    pub uct: UctParams,
    /// Where the dice begin; 0 is somewhere else in every game.
    pub seed: u64,
    /// Play from the book.
    pub own_book: bool,
    /// The book's file.
    pub book: Option<String>,
    /// Plies of a game that may come from the book.
    pub book_depth: usize,
    /// The folders of the endgame tables.
    pub tables: Option<String>,
    /// How they are used.
    pub table_rules: Rules,
    /// Where the UCI traffic is written down.
    pub log_file: Option<String>,
    /// The search's own numbers.
    pub params: Params,
}

/// What answers for the positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The network, through ONNX Runtime on the CPU.
    #[default]
    OnnxCpu,
    /// Nothing: all moves alike, all games drawn.
    Uniform,
}

impl Backend {
    /// All of them, in the order of [`Backend::NAMES`].
    pub const ALL: [Backend; 2] = [Backend::OnnxCpu, Backend::Uniform];
    /// Names as the option shows them, the default first.
    pub const NAMES: [&'static str; 2] = ["onnx-cpu", "uniform"];
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            hash: 256,
            threads: num_cpus::get_physical().clamp(1, 512),
            move_overhead: Duration::from_millis(100),
            multipv: 1,
            ponder: false,
            show_wdl: false,
            chess960: false,
            analyse: false,
            limit_strength: false,
            elo: 1500,
            skill: FULL_SKILL,
            opponent: None,
            temperature: 0.0,
            verbose_move_stats: false,
            log_live_stats: false,
            weights: None,
            precision: None,
            thinking: StepLimits::default(),
            backend: Backend::default(),
            player: None,
            uct: UctParams::default(),
            seed: 0,
            own_book: false,
            book: None,
            book_depth: 20,
            tables: None,
            table_rules: Rules::default(),
            log_file: None,
            params: Params::default(),
        }
    }
}

impl Settings {
    /// The bounds on the search's memory in bytes: the tree's, and the kept answers'.
    pub fn memory(&self) -> (usize, usize) {
        let all = self.hash.saturating_mul(1 << 20);
        let answers = all / 100 * CACHE_SHARE;
        (all - answers, answers)
    }

    /// What the strength is limited to, if it is. The classical players are what they are.
    pub fn strength(&self) -> Option<Strength> {
        if self.analyse || self.player.is_some() {
            None
        } else if self.limit_strength {
            Some(Strength::of_elo(self.elo))
        } else {
            Strength::of_skill(self.skill)
        }
    }

    /// How the move is drawn, if it isn't simply the best: not in analysis, and not where the strength is
    /// limited, which has a choice of its own.
    pub fn drawn_at(&self) -> Option<f32> {
        (self.temperature > 0.0 && !self.analyse && self.strength().is_none()).then_some(self.temperature)
    }

    /// The search's numbers as they are in force.
    pub fn search_params(&self) -> Params {
        let mut params =
            self.strength().map_or_else(|| self.params.clone(), |strength| strength.limit(&self.params));
        if self.analyse {
            (params.smart_pruning, params.contempt) = (0.0, 0.0);
        }
        params
    }

    /// The clock's numbers as they are in force.
    pub fn search_pace(&self) -> Pace {
        Pace { smart_pruning: self.search_params().smart_pruning, ..Pace::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_limited_unless_asked_for() {
        let settings = Settings::default();
        assert_eq!(settings.strength(), None);
        assert_eq!(settings.search_params(), settings.params);
        assert_eq!(settings.search_pace(), Pace::default());
        assert_eq!(Settings { elo: 900, ..settings }.strength(), None);
    }

    #[test]
    fn moves_are_drawn_unless_something_else_decides() {
        let warm = Settings { temperature: 0.5, ..Settings::default() };
        assert_eq!((Settings::default().drawn_at(), warm.drawn_at()), (None, Some(0.5)));
        assert_eq!(Settings { analyse: true, ..warm.clone() }.drawn_at(), None);
        assert_eq!(Settings { skill: 5, ..warm }.drawn_at(), None);
    }

    #[test]
    fn a_rating_comes_before_a_skill_level_and_analysis_before_both() {
        let skilled = Settings { skill: 3, elo: 2000, ..Settings::default() };
        assert_eq!(skilled.strength(), Strength::of_skill(3));
        assert!(skilled.search_params().policy_temperature > skilled.params.policy_temperature);
        let rated = Settings { limit_strength: true, ..skilled };
        assert_eq!(rated.strength(), Some(Strength::of_elo(2000)));
        assert_eq!(Settings { player: Some(Player::Minimax), ..rated.clone() }.strength(), None);
        let analysing = Settings { analyse: true, ..rated };
        assert_eq!(analysing.strength(), None);
        let plain = Params { smart_pruning: 0.0, ..analysing.params.clone() };
        assert_eq!(analysing.search_params(), plain);
        assert_eq!(analysing.search_pace().smart_pruning, 0.0);
    }
}
