//! Launches of CUDA before 4.0: a block's shape, shared memory and parameters are set one by one, then the
//! kernel is launched. PyCUDA still sets shapes this way.

use super::{In, Stream, functions, launch};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::streams::work::{Launch, LaunchAttributes};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Most bytes of parameters.
const MAX_PARAMETERS: usize = 4096;

/// Settings of a kernel.
#[derive(Debug, Default)]
struct Setup {
    block: Option<[u32; 3]>,
    shared_bytes: u32,
    params: Vec<u8>,
}

/// By the kernel's handle. A handle is reused only after thousands of others.
static SETUPS: Mutex<Option<HashMap<u64, Setup>>> = Mutex::new(None);

/// Changes or reads the settings of an existing kernel.
fn setup<T>(function: u64, f: impl FnOnce(&mut Setup) -> Outcome<T>) -> Outcome<T> {
    gpu()?.modules.kernels.get(function)?;
    let mut setups = SETUPS.lock().unwrap_or_else(PoisonError::into_inner);
    f(setups.get_or_insert_default().entry(function).or_default())
}

/// Signed in this part of the API.
fn unsigned(value: i32) -> Outcome<u32> {
    u32::try_from(value).map_err(|_| Status::INVALID_VALUE)
}

fn set_parameter(function: u64, offset: i32, value: &[u8]) -> Outcome {
    let start = unsigned(offset)? as usize;
    let end = start.checked_add(value.len()).filter(|&end| end <= MAX_PARAMETERS);
    let end = end.ok_or(Status::INVALID_VALUE)?;
    setup(function, |s| {
        s.params.resize(s.params.len().max(end), 0);
        s.params[start..end].copy_from_slice(value);
        Ok(())
    })
}

fn run(function: u64, grid: [i32; 2], stream: Stream) -> Outcome {
    let (block, shared_bytes, mut params) =
        setup(function, |s| Ok((s.block.ok_or(Status::INVALID_VALUE)?, s.shared_bytes, s.params.clone())))?;
    params.resize(gpu()?.modules.kernels.get(function)?.lowered.kernel.param_bytes as usize, 0);
    let grid = [unsigned(grid[0])?, unsigned(grid[1])?, 1];
    launch::enqueue(
        stream,
        Launch {
            kernel: function,
            grid,
            block,
            shared_bytes,
            params,
            attributes: LaunchAttributes::default(),
        },
    )
}

functions! {
    "cuFuncSetBlockShape" 2000 Context func_set_block_shape(function: u64, x: i32, y: i32, z: i32) {
        let shape = [unsigned(x)?, unsigned(y)?, unsigned(z)?];
        if shape.contains(&0) {
            return Err(Status::INVALID_VALUE);
        }
        setup(function, |s| {
            s.block = Some(shape);
            Ok(())
        })
    }
    "cuFuncSetSharedSize" 2000 Context func_set_shared_size(function: u64, bytes: u32) {
        setup(function, |s| {
            s.shared_bytes = bytes;
            Ok(())
        })
    }
    "cuParamSetSize" 2000 Context param_set_size(function: u64, bytes: u32) {
        let bytes = bytes as usize;
        if bytes > MAX_PARAMETERS {
            return Err(Status::INVALID_VALUE);
        }
        setup(function, |s| {
            s.params.resize(bytes, 0);
            Ok(())
        })
    }
    "cuParamSeti" 2000 Context param_set_i(function: u64, offset: i32, value: u32) {
        set_parameter(function, offset, &value.to_le_bytes())
    }
    "cuParamSetf" 2000 Context param_set_f(function: u64, offset: i32, value: f32) {
        set_parameter(function, offset, &value.to_le_bytes())
    }
    "cuParamSetv" 2000 Context param_set_v(function: u64, offset: i32, value: In<u8>, bytes: u32) {
        if bytes as usize > MAX_PARAMETERS {
            return Err(Status::INVALID_VALUE);
        }
        set_parameter(function, offset, &value.list(bytes as usize)?)
    }
    "cuLaunch" 2000 Context launch_one(function: u64) { run(function, [1, 1], Stream(0)) }
    "cuLaunchGrid" 2000 Context launch_grid(function: u64, width: i32, height: i32) {
        run(function, [width, height], Stream(0))
    }
    "cuLaunchGridAsync" 2000 Context launch_grid_async(function: u64, width: i32, height: i32, stream: Stream) {
        run(function, [width, height], stream)
    }
}
