//! Counted loops, which lowering unrolls: with ends that are known when the code is lowered and with ends that
//! are not, near both ends of the range of their counters, against a loop on the host.

use crate::lower_kit;
use emulator::lower::{LowerOptions, Schedule};

use lower_kit::*;

/// A loop that goes on while the counter, after its step, compares with the bound.
#[derive(Clone, Copy, Debug)]
struct Loop {
    cmp: &'static str,
    signed: bool,
    bits: u32,
    step: i64,
}

/// More iterations are not executed.
const MOST: u32 = 70;

impl Loop {
    /// What the loop computes, if it ends soon.
    fn result(self, start: u64, bound: u64) -> Option<u32> {
        let (mut counter, mut sum) = (start, 7u32);
        for _ in 0..MOST {
            sum = sum.wrapping_mul(3).wrapping_add(counter as u32);
            counter = self.cut(counter.wrapping_add(self.step as u64));
            if !self.goes_on(counter, bound) {
                return Some(sum ^ counter as u32);
            }
        }
        None
    }

    fn cut(self, x: u64) -> u64 {
        if self.bits == 32 { x & 0xFFFF_FFFF } else { x }
    }

    fn goes_on(self, counter: u64, bound: u64) -> bool {
        let number = |x: u64| match (self.signed, self.bits) {
            (true, 32) => i128::from(x as u32 as i32),
            (true, _) => i128::from(x as i64),
            (false, _) => i128::from(x),
        };
        let (x, y) = (number(counter), number(bound));
        match self.cmp {
            "lt" => x < y,
            "le" => x <= y,
            "gt" => x > y,
            "ge" => x >= y,
            _ => x != y,
        }
    }

    /// The loop in PTX, between two operands.
    fn body(self, start: &str, bound: &str) -> String {
        let Loop { cmp, signed, bits, step } = self;
        let (ty, c) = (if signed { 's' } else { 'u' }, if bits == 32 { "%t0" } else { "%d0" });
        let low = if bits == 32 { "mov.u32 %t2, %t0;" } else { "cvt.u32.u64 %t2, %d0;" };
        format!(
            "mov.b{bits} {c}, {start};\nmov.u32 %t1, 7;\nL:\n{low}\nmad.lo.u32 %t1, %t1, 3, %t2;\n\
             add.s{bits} {c}, {c}, {step};\nsetp.{cmp}.{ty}{bits} %q0, {c}, {bound};\n@%q0 bra L;\n\
             {low}\nxor.b32 %out, %t1, %t2;"
        )
    }

    /// Pairs of start and bound between which the loop ends soon.
    fn ends(self) -> Vec<(u64, u64)> {
        let half = 1u64 << (self.bits - 1);
        let starts = [0, 5, half - 9, half, half + 3, half.wrapping_mul(2).wrapping_sub(6)];
        let ways = [0i64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 31, 60];
        let pairs = starts.into_iter().flat_map(|start| {
            ways.into_iter().map(move |way| (start, start.wrapping_add((way * self.step.signum()) as u64)))
        });
        let more = [
            (0, half - 1),
            (half, half - 1),
            (5, 0),
            (5, half),
            (half - 3, half + 3),
            (0, half.wrapping_mul(2).wrapping_sub(1)),
        ];
        let pairs = pairs.chain(more).map(|(start, bound)| (self.cut(start), self.cut(bound)));
        pairs.filter(|&(start, bound)| self.result(start, bound).is_some()).collect()
    }
}

fn loops() -> Vec<Loop> {
    let mut list = Vec::new();
    for bits in [32, 64] {
        for signed in [true, false] {
            for (cmp, steps) in [("lt", [1, 3]), ("le", [1, 4]), ("gt", [-1, -3]), ("ge", [-2, -1])] {
                list.extend(steps.map(|step| Loop { cmp, signed, bits, step }));
            }
        }
        list.extend([1, -1, 2, -3].map(|step| Loop { cmp: "ne", signed: true, bits, step }));
    }
    list
}

#[test]
fn loops_with_unknown_ends() {
    for each in loops() {
        let ends = each.ends();
        // Every lane has a loop that ends.
        let lanes = ends.len().next_multiple_of(64);
        let ends: Vec<(u64, u64)> = ends.iter().copied().cycle().take(lanes).collect();
        let words = |value: fn(&(u64, u64)) -> u64| -> Vec<u32> {
            let values = ends.iter().map(value);
            match each.bits {
                32 => values.map(|x| x as u32).collect(),
                _ => values.flat_map(|x| [x as u32, (x >> 32) as u32]).collect(),
            }
        };
        let ty = format!("b{}", each.bits);
        let text = elementwise(&[&ty, &ty], "b32", &each.body("%in0", "%in1"));
        let got = apply(&text, &[words(|e| e.0), words(|e| e.1)], lanes, 1);
        for (&(start, bound), got) in ends.iter().zip(got) {
            assert_eq!(Some(got), each.result(start, bound), "{each:?} from {start:#x} to {bound:#x}");
        }
    }
}

