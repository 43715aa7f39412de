//! The data that groups of instructions share, as the fields of [`Op`](super::Op) variants.
//!
//! A modifier with a default in PTX is stored as that default if the ISA fixes it, and as `None` if its
//! absence has a meaning of its own (such as `add.f32` that may be fused).

use super::types::keywords;
use super::types::*;

/// `add`, `addc`, `sub`, `subc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddOp {
    /// Type of the result and, unless `narrow` is set, of both sources.
    pub ty: ScalarType,
    /// Type of `a` alone in the mixed-precision forms (`add.f32.f16`).
    pub narrow: Option<ScalarType>,
    /// Explicit rounding; without one (nearest even) the operation may be fused with a multiplication.
    pub rounding: Option<Rounding>,
    /// `.ftz`.
    pub ftz: bool,
    /// `.sat`.
    pub sat: bool,
    /// `addc`, `subc`: takes the carry (borrow) flag in.
    pub carry_in: bool,
    /// `.cc`: writes the carry (borrow) flag.
    pub carry_out: bool,
}

/// `mul`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MulOp {
    /// Type of the sources, and of the result unless it is wide.
    pub ty: ScalarType,
    /// Which half, for integers; `None` for floating point.
    pub mode: Option<MulMode>,
    /// Explicit rounding; without one (nearest even) the operation may be fused with an addition.
    pub rounding: Option<Rounding>,
    /// `.ftz`.
    pub ftz: bool,
    /// `.sat`.
    pub sat: bool,
}

/// Integer `mad`, `madc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MadOp {
    /// Type of `a` and `b`, and of `c` and the result unless they are wide.
    pub ty: ScalarType,
    /// Which half.
    pub mode: MulMode,
    /// `.sat` (only `.hi.s32`).
    pub sat: bool,
    /// `madc`.
    pub carry_in: bool,
    /// `.cc`.
    pub carry_out: bool,
}

/// `fma`, floating-point `mad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FmaOp {
    /// Type of the result and `c`, and unless `narrow` is set of `a` and `b`.
    pub ty: ScalarType,
    /// Type of `a` and `b` in the mixed-precision forms (`fma.rn.f32.f16`).
    pub narrow: Option<ScalarType>,
    /// Rounding, nearest even where `mad` names none.
    pub rounding: Rounding,
    /// `.ftz`.
    pub ftz: bool,
    /// `.sat`.
    pub sat: bool,
    /// `.relu`: negative results and NaN become zero.
    pub relu: bool,
    /// `.oob`: a NaN marked out of bounds becomes zero.
    pub oob: bool,
}

/// How exactly `div`, `rcp`, `sqrt`, `rsqrt` compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accuracy {
    /// Integer division.
    Integer,
    /// `.approx`: fast, a few ULPs.
    Approx,
    /// `.full`: 2 ULPs over the full range.
    Full,
    /// IEEE 754 result of this rounding.
    Ieee(Rounding),
}

/// `div`, `rcp`, `sqrt`, `rsqrt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MathOp {
    /// Type of all operands.
    pub ty: ScalarType,
    /// How exactly.
    pub accuracy: Accuracy,
    /// `.ftz`.
    pub ftz: bool,
}

/// `min`, `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MinMaxOp {
    /// Type of all operands.
    pub ty: ScalarType,
    /// `.ftz`.
    pub ftz: bool,
    /// `.NaN`: a NaN source gives NaN; else the other source.
    pub nan: bool,
    /// `.xorsign.abs`: of the magnitudes, with the XOR of the signs.
    pub xorsign_abs: bool,
    /// `.relu`.
    pub relu: bool,
    /// A third source takes part.
    pub three: bool,
}

/// The comparison of `set` and `setp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompareOp {
    /// Type of `a` and `b`.
    pub ty: ScalarType,
    /// The comparison; the unsigned spellings `lo`, `ls`, `hi`, `hs` have become `lt`, `le`, `gt`, `ge`.
    pub comparison: Comparison,
    /// How the result is combined with predicate `c`, if it is.
    pub combine: Option<BoolOp>,
    /// `.ftz`.
    pub ftz: bool,
}

