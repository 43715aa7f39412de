//! Divergence, reconvergence, loops, calls and exits of hand-built kernels, compared with what each thread computes
//! on its own.

use crate::exec_kit;

use exec_kit::*;
use trace_format::isa::*;

/// Runs a kernel of one output buffer and compares every thread's word with `expect(thread)`.
fn check(kernel: &MachineKernel, threads: u32, expect: impl Fn(u32) -> u32) {
    let mut device = Device::new(&[&vec![0; threads as usize]]);
    device.run(kernel, 1, threads).unwrap_or_else(|e| panic!("{e}"));
    let got = device.words(0);
    for t in 0..threads {
        assert_eq!(got[t as usize], expect(t), "thread {t}");
    }
}

#[test]
fn both_sides_of_a_branch_meet_again() {
    let mut a = Asm::new();
    let (other, join) = (a.label(), a.label());
    a.thread(0).and(1, 0, imm(1)).setp(0, ICmp::Eq, 1, imm(0)).bra(other, p(0));
    a.mov(2, imm(100)).bra(join, PredSrc::TRUE);
    a.bind(other).mov(2, imm(200));
    // After the reconvergence point all lanes are active again, as the active mask shows.
    a.bind(join).sr(3, SpecialReg::ActiveMask).push(Inst::new(Op::Popc {}).dst(r(3)).srcs([reg(3)]));
    a.mad(2, 2, imm(1000), 3).address(4, 0, 0).stg(4, reg(2)).exit(PredSrc::TRUE);
    check(&a.build(), 50, |t| {
        let together = if t < 32 { 32 } else { 18 };
        (if t % 2 == 0 { 200 } else { 100 }) * 1000 + together
    });
}

#[test]
fn nested_branches_in_a_divergent_loop() {
    // for i in 0..tid % 7 { if i odd { x += 3 } else if tid & 4 != 0 { x ^= i } else { x *= 2 } ; x += 1 }
    let mut a = Asm::new();
    let (head, done, odd, double, next) = (a.label(), a.label(), a.label(), a.label(), a.label());
    a.thread(0).mov(1, imm(0)).mov(2, imm(1));
    // tid % 7 by subtraction in a divergent loop of its own.
    let (modulo, modulo_done) = (a.label(), a.label());
    a.mov(5, reg(0)).bind(modulo).setp(0, ICmp::Lt, 5, imm(7)).bra(modulo_done, p(0));
    a.add(5, 5, imm(7u32.wrapping_neg())).bra(modulo, PredSrc::TRUE).bind(modulo_done);
    a.bind(head).setp(0, ICmp::Ge, 1, reg(5)).bra(done, p(0));
    a.and(3, 1, imm(1)).setp(1, ICmp::Ne, 3, imm(0)).bra(odd, p(1));
    a.and(3, 0, imm(4)).setp(2, ICmp::Eq, 3, imm(0)).bra(double, p(2));
    a.push(Inst::new(Op::Lop3 { lut: Lut(Lut::A ^ Lut::B) }).dst(r(2)).srcs([reg(2), reg(1), Src::RZ]));
    a.bra(next, PredSrc::TRUE);
    a.bind(double).add(2, 2, reg(2)).bra(next, PredSrc::TRUE);
    a.bind(odd).add(2, 2, imm(3));
    a.bind(next).add(2, 2, imm(1)).add(1, 1, imm(1)).bra(head, PredSrc::TRUE);
    a.bind(done).sr(6, SpecialReg::ActiveMask).push(Inst::new(Op::Popc {}).dst(r(6)).srcs([reg(6)]));
    a.mad(2, 2, imm(100), 6).address(8, 0, 0).stg(8, reg(2)).exit(PredSrc::TRUE);
    check(&a.build(), 64, |t| {
        let mut x = 1u32;
        for i in 0..t % 7 {
            match (i % 2 == 1, t & 4 != 0) {
                (true, _) => x += 3,
                (_, true) => x ^= i,
                _ => x *= 2,
            }
            x += 1;
        }
        x * 100 + 32
    });
}

