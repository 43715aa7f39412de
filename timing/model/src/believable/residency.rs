//! Tests of residency: exactly as many blocks as the resources allow.

use crate::config::load;
use crate::observe::record::InstRecord;
use crate::testing::{Builder, Hand, r};
use trace_format::isa::*;

/// Blocks of 64 threads that wait for memory, so that as many as possible are resident together.
fn waiting(registers: u8) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::CtaidX).shl(4, 0, 12).mov(5, 0).mov(registers - 2, 1);
    b.ldg(10, 4, 0).iadd(11, r(10), r(10), Src::RZ);
    Hand::new(b.exit(), 40, 64)
}

/// Maximum number of blocks with instructions between fetch and writeback in one cycle.
fn most_resident(insts: &[InstRecord]) -> usize {
    let mut stays: Vec<(u32, u64, u64)> = Vec::new();
    for inst in insts {
        match stays.iter_mut().find(|stay| stay.0 == inst.block) {
            Some(stay) => (stay.1, stay.2) = (stay.1.min(inst.issued), stay.2.max(inst.issued)),
            None => stays.push((inst.block, inst.issued, inst.issued)),
        }
    }
    let at = |cycle: u64| stays.iter().filter(|stay| (stay.1..=stay.2).contains(&cycle)).count();
    stays.iter().map(|stay| at(stay.1)).max().unwrap_or(0)
}

#[test]
fn one_more_block_than_the_registers_allow_is_never_resident() {
    for gpu in ["gtx480", "titanx-pascal", "qv100", "rtx2060", "rtx3070"] {
        for wanted in [2u32, 3, 5] {
            let hand = waiting(32);
            let set = |registers: u32| {
                let set = ["gpu.sms=1".to_owned(), format!("sm.registers={registers}")];
                let mut config = load(gpu, &set).expect("a valid configuration").config;
                // Each warp's registers come from the whole file, so that the bound is that of the sum.
                config.sm.register_allocation = crate::config::RegisterGranule::Warp;
                config.sm.warp_allocation_granularity = 1;
                config
            };
            let sm = load(gpu, &[]).expect("built-in").config.sm;
            let unit = sm.register_allocation_unit;
            let per_warp = 32 * (u32::from(hand.kernel.regs_per_thread) + sm.hidden_registers_per_thread);
            let enough = wanted * 2 * per_warp.next_multiple_of(unit);
            let resident = |registers| most_resident(&hand.observe(&set(registers)));
            assert_eq!(resident(enough), wanted as usize, "{gpu}: registers for {wanted} blocks");
            assert_eq!(resident(enough - 1), wanted as usize - 1, "{gpu}: one register less");
        }
    }
}

/// Of blocks of one warp each scheduler gets its part; the first warp of larger ones goes to each in turn.
#[test]
fn first_warps_take_turns_on_the_schedulers() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX);
    let hand = Hand::new(b.exit(), 8, 128);
    let first_warps = |place: &str| {
        let set = ["gpu.sms=1".to_owned(), format!("sm.first_warp={place}")];
        let config = load("qv100", &set).expect("a valid configuration").config;
        let mut first: Vec<(u32, u8)> = hand
            .observe(&config)
            .iter()
            .filter(|inst| inst.warp == 0 && inst.pc == 0)
            .map(|inst| (inst.block, inst.warp_slot % 4))
            .collect();
        first.sort_unstable();
        first.into_iter().map(|(_, scheduler)| scheduler).collect::<Vec<_>>()
    };
    assert_eq!(first_warps("lowest_slot"), [0; 8]);
    assert_eq!(first_warps("turns"), [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn no_more_blocks_than_slots_warps_and_shared_memory_allow() {
    for (set, wanted) in [("sm.max_blocks=3", 3), ("sm.max_warps=9", 4)] {
        let threads = "sm.max_threads_per_block=256".to_owned();
        let set = ["gpu.sms=1".to_owned(), threads, set.to_owned()];
        let config = load("gtx480", &set).expect("a valid configuration").config;
        assert_eq!(most_resident(&waiting(32).observe(&config)), wanted, "{set:?}");
    }
    let mut hand = waiting(32);
    hand.kernel.static_shared_bytes = 12_000;
    let config = load("gtx480", &["gpu.sms=1".to_owned()]).expect("a valid configuration").config;
    // 48 KiB hold four times 12 000 bytes, rounded up to 128.
    assert_eq!(most_resident(&hand.observe(&config)), 4);
}
