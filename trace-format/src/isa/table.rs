//! The opcode table: one row per machine instruction.
//!
//! A row gives the opcode's number, modifiers, mnemonic, execution unit, collectors, latency class, operand
//! shape, the lanes that it depends on, its semantics (the function in [`crate::semantics`] that computes its
//! results, or the kind of effect outside of registers) and its memory access. The enum [`Op`] and every
//! query on it are generated from the rows; a row without semantics does not compile. Traces identify rows by
//! number, so numbers never change: rows are added at the end.
//!
//! Shapes count 32-bit registers: `dst 2` is an aligned pair, `src [1, 1, 2]` three sources of which the third
//! is a pair (or a 64-bit constant). At most one source of an instruction is an immediate or a constant.

use super::facts::{Address, Kind, Lanes, MemData, MemOp, SourceFormat};
use super::modifiers::*;
use super::space::Space;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

const fn is_wide(ty: FloatTy) -> bool {
    matches!(ty, FloatTy::F64)
}

const fn atomic_space(mode: AddrMode) -> Space {
    match mode {
        AddrMode::Global => Space::Global,
        AddrMode::Generic => Space::Generic,
    }
}

/// Hands the rows to a macro: to [`isa_table!`](crate::isa_table), which generates [`Op`], and in the module
/// of semantics to [`isa_semantics!`](crate::isa_semantics), which generates the function that executes them.
macro_rules! opcode_rows {
    ($then:ident) => {
        $crate::$then! {
    // ---- single precision -------------------------------------------------------------------------------
    /// d = a + b.
    0 Fadd { rnd: Rnd, ftz: Ftz, sat: Sat } = "FADD", Fp32, Alu, FpAdd, dst 1, src [1, 1, 0], Single { abs: true }, pred 0 <- 0, Own => pure(single::fadd);
    /// d = a * b.
    1 Fmul { rnd: Rnd, ftz: Ftz, sat: Sat } = "FMUL", Fp32, Alu, FpMul, dst 1, src [1, 1, 0], Single { abs: false }, pred 0 <- 0, Own => pure(single::fmul);
    /// d = a * b + c, rounded once.
    2 Ffma { rnd: Rnd, ftz: Ftz, sat: Sat } = "FFMA", Fp32, Alu, FpFma, dst 1, src [1, 1, 1], Single { abs: false }, pred 0 <- 0, Own => pure(single::ffma);
    /// d = min(a, b) or max(a, b); a NaN operand yields the other unless `nan`.
    3 Fmnmx { max: Max, ftz: Ftz, nan: NanProp } = "FMNMX", Fp32, Alu, FpMax, dst 1, src [1, 1, 0], Single { abs: true }, pred 0 <- 0, Own => pure(single::fmnmx);
    /// p = (a cmp b) bop ps; q = !(a cmp b) bop ps.
    4 Fsetp { cmp: FCmp, ftz: Ftz, bop: BoolOp } = "FSETP", Fp32, Alu, FpMax, dst 0, src [1, 1, 0], Single { abs: true }, pred 2 <- 1, Own => pure(single::fsetp);
    /// d = ((a cmp b) bop ps) as mask or float.
    5 Fset { cmp: FCmp, ftz: Ftz, bop: BoolOp, bf: BoolFloat } = "FSET", Fp32, Alu, FpMax, dst 1, src [1, 1, 0], Single { abs: true }, pred 0 <- 1, Own => pure(single::fset);
    /// p = whether a / b needs the slow path of division (operand exponents outside the safe range).
    6 Fchk {} = "FCHK", Fp32, Alu, FpMax, dst 0, src [1, 1, 0], Bits, pred 1 <- 0, Own => pure(single::fchk);
    /// d = f(a) on the multi-function unit, single precision unless the function names a 64-bit upper word.
    7 Mufu { func: MufuFn, ftz: Ftz } = "MUFU", Sfu, Sfu, Sfu, dst 1, src [1, 0, 0], Single { abs: true }, pred 0 <- 0, Own => pure(single::mufu);
    // ---- half precision: both halves of a register at once; a scalar uses the low half ------------------------
    /// d = a + b in both halves.
    8 Hadd2 { ty: HalfTy, ftz: Ftz, sat: Sat } = "HADD2", Fp32, Alu, Half, dst 1, src [1, 1, 0], Half { abs: true }, pred 0 <- 0, Own => pure(half::hadd2);
    /// d = a * b in both halves.
    9 Hmul2 { ty: HalfTy, ftz: Ftz, sat: Sat } = "HMUL2", Fp32, Alu, Half, dst 1, src [1, 1, 0], Half { abs: false }, pred 0 <- 0, Own => pure(half::hmul2);
    /// d = a * b + c in both halves, rounded once.
    10 Hfma2 { ty: HalfTy, ftz: Ftz, sat: Sat, relu: Relu } = "HFMA2", Fp32, Alu, Half, dst 1, src [1, 1, 1], Half { abs: false }, pred 0 <- 0, Own => pure(half::hfma2);
    /// d = min(a, b) or max(a, b) in both halves; a NaN operand yields the other unless `nan`.
    11 Hmnmx2 { ty: HalfTy, max: Max, ftz: Ftz, nan: NanProp } = "HMNMX2", Fp32, Alu, FpMax, dst 1, src [1, 1, 0], Half { abs: true }, pred 0 <- 0, Own => pure(half::hmnmx2);
    /// p = (a cmp b) bop ps of the low halves; q = the same of the high halves.
    12 Hsetp2 { ty: HalfTy, cmp: FCmp, ftz: Ftz, bop: BoolOp } = "HSETP2", Fp32, Alu, FpMax, dst 0, src [1, 1, 0], Half { abs: true }, pred 2 <- 1, Own => pure(half::hsetp2);
    /// d = ((a cmp b) bop ps) in both halves, as mask or float.
    13 Hset2 { ty: HalfTy, cmp: FCmp, ftz: Ftz, bop: BoolOp, bf: BoolFloat } = "HSET2", Fp32, Alu, FpMax, dst 1, src [1, 1, 0], Half { abs: true }, pred 0 <- 1, Own => pure(half::hset2);
    // ---- double precision -------------------------------------------------------------------------------
    /// d = a + b, pairs.
    14 Dadd { rnd: Rnd } = "DADD", Fp64, Alu, DpAdd, dst 2, src [2, 2, 0], Double { abs: true }, pred 0 <- 0, Own => pure(double::dadd);
    /// d = a * b, pairs.
    15 Dmul { rnd: Rnd } = "DMUL", Fp64, Alu, DpMul, dst 2, src [2, 2, 0], Double { abs: false }, pred 0 <- 0, Own => pure(double::dmul);
    /// d = a * b + c, pairs, rounded once.
    16 Dfma { rnd: Rnd } = "DFMA", Fp64, Alu, DpFma, dst 2, src [2, 2, 2], Double { abs: false }, pred 0 <- 0, Own => pure(double::dfma);
    /// p = (a cmp b) bop ps; q = !(a cmp b) bop ps.
    17 Dsetp { cmp: FCmp, bop: BoolOp } = "DSETP", Fp64, Alu, DpMax, dst 0, src [2, 2, 0], Double { abs: true }, pred 2 <- 1, Own => pure(double::dsetp);
    // ---- integer and logic ------------------------------------------------------------------------------
    /// d = a + b + c (+ carry in ps when extended); p = carry out of a + b + c with at most two non-zero terms.
    18 Iadd3 { x: Extended } = "IADD3", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 1 <- 1, Own => pure(integer::iadd3);
    /// d = a * b + c, low word.
    19 Imad {} = "IMAD", Int, Alu, IntMul, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(integer::imad);
    /// d = upper word of (a * b) + c.
    20 ImadHi { sign: Sign } = "IMAD.HI", Int, Alu, IntMul, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(integer::imad_hi);
    /// d = a * b + c, 64-bit product and addend.
    21 ImadWide { sign: Sign } = "IMAD.WIDE", Int, Alu, IntMul, dst 2, src [1, 1, 2], if matches!(sign, Sign::S32) { Signed } else { Bits }, pred 0 <- 0, Own => pure(integer::imad_wide);
    /// d = sum of the products of the parts of a and b, + c; the signs are those of a's and b's parts.
    22 Idp { dot: Dot, a: Sign, b: Sign } = "IDP", Int, Alu, IntMul, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(integer::idp);
    /// d = min(a, b) or max(a, b).
    23 Imnmx { sign: Sign, max: Max } = "IMNMX", Int, Alu, IntMax, dst 1, src [1, 1, 0], Bits, pred 0 <- 0, Own => pure(integer::imnmx);
    /// d = |a|.
    24 Iabs {} = "IABS", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(integer::iabs);
    /// d = |a - b| + c.
    25 Vabsdiff { sign: Sign } = "VABSDIFF", Int, Alu, IntMisc, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(integer::vabsdiff);
    /// p = (a cmp b) bop ps0; q = !(a cmp b) bop ps0; extended: equal upper words defer to ps1, the low words' result.
    26 Isetp { cmp: ICmp, sign: Sign, bop: BoolOp, ex: Extended } = "ISETP", Int, Alu, IntAdd, dst 0, src [1, 1, 0], Bits, pred 2 <- 2, Own => pure(integer::isetp);
    /// d = (a << shift) + b; p = carry out.
    27 Lea { shift: ShiftBy } = "LEA", Int, Alu, IntAdd, dst 1, src [1, 1, 0], Bits, pred 1 <- 0, Own => pure(integer::lea);
    /// d = upper word of ({c:a} << shift) + b (+ carry in ps when extended).
    28 LeaHi { shift: ShiftBy, x: Extended } = "LEA.HI", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 0 <- 1, Own => pure(integer::lea_hi);
    /// d = bitwise function of a, b, c; p = whether d is non-zero.
    29 Lop3 { lut: Lut } = "LOP3", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 1 <- 0, Own => pure(logic::lop3);
    /// d = word of ({c:a} << b).
    30 ShfL { wide: Wide, wrap: Wrap, high: High } = "SHF.L", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(logic::shf_l);
    /// d = word of ({c:a} >> b), arithmetic when signed.
    31 ShfR { sign: Sign, wide: Wide, wrap: Wrap, high: High } = "SHF.R", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(logic::shf_r);
    /// d = low b bits of a, zero- or sign-extended; b of 32 or more keeps a.
    32 Sgxt { sign: Sign } = "SGXT", Int, Alu, IntAdd, dst 1, src [1, 1, 0], Bits, pred 0 <- 0, Own => pure(logic::sgxt);
    /// d = b ones starting at bit a (clamped, or modulo 32 when wrapping).
    33 Bmsk { wrap: Wrap } = "BMSK", Int, Alu, IntAdd, dst 1, src [1, 1, 0], Bits, pred 0 <- 0, Own => pure(logic::bmsk);
    /// d = bytes of {c:a} picked by selector b.
    34 Prmt { mode: PrmtMode } = "PRMT", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(logic::prmt);
    /// d = number of ones in a.
    35 Popc {} = "POPC", Sfu, Sfu, IntMisc, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(logic::popc);
    /// d = position of the leading one (or leading non-sign bit) of a, all ones when there is none.
    36 Flo { sign: Sign, sh: ShiftAmount } = "FLO", Sfu, Sfu, IntMisc, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(logic::flo);
    /// d = bits of a in reverse order.
    37 Brev {} = "BREV", Sfu, Sfu, IntMisc, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(logic::brev);
    /// d = ps ? a : b.
    38 Sel {} = "SEL", Int, Alu, IntAdd, dst 1, src [1, 1, 0], Bits, pred 0 <- 1, Own => pure(logic::sel);
    /// d = a.
    39 Mov {} = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(logic::mov);
    /// p = boolean function of ps0, ps1, ps2; q = its complement.
    40 Plop3 { lut: Lut } = "PLOP3", Int, Alu, IntAdd, dst 0, src [0, 0, 0], Bits, pred 2 <- 3, Own => pure(logic::plop3);
    /// d = special register.
    41 S2r { sr: SpecialReg } = "S2R", Sfu, Sfu, IntMisc, dst 1, src [0, 0, 0], Bits, pred 0 <- 0, Own => pure(logic::s2r) unless(sr.is_external(), Kind::External);
    // ---- conversions ------------------------------------------------------------------------------------
    /// d = a in another float format.
    42 F2f { dst: FloatTy, src: FloatTy, rnd: Rnd, ftz: Ftz, sat: Sat } = "F2F", if is_wide(dst) || is_wide(src) { Fp64 } else { Sfu }, if is_wide(dst) || is_wide(src) { Alu } else { Sfu }, Convert, dst dst.regs(), src [src.regs(), 0, 0], Float, pred 0 <- 0, Own => pure(convert::f2f);
    /// d = a and b, two single-precision numbers, in a narrower format, packed: b lowest, each format in its container.
    43 F2fp { dst: FloatTy, rnd: PackRnd, relu: Relu, fin: SatFinite } = "F2FP", Sfu, Sfu, Convert, dst 1, src [1, 1, 0], Bits, pred 0 <- 0, Own => pure(convert::f2fp);
    /// d = a rounded to an integer, saturating; NaN yields 0, or the most significant bit when either side has 64 bits.
    44 F2i { dst: IntTy, src: FloatTy, rnd: IntRnd, ftz: Ftz } = "F2I", if is_wide(src) { Fp64 } else { Sfu }, if is_wide(src) { Alu } else { Sfu }, Convert, dst dst.regs(), src [src.regs(), 0, 0], Float, pred 0 <- 0, Own => pure(convert::f2i);
    /// d = integer a as a float.
    45 I2f { dst: FloatTy, src: IntTy, rnd: Rnd } = "I2F", if is_wide(dst) { Fp64 } else { Sfu }, if is_wide(dst) { Alu } else { Sfu }, Convert, dst dst.regs(), src [src.regs(), 0, 0], Bits, pred 0 <- 0, Own => pure(convert::i2f);
    /// d = a rounded to an integral value in the same format.
    46 Frnd { ty: FloatTy, rnd: IntRnd, ftz: Ftz, sat: Sat } = "FRND", if is_wide(ty) { Fp64 } else { Sfu }, if is_wide(ty) { Alu } else { Sfu }, Convert, dst ty.regs(), src [ty.regs(), 0, 0], Float, pred 0 <- 0, Own => pure(convert::frnd);
    /// d = a saturated to the range of a narrower integer format, then extended to 32 bits.
    47 I2i { dst: IntTy, src: Sign } = "I2I", Sfu, Sfu, Convert, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(convert::i2i);
    // ---- across lanes -----------------------------------------------------------------------------------
    /// d = a of the lane that mode, b and the clamp/segment word c pick; p = whether that lane was in range.
    48 Shfl { mode: ShflMode } = "SHFL", LdSt, Memory, Shuffle, dst 1, src [1, 1, 1], Bits, pred 1 <- 0, Members => pure(across::shfl);
    /// d = ballot; p = vote over ps in the active lanes of member mask a.
    49 Vote { mode: VoteMode } = "VOTE", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 1 <- 1, Members => pure(across::vote);
    /// d = mask of the active lanes of member mask b whose a equals this lane's; p = whether all do.
    50 Match { mode: MatchMode, wide: Wide } = "MATCH", LdSt, Memory, Shuffle, dst 1, src [if wide.0 { 2 } else { 1 }, 1, 0], Bits, pred 1 <- 0, Members => pure(across::find_equal);
    /// d = the 8x8 matrix of halves a, transposed; register fragments as [`fragment`](super::fragment) says.
    51 Movm {} = "MOVM.16.MT88", LdSt, Memory, Shuffle, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Warp => pure(matrix::movm);
    // ---- matrices: fragments are laid out as `fragment` says --------------------------------------------
    /// D = A * B + C on 16x8 accumulators; products and their sum exact as far as doubles are, rounded once.
    52 Hmma { shape: HmmaShape, ty: HmmaTy, acc: AccTy, sat: HmmaSat } = "HMMA", Tensor, Alu, Tensor, dst acc.regs(), src [shape.a_regs(ty), shape.a_regs(ty) / 2, acc.regs()], Bits, pred 0 <- 0, Warp => pure(matrix::hmma);
    /// Four 8x8x4 products of halves, one per quad pair of lanes (Volta's fragments); singles: half of the columns.
    53 Hmma884 { a: MatrixOrder, b: MatrixOrder, acc: AccTy, half: ColumnHalf, sat: HmmaSat } = "HMMA.884", Tensor, Alu, Tensor, dst 4, src [2, 2, 4], Bits, pred 0 <- 0, Warp => pure(matrix::hmma884);
    /// D = A * B + C on integers; the sum wraps, or saturates.
    54 Imma { shape: ImmaShape, a: IntElement, b: IntElement, sat: SatInt } = "IMMA", Tensor, Alu, Tensor, dst shape.acc_regs(), src [shape.a_regs(a), shape.b_regs(a), shape.acc_regs()], Bits, pred 0 <- 0, Warp => pure(matrix::imma);
    /// D = population counts of A op B, summed over k, + C.
    55 Bmma { shape: ImmaShape, op: BitMultiply } = "BMMA", Tensor, Alu, Tensor, dst shape.acc_regs(), src [shape.a_regs(IntElement::U4), shape.b_regs(IntElement::U4), shape.acc_regs()], Bits, pred 0 <- 0, Warp => pure(matrix::bmma);
    /// D = A * B + C on an 8x8 accumulator of doubles: fused multiply-adds in the order of k.
    56 Dmma { rnd: Rnd } = "DMMA.884", Tensor, Alu, Tensor, dst 4, src [2, 2, 4], Bits, pred 0 <- 0, Warp => pure(matrix::dmma);
    /// d = reduction of a over the active lanes of member mask b; NaN operands are left out unless `nan`.
    57 Redux { op: ReduxOp, ty: ReduxTy, nan: NanProp } = "REDUX", LdSt, Memory, Shuffle, dst 1, src [1, 1, 0], Bits, pred 0 <- 0, Members => pure(across::redux);
    // ---- memory -----------------------------------------------------------------------------------------
    /// d = global memory at a (a pair) + offset.
    58 Ldg { width: MemWidth, order: MemOrder, ro: ReadOnly } = "LDG", LdSt, Memory, Memory, dst width.regs(), src [2, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Global)), memory MemOp { read_only: ro.0, ..MemOp::plain(width, Address::Wide).ordered(order) };
    /// Global memory at a (a pair) + offset = b.
    59 Stg { width: MemWidth, order: MemOrder } = "STG", LdSt, Memory, Memory, dst 0, src [2, width.regs(), 0], Bits, pred 0 <- 0, Own => outside(Kind::Store(Space::Global)), memory MemOp::plain(width, Address::Wide).ordered(order);
    /// d = shared memory at a * scale + offset.
    60 Lds { width: MemWidth, scale: Scale } = "LDS", LdSt, Memory, Memory, dst width.regs(), src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Shared)), memory MemOp::plain(width, Address::Narrow(scale));
    /// Shared memory at a * scale + offset = b.
    61 Sts { width: MemWidth, scale: Scale } = "STS", LdSt, Memory, Memory, dst 0, src [1, width.regs(), 0], Bits, pred 0 <- 0, Own => outside(Kind::Store(Space::Shared)), memory MemOp::plain(width, Address::Narrow(scale));
    /// d = fragments of 8x8 matrices of halves in shared memory, whose rows (16 bytes) lanes' a + offset address.
    62 Ldsm { count: MatrixCount, trans: Transposed } = "LDSM.16.M88", LdSt, Memory, Memory, dst count.get(), src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Shared)), memory MemOp::of(MemData::Matrices(count, trans), Address::Narrow(Scale::X1));
    /// 8x8 matrices of halves in shared memory, whose rows lanes' a + offset address, = fragments b.
    63 Stsm { count: MatrixCount, trans: Transposed } = "STSM.16.M88", LdSt, Memory, Memory, dst 0, src [1, count.get(), 0], Bits, pred 0 <- 0, Own => outside(Kind::Store(Space::Shared)), memory MemOp::of(MemData::Matrices(count, trans), Address::Narrow(Scale::X1));
    /// d = local memory at a + offset.
    64 Ldl { width: MemWidth } = "LDL", LdSt, Memory, Memory, dst width.regs(), src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Local)), memory MemOp::plain(width, Address::Narrow(Scale::X1));
    /// Local memory at a + offset = b.
    65 Stl { width: MemWidth } = "STL", LdSt, Memory, Memory, dst 0, src [1, width.regs(), 0], Bits, pred 0 <- 0, Own => outside(Kind::Store(Space::Local)), memory MemOp::plain(width, Address::Narrow(Scale::X1));
    /// d = memory at generic address a (a pair) + offset.
    66 Ld { width: MemWidth, order: MemOrder } = "LD", LdSt, Memory, Memory, dst width.regs(), src [2, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Generic)), memory MemOp::plain(width, Address::Wide).ordered(order);
    /// Memory at generic address a (a pair) + offset = b.
    67 St { width: MemWidth, order: MemOrder } = "ST", LdSt, Memory, Memory, dst 0, src [2, width.regs(), 0], Bits, pred 0 <- 0, Own => outside(Kind::Store(Space::Generic)), memory MemOp::plain(width, Address::Wide).ordered(order);
    /// d = constant bank at a + offset.
    68 Ldc { width: MemWidth, bank: Bank } = "LDC", LdSt, Memory, Memory, dst width.regs(), src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Const)), memory MemOp::plain(width, Address::Bank(bank));
    /// d = old value at a (a pair) + offset, which becomes op(old, b) (compare b, new value c for CAS).
    69 Atomg { op: AtomOp, ty: AtomTy, mode: AddrMode, order: MemOrder, scope: Scope } = "ATOMG", LdSt, Memory, Memory, dst ty.regs(), src [2, ty.regs(), if matches!(op, AtomOp::Cas | AtomOp::CasDone) { ty.regs() } else { 0 }], Bits, pred 0 <- 0, Own => outside(Kind::Atomic(atomic_space(mode))), memory MemOp::of(MemData::Modify(op, ty), Address::Wide).ordered(order);
    /// The same in shared memory, 32-bit address.
    70 Atoms { op: AtomOp, ty: AtomTy, scale: Scale } = "ATOMS", LdSt, Memory, Memory, dst ty.regs(), src [1, ty.regs(), if matches!(op, AtomOp::Cas | AtomOp::CasDone) { ty.regs() } else { 0 }], Bits, pred 0 <- 0, Own => outside(Kind::Atomic(Space::Shared)), memory MemOp::of(MemData::Modify(op, ty), Address::Narrow(scale));
    /// d = texels of object b at coordinates a and further arguments (`tex_words`).
    71 Tex { geometry: TexGeometry, coord: TexCoord, lod: TexLod, result: TexResult, words: TexWords, offset: TexOffset, sampler: TexSampler } = "TEX", LdSt, Memory, Memory, dst tex_registers(result, words), src tex_sources(tex_words(geometry, lod, offset, sampler)), Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Texture)), memory MemOp::of(MemData::Object { bytes: 4 }, Address::Object);
    /// d = a fact about texture, sampler or surface object a (at mipmap level b).
    72 Txq { query: TexQuery, level: TexAtLevel } = "TXQ", Sfu, Sfu, IntMisc, dst 1, src [1, if level.0 { 1 } else { 0 }, 0], Bits, pred 0 <- 0, Own => outside(Kind::External);
    /// d = bytes of surface object b at coordinates a.
    73 Suld { geometry: TexGeometry, width: MemWidth, clamp: SurfClamp } = "SULD", LdSt, Memory, Memory, dst width.regs(), src [geometry.span(), 1, 0], Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Surface)), memory MemOp::of(MemData::Object { bytes: width.bytes() }, Address::Object);
    /// Surface object b at coordinates a = c.
    74 Sust { geometry: TexGeometry, width: MemWidth, clamp: SurfClamp, format: SurfFormat } = "SUST", LdSt, Memory, Memory, dst 0, src [geometry.span(), 1, width.regs()], Bits, pred 0 <- 0, Own => outside(Kind::Store(Space::Surface)), memory MemOp::of(MemData::Object { bytes: width.bytes() }, Address::Object);
    /// Surface object b at coordinates a becomes op(old, c), without a result; formatted: x counts texels.
    75 Sured { geometry: TexGeometry, op: AtomOp, ty: AtomTy, clamp: SurfClamp, format: SurfFormat } = "SURED", LdSt, Memory, Memory, dst 0, src [geometry.span(), 1, ty.regs()], Bits, pred 0 <- 0, Own => outside(Kind::Reduction(Space::Surface)), memory MemOp::of(MemData::Object { bytes: ty.bytes() }, Address::Object);
    /// d = the barrier object in shared memory at a + offset, which b changes.
    76 Syncs { update: BarrierUpdate } = "SYNCS", LdSt, Memory, Memory, dst 2, src [1, 1, 0], Bits, pred 0 <- 0, Own => outside(Kind::Atomic(Space::Shared)), memory MemOp::of(MemData::BarrierObject(BarrierLayout::Portable, update), Address::Narrow(Scale::X1));
    /// Memory at a (a pair) + offset becomes op(old, b), without a result.
    77 Red { op: AtomOp, ty: AtomTy, mode: AddrMode, order: MemOrder, scope: Scope } = "RED", LdSt, Memory, Memory, dst 0, src [2, ty.regs(), 0], Bits, pred 0 <- 0, Own => outside(Kind::Reduction(atomic_space(mode))), memory MemOp::of(MemData::Modify(op, ty), Address::Wide).ordered(order);
    /// Orders earlier memory accesses before later ones.
    78 Membar { scope: Scope } = "MEMBAR", LdSt, Memory, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Fence);
    // ---- control ----------------------------------------------------------------------------------------
    /// Lanes whose guard is true continue at the target.
    79 Bra {} = "BRA", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Branch);
    /// Active lanes continue at the target and return behind this instruction.
    80 Call {} = "CALL", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Call);
    /// Active lanes continue at the function whose address is a (a pair) and return behind this instruction.
    81 CallInd {} = "CALL.IND", Control, NoCollector, Control, dst 0, src [2, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Call);
    /// Active lanes return to their caller.
    82 Ret {} = "RET", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Return);
    /// Active lanes end.
    83 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
    /// Barrier a with b threads (0: all of the block); p, d = reduction over ps.
    84 Bar { mode: BarMode } = "BAR", Control, NoCollector, Control, dst 1, src [1, 1, 0], Bits, pred 1 <- 1, Own => outside(Kind::Barrier);
    /// The lanes of mask a converge.
    85 Warpsync {} = "WARPSYNC", Control, NoCollector, Control, dst 0, src [1, 0, 0], Bits, pred 0 <- 0, Members => outside(Kind::Sync);
    /// The warp waits for about a nanoseconds.
    86 Nanosleep {} = "NANOSLEEP", Control, NoCollector, Control, dst 0, src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Sync);
    /// d (a pair) = result of the system call; the arguments are in local memory from a on.
    87 Syscall { call: SysCall } = "SYSCALL", Sfu, Sfu, IntMisc, dst 2, src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::External);
    /// Nothing.
    88 Nop {} = "NOP", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Sync);
    /// The kernel stops with a fault.
    89 Bpt {} = "BPT.TRAP", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Trap);
    // ---- added later ------------------------------------------------------------------------------------
    /// d = |a - b| of each byte; accumulating: the sum of the four, + c.
    90 Vabsdiff4 { sign: Sign, acc: Accumulate } = "VABSDIFF4", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(integer::vabsdiff4);
    // ---- of NVIDIA's machine code alone -----------------------------------------------------------------
    /// d = ps ? a : b, single-precision numbers.
    91 Fsel { ftz: Ftz } = "FSEL", Int, Alu, IntAdd, dst 1, src [1, 1, 0], Single { abs: true }, pred 0 <- 1, Own => pure(single::fsel);
    /// d = a + b + c (+ both carries in ps when extended); p and q = whether there is a first and a second carry out.
    92 Iadd3Carries { x: Extended } = "IADD3", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 2 <- 2, Own => pure(integer::iadd3_carries);
    /// d = a * b + c + the carry in ps, low word.
    93 ImadX {} = "IMAD.X", Int, Alu, IntMul, dst 1, src [1, 1, 1], Bits, pred 0 <- 1, Own => pure(integer::imad_x);
    /// d = a * b + c (+ the carry in ps when extended), 64-bit product and addend; p = carry out.
    94 ImadWideCarry { sign: Sign, x: Extended } = "IMAD.WIDE", Int, Alu, IntMul, dst 2, src [1, 1, 2], Bits, pred 1 <- 1, Own => pure(integer::imad_wide_carry);
    /// d = upper word of (the sign-extended a << shift) + b (+ carry in ps when extended).
    95 LeaHiSx32 { shift: ShiftBy, x: Extended } = "LEA.HI.SX32", Int, Alu, IntAdd, dst 1, src [1, 1, 0], Bits, pred 0 <- 1, Own => pure(integer::lea_hi_sx32);
    /// p = boolean function of ps0, ps1, ps2; q = another one of them.
    96 Plop3Both { lut: Lut, second: Lut } = "PLOP3", Int, Alu, IntAdd, dst 0, src [0, 0, 0], Bits, pred 2 <- 3, Own => pure(logic::plop3_both);
    /// d = the predicates P0 to P6 as bits where b has ones, a elsewhere.
    97 P2r {} = "P2R", Int, Alu, IntAdd, dst 1, src [1, 1, 0], Bits, pred 0 <- 0, Own => pure(logic::p2r);
    /// The predicates P0 to P6 where b has ones = bits of a.
    98 R2p {} = "R2P", Int, Alu, IntAdd, dst 0, src [1, 1, 0], Bits, pred 0 <- 0, Own => pure(logic::r2p);
    /// d, uniform, = a of the first active lane.
    99 R2ur {} = "R2UR", Int, Alu, IntMisc, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Warp => pure(across::r2ur);
    /// d = a, pairs.
    100 MovPair {} = "MOV.64", Int, Alu, IntAdd, dst 2, src [2, 0, 0], Bits, pred 0 <- 0, Own => pure(logic::mov_pair);
    /// The active lanes will converge at the next `BSYNC` of this convergence register.
    101 Bssy { at: Convergence } = "BSSY", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Sync);
    /// Lanes wait for all lanes of the convergence register.
    102 Bsync { at: Convergence } = "BSYNC", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Sync);
    /// The active lanes are no longer waited for at the convergence register.
    103 Break { at: Convergence } = "BREAK", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Sync);
    /// d = lanes of the convergence register, which is then empty if it is cleared.
    104 BmovFrom { at: Convergence, clear: Clear } = "BMOV.32", Control, NoCollector, Control, dst 1, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::External);
    /// Lanes of the convergence register = a.
    105 BmovTo { at: Convergence } = "BMOV.32", Control, NoCollector, Control, dst 0, src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Sync);
    /// Active lanes return to their caller, whose next instruction has the byte address a (a pair).
    106 RetTo {} = "RET.REL.NODEC", Control, NoCollector, Control, dst 0, src [2, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Return);
    /// d = upper word of (a * b + c), c a pair.
    107 ImadHiPair { sign: Sign } = "IMAD.HI", Int, Alu, IntMul, dst 1, src [1, 1, 2], Bits, pred 0 <- 0, Own => pure(integer::imad_hi_pair);
    /// Lanes whose guard and ps are true continue at the target.
    108 BraIf {} = "BRA", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 1, Own => outside(Kind::Branch);
    /// Active lanes in which ps is true end.
    109 ExitIf {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 1, Own => outside(Kind::Exit);
    /// d = a part of integer a as a float.
    110 I2fPart { dst: FloatTy, src: IntTy, part: Part } = "I2F", if is_wide(dst) { Fp64 } else { Sfu }, if is_wide(dst) { Alu } else { Sfu }, Convert, dst dst.regs(), src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(convert::i2f_part);
    /// d = a * b * a power of two, rounded once.
    111 FmulScaled { by: PowerOfTwo, ftz: Ftz, sat: Sat } = "FMUL", Fp32, Alu, FpMul, dst 1, src [1, 1, 0], Single { abs: false }, pred 0 <- 0, Own => pure(single::fmul_scaled);
    /// d = global memory at a (32 bits, without sign) + a uniform register pair + offset.
    112 LdgNarrow { width: MemWidth, order: MemOrder, ro: ReadOnly } = "LDG", LdSt, Memory, Memory, dst width.regs(), src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Global)), memory MemOp { read_only: ro.0, ..MemOp::plain(width, Address::Offset).ordered(order) };
    /// Global memory at a (32 bits, without sign) + a uniform register pair + offset = b.
    113 StgNarrow { width: MemWidth, order: MemOrder } = "STG", LdSt, Memory, Memory, dst 0, src [1, width.regs(), 0], Bits, pred 0 <- 0, Own => outside(Kind::Store(Space::Global)), memory MemOp::plain(width, Address::Offset).ordered(order);
    /// Global memory at a (32 bits, without sign) + a uniform register pair + offset becomes op(old, b), without a result.
    114 RedNarrow { op: AtomOp, ty: AtomTy, order: MemOrder, scope: Scope } = "RED", LdSt, Memory, Memory, dst 0, src [1, ty.regs(), 0], Bits, pred 0 <- 0, Own => outside(Kind::Reduction(Space::Global)), memory MemOp::of(MemData::Modify(op, ty), Address::Offset).ordered(order);
    /// d = min(a, b) or max(a, b), not below 0.
    115 VimnmxRelu { sign: Sign, max: Max } = "VIMNMX.RELU", Int, Alu, IntMax, dst 1, src [1, 1, 0], Bits, pred 0 <- 0, Own => pure(integer::vimnmx_relu);
    /// d = min(a + b, c) or max(a + b, c), not below 0 if `relu`.
    116 Viaddmnmx { sign: Sign, max: Max, relu: Relu } = "VIADDMNMX", Int, Alu, IntMax, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(integer::viaddmnmx);
    /// d = the least or the greatest of a, b and c, not below 0 if `relu`.
    117 Vimnmx3 { sign: Sign, max: Max, relu: Relu } = "VIMNMX3", Int, Alu, IntMax, dst 1, src [1, 1, 1], Bits, pred 0 <- 0, Own => pure(integer::vimnmx3);
    /// d = a + b, pairs.
    118 IaddPair {} = "IADD.64", Int, Alu, IntAdd, dst 2, src [2, 2, 0], Signed, pred 0 <- 0, Own => pure(integer::iadd_pair);
    /// d = ps ? a : b, pairs.
    119 SelPair {} = "SEL.64", Int, Alu, IntAdd, dst 2, src [2, 2, 0], Signed, pred 0 <- 1, Own => pure(logic::sel_pair);
    /// p = (a cmp b) bop ps of pairs; q = !(a cmp b) bop ps.
    120 IsetpPair { cmp: ICmp, sign: Sign, bop: BoolOp } = "ISETP.64", Int, Alu, IntAdd, dst 0, src [2, 2, 0], Signed, pred 2 <- 1, Own => pure(integer::isetp_pair);
    /// d = texels of object b at the coordinates in a, two words at most, and c, the words that follow.
    121 TexSplit { geometry: TexGeometry, coord: TexCoord, lod: TexLod, words: TexWords } = "TEX", LdSt, Memory, Memory, dst tex_registers(TexResult::Words, words), src tex_split(tex_words(geometry, lod, TexOffset(false), TexSampler(false))), Bits, pred 0 <- 0, Own => outside(Kind::Load(Space::Texture)), memory MemOp::of(MemData::Object { bytes: 4 }, Address::Object);
    /// d = bitwise function of a, b, c; p = (whether d is non-zero) bop ps.
    122 Lop3With { lut: Lut, bop: BoolOp } = "LOP3", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 1 <- 1, Own => pure(logic::lop3_with);
    /// d = upper word of ({c:a} << shift) + b (+ carry in ps when extended); p = carry out.
    123 LeaHiCarry { shift: ShiftBy, x: Extended } = "LEA.HI", Int, Alu, IntAdd, dst 1, src [1, 1, 1], Bits, pred 1 <- 1, Own => pure(integer::lea_hi_carry);
    /// d = upper word of (the sign-extended a << shift) + b (+ carry in ps when extended); p = carry out.
    124 LeaHiSx32Carry { shift: ShiftBy, x: Extended } = "LEA.HI.SX32", Int, Alu, IntAdd, dst 1, src [1, 1, 0], Bits, pred 1 <- 1, Own => pure(integer::lea_hi_sx32_carry);
    /// p = whether a, of pairs a and b, is the minimum or maximum: the lesser or greater one, or the only number; q = whether
    /// both are NaN.
    125 DsetpPick { max: Max } = "DSETP", Fp64, Alu, DpMax, dst 0, src [2, 2, 0], Double { abs: true }, pred 2 <- 0, Own => pure(double::dsetp_pick);
    /// d = a + b of chosen halves.
    126 Hadd2Parts { ty: HalfTy, ftz: Ftz, sat: Sat, a: Halves, b: Halves } = "HADD2", Fp32, Alu, Half, dst 1, src [1, 1, 0], Half { abs: true }, pred 0 <- 0, Own => pure(half::hadd2_parts);
    /// d = a * b of chosen halves.
    127 Hmul2Parts { ty: HalfTy, ftz: Ftz, sat: Sat, a: Halves, b: Halves } = "HMUL2", Fp32, Alu, Half, dst 1, src [1, 1, 0], Half { abs: true }, pred 0 <- 0, Own => pure(half::hmul2_parts);
    /// d = a * b + c of chosen halves, rounded once.
    128 Hfma2Parts { ty: HalfTy, ftz: Ftz, sat: Sat, relu: Relu, a: Halves, b: Halves, c: Halves } = "HFMA2", Fp32, Alu, Half, dst 1, src [1, 1, 1], Half { abs: false }, pred 0 <- 0, Own => pure(half::hfma2_parts);
    /// d, single precision, = a + b of the first of the chosen halves.
    129 HaddSingle { ty: HalfTy, ftz: Ftz, sat: Sat, a: Halves, b: Halves } = "HADD2.F32", Fp32, Alu, Half, dst 1, src [1, 1, 0], Half { abs: true }, pred 0 <- 0, Own => pure(half::hadd_single);
    /// The active lanes in which ps is true are no longer waited for at the convergence register.
    130 BreakIf { at: Convergence } = "BREAK", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 1, Own => outside(Kind::Sync);
    /// d = the barrier object of a layout in shared memory at a + offset, which b changes.
    131 SyncsIn { layout: BarrierLayout, update: BarrierUpdate } = "SYNCS", LdSt, Memory, Memory, dst 2, src [1, 1, 0], Bits, pred 0 <- 0, Own => outside(Kind::Atomic(Space::Shared)), memory MemOp::of(MemData::BarrierObject(layout, update), Address::Narrow(Scale::X1));
    /// Active lanes continue at the target unless all lanes of their mask a are active here.
    132 BraDiv {} = "BRA.DIV", Control, NoCollector, Control, dst 0, src [1, 0, 0], Bits, pred 0 <- 0, Members => outside(Kind::Branch);
    /// The lanes of mask a, which may come to different instructions of this kind, execute the instructions behind one of them
    /// together, until `ENDCOLLECTIVE`; each then continues at the target of its own.
    133 WarpsyncCollective {} = "WARPSYNC.COLLECTIVE", Control, NoCollector, Control, dst 0, src [1, 0, 0], Bits, pred 0 <- 0, Members => outside(Kind::Sync);
    /// Ends the instructions that the lanes of a mask execute together.
    134 EndCollective {} = "ENDCOLLECTIVE", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Sync);
        }
    };
}
pub(crate) use opcode_rows;

