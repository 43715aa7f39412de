//! One DRAM channel: banks with row buffers, command timing, and the FIFO or FR-FCFS choice among its queue.
//!
//! At most one command per command-clock cycle. The channel says when it can next do something, so that it
//! costs nothing in between. Refresh is not modelled. Queueing before and fills after are the partition's.

use super::address::DramMap;
use crate::config::{Dram, DramScheduler};
use crate::stats::Counters;

/// One burst to transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Whether it writes.
    pub write: bool,
    /// Address within the channel.
    pub address: u64,
    /// The caller's name for it, returned with its completion.
    pub tag: u32,
}

/// A burst whose data have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Command-clock cycle at which the last beat has passed.
    pub cycle: u64,
    /// The burst's tag.
    pub tag: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    burst: Burst,
    bank: u32,
    row: u64,
    activated: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    open: Option<u64>,
    /// Earliest activate, precharge and column command.
    activate_at: u64,
    precharge_at: u64,
    column_at: u64,
}

/// A channel; cycles are those of its command clock.
#[derive(Clone, Debug)]
pub struct Channel {
    config: Dram,
    map: DramMap,
    banks: Vec<Bank>,
    queue: Vec<Queued>,
    burst_cycles: u64,
    activate_at: u64,
    /// Earliest column command by group of the last one: same group, other group.
    last_column: Option<(u64, u32)>,
    read_at: u64,
    write_at: u64,
    bus_free_at: u64,
    wake_at: u64,
    done: std::collections::VecDeque<Done>,
}

/// The command that a request needs next.
enum Command {
    Column,
    Activate,
    Precharge,
}

impl Channel {
    /// An idle channel.
    #[must_use]
    pub fn new(config: &Dram) -> Channel {
        Channel {
            map: DramMap::new(config),
            banks: vec![Bank::default(); config.banks as usize],
            queue: Vec::with_capacity(config.queue_entries as usize),
            burst_cycles: u64::from((config.burst_length / config.data_rate).max(1)),
            activate_at: 0,
            last_column: None,
            read_at: 0,
            write_at: 0,
            bus_free_at: 0,
            wake_at: u64::MAX,
            done: std::collections::VecDeque::new(),
            config: config.clone(),
        }
    }

