//! What is wrong with a launch manifest: file, line, key, what, and what to do.

use std::fmt;
use std::sync::Arc;

/// Where a value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of the manifest, from 1.
    Line(u32),
    /// An override from the command line, as given.
    Override(Arc<str>),
}

/// An error in a manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManifestError {
    /// The manifest's path.
    pub file: String,
    /// Where, if at one place.
    pub place: Option<Place>,
    /// Path of the key, such as `launch.0.grid`; empty for the file as a whole.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl ManifestError {
    /// An error about the file as a whole.
    #[must_use]
    pub fn file(file: impl Into<String>, what: impl Into<String>) -> ManifestError {
        ManifestError { file: file.into(), place: None, key: String::new(), what: what.into(), help: None }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> ManifestError {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match &self.place {
            Some(Place::Line(line)) => write!(f, ":{line}")?,
            Some(Place::Override(text)) => write!(f, " (--set {text})")?,
            None => {}
        }
        f.write_str(": ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.what)?;
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ManifestError {}
