//! Tests of the checker: it detects mutations of allocated code.

use super::*;
use crate::lower::calls::Inlining;
use crate::lower::{build, cfg, combine, ifconv, layout::ModuleLayout, legalize, ra, schedule, unroll};
use trace_format::isa::{Kind, Reg};

const FIXED: Addressing = Addressing::Fixed { local_bytes: 0 };

const PROGRAM: &str = "
    .version 8.0
    .target sm_75
    .address_size 64
    .visible .entry k(.param .u64 p, .param .u32 n)
    {
        .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .pred %p<4>;
        ld.param.u64 %d0, [p];
        ld.param.u32 %r0, [n];
        mov.u32 %r1, %tid.x;
        mov.f32 %f0, 0f00000000;
        mov.u32 %r2, 0;
    loop:
        mul.wide.u32 %d1, %r1, 4;
        add.s64 %d2, %d0, %d1;
        ld.global.f32 %f1, [%d2];
        ld.global.f32 %f2, [%d2+4];
        div.rn.f32 %f3, %f1, %f2;
        setp.gt.f32 %p0, %f3, %f1;
        @%p0 add.f32 %f0, %f0, %f3;
        add.s32 %r1, %r1, %r0;
        add.s32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r0;
        @%p1 bra loop;
        st.global.f32 [%d2], %f0;
        ret;
    }";

/// A loop of two trips, whose branch reads a copy of a predicate that the trip has replaced, and which swaps two more.
const TWO_TRIPS: &str = "
    .version 8.0
    .target sm_75
    .address_size 64
    .visible .entry k(.param .u64 p)
    {
        .reg .b64 %d<2>; .reg .b32 %r<8>; .reg .pred %p<8>;
        ld.param.u64 %d0, [p];
        ld.global.u32 %r1, [%d0];
        setp.lt.s32 %p4, %r1, 3;
        setp.lt.s32 %p5, %r1, 5;
        mov.u32 %r2, 0;
        mov.pred %p2, -1;
    loop:
        mov.pred %p1, %p2;
        add.s32 %r2, %r2, 1;
        mov.pred %p2, 0;
        mov.pred %p3, %p4;
        mov.pred %p4, %p5;
        mov.pred %p5, %p3;
        st.global.u32 [%d0], %r2;
        @%p4 st.global.u32 [%d0+4], %r2;
        @%p5 st.global.u32 [%d0+8], %r2;
        @%p1 bra loop;
        ret;
    }";

fn allocated(program: &str) -> (Func, Emitted) {
    allocated_with(program, 255)
}

/// The code before allocation with so many registers, spills included, and the allocated code.
fn allocated_with(program: &str, registers: u16) -> (Func, Emitted) {
    let module = crate::ptx::parse(program, "check.ptx").unwrap();
    let layout = ModuleLayout::of(&module).unwrap();
    let (kernel, _) = module.kernels().next().unwrap();
    let inlining = Inlining::of(&module, kernel, &crate::lower::LowerOptions::default());
    let mut built = build::build(&module, &layout, kernel, &inlining, true, module.target.sm).unwrap();
    let (mut f, mut frame) = (built.functions.remove(0).code, built.frame);
    cfg::clean(&mut f);
    combine::run(&mut f);
    ifconv::run(&mut f);
    unroll::run(&mut f);
    cfg::remove_dead(&mut f);
    legalize::run(&mut f, &mut frame);
    schedule::run(&mut f, registers, &|used| used, crate::lower::Schedule::Latency);
    cfg::split_critical_edges(&mut f);
    let limits = ra::Limits { registers, predicates: 7, hidden: 0, plentiful: Some(62) };
    let allocated = ra::allocate(&mut f, limits, 0).unwrap();
    let emitted = ra::emit::emit(&f, &allocated, FIXED, ra::emit::Role::Kernel);
    (allocated.before, emitted)
}

/// A loop that stores to addresses of `indices` indices and then steps the indices, and behind it stores to the same addresses.
fn addresses_of_indices(indices: usize) -> String {
    let all = |line: &dyn Fn(usize) -> String| (0..indices).map(line).collect::<String>();
    let set = all(&|i| format!("add.s32 %i{i}, %r1, {i};"));
    let wide = all(&|i| format!("mad.wide.u32 %d{i}, %i{i}, 4, %p; st.global.u32 [%d{i}], %r1;"));
    let step = all(&|i| format!("mad.lo.s32 %i{i}, %i{i}, %r0, {};", i + 1));
    let store = all(&|i| format!("st.global.u32 [%d{i}+4], %i{i};"));
    format!(
        ".version 8.0 .target sm_75 .address_size 64
        .visible .entry k(.param .u64 p, .param .u32 n)
        {{
            .reg .b64 %p, %d<{indices}>; .reg .b32 %r<4>, %i<{indices}>; .reg .pred %q;
            ld.param.u64 %p, [p];
            ld.param.u32 %r0, [n];
            mov.u32 %r1, %tid.x;
            {set}
        loop:
            {wide} {step}
            ld.global.u32 %r2, [%p];
            setp.lt.u32 %q, %r2, %r0;
            @%q bra loop;
            {store}
            ret;
        }}"
    )
}

