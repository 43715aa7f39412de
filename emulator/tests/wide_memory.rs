//! Loads, stores and moves of 128 and 256 bits and of vectors of narrow elements, in every space: bytes are moved as
//! the PTX ISA says, for any order of registers.

use crate::lower_kit;

use lower_kit::*;
use test_kit::Random;

/// Input of one thread: 64 bytes that are all different from thread to thread.
const WORDS: usize = 16;

/// A kernel whose threads move bytes from `[%a]` to `[%b]`, 64 for each thread; `[%s]`, `[%l]` are the thread's own
/// places in shared and local memory.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_100\n.address_size 64\n.shared .align 32 .b8 tile[2048];\n.const .align 32 .b8 table[64];\n\
         .visible .entry test(.param .u64 p0, .param .u64 p1, .param .align 16 .b8 st[64])\n{{\n\
         .local .align 32 .b8 frame[64];\n.reg .b32 %t, %s, %r<16>; .reg .b64 %a, %b, %l, %c, %d<8>; .reg .b128 %w<4>; .reg .b16 %h<8>;\n\
         .reg .f64 %f<8>; .reg .f32 %e<8>;\nmov.u32 %t, %tid.x;\nld.param.u64 %a, [p0];\nld.param.u64 %b, [p1];\n\
         mad.wide.u32 %a, %t, 64, %a;\nmad.wide.u32 %b, %t, 64, %b;\nmov.u32 %s, tile;\nmad.lo.u32 %s, %t, 64, %s;\nmov.u64 %l, frame;\nmov.u64 %c, table;\n\
         {body}\nret;\n}}\n"
    )
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Runs 32 threads; `want` makes a thread's 64 bytes of output from its input and the constants.
fn check(body: &str, want: impl Fn(&[u8], &[u8]) -> Vec<u8>) {
    let mut random = Random::new(41);
    let input: Vec<u32> = (0..32 * WORDS).map(|_| random.bits() as u32).collect();
    let constants: Vec<u32> = (0..WORDS).map(|_| random.bits() as u32).collect();
    let lowered = lower(&kernel(body), 255);
    let buffers = [input.clone(), vec![0; 32 * WORDS]];
    let out = run_with_constants(&lowered, &buffers, &constants, bytes(&constants), [1, 32]).pop().unwrap();
    for (t, (got, from)) in bytes(&out).chunks(64).zip(bytes(&input).chunks(64)).enumerate() {
        let mut expected = want(from, &bytes(&constants));
        expected.resize(64, 0);
        assert_eq!(got, expected, "thread {t} of {body}");
    }
}

fn same(body: &str, length: usize) {
    check(body, |from, _| from[..length].to_vec());
}

#[test]
fn sixteen_bytes_move_through_every_space() {
    for qualifier in ["", ".volatile", ".relaxed.gpu", ".acquire.gpu"] {
        same(&format!("ld{qualifier}.global.b128 %w0, [%a];\nst.global.b128 [%b], %w0;"), 16);
        same(&format!("ld{qualifier}.b128 %w0, [%a];\nst.b128 [%b], %w0;"), 16);
    }
    for qualifier in [".volatile", ".relaxed.gpu", ".release.gpu", ".weak"] {
        same(
            &format!(
                "ld.global.b128 %w0, [%a+16];\nst{qualifier}.global.b128 [%b+16], %w0;\nld.global.b128 %w0, [%a];\nst.global.b128 [%b], %w0;"
            ),
            32,
        );
    }
    same(
        "ld.global.b128 %w0, [%a];\nst.shared.b128 [%s], %w0;\nld.shared.b128 %w1, [%s];\nst.global.b128 [%b], %w1;",
        16,
    );
    same(
        "ld.global.b128 %w0, [%a];\nst.local.b128 [%l], %w0;\nld.local.b128 %w1, [%l];\nst.global.b128 [%b], %w1;",
        16,
    );
    check("ld.param.b128 %w0, [st+16];\nst.global.b128 [%b], %w0;", |_, c| c[16..32].to_vec());
    check("ld.const.b128 %w0, [table+32];\nst.global.b128 [%b], %w0;", |_, c| c[32..48].to_vec());
    check(
        "and.b32 %r0, %t, 0;\nmad.wide.u32 %c, %r0, 16, %c;\nld.const.b128 %w0, [%c+16];\nst.global.b128 [%b], %w0;",
        |_, c| c[16..32].to_vec(),
    );
}

#[test]
fn pairs_of_64_bits_are_128() {
    let swap = |from: &[u8], _: &[u8]| [&from[8..16], &from[..8]].concat();
    check("ld.global.b128 %w0, [%a];\nmov.b128 {%d0, %d1}, %w0;\nst.global.v2.b64 [%b], {%d1, %d0};", swap);
    check(
        "ld.global.v2.b64 {%d0, %d1}, [%a];\nmov.b128 %w0, {%d1, %d0};\nmov.b128 %w1, %w0;\nst.global.b128 [%b], %w1;",
        swap,
    );
}

