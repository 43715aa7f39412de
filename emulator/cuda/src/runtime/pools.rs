//! Memory pools: allocations in the order of streams, and the attributes that programs set and read.
//!
//! A pool hands out memory of the device; it keeps nothing back when memory is freed, so that what is reserved is what
//! is used.

use super::memory::allocate_in_order;
use super::{done, store};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::handles::{Handles, Kind};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A pool.
struct Pool {
    /// Whether memory freed in other streams is reused; three ways.
    reuse: [u32; 3],
    release_threshold: u64,
    /// Where its memory has been handed out.
    handed_out: Vec<u64>,
    highest: u64,
}

impl Pool {
    const NEW: Pool = Pool { reuse: [1; 3], release_threshold: 0, handed_out: Vec::new(), highest: 0 };

    /// Bytes that are in use.
    fn used(&mut self) -> Outcome<u64> {
        let gpu = gpu()?;
        let bytes = |start: &u64| gpu.memory.region(*start).filter(|r| r.start == *start).map(|r| r.bytes);
        self.handed_out.retain(|start| bytes(start).is_some());
        Ok(self.handed_out.iter().filter_map(bytes).sum())
    }
}

struct Pools {
    pools: Handles<Pool>,
    default: u64,
    current: u64,
}

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

fn with<T>(act: impl FnOnce(&mut Pools) -> Outcome<T>) -> Outcome<T> {
    let mut lock: MutexGuard<'_, Option<Pools>> = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = lock.get_or_insert_with(|| {
        let mut pools = Handles::new(Kind::Pool);
        let default = pools.insert(Pool::NEW);
        Pools { pools, default, current: default }
    });
    act(pools)
}

/// Notes memory of the current pool.
pub(super) fn note(address: u64, pool: Option<u64>) -> Outcome {
    with(|pools| {
        let pool = pools.pools.get_mut(pool.unwrap_or(pools.current))?;
        pool.handed_out.push(address);
        pool.highest = pool.highest.max(pool.used()?);
        Ok(())
    })
}

fn pool_of(to: *mut u64, device: i32, pick: impl Fn(&Pools) -> u64) -> Status {
    let found = if device == 0 { with(|pools| Ok(pick(pools))) } else { Err(Status::INVALID_DEVICE) };
    // SAFETY: the callers' callers promise that it may be written.
    done(found.and_then(|found| unsafe { store(to, found) }))
}

/// `cudaDeviceGetDefaultMemPool`.
///
/// # Safety
/// `pool` may be written.
#[unsafe(export_name = "warplab_cudaDeviceGetDefaultMemPool")]
pub unsafe extern "C" fn default_pool(pool: *mut u64, device: i32) -> Status {
    pool_of(pool, device, |pools| pools.default)
}

/// `cudaDeviceGetMemPool`.
///
/// # Safety
/// `pool` may be written.
#[unsafe(export_name = "warplab_cudaDeviceGetMemPool")]
pub unsafe extern "C" fn current_pool(pool: *mut u64, device: i32) -> Status {
    pool_of(pool, device, |pools| pools.current)
}

/// `cudaDeviceSetMemPool`.
#[unsafe(export_name = "warplab_cudaDeviceSetMemPool")]
pub extern "C" fn set_current_pool(device: i32, pool: u64) -> Status {
    if device != 0 {
        return done(Err(Status::INVALID_DEVICE));
    }
    done(with(|pools| {
        pools.pools.get(pool).map_err(|_| Status::INVALID_VALUE)?;
        pools.current = pool;
        Ok(())
    }))
}

/// `cudaMemPoolCreate`: of memory of the device, for this process.
///
/// # Safety
/// `pool` may be written, `properties` are `cudaMemPoolProps`.
#[unsafe(export_name = "warplab_cudaMemPoolCreate")]
pub unsafe extern "C" fn create(pool: *mut u64, properties: *const [u32; 22]) -> Status {
    let create = || -> Outcome {
        // SAFETY: as the caller promises.
        let &[kind, shared, location, device, ..] =
            unsafe { properties.as_ref() }.ok_or(Status::INVALID_VALUE)?;
        // Pinned memory of a device; it cannot be shared with other processes.
        if kind != 1 || location != 1 {
            return Err(Status::INVALID_VALUE);
        }
        if device != 0 {
            return Err(Status::INVALID_DEVICE);
        }
        if shared != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let made = with(|pools| Ok(pools.pools.insert(Pool::NEW)))?;
        // SAFETY: as the caller promises.
        unsafe { store(pool, made) }
    };
    done(create())
}

