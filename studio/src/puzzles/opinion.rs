//! What the network says of a puzzle without a search: its prior of the solution, and its value.

use std::time::Duration;

use serde::Serialize;
use shakmaty::san::SanPlus;
use tokio::sync::mpsc;

use super::exercise::Exercise;
use crate::engines::{EngineEvent, EngineSpec, MoveNumbers, SearchOrder, start};
use crate::play::ActionError;

const LONGEST: Duration = Duration::from_secs(20);

/// Without these, the priors would be flattened for a search, and the value a proof's or a table's.
const PURE: [(&str, &str); 5] = [
    ("PolicyTemperature", "1"),
    ("RootPolicyTemperature", "1"),
    ("MateSearch", "false"),
    ("Solver", "false"),
    ("SyzygyProbeLimit", "0"),
];

/// Before the solver's first move, for the solver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Opinion {
    pub engine: String,
    /// The solution's first move, its prior from 0 to 1, and its place among all moves by prior, from 1.
    pub san: String,
    pub prior: f32,
    pub place: usize,
    pub legal: usize,
    /// The move with the greatest prior.
    pub first_san: String,
    pub first_prior: f32,
    /// Win, draw, loss per mille.
    pub wdl: Option<[u16; 3]>,
}

impl Opinion {
    pub async fn of(spec: &EngineSpec, exercise: &Exercise) -> Result<Opinion, ActionError> {
        let failed = |reason: String| ActionError::NotNow(format!("{} {reason}.", spec.name));
        let (report, mut events) = mpsc::unbounded_channel();
        let mut pure = spec.clone();
        // Only Philidor has these options, and only with a network they mean something.
        if spec.options.iter().any(|(name, value)| name == "Player" && value == "network") {
            // It lists its tuning options only then.
            pure.arguments = ["uci", "--tuning"].map(str::to_owned).to_vec();
            pure.options.extend(PURE.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        let handle = start(&pure, move |event| _ = report.send(event));
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        handle.search(SearchOrder {
            id: 0,
            options: vec![
                option("VerboseMoveStats", "true"),
                option("UCI_ShowWDL", "true"),
                option("UCI_Chess960", &exercise.start.is_chess960().to_string()),
            ],
            new_game: true,
            position: exercise.start.position_command(),
            go: "go nodes 1".to_owned(),
            longest: LONGEST,
        });
        let (mut numbers, mut wdl) = (Vec::new(), None);
        loop {
            match events.recv().await {
                Some(EngineEvent::Numbers { numbers: heard, .. }) => numbers.push(heard),
                Some(EngineEvent::Info { info, .. }) => wdl = info.wdl.or(wdl),
                Some(EngineEvent::Best { .. }) => break,
                Some(EngineEvent::Failed { reason }) => return Err(failed(reason)),
                Some(EngineEvent::Ready { .. } | EngineEvent::Tree(_)) => (),
                None => return Err(failed("did not answer".to_owned())),
            }
        }
        Opinion::read(&spec.name, exercise, numbers, wdl)
            .ok_or_else(|| failed("shows no priors: only Philidor and Leela Chess Zero do".to_owned()))
    }

    fn read(
        engine: &str,
        exercise: &Exercise,
        mut numbers: Vec<MoveNumbers>,
        wdl: Option<[u16; 3]>,
    ) -> Option<Opinion> {
        let game = exercise.start.game();
        let san = |uci: &str| {
            let m = game.parse_uci(uci).ok()?;
            Some(SanPlus::from_move(game.position().clone(), m).to_string())
        };
        numbers.retain(|numbers| san(&numbers.uci).is_some());
        numbers.sort_by(|a, b| b.prior.total_cmp(&a.prior));
        let solution = exercise.first_uci();
        let place = numbers.iter().position(|numbers| numbers.uci == solution)?;
        Some(Opinion {
            engine: engine.to_owned(),
            san: san(&solution)?,
            prior: numbers[place].prior,
            place: place + 1,
            legal: numbers.len(),
            first_san: san(&numbers[0].uci)?,
            first_prior: numbers[0].prior,
            wdl,
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::exercise::tests::fork;
    use super::*;

    fn shell(go: &str) -> EngineSpec {
        let script = format!(
            "while read -r l; do case $l in uci) echo option name UCI_ShowWDL type check; echo uciok;; \
             isready) echo readyok;; quit) exit;; go*) {go};; esac; done"
        );
        let (name, program) = ("shell".to_owned(), "/bin/sh".into());
        EngineSpec { name, program, arguments: vec!["-c".into(), script], options: Vec::new() }
    }

    #[tokio::test]
    async fn the_prior_of_the_solution_is_placed_among_all() {
        let stats = |uci: &str, prior: &str| {
            format!("echo 'info string {uci} (1 ) N: 0 (+ 0) (P: {prior}%) (Q: 0.1) (V: -.----)'; ")
        };
        let go = stats("g1f3", "9.50")
            + &stats("h1h8", "12.25")
            + &stats("f1e3", "60.00")
            + "echo info depth 1 score cp -200 wdl 100 200 700 nodes 1 pv f1e3; echo bestmove f1e3";
        let opinion = Opinion::of(&shell(&go), &fork()).await.unwrap();
        assert_eq!((opinion.san.as_str(), opinion.place, opinion.legal), ("Rh8+", 2, 2));
        assert!((opinion.prior - 0.1225).abs() < 1e-6, "{opinion:?}");
        assert_eq!((opinion.first_san.as_str(), opinion.wdl), ("Ne3", Some([100, 200, 700])));
        let silent = Opinion::of(&shell("echo bestmove f1e3"), &fork()).await.unwrap_err();
        assert!(silent.to_string().contains("shell shows no priors"), "{silent}");
        let dead = Opinion::of(&shell("exit 3"), &fork()).await.unwrap_err();
        assert!(dead.to_string().contains("ended (exit status: 3)"), "{dead}");
    }
}
