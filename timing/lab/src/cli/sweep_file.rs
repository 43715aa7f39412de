//! The file of a sweep: the options of `timing sweep` as TOML.

use super::error::CliError;
use crate::sweep::slurm::Settings;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use warplab_host::input;

/// The file. Names of traces are patterns, relative to its folder.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SweepFile {
    traces: Vec<String>,
    pub(super) machine: Vec<String>,
    pub(super) tech: Vec<String>,
    pub(super) vary: Vec<String>,
    pub(super) zip: bool,
    pub(super) config: Option<String>,
    pub(super) set: Vec<String>,
    pub(super) kernels: Option<String>,
    pub(super) launches: Option<String>,
    pub(super) metrics: Option<String>,
    pub(super) slurm: Option<Settings>,
    #[serde(skip)]
    path: PathBuf,
}

impl SweepFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or has a key that a sweep does not know.
    pub(super) fn read(path: &Path) -> Result<SweepFile, CliError> {
        let shown = path.display();
        let text = input::read_text(path, input::TEXT_BYTES)
            .map_err(|why| CliError(format!("cannot read {shown}: {why}")))?;
        let file: SweepFile = toml::from_str(&text).map_err(|why| {
            let line = why.span().map_or(String::new(), |at| {
                format!(":{}", 1 + text[..at.start.min(text.len())].matches('\n').count())
            });
            CliError(format!("{shown}{line}: {}", why.message()))
        })?;
        Ok(SweepFile { path: path.to_path_buf(), ..file })
    }

    /// The traces that the patterns name, sorted by pattern.
    ///
    /// # Errors
    /// A pattern that is none, or that names no file.
    pub(super) fn traces(&self) -> Result<Vec<PathBuf>, CliError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let mut found = Vec::new();
        for pattern in &self.traces {
            let whole = folder.join(pattern);
            let refuse = |why: String| CliError(format!("{}: traces: {pattern}: {why}", self.path.display()));
            let text = whole.to_str().ok_or_else(|| refuse("the folder's name is not UTF-8".into()))?;
            let paths = glob::glob(text).map_err(|why| refuse(why.to_string()))?;
            let before = found.len();
            for path in paths {
                found.push(path.map_err(|why| refuse(why.to_string()))?);
            }
            if found.len() == before {
                return Err(refuse("there is no such file".into()));
            }
        }
        Ok(found)
    }
}
