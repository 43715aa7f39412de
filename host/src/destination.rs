//! Output files that appear complete or not at all: a file is written beside its destination and renamed at
//! the end.
//!
//! A writer owns the file that it writes: `X.part`, or `X.part-2` and so on when that name is taken. It is
//! locked as long as its writer runs, so that an unlocked file was left by an interrupted writer. Such a
//! file, and an older file at the destination, are kept until another writer has completed the file.
//!
//! An existing destination that is no regular file (`/dev/null`, a pipe) is written directly: renaming would
//! replace the device by a file.

use crate::outputs;
use crate::place::{is_same, is_stdout, place};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum wait for another writer's lock on the folder, which it holds only to rename a file.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of unfinished files of one destination.
const MOST_DRAFTS: u32 = 10_000;

/// Destination of a file.
#[derive(Clone, Debug)]
pub struct Destination {
    path: PathBuf,
    is_device: bool,
}

/// A file that is being written, under a name that only its writer uses.
#[derive(Debug)]
pub struct Draft {
    destination: Destination,
    part: PathBuf,
    file: File,
}

/// Identity of the file at a path: another file there, or the same file with other contents, has another
/// identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity(String);

impl Destination {
    /// The destination `path`, with links resolved.
    #[must_use]
    pub fn of(path: &Path) -> Destination {
        let path = if path.is_symlink() { path.canonicalize().ok() } else { None }.unwrap_or(path.into());
        let is_device = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
        Destination { path, is_device }
    }

    /// The destination `path` within a folder that the program fills: a link there is replaced and not followed, since
    /// whoever made the folder may have put it there.
    #[must_use]
    pub fn within(path: &Path) -> Destination {
        let found = path.symlink_metadata();
        let is_device = found.is_ok_and(|found| !found.is_file() && !found.is_dir() && !found.is_symlink());
        Destination { path: path.into(), is_device }
    }

    /// Path of the destination.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the file can be written, before the work that computes its contents.
    ///
    /// # Errors
    /// The path is a folder, or its folder is missing or not writable.
    pub fn check(&self) -> io::Result<()> {
        // A pipe is not opened twice: its reader would see the end of the first.
        if self.is_device { Ok(()) } else { self.create().map(Draft::discard) }
    }

