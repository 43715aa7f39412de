//! Records of an observed SM: scheduler slots, instructions, requests, blocks and barriers.
//!
//! Cycles are the GPU's, counted from the beginning of the replay. Only events within the window are kept, up
//! to a limit, so that a long kernel needs bounded memory; the recording states from which cycle events are
//! missing.

use crate::memory::{Reply, Request, RequestKind, Served, Token};
use crate::stats::{Sampler, Stall};
use std::collections::VecDeque;
use std::ops::Range;

/// Cycle of an event that has not happened.
pub const NEVER: u64 = u64::MAX;
/// Maximum number of instructions and slot runs that all SMs together keep of a launch: as many as a viewer
/// can open.
pub const MOST_RECORDS: usize = 2_000_000;

/// Views to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewOptions {
    /// Whether SMs record events, and in which cycles.
    pub window: Option<Range<u64>>,
    /// SMs whose events are recorded.
    pub sms: Range<usize>,
    /// Maximum number of instructions and slot runs that each SM keeps of a launch.
    pub most_records: usize,
    /// Cycles between two samples of the counters.
    pub interval: Option<u64>,
    /// Most samples of a launch; when there are more, every second one is dropped and the interval doubles.
    pub most_samples: usize,
    /// Whether the SMs record for what each warp waits.
    pub waits: bool,
}

impl ViewOptions {
    /// A sampler of the counters, if they are sampled.
    pub fn sampler(&self, start: u64) -> Option<Sampler> {
        self.interval.map(|interval| Sampler::new(start, interval).with_most(self.most_samples))
    }
}

impl Default for ViewOptions {
    fn default() -> ViewOptions {
        ViewOptions {
            window: None,
            sms: 0..usize::MAX,
            most_records: MOST_RECORDS,
            interval: None,
            most_samples: usize::MAX,
            waits: false,
        }
    }
}

/// Consecutive cycles of one scheduler slot with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRun {
    /// Scheduler.
    pub scheduler: u8,
    /// Slot within the scheduler's cycle: 1 is the second of a dual issue.
    pub slot: u8,
    /// Use of the slot, or the cause for which it stayed empty.
    pub cause: Stall,
    /// The technique that stalled the warp, if any: its position in the run, and its cause.
    pub held: Option<(u8, u8)>,
    /// First cycle.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
    /// Position in [`Recording::insts`] of the issued instruction, if any.
    pub inst: u32,
}

/// What a warp waits for that does not issue in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// It could have issued, but its scheduler chose another warp.
    NotSelected,
    /// The cause for which it cannot issue.
    Cause(Stall),
    /// A technique stalls it: position in the run, and cause.
    Held(u8, u8),
}

/// Consecutive cycles in which a warp waits for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRun {
    /// Warp slot.
    pub warp_slot: u8,
    /// What the warp waits for.
    pub wait: Wait,
    /// First cycle.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
}

/// Fate of a fetched instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// In the pipeline.
    InFlight,
    /// Its results were written.
    Retired,
    /// Fetched and discarded.
    Flushed,
    /// Removed by a technique.
    Skipped,
}

/// Origin of an entry of the I-buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Of the program.
    Program,
    /// Added by a technique.
    Inserted,
}

/// One instruction of one warp in the pipeline; `NEVER` for a stage that it has not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstRecord {
    /// Instruction index; for an inserted one, the index of the instruction that it precedes.
    pub pc: u32,
    /// Of the program or inserted.
    pub origin: Origin,
    /// Warp slot.
    pub warp_slot: u8,
    /// Linear block index.
    pub block: u32,
    /// Warp within the block.
    pub warp: u32,
    /// Lanes in which it takes effect.
    pub exec: u32,
    /// Fetched.
    pub fetched: u64,
    /// Decoded, in the I-buffer.
    pub decoded: u64,
    /// Issued.
    pub issued: u64,
    /// Operands collected.
    pub collected: u64,
    /// Taken by its unit or by the load/store queue.
    pub started: u64,
    /// Result available, or access answered.
    pub completed: u64,
    /// Results written, or discarded, or skipped.
    pub ended: u64,
    /// How it ended.
    pub fate: Fate,
}

