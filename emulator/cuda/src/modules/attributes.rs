//! Attributes of kernels, which programs query and set, and occupancy; for both APIs.

use super::kernel::Kernel;
use super::loaded::Modules;
use super::occupancy::{registers_per_thread, resident_blocks};
use crate::device::Attributes;
use crate::error::{Outcome, Status};

/// Attributes by their numbers, which both APIs share.
pub(crate) mod attribute {
    /// Threads that a block of the kernel can have at most.
    pub(crate) const MAX_THREADS: u32 = 0;
    /// Bytes of shared memory that every block has.
    pub(crate) const SHARED_BYTES: u32 = 1;
    /// Bytes of constants.
    pub(crate) const CONST_BYTES: u32 = 2;
    /// Bytes of local memory of a thread.
    pub(crate) const LOCAL_BYTES: u32 = 3;
    /// Registers of a thread.
    pub(crate) const REGISTERS: u32 = 4;
    /// The version that the PTX was compiled for; some programs choose launch shapes by it.
    pub(crate) const PTX_VERSION: u32 = 5;
    /// Dynamic shared memory that a block may ask for; can be set.
    pub(crate) const MAX_DYNAMIC_SHARED: u32 = 8;
    /// Per cent of the SM's memory that are to be shared memory; can be set.
    pub(crate) const SHARED_CARVEOUT: u32 = 9;
}

impl Modules {
    /// Most threads that a block of the kernel can have: limited by the SM's registers and their allocation
    /// unit.
    #[must_use]
    pub fn max_threads(&self, kernel: &Kernel) -> u32 {
        let limit = kernel.lowered.kernel.max_threads_per_block;
        let most = limit.map_or(1024, |d| d.iter().product::<u32>().min(1024));
        let fits = |threads: &u32| resident_blocks(self.device, kernel, *threads, 0).is_ok();
        (1..=most.div_ceil(32)).rev().map(|warps| (32 * warps).min(most)).find(fits).unwrap_or(most.min(32))
    }

    /// An attribute of a kernel.
    ///
    /// # Errors
    /// When there is no such kernel or attribute.
    pub fn kernel_attribute(&self, kernel: u64, number: u32) -> Outcome<i32> {
        let kernel = self.kernels.get(kernel)?;
        let machine = &kernel.lowered.kernel;
        let value = match number {
            attribute::MAX_THREADS => self.max_threads(kernel),
            attribute::SHARED_BYTES => machine.static_shared_bytes,
            attribute::CONST_BYTES => self.all.get(kernel.module)?.device.source().constant_bytes() as u32,
            attribute::LOCAL_BYTES => machine.local_bytes,
            attribute::REGISTERS => registers_per_thread(self.device, kernel),
            attribute::PTX_VERSION => self.all.get(kernel.module)?.device.source().arch(),
            // The binary version: the device's architecture.
            6 => self.device.arch(),
            // Caching and clusters.
            7 | 10..=17 => 0,
            attribute::MAX_DYNAMIC_SHARED => {
                let usual = self.device.resources(false).max_shared_bytes_per_block;
                usual.saturating_sub(machine.static_shared_bytes).max(kernel.max_dynamic_shared_bytes)
            }
            attribute::SHARED_CARVEOUT => return Ok(kernel.preferences[0]),
            _ => return Err(Status::INVALID_VALUE),
        };
        i32::try_from(value).map_err(|_| Status::INVALID_VALUE)
    }

