//! The tables of strides: of each warp by load, of all warps by load, and between the warps of a block by load.

/// What the tables know of a load after an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes from one execution to the next, of the warp or of all warps.
    pub intra_warp: Option<i64>,
    /// Bytes from one warp of a block to the next.
    pub inter_warp: Option<i64>,
    /// Whether this execution made a stride that of all warps.
    pub promoted: bool,
}

/// A stride and how often it was seen in succession.
#[derive(Clone, Copy, Debug, Default)]
struct Learned {
    stride: i64,
    times: u32,
}

impl Learned {
    /// Adds an observation; returns the stride if it counts.
    fn observe(&mut self, stride: i64, confidence: u32) -> Option<i64> {
        self.times = if stride == self.stride { (self.times + 1).min(confidence) } else { 1 };
        self.stride = stride;
        (self.times >= confidence).then_some(stride)
    }
}

/// A load's last execution by one warp.
#[derive(Clone, Copy, Debug)]
struct OfWarp {
    pc: u32,
    address: u64,
    learned: Learned,
}

/// A stride that warps have.
#[derive(Clone, Copy, Debug)]
struct OfAll {
    pc: u32,
    stride: i64,
    /// Warp slots that have it, one bit each.
    warps: u64,
}

/// A load's last execution by any warp.
#[derive(Clone, Copy, Debug)]
struct Between {
    pc: u32,
    block: u32,
    warp: u32,
    address: u64,
    learned: Learned,
}

/// The tables of an SM; in each the entry used last comes first, and the last one makes room.
#[derive(Clone, Debug, Default)]
pub(super) struct Strides {
    of_warps: Vec<Vec<OfWarp>>,
    of_all: Vec<OfAll>,
    between: Vec<Between>,
    warp_entries: usize,
    shared_entries: usize,
    confidence: u32,
    promote: u32,
}

/// The entry that `is` accepts, or a new one, first in the table; true if it is new.
fn entry<T: Copy>(table: &mut Vec<T>, room: usize, is: impl Fn(&T) -> bool, new: T) -> (&mut T, bool) {
    let found = table.iter().position(is);
    match found {
        Some(at) => table[..=at].rotate_right(1),
        None => {
            table.truncate(room.saturating_sub(1));
            table.insert(0, new);
        }
    }
    (&mut table[0], found.is_none())
}

impl Strides {
    /// Empty tables.
    pub(super) fn new(
        warps: u32,
        warp_entries: u32,
        shared_entries: u32,
        confidence: u32,
        promote: u32,
    ) -> Strides {
        Strides {
            of_warps: vec![Vec::new(); warps as usize],
            of_all: Vec::new(),
            between: Vec::new(),
            warp_entries: warp_entries as usize,
            shared_entries: shared_entries as usize,
            confidence,
            promote,
        }
    }

    /// Another warp starts in a slot.
    pub(super) fn forget(&mut self, slot: usize) {
        self.of_warps[slot].clear();
    }

    /// A warp of a block executes a load whose first lane has this address.
    pub(super) fn train(&mut self, slot: usize, block: u32, warp: u32, pc: u32, address: u64) -> Found {
        let own = self.own_stride(slot, pc, address);
        let (shared, promoted) = self.shared_stride(slot, pc, own);
        Found {
            intra_warp: shared.or(own),
            inter_warp: self.stride_between(block, warp, pc, address),
            promoted,
        }
    }

    fn own_stride(&mut self, slot: usize, pc: u32, address: u64) -> Option<i64> {
        let new = OfWarp { pc, address, learned: Learned::default() };
        let (entry, is_new) = entry(&mut self.of_warps[slot], self.warp_entries, |entry| entry.pc == pc, new);
        if is_new {
            return None;
        }
        let stride = address.wrapping_sub(entry.address) as i64;
        entry.address = address;
        entry.learned.observe(stride, self.confidence)
    }

