//! Positions asked of every player.

use engine::position::Game;
use indicatif::{ProgressBar, ProgressStyle};
use shakmaty::Move;

use super::player::Player;
use super::question::Question;

/// A question about a position.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its row of the table: a suite, a category.
    pub group: String,
    /// Its name in there.
    pub id: String,
    /// The position.
    pub game: Game,
    /// The question.
    pub question: Question,
}

/// A player's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Whether the network alone is right; `None` if it wasn't asked.
    pub alone: Option<bool>,
    /// Whether the search is right.
    pub search: Option<bool>,
    /// The network's favourite move with its share, and the value it gives, for people.
    pub said: String,
    /// The same of the search.
    pub found: String,
}

/// Asks every player about every item; one row of answers per item, one answer per player.
///
/// # Errors
///
/// One line: a network can't be run.
pub fn judge(items: &[Item], players: &mut [Player]) -> Result<Vec<Vec<Verdict>>, String> {
    let bar = progress(items.len() * players.len(), "positions");
    let mut columns = Vec::new();
    for player in players {
        bar.set_message(player.name.clone());
        let mut column = impressions(items, player)?;
        for (item, verdict) in items.iter().zip(&mut column) {
            if item.question.wants_search()
                && let Some(found) = player.search(&item.game)?
            {
                verdict.search = item.question.grade_search(&found);
                let mate = found.mate.map_or(String::new(), |mate| format!(" #{mate}"));
                verdict.found = format!("{} {:+.2}{mate}", name(found.best), found.wdl.q());
            }
            bar.inc(1);
        }
        columns.push(column);
    }
    bar.finish_and_clear();
    Ok((0..items.len()).map(|item| columns.iter().map(|column| column[item].clone()).collect()).collect())
}

/// What the network says by itself.
fn impressions(items: &[Item], player: &mut Player) -> Result<Vec<Verdict>, String> {
    let here: Vec<Game> = items.iter().map(|item| item.game.clone()).collect();
    let there: Vec<Game> = items.iter().filter_map(|item| item.question.other().cloned()).collect();
    let opinions = player.opinions(&here)?;
    let mut others = player.opinions(&there)?.into_iter();
    let verdict = |(item, opinion): (&Item, _)| {
        let other = item.question.other().and_then(|_| others.next());
        let alone = item.question.grade(&opinion, other.as_ref());
        let (favourite, share) = opinion.policy[0];
        let said = format!("{} {:.0}% {:+.2}", name(favourite), 100.0 * share, opinion.wdl.q());
        Verdict { alone, said, ..Verdict::default() }
    };
    Ok(items.iter().zip(opinions).map(verdict).collect())
}

fn name(m: Move) -> String {
    Game::uci(m, false)
}

/// A progress bar on stderr, with rate and time left.
pub fn progress(total: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(total as u64);
    let template =
        format!("{{bar:24}} {{human_pos}}/{{human_len}} {what}, {{per_sec:.0}}, {{eta}} left {{msg}}");
    bar.set_style(ProgressStyle::with_template(&template).expect("a valid template"));
    bar
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::evaluate::tsv;
    use engine::eval::{Answer, EvalError, Evaluator, Request, Uniform, Wdl};

    /// Likes the first legal move in the order of their names best, and thinks that it wins.
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

    fn item(group: &str, question: [&str; 3], other: &str) -> Item {
        let [position, kind, expected] = question;
        let game = tsv::position(position).unwrap();
        let question = Question::parse(&game, kind, expected, other).unwrap();
        Item { group: group.into(), id: format!("{kind} {expected}"), game, question }
    }

    /// The first move by name in the initial position is a2a3.
    pub fn items() -> Vec<Item> {
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

    fn players() -> Vec<Player> {
        let searching: Option<(Box<dyn Evaluator>, u64)> = Some((Box::new(Uniform), 100));
        vec![
            Player::new("names", Box::new(Alphabetical), None),
            Player::new("both", Box::new(Uniform), searching),
        ]
    }

    #[test]
    fn every_player_answers_every_question_in_order() {
        let items = items();
        let verdicts = judge(&items, &mut players()).unwrap();
        let alone: Vec<_> = verdicts.iter().map(|row| row[0].alone).collect();
        assert_eq!(alone, [Some(true), Some(false), Some(true), None, Some(true), None]);
        assert!(verdicts.iter().all(|row| row[0].search.is_none()));
        let search: Vec<_> = verdicts.iter().map(|row| row[1].search).collect();
        assert_eq!(search[2..], [Some(false), Some(true), None, Some(true)]);
        assert_eq!(verdicts[0][0].said, "a2a3 52% +0.75");
        assert_eq!(verdicts[3][1].found, "a1a8 +1.00 #1");
    }
}
