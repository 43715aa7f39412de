//! A memory partition: the L2 slices that share one DRAM channel, behind the crossbar.
//!
//! A slice takes requests from its port into a pipeline as long as its latency. At the end of the pipeline a
//! bounded queue holds them for the lookup, one per L2 cycle; answers leave through a bounded reply queue.
//! Latency and throughput are independent: however long the pipeline, a slice serves one request per L2 cycle.
//! Misses wait in MSHRs for the channel. A full queue stalls the stage before it, back to the credits of the
//! SMs. Cycles are core cycles; the DRAM has its own clock.

mod slice;

use super::address::PartitionMap;
use super::cache::Tags;
use super::dram::{Burst, Channel};
use super::mshr::Mshrs;
use super::port::{ClockRatio, Port};
use super::replacement::Replacement;
use super::{ALL_SECTORS, Credit, Reply, Request, RequestKind, SECTOR_BYTES, Served, Token, sector_bytes};
use crate::config::GpuConfig;
use crate::stats::{Counters, Sample, Sampler};
use std::collections::VecDeque;

/// Tag of a burst that no request waits for.
const NO_FILL: u32 = u32::MAX;

/// Sectors of a line on the way to the channel's queue.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    line: u64,
    channel_address: u64,
    sectors: u8,
    write: bool,
    /// Whether L2 keeps the sectors.
    kept: bool,
}

/// A DRAM read, by its tag.
#[derive(Clone, Copy, Debug, Default)]
struct Fill {
    slice: u32,
    line: u64,
    sectors: u8,
    /// Whether L2 keeps the sectors.
    kept: bool,
}

#[derive(Clone, Debug)]
struct Slice {
    /// Packets in the crossbar, by arrival and then by sender, except the last ones, which have been delivered since the
    /// last run.
    arrivals: VecDeque<Request>,
    unsorted: usize,
    in_port: Port,
    /// Accepted requests with the cycle at which they have passed the pipeline.
    pipeline: VecDeque<(u64, Request)>,
    /// Requests that wait for the lookup.
    queue: VecDeque<Request>,
    /// Whether the lookup of the oldest of them was refused, and nothing has changed since that could let it succeed.
    refused: bool,
    tags: Tags,
    mshrs: Mshrs<Request>,
    to_dram: VecDeque<Transfer>,
    /// Requests whose data have arrived and that wait for room in the reply queue.
    woken: VecDeque<Request>,
    /// Replies with the first cycle in which they may leave.
    replies: VecDeque<(u64, Request)>,
    out_port: Port,
    busy_until: u64,
}

impl Slice {
    /// Sorts the delivered packets into those in the crossbar.
    fn sort(&mut self) {
        let unsorted = std::mem::take(&mut self.unsorted);
        if unsorted == 0 {
            return;
        }
        let order = |packet: &Request| (packet.arrival, packet.sm);
        let packets = self.arrivals.make_contiguous();
        let (sorted, new) = packets.split_at_mut(packets.len() - unsorted);
        new.sort_by_key(order);
        // Packets that arrive before the first new one stay where they are.
        let first = order(&new[0]);
        let overtaken = sorted.partition_point(|packet| order(packet) <= first);
        if overtaken < sorted.len() {
            packets[overtaken..].sort_by_key(order);
        }
    }
}

/// Parameters in the units of the model.
#[derive(Clone, Copy, Debug)]
struct Params {
    texture_only: bool,
    /// Most dirty lines of a set; none if all may be dirty.
    dirty_ways: Option<usize>,
    queue: usize,
    to_dram: usize,
    replies: usize,
    latency: u64,
    access: u64,
    atomic: u64,
    reply_latency: u64,
    fixed_latency: u64,
    atom_bytes: u64,
    /// Sectors that a miss reads at least.
    fetched_sectors: u32,
    store_bytes: u32,
    l2_clock: ClockRatio,
    /// L2 cycles that a burst takes on the path between the channel and the slices; 0 if nothing bounds it.
    path_cycles: u8,
    flit_bytes: u32,
    header_bytes: u32,
}

impl Params {
    /// The sectors that are read from DRAM when some of a line are missing: aligned groups of them.
    fn fetched(&self, missing: u8) -> u8 {
        let group = ((1u16 << self.fetched_sectors) - 1) as u8;
        let groups = (0..4).step_by(self.fetched_sectors as usize).map(|first| group << first);
        groups.filter(|group| group & missing != 0).fold(0, |all, group| all | group)
    }

