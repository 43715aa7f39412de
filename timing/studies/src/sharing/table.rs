//! The address mapping table: the memory vectors that registers hold (LARF, section 5.5.2).
//!
//! An entry is in a FIFO ring and in two chained hash tables: by its vector, and by the section of its grid,
//! to find vectors that may partly cover another one. Loads allocate no memory.

use crate::open_map::OpenMap;
use crate::runs::Runs;

/// Entries of the tables.
const SIZES: [usize; 3] = [200, 400, 1 << 18];
/// Maximum number of changed lines tracked.
const MOST_CHANGED: usize = 1 << 17;
/// Positions in a section of a grid.
const STRETCH: u64 = 32;
/// The end of a chain.
const END: u32 = u32::MAX;

/// The vector of a regular load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector {
    /// Address that lane 0 has or would have.
    base: u64,
    stride: i64,
    lanes: u32,
    bytes: u8,
    /// Its position on the grid of its stride, and the offset of that grid; zeros for a stride of 0.
    place: u64,
    shift: u64,
}

impl PartialEq for Vector {
    #[inline]
    fn eq(&self, other: &Vector) -> bool {
        (self.base, self.stride, self.lanes, self.bytes)
            == (other.base, other.stride, other.lanes, other.bytes)
    }
}

impl Vector {
    /// The vector of the addresses of some lanes, if they have a stride.
    pub(super) fn of(addresses: &[u64; 32], lanes: u32, bytes: u8, runs: Runs) -> Option<Vector> {
        if lanes == u32::MAX && (runs.next == !1 || runs.same == !1) {
            let stride = if runs.same == !1 { 0 } else { i64::from(bytes) };
            return Some(Vector::new(addresses[0], stride, lanes, bytes));
        }
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
        let mut expected = base;
        for (lane, address) in addresses.iter().enumerate() {
            if lanes >> lane & 1 != 0 && *address != expected {
                return None;
            }
            expected = expected.wrapping_add_signed(stride);
        }
        Some(Vector::new(base, stride, lanes, bytes))
    }

    fn new(base: u64, stride: i64, lanes: u32, bytes: u8) -> Vector {
        let width = stride.unsigned_abs();
        let (place, shift) = base.checked_div(width).map_or((0, 0), |place| (place, base % width));
        Vector { base, stride, lanes, bytes, place, shift }
    }

    /// Lanes of this vector that another vector on the same grid, with these lanes at this position, holds.
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

    /// Whether another vector is on the same grid.
    fn on_grid_of(&self, other: &Vector) -> bool {
        self.stride != 0 && (self.stride, self.bytes, self.shift) == (other.stride, other.bytes, other.shift)
    }

    fn hash(&self) -> u64 {
        mix(mix(self.base, self.stride as u64), u64::from(self.lanes) << 8 | u64::from(self.bytes))
    }

    /// Hash of a section of the grid.
    fn hash_of_stretch(&self, stretch: u64) -> u64 {
        mix(mix(self.shift, self.stride as u64), stretch << 8 | u64::from(self.bytes))
    }

    /// Lines that its lanes touch; a line may occur twice.
    fn lines(&self) -> impl Iterator<Item = u64> + '_ {
        let mut last = u64::MAX;
        let lanes = (0..32i64).filter(|lane| self.lanes >> lane & 1 != 0);
        lanes
            .flat_map(|lane| {
                let address = self.base.wrapping_add(self.stride.wrapping_mul(lane) as u64);
                address / 128..=address.wrapping_add(u64::from(self.bytes) - 1) / 128
            })
            .filter(move |line| std::mem::replace(&mut last, *line) != *line)
    }
}

/// Mixes a word into a hash; every bit of the word reaches the lower half of the result.
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ product >> 32
}

/// Result of a lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// The table holds its vector.
    Perfect,
    /// The table holds vectors that cover its own.
    Partial,
    /// No entry covers the load.
    Nothing,
}

/// Tables of all sizes for one order of the warps.
///
/// Until a table has been full it has the same entries as the largest, and is not stored separately.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    changes: Changes,
    tables: [Table; 3],
}

/// Times of the last changes of lines.
#[derive(Clone, Debug, Default)]
struct Changes {
    now: u64,
    at: OpenMap<u64>,
    last: u64,
    /// All lines count as changed up to this time.
    all: u64,
}

impl Changes {
    fn note(&mut self, line: u64, most: usize) {
        self.last = self.now;
        self.at.insert(line, self.now);
        if self.at.len() > most {
            self.at.clear();
            self.all = self.now;
        }
    }

