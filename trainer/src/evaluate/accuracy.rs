//! How well networks foresee the moves and the results of held-out games.

use std::path::PathBuf;

use engine::position::{Game, PackedMove};
use serde_json::{Value, json};
use shakmaty::{Move, Position};

use super::judge::progress;
use super::player::{BATCH, Player};
use super::report::{markdown, per_cent};
use super::tally::Tally;
use crate::dataset;
use crate::record::{FLAG_PUZZLE, GameRecord, Split, split};
use crate::samples::Phase;

/// Games of one source.
pub struct Set {
    /// What `import` called them.
    pub source: String,
    /// The games of the split.
    pub games: Vec<GameRecord>,
}

/// Reads the games of a split, `None` for all, from files of games; those of one source together.
///
/// # Errors
///
/// One line: a file can't be read, or there is no such game.
pub fn sets(files: &[PathBuf], wanted: Option<Split>) -> Result<Vec<Set>, String> {
    let mut sets: Vec<Set> = Vec::new();
    for file in files {
        log::info!("reading {}", file.display());
        let chunk = dataset::read(file).map_err(|error| error.to_string())?;
        let belongs = |index: &usize| wanted.is_none_or(|wanted| split(chunk.identity(*index)) == wanted);
        let games: Vec<_> = (0..chunk.games()).filter(belongs).map(|index| chunk.game(index)).collect();
        match sets.iter_mut().find(|set| set.source == chunk.source) {
            Some(set) => set.games.extend(games),
            None => sets.push(Set { source: chunk.source.clone(), games }),
        }
    }
    sets.retain(|set| !set.games.is_empty());
    if sets.is_empty() {
        return Err("no game of the split: one in a hundred is held out for validation, one for the test; \
             --split all takes every game"
            .into());
    }
    Ok(sets)
}

const MEASURES: [&str; 6] =
    ["top-1", "top-5", "policy loss", "WDL loss", "top-1, all outputs", "top-5, all outputs"];
/// The measures of all outputs stand last, and are told where they were asked for.
const ALWAYS: usize = 4;

/// What players know of some sets: per set, player and phase.
pub struct Accuracy {
    players: Vec<String>,
    sets: Vec<(String, Vec<[Tally; 3]>)>,
}

/// Asks every player about `count` positions, or all there are, spread evenly over each set.
///
/// # Errors
///
/// One line: a game is damaged, or a network can't be run.
pub fn measure(sets: &[Set], players: &mut [Player], count: usize) -> Result<Accuracy, String> {
    let share = count.div_ceil(sets.len());
    let total: usize = sets.iter().map(|set| positions(set).min(share)).sum();
    let bar = progress(total, "positions");
    let mut measured = Vec::new();
    for set in sets {
        let mut tallies = vec![[Tally::default(); 3]; players.len()];
        let mut batch = Vec::new();
        visit(set, share, |position| {
            batch.push(position);
            if batch.len() == BATCH {
                ask(&mut batch, players, &mut tallies)?;
                bar.inc(BATCH as u64);
            }
            Ok(())
        })?;
        ask(&mut batch, players, &mut tallies)?;
        measured.push((set.source.clone(), tallies));
    }
    bar.finish_and_clear();
    Ok(Accuracy { players: players.iter().map(|player| player.name.clone()).collect(), sets: measured })
}

/// A position of a stored game.
struct Asked {
    game: Game,
    played: Move,
    /// 0 if the mover won, 1 for a draw, 2 if he lost; `None` if nobody knows.
    result: Option<usize>,
}

fn ask(batch: &mut Vec<Asked>, players: &mut [Player], tallies: &mut [[Tally; 3]]) -> Result<(), String> {
    let games: Vec<Game> = batch.iter().map(|asked| asked.game.clone()).collect();
    let played: Vec<Move> = batch.iter().map(|asked| asked.played).collect();
    for (player, tallies) in players.iter_mut().zip(tallies) {
        let phase = |asked: &Asked| Phase::of(asked.game.position().board()) as usize;
        for (asked, opinion) in batch.iter().zip(player.opinions(&games)?) {
            tallies[phase(asked)].add(&opinion, asked.played, asked.result);
        }
        for (asked, rank) in batch.iter().zip(player.raw_ranks(&games, &played)?) {
            tallies[phase(asked)].add_raw(rank);
        }
    }
    batch.clear();
    Ok(())
}

/// Plies between two targets: the opponent's moves in a puzzle are none.
fn step(game: &GameRecord) -> usize {
    if game.flags & FLAG_PUZZLE == 0 { 1 } else { 2 }
}

fn positions(set: &Set) -> usize {
    set.games.iter().map(|game| game.moves.len().div_ceil(step(game))).sum()
}

