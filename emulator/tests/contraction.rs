//! Contraction of products and sums as ptxas 13.5 does it by default. The counts of each case are what `nvdisasm`
//! shows of the same text assembled for sm_75 (bf16: sm_90, f32x2: sm_100); the values show which product was fused.

use crate::lower_kit;

use lower_kit::*;
use test_kit::Random;

/// Parameters: words in, words out. `%f1` to `%f4`, `%d1` to `%d4` and `%r1` to `%r3` (pairs of halves, of which
/// `%h1` to `%h3` are the lower ones) are loaded, `[%o]` is the output, `%p1` is true in odd threads.
fn kernel(body: &str) -> String {
    let mut text = String::from(
        ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry test(.param .u64 p0, .param .u64 p1)\n{\n\
         .reg .pred %p<4>; .reg .b16 %h<30>; .reg .b32 %t, %r<30>; .reg .f32 %f<30>; .reg .f64 %d<30>; .reg .b64 %i, %o, %l<30>;\n\
         mov.u32 %t, %tid.x; and.b32 %r0, %t, 1; setp.eq.u32 %p1, %r0, 1;\n\
         ld.param.u64 %i, [p0]; ld.param.u64 %o, [p1]; mad.wide.u32 %i, %t, 64, %i; mad.wide.u32 %o, %t, 32, %o;\n",
    );
    for i in 1..=4 {
        text +=
            &format!("ld.global.f32 %f{i}, [%i+{}];\nld.global.f64 %d{i}, [%i+{}];\n", 4 * i - 4, 8 + 8 * i);
    }
    for i in 1..=3 {
        text += &format!("ld.global.b32 %r{i}, [%i+{}];\nmov.b32 {{%h{i}, _}}, %r{i};\n", 44 + 4 * i);
    }
    text + body + "\nret;\n}\n"
}

/// Numbers of multiply-adds, products and sums of any type in the lowered text.
fn counts(body: &str, fmad: bool) -> [usize; 3] {
    let module = emulator::ptx::parse(&kernel(body), "test.ptx").unwrap_or_else(|e| panic!("{e}"));
    let layout = emulator::lower::ModuleLayout::of(&module).unwrap();
    let (id, _) = module.kernels().next().unwrap();
    let options = emulator::lower::LowerOptions { check: true, fmad, ..Default::default() };
    let lowered = emulator::lower::lower_kernel(&module, &layout, id, &options).unwrap();
    assert!(lowered.unsupported.is_empty(), "{body}: {:?}", lowered.unsupported);
    ["FMA", "MUL", "ADD"].map(|name| {
        let is = |m: &str| {
            ["F", "D", "H"]
                .iter()
                .any(|ty| m.strip_prefix(ty).is_some_and(|m| m.trim_end_matches('2') == name))
        };
        lowered.kernel.insts.iter().filter(|inst| is(inst.info().mnemonic)).count()
    })
}

/// Text and what ptxas makes of it.
const CASES: &[(&str, [usize; 3])] = &[
    // Which instructions.
    ("mul.rn.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; add.rn.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; add.f32 %f10,%f3,%f5; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; sub.f32 %f10,%f5,%f3; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; sub.f32 %f10,%f3,%f5; OUT", [1, 0, 0]),
    ("mul.sat.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; add.sat.f32 %f10,%f5,%f3; OUT", [1, 0, 0]),
    ("mul.ftz.f32 %f5,%f1,%f2; add.ftz.f32 %f10,%f5,%f3; OUT", [1, 0, 0]),
    ("mul.ftz.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; add.ftz.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,0f40490FDB; add.f32 %f10,%f5,0f40490FDC; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f1; add.f32 %f10,%f5,%f1; OUT", [1, 0, 0]),
    // Constants are known before.
    ("mul.f32 %f5,0f3F8CCCCD,0f3F99999A; add.f32 %f10,%f5,%f3; OUT", [0, 0, 1]),
    ("mul.ftz.f32 %f5,0f3F8CCCCD,0f3F99999A; add.ftz.f32 %f10,%f5,%f3; OUT", [0, 0, 1]),
    (
        "mul.f64 %d5,0d3FF199999999999A,0d3FF3333333333333; add.f64 %d10,%d5,%d3; st.global.f64 [%o],%d10;",
        [0, 0, 1],
    ),
    ("mul.f32 %f5,0f3F8CCCCD,0f3F99999A; mul.f32 %f6,%f1,%f2; add.f32 %f10,%f5,%f6; OUT", [1, 0, 0]),
    ("mul.f32 %f5,0f3F8CCCCD,0f3F99999A; mul.f32 %f6,%f1,%f2; add.f32 %f10,%f6,%f5; OUT", [1, 0, 0]),
    (
        "mov.f32 %f8,0f3F8CCCCD; add.f32 %f8,%f8,%f8; mul.f32 %f5,%f8,0f3F99999A; add.f32 %f10,%f5,%f3; OUT",
        [0, 0, 1],
    ),
    (
        "mov.b32 %r5,0x3c113c11; mov.b32 %r6,0x3c173c19; mul.f16x2 %r7,%r5,%r6; add.f16x2 %r8,%r7,%r1; st.global.b32 [%o],%r8;",
        [1, 0, 0],
    ),
    (
        "mov.f32 %f8,0f3F8CCCCD; mov.f32 %f10,%f3; X: ld.volatile.global.u32 %r6,[%i]; mul.f32 %f5,%f8,0f3F99999A; \
         add.f32 %f10,%f5,%f10; setp.ne.u32 %p2,%r6,0; @%p2 bra X; OUT",
        [0, 0, 1],
    ),
    (
        "mul.f32 %f5,%f1,%f2; slct.f32.f32 %f6,%f3,%f3,%f5; st.global.f32 [%o+4],%f6; add.f32 %f10,%f5,%f4; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f5,%f1,%f2; mov.b32 %r5,%f5; and.b32 %r6,%r5,0; add.u32 %r6,%r6,%r1; st.global.u32 [%o+4],%r6; \
         add.f32 %f10,%f5,%f4; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; setp.eq.s32 %p2,7,9; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; mov.u64 %l1,7; mov.u64 %l2,0xfeffffffffffffff; setp.gt.u64 %p2,%l1,%l2; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; mov.u64 %l1,0x100000007; setp.ge.s64 %p2,%l1,0x100000009; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; ld.global.u64 %l1,[%i+16]; setp.ne.u64 %p2,%l1,%l1; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; ld.global.u16 %h1,[%i+16]; setp.ne.s16 %p2,%h1,%h1; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; cvt.u64.u32 %l1,%r1; setp.gt.u64 %p2,%l1,0xfeffffffffffffff; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [0, 1, 1],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; setp.eq.f32 %p2,0f3f800000,0f40000000; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; setp.eq.f32 %p2,0f3f800000,0f7fc00000; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f8,%f1,%f2; add.f32 %f10,%f3,%f8; setp.gtu.f64 %p2,0d3ff0000000000000,0d4000000000000000; @%p2 bra X; mov.f32 %f8,%f3; X: \
         st.global.f32 [%o+4],%f8; OUT",
        [1, 0, 0],
    ),
    // Instructions between product and sum.
    ("mul.f32 %f5,%f1,%f2; neg.f32 %f6,%f5; add.f32 %f10,%f6,%f3; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; neg.f32 %f6,%f5; neg.f32 %f7,%f6; add.f32 %f10,%f7,%f3; OUT", [1, 0, 0]),
    ("mul.ftz.f32 %f5,%f1,%f2; neg.ftz.f32 %f6,%f5; add.ftz.f32 %f10,%f6,%f3; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; abs.f32 %f6,%f5; add.f32 %f10,%f6,%f3; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; mov.f32 %f6,%f5; add.f32 %f10,%f6,%f3; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; mov.b32 %r6,%f5; mov.b32 %f6,%r6; add.f32 %f10,%f6,%f3; OUT", [1, 0, 0]),
    (
        "mul.f32 %f5,%f1,%f2; mov.b32 %r6,%f5; xor.b32 %r6,%r6,0x80000000; mov.b32 %f6,%r6; add.f32 %f10,%f6,%f3; OUT",
        [1, 0, 0],
    ),
    // Several uses.
    ("mul.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; st.global.f32 [%o+4],%f5; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; add.f32 %f11,%f5,%f4; OUT2", [2, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; neg.f32 %f6,%f5; add.f32 %f10,%f5,%f3; add.f32 %f11,%f6,%f4; OUT2", [2, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; mul.f32 %f12,%f5,%f5; add.f32 %f10,%f5,%f3; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f5; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; sub.f32 %f10,%f5,%f5; OUT", [0, 1, 1]),
    (
        "mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f1,%f2; add.f32 %f10,%f5,%f3; st.global.f32 [%o+4],%f6; OUT",
        [1, 1, 0],
    ),
    ("mul.f32 %f5,%f1,%f2; fma.rn.f32 %f10,%f3,%f4,%f5; OUT", [1, 1, 0]),
    // Two products: the first operand, or the one with fewer sums.
    ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f10,%f5,%f6; OUT", [1, 1, 0]),
    ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; sub.f32 %f10,%f6,%f5; OUT", [1, 1, 0]),
    (
        "mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f10,%f5,%f6; st.global.f32 [%o+4],%f5; OUT",
        [1, 1, 0],
    ),
    ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f10,%f5,%f6; add.f32 %f11,%f6,%f1; OUT2", [1, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f11,%f6,%f1; add.f32 %f10,%f5,%f6; OUT2", [1, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f10,%f5,%f6; add.f32 %f11,%f5,%f1; OUT2", [1, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f10,%f5,%f6; sub.f32 %f11,%f6,%f5; OUT2", [2, 1, 0]),
    (
        "mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f10,%f5,%f6; add.f32 %f11,%f5,%f1; add.f32 %f12,%f6,%f2; OUT2 st.global.f32 [%o+8],%f12;",
        [2, 1, 1],
    ),
    (
        "mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f11,%f5,%f1; add.f32 %f12,%f6,%f2; add.f32 %f10,%f5,%f6; OUT2 st.global.f32 [%o+8],%f12;",
        [3, 1, 0],
    ),
    (
        "mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; add.f32 %f10,%f5,%f6; add.f32 %f11,%f5,%f1; add.f32 %f13,%f5,%f2; add.f32 %f12,%f6,%f2; OUT2 st.global.v2.f32 [%o+8],{%f12, %f13};",
        [2, 1, 2],
    ),
    ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f5,%f4; add.f32 %f10,%f6,%f5; OUT", [1, 1, 0]),
    ("mul.f32 %f5,%f1,%f2; add.f32 %f6,%f5,%f3; mul.f32 %f7,%f3,%f4; add.f32 %f10,%f6,%f7; OUT", [2, 0, 0]),
    (
        "mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; mul.f32 %f7,%f2,%f4; add.f32 %f8,%f5,%f6; add.f32 %f10,%f8,%f7; OUT",
        [2, 1, 0],
    ),
    // Runs.
    ("mul.f32 %f5,%f1,%f2; bar.sync 0; add.f32 %f10,%f5,%f3; OUT", [1, 0, 0]),
    ("mul.f32 %f5,%f1,%f2; LABEL: add.f32 %f10,%f5,%f3; OUT", [1, 0, 0]),
    ("mov.f32 %f10,%f4; mul.f32 %f5,%f1,%f2; @%p1 add.f32 %f10,%f5,%f3; OUT", [1, 0, 0]),
    (
        "mov.f32 %f10,%f4; mul.f32 %f5,%f1,%f2; @%p1 add.f32 %f10,%f5,%f3; @!%p1 sub.f32 %f10,%f5,%f3; OUT",
        [2, 0, 0],
    ),
    ("mov.f32 %f5,%f4; @%p1 mul.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    ("mov.f32 %f10,%f4; @%p1 mul.f32 %f5,%f1,%f2; @%p1 add.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    ("mul.f32 %f5,%f1,%f2; @%p1 mov.f32 %f5,%f4; add.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    (
        "mul.f32 %f5,%f1,%f2; @%p1 add.u32 %r1,%r1,1; add.f32 %f10,%f5,%f3; st.global.u32 [%o+4],%r1; OUT",
        [1, 0, 0],
    ),
    ("mul.f32 %f5,%f1,%f2; @%p1 st.global.f32 [%o+8],%f4; add.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    (
        "mul.f32 %f5,%f1,%f2; @%p1 ld.global.u32 %r1,[%i+64]; add.f32 %f10,%f5,%f3; st.global.u32 [%o+4],%r1; OUT",
        [0, 1, 1],
    ),
    (
        "@%p1 ld.global.u32 %r1,[%i+64]; mul.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; st.global.u32 [%o+4],%r1; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f5,%f1,%f2; mov.f32 %f10,%f4; @%p1 bra X; bar.sync 0; add.f32 %f10,%f5,%f3; X: OUT",
        [0, 1, 1],
    ),
    ("mul.f32 %f5,%f1,%f2; @%p1 bra X; st.global.f32 [%o+4],%f4; X: add.f32 %f10,%f5,%f3; OUT", [0, 1, 1]),
    (
        "mul.f32 %f5,%f1,%f2; add.f32 %f10,%f5,%f3; OUT @%p1 bra X; bar.sync 0; add.f32 %f11,%f5,%f4; st.global.f32 [%o+8],%f11; X:",
        [0, 1, 2],
    ),
    (
        "@%p1 bra X; mul.f32 %f5,%f1,%f2; bra Y; X: mul.f32 %f5,%f3,%f2; Y: add.f32 %f10,%f5,%f3; OUT",
        [0, 2, 1],
    ),
    (
        "mov.f32 %f10,%f4; X: ld.volatile.global.f32 %f6,[%i]; mul.f32 %f5,%f6,%f2; add.f32 %f10,%f10,%f5; setp.ne.f32 %p2,%f6,0f00000000; @%p2 bra X; OUT",
        [1, 0, 0],
    ),
    (
        "mul.f32 %f5,%f1,%f2; mov.f32 %f10,%f3; X: ld.volatile.global.u32 %r6,[%i]; add.f32 %f10,%f10,%f5; setp.ne.u32 %p2,%r6,0; @%p2 bra X; OUT",
        [0, 1, 1],
    ),
    (
        "mul.f32 %f5,%f1,%f2; shfl.sync.idx.b32 %r6,%r1,%r2,31,-1; add.f32 %f10,%f5,%f3; st.global.u32 [%o+4],%r6; OUT",
        [1, 0, 0],
    ),
    // Other types.
    ("mul.f64 %d5,%d1,%d2; add.f64 %d6,%d5,%d3; st.global.f64 [%o],%d6;", [1, 0, 0]),
    ("mul.rn.f64 %d5,%d1,%d2; add.rn.f64 %d6,%d5,%d3; st.global.f64 [%o],%d6;", [0, 1, 1]),
    ("mul.f64 %d5,%d1,%d2; sub.f64 %d6,%d3,%d5; st.global.f64 [%o],%d6;", [1, 0, 0]),
    ("mul.f64 %d5,%d1,%d2; neg.f64 %d7,%d5; add.f64 %d6,%d7,%d3; st.global.f64 [%o],%d6;", [1, 0, 0]),
    ("mul.f64 %d5,%d1,%d2; mul.f64 %d7,%d3,%d4; add.f64 %d6,%d7,%d5; st.global.f64 [%o],%d6;", [1, 1, 0]),
    (
        "mul.f64 %d5,%d1,%d2; add.f64 %d6,%d3,%d5; st.global.f64 [%o+8],%d5; st.global.f64 [%o],%d6;",
        [0, 1, 1],
    ),
    ("mul.f64 %d5,%d1,%d2; add.f64 %d6,%d5,%d5; st.global.f64 [%o],%d6;", [0, 1, 1]),
    (
        "mul.f64 %d5,%d1,%d2; mov.b64 %l5,%d5; mov.b64 %d7,%l5; add.f64 %d6,%d7,%d3; st.global.f64 [%o],%d6;",
        [1, 0, 0],
    ),
    ("mul.f16 %h5,%h1,%h2; add.f16 %h6,%h5,%h3; st.global.b16 [%o],%h6;", [1, 0, 0]),
    ("mul.rn.f16 %h5,%h1,%h2; add.f16 %h6,%h5,%h3; st.global.b16 [%o],%h6;", [0, 1, 1]),
    ("mul.f16 %h5,%h1,%h2; add.rn.f16 %h6,%h5,%h3; st.global.b16 [%o],%h6;", [0, 1, 1]),
    ("mul.f16 %h5,%h1,%h2; sub.f16 %h6,%h3,%h5; st.global.b16 [%o],%h6;", [1, 0, 0]),
    ("mul.f16 %h5,%h1,%h2; mov.b32 %r5,{%h5,%h5}; add.f16x2 %r6,%r5,%r1; st.global.b32 [%o],%r6;", [0, 1, 1]),
    ("mul.f16x2 %r5,%r1,%r2; neg.f16x2 %r7,%r5; add.f16x2 %r6,%r7,%r3; st.global.b32 [%o],%r6;", [1, 0, 0]),
    ("mul.f16x2 %r5,%r1,%r2; add.sat.f16x2 %r6,%r3,%r5; st.global.b32 [%o],%r6;", [1, 0, 0]),
    ("mul.sat.f16x2 %r5,%r1,%r2; add.f16x2 %r6,%r3,%r5; st.global.b32 [%o],%r6;", [0, 1, 1]),
    ("mul.f16x2 %r5,%r1,%r2; add.ftz.f16x2 %r6,%r3,%r5; st.global.b32 [%o],%r6;", [0, 1, 1]),
    ("mul.bf16 %h5,%h1,%h2; add.bf16 %h6,%h5,%h3; st.global.b16 [%o],%h6;", [1, 0, 0]),
    ("mul.bf16x2 %r5,%r1,%r2; sub.bf16x2 %r6,%r3,%r5; st.global.b32 [%o],%r6;", [1, 0, 0]),
];

fn spelt_out(body: &str) -> String {
    body.replace("OUT2", "st.global.v2.f32 [%o],{%f10, %f11};").replace("OUT", "st.global.f32 [%o],%f10;")
}

#[test]
fn products_and_sums_are_fused_where_ptxas_fuses_them() {
    let mut wrong = Vec::new();
    for (body, want) in CASES {
        let got = counts(&spelt_out(body), true);
        if got != *want {
            wrong.push(format!("{body}: {got:?} instead of {want:?}"));
        }
        let [fused, _, _] = counts(&spelt_out(body), false);
        if fused != body.matches("fma.").count() {
            wrong.push(format!("{body}: {fused} multiply-adds without contraction"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A pair of single-precision numbers is fused like two of them, where ptxas has one instruction for both.
#[test]
fn pairs_of_singles_are_fused() {
    let text = |rn: &str| {
        format!(
            "mov.b64 %l5,%d1; mov.b64 %l6,%d2; mov.b64 %l7,%d3; mul{rn}.f32x2 %l8,%l5,%l6; add{rn}.f32x2 %l5,%l8,%l7; st.global.b64 [%o],%l5;"
        )
    };
    assert_eq!(counts(&text(""), true), [2, 0, 0]);
    assert_eq!(counts(&text(".rn"), true), [0, 2, 2]);
}

/// Which of two products is fused shows in the last bits.
#[test]
fn fused_values_are_rounded_once() {
    let mut random = Random::new(5);
    let threads = 64;
    let input: Vec<u32> =
        (0..threads * 16).map(|_| (1.0f32 + (random.bits() >> 41) as f32 / 8_388_608.0).to_bits()).collect();
    let f = |t: usize, i: usize| f32::from_bits(input[16 * t + i - 1]);
    type Want = fn([f32; 5]) -> f32;
    let cases: [(&str, Want); 7] = [
        ("mul.f32 %f5,%f1,%f2; sub.f32 %f10,%f3,%f5;", |f| (-f[1]).mul_add(f[2], f[3])),
        ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; sub.f32 %f10,%f5,%f6;", |f| {
            f[1].mul_add(f[2], -(f[3] * f[4]))
        }),
        ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; sub.f32 %f10,%f6,%f5;", |f| {
            f[3].mul_add(f[4], -(f[1] * f[2]))
        }),
        ("mul.f32 %f5,%f1,%f2; mul.f32 %f6,%f3,%f4; sub.f32 %f10,%f5,%f6; st.global.f32 [%o+4],%f5;", |f| {
            (-f[3]).mul_add(f[4], f[1] * f[2])
        }),
        ("mul.f32 %f5,%f1,%f2; neg.f32 %f6,%f5; sub.f32 %f10,%f6,%f3;", |f| (-f[1]).mul_add(f[2], -f[3])),
        ("mul.rn.f32 %f5,%f1,%f2; sub.f32 %f10,%f3,%f5;", |f| f[3] - f[1] * f[2]),
        ("mul.f32 %f5,%f1,%f2; sub.rn.f32 %f10,%f3,%f5;", |f| f[3] - f[1] * f[2]),
    ];
    for (body, want) in cases {
        let text = kernel(&format!("{body} st.global.f32 [%o],%f10;"));
        let out = run(&lower(&text, 255), &[input.clone(), vec![0; threads * 8]], &[], 1, threads as u32);
        for t in 0..threads {
            let wanted = want([0.0, f(t, 1), f(t, 2), f(t, 3), f(t, 4)]);
            assert_eq!(f32::from_bits(out[1][8 * t]), wanted, "thread {t} of {body}");
        }
    }
}

/// `--fmad` of every command that lowers.
#[test]
fn commands_take_the_choice() {
    let folder = tempfile::tempdir().unwrap();
    let (ptx, manifest) = (folder.path().join("k.ptx"), folder.path().join("k.toml"));
    let text = spelt_out("mul.f32 %f5,%f1,%f2; sub.f32 %f10,%f5,%f3; OUT");
    std::fs::write(&ptx, kernel(&text)).unwrap();
    std::fs::write(
        &manifest,
        "ptx = \"k.ptx\"\n[buffers.a]\ntype = \"f32\"\nlen = 512\ninit = { random = { seed = 1, min = 1.0, max = 2.0 } }\n\
         [buffers.b]\ntype = \"f32\"\nlen = 256\ninit = \"zeros\"\n[[launch]]\nkernel = \"test\"\ngrid = [1, 1, 1]\n\
         block = [32, 1, 1]\nargs = [\"@a\", \"@b\"]\n",
    )
    .unwrap();
    let emu = |args: &[&str]| {
        let run =
            std::process::Command::new(env!("CARGO_BIN_EXE_emu")).args(args).arg(&ptx).output().unwrap();
        assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    };
    for (flags, fused) in [(&[][..], true), (&["--fmad=true"], true), (&["--fmad=false"], false)] {
        let with = |command: &[&'static str]| emu(&[command, flags].concat());
        let listing = with(&["disasm"]);
        assert_eq!((listing.contains("FFMA"), listing.contains("FMUL")), (fused, !fused), "{listing}");
        assert_eq!(with(&["inspect", "--json"]) == emu(&["inspect", "--json"]), fused);
    }
    let words = |flag: &'static str| -> String {
        let out = emu(&["run", flag, "--dump", "b:256"]);
        out.lines()
            .find(|line| line.starts_with("b (256 x f32)"))
            .unwrap_or_else(|| panic!("{out}"))
            .to_owned()
    };
    assert_ne!(words("--fmad=true"), words("--fmad=false"));
}
