//! The causes that can limit a kernel, each with its scheduler slots, its evidence and advice.
//!
//! A cause is one row of [`LIMITS`]; every cause of the accounting belongs to exactly one row.

use super::facts::Facts;
use super::words::{NO_BREAK, number};
use crate::occupancy::Limit as Resource;
use crate::stats::{Stall, TechniqueStats};

/// A cause that can limit a kernel.
#[derive(Debug)]
pub struct Limit {
    /// Name as in JSON.
    pub name: &'static str,
    /// Text after "limited by".
    pub title: &'static str,
    /// Label of the slots in the table.
    pub label: &'static str,
    /// Causes of the accounting.
    pub causes: &'static [Stall],
    /// Evidence and advice.
    pub explain: fn(&Facts) -> Finding,
}

/// A sentence or two with figures, and advice where there is any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The evidence.
    pub why: String,
    /// Advice.
    pub advice: Vec<String>,
}

impl Finding {
    fn new(why: impl Into<String>) -> Finding {
        Finding { why: why.into(), advice: Vec::new() }
    }

    fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.advice.push(advice.into());
        self
    }

    fn advise_if(self, when: bool, advice: &str) -> Finding {
        if when { self.advise(advice) } else { self }
    }
}

/// Every cause.
pub(super) const LIMITS: &[Limit] = &[
    Limit {
        name: "issue",
        title: "issue: the schedulers are busy",
        label: "issuing",
        causes: &[Stall::Issued],
        explain: issue,
    },
    Limit {
        name: "pairing",
        title: "dual issue: second slots find nothing to pair",
        label: "nothing to pair in the second slot",
        causes: &[Stall::DualIssue],
        explain: pairing,
    },
    Limit {
        name: "memory",
        title: "waiting for memory",
        label: "waiting for loads",
        causes: &[Stall::MemoryDependency, Stall::Fence],
        explain: memory,
    },
    Limit {
        name: "load_store",
        title: "the load/store unit and L1",
        label: "load/store unit full",
        causes: &[Stall::MemoryQueueFull],
        explain: load_store,
    },
    Limit {
        name: "dependencies",
        title: "dependencies between instructions",
        label: "waiting for arithmetic results",
        causes: &[Stall::AluDependency, Stall::Branch],
        explain: dependencies,
    },
    Limit {
        name: "operand_constants",
        title: "operands in constant memory",
        label: "waiting for operands in constant memory",
        causes: &[Stall::ConstantMiss],
        explain: operand_constants,
    },
    Limit {
        name: "operand_collection",
        title: "operand collection",
        label: "operands still being read",
        causes: &[Stall::CollectorFull],
        explain: collection,
    },
    Limit {
        name: "units",
        title: "execution units",
        label: "execution units busy",
        causes: &[Stall::UnitBusy],
        explain: units,
    },
    Limit {
        name: "fetch",
        title: "instruction fetch",
        label: "no instruction fetched yet",
        causes: &[Stall::IBufferEmpty, Stall::ICacheMiss],
        explain: fetch,
    },
    Limit {
        name: "barriers",
        title: "barriers",
        label: "waiting at barriers",
        causes: &[Stall::Barrier],
        explain: barriers,
    },
    Limit {
        name: "drain",
        title: "warps that end and begin",
        label: "warps starting, or ended and draining",
        causes: &[Stall::Drain],
        explain: drain,
    },
    Limit {
        name: "idle",
        title: "schedulers without a warp",
        label: "no warp on the scheduler",
        causes: &[Stall::NoWarp],
        explain: idle,
    },
    Limit {
        name: "launch",
        title: "launch latency",
        label: "launch latency",
        causes: &[Stall::Launch],
        explain: launch,
    },
    Limit {
        name: "active_set",
        title: "the active set of the two-level scheduler",
        label: "ready warps outside the active set",
        causes: &[Stall::Inactive],
        explain: active_set,
    },
    Limit {
        name: "technique",
        title: "the technique",
        label: "stalled by the technique",
        causes: &[Stall::Technique],
        explain: technique,
    },
];

/// Utilisation above which a bandwidth counts as the bottleneck.
const BANDWIDTH_BOUND: f64 = 0.6;

fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.01 {
        format!("less than{NO_BREAK}1{NO_BREAK}%")
    } else {
        format!("{:.0}{NO_BREAK}%", part * 100.0)
    }
}

fn issue(f: &Facts) -> Finding {
    Finding::new(format!(
        "{:.2} of {:.0} warp instructions per cycle and SM issue; {} of them run on {} units, with {:.1} of 32 lanes.",
        f.ipc_per_sm,
        f.peak_ipc_per_sm,
        percent(f.busiest_unit_share),
        f.busiest_unit,
        f.lanes
    ))
    .advise("Fewer instructions for the same work: wider loads, unrolled loops, addresses computed once.")
    .advise_if(f.lanes < 24.0, "Work arranged so that the lanes of a warp take the same path.")
}

fn pairing(f: &Facts) -> Finding {
    let issued = f.ipc_per_sm / f.peak_ipc_per_sm * 2.0;
    Finding::new(format!(
        "Schedulers issue {issued:.2} instructions per cycle of the two they could; the second of a pair has to be \
         independent and, on this GPU, for another unit."
    ))
    .advise("Independent instructions for different units next to each other.")
}

/// Cycles that a shared access takes longer, from which on the reason is named.
const SHARED_BOUND: f64 = 0.5;

fn has_bank_conflicts(f: &Facts) -> bool {
    f.shared_accesses > 0 && f.shared_conflict_cycles > SHARED_BOUND
}

fn has_shared_contention(f: &Facts) -> bool {
    f.shared_accesses > 0 && f.shared_atomic_conflict_cycles > SHARED_BOUND
}

/// Whether accesses to global memory take a quarter more sectors than their data would fill side by side, and more than a
/// word per lane fills.
fn has_gaps(f: &Facts) -> bool {
    f.sectors_per_access > 5.0 && f.sectors_per_access > 1.25 * f.needed_sectors_per_access
}

/// Whether they take more than twice these sectors.
fn is_uncoalesced(f: &Facts) -> bool {
    f.sectors_per_access > 8.0 && f.sectors_per_access > 2.0 * f.needed_sectors_per_access
}

/// Part of the accesses from which on atomics are named, and the factor by which contended ones are slower.
const ATOMIC_BOUND: f64 = 0.05;
const CONTENDED: u64 = 3;

/// Atomics that wait for one another: lanes of a warp at one address, or warps at few addresses.
fn contended_atomics(f: &Facts) -> Option<Finding> {
    let slow = f.atomic_median_cycles > CONTENDED * f.unloaded_l2_cycles;
    if f.atomic_accesses < ATOMIC_BOUND || (!slow && f.lanes_per_atomic_address < 2.0) {
        return None;
    }
    let mut parts = Vec::new();
    if f.lanes_per_atomic_address >= 2.0 {
        parts.push(format!("{:.1} lanes of a warp meet at one address", f.lanes_per_atomic_address));
    }
    if slow {
        parts.push(format!(
            "half of those that return a value take more than {} cycles, where an access to L2 alone takes about {}",
            number(f.atomic_median_cycles),
            number(f.unloaded_l2_cycles)
        ));
    }
    let finding = Finding::new(format!(
        "Contended atomics: {} of the accesses to global memory are atomics, which an L2 slice serves one after the other \
         for each address; {}.",
        percent(f.atomic_accesses),
        parts.join("; ")
    ));
    Some(finding.advise(
        "Values combined in the warp (reductions, votes) or in shared memory first, then one atomic for all; or counters \
         spread over more addresses.",
    ))
}

