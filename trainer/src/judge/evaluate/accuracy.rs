//! How well networks predict the moves and results of games.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use engine::chess::position::Game;
use serde_json::{Value, json};
use shakmaty::{Move, Position};

use super::counts::AccuracyCounts;
use super::judged_network::{BATCH, JudgedNetwork};
use super::report::{markdown, per_cent};
use crate::base::progress::{Counted, progress};
use crate::data::dataset;
use crate::data::record::{FLAG_PUZZLE, GameRecord, SearchRecord, Split, split, wdl_of_search};
use crate::data::samples::Phase;

pub struct GameSet {
    pub source: String,
    pub games: Vec<GameRecord>,
}

/// Reads the games of a split (`None`: all), grouped by source.
pub fn sets(files: &[PathBuf], wanted: Option<Split>) -> Result<Vec<GameSet>> {
    let mut sets: Vec<GameSet> = Vec::new();
    for file in files {
        log::info!("reading {}", file.display());
        let chunk = dataset::read(file)?;
        let belongs = |index: &usize| wanted.is_none_or(|wanted| split(chunk.identity(*index)) == wanted);
        let games: Vec<_> = (0..chunk.games()).filter(belongs).map(|index| chunk.game(index)).collect();
        match sets.iter_mut().find(|set| set.source == chunk.source) {
            Some(set) => set.games.extend(games),
            None => sets.push(GameSet { source: chunk.source.clone(), games }),
        }
    }
    sets.retain(|set| !set.games.is_empty());
    if sets.is_empty() {
        bail!(
            "no game of the split: one in a hundred is held out for validation, one for the test; --split all takes \
             every game"
        );
    }
    Ok(sets)
}

const MEASURES: [&str; 7] = [
    "top-1",
    "top-5",
    "policy loss",
    "WDL loss",
    "policy entropy",
    "top-1, all outputs",
    "top-5, all outputs",
];
/// Measures that are always printed; the others need `--raw`.
const ALWAYS: usize = 5;
const ENTROPY: usize = 4;

pub struct Accuracy {
    networks: Vec<String>,
    sets: Vec<(String, Vec<[AccuracyCounts; 3]>)>,
}

/// `count` positions are spread evenly over the sets.
pub fn measure(
    sets: &[GameSet],
    judge: Judge,
    networks: &mut [JudgedNetwork],
    count: usize,
) -> Result<Accuracy> {
    let share = count.div_ceil(sets.len());
    let total: usize = sets.iter().map(|set| positions(set, judge).min(share)).sum();
    if total == 0 {
        bail!("no position of these games has a recorded search: `annotate --best-move` records them");
    }
    let bar = progress(total as u64, 0, Counted::Positions);
    let mut measured = Vec::new();
    for set in sets {
        let mut counts = vec![[AccuracyCounts::default(); 3]; networks.len()];
        let mut batch = Vec::new();
        visit(set, judge, share, |position| {
            batch.push(position);
            if batch.len() == BATCH {
                measure_batch(&mut batch, networks, &mut counts)?;
                bar.inc(BATCH as u64);
            }
            Ok(())
        })?;
        measure_batch(&mut batch, networks, &mut counts)?;
        measured.push((set.source.clone(), counts));
    }
    bar.finish_and_clear();
    Ok(Accuracy { networks: networks.iter().map(|network| network.name.clone()).collect(), sets: measured })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    Game,
    /// Best move and WDL of the recorded search; positions without one are skipped.
    Search,
}

struct HeldOutPosition {
    game: Game,
    right: Move,
    /// WDL for the side to move; `None` if unknown.
    outcome: Option<[f32; 3]>,
}

fn measure_batch(
    batch: &mut Vec<HeldOutPosition>,
    networks: &mut [JudgedNetwork],
    counts: &mut [[AccuracyCounts; 3]],
) -> Result<()> {
    let games: Vec<Game> = batch.iter().map(|asked| asked.game.clone()).collect();
    let right: Vec<Move> = batch.iter().map(|asked| asked.right).collect();
    for (network, counts) in networks.iter_mut().zip(counts) {
        let phase = |asked: &HeldOutPosition| Phase::of(asked.game.position().board()) as usize;
        for (asked, prediction) in batch.iter().zip(network.predict(&games)?) {
            counts[phase(asked)].add(&prediction, asked.right, asked.outcome);
        }
        for (asked, rank) in batch.iter().zip(network.raw_ranks(&games, &right)?) {
            counts[phase(asked)].add_raw(rank);
        }
    }
    batch.clear();
    Ok(())
}

