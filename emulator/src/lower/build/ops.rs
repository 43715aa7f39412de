//! Constructors of instructions, for the lowering of PTX and for arithmetic sequences (division, roots,
//! 64-bit operations).
//!
//! Every constructor returns operands, not instructions: an operation that folds to a constant or to one of
//! its inputs is never emitted.

use trace_format::isa::{
    BoolFloat, BoolOp, Extended, FCmp, FloatTy, Ftz, HalfTy, High, ICmp, IntRnd, IntTy, Lut, Max, MufuFn, Op,
    PackRnd, PrmtMode, Relu, Rnd, Sat, SatFinite, Sign, SpecialReg, Wide, Wrap,
};

use crate::lower::fold::{Known, SHL, fold};
use crate::lower::vir::{Blk, CallOperands, Func, Fuse, Inst, InstId, PSrc, Src, SubId, Term, VOp, Val};
use trace_format::isa::SourceLine;

/// A cursor that appends instructions to a block of a function.
#[derive(Default)]
pub(crate) struct Asm {
    /// The function.
    pub f: Func,
    /// Block that instructions go to.
    pub cur: Option<Blk>,
    /// Origin noted at every instruction.
    pub line: SourceLine,
    /// Subroutine being built.
    pub sub: Option<SubId>,
}

/// No `.ftz`.
pub(crate) const KEEP: Ftz = Ftz(false);
/// No `.sat`.
pub(crate) const NOSAT: Sat = Sat(false);

impl Asm {
    /// The block that instructions go to.
    ///
    /// # Panics
    /// Panics before the first block.
    pub(crate) fn block(&self) -> Blk {
        self.cur.expect("a block is open")
    }

    /// A new block of the function or subroutine being built.
    pub(crate) fn new_block(&mut self) -> Blk {
        self.f.new_block(self.sub)
    }

    /// Ends the current block.
    pub(crate) fn end(&mut self, term: Term) {
        let blk = self.block();
        self.f.block_mut(blk).term = term;
        self.f.block_mut(blk).line = self.line;
        for s in term.succs() {
            self.f.block_mut(s).preds.push(blk);
        }
    }

    /// Appends an instruction with `preds` destination predicates, unless its results are known.
    pub(crate) fn put(&mut self, mut inst: Inst, preds: u8) -> Known {
        let mut v = |v: &mut Val| *v = self.f.resolve(*v);
        for s in &mut inst.src {
            s.v.iter_mut().for_each(&mut v);
        }
        for p in &mut inst.psrc {
            *p = self.f.presolve(*p);
        }
        if inst.op.is_free()
            && let Some(known) = fold(&mut inst, preds > 0)
        {
            return known;
        }
        let shape = inst.op.shape();
        let mut known = Known::preds(PSrc::FALSE, PSrc::FALSE);
        for k in 0..shape.dst as usize {
            let d = self.f.new_reg();
            inst.dst[k] = Some(d);
            known.dst[k] = Val::Reg(d);
        }
        for k in 0..preds as usize {
            let p = self.f.new_pred();
            inst.pdst[k] = Some(p);
            known.pdst[k] = PSrc::of(p);
        }
        self.append(inst);
        known
    }

    /// Appends an instruction unchanged.
    pub(crate) fn append(&mut self, inst: Inst) -> InstId {
        let blk = self.block();
        let id = self.f.add_inst(inst);
        self.f.block_mut(blk).insts.push(id);
        id
    }

    fn make(&self, op: VOp, srcs: &[Src]) -> Inst {
        let mut inst = Inst::new(op, self.line);
        inst.src[..srcs.len()].copy_from_slice(srcs);
        inst
    }

    /// An instruction with one destination register.
    pub(crate) fn r1(&mut self, op: Op, srcs: &[Src]) -> Val {
        let inst = self.make(VOp::M(op), srcs);
        self.put(inst, 0).dst[0]
    }

    /// A sum or product with one destination register that may be fused where it is marked.
    pub(crate) fn fusible_r1(&mut self, fuse: Option<Fuse>, op: Op, srcs: &[Src]) -> Val {
        let inst = Inst { fuse, ..self.make(VOp::M(op), srcs) };
        self.put(inst, 0).dst[0]
    }