opcode_rows!(isa_table);

/// Hash of the opcode table of this build, which traces carry: see [`Op::table_hash`].
#[must_use]
pub fn table_hash() -> u64 {
    static HASH: OnceLock<u64> = OnceLock::new();
    *HASH.get_or_init(Op::table_hash)
}

impl Op {
    /// Number of the first row that only machine code of NVIDIA has: no other code is made of these rows.
    pub const FIRST_OF_MACHINE_CODE: u16 = 91;

    /// Whether the opcode is a barrier with a reduction; its result is available when all threads have
    /// arrived.
    #[must_use]
    #[inline]
    pub const fn is_barrier_reduction(&self) -> bool {
        matches!(self, Op::Bar { mode } if !matches!(mode, BarMode::Sync | BarMode::Arrive))
    }

    /// Whether all predicates of lanes are read, besides the guard.
    #[must_use]
    pub const fn reads_all_predicates(&self) -> bool {
        matches!(self, Op::P2r {})
    }

    /// Whether any predicate of lanes may be written.
    #[must_use]
    pub const fn writes_all_predicates(&self) -> bool {
        matches!(self, Op::R2p {})
    }

    /// The convergence register that is named.
    #[must_use]
    pub const fn convergence(&self) -> Option<Convergence> {
        match *self {
            Op::Bssy { at }
            | Op::Bsync { at }
            | Op::Break { at }
            | Op::BreakIf { at }
            | Op::BmovFrom { at, .. }
            | Op::BmovTo { at } => Some(at),
            _ => None,
        }
    }

