//! Finds the instructions of a kernel that may poll memory for changes by others.

use trace_format::isa::{BlockId, Flow};
use trace_format::isa::{Inst, Kind, MachineKernel, Op};

/// Maximum length of a polling loop in instructions.
const LONGEST_LOOP: u32 = 256;

/// Marks the instructions that may poll: atomics with results, strong loads, and loads in loops that only the
/// loaded values can end.
pub(crate) fn sites(kernel: &MachineKernel, flow: &Flow) -> Vec<bool> {
    let mut sites: Vec<bool> = kernel.insts.iter().map(|i| i.op.reads_others()).collect();
    let size = flow.blocks().len();
    let mut predecessors = vec![Vec::new(); size];
    for b in (0..size).map(|b| BlockId(b as u32)) {
        flow.successors(b).iter().for_each(|s| predecessors[s.0 as usize].push(b));
    }
    for end in (0..size).map(|b| BlockId(b as u32)) {
        let is_short =
            |head: BlockId| head <= end && flow.block(end).end.0 - flow.block(head).first.0 <= LONGEST_LOOP;
        for &head in flow.successors(end).iter().filter(|&&head| is_short(head)) {
            let body = natural_loop(&predecessors, head, end);
            if only_memory_ends(kernel, flow, &body) {
                for b in body {
                    for pc in flow.block(b).first.0..flow.block(b).end.0 {
                        sites[pc as usize] |= matches!(kernel.insts[pc as usize].kind(), Kind::Load(_));
                    }
                }
            }
        }
    }
    sites
}

/// Blocks from which the backward edge `end` -> `head` is reached without passing `head`.
fn natural_loop(predecessors: &[Vec<BlockId>], head: BlockId, end: BlockId) -> Vec<BlockId> {
    let mut seen = vec![false; predecessors.len()];
    seen[head.0 as usize] = true;
    let mut body = vec![head];
    let mut work = vec![end];
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut seen[b.0 as usize], true) {
            body.push(b);
            work.extend(&predecessors[b.0 as usize]);
        }
    }
    body
}

/// Whether a loop loads, writes no memory, and carries no register from one iteration to the next: only the
/// loaded values can end it.
fn only_memory_ends(kernel: &MachineKernel, flow: &Flow, body: &[BlockId]) -> bool {
    let insts = || {
        let pcs = body.iter().flat_map(|&b| flow.block(b).first.0..flow.block(b).end.0);
        pcs.map(|pc| &kernel.insts[pc as usize])
    };
    let loads = insts().any(|i| matches!(i.kind(), Kind::Load(_)));
    let acts = insts().any(|i| match i.kind() {
        Kind::Pure | Kind::Load(_) | Kind::Branch | Kind::Fence | Kind::Sync => false,
        Kind::External => !matches!(i.op, Op::S2r { .. }),
        _ => true,
    });
    if !loads || acts {
        return false;
    }
    // A register that is written in the loop and read before that, in the order of the code, is carried.
    let written: Vec<_> = insts().flat_map(Inst::dst_regs).collect();
    let mut known = Vec::new();
    let mut blocks = body.to_vec();
    blocks.sort_unstable();
    for b in blocks {
        for pc in flow.block(b).first.0..flow.block(b).end.0 {
            let inst = &kernel.insts[pc as usize];
            if inst.src_regs().any(|r| written.contains(&r) && !known.contains(&r)) {
                return false;
            }
            known.extend(inst.dst_regs());
        }
    }
    true
}