/// What kind of `mov` it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MovShape {
    /// One value.
    Scalar,
    /// `d ← {a, b, …}`: concatenates, the first element lowest.
    Pack,
    /// `{a, b, …} ← s`: splits, the lowest part into the first element; elements may be sinks.
    Unpack,
    /// `mov.v2`, `mov.v4`: element by element.
    Vector,
}

/// `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CvtOp {
    /// Result type.
    pub dst_ty: ScalarType,
    /// Source type.
    pub src_ty: ScalarType,
    /// Rounding, as written.
    pub rounding: Option<Rounding>,
    /// `.ftz`.
    pub ftz: bool,
    /// `.sat`.
    pub sat: bool,
    /// `.satfinite`.
    pub satfinite: bool,
    /// `.relu`.
    pub relu: bool,
}

/// A cache level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheLevel {
    /// Nearest the SM.
    L1,
    /// Shared by all SMs.
    L2,
    /// `prefetchu.L1`: the uniform cache.
    Uniform,
    /// `.tensormap`, `.const`, `.param` prefetches.
    Other,
}

/// `ld`, `ldu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LdOp {
    /// Space of the address.
    pub space: StateSpace,
    /// Type of an element in memory; the destination may be wider.
    pub ty: ScalarType,
    /// Elements: 1, 2, 4 or 8.
    pub vec: u8,
    /// Memory order.
    pub order: MemOrder,
    /// Scope of `relaxed` and `acquire`.
    pub scope: Option<MemScope>,
    /// Cache operator, if one is named.
    pub cache: Option<CacheOp>,
    /// `.nc` (or `ldu`): through the non-coherent, read-only path.
    pub nc: bool,
    /// Whether a cache policy is the last source.
    pub cache_policy: bool,
}

/// `st`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StOp {
    /// Space of the address.
    pub space: StateSpace,
    /// Type of an element in memory; the source may be wider.
    pub ty: ScalarType,
    /// Elements: 1, 2, 4 or 8.
    pub vec: u8,
    /// Memory order.
    pub order: MemOrder,
    /// Scope of `relaxed` and `release`.
    pub scope: Option<MemScope>,
    /// Cache operator, if one is named.
    pub cache: Option<CacheOp>,
    /// Whether a cache policy is the last source.
    pub cache_policy: bool,
}

/// `atom`, `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicOp {
    /// Operation.
    pub op: AtomOp,
    /// Element type.
    pub ty: ScalarType,
    /// Elements: 1, 2, 4 or 8.
    pub vec: u8,
    /// Space of the address.
    pub space: StateSpace,
    /// Memory order, relaxed where none is named.
    pub order: MemOrder,
    /// Scope, the GPU where none is named.
    pub scope: MemScope,
    /// `.noftz`.
    pub noftz: bool,
    /// Whether a cache policy is the last source.
    pub cache_policy: bool,
}

/// What follows the size of a `cp.async`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpAsyncTail {
    /// Nothing: all bytes are copied.
    None,
    /// `src_size`: only so many bytes are read, the rest of the destination is zeroed.
    SourceSize,
    /// `ignore_src`: where true, the whole destination is zeroed.
    IgnoreSource,
}

/// `cp.async.{ca,cg}.shared.global`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpAsyncOp {
    /// `.ca` or `.cg`.
    pub cache: CacheOp,
    /// Bytes per thread: 4, 8 or 16.
    pub bytes: u8,
    /// Optional operand after the size.
    pub tail: CpAsyncTail,
    /// Whether a cache policy is the last source.
    pub cache_policy: bool,
}

/// How the level of detail of a texture fetch is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TexLevel {
    /// Implicit, or `.base`.
    Base,
    /// `.level`: a level-of-detail operand.
    Level,
    /// `.grad`: two gradient vectors.
    Grad,
}