fn memory(f: &Facts) -> Finding {
    if let Some(finding) = contended_atomics(f) {
        return finding;
    }
    let from = format!(
        "half of the loads take more than {} cycles, 1{NO_BREAK}% more than {}; {}",
        number(f.load_median_cycles),
        number(f.load_p99_cycles),
        sources(f)
    );
    let dram = format!(
        "DRAM moves {:.0} of {:.0}{NO_BREAK}GB/s ({})",
        f.dram_gb_per_s,
        f.dram_peak_gb_per_s,
        percent(f.dram_utilisation)
    );
    if f.dram_utilisation >= BANDWIDTH_BOUND {
        return Finding::new(format!(
            "DRAM bandwidth: {dram}, with {} of the bursts in an open row; {from}.",
            percent(f.dram_row_hits)
        ))
        .advise("Fewer bytes: narrower types, data used again from registers, shared memory or cache.")
        .advise_if(f.dram_row_hits < 0.6, "Accesses in order of addresses, so that rows stay open.");
    }
    if f.l2_utilisation >= BANDWIDTH_BOUND || f.reply_utilisation >= BANDWIDTH_BOUND {
        return Finding::new(format!(
            "L2 bandwidth: its slices are busy in {} of the cycles, the ports back to the SMs in {}; {from}.",
            percent(f.l2_utilisation),
            percent(f.reply_utilisation)
        ))
        .advise("Data used again from shared memory or L1 instead of L2.")
        .advise_if(has_gaps(f), "Neighbouring lanes on neighbouring addresses: fewer sectors per access.");
    }
    let finding = Finding::new(format!(
        "Memory latency, not bandwidth: {from}. {dram}, L2 is busy in {} of its cycles, and {:.1} warps per SM are resident \
         to hide the time.",
        percent(f.l2_utilisation),
        f.resident_warps
    ));
    let finding =
        finding.advise("More independent loads per warp before the first use, or loads issued earlier.");
    let few = f.resident_warps < 0.5 * f.max_warps as f64;
    let finding = if few && f.possible_warps < f.max_warps {
        finding.advise(occupancy_advice(f))
    } else {
        finding
            .advise_if(few, "More blocks, or more threads per block: the warp slots are not even half full.")
    };
    let finding = finding.advise_if(
        f.load_p99_cycles > 4 * f.load_median_cycles,
        "Addresses spread more evenly: the slowest loads take several times as long as most, as where many crowd on few \
         slices or rows.",
    );
    finding.advise_if(
        f.loads_from_l1 == 0.0 && f.l1_accesses == 0,
        "Data that are used again through shared memory or read-only loads: global loads bypass L1 on this GPU.",
    )
}

/// Levels of the hierarchy that served loads.
fn sources(f: &Facts) -> String {
    let levels = [("L1", f.loads_from_l1), ("L2", f.loads_from_l2), ("DRAM", f.loads_from_dram)];
    if let Some((level, _)) = levels.iter().find(|(_, part)| *part == 1.0) {
        return format!("all find their data in {level}");
    }
    let parts: Vec<String> = levels
        .iter()
        .filter(|(_, part)| *part > 0.0)
        .map(|(level, part)| format!("{} in {level}", percent(*part)))
        .collect();
    format!("they find their data: {}", parts.join(", "))
}

fn load_store(f: &Facts) -> Finding {
    if let Some(finding) = contended_atomics(f) {
        return finding;
    }
    // Notes name what makes single accesses longer, with advice; it is not said twice.
    let has_note = is_uncoalesced(f) || has_bank_conflicts(f) || has_shared_contention(f);
    let mut parts = Vec::new();
    if f.lines_per_access > 0.0 && !is_uncoalesced(f) {
        parts.push(format!(
            "an access to global memory takes {:.1} lines and {:.1} sectors, and its data fill {:.1} sectors",
            f.lines_per_access, f.sectors_per_access, f.needed_sectors_per_access
        ));
    }
    if has_note {
        parts.push("some accesses take longer than their data need, as noted below".to_owned());
    }
    if f.l1_stalls >= 0.01 {
        parts.push(format!(
            "the access at the head waits for an MSHR or a miss queue entry of L1 in {} of the cycles",
            percent(f.l1_stalls)
        ));
    }
    parts
        .push(format!("{} of the instructions are loads, stores or atomics", percent(f.memory_instructions)));
    Finding::new(format!(
        "Memory instructions arrive faster than the unit serves them: {}.",
        parts.join("; ")
    ))
    .advise_if(
        has_gaps(f) && !is_uncoalesced(f),
        "Neighbouring lanes on neighbouring addresses: fewer sectors per access.",
    )
    .advise_if(
        !has_note && !has_gaps(f),
        "Fewer and wider accesses (64 or 128 bits per lane), or values kept in registers.",
    )
}

