//! Barriers of thread blocks: lanes arrive, wait and leave together.
//!
//! Arrivals are counted in threads. If only some lanes of a warp wait, the warp is held only while its next
//! instruction belongs to waiting lanes.

use super::WarpSet;
use crate::stats::Stall;

/// Named barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// One of a block's named barriers.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// Arrived threads; if the barrier has a thread count, only those of complete warps.
    arrived: u32,
    /// For a barrier with a thread count: arrived lanes of incomplete warps, by warp slot.
    parts: Vec<(u8, u32)>,
    /// Threads that the barrier waits for; 0 means all live threads.
    expected: u32,
    /// Warps with waiting lanes.
    warps: u64,
    /// Instructions in flight that await the barrier's result.
    results: Vec<u16>,
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// Threads that have not exited.
    live_threads: u32,
    barriers: [Barrier; BARRIERS],
}

/// Lanes of a warp that arrive at a barrier of its block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Block slot.
    pub block: usize,
    /// Warp slot.
    pub warp: usize,
    /// Number of the barrier.
    pub barrier: usize,
    /// Threads that it waits for; 0 means all live threads.
    pub expected: u32,
    /// The lanes.
    pub lanes: u32,
    /// Whether they wait, or only signal.
    pub waits: bool,
}

/// Warps and instructions that a barrier releases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Released {
    /// Released warps.
    pub warps: u64,
    /// Instructions in flight that get their results.
    pub results: Vec<u16>,
}

/// Barriers of the blocks that are resident in an SM.
#[derive(Clone, Debug)]
pub(crate) struct Barriers {
    blocks: Vec<Block>,
    /// By warp slot: lanes that have not exited, and lanes that wait.
    live: Vec<u32>,
    at_barrier: Vec<u32>,
    /// By warp slot: cycle since which lanes wait.
    since: Vec<u64>,
    /// Warps whose next instruction belongs to lanes that wait.
    held: u64,
    /// Releases since the last [`Barriers::take_released`].
    released: Released,
}

impl Barriers {
    /// Barriers for a number of block slots and warp slots.
    #[must_use]
    pub(crate) fn new(blocks: usize, warps: usize) -> Barriers {
        Barriers {
            blocks: vec![Block::default(); blocks],
            live: vec![0; warps],
            at_barrier: vec![0; warps],
            since: vec![0; warps],
            held: 0,
            released: Released::default(),
        }
    }

    /// Starts a block with a number of threads.
    pub(crate) fn start_block(&mut self, block: usize, threads: u32) {
        self.blocks[block] = Block { live_threads: threads, ..Block::default() };
    }

    /// Starts a warp.
    pub(crate) fn start_warp(&mut self, warp: usize, lanes: u32) {
        self.live[warp] = lanes;
        self.at_barrier[warp] = 0;
    }

    /// Lanes of a warp that have not exited.
    #[must_use]
    pub(crate) fn live(&self, warp: usize) -> u32 {
        self.live[warp]
    }

    /// Lanes of a warp that wait.
    #[must_use]
    pub(crate) fn waiting_lanes(&self, warp: usize) -> u32 {
        self.at_barrier[warp]
    }

    /// Warps that are held.
    #[must_use]
    #[inline]
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Stall cause of held warps.
    #[must_use]
    pub(crate) fn refuses(&self, warps: u64) -> Option<Stall> {
        (self.held & warps != 0).then_some(Stall::Barrier)
    }

    /// Cycle since which lanes of a warp wait, or waited when it was released.
    #[must_use]
    pub(crate) fn since(&self, warp: usize) -> u64 {
        self.since[warp]
    }

    /// Holds a warp whose lanes are about to wait, until its next instruction is known.
    pub(crate) fn hold(&mut self, warp: usize, lanes: u32, now: u64) {
        if self.at_barrier[warp] == 0 {
            self.since[warp] = now;
        }
        self.at_barrier[warp] |= lanes;
        self.held |= 1 << warp;
    }

    /// Holds a warp if its next instruction belongs to lanes that wait. `next` is the lanes of that instruction.
    #[inline]
    pub(crate) fn hold_waiting(&mut self, warp: usize, next: Option<u32>) {
        if self.at_barrier[warp] != 0 && next.is_some_and(|lanes| lanes & self.at_barrier[warp] != 0) {
            self.held |= 1 << warp;
        }
    }

