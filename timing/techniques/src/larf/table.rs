//! The address mapping table: the vectors that physical registers hold, first in, first out (LARF, section 5.5.2).
//!
//! The hardware compares all entries at once; indices by vector, by section of a grid and by line stand for that.

use super::registers::Physical;
use super::vector::{Part, Vector};
use std::collections::HashMap;
use trace_format::isa::MemWidth;
use warplab_technique::Row;

/// Vectors whose end is remembered.
const REMEMBERED: usize = 1 << 16;

/// Reasons for which an entry has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Another one took its place.
    Evicted,
    /// No register is mapped to its physical register.
    Released,
    /// Memory may have been changed.
    Changed,
}

/// What a load brought, lane by lane: the proof that a shared value is the value of its address.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) addresses: [u64; 32],
    pub(super) rows: Vec<Row>,
}

/// An entry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) vector: Vector,
    /// Physical registers, as many as the width needs.
    pub(super) registers: Vec<Physical>,
    /// Block that loaded it.
    pub(super) block: u32,
    pub(super) loaded: Box<Loaded>,
    /// Lines that it touches.
    pub(super) lines: Vec<u64>,
}

/// Result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// An entry has the same vector.
    Whole(u32),
    /// One or two entries have all lanes.
    Parts((u32, Part), Option<(u32, Part)>),
    /// Two entries have all lanes, and both are still being loaded.
    Loading,
    /// None of these.
    Nothing,
}

/// Key of the vectors of a grid that begin in one section.
type Section = (u16, MemWidth, u32);

/// The table of an SM.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// 0 for a table without bound.
    capacity: usize,
    entries: Vec<Option<Entry>>,
    /// Where the next vector is entered in a table with a bound; free places of one without.
    next: usize,
    free: Vec<u32>,
    by_vector: HashMap<Vector, u32>,
    by_section: HashMap<Section, Vec<u32>>,
    by_line: HashMap<u64, Vec<u32>>,
    ended: HashMap<Vector, End>,
    /// The upper half of the addresses of all entries.
    region: Option<u32>,
    used: u32,
}

impl Table {
    /// An empty table.
    pub(super) fn new(capacity: u32) -> Table {
        Table { capacity: capacity as usize, ..Table::default() }
    }

    /// Entries in use.
    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Whether entries may have addresses of a region: there is one register for the upper halves of all.
    pub(super) fn takes_region(&self, region: u32) -> bool {
        self.used == 0 || self.region == Some(region)
    }

    /// An entry in use.
    pub(super) fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)?.as_ref()
    }

    /// Why a vector is not in the table, if it was.
    pub(super) fn end_of(&self, vector: &Vector) -> Option<End> {
        self.ended.get(vector).copied()
    }

    /// Looks a vector up among the entries that may serve; `is_loading` tells whether one waits for memory.
    pub(super) fn find(
        &self,
        vector: &Vector,
        serves: impl Fn(&Entry) -> bool,
        is_loading: impl Fn(&Entry) -> bool,
    ) -> Found {
        let whole = self.by_vector.get(vector).filter(|at| self.entry(**at).is_some_and(&serves));
        if let Some(at) = whole {
            return Found::Whole(*at);
        }
        let Some(sections) = vector.sections() else { return Found::Nothing };
        let mut parts: Vec<(u32, Part, bool)> = Vec::new();
        for section in sections {
            let Some(there) = self.by_section.get(&(vector.stride, vector.width, section)) else { continue };
            for at in there {
                let Some(entry) = self.entry(*at).filter(|entry| serves(entry)) else { continue };
                let Some(part) = vector.part_in(&entry.vector) else { continue };
                if part.lanes == vector.lanes {
                    return Found::Parts((*at, part), None);
                }
                parts.push((*at, part, is_loading(entry)));
            }
        }
        let mut both_loading = false;
        for (i, (a, first, first_loads)) in parts.iter().enumerate() {
            for (b, second, second_loads) in &parts[i + 1..] {
                if first.lanes | second.lanes != vector.lanes {
                    continue;
                }
                if *first_loads && *second_loads {
                    both_loading = true;
                    continue;
                }
                return Found::Parts((*a, *first), Some((*b, *second)));
            }
        }
        if both_loading { Found::Loading } else { Found::Nothing }
    }

    /// Enters a vector; returns its place and the entry that it replaces.
    pub(super) fn enter(&mut self, entry: Entry, region: u32) -> (u32, Option<Entry>) {
        let at = if self.capacity == 0 {
            self.free.pop().unwrap_or(self.entries.len() as u32)
        } else {
            let at = self.next;
            self.next = (at + 1) % self.capacity;
            at as u32
        };
        let evicted = self.remove(at, End::Evicted);
        if self.entries.len() <= at as usize {
            self.entries.resize(at as usize + 1, None);
        }
        self.region = Some(region);
        self.used += 1;
        let vector = entry.vector;
        self.ended.remove(&vector);
        self.by_vector.insert(vector, at);
        if vector.sections().is_some() {
            let section = (vector.stride, vector.width, vector.section());
            self.by_section.entry(section).or_default().push(at);
        }
        for line in &entry.lines {
            self.by_line.entry(*line).or_default().push(at);
        }
        self.entries[at as usize] = Some(entry);
        (at, evicted)
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, at: u32, end: End) -> Option<Entry> {
        let entry = self.entries.get_mut(at as usize)?.take()?;
        self.used -= 1;
        if self.capacity == 0 {
            self.free.push(at);
        }
        let vector = entry.vector;
        // A vector that is not shared may be entered again while its old entry is there.
        if self.by_vector.get(&vector) == Some(&at) {
            self.by_vector.remove(&vector);
        }
        if vector.sections().is_some() {
            let section = (vector.stride, vector.width, vector.section());
            take_out(&mut self.by_section, &section, at);
        }
        for line in &entry.lines {
            take_out(&mut self.by_line, line, at);
        }
        if self.ended.len() >= REMEMBERED {
            self.ended.clear();
        }
        self.ended.insert(vector, end);
        Some(entry)
    }

    /// Changes the vectors of all entries, as a faulty table would.
    #[cfg(test)]
    pub(super) fn break_vectors(&mut self, change: impl Fn(&mut Vector)) {
        for entry in self.entries.iter_mut().flatten() {
            change(&mut entry.vector);
        }
        self.by_vector.clear();
        self.by_section.clear();
        for (at, entry) in self.entries.iter().enumerate() {
            let Some(vector) = entry.as_ref().map(|entry| entry.vector) else { continue };
            self.by_vector.insert(vector, at as u32);
            if vector.sections().is_some() {
                let section = (vector.stride, vector.width, vector.section());
                self.by_section.entry(section).or_default().push(at as u32);
            }
        }
    }

    /// Sets the upper half of all entries' addresses.
    #[cfg(test)]
    pub(super) fn break_region(&mut self, region: u32) {
        self.region = Some(region);
    }

    /// Entries that touch a line.
    pub(super) fn touching(&self, line: u64) -> Vec<u32> {
        self.by_line.get(&line).cloned().unwrap_or_default()
    }

    /// Places of all entries.
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.entries.len() as u32).filter(|at| self.entry(*at).is_some()).collect()
    }
}

/// Takes a place out of an index.
fn take_out<K: std::hash::Hash + Eq>(index: &mut HashMap<K, Vec<u32>>, key: &K, at: u32) {
    if let Some(there) = index.get_mut(key) {
        there.retain(|other| *other != at);
        if there.is_empty() {
            index.remove(key);
        }
    }
}
