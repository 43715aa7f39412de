//! The functions of NVML that the stand-in has.

use super::{Answer, DEVICE, Handle, Return, USERS, array, board, done, load, ready, store, store_text};
use crate::device::{Attributes, Device};
use crate::driver::general::VERSION;
use crate::gpu::{any_gpu, initialised};
use std::ffi::{CStr, c_char};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

/// Version of the driver: no driver of NVIDIA has it. Programs compare it with the least that they need.
const DRIVER_VERSION: &str = "999.0";
/// PCI location of the device, by the numbers of its attributes: domain, bus, device.
const PCI: [u32; 3] = [50, 33, 34];
/// Clocks: of graphics and of the SMs, which are one here, and of the memory.
const GRAPHICS_CLOCK: u32 = 0;
const SM_CLOCK: u32 = 1;
const MEMORY_CLOCK: u32 = 2;
/// Class of PCI devices that display: 3D controllers.
const PCI_CLASS: [u32; 2] = [3, 2];

/// NVML's `nvmlMemory_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct MemoryInfo {
    total: u64,
    free: u64,
    used: u64,
}

/// NVML's `nvmlMemory_v2_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct MemoryInfo2 {
    version: u32,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

/// NVML's `nvmlPciInfo_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct PciInfo {
    bus_id_legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    device_id: u32,
    subsystem_id: u32,
    bus_id: [u8; 32],
}

/// NVML's `nvmlPciInfoExt_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct PciInfoExt {
    version: u32,
    domain: u32,
    bus: u32,
    device: u32,
    base_class: u32,
    sub_class: u32,
    device_id: u32,
    subsystem_id: u32,
    bus_id: [u8; 32],
}

/// NVML's `nvmlFieldValue_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FieldValue {
    field: u32,
    scope: u32,
    timestamp: i64,
    latency_us: i64,
    value_type: u32,
    result: Return,
    value: u64,
}

const _: () = assert!(size_of::<PciInfo>() == 68 && size_of::<PciInfoExt>() == 64);
const _: () = assert!(size_of::<MemoryInfo2>() == 40 && size_of::<FieldValue>() == 40);

/// Exports functions under the names that the library in front jumps to.
macro_rules! functions {
    ($($name:literal $f:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[doc = concat!("`", $name, "`, without its prefix.")]
            #[unsafe(export_name = $name)]
            extern "C" fn $f($($arg: $type),*) -> Return {
                let answer = || -> Answer { $body };
                done(answer())
            }
        )*
    };
}

