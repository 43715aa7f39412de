//! One DRAM channel: banks with row buffers, command timing, and FIFO or FR-FCFS scheduling of its queue.
//!
//! The command bus takes one command per command-clock cycle, or a row and a column command if it is double.
//! The channel stores the next cycle in which it can issue a command, so idle cycles cost nothing. Refresh is
//! not modelled. The partition queues requests before the channel and fills L2 after it.

use super::address::DramMap;
use crate::config::{Dram, DramScheduler};
use crate::stats::Counters;
use std::collections::VecDeque;

/// One burst to transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Burst {
    /// Whether it writes.
    pub write: bool,
    /// Address within the channel.
    pub address: u64,
    /// Tag of the caller, returned with the completion.
    pub tag: u32,
}

/// A burst whose data have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Command-clock cycle at which the last beat has passed.
    pub cycle: u64,
    /// The burst's tag.
    pub tag: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    burst: Burst,
    row: u64,
    /// Order of arrival.
    age: u64,
    activated: bool,
}

#[derive(Clone, Debug, Default)]
struct Bank {
    open: Option<u64>,
    /// Requests in order of arrival, and the number of row hits among them.
    queue: VecDeque<Queued>,
    hits: u32,
    /// Position of the oldest row hit, if there is one.
    first_hit: usize,
    /// Bank group.
    group: u32,
    /// Earliest activate, precharge and column command.
    activate_at: u64,
    precharge_at: u64,
    column_at: u64,
}

impl Bank {
    /// Position of the oldest request for the open row.
    #[inline]
    fn first_hit(&self) -> Option<usize> {
        (self.hits > 0).then_some(self.first_hit)
    }

    /// Searches the oldest request for the open row from a position on.
    fn find_hit(&mut self, from: usize) {
        let mut later = self.queue.iter().skip(from);
        self.first_hit = later.position(|request| self.open == Some(request.row)).map_or(0, |at| from + at);
    }
}

/// A channel; cycles are those of its command clock.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    config: Dram,
    map: DramMap,
    banks: Vec<Bank>,
    /// Banks with requests.
    waiting: u64,
    queued: usize,
    arrivals: u64,
    burst_cycles: u64,
    activate_at: u64,
    /// Earliest column command by group of the last one: same group, other group.
    last_column: Option<(u64, u32)>,
    read_at: u64,
    write_at: u64,
    bus_free_at: u64,
    wake_at: u64,
    done: VecDeque<Done>,
}

impl Channel {
    /// An idle channel.
    #[must_use]
    pub(crate) fn new(config: &Dram) -> Channel {
        Channel {
            map: DramMap::new(config),
            banks: (0..config.banks)
                .map(|bank| Bank { group: bank % config.bank_groups, ..Bank::default() })
                .collect(),
            waiting: 0,
            queued: 0,
            arrivals: 0,
            burst_cycles: u64::from((config.burst_length / config.data_rate).max(1)),
            activate_at: 0,
            last_column: None,
            read_at: 0,
            write_at: 0,
            bus_free_at: 0,
            wake_at: u64::MAX,
            done: VecDeque::new(),
            config: config.clone(),
        }
    }

    /// Whether another burst fits into the queue.
    #[must_use]
    pub(crate) fn has_room(&self) -> bool {
        self.queued < self.config.queue_entries as usize
    }

    /// Bursts that wait.
    #[must_use]
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Adds a burst at a cycle.
    pub(crate) fn push(&mut self, cycle: u64, burst: Burst) {
        let place = self.map.split(burst.address);
        let bank = &mut self.banks[place.bank as usize];
        if bank.open == Some(place.row) {
            bank.first_hit = if bank.hits == 0 { bank.queue.len() } else { bank.first_hit };
            bank.hits += 1;
        }
        bank.queue.push_back(Queued { burst, row: place.row, age: self.arrivals, activated: false });
        self.waiting |= 1 << place.bank;
        self.queued += 1;
        self.arrivals += 1;
        self.wake_at = self.wake_at.min(cycle);
    }

    /// Next cycle in which a command may be possible; `u64::MAX` when there is nothing to do.
    #[must_use]
    pub(crate) fn wake_at(&self) -> u64 {
        self.wake_at
    }