    /// Whether this is the process's standard output, so that nothing else may be printed there.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        is_stdout(&self.path)
    }

    /// Whether the destination is a device or a pipe, which is written directly.
    #[must_use]
    pub fn is_device(&self) -> bool {
        self.is_device
    }

    /// Creates the file under a name that no other writer uses.
    ///
    /// # Errors
    /// The path is a folder, or its folder is missing or not writable.
    pub fn create(&self) -> io::Result<Draft> {
        let draft = |part, file| Draft { destination: self.clone(), part, file };
        outputs::replacing(&self.path)?;
        if self.is_device {
            return Ok(draft(self.path.clone(), File::create(&self.path)?));
        }
        if self.path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        for number in 1..=MOST_DRAFTS {
            let part = self.part(number);
            match OpenOptions::new().write(true).create_new(true).open(&part) {
                // Another writer's cleanup may have seen the file before it was locked, and may remove it.
                Ok(file) => {
                    let locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
                    if locked && is_same(&file, &part) {
                        return Ok(draft(part, file));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let what = format!("there are too many files named {}.part-N", self.path.display());
        Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
    }

    /// Writes a complete file, which replaces an older one at the end.
    ///
    /// # Errors
    /// The file cannot be written; no part of it remains.
    pub fn write(&self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
        let draft = self.create()?;
        let mut out = BufWriter::new(&draft.file);
        let written = write(&mut out).and_then(|()| out.flush());
        // The rest of the buffer must not be written again.
        drop(out.into_parts());
        match written {
            Ok(()) => draft.keep(),
            Err(error) => {
                draft.discard();
                Err(error)
            }
        }
    }

    fn part(&self, number: u32) -> PathBuf {
        let mut part = self.path.clone().into_os_string();
        part.push(if number == 1 { ".part".into() } else { format!(".part-{number}") });
        part.into()
    }

    /// Unfinished files of this destination, those with the lowest number first.
    #[must_use]
    pub fn unfinished(&self) -> Vec<PathBuf> {
        let (Some(name), false) = (self.path.file_name(), self.is_device) else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir(self.folder()) else { return Vec::new() };
        let number = |entry: &OsStr| {
            let rest = entry.as_encoded_bytes().strip_prefix(name.as_encoded_bytes())?;
            match rest.strip_prefix(b".part")? {
                b"" => Some(1),
                more => std::str::from_utf8(more.strip_prefix(b"-")?).ok()?.parse::<u32>().ok(),
            }
        };
        let mut found: Vec<(u32, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                Some((number(&entry.file_name())?, self.path.with_file_name(entry.file_name())))
            })
            .collect();
        found.sort();
        found.into_iter().map(|(_, path)| path).collect()
    }

    /// Unfinished files of this destination whose writers have ended.
    #[must_use]
    pub fn abandoned(&self) -> Vec<PathBuf> {
        self.unfinished().into_iter().filter(|path| lock_abandoned(path).is_some()).collect()
    }

    /// Whether another writer is writing this destination.
    #[must_use]
    pub fn is_being_written(&self) -> bool {
        self.unfinished().into_iter().any(|path| lock_abandoned(&path).is_none())
    }

    /// Removes the files of writers that were interrupted.
    fn tidy(&self) {
        for path in self.unfinished() {
            // The lock is held meanwhile, so that no writer reuses the file.
            if let Some(_file) = lock_abandoned(&path) {
                // A remaining file does no harm.
                let _ = std::fs::remove_file(&path);
            }
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The path with an unused number before its extension.
    fn numbered(&self) -> PathBuf {
        let id = std::process::id();
        let extension = self.path.extension();
        let with = |middle: String| {
            let mut all = OsString::from(middle);
            if let Some(extension) = extension {
                all.push(".");
                all.push(extension);
            }
            self.path.with_extension(all)
        };
        let first = std::iter::once(with(id.to_string()));
        let mut all = first.chain((2..).map(|again| with(format!("{id}-{again}"))));
        all.find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| self.path.clone())
    }

    /// An alternative destination that does not replace an existing file.
    #[must_use]
    pub fn aside(&self) -> Destination {
        Destination { path: self.numbered(), is_device: false }
    }
}

impl Draft {
    /// Destination of the file.
    #[must_use]
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Path of the unfinished file.
    #[must_use]
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Renames the finished file to its destination; it replaces an older one.
    ///
    /// # Errors
    /// The file cannot be renamed, or the destination is an input of the command; the unfinished file is removed.
    pub fn keep(self) -> io::Result<()> {
        if self.destination.is_device {
            return Ok(());
        }
        let path = &self.destination.path;
        let kept = outputs::replacing(path).and_then(|()| std::fs::rename(&self.part, path));
        if let Err(error) = kept {
            self.discard();
            return Err(error);
        }
        outputs::written(path);
        self.destination.tidy();
        Ok(())
    }

    /// Waits until the contents are on the disk. Without it, a computer that stops soon after the rename may leave an empty
    /// file in place of the older one.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn sync(&self) -> io::Result<()> {
        match self.file.sync_data() {
            // Some file systems cannot do it.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                Ok(())
            }
            other => other,
        }
    }

    /// Renames the finished file to its destination if the file there has this identity. If another writer
    /// has put a file there, it is kept, and the finished one gets a number. Returns the final path.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn keep_beside_others(&self, replaces: Option<&Identity>) -> io::Result<PathBuf> {
        let wanted = &self.destination;
        if wanted.is_device {
            return Ok(wanted.path.clone());
        }
        outputs::replacing(&wanted.path)?;
        // The lock prevents renames by others between check and rename.
        let _folder = lock_folder(wanted.folder());
        let there = Identity::of(&wanted.path);
        if there.is_none() || there.as_ref() == replaces {
            std::fs::rename(&self.part, &wanted.path)?;
            outputs::written(&wanted.path);
            wanted.tidy();
            return Ok(wanted.path.clone());
        }
        let path = wanted.numbered();
        std::fs::rename(&self.part, &path)?;
        Ok(path)
    }

    /// Removes the unfinished file.
    pub fn discard(self) {
        if !self.destination.is_device {
            // The caller has its own error to report.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

impl Identity {
    /// Identity of the file at a path, if there is one.
    #[must_use]
    pub fn of(path: &Path) -> Option<Identity> {
        let found = path.metadata().ok()?;
        let written = found.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let (device, inode) = place(&found).unwrap_or_default();
        Some(Identity(format!("{device}:{inode}:{}:{}", found.len(), written.unwrap_or_default().as_nanos())))
    }

    /// The identity with this text, as [`Identity`] displays it.
    #[must_use]
    pub fn from_text(text: &str) -> Identity {
        Identity(text.into())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Opens and locks an unfinished file whose writer has ended; if files cannot be locked, writers count as
/// alive.
fn lock_abandoned(path: &Path) -> Option<File> {
    // Opening a pipe would wait for a writer.
    path.symlink_metadata().ok().filter(Metadata::is_file)?;
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Locks a folder against renames by other writers, if folders can be locked.
fn lock_folder(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    let since = Instant::now();
    while let Err(TryLockError::WouldBlock) = folder.try_lock() {
        if since.elapsed() > PATIENCE {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Some(folder)
}

#[cfg(test)]
mod tests {
    use super::{Destination, Identity};
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        fs::write(&path, "old").expect("written");
        let draft = Destination::of(&path).create().expect("a draft");
        draft.file().write_all(b"new").expect("written");
        assert_eq!(fs::read(&path).expect("readable"), b"old");
        draft.keep().expect("renamed");
        assert_eq!(fs::read(&path).expect("readable"), b"new");
        let failed = Destination::of(&path).write(|out| {
            out.write_all(b"half")?;
            Err(std::io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("readable"), b"new");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn every_writer_has_a_file_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.wtrace");
        fs::write(&path, "old").expect("written");
        let old = Identity::of(&path);
        let drafts: Vec<_> = (0..3).map(|_| Destination::of(&path).create().expect("a draft")).collect();
        for (draft, text) in drafts.iter().zip(["first", "second", "third"]) {
            draft.file().write_all(text.as_bytes()).expect("written");
        }
        assert_eq!(names(folder.path()), ["x.wtrace", "x.wtrace.part", "x.wtrace.part-2", "x.wtrace.part-3"]);
        let kept: Vec<_> =
            drafts.iter().map(|d| d.keep_beside_others(old.as_ref()).expect("renamed")).collect();
        // The first replaces the old file; the others do not replace the first.
        assert_eq!(kept[0], path);
        for (path, text) in kept.iter().zip(["first", "second", "third"]) {
            assert_eq!(fs::read(path).expect("readable"), text.as_bytes());
        }
        assert_eq!(names(folder.path()).len(), 3);
    }

    #[test]
    fn what_an_interrupted_writer_left_stays_until_another_one_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let destination = Destination::of(&path);
        for name in ["out.part", "out.part-7", "out.parts", "out.part-x", "about.part"] {
            fs::write(folder.path().join(name), "left").expect("written");
        }
        let (alive, draft) = (destination.create().expect("a draft"), destination.create().expect("a draft"));
        assert_eq!(alive.part(), folder.path().join("out.part-2"));
        let left = [folder.path().join("out.part"), folder.path().join("out.part-7")];
        assert_eq!(destination.abandoned(), left);
        assert_eq!(destination.unfinished().len(), 4);
        draft.keep().expect("renamed");
        assert_eq!(names(folder.path()), ["about.part", "out", "out.part-2", "out.part-x", "out.parts"]);
        alive.discard();
        assert!(destination.unfinished().is_empty());
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
        assert_eq!(names(folder.path()), ["inner", "old"]);
        assert_eq!(fs::read(folder.path().join("old")).expect("readable"), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        Destination::of(&link).write(|out| out.write_all(b"new")).expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).expect("readable"), b"new");
        Destination::within(&link).write(|out| out.write_all(b"own")).expect("written");
        assert!(!link.is_symlink(), "a folder's link is replaced");
        assert_eq!(fs::read(&file).expect("readable"), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_written_to_and_stays() {
        let null = Destination::of("/dev/null".as_ref());
        assert!(null.is_device());
        null.check().expect("it takes anything");
        let draft = null.create().expect("it can be opened");
        assert_eq!(draft.part(), Path::new("/dev/null"));
        assert_eq!(draft.keep_beside_others(None).expect("nothing to do"), Path::new("/dev/null"));
        draft.keep().expect("nothing to do");
        null.write(|out| out.write_all(b"x")).expect("written");
        null.create().expect("it can be opened").discard();
        let found = fs::metadata("/dev/null").expect("it is still there");
        assert!(!found.is_file());
    }
}