#[test]
fn lanes_that_exit_early_are_not_waited_for() {
    let mut a = Asm::new();
    let skip = a.label();
    a.thread(0).setp(0, ICmp::Ge, 0, imm(20)).bra(skip, p(0));
    a.setp(1, ICmp::Lt, 0, imm(10)).exit(p(1)).add(1, 0, imm(5));
    a.bind(skip).add(1, 1, imm(1)).address(2, 0, 0).stg(2, reg(1)).exit(PredSrc::TRUE);
    check(&a.build(), 32, |t| match t {
        0..10 => 0,
        10..20 => t + 6,
        _ => 1,
    });
}

#[test]
fn all_lanes_of_one_side_may_exit() {
    let mut a = Asm::new();
    let stay = a.label();
    a.thread(0).and(1, 0, imm(3)).setp(0, ICmp::Ne, 1, imm(0)).bra(stay, p(0)).exit(PredSrc::TRUE);
    a.bind(stay).address(2, 0, 0).stg(2, reg(0)).exit(PredSrc::TRUE);
    check(&a.build(), 64, |t| if t % 4 == 0 { 0 } else { t });
}

/// A function that halves R4 until it is odd, and returns lane by lane.
fn halving(a: &mut Asm, name: Label) {
    let again = a.label();
    a.function(name, "halve").bind(again).and(5, 4, imm(1)).setp(3, ICmp::Ne, 5, imm(0)).ret(p(3));
    a.push(
        Inst::new(Op::ShfR { sign: Sign::U32, wide: Wide(false), wrap: Wrap(false), high: High(true) })
            .dst(r(4))
            .srcs([Src::RZ, imm(1), reg(4)]),
    );
    a.bra(again, PredSrc::TRUE);
}

#[test]
fn calls_return_lane_by_lane_and_meet_behind_the_call() {
    let mut a = Asm::new();
    let halve = a.label();
    a.thread(0).add(4, 0, imm(1)).call(halve, PredSrc::TRUE).sr(6, SpecialReg::ActiveMask);
    a.push(Inst::new(Op::Popc {}).dst(r(6)).srcs([reg(6)])).mad(4, 4, imm(100), 6);
    a.address(2, 0, 0).stg(2, reg(4)).exit(PredSrc::TRUE);
    halving(&mut a, halve);
    check(&a.build(), 32, |t| ((t + 1) >> (t + 1).trailing_zeros()) * 100 + 32);
}

#[test]
fn guarded_and_diverged_calls() {
    let mut a = Asm::new();
    let (halve, skip) = (a.label(), a.label());
    a.thread(0).add(4, 0, imm(1)).setp(0, ICmp::Lt, 0, imm(16)).setp(1, ICmp::Lt, 0, imm(8));
    a.bra(skip, not_p(0)).call(halve, p(1)).add(4, 4, imm(1000));
    a.bind(skip).address(2, 0, 0).stg(2, reg(4)).exit(PredSrc::TRUE);
    halving(&mut a, halve);
    check(&a.build(), 32, |t| match t {
        0..8 => ((t + 1) >> (t + 1).trailing_zeros()) + 1000,
        8..16 => t + 1001,
        _ => t + 1,
    });
}

#[test]
fn recursion_to_a_depth_that_differs_by_lane() {
    // f(n): if n == 0 return; x += n; f(n - 1)
    let mut a = Asm::new();
    let f = a.label();
    a.thread(0).mov(4, reg(0)).mov(5, imm(0)).call(f, PredSrc::TRUE);
    a.address(2, 0, 0).stg(2, reg(5)).exit(PredSrc::TRUE);
    a.function(f, "f").setp(0, ICmp::Eq, 4, imm(0)).ret(p(0)).add(5, 5, reg(4)).add(4, 4, imm(u32::MAX));
    a.call(f, PredSrc::TRUE).ret(PredSrc::TRUE);
    check(&a.build(), 32, |t| t * (t + 1) / 2);
}

