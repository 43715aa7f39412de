//! Objects of the program that graphs retain: counted references, and a function that ends the object with the last.

use super::work::HostCall;

/// An object.
#[derive(Debug)]
pub struct UserObject {
    /// What ends it.
    pub(super) end: HostCall,
    /// References to it.
    pub(super) count: u64,
}
