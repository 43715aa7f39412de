//! The modifiers that opcodes carry (rounding, comparison, widths, …), each with the suffix it prints as.
//!
//! Every modifier is a small enum or flag; an opcode row of [`super::table`] lists the ones it has, and the
//! printer concatenates their suffixes in that order.

use serde::{Deserialize, Serialize};

/// A modifier of an opcode.
pub trait Modifier: Copy + PartialEq + std::any::Any {
    /// Name of the type.
    const NAME: &'static str;
    /// Every value, in the order in which they are numbered; of a number, one that stands for all.
    const VALUES: &'static [Self];

    /// Its suffix in the mnemonic, e.g. `.FTZ`; empty when it is the default.
    fn suffix(&self) -> &'static str;
}

macro_rules! modifier {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
        impl $name {
            /// Every variant, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
        }
        impl Modifier for $name {
            const NAME: &'static str = stringify!($name);
            const VALUES: &'static [$name] = $name::ALL;

            fn suffix(&self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }
    };
}

macro_rules! flag {
    ($(#[$doc:meta])* $name:ident = $text:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
        pub struct $name(pub bool);
        impl Modifier for $name {
            const NAME: &'static str = stringify!($name);
            const VALUES: &'static [$name] = &[$name(false), $name(true)];

            fn suffix(&self) -> &'static str {
                if self.0 { $text } else { "" }
            }
        }
    };
}

modifier! {
    /// System calls of device code.
    SysCall {
        /// `vprintf(format, arguments)`: formats and prints; the number of arguments.
        Vprintf = ".VPRINTF",
        /// `malloc(bytes)`: the address of a new block of the device heap, or 0.
        Malloc = ".MALLOC",
        /// `free(address)`.
        Free = ".FREE",
        /// `__assertfail(message, file, line, function, charsize)`: stops with a fault.
        AssertFail = ".ASSERTFAIL",
        /// `__warplab_launch(request)`: submits the launch of a kernel; an error code.
        Launch = ".LAUNCH",
        /// `__warplab_transfer(transfer)`: submits a copy or a fill; an error code.
        Transfer = ".TRANSFER",
        /// `__warplab_query(query)`: answers a question about a kernel or the device.
        Query = ".QUERY",
        /// `__warplab_error(code)`: replaces the thread's last error, which is the result.
        Error = ".ERROR",
    }
}

