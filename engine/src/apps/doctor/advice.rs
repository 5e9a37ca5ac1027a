use serde::Serialize;

use super::machine::{Machine, Runtime};
use super::measure::Measurements;

/// Load per core above which measurements and games are disturbed.
const BUSY: f64 = 0.5;

#[derive(Clone, Debug, Serialize)]
pub(super) struct GuiAdvice {
    pub command: String,
    pub threads: usize,
    /// MiB.
    pub hash: u64,
    /// Milliseconds, on this machine.
    pub move_overhead: u64,
    /// Milliseconds, over a network.
    pub move_overhead_online: u64,
    pub weights: &'static str,
}

impl GuiAdvice {
    pub fn new(command: String, machine: &Machine, measured: &Measurements) -> GuiAdvice {
        GuiAdvice {
            command,
            threads: measured.best_workers(),
            hash: hash(machine.free_memory),
            move_overhead: 100,
            move_overhead_online: 300,
            weights: "<embedded>",
        }
    }
}

/// In MiB: a quarter of the free memory, as a power of two from 16 MiB to 4 GiB.
fn hash(free: u64) -> u64 {
    let quarter = (free / 4).clamp(16, 4096);
    1 << quarter.ilog2()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Problem {
    pub what: String,
    pub mend: String,
}

/// Worst first.
pub(super) fn problems(machine: &Machine, runtime: &Runtime, measured: &Measurements) -> Vec<Problem> {
    let mut all = Vec::new();
    let mut add = |what: String, mend: &str| all.push(Problem { what, mend: mend.to_owned() });
    if cfg!(debug_assertions) {
        add(
            "this program was built without optimisation".to_owned(),
            "build it with cargo build --release -p engine",
        );
    }
    if machine.is_without_vectors() {
        add(
            "this processor has no AVX2: the network runs without vector instructions".to_owned(),
            "nothing is wrong; processors with AVX2 or AVX-512 are a third to a half faster. In a virtual machine, pass \
             the host's processor through",
        );
    }
    if let Some(load) = machine.load.filter(|load| *load > BUSY * machine.processors as f64) {
        add(
            format!("other programs are running (load {load:.1}): the speeds here are too low"),
            "close them and run this again; set Threads to the cores that they leave",
        );
    }
    if machine.processors < machine.cores {
        add(
            format!("only {} of {} cores may be used", machine.processors, machine.cores),
            "start the program without taskset, or give its container more processors",
        );
    }
    if (1..1024).contains(&machine.free_memory) {
        add(format!("only {} MiB of memory are free", machine.free_memory), "keep Hash small, as said above");
    }
    for (file, error) in &measured.failed {
        add(
            format!("{file} cannot be used: {error}"),
            "install the file anew; philidor net check FILE tells more",
        );
    }
    if let Some(error) = &runtime.error {
        add(
            format!("networks other than the embedded one cannot be played: {error}"),
            "needed only for those networks, which `philidor net list` shows; the embedded one is the strongest",
        );
    }
    if !measured.skipped.is_empty() {
        add(
            format!("there was no time to measure {}", measured.skipped.join(", ")),
            "philidor backendbench --weights FILE measures one network",
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_free_memory_is_for_the_search() {
        for (free, expected) in
            [(0, 16), (100, 16), (1000, 128), (4096, 1024), (24_000, 4096), (1 << 20, 4096)]
        {
            assert_eq!(hash(free), expected, "{free} MiB");
        }
    }

    #[test]
    fn each_problem_has_its_mend() {
        let machine = Machine {
            system: "Linux".into(),
            architecture: "x86_64",
            processor: "old".into(),
            features: vec!["sse4.2"],
            cores: 4,
            processors: 2,
            memory: 2048,
            free_memory: 300,
            load: Some(3.0),
            gpus: Vec::new(),
        };
        let runtime = Runtime { library: None, error: Some("missing".into()) };
        let measured = Measurements {
            networks: Vec::new(),
            workers: Vec::new(),
            precisions: Vec::new(),
            failed: vec![("x.onnx".into(), "damaged".into())],
            skipped: vec!["trm.onnx".into()],
        };
        let found = problems(&machine, &runtime, &measured);
        for word in ["AVX2", "load 3.0", "2 of 4 cores", "300 MiB", "damaged", "missing", "trm.onnx"] {
            assert!(found.iter().any(|problem| problem.what.contains(word)), "{word}: {found:?}");
        }
        assert!(found.iter().all(|problem| !problem.mend.is_empty()));
    }
}
