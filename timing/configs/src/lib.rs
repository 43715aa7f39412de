//! The GPUs that Warplab knows, one data file each.
//!
//! A file has a table `[device]` with the board's properties for programs ([`device`]), and the tables of the
//! timing model, which reads the text itself ([`builtin`]). A number that both need, such as the number of
//! SMs or the size of L2, appears once. [`occupancy`] has CUDA's rules for the number of blocks per SM.
//!
//! ```
//! let gpu = warplab_gpus::Device::find("sm_86").expect("it is known");
//! assert_eq!((gpu.name.as_str(), gpu.sms), ("rtx3070", 46));
//! ```

pub mod builtin;
pub mod device;
pub mod occupancy;

pub use device::Device;