modifier! {
    /// IEEE rounding direction of a floating-point result.
    Rnd { /// To nearest, ties to even.
        Rn = "", /// Towards zero.
        Rz = ".RZ", /// Towards minus infinity.
        Rm = ".RM", /// Towards plus infinity.
        Rp = ".RP" }
}
modifier! {
    /// Rounding of a float to an integer value.
    IntRnd { /// To nearest, ties to even.
        Nearest = "", /// Towards zero.
        Trunc = ".TRUNC", /// Towards minus infinity.
        Floor = ".FLOOR", /// Towards plus infinity.
        Ceil = ".CEIL" }
}
flag! { /// Subnormal inputs and results are flushed to sign-preserving zero.
Ftz = ".FTZ" }
flag! { /// The result is clamped to [0, 1], NaN to +0.
Sat = ".SAT" }
flag! { /// Negative results become +0; NaN stays.
Relu = ".RELU" }
flag! { /// Results beyond the range become the largest finite number instead of infinity.
SatFinite = ".SATFINITE" }
flag! { /// A carry or the low half's comparison is taken in.
Extended = ".X" }
flag! { /// The maximum instead of the minimum.
Max = ".MAX" }
modifier! {
    /// A part of a register.
    Part {
        /// The second byte.
        B1 = ".B1",
        /// The third byte.
        B2 = ".B2",
        /// The fourth byte.
        B3 = ".B3",
        /// The upper half.
        H1 = ".H1" }
}
impl Part {
    /// Bits below it.
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            Part::B1 => 8,
            Part::B2 | Part::H1 => 16,
            Part::B3 => 24,
        }
    }
}
modifier! {
    /// Which halves of a register an operand's low and high half are.
    Halves {
        /// Both in their places.
        Both = "",
        /// The lower one twice.
        Low = ".H0_H0",
        /// The upper one twice.
        High = ".H1_H1" }
}
modifier! {
    /// A factor of a product.
    PowerOfTwo {
        /// One half.
        D2 = ".D2",
        /// One quarter.
        D4 = ".D4",
        /// One eighth.
        D8 = ".D8",
        /// Two.
        M2 = ".M2",
        /// Four.
        M4 = ".M4",
        /// Eight.
        M8 = ".M8" }
}
impl PowerOfTwo {
    /// Its value.
    #[must_use]
    pub const fn value(self) -> f64 {
        match self {
            PowerOfTwo::D2 => 0.5,
            PowerOfTwo::D4 => 0.25,
            PowerOfTwo::D8 => 0.125,
            PowerOfTwo::M2 => 2.0,
            PowerOfTwo::M4 => 4.0,
            PowerOfTwo::M8 => 8.0,
        }
    }
}
flag! { /// Whether a register is empty after it has been read.
Clear = ".CLEAR" }
flag! { /// The parts of the result are summed, and a third operand is added.
Accumulate = ".ACC" }
flag! { /// A NaN operand makes the result NaN.
NanProp = ".NAN" }
flag! { /// The upper word of the two-word result is returned.
High = ".HI" }
flag! { /// Shift amounts are taken modulo the width instead of clamped to it.
Wrap = ".W" }
flag! { /// The funnel is 64 bits wide: shift amounts up to 64 are honoured.
Wide = ".64" }
flag! { /// The result is a shift amount (31 - position).
ShiftAmount = ".SH" }
flag! { /// The result is 1.0 or 0.0 instead of all ones or zero.
BoolFloat = ".BF" }
flag! { /// A load from memory that no thread writes during the kernel (read-only path).
ReadOnly = ".CONSTANT" }
modifier! {
    /// Comparison of two integers.
    ICmp { /// Less.
        Lt = ".LT", /// Equal.
        Eq = ".EQ", /// Less or equal.
        Le = ".LE", /// Greater.
        Gt = ".GT", /// Not equal.
        Ne = ".NE", /// Greater or equal.
        Ge = ".GE" }
}
modifier! {
    /// Comparison of two floats; the `U` forms are also true when an operand is NaN.
    FCmp { /// Less.
        Lt = ".LT", /// Equal.
        Eq = ".EQ", /// Less or equal.
        Le = ".LE", /// Greater.
        Gt = ".GT", /// Not equal (ordered).
        Ne = ".NE", /// Greater or equal.
        Ge = ".GE", /// Both are numbers.
        Num = ".NUM", /// Either is NaN.
        Nan = ".NAN", /// Less or unordered.
        Ltu = ".LTU", /// Equal or unordered.
        Equ = ".EQU", /// Less, equal or unordered.
        Leu = ".LEU", /// Greater or unordered.
        Gtu = ".GTU", /// Not equal or unordered.
        Neu = ".NEU", /// Greater, equal or unordered.
        Geu = ".GEU" }
}
modifier! {
    /// How a comparison is combined with the predicate source.
    BoolOp { /// And.
        And = ".AND", /// Or.
        Or = ".OR", /// Exclusive or.
        Xor = ".XOR" }
}
modifier! {
    /// Signedness of a 32-bit integer operation.
    Sign { /// Unsigned.
        U32 = ".U32", /// Signed.
        S32 = "" }
}
modifier! {
    /// What a dot product multiplies.
    Dot { /// Four bytes of each source.
        Bytes = ".4A", /// Two halves of the first with the low two bytes of the second.
        HalvesLow = ".2A.LO", /// Two halves of the first with the high two bytes of the second.
        HalvesHigh = ".2A.HI" }
}
modifier! {
    /// Integer formats that conversions know.
    IntTy { /// Unsigned byte.
        U8 = ".U8", /// Signed byte.
        S8 = ".S8", /// Unsigned 16 bits.
        U16 = ".U16", /// Signed 16 bits.
        S16 = ".S16", /// Unsigned 32 bits.
        U32 = ".U32", /// Signed 32 bits.
        S32 = ".S32", /// Unsigned 64 bits.
        U64 = ".U64", /// Signed 64 bits.
        S64 = ".S64" }
}
impl IntTy {
    /// Width in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            IntTy::U8 | IntTy::S8 => 8,
            IntTy::U16 | IntTy::S16 => 16,
            IntTy::U32 | IntTy::S32 => 32,
            IntTy::U64 | IntTy::S64 => 64,
        }
    }
    /// Whether values are two's complement.
    #[must_use]
    pub const fn signed(self) -> bool {
        matches!(self, IntTy::S8 | IntTy::S16 | IntTy::S32 | IntTy::S64)
    }
    /// Number of 32-bit registers that hold a value.
    #[must_use]
    pub const fn regs(self) -> u8 {
        if self.bits() == 64 { 2 } else { 1 }
    }
}
modifier! {
    /// Floating-point formats that conversions know.
    FloatTy { /// IEEE binary16, in the low half of a register.
        F16 = ".F16", /// bfloat16, in the low half of a register.
        Bf16 = ".BF16", /// IEEE binary32.
        F32 = ".F32", /// IEEE binary64.
        F64 = ".F64", /// TensorFloat-32: binary32 whose low 13 mantissa bits are zero.
        Tf32 = ".TF32", /// 8 bits, 4 of exponent and 3 of mantissa, without infinities.
        E4m3 = ".E4M3", /// 8 bits, 5 of exponent and 2 of mantissa.
        E5m2 = ".E5M2", /// 6 bits in a byte, 3 of exponent and 2 of mantissa, finite.
        E3m2 = ".E3M2", /// 6 bits in a byte, 2 of exponent and 3 of mantissa, finite.
        E2m3 = ".E2M3", /// 4 bits, 2 of exponent and 1 of mantissa, finite.
        E2m1 = ".E2M1" }
}
impl FloatTy {
    /// Number of 32-bit registers that hold a value.
    #[must_use]
    pub const fn regs(self) -> u8 {
        if matches!(self, FloatTy::F64) { 2 } else { 1 }
    }
}
modifier! {
    /// Format of the two halves of a register in half-precision arithmetic.
    HalfTy { /// IEEE binary16.
        F16 = "", /// bfloat16.
        Bf16 = ".BF16_V2" }
}
impl From<HalfTy> for FloatTy {
    fn from(ty: HalfTy) -> FloatTy {
        match ty {
            HalfTy::F16 => FloatTy::F16,
            HalfTy::Bf16 => FloatTy::Bf16,
        }
    }
}
modifier! {
    /// Rounding of a conversion that packs.
    PackRnd { /// To nearest, ties to even.
        Nearest = "", /// Towards zero.
        Zero = ".RZ", /// Towards minus infinity.
        Down = ".RM", /// Towards plus infinity.
        Up = ".RP", /// To nearest, ties away from zero.
        Away = ".RNA" }
}
modifier! {
    /// Function of the multi-function unit.
    MufuFn { /// 1/x.
        Rcp = ".RCP", /// 1/sqrt(x).
        Rsq = ".RSQ", /// sqrt(x).
        Sqrt = ".SQRT", /// 2^x.
        Ex2 = ".EX2", /// log2(x).
        Lg2 = ".LG2", /// sin(2 pi x).
        Sin = ".SIN", /// cos(2 pi x).
        Cos = ".COS", /// tanh(x).
        Tanh = ".TANH", /// Upper word of 1/x for the double whose upper word is given.
        Rcp64h = ".RCP64H", /// Upper word of 1/sqrt(x) for the double whose upper word is given.
        Rsq64h = ".RSQ64H" }
}
modifier! {
    /// Width and extension of a memory access per lane.
    MemWidth { /// Byte, zero-extended.
        U8 = ".U8", /// Byte, sign-extended.
        S8 = ".S8", /// 16 bits, zero-extended.
        U16 = ".U16", /// 16 bits, sign-extended.
        S16 = ".S16", /// 32 bits.
        B32 = "", /// 64 bits, a register pair.
        B64 = ".64", /// 128 bits, four registers.
        B128 = ".128" }
}
impl MemWidth {
    /// Bytes accessed per lane.
    #[must_use]
    pub const fn bytes(self) -> u8 {
        match self {
            MemWidth::U8 | MemWidth::S8 => 1,
            MemWidth::U16 | MemWidth::S16 => 2,
            MemWidth::B32 => 4,
            MemWidth::B64 => 8,
            MemWidth::B128 => 16,
        }
    }
    /// Number of 32-bit registers that hold the data.
    #[must_use]
    pub const fn regs(self) -> u8 {
        match self {
            MemWidth::B64 => 2,
            MemWidth::B128 => 4,
            _ => 1,
        }
    }
}
modifier! {
    /// Factor applied to a 32-bit address register of shared-memory accesses; the listing shows it behind the
    /// register.
    Scale { /// 1.
        X1 = "", /// 4.
        X4 = "", /// 8.
        X8 = "", /// 16.
        X16 = "" }
}
impl Scale {
    /// The left shift that the factor amounts to.
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            Scale::X1 => 0,
            Scale::X4 => 2,
            Scale::X8 => 3,
            Scale::X16 => 4,
        }
    }
}
modifier! {
    /// Ordering strength of a memory access.
    MemOrder { /// Weak.
        Weak = "", /// Volatile, or relaxed with system scope.
        Strong = ".STRONG", /// Acquire.
        Acquire = ".ACQUIRE", /// Release.
        Release = ".RELEASE", /// Acquire and release.
        AcqRel = ".ACQREL" }
}
modifier! {
    /// Set of threads that a fence or atomic is ordered against.
    Scope { /// The thread block.
        Cta = ".CTA", /// The GPU.
        Gpu = ".GPU", /// The system.
        Sys = ".SYS" }
}
modifier! {
    /// Read-modify-write operation of an atomic.
    AtomOp { /// Addition.
        Add = ".ADD", /// Minimum.
        Min = ".MIN", /// Maximum.
        Max = ".MAX", /// Increment modulo a bound.
        Inc = ".INC", /// Decrement modulo a bound.
        Dec = ".DEC", /// Bitwise and.
        And = ".AND", /// Bitwise or.
        Or = ".OR", /// Bitwise exclusive or.
        Xor = ".XOR", /// Exchange.
        Exch = ".EXCH", /// Compare and swap (B compare, C new value).
        Cas = ".CAS", /// Compare and swap, whose result is 1 if it stored the new value, else 0.
        CasDone = ".CAST.SPIN" }
}
modifier! {
    /// Data type of an atomic.
    AtomTy { /// Unsigned 32 bits.
        U32 = "", /// Signed 32 bits.
        S32 = ".S32", /// Unsigned 64 bits.
        U64 = ".64", /// Signed 64 bits.
        S64 = ".S64", /// binary32, round to nearest, subnormals flushed (global) or kept (shared).
        F32 = ".F32", /// binary64, round to nearest.
        F64 = ".F64", /// 16 bits.
        U16 = ".U16", /// binary16, round to nearest, subnormals kept.
        F16 = ".F16", /// bfloat16, likewise.
        Bf16 = ".BF16", /// Two binary16 numbers, each modified by itself.
        F16x2 = ".F16x2", /// Two bfloat16 numbers, likewise.
        Bf16x2 = ".BF16x2", /// 128 bits, exchange and compare only.
        B128 = ".128" }
}
impl AtomTy {
    /// Bytes accessed per lane.
    #[must_use]
    pub const fn bytes(self) -> u8 {
        match self {
            AtomTy::U16 | AtomTy::F16 | AtomTy::Bf16 => 2,
            AtomTy::U32 | AtomTy::S32 | AtomTy::F32 | AtomTy::F16x2 | AtomTy::Bf16x2 => 4,
            AtomTy::U64 | AtomTy::S64 | AtomTy::F64 => 8,
            AtomTy::B128 => 16,
        }
    }
    /// Number of 32-bit registers that hold a value.
    #[must_use]
    pub const fn regs(self) -> u8 {
        self.bytes().div_ceil(4)
    }
}
modifier! {
    /// Whether a global-memory instruction takes a global or a generic address.
    AddrMode { /// The address is known to be global.
        Global = "", /// The address may fall into any window.
        Generic = ".GENERIC" }
}
modifier! {
    /// Geometry of a texture or surface access.
    TexGeometry { /// One dimension.
        D1 = ".1D", /// Two dimensions.
        D2 = ".2D", /// Three dimensions.
        D3 = ".3D", /// Layers of one dimension.
        A1 = ".ARRAY_1D", /// Layers of two dimensions.
        A2 = ".ARRAY_2D", /// Six faces, chosen by a direction.
        Cube = ".CUBE", /// Layers of six faces.
        ACube = ".ARRAY_CUBE" }
}
impl TexGeometry {
    /// Coordinate words, the layer index (which comes first) included.
    #[must_use]
    pub const fn coordinates(self) -> u8 {
        match self {
            TexGeometry::D1 => 1,
            TexGeometry::D2 | TexGeometry::A1 => 2,
            TexGeometry::D3 | TexGeometry::A2 | TexGeometry::Cube => 3,
            TexGeometry::ACube => 4,
        }
    }
    /// Whether the first coordinate word is a layer index.
    #[must_use]
    pub const fn is_layered(self) -> bool {
        matches!(self, TexGeometry::A1 | TexGeometry::A2 | TexGeometry::ACube)
    }
    /// Registers of an operand that holds the coordinates alone.
    #[must_use]
    pub const fn span(self) -> u8 {
        span_of(self.coordinates())
    }
}
/// Registers of the smallest operand that holds a number of words.
const fn span_of(words: u8) -> u8 {
    match words {
        0 => 0,
        1 => 1,
        2 => 2,
        _ => 4,
    }
}
modifier! {
    /// Type of texture coordinates.
    TexCoord { /// Single precision.
        Float = "", /// Integer texel indices.
        Int = ".I" }
}
modifier! {
    /// Choice of the mipmap level of a fetch.
    TexLod { /// The base level.
        Base = ".LZ", /// A level-of-detail word.
        Level = ".LL", /// Two gradients.
        Grad = ".D" }
}
modifier! {
    /// Result of a fetch.
    TexResult { /// Four components, a word each.
        Words = "", /// Four components as binary16, two per word.
        Halves = ".F16", /// The first component of the four texels that a bilinear filter would read.
        GatherR = ".GATHER.R", /// The second component of these.
        GatherG = ".GATHER.G", /// The third component of these.
        GatherB = ".GATHER.B", /// The fourth component of these.
        GatherA = ".GATHER.A" }
}
modifier! {
    /// Words of a result that are written, into registers that follow each other: a fetch writes what is used.
    TexWords { /// All.
        All = "", /// The first.
        X = ".X", /// The second.
        Y = ".Y", /// The third.
        Z = ".Z", /// The fourth.
        W = ".W", /// The first and the second.
        Xy = ".XY", /// The first and the third.
        Xz = ".XZ", /// The first and the fourth.
        Xw = ".XW", /// The second and the third.
        Yz = ".YZ", /// The second and the fourth.
        Yw = ".YW", /// The third and the fourth.
        Zw = ".ZW" }
}
impl TexWords {
    /// Positions of the words in the result.
    #[must_use]
    pub const fn positions(self) -> &'static [u8] {
        match self {
            TexWords::All => &[0, 1, 2, 3],
            TexWords::X => &[0],
            TexWords::Y => &[1],
            TexWords::Z => &[2],
            TexWords::W => &[3],
            TexWords::Xy => &[0, 1],
            TexWords::Xz => &[0, 2],
            TexWords::Xw => &[0, 3],
            TexWords::Yz => &[1, 2],
            TexWords::Yw => &[1, 3],
            TexWords::Zw => &[2, 3],
        }
    }
}
/// Registers that a fetch writes.
#[must_use]
pub const fn tex_registers(result: TexResult, words: TexWords) -> u8 {
    match (result, words) {
        (TexResult::Halves, TexWords::All) => 2,
        (_, words) => words.positions().len() as u8,
    }
}
flag! { /// The texel position is moved by an integer offset.
TexOffset = ".AOFFI" }
flag! { /// The sampler is an object of its own.
TexSampler = ".S" }
flag! { /// A mipmap level is named.
TexAtLevel = ".LL" }

