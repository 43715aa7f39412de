//! Storage of an allocation's bytes: owned memory, or memory at an address that the host program accesses
//! too.
//!
//! The second is what managed and host-mapped memory of CUDA programs need. Threads of the host program may access
//! such memory while a kernel runs, so no reference to its bytes is ever made: every access is a relaxed atomic
//! access of at most 8 bytes, which may race without being undefined.

use super::lanes::{Bytes, BytesMut};
use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
use trace_format::semantics::{Row, WARP_SIZE};

/// Bytes of a row.
const ROW_BYTES: usize = 4 * WARP_SIZE;

/// The bytes of an allocation.
#[derive(Debug)]
pub struct Storage {
    start: NonNull<u8>,
    length: usize,
    /// Capacity of the vector that the bytes come from; `None` for mapped memory.
    owned: Option<usize>,
}

// SAFETY: our own bytes are like a vector's; mapped ones are only accessed atomically.
unsafe impl Send for Storage {}
// SAFETY: see above; shared references only read.
unsafe impl Sync for Storage {}

impl Storage {
    /// Bytes at an address of this process; they are not freed when the storage is dropped.
    ///
    /// # Safety
    /// `length` bytes from `start` on are readable and writable as long as the storage lives. Others may access them
    /// at any time, as memory that is shared with another program.
    #[must_use]
    pub unsafe fn mapped(start: NonNull<u8>, length: usize) -> Storage {
        Storage { start, length, owned: None }
    }

    /// Length in bytes.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where `count` bytes from an offset on begin, if they all are inside.
    #[inline(always)]
    fn place(&self, at: usize, count: usize) -> Option<*mut u8> {
        let inside = at <= self.length && count <= self.length - at;
        // SAFETY: the offset is not greater than the length of the memory.
        inside.then(|| unsafe { self.start.as_ptr().add(at) })
    }

    /// `N` bytes from an offset on; `None` when they are not all inside.
    #[inline(always)]
    #[must_use]
    pub fn word<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let start = self.place(at, N)?;
        let mut out = [0; N];
        // SAFETY: `place` has found the bytes inside of the memory; whole words are at a multiple of their width.
        unsafe {
            match N {
                1 => out[0] = AtomicU8::from_ptr(start).load(Relaxed),
                2 if start.addr().is_multiple_of(2) => {
                    out.copy_from_slice(&AtomicU16::from_ptr(start.cast()).load(Relaxed).to_ne_bytes());
                }
                4 if start.addr().is_multiple_of(4) => {
                    out.copy_from_slice(&AtomicU32::from_ptr(start.cast()).load(Relaxed).to_ne_bytes());
                }
                8 | 16 if start.addr().is_multiple_of(8) => {
                    for (i, to) in out.chunks_exact_mut(8).enumerate() {
                        let half = AtomicU64::from_ptr(start.add(8 * i).cast());
                        to.copy_from_slice(&half.load(Relaxed).to_ne_bytes());
                    }
                }
                _ => load(start, &mut out),
            }
        }
        Some(out)
    }

    /// Copies bytes from an offset on out of the memory; false when they are not all inside.
    #[must_use]
    pub fn read(&self, at: usize, to: &mut [u8]) -> bool {
        let Some(start) = self.place(at, to.len()) else { return false };
        // SAFETY: as above.
        unsafe { load(start, to) };
        true
    }

    /// Copies bytes into the memory from an offset on; false when there is no room for them.
    pub fn write(&mut self, at: usize, from: &[u8]) -> bool {
        let Some(start) = self.place(at, from.len()) else { return false };
        // SAFETY: as above.
        unsafe { store(start, from) };
        true
    }

    /// The bytes, unless the host program sees them too.
    #[must_use]
    pub fn own(&self) -> Option<&[u8]> {
        // SAFETY: the bytes belong to this storage, and nobody writes them while it is borrowed.
        self.owned.map(|_| unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) })
    }

    /// The bytes, copied where the host program sees them too.
    #[must_use]
    pub fn contents(&self) -> Cow<'_, [u8]> {
        self.own().map_or_else(|| Cow::Owned(self.to_vec()), Cow::Borrowed)
    }

    /// A copy of the bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut copy = vec![0; self.length];
        let _ = self.read(0, &mut copy);
        copy
    }
}

