//! The machine ISA: SASS-like instructions over 32-bit registers, predicates, constant banks and immediates.
//!
//! `table` holds one row per opcode, `inst` the instruction that carries an opcode and its arguments,
//! `kernel` the register-allocated [`MachineKernel`], `flow` its basic blocks, reconvergence points and
//! liveness, [`ControlBits`] what machine code says about timing, [`Dominators`] those of any graph, [`print`] the listing, [`space`] the address-space layout,
//! [`fragment`] the layout of matrices over lanes, and [`barrier_state`] that of barrier objects. The
//! behaviour of instructions is in
//! [`crate::semantics`].

pub mod barrier_state;
mod collective;
mod control_bits;
mod define;
mod dominators;
mod facts;
pub(crate) mod flow;
pub mod fragment;
mod hash;
pub(crate) mod inst;
pub(crate) mod kernel;
pub(crate) mod modifiers;
pub(crate) mod print;
mod reg_set;
pub(crate) mod regs;
pub mod space;
pub(crate) mod table;
pub(crate) mod timing_slice;

pub use collective::CollectiveSite;
pub use control_bits::{ControlBits, DEPENDENCE_COUNTERS, SOURCE_PLACES};
pub use dominators::Dominators;
pub use facts::{Address, Collector, Kind, Lanes, LatencyClass, MemData, MemOp, OpInfo, SourceFormat, Unit};
pub use flow::{BasicBlock, BlockId, Flow, LiveSet, Liveness};
pub use hash::TableHash;
pub use inst::{Guard, Inst, Operand, PredSrc, RegSpan, Results, Src};
pub use kernel::{Language, MachineKernel, Param, Position, SourceFile, SourceLine};
pub use modifiers::*;
pub use reg_set::RegSet;
pub use regs::{Pc, Pred, Reg, UniformReg};
pub use table::{Op, table_hash};
pub use timing_slice::{Need, TimingSlice};
