//! Reaching definitions: the instructions whose results a register or predicate, of lanes or uniform, may hold at a place.
//!
//! A guarded definition leaves earlier ones in place, since lanes keep their old values.

use trace_format::isa::{BlockId, Flow, Inst, Kind, MachineKernel};

/// The value that a warp begins with, as a definition.
pub const ENTRY: u32 = u32::MAX;

/// A register or predicate, of lanes or uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(u16);

/// What a [`Var`] is, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A register.
    Reg(u8),
    /// A predicate; uniform ones from 8 on.
    Pred(u8),
    /// A uniform register.
    Uniform(u8),
}

impl Var {
    /// A register.
    pub const fn reg(reg: u8) -> Var {
        Var(reg as u16)
    }

    /// A predicate.
    pub const fn pred(pred: u8) -> Var {
        Var(256 + (pred & 15) as u16)
    }

    /// A uniform register.
    pub const fn uniform(reg: u8) -> Var {
        Var(272 + (reg & 63) as u16)
    }

    /// What it is.
    pub const fn place(self) -> Place {
        match self.0 {
            n @ 0..256 => Place::Reg(n as u8),
            n @ 256..272 => Place::Pred((n - 256) as u8),
            n => Place::Uniform((n - 272) as u8),
        }
    }

    /// Whether it is a predicate, of lanes or uniform.
    pub const fn is_pred(self) -> bool {
        matches!(self.place(), Place::Pred(_))
    }

    /// Whether the whole warp has one value of it.
    pub const fn is_uniform(self) -> bool {
        matches!(self.place(), Place::Uniform(_) | Place::Pred(8..))
    }

    /// Its number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Registers and predicates of a kernel.
pub const VARS: usize = 336;

/// What an instruction writes.
pub fn written(inst: &Inst) -> impl Iterator<Item = Var> + '_ {
    let registers = inst.dst_regs().map(|reg| Var::reg(reg.0));
    let uniforms = inst.dst_uniforms().map(|reg| Var::uniform(reg.0));
    registers.chain(uniforms).chain(inst.all_dst_preds().map(|pred| Var::pred(pred.0)))
}

/// What an instruction reads, its guard included.
pub fn read(inst: &Inst) -> impl Iterator<Item = Var> + '_ {
    let registers = inst.src_regs().map(|reg| Var::reg(reg.0));
    let uniforms = inst.src_uniforms().map(|reg| Var::uniform(reg.0));
    registers.chain(uniforms).chain(inst.all_src_preds().map(|pred| Var::pred(pred.0)))
}

/// Whether what an instruction writes may keep its old value in lanes that take part in it: it is guarded, or chooses among
/// the predicates.
pub fn may_keep(inst: &Inst) -> bool {
    !inst.is_unguarded() || inst.op.writes_all_predicates()
}

/// What the functions of a kernel read and write; calls do both.
#[derive(Clone, Debug, Default)]
pub struct Callees {
    /// Registers and predicates that any function reads.
    pub reads: Vec<Var>,
    /// Registers and predicates that any function writes.
    pub writes: Vec<Var>,
    /// Blocks of the kernel itself, by number.
    pub own: Vec<bool>,
}

impl Callees {
    /// The functions of a kernel: the code that its first block does not reach without calls.
    #[must_use]
    pub fn of(kernel: &MachineKernel, flow: &Flow) -> Callees {
        let mut callees = Callees { own: vec![false; flow.blocks().len()], ..Callees::default() };
        if kernel.insts.is_empty() {
            return callees;
        }
        flow.reachable(BlockId(0)).iter().for_each(|block| callees.own[block.0 as usize] = true);
        let functions = flow.blocks().iter().zip(&callees.own).filter(|(_, own)| !**own);
        for (block, _) in functions {
            for inst in &kernel.insts[block.first.index()..block.end.index()] {
                callees.writes.extend(written(inst));
                callees.reads.extend(read(inst));
            }
        }
        for list in [&mut callees.reads, &mut callees.writes] {
            list.sort_unstable();
            list.dedup();
        }
        callees
    }
}

/// Definitions of a variable, ascending.
pub type Defs = Vec<u32>;

/// Reaching definitions of a kernel.
#[derive(Debug)]
pub struct Reaching {
    /// Variables that the kernel writes, by index; others hold what the warp began with.
    number: Vec<Option<u16>>,
    /// By block and number of the variable: before it, and behind it.
    before: Vec<Vec<Defs>>,
    behind: Vec<Vec<Defs>>,
    /// What calls read and write.
    pub callees: Callees,
}

impl Reaching {
    /// Finds the definitions that reach each block.
    #[must_use]
    pub fn of(kernel: &MachineKernel, flow: &Flow) -> Reaching {
        let mut number = vec![None; VARS];
        let mut count = 0u16;
        for var in kernel.insts.iter().flat_map(written) {
            number[var.index()].get_or_insert_with(|| {
                count += 1;
                count - 1
            });
        }
        let blocks = flow.blocks().len();
        let none = vec![Vec::new(); usize::from(count)];
        let callees = Callees::of(kernel, flow);
        let mut reaching =
            Reaching { number, before: vec![none.clone(); blocks], behind: vec![none; blocks], callees };
        if let Some(first) = reaching.before.first_mut() {
            first.iter_mut().for_each(|defs| defs.push(ENTRY));
        }
        let mut work: Vec<u32> = (0..blocks as u32).rev().collect();
        while let Some(block) = work.pop().map(BlockId) {
            let index = block.0 as usize;
            let mut state = reaching.before[index].clone();
            let range = flow.block(block);
            for pc in range.first.0..range.end.0 {
                reaching.apply(&kernel.insts[pc as usize], pc, &mut state);
            }
            for next in flow.successors(block) {
                let into = &mut reaching.before[next.0 as usize];
                let changed = into
                    .iter_mut()
                    .zip(&state)
                    .fold(false, |changed, (into, from)| merge(into, from) | changed);
                if changed && !work.contains(&next.0) {
                    work.push(next.0);
                }
            }
            reaching.behind[index] = state;
        }
        reaching
    }

