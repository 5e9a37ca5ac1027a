use std::time::Duration;

use crate::chess::pgn::{PgnGame, seconds};

/// From `[%emt]` or `[%clk]` comments.
pub fn times_spent(game: &PgnGame) -> Vec<Option<Duration>> {
    let control = game.tag("TimeControl").and_then(|control| time_control(&control));
    let increment = control.map_or(0.0, |(_, increment)| increment);
    // Seconds of the player to move and of the other.
    let mut clocks = [control.map(|(base, _)| base); 2];
    let mut spent = Vec::new();
    for node in game.tree.main_line() {
        let read = |command: &str| game.tree.command(node, command).and_then(seconds);
        let now = read("clk");
        // `[%clk]` is measured after the increment.
        let by_clock = clocks[0].zip(now).map(|(before, now)| before - now + increment);
        let seconds = read("emt").or(by_clock);
        spent.push(seconds.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e6))));
        clocks = [clocks[1], now];
    }
    spent
}

/// Before each move, the mover's share of the time control's first period, by `[%clk]` comments.
pub fn clocks_left(game: &PgnGame) -> Vec<Option<f64>> {
    let control = game.tag("TimeControl").and_then(|control| time_control(&control));
    let has_clocks = game.tree.main_line().any(|node| game.tree.command(node, "clk").is_some());
    let Some((base, _)) = control.filter(|(base, _)| *base > 0.0 && has_clocks) else {
        return vec![None; game.moves().len()];
    };
    // Seconds of the player to move and of the other.
    let mut clocks = [Some(base); 2];
    let mut left = Vec::new();
    for node in game.tree.main_line() {
        left.push(clocks[0].map(|seconds| seconds / base));
        clocks = [clocks[1], game.tree.command(node, "clk").and_then(seconds)];
    }
    left
}

/// In seconds: base and increment of the first period, as in `300+3` or `40/5400+30:1800+30`.
fn time_control(control: &str) -> Option<(f64, f64)> {
    let first = control.split(':').next()?;
    let first = first.split_once('/').map_or(first, |(_, time)| time);
    let (base, increment) = first.split_once('+').unwrap_or((first, "0"));
    Some((base.trim().parse().ok()?, increment.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::pgn::read_games;

    fn spent(text: &str) -> Vec<Option<f64>> {
        let (games, _) = read_games(text.as_bytes());
        times_spent(&games[0].1).into_iter().map(|time| time.map(|time| time.as_secs_f64())).collect()
    }

    #[test]
    fn clocks_are_shares_of_the_first_period() {
        let left = |text: &str| {
            let (games, _) = read_games(text.as_bytes());
            clocks_left(&games[0].1)
        };
        let moves = "1. e4 {[%clk 0:02:30]} e5 2. Nf3 {[%clk 0:00:15]} Nc6 3. Bb5 *";
        let full = Some(1.0);
        assert_eq!(
            left(&format!("[TimeControl \"300+3\"]\n\n{moves}")),
            [full, full, Some(0.5), None, Some(0.05)]
        );
        assert_eq!(left(moves), [None; 5], "no time control");
        assert_eq!(left("[TimeControl \"300\"]\n\n1. e4 e5 *"), [None; 2], "no clocks");
    }

    #[test]
    fn time_spent_is_the_clocks_difference_and_the_increment() {
        let moves = "1. e4 {[%clk 0:05:01]} e5 {[%clk 0:04:58.5]} 2. Nf3 {[%clk 0:04:51]} Nc6 3. Bb5 {x [%clk 0:04:51]}*";
        let game = format!("[TimeControl \"300+3\"]\n\n{moves}");
        assert_eq!(spent(&game), [Some(2.0), Some(4.5), Some(13.0), None, Some(3.0)]);
        assert_eq!(spent(moves), [None, None, Some(10.0), None, Some(0.0)]);
        assert_eq!(spent("1. e4 {[%emt 0:00:07]} e5 {[%emt x]} *"), [Some(7.0), None]);
    }
}
