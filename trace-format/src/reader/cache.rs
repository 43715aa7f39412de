//! The cache of decompressed frames. Frames are decompressed outside the lock, once for all readers;
//! directory and paths first, values on demand. An evicted entry stays alive as long as a cursor uses it.

use crate::container::frame::{Frame, FrameValues};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Default size of the cache in bytes of decompressed frames.
const MAX_BYTES: usize = 192 << 20;

/// Bytes of a frame's own structures, which are most of a small launch's frame.
const FRAME_BYTES: usize = 4 << 10;

/// A frame that is decompressed on first use.
#[derive(Debug)]
pub(crate) struct FrameSlot {
    pub number: usize,
    /// The frame, and the hash of the record that it was read from.
    pub frame: OnceLock<Result<(Arc<Frame>, u64), String>>,
    pub values: OnceLock<Result<Arc<FrameValues>, String>>,
}

#[derive(Debug, Default)]
pub(crate) struct FrameCache(Mutex<State>);

#[derive(Debug)]
struct State {
    slots: HashMap<usize, Cached>,
    /// Numbers of the frames by the time of their last use.
    by_use: BTreeMap<u64, usize>,
    bytes: usize,
    max_bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Cached {
    slot: Arc<FrameSlot>,
    bytes: usize,
    used: u64,
}

impl Default for State {
    fn default() -> Self {
        State { slots: HashMap::new(), by_use: BTreeMap::new(), bytes: 0, max_bytes: MAX_BYTES, clock: 0 }
    }
}

impl FrameCache {
    /// Sets the size of the cache in bytes.
    pub(super) fn keep(&self, max_bytes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).max_bytes = max_bytes;
    }

    /// The slot of a frame; `bytes` is called for its decompressed size when it is new.
    pub(super) fn slot(&self, number: usize, bytes: impl FnOnce() -> usize) -> Arc<FrameSlot> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        state.clock += 1;
        let now = state.clock;
        if let Some(cached) = state.slots.get_mut(&number) {
            state.by_use.remove(&cached.used);
            state.by_use.insert(now, number);
            cached.used = now;
            return cached.slot.clone();
        }
        let bytes = bytes() + FRAME_BYTES;
        while state.bytes + bytes > state.max_bytes {
            let Some((_, oldest)) = state.by_use.pop_first() else { break };
            state.bytes -= state.slots.remove(&oldest).map_or(0, |c| c.bytes);
        }
        state.by_use.insert(now, number);
        let slot = Arc::new(FrameSlot { number, frame: OnceLock::new(), values: OnceLock::new() });
        state.bytes += bytes;
        state.slots.insert(number, Cached { slot: slot.clone(), bytes, used: now });
        slot
    }
}