/// `cudaMemPoolDestroy`.
#[unsafe(export_name = "warplab_cudaMemPoolDestroy")]
pub extern "C" fn destroy(pool: u64) -> Status {
    done(with(|pools| {
        if pool == pools.default {
            return Err(Status::INVALID_VALUE);
        }
        pools.pools.remove(pool).map_err(|_| Status::INVALID_VALUE)?;
        if pools.current == pool {
            pools.current = pools.default;
        }
        Ok(())
    }))
}

/// `cudaMemPoolSetAttribute`.
///
/// # Safety
/// `value` points to what the attribute takes: 4 bytes for the first three, 8 for others.
#[unsafe(export_name = "warplab_cudaMemPoolSetAttribute")]
pub unsafe extern "C" fn set_attribute(pool: u64, attribute: u32, value: *const c_void) -> Status {
    done(with(|pools| {
        let pool = pools.pools.get_mut(pool).map_err(|_| Status::INVALID_VALUE)?;
        if value.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: as the caller promises.
        let long = || unsafe { value.cast::<u64>().read_unaligned() };
        match attribute {
            // SAFETY: as the caller promises.
            1..=3 => pool.reuse[attribute as usize - 1] = unsafe { value.cast::<u32>().read_unaligned() },
            4 => pool.release_threshold = long(),
            // The highest values can be set back only.
            6 | 8 if long() == 0 => pool.highest = pool.used()?,
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }))
}

/// `cudaMemPoolGetAttribute`.
///
/// # Safety
/// `value` has room for what the attribute gives: 4 bytes for the first three, 8 for others.
#[unsafe(export_name = "warplab_cudaMemPoolGetAttribute")]
pub unsafe extern "C" fn get_attribute(pool: u64, attribute: u32, value: *mut c_void) -> Status {
    done(with(|pools| {
        let pool = pools.pools.get_mut(pool).map_err(|_| Status::INVALID_VALUE)?;
        let long = match attribute {
            // SAFETY: as the caller promises.
            1..=3 => return unsafe { store(value.cast::<u32>(), pool.reuse[attribute as usize - 1]) },
            4 => pool.release_threshold,
            5 | 7 => pool.used()?,
            6 | 8 => pool.highest,
            _ => return Err(Status::INVALID_VALUE),
        };
        // SAFETY: as the caller promises.
        unsafe { store(value.cast::<u64>(), long) }
    }))
}

/// `cudaMemPoolTrimTo`: a pool keeps nothing back.
#[unsafe(export_name = "warplab_cudaMemPoolTrimTo")]
pub extern "C" fn trim(pool: u64, _bytes: usize) -> Status {
    done(with(|pools| pools.pools.get(pool).map(drop).map_err(|_| Status::INVALID_VALUE)))
}

/// `cudaMemPoolSetAccess`: the only device has access.
#[unsafe(export_name = "warplab_cudaMemPoolSetAccess")]
pub extern "C" fn set_access(pool: u64, _descriptions: *const c_void, _count: usize) -> Status {
    trim(pool, 0)
}

/// `cudaMallocFromPoolAsync`.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaMallocFromPoolAsync")]
pub unsafe extern "C" fn malloc_from_pool(
    pointer: *mut *mut c_void,
    bytes: usize,
    pool: u64,
    stream: u64,
) -> Status {
    let known = with(|pools| pools.pools.get(pool).map(drop).map_err(|_| Status::INVALID_VALUE));
    let made = known.and_then(|()| allocate_in_order(bytes, stream));
    done(made.and_then(|address| {
        note(address, Some(pool))?;
        // SAFETY: as the caller promises.
        unsafe { store(pointer, address as *mut c_void) }
    }))
}
