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