    /// The same with a destination pair.
    pub(crate) fn fusible_r2(&mut self, fuse: Option<Fuse>, op: Op, srcs: &[Src]) -> [Val; 2] {
        let inst = Inst { fuse, ..self.make(VOp::M(op), srcs) };
        let d = self.put(inst, 0).dst;
        [d[0], d[1]]
    }

    /// An instruction with one destination register and one predicate source.
    pub(crate) fn r1_where(&mut self, op: Op, srcs: &[Src], with: PSrc) -> Val {
        let mut inst = self.make(VOp::M(op), srcs);
        inst.psrc[0] = with;
        self.put(inst, 0).dst[0]
    }

    /// An instruction with a destination pair.
    pub(crate) fn r2(&mut self, op: Op, srcs: &[Src]) -> [Val; 2] {
        let inst = self.make(VOp::M(op), srcs);
        let d = self.put(inst, 0).dst;
        [d[0], d[1]]
    }

    /// An instruction that runs where `p` holds; elsewhere its result is `old`.
    pub(crate) fn guarded_r1(&mut self, p: PSrc, op: Op, srcs: &[Src], old: Val) -> Val {
        match p.constant() {
            Some(true) => self.r1(op, srcs),
            Some(false) => old,
            None => {
                let mut inst = self.make(VOp::M(op), srcs);
                inst.guard = p;
                inst.tied[0] = old;
                self.put(inst, 0).dst[0]
            }
        }
    }

    // ---- integers -------------------------------------------------------------------------------------------

    /// a + b + c.
    pub(crate) fn iadd3(&mut self, a: impl Into<Src>, b: impl Into<Src>, c: impl Into<Src>) -> Val {
        self.r1(Op::Iadd3 { x: Extended(false) }, &[a.into(), b.into(), c.into()])
    }

    /// a + b.
    pub(crate) fn iadd(&mut self, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.iadd3(a, b, Src::RZ)
    }

    /// a - b.
    pub(crate) fn isub(&mut self, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.iadd3(a, b.into().negated(), Src::RZ)
    }

    /// -a.
    pub(crate) fn ineg(&mut self, a: impl Into<Src>) -> Val {
        self.iadd3(a.into().negated(), Src::RZ, Src::RZ)
    }

    /// a + b and its carry.
    pub(crate) fn iadd_cc(&mut self, a: impl Into<Src>, b: impl Into<Src>) -> (Val, PSrc) {
        let inst = self.make(VOp::M(Op::Iadd3 { x: Extended(false) }), &[a.into(), b.into(), Src::RZ]);
        let k = self.put(inst, 1);
        (k.dst[0], k.pdst[0])
    }

    /// a + b + carry and the carry out; a negated operand enters as its complement.
    pub(crate) fn iadd_x_cc(&mut self, a: impl Into<Src>, b: impl Into<Src>, carry: PSrc) -> (Val, PSrc) {
        let mut inst = self.make(VOp::M(Op::Iadd3 { x: Extended(true) }), &[a.into(), b.into(), Src::RZ]);
        inst.psrc[0] = carry;
        let k = self.put(inst, 1);
        (k.dst[0], k.pdst[0])
    }

    /// 64-bit a + b; operands may be negated.
    pub(crate) fn add64(&mut self, a: impl Into<Src>, b: impl Into<Src>) -> [Val; 2] {
        let inst = self.make(VOp::Add64, &[a.into(), b.into()]);
        let d = self.put(inst, 0).dst;
        [d[0], d[1]]
    }

    /// a * b + c, low word.
    pub(crate) fn imad(&mut self, a: impl Into<Src>, b: impl Into<Src>, c: impl Into<Src>) -> Val {
        self.r1(Op::Imad {}, &[a.into(), b.into(), c.into()])
    }

    /// Upper word of a * b.
    pub(crate) fn imad_hi(&mut self, sign: Sign, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.r1(Op::ImadHi { sign }, &[a.into(), b.into(), Src::RZ])
    }

