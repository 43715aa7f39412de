//! Barriers, warp synchronisation, atomics, and the independence of results from the number of threads.

use crate::exec_kit;

use emulator::exec::InOrder;
use exec_kit::*;
use proptest::prelude::*;
use trace_format::isa::*;

fn wide_atomic(op: AtomOp, result: bool) -> Op {
    let (ty, mode, order, scope) = (AtomTy::U32, AddrMode::Global, MemOrder::Strong, Scope::Gpu);
    if result { Op::Atomg { op, ty, mode, order, scope } } else { Op::Red { op, ty, mode, order, scope } }
}

#[test]
fn a_block_exchanges_through_shared_memory() {
    // Reverses 256 words: out[255 - t] = t, through shared memory.
    let mut a = Asm::new();
    a.shared = 1024;
    a.thread(0).sts(0, 0).sync().mov(1, imm(255)).push(
        Inst::new(Op::Iadd3 { x: Extended(false) }).dst(r(1)).srcs([reg(1), reg(0).negated(), Src::RZ]),
    );
    a.lds(2, 1, 0).address(4, 0, 0).stg(4, reg(2)).exit(PredSrc::TRUE);
    let mut device = Device::new(&[&[0; 256]]);
    device.run(&a.build(), 1, 256).unwrap();
    assert_eq!(device.words(0), (0..256).rev().collect::<Vec<u32>>());
}

#[test]
fn threads_that_have_exited_are_not_waited_for() {
    let mut a = Asm::new();
    a.thread(0)
        .setp(0, ICmp::Ge, 0, imm(40))
        .exit(p(0))
        .sync()
        .address(4, 0, 0)
        .stg(4, imm(1))
        .exit(PredSrc::TRUE);
    let mut device = Device::new(&[&[0; 100]]);
    device.run(&a.build(), 1, 100).unwrap();
    assert_eq!(device.words(0).iter().sum::<u32>(), 40);
}

#[test]
fn both_sides_of_a_branch_may_wait_at_the_same_barrier() {
    let mut a = Asm::new();
    let (other, join) = (a.label(), a.label());
    a.thread(0)
        .and(1, 0, imm(1))
        .setp(0, ICmp::Ne, 1, imm(0))
        .bra(other, p(0))
        .sync()
        .bra(join, PredSrc::TRUE);
    a.bind(other).sync();
    a.bind(join).sync().address(4, 0, 0).stg(4, imm(1)).exit(PredSrc::TRUE);
    let mut device = Device::new(&[&[0; 96]]);
    device.run(&a.build(), 1, 96).unwrap();
    assert_eq!(device.words(0).iter().sum::<u32>(), 96);
}

#[test]
fn reductions_give_every_thread_the_same_result() {
    let mut a = Asm::new();
    a.thread(0).setp(0, ICmp::Lt, 0, imm(70));
    for (mode, dst) in [(BarMode::RedPopc, 2), (BarMode::RedAnd, 3), (BarMode::RedOr, 4)] {
        let mut inst = Inst::new(Op::Bar { mode }).srcs([imm(1), imm(0)]);
        if mode == BarMode::RedPopc {
            inst = inst.dst(r(dst));
        }
        inst.psrc[0] = PredSrc::of(Pred(0));
        inst.pdst[0] = Pred(dst);
        a.push(inst);
    }
    for dst in [3, 4] {
        let mut sel = Inst::new(Op::Sel {}).dst(r(dst)).srcs([imm(1), Src::RZ]);
        sel.psrc[0] = PredSrc::of(Pred(dst));
        a.push(sel);
    }
    a.mov(5, imm(10))
        .mad(2, 2, reg(5), 3)
        .mad(2, 2, reg(5), 4)
        .address(6, 0, 0)
        .stg(6, reg(2))
        .exit(PredSrc::TRUE);
    let mut device = Device::new(&[&[0; 100]]);
    device.run(&a.build(), 1, 100).unwrap();
    assert_eq!(device.words(0), [7001; 100]);
}

