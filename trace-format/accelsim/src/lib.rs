//! The text traces of Accel-Sim: kernels as its NVBit tracer records them on a GPU, one line per warp instruction with
//! the lanes, registers and addresses, and no values.
//!
//! [`import`] reads a `kernelslist.g` and the traces that it names (`.traceg`, also compressed with xz, of all tracer
//! versions up to 6) into a Warplab trace of the kind [`Contents::Imported`], which replays without techniques and with
//! those that need no values.
//!
//! [`export`] writes any trace that holds all blocks of its launches as such a text.
//!
//! [`Contents::Imported`]: trace_format::container::Contents::Imported

mod error;
mod export;
mod fields;
mod fit;
mod header;
mod import;
mod kernel;
mod line;
mod lines;
mod list;
mod opcode;
mod program;

pub use error::AccelsimError;
pub use export::{ExportOptions, Exported, export};
pub use import::{ImportOptions, Imported, import};
pub use opcode::Taken;
pub use program::TakenFor;
