//! Sub-cores that obey control bits: cycles that Huerta et al. (MICRO 2025) measured on an RTX A6000, from their tables and
//! microbenchmarks, to the cycle.

use super::one_sm;
use crate::config::GpuConfig;
use crate::observe::record::InstRecord;
use crate::testing::{Builder, Hand};
use proptest::prelude::*;
use trace_format::isa::*;

const ON: &str = "rtxa6000";

/// An instruction with control bits.
struct Coded(Inst, ControlBits);

fn stall(stall_cycles: u8) -> ControlBits {
    ControlBits { stall_cycles, ..ControlBits::default() }
}

/// Bits of an instruction that a counter stands for until its result is written, and of one that waits for the counter. Nothing
/// can wait for a counter in the cycle after its instruction (section 4).
fn writes(counter: u8) -> ControlBits {
    ControlBits { write_counter: Some(counter), ..stall(2) }
}

fn reads(counter: u8) -> ControlBits {
    ControlBits { read_counter: Some(counter), ..stall(2) }
}

fn waits(counter: u8) -> ControlBits {
    ControlBits { waits_for: 1 << counter, ..stall(1) }
}

/// Instructions that set R28 to R30 to 4, 8 and 16 bytes a lane, and R1 to R9 to zero.
const BEFORE: u32 = 13;
/// Registers with the offsets of each lane's own words, by the width of the access.
const OFFSETS: [u8; 3] = [28, 29, 30];

/// A launch of one block with control bits, behind values that are there.
fn hand(code: Vec<Coded>, threads: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(28, 0, 2).shl(29, 0, 3).shl(30, 0, 4);
    for reg in 1..10 {
        b.mov(reg, 0);
    }
    let mut control = vec![Some(stall(6)); BEFORE as usize];
    for Coded(inst, bits) in code {
        b.push(inst);
        control.push(Some(bits));
    }
    control.push(Some(stall(1)));
    let mut kernel = b.exit();
    kernel.control = control;
    kernel.check().expect("a well-formed kernel");
    Hand::new(kernel, 1, threads)
}

/// The records of the instructions of a warp behind the values.
fn records(hand: &Hand, config: &GpuConfig, warp: u32) -> Vec<InstRecord> {
    let all = hand.observe(config).into_iter();
    all.filter(|inst| inst.warp == warp && inst.pc >= BEFORE).collect()
}

/// Cycles between the issues of the last two instructions but the exit. Code that repeats comes from L0 and L1.
fn last_distance(code: Vec<Coded>) -> u64 {
    last_distance_on(ON, code)
}

fn last_distance_on(gpu: &str, code: Vec<Coded>) -> u64 {
    let records = records(&hand(code, 32), &one_sm(gpu, &[]), 0);
    let [.., first, second, _] = &records[..] else { panic!("three instructions") };
    second.issued - first.issued
}

fn ffma(d: u8, a: u8, b: u8, c: u8) -> Inst {
    let op = Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
    Inst::new(op).dst(Reg(d)).srcs([Src::reg(Reg(a)), Src::reg(Reg(b)), Src::reg(Reg(c))])
}

/// An access and the one that waits for it, some times, so that the last finds its line in L1.
fn repeated(access: Inst, bits: ControlBits, consumer: Inst) -> Vec<Coded> {
    (0..6).flat_map(|_| [Coded(access, bits), Coded(consumer, waits(0))]).collect()
}

fn load(width: MemWidth) -> Inst {
    Inst::new(Op::Ldg { width, order: MemOrder::Weak, ro: ReadOnly(false) })
        .dst(Reg(12))
        .srcs([Src::reg(Reg(2))])
}

/// R12 is read; R2 and R4 are overwritten.
fn consumer() -> Inst {
    ffma(16, 12, 1, 1)
}

fn overwriting(reg: u8) -> Inst {
    Inst::new(Op::Mov {}).dst(Reg(reg)).srcs([Src::imm(0)])
}

const WIDTHS: [MemWidth; 3] = [MemWidth::B32, MemWidth::B64, MemWidth::B128];

#[test]
fn loads_take_the_measured_cycles_to_the_use_of_their_results() {
    let global = WIDTHS.map(|width| last_distance(repeated(load(width), writes(0), consumer())));
    assert_eq!(global, [32, 34, 38], "table 2, LDG");
    for (addresses, lanes) in [([2; 3], "all of one word"), (OFFSETS, "each of its own words")] {
        let shared = [0, 1, 2].map(|which| {
            let op = Op::Lds { width: WIDTHS[which], scale: Scale::X1 };
            let load = Inst::new(op).dst(Reg(12)).srcs([Src::reg(Reg(addresses[which]))]);
            last_distance(repeated(load, writes(0), consumer()))
        });
        assert_eq!(shared, [24, 24, 26], "table 2, LDS: {lanes}");
    }
}

