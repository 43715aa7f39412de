//! The compiler's part: a kernel is split into the affine stream and the others' stream (DAC, section 4.7).
//!
//! Memory instructions with affine addresses and affine predicate computations become enqueue instructions of the affine
//! stream, together with all that they depend on: computations, and the branches, exits and barriers that decide
//! whether threads reach them. In the others' stream they become dequeue instructions, and what nobody needs there any
//! more is removed.

use super::declare::Lost;
use trace_format::isa::space::Space;
use trace_format::isa::{BarMode, BlockId, Flow, Inst, Kind, MachineKernel, Op, Operand, Pc};
use warplab_analysis::affine::{
    AffineTypes, Level, Reason, Type, base, controlled_by, reverse_post_order, source,
};
use warplab_analysis::reaching::{ENTRY, Reaching, Var, read};

/// What the compiler is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Conditions of a tuple.
    pub conditions: usize,
    /// Entries of the affine SIMT stack.
    pub stack_depth: usize,
    /// Whether instructions behind branches on other data are decoupled.
    pub data_dependent: bool,
    /// Threads of a block.
    pub threads_per_block: u32,
}

/// An instruction's part in the two streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    /// The affine warp executes it.
    pub in_stream: bool,
    /// The other warps do not.
    pub removed: bool,
    /// The affine warp enqueues its address.
    pub address: bool,
    /// The affine warp enqueues its predicates.
    pub predicate: bool,
    /// Other warps dequeue its predicates.
    pub dequeued: bool,
    /// A branch or exit on other data, whose outcome the other warps tell the affine warp.
    pub data_dependent: bool,
    /// A barrier.
    pub barrier: bool,
    /// Why its results are computed by every warp.
    pub lost: Lost,
    /// Why its address is.
    pub address_lost: Lost,
    /// Where its block is in the order in which the affine warp prefers places.
    pub order: u32,
}

impl Role {
    /// An instruction of a kernel that is not split.
    pub(super) fn not_split(why: Lost) -> Role {
        Role {
            in_stream: false,
            removed: false,
            address: false,
            predicate: false,
            dequeued: false,
            data_dependent: false,
            barrier: false,
            lost: why,
            address_lost: why,
            order: u32::MAX,
        }
    }
}

/// Splits a kernel.
pub(super) fn decouple(kernel: &MachineKernel, wanted: Wanted) -> Vec<Role> {
    let flow = kernel.flow();
    let reaching = Reaching::of(kernel, &flow);
    let types = AffineTypes::of(kernel, &flow, &reaching, wanted.conditions);
    let mut order = vec![u32::MAX; flow.blocks().len()];
    for (position, block) in reverse_post_order(&flow).into_iter().enumerate() {
        order[block.0 as usize] = position as u32;
    }
    let role = |pc: usize| Role {
        lost: lost(&types.insts[pc].result),
        address_lost: lost(&types.insts[pc].sources[0]),
        order: order[flow.block_of(Pc(pc as u32)).0 as usize],
        ..Role::not_split(Lost::Unneeded)
    };
    let mut roles: Vec<Role> = (0..kernel.insts.len()).map(role).collect();
    let own = |pc: usize| reaching.callees.own[flow.block_of(Pc(pc as u32)).0 as usize];
    let foreign = |(pc, inst): (usize, &Inst)| is_foreign(inst, own(pc), wanted.threads_per_block);
    if kernel.insts.iter().enumerate().any(foreign) {
        roles.iter_mut().for_each(|role| (role.lost, role.address_lost) = (Lost::Kernel, Lost::Kernel));
        return roles;
    }
    for (pc, role) in roles.iter_mut().enumerate() {
        if !own(pc) {
            (role.lost, role.address_lost) = (Lost::Kernel, Lost::Kernel);
        }
    }
    let mut compiler = Compiler {
        kernel,
        flow: &flow,
        types: &types,
        wanted,
        defs: vec![Vec::new(); kernel.insts.len()],
        own: &reaching.callees.own,
        roles,
    };
    compiler.find_defs(&reaching);
    compiler.choose();
    compiler.keep();
    compiler.roles
}

