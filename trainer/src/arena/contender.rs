//! Who plays in a match.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::baseline::{Player, Task, UctParams};
use engine::position::Game;
use engine::search::{Limits, Outcome, Verdict, View, Watch};
use shakmaty::Move;

use crate::gameplay::{Backend, network};

/// Bytes for the tree of UCT.
const UCT_MEMORY: usize = 16 << 20;
/// What UCT searches if nothing else is said: random games a move.
const UCT_VISITS: u64 = 200;
/// How deep minimax and alpha-beta search if nothing else is said: plies. Beyond, minimax takes minutes a move.
const DEPTH: u64 = 4;

/// A player.
#[derive(Clone)]
pub enum Contender {
    /// A network that searches.
    Network {
        /// Its name in reports.
        name: String,
        /// The network.
        network: Arc<dyn Backend>,
        /// Visits of every search.
        visits: u64,
    },
    /// One of the engine's classical players.
    Classical {
        /// Which.
        player: Player,
        /// How long it thinks, see [`limits`].
        effort: u64,
    },
}

impl Contender {
    /// A player by a name: one of the classical players (`uct:500` with so many visits, `minimax:3` so many plies
    /// deep), `embedded`, `embedded.int8`, or a network's file; networks search `visits`.
    ///
    /// # Errors
    ///
    /// One line: the network can't be used, or a number isn't one.
    pub fn named(name: &str, visits: u64) -> Result<Contender, String> {
        let (player, own) = name.split_once(':').map_or((name, None), |(player, own)| (player, Some(own)));
        if let Some(index) = Player::NAMES.iter().position(|known| *known == player) {
            let player = Player::ALL[index];
            let usual = if is_by_depth(player) { DEPTH } else { UCT_VISITS };
            let effort = own.map_or(Ok(usual), str::parse);
            let effort = effort.map_err(|_| format!("{name}: what stands behind the colon is no number"))?;
            if effort == 0 {
                return Err(format!("{name}: what stands behind the colon must be at least 1"));
            }
            return Ok(Contender::Classical { player, effort });
        }
        let network = network(Path::new(name))?;
        Ok(Contender::Network { name: name.to_owned(), network: Arc::new(network), visits })
    }

    /// What reports call it.
    pub fn name(&self) -> String {
        match self {
            Contender::Network { name, .. } => name.clone(),
            Contender::Classical { player: Player::Random, .. } => "random".to_owned(),
            Contender::Classical { player, effort } => {
                let index = Player::ALL.iter().position(|known| known == player).expect("all of them");
                format!("{}:{effort}", Player::NAMES[index])
            }
        }
    }
}

/// Whether a player searches all moves to a depth.
fn is_by_depth(player: Player) -> bool {
    matches!(player, Player::Minimax | Player::AlphaBeta)
}

/// How long a classical player thinks: so many plies deep if he searches by depth, else so many random games a move.
fn limits(player: Player, effort: u64) -> Limits {
    if is_by_depth(player) {
        Limits { depth: Some(u32::try_from(effort).unwrap_or(u32::MAX)), ..Limits::default() }
    } else {
        Limits { visits: Some(effort), ..Limits::default() }
    }
}

/// The move of a classical player, who thinks on this thread.
pub fn classical_move(player: Player, effort: u64, game: &Game, seed: u64) -> Option<Move> {
    let task = Task {
        game: game.clone(),
        limits: limits(player, effort),
        lines: 1,
        memory: UCT_MEMORY,
        uct: UctParams::default(),
        seed,
    };
    let outcome = player.think(&task, &mut Silent, &AtomicBool::new(false));
    outcome.report.lines.first().and_then(|line| line.pv.first().copied())
}

/// Looks on and says nothing.
struct Silent;

impl Watch for Silent {
    fn round(&mut self, _: &View<'_>) -> Verdict {
        Verdict::Continue
    }

    fn done(&mut self, _: Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_have_names() {
        let name = |text: &str| Contender::named(text, 100).map(|contender| contender.name());
        assert_eq!(name("random"), Ok("random".into()));
        assert_eq!(name("uct:50"), Ok("uct:50".into()));
        assert_eq!(name("minimax"), Ok("minimax:4".into()));
        assert_eq!(name("alpha-beta:2"), Ok("alpha-beta:2".into()));
        assert!(name("uct:0").unwrap_err().contains("at least 1"));
        assert!(name("uct:many").unwrap_err().contains("no number"));
        assert!(name("nowhere.onnx").unwrap_err().contains("nowhere.onnx"));
    }

    #[test]
    fn classical_players_play_the_same_for_the_same_seed() {
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1").unwrap();
        let mates = classical_move(Player::Uct, 500, &game, 3).unwrap();
        assert_eq!(Game::uci(mates, false), "e1e8");
        // A pawn is defended: what one ply wins two plies lose again.
        let game = Game::from_fen("4k3/8/2p5/3p4/8/8/8/3QK3 w - - 0 1").unwrap();
        let by_depth = |plies| Game::uci(classical_move(Player::AlphaBeta, plies, &game, 1).unwrap(), false);
        assert_eq!(by_depth(1), "d1d5");
        assert_ne!(by_depth(2), "d1d5");
        let random = |seed| classical_move(Player::Random, 1, &Game::new(), seed);
        assert_eq!(random(1), random(1));
        assert!((1..20).any(|seed| random(seed) != random(1)));
    }
}
