//! Recordings that do not disturb what they record: a launch goes on when its trace cannot be written any more.

use super::{BlockSink, SinkError};

/// What a sink does when a block is not taken.
#[derive(Debug, Default)]
pub struct Failures {
    is_lenient: bool,
    first: Option<SinkError>,
}

impl Failures {
    /// The first is kept for later, and all blocks from then on are forgotten.
    #[must_use]
    pub fn lenient() -> Failures {
        Failures { is_lenient: true, first: None }
    }

    /// Hands a block over.
    ///
    /// # Errors
    /// When it is not taken, and that is not kept for later.
    pub fn hand_over<B: BlockSink>(
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
    pub fn into_first(self) -> Option<SinkError> {
        self.first
    }
}
