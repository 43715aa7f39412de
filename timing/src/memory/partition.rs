//! A memory partition: the L2 slices that share one DRAM channel, between the crossbar's two directions.
//!
//! A slice takes requests from its port into a bounded queue, looks them up after its latency, and answers
//! through a bounded reply queue. Misses wait in MSHRs for the channel. Whatever is full holds back what is
//! before it, down to the credits of the SMs. Cycles are core cycles; the DRAM runs in its own clock.

use super::address::PartitionMap;
use super::cache::{Tags, Way};
use super::dram::{Burst, Channel};
use super::mshr::Mshrs;
use super::port::{ClockRatio, Port};
use super::{
    ALL_SECTORS, Credit, LINE_BYTES, Reply, Request, RequestKind, SECTOR_BYTES, Served, Token, flits,
    sector_bytes,
};
use crate::config::GpuConfig;
use crate::stats::Counters;
use crate::view::series::{Sample, Sampler};
use std::collections::VecDeque;

/// Tag of a burst that nobody waits for.
const NO_FILL: u32 = u32::MAX;

/// Sectors of a line on the way to the channel's queue.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    line: u64,
    channel_address: u64,
    sectors: u8,
    write: bool,
    /// Whether what is read stays in L2.
    kept: bool,
}

/// What a DRAM read's tag stands for.
#[derive(Clone, Copy, Debug, Default)]
struct Fill {
    slice: u32,
    line: u64,
    sectors: u8,
    /// Whether the sectors stay in L2.
    kept: bool,
}

#[derive(Clone, Debug)]
struct Slice {
    /// Packets in the crossbar, by arrival.
    arrivals: VecDeque<Request>,
    in_port: Port,
    /// Accepted requests with the cycle at which their lookup ends.
    queue: VecDeque<(u64, Request)>,
    tags: Tags,
    mshrs: Mshrs<Request>,
    to_dram: VecDeque<Transfer>,
    /// Requests whose data have arrived and that wait for room in the reply queue.
    woken: VecDeque<Request>,
    /// Answers with the cycle from which they may leave.
    replies: VecDeque<(u64, Request)>,
    out_port: Port,
    busy_until: u64,
}

/// Parameters in the units of the model.
#[derive(Clone, Copy, Debug)]
struct Params {
    texture_only: bool,
    queue: usize,
    to_dram: usize,
    replies: usize,
    latency: u64,
    access: u64,
    atomic: u64,
    reply_latency: u64,
    fixed_latency: u64,
    atom_bytes: u64,
    flit_bytes: u32,
    header_bytes: u32,
}

impl Params {
    /// Whether L2 keeps what a request reads or writes. Atomics are done in L2 in any case.
    fn keeps(&self, request: &Request) -> bool {
        let read_only =
            matches!(request.token, Token::TextureFill | Token::InstructionCache | Token::ConstantCache);
        !self.texture_only || read_only || matches!(request.kind, RequestKind::Atomic { .. })
    }
}

/// One memory partition.
#[derive(Clone, Debug)]
pub struct Partition {
    slices: Vec<Slice>,
    channel: Channel,
    fills: Vec<Fill>,
    free_fills: Vec<u32>,
    /// Fills with the core cycle at which they reach their slice.
    arriving: VecDeque<(u64, u32)>,
    dram_clock: ClockRatio,
    map: PartitionMap,
    params: Params,
    next_slice: usize,
    now: u64,
    /// What [`Partition::next_event`] said when the partition last ran, or what has come since.
    wake_at: u64,
    /// Whether packets have come that are not in order of arrival.
    unsorted: bool,
    /// Replies to deliver, in order of departure.
    pub replies: Vec<Reply>,
    /// Credits to return.
    pub credits: Vec<Credit>,
    /// What this partition has counted.
    pub stats: Counters,
    sampler: Option<Sampler>,
}