#[test]
fn thirty_two_bytes_move_at_once() {
    let eight = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}";
    same(&format!("ld.global.v8.b32 {eight}, [%a];\nst.global.v8.b32 [%b], {eight};"), 32);
    same("ld.global.v4.b64 {%d0, %d1, %d2, %d3}, [%a];\nst.global.v4.b64 [%b], {%d0, %d1, %d2, %d3};", 32);
    same(
        "ld.global.v4.f64 {%f0, %f1, %f2, %f3}, [%a+32];\nst.global.v4.f64 [%b+32], {%f0, %f1, %f2, %f3};\nld.global.v8.f32 {%e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7}, [%a];\nst.global.v8.f32 [%b], {%e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7};",
        64,
    );
    check(
        "ld.global.v8.b32 {%r0, _, _, %r3, %r4, _, %r6, _}, [%a];\nst.global.v4.b32 [%b], {%r6, %r4, %r3, %r0};",
        |from, _| [&from[24..28], &from[16..20], &from[12..16], &from[..4]].concat(),
    );
}

#[test]
fn vectors_of_narrow_elements() {
    let reverse = |n: usize, size: usize| {
        move |from: &[u8], _: &[u8]| {
            from[..n * size].chunks(size).rev().flatten().copied().collect::<Vec<u8>>()
        }
    };
    for (space, at, to) in [("global", "%a", "%b"), ("shared", "%s", "%s"), ("local", "%l", "%l")] {
        let fill = match space {
            "global" => String::new(),
            _ => format!(
                "ld.global.v4.b32 {{%r8, %r9, %r10, %r11}}, [%a];\nst.{space}.v4.b32 [{at}], {{%r8, %r9, %r10, %r11}};\n"
            ),
        };
        let flush = |bytes: usize| match (space, bytes) {
            ("global", _) => String::new(),
            (_, 2) => format!("ld.{space}.b16 %h0, [{to}];\nst.global.b16 [%b], %h0;"),
            (_, 4) => format!("ld.{space}.b32 %r8, [{to}];\nst.global.b32 [%b], %r8;"),
            _ => format!("ld.{space}.v2.b32 {{%r8, %r9}}, [{to}];\nst.global.v2.b32 [%b], {{%r8, %r9}};"),
        };
        let body = |ty: &str, from: &str, back: &str, bytes: usize| {
            let n = from.split(',').count();
            format!(
                "{fill}ld.{space}.v{n}.{ty} {{{from}}}, [{at}];\nst.{space}.v{n}.{ty} [{to}], {{{back}}};\n{}",
                flush(bytes)
            )
        };
        check(&body("b8", "%h0, %h1", "%h1, %h0", 2), reverse(2, 1));
        check(&body("s8", "%r0, %r1, %r2, %r3", "%r3, %r2, %r1, %r0", 4), reverse(4, 1));
        check(&body("u16", "%h0, %h1", "%h1, %h0", 4), reverse(2, 2));
        check(&body("b16", "%h0, %h1, %h2, %h3", "%h3, %h2, %h1, %h0", 8), reverse(4, 2));
        check(&body("s16", "%r0, %r1, %r2, %r3", "%r3, %r2, %r1, %r0", 8), reverse(4, 2));
    }
    check(
        "ld.const.v4.u8 {%h0, %h1, %h2, %h3}, [table+20];\nst.global.v4.u8 [%b], {%h3, %h2, %h1, %h0};",
        |_, c| c[20..24].iter().rev().copied().collect(),
    );
    check("ld.const.v2.f64 {%f0, %f1}, [%c+48];\nst.global.v2.f64 [%b], {%f1, %f0};", |_, c| {
        [&c[56..64], &c[48..56]].concat()
    });
}

#[test]
fn compare_and_swap_of_128_bits() {
    // Every thread has a word of its own; the first comparison succeeds and the second fails.
    for (space, at) in [("global", "%b"), ("shared", "%s"), ("", "%b")] {
        let dot = if space.is_empty() { String::new() } else { format!(".{space}") };
        let body = format!(
            "ld.global.b128 %w0, [%a];\nld.global.b128 %w1, [%a+16];\nst{dot}.b128 [{at}], %w0;\n\
             atom{dot}.cas.b128 %w2, [{at}], %w0, %w1;\natom{dot}.cas.b128 %w3, [{at}], %w0, %w0;\nst.global.b128 [%b+16], %w2;\nst.global.b128 [%b+32], %w3;\n\
             atom{dot}.exch.b128 %w3, [{at}], %w0;\nst.global.b128 [%b+48], %w3;\nld{dot}.b128 %w2, [{at}];\nst.global.b128 [%b], %w2;"
        );
        check(&body, |from, _| {
            let (first, second) = (&from[..16], &from[16..32]);
            // The old value again; the results of the comparisons; the result of the exchange.
            [first, first, second, second].concat()
        });
    }
}