/// In a puzzle, excludes the opponent's moves.
fn is_measured(game: &GameRecord, ply: usize, judge: Judge) -> bool {
    match judge {
        Judge::Game => game.flags & FLAG_PUZZLE == 0 || ply.is_multiple_of(2),
        Judge::Search => game.searches.get(ply).is_some_and(|search| !search.shares.is_empty()),
    }
}

fn positions(set: &GameSet, judge: Judge) -> usize {
    let measured =
        |game: &GameRecord| (0..game.moves.len()).filter(|ply| is_measured(game, *ply, judge)).count();
    set.games.iter().map(measured).sum()
}

/// `count` positions, evenly spaced over all games of the set.
fn visit(
    set: &GameSet,
    judge: Judge,
    count: usize,
    mut take: impl FnMut(HeldOutPosition) -> Result<()>,
) -> Result<()> {
    let total = positions(set, judge);
    let count = count.min(total);
    let mut seen = 0;
    for stored in &set.games {
        let damaged =
            |ply: usize| format!("a game of {} cannot be replayed: no legal move at ply {ply}", set.source);
        let mut game = match &stored.start {
            Some(fen) => Game::from_fen(fen).with_context(|| damaged(0))?,
            None => Game::new(),
        };
        for (ply, packed) in stored.moves.iter().enumerate() {
            let played = packed.to_move(game.position()).with_context(|| damaged(ply))?;
            if is_measured(stored, ply, judge) {
                // Of the first `n` positions, ⌊`n · count / total`⌋ are taken.
                if (seen + 1) * count / total > seen * count / total {
                    let (right, outcome) = match judge {
                        Judge::Game => (played, result(stored, &game)),
                        Judge::Search => {
                            let SearchRecord { q, d, shares, .. } = &stored.searches[ply];
                            let (best, _) =
                                shares.iter().max_by_key(|(_, share)| *share).expect("a recorded search");
                            let best = best.to_move(game.position()).with_context(|| damaged(ply))?;
                            (best, Some(wdl_of_search(*q, *d)))
                        }
                    };
                    take(HeldOutPosition { game: game.clone(), right, outcome })?;
                }
                seen += 1;
            }
            game.play(played);
        }
    }
    Ok(())
}

fn result(stored: &GameRecord, game: &Game) -> Option<[f32; 3]> {
    let for_white = match stored.result.code() {
        1 => [1.0, 0.0, 0.0],
        0 => [0.0, 1.0, 0.0],
        -1 => [0.0, 0.0, 1.0],
        _ => return None,
    };
    let [win, draw, loss] = for_white;
    Some(if game.position().turn().is_white() { for_white } else { [loss, draw, win] })
}

impl Accuracy {
    /// Markdown: a row per set, phase and measure; a column per network and one for the base rates.
    pub fn table(&self) -> String {
        let mut head: Vec<String> = ["games", "phase", "positions", "measure"].map(str::to_owned).into();
        head.extend(self.networks.iter().cloned());
        head.push("base rates".into());
        let mut rows = Vec::new();
        for (source, phase, counts) in self.parts() {
            let is_raw = counts.iter().any(|counts| counts.raw()[0].is_some());
            let printed = if is_raw { MEASURES.len() } else { ALWAYS };
            for (measure, name) in MEASURES.into_iter().enumerate().take(printed) {
                let number = |number: Option<f64>| match measure {
                    0 | 1 | 5 | 6 => per_cent(number),
                    _ => number.map_or("–".into(), |number| format!("{number:.3}")),
                };
                let first = |text: String| if measure == 0 { text } else { String::new() };
                let mut row = vec![source.to_owned(), phase.to_owned(), counts[0].positions.to_string()];
                row = row.into_iter().map(first).collect();
                row.push(name.to_owned());
                let value = |counts: &AccuracyCounts| match measure.checked_sub(ALWAYS) {
                    None if measure == ENTROPY => counts.entropy(),
                    None => counts.measures()[measure],
                    Some(raw) => counts.raw()[raw],
                };
                row.extend(counts.iter().map(|counts| number(value(counts))));
                row.push(if measure == 3 { number(counts[0].base_loss()) } else { String::new() });
                rows.push(row);
            }
        }
        markdown(head, rows)
    }

