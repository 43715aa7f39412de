//! First pass: a PTX kernel becomes machine operations on single-assignment values.
//!
//! The walk goes through the statements once, inlining device functions where they are called. Control flow
//! becomes blocks, PTX registers become variables of [`ssa`], and each instruction is lowered by the file of
//! its family: [`int`], [`logic`], [`float`], [`convert`], [`memory`], [`control`]. An instruction without
//! lowering becomes a trap that names it, so that everything else runs.

mod atomic;
mod call;
mod control;
mod convert;
mod copy;
mod divide;
mod dynamic;
mod float;
mod int;
mod logic;
mod matrix;
mod mbarrier;
mod memory;
mod operand;
pub(super) mod ops;
pub(super) mod phi_copies;
mod roots;
mod runs;
mod service;
mod slow;
mod slow64;
mod ssa;
mod texture;
mod video;
mod wmma;

use std::collections::HashMap;

use trace_format::isa::{Dot, Position, SourceLine};

use super::calls::{Inlining, Slot};
use super::layout::{Frame, ModuleLayout};
use super::vir::{Blk, Func, Fuse, PSrc, SubId, Term, Val};
use crate::ptx::{
    AtomOp, Diagnostic, Diagnostics, FuncId, Guard, Inst, LabelId, MemOrder, Module, Op, ScalarType,
    Statement, VarId,
};
pub(super) use float::half_ty;
use ops::Asm;
use ssa::{Ssa, Var};

/// Message of the trap when the literal bank is full.
const FULL_LITERALS: &str = "more addresses in one kernel than its literal bank holds";

/// Result of lowering one instruction: a diagnostic on failure.
type Lowered<T = ()> = Result<T, Diagnostic>;

/// Result of the first pass.
pub(super) struct Built {
    /// The kernel, then the functions with machine code of their own.
    pub functions: Vec<BuiltFunction>,
    /// Shared and literal memory.
    pub frame: Frame,
    /// Barriers that the kernel uses (highest number plus one, 16 when it is computed).
    pub barriers: u8,
    /// Instructions that became traps because they have no lowering.
    pub unsupported: Vec<Diagnostic>,
}

/// The kernel or a function that is called, with everything inlined into it.
pub(super) struct BuiltFunction {
    /// Its function.
    pub func: FuncId,
    /// The code.
    pub code: Func,
    /// Local memory of its frame, without spills.
    pub local_bytes: u32,
}

/// Builds the code of a kernel and its functions.
///
/// # Errors
/// A diagnostic at a variable that does not fit its memory.
pub(super) fn build(
    module: &Module,
    layout: &ModuleLayout,
    kernel: FuncId,
    inlining: &Inlining,
    fmad: bool,
    sm: u32,
) -> Result<Built, Diagnostics> {
    let refused = |error| Diagnostics::one(&module.source, error);
    let frame = Frame::of(module, &inlining.reached).map_err(refused)?;
    let mut built = Built { functions: Vec::new(), frame, barriers: 0, unsupported: Vec::new() };
    for func in std::iter::once(kernel).chain(inlining.own.iter().copied()) {
        let mut frame = std::mem::take(&mut built.frame);
        let inlined = inlining.inlined_into(module, func);
        frame.enter(module, &inlined, inlining.outgoing_bytes(module, func)).map_err(refused)?;
        let mut builder = Builder::new(module, layout, inlining, func, frame);
        builder.fmad = fmad;
        builder.sm = sm;
        if func == kernel {
            builder.kernel(kernel);
        } else {
            builder.own_function(func);
        }
        builder.finish(&mut built);
    }
    Ok(built)
}

/// The function being walked.
struct Scope {
    func: FuncId,
    labels: Vec<Blk>,
    /// Labels that something jumps to.
    jumped_to: Vec<bool>,
    /// Target of `ret`; `None` in the kernel, where it ends the thread.
    return_to: Option<Blk>,
}

