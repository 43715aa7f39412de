//! The contract between Warplab's emulator and its timing model: the machine ISA (one table), the pure
//! semantics of every instruction on whole warp registers, and the trace container with its writer, its
//! reader and the cursor that regenerates every value.
//!
//! This crate is independent of PTX, memory contents, scheduling and timing: loads get their values from
//! outside, from the emulator's memory while recording and from the trace while replaying.
//!
//! Opening a trace and printing the path of every warp, basic block by basic block:
//!
//! ```
//! use trace_format::reader::Trace;
//!
//! fn print_paths(file: &std::path::Path) -> Result<(), trace_format::container::TraceError> {
//!     let trace = Trace::open(file)?;
//!     for (number, launch) in (0..).zip(trace.launches()) {
//!         println!("kernel {}", trace.kernel_of(number).name);
//!         for block in 0..launch.blocks_recorded() {
//!             for warp in 0..launch.geometry.warps_per_block() {
//!                 let mut path = trace.path_cursor(number, block, warp)?;
//!                 while let Some(step) = path.step()? {
//!                     println!("block {block}, warp {warp}: {:?}..{:?}, lanes {:#x}", step.first, step.end, step.active);
//!                 }
//!             }
//!         }
//!     }
//!     Ok(())
//! }
//! # // A trace of one kernel that ends at once, in two blocks of one warp.
//! # use trace_format::container::LaunchRecord;
//! # use trace_format::isa::{BlockId, Inst, MachineKernel, Op, Pc, SourceLine};
//! # use trace_format::semantics::{Banks, Code, Geometry, Warp};
//! # use trace_format::writer::{TraceWriter, WriterOptions};
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("app.wtrace");
//! # let insts = vec![Inst::new(Op::Exit {})];
//! # let lines = vec![SourceLine::default()];
//! # let kernel = MachineKernel { name: "empty".into(), insts, lines, ..MachineKernel::default() };
//! # let geometry = Geometry { grid: [2, 1, 1], block: [32, 1, 1] };
//! # let mut writer = TraceWriter::create(&file, &WriterOptions::default())?;
//! # let number = writer.kernel(&kernel)?;
//! # let run = writer.launch(LaunchRecord { kernel: number, geometry, ..LaunchRecord::default() })?;
//! # let code = Code::prepare(&kernel, &Banks::default());
//! # let mut recorder = run.recorder();
//! # for block in 0..2 {
//! #     let mut warp = Warp::new(&code);
//! #     warp.reset(&code, &geometry, geometry.block_index(block), 0);
//! #     recorder.begin(block);
//! #     recorder.enter(0, BlockId(0), u32::MAX);
//! #     recorder.retire(0, Pc(0), code.inst(Pc(0)), &warp, u32::MAX);
//! #     run.submit(&mut recorder)?;
//! # }
//! # run.finish()?;
//! # writer.finish()?;
//! print_paths(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod container;
mod encode;
pub mod isa;
pub mod reader;
pub mod semantics;
pub mod validate;
pub mod writer;

pub mod internals {
    //! Parts of the container that this crate's own tests and benchmarks look at; nothing else uses them.

    pub use crate::encode::checksum::Checksums;
    pub use crate::encode::decoder::ValueDecoder;
    pub use crate::encode::encoder::{ValueEncoder, ValueStreams};
    pub use crate::encode::layout::{External, StreamLayout};
    pub use crate::encode::path::PathState;
    pub use crate::encode::pool::Words;
}