/// A request to L2, until its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// Line address.
    pub line: u64,
    /// Sectors.
    pub sectors: u8,
    /// Kind of request.
    pub kind: RequestKind,
    /// Receiver of the reply.
    pub token: Token,
    /// Number of the L2 slice.
    pub slice: u16,
    /// Position in [`Recording::insts`] of the instruction that first needed the sectors, if any.
    pub inst: u32,
    /// Cycle at which it left the SM.
    pub sent: u64,
    /// Cycle of its lookup in the slice; known with the reply.
    pub looked_up: u64,
    /// Level that served it; known with the reply.
    pub served: Served,
    /// Cycle of the reply.
    pub answered: u64,
}

/// Occupation of a block slot, warp slot or barrier for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Block slot or warp slot.
    pub place: u8,
    /// Linear block index.
    pub block: u32,
    /// Warp within the block; 0 for a block.
    pub warp: u32,
    /// First cycle.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
}

/// Recording of one SM during one launch.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Number of the SM.
    pub sm: usize,
    /// Scheduler slots, by end.
    pub slots: Vec<SlotRun>,
    /// Instructions in the order in which they left their I-buffers.
    pub insts: Vec<InstRecord>,
    /// Requests in order of departure.
    pub requests: Vec<RequestRecord>,
    /// What warps wait for, by end.
    pub waits: Vec<WaitRun>,
    /// Blocks by block slot.
    pub blocks: Vec<Stay>,
    /// Warps by warp slot.
    pub warps: Vec<Stay>,
    /// Waits at barriers by warp slot.
    pub barriers: Vec<Stay>,
    /// Cycle at which the limit was reached, if it was.
    pub full_at: Option<u64>,
}

/// An SM's recorder.
#[derive(Clone, Debug)]
pub struct Recorder {
    window: Range<u64>,
    most_records: usize,
    out: Recording,
    /// Run in progress by scheduler and slot.
    open_slots: Vec<Option<SlotRun>>,
    /// Slots lost to a technique that has not been named yet.
    unnamed: Option<Slots>,
    width: usize,
    /// Fetched and decoded instructions that have not issued, by warp slot, in order.
    fetched: Vec<VecDeque<Fetched>>,
    /// Instruction by slot of the slab of flights.
    flights: Vec<u32>,
    /// The last issued instruction, and the last one stepped over.
    issued: u32,
    stepping: u32,
    /// Positions of requests that have not been answered.
    unanswered: Vec<u32>,
    blocks: Vec<Option<Stay>>,
    warps: Vec<Option<Stay>>,
    waiting: Vec<Option<Stay>>,
    at_barrier: u64,
    /// Wait in progress by warp slot, if waits are recorded.
    open_waits: Option<Box<[Option<WaitRun>; 64]>>,
    /// Warps that have issued in this cycle, and those that a technique has stalled in it.
    issued_in: (u64, u64),
    held_in: (u64, u64),
}

/// Slots of a scheduler, from `first` on, in some cycles.
#[derive(Clone, Copy, Debug)]
struct Slots {
    scheduler: usize,
    first: usize,
    count: u64,
    now: u64,
    cycles: u64,
}

/// An instruction before it issues.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    pc: u32,
    origin: Origin,
    at: u64,
    decoded: u64,
}

/// Marks an instruction without record.
const NONE: u32 = u32::MAX;

impl Recorder {
    /// A recorder for an SM with a number of schedulers, slots per scheduler and warp slots.
    #[must_use]
    pub fn new(sm: usize, options: &ViewOptions, schedulers: usize, width: usize) -> Recorder {
        Recorder {
            window: options.window.clone().unwrap_or(0..0),
            most_records: options.most_records,
            out: Recording { sm, ..Recording::default() },
            open_slots: vec![None; schedulers * width],
            unnamed: None,
            width,
            fetched: vec![VecDeque::new(); 64],
            flights: Vec::new(),
            issued: NONE,
            stepping: NONE,
            unanswered: Vec::new(),
            blocks: vec![None; 64],
            warps: vec![None; 64],
            waiting: vec![None; 64],
            at_barrier: 0,
            open_waits: options.waits.then(|| Box::new([None; 64])),
            issued_in: (NEVER, 0),
            held_in: (NEVER, 0),
        }
    }

    fn full(&mut self, now: u64) -> bool {
        let full = self.out.insts.len() + self.out.slots.len() + self.out.waits.len() >= self.most_records;
        if full {
            self.out.full_at.get_or_insert(now);
        }
        full
    }

