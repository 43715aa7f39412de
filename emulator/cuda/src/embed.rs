//! The C interface for programs that embed the emulator; `include/warplab.h` documents it.
//!
//! It is smaller than CUDA's: no contexts, no streams, every launch is finished when its function returns,
//! and a kernel's fault is the result of its launch only.

use crate::driver::{In, Out, Text};
use crate::error::{Outcome, Status, status};
use crate::gpu::{Gpu, any_gpu};
use crate::host;
use crate::memory::Purpose;
use crate::recording::ending;
use crate::recording::recorder::Recorder;
use crate::running::perform;
use crate::running::waiting::synchronize;
use crate::streams::work::{Launch, LaunchAttributes};
use crate::tell::tell;
use emulator::record::Selection;
use std::collections::HashMap;
use std::ffi::c_char;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Texts that `ptx_run` keeps loaded.
const KEPT_TEXTS: usize = 256;

/// Launches a kernel and waits; a fault does not affect later calls.
fn launch(launch: &Launch) -> Outcome {
    let started = perform::launch(0, launch);
    let finished = synchronize();
    any_gpu()?.fault = None;
    started.and(finished)
}

/// The first kernel of a text.
fn load(source: &str) -> Outcome<u64> {
    static KERNELS: Mutex<Option<HashMap<String, (u64, u64)>>> = Mutex::new(None);
    let mut known = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let mut gpu = any_gpu()?;
    if let Some(&(_, kernel)) = known.get(source)
        && gpu.modules.kernels.get(kernel).is_ok()
    {
        return Ok(kernel);
    }
    if known.len() >= KEPT_TEXTS {
        for (_, (module, _)) in known.drain() {
            let _ = gpu.unload(module);
        }
    }
    let module = gpu.load(source.as_bytes(), "ptx_run")?;
    let name = gpu.modules.all.get(module)?.device.source().kernels().first().map(|&name| name.to_owned());
    let kernel = gpu.kernel(module, &name.ok_or(Status::SYMBOL_NOT_FOUND)?)?;
    known.insert(source.to_owned(), (module, kernel));
    Ok(kernel)
}

/// How often memory is looked for anew when other threads of the program change the mappings meanwhile.
const LOOKS: usize = 16;

/// Lends kernels the parts of the process's memory that hold these addresses; returns the addresses to take
/// back.
fn lend(gpu: &mut Gpu, addresses: &[u64]) -> Outcome<Vec<u64>> {
    for _ in 0..LOOKS {
        match lend_runs(gpu, addresses, &writable_runs(&host::mappings())) {
            Err(Status::INVALID_VALUE) => {}
            done => return done,
        }
    }
    // A neighbour may be writable in name only, such as a file that is shorter than its mapping.
    lend_runs(gpu, addresses, &writable(&host::mappings()).collect::<Vec<_>>()).inspect_err(|_| {
        tell("the memory that the parameters point to cannot be lent to the kernel: its mappings change, or cannot be written");
    })
}

/// Lends the runs that hold addresses: all of them or none.
fn lend_runs(gpu: &mut Gpu, addresses: &[u64], runs: &[(u64, u64)]) -> Outcome<Vec<u64>> {
    let mut lent = Vec::new();
    for &(start, end) in
        runs.iter().filter(|&&(start, end)| addresses.iter().any(|a| (start..end).contains(a)))
    {
        for (start, end) in gpu.memory.unknown_parts(start, end) {
            if let Err(status) = gpu.memory.lend(start, end - start) {
                take_back(gpu, lent)?;
                return Err(status);
            }
            lent.push(start);
        }
    }
    Ok(lent)
}

fn take_back(gpu: &mut Gpu, lent: Vec<u64>) -> Outcome {
    lent.into_iter().try_for_each(|start| gpu.memory.free(start, &[Purpose::Registered]).map(drop))
}

/// Mappings that may be read and written.
fn writable(mappings: &[(u64, u64, String)]) -> impl Iterator<Item = (u64, u64)> {
    mappings.iter().filter(|(.., mode)| mode.starts_with("rw")).map(|&(start, end, _)| (start, end))
}

/// Memory that may be read and written, adjacent mappings together: an array may begin in one and end in the next.
fn writable_runs(mappings: &[(u64, u64, String)]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (start, end) in writable(mappings) {
        match runs.last_mut() {
            Some((_, last)) if *last == start => *last = end,
            _ => runs.push((start, end)),
        }
    }
    runs
}

fn dimensions(numbers: [i32; 3]) -> Outcome<[u32; 3]> {
    let mut dimensions = [0; 3];
    for (to, from) in dimensions.iter_mut().zip(numbers) {
        *to = u32::try_from(from).map_err(|_| Status::INVALID_VALUE)?;
    }
    Ok(dimensions)
}

fn run(source: Text, args: &[u64], grid: [i32; 3], block: [i32; 3], shared_bytes: i32) -> Outcome {
    let kernel = load(&source.get()?)?;
    let (grid, block) = (dimensions(grid)?, dimensions(block)?);
    let shared_bytes = u32::try_from(shared_bytes).map_err(|_| Status::INVALID_VALUE)?;
    let (params, lent) = {
        let mut gpu = any_gpu()?;
        let machine = &gpu.modules.kernels.get(kernel)?.lowered.kernel;
        if args.len() != machine.params.len() {
            tell(&format!("{} has {} parameters, not {}", machine.name, machine.params.len(), args.len()));
            return Err(Status::INVALID_VALUE);
        }
        let mut params = vec![0; machine.param_bytes as usize];
        for (param, arg) in machine.params.iter().zip(args) {
            let bytes = arg.to_le_bytes();
            let length = bytes.len().min(param.size as usize);
            params[param.offset as usize..][..length].copy_from_slice(&bytes[..length]);
        }
        let lent = lend(&mut gpu, args)?;
        (params, lent)
    };
    let done = launch(&Launch {
        kernel,
        grid,
        block,
        shared_bytes,
        params,
        attributes: LaunchAttributes::default(),
    });
    let mut gpu = any_gpu()?;
    take_back(&mut gpu, lent)?;
    done
}

