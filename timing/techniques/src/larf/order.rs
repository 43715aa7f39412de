//! The order in which loads and stores issued, where they reach the load/store unit in another.
//!
//! A store takes entries out of the table when it issues. A load that issued before it and looks its addresses up
//! after it must neither find a value that is newer than its own nor enter one that is older than the store's.

use super::super::InFlightId;

/// Changed lines that are kept for loads on their way.
const MOST: usize = 4096;

/// Loads between issue and lookup, and the lines that were changed meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    clock: u64,
    /// When the load in each slot of the pipeline issued; 0 for none.
    issued: Vec<u64>,
    on_the_way: u32,
    changed: Vec<(u64, u64)>,
    /// Every line counts as changed up to this time.
    all_changed: u64,
}

impl Order {
    /// A load has issued.
    pub(super) fn load(&mut self, id: InFlightId) {
        let slot = usize::from(id.slot());
        if self.issued.len() <= slot {
            self.issued.resize(slot + 1, 0);
        }
        self.clock += 1;
        self.issued[slot] = self.clock;
        self.on_the_way += 1;
    }

    /// A store to some lines has issued.
    pub(super) fn store(&mut self, lines: &[u64]) {
        self.clock += 1;
        if self.on_the_way > 0 {
            self.changed.extend(lines.iter().map(|line| (self.clock, *line)));
            if self.changed.len() > MOST {
                self.change_all();
            }
        }
    }

    /// Any line may have been changed.
    pub(super) fn change_all(&mut self) {
        self.clock += 1;
        self.all_changed = self.clock;
        self.changed.clear();
    }

    /// A load has reached its lookup; whether one of its lines was changed after it issued.
    pub(super) fn is_overtaken(&mut self, id: InFlightId, lines: &[u64]) -> bool {
        let Some(issued) = self.issued.get_mut(usize::from(id.slot())) else { return false };
        let issued = std::mem::take(issued);
        if issued == 0 {
            return false;
        }
        self.on_the_way -= 1;
        let overtaken = self.all_changed > issued
            || self.changed.iter().any(|(at, line)| *at > issued && lines.contains(line));
        if self.on_the_way == 0 {
            self.changed.clear();
        }
        overtaken
    }
}
