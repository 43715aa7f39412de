//! State that the emulator's threads share with the writer's thread: the bytes on their way to the file, the oldest
//! incomplete block, and how the recording ended.
//!
//! Threads wait while more than [`Progress::window_bytes`] are on their way. They are woken when half of it has been
//! packed, and not for every block, so that a recording of many small blocks does not switch between threads at each.
//! The thread of the oldest incomplete block waits only for messages that the writer's thread has not taken yet. It
//! never waits for later blocks, because those cannot be packed before its own.

use super::summary::WriteSummary;
use crate::container::TraceError;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A message that a thread wants to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// A record; its place in the file follows from the order of messages.
    Record,
    /// A part of a block; its place follows from its numbers.
    Part { block: u64, part: u32 },
}

/// The state that the threads share.
#[derive(Debug)]
pub(super) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
    window_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    /// The oldest block that is not complete.
    next_block: u64,
    /// Bytes of messages that the writer's thread has not finished with.
    sent: usize,
    /// Bytes of parts that wait for older blocks.
    held: usize,
    /// Messages of waiting threads.
    waiting: Vec<Turn>,
    /// Number of tickets given out, and the last one that has been settled.
    asked: u64,
    settled: u64,
    stopped: bool,
    failure: Option<TraceError>,
    summary: Option<(WriteSummary, PathBuf)>,
}

impl State {
    /// Whether a message may be sent if at most `limit` bytes may be on their way.
    fn admits(&self, turn: Turn, limit: usize) -> bool {
        match turn {
            Turn::Part { block, part } if block > self.next_block => {
                part == 0 && self.sent + self.held < limit
            }
            Turn::Part { .. } | Turn::Record => self.sent < limit,
        }
    }
}

impl Progress {
    pub(super) fn new(window_bytes: usize) -> Progress {
        Progress { state: Mutex::default(), changed: Condvar::new(), window_bytes: window_bytes.max(2) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a message of this size may be sent, and counts its bytes as sent. A part that is not the first of its block
    /// waits until its block is the oldest incomplete one.
    pub(super) fn reserve(&self, turn: Turn, bytes: usize) -> Result<(), TraceError> {
        let mut state = self.lock();
        if !state.stopped && !state.admits(turn, self.window_bytes) {
            state.waiting.push(turn);
            while !state.stopped && !state.admits(turn, self.window_bytes / 2 + 1) {
                state = self.wait(state);
            }
            if let Some(at) = state.waiting.iter().position(|waiting| *waiting == turn) {
                state.waiting.swap_remove(at);
            }
        }
        if state.stopped {
            drop(state);
            return Err(self.failure());
        }
        state.sent += bytes;
        Ok(())
    }

    /// Records that a message has been handled: its bytes are packed, or held until older blocks arrive.
    pub(super) fn served(&self, bytes: usize, held: usize, next_block: u64) {
        let mut state = self.lock();
        state.sent -= bytes;
        (state.held, state.next_block) = (held, next_block);
        let wake = state.waiting.iter().any(|turn| state.admits(*turn, self.window_bytes / 2 + 1));
        drop(state);
        if wake {
            self.changed.notify_all();
        }
    }

    /// A ticket for [`Progress::wait_for_settled`].
    pub(super) fn ask(&self) -> u64 {
        let mut state = self.lock();
        state.asked += 1;
        state.asked
    }

    /// Records that all messages sent before the ticket have been written.
    pub(super) fn settle(&self, ticket: u64) {
        self.lock().settled = ticket;
        self.changed.notify_all();
    }

    /// Waits until all messages sent before the ticket have been written.
    pub(super) fn wait_for_settled(&self, ticket: u64) -> Result<(), TraceError> {
        let mut state = self.lock();
        while state.settled < ticket {
            if state.stopped {
                drop(state);
                return Err(self.failure());
            }
            state = self.wait(state);
        }
        Ok(())
    }

    /// Records how the recording ended.
    pub(super) fn stop(&self, outcome: Result<(WriteSummary, PathBuf), TraceError>) {
        let mut state = self.lock();
        state.stopped = true;
        match outcome {
            Ok(summary) => state.summary = Some(summary),
            Err(error) => state.failure = Some(error),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until the writer has stopped, and returns its summary or error.
    pub(super) fn wait_for_end(&self) -> Result<(WriteSummary, PathBuf), TraceError> {
        let mut state = self.lock();
        while !state.stopped {
            state = self.wait(state);
        }
        let summary = state.summary.clone();
        drop(state);
        summary.ok_or_else(|| self.failure())
    }

    /// The writer's error; the first call returns it in full.
    pub(super) fn failure(&self) -> TraceError {
        let mut state = self.lock();
        let text = if state.summary.is_some() {
            "the recording has ended"
        } else {
            "the recording has already failed"
        };
        state.failure.take().unwrap_or_else(|| TraceError::refused(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};

    fn part(block: u64, part: u32) -> Turn {
        Turn::Part { block, part }
    }

    /// Reserves in a thread; the receiver gets a message when the thread may send.
    fn reserving(progress: &Arc<Progress>, turn: Turn, bytes: usize) -> Receiver<bool> {
        let (done, receiver) = channel();
        let progress = Arc::clone(progress);
        std::thread::spawn(move || done.send(progress.reserve(turn, bytes).is_ok()));
        receiver
    }

    /// Waits until so many threads wait.
    fn until_waiting(progress: &Progress, threads: usize) {
        while progress.lock().waiting.len() < threads {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_full_window_opens_when_half_of_it_is_served() {
        let progress = Arc::new(Progress::new(100));
        for block in 0..10 {
            progress.reserve(part(block, 0), 10).unwrap();
        }
        let next = reserving(&progress, part(10, 0), 10);
        until_waiting(&progress, 1);
        for block in 1..5 {
            progress.served(10, 0, block);
        }
        assert!(next.try_recv().is_err(), "60 bytes are still on their way");
        progress.served(10, 0, 5);
        assert_eq!(next.recv(), Ok(true));
    }

    #[test]
    fn the_oldest_block_does_not_wait_for_later_ones() {
        let progress = Arc::new(Progress::new(100));
        progress.reserve(part(1, 0), 100).unwrap();
        let later = reserving(&progress, part(2, 0), 10);
        until_waiting(&progress, 1);
        progress.served(100, 100, 0);
        progress.reserve(part(0, 0), 10).unwrap();
        progress.reserve(part(0, 1), 10).unwrap();
        assert!(later.try_recv().is_err(), "100 bytes wait for block 0");
        progress.served(20, 0, 2);
        assert_eq!(later.recv(), Ok(true));
    }

    #[test]
    fn only_the_oldest_block_is_sent_in_parts() {
        let progress = Arc::new(Progress::new(100));
        progress.reserve(part(3, 0), 1).unwrap();
        let second = reserving(&progress, part(3, 1), 1);
        until_waiting(&progress, 1);
        progress.served(1, 1, 2);
        assert!(second.try_recv().is_err());
        progress.served(0, 0, 3);
        assert_eq!(second.recv(), Ok(true));
    }

    #[test]
    fn a_failure_ends_every_wait() {
        let progress = Arc::new(Progress::new(2));
        progress.reserve(Turn::Record, 2).unwrap();
        let waiting = [reserving(&progress, Turn::Record, 1), reserving(&progress, part(9, 0), 1)];
        until_waiting(&progress, 2);
        progress.stop(Err(TraceError::refused("the disk is full")));
        assert!(waiting.iter().all(|w| w.recv() == Ok(false)));
    }
}