/// Why a value of some type is not removed.
fn lost(ty: &Type) -> Lost {
    match (ty.level, ty.why) {
        (Level::Data, Reason::Operand) => Lost::Data,
        (Level::Data, Reason::Operation) => Lost::Operation,
        (Level::Data, Reason::Conditions) => Lost::Conditions,
        (Level::Data, Reason::Carried) => Lost::Carried,
        _ => Lost::Unneeded,
    }
}

/// Whether a kernel with this instruction is left alone: barriers in functions, and those that not all threads of the
/// block wait for.
fn is_foreign(inst: &Inst, own: bool, threads: u32) -> bool {
    match inst.kind() {
        Kind::Barrier if !own => true,
        Kind::Barrier => {
            let all = match inst.src[1].operand {
                Operand::None => true,
                Operand::Imm(count) => count == 0 || count == threads,
                Operand::Reg(reg) => reg.is_zero(),
                Operand::Const { .. } | Operand::Uniform(_) => false,
            };
            !all || matches!(inst.op, Op::Bar { mode: BarMode::Arrive })
        }
        _ => false,
    }
}

struct Compiler<'a> {
    kernel: &'a MachineKernel,
    flow: &'a Flow,
    types: &'a AffineTypes,
    wanted: Wanted,
    /// By instruction: each register or predicate that it reads, and the definitions that reach it.
    defs: Vec<Vec<(Var, Vec<u32>)>>,
    /// Blocks of the kernel itself.
    own: &'a [bool],
    roles: Vec<Role>,
}

