use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use serde_json::{Value, json};

use super::judge::{GradedAnswer, TestPosition};

pub struct EvaluationReport<'a> {
    pub items: &'a [TestPosition],
    /// `[items][networks]`, from [`judge`](super::judge::judge).
    pub graded: &'a [Vec<GradedAnswer>],
    /// Names and visits per search.
    pub networks: Vec<(String, u64)>,
    pub kind: &'static str,
    /// Weight of a group in the total; `None` if every answer counts the same.
    pub weight: Option<fn(&str) -> u32>,
}

impl EvaluationReport<'_> {
    /// Markdown: a row per group and the total; columns per network, alone and with search.
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

    pub fn failures(&self) -> String {
        let mut lines = String::new();
        for (item, graded) in self.items.iter().zip(self.graded) {
            for ((network, nodes), answer) in self.networks.iter().zip(graded) {
                for (who, right, text) in [
                    (network.clone(), answer.alone, &answer.network_text),
                    (format!("{network}, {nodes} nodes"), answer.search, &answer.search_text),
                ] {
                    if right == Some(false) {
                        lines +=
                            &format!("{} / {}: {who}: {text} ({})\n", item.group, item.id, item.game.fen());
                    }
                }
            }
        }
        lines
    }

    /// Shares of right answers, and every single answer.
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
            .zip(self.graded)
            .map(|(item, graded)| {
                let answers: Value = self
                    .networks
                    .iter()
                    .zip(graded)
                    .map(|((network, _), answer)| {
                        let GradedAnswer { alone, search, network_text, search_text } = answer;
                        (
                            network.clone(),
                            json!({ "alone": alone, "search": search, "said": network_text, "found": search_text }),
                        )
                    })
                    .collect();
                json!({ "group": item.group, "id": item.id, "fen": item.game.fen(), "answers": answers })
            })
            .collect();
        json!({ "total": shares(&|column| self.total(column)), "groups": groups, "positions": positions })
    }

    /// In order of first occurrence.
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
        let of = |(network, (name, nodes)): (usize, &(String, u64))| {
            let alone = Column { heading: name.clone(), network, search: false };
            let search = (*nodes > 0).then(|| Column {
                heading: format!("{name}, {nodes} nodes"),
                network,
                search: true,
            });
            [Some(alone), search].into_iter().flatten()
        };
        self.networks.iter().enumerate().flat_map(of).collect()
    }

    fn answers(&self, group: &str, column: &Column) -> Vec<bool> {
        let of_group = self.items.iter().zip(self.graded).filter(|(item, _)| item.group == group);
        let right = |answer: &GradedAnswer| if column.search { answer.search } else { answer.alone };
        of_group.filter_map(|(_, graded)| right(&graded[column.network])).collect()
    }

    /// Weighted mean over the groups that have answers in this column.
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

struct Column {
    heading: String,
    network: usize,
    search: bool,
}

/// `None` without answers.
fn share(answers: &[bool]) -> Option<f64> {
    let right = answers.iter().filter(|right| **right).count();
    (!answers.is_empty()).then(|| right as f64 / answers.len() as f64)
}

pub fn per_cent(share: Option<f64>) -> String {
    share.map_or("–".into(), |share| format!("{:.1} %", 100.0 * share))
}

/// Markdown with the columns right-aligned, except the first.
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
    use crate::judge::evaluate::judge::tests::items;

    fn weight(group: &str) -> u32 {
        if group == "b" { 3 } else { 1 }
    }

    fn answer(alone: Option<bool>, search: Option<bool>) -> GradedAnswer {
        GradedAnswer { alone, search, ..GradedAnswer::default() }
    }

    #[test]
    fn the_total_is_the_weighted_mean_of_the_groups_with_answers() {
        let items = items();
        let row = |alone, search| vec![answer(alone, search)];
        let (yes, no) = (Some(true), Some(false));
        let graded =
            [row(yes, yes), row(no, yes), row(no, None), row(None, no), row(no, None), row(None, yes)];
        let networks = vec![("one".to_owned(), 100)];
        let report = EvaluationReport {
            items: &items,
            graded: &graded,
            networks,
            kind: "group",
            weight: Some(weight),
        };
        // Without search: 1 of 4 in b, none graded in a. With search: 2 of 2 in b (weight 3) and 1 of 2 in a (weight
        // 1), so in total (3 · 1 + 1 · 0.5) / 4.
        assert_eq!(
            report.table(),
            "| group | weight | positions |    one | one, 100 nodes |\n\
             |-------|--------|-----------|--------|----------------|\n\
             | b     |      3 |         4 | 25.0 % |        100.0 % |\n\
             | a     |      1 |         2 |      – |         50.0 % |\n\
             | total |        |         6 | 25.0 % |         87.5 % |"
        );
        let plain = EvaluationReport { weight: None, ..report };
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
