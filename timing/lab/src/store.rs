//! A folder of finished results, named by the content of everything that a result depends on.
//!
//! A result appears under its final name when it is complete, so that an interrupted program loses only what it was
//! working on. A claim on a key keeps several programs that share the folder from computing one result twice.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use warplab_host::destination::Destination;
use warplab_host::input;
use xxhash_rust::xxh3::Xxh3;

/// The folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// Messages about kept results that are damaged, of all copies of this store.
    damaged: Arc<Mutex<BTreeSet<String>>>,
}

/// A key in the making: the hash of all that a result depends on.
#[derive(Clone, Default)]
pub(crate) struct Key(Xxh3);

impl Key {
    /// Adds a part; parts do not run together.
    pub(crate) fn with(mut self, part: &[u8]) -> Key {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// The key as text.
    pub(crate) fn text(&self) -> String {
        format!("{:032x}", self.0.digest128())
    }
}

/// The right to compute a result; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    /// Locked until it is closed.
    file: Option<File>,
}

/// What became of an attempt to claim a key.
#[derive(Debug)]
pub(crate) enum Claimed {
    /// This program has it.
    Ours(Claim),
    /// Another program computes the result.
    Taken,
}

impl Store {
    /// A store in a folder, which is created when something is kept.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Store {
        Store { folder: folder.into(), damaged: Arc::default() }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Messages about kept results that are damaged, or belong to another key; they counted as absent.
    #[must_use]
    pub fn damaged(&self) -> Vec<String> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// A kept result. One that is damaged, or was kept for another key, counts as absent and adds a message to
    /// [`Store::damaged`].
    pub(crate) fn get<T: DeserializeOwned>(&self, kind: &str, key: &str) -> Option<T> {
        let path = self.folder.join(kind).join(format!("{key}.json"));
        // Opening a pipe would wait for a writer.
        let found = path.metadata().ok()?;
        let read = || -> Result<T, String> {
            if !found.is_file() {
                return Err("it is no file".into());
            }
            let bytes = input::read_own(&path, input::RESULT_BYTES).map_err(|why| why.to_string())?;
            let text = std::str::from_utf8(&bytes).map_err(|_| "it is no text")?;
            let result = content(text, kind, key)
                .ok_or("its content is not what was kept: its key or its checksum is another one")?;
            serde_json::from_str(result).map_err(|why| why.to_string())
        };
        read()
            .map_err(|why| {
                let message = format!("{}: {why}; it is computed again", path.display());
                self.damaged.lock().unwrap_or_else(PoisonError::into_inner).insert(message);
            })
            .ok()
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// The folder or the file cannot be written; nothing of the file remains.
    pub(crate) fn keep<T: Serialize>(&self, kind: &str, key: &str, result: &T) -> Result<(), String> {
        let path = self.place(kind, key, "json")?;
        let result = serde_json::to_string(result).map_err(|why| why.to_string())?;
        let text = format!("{}{result}{END}", beginning(kind, key, &result));
        Destination::within(&path)
            .write(|out| std::io::Write::write_all(out, text.as_bytes()))
            .map_err(|why| format!("cannot write {}: {why}", path.display()))
    }

    /// Path of a further file; its folder exists afterwards.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(crate) fn place(&self, kind: &str, key: &str, extension: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(kind);
        std::fs::create_dir_all(&folder)
            .map_err(|why| format!("cannot create {}: {why}", folder.display()))?;
        Ok(folder.join(format!("{key}.{extension}")))
    }

    /// Claims a key, so that no other program that shares the folder computes the same result meanwhile. On a file system
    /// without locks everyone gets the claim: a result may then be computed twice, and is kept once.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn claim(&self, kind: &str, key: &str) -> Result<Claimed, String> {
        let path = self.place(kind, key, "lock")?;
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(|why| format!("cannot write {}: {why}", path.display()))?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(Claimed::Taken),
                // The previous holder may have removed the file between its opening and its locking.
                Ok(()) if !is_at(&file, &path) => {}
                Ok(()) | Err(TryLockError::Error(_)) => {
                    return Ok(Claimed::Ours(Claim { path, file: Some(file) }));
                }
            }
        }
    }
}

