//! Events that several processes have (`cuIpcGetEventHandle`): a word in a file that they map says whether the work before the
//! last record of the event is still pending.

use crate::error::{Outcome, Status};
use crate::shared_file::{SharedFile, anonymous_file};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

const REACHED: u64 = 0;
const PENDING: u64 = 1;

/// The word that says whether an event has been reached.
#[derive(Debug)]
pub struct SharedEvent {
    word: *mut AtomicU64,
    file: File,
    /// The handle by which it was opened; none in the process that made the event.
    from: Option<SharedFile>,
}

// SAFETY: the word is atomic, and mapped as long as this is there.
unsafe impl Send for SharedEvent {}

fn page() -> usize {
    rustix::param::page_size()
}

impl SharedEvent {
    /// The word of a new event, which counts as reached.
    ///
    /// # Errors
    /// When the system refuses a file.
    pub(crate) fn create() -> Outcome<SharedEvent> {
        let file = anonymous_file()?;
        file.set_len(page() as u64).map_err(|_| Status::OPERATING_SYSTEM)?;
        SharedEvent::map(file, None)
    }

    /// The word of an event of another process.
    ///
    /// # Errors
    /// As [`SharedFile::open`].
    pub(crate) fn open(handle: SharedFile) -> Outcome<SharedEvent> {
        let file = handle.open()?;
        SharedEvent::map(file, Some(handle))
    }

    fn map(file: File, from: Option<SharedFile>) -> Outcome<SharedEvent> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, of a file that has a page.
        let mapped = unsafe { mmap(null_mut(), page(), access, MapFlags::SHARED, &file, 0) };
        let word = mapped.map_err(|_| Status::MEMORY_ALLOCATION)?.cast::<AtomicU64>();
        Ok(SharedEvent { word, file, from })
    }

    /// The handle by which other processes open it.
    ///
    /// # Errors
    /// `OPERATING_SYSTEM` when the system does not know the file.
    pub(crate) fn handle(&self) -> Outcome<SharedFile> {
        SharedFile::of(&self.file, page() as u64)
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: the page is mapped, and both processes access the word atomically.
        unsafe { &*self.word }
    }

    /// Notes that the event was recorded behind work, or that this work has ended.
    pub(crate) fn set_pending(&self, pending: bool) {
        self.word().store(if pending { PENDING } else { REACHED }, Ordering::SeqCst);
    }

    /// Whether another process has recorded the event and its work has not ended.
    pub(crate) fn is_pending_elsewhere(&self) -> bool {
        // A process that is gone will never reach it.
        self.from.as_ref().is_some_and(SharedFile::is_owned) && self.word().load(Ordering::SeqCst) == PENDING
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        // SAFETY: nobody has a reference to the word any more.
        let _ = unsafe { munmap(self.word.cast(), page()) };
    }
}
