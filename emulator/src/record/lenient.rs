//! Recordings that do not disturb the program: a launch continues when its trace can no longer be written.

use super::{BlockSink, SinkError};

/// Behaviour of a sink when a block cannot be written.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    is_lenient: bool,
    first: Option<SinkError>,
}

impl Failures {
    /// Keeps the first failure for later, and drops all blocks after it.
    #[must_use]
    pub(crate) fn lenient() -> Failures {
        Failures { is_lenient: true, first: None }
    }

    /// Submits a block.
    ///
    /// # Errors
    /// The block cannot be written, and the failure is not kept for later.
    pub(crate) fn hand_over<B: BlockSink>(
        &mut self,
        block: &mut B,
        submit: impl FnOnce(&mut B) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        if !self.is_lenient {
            return submit(block);
        }
        if self.first.is_none() {
            self.first = submit(block).err();
        }
        if self.first.is_some() {
            block.forget();
        }
        Ok(())
    }

    /// The failure that was kept.
    #[must_use]
    pub(crate) fn into_first(self) -> Option<SinkError> {
        self.first
    }
}
