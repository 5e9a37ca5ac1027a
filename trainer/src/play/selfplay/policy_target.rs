use engine::search::{MoveStats, Proof};
use shakmaty::Move;

/// Each move's share of the visits. A move proven to win is the whole target; moves proven to lose are left out unless
/// all lose.
///
/// `priors` are the root's before noise. `prune` removes visits that only noise caused: policy target pruning (Wu 2019,
/// section 3.2, there with forced playouts). A move keeps only the visits that bring its PUCT score without noise down
/// to the most visited move's; a single visit is dropped.
pub fn policy_target(stats: &[MoveStats], priors: &[(Move, f32)], prune: bool) -> Vec<(Move, f32)> {
    let Some(best) = stats.iter().filter(|stats| !loses(stats)).max_by_key(|stats| stats.visits) else {
        return shares(stats.iter().map(|stats| (stats.m, stats.visits as f32)));
    };
    if let Some(won) = stats.first().filter(|first| matches!(first.proof, Some(Proof::Win(_)))) {
        return vec![(won.m, 1.0)];
    }
    let prior = |m: Move| priors.iter().find(|(other, _)| *other == m).map_or(0.0, |(_, prior)| *prior);
    // U = exploration · prior / (1 + visits).
    let exploration = best.u * (1.0 + best.visits as f32) / best.prior.max(f32::MIN_POSITIVE);
    let level = best.q + exploration * prior(best.m) / (1.0 + best.visits as f32);
    let kept_visits = |stats: &MoveStats| {
        let visits = stats.visits as f32;
        if !prune || stats.m == best.m || stats.q >= level {
            return visits;
        }
        let due = exploration * prior(stats.m) / (level - stats.q) - 1.0;
        let kept = due.max(0.0).ceil().min(visits);
        if kept <= 1.0 && visits < best.visits as f32 { 0.0 } else { kept }
    };
    let open = stats.iter().filter(|stats| !loses(stats) && stats.visits > 0);
    shares(open.map(|stats| (stats.m, kept_visits(stats))))
}

fn loses(stats: &MoveStats) -> bool {
    matches!(stats.proof, Some(Proof::Loss(_)))
}

fn shares(weights: impl Iterator<Item = (Move, f32)>) -> Vec<(Move, f32)> {
    let weights: Vec<(Move, f32)> = weights.filter(|(_, weight)| *weight > 0.0).collect();
    let total: f32 = weights.iter().map(|(_, weight)| weight).sum();
    weights.into_iter().map(|(m, weight)| (m, weight / total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::chess::position::Game;
    use engine::nets::eval::Wdl;

    /// First moves of the initial position: visits, noisy prior, Q. U assumes an exploration of 10.
    fn stats(of: &[(u64, f32, f32)]) -> (Vec<MoveStats>, Vec<Move>) {
        let moves: Vec<Move> = Game::new().legal_moves().to_vec();
        let one = |(m, (visits, prior, q)): (&Move, &(u64, f32, f32))| MoveStats {
            m: *m,
            visits: *visits,
            in_flight: 0,
            prior: *prior,
            q: *q,
            wdl: Wdl::DRAW,
            u: 10.0 * prior / (1.0 + *visits as f32),
            value: None,
            proof: None,
        };
        (moves.iter().zip(of).map(one).collect(), moves)
    }

    #[test]
    fn visits_that_noise_brought_are_taken_off() {
        // The second move's prior is mostly noise. The most visited move's score is 0.1 + 10 · 0.8 / 80 = 0.2. Without
        // noise the second move's score reaches 0.2 after 10 · 0.02 / 0.4 − 1 = −0.5 visits, so no visit stays. The
        // third keeps 10 · 0.18 / 0.2 − 1 = 8 of 9.
        let (stats, moves) = stats(&[(79, 0.6, 0.1), (12, 0.25, -0.2), (9, 0.15, 0.0), (0, 0.0, 0.0)]);
        let raw = [(moves[0], 0.8), (moves[1], 0.02), (moves[2], 0.18)];
        let all = policy_target(&stats, &raw, false);
        assert_eq!(all, [(moves[0], 0.79), (moves[1], 0.12), (moves[2], 0.09)]);
        let pruned = policy_target(&stats, &raw, true);
        assert_eq!(pruned.iter().map(|(m, _)| *m).collect::<Vec<_>>(), [moves[0], moves[2]]);
        assert!((pruned[1].1 - 8.0 / 87.0).abs() < 1e-6, "{pruned:?}");
    }

    #[test]
    fn a_search_without_noise_keeps_what_it_found() {
        // PUCT in balance: all scores are about 0.2.
        let (stats, moves) = stats(&[(79, 0.8, 0.1), (8, 0.18, 0.0)]);
        let raw = [(moves[0], 0.8), (moves[1], 0.18)];
        assert_eq!(policy_target(&stats, &raw, true), policy_target(&stats, &raw, false));
    }

    #[test]
    fn proofs_overrule_visits() {
        let (mut stats, moves) = stats(&[(5, 0.1, 1.0), (90, 0.9, 0.5)]);
        stats[1].proof = Some(Proof::Loss(4));
        assert_eq!(policy_target(&stats, &[], false), [(moves[0], 1.0)]);
        stats[1].proof = None;
        stats[0].proof = Some(Proof::Win(3));
        assert_eq!(policy_target(&stats, &[], true), [(moves[0], 1.0)]);
        stats.iter_mut().for_each(|stats| stats.proof = Some(Proof::Loss(2)));
        assert_eq!(
            policy_target(&stats, &[], true).len(),
            2,
            "every move loses: all that is known are visits"
        );
    }
}