const PADDING: &str = "A padding word per row of the shared array, so that lanes meet in different banks.";

const FEWER_SHARED_ATOMICS: &str =
    "Values combined in the warp first (reductions, votes), or a copy of the shared counters for each warp.";

fn dependencies(f: &Facts) -> Finding {
    let few = f.resident_warps < 0.25 * f.max_warps as f64;
    let finding = Finding::new(format!(
        "An instruction other than a load takes {} cycles in the median from issue to writeback, {:.1} of them to \
         collect operands, and {:.1} warps per SM are resident to fill them.",
        f.alu_median_cycles, f.collection_cycles, f.resident_warps
    ))
    .advise("More independent work per warp: several independent results, loops unrolled.");
    if few && f.possible_warps < f.max_warps {
        finding.advise(occupancy_advice(f))
    } else {
        finding.advise_if(few, "More blocks, or more threads per block: most warp slots are empty.")
    }
}

fn collection(f: &Facts) -> Finding {
    if f.collectors == 0 {
        return Finding::new(format!(
            "Instructions have their operands {:.1} cycles after issue; what waits for a port of a bank holds up those behind it.",
            f.collection_cycles
        ))
        .advise("More ports (register_file.bank_ports), or a longer window for the reads (sub_core.read_window_cycles).");
    }
    Finding::new(format!(
        "Instructions spend {:.1} cycles collecting operands; per instruction, requests wait {:.2} cycles for a bank and \
         {:.2} for the collector's port.",
        f.collection_cycles, f.bank_conflict_cycles, f.port_conflict_cycles
    ))
    .advise_if(
        f.port_conflict_cycles >= f.bank_conflict_cycles,
        "More ports per collector (collectors.ports), or forwarding: --tech bow.",
    )
    .advise_if(
        f.bank_conflict_cycles > f.port_conflict_cycles,
        "More banks or ports (register_file.banks, bank_ports), another mapping, or coalesced reads: --tech corf.",
    )
}

fn operand_constants(f: &Facts) -> Finding {
    let short = f.run_cycles / f.launches.max(1) < 10_000;
    Finding::new(
        "Constants that instructions name as operands, parameters among them, were not in the small cache that each sub-core has of \
         them; after a miss its scheduler waits before it tries other warps.",
    )
    .advise_if(short, "More work per launch: every sub-core misses once for each line of parameters.")
    .advise_if(!short, "Fewer or closer constants in loops, or a larger cache (sub_core.constant_sets).")
}

fn units(f: &Facts) -> Finding {
    Finding::new(format!(
        "Instructions have their operands and wait for a unit; {} of all run on {} units.",
        percent(f.busiest_unit_share),
        f.busiest_unit
    ))
    .advise("Another mix of instructions, or more of these units or lanes (units.NAME).")
}

fn fetch(f: &Facts) -> Finding {
    let misses = f.icache_miss_slots >= 0.5;
    let short = f.run_cycles / f.launches.max(1) < 10_000;
    Finding::new(format!(
        "Warps wait for instructions: in {} of these slots for a line of code from L2, otherwise for fetch and decode.",
        percent(f.icache_miss_slots)
    ))
    .advise_if(
        misses && short,
        "More work per launch: every SM loads the code once, which a kernel of a few thousand cycles notices.",
    )
    .advise_if(misses && !short, "A smaller loop body (less unrolling), or a larger cache (front_end.icache).")
    .advise_if(!misses, "Fewer jumps, or more warps that fetch per cycle (front_end.fetch_warps_per_cycle).")
}

fn barriers(f: &Facts) -> Finding {
    Finding::new(format!(
        "Warps come to {:.1} barriers each and wait there for the slowest of their block; an SM holds {} block{}.",
        f.barriers_per_warp,
        f.blocks_per_sm,
        if f.blocks_per_sm == 1 { "" } else { "s" }
    ))
    .advise("Smaller blocks, so that another block runs while one waits; or less work between unequal warps.")
    .advise_if(f.blocks_per_sm == 1, "Less shared memory or fewer registers per block, so that two blocks fit an SM.")
}