    /// Whether lanes read other lanes' values, including lanes at other positions.
    #[must_use]
    #[inline]
    pub const fn crosses_lanes(&self) -> bool {
        let info = self.info();
        matches!(info.kind, Kind::Pure) && !matches!(info.lanes, Lanes::Own)
    }

    /// Whether source `a` is an address in memory, which the instruction's offset is added to. Texture and surface
    /// instructions access memory too, but `a` holds coordinates.
    #[must_use]
    #[inline]
    pub const fn takes_address(&self) -> bool {
        matches!(self.info().memory, Some(memory) if !matches!(memory.address, Address::Object))
    }

    /// Whether the opcode may read recent writes of other threads: atomics with a result and loads stronger
    /// than weak.
    #[must_use]
    pub const fn reads_others(&self) -> bool {
        let info = self.info();
        match (info.kind, info.memory) {
            (Kind::Atomic(_), _) => true,
            (Kind::Load(_), Some(memory)) => !matches!(memory.order, MemOrder::Weak),
            _ => false,
        }
    }

    /// For a matrix product, quarters of the time that a tensor core takes for one of 16x8x16 halves: as many as registers
    /// of A, because narrower elements are multiplied faster by as much as they are narrower.
    #[must_use]
    pub const fn tensor_quarters(&self) -> Option<u32> {
        match self {
            // Each computes half of the columns.
            Op::Hmma884 { acc: AccTy::F32, .. } => Some(1),
            // One of 8x8x4 doubles has a rate of its own; configurations say nothing of it.
            Op::Dmma { .. } => Some(4),
            Op::Hmma { .. } | Op::Hmma884 { .. } | Op::Imma { .. } | Op::Bmma { .. } => {
                Some(self.info().src_regs[0] as u32)
            }
            _ => None,
        }
    }