#[test]
fn an_address_is_recomputed_behind_a_loop_from_the_index_before_its_last_step() {
    let mut recomputed = 0;
    for registers in 20..48 {
        let program = addresses_of_indices(12);
        let (before, code) = allocated_with(&program, registers);
        assert_eq!(check(&before, &code, FIXED), Ok(()), "with {registers} registers");
        let behind = code.insts.iter().skip_while(|inst| !matches!(inst.kind(), Kind::Branch));
        recomputed += usize::from(behind.into_iter().any(|inst| matches!(inst.op, Op::ImadWide { .. })));
    }
    assert!(recomputed > 3, "addresses were recomputed with {recomputed} limits");
}

#[test]
fn right_code_passes_and_every_wrong_register_is_found() {
    let (before, mut code) = allocated(PROGRAM);
    assert_eq!(check(&before, &code, FIXED), Ok(()));
    let mut tried = 0;
    for pc in 0..code.insts.len() {
        let good = code.insts[pc];
        for i in 0..3 {
            let Some(r) = good.src[i].as_reg() else { continue };
            // A register of another parity cannot hold the same tuple; R200 is never written.
            for wrong in [Reg(r.0 ^ 1), Reg(200)] {
                code.insts[pc].src[i].operand = Operand::Reg(wrong);
                let equal = wrong != Reg(200) && matches!(good.op, Op::Mov {} | Op::Lop3 { .. });
                assert!(
                    check(&before, &code, FIXED).is_err() || equal,
                    "PC {pc}: {good} reads {wrong} instead"
                );
                tried += 1;
            }
            code.insts[pc] = good;
        }
        let redirected = matches!(good.kind(), Kind::Branch) && good.target.0 != pc as u32;
        if redirected {
            code.insts[pc].target = isa::Pc(pc as u32);
            assert!(check(&before, &code, FIXED).is_err(), "PC {pc}: {good} goes to itself");
            code.insts[pc] = good;
        }
        if !good.is_unguarded() {
            code.insts[pc].guard.not = !good.guard.not;
            assert!(check(&before, &code, FIXED).is_err(), "PC {pc}: {good} with its guard inverted");
            code.insts[pc] = good;
        }
    }
    assert!(tried > 50, "only {tried} mutations");
}

#[test]
fn a_result_that_overwrites_a_live_register_is_found() {
    let (before, mut code) = allocated(PROGRAM);
    let mut found = 0;
    for pc in 0..code.insts.len() {
        let good = code.insts[pc];
        if good.info().dst_regs != 1 || good.dst.is_zero() || code.origins[pc] == Origin::Glue {
            continue;
        }
        for wrong in (0..20).map(Reg).filter(|r| *r != good.dst) {
            code.insts[pc].dst = wrong;
            found += u32::from(check(&before, &code, FIXED).is_err());
        }
        code.insts[pc] = good;
    }
    // Wherever a result goes instead, its readers look for it in vain.
    assert!(found > 100, "{found}");
}

#[test]
fn a_condition_that_the_loop_has_replaced_is_found() {
    let (before, mut code) = allocated(TWO_TRIPS);
    assert_eq!(check(&before, &code, FIXED), Ok(()));
    // It goes back, or out where the condition does not hold.
    let branches = |pc: &usize| code.origins[*pc] == Origin::Glue && !code.insts[*pc].is_unguarded();
    let branch = (0..code.insts.len()).find(branches).expect("the loop ends with a branch");
    let good = code.insts[branch];
    for wrong in (0..7).map(isa::Pred).filter(|p| *p != good.guard.pred) {
        code.insts[branch].guard.pred = wrong;
        assert!(check(&before, &code, FIXED).is_err(), "{} taken instead of {good}", code.insts[branch]);
    }
}

#[test]
fn every_wrong_copy_of_a_predicate_is_found() {
    let (before, mut code) = allocated(TWO_TRIPS);
    let mut tried = 0;
    for pc in 0..code.insts.len() {
        let good = code.insts[pc];
        if code.origins[pc] != Origin::Glue || !matches!(good.op, Op::Plop3 { .. }) {
            continue;
        }
        for i in 0..2 {
            code.insts[pc].psrc[i].not = !good.psrc[i].not;
            // Only the first source of a move matters.
            let matters = i == 0 || matches!(good.op, Op::Plop3 { lut } if lut.0 == Lut::A ^ Lut::B);
            assert!(
                check(&before, &code, FIXED).is_err() || !matters,
                "PC {pc}: {good} with a source inverted"
            );
            code.insts[pc] = good;
        }
        code.insts[pc].guard = PredSrc { pred: isa::Pred(0), not: false };
        assert!(check(&before, &code, FIXED).is_err(), "PC {pc}: {good} under a guard");
        code.insts[pc] = good;
        tried += 1;
    }
    assert!(tried >= 4, "only {tried} copies");
}