    /// Core cycles for which a store holds a slice.
    fn store_cycles(&self, sectors: u8) -> u64 {
        self.l2_clock.to_core(u64::from(sector_bytes(sectors).div_ceil(self.store_bytes).max(1)))
    }

    /// Whether L2 keeps the sectors that a request reads or writes. L2 always keeps those of atomics.
    fn keeps(&self, request: &Request) -> bool {
        let read_only =
            matches!(request.token, Token::TextureFill | Token::InstructionCache | Token::ConstantCache);
        !self.texture_only || read_only || matches!(request.kind, RequestKind::Atomic { .. })
    }
}

/// L2 cycles that a burst takes between a channel and its slices; 0 if nothing bounds it.
fn path_cycles(config: &GpuConfig) -> u8 {
    let burst = (config.dram.bus_bytes * config.dram.burst_length).max(SECTOR_BYTES as u32);
    let width = config.l2.dram_bytes_per_cycle;
    if width == 0 { 0 } else { burst.div_ceil(width).min(255) as u8 }
}

/// One memory partition.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    slices: Vec<Slice>,
    channel: Channel,
    /// The path between the channel and the slices.
    path: Port,
    /// Whether the last burst on it came from the channel.
    path_has_read: bool,
    fills: Vec<Fill>,
    free_fills: Vec<u32>,
    /// Fills with the core cycle at which they reach their slice.
    arriving: VecDeque<(u64, u32)>,
    dram_clock: ClockRatio,
    map: PartitionMap,
    params: Params,
    next_slice: usize,
    now: u64,
    /// Results of [`Partition::next_event`] after the last run, with and without blocked work, or the arrival of an
    /// earlier packet.
    wake_at: u64,
    sleeps_until: u64,
    /// Replies to deliver, in order of departure.
    pub replies: Vec<Reply>,
    /// Credits to return.
    pub credits: Vec<Credit>,
    /// Counters of this partition.
    pub stats: Counters,
    sampler: Option<Sampler>,
}