/// Jia et al. measured these generations from a load to the use of its result: "Dissecting the NVIDIA Volta GPU Architecture via
/// Microbenchmarking" (2018), and "Dissecting the NVidia Turing T4 GPU via Microbenchmarking" (2019).
#[test]
fn volta_and_turing_take_the_measured_cycles_to_the_use_of_results() {
    let shared =
        Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X1 }).dst(Reg(12)).srcs([Src::reg(Reg(2))]);
    for (gpu, l1, shared_memory) in [("qv100", 28, 19), ("rtx2060", 32, 19)] {
        let distance = |access| last_distance_on(gpu, repeated(access, writes(0), consumer()));
        assert_eq!(distance(load(MemWidth::B32)), l1, "{gpu}: L1");
        assert_eq!(distance(shared), shared_memory, "{gpu}: shared memory");
    }
}

#[test]
fn memory_instructions_read_their_registers_at_the_measured_cycles() {
    let global = WIDTHS.map(|width| last_distance(repeated(load(width), reads(0), overwriting(2))));
    assert_eq!(global, [11, 11, 11], "table 2, LDG");
    let stores = WIDTHS.map(|width| {
        let store =
            Inst::new(Op::Stg { width, order: MemOrder::Weak }).srcs([Src::reg(Reg(2)), Src::reg(Reg(4))]);
        last_distance(repeated(store, reads(0), overwriting(4)))
    });
    assert_eq!(stores, [14, 16, 20], "table 2, STG");
    let shared = WIDTHS.map(|width| {
        let store = Inst::new(Op::Sts { width, scale: Scale::X1 }).srcs([Src::reg(Reg(2)), Src::reg(Reg(4))]);
        last_distance(repeated(store, reads(0), overwriting(4)))
    });
    assert_eq!(shared, [12, 14, 18], "table 2, STS");
}

/// The same accesses with their addresses in uniform registers.
fn uniform(mut inst: Inst) -> Inst {
    inst.src[0] = Src::RZ;
    inst.base = UniformReg(4);
    inst
}

/// UR4 is overwritten.
fn overwriting_uniform() -> Inst {
    let mut inst = Inst::new(Op::Mov {}).srcs([Src::imm(0)]);
    inst.udst = UniformReg(4);
    inst
}

#[test]
fn addresses_in_uniform_registers_are_faster_as_measured() {
    let lds = |width| {
        let load = Inst::new(Op::Lds { width, scale: Scale::X1 }).dst(Reg(12)).srcs([Src::RZ]);
        uniform(load)
    };
    let used = |load: Inst| last_distance(repeated(load, writes(0), consumer()));
    assert_eq!(WIDTHS.map(|width| used(uniform(load(width)))), [29, 31, 35], "table 2, LDG");
    assert_eq!(WIDTHS.map(|width| used(lds(width))), [23, 23, 25], "table 2, LDS");
    let read = |inst: Inst, over: Inst| last_distance(repeated(inst, reads(0), over));
    assert_eq!(WIDTHS.map(|width| read(uniform(load(width)), overwriting_uniform())), [9; 3], "table 2, LDG");
    assert_eq!(WIDTHS.map(|width| read(lds(width), overwriting_uniform())), [9; 3], "table 2, LDS");
    for store in [false, true] {
        let cycles = WIDTHS.map(|width| {
            let op = if store {
                Op::Sts { width, scale: Scale::X1 }
            } else {
                Op::Stg { width, order: MemOrder::Weak }
            };
            read(uniform(Inst::new(op).srcs([Src::RZ, Src::reg(Reg(4))])), overwriting(4))
        });
        assert_eq!(cycles, [10, 12, 16], "table 2, STG and STS");
    }
}

#[test]
fn loads_of_constants_take_the_measured_cycles() {
    let ldc = |address: Src| {
        Inst::new(Op::Ldc { width: MemWidth::B32, bank: Bank(0) }).dst(Reg(12)).srcs([address])
    };
    let used = |address| last_distance(repeated(ldc(address), writes(0), consumer()));
    assert_eq!([used(Src::RZ), used(Src::reg(Reg(2)))], [26, 29], "to the use of the result");
    let read = |address| last_distance(repeated(ldc(address), reads(0), overwriting(2)));
    assert_eq!([read(Src::RZ), read(Src::reg(Reg(2)))], [10, 29], "until the address has been read");
}

