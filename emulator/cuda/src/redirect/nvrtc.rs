//! NVIDIA's run-time compiler (NVRTC): programs that request machine code get PTX.
//!
//! The auditor redirects the symbols that programs bind in it, linked or by `dlsym`, to the functions here.
//! They forward all calls, but replace a real architecture (`sm_75`) by the virtual one (`compute_75`) and
//! return PTX in place of machine code; every function of the driver that loads modules accepts it. A process
//! may have several versions of the compiler; each has its own functions here, with its own addresses.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Versions of the compiler that a process may have; further versions still return machine code.
pub(super) const SLOTS: usize = 4;

/// The functions that are replaced.
const REPLACED: [&CStr; 4] =
    [c"nvrtcCompileProgram", c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN", c"nvrtcDestroyProgram"];

/// The addresses of [`REPLACED`] in each version of the compiler, as reported by the auditor.
static ADDRESSES: [[AtomicUsize; REPLACED.len()]; SLOTS] =
    [const { [const { AtomicUsize::new(0) }; REPLACED.len()] }; SLOTS];
/// Handles of the libraries.
static LIBRARIES: [OnceLock<usize>; SLOTS] = [const { OnceLock::new() }; SLOTS];
/// Programs that have been compiled to PTX instead of machine code, with their compiler.
static TURNED: Mutex<Option<HashSet<(usize, usize)>>> = Mutex::new(None);

type NvrtcProgram = *mut c_void;
type Code = c_int;
/// `NVRTC_ERROR_INTERNAL_ERROR`.
const INTERNAL_ERROR: Code = 11;

/// Whether a file is the compiler, by its name.
pub(super) fn is_compiler(path: &Path) -> bool {
    path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with("libnvrtc.so"))
}

/// The number of a function that is replaced, and its replacement for a slot.
pub(super) fn replacement(name: &CStr, slot: usize) -> Option<(usize, usize)> {
    let number = REPLACED.iter().position(|replaced| *replaced == name)?;
    let functions = match slot {
        0 => in_slot::<0>(),
        1 => in_slot::<1>(),
        2 => in_slot::<2>(),
        3 => in_slot::<3>(),
        _ => return None,
    };
    Some((number, functions[number]))
}

fn in_slot<const SLOT: usize>() -> [usize; REPLACED.len()] {
    [
        compile::<SLOT> as *const () as usize,
        cubin_size::<SLOT> as *const () as usize,
        cubin::<SLOT> as *const () as usize,
        destroy::<SLOT> as *const () as usize,
    ]
}

/// Stores the address of a replaced function in the copy of the library that lies `shift` bytes after this
/// one.
///
/// # Safety
/// There is such a copy.
pub(super) unsafe fn announce(slot: usize, number: usize, address: usize, shift: u64) {
    let place = (&raw const ADDRESSES[slot][number]).cast::<u8>();
    let place = place.wrapping_add(shift as usize).cast::<AtomicUsize>();
    // SAFETY: as the caller promises; both copies have the same layout.
    unsafe { (*place).store(address, Ordering::Release) };
}

/// A function of the compiler. For a replaced function, the loader would return the replacement.
fn original<const SLOT: usize>(name: &CStr) -> Option<*mut c_void> {
    let address = |number: usize| ADDRESSES[SLOT][number].load(Ordering::Acquire);
    if let Some(number) = REPLACED.iter().position(|replaced| *replaced == name) {
        return Some(address(number) as *mut c_void).filter(|f| !f.is_null());
    }
    let library = *LIBRARIES[SLOT].get_or_init(|| {
        let inside = (0..REPLACED.len()).map(address).find(|&a| a != 0).unwrap_or(0);
        // SAFETY: the structure is plain data that the function fills, and its name a string as long as the
        // object is loaded; for a loaded object only its reference count changes.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(inside as *const c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
                return 0;
            }
            libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD) as usize
        }
    });
    if library == 0 {
        return None;
    }
    // SAFETY: it is the handle of a library that stays loaded.
    let found = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Calls a function of the compiler, whose arguments' types follow its name.
macro_rules! call {
    ($slot:ident, $name:literal, ($($type:ty),*), $($argument:expr),*) => {
        match original::<$slot>($name) {
            // SAFETY: the function has this name in the compiler, and with it these parameters; the arguments are
            // what the program passes to it.
            Some(f) => unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> Code>(f)($($argument),*)
            },
            None => INTERNAL_ERROR,
        }
    };
}

