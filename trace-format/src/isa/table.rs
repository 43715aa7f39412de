//! The opcode table: one row per machine instruction.
//!
//! A row gives the opcode's modifiers, mnemonic, execution unit, latency class, kind (what it does besides
//! computing registers) and operand shape. The enum [`Op`] and every query on it are generated from the rows;
//! a row without semantics in [`crate::semantics`] does not compile, because that match has no wildcard.
//!
//! Shapes count 32-bit registers: `dst 2` is an aligned pair, `src [1, 1, 2]` three sources of which the third
//! is a pair (or a 64-bit constant). At most one source of an instruction is an immediate or a constant.

use super::modifiers::*;
use super::space::Space;
use serde::{Deserialize, Serialize};

/// Execution unit that an instruction issues to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Unit {
    /// 32-bit integer and logic pipeline.
    Int,
    /// Single-precision pipeline.
    Fp32,
    /// Double-precision pipeline.
    Fp64,
    /// Multi-function (special function) unit; also conversions.
    Sfu,
    /// Load/store unit; also shuffles.
    LdSt,
    /// Branches, barriers and what else needs no data path.
    Control,
    /// Matrix multiply-accumulate (tensor core).
    Tensor,
}

impl Unit {
    /// Every unit, in declaration order.
    pub const ALL: [Unit; 7] =
        [Unit::Int, Unit::Fp32, Unit::Fp64, Unit::Sfu, Unit::LdSt, Unit::Control, Unit::Tensor];
}

/// Class of instructions that share a latency and an initiation interval in a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum LatencyClass {
    /// Integer add, logic, shift, select, move, compare.
    IntAdd,
    /// Integer minimum and maximum.
    IntMax,
    /// Integer multiply and multiply-add.
    IntMul,
    /// Bit counting, permutes and other narrow-throughput integer operations.
    IntMisc,
    /// Single-precision add.
    FpAdd,
    /// Single-precision minimum, maximum, compare.
    FpMax,
    /// Single-precision multiply.
    FpMul,
    /// Single-precision fused multiply-add.
    FpFma,
    /// Double-precision add.
    DpAdd,
    /// Double-precision compare.
    DpMax,
    /// Double-precision multiply.
    DpMul,
    /// Double-precision fused multiply-add.
    DpFma,
    /// Multi-function unit.
    Sfu,
    /// Format conversion.
    Convert,
    /// Cross-lane shuffle.
    Shuffle,
    /// Matrix multiply-accumulate.
    Tensor,
    /// Memory access: the latency comes from the memory system.
    Memory,
    /// Control transfer, barrier, no data result.
    Control,
}

impl LatencyClass {
    /// Every class, in declaration order.
    pub const ALL: [LatencyClass; 18] = [
        LatencyClass::IntAdd,
        LatencyClass::IntMax,
        LatencyClass::IntMul,
        LatencyClass::IntMisc,
        LatencyClass::FpAdd,
        LatencyClass::FpMax,
        LatencyClass::FpMul,
        LatencyClass::FpFma,
        LatencyClass::DpAdd,
        LatencyClass::DpMax,
        LatencyClass::DpMul,
        LatencyClass::DpFma,
        LatencyClass::Sfu,
        LatencyClass::Convert,
        LatencyClass::Shuffle,
        LatencyClass::Tensor,
        LatencyClass::Memory,
        LatencyClass::Control,
    ];
}

/// What an instruction does besides computing its destinations from its sources.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// Nothing: destinations are a pure function of sources, lane ids and launch geometry.
    Pure,
    /// The destination comes from outside the warp (clock, SM id).
    External,
    /// Reads memory.
    Load(Space),
    /// Writes memory.
    Store(Space),
    /// Reads, modifies and writes memory, and returns the old value.
    Atomic(Space),
    /// Reads, modifies and writes memory without a result.
    Reduction(Space),
    /// May change the program counter of its active lanes to its target.
    Branch,
    /// Calls a function.
    Call,
    /// Returns from a function.
    Return,
    /// Ends its lanes.
    Exit,
    /// Waits for (or signals) other warps of the block; reductions return a value from outside.
    Barrier,
    /// Orders memory accesses.
    Fence,
    /// Converges or delays a warp without other effect.
    Sync,
    /// Stops the kernel with a fault.
    Trap,
}

