//! Code from before independent thread scheduling: the threads of a warp exchange words through shared memory without
//! waiting for each other, with volatile accesses, which keep their order. Expected values are of steps that all
//! threads take together.

use crate::lower_kit;

use lower_kit::*;
use test_kit::Random;

/// Distances of a reduction by halves.
const DISTANCES: [usize; 5] = [16, 8, 4, 2, 1];

/// A kernel that adds words at falling distances, as reductions without barriers do. `far` is loaded before `near`,
/// or after it.
fn reduction(order: &str, far_first: bool) -> String {
    let mut body = String::new();
    for distance in DISTANCES {
        let far = format!("ld{order}.shared.u32 %far, [%s+{}];\n", 4 * distance);
        let near = format!("ld{order}.shared.u32 %near, [%s];\n");
        body += &if far_first { far + &near } else { near + &far };
        body += &format!("add.u32 %near, %near, %far;\nst{order}.shared.u32 [%s], %near;\n");
    }
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n\
         .visible .entry test(.param .u64 p0, .param .u64 p1)\n{{\n\
         .shared .align 16 .b8 words[256];\n.reg .b32 %t, %s, %near, %far; .reg .b64 %a, %b;\n\
         mov.u32 %t, %tid.x;\nld.param.u64 %a, [p0];\nld.param.u64 %b, [p1];\n\
         mad.wide.u32 %a, %t, 4, %a;\nmad.wide.u32 %b, %t, 4, %b;\nmov.u32 %s, words;\nmad.lo.u32 %s, %t, 4, %s;\n\
         ld.global.u32 %near, [%a];\nst{order}.shared.u32 [%s], %near;\nst{order}.shared.u32 [%s+128], 0;\n{body}\
         ld{order}.shared.u32 %near, [%s];\nst.global.u32 [%b], %near;\nret;\n}}\n"
    )
}

/// The words after all threads have taken every step together.
fn together(input: &[u32]) -> Vec<u32> {
    let mut words = [input, &[0; 32]].concat();
    for distance in DISTANCES {
        let before = words.clone();
        for t in 0..32 {
            words[t] = before[t].wrapping_add(before[t + distance]);
        }
    }
    words[..32].to_vec()
}

#[test]
fn volatile_accesses_to_shared_memory_keep_their_order() {
    let mut random = Random::new(7);
    let input: Vec<u32> = (0..32).map(|_| random.bits() as u32).collect();
    let expected = together(&input);
    assert_eq!(expected[0], input.iter().fold(0u32, |sum, &x| sum.wrapping_add(x)));
    for order in [".volatile", ".relaxed.cta"] {
        for far_first in [false, true] {
            let lowered = lower(&reduction(order, far_first), 255);
            let out = run(&lowered, &[input.clone(), vec![0; 32]], &[], 1, 32).pop();
            assert_eq!(out.as_ref(), Some(&expected), "{order}, far first: {far_first}");
        }
    }
}

/// Neighbouring words are loaded one by one if the loads are volatile.
#[test]
fn volatile_loads_are_not_merged() {
    let text = |order: &str| {
        format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry test(.param .u64 p0)\n{{\n\
             .shared .align 16 .b8 words[512];\n.reg .b32 %t, %s, %x, %y; .reg .b64 %a;\n\
             mov.u32 %t, %tid.x;\nld.param.u64 %a, [p0];\nmad.wide.u32 %a, %t, 4, %a;\n\
             mov.u32 %s, words;\nmad.lo.u32 %s, %t, 8, %s;\nst{order}.shared.u32 [%s], %t;\nst{order}.shared.u32 [%s+4], %t;\n\
             ld{order}.shared.u32 %x, [%s];\nld{order}.shared.u32 %y, [%s+4];\nadd.u32 %x, %x, %y;\n\
             st.global.u32 [%a], %x;\nret;\n}}\n"
        )
    };
    let loads = |order: &str| {
        let lowered = lower(&text(order), 255);
        let out = run(&lowered, &[vec![0; 32]], &[], 1, 32).pop().expect("there is a buffer");
        assert_eq!(out, (0..32).map(|t| 2 * t).collect::<Vec<u32>>());
        let of_shared = |i: &&trace_format::isa::Inst| matches!(i.op, trace_format::isa::Op::Lds { .. });
        lowered.kernel.insts.iter().filter(of_shared).count()
    };
    assert_eq!((loads(".volatile"), loads("")), (2, 1));
}

