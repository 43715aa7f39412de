//! Facts in a row of the opcode table: classes with their names, side effects, memory accesses, operand
//! formats.

use super::modifiers::*;
use super::space::Space;
use serde::{Deserialize, Serialize};

/// A class of instructions, whose list and names follow from its declaration.
macro_rules! class {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// Number of variants.
            pub const COUNT: usize = [$($name::$variant),+].len();
            /// All variants, in declaration order.
            pub const ALL: [$name; $name::COUNT] = [$($name::$variant),+];
            /// Their names, in the same order.
            pub const NAMES: [&'static str; $name::COUNT] = [$($text),+];

            /// Name in configurations and statistics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                $name::NAMES[self as usize]
            }

            /// The one with a name.
            #[must_use]
            pub fn named(name: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|class| class.name() == name)
            }
        }
    };
}

class! {
    /// Execution unit that an instruction issues to.
    Unit {
        /// 32-bit integer and logic pipeline.
        Int = "int",
        /// Single-precision pipeline.
        Fp32 = "fp32",
        /// Double-precision pipeline.
        Fp64 = "fp64",
        /// Multi-function (special function) unit; also conversions.
        Sfu = "sfu",
        /// Load/store unit; also shuffles.
        LdSt = "ldst",
        /// Branches, barriers and other instructions without data path.
        Control = "control",
        /// Matrix multiply-accumulate (tensor core).
        Tensor = "tensor",
    }
}

class! {
    /// Pool of operand collectors that an instruction takes one from.
    Collector {
        /// Arithmetic and matrix pipelines.
        Alu = "alu",
        /// Multi-function unit.
        Sfu = "sfu",
        /// Load/store unit.
        Memory = "mem",
        /// No operands are collected.
        NoCollector = "none",
    }
}

class! {
    /// Class of instructions that share a latency and an initiation interval in a configuration.
    LatencyClass {
        /// Integer add, logic, shift, select, move, compare.
        IntAdd = "int_add",
        /// Integer minimum and maximum.
        IntMax = "int_max",
        /// Integer multiply and multiply-add.
        IntMul = "int_mul",
        /// Bit counting, permutes and other narrow-throughput integer operations.
        IntMisc = "int_misc",
        /// Single-precision add.
        FpAdd = "fp_add",
        /// Single-precision minimum, maximum, compare.
        FpMax = "fp_max",
        /// Single-precision multiply.
        FpMul = "fp_mul",
        /// Single-precision fused multiply-add.
        FpFma = "fp_fma",
        /// Half-precision add, multiply and multiply-add.
        Half = "half",
        /// Double-precision add.
        DpAdd = "dp_add",
        /// Double-precision compare.
        DpMax = "dp_max",
        /// Double-precision multiply.
        DpMul = "dp_mul",
        /// Double-precision fused multiply-add.
        DpFma = "dp_fma",
        /// Multi-function unit.
        Sfu = "sfu",
        /// Format conversion.
        Convert = "convert",
        /// Cross-lane shuffle.
        Shuffle = "shuffle",
        /// Matrix multiply-accumulate.
        Tensor = "tensor",
        /// Memory access: the latency comes from the memory system.
        Memory = "memory",
        /// Control transfer, barrier, no data result.
        Control = "control",
    }
}

/// Side effect of an instruction.
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

    /// Whether the instruction ends a basic block: the next instruction may have another mask or program
    /// counter, or may have to wait while other lanes of the warp run (barriers and warp synchronisation).
    #[must_use]
    pub const fn ends_block(self) -> bool {
        matches!(
            self,
            Kind::Branch | Kind::Call | Kind::Return | Kind::Exit | Kind::Trap | Kind::Barrier | Kind::Sync
        )
    }
}

/// Interpretation of an instruction's sources: the meaning of a literal in a register pair, and the
/// applicable sign modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SourceFormat {
    /// Integers or bits; a literal for a pair is zero-extended.
    Bits,
    /// As [`SourceFormat::Bits`], but a literal for a pair is sign-extended.
    Signed,
    /// Floats to be converted; a literal for a pair is the upper word of a double.
    Float,
    /// Two halves in a register.
    Half {
        /// Whether the absolute value can be taken as well as the negative.
        abs: bool,
    },
    /// A single-precision number.
    Single {
        /// As for [`SourceFormat::Half`].
        abs: bool,
    },
    /// A double in a register pair; a literal is its upper word.
    Double {
        /// As for [`SourceFormat::Half`].
        abs: bool,
    },
}