/// Hands `count` of a set's positions to `take`, at even distances over all games.
fn visit(set: &Set, count: usize, mut take: impl FnMut(Asked) -> Result<(), String>) -> Result<(), String> {
    let total = positions(set);
    let count = count.min(total);
    let mut seen = 0;
    for stored in &set.games {
        let damaged =
            |ply: usize| format!("a game of {} can't be replayed: no legal move at ply {ply}", set.source);
        let mut game = match &stored.start {
            Some(fen) => Game::from_fen(fen).map_err(|_| damaged(0))?,
            None => Game::new(),
        };
        for (ply, packed) in stored.moves.iter().enumerate() {
            let played = PackedMove(packed.0).to_move(game.position()).ok_or_else(|| damaged(ply))?;
            if ply % step(stored) == 0 {
                // As many as the share of positions seen, rounded down.
                if (seen + 1) * count / total > seen * count / total {
                    take(Asked { game: game.clone(), played, result: result(stored, &game) })?;
                }
                seen += 1;
            }
            game.play(played);
        }
    }
    Ok(())
}

fn result(stored: &GameRecord, game: &Game) -> Option<usize> {
    let for_white = match stored.result.code() {
        1 => 0,
        0 => 1,
        -1 => 2,
        _ => return None,
    };
    Some(if game.position().turn().is_white() { for_white } else { 2 - for_white })
}

impl Accuracy {
    /// One row a set, phase and measure, one column a player, and the base rates' loss; as Markdown.
    pub fn table(&self) -> String {
        let mut head: Vec<String> = ["games", "phase", "positions", "measure"].map(str::to_owned).into();
        head.extend(self.players.iter().cloned());
        head.push("base rates".into());
        let mut rows = Vec::new();
        for (source, phase, tallies) in self.parts() {
            let told = if tallies[0].raw()[0].is_some() { MEASURES.len() } else { ALWAYS };
            for (measure, name) in MEASURES.into_iter().enumerate().take(told) {
                let number = |number: Option<f64>| match measure {
                    0 | 1 | 4 | 5 => per_cent(number),
                    _ => number.map_or("–".into(), |number| format!("{number:.3}")),
                };
                let first = |text: String| if measure == 0 { text } else { String::new() };
                let mut row = vec![source.to_owned(), phase.to_owned(), tallies[0].positions.to_string()];
                row = row.into_iter().map(first).collect();
                row.push(name.to_owned());
                let value = |tally: &Tally| match measure.checked_sub(ALWAYS) {
                    None => tally.measures()[measure],
                    Some(raw) => tally.raw()[raw],
                };
                row.extend(tallies.iter().map(|tally| number(value(tally))));
                row.push(if measure == 3 { number(tallies[0].base_loss()) } else { String::new() });
                rows.push(row);
            }
        }
        markdown(head, rows)
    }

    /// The same numbers.
    pub fn json(&self) -> Value {
        let part = |(source, phase, tallies): (&str, &str, Vec<Tally>)| {
            let players: Value = self.players.iter().zip(&tallies).map(|(player, tally)| {
                let [top1, top5, policy_loss, wdl_loss] = tally.measures();
                let mut numbers =
                    json!({ "top1": top1, "top5": top5, "policy_loss": policy_loss, "wdl_loss": wdl_loss });
                if let [Some(top1), Some(top5)] = tally.raw() {
                    numbers["raw_top1"] = top1.into();
                    numbers["raw_top5"] = top5.into();
                }
                (player.clone(), numbers)
            }).collect();
            json!({
                "games": source, "phase": phase, "positions": tallies[0].positions,
                "decided": tallies[0].decided, "base_wdl_loss": tallies[0].base_loss(), "networks": players,
            })
        };
        self.parts().into_iter().map(part).collect()
    }

