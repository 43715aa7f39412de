//! Spinning: lanes that poll memory until other lanes change it.
//!
//! The instructions that may poll are found once per kernel ([`super::polls`]). A warp that polls the same
//! addresses and reads the same values gives up its turn early; a warp that returns to an earlier state while
//! memory has not changed is *proven* to spin forever unless others act. If no others can run, that is a
//! deadlock, which `super::grid` reports. `super::block` and `super::grid` switch to others.

use super::executable::Executable;
use super::fault::Waiting;
use crate::memory::GlobalMemory;
use crate::memory::lanes::{Addresses, lanes_of};
use std::hash::{Hash, Hasher};

use trace_format::isa::space::{SHARED_WINDOW_HI, Space};
use trace_format::isa::{Kind, Pc};
use trace_format::semantics::{ExecInst, Warp};
use xxhash_rust::xxh3::Xxh3;

/// Polls without change after which a warp gives up its turn.
const FRUITLESS_POLLS: u32 = 16;
/// Polls in its next turn if nothing has changed.
const POLLS_PER_TURN: u32 = 2;
/// Maximum number of different polls kept: those of one loop iteration.
const REMEMBERED: usize = 32;
/// Turns without change after which a warp's state is checked for repetition.
const PROOF_AFTER: u32 = 8;

/// An access that may wait for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    pc: u32,
    lanes: u32,
    space: Space,
    address: u64,
    value: u64,
    bytes: u8,
}

impl Poll {
    /// The poll of an instruction at these addresses, with the values now in its registers; also returns a
    /// digest of its lanes' values.
    pub(super) fn new(pc: u32, inst: &ExecInst, at: &Addresses, regs: &Warp, lanes: u32) -> (Poll, u64) {
        let mut digest = (u64::from(pc) << 32 | u64::from(lanes)) ^ 0x9E37_79B9_7F4A_7C15;
        let mut add =
            |word: u64| digest = (digest.rotate_left(23) ^ word).wrapping_mul(0xA24B_AED4_963E_E407);
        let rows = usize::from(inst.dst_rows);
        let word = |i: usize, l: usize| if i < rows { regs.row(inst.dst + i as u16).0[l] } else { 0 };
        let pair = |i: usize, l: usize| u64::from(word(i, l)) | u64::from(word(i + 1, l)) << 32;
        for l in lanes_of(lanes) {
            add(at[l]);
            for i in (0..rows).step_by(2) {
                add(pair(i, l));
            }
        }
        let first = lanes.trailing_zeros() as usize & 31;
        let space = match inst.kind {
            Kind::Load(space) | Kind::Atomic(space) => space,
            _ => Space::Global,
        };
        let (address, value) = (at[first], pair(0, first));
        (Poll { pc, lanes, space, address, value, bytes: inst.mem_bytes().min(8) }, digest)
    }

    /// Whether global memory has changed for the first lane.
    fn is_over(&self, memory: &GlobalMemory) -> bool {
        let Some(id) = memory.find(self.address, u64::from(self.bytes)) else { return false };
        let a = memory.allocation(id);
        let at = (self.address - a.base) as usize;
        let mut held = [0; 8];
        let held = &mut held[..usize::from(self.bytes)];
        a.bytes.read(at, held) && held.iter().zip(self.value.to_le_bytes()).any(|(now, then)| *now != then)
    }

    /// Whether it reads the block's own shared memory.
    fn is_shared(&self) -> bool {
        self.space == Space::Shared || (self.address >> 32) as u32 == SHARED_WINDOW_HI
    }

    /// Description of lanes that wait for this value to change.
    fn waiting(
        &self,
        executable: &Executable<'_>,
        memory: Option<&GlobalMemory>,
        block: [u32; 3],
        warp: u32,
    ) -> Waiting {
        let shared = self.is_shared();
        let place = match memory.and_then(|m| m.find(self.address, 1).map(|id| m.allocation(id))) {
            _ if shared => format!("shared memory at {:#x}", self.address as u32),
            Some(a) => format!("`{}` + {} ({:#x})", a.name, self.address - a.base, self.address),
            None => format!("memory at {:#x}", self.address),
        };
        let for_what = format!("{place} to change, which holds {:#x}", self.value);
        let ptx_line = executable.kernel.lines.get(self.pc as usize).map_or(0, |l| l.code.line);
        Waiting { block, warp, lanes: self.lanes, pc: Pc(self.pc), ptx_line, for_what }
    }
}