/// `tex`, `tld4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TexOp {
    /// Geometry.
    pub geometry: Geometry,
    /// Type of each result element.
    pub dst_ty: ScalarType,
    /// Result elements: 4, 2 (f16x2), or 1 (depth compare).
    pub vec: u8,
    /// Type of a coordinate: `.s32` or `.f32` (tld4 always `.f32`).
    pub coord_ty: ScalarType,
    /// Level of detail.
    pub level: TexLevel,
    /// Component gathered by `tld4`: 0 to 3 for r, g, b, a; 0 for `tex`.
    pub component: u8,
    /// Separate sampler operand.
    pub sampler: bool,
    /// Offset operand.
    pub offset: bool,
    /// Depth-compare operand.
    pub depth_compare: bool,
}

keywords! {
    /// Question of `txq` and `suq`.
    pub enum TextureQuery {
        Width = "width", Height = "height", Depth = "depth", ChannelDataType = "channel_data_type",
        ChannelOrder = "channel_order", NormalizedCoords = "normalized_coords", ArraySize = "array_size",
        NumMipmapLevels = "num_mipmap_levels", NumSamples = "num_samples", MemoryLayout = "memory_layout",
        FilterMode = "filter_mode", AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1",
        AddrMode2 = "addr_mode_2", ForceUnnormalizedCoords = "force_unnormalized_coords",
    }

    /// Opaque object types.
    pub enum OpaqueKind { Texref = "texref", Samplerref = "samplerref", Surfref = "surfref", }

    /// Scalar and SIMD video instructions.
    pub enum VideoKind {
        Vadd = "vadd", Vsub = "vsub", Vabsdiff = "vabsdiff", Vmin = "vmin", Vmax = "vmax", Vshl = "vshl",
        Vshr = "vshr", Vmad = "vmad", Vset = "vset", Vadd2 = "vadd2", Vsub2 = "vsub2", Vavrg2 = "vavrg2",
        Vabsdiff2 = "vabsdiff2", Vmin2 = "vmin2", Vmax2 = "vmax2", Vset2 = "vset2", Vadd4 = "vadd4",
        Vsub4 = "vsub4", Vavrg4 = "vavrg4", Vabsdiff4 = "vabsdiff4", Vmin4 = "vmin4", Vmax4 = "vmax4",
        Vset4 = "vset4",
    }

    /// Part of a register that a video instruction reads or writes.
    pub enum VideoSelector {
        B0 = "b0", B1 = "b1", B2 = "b2", B3 = "b3", H0 = "h0", H1 = "h1",
    }

    /// Tile shape of a matrix instruction.
    pub enum MatrixShape {
        M16n16k16 = "m16n16k16", M8n32k16 = "m8n32k16", M32n8k16 = "m32n8k16", M16n16k8 = "m16n16k8",
        M8n8k4 = "m8n8k4", M8n8k16 = "m8n8k16", M8n8k32 = "m8n8k32", M8n8k128 = "m8n8k128",
        M16n8k4 = "m16n8k4", M16n8k8 = "m16n8k8", M16n8k16 = "m16n8k16", M16n8k32 = "m16n8k32",
        M16n8k64 = "m16n8k64", M16n8k128 = "m16n8k128", M16n8k256 = "m16n8k256",
        M8n8 = "m8n8", M8n16 = "m8n16", M16n8 = "m16n8", M16n16 = "m16n16",
    }

    /// Which operand of a matrix multiply a fragment is.
    pub enum WmmaFragment { A = "a", B = "b", C = "c", D = "d", }
}

/// `suld`, `sust`, `sured`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SurfaceOp {
    /// Geometry.
    pub geometry: Geometry,
    /// `.p`: formatted by the surface, coordinates count elements; else `.b`, x counts bytes.
    pub formatted: bool,
    /// Elements: 1, 2 or 4.
    pub vec: u8,
    /// Element type.
    pub ty: ScalarType,
    /// Out-of-range behaviour.
    pub clamp: SurfaceClamp,
    /// Cache operator, if one is named.
    pub cache: Option<CacheOp>,
}

/// What a CTA barrier does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarAction {
    /// `← barrier, (threads)`: wait for all.
    Sync,
    /// `← barrier, threads`: only arrive.
    Arrive,
    /// `.red.popc.u32`: `d:u32 ← barrier, (threads), p`.
    Popc,
    /// `.red.and.pred`: `d:pred ← barrier, (threads), p`.
    And,
    /// `.red.or.pred`: `d:pred ← barrier, (threads), p`.
    Or,
}