/// Maximum number of argument words of a fetch.
pub const TEX_WORDS: u8 = 11;

/// Argument words of a fetch, in order: coordinates, level or two gradients, sampler, offsets.
#[must_use]
pub const fn tex_words(geometry: TexGeometry, lod: TexLod, offset: TexOffset, sampler: TexSampler) -> u8 {
    let coordinates = geometry.coordinates();
    let dimensions = coordinates - geometry.is_layered() as u8;
    let lod = match lod {
        TexLod::Base => 0,
        TexLod::Level => 1,
        TexLod::Grad => 2 * dimensions,
    };
    coordinates + lod + sampler.0 as u8 + if offset.0 { dimensions } else { 0 }
}

/// Registers of each source of a fetch with a number of argument words: the first four words; the handle with
/// the words after the eighth; words five to eight.
#[must_use]
pub const fn tex_sources(words: u8) -> [u8; 3] {
    let rest = words.saturating_sub(4);
    [span_of(words), if words > 8 { 4 } else { 1 }, span_of(rest)]
}

/// Registers of each source of a fetch of machine code: the first two words; the handle; the words that follow.
#[must_use]
pub const fn tex_split(words: u8) -> [u8; 3] {
    let first = if words < 2 { words } else { 2 };
    [span_of(first), 1, span_of(words - first)]
}

