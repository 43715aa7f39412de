//! Addresses that are put into a module's data when it is in device memory.

use sass::cubin::Place;

/// Eight bytes that get an address when the module is in device memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The part that the bytes are in.
    pub place: Place,
    /// Where in the part.
    pub offset: u64,
    /// What they get.
    pub value: PatchValue,
}

/// The value of a [`Patch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatchValue {
    /// The address of a place in a part of the module's data.
    Data(Place, u64),
    /// This address, of code.
    Code(u64),
}
