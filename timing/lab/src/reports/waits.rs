//! Cycles that warps waited, by instruction, from the records of SM 0.

use crate::observe::record::{Fate, InstRecord, NEVER, Origin};
use crate::replay::Replay;
use std::collections::HashMap;
use trace_format::isa::{MachineKernel, Position};
use trace_format::reader::Trace;

/// Cycles that the warps of a kernel waited on SM 0, by instruction.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// Position of the kernel in the trace.
    pub kernel: u32,
    /// By instruction.
    spots: Vec<Spot>,
    /// Whether the limit was reached in a launch.
    pub cut: bool,
}

/// Counts of an instruction or line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Cycles that warps waited before it.
    pub cycles: u64,
    /// Warp instructions.
    pub issued: u64,
    /// Lanes in which they took effect.
    pub lanes: u64,
}

impl Spot {
    pub(crate) fn add(&mut self, other: Spot) {
        self.cycles += other.cycles;
        self.issued += other.issued;
        self.lanes += other.lanes;
    }
}

impl Waits {
    /// Sums the recordings of a replay's launches, kernels in the order of their first launch.
    pub(crate) fn by_kernel(trace: &Trace, replay: &Replay) -> Vec<Waits> {
        let mut all: Vec<Waits> = Vec::new();
        let mut positions: HashMap<u32, usize> = HashMap::new();
        for launch in replay.launches.iter() {
            positions.entry(launch.kernel_index).or_insert_with(|| {
                let spots = vec![Spot::default(); trace.kernel(launch.kernel_index).insts.len()];
                all.push(Waits { kernel: launch.kernel_index, spots, cut: false });
                all.len() - 1
            });
        }
        for (launch, recording) in &replay.recordings {
            let of = &mut all[positions[&replay.launches.get(*launch).kernel_index]];
            of.cut |= recording.full_at.is_some();
            add_records(&mut of.spots, &recording.insts);
        }
        all
    }

    /// The same by line of translated code, ascending; line 0 stands for instructions without line.
    pub(crate) fn by_line(&self, kernel: &MachineKernel) -> Vec<(Position, Spot)> {
        let mut lines: std::collections::BTreeMap<Position, Spot> = std::collections::BTreeMap::new();
        for (spot, line) in self.spots.iter().zip(&kernel.lines) {
            lines.entry(line.code).or_default().add(*spot);
        }
        lines.into_iter().filter(|(_, spot)| spot.issued > 0).collect()
    }

    pub(crate) fn total(&self) -> Spot {
        let mut sum = Spot::default();
        self.spots.iter().for_each(|spot| sum.add(*spot));
        sum
    }
}

/// Adds the issues of warps: each is charged the cycles since the warp's last issue, the first since its fetch.
fn add_records(spots: &mut [Spot], records: &[InstRecord]) {
    let mut last: HashMap<(u32, u32), u64> = HashMap::new();
    let issued = |record: &&InstRecord| {
        record.origin == Origin::Program && record.issued != NEVER && record.fate != Fate::Flushed
    };
    for record in records.iter().filter(issued) {
        let since = last.insert((record.block, record.warp), record.issued).unwrap_or(record.fetched);
        if let Some(spot) = spots.get_mut(record.pc as usize) {
            spot.add(Spot {
                cycles: record.issued.saturating_sub(since),
                issued: 1,
                lanes: u64::from(record.exec.count_ones()),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pc: u32, warp: u32, fetched: u64, issued: u64, fate: Fate) -> InstRecord {
        InstRecord {
            pc,
            origin: Origin::Program,
            warp_slot: warp as u8,
            block: 0,
            warp,
            exec: 0xff,
            fetched,
            decoded: fetched + 1,
            issued,
            collected: NEVER,
            started: NEVER,
            completed: NEVER,
            ended: NEVER,
            fate,
        }
    }

    #[test]
    fn cycles_between_issues_of_a_warp_belong_to_the_later_instruction() {
        let mut spots = vec![Spot::default(); 3];
        add_records(
            &mut spots,
            &[
                record(0, 0, 10, 14, Fate::Retired),
                record(0, 1, 11, 15, Fate::Retired),
                record(1, 0, 12, 40, Fate::Retired),
                record(2, 1, 12, NEVER, Fate::Flushed),
                record(1, 1, 13, 16, Fate::InFlight),
                record(9, 1, 13, 17, Fate::Retired),
            ],
        );
        assert_eq!(spots[0], Spot { cycles: 4 + 4, issued: 2, lanes: 16 });
        assert_eq!(spots[1], Spot { cycles: 26 + 1, issued: 2, lanes: 16 });
        assert_eq!(spots[2], Spot::default());
    }
}
