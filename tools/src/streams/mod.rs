//! Instruction streams of two compilers, loop by loop: how many warp instructions a kernel executes in our code, counted
//! in a trace, and in ptxas's code of the same PTX, estimated from its disassembly.
//!
//! Both are tied to lines of PTX. A recording with `--keep-branches` says how often a warp runs each line (`profile`);
//! `marked` gives ptxas the lines, `sass` reads its code, `graph` finds loops, and `estimate` assigns executions to the
//! blocks of a code that nobody ran.

mod code;
mod estimate;
mod graph;
mod marked;
mod profile;
mod sass;

pub use code::{Code, Ending, Instruction, Weight};
pub use estimate::{Estimate, estimate};
pub use marked::with_lines;
pub use profile::{Executions, LineLoop, LoopId, Profile, executions};
pub use sass::{SassError, native, parse};