    pub fn json(&self) -> Value {
        let part = |(source, phase, counts): (&str, &str, Vec<AccuracyCounts>)| {
            let networks: Value = self.networks.iter().zip(&counts).map(|(network, counts)| {
                let [top1, top5, policy_loss, wdl_loss] = counts.measures();
                let mut numbers =
                    json!({ "top1": top1, "top5": top5, "policy_loss": policy_loss, "wdl_loss": wdl_loss, "policy_entropy": counts.entropy() });
                if let [Some(top1), Some(top5)] = counts.raw() {
                    numbers["raw_top1"] = top1.into();
                    numbers["raw_top5"] = top5.into();
                }
                (network.clone(), numbers)
            }).collect();
            json!({
                "games": source, "phase": phase, "positions": counts[0].positions,
                "decided": counts[0].decided, "base_wdl_loss": counts[0].base_loss(), "networks": networks,
            })
        };
        self.parts().into_iter().map(part).collect()
    }

    /// Every set by phase and in all, without empty phases.
    fn parts(&self) -> Vec<(&str, &'static str, Vec<AccuracyCounts>)> {
        let mut parts = Vec::new();
        for (source, counts) in &self.sets {
            for phase in Phase::ALL {
                parts.push((
                    source.as_str(),
                    phase.name(),
                    counts.iter().map(|t| t[phase as usize]).collect(),
                ));
            }
            parts.push((source, "all", counts.iter().map(|[a, b, c]| a.merged(b).merged(c)).collect()));
        }
        parts.retain(|(_, _, counts): &(_, _, Vec<AccuracyCounts>)| {
            counts.iter().any(|counts| counts.positions > 0)
        });
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::GameResult;
    use crate::judge::evaluate::counts::nats;
    use engine::chess::position::PackedMove;
    use engine::nets::eval::{Answer, EvalError, Evaluator, Request, Uniform, Wdl};

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

    fn set() -> GameSet {
        let first = stored("e2e4 e7e5 g1f3 b8c6", GameResult::White);
        let second = stored("d2d4 d7d5 c2c4 e7e6 b1c3 g8f6", GameResult::Draw);
        GameSet { source: "two games".into(), games: vec![first, second] }
    }

    /// Prefers e2e4 and e7e5, and predicts a win for White.
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

    fn all(accuracy: &Accuracy) -> Vec<AccuracyCounts> {
        accuracy.parts().pop().unwrap().2
    }

    #[test]
    fn accuracy_and_losses_are_those_computed_by_hand() {
        let mut networks = [Box::new(KingsPawn) as Box<dyn Evaluator>, Box::new(Uniform)]
            .map(|e| JudgedNetwork::new("p", e, None));
        let accuracy = measure(&[set()], Judge::Game, &mut networks, 100).unwrap();
        let [kings_pawn, uniform] = all(&accuracy)[..] else { panic!("two networks") };
        assert_eq!((kings_pawn.positions, kings_pawn.decided), (10, 10));
        assert_eq!(kings_pawn.measures()[0], Some(0.2), "e2e4 and e7e5 of the first game");
        assert_eq!(uniform.measures()[..2], [Some(0.0); 2], "behind its ties");
        // Two of ten positions were won, two lost, six drawn. The network never predicts a draw.
        let entropy = -(0.2f64 * 0.2f64.ln() * 2.0 + 0.6 * 0.6f64.ln());
        assert!((kings_pawn.base_loss().unwrap() - entropy).abs() < 1e-12);
        assert!((kings_pawn.measures()[3].unwrap() - 0.6 * nats(0.0)).abs() < 1e-6);
    }

    #[test]
    fn positions_are_spread_evenly_and_never_too_many() {
        for (count, expected) in
            [(1, vec![9]), (2, vec![4, 9]), (5, vec![1, 3, 5, 7, 9]), (99, (0..10).collect())]
        {
            let mut seen = Vec::new();
            let plies = |game: &Game, played: Move| (game.ply(), Game::uci(played, false));
            visit(&set(), Judge::Game, count, |asked| {
                seen.push(plies(&asked.game, asked.right));
                Ok(())
            })
            .unwrap();
            let mut all = Vec::new();
            visit(&set(), Judge::Game, 10, |asked| {
                all.push(plies(&asked.game, asked.right));
                Ok(())
            })
            .unwrap();
            let expected: Vec<_> = expected.iter().map(|index: &usize| all[*index].clone()).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn a_puzzle_counts_the_solvers_moves_only_and_has_no_result() {
        let puzzle = GameRecord { flags: FLAG_PUZZLE, ..stored("e2e4 e7e5 g1f3", GameResult::Unknown) };
        let set = GameSet { source: "puzzles".into(), games: vec![puzzle] };
        let mut networks = [JudgedNetwork::new("uniform", Box::new(Uniform), None)];
        let counts = all(&measure(&[set], Judge::Game, &mut networks, 100).unwrap())[0];
        assert_eq!((counts.positions, counts.decided), (2, 0));
        assert_eq!((counts.measures()[3], counts.base_loss()), (None, None));
    }

    #[test]
    fn a_search_is_the_judge_where_one_was_recorded() {
        let mut game = stored("e2e4 e7e5 g1f3", GameResult::Black);
        let best = |text: &str| PackedMove::new(Game::new().parse_uci(text).unwrap());
        let search = SearchRecord::new(0.5, 0.2, [(best("d2d4"), 0.3), (best("e2e4"), 0.7)]);
        game.searches = vec![search, SearchRecord::default(), SearchRecord::default()];
        let set = GameSet { source: "one game".into(), games: vec![game] };
        let mut networks = [JudgedNetwork::new("p", Box::new(KingsPawn), None)];
        let counts = all(&measure(&[set], Judge::Search, &mut networks, 100).unwrap())[0];
        assert_eq!((counts.positions, counts.measures()[0]), (1, Some(1.0)), "one search, e2e4 best");
        // The network predicts a certain win, the search win 0.65, draw 0.2, loss 0.15.
        let expected = 0.35 * nats(0.0);
        assert!((counts.measures()[3].unwrap() - expected).abs() < 1e-3 * expected);
        let entropy: f64 = [0.65f64, 0.2, 0.15].iter().map(|share| -share * share.ln()).sum();
        assert!((counts.base_loss().unwrap() - entropy).abs() < 1e-4);
        let error = measure(&[super::tests::set()], Judge::Search, &mut networks, 100).err().unwrap();
        assert!(error.to_string().starts_with("no position of these games has a recorded search"));
    }

    #[test]
    fn the_table_has_a_row_per_measure_and_the_base_rates() {
        let mut networks = [JudgedNetwork::new("uniform", Box::new(Uniform), None)];
        let table = measure(&[set()], Judge::Game, &mut networks, 100).unwrap().table();
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows.len(), 2 + 2 * ALWAYS, "the opening and all of it\n{table}");
        assert!(
            rows[2].starts_with("| two games | opening |        10 |          top-1 |   0.0 % |"),
            "{table}"
        );
        assert!(rows[5].ends_with("|   8.289 |      0.950 |"), "{table}");
        // All moves are equally likely, so the entropy is ln(number of moves): 20 initially, about 30 later.
        assert!(
            rows[6].contains("| policy entropy |   3.") && rows[6].ends_with("|            |"),
            "{table}"
        );
        networks[0].has_value = false;
        let table = measure(&[set()], Judge::Game, &mut networks, 100).unwrap().table();
        let row = table.lines().nth(5).unwrap();
        assert!(
            row.ends_with("|       – |      0.950 |"),
            "a network without a value head has no WDL loss\n{table}"
        );
    }

    #[test]
    fn a_damaged_game_is_named() {
        let mut set = set();
        set.games[1].moves[2] = PackedMove(0);
        let mut networks = [JudgedNetwork::new("uniform", Box::new(Uniform), None)];
        let error = measure(&[set], Judge::Game, &mut networks, 100).err().unwrap().to_string();
        assert_eq!(error, "a game of two games cannot be replayed: no legal move at ply 2");
    }
}
