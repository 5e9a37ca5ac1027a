//! What the network says of a puzzle without a search: its prior of the solution, and its value.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use shakmaty::san::SanPlus;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};

use super::exercise::Exercise;
use crate::engines::{EngineEvent, EngineHandle, EngineSpec, MoveNumbers, SearchOrder, start};
use crate::play::ActionError;

const LONGEST: Duration = Duration::from_secs(20);

/// The engine ends when no puzzle was solved for so long.
const IDLE: Duration = Duration::from_secs(60);

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

/// The engine that is asked. One process answers all tabs, one puzzle after the other, and ends when nobody asks.
#[derive(Clone, Debug)]
pub struct Oracle {
    spec: EngineSpec,
    idle: Duration,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Puzzles so far.
    asked: u64,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    handle: EngineHandle,
    events: mpsc::UnboundedReceiver<EngineEvent>,
}

/// Its numbers for each move, and the position's win, draw and loss.
type Heard = (Vec<MoveNumbers>, Option<[u16; 3]>);

impl Oracle {
    pub fn new(spec: EngineSpec) -> Oracle {
        Oracle { spec, idle: IDLE, kept: Arc::default() }
    }

    pub async fn ask(&self, exercise: Exercise) -> Result<Opinion, ActionError> {
        // Who leaves before the turn comes is not answered.
        let kept = Arc::clone(&self.kept).lock_owned().await;
        let oracle = self.clone();
        // Goes on when the page that asks has gone, so that the next one finds the engine ready.
        let asked = tokio::spawn(async move { oracle.answer(kept, &exercise).await });
        asked.await.unwrap_or_else(|_| Err(self.failed("was asked in vain".to_owned())))
    }

    fn failed(&self, reason: String) -> ActionError {
        ActionError::NotNow(format!("{} {reason}.", self.spec.name))
    }

    async fn answer(
        &self,
        mut kept: OwnedMutexGuard<Kept>,
        exercise: &Exercise,
    ) -> Result<Opinion, ActionError> {
        kept.asked += 1;
        let asked = kept.asked;
        let was_running = kept.process.is_some();
        let mut heard = kept.ask(&self.spec, exercise).await;
        // A process that was kept may have ended meanwhile.
        if heard.is_err() && was_running {
            heard = kept.ask(&self.spec, exercise).await;
        }
        drop(kept);
        tokio::spawn(self.clone().end_after(asked));
        let (numbers, wdl) = heard.map_err(|reason| self.failed(reason))?;
        Opinion::read(&self.spec.name, exercise, numbers, wdl)
            .ok_or_else(|| self.failed("shows no priors: only Philidor and Leela Chess Zero do".to_owned()))
    }

    /// Ends the process if nobody asks for another puzzle meanwhile.
    async fn end_after(self, asked: u64) {
        tokio::time::sleep(self.idle).await;
        let mut kept = self.kept.lock().await;
        if kept.asked == asked {
            kept.process = None;
        }
    }
}

impl Kept {
    /// An error ends the process.
    async fn ask(&mut self, spec: &EngineSpec, exercise: &Exercise) -> Result<Heard, String> {
        let process = self.process.get_or_insert_with(|| Process::start(spec));
        let heard = process.search(self.asked, exercise).await;
        if heard.is_err() {
            self.process = None;
        }
        heard
    }
}

impl Process {
    fn start(spec: &EngineSpec) -> Process {
        let (report, events) = mpsc::unbounded_channel();
        let mut pure = spec.clone();
        // Only Philidor has these options, and only with a network they mean something.
        if spec.options.iter().any(|(name, value)| name == "Player" && value == "network") {
            // It lists its tuning options only then.
            pure.arguments = ["uci", "--tuning"].map(str::to_owned).to_vec();
            pure.options.extend(PURE.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        Process { handle: start(&pure, move |event| _ = report.send(event)), events }
    }

    async fn search(&mut self, id: u64, exercise: &Exercise) -> Result<Heard, String> {
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        self.handle.search(SearchOrder {
            id,
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
            match self.events.recv().await {
                Some(EngineEvent::Numbers { numbers: heard, .. }) => numbers.push(heard),
                Some(EngineEvent::Info { info, .. }) => wdl = info.wdl.or(wdl),
                Some(EngineEvent::Best { .. }) => return Ok((numbers, wdl)),
                Some(EngineEvent::Failed { reason }) => return Err(reason),
                Some(EngineEvent::Ready { .. } | EngineEvent::Tree(_)) => (),
                None => return Err("did not answer".to_owned()),
            }
        }
    }
}

impl Opinion {
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
        let opinion = Oracle::new(shell(&go)).ask(fork()).await.unwrap();
        assert_eq!((opinion.san.as_str(), opinion.place, opinion.legal), ("Rh8+", 2, 2));
        assert!((opinion.prior - 0.1225).abs() < 1e-6, "{opinion:?}");
        assert_eq!((opinion.first_san.as_str(), opinion.wdl), ("Ne3", Some([100, 200, 700])));
        let silent = Oracle::new(shell("echo bestmove f1e3")).ask(fork()).await.unwrap_err();
        assert!(silent.to_string().contains("shell shows no priors"), "{silent}");
        let dead = Oracle::new(shell("exit 3")).ask(fork()).await.unwrap_err();
        assert!(dead.to_string().contains("ended (exit status: 3)"), "{dead}");
    }

    /// Its prior of the move is the number of puzzles that this process was asked.
    const COUNTS: &str = "n=$((n+1)); echo \"info string h1h8 (1 ) N: 0 (+ 0) (P: $n%) (Q: 0.1) (V: -.----)\"; echo bestmove f1e3";

    async fn prior(oracle: &Oracle) -> f32 {
        (oracle.ask(fork()).await.unwrap().prior * 100.0).round()
    }

    #[tokio::test]
    async fn one_process_answers_until_nobody_asks() {
        let mut oracle = Oracle::new(shell(COUNTS));
        let (first, second) = tokio::join!(prior(&oracle), prior(&oracle));
        assert_eq!(first + second, 3.0, "one after the other");
        oracle.idle = Duration::ZERO;
        assert_eq!(prior(&oracle).await, 3.0);
        while oracle.kept.lock().await.process.is_some() {
            tokio::task::yield_now().await;
        }
        assert_eq!(prior(&oracle).await, 1.0, "another process");
    }

    #[tokio::test]
    async fn a_process_that_has_ended_is_started_again() {
        let dies = Oracle::new(shell(&format!("[ -z \"$n\" ] || exit 3; {COUNTS}")));
        assert_eq!([prior(&dies).await, prior(&dies).await], [1.0, 1.0]);
    }
}