    /// 64-bit a * b + c.
    pub(crate) fn imad_wide(
        &mut self,
        sign: Sign,
        a: impl Into<Src>,
        b: impl Into<Src>,
        c: [Val; 2],
    ) -> [Val; 2] {
        self.r2(Op::ImadWide { sign }, &[a.into(), b.into(), Src::two(c)])
    }

    /// min or max.
    pub(crate) fn imnmx(&mut self, sign: Sign, max: bool, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.r1(Op::Imnmx { sign, max: Max(max) }, &[a.into(), b.into()])
    }

    // ---- logic and shifts -------------------------------------------------------------------------------------

    /// A bitwise function.
    pub(crate) fn lop3(&mut self, lut: u8, a: impl Into<Src>, b: impl Into<Src>, c: impl Into<Src>) -> Val {
        self.r1(Op::Lop3 { lut: Lut(lut) }, &[a.into(), b.into(), c.into()])
    }

    /// a & b.
    pub(crate) fn and(&mut self, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.lop3(Lut::A & Lut::B, a, b, Src::RZ)
    }

    /// a | b.
    pub(crate) fn or(&mut self, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.lop3(Lut::A | Lut::B, a, b, Src::RZ)
    }

    /// a ^ b.
    pub(crate) fn xor(&mut self, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.lop3(Lut::A ^ Lut::B, a, b, Src::RZ)
    }

    /// !a.
    pub(crate) fn not(&mut self, a: impl Into<Src>) -> Val {
        self.lop3(!Lut::A, a, Src::RZ, Src::RZ)
    }

    /// a << n, clamped.
    pub(crate) fn shl(&mut self, a: impl Into<Src>, n: impl Into<Src>) -> Val {
        self.r1(SHL, &[a.into(), n.into(), Src::RZ])
    }

    /// a >> n, clamped, arithmetic when signed.
    pub(crate) fn shr(&mut self, sign: Sign, a: impl Into<Src>, n: impl Into<Src>) -> Val {
        let op = Op::ShfR { sign, wide: Wide(false), wrap: Wrap(false), high: High(true) };
        self.r1(op, &[Src::RZ, n.into(), a.into()])
    }

    /// A word of {hi:lo} << n.
    pub(crate) fn funnel_l(
        &mut self,
        lo: Val,
        hi: Val,
        n: impl Into<Src>,
        wide: bool,
        wrap: bool,
        high: bool,
    ) -> Val {
        let op = Op::ShfL { wide: Wide(wide), wrap: Wrap(wrap), high: High(high) };
        self.r1(op, &[lo.into(), n.into(), hi.into()])
    }

    /// A word of {hi:lo} >> n.
    #[allow(clippy::too_many_arguments, reason = "the modifiers of one opcode")]
    pub(crate) fn funnel_r(
        &mut self,
        sign: Sign,
        lo: Val,
        hi: Val,
        n: impl Into<Src>,
        wide: bool,
        wrap: bool,
        high: bool,
    ) -> Val {
        let op = Op::ShfR { sign, wide: Wide(wide), wrap: Wrap(wrap), high: High(high) };
        self.r1(op, &[lo.into(), n.into(), hi.into()])
    }

    /// Low `n` bits of a, extended.
    pub(crate) fn sgxt(&mut self, sign: Sign, a: impl Into<Src>, n: impl Into<Src>) -> Val {
        self.r1(Op::Sgxt { sign }, &[a.into(), n.into()])
    }

    /// Bytes of {c:a}.
    pub(crate) fn prmt(&mut self, a: impl Into<Src>, selector: impl Into<Src>, c: impl Into<Src>) -> Val {
        self.r1(Op::Prmt { mode: PrmtMode::Index }, &[a.into(), selector.into(), c.into()])
    }

    /// p ? a : b.
    pub(crate) fn sel(&mut self, p: PSrc, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        let mut inst = self.make(VOp::M(Op::Sel {}), &[a.into(), b.into()]);
        inst.psrc[0] = p;
        self.put(inst, 0).dst[0]
    }

    // ---- predicates ---------------------------------------------------------------------------------------------

