//! Warplab's functional PTX emulator: from a PTX file and a launch manifest to results and a trace.
//!
//! [`ptx`] parses, [`lower`] makes register-allocated machine kernels, [`module`] is both for a file, [`manifest`] says what to launch on
//! which data, [`device`] loads it, [`exec`] runs it on [`memory`] as blocks see it ([`view`]) and on [`texture`] objects
//! ([`sampling`]), [`record`] writes down what every warp did, [`check`] looks for what goes wrong. [`device_runtime`] is what device code
//! calls to launch kernels. [`session`] puts them together for programs; [`cli`] is the `emu` command; [`fatbin`] takes the PTX out
//! of executables.
//!
//! ```
//! use emulator::lower::LowerOptions;
//! use emulator::module::LoadedModule;
//!
//! let text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry empty() { ret; }";
//! let module = LoadedModule::parse(text, "empty.ptx")?;
//! let kernel = module.kernel("empty").expect("it is there");
//! let lowered = module.lower(kernel, &LowerOptions::default())?;
//! assert_eq!(lowered.kernel.name, "empty");
//! # Ok::<(), emulator::module::ModuleError>(())
//! ```

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
pub mod module;
pub mod record;
pub mod sampling;
pub mod session;
pub mod texture;
pub mod view;