/// Sections 5.1.1 and 5.4: a constant operand that is not in the cache of its sub-core delays its instruction by 79 cycles; the
/// scheduler issues nothing in the first four.
#[test]
fn constants_as_operands_miss_in_a_cache_of_their_sub_core() {
    let with_constant =
        |offset: u16| Coded(Inst::new(Op::Mov {}).dst(Reg(20)).srcs([Src::constant(0, offset)]), stall(1));
    let code = |first: u16, second: u16| -> Vec<Coded> {
        let nops = (0..20).map(|_| Coded(Inst::new(Op::Nop {}), stall(1)));
        nops.chain([with_constant(first), Coded(Inst::new(Op::Nop {}), stall(1)), with_constant(second)])
            .collect()
    };
    let issues = |code: Vec<Coded>, threads: u32, warp: u32| -> Vec<u64> {
        let records = records(&hand(code, threads), &one_sm(ON, &[]), warp);
        records.iter().map(|record| record.issued).collect()
    };
    let one = issues(code(0, 60), 32, 0);
    assert_eq!(one[20] - one[19], 80, "79 cycles beside the one of the issue");
    assert_eq!(one[22] - one[20], 2, "a line of 64 bytes");
    let other = issues(code(0, 64), 32, 0);
    assert_eq!(other[22] - other[21], 80, "another line");
    // Eight warps are two in each sub-core: the one that comes to the constant first misses, and the other has four cycles to
    // wait before it is tried.
    let both = [0, 4].map(|warp| issues(code(0, 60), 256, warp));
    let found = both[0][20].min(both[1][20]);
    let missed = found - 79;
    let during: Vec<u64> =
        both.concat().into_iter().filter(|cycle| (missed..found).contains(cycle)).collect();
    assert_eq!(during.iter().min(), Some(&(missed + 4)), "{during:?} after {missed}");
}

#[test]
fn stall_counts_space_dependent_instructions() {
    let chain = |bits: ControlBits| {
        let code = (0..40).map(|_| Coded(ffma(12, 12, 1, 1), bits)).collect();
        last_distance(code)
    };
    assert_eq!(chain(stall(4)), 4);
    assert_eq!(chain(stall(1)), 1, "nothing but the bits keeps them apart");
    assert_eq!(chain(ControlBits { yields: true, ..stall(1) }), 2);
    assert_eq!(chain(ControlBits { yields: true, ..stall(0) }), 46);
}

/// Listing 1 of the paper: two FFMAs between readings of the clock, the first with three operands of the even bank; the
/// second takes as many cycles more as it has operands of that bank beside the first.
#[test]
fn reads_wait_for_the_single_port_of_their_bank() {
    let waited = |b: u8, c: u8| {
        let mut code: Vec<Coded> = (0..20).map(|_| Coded(Inst::new(Op::Nop {}), stall(1))).collect();
        code.push(Coded(ffma(11, 10, 12, 14), stall(1)));
        code.push(Coded(ffma(13, 16, b, c), stall(1)));
        code.extend((0..8).map(|_| Coded(ffma(21, 1, 3, 5), stall(1))));
        let records = records(&hand(code, 32), &one_sm(ON, &[]), 0);
        records[21].collected - records[20].collected - 1
    };
    assert_eq!([waited(19, 21), waited(18, 21), waited(18, 20)], [0, 1, 2]);
}

/// Section 5.3.1: a value with the reuse flag is found by the next instruction that reads it in the same place; a read of
/// another register of the bank there ends it.
#[test]
fn the_register_file_cache_keeps_what_the_reuse_flags_mark() {
    let bits = |places: [u8; 3], reuse: u8| ControlBits { places: places.map(Reg), reuse, ..stall(1) };
    let hits = |code: &[([u8; 3], u8)]| {
        let code =
            code.iter().map(|(regs @ [a, b, c], reuse)| Coded(ffma(31, *a, *b, *c), bits(*regs, *reuse)));
        let stats = hand(code.collect(), 32).run_on(&one_sm(ON, &[]), &[], 1).expect("a replay");
        stats.counters.register_cache_reads
    };
    // The four examples of listing 4.
    assert_eq!(hits(&[([2, 3, 4], 0b001), ([2, 7, 8], 0)]), 1, "the same place");
    assert_eq!(hits(&[([2, 3, 4], 0b001), ([2, 7, 8], 0b001), ([2, 7, 12], 0)]), 2, "kept again");
    assert_eq!(hits(&[([2, 3, 4], 0b001), ([7, 2, 8], 0)]), 0, "another place");
    assert_eq!(
        hits(&[([2, 3, 4], 0b001), ([6, 7, 8], 0), ([2, 7, 8], 0)]),
        0,
        "another register of the bank"
    );
    assert_eq!(hits(&[([2, 3, 4], 0b001), ([7, 5, 8], 0), ([2, 5, 8], 0)]), 1, "the other bank");
}

