//! Barriers that lanes of a warp reach separately: reductions in diverged and partially filled warps, thread
//! counts, all sixteen barriers; the result in every thread, and that recordings verify.

use crate::exec_kit;

use exec_kit::*;
use proptest::prelude::*;
use trace_format::isa::*;

/// A reduction over predicate 0; the count goes to register 5, the truth to predicate 1.
fn reduction(mode: BarMode, id: Src, threads: u32) -> Inst {
    let mut inst = Inst::new(Op::Bar { mode }).dst(r(5)).srcs([id, imm(threads)]);
    inst.psrc[0] = PredSrc::of(Pred(0));
    inst.pdst[0] = Pred(1);
    inst
}

/// Runs a kernel recorded and not, with one output word per thread, and checks the recording.
fn run(kernel: &MachineKernel, threads: u32) -> Vec<u32> {
    let zeros = vec![0; threads as usize];
    let (stats, trace) = Device::new(&[&zeros]).record(kernel, 1, threads, 1);
    let report = verify(&trace);
    assert_eq!(report.problems, []);
    assert_eq!(report.warp_instructions, stats.warp_instructions);
    assert_eq!(report.thread_instructions, stats.thread_instructions);
    let mut device = Device::new(&[&zeros]);
    device.run(kernel, 1, threads).unwrap();
    device.words(0)
}

/// Appends `r6 = 31 * r6 + count + 1000 * truth`.
fn fold(a: &mut Asm) {
    let mut sel = Inst::new(Op::Sel {}).dst(r(7)).srcs([imm(1000), Src::RZ]);
    sel.psrc[0] = PredSrc::of(Pred(1));
    a.push(sel).mov(8, imm(31)).mad(6, 6, reg(8), 5).add(6, 6, reg(7));
}

fn folded(sum: u32, count: u32, truth: bool) -> u32 {
    sum.wrapping_mul(31).wrapping_add(count).wrapping_add(if truth { 1000 } else { 0 })
}

/// One barrier reduction that the threads reach on up to three paths.
#[derive(Clone, Copy, Debug)]
struct Round {
    mode: BarMode,
    id: u32,
    /// Threads whose number has one of these bits take the second path, others with one of `third` the third.
    second: u32,
    third: u32,
    /// The predicate: whether thread number times `factor` has bit 4.
    factor: u32,
}

impl Round {
    fn predicate(&self, t: u32) -> bool {
        t.wrapping_mul(self.factor) & 16 != 0
    }

