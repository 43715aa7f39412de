//! Twins of the studies of registers.

use super::super::decode::{Counts, Event, Launch, Words};
use super::pairs;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::isa::{Inst, Kind, MachineKernel, Operand};

fn bytes(words: &Words) -> usize {
    let fits = |n: &usize| {
        let shift = 32 - 8 * n;
        words.iter().all(|&word| ((word << shift) as i32 >> shift) as u32 == word)
    };
    (1..=4).find(fits).expect("four bytes are the word")
}

/// CORF's definitions.
pub(crate) fn width(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    let paired = pairs::exclusive(&launch.kernel, 10);
    let plural = |n: usize| if n == 1 { "1_byte".to_owned() } else { format!("{n}_bytes") };
    for event in launch.events().filter(|event| event.exec != 0) {
        for reg in event.reads() {
            let bytes = bytes(&event.value(reg));
            counts.add(event.pc, format!("reads_{}", plural(bytes)), 1);
            counts.add(event.pc, "unused_read_bytes", 4 - bytes as u64);
        }
        for words in &event.results {
            counts.add(event.pc, format!("writes_{}", plural(bytes(words))), 1);
        }
        let pairs = pairs::read_together(&event.inst);
        if pairs.is_empty() {
            continue;
        }
        let fits = |(a, b): &(u8, u8)| bytes(&event.value(*a)) + bytes(&event.value(*b)) <= 4;
        counts.add(event.pc, "multi_operand_instructions", 1);
        counts.add(event.pc, "multi_operand_reads", event.reads().len() as u64);
        counts.add(event.pc, "coalesceable_instructions", u64::from(pairs.iter().any(fits)));
        let of_compiler: Vec<_> = pairs.iter().filter(|pair| paired.contains(pair)).collect();
        counts.add(event.pc, "pair_reads", of_compiler.len() as u64);
        counts.add(event.pc, "pair_reads_that_fit", of_compiler.iter().filter(|p| fits(p)).count() as u64);
    }
    counts
}

/// An event of a register of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Happens {
    /// A read by an instruction.
    Read(usize),
    /// A write to some lanes; the value stays in the others.
    Kept,
    Write(usize),
}

/// Events of each register of a warp, with the numbers of their instructions.
fn histories(warp: &[Event]) -> BTreeMap<u8, Vec<(u64, Happens)>> {
    let mut histories: BTreeMap<u8, Vec<(u64, Happens)>> = BTreeMap::new();
    for (time, event) in (1..).zip(warp).filter(|(_, event)| event.exec != 0) {
        for reg in event.reads() {
            histories.entry(reg).or_default().push((time, Happens::Read(event.pc)));
        }
        for reg in event.writes() {
            let history = histories.entry(reg).or_default();
            if !event.whole() && history.last().is_some_and(|(last, _)| *last != time) {
                history.push((time, Happens::Kept));
            }
            history.push((time, Happens::Write(event.pc)));
        }
    }
    histories
}

/// BOW's definitions.
pub(crate) fn reuse(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for event in launch.events() {
        let operands = (0..3).filter(|i| event.inst.src_span(*i).is_some()).count();
        counts.add(event.pc, format!("operands_{operands}"), 1);
        // None of the instructions that are tested has a pair of uniform registers.
        let named = event
            .inst
            .src
            .iter()
            .filter(|src| matches!(src.operand, Operand::Uniform(reg) if !reg.is_zero()));
        let reads = named.count() + usize::from(!event.inst.base.is_zero());
        counts.add(event.pc, "uniform_reads", reads as u64);
        counts.add(event.pc, "uniform_writes", u64::from(!event.inst.udst.is_zero()));
    }
    let name = |prefix: &str, gap: u64| {
        if gap < 16 { format!("{prefix}_at_{gap}") } else { format!("{prefix}_far") }
    };
    for warp in launch.warps() {
        for history in histories(warp).values() {
            for (i, (time, happens)) in history.iter().enumerate() {
                let before = i.checked_sub(1).map(|before| history[before].0);
                if let Happens::Read(pc) = happens {
                    counts.add(*pc, name("reads", before.map_or(u64::MAX, |before| time - before)), 1);
                }
                let Happens::Write(pc) = happens else { continue };
                let rest = &history[i + 1..];
                let end = rest.iter().position(|(_, h)| matches!(h, Happens::Write(_))).unwrap_or(rest.len());
                let times: Vec<u64> =
                    std::iter::once(*time).chain(rest[..end].iter().map(|(time, _)| *time)).collect();
                let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
                let Some(longest) = gaps.iter().max() else {
                    let replaced = rest.get(end).map_or(u64::MAX, |(at, _)| at - time);
                    counts.add(*pc, name("replaced", replaced), 1);
                    counts.add(*pc, "to_file", 1);
                    continue;
                };
                counts.add(*pc, name("transient", *longest), 1);
                let destination = match (gaps[0] < 3, *longest < 3) {
                    (false, _) => "to_file",
                    (true, true) => "to_collector",
                    (true, false) => "to_both",
                };
                counts.add(*pc, destination, 1);
            }
        }
    }
    counts
}

