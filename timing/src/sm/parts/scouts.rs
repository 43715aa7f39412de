//! The scouts of an SM: for techniques that run ahead, a second stream of each resident warp's recorded path.

use crate::source::{Row, SourceError, WarpStream};
use crate::techniques::{Scouted, Scouts};

/// Scouts by warp slot.
#[derive(Debug)]
pub(crate) struct ScoutsOf<W> {
    streams: Vec<Option<W>>,
    /// The first scout that could not step, by its slot.
    failed: Option<(usize, SourceError)>,
}

impl<W: WarpStream> ScoutsOf<W> {
    /// No scouts, for a number of warp slots.
    #[must_use]
    pub(crate) fn new(warps: usize) -> ScoutsOf<W> {
        ScoutsOf { streams: (0..warps).map(|_| None).collect(), failed: None }
    }

    /// The scout of the warp that was in a slot before, whose memory the next one uses.
    pub(crate) fn take(&mut self, slot: usize) -> Option<W> {
        self.streams[slot].take()
    }

    /// Places the scout of a new warp.
    pub(crate) fn place(&mut self, slot: usize, scout: W) {
        self.streams[slot] = Some(scout);
    }

    /// The first failure, once.
    pub(crate) fn take_failure(&mut self) -> Option<(usize, SourceError)> {
        self.failed.take()
    }
}

impl<W: WarpStream> Scouts for ScoutsOf<W> {
    #[inline]
    fn next(&self, warp_slot: usize) -> Option<(u32, u32)> {
        self.streams[warp_slot].as_ref()?.peek().map(|next| (next.pc, next.active))
    }

    #[inline]
    fn step(&mut self, warp_slot: usize) -> Option<Scouted> {
        let stream = self.streams[warp_slot].as_mut()?;
        stream.peek()?;
        match stream.step() {
            Ok(step) => Some(Scouted { pc: step.pc, active: step.active, exec: step.exec }),
            Err(why) => {
                self.failed.get_or_insert((warp_slot, why));
                None
            }
        }
    }

    fn rows(&self, warp_slot: usize) -> &[Row] {
        self.streams[warp_slot].as_ref().map_or(&[], WarpStream::rows)
    }

    fn preds(&self, warp_slot: usize) -> [u32; 8] {
        let own = self.streams[warp_slot].as_ref().and_then(|stream| stream.preds().first_chunk());
        own.copied().unwrap_or_default()
    }
}