/// State of the walk.
pub(super) struct Builder<'m> {
    module: &'m Module,
    layout: &'m ModuleLayout,
    inlining: &'m Inlining,
    /// The kernel or function that is built.
    root: FuncId,
    /// Where the arguments and results of [`Self::root`] lie, if it is called.
    incoming: HashMap<VarId, Slot>,
    frame: Frame,
    asm: Asm,
    ssa: Ssa,
    unsupported: Vec<Diagnostic>,
    scopes: Vec<Scope>,
    vars: HashMap<FuncId, Var>,
    param_vars: HashMap<VarId, Var>,
    next_var: Var,
    /// The carry flag of `.cc` instructions.
    carry: Var,
    barriers: u8,
    subs: HashMap<&'static str, SubId>,
    /// Whether lanes may spin until others act, and diverge by it.
    waits: bool,
    /// Whether products and sums may be fused.
    fmad: bool,
    /// Compute capability of the GPU whose machine code is made.
    sm: u32,
    /// Number of the current run of statements, see [`super::contract`].
    run: u32,
    /// Unreachable blocks without position.
    dropped: Vec<Blk>,
}

/// Whether a function exchanges values in memory as locks and flags do.
fn waits(module: &Module, func: FuncId) -> bool {
    let Some(body) = &module.function(func).body else { return false };
    body.statements.iter().any(|statement| match statement {
        Statement::Inst(inst) => match inst.op {
            Op::Atom(op) => matches!(op.op, AtomOp::Cas | AtomOp::Exch),
            Op::Ld(op) => op.order != MemOrder::Weak,
            _ => false,
        },
        _ => false,
    })
}

