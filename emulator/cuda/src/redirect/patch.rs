//! Overwrites the first instructions of functions with jumps. Only this file writes code: on the loader's
//! thread, before any thread can execute the functions.

use std::collections::BTreeMap;
use std::io;

/// Bytes of a jump.
#[cfg(target_arch = "x86_64")]
pub(super) const JUMP_BYTES: usize = 14;
/// Bytes of a jump.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const JUMP_BYTES: usize = 16;

/// Bytes of a jump in memory.
pub(super) type Jump = [u8; JUMP_BYTES];

/// A jump to any address, which changes no register that a function's arguments may be in.
#[must_use]
pub(super) fn jump(to: u64) -> Jump {
    let mut bytes = [0; JUMP_BYTES];
    let (code, address) = bytes.split_at_mut(JUMP_BYTES - 8);
    if cfg!(target_arch = "x86_64") {
        // jmp *0(%rip)
        code.copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
    } else {
        // ldr x16, .+8; br x16
        code[..4].copy_from_slice(&0x5800_0050u32.to_le_bytes());
        code[4..].copy_from_slice(&0xd61f_0200u32.to_le_bytes());
    }
    address.copy_from_slice(&to.to_le_bytes());
    bytes
}

/// Whether a jump has been written already.
///
/// # Safety
/// So many bytes may be read there.
pub(super) unsafe fn is_there(at: usize, jump: &Jump) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (at as *const Jump).read_unaligned() == *jump }
}

/// Writes jumps; the pages are writable meanwhile, and not executable.
///
/// # Errors
/// When the system does not let pages be written.
///
/// # Safety
/// At each address is a function of at least as many bytes, which no thread executes.
pub(super) unsafe fn write(jumps: &BTreeMap<usize, Jump>) -> io::Result<()> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err(io::Error::other("it is not known how this processor jumps"));
    }
    let page = rustix::param::page_size();
    for (&at, jump) in jumps {
        let start = at / page * page;
        let bytes = (at + JUMP_BYTES).next_multiple_of(page) - start;
        let protect = |flags| {
            // SAFETY: these are whole pages of code, which the program's file has been mapped to.
            match unsafe { libc::mprotect(start as *mut _, bytes, flags) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        protect(libc::PROT_READ | libc::PROT_WRITE)?;
        // SAFETY: the bytes are the function's, as the caller promises, and may be written now.
        unsafe { (at as *mut Jump).write_unaligned(*jump) };
        protect(libc::PROT_READ | libc::PROT_EXEC)?;
        // SAFETY: these bytes are mapped.
        unsafe { made_visible(at) };
    }
    Ok(())
}

/// Makes written instructions visible to instruction fetch; some processors do so by themselves.
///
/// # Safety
/// A jump lies there.
#[cfg(target_arch = "aarch64")]
unsafe fn made_visible(at: usize) {
    for address in (at..at + JUMP_BYTES).step_by(4) {
        // SAFETY: cleaning caches changes nothing that can be seen.
        unsafe { std::arch::asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", in(reg) address) };
    }
    // SAFETY: as above.
    unsafe { std::arch::asm!("isb") };
}

/// As above.
///
/// # Safety
/// None is needed here.
#[cfg(not(target_arch = "aarch64"))]
unsafe fn made_visible(_at: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn after() -> i32 {
        7
    }

    /// A function that returns 1, with room behind it.
    const CODE: [u32; 4] = match cfg!(target_arch = "x86_64") {
        // mov eax, 1; ret
        true => [0x0000_01b8, 0x9090_c300, 0x9090_9090, 0x9090_9090],
        // mov w0, 1; ret
        false => [0x5280_0020, 0xd65f_03c0, 0xd503_201f, 0xd503_201f],
    };

    #[test]
    fn a_function_that_is_replaced_does_what_the_other_does() {
        // SAFETY: a page of its own, which nobody else knows, holds the function that is called and replaced.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let writable = libc::PROT_READ | libc::PROT_WRITE;
            let page = libc::mmap(std::ptr::null_mut(), 4096, writable, flags, -1, 0);
            assert_ne!(page, libc::MAP_FAILED);
            page.cast::<[u32; 4]>().write(CODE);
            made_visible(page as usize);
            assert_eq!(libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_EXEC), 0);
            let function = std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> i32>(page);
            assert_eq!(function(), 1);
            let jump = jump(after as *const () as u64);
            assert!(!is_there(page as usize, &jump));
            write(&BTreeMap::from([(page as usize, jump)])).expect("code can be written");
            assert!(is_there(page as usize, &jump));
            assert_eq!(function(), 7);
        }
    }
}