/// `bar`, `barrier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BarOp {
    /// What it does.
    pub action: BarAction,
    /// `bar` and `.aligned`: all threads of a warp execute it together.
    pub aligned: bool,
    /// Whether the number of threads is given as second source.
    pub threads: bool,
}

/// `fence`, `membar`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceOp {
    /// Orders the thread's accesses; `membar` is `Sc`.
    Thread {
        /// `Sc`, `AcqRel`, `Acquire` or `Release`.
        order: MemOrder,
        /// Observers.
        scope: MemScope,
    },
    /// `fence.mbarrier_init.release.cluster`.
    MbarrierInit,
    /// Orders accesses of different proxies.
    Proxy {
        /// Which.
        kind: ProxyKind,
        /// The one-directional forms' order.
        order: Option<MemOrder>,
        /// The one-directional forms' scope.
        scope: Option<MemScope>,
    },
}

/// `mbarrier.*` on a 64-bit barrier object; `space` is shared, cluster-shared or generic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MbarrierAction {
    /// `← [addr], count:u32`.
    Init,
    /// `← [addr]`.
    Inval,
    /// `← [addr], bytes:u32`.
    ExpectTx,
    /// `← [addr], bytes:u32`.
    CompleteTx,
    /// `state:b64 (or sink) ← [addr], (count:u32)`; with `expect_tx`, the source is the bytes.
    Arrive {
        /// `arrive_drop`: also lowers the count of later phases.
        drop: bool,
        /// `.expect_tx`.
        expect_tx: bool,
        /// `.noComplete`.
        no_complete: bool,
        /// Whether the second source is there.
        count: bool,
    },
    /// `p ← [addr], state:b64`; with `parity`: `p ← [addr], phase_parity:u32`; for `try_wait` then
    /// `(suspend_time_hint:u32)`.
    Wait {
        /// `try_wait` (may suspend), else `test_wait`.
        try_wait: bool,
        /// `.parity`.
        parity: bool,
        /// Whether a time hint follows.
        hint: bool,
    },
    /// `count:u32 ← state:b64`.
    PendingCount,
}

/// `mbarrier.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MbarrierOp {
    /// What it does, with its operands.
    pub action: MbarrierAction,
    /// Space of the barrier object.
    pub space: StateSpace,
    /// Memory order, if named.
    pub order: Option<MemOrder>,
    /// Scope, if named.
    pub scope: Option<MemScope>,
}

/// `wmma.load`, `wmma.store`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WmmaMemOp {
    /// Fragment: A, B, C (load), D (store).
    pub fragment: WmmaFragment,
    /// Tile shape.
    pub shape: MatrixShape,
    /// Layout of the matrix in memory.
    pub layout: MatrixLayout,
    /// Space of the address.
    pub space: StateSpace,
    /// Element type.
    pub ty: ScalarType,
    /// Whether a stride in elements is the last source.
    pub stride: bool,
}

/// How a one-bit multiply combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitMultiply {
    /// `.xor.popc`.
    XorPopc,
    /// `.and.popc`.
    AndPopc,
}

/// `wmma.mma`, `mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MmaOp {
    /// Tile shape.
    pub shape: MatrixShape,
    /// Layout of A.
    pub a_layout: MatrixLayout,
    /// Layout of B.
    pub b_layout: MatrixLayout,
    /// Element type of D.
    pub d_ty: ScalarType,
    /// Element type of A.
    pub a_ty: ScalarType,
    /// Element type of B.
    pub b_ty: ScalarType,
    /// Element type of C.
    pub c_ty: ScalarType,
    /// `.satfinite`.
    pub satfinite: bool,
    /// Rounding, if named (f64).
    pub rounding: Option<Rounding>,
    /// One-bit operation, if the type is `.b1`.
    pub bit_op: Option<BitMultiply>,
    /// `mma.sp`: A is sparse, metadata and selector follow.
    pub sparse: bool,
}