    /// a cmp b.
    pub(crate) fn isetp(&mut self, cmp: ICmp, sign: Sign, a: impl Into<Src>, b: impl Into<Src>) -> PSrc {
        let op = Op::Isetp { cmp, sign, bop: BoolOp::And, ex: Extended(false) };
        let inst = self.make(VOp::M(op), &[a.into(), b.into()]);
        self.put(inst, 1).pdst[0]
    }

    /// 64-bit a cmp b.
    pub(crate) fn isetp64(&mut self, cmp: ICmp, sign: Sign, a: [Val; 2], b: [Val; 2]) -> PSrc {
        let low = self.isetp(cmp, Sign::U32, a[0], b[0]);
        let op = Op::Isetp { cmp, sign, bop: BoolOp::And, ex: Extended(true) };
        let mut inst = self.make(VOp::M(op), &[a[1].into(), b[1].into()]);
        inst.psrc[1] = low;
        self.put(inst, 1).pdst[0]
    }

    /// Single-precision a cmp b.
    pub(crate) fn fsetp(&mut self, cmp: FCmp, ftz: Ftz, a: impl Into<Src>, b: impl Into<Src>) -> PSrc {
        let inst = self.make(VOp::M(Op::Fsetp { cmp, ftz, bop: BoolOp::And }), &[a.into(), b.into()]);
        self.put(inst, 1).pdst[0]
    }

    /// Double-precision a cmp b.
    pub(crate) fn dsetp(&mut self, cmp: FCmp, a: impl Into<Src>, b: impl Into<Src>) -> PSrc {
        let inst = self.make(VOp::M(Op::Dsetp { cmp, bop: BoolOp::And }), &[a.into(), b.into()]);
        self.put(inst, 1).pdst[0]
    }

    /// Whether a / b needs the slow path.
    pub(crate) fn fchk(&mut self, a: Val, b: Val) -> PSrc {
        let inst = self.make(VOp::M(Op::Fchk {}), &[a.into(), b.into()]);
        self.put(inst, 1).pdst[0]
    }

    /// A function of predicates.
    pub(crate) fn plop3(&mut self, lut: u8, a: PSrc, b: PSrc, c: PSrc) -> PSrc {
        let mut inst = self.make(VOp::M(Op::Plop3 { lut: Lut(lut) }), &[]);
        inst.psrc = [a, b, c];
        self.put(inst, 1).pdst[0]
    }

    /// p & q.
    pub(crate) fn pand(&mut self, p: PSrc, q: PSrc) -> PSrc {
        self.plop3(Lut::A & Lut::B, p, q, PSrc::TRUE)
    }

    /// p | q.
    pub(crate) fn por(&mut self, p: PSrc, q: PSrc) -> PSrc {
        self.plop3(Lut::A | Lut::B, p, q, PSrc::TRUE)
    }

    /// p ^ q.
    pub(crate) fn pxor(&mut self, p: PSrc, q: PSrc) -> PSrc {
        self.plop3(Lut::A ^ Lut::B, p, q, PSrc::TRUE)
    }

    // ---- floating point -------------------------------------------------------------------------------------------

    /// a + b to nearest.
    pub(crate) fn fadd(&mut self, ftz: Ftz, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.r1(Op::Fadd { rnd: Rnd::Rn, ftz, sat: NOSAT }, &[a.into(), b.into()])
    }

    /// a * b to nearest.
    pub(crate) fn fmul(&mut self, ftz: Ftz, a: impl Into<Src>, b: impl Into<Src>) -> Val {
        self.r1(Op::Fmul { rnd: Rnd::Rn, ftz, sat: NOSAT }, &[a.into(), b.into()])
    }

    /// a * b + c in a rounding.
    pub(crate) fn ffma_rnd(
        &mut self,
        rnd: Rnd,
        ftz: Ftz,
        a: impl Into<Src>,
        b: impl Into<Src>,
        c: impl Into<Src>,
    ) -> Val {
        self.r1(Op::Ffma { rnd, ftz, sat: NOSAT }, &[a.into(), b.into(), c.into()])
    }