    /// Cycle of the earliest completion that has not been taken.
    #[must_use]
    pub(crate) fn done_at(&self) -> Option<u64> {
        self.done.front().map(|done| done.cycle)
    }

    /// Takes the earliest completion if it has happened by `cycle`.
    pub(crate) fn take_done(&mut self, cycle: u64) -> Option<Done> {
        if self.done.front()?.cycle > cycle {
            return None;
        }
        if self.is_return_full() && self.queued > 0 {
            self.wake_at = self.wake_at.min(cycle);
        }
        self.done.pop_front()
    }

    /// Whether the return queue is full of completed reads.
    fn is_return_full(&self) -> bool {
        self.done.len() >= self.config.return_queue_entries as usize
    }

    /// Runs every cycle up to and including `cycle`.
    pub(crate) fn run_to(&mut self, cycle: u64, stats: &mut Counters) {
        while self.wake_at <= cycle {
            let now = self.wake_at;
            self.wake_at = self.command(now, stats);
        }
    }

    /// Issues the commands of a cycle and returns the next cycle in which one may be possible.
    fn command(&mut self, now: u64, stats: &mut Counters) -> u64 {
        let mut banks = self.waiting;
        if self.config.scheduler == DramScheduler::Fifo {
            banks = self.oldest_bank();
        }
        // The oldest row hit that is allowed now, else the oldest allowed row command.
        let mut column: Option<(u64, usize, usize)> = None;
        let mut row: Option<(u64, usize, usize)> = None;
        let mut next = u64::MAX;
        while banks != 0 {
            let index = banks.trailing_zeros() as usize;
            banks &= banks - 1;
            let bank = &self.banks[index];
            let hit = match self.config.scheduler {
                DramScheduler::Fifo => (bank.open == Some(bank.queue[0].row)).then_some(0),
                DramScheduler::FrFcfs => bank.first_hit(),
            };
            let (at, age, choice) = match hit {
                Some(position) => {
                    let request = &bank.queue[position];
                    if !request.burst.write && self.is_return_full() {
                        continue;
                    }
                    (self.column_at(index, request.burst.write), request.age, &mut column)
                }
                None => {
                    let at = if bank.open.is_some() {
                        bank.precharge_at
                    } else {
                        bank.activate_at.max(self.activate_at)
                    };
                    (at, bank.queue[0].age, &mut row)
                }
            };
            if at > now {
                next = next.min(at);
            } else if choice.is_none_or(|(oldest, ..)| age < oldest) {
                *choice = Some((age, index, hit.unwrap_or(0)));
            }
        }
        if let Some((_, bank, position)) = column {
            self.column(now, bank, position, stats);
        }
        match row {
            Some((_, bank, _)) if column.is_none() || self.config.dual_command_bus => {
                self.row_command(now, bank, stats);
            }
            None if column.is_none() => return next.max(now + 1),
            _ => {}
        }
        if self.waiting == 0 { u64::MAX } else { now + 1 }
    }

    /// The bank of the request that arrived first, as a mask.
    fn oldest_bank(&self) -> u64 {
        let banks = self.banks.iter().enumerate().filter_map(|(i, bank)| Some((bank.queue.front()?.age, i)));
        banks.min().map_or(0, |(_, bank)| 1 << bank)
    }

    /// Earliest column command to an open row.
    fn column_at(&self, bank: usize, write: bool) -> u64 {
        let c = &self.config;
        let (turnaround, latency) =
            if write { (self.write_at, c.wl_cycles) } else { (self.read_at, c.cl_cycles) };
        let groups = c.bank_groups;
        let spacing = match self.last_column {
            None => 0,
            Some((at, group)) if groups > 1 && group == self.banks[bank].group => {
                at + u64::from(c.ccdl_cycles)
            }
            Some((at, _)) => at + u64::from(c.ccd_cycles),
        };
        let bus = self.bus_free_at.saturating_sub(u64::from(latency));
        self.banks[bank].column_at.max(turnaround).max(spacing).max(bus)
    }

