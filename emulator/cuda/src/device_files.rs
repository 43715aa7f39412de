//! The files of NVIDIA's driver in `/dev`, which some programs (JAX) look for before they load its library. They do not exist;
//! `stat` and `access` say that they do. Nothing can be read from them, and nobody tries.
//!
//! The library is loaded before the C library's functions are bound, so these replace them for the program. Both do what the
//! system does, except for the names below where the system has no such file.

use std::ffi::{CStr, c_char, c_int};

/// The files that programs look for, with the minor numbers of the devices.
const FILES: [(&CStr, u32); 2] = [(c"/dev/nvidia0", 0), (c"/dev/nvidiactl", 255)];
/// Major number of NVIDIA's devices.
const MAJOR: u32 = 195;

/// The minor number of a file that the system did not find, if it is one of those.
///
/// # Safety
/// The system has read the path.
unsafe fn missing(path: *const c_char) -> Option<u32> {
    if std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT) {
        return None;
    }
    // SAFETY: as the caller promises.
    let path = unsafe { CStr::from_ptr(path) };
    FILES.into_iter().find(|(name, _)| *name == path).map(|(_, minor)| minor)
}

/// `stat`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn stat(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the system checks both pointers; its structure is the C library's. A path that it did not find is a string.
    unsafe {
        let found = libc::syscall(libc::SYS_newfstatat, libc::AT_FDCWD, path, to, 0) as c_int;
        if found == 0 {
            return 0;
        }
        let Some(minor) = missing(path) else { return found };
        // The pointer has not been checked yet.
        if libc::syscall(libc::SYS_newfstatat, libc::AT_FDCWD, c"/dev".as_ptr(), to, 0) != 0 {
            return -1;
        }
        (*to).st_mode = libc::S_IFCHR | 0o666;
        (*to).st_rdev = libc::makedev(MAJOR, minor);
        0
    }
}

/// `stat64`, which is the same.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn stat64(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { stat(path, to) }
}

/// `access`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the system checks the pointer. A path that it did not find is a string.
    unsafe {
        let found = libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path, mode) as c_int;
        if found == 0 || missing(path).is_none() { found } else { 0 }
    }
}
