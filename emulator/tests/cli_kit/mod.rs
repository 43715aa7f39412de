//! Tools of the command-line tests: a folder of files, and `emu` run in it.

use std::path::PathBuf;
use std::process::Command;

/// A temporary folder.
pub(crate) struct Folder(tempfile::TempDir);

/// Output and exit code of `emu`.
pub(crate) struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Folder {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub(crate) fn emu(&self, args: &[&str]) -> Run {
        let output =
            Command::new(env!("CARGO_BIN_EXE_emu")).args(args).current_dir(self.0.path()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Run {
    pub(crate) fn succeeds(&self) {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
    }

    /// Exit code 1, all of `told` in the message, and no panic.
    pub(crate) fn fails(&self, told: &[&str]) {
        assert_eq!(self.code, Some(1), "{}{}", self.out, self.err);
        assert!(self.err.contains("error"), "{}", self.err);
        for part in told {
            assert!(self.err.contains(part), "{part:?} is missing in:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked") && !self.err.contains('\u{1b}'), "{}", self.err);
    }
}
