//! The loader's auditing interface (`LD_AUDIT`; `man 7 rtld-audit`): the loader reports every object that it
//! loads, at the start and later, before the object is relocated and runs.
//!
//! An auditor is loaded apart from the program, with libraries of its own, so this is a second copy of our
//! library. It only redirects functions to the copy that the program uses, which `LD_PRELOAD` loads. It also
//! decides what symbols of NVIDIA's run-time compiler are bound to ([`super::nvrtc`]), and has stand-ins loaded instead of
//! libraries that need NVIDIA's driver ([`crate::stand_ins`]).

use super::{Object, nvrtc, own, redirect, same_file};
use crate::process;
use crate::stand_ins::stand_in;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_long, c_uint};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The namespace of the program.
const PROGRAM: c_long = 0;
/// State of the loader: all dependencies are loaded.
const CONSISTENT: u32 = 0;
/// Bindings that the loader reports for an object: symbols that others bind in it, symbols that it binds in
/// others.
const BIND_TO: u32 = 1;
const BIND_FROM: u32 = 2;

static STATE: Mutex<State> = Mutex::new(State { pending: Vec::new(), shift: None, compilers: 0 });

struct State {
    /// Objects that have not been examined.
    pending: Vec<Object>,
    /// Distance from this copy to the program's.
    shift: Option<u64>,
    /// Run-time compilers that have been loaded.
    compilers: usize,
}

/// The loader's description of an object; its public part.
#[repr(C)]
struct LinkMap {
    bias: u64,
    name: *const c_char,
}

/// The loader asks what version of the interface is known; what is used here is in all of them.
#[unsafe(no_mangle)]
extern "C" fn la_version(version: u32) -> u32 {
    process::become_auditor();
    version
}

/// The loader is about to search a library: the name of the file to load instead.
///
/// # Safety
/// `name` is a string.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objsearch(name: *const c_char, _cookie: *mut usize, _stage: c_uint) -> *const c_char {
    /// Names that the loader was given, which it may keep.
    static GIVEN: Mutex<BTreeMap<PathBuf, CString>> = Mutex::new(BTreeMap::new());
    // SAFETY: as the caller promises.
    let wanted = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    let replaced = std::panic::catch_unwind(|| {
        let (file, _) = own();
        let path = stand_in(wanted, file.parent()?)?;
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        let text = CString::new(path.clone().into_os_string().into_vec()).ok()?;
        // The bytes of a C string stay in place when the map moves it, and none is removed.
        Some(given.entry(path).or_insert(text).as_ptr())
    });
    replaced.ok().flatten().unwrap_or(name)
}

/// Called when an object has been loaded.
///
/// # Safety
/// `map` is an object's; `cookie` is a number of ours that comes back with it.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objopen(map: *const LinkMap, namespace: c_long, cookie: *mut usize) -> u32 {
    if namespace != PROGRAM {
        return 0;
    }
    // SAFETY: as the caller promises.
    let object = unsafe { Object::new((*map).name, (*map).bias) };
    let opened = std::panic::catch_unwind(|| {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, bias) = own();
        if same_file(&file, &object.path) {
            state.shift = Some(object.bias.wrapping_sub(bias));
            return 0;
        }
        if nvrtc::is_compiler(&object.path) {
            state.compilers += 1;
            // SAFETY: as the caller promises. Cookies of other objects are addresses.
            unsafe { *cookie = state.compilers };
            return BIND_TO;
        }
        state.pending.push(object);
        BIND_FROM
    });
    opened.unwrap_or(0)
}

/// A symbol as the loader has found it.
#[repr(C)]
struct Symbol {
    name: c_uint,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: u64,
}

/// A symbol of the run-time compiler is bound: to the address that is returned.
///
/// # Safety
/// `symbol` and `name` describe it, `definer` is the cookie of the object that defines it.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_symbind64(
    symbol: *const Symbol,
    _index: c_int,
    _binder: *const usize,
    definer: *const usize,
    _flags: *mut c_uint,
    name: *const c_char,
) -> usize {
    // SAFETY: as the caller promises.
    let (address, slot, name) =
        unsafe { ((*symbol).value, (*definer).wrapping_sub(1), CStr::from_ptr(name)) };
    let bound = std::panic::catch_unwind(|| {
        let shift = STATE.lock().unwrap_or_else(PoisonError::into_inner).shift?;
        let (number, ours) = nvrtc::replacement(name, slot)?;
        // SAFETY: the program's copy of the library is there.
        unsafe { nvrtc::announce(slot, number, address, shift) };
        Some(ours.wrapping_add(shift as usize))
    });
    bound.ok().flatten().unwrap_or(address)
}

/// Called when the loader starts or ends loading.
#[unsafe(no_mangle)]
extern "C" fn la_activity(_cookie: *mut usize, state: u32) {
    if state != CONSISTENT {
        return;
    }
    drop(std::panic::catch_unwind(|| {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(shift) = state.shift else { return };
        for object in std::mem::take(&mut state.pending) {
            redirect(&object, shift);
        }
    }));
}