/// A kernel that keeps this many words over a shuffle at two places, where lanes take either by their number.
fn shuffled_among(live: usize) -> String {
    let each = |line: &dyn Fn(usize) -> String| (0..live).map(line).collect::<String>();
    let loads = each(&|i| format!("ld.global.u32 %w{i}, [%a+{}];\n", 128 * i));
    let stores = each(&|i| format!("st.global.u32 [%a+{}], %w{i};\n", 128 * i));
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry test(.param .u64 p0, .param .u64 p1)\n{{\n\
         .reg .b32 %t, %odd, %x, %w<{live}>; .reg .b64 %a, %b; .reg .pred %p;\nmov.u32 %t, %tid.x;\n\
         ld.param.u64 %a, [p0];\nld.param.u64 %b, [p1];\nmad.wide.u32 %a, %t, 4, %a;\nmad.wide.u32 %b, %t, 4, %b;\n{loads}\
         and.b32 %odd, %t, 1;\nsetp.eq.u32 %p, %odd, 0;\n@%p bra $even;\n\
         shfl.sync.bfly.b32 %x, %w0, 1, 31, -1;\nst.volatile.global.u32 [%b], %x;\nbra $end;\n$even:\n\
         shfl.sync.bfly.b32 %x, %w1, 1, 31, -1;\nst.volatile.global.u32 [%b], %x;\n$end:\n{stores}ret;\n}}\n"
    )
}

/// The registers by which lanes meet count towards the limit of a kernel, so other values may have to leave theirs.
#[test]
fn lanes_meet_where_all_registers_are_in_use() {
    for (live, limit) in
        [(2, 255), (230, 255), (244, 255), (247, 255), (300, 255), (40, 48), (60, 48), (25, 32)]
    {
        let words: Vec<u32> = (0..32 * live as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
        let lowered = lower(&shuffled_among(live), limit);
        let registers = lowered.kernel.regs_per_thread;
        assert!(registers <= limit, "{registers} registers where {limit} are allowed");
        let out = run(&lowered, &[words.clone(), vec![0; 32]], &[], 1, 32);
        // An odd lane gives its first word to the even one below it, and takes that one's second word.
        let expected: Vec<u32> =
            (0..32).map(|t| words[if t % 2 == 0 { t + 1 } else { 32 + t - 1 }]).collect();
        assert_eq!(out, [words, expected], "{live} words, {limit} registers");
    }
}

/// Half of a warp runs a loop `times` times, of which each step is `step`; behind it all vote.
fn vote_behind(times: u32, step: &str) -> Vec<u32> {
    let text = format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry test(.param .u64 p0)\n{{\n\
         .shared .align 4 .b32 most;\n.reg .b32 %t, %n, %x, %sum; .reg .b64 %a; .reg .pred %p;\n\
         mov.u32 %t, %tid.x;\nld.param.u64 %a, [p0];\nmad.wide.u32 %a, %t, 4, %a;\nmov.u32 %sum, 0;\nmov.u32 %n, 0;\n\
         st.shared.u32 [most], 100;\nbar.sync 0;\nsetp.ge.u32 %p, %t, 16;\n@%p bra $join;\n$head:\n{step}\n\
         add.u32 %sum, %sum, %x;\nadd.u32 %n, %n, 1;\nsetp.lt.u32 %p, %n, {times};\n@%p bra $head;\n$join:\n\
         setp.eq.u32 %p, %t, %t;\nvote.sync.ballot.b32 %x, %p, 0xffffffff;\nadd.u32 %x, %x, %sum;\n\
         st.global.u32 [%a], %x;\nret;\n}}\n"
    );
    run(&lower(&text, 255), &[vec![0; 32]], &[], 1, 32).pop().expect("there is a buffer")
}

/// A loop of atomics that change nothing and a long loop of loads are work, not a wait for the lanes behind them: these lanes
/// wait, and all vote together.
#[test]
fn lanes_behind_a_long_loop_wait_for_it() {
    for (times, step) in [
        (1000, "atom.shared.max.u32 %x, [most], %t;"),
        (400_000, "ld.shared.u32 %x, [most];\nxor.b32 %x, %x, %n;"),
    ] {
        let sum = (0..times)
            .fold(0u32, |sum, n| sum.wrapping_add(if step.starts_with("ld") { 100 ^ n } else { 100 }));
        let expected: Vec<u32> =
            (0..32).map(|t| if t < 16 { sum.wrapping_sub(1) } else { u32::MAX }).collect();
        assert_eq!(vote_behind(times, step), expected, "{step}");
    }
}