    /// Whether it takes part in locks and flags: it exchanges values in memory, or is a load stronger than weak.
    #[must_use]
    pub const fn may_lock(&self) -> bool {
        match (self.info().kind, self.info().memory) {
            (Kind::Atomic(_), Some(memory)) => {
                matches!(memory.data, MemData::Modify(AtomOp::Cas | AtomOp::CasDone | AtomOp::Exch, _))
            }
            (Kind::Atomic(_), None) => true,
            _ => self.reads_others(),
        }
    }

    /// The words of a literal that is read as a register pair: doubles give their upper word, integers are extended.
    #[must_use]
    pub const fn literal_pair(&self, v: u32) -> [u32; 2] {
        match self.info().format {
            SourceFormat::Double { .. } | SourceFormat::Float => [0, v],
            SourceFormat::Signed => [v, ((v as i32) >> 31) as u32],
            SourceFormat::Bits | SourceFormat::Half { .. } | SourceFormat::Single { .. } => [v, 0],
        }
    }

    /// Whether the instruction takes the negative (or the complement) of a source that is marked so.
    #[must_use]
    pub const fn reads_sign(&self, source: usize) -> bool {
        match self {
            Op::ImadWide { .. } | Op::ImadWideCarry { .. } | Op::ImadHiPair { .. } => source < 2,
            Op::LeaHi { .. } | Op::LeaHiCarry { .. } => source > 0,
            Op::Lea { .. } | Op::LeaHiSx32 { .. } | Op::LeaHiSx32Carry { .. } => source < 2,
            Op::Iadd3 { .. }
            | Op::Iadd3Carries { .. }
            | Op::IaddPair {}
            | Op::Imad { .. }
            | Op::ImadX { .. }
            | Op::ImadHi { .. }
            | Op::Imnmx { .. }
            | Op::Isetp { .. }
            | Op::IsetpPair { .. }
            | Op::I2f { .. }
            | Op::I2fPart { .. }
            | Op::Flo { .. }
            | Op::Popc { .. }
            | Op::Vabsdiff { .. }
            | Op::Vabsdiff4 { .. }
            | Op::Viaddmnmx { .. }
            | Op::Vimnmx3 { .. }
            | Op::VimnmxRelu { .. } => true,
            _ => self.reads_magnitude(source),
        }
    }

