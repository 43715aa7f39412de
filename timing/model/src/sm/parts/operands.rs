//! The way of operands from the banks to the units: collectors, or reads at fixed times in sub-cores.

use super::collectors::{Collected, Collecting, Collectors, Offers};
use super::windows::Windows;
use crate::config::{GpuConfig, Organisation};
use crate::program::TimedInst;
use crate::stats::{Counters, Stall};
use crate::techniques::{Plan, ReadFrom};

/// The organisation of an SM's operands.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "collectors are asked several times a cycle, without a pointer in between"
)]
pub(crate) enum Operands {
    /// Operand collectors.
    Collectors(Collectors),
    /// Sub-cores with reads at fixed times.
    Windows(Box<Windows>),
}

/// Calls a method of either.
macro_rules! either {
    ($self:expr, $part:ident => $call:expr) => {
        match $self {
            Operands::Collectors($part) => $call,
            Operands::Windows($part) => $call,
        }
    };
}

impl Operands {
    /// The parts of a configuration, with what techniques ask for, if there are any.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig, plan: &Plan, has_techniques: bool) -> Operands {
        let extra_cycles = plan.extra_collect_cycles;
        match config.sm.organisation {
            Organisation::Collectors => {
                Operands::Collectors(Collectors::new(config, plan.collectors, extra_cycles))
            }
            Organisation::ControlBits => {
                Operands::Windows(Box::new(Windows::new(config, extra_cycles, has_techniques)))
            }
        }
    }

    /// Begins a cycle.
    #[inline]
    pub(crate) fn advance(&mut self, now: u64) {
        if let Operands::Windows(windows) = self {
            windows.advance(now);
        }
    }

    /// Notes a warp's next instruction.
    #[inline]
    pub(crate) fn look_at(&mut self, warp: usize, inst: &TimedInst) {
        if let Operands::Windows(windows) = self {
            windows.look_at(warp, inst);
        }
    }

    /// Warps of `mask` (all of one scheduler) whose next instruction, of this class, may enter.
    #[inline]
    pub(crate) fn with_room(&self, mask: u64, scheduler: usize, class: usize) -> u64 {
        match self {
            Operands::Collectors(collectors) => collectors.with_room(mask, scheduler, class),
            Operands::Windows(windows) => windows.with_room(mask, scheduler),
        }
    }

    /// Whether a scheduler waits for a line of constants and issues nothing.
    #[inline]
    pub(crate) fn holds(&self, scheduler: usize) -> bool {
        match self {
            Operands::Collectors(_) => false,
            Operands::Windows(windows) => windows.holds(scheduler),
        }
    }

    /// Looks up the constant that a warp's next instruction names, which is about to issue; whether it is there.
    #[inline]
    pub(crate) fn finds_constant(&mut self, warp: usize, scheduler: usize) -> bool {
        match self {
            Operands::Collectors(_) => true,
            Operands::Windows(windows) => windows.finds_constant(warp, scheduler),
        }
    }

    /// Stall cause of a warp whose next instruction may not enter.
    #[must_use]
    pub(crate) fn refuses(&self, warp: usize, scheduler: usize, class: usize) -> Stall {
        match self {
            Operands::Collectors(collectors) => collectors.refuses(warp, scheduler, class),
            Operands::Windows(windows) => windows.refuses(warp, scheduler),
        }
    }

    /// Puts in an issued instruction, for which there must be room; returns the operands that others must not overwrite before
    /// they have been read, one bit each.
    #[inline]
    pub(crate) fn collect(
        &mut self,
        who: Collecting,
        inst: &TimedInst,
        operands: impl Iterator<Item = ReadFrom>,
        now: u64,
    ) -> u16 {
        match self {
            Operands::Collectors(collectors) => collectors.collect(who, operands, now),
            Operands::Windows(windows) => windows.collect(who, inst, operands, now),
        }
    }

    /// Takes the operands that arrive in this cycle; appends the instructions that have all of them.
    #[inline]
    pub(crate) fn take_operands(&mut self, now: u64, collected: &mut Vec<Collected>) {
        either!(self, part => part.take_operands(now, collected));
    }

    /// Cycle of the next operand's arrival.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        either!(self, part => part.next_arrival())
    }

    /// Whether a bank has accesses that wait for it.
    #[inline]
    pub(crate) fn is_reading(&self) -> bool {
        matches!(self, Operands::Collectors(collectors) if collectors.is_reading())
    }

    /// Serves the banks for one cycle.
    #[inline]
    pub(crate) fn serve_banks(&mut self, now: u64, counters: &mut Counters) {
        match self {
            Operands::Collectors(collectors) => collectors.serve_banks(now, counters),
            Operands::Windows(windows) => windows.count(counters),
        }
    }

    /// Queues an access at a bank that no instruction waits for. Sub-cores have ports of their own for them.
    #[inline]
    pub(crate) fn access(&mut self, bank: u8) {
        if let Operands::Collectors(collectors) = self {
            collectors.access(bank);
        }
    }

    /// Cycle in which the data of a load, complete now, are in the registers; none if the result bus decides that. A load of
    /// shared memory took so many passes.
    #[inline]
    pub(crate) fn transfer(
        &mut self,
        scheduler: usize,
        inst: &TimedInst,
        passes: u32,
        now: u64,
    ) -> Option<u64> {
        match self {
            Operands::Collectors(_) => None,
            Operands::Windows(windows) => Some(windows.transfer(scheduler, inst, passes, now)),
        }
    }

    /// Whether instructions with their operands wait to leave.
    #[must_use]
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        either!(self, part => part.has_ready())
    }

    /// The next cycle in which an instruction that is refused because of the time may enter.
    #[must_use]
    #[inline]
    pub(crate) fn next_room(&self) -> Option<u64> {
        match self {
            Operands::Collectors(_) => None,
            Operands::Windows(windows) => windows.next_room(),
        }
    }

    /// Earliest cycle in which an instruction with its operands can leave; `free_at` gives that of a destination, for the warp
    /// slots of a share.
    pub(crate) fn next_departure(&self, free_at: impl Fn(usize, u8) -> u64) -> Option<u64> {
        either!(self, part => part.next_departure(free_at))
    }

    /// Begins a cycle's offers of instructions with their operands.
    #[must_use]
    #[inline]
    pub(crate) fn offers(&self) -> Offers {
        either!(self, part => part.offers())
    }

    /// The next instruction to be offered; the caller answers with [`Operands::taken`] or [`Operands::refused`].
    #[inline]
    pub(crate) fn offer(&self, offers: &mut Offers) -> Option<u16> {
        either!(self, part => part.offer(offers))
    }

    /// The offered instruction has left.
    #[inline]
    pub(crate) fn taken(&mut self, offers: &mut Offers) {
        either!(self, part => part.taken(offers));
    }

    /// The destination of the offered instruction has no room in this cycle.
    #[inline]
    pub(crate) fn refused(&mut self, offers: &mut Offers) {
        either!(self, part => part.refused(offers));
    }

    /// State, for the watchdog's report.
    pub(crate) fn describe(&self) -> String {
        either!(self, part => part.describe())
    }
}
