//! Warplab's functional PTX emulator: from a PTX file and a launch manifest to results and a trace.
//!
//! [`ptx`] parses, [`lower`] makes register-allocated machine kernels, [`manifest`] says what to launch on
//! which data, [`device`] loads it, [`exec`] runs it on [`memory`] and [`texture`] objects, [`record`] writes down
//! what every warp did; [`device_runtime`] is what device code calls to launch kernels. [`session`] puts them together for programs; [`cli`] is the `emu` command; [`fatbin`]
//! takes the PTX out of executables.

pub mod check;
pub mod lower;
pub mod ptx;

pub mod cli;
pub mod device;
pub mod device_runtime;
pub mod exec;
pub mod fatbin;
pub mod manifest;
pub mod memory;
pub mod record;
pub mod session;
pub mod texture;