    /// The stride of all warps, and whether it has just become that.
    fn shared_stride(&mut self, slot: usize, pc: u32, own: Option<i64>) -> (Option<i64>, bool) {
        let Some(stride) = own else {
            let known =
                self.of_all.iter().find(|entry| entry.pc == pc && entry.warps.count_ones() >= self.promote);
            return (known.map(|entry| entry.stride), false);
        };
        let new = OfAll { pc, stride, warps: 0 };
        let (entry, _) = entry(&mut self.of_all, self.shared_entries, |entry| entry.pc == pc, new);
        if entry.stride != stride {
            *entry = new;
        }
        let before = entry.warps.count_ones();
        entry.warps |= 1 << (slot & 63);
        let after = entry.warps.count_ones();
        ((after >= self.promote).then_some(stride), before < self.promote && after >= self.promote)
    }

    fn stride_between(&mut self, block: u32, warp: u32, pc: u32, address: u64) -> Option<i64> {
        let new = Between { pc, block, warp, address, learned: Learned::default() };
        let (entry, is_new) = entry(&mut self.between, self.shared_entries, |entry| entry.pc == pc, new);
        let warps = i64::from(warp) - i64::from(entry.warp);
        if is_new || entry.block != block || warps == 0 {
            (entry.block, entry.warp, entry.address) = (block, warp, address);
            // A stride that counts does so in the next block as well.
            return (entry.learned.times >= self.confidence).then_some(entry.learned.stride);
        }
        let bytes = address.wrapping_sub(entry.address) as i64;
        (entry.warp, entry.address) = (warp, address);
        match bytes % warps {
            0 => entry.learned.observe(bytes / warps, self.confidence),
            _ => {
                entry.learned = Learned::default();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Strides {
        Strides::new(8, 2, 2, 2, 3)
    }

    #[test]
    fn a_stride_counts_when_it_was_seen_twice_in_succession() {
        let mut tables = tables();
        let mut intra = |address| tables.train(0, 0, 0, 5, address).intra_warp;
        assert_eq!([intra(1000), intra(1100), intra(1200)], [None, None, Some(100)]);
        assert_eq!([intra(1300), intra(1301), intra(1302)], [Some(100), None, Some(1)]);
    }

    #[test]
    fn a_stride_of_three_warps_is_that_of_all() {
        let mut tables = tables();
        for slot in 0..3 {
            for step in 0..3u64 {
                let found = tables.train(slot, 0, slot as u32, 5, 4096 * slot as u64 + 64 * step);
                assert_eq!(found.promoted, (slot, step) == (2, 2));
            }
        }
        assert_eq!(tables.train(3, 0, 3, 5, 99_999).intra_warp, Some(64), "at its first execution");
        assert_eq!(tables.train(3, 0, 3, 6, 99_999).intra_warp, None, "another load");
        // A warp with another stride ends that.
        for step in 0..3u64 {
            tables.train(4, 0, 4, 5, 8 * step);
        }
        assert_eq!(tables.train(5, 0, 5, 5, 1).intra_warp, None);
    }

    #[test]
    fn warps_of_a_block_have_a_stride_between_them_whatever_their_order() {
        let mut tables = tables();
        let mut between =
            |block, warp: u32, address| tables.train(warp as usize, block, warp, 5, address).inter_warp;
        assert_eq!([between(0, 0, 1000), between(0, 1, 1128), between(0, 2, 1256)], [None, None, Some(128)]);
        assert_eq!(between(0, 5, 1640), Some(128), "three warps further");
        assert_eq!(between(0, 4, 1512), Some(128), "one back");
        assert_eq!(between(7, 0, 50_000), Some(128), "a block's first");
        assert_eq!(between(7, 1, 50_001), None);
        assert_eq!(between(7, 3, 50_004), None, "no whole stride");
    }

    #[test]
    fn the_load_that_was_not_executed_for_longest_makes_room() {
        let mut tables = tables();
        let mut intra = |pc, address| tables.train(0, 0, 0, pc, address).intra_warp;
        intra(1, 0);
        intra(1, 8);
        intra(2, 0);
        intra(3, 0);
        assert_eq!(
            [intra(1, 16), intra(1, 24), intra(1, 32)],
            [None, None, Some(8)],
            "forgotten for 2 and 3"
        );
    }

    #[test]
    fn a_new_warp_begins_without_strides_of_its_own() {
        let mut tables = tables();
        for step in 0..3u64 {
            tables.train(0, 0, 0, 5, 64 * step);
        }
        tables.forget(0);
        assert_eq!(tables.train(0, 0, 0, 5, 192).intra_warp, None);
    }
}