impl Kind {
    /// The space that a memory instruction accesses.
    #[must_use]
    pub const fn space(self) -> Option<Space> {
        match self {
            Kind::Load(s) | Kind::Store(s) | Kind::Atomic(s) | Kind::Reduction(s) => Some(s),
            _ => None,
        }
    }

    /// Whether the instruction accesses memory through an address.
    #[must_use]
    pub const fn is_memory(self) -> bool {
        self.space().is_some()
    }

    /// Whether the instruction ends a basic block: what follows may have another mask or program counter, or
    /// may have to wait while other lanes of the warp go on (barriers and warp synchronisation).
    #[must_use]
    pub const fn ends_block(self) -> bool {
        matches!(
            self,
            Kind::Branch | Kind::Call | Kind::Return | Kind::Exit | Kind::Trap | Kind::Barrier | Kind::Sync
        )
    }
}

/// Static facts of an opcode with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// Mnemonic without suffixes.
    pub mnemonic: &'static str,
    /// Unit that it issues to.
    pub unit: Unit,
    /// Latency class.
    pub latency: LatencyClass,
    /// Side effects.
    pub kind: Kind,
    /// 32-bit registers written (0, 1, 2 or 4).
    pub dst_regs: u8,
    /// 32-bit registers that each source spans (0 = the source is absent).
    pub src_regs: [u8; 3],
    /// Predicates written.
    pub pred_dsts: u8,
    /// Predicates read besides the guard.
    pub pred_srcs: u8,
    /// Bytes accessed per lane, 0 for other than memory instructions.
    pub mem_bytes: u8,
}

macro_rules! ops {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($field:ident : $ty:ty),* } = $mnemonic:literal,
        $unit:ident, $latency:ident, $kind:expr,
        dst $dst:expr, src $src:expr, pred $pdst:literal <- $psrc:literal, mem $mem:expr;
    )+) => {
        /// An opcode with its modifiers: what an instruction does, without what it does it to.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum Op {
            $(
                $(#[$doc])*
                #[allow(missing_docs, reason = "fields are modifiers, documented by their types")]
                $name { $($field: $ty),* },
            )+
        }

        impl Op {
            /// Mnemonics of all rows, in table order.
            pub const MNEMONICS: &'static [&'static str] = &[$($mnemonic),+];

            /// The row of this opcode.
            #[allow(unused_variables, reason = "most rows do not depend on their modifiers")]
            #[must_use]
            #[inline]
            pub const fn info(&self) -> OpInfo {
                match *self {
                    $(Op::$name { $($field),* } => OpInfo {
                        mnemonic: $mnemonic,
                        unit: Unit::$unit,
                        latency: LatencyClass::$latency,
                        kind: $kind,
                        dst_regs: $dst,
                        src_regs: $src,
                        pred_dsts: $pdst,
                        pred_srcs: $psrc,
                        mem_bytes: $mem,
                    },)+
                }
            }

            /// Position of the row in the table, independent of modifiers.
            #[allow(unused_variables, reason = "only the variant counts")]
            #[must_use]
            pub fn row(&self) -> usize {
                #[derive(Clone, Copy)]
                enum Row { $($name),+ }
                match self { $(Op::$name { .. } => Row::$name as usize),+ }
            }

            /// Mnemonic with the suffixes of its modifiers, as the listing shows it.
            #[must_use]
            pub fn mnemonic(&self) -> String {
                #[allow(unused_mut, reason = "rows without modifiers add nothing")]
                let mut text = String::from(self.info().mnemonic);
                match self {
                    $(Op::$name { $($field),* } => { $(text.push_str($field.suffix());)* })+
                }
                text
            }
        }
    };
}

const fn cvt_unit(a: FloatTy, b: FloatTy) -> Unit {
    if matches!(a, FloatTy::F64) || matches!(b, FloatTy::F64) { Unit::Fp64 } else { Unit::Sfu }
}

const fn atomic_space(mode: AddrMode) -> Space {
    match mode {
        AddrMode::Global => Space::Global,
        AddrMode::Generic => Space::Generic,
    }
}