    /// Lets a warp run on if its next instruction belongs to lanes that do not wait.
    pub(crate) fn let_others_run(&mut self, warp: usize, next: Option<u32>) {
        if self.at_barrier[warp] != 0 && next.is_some_and(|lanes| lanes & self.at_barrier[warp] == 0) {
            self.held &= !(1 << warp);
        }
    }

    /// Lets a released warp continue.
    pub(crate) fn leave(&mut self, warp: usize) {
        self.held &= !(1 << warp);
    }

    /// Registers an instruction in flight that awaits the result of a barrier.
    pub(crate) fn await_result(&mut self, block: usize, barrier: usize, slot: u16) {
        self.blocks[block].barriers[barrier].results.push(slot);
    }

    /// Lanes arrive; [`Barriers::take_released`] returns what this releases.
    pub(crate) fn arrive(&mut self, arrival: Arrival) {
        let Arrival { block, warp, barrier, expected, lanes, waits } = arrival;
        let state = &mut self.blocks[block].barriers[barrier];
        state.expected = expected;
        if waits {
            state.warps |= 1 << warp;
        }
        if expected == 0 {
            state.arrived += lanes.count_ones();
        } else {
            // Counts are multiples of the warp size: a warp counts as complete when all its live lanes have
            // arrived.
            let part = match state.parts.iter().position(|(w, _)| usize::from(*w) == warp) {
                Some(at) => at,
                None => {
                    state.parts.push((warp as u8, 0));
                    state.parts.len() - 1
                }
            };
            state.parts[part].1 |= lanes;
            if self.live[warp] & !state.parts[part].1 == 0 {
                state.parts.swap_remove(part);
                state.arrived += 32;
            }
        }
        self.release(block, barrier);
    }

    /// Lanes of a warp have exited: barriers no longer wait for them.
    pub(crate) fn exit(&mut self, block: usize, warp: usize, lanes: u32) {
        self.live[warp] &= !lanes;
        let threads = &mut self.blocks[block].live_threads;
        *threads = threads.saturating_sub(lanes.count_ones());
        for barrier in 0..BARRIERS {
            let state = &self.blocks[block].barriers[barrier];
            if state.arrived > 0 || !state.parts.is_empty() {
                self.release(block, barrier);
            }
        }
    }

    /// Releases the waiting lanes if the last thread has arrived.
    fn release(&mut self, block: usize, barrier: usize) {
        let Barriers { blocks, live, at_barrier, held, released, since: _ } = self;
        let Block { live_threads, barriers } = &mut blocks[block];
        let state = &mut barriers[barrier];
        let expected = if state.expected == 0 { *live_threads } else { state.expected };
        let part = |&(warp, lanes): &(u8, u32)| {
            let missing = live[usize::from(warp)] & !lanes;
            if missing == 0 { 32 } else { lanes.count_ones() }
        };
        let arrived = state.arrived + state.parts.iter().map(part).sum::<u32>();
        if arrived == 0 || arrived < expected {
            return;
        }
        state.arrived = 0;
        state.parts.clear();
        let warps = std::mem::take(&mut state.warps);
        for warp in WarpSet(warps) {
            at_barrier[warp] = 0;
        }
        released.warps |= warps & *held;
        released.results.append(&mut state.results);
    }

    /// Releases since the last call, if any.
    #[inline]
    pub(crate) fn take_released(&mut self) -> Option<Released> {
        (self.released != Released::default()).then(|| std::mem::take(&mut self.released))
    }