/// Loads bytes by the widest atomic accesses that the address allows.
///
/// # Safety
/// The bytes are readable.
#[inline(never)]
unsafe fn load(mut from: *mut u8, mut to: &mut [u8]) {
    macro_rules! step {
        ($atomic:ty, $bytes:literal) => {
            // SAFETY: the bytes are there, as the caller says, and at a multiple of their width.
            let value = unsafe { <$atomic>::from_ptr(from.cast()) }.load(Relaxed);
            let (now, rest) = to.split_at_mut($bytes);
            now.copy_from_slice(&value.to_ne_bytes());
            to = rest;
            // SAFETY: so many bytes have been there.
            from = unsafe { from.add($bytes) };
        };
    }
    while !to.is_empty() {
        match (to.len(), from.addr()) {
            (8.., a) if a % 8 == 0 => {
                step!(AtomicU64, 8);
            }
            (4.., a) if a % 4 == 0 => {
                step!(AtomicU32, 4);
            }
            (2.., a) if a % 2 == 0 => {
                step!(AtomicU16, 2);
            }
            _ => {
                step!(AtomicU8, 1);
            }
        }
    }
}

/// Stores bytes by the widest atomic accesses that the address allows.
///
/// # Safety
/// The bytes are writable.
#[inline(never)]
unsafe fn store(mut to: *mut u8, mut from: &[u8]) {
    macro_rules! step {
        ($atomic:ty, $int:ty, $bytes:literal) => {
            let (now, rest) = from.split_at($bytes);
            let mut value = [0; $bytes];
            value.copy_from_slice(now);
            // SAFETY: the bytes are there, as the caller says, and at a multiple of their width.
            unsafe { <$atomic>::from_ptr(to.cast()) }.store(<$int>::from_ne_bytes(value), Relaxed);
            from = rest;
            // SAFETY: so many bytes have been there.
            to = unsafe { to.add($bytes) };
        };
    }
    while !from.is_empty() {
        match (from.len(), to.addr()) {
            (8.., a) if a % 8 == 0 => {
                step!(AtomicU64, u64, 8);
            }
            (4.., a) if a % 4 == 0 => {
                step!(AtomicU32, u32, 4);
            }
            (2.., a) if a % 2 == 0 => {
                step!(AtomicU16, u16, 2);
            }
            _ => {
                step!(AtomicU8, u8, 1);
            }
        }
    }
}

impl Bytes for Storage {
    #[inline(always)]
    fn word<const N: usize>(&self, at: usize) -> [u8; N] {
        Storage::word(self, at).unwrap_or([0; N])
    }

    #[inline(always)]
    fn row(&self, at: usize, out: &mut Row) {
        let Some(start) = self.place(at, ROW_BYTES) else { return };
        if !start.addr().is_multiple_of(8) {
            for (l, word) in out.0.iter_mut().enumerate() {
                *word = u32::from_le_bytes(Bytes::word(self, at + 4 * l));
            }
            return;
        }
        for i in 0..WARP_SIZE / 2 {
            // SAFETY: `place` has found all bytes of the row inside; each pair of words is at a multiple of 8.
            let pair = unsafe { AtomicU64::from_ptr(start.add(8 * i).cast()) }.load(Relaxed).to_le();
            out.0[2 * i] = pair as u32;
            out.0[2 * i + 1] = (pair >> 32) as u32;
        }
    }
}

impl BytesMut for Storage {
    #[inline(always)]
    fn put<const N: usize>(&mut self, at: usize, value: [u8; N]) {
        let Some(start) = self.place(at, N) else { return };
        // SAFETY: `place` has found the bytes inside of the memory; whole words are at a multiple of their width.
        unsafe {
            match (N, &value[..]) {
                (1, &[a]) => AtomicU8::from_ptr(start).store(a, Relaxed),
                (2, &[a, b]) if start.addr().is_multiple_of(2) => {
                    AtomicU16::from_ptr(start.cast()).store(u16::from_ne_bytes([a, b]), Relaxed);
                }
                (4, &[a, b, c, d]) if start.addr().is_multiple_of(4) => {
                    AtomicU32::from_ptr(start.cast()).store(u32::from_ne_bytes([a, b, c, d]), Relaxed);
                }
                (8 | 16, halves) if start.addr().is_multiple_of(8) => {
                    for (i, half) in halves.chunks_exact(8).enumerate() {
                        let mut word = [0; 8];
                        word.copy_from_slice(half);
                        AtomicU64::from_ptr(start.add(8 * i).cast()).store(u64::from_ne_bytes(word), Relaxed);
                    }
                }
                _ => store(start, &value),
            }
        }
    }