impl Partition {
    /// An empty partition of a configuration.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig) -> Partition {
        let gpu = &config.gpu;
        let net = ClockRatio::new(gpu.core_clock_khz, gpu.interconnect_clock_khz);
        let l2 = ClockRatio::new(gpu.core_clock_khz, gpu.l2_clock_khz);
        let slice = Slice {
            arrivals: VecDeque::new(),
            unsorted: 0,
            in_port: Port::new(net),
            pipeline: VecDeque::new(),
            queue: VecDeque::new(),
            refused: false,
            tags: Tags::new(
                config.l2.sets,
                config.l2.ways,
                config.l2.set_hash,
                Replacement::new(config, &config.l2.replacement),
            ),
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
            path: Port::new(l2),
            path_has_read: false,
            fills: Vec::new(),
            free_fills: Vec::new(),
            arriving: VecDeque::new(),
            dram_clock: ClockRatio::new(gpu.core_clock_khz, gpu.dram_clock_khz),
            map: PartitionMap::new(config),
            params: Params {
                texture_only: config.l2.texture_only,
                dirty_ways: (config.l2.dirty_percent < 100)
                    .then_some((config.l2.ways * config.l2.dirty_percent / 100) as usize),
                queue: config.l2.queue_entries as usize,
                to_dram: config.l2.dram_queue_entries as usize,
                replies: config.interconnect.reply_queue_entries as usize,
                latency: l2.to_core(u64::from(config.l2.latency_cycles)),
                access: l2.to_core(1),
                atomic: l2.to_core(u64::from(config.l2.atomic_cycles)),
                reply_latency: u64::from(config.interconnect.reply_latency_cycles),
                fixed_latency: u64::from(config.dram.fixed_latency_cycles),
                atom_bytes: u64::from(config.dram.bus_bytes * config.dram.burst_length),
                fetched_sectors: config.l2.fetch_bytes / SECTOR_BYTES as u32,
                store_bytes: config.l2.store_bytes_per_cycle,
                l2_clock: l2,
                path_cycles: path_cycles(config),
                flit_bytes: config.interconnect.flit_bytes,
                header_bytes: config.interconnect.header_bytes,
            },
            next_slice: 0,
            now: 0,
            wake_at: u64::MAX,
            sleeps_until: u64::MAX,
            replies: Vec::new(),
            credits: Vec::new(),
            stats: Counters::default(),
            sampler: None,
        }
    }

    /// Samples the counters; `None` stops sampling.
    pub(crate) fn sample(&mut self, sampler: Option<Sampler>) {
        self.sampler = sampler;
    }

    /// The samples, with the sums so far.
    pub(crate) fn take_samples(&mut self) -> Option<(Sampler, Sample)> {
        let last = Sample { counters: self.stats.clone(), ..Sample::default() };
        self.sampler.take().map(|sampler| (sampler, last))
    }

    /// Puts packets into the crossbar towards a slice; they may come from several SMs in any order.
    pub(crate) fn deliver(&mut self, slice: usize, packets: &mut Vec<Request>) {
        let first = packets.iter().map(|packet| packet.arrival).min().unwrap_or(u64::MAX);
        self.wake_at = self.wake_at.min(first);
        self.sleeps_until = self.sleeps_until.min(first);
        let slice = &mut self.slices[slice];
        slice.unsorted += packets.len();
        slice.arrivals.extend(packets.drain(..));
    }

    /// Earliest core cycle in which something may happen, as known between two epochs.
    #[must_use]
    pub(crate) fn wake_at(&self) -> u64 {
        self.wake_at
    }

    /// Cycle before which nothing can happen, as known between two epochs.
    #[must_use]
    pub(crate) fn sleeps_until(&self) -> u64 {
        self.sleeps_until
    }

    /// Puts a clean line into L2, as a copy to the device does; an evicted dirty line is written at no cost,
    /// because no kernel runs.
    pub(crate) fn preload(&mut self, slice: usize, line: u64) {
        self.slices[slice].tags.insert(line, ALL_SECTORS, 0);
    }

    /// Whether a slice holds a line, for tests.
    #[cfg(test)]
    pub(crate) fn holds(&self, slice: usize, line: u64) -> bool {
        self.slices[slice].tags.contains(line)
    }

    /// Empties the caches, as between kernels that flush L2.
    pub(crate) fn flush(&mut self) {
        for slice in &mut self.slices {
            slice.tags.clear();
        }
    }

    /// Whether the partition holds no request.
    #[must_use]
    pub(crate) fn is_idle(&self) -> bool {
        let slices = self.slices.iter().all(|s| {
            s.arrivals.is_empty()
                && s.pipeline.is_empty()
                && s.queue.is_empty()
                && s.to_dram.is_empty()
                && s.woken.is_empty()
                && s.replies.is_empty()
                && s.mshrs.is_empty()
        });
        slices && self.channel.queued() == 0 && self.arriving.is_empty()
    }

    /// Earliest core cycle at which something may happen, or with `blocked` at which work is blocked; `u64::MAX` when
    /// the partition is idle.
    #[must_use]
    pub(crate) fn next_event(&self, blocked: bool) -> u64 {
        let mut next = u64::MAX;
        if self.channel.wake_at() != u64::MAX {
            next = next.min(self.dram_clock.to_core(self.channel.wake_at()));
        }
        let path_free_at = self.path.free_at_core();
        if let Some(cycle) = self.channel.done_at() {
            next = next.min(self.dram_clock.to_core(cycle).max(path_free_at));
        }
        if let Some((cycle, _)) = self.arriving.front() {
            next = next.min(*cycle);
        }
        for slice in &self.slices {
            // A full queue takes nothing before a lookup, and a refused lookup is not tried before a change.
            let has_room = blocked || slice.queue.len() < self.params.queue;
            if let Some(packet) = slice.arrivals.front().filter(|_| has_room) {
                next = next.min(packet.arrival.max(slice.in_port.free_at_core()));
            }
            if let Some((ready, _)) = slice.pipeline.front().filter(|_| has_room) {
                next = next.min(*ready);
            }
            let looks_up = !slice.queue.is_empty() && (blocked || !slice.refused);
            if looks_up || !slice.woken.is_empty() {
                next = next.min(slice.busy_until);
            }
            if let Some((ready, _)) = slice.replies.front() {
                next = next.min((*ready).max(slice.out_port.free_at_core()));
            }
            if self.params.path_cycles > 0 && !slice.to_dram.is_empty() && self.channel.has_room() {
                next = next.min(path_free_at);
            }
        }
        next
    }

    /// Runs every core cycle below `until` in which something happens.
    pub(crate) fn run(&mut self, until: u64) {
        self.slices.iter_mut().for_each(Slice::sort);
        while self.now < until {
            if let Some(sampler) = &mut self.sampler {
                let stats = &self.stats;
                sampler.sample(self.now, || Sample { counters: stats.clone(), ..Sample::default() });
            }
            let progressed = self.tick();
            // Without progress, due but blocked work waits for a later event.
            let next = if progressed { self.now + 1 } else { self.next_event(false).max(self.now + 1) };
            self.now = next.min(until);
        }
        self.wake_at = self.next_event(true);
        self.sleeps_until = self.next_event(false);
    }

    /// One core cycle, from DRAM back towards the SMs, then from the SMs towards DRAM.
    fn tick(&mut self) -> bool {
        let dram_now = self.dram_clock.cycle_at(self.now);
        self.channel.run_to(dram_now, &mut self.stats);
        let mut progressed = self.collect_dram(dram_now);
        progressed |= self.fill();
        for index in 0..self.slices.len() {
            progressed |= self.send_reply(index);
            progressed |= self.answer_woken(index);
            progressed |= self.leave_pipeline(index);
            progressed |= self.look_up(index);
            progressed |= self.accept(index);
        }
        progressed |= self.feed_dram(dram_now);
        progressed
    }

    fn collect_dram(&mut self, dram_now: u64) -> bool {
        let mut progressed = false;
        while self.path.is_free(self.now) && !self.is_turn_of_writes() {
            let Some(done) = self.channel.take_done(dram_now) else { break };
            progressed = true;
            let at = self.take_path(true).unwrap_or_else(|| self.dram_clock.to_core(done.cycle));
            if done.tag != NO_FILL {
                self.arriving.push_back((at + self.params.fixed_latency, done.tag));
            }
        }
        progressed
    }

    /// Takes the path between the channel and the slices for a burst, and returns when it has passed; none if nothing
    /// bounds the path, which then is always free.
    fn take_path(&mut self, read: bool) -> Option<u64> {
        (self.params.path_cycles > 0).then(|| {
            self.path_has_read = read;
            self.path.send(self.now, self.params.path_cycles)
        })
    }

    /// Whether a write waits for the path, and the last burst on it was read.
    fn is_turn_of_writes(&self) -> bool {
        let waits = |slice: &Slice| slice.to_dram.front().is_some_and(|transfer| transfer.write);
        self.path_has_read && self.channel.has_room() && self.slices.iter().any(waits)
    }

    /// Data from DRAM fill the way that the miss has reserved and wake the waiting requests.
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
            slice.refused = false;
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

    /// Moves one burst per cycle from the slices to the channel's queue, round robin.
    fn feed_dram(&mut self, dram_now: u64) -> bool {
        let mut progressed = false;
        for offset in 0..self.slices.len() {
            let index = (self.next_slice + offset) % self.slices.len();
            while self.channel.has_room() {
                let Some(transfer) = self.slices[index].to_dram.front().copied() else { break };
                if transfer.write {
                    if !self.path.is_free(self.now) {
                        break;
                    }
                    self.take_path(false);
                }
                self.push_atom(index, &transfer, dram_now);
                progressed = true;
            }
        }
        if progressed {
            self.next_slice = (self.next_slice + 1) % self.slices.len();
        }
        progressed
    }

    /// Sends the lowest atom of a transfer, and drops the transfer after its last atom.
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
        // If bursts are shorter than a sector, the last one completes it.
        let bursts = (SECTOR_BYTES / self.params.atom_bytes).max(1);
        for burst in 1..=bursts {
            let tag = if burst == bursts { tag } else { NO_FILL };
            let address = address + (burst - 1) * self.params.atom_bytes;
            self.channel.push(dram_now, Burst { write: transfer.write, address, tag });
        }
        let slice = &mut self.slices[index];
        if let Some(head) = slice.to_dram.front_mut() {
            head.sectors &= !cover;
            if head.sectors == 0 {
                slice.to_dram.pop_front();
                slice.refused = false;
            }
        }
    }

    /// State of the partition, for the watchdog's report.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("{}; {} fills on their way\n", self.channel.describe(), self.arriving.len());
        for (index, s) in self.slices.iter().enumerate() {
            text += &format!(
                "  slice {index}: {} in the crossbar, {} in the pipeline, {} queued, {} MSHRs, {} to DRAM, {} woken, {} replies\n",
                s.arrivals.len(),
                s.pipeline.len(),
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
