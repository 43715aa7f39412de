//! Descriptions of copies and fills.

/// One side of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// Memory of host or device; rows lie `pitch` bytes apart, slices `pitch * height`.
    Linear {
        /// First byte.
        address: u64,
        /// Bytes from row to row.
        pitch: u64,
        /// Rows from slice to slice.
        height: u64,
    },
    /// An array.
    Array {
        /// Its handle.
        array: u64,
        /// Where to begin: bytes, rows, slices.
        origin: [u64; 3],
    },
}

/// A copy of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copy {
    /// Where to.
    pub to: Endpoint,
    /// Where from.
    pub from: Endpoint,
    /// Bytes, rows, slices.
    pub extent: [u64; 3],
}

impl Copy {
    /// A copy of consecutive bytes.
    #[must_use]
    pub fn linear(to: u64, from: u64, bytes: u64) -> Copy {
        let place = |address| Endpoint::Linear { address, pitch: bytes, height: 1 };
        Copy { to: place(to), from: place(from), extent: [bytes, 1, 1] }
    }
}

/// A fill of a rectangle with one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// First byte.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// The value, of which the low `element` bytes count.
    pub value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub element: u32,
    /// Elements in a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}
