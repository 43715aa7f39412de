//! What a command reads and writes, so that it destroys nothing: an output that is also an input, or that is another
//! output, is refused before it is written.
//!
//! A program declares the outputs that its command line names ([`declare`]). From then on, [`crate::input`] reports every
//! file that is opened for reading, and [`crate::destination`] every file that is about to be replaced, whether the command
//! line named it or not. Files are compared by device and inode, so that links do not matter. In a process that declares
//! nothing (a library's user, Python) nothing is refused here.

use crate::place::{Place, is_stdout, place, resolved, standard_streams};
use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The effect of an option outside of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// A file, or a folder of files, at the path of its value.
    Files,
    /// Jobs of a cluster.
    Jobs,
}

/// Long names of the options that write, in all programs, where they take a value; `--json` without one prints. The outputs
/// of a command are found by this list, descriptions of results leave these options out, and `timing rerun` removes them.
pub const WRITING: [(&str, Writes); 13] = [
    ("json", Writes::Files),
    ("csv", Writes::Files),
    ("html", Writes::Files),
    ("series", Writes::Files),
    ("timeline", Writes::Files),
    ("konata", Writes::Files),
    ("summary", Writes::Files),
    ("output", Writes::Files),
    ("out", Writes::Files),
    ("accelsim", Writes::Files),
    ("store", Writes::Files),
    ("cache", Writes::Files),
    ("slurm", Writes::Jobs),
];

/// Short name of `--output`.
pub const OUTPUT: &str = "-o";

/// An output of the command.
#[derive(Debug)]
struct Output {
    /// The option that names it.
    option: String,
    path: PathBuf,
    /// The file that is there now.
    there: Option<Place>,
    is_written: bool,
}

/// The files of the command.
#[derive(Debug, Default)]
struct Files {
    outputs: Vec<Output>,
    /// Files that have been opened for reading.
    inputs: HashMap<Place, PathBuf>,
    /// Files that this process has written; it may read and replace them.
    own: HashSet<Place>,
}

static FILES: Mutex<Option<Files>> = Mutex::new(None);

fn files() -> MutexGuard<'static, Option<Files>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Declares the outputs of the command, each with the option that names it; `-` is standard output.
///
/// # Errors
/// Two of them are one file.
pub fn declare(outputs: impl IntoIterator<Item = (String, PathBuf)>) -> Result<(), String> {
    let mut declared = Files::default();
    for (option, path) in outputs {
        declared.add(option, &path)?;
    }
    for (option, found) in standard_streams() {
        let (option, path) = (option.into(), PathBuf::new());
        declared.outputs.push(Output { option, path, there: place(&found), is_written: false });
    }
    *files() = Some(declared);
    Ok(())
}