/// The lanes on which a result depends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lanes {
    /// The lane itself.
    Own,
    /// The lanes of a member mask, which wait for each other.
    Members,
    /// All lanes of the warp.
    Warp,
}

/// Data that a memory instruction moves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemData {
    /// One value per lane, in registers.
    Plain(MemWidth),
    /// Matrices of halves, whose rows of 16 bytes some lanes address for all.
    Matrices(MatrixCount, Transposed),
    /// A value per lane that is modified in memory.
    Modify(AtomOp, AtomTy),
    /// A barrier object in shared memory.
    BarrierObject(BarrierLayout, BarrierUpdate),
    /// Data at coordinates of a texture or surface object.
    Object {
        /// Bytes per lane.
        bytes: u8,
    },
}

/// Meaning of source `a` of a memory instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// A 64-bit address in a register pair.
    Wide,
    /// A 32-bit offset to a 64-bit address in uniform registers.
    Offset,
    /// A 32-bit address, scaled.
    Narrow(Scale),
    /// A 32-bit address in a constant bank.
    Bank(Bank),
    /// Coordinates; the addresses follow from an object.
    Object,
}

/// Access of a memory instruction; its [`Kind`] gives the space and direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemOp {
    /// Moved data.
    pub data: MemData,
    /// Form of the address.
    pub address: Address,
    /// Ordering strength.
    pub order: MemOrder,
    /// Whether the data are read-only during the kernel.
    pub read_only: bool,
}

impl MemOp {
    /// A weak access.
    #[must_use]
    pub const fn of(data: MemData, address: Address) -> MemOp {
        MemOp { data, address, order: MemOrder::Weak, read_only: false }
    }

    /// A weak access of one value per lane.
    #[must_use]
    pub const fn plain(width: MemWidth, address: Address) -> MemOp {
        MemOp::of(MemData::Plain(width), address)
    }

    /// The same access with an ordering strength.
    #[must_use]
    pub const fn ordered(self, order: MemOrder) -> MemOp {
        MemOp { order, ..self }
    }

    /// Bytes accessed per lane.
    #[must_use]
    pub const fn bytes(&self) -> u8 {
        match self.data {
            MemData::Plain(width) => width.bytes(),
            MemData::Matrices(..) => 16,
            MemData::Modify(_, ty) => ty.bytes(),
            MemData::BarrierObject(..) => 8,
            MemData::Object { bytes } => bytes,
        }
    }

    /// The width, when one value per lane is moved as it is.
    #[must_use]
    pub const fn width(&self) -> Option<MemWidth> {
        match self.data {
            MemData::Plain(width) => Some(width),
            _ => None,
        }
    }

    /// The factor on the address register.
    #[must_use]
    pub const fn scale(&self) -> Scale {
        match self.address {
            Address::Narrow(scale) => scale,
            _ => Scale::X1,
        }
    }

    /// Lanes whose addresses count: matrices' rows are addressed by some lanes for all.
    #[must_use]
    pub const fn address_lanes(&self) -> u32 {
        match self.data {
            MemData::Matrices(count, _) => count.address_lanes(),
            _ => u32::MAX,
        }
    }
}

/// Static facts of an opcode with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// Mnemonic without suffixes.
    pub mnemonic: &'static str,
    /// Unit that it issues to.
    pub unit: Unit,
    /// Collectors that gather its operands.
    pub collector: Collector,
    /// Latency class.
    pub latency: LatencyClass,
    /// Side effects.
    pub kind: Kind,
    /// 32-bit registers written (0, 1, 2 or 4).
    pub dst_regs: u8,
    /// 32-bit registers that each source spans (0 = the source is absent).
    pub src_regs: [u8; 3],
    /// How sources are read.
    pub format: SourceFormat,
    /// Predicates written.
    pub pred_dsts: u8,
    /// Predicates read besides the guard.
    pub pred_srcs: u8,
    /// The lanes on whose sources a result depends.
    pub lanes: Lanes,
    /// The memory access, if there is one.
    pub memory: Option<MemOp>,
}
