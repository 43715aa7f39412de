//! The scouts of an SM: for techniques that run ahead, a second stream of each resident warp's recorded path.

use crate::source::{Row, SourceError, WarpStream};
use crate::techniques::{Scouted, Scouts};

/// Scouts by warp slot.
#[derive(Debug)]
pub(crate) struct ScoutsOf<W> {
    /// Empty before the first scout: most replays have none.
    streams: Vec<Option<W>>,
    warps: usize,
    /// The first scout that could not step, by its slot.
    failed: Option<(usize, SourceError)>,
}

impl<W: WarpStream> ScoutsOf<W> {
    /// No scouts, for a number of warp slots.
    #[must_use]
    pub(crate) fn new(warps: usize) -> ScoutsOf<W> {
        ScoutsOf { streams: Vec::new(), warps, failed: None }
    }

    /// The scout of the warp that was in a slot before, whose memory the next one uses.
    pub(crate) fn take(&mut self, slot: usize) -> Option<W> {
        self.streams.get_mut(slot)?.take()
    }

    /// Places the scout of a new warp.
    pub(crate) fn place(&mut self, slot: usize, scout: W) {
        if self.streams.is_empty() {
            self.streams.resize_with(self.warps, || None);
        }
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
        self.streams.get(warp_slot)?.as_ref()?.peek().map(|next| (next.pc, next.active))
    }

    #[inline]
    fn step(&mut self, warp_slot: usize) -> Option<Scouted> {
        let stream = self.streams.get_mut(warp_slot)?.as_mut()?;
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
        self.streams.get(warp_slot).and_then(Option::as_ref).map_or(&[], WarpStream::rows)
    }

    fn preds(&self, warp_slot: usize) -> [u32; 8] {
        let scout = self.streams.get(warp_slot).and_then(Option::as_ref);
        let own = scout.and_then(|stream| stream.preds().first_chunk());
        own.copied().unwrap_or_default()
    }
}
