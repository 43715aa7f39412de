//! Emission of machine code: values become registers, remaining copies become moves, blocks are laid out in
//! order, and branches skip empty blocks.

use rustc_hash::FxHashMap;

use trace_format::isa::{self, Extended, Lut, Op, Operand, Pc, Pred, PredSrc, Reg, SourceLine};

use super::Allocated;
use super::code::{Copy, Item};
use crate::lower::cfg;
use crate::lower::frame::Addressing;
use crate::lower::vir::{Blk, Func, Inst, InstId, PSrc, Src, SubId, Term, VOp, Val};
use crate::ptx::FuncId;

mod ends;

pub(crate) use ends::kept_bytes;

/// Origin of a machine instruction, for the allocation checker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// An instruction.
    Inst(InstId),
    /// Part of a copy, or a branch.
    Glue,
}

/// Machine code with what the checker needs to relate it to the code before allocation.
pub(crate) struct Emitted {
    /// Instructions.
    pub insts: Vec<isa::Inst>,
    /// Source lines, parallel.
    pub lines: Vec<SourceLine>,
    /// Origins, parallel.
    pub origins: Vec<Origin>,
    /// Instructions of each block that has any: from, to.
    pub ranges: FxHashMap<Blk, (u32, u32)>,
    /// First instruction of each subroutine.
    pub subs: Vec<Pc>,
    /// Calls of separate machine functions, whose targets are not known yet.
    pub calls: Vec<(usize, FuncId)>,
    /// First instruction of a function's epilogue.
    pub epilogue: Option<Pc>,
    /// Traps in place of instructions without lowering, and the reasons of their faults.
    pub traps: Vec<(Pc, String)>,
}

struct Emitter<'a> {
    f: &'a Func,
    a: &'a Allocated,
    shape: Shape,
    out: Emitted,
    fixups: Vec<(usize, Blk)>,
    calls: Vec<(usize, SubId)>,
    /// Branches to the epilogue.
    returns: Vec<usize>,
    line: SourceLine,
    addressing: Addressing,
    role: Role,
}

/// Kind of the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A kernel: begins with the stack pointer that the launch gives.
    Kernel,
    /// A called function: saves the registers that it uses in its frame, from this offset on.
    Function {
        /// Offset of the first kept register.
        save_at: u32,
    },
}

/// Writes the machine code of allocated code.
///
/// A kernel's first instruction loads the stack pointer, which starts at the end of local memory; accesses at
/// known addresses are relative to it. With frames, each function first allocates its frame.
pub(crate) fn emit(f: &Func, a: &Allocated, addressing: Addressing, role: Role) -> Emitted {
    let out = Emitted {
        insts: Vec::new(),
        lines: Vec::new(),
        origins: Vec::new(),
        ranges: FxHashMap::default(),
        subs: Vec::new(),
        calls: Vec::new(),
        epilogue: None,
        traps: Vec::new(),
    };
    let (fixups, calls, returns) = (Vec::new(), Vec::new(), Vec::new());
    let line = f.blocks.first().map_or(SourceLine::default(), |b| b.line);
    let mut e = Emitter { f, a, shape: Shape::of(f, a), out, fixups, calls, returns, line, addressing, role };
    e.prologue();
    let emitted: Vec<Blk> = f.order.iter().copied().filter(|&b| e.is_emitted(b)).collect();
    for (i, &b) in emitted.iter().enumerate() {
        let next = emitted.get(i + 1).copied();
        let start = e.out.insts.len() as u32;
        if b == Blk(0) && matches!(addressing, Addressing::Fixed { .. }) {
            e.load_stack_pointer();
        }
        e.block(b, next);
        e.out.ranges.insert(b, (start, e.out.insts.len() as u32));
        if f.block(b).sub.is_none() && next.is_none_or(|n| f.block(n).sub.is_some()) {
            e.epilogue();
        }
    }
    for (at, blk) in std::mem::take(&mut e.fixups) {
        e.out.insts[at].target = Pc(e.out.ranges[&blk].0);
    }
    for at in std::mem::take(&mut e.returns) {
        e.out.insts[at].target = e.out.epilogue.unwrap_or(Pc(0));
    }
    e.out.subs = f.subs.iter().map(|s| Pc(e.out.ranges[&s.entry].0)).collect();
    for (at, sub) in std::mem::take(&mut e.calls) {
        e.out.insts[at].target = e.out.subs[sub.index()];
    }
    e.out
}