/// Spin state of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Spin {
    seen: [u64; REMEMBERED],
    next: usize,
    repeats: u32,
    /// Number of memory changes when the polls were stored.
    changes: u64,
    last: Option<Poll>,
    /// Consecutive turns that ended spinning.
    turns: u32,
    /// Such turns since the last change of memory.
    quiet: u32,
    quiet_since: u64,
    state: u64,
    proven: bool,
}

impl Spin {
    /// The initial state.
    pub(super) const NEW: Spin = Spin {
        seen: [0; REMEMBERED],
        next: 0,
        repeats: 0,
        changes: 0,
        last: None,
        turns: 0,
        quiet: 0,
        quiet_since: 0,
        state: 0,
        proven: false,
    };

    /// Records a poll; true when the warp should let others run. `changes` counts changes of memory.
    #[cold]
    pub(super) fn poll(&mut self, poll: Poll, digest: u64, changes: u64) -> bool {
        if self.changes != changes {
            self.changes = changes;
            self.seen = [0; REMEMBERED];
            self.repeats = 0;
        }
        self.last = Some(poll);
        if self.seen.contains(&digest) {
            self.repeats += 1;
        } else {
            self.seen[self.next % REMEMBERED] = digest;
            self.next += 1;
            self.repeats = 0;
        }
        self.is_spinning()
    }

    /// Whether the polls have not changed for a while.
    pub(super) fn is_spinning(&self) -> bool {
        self.repeats >= FRUITLESS_POLLS
    }

    /// Whether nothing but a change of memory can end the spinning.
    pub(super) fn is_proven(&self, changes: u64) -> bool {
        self.proven && self.quiet_since == changes
    }

    /// The turn has ended for another reason.
    pub(super) fn stop(&mut self) {
        (self.repeats, self.turns, self.quiet, self.proven) = (0, 0, 0, false);
    }

    /// Ends a spinning turn, with a digest of the warp's state. A repeated state without change of memory
    /// proves that the warp spins forever.
    pub(super) fn end_turn(&mut self, changes: u64, state: impl FnOnce() -> u64) {
        self.repeats = FRUITLESS_POLLS - POLLS_PER_TURN;
        self.turns = self.turns.saturating_add(1);
        if self.quiet_since != changes {
            (self.quiet_since, self.quiet, self.proven) = (changes, 0, false);
        }
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet >= PROOF_AFTER && !self.proven {
            let state = state();
            self.proven = self.quiet > PROOF_AFTER && state == self.state;
            // States may repeat with any period: the reference state is replaced at exponentially growing
            // intervals.
            if self.quiet.is_power_of_two() {
                self.state = state;
            }
        }
    }

    /// Whether there were so many turns without progress that lanes which wait at a join for the spinning
    /// ones should run. Where there are no locks, a loop of atomics that change nothing rarely waits for others.
    pub(super) fn is_hopeless(&self, has_locks: bool) -> bool {
        (has_locks && self.quiet >= 4 || self.turns >= 4096) && !self.proven
    }

    /// Resets after waiting lanes have run, which may change anything.
    pub(super) fn start_over(&mut self) {
        (self.turns, self.quiet, self.proven) = (0, 0, false);
    }

    /// Whether it waits for memory that others than the block may change.
    pub(super) fn polls_memory(&self) -> bool {
        self.last.is_some_and(|poll| !poll.is_shared())
    }

    /// Whether a polled value has changed.
    pub(super) fn is_over(&self, memory: &GlobalMemory) -> bool {
        self.last.is_none_or(|poll| poll.is_over(memory))
    }

    /// Description of what the warp waits for.
    pub(super) fn waiting(
        &self,
        executable: &Executable<'_>,
        memory: Option<&GlobalMemory>,
        block: [u32; 3],
        warp: u32,
    ) -> Option<Waiting> {
        self.last.map(|poll| poll.waiting(executable, memory, block, warp))
    }
}

/// Digest of the state that determines a warp's next steps, except memory.
pub(crate) fn state(executable: &Executable<'_>, regs: &Warp, paths: &impl Hash, clock: u64) -> u64 {
    let mut hash = Xxh3::new();
    if executable.reads_clock {
        // Waiting may end when enough time has passed.
        clock.hash(&mut hash);
    }
    for row in regs.registers(&executable.code) {
        row.0.hash(&mut hash);
    }
    for p in 0..7 {
        regs.pred(p).hash(&mut hash);
    }
    paths.hash(&mut hash);
    hash.finish()
}
