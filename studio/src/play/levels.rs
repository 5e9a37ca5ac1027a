//! Named strengths of Philidor, and what each is worth.

use serde::{Deserialize, Serialize};

/// The weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    FirstSteps,
    Beginner,
    Novice,
    Casual,
    Improver,
    Hobby,
    Club,
    StrongClub,
    Expert,
    Master,
}

/// How a level is played.
enum Limit {
    /// A move drawn from the network's policy at this temperature, without a search.
    Policy(&'static str),
    Elo(u32),
}

/// A level as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelView {
    pub key: Level,
    pub name: &'static str,
    pub rating: u32,
    pub words: &'static str,
}

impl Level {
    pub const ALL: [Level; 10] = [
        Level::FirstSteps,
        Level::Beginner,
        Level::Novice,
        Level::Casual,
        Level::Improver,
        Level::Hobby,
        Level::Club,
        Level::StrongClub,
        Level::Expert,
        Level::Master,
    ];

    /// Name, limit, rating, what it is worth. The ratings were measured, see docs/results/progress.md, "Levels".
    fn row(self) -> (&'static str, Limit, u32, &'static str) {
        use Limit::{Elo, Policy};
        match self {
            Level::FirstSteps => {
                ("First steps", Policy("1.1"), 350, "never looks ahead; gives pieces away all the time")
            }
            Level::Beginner => ("Beginner", Policy("0.9"), 500, "never looks ahead; often gives pieces away"),
            Level::Novice => ("Novice", Policy("0.7"), 670, "never looks ahead; overlooks captures"),
            Level::Casual => ("Casual player", Elo(800), 800, "looks a move ahead; gives pieces away"),
            Level::Improver => ("Improver", Elo(1010), 1010, "looks a move ahead; still loses pieces"),
            Level::Hobby => ("Hobby player", Elo(1260), 1260, "sound moves, and clear mistakes among them"),
            Level::Club => ("Club player", Elo(1510), 1510, "no clear mistake in a move, but short-sighted"),
            Level::StrongClub => ("Strong club player", Elo(1825), 1825, "sees short combinations"),
            Level::Expert => ("Expert", Elo(2145), 2145, "sees combinations, and errs little"),
            Level::Master => ("Master", Elo(2295), 2295, "for those who rarely lose"),
        }
    }

    pub fn view(self) -> LevelView {
        let (name, _, rating, words) = self.row();
        LevelView { key: self, name, rating, words }
    }

    /// As in "Philidor, beginner (500)".
    pub fn label(self, engine: &str) -> String {
        let LevelView { name, rating, .. } = self.view();
        format!("{engine}, {} ({rating})", name.to_lowercase())
    }

    /// What limits the strength: UCI options, and arguments of `go`.
    pub fn limits(self) -> (Vec<(String, String)>, &'static str) {
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        match self.row().1 {
            Limit::Policy(temperature) => {
                (vec![option("UCI_LimitStrength", "false"), option("Temperature", temperature)], " nodes 1")
            }
            Limit::Elo(elo) => {
                (vec![option("UCI_LimitStrength", "true"), option("UCI_Elo", &elo.to_string())], "")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_rise_from_well_under_800_and_have_names_of_their_own() {
        let views: Vec<LevelView> = Level::ALL.iter().map(|level| level.view()).collect();
        assert!(views[0].rating < 500 && views.is_sorted_by(|a, b| a.rating < b.rating), "{views:?}");
        assert!(views.is_sorted_by_key(|view| view.key as u8), "every level once");
        assert_eq!(serde_json::to_value(Level::StrongClub).unwrap(), "strong_club");
        assert_eq!(Level::Beginner.label("Philidor"), "Philidor, beginner (500)");
        let (options, more) = Level::Beginner.limits();
        assert_eq!((options[1].0.as_str(), more), ("Temperature", " nodes 1"));
        assert_eq!(Level::Club.limits().0[1], ("UCI_Elo".to_owned(), "1510".to_owned()));
    }
}
