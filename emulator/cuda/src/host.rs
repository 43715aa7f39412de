//! Checks which memory of the host program is readable and writable. A program may pass any pointer;
//! dereferencing an invalid one would end the process where CUDA returns an error.

use rustix::mm::{Advice, MsyncFlags, madvise, msync};
use std::ffi::c_char;
use std::ffi::c_void;
use std::sync::OnceLock;

/// Kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// To read it.
    Read,
    /// To write it.
    Write,
}

/// Whether all of these bytes may be accessed. Costs one system call, more only if the result is false.
#[must_use]
pub(crate) fn is_accessible(start: u64, bytes: u64, access: Access) -> bool {
    let Some(end) = start.checked_add(bytes) else { return false };
    if bytes == 0 {
        return true;
    }
    if start == 0 {
        return false;
    }
    let page = rustix::param::page_size() as u64;
    let first = start / page * page;
    let Some(end) = end.checked_next_multiple_of(page) else { return false };
    match populate(first, end - first, access) {
        Ok(()) => true,
        // Mappings of devices cannot be populated, older kernels do not know how.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::AGAIN) => is_mapped(first, end, access),
        Err(_) => false,
    }
}

/// Whether an object that a program points to may be accessed. Objects on this thread's stack, the most
/// frequent case, cost no system call.
#[must_use]
pub(crate) fn is_there(start: u64, bytes: u64, access: Access) -> bool {
    start != 0 && (is_on_stack(start, bytes) || is_accessible(start, bytes, access))
}

/// Whether all of these bytes are in the used part of this thread's stack.
fn is_on_stack(start: u64, bytes: u64) -> bool {
    thread_local! {
        static STACK: (u64, u64) = stack();
    }
    let here = std::ptr::from_ref(&bytes).addr() as u64;
    // Coroutines have stacks of their own, which are unknown here.
    let inside =
        |low, high| low <= here && here <= start && start.checked_add(bytes).is_some_and(|end| end <= high);
    STACK.with(|&(low, high)| inside(low, high))
}

/// First and last address of this thread's stack; zeros when it is unknown.
fn stack() -> (u64, u64) {
    let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are plain data, filled in by the first call and given back by the last.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return (0, 0);
        }
        let known = libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut bytes) == 0;
        libc::pthread_attr_destroy(&raw mut attributes);
        if known { (start as u64, start as u64 + bytes as u64) } else { (0, 0) }
    }
}

/// Whether the whole range is mapped, with any protection. Costs a system call that reads no page.
#[must_use]
pub(crate) fn is_mapped_throughout(start: u64, bytes: u64) -> bool {
    let page = rustix::param::page_size() as u64;
    let first = start / page * page;
    let length = (start - first).saturating_add(bytes);
    // SAFETY: nothing is changed: asynchronous write-back is what the system does in any case.
    let asked = unsafe { msync(first as *mut c_void, length as usize, MsyncFlags::ASYNC) };
    asked != Err(rustix::io::Errno::NOMEM)
}

/// The parts of a range that may be read and written: offsets and lengths.
#[must_use]
pub(crate) fn accessible_parts(start: u64, bytes: u64) -> Vec<(u64, u64)> {
    let end = start.saturating_add(bytes);
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for (from, to, _) in mappings().into_iter().filter(|(_, _, mode)| mode.starts_with("rw")) {
        let (from, to) = (from.max(start), to.min(end));
        match parts.last_mut() {
            _ if from >= to => {}
            Some((at, length)) if start + *at + *length == from => *length += to - from,
            _ => parts.push((from - start, to - from)),
        }
    }
    parts
}

/// Faults pages in like an access, but returns an error where the access would have ended the process.
fn populate(start: u64, bytes: u64, access: Access) -> rustix::io::Result<()> {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    let advice = match access {
        Access::Read => Advice::LinuxPopulateRead,
        Access::Write => Advice::LinuxPopulateWrite,
    };
    // SAFETY: the advice changes no contents, whatever is there.
    let advise = |start: u64, bytes, advice| unsafe { madvise(start as *mut c_void, bytes, advice) };
    let known = *KNOWN.get_or_init(|| {
        static BYTE: u8 = 0;
        let page = rustix::param::page_size();
        let here = std::ptr::from_ref(&BYTE).addr() / page * page;
        advise(here as u64, page, Advice::LinuxPopulateRead).is_ok()
    });
    if known { advise(start, bytes as usize, advice) } else { Err(rustix::io::Errno::INVAL) }
}

/// The same according to the system's list of mappings.
fn is_mapped(start: u64, end: u64, access: Access) -> bool {
    let mut at = start;
    for (from, to, mode) in mappings() {
        if from > at {
            return false;
        }
        if to > at {
            if !mode.starts_with(if access == Access::Write { "rw" } else { "r" }) {
                return false;
            }
            at = to;
        }
        if at >= end {
            return true;
        }
    }
    false
}

/// Bytes of a text before the NUL at its end; `None` when memory ends before that, or it is longer than this.
#[must_use]
pub(crate) fn text_length(start: u64, most: u64) -> Option<u64> {
    let page = rustix::param::page_size() as u64;
    let mut length = 0;
    while length <= most {
        let at = start.checked_add(length)?;
        let here = page - at % page;
        if !is_accessible(at, here, Access::Read) {
            return None;
        }
        // SAFETY: the bytes can be read.
        let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, here as usize) };
        if let Some(end) = bytes.iter().position(|&byte| byte == 0) {
            return Some(length + end as u64);
        }
        length += here;
    }
    None
}