    /// Cycles of a span that lie in the window.
    fn clip(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let (start, end) = (start.max(self.window.start), end.min(self.window.end));
        (start < end).then_some((start, end))
    }

    /// `count` slots of a scheduler, from `first` on, have a cause for `cycles` cycles from `now` on. For a
    /// technique's stall, [`Recorder::held`] names the technique next.
    pub fn slots(&mut self, scheduler: usize, first: usize, count: u64, cause: Stall, now: u64, cycles: u64) {
        self.held(None);
        let slots = Slots { scheduler, first, count, now, cycles };
        if cause == Stall::Technique {
            self.unnamed = Some(slots);
        } else {
            self.attribute(slots, cause, None);
        }
    }

    /// Names the technique, and its cause, for the slots of the last call of [`Recorder::slots`].
    pub fn held(&mut self, by: Option<(u8, u8)>) {
        if let Some(slots) = self.unnamed.take() {
            self.attribute(slots, Stall::Technique, by);
        }
    }

    fn attribute(&mut self, slots: Slots, cause: Stall, held: Option<(u8, u8)>) {
        let Slots { scheduler, first, count, now, cycles } = slots;
        for slot in first..first + count as usize {
            let index = scheduler * self.width + slot;
            let issued = cause == Stall::Issued;
            let run = SlotRun {
                scheduler: scheduler as u8,
                slot: slot as u8,
                cause,
                held,
                start: now,
                end: now + cycles,
                inst: if issued { self.issued } else { NONE },
            };
            match &mut self.open_slots[index] {
                Some(open) if (open.cause, open.held, open.end) == (cause, held, now) && !issued => {
                    open.end = now + cycles;
                }
                open => {
                    let ended = open.replace(run);
                    self.close_slot(ended);
                }
            }
        }
    }

    fn close_slot(&mut self, ended: Option<SlotRun>) {
        let Some(run) = ended else { return };
        if let Some((start, end)) = self.clip(run.start, run.end)
            && !self.full(start)
        {
            self.out.slots.push(SlotRun { start, end, ..run });
        }
    }

    /// Records that a warp has fetched an instruction, which is decoded at a later cycle.
    pub fn fetch(&mut self, warp_slot: usize, pc: u32, origin: Origin, now: u64, decoded: u64) {
        self.fetched[warp_slot].push_back(Fetched { pc, origin, at: now, decoded });
    }

    /// Records that a technique has injected a micro-operation before a warp's next instruction.
    pub fn inject(&mut self, warp_slot: usize, pc: u32, now: u64) {
        let fetched = Fetched { pc, origin: Origin::Inserted, at: now, decoded: now };
        self.fetched[warp_slot].push_front(fetched);
    }

    /// Keeps an instruction that leaves an I-buffer in this cycle, if the cycle is in the window.
    fn leave_buffer(&mut self, warp_slot: usize, fetched: Fetched, now: u64) -> u32 {
        if !self.window.contains(&now) || self.full(now) {
            return NONE;
        }
        let stay = self.warps[warp_slot];
        self.out.insts.push(InstRecord {
            pc: fetched.pc,
            origin: fetched.origin,
            warp_slot: warp_slot as u8,
            block: stay.map_or(0, |stay| stay.block),
            warp: stay.map_or(0, |stay| stay.warp),
            exec: 0,
            fetched: fetched.at,
            decoded: fetched.decoded,
            issued: NEVER,
            collected: NEVER,
            started: NEVER,
            completed: NEVER,
            ended: NEVER,
            fate: Fate::InFlight,
        });
        self.out.insts.len() as u32 - 1
    }

    /// Removes the oldest instruction of a warp from its I-buffer.
    fn pop(&mut self, warp_slot: usize, now: u64) -> u32 {
        let head = self.fetched[warp_slot].pop_front();
        head.map_or(NONE, |fetched| self.leave_buffer(warp_slot, fetched, now))
    }

    /// Records that a warp's fetched entries are discarded.
    pub fn flush(&mut self, warp_slot: usize, now: u64) {
        while !self.fetched[warp_slot].is_empty() {
            let position = self.pop(warp_slot, now);
            self.end(position, now, Fate::Flushed);
        }
    }