/// Source, and register within it, that holds an argument word of a fetch of machine code.
#[must_use]
pub const fn tex_split_place(word: u8) -> (usize, u8) {
    if word < 2 { (0, word) } else { (2, word - 2) }
}

/// Source, and register within it, that holds an argument word of a fetch.
#[must_use]
pub const fn tex_word_place(word: u8) -> (usize, u8) {
    match word {
        0..4 => (0, word),
        4..8 => (2, word - 4),
        _ => (1, word - 7),
    }
}

modifier! {
    /// Property that a texture or surface query returns.
    TexQuery { /// Width in texels.
        Width = ".WIDTH", /// Height in texels.
        Height = ".HEIGHT", /// Depth in texels.
        Depth = ".DEPTH", /// Code of the channels' data type.
        ChannelDataType = ".CHANNEL_DATA_TYPE", /// Code of the channels' order.
        ChannelOrder = ".CHANNEL_ORDER", /// Whether coordinates are normalised.
        NormalizedCoords = ".NORMALIZED_COORDS", /// Layers.
        ArraySize = ".ARRAY_SIZE", /// Mipmap levels.
        NumMipmapLevels = ".NUM_MIPMAP_LEVELS", /// Samples per texel.
        NumSamples = ".NUM_SAMPLES", /// Whether memory is pitch-linear.
        MemoryLayout = ".MEMORY_LAYOUT", /// Filter.
        FilterMode = ".FILTER_MODE", /// Address mode of the first dimension.
        AddrMode0 = ".ADDR_MODE_0", /// Address mode of the second dimension.
        AddrMode1 = ".ADDR_MODE_1", /// Address mode of the third dimension.
        AddrMode2 = ".ADDR_MODE_2", /// Whether the sampler overrides the texture's normalisation.
        ForceUnnormalizedCoords = ".FORCE_UNNORMALIZED_COORDS" }
}
modifier! {
    /// Behaviour of a surface access out of range.
    SurfClamp { /// Faults.
        Trap = ".TRAP", /// Takes the nearest place in range.
        Clamp = ".CLAMP", /// Reads zero, writes nothing.
        Zero = ".ZERO" }
}
modifier! {
    /// Interpretation of a surface store's or reduction's data.
    SurfFormat { /// As the bytes to store; x counts bytes.
        Bytes = "", /// As words of the type of the surface's channels, converted to its format; x counts texels.
        Texel = ".P" }
}
modifier! {
    /// Selection of a shuffle's source lane.
    ShflMode { /// By index.
        Idx = ".IDX", /// Lower lane.
        Up = ".UP", /// Higher lane.
        Down = ".DOWN", /// Exclusive or.
        Bfly = ".BFLY" }
}
modifier! {
    /// Result of a vote over the participating lanes.
    VoteMode { /// True in all.
        All = ".ALL", /// True in any.
        Any = ".ANY", /// The same in all.
        Uni = ".EQ", /// The mask of lanes in which it is true.
        Ballot = ".BALLOT" }
}
modifier! {
    /// Mode of MATCH.
    MatchMode { /// Mask of lanes with the same value.
        Any = ".ANY", /// All lanes have the same value.
        All = ".ALL" }
}
modifier! {
    /// Operation of a reduction over lanes.
    ReduxOp { /// Bitwise and.
        And = ".AND", /// Bitwise or.
        Or = ".OR", /// Bitwise exclusive or.
        Xor = ".XOR", /// Sum.
        Sum = ".SUM", /// Minimum.
        Min = ".MIN", /// Maximum.
        Max = ".MAX" }
}
modifier! {
    /// Type of the values that a reduction over lanes takes.
    ReduxTy { /// Unsigned 32 bits.
        U32 = "", /// Signed 32 bits.
        S32 = ".S32", /// Single precision.
        F32 = ".F32" }
}
modifier! {
    /// Behaviour of a barrier besides counting arrivals.
    BarMode { /// Arrive and wait.
        Sync = ".SYNC", /// Arrive without waiting.
        Arrive = ".ARV", /// Wait, and count the threads whose predicate is true.
        RedPopc = ".RED.POPC", /// Wait, and the conjunction of the predicates.
        RedAnd = ".RED.AND", /// Wait, and the disjunction of the predicates.
        RedOr = ".RED.OR" }
}
modifier! {
    /// Byte-permute mode.
    PrmtMode { /// Four selector nibbles.
        Index = "", /// Funnel forward by four.
        F4e = ".F4E", /// Funnel backward by four.
        B4e = ".B4E", /// One byte replicated.
        Rc8 = ".RC8", /// Edge clamp left.
        Ecl = ".ECL", /// Edge clamp right.
        Ecr = ".ECR", /// One half replicated.
        Rc16 = ".RC16" }
}
modifier! {
    /// Special registers that S2R reads.
    SpecialReg { /// Thread index x.
        TidX = " SR_TID.X", /// Thread index y.
        TidY = " SR_TID.Y", /// Thread index z.
        TidZ = " SR_TID.Z", /// Block index x.
        CtaidX = " SR_CTAID.X", /// Block index y.
        CtaidY = " SR_CTAID.Y", /// Block index z.
        CtaidZ = " SR_CTAID.Z", /// Lane within the warp.
        LaneId = " SR_LANEID", /// Warp within the block.
        WarpId = " SR_WARPID", /// Lanes equal to this one.
        LaneMaskEq = " SR_EQMASK", /// Lanes below.
        LaneMaskLt = " SR_LTMASK", /// Lanes up to this one.
        LaneMaskLe = " SR_LEMASK", /// Lanes above.
        LaneMaskGt = " SR_GTMASK", /// Lanes from this one.
        LaneMaskGe = " SR_GEMASK", /// Active lanes.
        ActiveMask = " SR_ACTIVEMASK", /// SM that runs the block (from outside).
        SmId = " SR_SMID", /// Number of SMs (from outside).
        NSmId = " SR_NSMID", /// Low word of the cycle counter (from outside).
        ClockLo = " SR_CLOCKLO", /// High word of the cycle counter (from outside).
        ClockHi = " SR_CLOCKHI", /// Low word of the global timer (from outside).
        GlobalTimerLo = " SR_GLOBALTIMERLO", /// High word of the global timer (from outside).
        GlobalTimerHi = " SR_GLOBALTIMERHI", /// Launch number within the run (from outside).
        GridId = " SR_GRIDID", /// Block within its cluster: 0, since blocks form no clusters.
        ClusterRank = " SR_CgaCtaId" }
}
impl SpecialReg {
    /// Whether the value comes from outside the warp's state, so that a trace must record it.
    #[must_use]
    pub const fn is_external(self) -> bool {
        matches!(
            self,
            SpecialReg::SmId
                | SpecialReg::NSmId
                | SpecialReg::ClockLo
                | SpecialReg::ClockHi
                | SpecialReg::GlobalTimerLo
                | SpecialReg::GlobalTimerHi
                | SpecialReg::GridId
        )
    }
}

