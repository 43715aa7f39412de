//! The machine ISA: SASS-like instructions over 32-bit registers, predicates, constant banks and immediates.
//!
//! [`table`] holds one row per opcode, [`inst`] the instruction that carries an opcode and its arguments,
//! [`kernel`] the register-allocated [`MachineKernel`], [`flow`] its basic blocks, reconvergence points and
//! liveness, [`print`] the listing, [`space`] the address-space layout, [`fragment`] the layout of matrices over
//! lanes, and [`barrier_state`] that of barrier objects. What instructions *do* is in [`crate::semantics`].

pub mod barrier_state;
pub mod flow;
pub mod fragment;
pub mod inst;
pub mod kernel;
pub mod modifiers;
pub mod place;
pub mod print;
pub mod regs;
pub mod space;
pub mod table;

pub use flow::{BasicBlock, BlockId, Flow, Liveness};
pub use inst::{Guard, Inst, Operand, PredSrc, RegSpan, Src};
pub use kernel::{MachineKernel, Param, SourceLine};
pub use modifiers::*;
pub use place::PlaceSlice;
pub use regs::{Pc, Pred, Reg};
pub use table::{Kind, LatencyClass, Op, OpInfo, Unit};