/// `ptx_run`: runs the first kernel of a PTX text; `args` are the parameters themselves.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ptx_run(
    source: Text,
    n_args: i32,
    args: In<u64>,
    bx: i32,
    by: i32,
    bz: i32,
    gx: i32,
    gy: i32,
    gz: i32,
    shared_bytes: i32,
) -> Status {
    let count = usize::try_from(n_args).map_err(|_| Status::INVALID_VALUE);
    let ran = count
        .and_then(|count| args.list(count))
        .and_then(|args| run(source, &args, [gx, gy, gz], [bx, by, bz], shared_bytes));
    status(ran)
}

/// `warplab_load`: loads PTX.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_load(source: Text, module: Out<u64>) -> Status {
    let load = || module.set(any_gpu()?.load(source.get()?.as_bytes(), "PTX")?);
    status(load())
}

/// `warplab_unload`: unloads a module.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_unload(module: u64) -> Status {
    status(any_gpu().and_then(|mut gpu| gpu.unload(module)))
}

/// `warplab_kernel`: the kernel of a name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_kernel(module: u64, name: Text, kernel: Out<u64>) -> Status {
    let find = || kernel.set(any_gpu()?.kernel(module, &name.get()?)?);
    status(find())
}

/// `warplab_variable`: address and length of a module's variable.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_variable(
    module: u64,
    name: Text,
    memory: Out<u64>,
    bytes: Out<usize>,
) -> Status {
    let find = || {
        let found = any_gpu()?.modules.all.get(module)?.device.variable(&name.get()?);
        let (address, length) = found.ok_or(Status::SYMBOL_NOT_FOUND)?;
        bytes.offer(length as usize);
        memory.set(address)
    };
    status(find())
}

/// `warplab_allocate`: zeroed memory that host and kernels share.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_allocate(bytes: usize, memory: Out<u64>) -> Status {
    let allocate =
        || memory.set(any_gpu()?.memory.allocate("warplab_allocate", bytes as u64, Purpose::Managed, 0)?);
    status(allocate())
}

/// `warplab_free`: frees such memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_free(memory: u64) -> Status {
    status(any_gpu().and_then(|mut gpu| gpu.memory.free(memory, &[Purpose::Managed]).map(drop)))
}

/// `warplab_share`: lets kernels access memory of the program.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_share(memory: u64, bytes: usize) -> Status {
    status(any_gpu().and_then(|mut gpu| gpu.memory.lend(memory, bytes as u64)))
}

/// `warplab_unshare`: ends that.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_unshare(memory: u64) -> Status {
    status(any_gpu().and_then(|mut gpu| gpu.memory.free(memory, &[Purpose::Registered]).map(drop)))
}

/// `warplab_launch`: runs a kernel to its end; `args` points to each parameter.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_launch(
    kernel: u64,
    grid: In<[u32; 3]>,
    block: In<[u32; 3]>,
    shared_bytes: u32,
    args: In<In<u8>>,
) -> Status {
    let run = || {
        drop(any_gpu()?);
        let params = crate::driver::launch::parameters(kernel, args, In::none())?;
        let (grid, block) = (grid.get()?, block.get()?);
        launch(&Launch { kernel, grid, block, shared_bytes, params, attributes: LaunchAttributes::default() })
    };
    status(run())
}

/// `warplab_record`: records all launches from now on.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_record(path: Text) -> Status {
    let begin = || {
        let (path, mut gpu) = (path.get()?, any_gpu()?);
        if path.is_empty() || gpu.recording.recorder.is_some() {
            return Err(Status::INVALID_VALUE);
        }
        ending::watch();
        gpu.recording.recorder = Some(Recorder::new(PathBuf::from(path), Selection::default()));
        Ok(())
    };
    status(begin())
}

/// `warplab_record_end`: completes the trace.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_record_end() -> Status {
    let end = || {
        let recorder = any_gpu()?.recording.recorder.take().ok_or(Status::INVALID_VALUE)?;
        if recorder.finish() { Ok(()) } else { Err(Status::OPERATING_SYSTEM) }
    };
    status(end())
}

/// `warplab_error`: what a result means.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warplab_error(result: Status) -> *const c_char {
    result.text().unwrap_or(c"unrecognized error code").as_ptr()
}

#[cfg(test)]
mod tests {
    use super::writable_runs;

    #[test]
    fn adjacent_mappings_are_one_run() {
        let mapping = |start, end, mode: &str| (start, end, mode.to_owned());
        let mappings = [
            mapping(0x1000, 0x2000, "rw-p"),
            mapping(0x2000, 0x3000, "rw-s"),
            mapping(0x3000, 0x4000, "r--p"),
            mapping(0x4000, 0x5000, "rw-p"),
            mapping(0x6000, 0x7000, "rw-p"),
        ];
        assert_eq!(writable_runs(&mappings), [(0x1000, 0x3000), (0x4000, 0x5000), (0x6000, 0x7000)]);
    }
}
