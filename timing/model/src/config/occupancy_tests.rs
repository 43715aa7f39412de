//! Occupancies of the built-in configurations.

use crate::config::load;
use crate::occupancy::{Demand, Limit, occupancy};

/// Figures of CUDA's occupancy calculator.
#[test]
fn known_occupancies_of_the_configurations() {
    let of = |gpu, threads, registers, shared| {
        let sm = load(gpu, &[]).expect("built-in configuration").config.sm;
        let demand =
            Demand { threads_per_block: threads, registers_per_thread: registers, shared_bytes: shared };
        occupancy(&sm, sm.registers, &demand).map(|o| (o.blocks, o.limit))
    };
    assert_eq!(of("titanx-pascal", 256, 40, 0), Ok((6, Limit::Registers)));
    assert_eq!(of("titanx-pascal", 96, 64, 0), Ok((10, Limit::Registers)));
    assert_eq!(of("gtx480", 256, 20, 0), Ok((6, Limit::Warps)));
    assert_eq!(of("gtx480", 256, 24, 0), Ok((5, Limit::Registers)));
    assert_eq!(of("gtx285", 256, 16, 0), Ok((4, Limit::Warps)));
    assert!(of("gtx480", 32, 8, 50_000).expect_err("too much shared").contains("shared memory"));
    assert!(of("rtx2060", 2048, 8, 0).expect_err("too many threads").contains("threads"));
}