    fn column(&mut self, now: u64, index: usize, position: usize, stats: &mut Counters) {
        let bank = &mut self.banks[index];
        let Some(request) = bank.queue.remove(position) else { return };
        bank.hits -= 1;
        if bank.hits > 0 {
            // The issued request is the oldest row hit.
            bank.find_hit(position);
        }
        self.queued -= 1;
        if bank.queue.is_empty() {
            self.waiting &= !(1 << index);
        }
        let c = &self.config;
        let latency = if request.burst.write { c.wl_cycles } else { c.cl_cycles };
        let end = now + u64::from(latency) + self.burst_cycles;
        self.bus_free_at = end;
        self.last_column = Some((now, bank.group));
        if request.burst.write {
            self.read_at = self.read_at.max(end + u64::from(c.cdlr_cycles));
            bank.precharge_at = bank.precharge_at.max(end + u64::from(c.wr_cycles));
            stats.dram_writes += 1;
        } else {
            // A write must not put its data on the bus before the read's have passed, plus one cycle of
            // turnaround.
            let gap = u64::from(c.cl_cycles) + self.burst_cycles + 1;
            self.write_at = self.write_at.max((now + gap).saturating_sub(u64::from(c.wl_cycles)));
            bank.precharge_at = bank.precharge_at.max(now + u64::from(c.rtp_cycles));
            stats.dram_reads += 1;
            self.done.push_back(Done { cycle: end, tag: request.burst.tag });
        }
        stats.dram_row_hits += u64::from(!request.activated);
        stats.dram_bytes += u64::from(c.bus_bytes * c.burst_length);
        stats.dram_busy_cycles += self.burst_cycles;
    }

    /// Closes a bank's row, or opens the row of its oldest request.
    fn row_command(&mut self, now: u64, index: usize, stats: &mut Counters) {
        let c = &self.config;
        let bank = &mut self.banks[index];
        if bank.open.take().is_some() {
            bank.hits = 0;
            bank.activate_at = bank.activate_at.max(now + u64::from(c.rp_cycles));
            return;
        }
        let Some(oldest) = bank.queue.front_mut() else { return };
        oldest.activated = true;
        let row = oldest.row;
        bank.open = Some(row);
        bank.hits = bank.queue.iter().filter(|request| request.row == row).count() as u32;
        bank.find_hit(0);
        bank.column_at = now + u64::from(c.rcd_cycles);
        bank.precharge_at = bank.precharge_at.max(now + u64::from(c.ras_cycles));
        bank.activate_at = now + u64::from(c.rc_cycles);
        self.activate_at = now + u64::from(c.rrd_cycles);
        stats.dram_activations += 1;
    }

