//! The address mapping table: which vectors of memory are in registers (LARF, section 5.5.2).

use crate::studies::sample::Map;
use crate::studies::values::Digest;
use std::collections::{BTreeMap, VecDeque};

/// Entries of the tables.
const SIZES: [usize; 3] = [200, 400, 1 << 18];

/// What a regular load loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vector {
    /// Address that lane 0 has or would have.
    base: u64,
    stride: i64,
    lanes: u32,
    bytes: u8,
    digest: Digest,
    /// Which vectors can lie beside it, by stride, width and where the stride's grid lies; none for a stride of 0.
    grid: Option<Digest>,
    /// Its place on the grid.
    place: u64,
}

impl Vector {
    /// The vector of the addresses of some lanes, if they have a stride.
    pub fn of(addresses: &[u64; 32], lanes: u32, bytes: u8) -> Option<Vector> {
        let first = lanes.trailing_zeros() as usize;
        let rest = lanes & (lanes - 1);
        let stride = if rest == 0 {
            i64::from(bytes)
        } else {
            let second = rest.trailing_zeros() as usize;
            let difference = addresses[second].wrapping_sub(addresses[first]) as i64;
            let distance = (second - first) as i64;
            if difference % distance != 0 {
                return None;
            }
            difference / distance
        };
        let base = addresses[first].wrapping_sub(stride.wrapping_mul(first as i64) as u64);
        let at = |lane: usize| base.wrapping_add(stride.wrapping_mul(lane as i64) as u64);
        let steady = (0..32).all(|lane| lanes >> lane & 1 == 0 || addresses[lane] == at(lane));
        if !steady {
            return None;
        }
        let shape =
            Digest::default().then(Digest::of_word(stride as u64)).then(Digest::of_word(u64::from(bytes)));
        let digest = shape.then(Digest::of_word(base)).then(Digest::of_word(u64::from(lanes)));
        let width = stride.unsigned_abs();
        let grid = (width != 0).then(|| shape.then(Digest::of_word(base % width)));
        Some(Vector { base, stride, lanes, bytes, digest, grid, place: base.checked_div(width).unwrap_or(0) })
    }

    /// Lanes of this vector whose values another one on its grid, with such lanes at such a place, holds.
    fn covered(&self, lanes: u32, place: u64) -> u32 {
        let ahead =
            if self.stride > 0 { place.wrapping_sub(self.place) } else { self.place.wrapping_sub(place) };
        let shifted = match ahead as i64 {
            ahead @ 0..=31 => lanes << ahead,
            behind @ -31..=-1 => lanes >> -behind,
            _ => 0,
        };
        shifted & self.lanes
    }

    fn lines(&self) -> impl Iterator<Item = u64> + '_ {
        let lanes = (0..32i64).filter(|lane| self.lanes >> lane & 1 != 0);
        lanes.flat_map(|lane| {
            let address = self.base.wrapping_add(self.stride.wrapping_mul(lane) as u64);
            address / 128..=address.wrapping_add(u64::from(self.bytes) - 1) / 128
        })
    }
}

/// Whether and how a load is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The table holds its vector.
    Perfect,
    /// The table holds vectors that cover its own.
    Partial,
    /// It has to load.
    Nothing,
}

/// Tables of all sizes under one order of the warps.
#[derive(Clone, Debug, Default)]
pub struct Order {
    now: u64,
    /// When lines were changed last.
    changed: Map<u64>,
    tables: [Table; 3],
}

#[derive(Clone, Debug, Default)]
struct Table {
    /// Vectors with the time of their entry.
    entries: Map<(Vector, u64)>,
    /// Entries in the order in which they came, those of no use included.
    queue: VecDeque<(Digest, u64)>,
    /// Lanes of the entries on each grid by their place, each with its digest.
    grids: Map<BTreeMap<u64, Vec<(u32, Digest)>>>,
}

impl Order {
    /// A block begins.
    pub fn clear(&mut self) {
        self.now = 0;
        self.changed.clear();
        for table in &mut self.tables {
            table.entries.clear();
            table.queue.clear();
            table.grids.clear();
        }
    }

    /// A line is changed.
    pub fn change(&mut self, line: u64) {
        self.now += 1;
        self.changed.insert(of_line(line), self.now);
    }

    /// A load looks its vector up in every table, and enters it where it is not found.
    pub fn load(&mut self, vector: &Vector) -> [Found; 3] {
        self.now += 1;
        let Order { now, changed, tables } = self;
        let mut found = [Found::Nothing; 3];
        for ((table, size), found) in tables.iter_mut().zip(SIZES).zip(&mut found) {
            *found = table.find(vector, changed);
            if *found == Found::Nothing {
                table.enter(vector, *now, size);
            }
        }
        found
    }
}

fn of_line(line: u64) -> Digest {
    Digest::default().then(Digest::of_word(line))
}

impl Table {
    fn find(&self, vector: &Vector, changed: &Map<u64>) -> Found {
        let in_use = |digest: &Digest| {
            self.entries.get(digest).is_some_and(|(vector, since)| {
                let later = |line| changed.get(&of_line(line)).is_some_and(|time| time > since);
                changed.is_empty() || !vector.lines().any(later)
            })
        };
        if in_use(&vector.digest) {
            return Found::Perfect;
        }
        let Some(grid) = vector.grid.and_then(|grid| self.grids.get(&grid)) else { return Found::Nothing };
        // Lanes of the wanted vector that each useful entry covers.
        let mut covers: Vec<u32> = Vec::new();
        for (&place, entries) in grid.range(vector.place.saturating_sub(31)..=vector.place.saturating_add(31))
        {
            for (lanes, digest) in entries {
                let covered = vector.covered(*lanes, place);
                if covered != 0 && in_use(digest) {
                    covers.push(covered);
                }
            }
        }
        let complete = |i: usize| covers[i..].iter().any(|other| covers[i] | other == vector.lanes);
        if (0..covers.len()).any(complete) { Found::Partial } else { Found::Nothing }
    }

    fn enter(&mut self, vector: &Vector, now: u64, size: usize) {
        // An entry of no use gives way to the new one, but keeps its place in the queue.
        self.remove(vector.digest);
        if self.queue.len() == size
            && let Some((oldest, since)) = self.queue.pop_front()
            && self.entries.get(&oldest).is_some_and(|(_, entered)| *entered == since)
        {
            self.remove(oldest);
        }
        self.entries.insert(vector.digest, (*vector, now));
        self.queue.push_back((vector.digest, now));
        if let Some(grid) = vector.grid {
            let entries = self.grids.entry(grid).or_default().entry(vector.place).or_default();
            entries.push((vector.lanes, vector.digest));
        }
    }

    fn remove(&mut self, digest: Digest) {
        let Some((vector, _)) = self.entries.remove(&digest) else { return };
        let Some(places) = vector.grid.and_then(|grid| self.grids.get_mut(&grid)) else { return };
        if let Some(entries) = places.get_mut(&vector.place) {
            entries.retain(|(_, other)| *other != digest);
            if entries.is_empty() {
                places.remove(&vector.place);
            }
        }
    }
}
