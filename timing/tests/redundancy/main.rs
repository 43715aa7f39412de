//! The study `redundancy` against answers known by hand, and against its brute-force twin on random launches.

mod by_hand;
mod cases;
mod insts;
mod memory;
mod random;
mod twin;