ops! {
    // ---- single precision -------------------------------------------------------------------------------
    /// d = a + b.
    Fadd { rnd: Rnd, ftz: Ftz, sat: Sat } = "FADD", Fp32, FpAdd, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// d = a * b.
    Fmul { rnd: Rnd, ftz: Ftz, sat: Sat } = "FMUL", Fp32, FpMul, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// d = a * b + c, rounded once.
    Ffma { rnd: Rnd, ftz: Ftz, sat: Sat } = "FFMA", Fp32, FpFma, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// d = min(a, b) or max(a, b); a NaN operand yields the other unless `nan`.
    Fmnmx { max: Max, ftz: Ftz, nan: NanProp } = "FMNMX", Fp32, FpMax, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// p = (a cmp b) bop ps; q = !(a cmp b) bop ps.
    Fsetp { cmp: FCmp, ftz: Ftz, bop: BoolOp } = "FSETP", Fp32, FpMax, Kind::Pure, dst 0, src [1, 1, 0], pred 2 <- 1, mem 0;
    /// d = ((a cmp b) bop ps) as mask or float.
    Fset { cmp: FCmp, ftz: Ftz, bop: BoolOp, bf: BoolFloat } = "FSET", Fp32, FpMax, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 1, mem 0;
    /// p = whether a / b needs the slow path of division (operand exponents outside the safe range).
    Fchk { } = "FCHK", Fp32, FpMax, Kind::Pure, dst 0, src [1, 1, 0], pred 1 <- 0, mem 0;
    /// d = f(a) on the multi-function unit, single precision unless the function names a 64-bit upper word.
    Mufu { func: MufuFn, ftz: Ftz } = "MUFU", Sfu, Sfu, Kind::Pure, dst 1, src [1, 0, 0], pred 0 <- 0, mem 0;
    // ---- half precision: both halves of a register at once; a scalar uses the low half ------------------------
    /// d = a + b in both halves.
    Hadd2 { ty: HalfTy, ftz: Ftz, sat: Sat } = "HADD2", Fp32, FpAdd, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// d = a * b in both halves.
    Hmul2 { ty: HalfTy, ftz: Ftz, sat: Sat } = "HMUL2", Fp32, FpMul, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// d = a * b + c in both halves, rounded once.
    Hfma2 { ty: HalfTy, ftz: Ftz, sat: Sat, relu: Relu } = "HFMA2", Fp32, FpFma, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// d = min(a, b) or max(a, b) in both halves; a NaN operand yields the other unless `nan`.
    Hmnmx2 { ty: HalfTy, max: Max, ftz: Ftz, nan: NanProp } = "HMNMX2", Fp32, FpMax, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// p = (a cmp b) bop ps of the low halves; q = the same of the high halves.
    Hsetp2 { ty: HalfTy, cmp: FCmp, ftz: Ftz, bop: BoolOp } = "HSETP2", Fp32, FpMax, Kind::Pure, dst 0, src [1, 1, 0], pred 2 <- 1, mem 0;
    /// d = ((a cmp b) bop ps) in both halves, as mask or float.
    Hset2 { ty: HalfTy, cmp: FCmp, ftz: Ftz, bop: BoolOp, bf: BoolFloat } = "HSET2", Fp32, FpMax, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 1, mem 0;
    // ---- double precision -------------------------------------------------------------------------------
    /// d = a + b, pairs.
    Dadd { rnd: Rnd } = "DADD", Fp64, DpAdd, Kind::Pure, dst 2, src [2, 2, 0], pred 0 <- 0, mem 0;
    /// d = a * b, pairs.
    Dmul { rnd: Rnd } = "DMUL", Fp64, DpMul, Kind::Pure, dst 2, src [2, 2, 0], pred 0 <- 0, mem 0;
    /// d = a * b + c, pairs, rounded once.
    Dfma { rnd: Rnd } = "DFMA", Fp64, DpFma, Kind::Pure, dst 2, src [2, 2, 2], pred 0 <- 0, mem 0;
    /// p = (a cmp b) bop ps; q = !(a cmp b) bop ps.
    Dsetp { cmp: FCmp, bop: BoolOp } = "DSETP", Fp64, DpMax, Kind::Pure, dst 0, src [2, 2, 0], pred 2 <- 1, mem 0;
    // ---- integer and logic ------------------------------------------------------------------------------
    /// d = a + b + c (+ carry in ps when extended); p = carry out of a + b + c with at most two non-zero terms.
    Iadd3 { x: Extended } = "IADD3", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 1], pred 1 <- 1, mem 0;
    /// d = a * b + c, low word.
    Imad { } = "IMAD", Int, IntMul, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// d = upper word of (a * b) + c.
    ImadHi { sign: Sign } = "IMAD.HI", Int, IntMul, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// d = a * b + c, 64-bit product and addend.
    ImadWide { sign: Sign } = "IMAD.WIDE", Int, IntMul, Kind::Pure, dst 2, src [1, 1, 2], pred 0 <- 0, mem 0;
    /// d = sum of the products of the parts of a and b, + c; the signs are those of a's and b's parts.
    Idp { dot: Dot, a: Sign, b: Sign } = "IDP", Int, IntMul, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// d = min(a, b) or max(a, b).
    Imnmx { sign: Sign, max: Max } = "IMNMX", Int, IntMax, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// d = |a|.
    Iabs { } = "IABS", Int, IntAdd, Kind::Pure, dst 1, src [1, 0, 0], pred 0 <- 0, mem 0;
    /// d = |a - b| + c.
    Vabsdiff { sign: Sign } = "VABSDIFF", Int, IntMisc, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// p = (a cmp b) bop ps0; q = !(a cmp b) bop ps0; extended: equal upper words defer to ps1, the low words' result.
    Isetp { cmp: ICmp, sign: Sign, bop: BoolOp, ex: Extended } = "ISETP", Int, IntAdd, Kind::Pure, dst 0, src [1, 1, 0], pred 2 <- 2, mem 0;
    /// d = (a << shift) + b; p = carry out.
    Lea { shift: ShiftBy } = "LEA", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 0], pred 1 <- 0, mem 0;
    /// d = upper word of ({c:a} << shift) + b (+ carry in ps when extended).
    LeaHi { shift: ShiftBy, x: Extended } = "LEA.HI", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 1, mem 0;
    /// d = bitwise function of a, b, c; p = whether d is non-zero.
    Lop3 { lut: Lut } = "LOP3", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 1], pred 1 <- 0, mem 0;
    /// d = word of ({c:a} << b).
    ShfL { wide: Wide, wrap: Wrap, high: High } = "SHF.L", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// d = word of ({c:a} >> b), arithmetic when signed.
    ShfR { sign: Sign, wide: Wide, wrap: Wrap, high: High } = "SHF.R", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// d = low b bits of a, zero- or sign-extended; b of 32 or more keeps a.
    Sgxt { sign: Sign } = "SGXT", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// d = b ones starting at bit a (clamped, or modulo 32 when wrapping).
    Bmsk { wrap: Wrap } = "BMSK", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// d = bytes of {c:a} picked by selector b.
    Prmt { mode: PrmtMode } = "PRMT", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 1], pred 0 <- 0, mem 0;
    /// d = number of ones in a.
    Popc { } = "POPC", Sfu, IntMisc, Kind::Pure, dst 1, src [1, 0, 0], pred 0 <- 0, mem 0;
    /// d = position of the leading one (or leading non-sign bit) of a, all ones when there is none.
    Flo { sign: Sign, sh: ShiftAmount } = "FLO", Sfu, IntMisc, Kind::Pure, dst 1, src [1, 0, 0], pred 0 <- 0, mem 0;
    /// d = bits of a in reverse order.
    Brev { } = "BREV", Sfu, IntMisc, Kind::Pure, dst 1, src [1, 0, 0], pred 0 <- 0, mem 0;
    /// d = ps ? a : b.
    Sel { } = "SEL", Int, IntAdd, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 1, mem 0;
    /// d = a.
    Mov { } = "MOV", Int, IntAdd, Kind::Pure, dst 1, src [1, 0, 0], pred 0 <- 0, mem 0;
    /// p = boolean function of ps0, ps1, ps2; q = its complement.
    Plop3 { lut: Lut } = "PLOP3", Int, IntAdd, Kind::Pure, dst 0, src [0, 0, 0], pred 2 <- 3, mem 0;
    /// d = special register.
    S2r { sr: SpecialReg } = "S2R", Sfu, IntMisc, if sr.is_external() { Kind::External } else { Kind::Pure }, dst 1, src [0, 0, 0], pred 0 <- 0, mem 0;
    // ---- conversions ------------------------------------------------------------------------------------
    /// d = a in another float format.
    F2f { dst: FloatTy, src: FloatTy, rnd: Rnd, ftz: Ftz, sat: Sat } = "F2F", Sfu, Convert, Kind::Pure, dst dst.regs(), src [src.regs(), 0, 0], pred 0 <- 0, mem 0;
    /// d = a and b, two single-precision numbers, in a narrower format, packed: b lowest, each format in its container.
    F2fp { dst: FloatTy, rnd: PackRnd, relu: Relu, fin: SatFinite } = "F2FP", Sfu, Convert, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    /// d = a rounded to an integer, saturating; NaN yields 0, or the most significant bit when either side has 64 bits.
    F2i { dst: IntTy, src: FloatTy, rnd: IntRnd, ftz: Ftz } = "F2I", Sfu, Convert, Kind::Pure, dst dst.regs(), src [src.regs(), 0, 0], pred 0 <- 0, mem 0;
    /// d = integer a as a float.
    I2f { dst: FloatTy, src: IntTy, rnd: Rnd } = "I2F", Sfu, Convert, Kind::Pure, dst dst.regs(), src [src.regs(), 0, 0], pred 0 <- 0, mem 0;
    /// d = a rounded to an integral value in the same format.
    Frnd { ty: FloatTy, rnd: IntRnd, ftz: Ftz, sat: Sat } = "FRND", Sfu, Convert, Kind::Pure, dst ty.regs(), src [ty.regs(), 0, 0], pred 0 <- 0, mem 0;
    /// d = a saturated to the range of a narrower integer format, then extended to 32 bits.
    I2i { dst: IntTy, src: Sign } = "I2I", Sfu, Convert, Kind::Pure, dst 1, src [1, 0, 0], pred 0 <- 0, mem 0;
    // ---- across lanes -----------------------------------------------------------------------------------
    /// d = a of the lane that mode, b and the clamp/segment word c pick; p = whether that lane was in range.
    Shfl { mode: ShflMode } = "SHFL", LdSt, Shuffle, Kind::Pure, dst 1, src [1, 1, 1], pred 1 <- 0, mem 0;
    /// d = ballot; p = vote over ps in the active lanes of member mask a.
    Vote { mode: VoteMode } = "VOTE", Int, IntAdd, Kind::Pure, dst 1, src [1, 0, 0], pred 1 <- 1, mem 0;
    /// d = mask of the active lanes of member mask b whose a equals this lane's; p = whether all do.
    Match { mode: MatchMode, wide: Wide } = "MATCH", LdSt, Shuffle, Kind::Pure, dst 1, src [if wide.0 { 2 } else { 1 }, 1, 0], pred 1 <- 0, mem 0;
    /// d = the 8x8 matrix of halves a, transposed; register fragments as [`fragment`](super::fragment) says.
    Movm { } = "MOVM.16.MT88", LdSt, Shuffle, Kind::Pure, dst 1, src [1, 0, 0], pred 0 <- 0, mem 0;
    // ---- matrices: fragments are laid out as `fragment` says --------------------------------------------
    /// D = A * B + C on 16x8 accumulators; products and their sum exact as far as doubles are, rounded once.
    Hmma { shape: HmmaShape, ty: HmmaTy, acc: AccTy, sat: HmmaSat } = "HMMA", Tensor, Tensor, Kind::Pure, dst acc.regs(), src [shape.a_regs(ty), shape.a_regs(ty) / 2, acc.regs()], pred 0 <- 0, mem 0;
    /// Four 8x8x4 products of halves, one per quad pair of lanes (Volta's fragments); singles: half of the columns.
    Hmma884 { a: MatrixOrder, b: MatrixOrder, acc: AccTy, half: ColumnHalf, sat: HmmaSat } = "HMMA.884", Tensor, Tensor, Kind::Pure, dst 4, src [2, 2, 4], pred 0 <- 0, mem 0;
    /// D = A * B + C on integers; the sum wraps, or saturates.
    Imma { shape: ImmaShape, a: IntElement, b: IntElement, sat: SatInt } = "IMMA", Tensor, Tensor, Kind::Pure, dst shape.acc_regs(), src [shape.a_regs(a), shape.b_regs(a), shape.acc_regs()], pred 0 <- 0, mem 0;
    /// D = population counts of A op B, summed over k, + C.
    Bmma { shape: ImmaShape, op: BitMultiply } = "BMMA", Tensor, Tensor, Kind::Pure, dst shape.acc_regs(), src [shape.a_regs(IntElement::U4), shape.b_regs(IntElement::U4), shape.acc_regs()], pred 0 <- 0, mem 0;
    /// D = A * B + C on an 8x8 accumulator of doubles: fused multiply-adds in the order of k.
    Dmma { rnd: Rnd } = "DMMA.884", Tensor, Tensor, Kind::Pure, dst 4, src [2, 2, 4], pred 0 <- 0, mem 0;
    /// d = reduction of a over the active lanes of member mask b; NaN operands are left out unless `nan`.
    Redux { op: ReduxOp, ty: ReduxTy, nan: NanProp } = "REDUX", LdSt, Shuffle, Kind::Pure, dst 1, src [1, 1, 0], pred 0 <- 0, mem 0;
    // ---- memory -----------------------------------------------------------------------------------------
    /// d = global memory at a (a pair) + offset.
    Ldg { width: MemWidth, order: MemOrder, ro: ReadOnly } = "LDG", LdSt, Memory, Kind::Load(Space::Global), dst width.regs(), src [2, 0, 0], pred 0 <- 0, mem width.bytes();
    /// Global memory at a (a pair) + offset = b.
    Stg { width: MemWidth, order: MemOrder } = "STG", LdSt, Memory, Kind::Store(Space::Global), dst 0, src [2, width.regs(), 0], pred 0 <- 0, mem width.bytes();
    /// d = shared memory at a * scale + offset.
    Lds { width: MemWidth, scale: Scale } = "LDS", LdSt, Memory, Kind::Load(Space::Shared), dst width.regs(), src [1, 0, 0], pred 0 <- 0, mem width.bytes();
    /// Shared memory at a * scale + offset = b.
    Sts { width: MemWidth, scale: Scale } = "STS", LdSt, Memory, Kind::Store(Space::Shared), dst 0, src [1, width.regs(), 0], pred 0 <- 0, mem width.bytes();
    /// d = fragments of 8x8 matrices of halves in shared memory, whose rows (16 bytes) lanes' a + offset address.
    Ldsm { count: MatrixCount, trans: Transposed } = "LDSM.16.M88", LdSt, Memory, Kind::Load(Space::Shared), dst count.get(), src [1, 0, 0], pred 0 <- 0, mem 16;
    /// 8x8 matrices of halves in shared memory, whose rows lanes' a + offset address, = fragments b.
    Stsm { count: MatrixCount, trans: Transposed } = "STSM.16.M88", LdSt, Memory, Kind::Store(Space::Shared), dst 0, src [1, count.get(), 0], pred 0 <- 0, mem 16;
    /// d = local memory at a + offset.
    Ldl { width: MemWidth } = "LDL", LdSt, Memory, Kind::Load(Space::Local), dst width.regs(), src [1, 0, 0], pred 0 <- 0, mem width.bytes();
    /// Local memory at a + offset = b.
    Stl { width: MemWidth } = "STL", LdSt, Memory, Kind::Store(Space::Local), dst 0, src [1, width.regs(), 0], pred 0 <- 0, mem width.bytes();
    /// d = memory at generic address a (a pair) + offset.
    Ld { width: MemWidth, order: MemOrder } = "LD", LdSt, Memory, Kind::Load(Space::Generic), dst width.regs(), src [2, 0, 0], pred 0 <- 0, mem width.bytes();
    /// Memory at generic address a (a pair) + offset = b.
    St { width: MemWidth, order: MemOrder } = "ST", LdSt, Memory, Kind::Store(Space::Generic), dst 0, src [2, width.regs(), 0], pred 0 <- 0, mem width.bytes();
    /// d = constant bank at a + offset.
    Ldc { width: MemWidth, bank: Bank } = "LDC", LdSt, Memory, Kind::Load(Space::Const), dst width.regs(), src [1, 0, 0], pred 0 <- 0, mem width.bytes();
    /// d = old value at a (a pair) + offset, which becomes op(old, b) (compare b, new value c for CAS).
    Atomg { op: AtomOp, ty: AtomTy, mode: AddrMode, order: MemOrder, scope: Scope } = "ATOMG", LdSt, Memory, Kind::Atomic(atomic_space(mode)), dst ty.regs(), src [2, ty.regs(), if matches!(op, AtomOp::Cas) { ty.regs() } else { 0 }], pred 0 <- 0, mem ty.bytes();
    /// The same in shared memory, 32-bit address.
    Atoms { op: AtomOp, ty: AtomTy } = "ATOMS", LdSt, Memory, Kind::Atomic(Space::Shared), dst ty.regs(), src [1, ty.regs(), if matches!(op, AtomOp::Cas) { ty.regs() } else { 0 }], pred 0 <- 0, mem ty.bytes();
    /// d = texels of object b at coordinates a and further arguments (`tex_words`).
    Tex { geometry: TexGeometry, coord: TexCoord, lod: TexLod, result: TexResult, offset: TexOffset, sampler: TexSampler } = "TEX", LdSt, Memory, Kind::Load(Space::Texture), dst result.regs(), src tex_sources(tex_words(geometry, lod, offset, sampler)), pred 0 <- 0, mem 4;
    /// d = a fact about texture, sampler or surface object a (at mipmap level b).
    Txq { query: TexQuery, level: TexAtLevel } = "TXQ", Sfu, IntMisc, Kind::External, dst 1, src [1, if level.0 { 1 } else { 0 }, 0], pred 0 <- 0, mem 0;
    /// d = bytes of surface object b at coordinates a.
    Suld { geometry: TexGeometry, width: MemWidth, clamp: SurfClamp } = "SULD", LdSt, Memory, Kind::Load(Space::Surface), dst width.regs(), src [geometry.span(), 1, 0], pred 0 <- 0, mem width.bytes();
    /// Surface object b at coordinates a = c.
    Sust { geometry: TexGeometry, width: MemWidth, clamp: SurfClamp, format: SurfFormat } = "SUST", LdSt, Memory, Kind::Store(Space::Surface), dst 0, src [geometry.span(), 1, width.regs()], pred 0 <- 0, mem width.bytes();
    /// Surface object b at coordinates a becomes op(old, c), without a result; formatted: x counts texels.
    Sured { geometry: TexGeometry, op: AtomOp, ty: AtomTy, clamp: SurfClamp, format: SurfFormat } = "SURED", LdSt, Memory, Kind::Reduction(Space::Surface), dst 0, src [geometry.span(), 1, ty.regs()], pred 0 <- 0, mem ty.bytes();
    /// d = the barrier object in shared memory at a + offset, which b changes.
    Syncs { update: BarrierUpdate } = "SYNCS", LdSt, Memory, Kind::Atomic(Space::Shared), dst 2, src [1, 1, 0], pred 0 <- 0, mem 8;
    /// Memory at a (a pair) + offset becomes op(old, b), without a result.
    Red { op: AtomOp, ty: AtomTy, mode: AddrMode, order: MemOrder, scope: Scope } = "RED", LdSt, Memory, Kind::Reduction(atomic_space(mode)), dst 0, src [2, ty.regs(), 0], pred 0 <- 0, mem ty.bytes();
    /// Orders earlier memory accesses before later ones.
    Membar { scope: Scope } = "MEMBAR", LdSt, Control, Kind::Fence, dst 0, src [0, 0, 0], pred 0 <- 0, mem 0;
    // ---- control ----------------------------------------------------------------------------------------
    /// Lanes whose guard is true continue at the target.
    Bra { } = "BRA", Control, Control, Kind::Branch, dst 0, src [0, 0, 0], pred 0 <- 0, mem 0;
    /// Active lanes continue at the target and return behind this instruction.
    Call { } = "CALL", Control, Control, Kind::Call, dst 0, src [0, 0, 0], pred 0 <- 0, mem 0;
    /// Active lanes continue at the function whose address is a (a pair) and return behind this instruction.
    CallInd { } = "CALL.IND", Control, Control, Kind::Call, dst 0, src [2, 0, 0], pred 0 <- 0, mem 0;
    /// Active lanes return to their caller.
    Ret { } = "RET", Control, Control, Kind::Return, dst 0, src [0, 0, 0], pred 0 <- 0, mem 0;
    /// Active lanes end.
    Exit { } = "EXIT", Control, Control, Kind::Exit, dst 0, src [0, 0, 0], pred 0 <- 0, mem 0;
    /// Barrier a with b threads (0: all of the block); p, d = reduction over ps.
    Bar { mode: BarMode } = "BAR", Control, Control, Kind::Barrier, dst 1, src [1, 1, 0], pred 1 <- 1, mem 0;
    /// The lanes of mask a converge.
    Warpsync { } = "WARPSYNC", Control, Control, Kind::Sync, dst 0, src [1, 0, 0], pred 0 <- 0, mem 0;
    /// The warp waits for about a nanoseconds.
    Nanosleep { } = "NANOSLEEP", Control, Control, Kind::Sync, dst 0, src [1, 0, 0], pred 0 <- 0, mem 0;
    /// d (a pair) = what the system answers; the arguments lie in local memory from a on.
    Syscall { call: SysCall } = "SYSCALL", Sfu, IntMisc, Kind::External, dst 2, src [1, 0, 0], pred 0 <- 0, mem 0;
    /// Nothing.
    Nop { } = "NOP", Control, Control, Kind::Sync, dst 0, src [0, 0, 0], pred 0 <- 0, mem 0;
    /// The kernel stops with a fault.
    Bpt { } = "BPT.TRAP", Control, Control, Kind::Trap, dst 0, src [0, 0, 0], pred 0 <- 0, mem 0;
}

