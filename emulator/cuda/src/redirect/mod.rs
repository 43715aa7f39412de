//! Programs with NVIDIA's runtime linked statically: its functions are found by their names, and their first
//! instructions are overwritten with jumps to ours before any code of the program runs.
//!
//! NVIDIA's runtime depends on undocumented tables of the driver, so it cannot work here. All its functions
//! are replaced; those without an implementation report that. If the library is named in `LD_AUDIT`, `audit`
//! does this for every object that is loaded. Otherwise, if it is named in `LD_PRELOAD` or linked, `first`
//! does it for the objects loaded at the start, which suffices for most programs. `patch` writes the jumps.
//! `nvrtc` makes NVIDIA's run-time compiler return PTX.

mod audit;
mod nvrtc;
mod patch;

use crate::modules::closed;
use crate::runtime::absent::{Generation, implementation};
use crate::tell::tell;
use emulator::fatbin::runtime::{Linked, Runtime, runtime};
use memmap2::Mmap;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What to do about programs whose runtime cannot be replaced.
pub(crate) const RELINK: &str =
    "link it with `nvcc -cudart shared`, or do not strip it; nothing else has to change";
/// A function that only CUDA 12 has.
const ONLY_IN_12: &str = "cudaGetDeviceProperties_v2";
/// A function that CUDA 13 removed.
const BEFORE_13: &str = "cudaThreadExit";

/// A loaded executable or library.
#[derive(Debug)]
struct Object {
    path: PathBuf,
    /// Difference between loaded addresses and those in its file.
    bias: u64,
}

impl Object {
    /// An object as the loader describes it, which has no name for the program itself.
    ///
    /// # Safety
    /// `name` is null or a string.
    unsafe fn new(name: *const c_char, bias: u64) -> Object {
        // SAFETY: as the caller promises.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        let path = match name.to_bytes() {
            b"" => PathBuf::from("/proc/self/exe"),
            name => PathBuf::from(OsStr::from_bytes(name)),
        };
        Object { path, bias }
    }

    fn shown(&self) -> String {
        self.path.canonicalize().as_ref().unwrap_or(&self.path).display().to_string()
    }
}

/// Replaces the runtime in an object, if it has one. The target functions lie `shift` bytes after those of
/// this copy of the library.
fn redirect(object: &Object, shift: u64) {
    let Ok(file) = File::open(&object.path) else { return };
    // SAFETY: the loader has mapped the same file likewise; whoever changes a library in use breaks the process anyway.
    let Ok(bytes) = (unsafe { Mmap::map(&file) }) else { return };
    match runtime(&object.path, &bytes) {
        Runtime::None | Runtime::Shared => {}
        // Many programs load such libraries and hardly use them; a message is printed on use.
        Runtime::Stripped if closed::is_closed(&object.path) => {}
        Runtime::Stripped => {
            tell(&format!(
                "{} has the CUDA runtime linked in, stripped of its names; {RELINK}",
                object.shown()
            ));
        }
        Runtime::Linked(linked) => {
            if let Err(why) = replace(object, &linked, shift) {
                tell(&format!("{} has the CUDA runtime linked in, {why}", object.shown()));
            }
        }
    }
}

fn replace(object: &Object, linked: &Linked, shift: u64) -> Result<(), String> {
    let has = |name| linked.functions.iter().any(|f| f.name == name);
    let generation = match (has(ONLY_IN_12), has(BEFORE_13)) {
        (true, _) => Generation::Cuda12,
        (false, false) => Generation::Cuda13,
        (false, true) => return Err("that of CUDA 11 or older; compile it with CUDA 12 or later".into()),
    };
    let mut jumps = BTreeMap::new();
    for function in &linked.functions {
        // The program's own functions may have such names too.
        let Some(target) = implementation(&function.name, generation) else { continue };
        if (function.room_bytes as usize) < patch::JUMP_BYTES {
            return Err(format!("whose {} is too short to be replaced; {RELINK}", function.name));
        }
        let at = function.address.wrapping_add(object.bias) as usize;
        let jump = patch::jump((target as u64).wrapping_add(shift));
        // Linkers may merge functions with the same code; then it is unknown which of them is called.
        if jumps.insert(at, jump).is_some_and(|other| other != jump) {
            return Err(format!("whose {} is one with another function; {RELINK}", function.name));
        }
    }
    // SAFETY: the object is loaded there, and its file says that these are functions of so many bytes.
    unsafe {
        if jumps.iter().all(|(&at, jump)| patch::is_there(at, jump)) {
            return Ok(());
        }
        // SAFETY: the file says that these are its pointers.
        let pointer = |at: &u64| (at.wrapping_add(object.bias) as *const u64).read_unaligned();
        if linked.registered.iter().any(|at| pointer(at) != 0) {
            return Err(format!(
                "which was at work before our library was loaded; start the program with `emu run --`, or with \
                 LD_PRELOAD and LD_AUDIT set to {}",
                own_file().display()
            ));
        }
        patch::write(&jumps).map_err(|e| format!("which cannot be replaced ({e}); {RELINK}"))
    }
}

/// The library's file, and where it is loaded.
fn own() -> (PathBuf, u64) {
    // SAFETY: the structure is plain data that the function fills, and its name a string as long as we are loaded.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own as *const c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
            return (PathBuf::new(), 0);
        }
        let path = PathBuf::from(OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes()));
        (path, info.dli_fbase as u64)
    }
}

/// The library's file.
fn own_file() -> PathBuf {
    let (path, _) = own();
    path.canonicalize().unwrap_or(path)
}

/// Whether two names are those of one file.
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |p: &Path| std::fs::metadata(p).map(|m| (m.dev(), m.ino())).ok();
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> c_int {
    // SAFETY: the loader describes an object, and `to` is the list that `first` handed over.
    unsafe {
        let object = Object::new((*info).dlpi_name, (*info).dlpi_addr);
        (*to.cast::<Vec<Object>>()).push(object);
    }
    0
}

/// Replaces the runtimes in all loaded objects.
extern "C" fn first() {
    // Nothing may unwind into the loader.
    drop(std::panic::catch_unwind(|| {
        crate::recording::ending::begin();
        let mut objects: Vec<Object> = Vec::new();
        // SAFETY: the function is called with the pointer that it expects, while the list is there.
        unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut objects).cast()) };
        for object in &objects {
            redirect(object, 0);
        }
    }));
}

/// The library's first function, which the loader calls before the program's own.
#[used]
#[unsafe(link_section = ".init_array")]
static FIRST: extern "C" fn() = first;
