//! CUDA's driver and runtime API on the functional emulator.
//!
//! [`device`] is the GPU that programs see, [`space`] the address space of device memory,
//! [`host`] what may be accessed of the program's own; [`stream`] orders [`work`], which a [`graph`] keeps for
//! later and device code submits ([`nested`]); [`worker`] runs kernels, [`beside`] those that wait for the program; [`redirect`] takes the place of runtimes that are linked in; [`handles`] are what programs hold of all this, [`error`] what every function returns.
//! [`recorder`] writes the trace of the whole process, which [`ending`] completes; [`summary`] says what ran.

pub mod advice;
pub mod array;
pub mod beside;
pub mod closed;
pub mod context;
pub mod desk;
pub mod device;
pub mod driver;
pub mod embed;
pub mod ending;
pub mod error;
pub mod function;
pub mod gpu;
pub mod graph;
pub mod graphs;
pub mod handles;
pub mod host;
pub mod launch;
pub mod link;
pub mod mapping;
pub mod memory;
pub mod module;
pub mod nested;
pub mod node;
pub mod pool;
pub mod ranges;
pub mod recorder;
pub mod redirect;
pub mod runtime;
pub mod signals;
pub mod space;
pub mod stream;
pub mod summary;
pub mod transfer;
pub mod user_object;
pub mod work;
pub mod worker;
