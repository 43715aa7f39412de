//! Tests of the studies: counts computed by hand, and comparison with their brute-force twins on random launches.

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