impl Allocated {
    /// Whether a copy needs an instruction.
    fn moves(&self, c: &Copy) -> bool {
        match *c {
            Copy::R(d, v) => match (self.assignment.reg(d), v) {
                (None, _) | (_, Val::Undef) => false,
                (Some(d), Val::Reg(s)) => self.assignment.reg(s).is_some_and(|s| s != d),
                _ => true,
            },
            Copy::P(d, p) => match (self.assignment.pred(d), p.pred) {
                (None, _) => false,
                (Some(d), Some(s)) => p.not || self.assignment.pred(s) != Some(d),
                (Some(_), None) => true,
            },
        }
    }

    /// Whether nothing is emitted for a block's items.
    fn is_empty(&self, b: Blk) -> bool {
        self.code.blocks[b.index()].items.iter().all(|item| match item {
            Item::Inst(_) => false,
            Item::Copies(copies) => copies.iter().all(|c| !self.moves(c)),
        })
    }
}

/// Treatment of each block.
struct Shape {
    /// Nothing is emitted for its items.
    empty: Vec<bool>,
    /// The kernel or a subroutine begins there; these blocks are always there.
    entry: Vec<bool>,
    /// Block at which control continues after a branch to it.
    continues: Vec<Blk>,
}

impl Shape {
    fn of(f: &Func, a: &Allocated) -> Shape {
        let blocks = || (0..f.blocks.len()).map(|b| Blk(b as u32));
        let mut entry = vec![false; f.blocks.len()];
        cfg::roots(f).into_iter().for_each(|b| entry[b.index()] = true);
        let empty: Vec<bool> = blocks().map(|b| a.is_empty(b)).collect();
        let next = |b: Blk| match f.block(b).term {
            Term::Goto(to) if to != b && empty[b.index()] && !entry[b.index()] => Some(to),
            _ => None,
        };
        // Blocks of which that is known, and those on the way.
        let mut known = vec![false; f.blocks.len()];
        let mut continues: Vec<Blk> = blocks().collect();
        let mut way = Vec::new();
        for b in blocks() {
            let mut at = b;
            while !std::mem::replace(&mut known[at.index()], true) {
                way.push(at);
                match next(at) {
                    Some(to) => at = to,
                    None => break,
                }
            }
            // In a cycle of empty blocks it is the first block that occurs again.
            let end = continues[at.index()];
            way.drain(..).for_each(|on_it| continues[on_it.index()] = end);
        }
        Shape { empty, entry, continues }
    }
}