/// A three-input truth table: bit `(a<<2 | b<<1 | c)` is the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Lut(pub u8);

impl Lut {
    /// Truth table of the first input.
    pub const A: u8 = 0xF0;
    /// Truth table of the second input.
    pub const B: u8 = 0xCC;
    /// Truth table of the third input.
    pub const C: u8 = 0xAA;
}

impl Modifier for Lut {
    const NAME: &'static str = "Lut";
    const VALUES: &'static [Lut] = &[Lut(0)];

    fn suffix(&self) -> &'static str {
        ".LUT"
    }
}

/// A shift amount fixed in the opcode, 0..=31.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ShiftBy(pub u8);

impl Modifier for ShiftBy {
    const NAME: &'static str = "ShiftBy";
    const VALUES: &'static [ShiftBy] = &[ShiftBy(0)];

    fn suffix(&self) -> &'static str {
        ""
    }
}

/// A convergence register named in the opcode, B0..B15.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Convergence(pub u8);

impl Convergence {
    /// Number of convergence registers of a warp.
    pub const COUNT: usize = 16;
}

impl Modifier for Convergence {
    const NAME: &'static str = "Convergence";
    const VALUES: &'static [Convergence] = &[Convergence(0)];

    fn suffix(&self) -> &'static str {
        ""
    }
}