/// The mappings of the process, ascending: start, end, mode as in `rw-p`.
#[must_use]
pub(crate) fn mappings() -> Vec<(u64, u64, String)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let number = |text| u64::from_str_radix(text, 16).ok();
    let parsed = maps.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (range, mode) = (fields.next()?, fields.next()?);
        let (start, end) = range.split_once('-')?;
        Some((number(start)?, number(end)?, mode.to_owned()))
    });
    parsed.collect()
}

/// Whether all rows of a box may be accessed: so many bytes, rows and slices, with these distances.
#[must_use]
pub(crate) fn are_accessible(start: u64, extent: [u64; 3], [pitch, slice]: [u64; 2], access: Access) -> bool {
    let [width, height, depth] = extent;
    let page = rustix::param::page_size() as u64;
    // Rows that share pages, or are adjacent, are checked together.
    let mut asked: Option<(u64, u64)> = None;
    for z in 0..depth {
        for y in 0..height {
            let row = start.wrapping_add(y.wrapping_mul(pitch)).wrapping_add(z.wrapping_mul(slice));
            let Some(end) = row.checked_add(width) else { return false };
            match &mut asked {
                Some((first, last)) if row >= *first && row <= last.saturating_add(page) => {
                    *last = end.max(*last);
                }
                other => {
                    if let Some((first, last)) = other.replace((row, end))
                        && !is_accessible(first, last - first, access)
                    {
                        return false;
                    }
                }
            }
        }
    }
    asked.is_none_or(|(first, last)| is_accessible(first, last - first, access))
}

/// Writes a text into a buffer of the program, cut to its length, with a NUL at its end; returns the bytes used.
pub(crate) fn write_text(to: *mut c_char, length: usize, text: &str) -> usize {
    if to.is_null() || length == 0 {
        return 0;
    }
    let bytes = &text.as_bytes()[..text.len().min(length - 1)];
    if !is_there(to as u64, bytes.len() as u64 + 1, Access::Write) {
        return 0;
    }
    // SAFETY: the program promises that the buffer has this length.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        to.add(bytes.len()).write(0);
    }
    bytes.len() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    fn both(start: u64, bytes: u64) -> [bool; 2] {
        [Access::Read, Access::Write].map(|access| {
            let by_system = is_accessible(start, bytes, access);
            let page = rustix::param::page_size() as u64;
            let listed = is_mapped(start / page * page, start.saturating_add(bytes), access);
            assert_eq!(by_system, listed, "{start:#x} {bytes} {access:?}");
            by_system
        })
    }

    #[test]
    fn objects_on_the_stack_are_there_and_others_are_asked_about() {
        let (local, page) = ([7u64; 4], rustix::param::page_size() as u64);
        let start = local.as_ptr() as u64;
        assert!(is_on_stack(start, 32) && is_there(start, 32, Access::Write));
        let (low, high) = stack();
        assert!(low < start && start < high);
        assert!(!is_on_stack(high - 8, 16) && !is_on_stack(low, 8) && !is_on_stack(start, u64::MAX));
        let boxed = Box::new(local);
        assert!(!is_on_stack(boxed.as_ptr() as u64, 32) && is_there(boxed.as_ptr() as u64, 32, Access::Read));
        assert!(!is_there(0, 8, Access::Read) && !is_there(page / 2, 8, Access::Read));
        let thread = move || (is_on_stack(start, 8), is_there(start, 8, Access::Read));
        assert_eq!(std::thread::spawn(thread).join().unwrap(), (false, true));
    }

    #[test]
    fn holes_in_mappings_are_found() {
        let page = rustix::param::page_size();
        // SAFETY: a new mapping; one of its pages is unmapped again.
        let start = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let p = mmap_anonymous(std::ptr::null_mut(), 4 * page, access, MapFlags::PRIVATE).unwrap();
            munmap(p.byte_add(2 * page), page).unwrap();
            p as u64
        };
        let page = page as u64;
        assert!(is_mapped_throughout(start + 8, 2 * page - 8) && is_mapped_throughout(start + 3 * page, 1));
        assert!(!is_mapped_throughout(start + 8, 2 * page) && !is_mapped_throughout(start + 2 * page, 8));
        assert_eq!(accessible_parts(start + 8, 4 * page - 16), [(0, 2 * page - 8), (3 * page - 8, page - 8)]);
        assert_eq!(accessible_parts(start + 2 * page, page), []);
    }

    #[test]
    fn memory_is_what_it_is() {
        let page = rustix::param::page_size();
        let mut here = vec![0u8; 3 * page];
        let start = here.as_mut_ptr() as u64;
        assert_eq!(both(start, 3 * page as u64), [true, true]);
        assert_eq!(both(memory_is_what_it_is as *const () as u64, 16), [true, false]);
        assert_eq!(both(0x10, 4), [false, false]);
        assert_eq!(
            [is_accessible(u64::MAX - 3, 8, Access::Read), is_accessible(0, 1, Access::Read)],
            [false; 2]
        );
        assert!(is_accessible(0, 0, Access::Write));
        // SAFETY: a new mapping, which no other code knows.
        let gone = unsafe {
            let p =
                mmap_anonymous(std::ptr::null_mut(), 4 * page, ProtFlags::READ, MapFlags::PRIVATE).unwrap();
            munmap(p.byte_add(2 * page), page).unwrap();
            p as u64
        };
        let page = page as u64;
        assert_eq!(both(gone, 2 * page), [true, false]);
        assert_eq!(both(gone, 2 * page + 1), [false, false]);
        assert_eq!(both(gone + 3 * page, page), [true, false]);
        // Rows beside a hole, and in it.
        assert!(are_accessible(gone, [8, 2, 1], [3 * page, 0], Access::Read));
        assert!(!are_accessible(gone, [8, 3, 1], [page, 0], Access::Read));
        assert!(!are_accessible(gone, [8, 2, 1], [8, 0], Access::Write));
    }
}
