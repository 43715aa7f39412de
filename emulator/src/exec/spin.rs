//! Spinning: lanes that read the same memory over and over until somebody else changes it.
//!
//! Which instructions may poll is found once per kernel ([`super::polls`]). A warp that polls the same places and keeps
//! finding the same values gives up its turn early; one that has come back to a state that it has been in, while
//! no memory has changed, is *proven* to spin for ever unless somebody else acts. When nobody else can, that is
//! the deadlock which `super::grid` reports. Letting others run is the business of `super::block` and `super::grid`.

use super::fault::Waiting;
use super::program::Program;
use crate::memory::GlobalMemory;
use crate::memory::lanes::{Addresses, lanes_of};
use std::hash::{Hash, Hasher};

use trace_format::isa::space::{SHARED_WINDOW_HI, Space};
use trace_format::isa::{Kind, Pc};
use trace_format::semantics::{ExecInst, Warp};
use xxhash_rust::xxh3::Xxh3;

/// Polls that have told nothing new after which a warp gives up its turn.
const FRUITLESS_POLLS: u32 = 16;
/// Polls that it makes when its turn comes again and nothing has changed.
const POLLS_PER_TURN: u32 = 2;
/// Different polls that are remembered: what the lanes of a loop look at in one iteration.
const REMEMBERED: usize = 32;
/// Fruitless turns after which a warp's state is looked at for a repetition.
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
    /// The access of an instruction at these addresses, which has found what its registers hold now, with a
    /// digest of all that its lanes have found.
    pub fn new(pc: u32, inst: &ExecInst, at: &Addresses, regs: &Warp, lanes: u32) -> (Poll, u64) {
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

    /// Whether global memory holds something else now for the first of the lanes.
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

    /// What to tell of lanes that wait for this to change.
    fn waiting(
        &self,
        program: &Program<'_>,
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
        let ptx_line = program.kernel.lines.get(self.pc as usize).map_or(0, |l| l.code.line);
        Waiting { block, warp, lanes: self.lanes, pc: Pc(self.pc), ptx_line, for_what }
    }
}

/// What a warp knows about its own spinning.
#[derive(Clone, Debug)]
pub(crate) struct Spin {
    seen: [u64; REMEMBERED],
    next: usize,
    repeats: u32,
    /// Changes of memory when the polls were remembered.
    changes: u64,
    last: Option<Poll>,
    /// Turns in a row that have ended spinning.
    turns: u32,
    /// Those of them since memory changed last.
    quiet: u32,
    quiet_since: u64,
    state: u64,
    proven: bool,
}

impl Spin {
    /// Nothing known.
    pub const NEW: Spin = Spin {
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

    /// Takes note of a poll; true when the warp should let others run. `changes` counts changes of memory.
    #[cold]
    pub fn poll(&mut self, poll: Poll, digest: u64, changes: u64) -> bool {
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

    /// Whether the polls have told nothing new for a while.
    pub fn is_spinning(&self) -> bool {
        self.repeats >= FRUITLESS_POLLS
    }

    /// Whether nothing but a change of memory can end the spinning.
    pub fn is_proven(&self, changes: u64) -> bool {
        self.proven && self.quiet_since == changes
    }

    /// The turn has ended for another reason.
    pub fn stop(&mut self) {
        (self.repeats, self.turns, self.quiet, self.proven) = (0, 0, 0, false);
    }

    /// The turn has ended spinning, with the warp in a state of this digest. A state that comes again while
    /// memory stays the same proves that the warp spins for ever.
    pub fn end_turn(&mut self, changes: u64, state: impl FnOnce() -> u64) {
        self.repeats = FRUITLESS_POLLS - POLLS_PER_TURN;
        self.turns = self.turns.saturating_add(1);
        if self.quiet_since != changes {
            (self.quiet_since, self.quiet, self.proven) = (changes, 0, false);
        }
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet >= PROOF_AFTER && !self.proven {
            let state = state();
            self.proven = self.quiet > PROOF_AFTER && state == self.state;
            // States may repeat with any period: what they are compared with moves on ever more slowly.
            if self.quiet.is_power_of_two() {
                self.state = state;
            }
        }
    }

    /// Whether so many turns were in vain that lanes which wait for the spinning ones to reconverge should act.
    pub fn is_hopeless(&self) -> bool {
        (self.quiet >= 4 || self.turns >= 4096) && !self.proven
    }

    /// Lanes that waited act: everything may change.
    pub fn start_over(&mut self) {
        (self.turns, self.quiet, self.proven) = (0, 0, false);
    }

    /// Whether it waits for memory that others than the block may change.
    pub fn polls_memory(&self) -> bool {
        self.last.is_some_and(|poll| !poll.is_shared())
    }

    /// Whether what the warp waits for has plainly come true.
    pub fn is_over(&self, memory: &GlobalMemory) -> bool {
        self.last.is_none_or(|poll| poll.is_over(memory))
    }

    /// What the warp waits for.
    pub fn waiting(
        &self,
        program: &Program<'_>,
        memory: Option<&GlobalMemory>,
        block: [u32; 3],
        warp: u32,
    ) -> Option<Waiting> {
        self.last.map(|poll| poll.waiting(program, memory, block, warp))
    }
}

/// Digest of all that decides what a warp does next, memory apart.
pub(crate) fn state(program: &Program<'_>, regs: &Warp, paths: &impl Hash, clock: u64) -> u64 {
    let mut hash = Xxh3::new();
    if program.reads_clock {
        // Waiting may end when enough time has passed.
        clock.hash(&mut hash);
    }
    for row in regs.registers(&program.code) {
        row.0.hash(&mut hash);
    }
    for p in 0..7 {
        regs.pred(p).hash(&mut hash);
    }
    paths.hash(&mut hash);
    hash.finish()
}
