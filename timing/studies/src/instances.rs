//! Matching the dynamic instances of an instruction across the warps of a block: the k-th execution of a program
//! counter in one warp corresponds to the k-th execution of that program counter in every other warp.
//!
//! Instances are kept only until every warp has passed them or has ended, so that memory depends on the
//! distance between the block's fastest and slowest warp and not on the length of the program. Each study
//! defines the data that an instance holds.

use std::collections::VecDeque;

/// Maximum number of open instances of a block; beyond it the oldest are dropped and counted.
pub(crate) const MAX_OPEN: usize = 1 << 20;

/// One dynamic instance of an instruction in a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instance<T> {
    /// Warps that have executed it.
    pub warps: u32,
    /// Data of the study; the default when the first warp arrives.
    pub note: T,
}

/// Position of an instance, valid until the turn ends.
///
/// Program counter and index in one word: as two words they would be stored separately and loaded together,
/// which stalls store forwarding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstanceRef(u64);

#[derive(Clone, Debug)]
struct Queue<T> {
    /// Number of the front instance.
    first: u32,
    open: VecDeque<Instance<T>>,
    /// Whether the program counter is in the list of those in use.
    listed: bool,
}

/// The open instances of one block.
#[derive(Clone, Debug)]
pub(crate) struct Instances<T> {
    warps: usize,
    max_open: usize,
    /// Executions so far, by program counter and warp.
    executed: Vec<u32>,
    queues: Vec<Queue<T>>,
    /// Program counters with a queue in use.
    in_use: Vec<u32>,
    /// Bit w: warp w has not ended.
    running: u64,
    open: usize,
}

impl<T: Copy + Default> Instances<T> {
    /// Empty instances for a kernel with `instructions` instructions and blocks of `warps` warps (at most
    /// 64).
    #[must_use]
    pub(crate) fn new(instructions: usize, warps: usize, max_open: usize) -> Instances<T> {
        let queue = Queue { first: 0, open: VecDeque::new(), listed: false };
        Instances {
            warps,
            max_open,
            executed: vec![0; instructions * warps],
            queues: vec![queue; instructions],
            in_use: Vec::new(),
            running: 0,
            open: 0,
        }
    }

    /// Starts a new block.
    pub(crate) fn begin(&mut self) {
        self.executed.fill(0);
        for pc in self.in_use.drain(..) {
            let queue = &mut self.queues[pc as usize];
            queue.open.clear();
            (queue.first, queue.listed) = (0, false);
        }
        self.running = if self.warps >= 64 { u64::MAX } else { (1 << self.warps) - 1 };
        self.open = 0;
    }

    /// Returns the instance of an instruction that a warp executes, or `None` if it has been dropped.
    #[inline]
    pub(crate) fn arrive(&mut self, pc: u32, warp: usize) -> Option<(InstanceRef, &mut Instance<T>)> {
        let executed = &mut self.executed[pc as usize * self.warps + warp];
        let number = *executed;
        *executed = number.wrapping_add(1);
        let queue = &mut self.queues[pc as usize];
        if !queue.listed {
            queue.listed = true;
            self.in_use.push(pc);
        }
        let index = number.checked_sub(queue.first)?;
        if index as usize == queue.open.len() {
            queue.open.push_back(Instance::default());
            self.open += 1;
        }
        let instance = &mut queue.open[index as usize];
        instance.warps += 1;
        Some((InstanceRef(u64::from(pc) << 32 | u64::from(index)), instance))
    }

    /// The instance at a position of this turn.
    #[inline]
    pub(crate) fn at(&mut self, place: InstanceRef) -> &mut T {
        &mut self.queues[(place.0 >> 32) as usize].open[place.0 as u32 as usize].note
    }

    /// Ends a warp: instances no longer wait for it.
    pub(crate) fn end_warp(&mut self, warp: usize) {
        self.running &= !(1 << warp);
    }