    /// Whether a line of a vector was changed after a time.
    #[inline]
    fn touch(&self, vector: &Vector, since: u64) -> bool {
        self.last > since
            && (self.all > since || vector.lines().any(|line| self.at.get(line).is_some_and(|at| at > since)))
    }
}

impl Order {
    /// Clears the tables at the start of a block.
    pub(super) fn clear(&mut self) {
        (self.changes.now, self.changes.last, self.changes.all) = (0, 0, 0);
        self.changes.at.clear();
        self.tables.iter_mut().for_each(Table::clear);
    }

    /// Records a change of a line.
    pub(super) fn change(&mut self, line: u64) {
        self.changes.now += 1;
        self.changes.note(line, MOST_CHANGED);
    }

    /// Looks a load's vector up in every table, and inserts it where it is not found.
    pub(super) fn load(&mut self, vector: &Vector) -> [Found; 3] {
        let Order { changes, tables: [small, medium, large] } = self;
        changes.now += 1;
        let found = large.find(vector, changes);
        let mut all = [found; 3];
        for ((table, size), here) in [small, medium].into_iter().zip(SIZES).zip(&mut all) {
            if large.entered < size {
                continue;
            }
            if table.entered == 0 {
                table.clone_from(large);
            }
            *here = table.find(vector, changes);
            if *here == Found::Nothing {
                table.enter(vector, changes.now, size);
            }
        }
        if found == Found::Nothing {
            large.enter(vector, changes.now, SIZES[2]);
        }
        all
    }
}

/// A vector in the table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    vector: Vector,
    since: u64,
    /// Whether it is in the chains; it occupies its position in the ring in either case.
    holds: bool,
    /// The next entry in the chain of its vector, and in that of its section.
    next: u32,
    next_in_stretch: u32,
}

#[derive(Debug, Default)]
struct Table {
    /// Number of insertions.
    entered: usize,
    ring: Vec<Entry>,
    /// First entries of the chains; a power of two of them.
    by_vector: Vec<u32>,
    by_stretch: Vec<u32>,
    covers: Vec<u32>,
}

impl Clone for Table {
    fn clone(&self) -> Table {
        let mut table = Table::default();
        table.clone_from(self);
        table
    }

    fn clone_from(&mut self, other: &Table) {
        self.entered = other.entered;
        self.ring.clone_from(&other.ring);
        self.by_vector.clone_from(&other.by_vector);
        self.by_stretch.clone_from(&other.by_stretch);
    }
}

/// Minimum number of chains.
const LEAST_CHAINS: usize = 256;

impl Table {
    fn clear(&mut self) {
        if self.entered == 0 && !self.by_vector.is_empty() {
            return;
        }
        self.entered = 0;
        self.ring.clear();
        for chains in [&mut self.by_vector, &mut self.by_stretch] {
            chains.clear();
            chains.resize(LEAST_CHAINS, END);
        }
    }

    fn chain(&self, hash: u64) -> usize {
        hash as usize & (self.by_vector.len() - 1)
    }

    fn find(&mut self, vector: &Vector, changes: &Changes) -> Found {
        let holds = |entry: &Entry| !changes.touch(&entry.vector, entry.since);
        let mut at = self.by_vector[self.chain(vector.hash())];
        while at != END {
            let entry = &self.ring[at as usize];
            if entry.vector == *vector {
                if holds(entry) {
                    return Found::Perfect;
                }
                break;
            }
            at = entry.next;
        }
        if vector.stride == 0 {
            return Found::Nothing;
        }
        // Lanes of the requested vector that each useful entry covers.
        self.covers.clear();
        let near = vector.place.saturating_sub(31) / STRETCH..=vector.place.saturating_add(31) / STRETCH;
        for stretch in near {
            let mut at = self.by_stretch[self.chain(vector.hash_of_stretch(stretch))];
            while at != END {
                let entry = &self.ring[at as usize];
                at = entry.next_in_stretch;
                if entry.vector.place / STRETCH == stretch && entry.vector.on_grid_of(vector) {
                    let covered = vector.covered(entry.vector.lanes, entry.vector.place);
                    if covered != 0 && holds(entry) {
                        self.covers.push(covered);
                    }
                }
            }
        }
        let covers = &self.covers;
        let complete = |i: usize| covers[i..].iter().any(|other| covers[i] | other == vector.lanes);
        if (0..covers.len()).any(complete) { Found::Partial } else { Found::Nothing }
    }

