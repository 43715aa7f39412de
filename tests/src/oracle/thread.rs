//! One thread of the oracle: registers, program counter, call stack, and the step over one statement.

use super::inlined::CopyId;
use super::layout::Layout;
use super::memory::{View, generic, window_of};
use super::pure::{Undefined, evaluate};
use super::{Fault, atomic, contract, integer::low, transfer};
use emulator::ptx::{
    Address, AddressBase, AtomicOp, Axis, BarOp, Body, Callee, Formal, FuncId, Function, Inst, LabelId, LdOp,
    MbarrierAction, MbarrierOp, Module, MovShape, Op, Operand, RegId, ScalarType, SpecialRegister, StOp,
    StateSpace, Statement, VarId, VarSpace,
};
use std::collections::HashMap;

/// Indices and sizes that a thread reads from special registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coordinates {
    /// Index of the thread in its block.
    pub tid: [u32; 3],
    /// Threads per block.
    pub ntid: [u32; 3],
    /// Index of the block.
    pub ctaid: [u32; 3],
    /// Blocks.
    pub nctaid: [u32; 3],
    /// Linear index of the thread in its block.
    pub linear: u32,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared_bytes: u32,
}

/// What a thread waits for.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    /// A barrier of the block.
    Barrier {
        /// The instruction.
        op: BarOp,
        /// Which barrier.
        id: u64,
        /// How many threads take part; `None` for all.
        threads: Option<u64>,
        /// The predicate to be reduced.
        predicate: bool,
    },
    /// The other threads of a member mask at the same operation.
    Warp {
        /// Function and statement.
        at: (FuncId, usize),
        /// Who takes part.
        mask: u32,
        /// The sources.
        sources: Vec<u64>,
    },
}

/// Whether a thread can go on.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// It can.
    Ready,
    /// It waits.
    Waiting(Wait),
    /// It has ended.
    Exited,
}

/// A function being executed.
struct Frame {
    function: FuncId,
    /// The copy of the function; none without contraction.
    copy: Option<CopyId>,
    next: usize,
    registers: Vec<u64>,
    /// The upper halves of registers of 128 bits.
    upper: HashMap<RegId, u64>,
    /// Contents of `.param` variables of a device function and of call arguments.
    params: HashMap<VarId, Vec<u8>>,
    /// Factors of the products that sums take, by statement.
    factors: HashMap<usize, [u64; 2]>,
}

/// One thread.
pub(super) struct Thread<'m> {
    module: &'m Module,
    layout: &'m Layout,
    /// Where it runs.
    pub place: Coordinates,
    /// Whether it can go on.
    pub state: State,
    /// Local memory.
    pub local: Vec<u8>,
    frames: Vec<Frame>,
    carry: bool,
    executed: u64,
    /// It asked a barrier in vain: the others go on first.
    waits: bool,
}

impl<'m> Thread<'m> {
    /// Compute capability of the module's target.
    pub(super) fn sm(&self) -> u32 {
        self.module.target.sm
    }

    pub(super) fn new(module: &'m Module, layout: &'m Layout, kernel: FuncId, place: Coordinates) -> Self {
        let local = vec![0; layout.local_bytes];
        let frame = Frame::new(module, kernel, layout.contractions.kernel(kernel));
        Self {
            module,
            layout,
            place,
            state: State::Ready,
            local,
            frames: vec![frame],
            carry: false,
            executed: 0,
            waits: false,
        }
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a thread that runs has a frame")
    }

    fn code(&self) -> (&'m Function, &'m Body) {
        let frame = self.frames.last().expect("a thread that runs has a frame");
        let function = self.module.function(frame.function);
        (function, function.body.as_ref().expect("only functions with a body are entered"))
    }

    /// Runs until the thread waits or ends.
    pub(super) fn run(&mut self, memory: &mut View<'_>, limit: u64) -> Result<(), Fault> {
        self.waits = false;
        while matches!(self.state, State::Ready) && !self.waits {
            let (function, body) = self.code();
            let at = self.frame().next;
            let Some(statement) = body.statements.get(at) else {
                self.leave();
                continue;
            };
            self.frame().next += 1;
            match statement {
                Statement::Label(_) | Statement::Pragma(_) => {}
                Statement::Unsupported(diagnostic) => return Err(Fault::new(diagnostic.message.clone())),
                Statement::Inst(inst) => {
                    self.executed += 1;
                    if self.executed > limit {
                        return Err(Fault::new(format!("a thread has executed {limit} instructions")));
                    }
                    self.step(at, inst, memory).map_err(|fault| self.located(fault, function, inst))?;
                }
            }
        }
        Ok(())
    }