/// Checks the outputs of one call against its inputs, and against each other, for callers that make several calls in one
/// process.
///
/// # Errors
/// An output is an input, or two outputs are one file; nothing has been written.
pub fn check<'p>(
    inputs: impl IntoIterator<Item = &'p Path>,
    outputs: impl IntoIterator<Item = (&'p str, &'p Path)>,
) -> Result<(), String> {
    let mut declared = Files::default();
    for (option, path) in outputs {
        declared.add(option.into(), path)?;
    }
    for path in inputs {
        if let Ok(found) = path.metadata() {
            declared.read(path, &found).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Takes note of a file that has been opened for reading.
///
/// # Errors
/// It is an output of the command.
pub fn opened(path: &Path, file: &File) -> io::Result<()> {
    match &mut *files() {
        Some(files) => files.read(path, &file.metadata()?),
        None => Ok(()),
    }
}

/// Takes note of a file that the command uses without opening it, such as a program that it starts.
///
/// # Errors
/// It is an output of the command.
pub fn used(path: &Path) -> io::Result<()> {
    match (&mut *files(), path.metadata()) {
        (Some(files), Ok(found)) => files.read(path, &found),
        _ => Ok(()),
    }
}

/// Refuses a destination that is an input of the command, or an output that has been written already.
pub(crate) fn replacing(path: &Path) -> io::Result<()> {
    files().as_ref().map_or(Ok(()), |files| files.replace(path))
}

/// Takes note that a file has been written.
pub(crate) fn written(path: &Path) {
    if let Some(files) = &mut *files() {
        let path = resolved(path);
        if let Some(here) = path.metadata().ok().as_ref().and_then(place) {
            files.inputs.remove(&here);
            files.own.insert(here);
        }
        files.outputs.iter_mut().filter(|one| one.path == path).for_each(|one| one.is_written = true);
    }
}

impl Files {
    fn add(&mut self, option: String, path: &Path) -> Result<(), String> {
        let is_stdout = path.as_os_str() == "-" || is_stdout(path);
        let (at, found) = if is_stdout {
            (PathBuf::from("-"), None)
        } else {
            let at = resolved(path);
            let found = at.metadata().ok();
            // Devices and pipes take anything.
            if found.as_ref().is_some_and(|found| !found.is_file() && !found.is_dir()) {
                return Ok(());
            }
            (at, found.as_ref().and_then(place))
        };
        let is_same = |other: &&Output| other.path == at || found.is_some() && other.there == found;
        if let Some(other) = self.outputs.iter().find(is_same) {
            let name = if is_stdout { "standard output".into() } else { path.display().to_string() };
            return Err(if other.option == option {
                format!("{option} names {name} twice; name two different files")
            } else {
                format!("{option} and {} both write {name}; name two different files", other.option)
            });
        }
        self.outputs.push(Output { option, path: at, there: found, is_written: false });
        Ok(())
    }

    fn read(&mut self, path: &Path, found: &Metadata) -> io::Result<()> {
        let Some(here) = place(found).filter(|here| found.is_file() && !self.own.contains(here)) else {
            return Ok(());
        };
        if let Some(output) = self.outputs.iter().find(|one| one.there == Some(here)) {
            return Err(refused(format!(
                "{} is an input of this command, and {} would overwrite it; name another file",
                path.display(),
                output.option
            )));
        }
        self.inputs.insert(here, path.to_path_buf());
        Ok(())
    }

    fn replace(&self, path: &Path) -> io::Result<()> {
        let read = path.metadata().ok().as_ref().and_then(place).and_then(|here| self.inputs.get(&here));
        if let Some(input) = read {
            let (path, input) = (path.display(), input.display());
            return Err(refused(format!(
                "{path} would replace {input}, which is an input of this command; name another file"
            )));
        }
        let path = resolved(path);
        match self.outputs.iter().find(|one| one.is_written && one.path == path) {
            Some(other) => {
                Err(refused(format!("{} is this file too; name two different files", other.option)))
            }
            None => Ok(()),
        }
    }
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::{Files, check};
    use std::fs;
    use std::path::Path;

    #[cfg(unix)]
    #[test]
    fn an_output_is_no_input_under_any_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("in"), "1").expect("written");
        fs::create_dir(at("inner")).expect("made");
        std::os::unix::fs::symlink(at("in"), at("link")).expect("linked");
        fs::hard_link(at("in"), at("hard")).expect("linked");
        for name in ["in", "link", "hard", "inner/../in", "./in"] {
            let (input, output) = (at("in"), at(name));
            for (input, output) in [(&input, &output), (&output, &input)] {
                let told = check([&**input], [("--json", &**output)]).expect_err(name);
                assert!(told.contains("--json would overwrite it"), "{told}");
            }
        }
        check([&*at("in")], [("--json", &*at("out"))]).expect("another file");
        check([&*at("missing")], [("--json", &*at("missing"))]).expect("there is no such input");
    }

    #[cfg(unix)]
    #[test]
    fn two_outputs_are_two_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "1").expect("written");
        fs::create_dir(at("inner")).expect("made");
        std::os::unix::fs::symlink(at("old"), at("link")).expect("linked");
        std::os::unix::fs::symlink(at("inner"), at("folder")).expect("linked");
        for (a, b) in [("new", "new"), ("old", "link"), ("inner/x", "folder/x"), ("new", "inner/../new")] {
            let told = check([], [("--json", &*at(a)), ("--csv", &*at(b))]).expect_err(b);
            assert!(told.contains("--csv and --json both write"), "{told}");
        }
        let dash = Path::new("-");
        check([], [("--json", dash), ("--csv", dash)]).expect_err("both are standard output");
        let null = Path::new("/dev/null");
        check([null], [("--json", null), ("--csv", null)]).expect("a device takes anything");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_read_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (input, link) = (folder.path().join("in"), folder.path().join("link"));
        fs::write(&input, "1").expect("written");
        std::os::unix::fs::symlink(&input, &link).expect("linked");
        let mut files = Files::default();
        files.read(&input, &input.metadata().expect("a file")).expect("no output");
        for path in [&input, &link] {
            let told = files.replace(path).expect_err("it was read").to_string();
            assert!(told.contains("is an input of this command"), "{told}");
        }
        files.replace(&folder.path().join("other")).expect("another file");
    }
}