impl Compiler<'_> {
    fn find_defs(&mut self, reaching: &Reaching) {
        for block in (0..self.flow.blocks().len() as u32).map(BlockId) {
            let defs = &mut self.defs;
            reaching.walk(self.kernel, self.flow, block, |pc, of| {
                let inst = &self.kernel.insts[pc as usize];
                defs[pc as usize] = read(inst).map(|var| (var, of(var))).collect();
                if inst.kind() == Kind::Call {
                    let by_functions = reaching.callees.reads.iter();
                    defs[pc as usize].extend(by_functions.map(|var| (*var, of(*var))));
                }
            });
        }
    }

    /// Puts candidates and what they depend on into the affine stream.
    fn choose(&mut self) {
        let controllers = self.controllers();
        let mut work = Vec::new();
        for pc in 0..self.roles.len() {
            let inst = &self.kernel.insts[pc];
            let types = &self.types.insts[pc];
            let block = self.flow.block_of(Pc(pc as u32));
            let known_guard = types.guard.is_affine() && !types.guard.carry;
            let behind = &controllers[block.0 as usize];
            let refused = if !known_guard {
                Some(Lost::Guard)
            } else if behind.len() > self.wanted.stack_depth {
                Some(Lost::Stack)
            } else if !self.wanted.data_dependent && behind.iter().any(|pc| self.is_data_dependent(*pc)) {
                Some(Lost::DataDependent)
            } else {
                None
            };
            if !self.own[block.0 as usize] {
                continue;
            }
            if takes_address(inst) {
                match refused {
                    Some(why) => self.roles[pc].address_lost = why,
                    None if types.sources[0].is_affine() => {
                        self.roles[pc].address = true;
                        work.push(pc as u32);
                    }
                    None => {}
                }
            } else if self.computes_predicate(pc) && refused.is_none() {
                work.push(pc as u32);
            }
        }
        let enqueues = !work.is_empty();
        if enqueues {
            for (pc, inst) in self.kernel.insts.iter().enumerate() {
                // Barriers are replicated, and lanes that have exited take part in nothing any more.
                let exits = inst.kind() == Kind::Exit && !inst.is_unguarded();
                if !self.own[self.flow.block_of(Pc(pc as u32)).0 as usize] {
                    continue;
                }
                if inst.kind() == Kind::Barrier || exits {
                    work.push(pc as u32);
                }
            }
        }
        while let Some(pc) = work.pop() {
            let role = &mut self.roles[pc as usize];
            if std::mem::replace(&mut role.in_stream, true) {
                continue;
            }
            let inst = &self.kernel.insts[pc as usize];
            role.barrier = inst.kind() == Kind::Barrier;
            role.predicate = inst.kind() == Kind::Pure
                && inst.all_dst_preds().next().is_some()
                && !self.types.insts[pc as usize].result.carry;
            if matches!(inst.kind(), Kind::Branch | Kind::Exit) && self.is_data_dependent(pc) {
                self.roles[pc as usize].data_dependent = true;
            } else if inst.kind() != Kind::Barrier {
                work.extend(self.needed_by_stream(pc));
            }
            let block = self.flow.block_of(Pc(pc));
            work.extend(&controllers[block.0 as usize]);
        }
    }

    /// Whether an instruction computes predicates, and nothing else, that the affine warp can enqueue.
    fn computes_predicate(&self, pc: usize) -> bool {
        let inst = &self.kernel.insts[pc];
        let result = &self.types.insts[pc].result;
        let reads = read(inst).next().is_some() || inst.info().pred_dsts > 0;
        inst.kind() == Kind::Pure
            && inst.all_dst_preds().next().is_some()
            && !has_register(inst)
            && reads
            && result.is_affine()
            && !result.carry
    }

    fn is_data_dependent(&self, pc: u32) -> bool {
        let guard = &self.types.insts[pc as usize].guard;
        !guard.is_affine() || guard.carry
    }

    /// Definitions of what an instruction of the affine stream reads there.
    fn needed_by_stream(&self, pc: u32) -> Vec<u32> {
        let inst = &self.kernel.insts[pc as usize];
        let address: Vec<Var> = source(inst, 0).chain(base(inst)).collect();
        let reads = |var: &Var| !inst.kind().is_memory() || var.is_pred() || address.contains(var);
        let defs = self.defs[pc as usize].iter().filter(|(var, _)| reads(var)).flat_map(|(_, defs)| defs);
        let mut needed: Vec<u32> = defs.copied().filter(|def| *def != ENTRY).collect();
        // Where the guard of a definition is false, the old value stays; its definition reaches as well.
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// The branches and guarded exits that decide whether threads come to each block.
    fn controllers(&self) -> Vec<Vec<u32>> {
        let blocks = self.flow.blocks().len();
        let mut controllers: Vec<Vec<u32>> = vec![Vec::new(); blocks];
        for block in (0..blocks as u32).map(BlockId) {
            let last = self.flow.block(block).end.0 - 1;
            let inst = &self.kernel.insts[last as usize];
            if inst.is_unguarded() {
                continue;
            }
            let behind = match inst.kind() {
                Kind::Branch => controlled_by(self.flow, block),
                // Whether threads go on behind an exit on other data is not known either.
                Kind::Exit if !self.wanted.data_dependent && self.is_data_dependent(last) => {
                    self.flow.reachable(block).into_iter().filter(|next| *next != block).collect()
                }
                _ => continue,
            };
            for block in behind {
                controllers[block.0 as usize].push(last);
            }
        }
        self.enclosing(&controllers)
    }

    /// With the branches that decide whether threads come to those branches.
    fn enclosing(&self, direct: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let around = |mut work: Vec<u32>| {
            let mut all = Vec::new();
            while let Some(pc) = work.pop() {
                if !all.contains(&pc) {
                    all.push(pc);
                    work.extend(&direct[self.flow.block_of(Pc(pc)).0 as usize]);
                }
            }
            all
        };
        direct.iter().map(|of_block| around(of_block.clone())).collect()
    }

    /// Finds what the other warps still execute, from what they cannot do without.
    fn keep(&mut self) {
        let mut kept = vec![false; self.roles.len()];
        let mut work: Vec<u32> = Vec::new();
        for pc in 0..self.roles.len() {
            let inst = &self.kernel.insts[pc];
            if inst.kind() != Kind::Pure || !self.roles[pc].in_stream {
                work.push(pc as u32);
            }
        }
        while let Some(pc) = work.pop() {
            if std::mem::replace(&mut kept[pc as usize], true) {
                continue;
            }
            let inst = &self.kernel.insts[pc as usize];
            let dequeues = self.roles[pc as usize].address;
            let calls = inst.kind() == Kind::Call;
            let mut data: Vec<Var> = (usize::from(dequeues)..3).flat_map(|i| source(inst, i)).collect();
            data.extend(base(inst).filter(|_| !dequeues));
            for (var, defs) in &self.defs[pc as usize] {
                if !var.is_pred() && !calls && !data.contains(var) {
                    continue;
                }
                for def in defs.iter().copied().filter(|def| *def != ENTRY) {
                    let role = &mut self.roles[def as usize];
                    let only_predicate = !has_register(&self.kernel.insts[def as usize]);
                    if role.in_stream && role.predicate && only_predicate {
                        role.dequeued = true;
                    } else {
                        work.push(def);
                    }
                }
            }
        }
        for (pc, role) in self.roles.iter_mut().enumerate() {
            let inst = &self.kernel.insts[pc];
            role.removed = role.in_stream && inst.kind() == Kind::Pure && !kept[pc];
            if role.in_stream && kept[pc] {
                role.lost = Lost::NeededByAll;
            }
        }
    }
}