    /// Records that a technique has skipped a warp's next instruction.
    pub fn skip(&mut self, warp_slot: usize, now: u64) {
        self.stepping = self.pop(warp_slot, now);
        self.end(self.stepping, now, Fate::Skipped);
    }

    /// Records the issue of a warp's next instruction.
    pub fn issue(&mut self, warp_slot: usize, now: u64) {
        self.issued = self.pop(warp_slot, now);
        self.stepping = self.issued;
        note(&mut self.issued_in, warp_slot, now);
        if let Some(record) = self.record(self.issued) {
            record.issued = now;
        }
    }

    /// Records that the instruction issued in this cycle completes at issue.
    pub fn done_at_issue(&mut self, now: u64) {
        self.end(self.issued, now + 1, Fate::Retired);
    }

    /// Records the lanes in which the instruction issued or skipped in this cycle takes effect.
    pub fn stepped(&mut self, exec: u32) {
        let stepping = self.stepping;
        if let Some(record) = self.record(stepping) {
            record.exec = exec;
        }
    }

    /// Records the flight of the instruction issued in this cycle.
    pub fn fly(&mut self, flight: u16) {
        let index = usize::from(flight);
        if self.flights.len() <= index {
            self.flights.resize(index + 1, NONE);
        }
        self.flights[index] = self.issued;
    }

    /// Records that a flight's operands are collected.
    pub fn collected(&mut self, flight: u16, now: u64) {
        if let Some(record) = self.flight(flight) {
            record.collected = now;
        }
    }

    /// Records that a unit has accepted a flight.
    pub fn started(&mut self, flight: u16, now: u64) {
        if let Some(record) = self.flight(flight) {
            record.started = now;
        }
    }

    /// Records that a flight's result is available.
    pub fn completed(&mut self, flight: u16, now: u64) {
        if let Some(record) = self.flight(flight) {
            record.completed = now;
        }
    }

    /// Records that a flight's results have been written.
    pub fn retired(&mut self, flight: u16, now: u64) {
        let position = self.flights.get(usize::from(flight)).copied().unwrap_or(NONE);
        self.end(position, now, Fate::Retired);
    }

    fn flight(&mut self, flight: u16) -> Option<&mut InstRecord> {
        let position = *self.flights.get(usize::from(flight))?;
        self.record(position)
    }

    fn record(&mut self, position: u32) -> Option<&mut InstRecord> {
        self.out.insts.get_mut(position as usize)
    }

    fn end(&mut self, position: u32, now: u64, fate: Fate) {
        if let Some(record) = self.record(position) {
            record.ended = now;
            record.fate = fate;
        }
    }

    /// Records a request that leaves the SM.
    pub fn sent(&mut self, request: &Request, slice: u16, now: u64) {
        if !self.window.contains(&now) || self.full(now) {
            return;
        }
        // An early load of a technique has a flight without record, whose place an earlier instruction may have had.
        let flight = self.flights.get(usize::from(request.flight)).copied();
        let inst = flight.filter(|inst| {
            self.out.insts.get(*inst as usize).is_some_and(|record| record.fate == Fate::InFlight)
        });
        self.unanswered.push(self.out.requests.len() as u32);
        self.out.requests.push(RequestRecord {
            line: request.line,
            sectors: request.sectors,
            kind: request.kind,
            token: request.token,
            slice,
            inst: inst.unwrap_or(NONE),
            sent: now,
            looked_up: NEVER,
            served: request.served,
            answered: NEVER,
        });
    }

    /// Records a reply.
    pub fn answered(&mut self, reply: &Reply, now: u64) {
        let requests = &mut self.out.requests;
        // At most one request leaves an SM in a cycle.
        let sent = |position: &u32| requests[*position as usize].sent;
        if let Ok(index) = self.unanswered.binary_search_by_key(&reply.sent_at, sent) {
            let request = &mut requests[self.unanswered.remove(index) as usize];
            request.answered = now;
            request.looked_up = reply.sent_at + u64::from(reply.looked_up_after);
            request.served = reply.served;
        }
    }

    /// Records that a technique stalls a warp in this cycle.
    pub fn stalled(&mut self, warp_slot: usize, now: u64) {
        note(&mut self.held_in, warp_slot, now);
    }