    fn enter(&mut self, vector: &Vector, now: u64, size: usize) {
        // The new entry replaces a useless one of the same vector, which keeps its position in the queue.
        let mut at = self.by_vector[self.chain(vector.hash())];
        while at != END && self.ring[at as usize].vector != *vector {
            at = self.ring[at as usize].next;
        }
        if at != END {
            self.unchain(at);
        }
        let place = self.entered % size;
        self.entered += 1;
        let entry = Entry { vector: *vector, since: now, holds: true, next: END, next_in_stretch: END };
        if place < self.ring.len() {
            if self.ring[place].holds {
                self.unchain(place as u32);
            }
            self.ring[place] = entry;
        } else {
            self.ring.push(entry);
            if self.ring.len() > self.by_vector.len() {
                return self.double();
            }
        }
        self.put_in_chains(place as u32);
    }

    fn put_in_chains(&mut self, place: u32) {
        let vector = &self.ring[place as usize].vector;
        let (chain, stretch) = (self.chain(vector.hash()), vector.place / STRETCH);
        let of_stretch = (vector.stride != 0).then(|| self.chain(vector.hash_of_stretch(stretch)));
        let entry = &mut self.ring[place as usize];
        entry.next = std::mem::replace(&mut self.by_vector[chain], place);
        if let Some(chain) = of_stretch {
            entry.next_in_stretch = std::mem::replace(&mut self.by_stretch[chain], place);
        }
    }

    #[inline(never)]
    fn double(&mut self) {
        let chains = 2 * self.by_vector.len();
        for heads in [&mut self.by_vector, &mut self.by_stretch] {
            heads.clear();
            heads.resize(chains, END);
        }
        for place in 0..self.ring.len() {
            (self.ring[place].next, self.ring[place].next_in_stretch) = (END, END);
            if self.ring[place].holds {
                self.put_in_chains(place as u32);
            }
        }
    }

    /// Removes an entry from the chains.
    fn unchain(&mut self, place: u32) {
        let vector = self.ring[place as usize].vector;
        self.ring[place as usize].holds = false;
        let chain = self.chain(vector.hash());
        unlink(&mut self.ring, &mut self.by_vector[chain], place, |entry| &mut entry.next);
        if vector.stride != 0 {
            let chain = self.chain(vector.hash_of_stretch(vector.place / STRETCH));
            unlink(&mut self.ring, &mut self.by_stretch[chain], place, |entry| &mut entry.next_in_stretch);
        }
    }
}

/// Removes an entry from a chain; `link` is the index of the next-field.
fn unlink(ring: &mut [Entry], head: &mut u32, place: u32, link: impl Fn(&mut Entry) -> &mut u32) {
    let next = *link(&mut ring[place as usize]);
    let mut at = head;
    while *at != place {
        at = link(&mut ring[*at as usize]);
    }
    *at = next;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(base: u64) -> Vector {
        let addresses = std::array::from_fn(|lane| base + 4 * lane as u64);
        let slow = Vector::of(&addresses, u32::MAX, 4, Runs { same: 0, next: 0 }).expect("a stride");
        assert_eq!(Vector::of(&addresses, u32::MAX, 4, Runs { same: 0, next: !1 }), Some(slow));
        slow
    }

    #[test]
    fn tables_hold_the_last_entries_of_their_size() {
        let mut order = Order::default();
        order.clear();
        for block in 0..3 {
            for i in 0..1000 {
                assert_eq!(order.load(&vector(4096 * i)), [Found::Nothing; 3], "block {block}, vector {i}");
            }
            for (i, held) in [(999, 3), (800, 3), (799, 2), (600, 2)] {
                // Only vectors that are not found are inserted, and each evicts another one.
                let found = order.load(&vector(4096 * i));
                assert_eq!(found.iter().filter(|found| **found == Found::Perfect).count(), held, "{i}");
            }
            order.clear();
        }
    }

    #[test]
    fn too_many_changed_lines_make_all_entries_useless() {
        let mut order = Order::default();
        order.clear();
        order.load(&vector(1 << 40));
        let most = MOST_CHANGED as u64;
        (0..most).for_each(|line| order.change(line));
        assert_eq!(order.load(&vector(1 << 40)), [Found::Perfect; 3]);
        order.change(most);
        assert_eq!(order.load(&vector(1 << 40)), [Found::Nothing; 3]);
        assert_eq!(order.load(&vector(1 << 40)), [Found::Perfect; 3], "entered once more");
        assert!(order.changes.at.len() <= MOST_CHANGED);
    }
}