#[test]
fn producers_arrive_and_consumers_wait() {
    // Warp 0 writes and arrives; warp 1 waits for 64 threads, then reads.
    let mut a = Asm::new();
    a.shared = 128;
    let (consumer, end) = (a.label(), a.label());
    a.sr(0, SpecialReg::LaneId).sr(1, SpecialReg::WarpId).setp(0, ICmp::Eq, 1, imm(0)).bra(consumer, p(0));
    a.add(2, 0, imm(7)).sts(0, 2).bar(BarMode::Arrive, 3, 64, PredSrc::TRUE).bra(end, PredSrc::TRUE);
    a.bind(consumer).bar(BarMode::Sync, 3, 64, PredSrc::TRUE).lds(2, 0, 0).address(4, 0, 0).stg(4, reg(2));
    a.bind(end).exit(PredSrc::TRUE);
    let mut device = Device::new(&[&[0; 32]]);
    device.run(&a.build(), 1, 64).unwrap();
    assert_eq!(device.words(0), (7..39).collect::<Vec<u32>>());
}

#[test]
fn partial_warps_count_whole_at_barriers_with_a_count() {
    let mut a = Asm::new();
    a.thread(0).bar(BarMode::Sync, 1, 64, PredSrc::TRUE).address(4, 0, 0).stg(4, imm(1)).exit(PredSrc::TRUE);
    let mut device = Device::new(&[&[0; 40]]);
    device.run(&a.build(), 1, 40).unwrap();
    assert_eq!(device.words(0), [1; 40]);
}

#[test]
fn diverged_lanes_meet_at_warpsync() {
    let mut a = Asm::new();
    a.shared = 128;
    let (odd, join) = (a.label(), a.label());
    let warpsync = Inst::new(Op::Warpsync {}).srcs([imm(u32::MAX)]);
    a.sr(0, SpecialReg::LaneId).and(1, 0, imm(1)).setp(0, ICmp::Ne, 1, imm(0)).bra(odd, p(0));
    a.sts(0, 0).push(warpsync).bra(join, PredSrc::TRUE);
    a.bind(odd)
        .sts(0, 0)
        .push(warpsync)
        .push(Inst::new(Op::Lop3 { lut: Lut(Lut::A ^ Lut::B) }).dst(r(2)).srcs([reg(0), imm(1), Src::RZ]));
    // Odd lanes read what their even neighbours have written.
    a.lds(1, 2, 0);
    a.bind(join).address(4, 0, 0).stg(4, reg(1)).exit(PredSrc::TRUE);
    let mut device = Device::new(&[&[0; 32]]);
    device.run(&a.build(), 1, 32).unwrap();
    assert_eq!(device.words(0), (0..32).map(|l| if l % 2 == 1 { l - 1 } else { 0 }).collect::<Vec<u32>>());
}

#[test]
fn atomics_go_lane_by_lane_and_block_by_block() {
    let mut a = Asm::new();
    a.thread(0).mov(1, imm(0)).address(2, 1, 1);
    a.push(Inst::new(wide_atomic(AtomOp::Add, true)).dst(r(4)).srcs([reg(2), imm(3)]));
    a.address(2, 0, 0).stg(2, reg(4)).exit(PredSrc::TRUE);
    for threads in [1, 3] {
        let mut device = Device::new(&[&[0; 320], &[5]]);
        device.options.threads = threads;
        let stats = device.run(&a.build(), 5, 64).unwrap();
        assert_eq!(device.words(0), (0..320).map(|t| 5 + 3 * t).collect::<Vec<u32>>());
        assert_eq!(device.words(1), [5 + 3 * 320]);
        assert_eq!(stats.in_order, Some(if threads == 1 { InOrder::Single } else { InOrder::Communicates }));
    }
}