impl<'m> Builder<'m> {
    fn new(
        module: &'m Module,
        layout: &'m ModuleLayout,
        inlining: &'m Inlining,
        root: FuncId,
        frame: Frame,
    ) -> Builder<'m> {
        Builder {
            module,
            layout,
            inlining,
            root,
            incoming: HashMap::new(),
            frame,
            asm: Asm::default(),
            ssa: Ssa::default(),
            unsupported: Vec::new(),
            scopes: Vec::new(),
            vars: HashMap::new(),
            param_vars: HashMap::new(),
            next_var: 1,
            carry: 0,
            barriers: 0,
            subs: HashMap::new(),
            waits: inlining.reached.iter().any(|&func| waits(module, func)),
            fmad: false,
            sm: 0,
            run: 0,
            dropped: Vec::new(),
        }
    }

    fn finish(mut self, built: &mut Built) {
        self.ssa.finish(&mut self.asm.f);
        // Subroutines behind the kernel's own code.
        let f = &mut self.asm.f;
        let mut placed = vec![false; f.blocks.len()];
        self.dropped.iter().for_each(|b| placed[b.index()] = true);
        f.order.reverse();
        f.order.retain(|b| !std::mem::replace(&mut placed[b.index()], true));
        f.order.reverse();
        let sub: Vec<_> = f.blocks.iter().map(|b| b.sub).collect();
        f.order.sort_by_key(|b| sub[b.index()].map_or(0, |s| s.0 + 1));
        built.functions.push(BuiltFunction {
            func: self.root,
            code: self.asm.f,
            local_bytes: self.frame.local_bytes,
        });
        built.barriers = built.barriers.max(self.barriers);
        for diagnostic in self.unsupported {
            if !built.unsupported.contains(&diagnostic) {
                built.unsupported.push(diagnostic);
            }
        }
        built.frame = self.frame;
    }

    fn kernel(&mut self, kernel: FuncId) {
        let entry = self.asm.new_block();
        self.ssa.set_entry(entry);
        self.asm.cur = Some(entry);
        self.function(kernel, None);
        if self.asm.cur.is_some() {
            self.asm.end(Term::Exit);
        }
    }

    /// Walks a function's body; control that runs off its end continues behind it in the current block.
    fn function(&mut self, func: FuncId, return_to: Option<Blk>) {
        let module = self.module;
        let Some(body) = &module.function(func).body else { return };
        let labels = body.labels.iter().map(|_| self.asm.new_block()).collect();
        self.scopes.push(Scope { func, labels, jumped_to: runs::jumped_to(body), return_to });
        self.run += 1;
        for statement in &body.statements {
            match statement {
                Statement::Label(label) => self.label(*label),
                Statement::Pragma(text) if text == "nounroll" => {
                    if let Some(blk) = self.asm.cur {
                        self.asm.f.block_mut(blk).nounroll = true;
                    }
                }
                Statement::Pragma(_) => {}
                Statement::Unsupported(refused) if self.asm.cur.is_some() => {
                    self.where_guarded(refused.guard, |s, _| s.refuse(refused.diagnostic.clone()));
                }
                Statement::Unsupported(_) => {}
                Statement::Inst(inst) => self.statement(inst),
            }
        }
        self.scopes.pop();
        self.run += 1;
    }

    /// The mark of a sum or product that may be fused.
    pub(crate) fn fusible(&self, ty: ScalarType) -> Option<Fuse> {
        self.fmad.then_some(Fuse { run: self.run, ty })
    }

    fn label(&mut self, label: LabelId) {
        let blk = self.label_block(label);
        if self.scopes[self.scopes.len() - 1].jumped_to[label.index()] {
            self.run += 1;
        }
        if self.asm.cur.is_some() {
            self.asm.end(Term::Goto(blk));
        }
        self.open(blk);
    }

    /// Continues at a block, which takes its place in the block order here.
    fn open(&mut self, blk: Blk) {
        // Of several places the last one counts, once all is built.
        self.asm.f.order.push(blk);
        self.asm.cur = Some(blk);
    }

    /// Whether the code that is walked is the kernel's own, not that of a function.
    fn in_kernel(&self) -> bool {
        self.module.function(self.scopes[self.scopes.len() - 1].func).is_kernel
    }

    fn label_block(&self, label: LabelId) -> Blk {
        self.scopes[self.scopes.len() - 1].labels[label.index()]
    }

    fn statement(&mut self, inst: &Inst) {
        if self.asm.cur.is_none() {
            return;
        }
        self.asm.line = self.source_line(inst);
        self.guarded(inst);
        if runs::ends_run(inst) {
            self.run += 1;
        }
    }

    /// Emits a trap for an instruction without lowering.
    fn refuse(&mut self, diagnostic: Diagnostic) {
        if self.asm.cur.is_none() {
            return;
        }
        self.asm.line = source_line(self.module.line(diagnostic.span), Position::default());
        self.asm.f.traps.push(diagnostic.message.clone());
        self.asm.end(Term::Trap(self.asm.f.traps.len() as u32));
        self.asm.cur = None;
        if !self.unsupported.contains(&diagnostic) {
            self.unsupported.push(diagnostic);
        }
    }

    fn source_line(&self, inst: &Inst) -> SourceLine {
        let line = self.module.line(inst.span);
        let scope = &self.scopes[self.scopes.len() - 1];
        let body = self.module.function(scope.func).body.as_ref();
        match (inst.loc, body) {
            (Some(loc), Some(body)) => {
                let loc = body.loc(loc);
                let at = self.module.files.iter().position(|(number, _)| *number == loc.file);
                // The PTX itself is the first file.
                let file = at.map_or(0, |at| at as u32 + PTX_FILE + 1);
                source_line(line, Position { file, line: loc.line })
            }
            _ => source_line(line, Position::default()),
        }
    }

    /// Lowers an instruction under its guard: branches and exits test it themselves, other instructions get a
    /// separate block that the guard skips (short ones become predicated code later).
    fn guarded(&mut self, inst: &Inst) {
        let leaves = matches!(inst.op, Op::Bra { .. } | Op::Ret { .. } | Op::Exit);
        if let (true, Some(guard)) = (leaves, inst.guard) {
            let p = self.guard(guard);
            if p.constant() != Some(false) {
                self.executed(inst, p);
            }
            return;
        }
        self.where_guarded(inst.guard, |s, guard| s.executed(inst, guard));
    }

    fn guard(&mut self, guard: Guard) -> PSrc {
        let p = self.read_pred(guard.reg);
        if guard.negated { p.negated() } else { p }
    }

    /// Builds code under a guard, in a separate block unless the guard is known to be true.
    fn where_guarded(&mut self, guard: Option<Guard>, build: impl FnOnce(&mut Self, PSrc)) {
        let p = guard.map_or(PSrc::TRUE, |guard| self.guard(guard));
        match p.constant() {
            Some(true) => return build(self, PSrc::TRUE),
            Some(false) => return,
            None => {}
        }
        let before = self.asm.block();
        let then = self.asm.new_block();
        let next = self.asm.new_block();
        self.asm.end(Term::If(p, then, next));
        self.ssa.set_single_pred(then, before);
        self.open(then);
        build(self, PSrc::TRUE);
        if self.asm.cur == Some(then) {
            self.ssa.set_beside(next, then, before);
        }
        if self.asm.cur.is_some() {
            self.asm.end(Term::Goto(next));
        }
        self.open(next);
    }

    /// Lowers an instruction, or makes a trap of it.
    fn executed(&mut self, inst: &Inst, guard: PSrc) {
        if let Err(diagnostic) = self.instruction(inst, guard) {
            self.refuse(diagnostic);
        }
    }

    /// Leaves the current block for `target` in the lanes where `p` holds, and goes on in the others.
    fn leave(&mut self, p: PSrc, target: Blk) {
        if p.constant() == Some(true) {
            self.asm.end(Term::Goto(target));
            self.asm.cur = None;
            return;
        }
        let before = self.asm.block();
        let next = self.asm.new_block();
        self.asm.end(Term::If(p, target, next));
        self.ssa.set_single_pred(next, before);
        self.open(next);
    }

    /// Branches over a slow path: the fast results where `p` is false, what `slow` computes where it is true.
    fn slow_path<const N: usize>(
        &mut self,
        p: PSrc,
        fast: [Val; N],
        slow: impl FnOnce(&mut Self) -> [Val; N],
    ) -> [Val; N] {
        use super::vir::{Def, Phi, Val};
        let before = self.asm.block();
        let (then, join) = (self.asm.new_block(), self.asm.new_block());
        self.asm.end(Term::If(p, then, join));
        // No PTX variable changes on the slow path.
        self.ssa.set_single_pred(then, before);
        self.ssa.set_single_pred(join, before);
        self.open(then);
        let slow = slow(self);
        self.asm.end(Term::Goto(join));
        self.open(join);
        std::array::from_fn(|i| {
            let dst = self.asm.f.new_reg();
            self.asm.f.defs[dst.index()] = Def::Phi(join);
            self.asm.f.block_mut(join).phis.push(Phi { dst, args: vec![fast[i], slow[i]] });
            Val::Reg(dst)
        })
    }

    /// The diagnostic for an instruction that has no lowering.
    fn unsupported(&self, inst: &Inst, what: &str) -> Diagnostic {
        let text = self.module.source.snippet(inst.span).split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: String = text.chars().take(80).collect();
        Diagnostic::error(inst.span, format!("{what} cannot be lowered to machine code: `{shown}`"))
            .with_help("a thread that reaches it faults; rewrite the source to avoid this form")
    }

    fn instruction(&mut self, inst: &Inst, guard: PSrc) -> Lowered {
        match inst.op {
            Op::Add(op) => self.add(inst, op, false),
            Op::Sub(op) => self.add(inst, op, true),
            Op::Mul(op) => self.mul(inst, op),
            Op::Mad(op) => self.mad(inst, op),
            Op::Fma(op) => self.fma(inst, op),
            Op::Mul24 { ty, high } => self.mul24(inst, ty, high, false, false),
            Op::Mad24 { ty, high, sat } => self.mul24(inst, ty, high, true, sat),
            Op::Sad(ty) => self.sad(inst, ty),
            Op::Div(op) if op.ty.is_float() => self.float_div(inst, op),
            Op::Div(op) => self.int_div(inst, op.ty, false),
            Op::Rem(ty) => self.int_div(inst, ty, true),
            Op::Abs { ty, ftz } => self.abs(inst, ty, ftz),
            Op::Neg { ty, ftz } => self.neg(inst, ty, ftz),
            Op::Min(op) => self.min_max(inst, op, false),
            Op::Max(op) => self.min_max(inst, op, true),
            Op::Popc(ty) => self.popc(inst, ty),
            Op::Clz(ty) => self.clz(inst, ty),
            Op::Bfind { ty, shiftamt } => self.bfind(inst, ty, shiftamt),
            Op::Brev(ty) => self.brev(inst, ty),
            Op::Bfe(ty) => self.bfe(inst, ty),
            Op::Bfi(ty) => self.bfi(inst, ty),
            Op::Bmsk(mode) => self.bmsk(inst, mode),
            Op::Szext { ty, mode } => self.szext(inst, ty, mode),
            Op::Dp4a { a_ty, b_ty } => self.dot(inst, Dot::Bytes, a_ty, b_ty),
            Op::Dp2a { a_ty, b_ty, high } => {
                self.dot(inst, if high { Dot::HalvesHigh } else { Dot::HalvesLow }, a_ty, b_ty)
            }
            Op::Fns => self.fns(inst),
            Op::Video(op) => self.video(inst, op),
            Op::Testp { ty, op } => self.testp(inst, ty, op),
            Op::Copysign(ty) => self.copysign(inst, ty),
            Op::Rcp(op) => self.rcp(inst, op),
            Op::Sqrt(op) => self.sqrt(inst, op),
            Op::Rsqrt(op) => self.rsqrt(inst, op),
            Op::Sin { ftz } => self.trig(inst, false, ftz),
            Op::Cos { ftz } => self.trig(inst, true, ftz),
            Op::Lg2 { ftz } => self.lg2(inst, ftz),
            Op::Ex2 { ty, ftz } => self.ex2(inst, ty, ftz),
            Op::Tanh(ty) => self.tanh(inst, ty),
            Op::Set { dst_ty, compare } => self.set(inst, dst_ty, compare),
            Op::Setp(op) => self.setp(inst, op),
            Op::Selp(ty) => self.selp(inst, ty),
            Op::Slct { ty, selector_ty, ftz } => self.slct(inst, ty, selector_ty, ftz),
            Op::And(ty) => self.logic(inst, ty, 0xC0),
            Op::Or(ty) => self.logic(inst, ty, 0xFC),
            Op::Xor(ty) => self.logic(inst, ty, 0x3C),
            Op::Not(ty) => self.logic(inst, ty, 0x0F),
            Op::Cnot(ty) => self.cnot(inst, ty),
            Op::Lop3 { lut, combine } => self.lop3(inst, lut, combine),
            Op::Shf { direction, mode } => self.shf(inst, direction, mode),
            Op::Shl(ty) => self.shl(inst, ty),
            Op::Shr(ty) => self.shr(inst, ty),
            Op::Mov { ty, shape } => self.mov(inst, ty, shape),
            Op::Cvt(op) => self.cvt(inst, op),
            Op::CvtPack { dst_ty, merge, .. } => self.cvt_pack(inst, dst_ty, merge),
            Op::Cvta { to, space, ty } => self.cvta(inst, to, space, ty),
            Op::Isspacep(space) => self.isspacep(inst, space),
            Op::Prmt(mode) => self.prmt(inst, mode),
            Op::Ld(op) => self.ld(inst, op),
            Op::St(op) => self.st(inst, op),
            Op::Tex(op) => self.tex(inst, op, false),
            Op::Tld4(op) => self.tex(inst, op, true),
            Op::Txq { query, level } => self.texture_query(inst, query, level),
            Op::Suq(query) => self.texture_query(inst, query, false),
            Op::Suld(op) => self.suld(inst, op),
            Op::Sust(op) => self.sust(inst, op),
            Op::Sured { op, surface } => self.sured(inst, op, surface),
            Op::Atom(op) => self.atom(inst, op, false),
            Op::Red(op) => self.atom(inst, op, true),
            // Hints, and waits for what is complete already.
            Op::Prefetch { .. }
            | Op::CacheHint { .. }
            | Op::Pmevent { .. }
            | Op::Setmaxnreg { .. }
            | Op::Griddepcontrol { .. }
            | Op::CpAsyncCommitGroup
            | Op::CpAsyncWait { .. } => Ok(()),
            Op::Createpolicy => self.create_policy(inst),
            Op::CpAsync(op) => self.cp_async(inst, op),
            Op::CpAsyncMbarrierArrive { noinc, .. } => self.cp_async_arrive(inst, noinc),
            Op::Mbarrier(op) => self.mbarrier(inst, op),
            Op::BarrierCluster { arrive, .. } => self.cluster_barrier(arrive),
            Op::Mapa { .. } => self.map_to_block(inst),
            Op::Getctarank { .. } => {
                self.set_word(&inst.dsts()[0], Val::ZERO);
                Ok(())
            }
            Op::Bra { target, .. } => {
                let blk = self.label_block(target);
                self.leave(guard, blk);
                Ok(())
            }
            Op::BrxIdx { table, .. } => self.indexed_branch(inst, table),
            Op::Call { callee, .. } => self.call(inst, callee),
            Op::Alloca { .. } => self.alloca(inst),
            Op::Stacksave(_) => {
                let used = self.dynamic_used();
                self.set_pair(&inst.dsts()[0], [used, Val::ZERO]);
                Ok(())
            }
            Op::Stackrestore(_) => {
                let used = self.word(inst, &inst.srcs()[0])?;
                self.set_dynamic_used(used);
                Ok(())
            }
            Op::Ret { .. } => self.ret(guard),
            Op::Exit => {
                self.exit(guard);
                Ok(())
            }
            Op::Trap | Op::Brkpt => {
                self.asm.end(Term::Trap(0));
                self.asm.cur = None;
                Ok(())
            }
            Op::Nanosleep => self.nanosleep(inst),
            Op::Bar(op) => self.bar(inst, op),
            Op::BarWarpSync => self.warp_sync(inst),
            Op::Fence(op) => self.fence(inst, op),
            Op::Vote { mode, sync } => self.vote(inst, mode, sync),
            Op::Shfl { mode, .. } => self.shfl(inst, mode),
            Op::Match { all, ty } => self.find_equal(inst, all, ty),
            Op::Redux { op, ty, abs, nan } => self.redux(inst, op, ty, abs, nan),
            Op::Elect => self.elect(inst),
            Op::Activemask => self.activemask(inst),
            Op::WmmaLoad(op) => self.wmma_load(inst, op),
            Op::WmmaStore(op) => self.wmma_store(inst, op),
            Op::WmmaMma(op) => self.matrix_multiply(inst, op, true),
            Op::Mma(op) => self.matrix_multiply(inst, op, false),
            Op::Ldmatrix(op) => self.ldmatrix(inst, op),
            Op::Stmatrix(op) => self.stmatrix(inst, op),
            Op::Movmatrix => self.movmatrix(inst),
            _ => Err(self.unsupported(inst, "this instruction")),
        }
    }
}

/// Number of the PTX among a kernel's source files.
const PTX_FILE: u32 = 1;

/// A line of the PTX; 0 when there is none.
fn code_line(line: u32) -> Position {
    Position { file: if line > 0 { PTX_FILE } else { 0 }, line }
}

/// A line of the PTX, and the line of source that it was compiled from.
fn source_line(line: u32, source: Position) -> SourceLine {
    SourceLine { code: code_line(line), source }
}