/// A constant bank named in the opcode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Bank(pub u8);

impl Modifier for Bank {
    const NAME: &'static str = "Bank";
    const VALUES: &'static [Bank] = &[Bank(0)];

    fn suffix(&self) -> &'static str {
        ""
    }
}
modifier! {
    /// Shape (m, n, k) of a floating-point matrix product.
    HmmaShape { /// 16x8x4.
        S1684 = ".1684", /// 16x8x8.
        S1688 = ".1688", /// 16x8x16.
        S16816 = ".16816" }
}
modifier! {
    /// Elements of A and B of a floating-point matrix product.
    HmmaTy { /// Half precision.
        F16 = "", /// bfloat16.
        Bf16 = ".BF16", /// The upper 19 bits of single precision.
        Tf32 = ".TF32" }
}
modifier! {
    /// Accumulators of a floating-point matrix product.
    AccTy { /// Half precision.
        F16 = ".F16", /// Single precision.
        F32 = ".F32" }
}
modifier! {
    /// Order of a matrix in a fragment.
    MatrixOrder { /// Row by row.
        Row = ".ROW", /// Column by column.
        Col = ".COL" }
}
modifier! {
    /// Columns of the result that a step of HMMA.884 with single-precision accumulators computes.
    ColumnHalf { /// Columns 0 to 3, or all of them with half-precision accumulators.
        Lower = "", /// Columns 4 to 7.
        Upper = ".HI" }
}
modifier! {
    /// Shape (m, n, k) of an integer or one-bit matrix product.
    ImmaShape { /// 8x8x16, bytes.
        S8816 = ".8816", /// 16x8x16, bytes.
        S16816 = ".16816", /// 16x8x32, bytes or nibbles.
        S16832 = ".16832", /// 8x8x32, nibbles.
        S8832 = ".8832", /// 16x8x64, nibbles.
        S16864 = ".16864", /// 8x8x128, bits.
        S88128 = ".88128", /// 16x8x128, bits.
        S168128 = ".168128", /// 16x8x256, bits.
        S168256 = ".168256" }
}
modifier! {
    /// Elements of A or B of an integer matrix product.
    IntElement { /// Unsigned bytes.
        U8 = ".U8", /// Signed bytes.
        S8 = ".S8", /// Unsigned nibbles.
        U4 = ".U4", /// Signed nibbles.
        S4 = ".S4" }
}
modifier! {
    /// Multiplication of one-bit matrices.
    BitMultiply { /// Exclusive or.
        Xor = ".XOR.POPC", /// And.
        And = ".AND.POPC" }
}
flag! { /// Infinite results become the largest numbers, NaN becomes zero.
HmmaSat = ".SATFINITE" }
flag! { /// Sums outside the range of 32-bit integers become its ends.
SatInt = ".SAT" }

