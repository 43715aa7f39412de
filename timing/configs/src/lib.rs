//! The GPUs that Warplab knows, one data file each.
//!
//! A file has a table `[device]` with what programs are shown of the board ([`device`]), and the tables of the timing model, which reads
//! the text itself ([`builtin`]). A number that both need, such as that of the SMs or the size of L2, stands there once. [`occupancy`] has CUDA's rules
//! for how many blocks an SM holds.
//!
//! ```
//! let gpu = warplab_gpus::Device::find("sm_86").expect("it is known");
//! assert_eq!((gpu.name.as_str(), gpu.sms), ("rtx3070", 46));
//! ```

pub mod builtin;
pub mod device;
pub mod occupancy;

pub use device::Device;
