//! Writes the metrics of `metrics.jsonl` as TensorBoard event files.
//!
//! The existing crates are unmaintained and cannot write a session start, with which a resumed run discards the events
//! after its checkpoint. So the few messages are declared here.

use prost::Message;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `tensorflow.Event` (event.proto).
#[derive(Clone, PartialEq, Message)]
struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
    #[prost(message, optional, tag = "7")]
    session_log: Option<SessionLog>,
}

/// `tensorflow.Summary` (summary.proto).
#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Scalar>,
}

/// `tensorflow.Summary.Value`
#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// `tensorflow.SessionLog`
#[derive(Clone, PartialEq, Message)]
struct SessionLog {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// `tensorflow.SessionLog.START` discards events of this and later steps in earlier files.
const START: i32 = 1;

/// A file of events; after a failure it is left alone, since `metrics.jsonl` has the same numbers.
pub struct Events {
    path: PathBuf,
    file: Option<File>,
}

impl Events {
    /// Creates a file for events after `step`, and discards later events in the folder's other files.
    pub fn open(folder: &Path, step: u64) -> Events {
        // TensorBoard reads the files in the order of their names. A clock that was set back, or a restart within the
        // same second, must not put a file before an earlier one.
        let after = numbers(folder).max().map_or(0, |last| last + 1);
        let name = format!("events.out.tfevents.{:010}.{}", after.max(seconds() as u64), std::process::id());
        let path = folder.join(name);
        let create = || OpenOptions::new().create(true).append(true).open(&path);
        let created = std::fs::create_dir_all(folder).and_then(|()| create());
        let file = created.map_err(|error| warn(&path, &error)).ok();
        let mut events = Events { path, file };
        events.write(Event { file_version: Some("brain.Event:2".into()), ..Event::default() });
        if step > 0 {
            let session_log = Some(SessionLog { status: START });
            events.write(Event { step: step as i64 + 1, session_log, ..Event::default() });
        }
        events
    }

    /// Writes a line of `metrics.jsonl` as scalars. The tag of a nested number begins with its object's key, that of a
    /// top-level number with `train`.
    pub fn line(&mut self, step: u64, line: &serde_json::Value) {
        let mut value = Vec::new();
        for (key, inner) in line.as_object().into_iter().flatten() {
            if !["step", "samples", "time_s"].contains(&key.as_str()) {
                scalars(
                    if inner.is_object() { key.clone() } else { format!("train/{key}") },
                    inner,
                    &mut value,
                );
            }
        }
        self.write(Event { step: step as i64, summary: Some(Summary { value }), ..Event::default() });
    }

    /// Warns of the first failure.
    fn write(&mut self, event: Event) {
        let Some(file) = &mut self.file else { return };
        // Writes to a file whose folder was removed do not fail.
        if let Err(error) = self.path.metadata().and_then(|_| write(file, event)) {
            warn(&self.path, &error);
            self.file = None;
        }
    }
}

fn warn(path: &Path, error: &io::Error) {
    log::warn!(
        "cannot write {}: {error}; nothing more is written for TensorBoard, metrics.jsonl goes on",
        path.display()
    );
}

/// Writes a TFRecord: length, its checksum, the event, its checksum.
fn write(file: &mut File, event: Event) -> io::Result<()> {
    let event = Event { wall_time: seconds(), ..event }.encode_to_vec();
    let length = (event.len() as u64).to_le_bytes();
    let record = [&length[..], &masked(&length), &event, &masked(&event)].concat();
    file.write_all(&record)
}

/// Returns the seconds in the names of event files.
fn numbers(folder: &Path) -> impl Iterator<Item = u64> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| {
        name.to_str()?.strip_prefix("events.out.tfevents.")?.split('.').next()?.parse().ok()
    })
}

fn seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Masked CRC-32C.
fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

fn scalars(tag: String, value: &serde_json::Value, all: &mut Vec<Scalar>) {
    if let Some(number) = value.as_f64() {
        all.push(Scalar { tag, simple_value: Some(number as f32) });
    } else {
        for (key, inner) in value.as_object().into_iter().flatten() {
            scalars(format!("{tag}/{key}"), inner, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(folder: &Path) -> Vec<Event> {
        let mut events = Vec::new();
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let bytes = std::fs::read(path).unwrap();
            let mut rest = &bytes[..];
            while let Some((length, after)) = rest.split_first_chunk::<8>() {
                let (event, end) = after[4..].split_at(u64::from_le_bytes(*length) as usize);
                assert_eq!((&after[..4], &end[..4]), (&masked(length)[..], &masked(event)[..]));
                events.push(Event::decode(event).unwrap());
                rest = &end[4..];
            }
        }
        events
    }

    #[test]
    fn a_checksum_is_masked_as_tensorflow_does() {
        // The first 12 bytes of an event file whose first event has the usual 24 bytes.
        assert_eq!(masked(&24u64.to_le_bytes()), [0xa3, 0x7f, 0x4b, 0x22]);
    }

    #[test]
    fn a_resumed_run_writes_after_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        // A file from a clock that was ahead.
        std::fs::write(folder.path().join("events.out.tfevents.9999999990.77"), "").unwrap();
        let ours = format!("events.out.tfevents.9999999991.{}", std::process::id());
        Events::open(folder.path(), 5);
        assert!(folder.path().join(&ours).exists());
        Events::open(folder.path(), 9);
        assert!(folder.path().join(ours.replace("91.", "92.")).exists());
    }

    #[test]
    fn what_cannot_be_written_ends_the_events_only() {
        let folder = tempfile::tempdir().unwrap();
        let line = json!({"step": 7, "lr": 0.5});
        // No folder can be made below a file; a folder is removed; a disk is full.
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let gone = folder.path().join("gone");
        let mut removed = Events::open(&gone, 0);
        removed.line(7, &line);
        assert!(removed.file.is_some() && read(&gone).len() == 2);
        std::fs::remove_dir_all(&gone).unwrap();
        let path = PathBuf::from("/dev/full");
        let full = OpenOptions::new().append(true).open(&path).ok();
        for mut events in [Events::open(&file, 0), removed, Events { path, file: full }] {
            events.line(8, &line);
            events.line(9, &line);
            assert!(events.file.is_none());
        }
        assert!(!gone.exists());
    }

    #[test]
    fn a_line_becomes_scalars_and_a_resumed_run_discards_later_events() {
        let folder = tempfile::tempdir().unwrap();
        let line = json!({"step": 7, "samples": 70, "lr": 0.5, "sources": {"engine": {"top1": 0.25}},
            "reliability": {"win": {"error": 0.125, "bins": [[0.1, 0.2, 3]]}}});
        Events::open(folder.path(), 0).line(7, &line);
        Events::open(folder.path(), 6).line(7, &line);
        let events = read(folder.path());
        assert_eq!(events.len(), 5);
        assert_eq!(events[0].file_version.as_deref(), Some("brain.Event:2"));
        let summary = events[1].summary.as_ref().unwrap();
        let mut tags: Vec<_> =
            summary.value.iter().map(|scalar| (scalar.tag.as_str(), scalar.simple_value.unwrap())).collect();
        tags.sort_by_key(|(tag, _)| *tag);
        let expected = [("reliability/win/error", 0.125), ("sources/engine/top1", 0.25), ("train/lr", 0.5)];
        assert_eq!((events[1].step, &tags[..]), (7, &expected[..]));
        assert_eq!((events[3].step, events[3].session_log.as_ref().map(|log| log.status)), (7, Some(START)));
        assert!(events.iter().all(|event| event.wall_time > 1e9));
    }
}
