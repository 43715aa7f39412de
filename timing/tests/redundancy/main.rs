//! Tests of the study `redundancy`: results computed by hand, and its brute-force twin on random launches.

mod by_hand;
mod cases;
mod insts;
mod memory;
mod random;
mod twin;
