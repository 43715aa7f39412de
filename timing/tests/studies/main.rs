//! The studies against answers known by hand, and against their brute-force twins on random launches.

mod agree;
mod by_hand;
#[path = "../redundancy/cases.rs"]
mod cases;
mod decode;
#[path = "../redundancy/insts.rs"]
mod insts;
mod loops;
#[path = "../redundancy/memory.rs"]
mod memory;
mod random;
mod twins;
