//! Plays the other machines.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use trainer::base::files::write_file;

pub fn trainer(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"));
    command.current_dir(folder).args(arguments).stderr(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Stdout and stderr.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The units that an inbox wants, each with its result's file name.
pub fn wanted(inbox: &Path) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(inbox.join("wanted.json")).unwrap_or_default();
    let list: Value = serde_json::from_str(&text).unwrap_or_default();
    let entry = |entry: &Value| (entry["file"].as_str().expect("a name").to_owned(), entry["unit"].clone());
    list["units"].as_array().into_iter().flatten().map(entry).collect()
}

/// Does a unit; `None` if its files are no longer wanted.
pub fn work(folder: &Path, inbox: &Path, unit: &Value) -> Option<Vec<u8>> {
    let (file, out) = (folder.join("unit.json"), folder.join("result"));
    std::fs::write(&file, unit.to_string()).expect("a file");
    let mut command = trainer(folder, &["work", "unit.json", "--out", "result", "--files"]);
    let output = command.arg(inbox.join("files")).output().expect("the trainer starts");
    if !output.status.success() {
        assert!(said(&output).contains("cannot read"), "{}", said(&output));
        return None;
    }
    let result = std::fs::read(&out).expect("a result");
    std::fs::remove_file(out).expect("it is removed");
    Some(result)
}

/// Does wanted units until the learner ends. `spoil` may write another file before a unit's first result. A unit may be
/// done twice: the list still names it just after its admission.
pub fn serve(folder: &Path, mut learner: Child, spoil: &mut dyn FnMut(&Path, &str, &[u8])) -> String {
    let inbox = folder.join("inbox");
    let mut done = BTreeSet::new();
    let begin = Instant::now();
    while learner.try_wait().expect("a process").is_none() {
        assert!(begin.elapsed() < Duration::from_secs(400), "it does not end");
        let next = wanted(&inbox).into_iter().find(|(file, _)| !inbox.join(file).exists());
        let Some((file, unit)) = next else {
            thread::yield_now();
            continue;
        };
        if let Some(result) = work(folder, &inbox, &unit) {
            if done.insert(file.clone()) {
                spoil(&inbox, &file, &result);
            }
            write_file(&inbox.join(&file), &result).expect("a result");
        }
    }
    let output = learner.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}
