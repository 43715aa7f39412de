//! The memory of Python's objects, in which the fields of classes lie.

/// Its alignment.
const ALIGNMENT: usize = 16;

/// Fails to compile for a class whose fields need more: they would lie misaligned.
pub(crate) const fn fits<T>() {
    assert!(align_of::<T>() <= ALIGNMENT);
}