impl Op {
    /// Whether the opcode is a barrier with a reduction, whose result is there when all threads have come.
    #[must_use]
    #[inline]
    pub const fn is_barrier_reduction(&self) -> bool {
        matches!(self, Op::Bar { mode } if !matches!(mode, BarMode::Sync | BarMode::Arrive))
    }

    /// Whether lanes see other lanes' values, those of lanes that are elsewhere among them.
    #[must_use]
    #[inline]
    pub const fn crosses_lanes(&self) -> bool {
        matches!(
            self,
            Op::Shfl { .. } | Op::Vote { .. } | Op::Match { .. } | Op::Movm { .. } | Op::Redux { .. }
        ) || matches!(self.unit(), Unit::Tensor)
    }

    /// Whether source `a` is an address in memory, which the instruction's offset is added to. Texture and surface
    /// instructions access memory too, but `a` holds coordinates.
    #[must_use]
    #[inline]
    pub const fn takes_address(&self) -> bool {
        matches!(self.info().kind.space(), Some(space) if !space.is_remote())
    }

    /// Lanes whose addresses a memory instruction uses; matrix loads and stores let some lanes address rows for all.
    #[must_use]
    #[inline]
    pub const fn address_lanes(&self) -> u32 {
        match self {
            Op::Ldsm { count, .. } | Op::Stsm { count, .. } => count.address_lanes(),
            _ => u32::MAX,
        }
    }

    /// Unit that the opcode issues to, conversions from and to doubles included.
    #[must_use]
    #[inline]
    pub const fn unit(&self) -> Unit {
        match self {
            Op::F2f { dst, src, .. } => cvt_unit(*dst, *src),
            Op::F2i { src, .. } => cvt_unit(*src, *src),
            Op::I2f { dst, .. } => cvt_unit(*dst, *dst),
            Op::Frnd { ty, .. } => cvt_unit(*ty, *ty),
            _ => self.info().unit,
        }
    }
}