impl AccTy {
    /// 32-bit registers of a 16x8 accumulator fragment.
    #[must_use]
    pub const fn regs(self) -> u8 {
        match self {
            AccTy::F16 => 2,
            AccTy::F32 => 4,
        }
    }
}

impl HmmaTy {
    /// Elements per 32-bit register.
    #[must_use]
    pub const fn per_register(self) -> usize {
        match self {
            HmmaTy::F16 | HmmaTy::Bf16 => 2,
            HmmaTy::Tf32 => 1,
        }
    }
}

impl HmmaShape {
    /// 32-bit registers of fragment A; B has half as many.
    #[must_use]
    pub const fn a_regs(self, ty: HmmaTy) -> u8 {
        match (self, ty) {
            (HmmaShape::S1684, _) | (HmmaShape::S1688, HmmaTy::F16 | HmmaTy::Bf16) => 2,
            _ => 4,
        }
    }
}

impl IntElement {
    /// Elements per 32-bit register.
    #[must_use]
    pub const fn per_register(self) -> usize {
        match self {
            IntElement::U8 | IntElement::S8 => 4,
            IntElement::U4 | IntElement::S4 => 8,
        }
    }

    /// Whether elements are signed.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, IntElement::S8 | IntElement::S4)
    }
}

impl ImmaShape {
    /// Whether the accumulator has 16 rows, else 8.
    #[must_use]
    pub const fn is_tall(self) -> bool {
        !matches!(self, ImmaShape::S8816 | ImmaShape::S8832 | ImmaShape::S88128)
    }

