//! What the loader asks an auditor (`LD_AUDIT`; `man 7 rtld-audit`): it tells of every object that it loads, at the
//! start and later, before it is relocated and before any of its code runs.
//!
//! An auditor is loaded apart from the program, with libraries of its own, so that this is a second copy of ours. It
//! does nothing else, and sends functions to the copy that the program uses, which `LD_PRELOAD` puts there.

use super::{Object, own, redirect, same_file};
use std::ffi::{c_char, c_long};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The namespace of the program.
const PROGRAM: c_long = 0;
/// State of the loader: all objects that belong together are there.
const CONSISTENT: u32 = 0;

static AUDITOR: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<State> = Mutex::new(State { pending: Vec::new(), shift: None });

struct State {
    /// Objects that have not been looked at.
    pending: Vec<Object>,
    /// How far behind this copy the program's lies.
    shift: Option<u64>,
}

/// Whether this copy of the library is the auditor.
pub fn is_auditor() -> bool {
    AUDITOR.load(Ordering::Relaxed)
}

/// What the loader says of an object, as far as it is public.
#[repr(C)]
struct LinkMap {
    bias: u64,
    name: *const c_char,
}

/// The loader asks what version of the interface is known; what is used here is in all of them.
#[unsafe(no_mangle)]
extern "C" fn la_version(version: u32) -> u32 {
    AUDITOR.store(true, Ordering::Relaxed);
    version
}

/// An object is there.
///
/// # Safety
/// `map` is an object's.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objopen(map: *const LinkMap, namespace: c_long, _cookie: *mut usize) -> u32 {
    if namespace == PROGRAM {
        // SAFETY: as the caller promises.
        let object = unsafe { Object::new((*map).name, (*map).bias) };
        drop(std::panic::catch_unwind(|| {
            let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
            let (file, bias) = own();
            if same_file(&file, &object.path) {
                state.shift = Some(object.bias.wrapping_sub(bias));
            } else {
                state.pending.push(object);
            }
        }));
    }
    // No bindings of symbols are of interest.
    0
}

/// The loader begins or ends loading.
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