impl Partition {
    /// An empty partition of a configuration.
    #[must_use]
    pub fn new(config: &GpuConfig) -> Partition {
        let gpu = &config.gpu;
        let net = ClockRatio::new(gpu.core_clock_khz, gpu.interconnect_clock_khz);
        let l2 = ClockRatio::new(gpu.core_clock_khz, gpu.l2_clock_khz);
        let slice = Slice {
            arrivals: VecDeque::new(),
            in_port: Port::new(net),
            queue: VecDeque::new(),
            tags: Tags::new(config.l2.sets, config.l2.ways, config.l2.set_hash),
            mshrs: Mshrs::new(config.l2.mshrs, config.l2.mshr_merges),
            to_dram: VecDeque::new(),
            woken: VecDeque::new(),
            replies: VecDeque::new(),
            out_port: Port::new(net),
            busy_until: 0,
        };
        Partition {
            slices: vec![slice; config.l2.slices_per_channel as usize],
            channel: Channel::new(&config.dram),
            fills: Vec::new(),
            free_fills: Vec::new(),
            arriving: VecDeque::new(),
            dram_clock: ClockRatio::new(gpu.core_clock_khz, gpu.dram_clock_khz),
            map: PartitionMap::new(config),
            params: Params {
                texture_only: config.l2.texture_only,
                queue: config.l2.queue_entries as usize,
                to_dram: config.l2.dram_queue_entries as usize,
                replies: config.interconnect.reply_queue_entries as usize,
                latency: l2.to_core(u64::from(config.l2.latency_cycles)),
                access: l2.to_core(1),
                atomic: l2.to_core(u64::from(config.l2.atomic_cycles)),
                reply_latency: u64::from(config.interconnect.reply_latency_cycles),
                fixed_latency: u64::from(config.dram.fixed_latency_cycles),
                atom_bytes: u64::from(config.dram.bus_bytes * config.dram.burst_length),
                flit_bytes: config.interconnect.flit_bytes,
                header_bytes: config.interconnect.header_bytes,
            },
            next_slice: 0,
            now: 0,
            wake_at: u64::MAX,
            unsorted: false,
            replies: Vec::new(),
            credits: Vec::new(),
            stats: Counters::default(),
            sampler: None,
        }
    }

    /// Samples the counters at an interval from a cycle on, or no longer.
    pub fn sample(&mut self, interval: Option<u64>, start: u64) {
        self.sampler = interval.map(|interval| Sampler::new(start, interval));
    }

    /// The samples, with the sums so far.
    pub fn take_samples(&mut self) -> Option<(Sampler, Sample)> {
        let last = Sample { counters: self.stats.clone(), ..Sample::default() };
        self.sampler.take().map(|sampler| (sampler, last))
    }

    /// Puts packets into the crossbar towards a slice; they may come from several SMs in any order.
    pub fn deliver(&mut self, slice: usize, packets: &mut Vec<Request>) {
        let first = packets.iter().map(|packet| packet.arrival).min().unwrap_or(u64::MAX);
        self.wake_at = self.wake_at.min(first);
        self.slices[slice].arrivals.extend(packets.drain(..));
        self.unsorted = true;
    }

    /// Earliest core cycle in which something may happen, as far as is known between two epochs.
    #[must_use]
    pub fn wake_at(&self) -> u64 {
        self.wake_at
    }

    /// Leaves a line in L2, clean, as a copy to the device does; what it drives out is clean too, or is written at no
    /// cost while no kernel runs.
    pub fn preload(&mut self, slice: usize, line: u64) {
        self.slices[slice].tags.insert(line, ALL_SECTORS, 0);
    }

    /// Whether a slice holds a line, for tests.
    #[cfg(test)]
    pub fn holds(&self, slice: usize, line: u64) -> bool {
        self.slices[slice].tags.contains(line)
    }

    /// Empties the caches, as between kernels that flush L2.
    pub fn flush(&mut self) {
        for slice in &mut self.slices {
            slice.tags.clear();
        }
    }