/// `ldmatrix`, `stmatrix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixMemOp {
    /// Shape of one matrix.
    pub shape: MatrixShape,
    /// Matrices: 1, 2 or 4.
    pub num: u8,
    /// `.trans`.
    pub trans: bool,
    /// Shared or generic.
    pub space: StateSpace,
    /// Element type in memory (`.b16`, `.b8`).
    pub ty: ScalarType,
    /// `.b6x16_p32`, `.b4x16_p64` packed source format.
    pub packed_source: bool,
}

/// What a video instruction does with its intermediate result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VideoSecond {
    /// Nothing: `d ← a, b` (`vset*`, scalar) or `d ← a, b, c` with `c` merged under the mask (SIMD).
    None,
    /// `.add`: `+ c` (SIMD: sum over lanes `+ c`).
    Add,
    /// `.min` with `c`.
    Min,
    /// `.max` with `c`.
    Max,
    /// Inserted into `c` at the destination selector.
    Merge(VideoSelector),
}

/// `vadd` … `vset4`: the generic form of all video instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VideoOp {
    /// Which.
    pub kind: VideoKind,
    /// Result type (`.u32`, `.s32`).
    pub dst_ty: ScalarType,
    /// Type of `a`.
    pub a_ty: ScalarType,
    /// Type of `b`.
    pub b_ty: ScalarType,
    /// `.sat`.
    pub sat: bool,
    /// Secondary operation; whether a third source exists is `srcs().len() == 3`.
    pub second: VideoSecond,
    /// Part of `a` read (scalar forms); SIMD forms keep their lane lists in `lanes`.
    pub a_part: Option<VideoSelector>,
    /// Part of `b` read.
    pub b_part: Option<VideoSelector>,
    /// `vshl`, `vshr`: amounts clamp or wrap.
    pub shift_mode: Option<ShiftMode>,
    /// `vset*`: the comparison.
    pub comparison: Option<Comparison>,
    /// `vmad`: right shift of the sum, 0, 7 or 15.
    pub scale: u8,
    /// `vmad.po`: adds one (`a·b + c + 1`).
    pub plus_one: bool,
    /// `vmad`: negates (a, b, c).
    pub negate: [bool; 3],
    /// SIMD forms: for `d`, `a`, `b` a mask or selection, one nibble per lane from lane 0 up:
    /// for `a` and `b` the source lane (`a`'s lanes first, then `b`'s), for `d` bit = lane written.
    pub lanes: VideoLanes,
}

/// Lane choices of a SIMD video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VideoLanes {
    /// Bit `i` set: lane `i` of the result is written (all lanes by default).
    pub mask: u8,
    /// For each result lane the lane of `a` and `b` together that feeds `a` (`a` first).
    pub a: [u8; 4],
    /// Likewise for `b`.
    pub b: [u8; 4],
}

impl MatrixShape {
    /// Rows, columns and inner dimension; the shapes of single matrices have inner dimension 1.
    #[must_use]
    pub const fn mnk(self) -> (u32, u32, u32) {
        match self {
            Self::M16n16k16 => (16, 16, 16),
            Self::M8n32k16 => (8, 32, 16),
            Self::M32n8k16 => (32, 8, 16),
            Self::M16n16k8 => (16, 16, 8),
            Self::M8n8k4 => (8, 8, 4),
            Self::M8n8k16 => (8, 8, 16),
            Self::M8n8k32 => (8, 8, 32),
            Self::M8n8k128 => (8, 8, 128),
            Self::M16n8k4 => (16, 8, 4),
            Self::M16n8k8 => (16, 8, 8),
            Self::M16n8k16 => (16, 8, 16),
            Self::M16n8k32 => (16, 8, 32),
            Self::M16n8k64 => (16, 8, 64),
            Self::M16n8k128 => (16, 8, 128),
            Self::M16n8k256 => (16, 8, 256),
            Self::M8n8 => (8, 8, 1),
            Self::M8n16 => (8, 16, 1),
            Self::M16n8 => (16, 8, 1),
            Self::M16n16 => (16, 16, 1),
        }
    }
}
