//! The typed instruction set: the operation of an instruction, without its operands.
//!
//! [`Op`] holds only data (types, modes, modifiers); operands are in [`Inst`](super::Inst) as `dsts()` and
//! `srcs()`. The comment at every variant gives their number and order as `dsts ← srcs`, with optional
//! operands in parentheses; the decoder guarantees number, kind and width, so that lowering may index
//! without checks. Names of operands are those of the PTX ISA.

use super::ids::{BranchTableId, CallTableId, FuncId, LabelId, PrototypeId, RegId};
use super::op_data::*;
use super::types::*;

/// An instruction's operation with all its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    // ---- integer and floating-point arithmetic
    /// `add`, `addc`: `d ← a, b`.
    Add(AddOp),
    /// `sub`, `subc`: `d ← a, b`.
    Sub(AddOp),
    /// `mul` of every type: `d ← a, b`.
    Mul(MulOp),
    /// Integer `mad`, `madc`: `d ← a, b, c`. Floating-point `mad` is decoded as [`Op::Fma`].
    Mad(MadOp),
    /// `fma`, and floating-point `mad`: `d ← a, b, c`.
    Fma(FmaOp),
    /// `mul24`: `d ← a, b`. `high` takes bits 47..16 of the product of the low 24 bits, else 31..0.
    Mul24 {
        /// `.u32` or `.s32`.
        ty: ScalarType,
        /// `.hi`.
        high: bool,
    },
    /// `mad24`: `d ← a, b, c`.
    Mad24 {
        /// `.u32` or `.s32`.
        ty: ScalarType,
        /// `.hi`.
        high: bool,
        /// `.sat` (only `.hi.s32`).
        sat: bool,
    },
    /// `sad`: `d ← a, b, c`, `d = c + |a - b|`.
    Sad(ScalarType),
    /// `div`: `d ← a, b`.
    Div(MathOp),
    /// `rem`: `d ← a, b`, integers.
    Rem(ScalarType),
    /// `abs`: `d ← a`.
    Abs {
        /// Integer or floating-point type.
        ty: ScalarType,
        /// `.ftz`.
        ftz: bool,
    },
    /// `neg`: `d ← a`.
    Neg {
        /// Integer or floating-point type.
        ty: ScalarType,
        /// `.ftz`.
        ftz: bool,
    },
    /// `min`: `d ← a, b, (c)`.
    Min(MinMaxOp),
    /// `max`: `d ← a, b, (c)`.
    Max(MinMaxOp),
    /// `popc`: `d:b32 ← a`.
    Popc(ScalarType),
    /// `clz`: `d:b32 ← a`.
    Clz(ScalarType),
    /// `bfind`: `d:b32 ← a`.
    Bfind {
        /// Integer type of `a`.
        ty: ScalarType,
        /// `.shiftamt`: the shift that moves the found bit to the top, instead of its position.
        shiftamt: bool,
    },
    /// `fns`: `d:b32 ← mask:b32, base:b32, offset:s32`.
    Fns,
    /// `brev`: `d ← a`.
    Brev(ScalarType),
    /// `bfe`: `d ← a, pos:u32, len:u32`.
    Bfe(ScalarType),
    /// `bfi`: `f ← a, b, pos:u32, len:u32`.
    Bfi(ScalarType),
    /// `bmsk`: `d:b32 ← pos:u32, len:u32`.
    Bmsk(ShiftMode),
    /// `szext`: `d ← a, n:u32`.
    Szext {
        /// `.u32` or `.s32`.
        ty: ScalarType,
        /// Clamp or wrap `n`.
        mode: ShiftMode,
    },
    /// `dp4a`: `d:b32 ← a:b32, b:b32, c:b32`.
    Dp4a {
        /// Signedness of `a`'s bytes.
        a_ty: ScalarType,
        /// Signedness of `b`'s bytes.
        b_ty: ScalarType,
    },
    /// `dp2a`: `d:b32 ← a:b32, b:b32, c:b32`.
    Dp2a {
        /// Signedness of `a`'s halves.
        a_ty: ScalarType,
        /// Signedness of `b`'s bytes.
        b_ty: ScalarType,
        /// `.hi`: the upper two bytes of `b`, else the lower two.
        high: bool,
    },
    /// `testp`: `p ← a`.
    Testp {
        /// `.f32` or `.f64`.
        ty: ScalarType,
        /// Class tested.
        op: TestpOp,
    },
    /// `copysign`: `d ← a, b`, the sign of `a` and the value of `b`.
    Copysign(ScalarType),
    /// `rcp`: `d ← a`.
    Rcp(MathOp),
    /// `sqrt`: `d ← a`.
    Sqrt(MathOp),
    /// `rsqrt`: `d ← a`.
    Rsqrt(MathOp),
    /// `sin.approx.f32`: `d ← a`.
    Sin {
        /// `.ftz`.
        ftz: bool,
    },
    /// `cos.approx.f32`: `d ← a`.
    Cos {
        /// `.ftz`.
        ftz: bool,
    },
    /// `lg2.approx.f32`: `d ← a`.
    Lg2 {
        /// `.ftz`.
        ftz: bool,
    },
    /// `ex2.approx`: `d ← a`.
    Ex2 {
        /// `.f32`, `.f16`, `.f16x2`, `.bf16` or `.bf16x2`.
        ty: ScalarType,
        /// `.ftz`.
        ftz: bool,
    },
    /// `tanh.approx`: `d ← a`.
    Tanh(ScalarType),

    // ---- comparison and selection
    /// `set`: `d ← a, b, (c:pred)`; `c` is there when `compare.combine` is.
    Set {
        /// Result type: `.u32`/`.s32` give all ones, float types 1.0.
        dst_ty: ScalarType,
        /// The comparison.
        compare: CompareOp,
    },
    /// `setp`: `p, (q) ← a, b, (c:pred)`; `c` is there when `compare.combine` is. For `.f16x2`/`.bf16x2`
    /// `p` is the low half's result and `q` (which may be missing) the high half's; otherwise `q` is the negated comparison,
    /// combined likewise.
    Setp(CompareOp),
    /// `selp`: `d ← a, b, c:pred`.
    Selp(ScalarType),
    /// `slct`: `d ← a, b, c`, `a` where `c >= 0`.
    Slct {
        /// Type of `d`, `a`, `b`.
        ty: ScalarType,
        /// `.s32` or `.f32`, type of `c`.
        selector_ty: ScalarType,
        /// `.ftz` on `c`.
        ftz: bool,
    },

    // ---- logic and shifts
    /// `and` (`.pred` too): `d ← a, b`.
    And(ScalarType),
    /// `or` (`.pred` too): `d ← a, b`.
    Or(ScalarType),
    /// `xor` (`.pred` too): `d ← a, b`.
    Xor(ScalarType),
    /// `not` (`.pred` too): `d ← a`.
    Not(ScalarType),
    /// `cnot`: `d ← a`, 1 where `a` is zero.
    Cnot(ScalarType),
    /// `lop3.b32`: `d ← a, b, c`; with `combine`: `d, p ← a, b, c, q:pred`, `p = (d != 0) combine q`.
    Lop3 {
        /// Truth table: bit `a<<2 | b<<1 | c` is the result.
        lut: u8,
        /// `.or` or `.and` form.
        combine: Option<BoolOp>,
    },
    /// `shf`: `d:b32 ← a:b32 (low), b:b32 (high), c:u32`.
    Shf {
        /// Left or right.
        direction: ShiftDirection,
        /// Clamp or wrap `c` at 32.
        mode: ShiftMode,
    },
    /// `shl`: `d ← a, b:u32`, amounts clamped to the width.
    Shl(ScalarType),
    /// `shr`: `d ← a, b:u32`, arithmetic for signed types, amounts clamped to the width.
    Shr(ScalarType),

    // ---- movement and conversion
    /// `mov`: `d ← a`, per `shape`. A variable or function as source means its address in its own space.
    Mov {
        /// Type of the whole value (of an element for [`MovShape::Vector`]).
        ty: ScalarType,
        /// Scalar, pack, unpack or vector.
        shape: MovShape,
    },
    /// `cvt`: `d ← a, (b), (rbits:b32)`; `b` for packing two values (`a` goes to the upper half).
    Cvt(CvtOp),
    /// `cvt.pack.sat`: `d:b32 ← a, b, (c:b32)`.
    CvtPack {
        /// Type of each packed element.
        dst_ty: ScalarType,
        /// `.s32`, type of `a` and `b`.
        src_ty: ScalarType,
        /// Whether `c` supplies the upper half.
        merge: bool,
    },
    /// `cvta`: `d ← a` (register, or variable with offset).
    Cvta {
        /// `.to.space`: from generic to `space`, else from `space` to generic.
        to: bool,
        /// The space.
        space: StateSpace,
        /// `.u32` or `.u64`.
        ty: ScalarType,
    },
    /// `isspacep`: `p ← a`.
    Isspacep(StateSpace),
    /// `prmt.b32`: `d ← a, b, c`.
    Prmt(Option<PrmtMode>),
    /// `mapa`: `d ← a, b:u32`.
    Mapa {
        /// [`StateSpace::SharedCluster`] or generic.
        space: StateSpace,
        /// `.u32` or `.u64`.
        ty: ScalarType,
    },
    /// `getctarank`: `d:u32 ← a`.
    Getctarank {
        /// [`StateSpace::SharedCluster`] or generic.
        space: StateSpace,
        /// `.u32` or `.u64`, type of `a`.
        ty: ScalarType,
    },

    // ---- memory
    /// `ld`, `ldu`: `d (vector if vec > 1) ← [a], (cache_policy:b64)`.
    Ld(LdOp),
    /// `st`: `← [a], b (vector if vec > 1), (cache_policy:b64)`.
    St(StOp),
    /// `atom`: `d (or sink) ← [a], b, (c for cas), (cache_policy:b64)`.
    Atom(AtomicOp),
    /// `red`: `← [a], b, (cache_policy:b64)`.
    Red(AtomicOp),
    /// `prefetch`, `prefetchu`: `← [a]`; a hint.
    Prefetch {
        /// Space of the address.
        space: StateSpace,
        /// Cache level.
        level: CacheLevel,
    },
    /// `discard.L2`, `applypriority.L2::evict_normal`: `← [a]`; hints over 128 bytes.
    CacheHint {
        /// Global or generic.
        space: StateSpace,
        /// `discard` (contents become undefined), else `applypriority`.
        discard: bool,
    },
    /// `createpolicy`: `d:b64 ← …`; all its sources are checked for kind only, the result is opaque.
    Createpolicy,
    /// `cp.async.{ca,cg}`: `← [dst], [src], (src_size:u32 or ignore_src:pred), (cache_policy:b64)`.
    CpAsync(CpAsyncOp),
    /// `cp.async.commit_group`.
    CpAsyncCommitGroup,
    /// `cp.async.wait_group n`; `cp.async.wait_all` has no count.
    CpAsyncWait {
        /// Groups that may stay pending; `None` waits for all copies of the thread.
        pending: Option<u32>,
    },
    /// `cp.async.mbarrier.arrive`: `← [a]`.
    CpAsyncMbarrierArrive {
        /// `.noinc`.
        noinc: bool,
        /// Space of the barrier.
        space: StateSpace,
    },

    // ---- textures and surfaces
    /// `tex`: `d (vector), (p) ← texture, (sampler), coordinates, (lod | dpdx, dpdy), (offset), (depth)`.
    /// `texture` is a register (bindless) or a variable; coordinates are a vector or one register.
    Tex(TexOp),
    /// `tld4`: `d (vector), (p) ← texture, (sampler), coordinates, (offset), (depth)`.
    Tld4(TexOp),
    /// `txq`: `d:b32 ← texture or sampler, (level)`.
    Txq {
        /// The query.
        query: TextureQuery,
        /// Whether a mip level follows.
        level: bool,
    },
    /// `suq`: `d:b32 ← surface`.
    Suq(TextureQuery),
    /// `istypep`: `p ← a`.
    Istypep(OpaqueKind),
    /// `suld.b`: `d (vector if vec > 1) ← surface, coordinates`.
    Suld(SurfaceOp),
    /// `sust.{b,p}`: `← surface, coordinates, value (vector if vec > 1)`.
    Sust(SurfaceOp),
    /// `sured.{b,p}`: `← surface, coordinates, value`.
    Sured {
        /// Add, min, max, and, or.
        op: AtomOp,
        /// Where and how.
        surface: SurfaceOp,
    },

    // ---- control flow
    /// `bra`: to a label.
    Bra {
        /// Where to.
        target: LabelId,
        /// `.uni`: all active threads agree.
        uniform: bool,
    },
    /// `brx.idx`: `← index:u32`, out of range is undefined.
    BrxIdx {
        /// The possible targets.
        table: BranchTableId,
        /// `.uni`.
        uniform: bool,
    },
    /// `call`: `returns… ← arguments…`; each a register, an immediate, or a `.param` variable
    /// ([`Operand::Var`](super::Operand)) whose contents are passed.
    Call {
        /// What is called.
        callee: Callee,
        /// `.uni`.
        uniform: bool,
    },
    /// `ret`.
    Ret {
        /// `.uni`.
        uniform: bool,
    },
    /// `exit`.
    Exit,
    /// `trap`.
    Trap,
    /// `brkpt`.
    Brkpt,
    /// `nanosleep.u32`: `← t:u32`.
    Nanosleep,
    /// `pmevent`: `← a` (event number, or mask).
    Pmevent {
        /// `.mask`.
        mask: bool,
    },
    /// `alloca`: `ptr ← size, (alignment immediate)`.
    Alloca {
        /// `.u32` or `.u64`, type of `ptr` and `size`.
        ty: ScalarType,
    },
    /// `stacksave`: `d`.
    Stacksave(ScalarType),
    /// `stackrestore`: `← a`.
    Stackrestore(ScalarType),
    /// `setmaxnreg`: a hint about the register budget.
    Setmaxnreg {
        /// `.inc`, else `.dec`.
        increase: bool,
        /// Registers per thread.
        registers: u32,
    },
    /// `griddepcontrol`.
    Griddepcontrol {
        /// `.wait`, else `.launch_dependents`.
        wait: bool,
    },

    // ---- synchronisation and communication
    /// `bar`, `barrier` (`.cta`): `(d) ← barrier:u32, (threads:u32), (p)`; see [`BarOp`].
    Bar(BarOp),
    /// `bar.warp.sync`: `← mask:b32`.
    BarWarpSync,
    /// `barrier.cluster`.
    BarrierCluster {
        /// `.arrive`, else `.wait`.
        arrive: bool,
        /// `.release`, `.acquire`, `.relaxed`; `None` is the default of the half (release, acquire).
        order: Option<MemOrder>,
        /// `.aligned`.
        aligned: bool,
    },
    /// `fence`, `membar`.
    Fence(FenceOp),
    /// `vote`: `d ← a:pred, (mask:b32 when sync)`; `d` is `.b32` for ballot, else a predicate.
    Vote {
        /// The reduction.
        mode: VoteMode,
        /// `.sync`, with a member mask.
        sync: bool,
    },
    /// `shfl`: `d:b32, (p) ← a:b32, b:u32, c:u32, (mask:b32 when sync)`.
    Shfl {
        /// Lane selection.
        mode: ShflMode,
        /// `.sync`, with a member mask.
        sync: bool,
    },
    /// `match.any.sync`: `d:b32 ← a, mask:b32`; `match.all.sync`: `d:b32, (p) ← a, mask:b32`.
    Match {
        /// `.all`, else `.any`.
        all: bool,
        /// `.b32` or `.b64`, type of `a`.
        ty: ScalarType,
    },
    /// `activemask.b32`: `d`.
    Activemask,
    /// `redux.sync`: `d ← a, mask:b32`.
    Redux {
        /// The reduction.
        op: ReduxOp,
        /// Element type.
        ty: ScalarType,
        /// `.abs` (f32).
        abs: bool,
        /// `.NaN` (f32).
        nan: bool,
    },
    /// `elect.sync`: `d:b32 (or sink), p ← mask:b32`.
    Elect,
    /// `mbarrier.*`; operands as [`MbarrierOp`] says.
    Mbarrier(MbarrierOp),

    // ---- matrices; fragments have as many registers as shape and type say
    /// `wmma.load`: `r (vector) ← [p], (stride:u32)`.
    WmmaLoad(WmmaMemOp),
    /// `wmma.store`: `← [p], r (vector), (stride:u32)`.
    WmmaStore(WmmaMemOp),
    /// `wmma.mma`: `d (vector) ← a (vector), b (vector), c (vector)`.
    WmmaMma(MmaOp),
    /// `mma.sync`: `d (vector) ← a, b, c (vectors)`; `mma.sp`: `…, metadata:b32, selector (immediate)`.
    Mma(MmaOp),
    /// `ldmatrix`: `r (vector) ← [p]`.
    Ldmatrix(MatrixMemOp),
    /// `stmatrix`: `← [p], r (vector)`.
    Stmatrix(MatrixMemOp),
    /// `movmatrix.sync.aligned.m8n8.trans.b16`: `d:b32 ← a:b32`.
    Movmatrix,

    /// Scalar and SIMD video instructions: `d ← a, b, (c)`; operands as [`VideoOp`] says.
    Video(VideoOp),
}

/// What a `call` calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// A function of the module, possibly only declared (`vprintf`, `malloc`).
    Direct(FuncId),
    /// Through a register.
    Indirect {
        /// Holds the function's address.
        pointer: RegId,
        /// What is known about the target.
        shape: CallShape,
    },
}

/// Attributes of an indirect call's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallShape {
    /// Its prototype.
    Prototype(PrototypeId),
    /// The complete list of targets.
    Targets(CallTableId),
}