/// End of a kept result.
const END: &str = "}\n";

/// Beginning of a kept result: its kind, its key, and a checksum of these and of its content.
fn beginning(kind: &str, key: &str, result: &str) -> String {
    let parts = [kind, key, result];
    let checksum = parts.iter().fold(Key::default(), |sum, part| sum.with(part.as_bytes())).text();
    format!("{{\"kind\":\"{kind}\",\"key\":\"{key}\",\"checksum\":\"{checksum}\",\"result\":")
}

/// The content of a kept result, if it is that of this kind and key, and unchanged.
fn content<'t>(text: &'t str, kind: &str, key: &str) -> Option<&'t str> {
    let length = beginning(kind, key, "").len();
    let (head, result) = (text.get(..length)?, text.get(length..)?.strip_suffix(END)?);
    (head == beginning(kind, key, result)).then_some(result)
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The file is removed while it is locked. One that remains does no harm.
        let _ = std::fs::remove_file(&self.path);
        drop(self.file.take());
    }
}

/// Whether an open file is still the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place =
        |found: std::io::Result<std::fs::Metadata>| found.map(|found| (found.dev(), found.ino())).ok();
    let own = place(file.metadata());
    own.is_some() && own == place(path.metadata())
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Content of this program, as a key: results that it kept hold for no other.
///
/// # Errors
/// The program's file cannot be read.
pub fn this_program() -> Result<String, String> {
    let path =
        std::env::current_exe().map_err(|why| format!("the path of this program is unknown: {why}"))?;
    let content =
        input::read_own(&path, input::IMAGE_BYTES).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(Key::default().with(&content).text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_and_damaged_ones_are_absent() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let store = Store::at(folder.path());
        let get = || store.get::<Vec<f64>>("answers", "k");
        assert_eq!(get(), None);
        store.keep("answers", "k", &vec![0.1])?;
        assert_eq!(get(), Some(vec![0.1]));
        assert!(store.damaged().is_empty());
        let path = folder.path().join("answers/k.json");
        let sound = std::fs::read_to_string(&path)?;
        // Another number, key or kind, a piece that is missing, and what has no end.
        let wrong = [
            sound.replace("0.1", "0.3"),
            sound.replace("\"k\"", "\"l\""),
            sound.replace("answers", "answer"),
            sound[..sound.len() - 3].to_owned(),
            "[0.1]".into(),
            String::new(),
        ];
        for text in wrong {
            std::fs::write(&path, &text)?;
            assert_eq!(get(), None, "{text}");
            assert_eq!(store.damaged().len(), 1, "{text}");
        }
        std::fs::remove_file(&path)?;
        std::fs::create_dir(&path)?;
        assert_eq!(get(), None);
        assert_eq!(store.damaged().len(), 2);
        std::fs::remove_dir(&path)?;
        // A result that was copied to another key's file.
        std::fs::write(folder.path().join("answers/other.json"), sound)?;
        assert_eq!(store.get::<Vec<f64>>("answers", "other"), None);
        store.keep("answers", "k", &vec![0.2])?;
        assert_eq!(get(), Some(vec![0.2]));
        Ok(())
    }

    #[test]
    fn parts_of_a_key_do_not_run_together() {
        let of = |parts: &[&str]| parts.iter().fold(Key::default(), |k, part| k.with(part.as_bytes())).text();
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
    }

    #[test]
    fn a_key_is_claimed_once_at_a_time() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let store = Store::at(folder.path());
        let ours = store.claim("runs", "k")?;
        assert!(matches!(ours, Claimed::Ours(_)));
        assert!(matches!(store.claim("runs", "k")?, Claimed::Taken));
        assert!(matches!(store.claim("runs", "other")?, Claimed::Ours(_)));
        drop(ours);
        assert!(matches!(store.claim("runs", "k")?, Claimed::Ours(_)));
        assert!(std::fs::read_dir(folder.path().join("runs"))?.next().is_none(), "no lock is left");
        Ok(())
    }
}
