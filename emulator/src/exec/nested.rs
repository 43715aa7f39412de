//! Work that device code submits: launches, copies and fills, and the order in which it is done.
//!
//! The device runtime of CUDA 12 and later ("CDP 2") does not let a kernel wait for its own launches, and
//! defines that a grid is complete when all its launches are. Running a grid's work after its last block has
//! ended, in the order of submission, is therefore a valid order; it is the same in every run. A
//! [`DeviceHost`] stores submitted work and passes it to [`drain`] afterwards.

use std::collections::VecDeque;

/// Bytes from a launch request to its parameters.
pub const REQUEST_HEAD_BYTES: u64 = 64;
/// Maximum nesting depth of launches, counted from the kernel that the program launched.
pub const MAX_DEPTH: u32 = 24;
/// Maximum number of pending pieces of work of a grid.
pub const MAX_PENDING: usize = 1 << 20;
/// The stream of a grid for work that runs after all its other work (`cudaStreamTailLaunch`).
pub const TAIL_STREAM: u64 = 3;
/// The stream of a grid for work that waits for nothing (`cudaStreamFireAndForget`).
pub const FIRE_AND_FORGET_STREAM: u64 = 4;

/// A kernel that device code launches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its address.
    pub kernel: u64,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared_bytes: u32,
    /// The parameters, each at its offset.
    pub params: Vec<u8>,
    /// The stream.
    pub stream: u64,
}

/// A copy of a box in memory, or a fill of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// First byte, bytes from row to row, rows from slice to slice.
    pub to: [u64; 3],
    /// The same; the first is 0 for a fill.
    pub from: [u64; 3],
    /// Bytes, rows, slices.
    pub extent: [u64; 3],
    /// Fill value.
    pub value: u8,
    /// The stream.
    pub stream: u64,
}

/// A query of device code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Query {
    /// An attribute of a kernel, by its number in the driver API, or [`PARAMETER_BYTES`].
    Kernel {
        /// Its address.
        kernel: u64,
        /// The attribute.
        number: u32,
    },
    /// An attribute of the device, by its number.
    Device {
        /// The attribute.
        number: u32,
    },
    /// A limit, by its number.
    Limit {
        /// The limit.
        number: u32,
    },
    /// Blocks of a kernel that an SM holds.
    Occupancy {
        /// Its address.
        kernel: u64,
        /// Threads of a block.
        threads: u32,
        /// Dynamic shared memory of a block.
        shared_bytes: u64,
    },
}

/// The attribute of a kernel that is the size of its parameters.
pub const PARAMETER_BYTES: u32 = 1000;

/// Services for device code; calls come in the same order in every run.
pub trait DeviceHost: Sync + std::fmt::Debug {
    /// Accepts a launch, or refuses it with an error code of CUDA's runtime API.
    fn launch(&self, request: Request) -> u32;

    /// Accepts a copy or a fill likewise.
    fn transfer(&self, transfer: Transfer) -> u32;

    /// Answers a query, if it has an answer.
    fn query(&self, query: Query) -> Option<u64>;
}

/// Work that the blocks of one grid have submitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Submitted<W> {
    /// In the order of submission.
    work: VecDeque<W>,
    /// Work to run after all of it.
    tail: VecDeque<W>,
}

impl<W> Default for Submitted<W> {
    fn default() -> Self {
        Submitted { work: VecDeque::new(), tail: VecDeque::new() }
    }
}

impl<W> Submitted<W> {
    /// Adds a piece of work for a stream, or returns it if the limit is reached.
    ///
    /// # Errors
    /// When [`MAX_PENDING`] pieces are waiting.
    pub fn push(&mut self, stream: u64, work: W) -> Result<(), W> {
        if self.work.len() + self.tail.len() >= MAX_PENDING {
            return Err(work);
        }
        if stream == TAIL_STREAM { &mut self.tail } else { &mut self.work }.push_back(work);
        Ok(())
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.work.is_empty() && self.tail.is_empty()
    }
}

/// Runs a grid's submitted work and all work that it submits in turn: each piece with all its own work before
/// the next one, and the work of a grid's tail stream at the end. `perform` gets a piece of work and its
/// depth and returns the work that it has submitted; a grid in the tail stream has the depth of the one that
/// it follows.
///
/// # Errors
/// The first error of `perform`; the remaining work is not run.
pub fn drain<W, E>(
    submitted: Submitted<W>,
    mut perform: impl FnMut(W, u32) -> Result<Submitted<W>, E>,
) -> Result<(), E> {
    // The incomplete grids, with their depth. A grid is removed before its last piece runs, so that a kernel
    // can launch itself in its tail stream without limit.
    let mut grids = vec![(submitted, 0)];
    while let Some((grid, depth)) = grids.last_mut() {
        let next = match grid.work.pop_front() {
            Some(work) => Some((work, *depth + 1)),
            None => grid.tail.pop_front().map(|work| (work, *depth)),
        };
        if grid.is_empty() {
            grids.pop();
        }
        let Some((work, depth)) = next else { continue };
        let more = perform(work, depth)?;
        if !more.is_empty() {
            grids.push((more, depth));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that the kernel with a name submits: names in the default stream, names in the tail stream.
    fn submits(name: &str) -> Submitted<&'static str> {
        let (work, tail): (&[&'static str], &[&'static str]) = match name {
            "root" => (&["a", "b"], &["t", "u"]),
            "a" => (&["a1", "a2"], &["at"]),
            "t" => (&["t1"], &[]),
            _ => (&[], &[]),
        };
        let mut all = Submitted::default();
        for name in tail {
            all.push(TAIL_STREAM, *name).unwrap();
        }
        for name in work {
            all.push(0, *name).unwrap();
        }
        all
    }

    #[test]
    fn a_grid_is_complete_before_what_follows_it_and_its_tail_comes_last() {
        let mut order = Vec::new();
        drain(submits("root"), |name, depth| {
            order.push((name, depth));
            Ok::<_, ()>(submits(name))
        })
        .unwrap();
        let expected = [("a", 1), ("a1", 2), ("a2", 2), ("at", 1), ("b", 1), ("t", 0), ("t1", 1), ("u", 0)];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_kernel_may_follow_itself_any_number_of_times() {
        let again = || {
            let mut all = Submitted::default();
            all.push(TAIL_STREAM, ()).unwrap();
            all
        };
        let mut left = 100_000;
        let ended = drain(again(), |(), depth| {
            assert_eq!(depth, 0);
            left -= 1;
            if left == 0 { Err("enough") } else { Ok(again()) }
        });
        assert_eq!(ended, Err("enough"));
    }

    #[test]
    fn there_is_a_limit_to_what_waits() {
        let mut all = Submitted::default();
        assert!((0..MAX_PENDING).all(|i| all.push(i as u64 % 5, ()).is_ok()));
        assert_eq!(all.push(0, ()), Err(()));
    }
}
