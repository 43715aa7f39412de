//! The registers and predicates of a warp: which of them are known to be uniform, where their values are, and what
//! the vector register file holds.

use warplab_technique::Row;
use warplab_technique::merge;

/// Where the value of a vector register is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Held {
    /// In all lanes of the vector register.
    #[default]
    Lanes,
    /// In all lanes, although it is uniform: no scalar register was free.
    Denied,
    /// Once, for all lanes: in one lane of the vector register, or in a scalar register.
    Once(u32),
}

/// A vector register.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    held: Held,
    /// Cycle of the last write or read.
    since: u64,
    /// Cycle in which the value was copied to all lanes, if that was after the last write or read.
    copied_at: Option<u64>,
}

/// The registers and predicates of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    registers: Vec<Register>,
    /// Contents of the vector register file; the lanes of a register that is held once are older.
    lanes: Vec<Row>,
    /// Predicates known to be the same in every lane, and their values, one bit each.
    uniform_preds: u8,
    preds: u8,
}

/// Cycles for which a value was live until it was read, and those of them in which it was held once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LiveCycles {
    pub all: u64,
    pub once: u64,
}

impl Contents {
    /// The registers of a warp that has not begun; the last predicate is always true.
    pub(super) fn new(registers: usize) -> Contents {
        let mut contents = Contents {
            registers: vec![Register::default(); registers],
            lanes: vec![Row::ZERO; registers],
            ..Contents::default()
        };
        contents.begin(0);
        contents
    }

    /// Starts another warp.
    pub(super) fn begin(&mut self, now: u64) {
        self.registers.fill(Register { since: now, ..Register::default() });
        self.lanes.fill(Row::ZERO);
        (self.uniform_preds, self.preds) = (0x80, 0x80);
    }

    /// Where a register's value is.
    #[inline]
    pub(super) fn held(&self, reg: u8) -> Held {
        self.registers[usize::from(reg)].held
    }

    /// The value of a register that is held once.
    #[inline]
    pub(super) fn once(&self, reg: u8) -> Option<u32> {
        match self.held(reg) {
            Held::Once(word) => Some(word),
            Held::Lanes | Held::Denied => None,
        }
    }

    /// What the vector register file holds.
    #[inline]
    pub(super) fn lanes(&self, reg: u8) -> &Row {
        &self.lanes[usize::from(reg)]
    }

    /// Writes a value once for all lanes.
    #[inline]
    pub(super) fn write_once(&mut self, now: u64, reg: u8, word: u32) {
        self.registers[usize::from(reg)] = Register { held: Held::Once(word), since: now, copied_at: None };
    }

    /// Writes a register in the lanes of a mask.
    #[inline]
    pub(super) fn write_lanes(&mut self, now: u64, reg: u8, row: &Row, lanes: u32, held: Held) {
        merge(&mut self.lanes[usize::from(reg)], row, lanes);
        self.registers[usize::from(reg)] = Register { held, since: now, copied_at: None };
    }

    /// Copies a value that is held once to all lanes; returns whether there was one.
    pub(super) fn copy(&mut self, now: u64, reg: u8) -> bool {
        let Some(word) = self.once(reg) else { return false };
        self.lanes[usize::from(reg)] = Row::splat(word);
        let register = &mut self.registers[usize::from(reg)];
        (register.held, register.copied_at) = (Held::Lanes, Some(now));
        true
    }

    /// Notes that a register is read: its value was live since the last read or write.
    #[inline]
    pub(super) fn read(&mut self, now: u64, reg: u8) -> LiveCycles {
        let register = &mut self.registers[usize::from(reg)];
        let all = now.saturating_sub(register.since);
        let once = match (register.held, register.copied_at) {
            (Held::Once(_), _) => all,
            (_, Some(copied)) => copied.saturating_sub(register.since),
            (Held::Lanes | Held::Denied, None) => 0,
        };
        (register.since, register.copied_at) = (now, None);
        LiveCycles { all, once }
    }

    /// The value of a predicate that is known to be the same in every lane.
    #[inline]
    pub(super) fn pred(&self, pred: u8) -> Option<bool> {
        (self.uniform_preds >> (pred & 7) & 1 != 0).then_some(self.preds >> (pred & 7) & 1 != 0)
    }

    /// Notes a predicate's value, if it is the same in every lane.
    #[inline]
    pub(super) fn write_pred(&mut self, pred: u8, value: Option<bool>) {
        let bit = 1 << (pred & 7);
        self.uniform_preds = self.uniform_preds & !bit | if value.is_some() { bit } else { 0 };
        self.preds = self.preds & !bit | if value == Some(true) { bit } else { 0 };
    }

    /// Number of registers that are held once.
    pub(super) fn all_once(&self) -> u32 {
        self.registers.iter().filter(|register| matches!(register.held, Held::Once(_))).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_live_from_its_write_to_its_last_read() {
        let mut contents = Contents::new(2);
        contents.begin(100);
        contents.write_once(110, 1, 5);
        assert_eq!(contents.read(120, 1), LiveCycles { all: 10, once: 10 });
        assert_eq!(contents.read(125, 1), LiveCycles { all: 5, once: 5 });
        assert!(contents.copy(127, 1));
        assert!(!contents.copy(128, 1), "it is in all lanes");
        assert_eq!(contents.read(130, 1), LiveCycles { all: 5, once: 2 });
        // Nothing reads the value that is written over.
        contents.write_lanes(200, 1, &Row::splat(9), u32::MAX, Held::Lanes);
        assert_eq!(contents.read(201, 1), LiveCycles { all: 1, once: 0 });
    }

    #[test]
    fn a_copy_puts_the_value_into_every_lane() {
        let mut contents = Contents::new(2);
        contents.write_once(1, 1, 5);
        contents.copy(2, 1);
        contents.write_lanes(3, 1, &Row::splat(6), 0xFF, Held::Lanes);
        assert_eq!(contents.lanes(1).0[7..9], [6, 5]);
        assert_eq!(contents.all_once(), 0);
    }

    #[test]
    fn predicates_are_uniform_until_some_lanes_write_them() {
        let mut contents = Contents::new(1);
        assert_eq!((contents.pred(7), contents.pred(0)), (Some(true), None));
        contents.write_pred(0, Some(true));
        contents.write_pred(1, Some(false));
        assert_eq!((contents.pred(0), contents.pred(1)), (Some(true), Some(false)));
        contents.write_pred(0, None);
        assert_eq!(contents.pred(0), None);
    }
}