    /// Sets an attribute of a kernel.
    ///
    /// # Errors
    /// When there is no such kernel, the attribute cannot be set, or not to this value.
    pub fn set_kernel_attribute(&mut self, kernel: u64, number: u32, value: i32) -> Outcome {
        let most = self.device.resources(true).max_shared_bytes_per_block;
        let kernel = self.kernels.get_mut(kernel)?;
        match number {
            attribute::MAX_DYNAMIC_SHARED => {
                let wanted = u32::try_from(value).map_err(|_| Status::INVALID_VALUE)?;
                if wanted > most.saturating_sub(kernel.lowered.kernel.static_shared_bytes) {
                    return Err(Status::INVALID_VALUE);
                }
                kernel.max_dynamic_shared_bytes = wanted;
            }
            attribute::SHARED_CARVEOUT if (-1..=100).contains(&value) => kernel.preferences[0] = value,
            // Preferences about clusters change nothing where a cluster is one block.
            14..=16 => {}
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    /// Sets whether a kernel prefers L1 or shared memory.
    ///
    /// # Errors
    /// When there is no such kernel or preference.
    pub fn set_cache_preference(&mut self, kernel: u64, preference: u32) -> Outcome {
        if preference > 3 {
            return Err(Status::INVALID_VALUE);
        }
        self.kernels.get_mut(kernel)?.preferences[1] = preference as i32;
        Ok(())
    }

    /// Shared memory that a kernel prefers, in percent of the SM's largest, as in `cuda_occupancy.h`: by its carve-out, else by
    /// its cache preference, else by that of the context.
    pub(crate) fn preferred_carveout(&self, kernel: u64, of_context: u32) -> Option<u8> {
        const PREFER_SHARED: u32 = 1;
        const PREFER_L1: u32 = 2;
        const PREFER_EQUAL: u32 = 3;
        let [carveout, own] = self.kernels.get(kernel).ok()?.preferences;
        if let Ok(percent) = u8::try_from(carveout) {
            return Some(percent);
        }
        match if own == 0 { of_context } else { own.unsigned_abs() } {
            PREFER_SHARED => Some(100),
            PREFER_L1 => Some(0),
            PREFER_EQUAL => Some(50),
            _ => None,
        }
    }

    /// Blocks of a kernel that an SM holds.
    #[must_use]
    pub fn blocks_per_sm(&self, kernel: &Kernel, threads: u32, dynamic_shared_bytes: usize) -> i32 {
        let shared = u32::try_from(dynamic_shared_bytes).unwrap_or(u32::MAX);
        resident_blocks(self.device, kernel, threads, shared).map_or(0, |o| o.blocks as i32)
    }

    /// The same for a number of threads as programs pass it.
    ///
    /// # Errors
    /// When there is no such kernel, or it is no number of threads.
    pub fn active_blocks(&self, kernel: u64, threads: i32, dynamic_shared_bytes: usize) -> Outcome<i32> {
        let kernel = self.kernels.get(kernel)?;
        let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Status::INVALID_VALUE)?;
        Ok(self.blocks_per_sm(kernel, threads, dynamic_shared_bytes))
    }

    /// The most dynamic shared memory with which so many blocks fit an SM, as in `cuda_occupancy.h`: one
    /// block may have the opt-in maximum, several share the SM's memory, and the driver's share of each block
    /// is not available to programs.
    ///
    /// # Errors
    /// When there is no such kernel, or so many blocks do not fit at all.
    pub fn available_shared_bytes(&self, kernel: u64, wanted: i32, threads: i32) -> Outcome<usize> {
        if wanted <= 0 || self.active_blocks(kernel, threads, 0)? < wanted {
            return Err(Status::INVALID_VALUE);
        }
        let most = self.kernel_attribute(kernel, attribute::MAX_DYNAMIC_SHARED)? as u32;
        let fixed = self.kernels.get(kernel)?.lowered.kernel.static_shared_bytes;
        let resources = self.device.resources(true);
        let (unit, reserved) =
            (resources.shared_unit_bytes.max(1), resources.reserved_shared_bytes_per_block);
        let largest = resources.max_shared_bytes_per_block + reserved;
        let all = if wanted == 1 { largest } else { resources.shared_bytes };
        let per_block = (all / wanted as u32 / unit * unit).min(largest);
        Ok(per_block.saturating_sub(fixed + reserved).min(most) as usize)
    }
}
