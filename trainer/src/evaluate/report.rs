//! The table of all answers.

use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use serde_json::{Value, json};

use super::judge::{Item, Verdict};

/// All answers, to be printed and written.
pub struct Report<'a> {
    /// What was asked.
    pub items: &'a [Item],
    /// The answers, as [`judge`](super::judge::judge) gives them.
    pub verdicts: &'a [Vec<Verdict>],
    /// Who was asked, with the visits of each search.
    pub players: Vec<(String, u64)>,
    /// What a row is called.
    pub kind: &'static str,
    /// A group's weight in the total; `None`: every answer counts the same.
    pub weight: Option<fn(&str) -> u32>,
}

impl Report<'_> {
    /// One row a group, one column a player and way to answer, then the total; as Markdown.
    pub fn table(&self) -> String {
        let columns = self.columns();
        let mut head = vec![self.kind.to_owned()];
        head.extend(self.weight.map(|_| "weight".to_owned()));
        head.push("positions".into());
        head.extend(columns.iter().map(|column| column.heading.clone()));
        let mut rows = Vec::new();
        for group in self.groups() {
            let mut row = vec![group.to_owned()];
            row.extend(self.weight.map(|weight| weight(group).to_string()));
            row.push(self.items.iter().filter(|item| item.group == group).count().to_string());
            row.extend(columns.iter().map(|column| per_cent(share(&self.answers(group, column)))));
            rows.push(row);
        }
        let mut total = vec!["total".to_owned()];
        total.extend(self.weight.map(|_| String::new()));
        total.push(self.items.len().to_string());
        total.extend(columns.iter().map(|column| per_cent(self.total(column))));
        rows.push(total);
        markdown(head, rows)
    }

    /// One line for each question that somebody got wrong.
    pub fn failures(&self) -> String {
        let wrong = |answer: Option<bool>| answer == Some(false);
        let mut lines = String::new();
        for (item, verdicts) in self.items.iter().zip(self.verdicts) {
            for ((player, nodes), verdict) in self.players.iter().zip(verdicts) {
                for (who, answer, said) in [
                    (player.clone(), verdict.alone, &verdict.said),
                    (format!("{player}, {nodes} nodes"), verdict.search, &verdict.found),
                ] {
                    if wrong(answer) {
                        lines +=
                            &format!("{} / {}: {who}: {said} ({})\n", item.group, item.id, item.game.fen());
                    }
                }
            }
        }
        lines
    }

    /// Shares and every single answer.
    pub fn json(&self) -> Value {
        let columns = self.columns();
        let shares = |of: &dyn Fn(&Column) -> Option<f64>| -> Value {
            columns.iter().map(|column| (column.heading.clone(), json!(of(column)))).collect()
        };
        let groups: Vec<Value> = self
            .groups()
            .into_iter()
            .map(|group| {
                json!({
                    "name": group,
                    "weight": self.weight.map(|weight| weight(group)),
                    "shares": shares(&|column| share(&self.answers(group, column))),
                })
            })
            .collect();
        let positions: Vec<Value> = self
            .items
            .iter()
            .zip(self.verdicts)
            .map(|(item, verdicts)| {
                let answers: Value = self
                    .players
                    .iter()
                    .zip(verdicts)
                    .map(|((player, _), verdict)| {
                        let Verdict { alone, search, said, found } = verdict;
                        (
                            player.clone(),
                            json!({ "alone": alone, "search": search, "said": said, "found": found }),
                        )
                    })
                    .collect();
                json!({ "group": item.group, "id": item.id, "fen": item.game.fen(), "answers": answers })
            })
            .collect();
        json!({ "total": shares(&|column| self.total(column)), "groups": groups, "positions": positions })
    }

    /// The groups in the order of their first items.
    fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for item in self.items {
            if !groups.contains(&item.group.as_str()) {
                groups.push(&item.group);
            }
        }
        groups
    }

    fn columns(&self) -> Vec<Column> {
        let of = |(player, (name, nodes)): (usize, &(String, u64))| {
            let alone = Column { heading: name.clone(), player, search: false };
            let search = (*nodes > 0).then(|| Column {
                heading: format!("{name}, {nodes} nodes"),
                player,
                search: true,
            });
            [Some(alone), search].into_iter().flatten()
        };
        self.players.iter().enumerate().flat_map(of).collect()
    }

    fn answers(&self, group: &str, column: &Column) -> Vec<bool> {
        let of_group = self.items.iter().zip(self.verdicts).filter(|(item, _)| item.group == group);
        let answer = |verdict: &Verdict| if column.search { verdict.search } else { verdict.alone };
        of_group.filter_map(|(_, verdicts)| answer(&verdicts[column.player])).collect()
    }

    /// The weighted mean of the groups in which something was asked.
    fn total(&self, column: &Column) -> Option<f64> {
        let (mut sum, mut weights) = (0.0, 0.0);
        for group in self.groups() {
            let answers = self.answers(group, column);
            if let Some(share) = share(&answers) {
                let weight = self.weight.map_or(answers.len() as f64, |weight| f64::from(weight(group)));
                sum += weight * share;
                weights += weight;
            }
        }
        (weights > 0.0).then(|| sum / weights)
    }
}

/// A player alone, or searching.
struct Column {
    heading: String,
    player: usize,
    search: bool,
}

/// The share of right answers; `None` without any.
fn share(answers: &[bool]) -> Option<f64> {
    let right = answers.iter().filter(|right| **right).count();
    (!answers.is_empty()).then(|| right as f64 / answers.len() as f64)
}

/// A share for the table.
pub fn per_cent(share: Option<f64>) -> String {
    share.map_or("–".into(), |share| format!("{:.1} %", 100.0 * share))
}

/// A table in Markdown, the first column to the left, the others to the right.
pub fn markdown(head: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(head).add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::judge::tests::items;

    fn weight(group: &str) -> u32 {
        if group == "b" { 3 } else { 1 }
    }

    fn verdict(alone: Option<bool>, search: Option<bool>) -> Verdict {
        Verdict { alone, search, ..Verdict::default() }
    }

    #[test]
    fn the_total_is_the_weighted_mean_of_what_was_asked() {
        let items = items();
        let row = |alone, search| vec![verdict(alone, search)];
        let (yes, no) = (Some(true), Some(false));
        let verdicts =
            [row(yes, yes), row(no, yes), row(no, None), row(None, no), row(no, None), row(None, yes)];
        let players = vec![("one".to_owned(), 100)];
        let report =
            Report { items: &items, verdicts: &verdicts, players, kind: "group", weight: Some(weight) };
        // Alone: b 1 of 4, a not asked. Search: b 2 of 2, a 1 of 2: (3 + 0.5) / 4.
        assert_eq!(
            report.table(),
            "| group | weight | positions |    one | one, 100 nodes |\n\
             |-------|--------|-----------|--------|----------------|\n\
             | b     |      3 |         4 | 25.0 % |        100.0 % |\n\
             | a     |      1 |         2 |      – |         50.0 % |\n\
             | total |        |         6 | 25.0 % |         87.5 % |"
        );
        let plain = Report { weight: None, ..report };
        assert!(
            plain.table().ends_with("| total |         6 | 25.0 % |         75.0 % |"),
            "{}",
            plain.table()
        );
        assert_eq!(plain.failures().lines().count(), 4);
        assert_eq!(plain.json()["total"]["one, 100 nodes"], 0.75);
        assert_eq!(plain.json()["positions"][3]["answers"]["one"]["search"], false);
    }
}
