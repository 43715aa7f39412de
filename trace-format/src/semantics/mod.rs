//! Pure semantics of the machine instructions on whole warp registers.