#[test]
fn loops_with_known_ends() {
    for each in loops() {
        for (start, bound) in each.ends().into_iter().step_by(3) {
            let number = |x: u64| if each.bits == 32 { i64::from(x as u32 as i32) } else { x as i64 };
            let body = each.body(&number(start).to_string(), &number(bound).to_string());
            let got = apply(&elementwise(&["b32"], "b32", &body), &[vec![0; 64]], 64, 1);
            assert_eq!(Some(got[7]), each.result(start, bound), "{each:?} from {start:#x} to {bound:#x}");
        }
    }
}

#[test]
fn long_loops_are_unrolled_in_part() {
    let each = Loop { cmp: "lt", signed: true, bits: 32, step: 1 };
    for (iterations, lengths) in [(100u32, 100..400), (4999, 60..900), (5000, 60..900)] {
        let want = (0..iterations).fold(7u32, |sum, i| sum.wrapping_mul(3).wrapping_add(i)) ^ iterations;
        let body = each.body("0", &iterations.to_string()).replace("%t1, 7", "%t1, %in0");
        let text = elementwise(&["b32"], "b32", &body);
        assert_eq!(apply(&text, &[vec![7; 64]], 64, 1)[5], want, "{iterations}");
        let length = lower(&text, 255).kernel.insts.len();
        assert!(lengths.contains(&length), "{length} instructions for {iterations} iterations");
    }
}

#[test]
fn loops_that_ask_not_to_be_unrolled_are_not() {
    let each = Loop { cmp: "lt", signed: true, bits: 32, step: 1 };
    let body = |pragma: &str| each.body("0", "%in0").replace("L:\n", &format!("L:\n{pragma}"));
    let length = |pragma| lower(&elementwise(&["b32"], "b32", &body(pragma)), 255).kernel.insts.len();
    let (with, without) = (length(""), length(".pragma \"nounroll\";\n"));
    assert!(with > without + 10, "{with} instructions, {without} without unrolling");
}

/// A loop that sums elements from `start` to `count`, with a store of each sum.
fn adding(start: &str, store: &str) -> String {
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n\
         .visible .entry kernel(.param .u64 from, .param .u64 to, .param .u32 count)\n{{\n\
         .reg .u64 %d<8>; .reg .u32 %r<8>; .reg .pred %p;\n\
         ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.param.u32 %r0, [count];\n\
         cvta.to.global.u64 %d0, %d0; cvta.to.global.u64 %d1, %d1;\n\
         mov.u32 %r1, {start};\nmov.u32 %r3, 0;\nL:\n\
         mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d0, %d2;\nadd.s64 %d4, %d1, %d2;\n\
         ld.global.u32 %r2, [%d3];\nadd.u32 %r3, %r3, %r2;\n{store}\n\
         add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, %r0;\n@%p bra L;\n\
         st.global.u32 [%d1+400], %r3;\nret;\n}}\n"
    )
}

#[test]
fn loops_that_lanes_leave_at_different_times_are_not_unrolled_if_loads_wait_for_stores() {
    let loads = |start: &str, store: &str| {
        let code = lower(&adding(start, store), 255).kernel.insts;
        code.iter().filter(|inst| inst.op.mnemonic().starts_with("LDG")).count()
    };
    let store = "st.global.u32 [%d4], %r3;";
    // Four, two and one iterations.
    assert_eq!(loads("0", store), 7);
    assert_eq!(loads("%ctaid.x", store), 7);
    assert_eq!(loads("%tid.x", ""), 7);
    assert_eq!(loads("%tid.x", store), 1);
    let lowered = lower(&adding("%tid.x", store), 255);
    let from: Vec<u32> = (0..40).map(|i| i * i + 1).collect();
    let out = run(&lowered, &[from.clone(), vec![0; 101]], &[40], 1, 1).pop().unwrap();
    let sums = from.iter().scan(0, |sum, x| {
        *sum += x;
        Some(*sum)
    });
    assert_eq!(out[..40], sums.collect::<Vec<u32>>()[..]);
}