#[test]
fn blocks_that_wait_for_later_blocks_finish() {
    // Block 0 waits until block 1 has set the flag.
    let mut a = Asm::new();
    let (spin, set, done) = (a.label(), a.label(), a.label());
    a.sr(0, SpecialReg::CtaidX).mov(1, imm(2)).address(2, 1, 0).setp(0, ICmp::Eq, 0, imm(1)).bra(set, p(0));
    let strong = Op::Ldg { width: MemWidth::B32, order: MemOrder::Acquire, ro: ReadOnly(false) };
    a.bind(spin)
        .push(Inst::new(strong).dst(r(4)).srcs([reg(2)]))
        .setp(1, ICmp::Eq, 4, imm(0))
        .bra(spin, p(1));
    a.bra(done, PredSrc::TRUE).bind(set).stg(2, imm(7));
    a.bind(done).address(2, 0, 0).stg(2, imm(1)).exit(PredSrc::TRUE);
    for threads in [1, 2] {
        let mut device = Device::new(&[&[0; 3]]);
        device.options.threads = threads;
        device.run(&a.build(), 2, 1).unwrap();
        assert_eq!(device.words(0), [1, 1, 7]);
    }
}

/// Writes out[t] = in[t] + 1 in every block, but block `odd_one` also reads or writes something of another block.
fn disturbed(odd_one: u32, extra: &str) -> MachineKernel {
    let mut a = Asm::new();
    let plain = a.label();
    a.thread(0).address(2, 0, 0).ldg(4, 2).add(4, 4, imm(1)).address(2, 0, 1).stg(2, reg(4));
    a.sr(5, SpecialReg::CtaidX).setp(0, ICmp::Ne, 5, imm(odd_one)).bra(plain, p(0));
    match extra {
        // Reads the output of the previous block, and writes its own output again from it.
        "reads" => {
            a.add(6, 0, imm(64u32.wrapping_neg()))
                .address(8, 6, 1)
                .ldg(4, 8)
                .add(4, 4, imm(1000))
                .stg(2, reg(4));
        }
        // Writes the input of the next block.
        "writes" => {
            a.add(6, 0, imm(64)).address(8, 6, 0).stg(8, imm(5000));
        }
        // Overwrites the output of the next block, whose later write remains.
        _ => {
            a.add(6, 0, imm(64)).address(8, 6, 1).stg(8, imm(9));
        }
    }
    a.bind(plain).exit(PredSrc::TRUE);
    a.build()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn side_by_side_is_as_in_order(odd_one in 1u32..98, extra in prop::sample::select(vec!["reads", "writes", "over"]), threads in 2usize..6) {
        let kernel = disturbed(odd_one, extra);
        let input: Vec<u32> = (0..64 * 100).collect();
        let run = |threads| {
            let mut device = Device::new(&[&input, &vec![0; 64 * 100]]);
            device.options.threads = threads;
            let stats = device.run(&kernel, 100, 64).unwrap();
            (device.words(0), device.words(1), stats)
        };
        let (in0, out0, stats0) = run(1);
        let (in1, out1, stats1) = run(threads);
        prop_assert_eq!(in0, in1);
        prop_assert_eq!(out0, out1);
        prop_assert_eq!(stats0.warp_instructions, stats1.warp_instructions);
        prop_assert_eq!(stats0.thread_instructions, stats1.thread_instructions);
    }
}

#[test]
fn reductions_without_result_run_side_by_side_in_block_order() {
    // Floating-point sums depend on their order.
    let mut a = Asm::new();
    a.thread(0).push(
        Inst::new(Op::I2f { dst: FloatTy::F32, src: IntTy::U32, rnd: Rnd::Rn }).dst(r(1)).srcs([reg(0)]),
    );
    a.push(Inst::new(Op::Mufu { func: MufuFn::Sqrt, ftz: Ftz(false) }).dst(r(1)).srcs([reg(1)]));
    a.mov(5, imm(0)).address(2, 5, 0);
    let (op, mode, order, scope) = (AtomOp::Add, AddrMode::Global, MemOrder::Strong, Scope::Gpu);
    a.push(Inst::new(Op::Red { op, ty: AtomTy::F32, mode, order, scope }).srcs([reg(2), reg(1)]))
        .exit(PredSrc::TRUE);
    let run = |threads| {
        let mut device = Device::new(&[&[0]]);
        device.options.threads = threads;
        let stats = device.run(&a.build(), 64, 128).unwrap();
        (device.words(0), stats.in_order)
    };
    let expect = (0..64 * 128u32).fold(0f32, |sum, t| sum + (t as f32).sqrt());
    let (one, _) = run(1);
    let relative = (f32::from_bits(one[0]) / expect - 1.0).abs();
    assert!(relative < 1e-4, "{} {expect}", f32::from_bits(one[0]));
    let (four, in_order) = run(4);
    assert_eq!((one, None), (four, in_order));
}

