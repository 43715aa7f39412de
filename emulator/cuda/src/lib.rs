//! CUDA's driver and runtime API on the functional emulator.
//!
//! Each group of modules uses only those above it:
//!
//! - [`error`], [`tell`], [`handles`], [`host`], [`signals`], [`process`], [`device`], [`summary`]: what functions return and say, what programs
//!   hold, what may be accessed of the program's own memory, the board that programs see, the account of what ran;
//! - [`memory`], [`streams`], [`modules`], [`contexts`], [`recording`]: the state of the GPU, each the owner of its part;
//! - [`gpu`]: all of the state behind one lock;
//! - [`running`]: does the work of streams; [`current`] makes contexts current to threads;
//! - [`driver`], [`runtime`], [`embed`]: the APIs; [`redirect`] puts them in the place of runtimes that are linked in.
//!
//! ```
//! use cuda::device::{Attributes, Device};
//!
//! // What `cuDeviceGetAttribute` answers of the default board: its streaming multiprocessors.
//! assert_eq!(Device::all()[0].attribute(16), Some(30));
//! ```

pub mod contexts;
pub mod current;
pub mod device;
pub mod driver;
pub mod embed;
pub mod error;
pub mod gpu;
pub mod handles;
pub mod host;
pub mod memory;
pub mod modules;
pub mod process;
pub mod ranges;
pub mod recording;
pub mod redirect;
pub mod running;
pub mod runtime;
pub mod signals;
pub mod streams;
pub mod summary;
pub mod tell;