    /// Whether the waits of warps are recorded.
    #[inline]
    pub fn records_waits(&self) -> bool {
        self.open_waits.is_some()
    }

    /// Warps that have issued in this cycle, and those that a technique has stalled in it.
    pub fn issued_and_stalled(&self, now: u64) -> (u64, u64) {
        let of = |(cycle, warps): (u64, u64)| if cycle == now { warps } else { 0 };
        (of(self.issued_in), of(self.held_in))
    }

    /// Records what a warp waits for in some cycles.
    pub fn waits(&mut self, warp_slot: usize, wait: Wait, now: u64, cycles: u64) {
        let Some(open) = &mut self.open_waits else { return };
        let end = now + cycles;
        match &mut open[warp_slot] {
            Some(run) if run.wait == wait && run.end == now => run.end = end,
            run => {
                let ended = run.replace(WaitRun { warp_slot: warp_slot as u8, wait, start: now, end });
                self.close_wait(ended);
            }
        }
    }

    fn close_wait(&mut self, ended: Option<WaitRun>) {
        let Some(run) = ended else { return };
        if let Some((start, end)) = self.clip(run.start, run.end)
            && !self.full(start)
        {
            self.out.waits.push(WaitRun { start, end, ..run });
        }
    }

    /// Records the start of a block in a block slot.
    pub fn block_begins(&mut self, place: usize, block: u32, now: u64) {
        self.blocks[place] = Some(Stay { place: place as u8, block, warp: 0, start: now, end: NEVER });
    }

    /// Records the end of a block.
    pub fn block_ends(&mut self, place: usize, now: u64) {
        if let Some(stay) = self.blocks[place].take()
            && let Some((start, end)) = self.clip(stay.start, now)
        {
            self.out.blocks.push(Stay { start, end, ..stay });
        }
    }

    /// Records the start of a warp in a warp slot.
    pub fn warp_begins(&mut self, place: usize, block: u32, warp: u32, now: u64) {
        self.warps[place] = Some(Stay { place: place as u8, block, warp, start: now, end: NEVER });
    }

    /// Records the end of a warp.
    pub fn warp_ends(&mut self, place: usize, now: u64) {
        if let Some(stay) = self.warps[place].take()
            && let Some((start, end)) = self.clip(stay.start, now)
        {
            self.out.warps.push(Stay { start, end, ..stay });
        }
    }

    /// Records the end of a warp, and of its block if it was the last warp.
    pub fn leave(&mut self, warp_slot: usize, block_slot: Option<usize>, now: u64) {
        self.warp_ends(warp_slot, now);
        if let Some(place) = block_slot {
            self.block_ends(place, now);
        }
    }

    /// Records the warps that wait at barriers after a cycle.
    #[inline]
    pub fn barriers(&mut self, waiting: u64, now: u64) {
        let mut changed = waiting ^ self.at_barrier;
        self.at_barrier = waiting;
        while changed != 0 {
            let place = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            if waiting >> place & 1 != 0 {
                self.waiting[place] = self.warps[place].map(|stay| Stay { start: now, ..stay });
            } else if let Some(stay) = self.waiting[place].take()
                && let Some((start, end)) = self.clip(stay.start, now)
            {
                self.out.barriers.push(Stay { start, end, ..stay });
            }
        }
    }

    /// Ends open records at the launch's end and returns the recording; slots attributed after the end are
    /// removed, and missing slots before it have no warp.
    #[must_use]
    pub fn finish(mut self, now: u64, end: u64) -> Recording {
        self.held(None);
        for index in 0..self.open_slots.len() {
            if end > now {
                self.slots(index / self.width, index % self.width, 1, Stall::NoWarp, now, end - now);
            }
            let open = self.open_slots[index].take();
            self.close_slot(open.map(|run| SlotRun { end: run.end.min(end), ..run }));
        }
        for place in 0..64 {
            let open = self.open_waits.as_mut().and_then(|open| open[place].take());
            self.close_wait(open);
            self.warp_ends(place, end);
            self.block_ends(place, end);
        }
        self.barriers(0, end);
        self.out
    }
}

/// Adds a warp slot to those of a cycle.
fn note((cycle, warps): &mut (u64, u64), warp_slot: usize, now: u64) {
    if *cycle != now {
        (*cycle, *warps) = (now, 0);
    }
    *warps |= 1 << warp_slot;
}
