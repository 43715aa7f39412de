//! CUDA's driver and runtime API on the functional emulator.
//!
//! Each group of modules uses only those above it:
//!
//! - `error`, `tell`, `handles`, `host`, `signals`, `process`, `shared_file`, [`device`], `summary`: results and messages of
//!   functions, handles, checks of the program's memory, the board that programs see, the summary of a run;
//! - `memory`, `streams`, `modules`, `contexts`, `recording`: the state of the GPU, each the owner of its part;
//! - `gpu`: all of the state behind one lock;
//! - `running`: does the work of streams; `current` makes contexts current to threads;
//! - `driver`, `runtime`, `embed`, `nvml`, `cupti`, `cudnn`: the APIs; `stand_ins` lists the libraries of the last three; `redirect` puts them in the place of runtimes that are linked in.
//!
//! ```
//! use cuda::device::{Attributes, Device};
//!
//! // What `cuDeviceGetAttribute` answers of the default board: its streaming multiprocessors.
//! assert_eq!(Device::all()[0].attribute(16), Some(30));
//! ```

mod contexts;
mod cudnn;
mod cupti;
mod current;
pub mod device;
mod device_files;
mod driver;
mod embed;
mod error;
mod gpu;
mod handles;
mod host;
mod memory;
mod modules;
mod nvml;
mod process;
mod ranges;
mod recording;
mod redirect;
mod running;
mod runtime;
mod shared_file;
mod signals;
mod stand_ins;
mod streams;
mod summary;
mod tell;

pub mod internals {
    //! Parts of the library that its own tests and benchmarks look at; nothing else uses them.

    pub use crate::gpu::gpu;
    pub use crate::memory::{Memory, Purpose};
    pub use crate::runtime::absent::{Generation, implementation};
    pub use crate::runtime::execution::{Dim3, launch_handle};
    pub use crate::runtime::layouts;
}
