//! Where the bytes of an allocation are: in memory of our own, or at an address that the host program sees too.
//!
//! The second is what managed and host-mapped memory of CUDA programs need: one pointer that works on both
//! sides. Who maps such memory keeps it alive and keeps other threads away while a kernel runs.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The bytes of an allocation.
#[derive(Debug, Default)]
pub struct Storage(Place);

#[derive(Debug)]
enum Place {
    Owned(Vec<u8>),
    Mapped { start: NonNull<u8>, length: usize },
}

impl Default for Place {
    fn default() -> Place {
        Place::Owned(Vec::new())
    }
}

// SAFETY: mapped memory is plain bytes that belong to nobody else while they are used, as `Storage::mapped`
// demands; it may be used from any thread.
unsafe impl Send for Storage {}
// SAFETY: see above; shared references only read.
unsafe impl Sync for Storage {}

impl Storage {
    /// Bytes at an address of this process; they are not freed when the storage is dropped.
    ///
    /// # Safety
    /// `length` bytes from `start` on are readable and writable as long as the storage lives, and nobody else
    /// accesses them while it is borrowed.
    #[must_use]
    pub unsafe fn mapped(start: NonNull<u8>, length: usize) -> Storage {
        Storage(Place::Mapped { start, length })
    }
}

impl From<Vec<u8>> for Storage {
    fn from(bytes: Vec<u8>) -> Storage {
        Storage(Place::Owned(bytes))
    }
}

/// A copy is always memory of our own.
impl Clone for Storage {
    fn clone(&self) -> Storage {
        Storage::from(self.to_vec())
    }
}

impl Deref for Storage {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Owned(bytes) => bytes,
            // SAFETY: as `Storage::mapped` demands.
            Place::Mapped { start, length } => unsafe { std::slice::from_raw_parts(start.as_ptr(), *length) },
        }
    }
}

impl DerefMut for Storage {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Place::Owned(bytes) => bytes,
            // SAFETY: as `Storage::mapped` demands.
            Place::Mapped { start, length } => unsafe {
                std::slice::from_raw_parts_mut(start.as_ptr(), *length)
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_bytes_are_those_of_the_host() {
        let mut host = vec![1u8, 2, 3, 4];
        let start = NonNull::new(host.as_mut_ptr()).expect("a vector has an address");
        // SAFETY: the vector outlives the storage and is not touched meanwhile.
        let mut storage = unsafe { Storage::mapped(start, 4) };
        storage[2] = 9;
        let copy = storage.clone();
        storage[0] = 7;
        assert_eq!(&*copy, &[1, 2, 9, 4]);
        drop(storage);
        assert_eq!(host, [7, 2, 9, 4]);
    }
}