impl Emitter<'_> {
    /// The block at which control continues after a branch to `b`.
    fn resolve(&self, b: Blk) -> Blk {
        self.shape.continues[b.index()]
    }

    fn is_empty(&self, b: Blk) -> bool {
        self.shape.empty[b.index()]
    }

    /// Whether a block only ends the thread or returns, so that branches to it become that instruction.
    fn leaves(&self, b: Blk) -> Option<Op> {
        match self.f.block(b).term {
            Term::Exit if self.is_empty(b) => Some(Op::Exit {}),
            Term::Return if self.is_empty(b) && self.f.block(b).sub.is_some() => Some(Op::Ret {}),
            _ => None,
        }
    }

    fn is_emitted(&self, b: Blk) -> bool {
        self.is_entry(b) || (self.resolve(b) == b && self.leaves(b).is_none())
    }

    /// Whether a block is where the kernel or a subroutine begins.
    fn is_entry(&self, b: Blk) -> bool {
        self.shape.entry[b.index()]
    }

    fn push(&mut self, inst: isa::Inst, origin: Origin) {
        self.out.insts.push(inst);
        self.out.lines.push(self.line);
        self.out.origins.push(origin);
    }

    fn block(&mut self, b: Blk, next: Option<Blk>) {
        let code = &self.a.code;
        for item in &code.blocks[b.index()].items {
            match item {
                Item::Inst(id) => self.instruction(*id),
                Item::Copies(copies) => self.copies(copies),
            }
        }
        if self.f.block(b).line != SourceLine::default() {
            self.line = self.f.block(b).line;
        }
        match self.f.block(b).term {
            Term::Goto(to) => self.go(to, PredSrc::TRUE, next),
            Term::If(p, yes, no) => self.branch(b, p, yes, no, next),
            Term::Exit => self.push(isa::Inst::new(Op::Exit {}), Origin::Glue),
            Term::Return if self.f.block(b).sub.is_some() => {
                self.push(isa::Inst::new(Op::Ret {}), Origin::Glue);
            }
            // The epilogue comes behind the last block of the function's own.
            Term::Return if next.is_none_or(|n| self.f.block(n).sub.is_some()) => {}
            Term::Return => {
                self.returns.push(self.out.insts.len());
                self.push(isa::Inst::new(Op::Bra {}), Origin::Glue);
            }
            Term::Trap(why) => self.trap(why),
        }
    }

    fn trap(&mut self, why: u32) {
        let text = why.checked_sub(1).and_then(|i| self.f.traps.get(i as usize));
        let at = Pc(self.out.insts.len() as u32);
        self.out.traps.extend(text.map(|text| (at, text.clone())));
        self.push(isa::Inst::new(Op::Bpt {}), Origin::Glue);
    }

    fn branch(&mut self, b: Blk, p: PSrc, yes: Blk, no: Blk, next: Option<Blk>) {
        let (yes, no) = (self.resolve(yes), self.resolve(no));
        let p = self.psrc(p);
        let inverse = PredSrc { not: !p.not, ..p };
        // A branch back to a loop comes before the one out of it, as it is taken more often.
        let back = |to: Blk| to == b || self.out.ranges.contains_key(&to);
        let yes_first = match next {
            Some(next) if next == no => true,
            Some(next) if next == yes => false,
            _ if back(yes) != back(no) => back(yes),
            _ => self.leaves(yes).is_some(),
        };
        if yes == no {
            self.go(yes, PredSrc::TRUE, next);
        } else if yes_first {
            self.go(yes, p, None);
            self.go(no, PredSrc::TRUE, next);
        } else {
            self.go(no, inverse, None);
            self.go(yes, PredSrc::TRUE, next);
        }
    }

    /// Continues at a block where the guard holds.
    fn go(&mut self, to: Blk, guard: PredSrc, next: Option<Blk>) {
        let to = self.resolve(to);
        if let Some(op) = self.leaves(to) {
            self.push(isa::Inst::new(op).guarded(guard), Origin::Glue);
        } else if next != Some(to) {
            self.fixups.push((self.out.insts.len(), to));
            self.push(isa::Inst::new(Op::Bra {}).guarded(guard), Origin::Glue);
        }
    }

    fn val(&self, v: Val) -> Operand {
        match v {
            Val::Undef | Val::Imm(0) => Operand::Reg(Reg::RZ),
            Val::Imm(x) => Operand::Imm(x),
            Val::Const { bank, offset } => Operand::Const { bank, offset },
            Val::Reg(r) => Operand::Reg(self.a.assignment.reg(r).map_or(Reg::RZ, Reg)),
        }
    }

    fn psrc(&self, p: PSrc) -> PredSrc {
        let pred = p.pred.map_or(Pred::PT, |p| self.a.assignment.pred(p).map_or(Pred::PT, Pred));
        PredSrc { pred, not: p.not }
    }

    fn src(&self, s: &Src, n: u8, op: &Op) -> isa::Src {
        let operand = match (n, s.v[0], s.v[1]) {
            (2, Val::Imm(lo), Val::Imm(hi)) => {
                // After legalisation all pairs here are valid.
                self.val(Val::Imm(op.literal_of_pair([lo, hi]).unwrap_or(lo)))
            }
            (0, _, _) => Operand::None,
            _ => self.val(s.v[0]),
        };
        isa::Src { operand, neg: s.neg, abs: s.abs }
    }

    fn instruction(&mut self, id: InstId) {
        let inst: &Inst = self.f.inst(id);
        self.line = inst.line;
        let op = match inst.op {
            VOp::M(op) => op,
            VOp::Call(sub) => {
                self.calls.push((self.out.insts.len(), sub));
                self.push(isa::Inst::new(Op::Call {}), Origin::Inst(id));
                return;
            }
            VOp::CallFunction(func) => {
                self.out.calls.push((self.out.insts.len(), func));
                self.push(isa::Inst::new(Op::Call {}), Origin::Inst(id));
                return;
            }
            VOp::FrameAddress => {
                let (base, offset) = self.addressing.operand(inst.offset);
                let mut m = isa::Inst::new(Op::Iadd3 { x: Extended(false) });
                m.dst = inst.dst[0].and_then(|d| self.a.assignment.reg(d)).map_or(Reg::RZ, Reg);
                m.src = [base, isa::Src::imm(offset as u32), isa::Src::RZ];
                m.guard = self.psrc(inst.guard);
                self.push(m, Origin::Inst(id));
                return;
            }
            // Expanded by legalisation.
            VOp::Add64 => return,
        };
        let shape = inst.op.shape();
        let mut m = isa::Inst::new(op);
        m.guard = self.psrc(inst.guard);
        m.dst = inst.dst[0].and_then(|d| self.a.assignment.reg(d)).map_or(Reg::RZ, Reg);
        for k in 0..2 {
            m.pdst[k] = inst.pdst[k].and_then(|p| self.a.assignment.pred(p)).map_or(Pred::PT, Pred);
        }
        for i in 0..3 {
            if shape.src[i] > 0 {
                m.src[i] = self.src(&inst.src[i], shape.src[i], &op);
            }
        }
        for i in 0..shape.psrc as usize {
            m.psrc[i] = self.psrc(inst.psrc[i]);
        }
        m.offset = inst.offset;
        if op.info().kind.space() == Some(isa::space::Space::Local) && inst.src[0].v[0] == Val::ZERO {
            (m.src[0], m.offset) = self.addressing.operand(m.offset);
        }
        self.push(m, Origin::Inst(id));
    }

    /// A parallel copy as a sequence: registers without pending reads are written first; cycles are swapped.
    fn copies(&mut self, copies: &[Copy]) {
        let mut regs: Vec<(Reg, Operand)> = Vec::new();
        let mut preds: Vec<(Pred, PredSrc)> = Vec::new();
        for c in copies.iter().filter(|c| self.a.moves(c)) {
            match *c {
                Copy::R(d, v) => regs.push((self.a.assignment.reg(d).map_or(Reg::RZ, Reg), self.val(v))),
                Copy::P(d, p) => preds.push((self.a.assignment.pred(d).map_or(Pred::PT, Pred), self.psrc(p))),
            }
        }
        self.move_regs(regs);
        self.move_preds(preds);
    }

    fn move_regs(&mut self, mut moves: Vec<(Reg, Operand)>) {
        let reads = |o: &Operand, r: Reg| *o == Operand::Reg(r);
        while !moves.is_empty() {
            // How many others read each register.
            let mut readers = [0u16; 256];
            for (d, source) in &moves {
                if let Operand::Reg(s) = source
                    && s != d
                {
                    readers[s.index()] += 1;
                }
            }
            let free = moves.iter().position(|(d, _)| readers[d.index()] == 0);
            if let Some(i) = free {
                let (d, s) = moves.remove(i);
                let src = isa::Src { operand: s, neg: false, abs: false };
                self.push(isa::Inst::new(Op::Mov {}).dst(d).srcs([src]), Origin::Glue);
                continue;
            }
            let (d, s) = moves.remove(0);
            let Operand::Reg(s) = s else { continue };
            let (a, b) = (isa::Src::reg(d), isa::Src::reg(s));
            let lut = Lut(Lut::A ^ Lut::B);
            for to in [d, s, d] {
                self.push(isa::Inst::new(Op::Lop3 { lut }).dst(to).srcs([a, b, isa::Src::RZ]), Origin::Glue);
            }
            for (_, source) in &mut moves {
                if reads(source, d) {
                    *source = Operand::Reg(s);
                } else if reads(source, s) {
                    *source = Operand::Reg(d);
                }
            }
            moves.retain(|(to, from)| !reads(from, *to));
        }
    }

    fn move_preds(&mut self, mut moves: Vec<(Pred, PredSrc)>) {
        let plop = |d: Pred, lut: u8, a: PredSrc, b: PredSrc| {
            let mut inst = isa::Inst::new(Op::Plop3 { lut: Lut(lut) });
            inst.pdst[0] = d;
            inst.psrc = [a, b, PredSrc::TRUE];
            inst
        };
        while !moves.is_empty() {
            let free =
                moves.iter().position(|(d, _)| moves.iter().all(|(other, s)| other == d || s.pred != *d));
            if let Some(i) = free {
                let (d, s) = moves.remove(i);
                self.push(plop(d, Lut::A, s, PredSrc::TRUE), Origin::Glue);
                continue;
            }
            let (d, s) = moves.remove(0);
            for to in [d, s.pred, d] {
                self.push(plop(to, Lut::A ^ Lut::B, PredSrc::of(d), PredSrc::of(s.pred)), Origin::Glue);
            }
            if s.not {
                self.push(plop(d, !Lut::A, PredSrc::of(d), PredSrc::TRUE), Origin::Glue);
            }
            for (_, source) in &mut moves {
                if source.pred == d {
                    source.pred = s.pred;
                } else if source.pred == s.pred {
                    source.pred = d;
                    source.not ^= s.not;
                }
            }
            moves.retain(|(to, from)| *to != from.pred || from.not);
        }
    }
}