    /// a * b + c to nearest.
    pub(crate) fn ffma(&mut self, ftz: Ftz, a: impl Into<Src>, b: impl Into<Src>, c: impl Into<Src>) -> Val {
        self.ffma_rnd(Rnd::Rn, ftz, a, b, c)
    }

    /// Double-precision a * b + c in a rounding.
    pub(crate) fn dfma(
        &mut self,
        rnd: Rnd,
        a: impl Into<Src>,
        b: impl Into<Src>,
        c: impl Into<Src>,
    ) -> [Val; 2] {
        self.r2(Op::Dfma { rnd }, &[a.into(), b.into(), c.into()])
    }

    /// Double-precision a * b.
    pub(crate) fn dmul(&mut self, rnd: Rnd, a: impl Into<Src>, b: impl Into<Src>) -> [Val; 2] {
        self.r2(Op::Dmul { rnd }, &[a.into(), b.into()])
    }

    /// The multi-function unit.
    pub(crate) fn mufu(&mut self, func: MufuFn, ftz: Ftz, a: impl Into<Src>) -> Val {
        self.r1(Op::Mufu { func, ftz }, &[a.into()])
    }

    /// Low half of a register in single precision.
    pub(crate) fn widened_half(&mut self, ty: HalfTy, a: Val) -> Val {
        let op = Op::F2f { dst: FloatTy::F32, src: ty.into(), rnd: Rnd::Rn, ftz: KEEP, sat: NOSAT };
        self.r1(op, &[a.into()])
    }

    /// Two single-precision numbers rounded to nearest in a narrower format, packed.
    pub(crate) fn f2fp(&mut self, dst: FloatTy, high: Val, low: Val) -> Val {
        let op = Op::F2fp { dst, rnd: PackRnd::Nearest, relu: Relu(false), fin: SatFinite(false) };
        self.r1(op, &[high.into(), low.into()])
    }

    /// Half-precision a cmp b, of the low and of the high halves.
    pub(crate) fn hsetp(&mut self, ty: HalfTy, cmp: FCmp, ftz: Ftz, a: Val, b: Val) -> [PSrc; 2] {
        let inst = self.make(VOp::M(Op::Hsetp2 { ty, cmp, ftz, bop: BoolOp::And }), &[a.into(), b.into()]);
        self.put(inst, 2).pdst
    }

    /// Half-precision a cmp b as all ones or zero in each half.
    pub(crate) fn hset_mask(&mut self, ty: HalfTy, cmp: FCmp, a: Val, b: Val) -> Val {
        let op = Op::Hset2 { ty, cmp, ftz: KEEP, bop: BoolOp::And, bf: BoolFloat(false) };
        self.r1(op, &[a.into(), b.into()])
    }

    /// Integer to single precision.
    pub(crate) fn i2f(&mut self, src: IntTy, rnd: Rnd, a: &[Val]) -> Val {
        self.r1(Op::I2f { dst: FloatTy::F32, src, rnd }, &[Src::many(a)])
    }

    /// Single precision to a 32-bit integer, towards zero.
    pub(crate) fn f2i_u32(&mut self, a: Val) -> Val {
        self.r1(Op::F2i { dst: IntTy::U32, src: FloatTy::F32, rnd: IntRnd::Trunc, ftz: KEEP }, &[a.into()])
    }

    // ---- the rest -----------------------------------------------------------------------------------------------------

    /// A special register.
    pub(crate) fn s2r(&mut self, sr: SpecialReg) -> Val {
        self.r1(Op::S2r { sr }, &[])
    }

    /// A call of a subroutine that returns `results` words.
    pub(crate) fn call(&mut self, sub: SubId, args: &[Val], results: usize) -> Vec<Val> {
        let mut inst = Inst::new(VOp::Call(sub), self.line);
        let regs: Vec<_> = (0..results).map(|_| self.f.new_reg()).collect();
        inst.call = Some(Box::new(CallOperands { args: args.to_vec(), results: regs.clone() }));
        self.append(inst);
        regs.into_iter().map(Val::Reg).collect()
    }
}
