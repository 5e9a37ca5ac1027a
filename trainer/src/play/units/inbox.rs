//! The inbox: a folder shared by requesters and workers. `wanted.json` lists the units, `files/` has inputs, `UNIT.h5`
//! or `UNIT.json` are results (written atomically), and `refused/` has invalid files with reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::hashed_files::HashedFiles;
use super::unit::Unit;
use crate::base::files::{file_name, make_folder, write_file};

const WANTED: &str = "wanted.json";
const FORMAT: &str = "philidor-wanted/1";

#[derive(Debug)]
pub struct Inbox {
    folder: PathBuf,
    published: bool,
    /// Contents of `wanted.json`.
    said: Mutex<String>,
    /// Results no longer needed: accepted or of obsolete units.
    past: Mutex<BTreeSet<String>>,
}

impl Inbox {
    /// With `published`, lists units and input files for other machines.
    pub fn open(folder: &Path, published: bool) -> Result<Inbox> {
        make_folder(folder)?;
        Ok(Inbox { folder: folder.to_owned(), published, said: Mutex::default(), past: Mutex::default() })
    }

    pub fn is_published(&self) -> bool {
        self.published
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn files(&self) -> HashedFiles {
        HashedFiles::new(self.folder.join("files"), self.published)
    }

    /// Lists the units, most urgent first, with `more` as `about`. Removes input files that no unit needs.
    pub fn publish<'a>(&self, units: impl Iterator<Item = &'a Unit>, more: &Value) -> Result<()> {
        if !self.published {
            return Ok(());
        }
        let files = self.files();
        // Opening books by rules file.
        let mut books: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut needed: BTreeSet<String> = BTreeSet::new();
        let mut list: Vec<Value> = Vec::new();
        for unit in units {
            let book = books.entry(unit.rules.clone()).or_insert_with(|| book_of(&files, &unit.rules));
            let networks = unit.inputs.iter().filter(|input| input.contains('.'));
            let names: Vec<&String> = networks.chain([&unit.rules]).chain(book.as_ref()).collect();
            list.push(json!({ "name": unit.name(), "file": unit.file(), "files": names, "unit": unit }));
            needed.extend(names.into_iter().cloned());
        }
        let text = format!("{:#}\n", json!({ "format": FORMAT, "about": more, "units": list }));
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if text != *said {
            write_file(&self.folder.join(WANTED), text.as_bytes())?;
            *said = text;
            files.keep(&needed.iter().map(String::as_str).collect());
        }
        Ok(())
    }

    pub fn results(&self) -> Result<BTreeSet<String>> {
        let at = || format!("cannot read {}", self.folder.display());
        let mut names = BTreeSet::new();
        for entry in std::fs::read_dir(&self.folder).with_context(at)? {
            let path = entry.with_context(at)?.path();
            let name = file_name(&path);
            let is_result = path.extension().is_some_and(|ending| ending == "h5" || ending == "json");
            // Unfinished files begin with a dot or end in .tmp.
            if is_result && name != WANTED && !name.starts_with('.') && path.is_file() {
                names.insert(name);
            }
        }
        Ok(names)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The result is no longer needed, though another machine may still deliver it.
    pub fn set_past(&self, name: &str) {
        self.past.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    pub fn is_past(&self, name: &str) -> bool {
        self.past.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    pub fn put(&self, file: &Path, unit: &Unit) -> Result<()> {
        let to = self.path(&unit.file());
        // A rename fails across file systems.
        if std::fs::rename(file, &to).is_ok() {
            return Ok(());
        }
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        write_file(&to, &bytes)?;
        _ = std::fs::remove_file(file);
        Ok(())
    }

    pub fn remove(&self, name: &str) {
        _ = std::fs::remove_file(self.path(name));
    }

    /// Writes the reason beside the moved file.
    pub fn refuse(&self, name: &str, reason: &str) -> Result<()> {
        let refused = self.folder.join("refused");
        make_folder(&refused)?;
        // Moved first, because the reader of the reason may send a valid result under the same name.
        let moved = std::fs::rename(self.path(name), refused.join(name));
        moved.with_context(|| format!("cannot move {name} to {}", refused.display()))?;
        write_file(&refused.join(format!("{name}.txt")), format!("{reason}\n").as_bytes())
    }
}

/// The opening book in a rules file, which is an input too.
fn book_of(files: &HashedFiles, rules: &str) -> Option<String> {
    let rules: Value = files.json(rules).ok()?;
    let book = rules.get("book").or_else(|| rules.pointer("/rules/book"))?.as_str()?;
    (!book.is_empty()).then(|| book.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::units::UnitKind;

    #[test]
    fn what_is_wanted_is_said_and_what_is_not_needed_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let inbox = Inbox::open(&folder.path().join("inbox"), true).unwrap();
        let rules = [1, 2].map(|rules| inbox.files().add_json(&rules).unwrap());
        let unit = |rules: &str| Unit::new(UnitKind::SelfPlay, Vec::new(), rules.to_owned(), 1, 0..4);
        let units = rules.each_ref().map(|rules| unit(rules));
        inbox.publish(units.iter(), &json!({ "iteration": 1 })).unwrap();
        let wanted = std::fs::read_to_string(inbox.path("wanted.json")).unwrap();
        let wanted: Value = serde_json::from_str(&wanted).unwrap();
        assert_eq!(wanted["units"][1]["file"], units[1].file());
        assert_eq!(serde_json::from_value::<Unit>(wanted["units"][1]["unit"].clone()).unwrap(), units[1]);
        inbox.publish(units[..1].iter(), &Value::Null).unwrap();
        assert!(inbox.files().path(&rules[0]).is_ok() && inbox.files().path(&rules[1]).is_err());
        // A book is an input of self-play and match units.
        for nested in [false, true] {
            let book = inbox.files().add_json(&nested).unwrap();
            let rules = json!({ "book": book });
            let rules = if nested { json!({ "rules": rules }) } else { rules };
            let rules = inbox.files().add_json(&rules).unwrap();
            inbox.publish([unit(&rules)].iter(), &Value::Null).unwrap();
            assert!(inbox.files().path(&book).is_ok() && inbox.files().path(&rules).is_ok());
            let wanted = std::fs::read_to_string(inbox.path("wanted.json")).unwrap();
            let wanted: Value = serde_json::from_str(&wanted).unwrap();
            assert_eq!(wanted["units"][0]["files"], json!([rules, book]));
        }
        // Only results count, not the list or unfinished files.
        for name in ["a.h5", ".b.h5", "c.h5.tmp", "notes.txt"] {
            std::fs::write(inbox.path(name), "x").unwrap();
        }
        assert_eq!(inbox.results().unwrap(), ["a.h5".to_owned()].into());
        inbox.refuse("a.h5", "it is no file of games").unwrap();
        assert!(inbox.results().unwrap().is_empty());
        let why = std::fs::read_to_string(inbox.path("refused/a.h5.txt")).unwrap();
        assert_eq!(why, "it is no file of games\n");
        // An unpublished inbox has no list.
        let own = Inbox::open(&folder.path().join("own"), false).unwrap();
        own.publish(units.iter(), &Value::Null).unwrap();
        assert!(
            own.files().add_json(&1).is_ok() && std::fs::read_dir(own.folder()).unwrap().next().is_none()
        );
    }
}
