//! Warplab's functional PTX emulator: from a PTX file and a launch manifest to results and a trace.
//!
//! [`ptx`] parses, [`lower`] makes register-allocated machine kernels, [`module`] is both for a file,
//! [`manifest`] describes launches and their data, [`device`] loads a module, [`exec`] runs it on [`memory`]
//! through a block's `view` and on [`texture`] objects (`sampling`), [`record`] records the execution of
//! every warp, [`check`] finds errors. `device_runtime` provides the functions with which device code
//! launches kernels. [`session`] combines them for programs; [`cli`] is the `emu` command; [`fatbin`]
//! extracts PTX from executables.
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

/// Version of the emulator, with the git revision of its sources if they are a checkout.
pub const VERSION: &str = env!("WARPLAB_VERSION");

pub mod check;
pub mod lower;
pub mod ptx;

pub mod cli;
pub mod device;
mod device_runtime;
pub mod exec;
pub mod fatbin;
pub mod manifest;
pub mod memory;
pub mod module;
pub mod native;
pub mod record;
mod sampling;
mod services;
pub mod session;
pub mod texture;
mod view;
