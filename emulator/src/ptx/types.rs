//! The words of PTX that instructions and declarations are made of: types, state spaces, rounding modes,
//! comparison operators, scopes.
//!
//! Each enum is one table of `Variant = "keyword"`; the same table parses and prints. [`Op`](super::Op)
//! documents their combinations.

/// Defines an enum of PTX keywords with `ALL`, `as_str`, `from_keyword` and `Display`.
macro_rules! keywords {
    ($($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$vmeta:meta])* $variant:ident = $text:literal $(| $alias:literal)*,)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[doc = concat!("`.", $text, "`")] $(#[$vmeta])* $variant,)*
        }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The keyword, without its leading dot.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The value of a keyword given without its leading dot.
            #[must_use]
            pub fn from_keyword(text: &str) -> Option<Self> {
                match text {
                    $($text $(| $alias)* => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}
pub(crate) use keywords;

keywords! {
    /// An operand or element type.
    pub enum ScalarType {
        Pred = "pred", B1 = "b1", B4 = "b4", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        U4 = "u4", U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64", S4 = "s4", S8 = "s8", S16 = "s16",
        S32 = "s32", S64 = "s64", U16x2 = "u16x2", S16x2 = "s16x2", U8x4 = "u8x4", S8x4 = "s8x4",
        F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2", Tf32 = "tf32", F32 = "f32",
        F32x2 = "f32x2", F64 = "f64", E4m3 = "e4m3", E5m2 = "e5m2", E4m3x2 = "e4m3x2", E5m2x2 = "e5m2x2",
        E4m3x4 = "e4m3x4", E5m2x4 = "e5m2x4", E3m2 = "e3m2", E2m3 = "e2m3", E2m1 = "e2m1",
        E3m2x2 = "e3m2x2", E2m3x2 = "e2m3x2", E2m1x2 = "e2m1x2", E3m2x4 = "e3m2x4", E2m3x4 = "e2m3x4",
        E2m1x4 = "e2m1x4", Ue8m0 = "ue8m0", Ue8m0x2 = "ue8m0x2", Ue4m3 = "ue4m3", S2f6x2 = "s2f6x2",
    }

    /// A state space as an instruction names it.
    pub enum StateSpace {
        /// No space named: the address is generic.
        Generic = "generic", Global = "global",
        /// The block's own shared memory.
        Shared = "shared" | "shared::cta",
        /// Shared memory of any block of the cluster.
        SharedCluster = "shared::cluster",
        Local = "local", Const = "const",
        /// `.param` without a suffix: a parameter of a kernel or a function, depending on its position.
        Param = "param",
        ParamEntry = "param::entry", ParamFunc = "param::func",
    }

    /// Rounding of a floating-point result, or to an integer (`.rni` …).
    pub enum Rounding {
        /// To nearest, ties to even.
        Rn = "rn",
        /// Towards zero.
        Rz = "rz",
        /// Towards minus infinity.
        Rm = "rm",
        /// Towards plus infinity.
        Rp = "rp",
        /// To nearest, ties away from zero.
        Rna = "rna",
        /// Stochastic, with random bits as an operand.
        Rs = "rs",
        /// To nearest integer, ties to even.
        Rni = "rni",
        /// To integer towards zero.
        Rzi = "rzi",
        /// To integer towards minus infinity.
        Rmi = "rmi",
        /// To integer towards plus infinity.
        Rpi = "rpi",
    }

    /// Comparison of `set` and `setp`.
    pub enum Comparison {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge",
        /// Unsigned lower.
        Lo = "lo",
        /// Unsigned lower or same.
        Ls = "ls",
        /// Unsigned higher.
        Hi = "hi",
        /// Unsigned higher or same.
        Hs = "hs",
        /// Equal or unordered.
        Equ = "equ",
        /// Not equal or unordered.
        Neu = "neu",
        /// Less or unordered.
        Ltu = "ltu",
        /// Less or equal or unordered.
        Leu = "leu",
        /// Greater or unordered.
        Gtu = "gtu",
        /// Greater or equal or unordered.
        Geu = "geu",
        /// Neither operand is NaN.
        Num = "num",
        /// An operand is NaN.
        Nan = "nan",
    }

    /// Boolean operation that combines a comparison with a predicate.
    pub enum BoolOp { And = "and", Or = "or", Xor = "xor", }

    /// Half of an integer product that is the result.
    pub enum MulMode {
        /// The low half.
        Lo = "lo",
        /// The high half.
        Hi = "hi",
        /// The whole product, twice as wide as the sources.
        Wide = "wide",
    }

    /// Threads that observe a memory operation's order.
    pub enum MemScope { Cta = "cta", Cluster = "cluster", Gpu = "gpu" | "gl", Sys = "sys", }

    /// Memory order of a load, store, atomic or fence.
    pub enum MemOrder {
        /// An ordinary access: no other thread may race with it.
        Weak = "weak",
        Volatile = "volatile", Relaxed = "relaxed", Acquire = "acquire", Release = "release",
        AcqRel = "acq_rel", Sc = "sc", Mmio = "mmio",
    }

    /// Cache operator of a load or store.
    pub enum CacheOp {
        Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt", Ci = "ci",
    }

    /// Operation of `atom` and `red`.
    pub enum AtomOp {
        And = "and", Or = "or", Xor = "xor", Cas = "cas", Exch = "exch", Add = "add",
        /// `old >= b ? 0 : old + 1`.
        Inc = "inc",
        /// `old == 0 || old > b ? b : old - 1`.
        Dec = "dec",
        Min = "min", Max = "max",
    }

    /// Operation of `redux` and of reductions with a barrier-like shape.
    pub enum ReduxOp { And = "and", Or = "or", Xor = "xor", Add = "add", Min = "min", Max = "max", }

    /// Lane selection of `shfl`.
    pub enum ShflMode { Up = "up", Down = "down", Bfly = "bfly", Idx = "idx", }

    /// Reduction of `vote`.
    pub enum VoteMode { All = "all", Any = "any", Uni = "uni", Ballot = "ballot", }

    /// Selection of `prmt` beyond the default byte index form.
    pub enum PrmtMode {
        F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
    }

    /// Class tested by `testp`.
    pub enum TestpOp {
        Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber",
        Normal = "normal", Subnormal = "subnormal",
    }

    /// Which way `shf` shifts.
    pub enum ShiftDirection { Left = "l", Right = "r", }

    /// What a shift amount out of range does.
    pub enum ShiftMode { Clamp = "clamp", Wrap = "wrap", }

    /// Geometry of a texture or surface.
    pub enum Geometry {
        D1 = "1d", D2 = "2d", D3 = "3d", A1 = "a1d", A2 = "a2d", Cube = "cube", Acube = "acube",
        D2ms = "2dms", A2ms = "a2dms",
    }

    /// What a surface access out of range does.
    pub enum SurfaceClamp { Trap = "trap", Clamp = "clamp", Zero = "zero", }

    /// Row- or column-major matrix layout.
    pub enum MatrixLayout { Row = "row", Col = "col", }

    /// Kind of fence that orders memory proxies.
    pub enum ProxyKind {
        Alias = "alias", Async = "async", AsyncGlobal = "async.global",
        AsyncShared = "async.shared::cta" | "async.shared::cluster", Tensormap = "tensormap::generic",
    }
}

/// The families of types that decide which instructions take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// `.pred`.
    Predicate,
    /// `.b*`: bits without a meaning.
    Bits,
    /// `.u*`.
    Unsigned,
    /// `.s*`.
    Signed,
    /// Every floating-point type, packed and narrow ones included.
    Float,
}

impl ScalarType {
    /// Width in bits; a predicate counts 1.
    #[must_use]
    pub const fn bits(self) -> u32 {
        use ScalarType as T;
        match self {
            T::Pred | T::B1 => 1,
            T::B4 | T::U4 | T::S4 | T::E2m1 => 4,
            T::E3m2 | T::E2m3 => 6,
            T::B8 | T::U8 | T::S8 | T::E4m3 | T::E5m2 | T::Ue8m0 | T::Ue4m3 | T::E2m1x2 => 8,
            T::B16 | T::U16 | T::S16 | T::F16 | T::Bf16 => 16,
            T::E4m3x2 | T::E5m2x2 | T::E3m2x2 | T::E2m3x2 | T::Ue8m0x2 | T::E2m1x4 | T::S2f6x2 => 16,
            T::B32 | T::U32 | T::S32 | T::F32 | T::Tf32 | T::F16x2 | T::Bf16x2 => 32,
            T::U16x2 | T::S16x2 | T::U8x4 | T::S8x4 => 32,
            T::E4m3x4 | T::E5m2x4 | T::E3m2x4 | T::E2m3x4 => 32,
            T::B64 | T::U64 | T::S64 | T::F64 | T::F32x2 => 64,
            T::B128 => 128,
        }
    }

    /// Size of an element in memory, in bytes; sub-byte types and predicates take one.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// The family the type belongs to.
    #[must_use]
    pub const fn kind(self) -> TypeKind {
        use ScalarType as T;
        match self {
            T::Pred => TypeKind::Predicate,
            T::B1 | T::B4 | T::B8 | T::B16 | T::B32 | T::B64 | T::B128 => TypeKind::Bits,
            T::U4 | T::U8 | T::U16 | T::U32 | T::U64 | T::U16x2 | T::U8x4 => TypeKind::Unsigned,
            T::S4 | T::S8 | T::S16 | T::S32 | T::S64 | T::S16x2 | T::S8x4 => TypeKind::Signed,
            _ => TypeKind::Float,
        }
    }

    /// Whether the type is a signed integer (packed ones included).
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), TypeKind::Signed)
    }

    /// Whether the type is an integer, signed or not.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), TypeKind::Signed | TypeKind::Unsigned)
    }

    /// Whether the type is floating point.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), TypeKind::Float)
    }

    /// Whether a register of 32 bits declared so holds two values (`.f16x2`).
    #[must_use]
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::F16x2 | Self::Bf16x2)
    }

    /// The integer type of the same signedness and twice the width (`.wide` results), if there is one.
    #[must_use]
    pub const fn widened(self) -> Option<Self> {
        Some(match self {
            Self::U16 => Self::U32,
            Self::S16 => Self::S32,
            Self::U32 => Self::U64,
            Self::S32 => Self::S64,
            Self::U8 => Self::U16,
            Self::S8 => Self::S16,
            _ => return None,
        })
    }
}
