//! Files that appear whole or not at all: they are written beside where they are wanted and get their name last.
//!
//! What is there already and is no regular file (`/dev/null`, a pipe) is written to as it is: giving a finished file its
//! name would put a file in the device's place.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Where a file is wanted, and where it is while it is written.
#[derive(Clone, Debug)]
pub struct Destination {
    path: PathBuf,
    part: PathBuf,
}

impl Destination {
    /// A file wanted at `path`, which follows links. While it is written its name ends in `.part`.
    #[must_use]
    pub fn of(path: &Path) -> Destination {
        Destination::with_ending(path, ".part".as_ref())
    }

    /// The same for a file that several processes may write at a time; the one that ends last counts.
    #[must_use]
    pub fn shared(path: &Path) -> Destination {
        Destination::with_ending(path, format!(".part-{}", std::process::id()).as_ref())
    }

    fn with_ending(path: &Path, ending: &OsStr) -> Destination {
        let path = if path.is_symlink() { path.canonicalize().ok() } else { None }.unwrap_or(path.into());
        if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Destination { part: path.clone(), path };
        }
        let mut part = path.clone().into_os_string();
        part.push(ending);
        Destination { path, part: part.into() }
    }

    /// Where the file is wanted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is to be written.
    #[must_use]
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Refuses a file that could not be written in the end, before the work begins that makes its contents.
    ///
    /// # Errors
    /// When it is a folder, or its own folder is not there or takes no files.
    pub fn check(&self) -> io::Result<()> {
        if self.path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // A pipe is not opened twice: whoever reads it would see the first end.
        if !self.is_device() {
            std::fs::File::create(&self.part)?;
            self.discard();
        }
        Ok(())
    }

    /// Whether this is where standard output goes, so that nothing else is to be printed there.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        is_stdout(&self.path)
    }

    /// Whether what is written goes straight to where it is wanted, a device or a pipe.
    #[must_use]
    pub fn is_device(&self) -> bool {
        self.part == self.path
    }

    /// Gives the finished file its name, in the place of an older one.
    ///
    /// # Errors
    /// When the file cannot be renamed.
    pub fn keep(&self) -> io::Result<()> {
        if self.is_device() { Ok(()) } else { std::fs::rename(&self.part, &self.path) }
    }

    /// Removes what has been written.
    pub fn discard(&self) {
        if !self.is_device() {
            // It may not even have been created, and whoever discards has an error of its own to tell.
            let _ = std::fs::remove_file(&self.part);
        }
    }

    /// Removes what an earlier run has left: the file, and what is unfinished of it.
    ///
    /// # Errors
    /// When something is there that cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        if self.is_device() {
            return Ok(());
        }
        [&self.path, &self.part].into_iter().try_for_each(|old| match std::fs::remove_file(old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io::Error::new(error.kind(), format!("{}: {error}", old.display())))
            }
            _ => Ok(()),
        })
    }
}

#[cfg(unix)]
fn is_stdout(path: &Path) -> bool {
    use std::io::IsTerminal;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let Ok(stdout) = stdout.and_then(|file| file.metadata()) else { return false };
    // What goes to /dev/null is not mixed up there.
    let mixes = !stdout.file_type().is_char_device() || io::stdout().is_terminal();
    mixes && path.metadata().is_ok_and(|file| (file.dev(), file.ino()) == (stdout.dev(), stdout.ino()))
}

#[cfg(not(unix))]
fn is_stdout(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::Destination;
    use std::fs;

    #[test]
    fn a_file_appears_when_it_is_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        fs::write(&path, "old").expect("written");
        let destination = Destination::of(&path);
        fs::write(destination.part(), "new").expect("written");
        assert_eq!(fs::read(&path).expect("readable"), b"old");
        destination.keep().expect("renamed");
        assert_eq!(fs::read(&path).expect("readable"), b"new");
        assert!(!destination.part().exists());
        fs::write(destination.part(), "half").expect("written");
        destination.clear().expect("removed");
        assert!(!path.exists() && !destination.part().exists());
        destination.clear().expect("nothing is there");
    }

    #[test]
    fn what_could_not_be_written_is_refused_and_nothing_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| Destination::of(&folder.path().join(name));
        at("new").check().expect("a file can be made there");
        fs::write(folder.path().join("old"), "old").expect("written");
        at("old").check().expect("a file can be replaced");
        fs::create_dir(folder.path().join("inner")).expect("made");
        for wrong in ["inner", "inner/", "missing/file", "old/file"] {
            assert!(at(wrong).check().is_err(), "{wrong}");
        }
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).expect("a folder").map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["inner", "old"]);
        assert_eq!(fs::read(folder.path().join("old")).expect("readable"), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        let destination = Destination::of(&link);
        fs::write(destination.part(), "new").expect("written");
        destination.keep().expect("renamed");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).expect("readable"), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_written_to_and_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        // A socket stands for a device, which only the superuser can make.
        let path = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        for destination in [Destination::of(&path), Destination::shared(&path)] {
            assert!(destination.is_device());
            assert_eq!(destination.part(), path);
            destination.keep().expect("nothing to do");
            destination.discard();
            destination.clear().expect("nothing to do");
            assert!(path.exists());
        }
        assert!(Destination::of("/dev/null".as_ref()).is_device());
    }
}
