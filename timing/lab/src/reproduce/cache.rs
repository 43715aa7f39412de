//! The user's folder of recordings and answers, named by the content that they depend on.

use super::answer::Answer;
use crate::store::Store;
use std::path::{Path, PathBuf};

/// The folder.
#[derive(Clone, Debug)]
pub struct Cache {
    store: Store,
}

impl Cache {
    /// A cache in a folder, which is created when something is kept.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { store: Store::at(folder) }
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
        self.store.folder()
    }

    /// Place of a recording; its folder exists afterwards.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(super) fn trace(&self, key: &str) -> Result<PathBuf, String> {
        self.store.place("traces", key, "wtrace")
    }

    /// Messages about kept answers that are damaged.
    #[must_use]
    pub fn damaged(&self) -> Vec<String> {
        self.store.damaged()
    }

    /// A kept answer. One that cannot be read counts as absent.
    pub(super) fn answer(&self, key: &str) -> Option<Answer> {
        self.store.get("answers", key)
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, key: &str, answer: &Answer) -> Result<(), String> {
        self.store.keep("answers", key, answer)
    }
}