/// Whether an instruction accesses global, local or shared memory at an address in registers, uniform ones or others.
fn takes_address(inst: &Inst) -> bool {
    let space = inst.kind().space();
    let data = matches!(space, Some(Space::Global | Space::Local | Space::Shared | Space::Generic));
    data && inst.op.takes_address() && source(inst, 0).chain(base(inst)).next().is_some()
}

/// Whether an instruction writes a register, uniform or not.
fn has_register(inst: &Inst) -> bool {
    inst.dst_span().is_some() || inst.dst_uniforms().next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplab_analysis::listing::kernel;

    const ANY: Wanted = Wanted { conditions: 2, stack_depth: 8, data_dependent: true, threads_per_block: 64 };

    fn roles(text: &str) -> Vec<Role> {
        decouple(&kernel(text), ANY)
    }

    fn numbers(roles: &[Role], which: impl Fn(&Role) -> bool) -> Vec<usize> {
        (0..roles.len()).filter(|pc| which(&roles[*pc])).collect()
    }

    /// The kernel of figure 4 in our instructions.
    const FIGURE_4: &str = "
        s2r r0
        wide r2 r0 4 r30
        wide r4 r0 4 r32
        mov r6 0
        # LOOP
        ldg r7 r2
        iadd r7 r7 1
        stg r4 r7
        iadd r6 r6 1
        wide r2 r29 16 r2
        wide r4 r29 16 r4
        isetp.lt p0 r6 c
        @p0 bra 4
        exit";

    #[test]
    fn the_kernel_of_figure_4_is_split_as_in_figure_7() {
        let roles = roles(FIGURE_4);
        assert_eq!(numbers(&roles, |role| role.in_stream), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]);
        assert_eq!(numbers(&roles, |role| role.removed), [0, 1, 2, 3, 7, 8, 9, 10], "five instructions stay");
        assert_eq!(numbers(&roles, |role| role.address), [4, 6]);
        assert_eq!(numbers(&roles, |role| role.dequeued), [10]);
        assert!(roles.iter().all(|role| !role.data_dependent));
        assert_eq!(roles[5].lost, Lost::Data);
    }

    #[test]
    fn what_other_warps_need_is_executed_by_both() {
        // r1 is an address and a summand.
        let roles = roles("s2r r0\nimad r1 r0 4 r9\nlds r2 r1\niadd r3 r2 r1\nstg r4 r3\nexit");
        assert_eq!(numbers(&roles, |role| role.in_stream), [0, 1, 2, 4]);
        assert_eq!(numbers(&roles, |role| role.removed), [0usize; 0]);
        assert_eq!((roles[1].lost, roles[0].lost), (Lost::NeededByAll, Lost::NeededByAll));
    }

    #[test]
    fn a_branch_on_data_is_told_and_one_that_decides_about_nothing_is_left_out() {
        let told = roles("s2r r0\nlds r1 r0\nisetp.lt p0 r1 7\n@p0 bra 5\nlds r2 r0\nexit");
        assert!(told[3].in_stream && told[3].data_dependent);
        assert_eq!(numbers(&told, |role| role.address), [1, 4]);
        let free = roles("s2r r0\nlds r1 r0\nisetp.lt p0 r1 7\n@p0 bra 5\nfadd r2 r1 r1\nexit");
        assert!(!free[3].in_stream);
        let text = "s2r r0\nlds r1 r0\nisetp.lt p0 r1 7\n@p0 bra 5\nlds r2 r0\nexit";
        let strict = decouple(&kernel(text), Wanted { data_dependent: false, ..ANY });
        assert_eq!(numbers(&strict, |role| role.address), [1]);
        assert_eq!(strict[4].address_lost, Lost::DataDependent);
    }

    #[test]
    fn addresses_of_loaded_values_are_not_decoupled() {
        let roles = roles("s2r r0\nlds r1 r0\nlds r2 r1\nimad r3 r0 r0\nlds r4 r3\nexit");
        assert_eq!(numbers(&roles, |role| role.address), [1]);
        assert_eq!((roles[2].address_lost, roles[4].address_lost), (Lost::Data, Lost::Operation));
    }

    #[test]
    fn uniform_registers_of_scalars_and_of_the_block_feed_addresses() {
        // Lines 1 to 4: of the block, and added to the address; the last load's base is loaded data.
        let roles = roles(
            "s2r r0\ns2r.ctaid u0\nmov u1 c\nimad u2 u0 u1 64\nlds r1 r0 u2\nr2ur u3 r1\nlds r2 r0 u3\nlds r3 rz u2\n\
             isetp.lt up0 u0 3\n@up0 bra 11\nfadd r4 r1 r2\nexit",
        );
        assert_eq!(numbers(&roles, |role| role.address), [4, 7]);
        assert_eq!(numbers(&roles, |role| role.removed), [1, 2, 3, 8]);
        assert_eq!((roles[5].lost, roles[6].address_lost), (Lost::Data, Lost::Data));
        assert!(roles[8].dequeued, "the branch reads the uniform predicate");
    }

    #[test]
    fn a_lane_s_value_of_the_block_is_the_warp_s_and_one_of_the_thread_is_not() {
        let roles = roles("s2r r0\ns2r.ctaid r1\nr2ur u0 r1\nr2ur u1 r0\nlds r2 rz u0\nlds r3 rz u1\nexit");
        assert_eq!(numbers(&roles, |role| role.address), [4]);
        assert_eq!(roles[5].address_lost, Lost::Operation);
    }

    #[test]
    fn what_threads_that_part_write_to_uniform_registers_is_no_tuple() {
        let text = |guard: &str| {
            format!(
                "s2r r0\ns2r.ctaid u0\nmov u1 4\nisetp.lt p0 {guard} 7\n@p0 bra 6\nmov u1 8\nlds r2 r0 u1\nexit"
            )
        };
        assert_eq!(roles(&text("r0"))[6].address_lost, Lost::Conditions);
        assert!(roles(&text("u0"))[6].address, "all threads of a block go the same way");
    }

    #[test]
    fn deeper_branches_than_the_stack_holds_are_left_alone() {
        let text = "s2r r0\nisetp.lt p0 r0 7\n@p0 bra 6\nisetp.lt p1 r0 5\n@p1 bra 6\nlds r2 r0\nexit";
        let shallow = decouple(&kernel(text), Wanted { stack_depth: 1, ..ANY });
        assert_eq!(shallow[5].address_lost, Lost::Stack);
        assert!(roles(text)[5].address);
    }
}
