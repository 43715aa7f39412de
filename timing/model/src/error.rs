//! Errors that end a replay.

use crate::source::SourceError;
use crate::techniques::{Holder, ValueMismatch};
use std::fmt;
use trace_format::reader::Trace;
use trace_format::validate;
use warplab_host::numbers::ranges_of;

/// Launches of a recording that cannot be read, while others may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Their positions in the trace, in ascending order, and the names of their kernels, each with the reason.
    pub launches: Vec<(usize, String, String)>,
    /// Positions of the other launches that were chosen.
    pub others: Vec<usize>,
}

impl Unreadable {
    /// Regenerates the chosen launches of a trace, of which one could not be read; `None` if all of them can.
    #[must_use]
    pub fn among(trace: &Trace, chosen: &[usize], threads: usize) -> Option<Unreadable> {
        let found = validate::unreadable(trace, chosen, threads).ok().filter(|found| !found.is_empty())?;
        let is_bad = |launch: &usize| found.iter().any(|(bad, _)| bad == launch);
        let others = chosen.iter().copied().filter(|launch| !is_bad(launch)).collect();
        let named = |(launch, why)| (launch, trace.kernel_of(launch as u32).name.clone(), why);
        Some(Unreadable { launches: found.into_iter().map(named).collect(), others })
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [(first, kernel, why), more @ ..] = &self.launches[..] else { return Ok(()) };
        let numbers = ranges_of(self.launches.iter().map(|(launch, ..)| *launch as u64));
        let kernel = warplab_host::symbols::signature(kernel);
        match more {
            [] => write!(f, "launch {first} ({kernel}) cannot be read: {why}")?,
            _ => write!(f, "launches {numbers} cannot be read; launch {first} ({kernel}): {why}")?,
        }
        let others = ranges_of(self.others.iter().map(|launch| *launch as u64));
        match others.as_str() {
            "" => {
                write!(f, "\n  help: no other launch is chosen; record the program again with `emu record`")
            }
            _ => write!(
                f,
                "\n  help: --launches {others} leaves {} out; `emu record` records the program again",
                if more.is_empty() { "it" } else { "them" }
            ),
        }
    }
}

/// Error that ended a replay early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The recording of a warp is damaged or incomplete.
    #[error("kernel {kernel}, block {block}, warp {warp}: {why}; run `trace verify` on the file")]
    Recording {
        /// Kernel name.
        kernel: String,
        /// Linear block index.
        block: u32,
        /// Warp within the block.
        warp: u32,
        /// Error of the reader.
        why: SourceError,
    },
    /// Launches of the recording cannot be read.
    #[error("{0}")]
    Unreadable(Box<Unreadable>),
    /// A recorded path names an instruction that the kernel does not have.
    #[error(
        "kernel {kernel}, block {block}, warp {warp}: the recorded path continues at instruction {pc}, beyond the kernel's end; run `trace verify` on the file"
    )]
    PathLeavesKernel {
        /// Kernel name.
        kernel: String,
        /// Linear block index.
        block: u32,
        /// Warp within the block.
        warp: u32,
        /// Instruction index.
        pc: u32,
    },
    /// A technique supplied a value that the program did not produce.
    #[error(transparent)]
    Mismatch(#[from] Box<ValueMismatch>),
    /// A technique replaced an instruction's execution and did not supply all results.
    #[error(
        "technique {technique}: kernel {kernel}, PC {:#06x}, block {block}, warp {warp}: it answered for the instruction and \
         supplied {supplied} of {results} results; every value has to be compared with the recording",
        pc * 8
    )]
    Unsupplied {
        /// Name of the technique.
        technique: &'static str,
        /// Kernel name.
        kernel: String,
        /// Instruction index.
        pc: u32,
        /// Linear block index.
        block: u32,
        /// Warp within the block.
        warp: u32,
        /// Results of the instruction.
        results: u64,
        /// Results that were supplied.
        supplied: u64,
    },
    /// A technique supplied a value whose row it did not have compared for this use.
    #[error(
        "technique {technique}: kernel {kernel}, PC {:#06x}, block {block}, warp {warp}: it supplied {} {} without \
         having its row compared with the recording in this call; a value that replaces the program's goes through {}",
        pc * 8,
        of.noun(),
        of.name(*register),
        match of {
            Holder::Predicate => "`Cx::supply_predicate`",
            Holder::Uniform => "`Cx::supply_uniform`",
            _ => "`Cx::supply` or `Cx::supply_result`",
        }
    )]
    Unchecked {
        /// Name of the technique.
        technique: &'static str,
        /// Kernel name.
        kernel: String,
        /// Instruction index.
        pc: u32,
        /// Linear block index.
        block: u32,
        /// Warp within the block.
        warp: u32,
        /// Number of the register or predicate.
        register: u8,
        /// What it is a number of.
        of: Holder,
    },
    /// The supplied and lost counts of a technique do not sum to its opportunities.
    #[error(
        "technique {technique}, kernel {kernel}: {opportunities} opportunities, but {supplied} supplied and {lost} lost; its \
         accounts must balance"
    )]
    Unbalanced {
        /// Name of the technique.
        technique: &'static str,
        /// Kernel name.
        kernel: String,
        /// Opportunities that it counted.
        opportunities: u64,
        /// Values that it supplied.
        supplied: u64,
        /// Opportunities that it lost, for any cause.
        lost: u64,
    },
    /// Nothing issued for too long.
    #[error("kernel {kernel}: no instruction issued for {cycles} cycles; the machine holds:\n{state}")]
    Stuck {
        /// Kernel name.
        kernel: String,
        /// Cycles without an issue.
        cycles: u64,
        /// State of every component.
        state: String,
    },
    /// The replay reached its limit of cycles.
    #[error("kernel {kernel} had not ended after {cycles} cycles (--max-cycles)")]
    TooManyCycles {
        /// Kernel name.
        kernel: String,
        /// The limit.
        cycles: u64,
    },
    /// A kernel cannot run on this configuration or with these techniques.
    #[error("{0}")]
    Refused(String),
}
