//! Executes work that neither runs a kernel nor calls the program.

use crate::error::{Outcome, Status};
use crate::gpu::Gpu;
use crate::streams::work::Work;
use std::time::Instant;

impl Gpu {
    /// Does a piece of work that does not call the host.
    pub(crate) fn perform_here(&mut self, work: &Work) -> Outcome {
        match work {
            Work::Copy(copy) => {
                self.memory.copy(copy)?;
                self.recording.copied(copy, &self.memory);
                Ok(())
            }
            Work::Fill(fill) => {
                self.memory.fill(fill)?;
                self.recording.filled(fill);
                Ok(())
            }
            Work::Record(event) => {
                self.streams.events.get_mut(*event)?.reached = Some(Instant::now());
                self.streams.set_pending(*event, false);
                Ok(())
            }
            Work::Wait(_) => {
                self.recording.stream_waited();
                Ok(())
            }
            Work::Empty => Ok(()),
            Work::Allocate { address, .. } => self.memory.back(*address),
            Work::Free(address) => self.memory.free_device(*address),
            // These are done with the lock free.
            Work::Launch(_) | Work::Host(_) | Work::Child(_) | Work::Conditional(_) => {
                Err(Status::NOT_SUPPORTED)
            }
        }
    }
}
