//! Work on single lanes of a warp register.

use crate::Row;

/// Copies the lanes of a mask.
#[inline]
pub fn merge(to: &mut Row, from: &Row, lanes: u32) {
    if lanes == u32::MAX {
        *to = *from;
        return;
    }
    for (lane, (to, from)) in to.0.iter_mut().zip(&from.0).enumerate() {
        *to = if lanes >> lane & 1 != 0 { *from } else { *to };
    }
}

/// The first lane of a mask in which two rows differ.
#[inline]
#[must_use]
pub fn first_difference(a: &Row, b: &Row, lanes: u32) -> Option<usize> {
    (0..32).find(|lane| lanes >> lane & 1 != 0 && a.0[*lane] != b.0[*lane])
}

/// A row whose lanes outside of a mask hold noise: the inverse of what was there.
#[inline]
#[must_use]
pub fn noise_outside(row: &Row, lanes: u32) -> Row {
    Row::from_fn(|lane| if lanes >> lane & 1 != 0 { row.0[lane] } else { !row.0[lane] })
}