#[test]
fn long_blocks_commit_in_pieces() {
    // Each thread stores 3000 times: more than a log holds.
    let mut a = Asm::new();
    let again = a.label();
    a.thread(0).mov(1, imm(0)).mov(6, reg(0)).bind(again).address(2, 6, 0).stg(2, reg(6)).add(
        6,
        6,
        imm(2048),
    );
    a.add(1, 1, imm(1)).setp(0, ICmp::Lt, 1, imm(3000)).bra(again, p(0)).exit(PredSrc::TRUE);
    let mut device = Device::new(&[&vec![0; 2048 * 3000]]);
    device.options.threads = 3;
    let stats = device.run(&a.build(), 2, 1024).unwrap();
    assert_eq!(stats.in_order, None);
    assert!(device.words(0).iter().enumerate().all(|(i, &w)| i as u32 == w));
}

#[test]
fn recordings_of_disturbed_launches_are_the_same_for_every_number_of_threads() {
    let input: Vec<u32> = (0..64 * 40).collect();
    for extra in ["reads", "writes", "over"] {
        let kernel = disturbed(23, extra);
        let record = |threads| Device::new(&[&input, &vec![0; 64 * 40]]).record(&kernel, 40, 64, threads).1;
        let one = record(1);
        assert_eq!(verify(&one).problems, []);
        assert!(one == record(2) && one == record(5), "{extra}");
    }
}

#[test]
fn recordings_of_barriers_and_warpsync_hold() {
    // Diverged lanes at the same barrier, a reduction, and a warp-wide barrier, in one kernel.
    let mut a = Asm::new();
    a.shared = 512;
    let (other, join, odd, meet) = (a.label(), a.label(), a.label(), a.label());
    let warpsync = Inst::new(Op::Warpsync {}).srcs([imm(u32::MAX)]);
    a.thread(0).and(1, 0, imm(1)).setp(0, ICmp::Ne, 1, imm(0)).sts(0, 0).bra(other, p(0));
    a.sync().lds(2, 0, 0).bra(join, PredSrc::TRUE).bind(other).lds(2, 0, 0).sync().lds(3, 0, 0).bind(join);
    let mut red = Inst::new(Op::Bar { mode: BarMode::RedPopc }).dst(r(5)).srcs([imm(2), imm(0)]);
    red.psrc[0] = PredSrc::of(Pred(0));
    red.pdst[0] = Pred(1);
    a.push(red).bra(odd, p(0)).push(warpsync).lds(6, 0, 0).bra(meet, PredSrc::TRUE);
    a.bind(odd).lds(6, 0, 0).push(warpsync).lds(7, 0, 0).bind(meet).add(5, 5, reg(6));
    a.address(8, 0, 0).stg(8, reg(5)).exit(PredSrc::TRUE);
    let kernel = a.build();
    let (stats, trace) = Device::new(&[&[0; 100]]).record(&kernel, 1, 100, 1);
    let report = verify(&trace);
    assert_eq!(
        (report.problems.as_slice(), report.warp_instructions),
        ([].as_slice(), stats.warp_instructions)
    );
    let mut device = Device::new(&[&[0; 100]]);
    device.run(&kernel, 1, 100).unwrap();
    assert_eq!(device.words(0), (0..100).map(|t| 50 + t).collect::<Vec<u32>>());
}