    /// 32-bit registers of fragment B: four lanes' words of k each.
    #[must_use]
    pub const fn b_regs(self, element: IntElement) -> u8 {
        match (self, element) {
            (ImmaShape::S16864 | ImmaShape::S168256, _) => 2,
            (ImmaShape::S16832, IntElement::U8 | IntElement::S8) => 2,
            _ => 1,
        }
    }

    /// 32-bit registers of fragment A.
    #[must_use]
    pub const fn a_regs(self, element: IntElement) -> u8 {
        if self.is_tall() { 2 * self.b_regs(element) } else { self.b_regs(element) }
    }

    /// 32-bit registers of an accumulator fragment.
    #[must_use]
    pub const fn acc_regs(self) -> u8 {
        if self.is_tall() { 4 } else { 2 }
    }
}
modifier! {
    /// Number of 8x8 matrices of halves that LDSM and STSM move.
    MatrixCount { /// One, whose rows lanes 0 to 7 address.
        X1 = "", /// Two, lanes 0 to 15.
        X2 = ".2", /// Four, all lanes.
        X4 = ".4" }
}
flag! { /// Matrices are transposed on their way.
Transposed = ".T" }

impl MatrixCount {
    /// Matrices moved, and 32-bit registers of the fragment.
    #[must_use]
    pub const fn get(self) -> u8 {
        match self {
            MatrixCount::X1 => 1,
            MatrixCount::X2 => 2,
            MatrixCount::X4 => 4,
        }
    }

    /// Lanes whose addresses count.
    #[must_use]
    pub const fn address_lanes(self) -> u32 {
        match self {
            MatrixCount::X1 => 0xFF,
            MatrixCount::X2 => 0xFFFF,
            MatrixCount::X4 => u32::MAX,
        }
    }
}
modifier! {
    /// Updates of a barrier object by SYNCS.
    BarrierUpdate { /// So many threads arrive.
        Arrive = ".ARRIVE", /// So many threads arrive, and later phases do without them.
        ArriveDrop = ".ARRIVE.DROP", /// The phase awaits so many bytes more.
        ExpectTx = ".EXPECT_TX", /// So many bytes have come.
        CompleteTx = ".COMPLETE_TX" }
}
modifier! {
    /// Layout of a barrier object in shared memory.
    BarrierLayout { /// Ours, which PTX leaves open.
        Portable = "", /// That of the machine code of sm_80 and sm_86.
        Ampere = ".64", /// That of the machine code of sm_90 and later targets.
        Hopper = ".TRANS64" }
}