    /// State of the channel, for the watchdog's report.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        let open = self.banks.iter().filter(|bank| bank.open.is_some()).count();
        format!(
            "DRAM: {} bursts queued, {} completions, {open} rows open, wakes at {}",
            self.queued,
            self.done.len(),
            self.wake_at
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel() -> Channel {
        Channel::new(&crate::config::load("gtx480", &[]).expect("built-in configuration").config.dram)
    }

    fn drain(channel: &mut Channel, stats: &mut Counters) -> Vec<Done> {
        channel.run_to(1_000_000, stats);
        std::iter::from_fn(|| channel.take_done(u64::MAX)).collect()
    }

    /// gtx480: RCD 12, CL 12, burst 2 cycles, CCD 2, RP 12, RAS 28.
    #[test]
    fn a_read_of_a_closed_row_takes_activate_column_and_data() {
        let (mut channel, mut stats) = (channel(), Counters::default());
        channel.push(100, Burst { write: false, address: 0, tag: 7 });
        assert_eq!(drain(&mut channel, &mut stats), [Done { cycle: 100 + 12 + 12 + 2, tag: 7 }]);
        assert_eq!((stats.dram_activations, stats.dram_row_hits, stats.dram_reads), (1, 0, 1));
    }

    #[test]
    fn open_rows_stream_at_the_bus_rate() {
        let (mut channel, mut stats) = (channel(), Counters::default());
        // Column bits 0..4 stay within the row; bit 8 is a bank bit, so alternate between two banks.
        for i in 0..8u64 {
            channel.push(0, Burst { write: false, address: (i / 2) * 64 + (i % 2) * 256, tag: i as u32 });
        }
        let done = drain(&mut channel, &mut stats);
        assert_eq!((stats.dram_activations, stats.dram_row_hits), (2, 6));
        let last = done.last().expect("eight completions").cycle;
        let first = done[0].cycle;
        assert!(last - first <= 8 * 3, "row hits took {} cycles", last - first);
        assert_eq!(stats.dram_busy_cycles, 16);
    }

    #[test]
    fn a_row_conflict_pays_precharge_and_fr_fcfs_serves_hits_first() {
        let (mut channel, mut stats) = (channel(), Counters::default());
        channel.push(0, Burst { write: false, address: 0, tag: 0 });
        channel.push(0, Burst { write: false, address: 1 << 16, tag: 1 });
        channel.push(0, Burst { write: false, address: 64, tag: 2 });
        let order: Vec<u32> = drain(&mut channel, &mut stats).iter().map(|d| d.tag).collect();
        assert_eq!(order, [0, 2, 1]);
        assert_eq!((stats.dram_activations, stats.dram_row_hits), (2, 1));
        let mut config = channel.config.clone();
        config.scheduler = DramScheduler::Fifo;
        let mut fifo = Channel::new(&config);
        fifo.push(0, Burst { write: false, address: 0, tag: 0 });
        fifo.push(0, Burst { write: false, address: 1 << 16, tag: 1 });
        fifo.push(0, Burst { write: false, address: 64, tag: 2 });
        let done = drain(&mut fifo, &mut Counters::default());
        assert_eq!(done.iter().map(|d| d.tag).collect::<Vec<_>>(), [0, 1, 2]);
        // Activate at 0, precharge at RAS 28, activate after RP 12 and RC 40, column after RCD 12, data after CL 12.
        assert_eq!(done[1].cycle, 40 + 12 + 12 + 2);
    }

    /// A row hit and an activation of another bank that become possible together.
    #[test]
    fn a_double_command_bus_issues_a_row_and_a_column_command_at_once() {
        let last = |dual_command_bus| {
            let mut channel = channel();
            channel.config.dual_command_bus = dual_command_bus;
            channel.config.rrd_cycles = 12;
            let mut stats = Counters::default();
            channel.push(0, Burst { write: false, address: 0, tag: 0 });
            channel.push(0, Burst { write: false, address: 256, tag: 1 });
            drain(&mut channel, &mut stats).last().expect("two completions").cycle
        };
        // Activate 0 at 0; at 12 (RCD, RRD) the column command of 0 and the activate of 1; its data 12 + 12 + 2 later.
        assert_eq!(last(true), 12 + 12 + 12 + 2);
        assert_eq!(last(false), 13 + 12 + 12 + 2);
    }

    /// If completions are not taken, reads stop and writes continue; reads resume when one is taken.
    #[test]
    fn a_full_return_queue_stops_reads() {
        let mut channel = channel();
        channel.config.return_queue_entries = 2;
        let mut stats = Counters::default();
        for i in 0..5u64 {
            channel.push(0, Burst { write: false, address: i % 4 * 64, tag: i as u32 });
        }
        channel.push(0, Burst { write: true, address: 256, tag: 9 });
        channel.run_to(1000, &mut stats);
        assert_eq!((stats.dram_reads, stats.dram_writes), (2, 1));
        assert!(channel.take_done(1000).is_some());
        channel.run_to(2000, &mut stats);
        assert_eq!(stats.dram_reads, 3);
        let mut rest = 0;
        for cycle in 2001..3000 {
            rest += u32::from(channel.take_done(cycle).is_some());
            channel.run_to(cycle, &mut stats);
        }
        assert_eq!((rest, stats.dram_reads), (4, 5));
    }

    const READ: bool = false;
    const WRITE: bool = true;

    /// Cycle at which the last of some accesses has its data, with changed timing parameters.
    fn last_of(change: impl Fn(&mut Dram), accesses: &[(u64, bool, u64)]) -> u64 {
        let mut config = channel().config;
        change(&mut config);
        let (mut channel, mut stats) = (Channel::new(&config), Counters::default());
        for (cycle, write, address) in accesses {
            channel.run_to(*cycle, &mut stats);
            channel.push(*cycle, Burst { write: *write, address: *address, tag: 0 });
        }
        drain(&mut channel, &mut stats).last().expect("a read").cycle
    }

    /// Tests each timing parameter where it is the only limit, computed from gtx480's parameters: RCD 12, CL
    /// 12, WL 4, burst 2, CCD 2, CCDL 3, RRD 6, RAS 28, RP 12, RC 40, CDLR 5, WR 12, RTP 2. Bit 8 of an
    /// address is bit 0 of the bank, bit 14 bit 2 of it; rows begin at bit 16.
    #[test]
    fn every_timing_parameter_binds_where_it_should() {
        let as_is = |_: &mut Dram| {};
        // Two activations, RRD apart.
        assert_eq!(last_of(as_is, &[(0, READ, 0), (0, READ, 256)]), 6 + 12 + 12 + 2);
        // Rows of banks 0 and 1 (other group) and of 0 and 4 (same group) are open: columns CCD and CCDL apart.
        let open = |other| [(0, READ, 0), (0, READ, other), (100, READ, 64), (100, READ, other + 64)];
        assert_eq!(last_of(as_is, &open(1 << 8)), 100 + 2 + 12 + 2);
        assert_eq!(last_of(as_is, &open(1 << 14)), 100 + 3 + 12 + 2);
        assert_eq!(last_of(|d| d.ccd_cycles = 7, &open(1 << 8)), 100 + 7 + 12 + 2);
        // A burst longer than CCD: the data bus limits the column commands.
        assert_eq!(last_of(|d| d.burst_length = 32, &open(1 << 8)), 100 + 8 + 12 + 8);
        // The same bank, another row: RC, or RAS and RP where these are longer.
        let conflict = [(0, READ, 0), (0, READ, 1 << 16)];
        assert_eq!(last_of(as_is, &conflict), 40 + 12 + 12 + 2);
        assert_eq!(last_of(|d| d.rc_cycles = 47, &conflict), 47 + 12 + 12 + 2);
        assert_eq!(last_of(|d| d.ras_cycles = 35, &conflict), 35 + 12 + 12 + 12 + 2);
        assert_eq!(last_of(|d| d.rp_cycles = 20, &conflict), 28 + 20 + 12 + 12 + 2);
        // With short RAS and RC the precharge waits RTP after the read's column command.
        let short = |d: &mut Dram| (d.ras_cycles, d.rc_cycles) = (1, 1);
        assert_eq!(last_of(short, &conflict), 12 + 2 + 12 + 12 + 12 + 2);
        let long_rtp = |d: &mut Dram| (d.ras_cycles, d.rc_cycles, d.rtp_cycles) = (1, 1, 9);
        assert_eq!(last_of(long_rtp, &conflict), 12 + 9 + 12 + 12 + 12 + 2);
        // A write's data end at 12 + 4 + 2; a read of its row waits CDLR, of another row WR, RP, RCD.
        assert_eq!(last_of(as_is, &[(0, WRITE, 0), (0, READ, 64)]), 18 + 5 + 12 + 2);
        assert_eq!(last_of(as_is, &[(0, WRITE, 0), (0, READ, 1 << 16)]), 18 + 12 + 12 + 12 + 12 + 2);
        assert_eq!(last_of(|d| d.wl_cycles = 9, &[(0, WRITE, 0), (0, READ, 64)]), 23 + 5 + 12 + 2);
        // A write after a read waits for the bus turnaround: its column command comes 12 + 12 + 2 + 1 - 4
        // after the start.
        let turned = [(0, READ, 0), (0, WRITE, 64), (23, READ, 128)];
        assert_eq!(last_of(as_is, &turned), (23 + 4 + 2) + 5 + 12 + 2);
    }

    #[test]
    fn bandwidth_never_exceeds_the_bus() {
        let (mut channel, mut stats) = (channel(), Counters::default());
        let mut last = 0;
        let mut sent = 0u64;
        for cycle in 0..20_000u64 {
            while channel.has_room() {
                channel.push(cycle, Burst { write: sent.is_multiple_of(5), address: sent * 64, tag: 0 });
                sent += 1;
            }
            channel.run_to(cycle, &mut stats);
            while let Some(done) = channel.take_done(cycle) {
                last = done.cycle;
            }
        }
        assert!(stats.dram_busy_cycles <= last + 64);
        assert!(stats.dram_busy_cycles * 10 >= 20_000 * 5, "only {} busy cycles", stats.dram_busy_cycles);
    }
}