/// Runs a kernel on one word per thread, recorded and not, and checks the recording.
fn words_of(kernel: &MachineKernel, threads: u32) -> Vec<u32> {
    let zeros = vec![0; threads as usize];
    let (stats, trace) = Device::new(&[&zeros]).record(kernel, 1, threads, 1);
    let report = verify(&trace);
    assert_eq!(
        (report.problems.as_slice(), report.warp_instructions),
        ([].as_slice(), stats.warp_instructions)
    );
    let mut device = Device::new(&[&zeros]);
    device.run(kernel, 1, threads).unwrap();
    device.words(0)
}

fn warpsync(members: u32) -> Inst {
    Inst::new(Op::Warpsync {}).srcs([imm(members)])
}

#[test]
fn lanes_that_branch_around_a_warpsync_go_on_to_their_exit() {
    // Lanes 0 and 1 wait for the whole warp; the others continue, store and exit, which counts as arrival.
    for members in [u32::MAX, 0xF] {
        let mut a = Asm::new();
        let skip = a.label();
        a.thread(0).address(4, 0, 0).mov(6, imm(1)).setp(0, ICmp::Ge, 0, imm(2)).bra(skip, p(0));
        a.push(warpsync(members)).mov(6, imm(2)).bind(skip).stg(4, reg(6)).exit(PredSrc::TRUE);
        let expect: Vec<u32> = (0..32).map(|l| if l < 2 { 2 } else { 1 }).collect();
        assert_eq!(words_of(&a.build(), 32), expect, "{members:#x}");
    }
}

#[test]
fn lanes_that_return_around_a_warpsync_go_on_to_their_exit() {
    // The same within a function, once called by all lanes and once only by those that wait.
    for all_call in [true, false] {
        let mut a = Asm::new();
        let (function, skip) = (a.label(), a.label());
        a.thread(0).address(4, 0, 0).mov(6, imm(1)).setp(0, ICmp::Ge, 0, imm(2));
        a.call(function, if all_call { PredSrc::TRUE } else { not_p(0) }).stg(4, reg(6)).exit(PredSrc::TRUE);
        a.function(function, "waits").bra(skip, p(0)).push(warpsync(u32::MAX)).mov(6, imm(2));
        a.bind(skip).ret(PredSrc::TRUE);
        let expect: Vec<u32> = (0..32).map(|l| if l < 2 { 2 } else { 1 }).collect();
        assert_eq!(words_of(&a.build(), 32), expect, "all call: {all_call}");
    }
}

#[test]
fn lanes_that_branch_around_a_barrier_go_on() {
    // Half of each warp waits at a barrier that the others do not reach: they exit, or arrive at the next one.
    for more in [false, true] {
        let mut a = Asm::new();
        let skip = a.label();
        a.thread(0).address(4, 0, 0).mov(6, imm(1)).sr(1, SpecialReg::LaneId);
        a.setp(0, ICmp::Ge, 1, imm(16)).bra(skip, p(0)).sync().mov(6, imm(2)).bind(skip);
        if more {
            a.sync();
        }
        a.stg(4, reg(6)).exit(PredSrc::TRUE);
        let expect: Vec<u32> = (0..96).map(|t| if t % 32 < 16 { 2 } else { 1 }).collect();
        assert_eq!(words_of(&a.build(), 96), expect, "another barrier: {more}");
    }
}