    fn emit(&self, a: &mut Asm) {
        let (second, third, meet) = (a.label(), a.label(), a.label());
        a.mov(1, imm(self.factor)).mov(2, imm(0)).mad(1, 0, reg(1), 2).and(1, 1, imm(16));
        a.setp(0, ICmp::Ne, 1, imm(0));
        a.and(1, 0, imm(self.second)).setp(2, ICmp::Ne, 1, imm(0)).bra(second, p(2));
        a.and(1, 0, imm(self.third)).setp(2, ICmp::Ne, 1, imm(0)).bra(third, p(2));
        let red = reduction(self.mode, imm(self.id), 0);
        // Loads before and after, which are recorded between the barriers.
        a.push(red).lds(9, 10, 0).bra(meet, PredSrc::TRUE);
        a.bind(second).lds(9, 10, 0).push(red).lds(9, 10, 4).bra(meet, PredSrc::TRUE);
        a.bind(third).lds(9, 10, 8).lds(9, 10, 12).push(red);
        a.bind(meet);
        fold(a);
    }
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let modes = prop::sample::select(vec![BarMode::RedPopc, BarMode::RedAnd, BarMode::RedOr]);
    let one = (modes, 0..16u32, 0..256u32, 0..256u32, prop::sample::select(vec![0u32, 1, 5, 16, 31, 77]))
        .prop_map(|(mode, id, second, third, factor)| Round {
            mode,
            id,
            second: second & 0x55,
            third: third & 0xAA,
            factor,
        });
    prop::collection::vec(one, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn every_thread_gets_the_reduction_on_whichever_way_it_comes(rounds in rounds(), threads in 1..200u32) {
        let mut a = Asm::new();
        a.shared = 64;
        a.thread(0).mov(6, imm(0)).mov(10, imm(0)).mov(5, imm(0));
        rounds.iter().for_each(|round| round.emit(&mut a));
        a.address(2, 0, 0).stg(2, reg(6)).exit(PredSrc::TRUE);
        let got = run(&a.build(), threads);
        let want = rounds.iter().fold(0, |sum, round| {
            let count = (0..threads).filter(|&t| round.predicate(t)).count() as u32;
            let truth = if round.mode == BarMode::RedAnd { count == threads } else { count > 0 };
            folded(sum, count, truth)
        });
        prop_assert_eq!(got, vec![want; threads as usize], "{:?}", rounds);
    }
}

#[test]
fn lanes_whose_guard_is_false_pass_a_reduction() {
    // Threads below 40 reduce, the others exit.
    let mut a = Asm::new();
    a.thread(0).mov(5, imm(7)).and(1, 0, imm(1)).setp(0, ICmp::Ne, 1, imm(0)).setp(2, ICmp::Lt, 0, imm(40));
    a.push(reduction(BarMode::RedPopc, imm(3), 0).guarded(p(2)));
    a.address(2, 0, 0).stg(2, reg(5)).exit(PredSrc::TRUE);
    let want: Vec<u32> = (0..100).map(|t| if t < 40 { 20 } else { 7 }).collect();
    assert_eq!(run(&a.build(), 100), want);
}

#[test]
fn lanes_of_a_warp_may_come_to_different_barriers() {
    // Lanes below 16 of both warps meet at barrier 1, the others at barrier 15: 32 threads each.
    let mut a = Asm::new();
    a.thread(0).sr(1, SpecialReg::LaneId).setp(2, ICmp::Lt, 1, imm(16)).setp(0, ICmp::Lt, 0, imm(40));
    let mut sel = Inst::new(Op::Sel {}).dst(r(3)).srcs([imm(1), reg(4)]);
    sel.psrc[0] = PredSrc::of(Pred(2));
    a.mov(4, imm(15)).push(sel).push(reduction(BarMode::RedPopc, reg(3), 32));
    a.address(2, 0, 0).stg(2, reg(5)).exit(PredSrc::TRUE);
    // True in threads 0 to 39: 16 + 8 of the lower lanes, 16 of the others.
    let want: Vec<u32> = (0..64).map(|t| if t % 32 < 16 { 24 } else { 16 }).collect();
    assert_eq!(run(&a.build(), 64), want);
}

#[test]
fn a_count_is_met_when_the_missing_lanes_of_a_warp_exit() {
    // Odd lanes exit only after the even ones have arrived at a barrier of 64 threads.
    let mut a = Asm::new();
    let odd = a.label();
    a.thread(0).and(1, 0, imm(1)).setp(0, ICmp::Ne, 1, imm(0)).mov(5, imm(0)).bra(odd, not_p(0));
    a.add(5, 0, imm(1)).address(2, 0, 0).stg(2, reg(5)).exit(PredSrc::TRUE);
    a.bind(odd).setp(0, ICmp::Lt, 0, imm(50)).push(reduction(BarMode::RedPopc, imm(0), 64));
    a.address(2, 0, 0).stg(2, reg(5)).exit(PredSrc::TRUE);
    for threads in [64, 40] {
        let count = (0..threads).filter(|t| t % 2 == 0 && *t < 50).count() as u32;
        let want: Vec<u32> = (0..threads).map(|t| if t % 2 == 1 { t + 1 } else { count }).collect();
        assert_eq!(run(&a.build(), threads), want, "{threads} threads");
    }
}

#[test]
fn sixteen_barriers_are_open_at_once() {
    // Warp w signals at barrier w; warp 0 then waits at each with 64 threads.
    let mut a = Asm::new();
    let (first, end) = (a.label(), a.label());
    a.shared = 64;
    a.thread(0).sr(1, SpecialReg::WarpId).setp(0, ICmp::Eq, 1, imm(0)).mov(5, imm(1)).bra(first, p(0));
    a.push(Inst::new(Op::Bar { mode: BarMode::Arrive }).srcs([reg(1), imm(64)])).bra(end, PredSrc::TRUE);
    a.bind(first);
    for id in (1..16).rev() {
        a.bar(BarMode::Sync, id, 64, PredSrc::TRUE).add(5, 5, imm(id));
    }
    a.bind(end).address(2, 0, 0).stg(2, reg(5)).exit(PredSrc::TRUE);
    let want: Vec<u32> = (0..512).map(|t| if t < 32 { 121 } else { 1 }).collect();
    assert_eq!(run(&a.build(), 512), want);
}

#[test]
fn a_reduction_that_nobody_completes_is_a_deadlock_with_its_count() {
    let mut a = Asm::new();
    a.thread(0).setp(0, ICmp::Lt, 0, imm(32)).push(reduction(BarMode::RedOr, imm(2), 64).guarded(p(0)));
    let forever = a.label();
    a.bind(forever).bar(BarMode::Sync, 4, 96, PredSrc::TRUE).exit(PredSrc::TRUE);
    let fault = Device::new(&[&[0; 64]]).fault(&a.build(), 1, 96);
    let text = fault.to_string();
    assert!(text.contains("barrier 2 (32 of 64 threads have arrived)"), "{text}");
    assert!(text.contains("barrier 4 (64 of 96 threads have arrived)"), "{text}");
}