    /// Whether no request is anywhere in the partition.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let slices = self.slices.iter().all(|s| {
            s.arrivals.is_empty()
                && s.queue.is_empty()
                && s.to_dram.is_empty()
                && s.woken.is_empty()
                && s.replies.is_empty()
                && s.mshrs.is_empty()
        });
        slices && self.channel.queued() == 0 && self.arriving.is_empty()
    }

    /// Earliest core cycle at which something may happen; `u64::MAX` when the partition is idle.
    #[must_use]
    pub fn next_event(&self) -> u64 {
        let mut next = u64::MAX;
        if self.channel.wake_at() != u64::MAX {
            next = next.min(self.dram_clock.to_core(self.channel.wake_at()));
        }
        if let Some(cycle) = self.channel.done_at() {
            next = next.min(self.dram_clock.to_core(cycle));
        }
        if let Some((cycle, _)) = self.arriving.front() {
            next = next.min(*cycle);
        }
        for slice in &self.slices {
            if let Some(packet) = slice.arrivals.front() {
                next = next.min(packet.arrival.max(slice.in_port.free_at_core()));
            }
            if let Some((ready, _)) = slice.queue.front() {
                next = next.min((*ready).max(slice.busy_until));
            }
            if !slice.woken.is_empty() {
                next = next.min(slice.busy_until);
            }
            if let Some((ready, _)) = slice.replies.front() {
                next = next.min((*ready).max(slice.out_port.free_at_core()));
            }
        }
        next
    }

    /// Runs every core cycle below `until` in which something happens.
    pub fn run(&mut self, until: u64) {
        if std::mem::take(&mut self.unsorted) {
            for slice in &mut self.slices {
                slice.arrivals.make_contiguous().sort_by_key(|packet| (packet.arrival, packet.sm));
            }
        }
        while self.now < until {
            if let Some(sampler) = &mut self.sampler {
                sampler.sample(self.now, &self.stats, None);
            }
            let progressed = self.tick();
            let next = self.next_event().max(self.now + 1);
            // Without progress, whatever is due but blocked waits for a later event; look again then.
            self.now = if progressed { self.now + 1 } else { next }.min(until);
        }
        self.wake_at = self.next_event();
    }

    /// One core cycle, from DRAM back towards the SMs, then from the SMs towards DRAM.
    fn tick(&mut self) -> bool {
        let dram_now = self.dram_clock.from_core(self.now);
        self.channel.run_to(dram_now, &mut self.stats);
        let mut progressed = self.collect_dram(dram_now);
        progressed |= self.fill();
        for index in 0..self.slices.len() {
            progressed |= self.send_reply(index);
            progressed |= self.answer_woken(index);
            progressed |= self.look_up(index);
            progressed |= self.accept(index);
        }
        progressed |= self.feed_dram(dram_now);
        progressed
    }

    fn collect_dram(&mut self, dram_now: u64) -> bool {
        let mut progressed = false;
        while let Some(done) = self.channel.take_done(dram_now) {
            progressed = true;
            if done.tag != NO_FILL {
                let at = self.dram_clock.to_core(done.cycle) + self.params.fixed_latency;
                self.arriving.push_back((at, done.tag));
            }
        }
        progressed
    }

    /// Data from DRAM enter the way that the miss has reserved and wake who waits.
    fn fill(&mut self) -> bool {
        let mut progressed = false;
        while let Some((at, tag)) = self.arriving.front().copied() {
            let fill = self.fills[tag as usize];
            if at > self.now {
                break;
            }
            self.arriving.pop_front();
            self.free_fills.push(tag);
            let slice = &mut self.slices[fill.slice as usize];
            if fill.kept {
                slice.tags.insert(fill.line, fill.sectors, 0);
            }
            let woken = &mut slice.woken;
            let served = Served::Dram;
            slice
                .mshrs
                .fill(fill.line, fill.sectors, |request| woken.push_back(Request { served, ..request }));
            progressed = true;
        }
        progressed
    }

    /// The way of a line, after what must leave for it has left; none when every way awaits data, or when dirty data
    /// find no room on the way to DRAM beside `others`.
    fn make_room(&mut self, index: usize, line: u64, others: usize) -> Option<usize> {
        let slice = &mut self.slices[index];
        let (way, victim) = match slice.tags.way(line) {
            Way::Resident(way) => return Some(way),
            Way::Free(way, victim) => (way, victim),
            Way::None => return None,
        };
        if let Some(victim) = victim.filter(|victim| victim.dirty != 0) {
            // A queue of one place takes both when it is empty.
            let places = slice.to_dram.len() + 1 + others;
            if places > self.params.to_dram && !slice.to_dram.is_empty() {
                return None;
            }
            let channel_address = self.map.channel_address(victim.line * LINE_BYTES, index as u32);
            slice.to_dram.push_back(Transfer {
                line: victim.line,
                channel_address,
                sectors: victim.dirty,
                write: true,
                kept: false,
            });
            self.stats.l2_writeback_sectors += u64::from(victim.dirty.count_ones());
        }
        slice.tags.occupy(way, line);
        Some(way)
    }

    fn send_reply(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        let Some((ready, request)) = slice.replies.front().copied() else { return false };
        if ready > self.now || !slice.out_port.is_free(self.now) {
            return false;
        }
        slice.replies.pop_front();
        let data =
            if matches!(request.kind, RequestKind::Write { .. }) { 0 } else { sector_bytes(request.sectors) };
        let flits = flits(data, self.params.header_bytes, self.params.flit_bytes);
        let sent = slice.out_port.send(self.now, flits);
        self.stats.reply_packets += 1;
        self.stats.interconnect_flits += u64::from(flits);
        self.stats.reply_flits += u64::from(flits);
        self.replies.push(Reply {
            arrival: sent + self.params.reply_latency,
            sm: request.sm,
            line: request.line,
            sectors: request.sectors,
            flits,
            token: request.token,
            served: request.served,
            sent_at: request.sent_at,
        });
        true
    }

    fn answer_woken(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        if slice.busy_until > self.now || slice.replies.len() >= self.params.replies {
            return false;
        }
        let Some(request) = slice.woken.front().copied() else { return false };
        let line = self.map.home(request.line).slice_address / LINE_BYTES;
        let atomic = matches!(request.kind, RequestKind::Atomic { .. });
        // The line of an atomic may have left again.
        if atomic && self.make_room(index, line, 0).is_none() {
            return false;
        }
        let slice = &mut self.slices[index];
        slice.woken.pop_front();
        slice.busy_until = self.now + self.params.access;
        if let RequestKind::Atomic { collisions } = request.kind {
            slice.tags.insert(line, 0, request.sectors);
            slice.busy_until += self.params.atomic * u64::from(collisions.saturating_sub(1));
        }
        slice.replies.push_back((slice.busy_until - self.params.access, request));
        true
    }

    fn look_up(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        if slice.busy_until > self.now {
            return false;
        }
        let Some((ready, request)) = slice.queue.front().copied() else { return false };
        if ready > self.now {
            return false;
        }
        let done = match request.kind {
            RequestKind::Write { full } => self.write(index, &request, full),
            RequestKind::Read => self.read(index, &request, None),
            RequestKind::Atomic { collisions } => self.read(index, &request, Some(collisions)),
        };
        if done {
            let slice = &mut self.slices[index];
            slice.queue.pop_front();
            slice.busy_until = slice.busy_until.max(self.now + self.params.access);
            self.stats.l2_accesses += 1;
        }
        done
    }

    fn write(&mut self, index: usize, request: &Request, full: u8) -> bool {
        if self.slices[index].replies.len() >= self.params.replies {
            return false;
        }
        let home = self.map.home(request.line);
        let line = home.slice_address / LINE_BYTES;
        if !self.params.keeps(request) {
            return self.write_past(index, request, line, home.channel_address & !(LINE_BYTES - 1));
        }
        let resident = self.slices[index].tags.contains(line);
        let Some(way) = self.make_room(index, line, 0) else { return false };
        let slice = &mut self.slices[index];
        slice.tags.put(way, full, request.sectors);
        slice.replies.push_back((self.now, *request));
        if resident {
            self.stats.l2_hits += 1;
        } else {
            self.stats.l2_misses += 1;
        }
        true
    }

    /// A store that L2 does not keep.
    fn write_past(&mut self, index: usize, request: &Request, line: u64, channel_address: u64) -> bool {
        let slice = &mut self.slices[index];
        if slice.to_dram.len() >= self.params.to_dram {
            return false;
        }
        let sectors = request.sectors;
        slice.to_dram.push_back(Transfer { line, channel_address, sectors, write: true, kept: false });
        slice.replies.push_back((self.now, *request));
        self.stats.l2_misses += 1;
        true
    }

    fn read(&mut self, index: usize, request: &Request, atomic: Option<u8>) -> bool {
        let home = self.map.home(request.line);
        let line = home.slice_address / LINE_BYTES;
        let params = self.params;
        let slice = &mut self.slices[index];
        let kept = params.keeps(request);
        let missing = if kept { request.sectors & !slice.tags.probe(line) } else { request.sectors };
        if missing == 0 {
            if slice.replies.len() >= params.replies {
                return false;
            }
            let mut ready = self.now;
            if let Some(collisions) = atomic {
                slice.tags.insert(line, 0, request.sectors);
                ready += params.atomic * u64::from(collisions.saturating_sub(1));
                slice.busy_until = ready + params.access;
            }
            slice.replies.push_back((ready, *request));
            self.stats.l2_hits += 1;
            return true;
        }
        let Ok(to_request) = slice.mshrs.check(line, missing) else { return false };
        if to_request == 0 {
            self.stats.l2_merges += 1;
        } else {
            if slice.to_dram.len() >= params.to_dram {
                return false;
            }
            if kept {
                let Some(way) = self.make_room(index, line, 1) else { return false };
                self.slices[index].tags.reserve(way, to_request);
            }
            let slice = &mut self.slices[index];
            slice.to_dram.push_back(Transfer {
                line,
                channel_address: home.channel_address & !(LINE_BYTES - 1),
                sectors: to_request,
                write: false,
                kept,
            });
            self.stats.l2_misses += 1;
        }
        self.slices[index].mshrs.add(line, missing, *request);
        true
    }

    fn accept(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        let Some(packet) = slice.arrivals.front() else { return false };
        if packet.arrival > self.now
            || slice.queue.len() >= self.params.queue
            || !slice.in_port.is_free(self.now)
        {
            return false;
        }
        let Some(packet) = slice.arrivals.pop_front() else { return false };
        let passed = slice.in_port.send(self.now, packet.flits);
        slice.queue.push_back((passed - 1 + self.params.latency, packet));
        self.credits.push(Credit { arrival: self.now + 1 + self.params.reply_latency, sm: packet.sm });
        true
    }

    /// Moves one burst per cycle from the slices to the channel's queue, in turn.
    fn feed_dram(&mut self, dram_now: u64) -> bool {
        let mut progressed = false;
        for offset in 0..self.slices.len() {
            let index = (self.next_slice + offset) % self.slices.len();
            while self.channel.has_room() {
                let Some(transfer) = self.slices[index].to_dram.front().copied() else { break };
                self.push_atom(index, &transfer, dram_now);
                progressed = true;
            }
        }
        if progressed {
            self.next_slice = (self.next_slice + 1) % self.slices.len();
        }
        progressed
    }

    /// Sends the lowest atom of a transfer, and drops the transfer when that was its last.
    fn push_atom(&mut self, index: usize, transfer: &Transfer, dram_now: u64) {
        let first = u64::from(transfer.sectors.trailing_zeros());
        let span = (self.params.atom_bytes / SECTOR_BYTES).max(1);
        let start = first / span * span;
        let cover = (((1u32 << span) - 1) << start) as u8 & ALL_SECTORS;
        let address = transfer.channel_address + start * SECTOR_BYTES;
        let tag = if transfer.write {
            NO_FILL
        } else {
            let fill = Fill { slice: index as u32, line: transfer.line, sectors: cover, kept: transfer.kept };
            match self.free_fills.pop() {
                Some(tag) => {
                    self.fills[tag as usize] = fill;
                    tag
                }
                None => {
                    self.fills.push(fill);
                    self.fills.len() as u32 - 1
                }
            }
        };
        // Bursts shorter than a sector: the last one completes it.
        let bursts = (SECTOR_BYTES / self.params.atom_bytes).max(1);
        for burst in 1..=bursts {
            let tag = if burst == bursts { tag } else { NO_FILL };
            let address = address + (burst - 1) * self.params.atom_bytes;
            self.channel.push(dram_now, Burst { write: transfer.write, address, tag });
        }
        let queue = &mut self.slices[index].to_dram;
        if let Some(head) = queue.front_mut() {
            head.sectors &= !cover;
            if head.sectors == 0 {
                queue.pop_front();
            }
        }
    }

    /// What the partition holds, for the report of a stuck machine.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = format!("{}; {} fills on their way\n", self.channel.describe(), self.arriving.len());
        for (index, s) in self.slices.iter().enumerate() {
            text += &format!(
                "  slice {index}: {} in the crossbar, {} queued, {} MSHRs, {} to DRAM, {} woken, {} replies\n",
                s.arrivals.len(),
                s.queue.len(),
                s.mshrs.len(),
                s.to_dram.len(),
                s.woken.len(),
                s.replies.len()
            );
        }
        text
    }
}