    fn located(&self, fault: Fault, function: &Function, inst: &Inst) -> Fault {
        let line = self.module.line(inst.span);
        let [x, y, z] = self.place.tid;
        let text = self.module.source.text().get(inst.span.start as usize..inst.span.end as usize);
        let text = text.unwrap_or_default();
        let Fault { what } = fault;
        Fault::new(format!("{what}: line {line}, `{text}` in {}, thread ({x},{y},{z})", function.name))
    }

    fn step(&mut self, at: usize, inst: &'m Inst, memory: &mut View<'_>) -> Result<(), Fault> {
        if let Some(guard) = inst.guard {
            let holds = self.frame().registers[guard.reg.index()] != 0;
            if holds == guard.negated {
                return Ok(());
            }
        }
        match &inst.op {
            Op::Mov { ty, shape } => self.mov(*ty, *shape, inst),
            Op::Ld(op) => self.load(op, inst, memory),
            Op::St(op) => self.store(op, inst, memory),
            Op::Atom(op) | Op::Red(op) => self.atomic(op, inst, memory),
            Op::Cvta { to, space, .. } => {
                let address = self.source(&inst.srcs()[0])?;
                let window = window_of(*space);
                let value = if *to { address.wrapping_sub(window) } else { address.wrapping_add(window) };
                self.write(&inst.dsts()[0], value)
            }
            Op::Isspacep(space) => {
                let (found, _) = generic(self.source(&inst.srcs()[0])?);
                self.write(&inst.dsts()[0], u64::from(found == *space))
            }
            Op::Bra { .. } | Op::BrxIdx { .. } | Op::Call { .. } | Op::Ret { .. } | Op::Exit | Op::Trap => {
                self.transfer(inst)
            }
            Op::Bar(op) => self.barrier(*op, inst),
            Op::BarWarpSync
            | Op::Vote { .. }
            | Op::Shfl { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Elect
            | Op::WmmaLoad(_)
            | Op::WmmaStore(_)
            | Op::WmmaMma(_)
            | Op::Mma(_)
            | Op::Ldmatrix(_)
            | Op::Movmatrix => self.rendezvous(at, inst),
            Op::CpAsync(op) => {
                let sources = self.sources(inst)?;
                transfer::copy(op, &sources, memory)
            }
            Op::CpAsyncMbarrierArrive { noinc, space } => {
                let sources = self.sources(inst)?;
                transfer::copied(*space, *noinc, sources[0], memory)
            }
            Op::CpAsyncCommitGroup | Op::CpAsyncWait { .. } => Ok(()),
            Op::Mbarrier(op) => self.mbarrier(op, inst, memory),
            Op::Fence(_)
            | Op::Prefetch { .. }
            | Op::CacheHint { .. }
            | Op::Nanosleep
            | Op::Griddepcontrol { .. }
            | Op::Pmevent { .. } => Ok(()),
            op => self.compute(at, op, inst),
        }
    }

    fn compute(&mut self, at: usize, op: &Op, inst: &Inst) -> Result<(), Fault> {
        let mut sources: Vec<u64> = inst.srcs().iter().map(|s| self.source(s)).collect::<Result<_, _>>()?;
        let fused;
        let mut op = op;
        if let Some(copy) = self.frame().copy {
            let contraction = self.layout.contractions.copy(copy);
            if contraction.products.contains(&at) {
                let factors = [sources[0], sources[1]];
                self.frame().factors.insert(at, factors);
            }
            if let Some(sum) = contraction.sums.get(&at) {
                let factors = self.frame().factors.get(&sum.product).copied();
                let factors = factors.ok_or_else(|| Fault::new("a fused product was not executed"))?;
                fused = contract::multiply_add(op, *sum, factors, &mut sources);
                op = &fused;
            }
        }
        let mut carry = self.carry;
        let results = evaluate(op, &sources, &mut carry).map_err(|undefined| match undefined {
            Undefined::Unknown => Fault::new("the oracle does not know this instruction"),
            Undefined::DivisionByZero => Fault::new("division by zero"),
        })?;
        self.carry = carry;
        for (dst, value) in inst.dsts().iter().zip(results) {
            self.write(dst, value)?;
        }
        Ok(())
    }

    // ---- operands

    fn register_bits(&self, operand: &Operand) -> u32 {
        let (function, _) = self.code();
        operand.reg().map_or(64, |reg| function.register(reg).ty.bits())
    }

    /// The bits of a source.
    fn source(&mut self, operand: &Operand) -> Result<u64, Fault> {
        Ok(match operand {
            Operand::Reg(reg) => self.frame().registers[reg.index()],
            Operand::NotReg(reg) => self.frame().registers[reg.index()] ^ 1,
            Operand::RegOffset(reg, offset) => {
                let sum = self.frame().registers[reg.index()].wrapping_add_signed(*offset);
                low(sum, self.register_bits(&Operand::Reg(*reg)))
            }
            Operand::Imm(bits) => *bits,
            Operand::Special(special) => self.special(*special)?,
            Operand::Var(id, offset) => self.layout.address(*id).wrapping_add_signed(*offset),
            Operand::Func(id) => function_address(*id),
            other => return Err(Fault::new(format!("{other:?} has no value"))),
        })
    }

    /// The bits of all sources: addresses for memory operands, vectors element by element.
    fn sources(&mut self, inst: &Inst) -> Result<Vec<u64>, Fault> {
        let mut sources = Vec::new();
        for source in inst.srcs() {
            match source {
                Operand::Mem(address) => sources.push(self.address(address)),
                other => {
                    for element in other.elements() {
                        sources.push(self.source(element)?);
                    }
                }
            }
        }
        Ok(sources)
    }

    fn mbarrier(&mut self, op: &MbarrierOp, inst: &Inst, memory: &mut View<'_>) -> Result<(), Fault> {
        let sources = self.sources(inst)?;
        let Some(result) = transfer::barrier(op, &sources, memory)? else { return Ok(()) };
        self.waits = matches!(op.action, MbarrierAction::Wait { .. }) && result == 0;
        inst.dsts().first().map_or(Ok(()), |dst| self.write(dst, result))
    }

    /// Writes a register, whose declared width cuts the value.
    pub(super) fn write(&mut self, operand: &Operand, value: u64) -> Result<(), Fault> {
        let value = low(value, self.register_bits(operand));
        match operand {
            Operand::Reg(reg) => self.frame().registers[reg.index()] = value,
            Operand::Sink => {}
            other => return Err(Fault::new(format!("{other:?} cannot be written"))),
        }
        Ok(())
    }

    /// Both halves of a register of 128 bits.
    fn wide(&mut self, operand: &Operand) -> Result<[u64; 2], Fault> {
        let Operand::Reg(reg) = operand else {
            return Err(Fault::new(format!("{operand:?} has no 128 bits")));
        };
        let frame = self.frame();
        Ok([frame.registers[reg.index()], frame.upper.get(reg).copied().unwrap_or(0)])
    }

    fn write_wide(&mut self, operand: &Operand, [low, high]: [u64; 2]) -> Result<(), Fault> {
        let Operand::Reg(reg) = operand else {
            return Err(Fault::new(format!("{operand:?} cannot be written")));
        };
        let frame = self.frame();
        frame.registers[reg.index()] = low;
        frame.upper.insert(*reg, high);
        Ok(())
    }

    fn special(&self, special: SpecialRegister) -> Result<u64, Fault> {
        use SpecialRegister as S;
        let place = &self.place;
        let axis = |values: [u32; 3], axis: Axis| values[axis.index()];
        let lane = place.linear % 32;
        let below = (1u32 << lane) - 1;
        let value = match special {
            S::Tid(a) => axis(place.tid, a),
            S::Ntid(a) => axis(place.ntid, a),
            S::Ctaid(a) => axis(place.ctaid, a),
            S::Nctaid(a) => axis(place.nctaid, a),
            S::Laneid => lane,
            S::Warpid => place.linear / 32,
            S::Nwarpid => place.ntid.iter().product::<u32>().div_ceil(32),
            S::LanemaskEq => 1 << lane,
            S::LanemaskLt => below,
            S::LanemaskLe => below | 1 << lane,
            S::LanemaskGe => !below,
            S::LanemaskGt => !(below | 1 << lane),
            S::DynamicSmemSize => place.dynamic_shared_bytes,
            other => return Err(Fault::new(format!("the oracle does not know {other}"))),
        };
        Ok(u64::from(value))
    }

    fn mov(&mut self, ty: ScalarType, shape: MovShape, inst: &Inst) -> Result<(), Fault> {
        let (dst, src) = (&inst.dsts()[0], &inst.srcs()[0]);
        match shape {
            MovShape::Scalar if ty.bits() > 64 => {
                let value = self.wide(src)?;
                self.write_wide(dst, value)
            }
            MovShape::Scalar => {
                let value = self.source(src)?;
                self.write(dst, value)
            }
            MovShape::Vector => {
                for (dst, src) in dst.elements().iter().zip(src.elements()) {
                    let value = self.source(src)?;
                    self.write(dst, value)?;
                }
                Ok(())
            }
            MovShape::Pack | MovShape::Unpack if ty.bits() > 64 => {
                let (from, to) = (src.elements(), dst.elements());
                let [low, high] = match from {
                    [low, high] => [self.source(low)?, self.source(high)?],
                    _ => self.wide(src)?,
                };
                match to {
                    [first, second] => {
                        self.write(first, low)?;
                        self.write(second, high)
                    }
                    _ => self.write_wide(dst, [low, high]),
                }
            }
            MovShape::Pack => {
                let part = ty.bits() / src.elements().len() as u32;
                let mut value = 0;
                for (at, element) in src.elements().iter().enumerate() {
                    value |= low(self.source(element)?, part) << (at as u32 * part);
                }
                self.write(dst, value)
            }
            MovShape::Unpack => {
                let part = ty.bits() / dst.elements().len() as u32;
                let value = self.source(src)?;
                for (at, element) in dst.elements().iter().enumerate() {
                    self.write(element, value >> (at as u32 * part))?;
                }
                Ok(())
            }
        }
    }

    // ---- memory

    fn address(&mut self, address: &Address) -> u64 {
        let base = match address.base {
            AddressBase::Reg(reg) => self.frame().registers[reg.index()],
            AddressBase::Var(id) => self.layout.address(id),
            AddressBase::Absolute => 0,
        };
        base.wrapping_add_signed(address.offset)
    }

    /// The address operand of an access to a space. Without a state space the address is a generic one, also that of
    /// a variable which is named.
    fn memory_operand(&mut self, inst: &Inst, space: StateSpace) -> Result<(Address, u64), Fault> {
        let Operand::Mem(address) = inst.srcs()[0] else { return Err(Fault::new("there is no address")) };
        let at = self.address(&address);
        let window = match (space, address.base) {
            (StateSpace::Generic, AddressBase::Var(id)) => match self.module.var(id).space {
                VarSpace::Shared => window_of(StateSpace::Shared),
                VarSpace::Local => window_of(StateSpace::Local),
                VarSpace::Const => window_of(StateSpace::Const),
                VarSpace::Param => window_of(StateSpace::Param),
                VarSpace::Global | VarSpace::Texture => 0,
            },
            _ => 0,
        };
        Ok((address, at.wrapping_add(window)))
    }

    /// Call arguments and parameters of device functions live in the frame.
    fn frame_param(&mut self, address: &Address) -> Option<(&mut Vec<u8>, usize)> {
        let AddressBase::Var(id) = address.base else { return None };
        let var = self.module.var(id);
        let kernel_param = {
            let (function, _) = self.code();
            function.is_kernel && function.params.contains(&Formal::Var(id))
        };
        if var.space != VarSpace::Param || kernel_param {
            return None;
        }
        let size = var.size_bytes as usize;
        let bytes = self.frame().params.entry(id).or_insert_with(|| vec![0; size]);
        Some((bytes, address.offset as usize))
    }

    fn load(&mut self, op: &LdOp, inst: &Inst, memory: &mut View<'_>) -> Result<(), Fault> {
        let (address, at) = self.memory_operand(inst, op.space)?;
        let size = element_size(op.ty)?;
        let elements = inst.dsts()[0].elements();
        let mut values = Vec::new();
        for i in 0..elements.len() {
            let value = match self.frame_param(&address) {
                Some((bytes, offset)) => {
                    let from = offset + i * size;
                    let part =
                        bytes.get(from..from + size).ok_or_else(|| Fault::new("outside of a parameter"))?;
                    part.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
                }
                None => {
                    aligned(at, size * elements.len())?;
                    memory.load(op.space, at + (i * size) as u64, size)?
                }
            };
            values.push(extended(op.ty, value));
        }
        for (dst, value) in elements.iter().zip(values) {
            self.write(dst, value)?;
        }
        Ok(())
    }

    fn store(&mut self, op: &StOp, inst: &Inst, memory: &mut View<'_>) -> Result<(), Fault> {
        let (address, at) = self.memory_operand(inst, op.space)?;
        let size = element_size(op.ty)?;
        let elements = inst.srcs()[1].elements();
        for (i, element) in elements.iter().enumerate() {
            let value = self.source(element)?;
            match self.frame_param(&address) {
                Some((bytes, offset)) => atomic::put(bytes, offset + i * size, size, value),
                None => {
                    aligned(at, size * elements.len())?;
                    memory.store(op.space, at + (i * size) as u64, size, value)?;
                }
            }
        }
        Ok(())
    }

    fn atomic(&mut self, op: &AtomicOp, inst: &Inst, memory: &mut View<'_>) -> Result<(), Fault> {
        let unknown = || Fault::new("the oracle does not know this atomic");
        let (_, at) = self.memory_operand(inst, op.space)?;
        let size = element_size(op.ty)?;
        let space = if op.space == StateSpace::Generic { generic(at).0 } else { op.space };
        if op.vec != 1 {
            let elements = inst.srcs()[1].elements();
            aligned(at, size * elements.len())?;
            let mut former = Vec::new();
            for (i, element) in elements.iter().enumerate() {
                let (b, at) = (self.source(element)?, at + (i * size) as u64);
                let old = memory.load(op.space, at, size)?;
                let new = atomic::apply(op.op, op.ty, space == StateSpace::Global, old, b, 0);
                memory.store(op.space, at, size, new.ok_or_else(unknown)?)?;
                former.push(old);
            }
            let results = inst.dsts().iter().flat_map(Operand::elements);
            return results.zip(former).try_for_each(|(dst, old)| self.write(dst, old));
        }
        let b = self.source(&inst.srcs()[1])?;
        let c = match inst.srcs().get(2) {
            Some(c) => self.source(c)?,
            None => 0,
        };
        let old = memory.load(op.space, at, size)?;
        let new = atomic::apply(op.op, op.ty, space == StateSpace::Global, old, b, c).ok_or_else(unknown)?;
        memory.store(op.space, at, size, new)?;
        match inst.dsts().first() {
            Some(dst) => self.write(dst, old),
            None => Ok(()),
        }
    }

    // ---- control

    fn jump(&mut self, label: LabelId) {
        let (_, body) = self.code();
        self.frame().next = body.label(label).statement;
    }

    fn transfer(&mut self, inst: &Inst) -> Result<(), Fault> {
        match &inst.op {
            Op::Bra { target, .. } => self.jump(*target),
            Op::BrxIdx { table, .. } => {
                let index = self.source(&inst.srcs()[0])?;
                let (_, body) = self.code();
                let target = body.branch_table(*table).get(index as usize);
                self.jump(*target.ok_or_else(|| Fault::new(format!("branch index {index}")))?);
            }
            Op::Ret { .. } => self.leave(),
            Op::Exit => self.state = State::Exited,
            Op::Call { callee: Callee::Direct(id), .. } => return self.call(*id, inst),
            Op::Call { callee: Callee::Indirect { pointer, .. }, .. } => {
                let address = self.frame().registers[pointer.index()];
                let function = function_at(self.module, address)
                    .ok_or_else(|| Fault::new(format!("no function has the address {address:#x}")))?;
                return self.call(function, inst);
            }
            _ => return Err(Fault::new("the kernel traps")),
        }
        Ok(())
    }

    fn call(&mut self, callee: FuncId, inst: &Inst) -> Result<(), Fault> {
        let function = self.module.function(callee);
        if function.body.is_none() || self.frames.len() > 100 {
            return Err(Fault::new(format!("cannot call `{}`", function.name)));
        }
        let Frame { copy, next, .. } = *self.frame();
        let copy = self.layout.contractions.called(copy, next - 1, callee);
        let mut frame = Frame::new(self.module, callee, copy);
        for (formal, arg) in function.params.iter().zip(inst.srcs()) {
            match (formal, arg) {
                (Formal::Var(param), Operand::Var(arg, 0)) => {
                    let bytes = self.frame().params.get(arg).cloned().unwrap_or_default();
                    frame.params.insert(*param, bytes);
                }
                (Formal::Reg(param), arg) => frame.registers[param.index()] = self.source(arg)?,
                _ => return Err(Fault::new("the oracle does not know this argument")),
            }
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Returns from the function, which ends the thread where it is the kernel.
    fn leave(&mut self) {
        let frame = self.frames.pop().expect("a thread that runs has a frame");
        if self.frames.is_empty() {
            self.frames.push(frame);
            self.state = State::Exited;
            return;
        }
        let (_, body) = self.code();
        let at = self.frame().next - 1;
        let Statement::Inst(call) = &body.statements[at] else { return };
        let returns = &self.module.function(frame.function).returns;
        for (formal, dst) in returns.iter().zip(call.dsts()) {
            match (formal, dst) {
                (Formal::Var(from), Operand::Var(to, _)) => {
                    let bytes = frame.params.get(from).cloned().unwrap_or_default();
                    self.frame().params.insert(*to, bytes);
                }
                (Formal::Reg(from), Operand::Reg(to)) => {
                    self.frame().registers[to.index()] = frame.registers[from.index()];
                }
                _ => {}
            }
        }
    }

    fn barrier(&mut self, op: BarOp, inst: &Inst) -> Result<(), Fault> {
        let mut sources = Vec::new();
        for source in inst.srcs() {
            sources.push(self.source(source)?);
        }
        let threads = op.threads.then(|| sources[1]);
        let predicate = sources.get(1 + usize::from(op.threads)).is_some_and(|&p| p != 0);
        self.state = State::Waiting(Wait::Barrier { op, id: sources[0], threads, predicate });
        Ok(())
    }

    fn rendezvous(&mut self, at: usize, inst: &Inst) -> Result<(), Fault> {
        let synchronises = match inst.op {
            Op::Vote { sync, .. } | Op::Shfl { sync, .. } => sync,
            _ => true,
        };
        if !synchronises {
            return Err(Fault::new("without .sync the result depends on who is converged"));
        }
        let sources = self.sources(inst)?;
        let mask = match inst.op {
            // Matrices concern all lanes.
            Op::WmmaLoad(_)
            | Op::WmmaStore(_)
            | Op::WmmaMma(_)
            | Op::Mma(_)
            | Op::Ldmatrix(_)
            | Op::Movmatrix => u32::MAX,
            _ => sources.last().map_or(0, |&mask| mask as u32),
        };
        if mask >> (self.place.linear % 32) & 1 == 0 {
            return Err(Fault::new(format!("the member mask {mask:#x} lacks the thread itself")));
        }
        let function = self.frame().function;
        self.state = State::Waiting(Wait::Warp { at: (function, at), mask, sources });
        Ok(())
    }

    /// The instruction that the thread waits at.
    pub(super) fn waiting_inst(&self, at: (FuncId, usize)) -> &'m Inst {
        let body = self.module.function(at.0).body.as_ref().expect("threads wait inside bodies");
        match &body.statements[at.1] {
            Statement::Inst(inst) => inst,
            other => unreachable!("a thread waits at {other:?}"),
        }
    }

    /// The instruction that the thread executed last.
    pub(super) fn last_inst(&self) -> Option<&'m Inst> {
        let frame = self.frames.last()?;
        match &self.code().1.statements[frame.next - 1] {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        }
    }
}

impl Frame {
    fn new(module: &Module, function: FuncId, copy: Option<CopyId>) -> Self {
        let registers = vec![0; module.function(function).registers.len()];
        Self {
            function,
            copy,
            next: 0,
            registers,
            upper: HashMap::new(),
            params: HashMap::new(),
            factors: HashMap::new(),
        }
    }
}

/// A number for a function that no pointer to data has; programs that show it to anybody have no defined result.
fn function_address(id: FuncId) -> u64 {
    0xF00D_0000_0000_0000 | id.index() as u64
}

fn function_at(module: &Module, address: u64) -> Option<FuncId> {
    (0..module.functions.len()).map(FuncId::new).find(|id| function_address(*id) == address)
}

fn element_size(ty: ScalarType) -> Result<usize, Fault> {
    match ty.bits() {
        8 | 16 | 32 | 64 => Ok(ty.bytes() as usize),
        _ => Err(Fault::new(format!("the oracle cannot access memory as .{ty}"))),
    }
}

fn aligned(address: u64, size: usize) -> Result<(), Fault> {
    if address.is_multiple_of(size as u64) {
        return Ok(());
    }
    Err(Fault::new(format!("{address:#x} is not aligned to {size} bytes")))
}

/// A loaded value, extended for a wider register.
fn extended(ty: ScalarType, value: u64) -> u64 {
    if ty.is_signed() { super::integer::number(ty, value) as u64 } else { value }
}