fn start() -> Answer {
    USERS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

fn pci(board: &Device) -> [u32; 3] {
    PCI.map(|number| board.attribute(number).and_then(|value| value.try_into().ok()).unwrap_or(0))
}

fn bus_id(board: &Device) -> String {
    let [domain, bus, device] = pci(board);
    format!("{domain:08X}:{bus:02X}:{device:02X}.0")
}

/// Domain, bus, device and function of a bus id: `0000:01:00.0`, with any number of digits or without the domain.
fn parsed(bus_id: &str) -> Option<[u32; 4]> {
    let (rest, function) = bus_id.rsplit_once('.').unwrap_or((bus_id, "0"));
    let parts: Vec<&str> = rest.split(':').collect();
    let (domain, bus, device) = match parts[..] {
        [domain, bus, device] => (domain, bus, device),
        [bus, device] => ("0", bus, device),
        _ => return None,
    };
    let number = |text| u32::from_str_radix(text, 16).ok();
    Some([number(domain)?, number(bus)?, number(device)?, number(function)?])
}

/// The identifier that NVML shows of the one that the CUDA API gives.
fn uuid(board: &Device) -> String {
    let mut text = String::from("GPU");
    for (at, byte) in Attributes::uuid(board).into_iter().enumerate() {
        if matches!(at, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Total, free and used bytes of memory.
fn memory(handle: Handle) -> Answer<MemoryInfo> {
    let board = board(handle)?;
    let (free, total) = match initialised() {
        true => any_gpu().map_err(|_| Return::UNKNOWN)?.memory.info(),
        false => (board.memory_bytes, board.memory_bytes),
    };
    Ok(MemoryInfo { total, free, used: total - free })
}

fn by_index(index: u32, to: *mut Handle) -> Answer {
    ready()?;
    if index == 0 { store(to, DEVICE) } else { Err(Return::INVALID_ARGUMENT) }
}

/// A device by a text that the program passes.
fn by_text(text: *const c_char, to: *mut Handle, is: impl Fn(&Device, &str) -> bool) -> Answer {
    let board = board(DEVICE)?;
    if text.is_null() {
        return Err(Return::INVALID_ARGUMENT);
    }
    // SAFETY: the program passes a string.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    if is(board, &text) { store(to, DEVICE) } else { Err(Return::NOT_FOUND) }
}

fn by_bus_id(text: *const c_char, to: *mut Handle) -> Answer {
    by_text(text, to, |board, text| {
        parsed(text).is_some_and(|found| found[..3] == pci(board) && found[3] == 0)
    })
}

fn pci_info(handle: Handle, to: *mut PciInfo) -> Answer {
    let board = board(handle)?;
    let ([domain, bus, device], id) = (pci(board), bus_id(board));
    // The old form of the bus id has four digits of the domain.
    let bus_id_legacy = array(&id[4..]);
    store(
        to,
        PciInfo { bus_id_legacy, domain, bus, device, device_id: 0, subsystem_id: 0, bus_id: array(&id) },
    )
}

/// The generation that NVML numbers, from Kepler, 2, on.
fn architecture(board: &Device) -> u32 {
    const UNKNOWN: u32 = u32::MAX;
    match board.compute_capability {
        (3, _) => 2,
        (5, _) => 3,
        (6, _) => 4,
        (7, 0 | 2) => 5,
        (7, _) => 6,
        (8, 9) => 8,
        (8, _) => 7,
        (9, _) => 9,
        (10..=12, _) => 10,
        _ => UNKNOWN,
    }
}

fn clock(handle: Handle, which: u32, mhz: *mut u32) -> Answer {
    let board = board(handle)?;
    let khz = match which {
        GRAPHICS_CLOCK | SM_CLOCK => board.clock_khz,
        MEMORY_CLOCK => board.memory_clock_khz,
        _ => return Err(Return::NOT_SUPPORTED),
    };
    store(mhz, khz / 1000)
}

/// Processes on the device: none are listed.
fn no_processes(handle: Handle, count: *mut u32) -> Answer {
    board(handle)?;
    store(count, 0)
}

/// `nvmlErrorString`.
#[unsafe(export_name = "warplab_nvmlErrorString")]
extern "C" fn error_string(result: Return) -> *const c_char {
    result.text().as_ptr()
}

functions! {
    "warplab_nvmlInit" init() { start() }
    "warplab_nvmlInit_v2" init_v2() { start() }
    "warplab_nvmlInitWithFlags" init_with_flags(_flags: u32) { start() }
    "warplab_nvmlShutdown" shutdown() {
        let fewer = |users: u32| users.checked_sub(1);
        let ended = USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        ended.map(drop).map_err(|_| Return::UNINITIALIZED)
    }
    "warplab_nvmlSystemGetDriverVersion" driver_version(to: *mut c_char, length: u32) {
        ready()?;
        store_text(to, length, DRIVER_VERSION)
    }
    "warplab_nvmlSystemGetNVMLVersion" nvml_version(to: *mut c_char, length: u32) {
        ready()?;
        store_text(to, length, &format!("{}.{DRIVER_VERSION}", VERSION / 1000))
    }
    "warplab_nvmlSystemGetCudaDriverVersion" cuda_version(to: *mut i32) { store(to, VERSION) }
    "warplab_nvmlSystemGetCudaDriverVersion_v2" cuda_version_v2(to: *mut i32) { store(to, VERSION) }
    "warplab_nvmlDeviceGetCount" count(to: *mut u32) {
        board(DEVICE)?;
        store(to, 1)
    }
    "warplab_nvmlDeviceGetCount_v2" count_v2(to: *mut u32) {
        board(DEVICE)?;
        store(to, 1)
    }
    "warplab_nvmlDeviceGetHandleByIndex" handle_by_index(index: u32, to: *mut Handle) { by_index(index, to) }
    "warplab_nvmlDeviceGetHandleByIndex_v2" handle_by_index_v2(index: u32, to: *mut Handle) { by_index(index, to) }
    "warplab_nvmlDeviceGetHandleByPciBusId" handle_by_bus_id(id: *const c_char, to: *mut Handle) { by_bus_id(id, to) }
    "warplab_nvmlDeviceGetHandleByPciBusId_v2" handle_by_bus_id_v2(id: *const c_char, to: *mut Handle) {
        by_bus_id(id, to)
    }
    "warplab_nvmlDeviceGetHandleByUUID" handle_by_uuid(id: *const c_char, to: *mut Handle) {
        by_text(id, to, |board, text| text == uuid(board))
    }
    "warplab_nvmlDeviceGetName" name(handle: Handle, to: *mut c_char, length: u32) {
        store_text(to, length, &board(handle)?.title)
    }
    "warplab_nvmlDeviceGetUUID" device_uuid(handle: Handle, to: *mut c_char, length: u32) {
        store_text(to, length, &uuid(board(handle)?))
    }
    "warplab_nvmlDeviceGetIndex" index(handle: Handle, to: *mut u32) {
        board(handle)?;
        store(to, 0)
    }
    "warplab_nvmlDeviceGetMinorNumber" minor_number(handle: Handle, to: *mut u32) {
        board(handle)?;
        store(to, 0)
    }
    "warplab_nvmlDeviceGetPciInfo_v3" pci_info_v3(handle: Handle, to: *mut PciInfo) { pci_info(handle, to) }
    "warplab_nvmlDeviceGetPciInfoExt" pci_info_ext(handle: Handle, to: *mut PciInfoExt) {
        let board = board(handle)?;
        let version = load(to.cast_const())?.version;
        let ([domain, bus, device], [base_class, sub_class]) = (pci(board), PCI_CLASS);
        let bus_id = array(&bus_id(board));
        let ids = [0; 2];
        store(to, PciInfoExt {
            version, domain, bus, device, base_class, sub_class, device_id: ids[0], subsystem_id: ids[1], bus_id,
        })
    }
    "warplab_nvmlDeviceGetMemoryInfo" memory_info(handle: Handle, to: *mut MemoryInfo) { store(to, memory(handle)?) }
    "warplab_nvmlDeviceGetMemoryInfo_v2" memory_info_v2(handle: Handle, to: *mut MemoryInfo2) {
        let MemoryInfo { total, free, used } = memory(handle)?;
        let version = load(to.cast_const())?.version;
        store(to, MemoryInfo2 { version, total, reserved: 0, free, used })
    }
    "warplab_nvmlDeviceGetCudaComputeCapability" compute_capability(handle: Handle, major: *mut u32, minor: *mut u32) {
        let (found_major, found_minor) = board(handle)?.compute_capability;
        store(major, found_major)?;
        store(minor, found_minor)
    }
    "warplab_nvmlDeviceGetArchitecture" device_architecture(handle: Handle, to: *mut u32) {
        store(to, architecture(board(handle)?))
    }
    "warplab_nvmlDeviceGetComputeMode" compute_mode(handle: Handle, to: *mut u32) {
        board(handle)?;
        store(to, 0)
    }
    "warplab_nvmlDeviceGetClockInfo" clock_info(handle: Handle, which: u32, mhz: *mut u32) { clock(handle, which, mhz) }
    "warplab_nvmlDeviceGetMaxClockInfo" max_clock_info(handle: Handle, which: u32, mhz: *mut u32) {
        clock(handle, which, mhz)
    }
    "warplab_nvmlDeviceGetMemoryBusWidth" memory_bus_width(handle: Handle, bits: *mut u32) {
        store(bits, board(handle)?.memory_bus_bits)
    }
    "warplab_nvmlDeviceGetMultiGpuBoard" multi_gpu_board(handle: Handle, to: *mut u32) {
        board(handle)?;
        store(to, 0)
    }
    "warplab_nvmlDeviceGetVirtualizationMode" virtualization_mode(handle: Handle, to: *mut u32) {
        board(handle)?;
        store(to, 0)
    }
    "warplab_nvmlDeviceGetComputeRunningProcesses" compute_processes(handle: Handle, n: *mut u32, _to: usize) {
        no_processes(handle, n)
    }
    "warplab_nvmlDeviceGetComputeRunningProcesses_v2" compute_processes_v2(handle: Handle, n: *mut u32, _to: usize) {
        no_processes(handle, n)
    }
    "warplab_nvmlDeviceGetComputeRunningProcesses_v3" compute_processes_v3(handle: Handle, n: *mut u32, _to: usize) {
        no_processes(handle, n)
    }
    "warplab_nvmlDeviceGetGraphicsRunningProcesses_v3" graphics_processes_v3(handle: Handle, n: *mut u32, _to: usize) {
        no_processes(handle, n)
    }
    "warplab_nvmlDeviceGetCpuAffinity" cpu_affinity(handle: Handle, words: u32, set: *mut u64) {
        board(handle)?;
        // SAFETY: the set is plain data that the system fills.
        let mut own: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is as long as is said.
        if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut own) } != 0 {
            return Err(Return::UNKNOWN);
        }
        let per_word = u64::BITS as usize;
        for word in 0..words as usize {
            let cpus = (0..per_word).filter(|bit| {
                let cpu = word * per_word + bit;
                // SAFETY: the function reads the set, within its size.
                cpu < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(cpu, &own) }
            });
            store(set.wrapping_add(word), cpus.fold(0, |bits, cpu| bits | 1 << cpu))?;
        }
        Ok(())
    }
    "warplab_nvmlDeviceGetFieldValues" field_values(handle: Handle, count: i32, fields: *mut FieldValue) {
        board(handle)?;
        for at in 0..usize::try_from(count).map_err(|_| Return::INVALID_ARGUMENT)? {
            let to = fields.wrapping_add(at);
            let field = load(to.cast_const())?;
            store(to, FieldValue { result: Return::NOT_SUPPORTED, ..field })?;
        }
        Ok(())
    }
    "warplab_nvmlDeviceGetP2PStatus" p2p_status(first: Handle, second: Handle, _capability: u32, status: *mut u32) {
        const OK: u32 = 0;
        board(first)?;
        board(second)?;
        store(status, OK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_ids_are_read_in_all_forms() {
        let same = Some([0, 1, 0, 0]);
        for text in ["00000000:01:00.0", "0000:01:00.0", "01:00.0", "0:1:0"] {
            assert_eq!(parsed(text), same, "{text}");
        }
        assert_eq!([parsed("01"), parsed("x:01:00.0")], [None; 2]);
    }

    #[test]
    fn identifiers_are_those_of_cuda() {
        assert_eq!(uuid(&Device::all()[0]), "GPU-77617270-6c61-6200-7274-783230363000");
    }

    #[test]
    fn every_board_has_its_generation() {
        let of = |name: &str| Device::find(name).map(architecture);
        assert_eq!([of("rtx2060"), of("a100"), of("rtx3070"), of("h100")], [6, 7, 7, 9].map(Some));
    }
}