    fn apply(&self, inst: &Inst, pc: u32, state: &mut [Defs]) {
        if inst.kind() == Kind::Call {
            // A function may leave a register as it was.
            for number in self.callees.writes.iter().filter_map(|var| self.number[var.index()]) {
                merge(&mut state[usize::from(number)], &[pc]);
            }
        }
        for var in written(inst) {
            let Some(number) = self.number[var.index()] else { continue };
            let defs = &mut state[usize::from(number)];
            if !may_keep(inst) {
                defs.clear();
            }
            if let Err(at) = defs.binary_search(&pc) {
                defs.insert(at, pc);
            }
        }
    }

    /// Definitions of a variable that leave a block.
    #[must_use]
    pub fn behind(&self, block: BlockId, var: Var) -> &[u32] {
        self.number[var.index()]
            .map_or(&[ENTRY], |number| &self.behind[block.0 as usize][usize::from(number)])
    }

    /// Variables that the kernel writes.
    pub fn vars(&self) -> impl Iterator<Item = Var> + '_ {
        (0..VARS as u16).map(Var).filter(|var| self.number[var.index()].is_some())
    }

    /// Calls `visit` with every instruction of a block and the definitions of a variable before it.
    pub fn walk(
        &self,
        kernel: &MachineKernel,
        flow: &Flow,
        block: BlockId,
        mut visit: impl FnMut(u32, &dyn Fn(Var) -> Defs),
    ) {
        let mut state = self.before[block.0 as usize].clone();
        let range = flow.block(block);
        for pc in range.first.0..range.end.0 {
            visit(pc, &|var: Var| {
                self.number[var.index()].map_or(vec![ENTRY], |n| state[usize::from(n)].clone())
            });
            self.apply(&kernel.insts[pc as usize], pc, &mut state);
        }
    }
}

/// Adds definitions; returns whether there were new ones.
fn merge(into: &mut Defs, from: &[u32]) -> bool {
    let mut changed = false;
    for def in from {
        if let Err(at) = into.binary_search(def) {
            into.insert(at, *def);
            changed = true;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::super::listing::kernel;
    use super::*;
    use trace_format::isa::Pc;

    fn at(text: &str, pc: u32, var: Var) -> Vec<u32> {
        let kernel = kernel(text);
        let flow = kernel.flow();
        let reaching = Reaching::of(&kernel, &flow);
        let mut found = None;
        reaching.walk(&kernel, &flow, flow.block_of(Pc(pc)), |here, defs| {
            if here == pc {
                found = Some(defs(var));
            }
        });
        found.expect("the instruction is in its block")
    }

    #[test]
    fn both_sides_of_a_branch_and_turns_of_a_loop_reach_what_follows() {
        let branch = "mov r1 1\nisetp.lt p0 r1 3\n@p0 bra 5\nmov r1 2\nnop\niadd r2 r1 1\nexit";
        assert_eq!(at(branch, 5, Var::reg(1)), [0, 3]);
        let turns = "mov r1 0\niadd r1 r1 1\nisetp.lt p0 r1 3\n@p0 bra 1\nexit";
        assert_eq!(at(turns, 1, Var::reg(1)), [0, 1]);
        assert_eq!(at(turns, 4, Var::reg(1)), [1]);
        assert_eq!(at(turns, 3, Var::pred(0)), [2]);
        assert_eq!(at(turns, 1, Var::pred(0)), [2, ENTRY]);
        assert_eq!(at(turns, 1, Var::reg(9)), [ENTRY]);
    }

    #[test]
    fn uniform_registers_and_predicates_are_variables_of_their_own() {
        let text = "mov u1 1\nmov r1 2\nisetp.lt up0 u1 3\n@up0 bra 5\nmov u1 4\nlds r2 r1 u1\nexit";
        assert_eq!((at(text, 5, Var::uniform(1)), at(text, 5, Var::reg(1))), (vec![0, 4], vec![1]));
        assert_eq!((at(text, 3, Var::pred(8)), at(text, 3, Var::pred(0))), (vec![2], vec![ENTRY]));
        let kinds = [Var::uniform(63), Var::pred(8), Var::pred(0), Var::reg(255)]
            .map(|var| (var.is_pred(), var.is_uniform()));
        assert_eq!(kinds, [(false, true), (true, true), (true, false), (false, false)]);
    }

    #[test]
    fn a_guarded_definition_leaves_the_earlier_one() {
        let text = "mov r1 1\nisetp.lt p0 r1 3\n@p0 mov r1 2\niadd r2 r1 1\nexit";
        assert_eq!(at(text, 3, Var::reg(1)), [0, 2]);
    }
}