    /// Closes the instances that no running warp can reach any more. Instances that every warp of the block
    /// has executed are passed to `complete` with program counter and number, ascending within each program
    /// counter. Instances dropped because too many would stay open are passed to `given_up`, as program
    /// counter and number of executions.
    pub(crate) fn end_turn(
        &mut self,
        mut complete: impl FnMut(u32, u32, &T),
        given_up: impl FnMut(u32, u64),
    ) {
        let all = self.warps as u32;
        for &pc in &self.in_use {
            let queue = &mut self.queues[pc as usize];
            if queue.open.is_empty() {
                continue;
            }
            let executed = &self.executed[pc as usize * self.warps..][..self.warps];
            let running = |w: &usize| self.running >> w & 1 != 0;
            let passed = (0..self.warps).filter(running).map(|w| executed[w]).min().unwrap_or(u32::MAX);
            let closing = (passed.saturating_sub(queue.first) as usize).min(queue.open.len());
            for (i, instance) in queue.open.drain(..closing).enumerate() {
                if instance.warps == all {
                    complete(pc, queue.first + i as u32, &instance.note);
                }
            }
            queue.first += closing as u32;
            self.open -= closing;
        }
        if self.open > self.max_open {
            self.give_up(given_up);
        }
    }

    fn give_up(&mut self, mut given_up: impl FnMut(u32, u64)) {
        for &pc in &self.in_use {
            let queue = &mut self.queues[pc as usize];
            given_up(pc, queue.open.iter().map(|instance| u64::from(instance.warps)).sum());
            queue.first += queue.open.len() as u32;
            queue.open.clear();
        }
        self.open = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs warps of a one-instruction kernel, `executions[w]` times warp w, in turns of `turn`.
    fn complete_of(executions: &[u32], turn: u32, max_open: usize) -> (Vec<u32>, u64, usize) {
        let mut instances = Instances::<()>::new(1, executions.len(), max_open);
        let (mut done, mut given_up, mut most_open) = (Vec::new(), 0, 0);
        instances.begin();
        let mut left = executions.to_vec();
        while instances.running != 0 {
            for (warp, left) in left.iter_mut().enumerate() {
                if instances.running >> warp & 1 == 0 {
                    continue;
                }
                for _ in 0..turn.min(*left) {
                    given_up += u64::from(instances.arrive(0, warp).is_none());
                }
                *left -= turn.min(*left);
                if *left == 0 {
                    instances.end_warp(warp);
                }
            }
            most_open = most_open.max(instances.open);
            instances.end_turn(|_, number, ()| done.push(number), |_, executions| given_up += executions);
        }
        assert_eq!(instances.open, 0);
        (done, given_up, most_open)
    }

    #[test]
    fn an_instance_is_complete_when_every_warp_has_executed_it() {
        assert_eq!(complete_of(&[5, 3, 9], 2, 100), ((0..3).collect(), 0, 2));
        assert!(complete_of(&[4, 0], 10, 100).0.is_empty());
        assert_eq!(complete_of(&[7], 3, 100).0, (0..7).collect::<Vec<_>>());
    }

    #[test]
    fn what_only_one_warp_goes_on_with_does_not_stay_open() {
        let (done, given_up, most_open) = complete_of(&[100_000, 10], 16, 100);
        assert_eq!((done.len(), given_up), (10, 0));
        assert!(most_open <= 32, "{most_open}");
    }

    #[test]
    fn a_warp_far_ahead_gives_instances_up_and_matches_again_later() {
        // Warp 0 is at instruction 0 while warp 1 is not: both wait for the other's instances.
        let mut instances = Instances::<()>::new(2, 2, 10);
        instances.begin();
        for _ in 0..30 {
            assert!(instances.arrive(0, 0).is_some());
        }
        let mut given_up = Vec::new();
        instances.end_turn(|_, _, ()| panic!("nothing is complete"), |pc, n| given_up.push((pc, n)));
        assert_eq!(given_up, [(0, 30)]);
        for _ in 0..30 {
            assert!(instances.arrive(0, 1).is_none());
        }
        instances.arrive(0, 0);
        instances.arrive(0, 1);
        let mut done = Vec::new();
        instances.end_turn(|pc, number, ()| done.push((pc, number)), |_, _| panic!("nothing is given up"));
        assert_eq!(done, [(0, 30)]);
    }
}
