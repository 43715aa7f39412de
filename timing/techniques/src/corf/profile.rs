//! The register affinity graph by a profile: how often two registers were read together, and how often their values fitted
//! one physical register. The papers weigh by the code alone; section 2.4.1 names profiling as an alternative.

use super::packing::{SLICES, width_bytes};
use crate::{Launch, Profiled};
use warplab_analysis::affinity::{Affinity, Pair, operand_pairs};

/// The graphs of a kernel by a recorded launch.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// By the reads of two registers whose values fitted one physical register.
    pub(super) fitting: Affinity,
    /// By all reads of two registers.
    pub(super) all: Affinity,
}

/// Reads of a pair by an instruction: those that fitted one physical register, and all.
#[derive(Clone, Copy, Debug)]
struct Reads {
    pair: Pair,
    fitting: u64,
    all: u64,
}

impl Profile {
    /// Walks a recorded launch.
    ///
    /// # Errors
    /// The recording has no register values, or is damaged.
    pub(super) fn of(launch: &Launch<'_>, of: Profiled) -> Result<Profile, String> {
        let recording = launch.recording.ok_or("a profile needs a recording with register values")?;
        let mut counted: Vec<Vec<Reads>> = Vec::new();
        for inst in &launch.program.kernel.insts {
            let mut pairs = Vec::new();
            operand_pairs(inst, &mut pairs);
            counted.push(pairs.into_iter().map(|pair| Reads { pair, fitting: 0, all: 0 }).collect());
        }
        recording.walk(of, &mut |at| {
            for Reads { pair, fitting, all } in counted.get_mut(at.pc as usize).into_iter().flatten() {
                let width = |reg: u8| at.rows.get(usize::from(reg)).map_or(SLICES, width_bytes);
                *fitting += u64::from(width(pair.low) + width(pair.high) <= SLICES);
                *all += 1;
            }
        })?;
        let graph = |reads: fn(&Reads) -> u64| {
            let mut graph = Affinity::default();
            for of in counted.iter().flatten().filter(|of| reads(of) > 0) {
                graph.add(of.pair, reads(of));
            }
            graph
        };
        Ok(Profile { fitting: graph(|of| of.fitting), all: graph(|of| of.all) })
    }
}
