use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use engine::chess::position::Game;
use engine::search::players::{Player, PlayerTask, UctParams};
use engine::search::{Limits, Params, SearchControl, SearchObserver, SearchOutcome, SearchView};
use shakmaty::Move;

use crate::base::network::{Backend, load_network};
use crate::config::bounds::{MAX_DEPTH, MAX_VISITS};
use crate::play::gameplay::IsStopped;

/// Bytes for UCT's tree.
const UCT_MEMORY: usize = 16 << 20;
/// Default rollouts per move of UCT.
const UCT_VISITS: u64 = 200;
/// Default depth of minimax and alpha-beta in plies. Deeper, minimax takes minutes per move.
const DEPTH: u64 = 4;

#[derive(Clone)]
pub enum Contender {
    Network {
        name: String,
        network: Arc<dyn Backend>,
        visits: u64,
        /// `None`: those of the match rules.
        params: Option<Box<Params>>,
    },
    Classical {
        player: Player,
        /// Depth in plies or number of rollouts, see [`limits`].
        effort: u64,
    },
}

impl Contender {
    /// `embedded`, a network file, or a classical player with an optional effort (`uct:500` for 500 rollouts per move,
    /// `minimax:3` for 3 plies). Networks make `visits` visits per move.
    pub fn named(name: &str, visits: u64) -> Result<Contender> {
        let (player, own) = name.split_once(':').map_or((name, None), |(player, own)| (player, Some(own)));
        if let Some(index) = Player::NAMES.iter().position(|known| *known == player) {
            let player = Player::ALL[index];
            let default = if is_by_depth(player) { DEPTH } else { UCT_VISITS };
            let effort = own.map_or(Ok(default), str::parse);
            let effort = effort
                .with_context(|| format!("{name}: after the colon there must be a number, as in uct:200"))?;
            let most = if is_by_depth(player) { MAX_DEPTH } else { MAX_VISITS };
            ensure!(
                (1..=most).contains(&effort),
                "{name}: the number after the colon must be at least 1 and at most {most}"
            );
            return Ok(Contender::Classical { player, effort });
        }
        let network = load_network(Path::new(name))?;
        Ok(Contender::Network { name: name.to_owned(), network: Arc::new(network), visits, params: None })
    }

    /// Per move of a network; 1 for other players.
    pub fn visits(&self) -> u64 {
        match self {
            Contender::Network { visits, .. } => *visits,
            Contender::Classical { .. } => 1,
        }
    }

    pub fn name(&self) -> String {
        match self {
            Contender::Network { name, .. } => name.clone(),
            Contender::Classical { player: Player::Random, .. } => "random".to_owned(),
            Contender::Classical { player, effort } => {
                let index =
                    Player::ALL.iter().position(|known| known == player).expect("ALL holds every player");
                format!("{}:{effort}", Player::NAMES[index])
            }
        }
    }
}

fn is_by_depth(player: Player) -> bool {
    matches!(player, Player::Minimax | Player::AlphaBeta)
}

fn limits(player: Player, effort: u64) -> Limits {
    if is_by_depth(player) {
        Limits { depth: Some(u32::try_from(effort).unwrap_or(u32::MAX)), ..Limits::default() }
    } else {
        Limits { visits: Some(effort), ..Limits::default() }
    }
}

struct StopObserver<'a>(IsStopped<'a>);

impl SearchObserver for StopObserver<'_> {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        if (self.0)() { SearchControl::Stop } else { ().round(view) }
    }

    fn done(&mut self, _: SearchOutcome) {}
}

/// Any move once `stop` is true, which is asked about every millisecond.
pub fn classical_move(
    player: Player,
    effort: u64,
    game: &Game,
    seed: u64,
    stop: IsStopped<'_>,
) -> Option<Move> {
    let task = PlayerTask {
        game: game.clone(),
        limits: limits(player, effort),
        lines: 1,
        memory: UCT_MEMORY,
        uct: UctParams::default(),
        seed,
    };
    let outcome = player.think(&task, &mut StopObserver(stop), &AtomicBool::new(false));
    outcome.report.lines.first().and_then(|line| line.pv.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_have_names() {
        let name = |text: &str| {
            Contender::named(text, 100).map(|contender| contender.name()).map_err(|e| format!("{e:#}"))
        };
        assert_eq!(name("random"), Ok("random".into()));
        assert_eq!(name("uct:50"), Ok("uct:50".into()));
        assert_eq!(name("minimax"), Ok("minimax:4".into()));
        assert_eq!(name("alpha-beta:2"), Ok("alpha-beta:2".into()));
        assert!(name("uct:0").unwrap_err().contains("at least 1"));
        assert!(name("uct:99999999999").unwrap_err().ends_with("at most 1000000"));
        assert!(name("minimax:1000").unwrap_err().ends_with("at most 245"));
        assert!(name("uct:many").unwrap_err().contains("must be a number"));
        assert!(name("nowhere.onnx").unwrap_err().contains("nowhere.onnx"));
    }

    #[test]
    fn classical_players_play_the_same_for_the_same_seed() {
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1").unwrap();
        let mates = classical_move(Player::Uct, 500, &game, 3, &|| false).unwrap();
        assert_eq!(Game::uci(mates, false), "e1e8");
        // The pawn is defended: a 1-ply search takes it, a 2-ply search sees the queen's loss.
        let game = Game::from_fen("4k3/8/2p5/3p4/8/8/8/3QK3 w - - 0 1").unwrap();
        let by_depth =
            |plies| Game::uci(classical_move(Player::AlphaBeta, plies, &game, 1, &|| false).unwrap(), false);
        assert_eq!(by_depth(1), "d1d5");
        assert_ne!(by_depth(2), "d1d5");
        let random = |seed| classical_move(Player::Random, 1, &Game::new(), seed, &|| false);
        assert_eq!(random(1), random(1));
        assert!((1..20).any(|seed| random(seed) != random(1)));
    }
}