    /// Whether another burst fits into the queue.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.queue.len() < self.config.queue_entries as usize
    }

    /// Bursts that wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Adds a burst at a cycle.
    pub fn push(&mut self, cycle: u64, burst: Burst) {
        let place = self.map.split(burst.address);
        self.queue.push(Queued { burst, bank: place.bank, row: place.row, activated: false });
        self.wake_at = self.wake_at.min(cycle);
    }

    /// Next cycle in which a command may be possible; `u64::MAX` when there is nothing to do.
    #[must_use]
    pub fn wake_at(&self) -> u64 {
        self.wake_at
    }

    /// Cycle of the earliest completion that has not been taken.
    #[must_use]
    pub fn done_at(&self) -> Option<u64> {
        self.done.front().map(|done| done.cycle)
    }

    /// Takes the earliest completion if it has happened by `cycle`.
    pub fn take_done(&mut self, cycle: u64) -> Option<Done> {
        if self.done.front()?.cycle <= cycle { self.done.pop_front() } else { None }
    }

    /// Runs every cycle up to and including `cycle`.
    pub fn run_to(&mut self, cycle: u64, stats: &mut Counters) {
        while self.wake_at <= cycle {
            let now = self.wake_at;
            self.wake_at = self.command(now, stats);
        }
    }

    /// Issues at most one command and returns the next cycle worth looking at.
    fn command(&mut self, now: u64, stats: &mut Counters) -> u64 {
        if self.queue.is_empty() {
            return u64::MAX;
        }
        let window = match self.config.scheduler {
            DramScheduler::Fifo => 1,
            DramScheduler::FrFcfs => self.queue.len(),
        };
        let mut next = u64::MAX;
        // Row hits first, in order of arrival; then, per bank, the oldest request's row command.
        let mut hit_banks = 0u64;
        for index in 0..window {
            let request = self.queue[index];
            if self.banks[request.bank as usize].open == Some(request.row) {
                hit_banks |= 1 << request.bank;
                let at = self.earliest(&request, &Command::Column);
                if at <= now {
                    self.column(now, index, stats);
                    return now + 1;
                }
                next = next.min(at);
            }
        }
        let mut seen_banks = hit_banks;
        for index in 0..window {
            let request = self.queue[index];
            if seen_banks >> request.bank & 1 != 0 {
                continue;
            }
            seen_banks |= 1 << request.bank;
            let command = if self.banks[request.bank as usize].open.is_some() {
                Command::Precharge
            } else {
                Command::Activate
            };
            let at = self.earliest(&request, &command);
            if at <= now {
                self.row_command(now, index, &command, stats);
                return now + 1;
            }
            next = next.min(at);
        }
        next.max(now + 1)
    }

    fn earliest(&self, request: &Queued, command: &Command) -> u64 {
        let bank = &self.banks[request.bank as usize];
        match command {
            Command::Precharge => bank.precharge_at,
            Command::Activate => bank.activate_at.max(self.activate_at),
            Command::Column => {
                let c = &self.config;
                let (turnaround, latency) = if request.burst.write {
                    (self.write_at, c.wl_cycles)
                } else {
                    (self.read_at, c.cl_cycles)
                };
                let groups = c.bank_groups;
                let spacing = match self.last_column {
                    None => 0,
                    Some((at, group)) if groups > 1 && group == request.bank % groups => {
                        at + u64::from(c.ccdl_cycles)
                    }
                    Some((at, _)) => at + u64::from(c.ccd_cycles),
                };
                let bus = self.bus_free_at.saturating_sub(u64::from(latency));
                bank.column_at.max(turnaround).max(spacing).max(bus)
            }
        }
    }

    fn column(&mut self, now: u64, index: usize, stats: &mut Counters) {
        let request = self.queue.remove(index);
        let c = &self.config;
        let latency = if request.burst.write { c.wl_cycles } else { c.cl_cycles };
        let end = now + u64::from(latency) + self.burst_cycles;
        self.bus_free_at = end;
        self.last_column = Some((now, request.bank % c.bank_groups));
        let bank = &mut self.banks[request.bank as usize];
        if request.burst.write {
            self.read_at = self.read_at.max(end + u64::from(c.cdlr_cycles));
            bank.precharge_at = bank.precharge_at.max(end + u64::from(c.wr_cycles));
            stats.dram_writes += 1;
        } else {
            // A write must not put its data on the bus before the read's have passed, plus one cycle to turn.
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

    fn row_command(&mut self, now: u64, index: usize, command: &Command, stats: &mut Counters) {
        let c = &self.config;
        let request = &mut self.queue[index];
        let bank = &mut self.banks[request.bank as usize];
        match command {
            Command::Precharge => {
                bank.open = None;
                bank.activate_at = bank.activate_at.max(now + u64::from(c.rp_cycles));
            }
            Command::Activate | Command::Column => {
                bank.open = Some(request.row);
                request.activated = true;
                bank.column_at = now + u64::from(c.rcd_cycles);
                bank.precharge_at = bank.precharge_at.max(now + u64::from(c.ras_cycles));
                bank.activate_at = now + u64::from(c.rc_cycles);
                self.activate_at = now + u64::from(c.rrd_cycles);
                stats.dram_activations += 1;
            }
        }
    }

    /// What the channel holds, for the report of a stuck machine.
    #[must_use]
    pub fn describe(&self) -> String {
        let open = self.banks.iter().filter(|bank| bank.open.is_some()).count();
        format!(
            "DRAM: {} bursts queued, {} completions, {open} rows open, wakes at {}",
            self.queue.len(),
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
        let mut fifo = Channel::new(&Dram { scheduler: DramScheduler::Fifo, ..channel.config.clone() });
        fifo.push(0, Burst { write: false, address: 0, tag: 0 });
        fifo.push(0, Burst { write: false, address: 1 << 16, tag: 1 });
        fifo.push(0, Burst { write: false, address: 64, tag: 2 });
        let done = drain(&mut fifo, &mut Counters::default());
        assert_eq!(done.iter().map(|d| d.tag).collect::<Vec<_>>(), [0, 1, 2]);
        // Activate at 0, precharge at RAS 28, activate after RP 12 and RC 40, column after RCD 12, data after CL 12.
        assert_eq!(done[1].cycle, 40 + 12 + 12 + 2);
    }

    #[test]
    fn bandwidth_never_exceeds_the_bus() {
        let (mut channel, mut stats) = (channel(), Counters::default());
        let mut last = 0;
        let mut sent = 0u64;
        for cycle in 0..20_000u64 {
            while channel.has_room() {
                channel.push(cycle, Burst { write: sent % 5 == 0, address: sent * 64, tag: 0 });
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