#[test]
fn exit_inside_a_function_ends_the_lane_everywhere() {
    let mut a = Asm::new();
    let f = a.label();
    a.thread(0).setp(0, ICmp::Lt, 0, imm(5)).call(f, PredSrc::TRUE).address(2, 0, 0).stg(2, imm(7));
    a.exit(PredSrc::TRUE);
    a.function(f, "f").exit(p(0)).ret(PredSrc::TRUE);
    check(&a.build(), 40, |t| if t < 5 { 0 } else { 7 });
}

#[test]
fn local_memory_is_each_threads_own() {
    let mut a = Asm::new();
    a.local = 64;
    let op = Op::Stl { width: MemWidth::B32 };
    let at = |op, offset| {
        let mut inst = Inst::new(op);
        inst.offset = offset;
        inst
    };
    a.thread(0).mov(9, imm(8)).push(at(op, 16).srcs([reg(9), reg(0)]));
    a.push(at(Op::Ldl { width: MemWidth::B32 }, 16).dst(r(3)).srcs([reg(9)]));
    // Generic address of the same place.
    a.mov(6, imm(24)).mov(7, imm(space::LOCAL_WINDOW_HI));
    a.push(Inst::new(Op::Ld { width: MemWidth::B32, order: MemOrder::Weak }).dst(r(5)).srcs([reg(6)]));
    a.mad(3, 3, imm(1000), 5).address(10, 0, 0).stg(10, reg(3)).exit(PredSrc::TRUE);
    check(&a.build(), 64, |t| t * 1001);
}

#[test]
fn spinning_lanes_let_their_siblings_act() {
    // Lanes 1.. spin until lane 0, on the other side of the branch, has set a flag in shared memory.
    let mut a = Asm::new();
    a.shared = 4;
    let (spin, release, done) = (a.label(), a.label(), a.label());
    a.thread(0).setp(0, ICmp::Eq, 0, imm(0)).mov(3, imm(0)).bra(release, p(0));
    a.bind(spin).lds(2, 3, 0).setp(1, ICmp::Eq, 2, imm(0)).bra(spin, p(1)).bra(done, PredSrc::TRUE);
    a.bind(release).mov(2, imm(9)).sts(3, 2);
    a.bind(done).address(4, 0, 0).stg(4, reg(2)).exit(PredSrc::TRUE);
    check(&a.build(), 32, |_| 9);
}

#[test]
fn spinning_lanes_let_those_act_who_wait_for_them() {
    // As with a lock that is taken in a loop and released after it: the owner waits at the reconvergence point for
    // lanes that wait for the owner.
    let mut a = Asm::new();
    a.shared = 4;
    let (acquire, next) = (a.label(), a.label());
    a.thread(0).mov(3, imm(0)).bind(acquire);
    let cas = Op::Atoms { op: AtomOp::Cas, ty: AtomTy::U32, scale: Scale::X1 };
    a.push(Inst::new(cas).dst(r(2)).srcs([reg(3), reg(3), imm(1)]));
    a.setp(0, ICmp::Ne, 2, imm(0)).bra(acquire, p(0));
    // The critical section: counts in buffer 1.
    a.address(4, 3, 1).ldg(6, 4).add(6, 6, imm(1)).stg(4, reg(6));
    a.sts(3, 3).bind(next).address(4, 0, 0).stg(4, reg(6)).exit(PredSrc::TRUE);
    let kernel = a.build();
    let mut device = Device::new(&[&[0; 8], &[0]]);
    device.options.max_instructions = 200 << 20;
    device.run(&kernel, 1, 8).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(device.words(1), [8]);
    let mut tickets = device.words(0);
    tickets.sort_unstable();
    assert_eq!(tickets, (1..=8).collect::<Vec<u32>>());
    let (stats, trace) = Device::new(&[&[0; 8], &[0]]).record(&kernel, 1, 8, 1);
    let report = verify(&trace);
    assert_eq!(
        (report.problems.as_slice(), report.warp_instructions),
        ([].as_slice(), stats.warp_instructions)
    );
}