#[test]
fn loops_over_literals_are_evaluated() {
    let body = "mov.f32 %f0, 0f00000000;\nmov.u32 %r0, 0;\nL:\nadd.f32 %f0, %f0, 0f3F800000;\n\
                fma.rn.f32 %f0, %f0, 0f3F800000, 0f3E800000;\nadd.u32 %r0, %r0, 1;\n\
                setp.ne.u32 %p, %r0, 64;\n@%p bra L;\nst.global.f32 [%d0], %f0;\nret;\n}\n";
    let text = format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry kernel(.param .u64 to)\n{{\n\
         .reg .u64 %d0; .reg .u32 %r0; .reg .f32 %f0; .reg .pred %p;\n\
         ld.param.u64 %d0, [to]; cvta.to.global.u64 %d0, %d0;\n{body}"
    );
    let lowered = lower(&text, 255);
    let left =
        lowered.kernel.insts.iter().filter(|inst| matches!(inst.op.mnemonic().as_str(), "FADD" | "FFMA"));
    assert_eq!(left.count(), 0);
    assert_eq!(run(&lowered, &[vec![0; 1]], &[], 1, 1).pop().unwrap()[0], 80.0f32.to_bits());
}

#[test]
fn loops_with_many_fetches_are_not_unrolled() {
    let fetches = |number: usize| {
        let fetch = "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1, %r0}]; add.u32 %r1, %r1, 1; and.b32 %r1, %r1, %r2; add.f32 %f0, %f0, %f1;\n";
        let text = format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n\
             .visible .entry kernel(.param .u64 to, .param .u64 texture, .param .u32 count)\n{{\n\
             .reg .u64 %d<2>; .reg .u32 %r<3>; .reg .f32 %f<5>; .reg .pred %p;\n\
             ld.param.u64 %d0, [to]; ld.param.u64 %d1, [texture]; ld.param.u32 %r2, [count];\n\
             cvta.to.global.u64 %d0, %d0; mov.u32 %r1, %tid.x; mov.u32 %r0, 0; mov.f32 %f0, 0f00000000;\nL:\n\
             {}add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, %r2;\n@%p bra L;\nst.global.f32 [%d0], %f0;\nret;\n}}\n",
            fetch.repeat(number)
        );
        let code = lower(&text, 255).kernel.insts;
        code.iter().filter(|inst| inst.op.mnemonic().starts_with("TEX")).count()
    };
    // Four, two and one iterations of one fetch; four in one iteration.
    assert_eq!((fetches(1), fetches(4)), (7, 4));
}

#[test]
fn sums_in_shared_memory_are_loops_with_compare_and_swap() {
    use trace_format::isa::{AtomOp, Op};
    for (ty, reg, bytes, one) in [
        ("f32", "%f", 4, "0f3F800000"),
        ("f64", "%d", 8, "0d3FF0000000000000"),
        ("f16x2", "%r", 4, "0x3C003C00"),
    ] {
        let bits = if ty == "f16x2" { "b32" } else { ty };
        let round = if ty == "f16x2" { ".noftz" } else { "" };
        let text = format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry kernel(.param .u64 p)\n{{\n\
             .shared .align 8 .b8 s[16]; .reg .u64 %x; .reg .f32 %f<3>; .reg .f64 %d<3>; .reg .b32 %r<3>;\n\
             ld.param.u64 %x, [p]; cvta.to.global.u64 %x, %x; mov.{bits} {reg}1, {one};\n\
             st.shared.u64 [s+8], 0; bar.sync 0;\n\
             atom.shared.add{round}.{ty} {reg}2, [s+8], {reg}1; bar.sync 0; red.shared.add{round}.{ty} [s+8], {reg}2;\n\
             bar.sync 0; ld.shared.{bits} {reg}1, [s+8]; st.global.{bits} [%x], {reg}1; ret;\n}}\n"
        );
        let lowered = lower(&text, 255);
        let swaps = lowered.kernel.insts.iter().filter(|i| matches!(i.op, Op::Atoms { op: AtomOp::Cas, .. }));
        assert_eq!(swaps.count(), 2, "{ty}");
        // 48 threads add ones, then what was there before: 48 + (0 + 1 + … + 47).
        let got = run(&lowered, &[vec![0; bytes / 4]], &[], 1, 48);
        let want: Vec<u32> = match ty {
            "f32" => vec![1176.0f32.to_bits()],
            "f64" => vec![1176.0f64.to_bits() as u32, (1176.0f64.to_bits() >> 32) as u32],
            _ => vec![0x6498_6498],
        };
        assert_eq!(got, [want], "{ty}");
    }
}

/// Behind the inner loop the outer one's phis take what the inner loop's phis hold, on an edge of its own; the inner loop's phis
/// must not have got their next values before.
#[test]
fn an_edge_out_of_a_loop_reads_phis_before_their_next_values() {
    let text = ".version 9.0
.target sm_90
.visible .entry kernel()
{
        .reg .b16 %h2;
        .reg .b64 %d5, %d1, %t, %own, %out;
        .reg .b32 %f<11>, %c6, %c7;
        .reg .b64 %g<4>;
        .reg .pred %p<3>, %q;
        ld.global.u64 %d5, [%own+568];
        setp.eq.or.s16 %p1, %h2, %h2, %p2;
        @%p1 bra $middle;
$head6:
        mov.s64 %d1, %d5;
        mov.s64 %d5, %t;
$head7:
        mov.f64 %t, %g2;
        mov.f64 %g0, %g1;
        mov.f64 %g1, %t;
        div.rp.f32 %f1, %f7, %f6;
        add.s32 %c7, %c7, -1;
        setp.gt.s32 %q, %c7, 0;
        @%q bra $head7;
$middle:
        div.rn.f64 %g2, %g0, 0d4034000000000000;
        add.s32 %c6, %c6, -1;
        setp.gt.s32 %q, %c6, 0;
        @%q bra $head6;
        add.rp.ftz.f32 %f10, %f7, %f1;
        st.global.u64 [%out+8], %d1;
        st.global.f32 [%out+176], %f10;
}";
    let options =
        LowerOptions { fmad: false, schedule: Schedule::Reuse, gpu: Some(86), ..LowerOptions::default() };
    let lowered = lower_with(text, options);
    assert!(lowered.unsupported.is_empty());
}