/// The register file cache's definitions.
pub(crate) fn lifetime(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for history in launch.warps().flat_map(|warp| histories(warp).into_values()) {
        for (i, (time, happens)) in history.iter().enumerate() {
            let Happens::Write(pc) = happens else { continue };
            let reads: Vec<u64> = history[i + 1..]
                .iter()
                .take_while(|(_, happens)| !matches!(happens, Happens::Write(_)))
                .map(|(at, _)| at - time)
                .collect();
            let name = match reads[..] {
                [] => "read_never".to_owned(),
                [distance @ 1..=3] => format!("read_once_after_{distance}"),
                [_] => "read_once_later".to_owned(),
                [_, _] => "read_twice".to_owned(),
                _ => "read_more".to_owned(),
            };
            counts.add(*pc, name, 1);
            counts.add(*pc, "lifetime_instructions", reads.last().copied().unwrap_or(0));
        }
    }
    counts
}

/// Successors of an instruction; those of a return are the instructions after every call that may reach its function.
fn next(kernel: &MachineKernel, pc: usize) -> Vec<usize> {
    let inst = &kernel.insts[pc];
    let always = inst.is_unguarded();
    let mut next = match inst.kind() {
        Kind::Branch => vec![inst.target.index()],
        Kind::Call => callees(kernel, inst),
        Kind::Return => return_sites(kernel, pc),
        Kind::Exit => vec![],
        Kind::Trap => return vec![],
        _ => return vec![pc + 1],
    };
    if !always && pc + 1 < kernel.insts.len() {
        next.push(pc + 1);
    }
    next
}

fn callees(kernel: &MachineKernel, inst: &Inst) -> Vec<usize> {
    match inst.jumps_to() {
        Some(target) => vec![target.index()],
        None => kernel.entries.iter().map(|(_, pc)| pc.index()).collect(),
    }
}

fn return_sites(kernel: &MachineKernel, ret: usize) -> Vec<usize> {
    let within = |entry: usize| {
        let (mut seen, mut work) = (BTreeSet::new(), vec![entry]);
        while let Some(pc) = work.pop() {
            if pc >= kernel.insts.len() || !seen.insert(pc) {
                continue;
            }
            let inst = &kernel.insts[pc];
            match inst.kind() {
                Kind::Branch => work.push(inst.target.index()),
                Kind::Exit | Kind::Return | Kind::Trap => {}
                _ => work.push(pc + 1),
            }
            if matches!(inst.kind(), Kind::Branch | Kind::Exit | Kind::Return) && !inst.is_unguarded() {
                work.push(pc + 1);
            }
        }
        seen.contains(&ret)
    };
    let calls = (0..kernel.insts.len()).filter(|&pc| kernel.insts[pc].kind() == Kind::Call);
    calls
        .filter(|&call| callees(kernel, &kernel.insts[call]).into_iter().any(within))
        .map(|call| call + 1)
        .filter(|&site| site < kernel.insts.len())
        .collect()
}

/// The instructions from which some path reads a register before it is replaced: those that read it, and backwards
/// from there those that do not replace it.
fn live_before(kernel: &MachineKernel, successors: &[Vec<usize>], reg: u8) -> Vec<bool> {
    let mut predecessors = vec![Vec::new(); kernel.insts.len()];
    for (pc, next) in successors.iter().enumerate() {
        next.iter().filter(|&&to| to < kernel.insts.len()).for_each(|&to| predecessors[to].push(pc));
    }
    let replaces = |inst: &Inst| inst.is_unguarded() && inst.dst_regs().any(|r| r.0 == reg);
    let mut live: Vec<bool> = kernel.insts.iter().map(|inst| inst.src_regs().any(|r| r.0 == reg)).collect();
    let mut work: Vec<usize> = (0..live.len()).filter(|&pc| live[pc]).collect();
    while let Some(pc) = work.pop() {
        for &before in &predecessors[pc] {
            if !live[before] && !replaces(&kernel.insts[before]) {
                live[before] = true;
                work.push(before);
            }
        }
    }
    live
}

/// RegMutex's and LARF's definitions.
pub(crate) fn liveness(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    let kernel = &launch.kernel;
    let registers = u64::from(kernel.regs_per_thread.max(1));
    let successors: Vec<Vec<usize>> = (0..kernel.insts.len()).map(|pc| next(kernel, pc)).collect();
    let mut live = vec![0u64; kernel.insts.len()];
    for reg in 0..=254u8 {
        let here = live_before(kernel, &successors, reg);
        live.iter_mut().zip(here).for_each(|(live, here)| *live += u64::from(here));
    }
    for (pc, live) in live.into_iter().enumerate() {
        let executed = counts.0[pc].get("warp_instructions").copied().unwrap_or(0);
        counts.set(pc, "live_registers", live * executed);
        counts.set(pc, "allocated_registers", registers * executed);
        counts.set(pc, "registers", registers);
        counts.set(pc, "least_live", if executed > 0 { live } else { u64::MAX });
        counts.set(pc, "most_live", if executed > 0 { live } else { 0 });
    }
    for warp in launch.warps() {
        for history in histories(warp).values() {
            for (i, (time, happens)) in history.iter().enumerate() {
                let Happens::Write(pc) = happens else { continue };
                let rest = history[i + 1..].iter().take_while(|(_, h)| !matches!(h, Happens::Write(_)));
                counts.add(*pc, "needed_registers", rest.last().map_or(0, |(last, _)| last - time));
            }
        }
    }
    counts
}