/// Table 1: a sub-core issues five memory instructions, then one in four cycles; with all four sub-cores at it, each one in
/// eight.
#[test]
fn memory_instructions_issue_as_queue_and_address_calculation_let_them() {
    let load =
        Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X1 }).dst(Reg(12)).srcs([Src::reg(Reg(2))]);
    let issues = |threads: u32| -> Vec<u64> {
        let mut code: Vec<Coded> = (0..30).map(|_| Coded(Inst::new(Op::Nop {}), stall(1))).collect();
        // The barrier brings the warps together.
        code.push(Coded(
            Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]),
            stall(1),
        ));
        code.extend((0..30).map(|_| Coded(Inst::new(Op::Nop {}), stall(1))));
        code.extend((0..16).map(|_| Coded(load, stall(1))));
        let records = records(&hand(code, threads), &one_sm(ON, &[]), 0);
        let issued: Vec<u64> = records[61..77].iter().map(|record| record.issued).collect();
        issued.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    let one = issues(32);
    assert_eq!(one[..4], [1; 4], "the queue of four and its latch");
    assert_eq!(one[8..], [4; 7], "one sub-core");
    let four = issues(128);
    assert_eq!(four[8..], [8; 7], "four sub-cores");
}

/// A random kernel with control bits: arithmetic, loads and stores with counters, waits.
fn kernel() -> impl Strategy<Value = (Vec<(u8, u8, u8, u8)>, u32)> {
    (prop::collection::vec((0u8..8, 1u8..12, 0u8..16, 0u8..6), 1..60), 1u32..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Cycles in which nothing can happen are skipped, with the same result.
    #[test]
    fn skipped_cycles_change_nothing((code, warps) in kernel()) {
        let coded = code.iter().map(|&(kind, reg, stall_cycles, counter)| {
            let bits = ControlBits { yields: reg % 3 == 0, ..stall(stall_cycles) };
            let even = reg / 2 * 2;
            match kind {
                0 => Coded(load(MemWidth::B32), ControlBits { write_counter: Some(counter), ..bits }),
                1 => Coded(
                    Inst::new(Op::Stg { width: MemWidth::B64, order: MemOrder::Weak })
                        .srcs([Src::reg(Reg(even)), Src::reg(Reg(4))]),
                    ControlBits { read_counter: Some(counter), ..bits },
                ),
                2 => Coded(ffma(reg, 2, 4, 6), ControlBits { waits_for: 1 << counter, ..bits }),
                3 => Coded(ffma(reg, reg, 1, 3), ControlBits { waits_until: Some((counter, 1)), ..bits }),
                4 => Coded(
                    Inst::new(Op::Mufu { func: MufuFn::Rcp, ftz: Ftz(false) }).dst(Reg(reg)).srcs([Src::reg(Reg(1))]),
                    ControlBits { write_counter: Some(counter), ..bits },
                ),
                5 => Coded(
                    Inst::new(Op::Mov {}).dst(Reg(reg)).srcs([Src::constant(counter % 2, u16::from(stall_cycles) * 40)]),
                    bits,
                ),
                6 => Coded(uniform(load(MemWidth::B64)), ControlBits { write_counter: Some(counter), ..bits }),
                _ => Coded(ffma(reg, 1, 2, 3), ControlBits { partial: true, ..bits }),
            }
        });
        let hand = hand(coded.collect(), warps * 32);
        for dependences in ["control-bits", "scoreboard"] {
            let config = one_sm(ON, &[&format!("sub_core.dependences={dependences}")]);
            let of = |every_cycle: bool| {
                let stats = hand.run_with(&config, &[], 1, every_cycle).expect("a replay without error");
                format!("{:?} {:?} {}", stats.counters, stats.stalls, stats.latency.to_json())
            };
            prop_assert_eq!(of(false), of(true));
        }
    }
}
