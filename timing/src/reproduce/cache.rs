//! A folder of recordings and answers, named by the content that they depend on.

use super::answer::Answer;
use std::path::{Path, PathBuf};
use warplab_host::destination::Destination;
use xxhash_rust::xxh3::Xxh3;

/// The folder.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// A key in the making: the hash of all that a result depends on.
#[derive(Clone, Default)]
pub(super) struct Key(Xxh3);

impl Key {
    /// Adds a part; parts do not run together.
    pub(super) fn with(mut self, part: &[u8]) -> Key {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// The key as text.
    pub(super) fn text(&self) -> String {
        format!("{:032x}", self.0.digest128())
    }
}

impl Cache {
    /// A cache in a folder, which is created when something is kept.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into() }
    }

    /// The user's cache: `$WARPLAB_CACHE`, `$XDG_CACHE_HOME/warplab` or `~/.cache/warplab`.
    ///
    /// # Errors
    /// None of these variables and no home folder is known.
    pub fn of_user() -> Result<Cache, String> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("WARPLAB_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("warplab")))
            .or_else(|| set("HOME").map(|folder| folder.join(".cache/warplab")));
        folder
            .map(|folder| Cache::at(folder.join("reproduce")))
            .ok_or_else(|| "there is no home folder to keep recordings in; name one with --cache".into())
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Place of a recording; its folder exists afterwards.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(super) fn trace(&self, key: &str) -> Result<PathBuf, String> {
        self.place("traces", key, "wtrace")
    }

    /// A kept answer. One that cannot be read counts as absent.
    pub(super) fn answer(&self, key: &str) -> Option<Answer> {
        let text = std::fs::read_to_string(self.folder.join("answers").join(format!("{key}.json"))).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, key: &str, answer: &Answer) -> Result<(), String> {
        let path = self.place("answers", key, "json")?;
        let text = serde_json::to_string(answer).map_err(|why| why.to_string())?;
        Destination::of(&path)
            .write(|out| std::io::Write::write_all(out, text.as_bytes()))
            .map_err(|why| format!("cannot write {}: {why}", path.display()))
    }

    fn place(&self, kind: &str, key: &str, extension: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(kind);
        std::fs::create_dir_all(&folder)
            .map_err(|why| format!("cannot create {}: {why}", folder.display()))?;
        Ok(folder.join(format!("{key}.{extension}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_and_damaged_ones_are_absent() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let cache = Cache::at(folder.path());
        let answer = Answer { total: [("cycles".to_owned(), 0.1)].into(), ..Answer::default() };
        assert_eq!(cache.answer("k"), None);
        cache.keep("k", &answer)?;
        assert_eq!(cache.answer("k"), Some(answer));
        std::fs::write(folder.path().join("answers/k.json"), "{\"total\": {")?;
        assert_eq!(cache.answer("k"), None);
        Ok(())
    }

    #[test]
    fn parts_of_a_key_do_not_run_together() {
        let of = |parts: &[&str]| parts.iter().fold(Key::default(), |k, part| k.with(part.as_bytes())).text();
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
    }
}
