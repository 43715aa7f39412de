//! Paths of a warp over a kernel: lanes diverge, reconverge and alternate at random.

use crate::Random;
use trace_format::isa::{Flow, Kind, MachineKernel, Pc};

/// The diverged paths of a warp over a kernel: the youngest runs, as with a reconvergence stack, unless
/// another path gets a turn.
pub struct Walk<'a> {
    kernel: &'a MachineKernel,
    flow: Flow,
    /// Paths that can run, the running one last.
    paths: Vec<Path>,
    joins: Vec<Join>,
    steps: u32,
}

/// Lanes that run together, the position at which they wait for others, and the join.
#[derive(Clone, Copy, Debug)]
struct Path {
    pc: u32,
    lanes: u32,
    meet: Option<u32>,
    join: Option<usize>,
}

/// Reconvergence point of a branch: the path that continues, and the lanes that have not arrived.
#[derive(Clone, Copy, Debug)]
struct Join {
    on: Path,
    pending: u32,
}

impl Walk<'_> {
    /// The path of a whole warp from the kernel's entry.
    #[must_use]
    pub fn new(kernel: &MachineKernel) -> Walk<'_> {
        let start = Path { pc: 0, lanes: u32::MAX, meet: None, join: None };
        Walk { kernel, flow: kernel.flow(), paths: vec![start], joins: Vec::new(), steps: 0 }
    }

    /// The next instruction and its lanes; the turn may have passed to another path.
    pub fn at(&mut self, random: &mut Random) -> Option<(u32, u32)> {
        while let Some(at) = self.paths.iter().position(|path| path.lanes == 0 || Some(path.pc) == path.meet)
        {
            let path = self.paths.remove(at);
            if let Some(join) = path.join.filter(|_| path.lanes != 0) {
                self.joins[join].pending &= !path.lanes;
                self.joins[join].on.lanes |= path.lanes;
            }
            self.settle();
        }
        let here = self.paths.last()?.pc;
        if self.paths.len() > 1 && self.may_turn(here) && random.below(2) == 0 {
            let other = random.below(self.paths.len() as u32) as usize;
            let path = self.paths.remove(other);
            self.paths.push(path);
        }
        self.paths.last().map(|path| (path.pc, path.lanes))
    }

    /// Whether other lanes may run before an instruction: at the start of a block, and after an instruction
    /// that waits.
    fn may_turn(&self, pc: u32) -> bool {
        let begins = self.flow.block(self.flow.block_of(Pc(pc))).first == Pc(pc);
        begins || self.kernel.insts[pc as usize - 1].kind() == Kind::Sync
    }

    /// Continues lanes at joins for which no other lanes remain.
    fn settle(&mut self) {
        for join in &mut self.joins {
            if join.pending == 0 && join.on.lanes != 0 {
                self.paths.push(join.on);
                join.on.lanes = 0;
            }
        }
    }

    /// Steps over the instruction, which took effect in `exec`; either side of a branch may run first.
    pub fn step(&mut self, exec: u32, fall_through_first: bool) {
        self.steps += 1;
        let path = self.paths.last_mut().expect("a path runs");
        let inst = &self.kernel.insts[path.pc as usize];
        let at = path.pc;
        path.pc += 1;
        match inst.kind() {
            Kind::Exit => {
                path.lanes &= !exec;
                self.joins.iter_mut().for_each(|join| join.pending &= !exec);
                self.settle();
            }
            Kind::Branch => {
                // Long walks leave loops, so that every walk ends.
                let taken = if self.steps > 400 && inst.target.0 <= at { 0 } else { exec };
                let p = *path;
                if taken == p.lanes {
                    path.pc = inst.target.0;
                } else if taken != 0 {
                    self.paths.pop();
                    let meet = inst.reconv.map(|Pc(pc)| pc);
                    let (meet, join) = match meet {
                        Some(pc) if meet != p.meet => {
                            self.joins.push(Join { on: Path { pc, lanes: 0, ..p }, pending: p.lanes });
                            (meet, Some(self.joins.len() - 1))
                        }
                        _ => (p.meet, p.join),
                    };
                    let side = |pc, lanes| Path { pc, lanes, meet, join };
                    let mut sides = [side(inst.target.0, taken), side(at + 1, p.lanes & !taken)];
                    if !fall_through_first {
                        sides.reverse();
                    }
                    self.paths.extend(sides);
                }
            }
            _ => {}
        }
    }
}