fn turned<R>(work: impl FnOnce(&mut HashSet<(usize, usize)>) -> R) -> R {
    work(TURNED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// An option that names a real architecture, with the virtual one in its place; `names` if the option before
/// it takes an architecture as its argument.
fn virtual_option(option: &str, names: bool) -> Option<String> {
    let prefixes = ["--gpu-architecture=", "-arch=", "--gpu-architecture", "-arch"];
    let (before, arch) = match prefixes.iter().find(|p| option.starts_with(**p)) {
        Some(prefix) => option.split_at(prefix.len()),
        None if names => ("", option),
        None => return None,
    };
    let number = arch.trim().strip_prefix("sm_")?;
    Some(format!("{before}compute_{number}"))
}

/// Options with a virtual architecture in the place of a real one, if there is one. Options for link-time
/// optimisation are not changed.
fn virtual_options(options: &[&CStr]) -> Option<Vec<CString>> {
    let text = |option: &CStr| option.to_string_lossy().trim().to_owned();
    if options.iter().any(|o| matches!(text(o).as_str(), "-dlto" | "--dlink-time-opt")) {
        return None;
    }
    let mut changed = false;
    let mut all = Vec::new();
    for (at, option) in options.iter().enumerate() {
        let names = at > 0 && matches!(text(options[at - 1]).as_str(), "-arch" | "--gpu-architecture");
        let new = virtual_option(&text(option), names).and_then(|new| CString::new(new).ok());
        changed |= new.is_some();
        all.push(new.unwrap_or_else(|| CString::from(*option)));
    }
    changed.then_some(all)
}

/// `nvrtcCompileProgram`.
unsafe extern "C" fn compile<const SLOT: usize>(
    program: NvrtcProgram,
    count: c_int,
    options: *const *const c_char,
) -> Code {
    type Options = *const *const c_char;
    let given: Vec<&CStr> = if options.is_null() {
        Vec::new()
    } else {
        // SAFETY: the program passes so many strings.
        (0..count.max(0) as usize).map(|i| unsafe { CStr::from_ptr(*options.add(i)) }).collect()
    };
    let changed = virtual_options(&given);
    let key = (SLOT, program as usize);
    turned(|all| if changed.is_some() { all.insert(key) } else { all.remove(&key) });
    let Some(changed) = changed else {
        return call!(SLOT, c"nvrtcCompileProgram", (NvrtcProgram, c_int, Options), program, count, options);
    };
    let pointers: Vec<*const c_char> = changed.iter().map(|o| o.as_ptr()).collect();
    call!(SLOT, c"nvrtcCompileProgram", (NvrtcProgram, c_int, Options), program, count, pointers.as_ptr())
}

/// `nvrtcGetCUBINSize`.
unsafe extern "C" fn cubin_size<const SLOT: usize>(program: NvrtcProgram, size: *mut usize) -> Code {
    if turned(|all| all.contains(&(SLOT, program as usize))) {
        return call!(SLOT, c"nvrtcGetPTXSize", (NvrtcProgram, *mut usize), program, size);
    }
    call!(SLOT, c"nvrtcGetCUBINSize", (NvrtcProgram, *mut usize), program, size)
}

/// `nvrtcGetCUBIN`.
unsafe extern "C" fn cubin<const SLOT: usize>(program: NvrtcProgram, to: *mut c_char) -> Code {
    if turned(|all| all.contains(&(SLOT, program as usize))) {
        return call!(SLOT, c"nvrtcGetPTX", (NvrtcProgram, *mut c_char), program, to);
    }
    call!(SLOT, c"nvrtcGetCUBIN", (NvrtcProgram, *mut c_char), program, to)
}

/// `nvrtcDestroyProgram`.
unsafe extern "C" fn destroy<const SLOT: usize>(program: *mut NvrtcProgram) -> Code {
    if !program.is_null() {
        // SAFETY: the program passes the place of its handle.
        let handle = unsafe { *program } as usize;
        turned(|all| all.remove(&(SLOT, handle)));
    }
    call!(SLOT, c"nvrtcDestroyProgram", (*mut NvrtcProgram), program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_architectures_become_virtual_ones() {
        let options = |given: &[&CStr]| {
            virtual_options(given)
                .map(|all| all.iter().map(|o| o.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
        };
        let expected = |text: &str| Some(text.to_owned());
        assert_eq!(
            options(&[c"-I.", c"--gpu-architecture=sm_75"]),
            expected("-I. --gpu-architecture=compute_75")
        );
        assert_eq!(options(&[c"-arch=sm_90a", c"-G"]), expected("-arch=compute_90a -G"));
        assert_eq!(options(&[c"-arch", c"sm_86"]), expected("-arch compute_86"));
        assert_eq!(options(&[c"-arch=compute_75"]), None);
        assert_eq!(options(&[c"-D", c"sm_75"]), None);
        assert_eq!(options(&[c"-arch=sm_75", c"-dlto"]), None);
        assert_eq!(options(&[]), None);
    }
}
