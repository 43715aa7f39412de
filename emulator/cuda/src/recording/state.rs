//! The recording of a process, if there is one, with its current position.

use super::recorder::Recorder;
use crate::memory::Memory;
use crate::memory::copy::{Copy, Fill};

/// The recording, and the position in the order of launches.
#[derive(Debug, Default)]
pub struct Recording {
    /// The recorder, if a trace is written.
    pub recorder: Option<Recorder>,
    /// Launches so far.
    pub launches: u32,
    /// Stream of the current work.
    pub stream: u64,
}

impl Recording {
    /// Takes note of a copy.
    pub fn copied(&mut self, copy: &Copy, memory: &Memory) {
        if let Some(recorder) = &mut self.recorder {
            recorder.copied(copy, memory, self.stream, self.launches.into());
        }
    }

    /// Takes note of a fill.
    pub fn filled(&mut self, fill: &Fill) {
        if let Some(recorder) = &mut self.recorder {
            recorder.filled(fill, self.stream, self.launches.into());
        }
    }

    /// Notes that the stream of the current work waits for all earlier launches.
    pub fn stream_waited(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.waited(self.stream, self.launches.into());
        }
    }

    /// Notes that the program waits for all earlier launches, and writes them to the trace.
    pub fn program_waited(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.waited(0, self.launches.into());
            recorder.settle();
        }
    }

    /// Waits until all launches so far are in the trace, if one is written.
    pub fn settle(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.settle();
        }
    }
}
