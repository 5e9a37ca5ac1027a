use anyhow::Result;
use engine::base::words::counted;
use engine::chess::position::Game;
use shakmaty::Move;

use super::criterion::Criterion;
use super::judged_network::JudgedNetwork;
use crate::base::progress::{Counted, progress};

#[derive(Clone, Debug)]
pub struct TestPosition {
    /// Suite or category, a row of the table.
    pub group: String,
    /// Unique within the group.
    pub id: String,
    pub game: Game,
    pub criterion: Criterion,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GradedAnswer {
    /// Without search; `None` if the criterion does not apply.
    pub alone: Option<bool>,
    /// After a search; `None` without search or if the criterion does not apply.
    pub search: Option<bool>,
    /// Most probable move, its prior, and Q.
    pub network_text: String,
    /// Best move, Q and mate.
    pub search_text: String,
}

/// `[items][networks]`
pub fn judge(items: &[TestPosition], networks: &mut [JudgedNetwork]) -> Result<Vec<Vec<GradedAnswer>>> {
    let bar = progress((items.len() * networks.len()) as u64, 0, Counted::Positions);
    bar.set_message(counted(networks.len(), "network"));
    let alone = networks.iter_mut().map(|network| grade_alone(items, network));
    let mut columns = alone.collect::<Result<Vec<Vec<GradedAnswer>>>>()?;
    bar.reset_elapsed();
    // Each position by all networks, so that the time left is right when one is slower than the others.
    for (index, item) in items.iter().enumerate() {
        for (network, column) in networks.iter_mut().zip(&mut columns) {
            let answer = &mut column[index];
            if item.criterion.needs_search()
                && let Some(found) = network.search(&item.game)?
            {
                answer.search = item.criterion.grade_search(&found);
                let mate = found.mate.map_or(String::new(), |mate| format!(" #{mate}"));
                answer.search_text = format!("{} {:+.2}{mate}", name(found.best), found.wdl.q());
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok((0..items.len()).map(|item| columns.iter().map(|column| column[item].clone()).collect()).collect())
}

fn grade_alone(items: &[TestPosition], network: &mut JudgedNetwork) -> Result<Vec<GradedAnswer>> {
    let here: Vec<Game> = items.iter().map(|item| item.game.clone()).collect();
    let there: Vec<Game> = items.iter().filter_map(|item| item.criterion.other().cloned()).collect();
    let predictions = network.predict(&here)?;
    let mut others = network.predict(&there)?.into_iter();
    let answer = |(item, prediction): (&TestPosition, _)| {
        let other = item.criterion.other().and_then(|_| others.next());
        let alone = item.criterion.grade(&prediction, other.as_ref());
        let (best, prior) = prediction.policy[0];
        let network_text = format!("{} {:.0}% {:+.2}", name(best), 100.0 * prior, prediction.wdl.q());
        GradedAnswer { alone, network_text, ..GradedAnswer::default() }
    };
    Ok(items.iter().zip(predictions).map(answer).collect())
}

fn name(m: Move) -> String {
    Game::uci(m, false)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::judge::evaluate::tsv;
    use engine::nets::eval::{Answer, EvalError, Evaluator, Request, Uniform, Wdl};

    /// Prefers the alphabetically first legal move and expects to win.
    #[derive(Clone, Copy)]
    struct Alphabetical;

    impl Evaluator for Alphabetical {
        fn max_batch(&self) -> usize {
            3
        }

        fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
            let answer = |request: &Request<'_>| {
                let first = request.moves.iter().map(|m| name(*m)).min();
                let like = |m: &Move| if Some(name(*m)) == first { 0.5 } else { 0.0 };
                let rest = 0.5 / request.moves.len() as f32;
                let priors = request.moves.iter().map(|m| like(m) + rest).collect();
                Answer { wdl: Wdl { win: 0.75, draw: 0.25, loss: 0.0 }, priors }
            };
            Ok(batch.iter().map(answer).collect())
        }
    }

    fn item(group: &str, question: [&str; 3], other: &str) -> TestPosition {
        let [position, kind, expected] = question;
        let game = tsv::position(position).unwrap();
        let criterion = Criterion::parse(&game, kind, expected, other).unwrap();
        TestPosition { group: group.into(), id: format!("{kind} {expected}"), game, criterion }
    }

    /// a2a3 is the alphabetically first move of the initial position.
    pub fn items() -> Vec<TestPosition> {
        let mate = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";
        vec![
            item("b", ["startpos", "plays", "e2e4 a2a3"], ""),
            item("b", ["startpos", "avoids", "a2a3"], ""),
            item("b", ["startpos", "says", "win > 0.7, loss < 0.1"], ""),
            item("a", [mate, "finds", "a1a8"], ""),
            item("b", ["startpos", "differs", "wdl < 0.1, policy > 0.4"], "startpos moves a2a3"),
            item("a", [mate, "mates", "1"], ""),
        ]
    }

    fn networks() -> Vec<JudgedNetwork> {
        let searching: Option<(Box<dyn Evaluator>, u64)> = Some((Box::new(Uniform), 100));
        vec![
            JudgedNetwork::new("names", Box::new(Alphabetical), None),
            JudgedNetwork::new("both", Box::new(Uniform), searching),
        ]
    }

    #[test]
    fn every_network_is_graded_on_every_item_in_order() {
        let items = items();
        let graded = judge(&items, &mut networks()).unwrap();
        let alone: Vec<_> = graded.iter().map(|row| row[0].alone).collect();
        assert_eq!(alone, [Some(true), Some(false), Some(true), None, Some(true), None]);
        assert!(graded.iter().all(|row| row[0].search.is_none()));
        let search: Vec<_> = graded.iter().map(|row| row[1].search).collect();
        assert_eq!(search[2..], [Some(false), Some(true), None, Some(true)]);
        assert_eq!(graded[0][0].network_text, "a2a3 52% +0.75");
        assert_eq!(graded[3][1].search_text, "a1a8 +1.00 #1");
    }
}