fn drain(f: &Facts) -> Finding {
    if let Some(finding) = contended_atomics(f) {
        return finding;
    }
    Finding::new(format!(
        "Schedulers hold only warps that have just started or that have ended and wait for their last accesses; a warp runs \
         {:.0} instructions.",
        f.warp_instructions as f64 / (f.blocks_per_launch * f.launches as f64).max(1.0)
            / (f.threads_per_block as f64 / 32.0).ceil().max(1.0)
    ))
    .advise("More work per thread, so that start and end cost less; stores earlier in the kernel.")
}

fn idle(f: &Facts) -> Finding {
    let sms = f.sms as f64;
    let finding = Finding::new(format!(
        "{:.1} of {} SMs have warps on average; a launch has {:.0} block{}, an SM holds up to {}.",
        f.active_sms,
        f.sms,
        f.blocks_per_launch,
        if f.blocks_per_launch == 1.0 { "" } else { "s" },
        f.blocks_per_sm
    ));
    if f.blocks_per_launch < sms {
        finding.advise("More and smaller blocks: there are fewer than SMs.")
    } else if (f.threads_per_block as f64 / 32.0) < f.peak_ipc_per_sm && f.blocks_per_launch < 2.0 * sms {
        finding.advise("More threads per block or more blocks: some schedulers get no warp.")
    } else {
        finding.advise("Blocks of more equal or smaller work: SMs that are done wait for the last ones.")
    }
}

fn launch(f: &Facts) -> Finding {
    let each = f.launch_cycles / f.launches.max(1);
    let run = number(f.run_cycles / f.launches.max(1));
    let each = number(each);
    Finding::new(if f.launches == 1 {
        format!("{each} cycles pass before the first block; the kernel itself takes {run}.")
    } else {
        let launches = number(f.launches);
        format!("{launches} times {each} cycles pass before the first block; the kernel itself takes {run} on average.")
    })
    .advise_if(
        f.launches > 1,
        "Several launches made one: more work per launch, or loops moved into the kernel.",
    )
    .advise_if(f.launches == 1, "More work per launch; --set launch.latency_cycles=0 shows the kernel alone.")
}

/// Share of opportunities that a technique supplied, and the causes of the lost ones.
fn lost_opportunities(technique: &TechniqueStats) -> Option<Finding> {
    let ledger = &technique.ledger;
    let all = (ledger.opportunities > 0).then_some(ledger.opportunities as f64)?;
    let lost: Vec<String> =
        technique.losses().into_iter().map(|(cause, part)| format!("{cause} {}", percent(part))).collect();
    let rest = if lost.is_empty() { String::new() } else { format!("; lost: {}", lost.join(", ")) };
    let name = technique.info.name;
    let supplied = percent(ledger.supplied as f64 / all);
    Some(Finding::new(format!("Technique {name} supplied {supplied} of its opportunities{rest}.")))
}

fn active_set(_: &Facts) -> Finding {
    Finding::new("Warps were ready, and none of them was in the active set of its scheduler.")
        .advise("A larger active set: `scheduler.two_level_active_warps`.")
}

fn technique(f: &Facts) -> Finding {
    let causes = f.techniques.iter().flat_map(|one| {
        one.stalls().filter(|(_, slots)| *slots > 0).map(move |(cause, slots)| (one, cause, slots))
    });
    let mut causes: Vec<_> = causes.collect();
    causes.sort_by_key(|(_, _, slots)| std::cmp::Reverse(*slots));
    let all: u64 = causes.iter().map(|(_, _, slots)| slots).sum();
    let part = |(one, cause, slots): &(&TechniqueStats, &str, u64)| {
        format!(
            "{}: {} ({})",
            one.info.name,
            cause.replace('_', " "),
            percent(*slots as f64 / all.max(1) as f64)
        )
    };
    let causes: Vec<String> = causes.iter().map(part).collect();
    Finding::new(format!("Techniques stalled ready warps, or their fetch: {}.", causes.join(", ")))
}

fn occupancy_advice(f: &Facts) -> String {
    let more = match f.occupancy_limit {
        Resource::Registers => format!("fewer registers than {} per thread", f.registers_per_thread),
        Resource::SharedMemory => "less shared memory per block".to_owned(),
        Resource::Blocks => format!("blocks of more than {} threads", f.threads_per_block),
        Resource::Warps => "blocks whose warps divide the warp slots".to_owned(),
    };
    format!("Higher occupancy ({} of {} warps are possible now): {more}.", f.possible_warps, f.max_warps)
}