    /// One line per barrier at which threads of a block wait, for the watchdog's report.
    #[must_use]
    pub(crate) fn describe(&self, slot: usize) -> String {
        let block = &self.blocks[slot];
        let mut text = String::new();
        for (number, barrier) in block.barriers.iter().enumerate() {
            if barrier.warps != 0 || barrier.arrived > 0 || !barrier.parts.is_empty() {
                let expected = if barrier.expected == 0 { block.live_threads } else { barrier.expected };
                text += &format!(
                    "  block slot {slot}, barrier {number}: {} of {expected} threads, {} warps in part\n",
                    barrier.arrived,
                    barrier.parts.len()
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One block of two whole warps in warp slots 2 and 5.
    fn two_warps() -> Barriers {
        let mut barriers = Barriers::new(1, 8);
        barriers.start_block(0, 64);
        barriers.start_warp(2, u32::MAX);
        barriers.start_warp(5, u32::MAX);
        barriers
    }

    fn arrival(warp: usize, lanes: u32, expected: u32) -> Arrival {
        Arrival { block: 0, warp, barrier: 3, expected, lanes, waits: true }
    }

    /// Lanes of a warp wait at barrier 3.
    fn wait(barriers: &mut Barriers, warp: usize, lanes: u32, expected: u32) {
        barriers.hold(warp, lanes, 100);
        barriers.arrive(arrival(warp, lanes, expected));
    }

    #[test]
    fn the_last_thread_releases_the_warps_that_are_held() {
        let mut barriers = two_warps();
        wait(&mut barriers, 2, u32::MAX, 0);
        assert_eq!((barriers.held(), barriers.take_released()), (1 << 2, None));
        assert_eq!(barriers.refuses(1 << 2), Some(Stall::Barrier));
        barriers.await_result(0, 3, 9);
        wait(&mut barriers, 5, u32::MAX, 0);
        let released = barriers.take_released().expect("both have arrived");
        assert_eq!(released, Released { warps: 1 << 2 | 1 << 5, results: vec![9] });
        assert_eq!(barriers.waiting_lanes(2), 0);
        // They are held until their next cycle begins.
        assert_eq!(barriers.held(), 1 << 2 | 1 << 5);
        barriers.leave(2);
        assert_eq!(barriers.held(), 1 << 5);
    }

    #[test]
    fn lanes_that_only_signal_are_counted_and_not_held() {
        let mut barriers = two_warps();
        barriers.arrive(Arrival { waits: false, ..arrival(2, u32::MAX, 64) });
        assert_eq!(barriers.held(), 0);
        wait(&mut barriers, 5, u32::MAX, 64);
        assert_eq!(barriers.take_released().map(|released| released.warps), Some(1 << 5));
    }

    #[test]
    fn a_warp_runs_on_with_the_lanes_that_do_not_wait() {
        let mut barriers = two_warps();
        wait(&mut barriers, 2, 0xFFFF, 0);
        barriers.let_others_run(2, Some(0xFFFF_0000));
        assert_eq!(barriers.held(), 0);
        barriers.hold_waiting(2, Some(0xFFFF_0000));
        assert_eq!(barriers.held(), 0);
        barriers.hold_waiting(2, Some(0xFFFF));
        assert_eq!(barriers.held(), 1 << 2);
    }

    #[test]
    fn a_warp_waits_since_its_first_lanes_arrived() {
        let mut barriers = two_warps();
        barriers.hold(2, 0xFFFF, 10);
        barriers.arrive(arrival(2, 0xFFFF, 0));
        barriers.hold(2, 0xFFFF_0000, 14);
        barriers.arrive(arrival(2, 0xFFFF_0000, 0));
        assert_eq!(barriers.since(2), 10);
        barriers.hold(5, u32::MAX, 17);
        barriers.arrive(arrival(5, u32::MAX, 0));
        assert_eq!((barriers.since(2), barriers.since(5)), (10, 17), "of released warps as well");
        barriers.hold(2, u32::MAX, 30);
        assert_eq!(barriers.since(2), 30, "the next barrier");
    }

    #[test]
    fn threads_that_exit_are_not_waited_for() {
        let mut barriers = two_warps();
        wait(&mut barriers, 2, u32::MAX, 0);
        barriers.exit(0, 5, 0xFFFF);
        assert_eq!(barriers.take_released(), None);
        barriers.exit(0, 5, 0xFFFF_0000);
        assert_eq!(barriers.take_released().map(|released| released.warps), Some(1 << 2));
    }

    #[test]
    fn a_count_is_of_whole_warps_and_a_warp_without_its_exited_lanes_is_whole() {
        let mut barriers = two_warps();
        wait(&mut barriers, 2, 0xFFFF, 32);
        assert_eq!(barriers.take_released(), None, "half a warp");
        // The other half has exited: the remaining lanes count as a complete warp.
        barriers.exit(0, 2, 0xFFFF_0000);
        assert_eq!(barriers.take_released().map(|released| released.warps), Some(1 << 2));
    }
}