    /// Whether the instruction takes the magnitude of a source that is marked so.
    #[must_use]
    pub const fn reads_magnitude(&self, source: usize) -> bool {
        match self {
            Op::F2fp { .. } => source < 2,
            Op::Redux { .. } => source == 0,
            Op::Fchk { .. } => true,
            _ => !matches!(self.info().format, SourceFormat::Bits | SourceFormat::Signed),
        }
    }

    /// The literal that is read as a register pair with these words, if there is one.
    #[must_use]
    pub fn literal_of_pair(&self, words: [u32; 2]) -> Option<u32> {
        words.into_iter().find(|&v| self.literal_pair(v) == words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_stand_for_the_pairs_that_they_are_read_as() {
        let double = Op::Dadd { rnd: Rnd::Rn };
        let (signed, unsigned) = (Op::ImadWide { sign: Sign::S32 }, Op::ImadWide { sign: Sign::U32 });
        // One and a half as a double, -2 and 2^32 - 2.
        assert_eq!(double.literal_pair(0x3FF8_0000), [0, 0x3FF8_0000]);
        assert_eq!(signed.literal_pair(-2_i32 as u32), [0xFFFF_FFFE, 0xFFFF_FFFF]);
        assert_eq!(unsigned.literal_pair(0xFFFF_FFFE), [0xFFFF_FFFE, 0]);
        for op in [double, signed, unsigned] {
            for v in [0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
                assert_eq!(op.literal_of_pair(op.literal_pair(v)), Some(v));
            }
            assert_eq!(op.literal_of_pair([1, 2]), None);
        }
        assert_eq!(double.literal_of_pair([1, 0]), None);
        assert_eq!(signed.literal_of_pair([0xFFFF_FFFE, 0]), None);
        assert_eq!(unsigned.literal_of_pair([0xFFFF_FFFE, 0xFFFF_FFFF]), None);
    }
}