/// Observations independent of the main limit.
#[must_use]
pub(super) fn notes(f: &Facts) -> Vec<Finding> {
    let mut notes: Vec<Finding> = f.techniques.iter().filter_map(lost_opportunities).collect();
    if f.lanes < 24.0 {
        notes.push(
            Finding::new(format!("Divergence: an instruction takes effect in {:.1} of 32 lanes.", f.lanes))
                .advise("Work sorted or compacted so that neighbouring threads do the same."),
        );
    }
    if is_uncoalesced(f) {
        notes.push(
            Finding::new(format!(
                "Uncoalesced: an access to global memory takes {:.1} sectors in {:.1} lines, and its data fill {:.1} sectors.",
                f.sectors_per_access, f.lines_per_access, f.needed_sectors_per_access
            ))
            .advise("Arrays laid out so that neighbouring threads use neighbouring words."),
        );
    }
    if has_bank_conflicts(f) {
        notes.push(
            Finding::new(format!(
                "Bank conflicts: an access to shared memory takes {:.1} cycles more than it needs.",
                f.shared_conflict_cycles
            ))
            .advise(PADDING),
        );
    }
    if has_shared_contention(f) {
        notes.push(
            Finding::new(format!(
                "Contended shared atomics: an access to shared memory takes {:.1} cycles more because lanes meet at one \
                 address.",
                f.shared_atomic_conflict_cycles
            ))
            .advise(FEWER_SHARED_ATOMICS),
        );
    }
    if f.possible_warps * 2 <= f.max_warps {
        notes.push(
            Finding::new(format!("Occupancy: an SM can hold {} of {} warps.", f.possible_warps, f.max_warps))
                .advise(occupancy_advice(f)),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::replay::LaunchStats;
    use trace_format::isa::{SpecialReg, Src};
    use trace_format::semantics::Geometry;
    use warplab_model::testing::{Builder, Hand, r};

    #[test]
    fn every_cause_of_the_accounting_belongs_to_one_limit() {
        for cause in Stall::ALL {
            let rows = LIMITS.iter().filter(|limit| limit.causes.contains(cause)).count();
            assert_eq!(rows, 1, "{}", cause.name());
        }
    }

    /// Evidence of the memory row for blocks of which every lane adds 1 four times at `lane << shift`.
    fn evidence_of_atomics(shift: u32, threads: u32) -> String {
        let mut b = Builder::default();
        b.special(4, SpecialReg::LaneId).shl(6, 4, shift).mov(7, 0).mov(8, 1);
        for _ in 0..4 {
            b.atomic_add(10, 6, 8).iadd(11, r(10), r(10), Src::RZ);
        }
        let hand = Hand::new(b.exit(), 8, threads);
        let config = load("titanx-pascal", &["launch.latency_cycles=0".to_owned()]).expect("valid").config;
        let stats = hand.run_on(&config, &[], 1).expect("a replay");
        let launch = LaunchStats {
            kernel: "k".to_owned(),
            kernel_index: 0,
            launch: 0,
            stream: 0,
            blocks: 8,
            geometry: Geometry { grid: [8, 1, 1], block: [threads, 1, 1] },
            grid_blocks: 8,
            threads_per_block: threads,
            blocks_per_sm: 1,
            occupancy_limit: Resource::Warps,
            preferred_shared_bytes: None,
            registers_per_thread: 16,
            ended_at: stats.counters.cycles,
            stats,
            per_sm: Vec::new(),
            launched_at: 0,
        };
        memory(&Facts::new(&launch.into(), &config)).why
    }

    #[test]
    fn contended_atomics_are_named() {
        let hot = evidence_of_atomics(31, 256);
        let share = format!("Contended atomics: 100{NO_BREAK}%");
        assert!(hot.contains(&share) && hot.contains("16.0 lanes"), "{hot}");
        let spread = evidence_of_atomics(2, 32);
        assert!(!spread.contains("atomics"), "{spread}");
    }
}