#[test]
fn lanes_that_were_waited_for_at_a_warpsync_may_come_by_another_way() {
    // Lanes 0 to 7 wait for all; 8 to 15 wait at a barrier of the block, which the other warp completes only after
    // the rest has exited.
    let mut a = Asm::new();
    let (second, rest, end) = (a.label(), a.label(), a.label());
    a.thread(0).address(4, 0, 0).mov(6, imm(1)).setp(0, ICmp::Ge, 0, imm(16)).bra(rest, p(0));
    a.setp(0, ICmp::Ge, 0, imm(8))
        .bra(second, p(0))
        .push(warpsync(0xFFFF))
        .mov(6, imm(2))
        .bra(end, PredSrc::TRUE);
    a.bind(second)
        .mov(6, imm(3))
        .push(warpsync(0xFFFF))
        .bind(end)
        .bind(rest)
        .stg(4, reg(6))
        .exit(PredSrc::TRUE);
    let expect: Vec<u32> = (0..32).map(|l| [2, 3, 1, 1][l / 8]).collect();
    assert_eq!(words_of(&a.build(), 32), expect);
}

/// Warp 0 computes for some hundred instructions, then reads the word that warp 1 writes after a few.
fn racy() -> MachineKernel {
    let mut a = Asm::new();
    let (reader, again, end) = (a.label(), a.label(), a.label());
    a.shared = 128;
    a.thread(0)
        .sr(1, SpecialReg::WarpId)
        .mov(2, imm(0))
        .mov(3, imm(0))
        .setp(0, ICmp::Eq, 1, imm(0))
        .bra(reader, p(0));
    a.mov(4, imm(77)).sts(2, 4).bra(end, PredSrc::TRUE);
    a.bind(reader).bind(again).add(3, 3, imm(1)).setp(1, ICmp::Lt, 3, imm(200)).bra(again, p(1));
    a.lds(4, 2, 0).address(6, 0, 0).stg(6, reg(4)).bind(end).exit(PredSrc::TRUE);
    a.build()
}

#[test]
fn warps_of_a_block_take_turns() {
    let first = |interleave: Option<u64>| {
        let mut device = Device::new(&[&[0; 64]]);
        device.options.interleave = interleave.unwrap_or(device.options.interleave);
        device.run(&racy(), 1, 64).unwrap();
        device.words(0)[0]
    };
    assert_eq!(first(Some(1 << 20)), 0, "one warp after the other");
    assert_eq!([first(None), first(Some(1)), first(Some(300))], [77; 3], "in turns");
    let record = |threads| {
        let mut device = Device::new(&[&[0; 64 * 9]]);
        device.options.interleave = 5;
        device.record(&racy(), 9, 64, threads).1
    };
    let one = record(1);
    assert_eq!(verify(&one).problems, []);
    assert!(one == record(3), "threads change the trace");
}

#[test]
fn spinning_warps_are_noticed_in_turns_of_any_length() {
    // Warp 0 waits for a word that warp 1 of its block writes after a while; then for one that nobody writes.
    for interleave in [1, 7, 32, 1 << 20] {
        for forgotten in [false, true] {
            let mut a = Asm::new();
            let (writer, spin, again, end) = (a.label(), a.label(), a.label(), a.label());
            a.sr(1, SpecialReg::WarpId)
                .mov(0, imm(0))
                .address(4, 0, 0)
                .setp(0, ICmp::Eq, 1, imm(1))
                .bra(writer, p(0));
            let strong = Op::Ldg { width: MemWidth::B32, order: MemOrder::Acquire, ro: ReadOnly(false) };
            a.bind(spin).push(Inst::new(strong).dst(r(6)).srcs([reg(4)]));
            a.setp(1, ICmp::Eq, 6, imm(0)).bra(spin, p(1)).bra(end, PredSrc::TRUE);
            a.bind(writer).bind(again).add(0, 0, imm(1)).setp(1, ICmp::Lt, 0, imm(5000)).bra(again, p(1));
            a.stg(4, imm(if forgotten { 0 } else { 9 })).bind(end).exit(PredSrc::TRUE);
            let mut device = Device::new(&[&[0]]);
            device.options.interleave = interleave;
            if forgotten {
                let fault = device.fault(&a.build(), 1, 64);
                assert!(fault.to_string().contains("`buffer0` + 0"), "{interleave}: {fault}");
            } else {
                device.run(&a.build(), 1, 64).unwrap();
            }
        }
    }
}