    /// Every set's phases and the whole of it, with a tally per player; phases without positions left out.
    fn parts(&self) -> Vec<(&str, &'static str, Vec<Tally>)> {
        let mut parts = Vec::new();
        for (source, tallies) in &self.sets {
            for phase in Phase::ALL {
                parts.push((
                    source.as_str(),
                    phase.name(),
                    tallies.iter().map(|t| t[phase as usize]).collect(),
                ));
            }
            parts.push((source, "all", tallies.iter().map(|[a, b, c]| a.merged(b).merged(c)).collect()));
        }
        parts.retain(|(_, _, tallies): &(_, _, Vec<Tally>)| tallies.iter().any(|tally| tally.positions > 0));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::tally::cost;
    use crate::record::GameResult;
    use engine::eval::{Answer, EvalError, Evaluator, Request, Uniform, Wdl};

    fn stored(moves: &str, result: GameResult) -> GameRecord {
        let mut game = Game::new();
        let mut packed = Vec::new();
        for text in moves.split_whitespace() {
            let m = game.parse_uci(text).unwrap();
            packed.push(PackedMove::new(m));
            game.play(m);
        }
        GameRecord { moves: packed, result, ..GameRecord::default() }
    }

    fn set() -> Set {
        let first = stored("e2e4 e7e5 g1f3 b8c6", GameResult::White);
        let second = stored("d2d4 d7d5 c2c4 e7e6 b1c3 g8f6", GameResult::Draw);
        Set { source: "two games".into(), games: vec![first, second] }
    }

    /// Plays the king's pawn if it can, is sure that White wins.
    struct KingsPawn;

    impl Evaluator for KingsPawn {
        fn max_batch(&self) -> usize {
            16
        }

        fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
            let answer = |request: &Request<'_>| {
                let likes = |m: &Move| ["e2e4", "e7e5"].contains(&Game::uci(*m, false).as_str());
                let weights: Vec<f32> =
                    request.moves.iter().map(|m| if likes(m) { 4.0 } else { 1.0 }).collect();
                let sum: f32 = weights.iter().sum();
                let wdl = if request.game.turn().is_white() { Wdl::WIN } else { Wdl::LOSS };
                Answer { wdl, priors: weights.iter().map(|weight| weight / sum).collect() }
            };
            Ok(batch.iter().map(answer).collect())
        }
    }

    fn all(accuracy: &Accuracy) -> Vec<Tally> {
        accuracy.parts().pop().unwrap().2
    }

    #[test]
    fn numbers_that_can_be_counted_by_hand() {
        let mut players =
            [Box::new(KingsPawn) as Box<dyn Evaluator>, Box::new(Uniform)].map(|e| Player::new("p", e, None));
        let accuracy = measure(&[set()], &mut players, 100).unwrap();
        let [kings_pawn, uniform] = all(&accuracy)[..] else { panic!("two players") };
        assert_eq!((kings_pawn.positions, kings_pawn.decided), (10, 10));
        assert_eq!(kings_pawn.measures()[0], Some(0.2), "e2e4 and e7e5 of the first game");
        assert_eq!(uniform.measures()[..2], [Some(0.0); 2], "ties count against it");
        // Two positions were won, two lost, six drawn, and each draw comes as a surprise.
        let entropy = -(0.2f64 * 0.2f64.ln() * 2.0 + 0.6 * 0.6f64.ln());
        assert!((kings_pawn.base_loss().unwrap() - entropy).abs() < 1e-12);
        assert!((kings_pawn.measures()[3].unwrap() - 0.6 * cost(0.0)).abs() < 1e-6);
    }

    #[test]
    fn positions_are_spread_evenly_and_never_too_many() {
        for (count, expected) in
            [(1, vec![9]), (2, vec![4, 9]), (5, vec![1, 3, 5, 7, 9]), (99, (0..10).collect())]
        {
            let mut seen = Vec::new();
            let plies = |game: &Game, played: Move| (game.ply(), Game::uci(played, false));
            visit(&set(), count, |asked| {
                seen.push(plies(&asked.game, asked.played));
                Ok(())
            })
            .unwrap();
            let mut all = Vec::new();
            visit(&set(), 10, |asked| {
                all.push(plies(&asked.game, asked.played));
                Ok(())
            })
            .unwrap();
            let expected: Vec<_> = expected.iter().map(|index: &usize| all[*index].clone()).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn a_puzzle_asks_for_the_solvers_moves_only_and_has_no_result() {
        let puzzle = GameRecord { flags: FLAG_PUZZLE, ..stored("e2e4 e7e5 g1f3", GameResult::Unknown) };
        let set = Set { source: "puzzles".into(), games: vec![puzzle] };
        let mut players = [Player::new("uniform", Box::new(Uniform), None)];
        let tally = all(&measure(&[set], &mut players, 100).unwrap())[0];
        assert_eq!((tally.positions, tally.decided), (2, 0));
        assert_eq!((tally.measures()[3], tally.base_loss()), (None, None));
    }

    #[test]
    fn the_table_has_a_row_a_measure_and_the_base_rates() {
        let mut players = [Player::new("uniform", Box::new(Uniform), None)];
        let table = measure(&[set()], &mut players, 100).unwrap().table();
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows.len(), 2 + 2 * 4, "the opening and all of it\n{table}");
        assert!(
            rows[2].starts_with("| two games | opening |        10 |       top-1 |   0.0 % |"),
            "{table}"
        );
        assert!(rows[5].ends_with("|   8.289 |      0.950 |"), "{table}");
        players[0].valued = false;
        let table = measure(&[set()], &mut players, 100).unwrap().table();
        let row = table.lines().nth(5).unwrap();
        assert!(
            row.ends_with("|       – |      0.950 |"),
            "a network without a value foresees nothing\n{table}"
        );
    }

    #[test]
    fn a_damaged_game_is_named() {
        let mut set = set();
        set.games[1].moves[2] = PackedMove(0);
        let mut players = [Player::new("uniform", Box::new(Uniform), None)];
        let error = measure(&[set], &mut players, 100).err().unwrap();
        assert_eq!(error, "a game of two games can't be replayed: no legal move at ply 2");
    }
}