    #[inline(always)]
    fn put_row(&mut self, at: usize, row: &Row) {
        let Some(start) = self.place(at, ROW_BYTES) else { return };
        if !start.addr().is_multiple_of(8) {
            for (l, word) in row.0.iter().enumerate() {
                self.put(at + 4 * l, word.to_le_bytes());
            }
            return;
        }
        for i in 0..WARP_SIZE / 2 {
            let pair = u64::from(row.0[2 * i]) | u64::from(row.0[2 * i + 1]) << 32;
            // SAFETY: as in `row`.
            unsafe { AtomicU64::from_ptr(start.add(8 * i).cast()) }.store(pair.to_le(), Relaxed);
        }
    }
}

impl Default for Storage {
    fn default() -> Storage {
        Storage::from(Vec::new())
    }
}

impl From<Vec<u8>> for Storage {
    fn from(bytes: Vec<u8>) -> Storage {
        let mut bytes = ManuallyDrop::new(bytes);
        // SAFETY: a vector's pointer is never null.
        let start = unsafe { NonNull::new_unchecked(bytes.as_mut_ptr()) };
        Storage { start, length: bytes.len(), owned: Some(bytes.capacity()) }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(capacity) = self.owned {
            // SAFETY: these are the parts of the vector that the storage was made of.
            drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.length, capacity) });
        }
    }
}

/// A copy is always owned memory.
impl Clone for Storage {
    fn clone(&self) -> Storage {
        Storage::from(self.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory that the host goes on using through the pointer.
    fn shared(host: &mut [u8]) -> Storage {
        let start = NonNull::new(host.as_mut_ptr()).expect("a slice has an address");
        // SAFETY: the slice outlives the storage in each test.
        unsafe { Storage::mapped(start, host.len()) }
    }

    #[test]
    fn mapped_bytes_are_those_of_the_host() {
        let mut host = vec![1u8, 2, 3, 4];
        let mut storage = shared(&mut host);
        assert!(storage.write(2, &[9]));
        let copy = storage.clone();
        assert!(storage.write(0, &[7]));
        assert_eq!(copy.own(), Some(&[1, 2, 9, 4][..]));
        assert_eq!((storage.own(), &*storage.contents()), (None, &[7, 2, 9, 4][..]));
        drop(storage);
        assert_eq!(host, [7, 2, 9, 4]);
    }

    #[test]
    fn words_and_rows_are_the_same_at_every_alignment() {
        let mut host: Vec<u8> = (0..=255).collect();
        let before = host.clone();
        let mut storage = shared(&mut host);
        for at in 0..120 {
            assert_eq!(storage.word::<16>(at).map(Vec::from), Some(before[at..at + 16].to_vec()));
            assert_eq!(storage.word::<2>(at), Some([before[at], before[at + 1]]));
            let mut row = Row::ZERO;
            storage.row(at, &mut row);
            for l in 0..WARP_SIZE {
                assert_eq!(row.0[l].to_le_bytes(), before[at + 4 * l..at + 4 * l + 4]);
            }
            storage.put_row(at, &row);
            storage.put(at, row.0[0].to_le_bytes());
            assert_eq!(storage.to_vec(), before);
        }
    }

    #[test]
    fn nothing_is_outside() {
        let mut storage = Storage::from(vec![5; 8]);
        assert_eq!((storage.word::<8>(0), storage.word::<8>(1)), (Some([5; 8]), None));
        assert_eq!(storage.word::<1>(usize::MAX), None);
        assert!(!storage.write(7, &[1, 1]) && !storage.read(9, &mut []));
        storage.put(6, [9u8; 4]);
        assert_eq!(storage.own(), Some(&[5; 8][..]));
    }

    /// What the type is for: the host program's threads access memory that a kernel accesses.
    #[test]
    fn the_host_may_write_while_a_kernel_reads() {
        let mut host = vec![0u8; 4096];
        let start = host.as_mut_ptr().addr();
        let storage = shared(&mut host);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..10_000u64 {
                    let place = (start + 8 * (i as usize % 512)) as *mut u64;
                    // SAFETY: the place lies in the vector, which nobody accesses but atomically.
                    unsafe { AtomicU64::from_ptr(place) }.store(u64::MAX, Relaxed);
                }
            });
            for i in 0..10_000 {
                let word = storage.word::<8>(8 * (i % 512)).map(u64::from_ne_bytes);
                assert!(matches!(word, Some(0 | u64::MAX)));
            }
        });
    }
}
