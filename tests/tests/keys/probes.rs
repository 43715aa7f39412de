//! Small kernels, each of which leans on some parts of a machine.

use std::fmt::Write as _;

/// A kernel `run` with the buffers `from` and `to`, each of `words` words, and its launches: blocks and threads.
pub(super) struct Probe {
    pub name: &'static str,
    pub ptx: String,
    pub words: usize,
    pub launches: &'static [(u32, u32)],
}

/// `%i` is the thread's number in the launch, `%t` in its block; `%f` and `%o` are the addresses of its own words of `from` and
/// `to`, `%from` and `%to` those of the buffers. `%x` is what it stores at the end.
fn kernel(declared: &str, body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n{declared}\n\
         .visible .entry run(.param .u64 from, .param .u64 to) {{
            .reg .b16 %h<8>; .reg .b32 %x, %i, %t, %n, %s, %r<160>; .reg .b64 %from, %to, %f, %o, %d<16>;
            .reg .f32 %e<8>; .reg .f64 %g<8>; .reg .pred %p<4>;
            mov.u32 %t, %tid.x; mov.u32 %x, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %x, %n, %t;
            ld.param.u64 %from, [from]; ld.param.u64 %to, [to]; mov.u32 %x, %i;
            mad.wide.u32 %f, %i, 4, %from; mad.wide.u32 %o, %i, 4, %to;
            {body}
            st.global.u32 [%o], %x;
            ret;
         }}"
    )
}

/// A loop around a body; `%n` counts down.
fn repeated(times: u32, body: &str) -> String {
    format!(
        "mov.u32 %n, {times};\nLOOP:\n{body}\nsub.u32 %n, %n, 1; setp.ne.u32 %p0, %n, 0;\n@%p0 bra LOOP;\n"
    )
}

/// Every unit: its results one after the other, and side by side.
fn units() -> String {
    let body = "
        add.f64 %g1, %g1, %g0; add.f64 %g2, %g2, %g0; mul.f64 %g1, %g1, %g0; mul.f64 %g3, %g3, %g0;
        fma.rn.f64 %g1, %g1, %g0, %g2; fma.rn.f64 %g4, %g4, %g0, %g0;
        setp.lt.f64 %p1, %g1, %g2; selp.f64 %g2, %g1, %g2, %p1;
        fma.rn.f16x2 %r1, %r1, %r0, %r0; fma.rn.f16x2 %r2, %r2, %r0, %r1; add.f16x2 %r3, %r3, %r0;
        shfl.sync.bfly.b32 %r4, %r4, 1, 31, -1; shfl.sync.bfly.b32 %r5, %r5, 2, 31, -1; add.u32 %r4, %r4, %r5;
        ex2.approx.ftz.f32 %e1, %e1; ex2.approx.ftz.f32 %e2, %e2; rcp.approx.ftz.f32 %e3, %e1;
        cvt.rn.f32.u32 %e4, %r4; cvt.rzi.u32.f32 %r6, %e4; cvt.rn.f32.u32 %e5, %r5; popc.b32 %r7, %r6; popc.b32 %r8, %r4;
        mad.lo.u32 %r9, %r7, %r8, %r9; mad.lo.u32 %r9, %r9, %r8, %r7; mul.lo.u32 %r10, %r8, %r7;
        max.s32 %r10, %r10, %r9; min.u32 %r10, %r10, %r4; max.f32 %e6, %e1, %e2; min.f32 %e6, %e6, %e3;
        add.f32 %e1, %e1, %e0; mul.f32 %e2, %e2, %e0; fma.rn.f32 %e6, %e6, %e0, %e1; fma.rn.f32 %e5, %e5, %e6, %e6;
        add.u32 %r9, %r9, %r10; xor.b32 %r8, %r8, %r9; shf.l.wrap.b32 %r11, %r8, %r9, %r4;
        mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%e1, %e2, %e3, %e5}, {%r1, %r2}, {%r3}, {%e1, %e2, %e3, %e5};";
    let start = "ld.global.u32 %r0, [%f]; cvt.rn.f64.u32 %g0, %r0; cvt.rn.f32.u32 %e0, %r0; mov.f64 %g1, %g0; mov.f64 %g2, %g0;
        mov.f64 %g3, %g0; mov.f64 %g4, %g0; mov.f32 %e1, %e0; mov.f32 %e2, %e0; mov.b32 %r1, %r0; mov.b32 %r2, %r0;
        mov.b32 %r3, %r0; mov.b32 %r4, %r0; mov.b32 %r5, %r0; mov.b32 %r9, %r0;";
    let end = "add.f64 %g1, %g1, %g2; add.f64 %g3, %g3, %g4; add.f64 %g1, %g1, %g3; cvt.rzi.u32.f64 %r0, %g1;
        mov.b32 %r1, %e6; add.u32 %x, %r0, %r1; add.u32 %x, %x, %r9; add.u32 %x, %x, %r11; mov.b32 %r1, %e1;
        add.u32 %x, %x, %r1; mov.b32 %r1, %e5; add.u32 %x, %x, %r1;";
    kernel("", &format!("{start}{}{end}", repeated(6, body)))
}

/// Words all over the buffers, and long runs of them: 8 MB.
fn scattered() -> String {
    let body = "
        mad.lo.u32 %s, %s, 1664525, 1013904223; shr.u32 %r0, %s, 8; and.b32 %r0, %r0, 0x1fffff;
        mad.wide.u32 %d0, %r0, 4, %from; mad.wide.u32 %d1, %r0, 4, %to;
        ld.global.u32 %r1, [%d0]; add.u32 %x, %x, %r1; st.global.u32 [%d1], %x;
        ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d2]; st.global.v4.u32 [%d3], {%r2, %r3, %r4, %x};
        add.u64 %d2, %d2, 65536; add.u64 %d3, %d3, 65536;";
    let start = "mov.u32 %s, %i; mad.wide.u32 %d2, %i, 16, %from; mad.wide.u32 %d3, %i, 16, %to;";
    kernel("", &format!("{start}{}", repeated(2, body)))
}

/// Lines that warps of an SM and SMs share, in L1 and L2; loads that only wait.
fn shared_lines() -> String {
    let body = "
        mad.lo.u32 %s, %s, 5, 1; and.b32 %r0, %s, 8191; mad.wide.u32 %d0, %r0, 4, %from; ld.global.u32 %r1, [%d0];
        add.u32 %x, %x, %r1; shl.b32 %r0, %r0, 2; and.b32 %r0, %r0, 65535; mad.wide.u32 %d0, %r0, 4, %from;
        ld.global.u32 %r2, [%d0]; ld.global.u32 %r3, [%d0+4096]; add.u32 %x, %x, %r2; add.u32 %x, %x, %r3;";
    kernel("", &format!("mov.u32 %s, %i;{}", repeated(4, body)))
}

/// Atomics on few words of global memory and of shared memory, and conflicts of banks.
fn atomics() -> String {
    let body = "
        and.b32 %r0, %i, 63; mad.wide.u32 %d0, %r0, 4, %to; atom.global.add.u32 %r1, [%d0], 1; red.global.add.u32 [%to], 1;
        and.b32 %r2, %t, 7; mov.u32 %r3, words; mad.lo.u32 %r2, %r2, 4, %r3; atom.shared.add.u32 %r4, [%r2], 1;
        shl.b32 %r5, %t, 3; and.b32 %r5, %r5, 2047; shl.b32 %r5, %r5, 1; add.u32 %r5, %r5, %r3;
        st.shared.u32 [%r5], %r4; ld.shared.u32 %r6, [%r5]; shr.u32 %r7, %t, 1; and.b32 %r7, %r7, 127;
        mad.lo.u32 %r7, %r7, 8, %r3; ld.shared.v2.u32 {%r8, %r9}, [%r7]; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r3];
        add.u32 %x, %r1, %r4; add.u32 %x, %x, %r6; add.u32 %x, %x, %r8; add.u32 %x, %x, %r10; bar.sync 0;";
    kernel(".shared .align 16 .b8 words[4096];", &repeated(4, body))
}

/// Constants: one word for all lanes, one for each, and all 64 KB.
fn constants() -> String {
    let body = "
        shl.b32 %r0, %n, 8; and.b32 %r0, %r0, 65532; mov.u32 %r1, table; add.u32 %r0, %r0, %r1; ld.const.u32 %r2, [%r0];
        mad.lo.u32 %r3, %t, 68, %n; shl.b32 %r3, %r3, 2; and.b32 %r3, %r3, 65532; add.u32 %r3, %r3, %r1;
        ld.const.u32 %r4, [%r3]; add.u32 %x, %x, %r2; add.u32 %x, %x, %r4; shl.b32 %r8, %n, 4; add.u32 %r8, %r8, %r1;
        ld.const.v2.u32 {%r5, %r6}, [%r8]; add.u32 %x, %x, %r5; add.u32 %x, %x, %r6;";
    // Operands of instructions, in more lines than their cache has.
    let operands: String = (0..24)
        .map(|line| format!("ld.const.u32 %r7, [table+{}]; add.u32 %x, %x, %r7;\n", 64 * line))
        .collect();
    kernel(".const .align 8 .b8 table[65536];", &repeated(20, &format!("{body}{operands}")))
}

/// More code than caches of code hold, with jumps over parts of it, beside warps that run a short loop again and again.
fn code() -> String {
    let mut body = String::new();
    for part in 0..300 {
        let _ = writeln!(
            body,
            "and.b32 %r1, %x, {}; setp.eq.u32 %p1, %r1, 0;\n@%p1 bra PART{part};",
            1 << (part % 5)
        );
        for step in 0..24 {
            let _ = writeln!(body, "mad.lo.u32 %x, %x, {}, %r0;", 3 + 2 * (part * 24 + step));
        }
        let _ = writeln!(body, "PART{part}:");
    }
    let short = "setp.lt.u32 %p2, %t, 96; mov.u32 %r2, 400;\n@%p2 bra LONG;\n\
        SHORT: mad.lo.u32 %x, %x, %r0, %r2; sub.u32 %r2, %r2, 1; setp.ne.u32 %p3, %r2, 0; \
        ld.volatile.global.u32 %r3, [%f]; add.u32 %x, %x, %r3;\n@%p3 bra SHORT;\nbra END;\nLONG:\n";
    kernel("", &format!("ld.global.u32 %r0, [%f];{short}{}\nEND:\n", repeated(2, &body)))
}

/// An array of each thread in local memory.
fn local() -> String {
    let body = "
        mad.lo.u32 %s, %s, 13, %t; and.b32 %r0, %s, 252; mov.u32 %r1, array; add.u32 %r0, %r0, %r1;
        ld.local.u32 %r2, [%r0]; add.u32 %x, %x, %r2; st.local.u32 [%r0], %x;
        xor.b32 %r3, %r0, 64; ld.local.u32 %r4, [%r3]; add.u32 %x, %x, %r4;";
    let start = "mov.u32 %s, %t; mov.u32 %r1, array; st.local.u32 [%r1], %t;";
    kernel("", &format!(".local .align 4 .b8 array[256];\n{start}{}", repeated(12, body)))
}

/// Many registers, shared memory and blocks, so that each may bound the blocks of an SM.
fn crowded() -> String {
    let mut body = String::new();
    for number in 0..90 {
        let _ = writeln!(body, "ld.global.u32 %r{number}, [%f+{}];", 4096 * number);
    }
    for number in 0..90 {
        let _ = writeln!(body, "mad.lo.u32 %x, %x, %r{number}, %r{};", (number + 7) % 90);
    }
    kernel(
        ".shared .align 16 .b8 words[12000];",
        &format!("mov.u32 %s, words; st.shared.u32 [%s], %t; bar.sync 0; ld.shared.u32 %x, [%s];\n{body}"),
    )
}

/// Lanes go different ways, under guards and loops of different lengths.
fn divergent() -> String {
    let body = "
        and.b32 %r0, %t, 3; setp.eq.u32 %p1, %r0, 0; setp.lt.u32 %p2, %t, 40;
        @%p2 ld.global.u32 %r1, [%f]; @!%p2 add.u32 %r1, %x, 3; @%p1 bra SIDE;
        mul.lo.u32 %x, %x, 7; ld.global.u32 %r2, [%f+4096]; add.u32 %x, %x, %r2; bra JOIN;
        SIDE: mul.lo.u32 %x, %x, 11; st.global.u32 [%o+4096], %x; mov.u32 %r3, %r0;
        INNER: add.u32 %r3, %r3, 1; mad.lo.u32 %x, %x, %r3, %r1; and.b32 %r4, %i, 15; setp.lt.u32 %p3, %r3, %r4;
        @%p3 bra INNER;
        JOIN: barrier.red.popc.aligned.u32 %r5, 0, %p1; add.u32 %x, %x, %r5;";
    kernel("", &repeated(5, body))
}

/// The same word for all lanes: uniform registers, and loads and stores with uniform addresses.
fn uniform() -> String {
    let body = "
        mov.u32 %r0, %ctaid.x; mad.lo.u32 %r1, %r0, 12, %n; and.b32 %r1, %r1, 1023; mad.wide.u32 %d0, %r1, 4, %from;
        ld.global.u32 %r2, [%d0]; st.global.u32 [%o+8192], %r1; add.u32 %x, %x, %r2; xor.b32 %r3, %r1, %r0;
        shl.b32 %r3, %r3, 2; mad.lo.u32 %x, %x, %r3, %r1; st.global.v2.u32 [%d1], {%x, %r3};
        fma.rn.f32 %e0, %e1, %e2, %e3; fma.rn.f32 %e1, %e2, %e3, %e0; fma.rn.f32 %e2, %e0, %e1, %e3;";
    let start =
        "mov.b32 %e0, %x; mov.b32 %e1, %i; mov.b32 %e2, %t; mov.b32 %e3, %x; mad.wide.u32 %d1, %i, 8, %to;";
    kernel("", &format!("{start}{} mov.b32 %r9, %e2; add.u32 %x, %x, %r9;", repeated(16, body)))
}

/// A chain of sums and products of one warp.
fn chain() -> String {
    let body = "add.f32 %e1, %e1, %e0; mul.f32 %e1, %e1, %e2; ".repeat(16);
    let start = "mov.b32 %e0, %i; mov.b32 %e1, %t; ld.global.f32 %e2, [%f];";
    kernel("", &format!("{start}{} mov.b32 %x, %e1;", repeated(8, &body)))
}

/// Units that all warps of an SM want in every cycle.
fn dense() -> String {
    let mut body = String::new();
    for chain in 1..9 {
        let _ = writeln!(
            body,
            "add.u32 %r{chain}, %r{chain}, %r0; xor.b32 %r{chain}, %r{chain}, %t; ld.shared.u32 %r{}, [%s+{}];
             add.u32 %r{chain}, %r{chain}, %r{};",
            20 + chain,
            4 * chain,
            20 + chain
        );
    }
    for chain in 0..2 {
        let _ = writeln!(
            body,
            "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {{%r{0}, %r{1}}}, {{%r30, %r31}}, {{%r32}}, {{%r{0}, %r{1}}};",
            40 + 2 * chain,
            41 + 2 * chain
        );
    }
    let start: String = (0..44).map(|register| format!("mov.b32 %r{register}, %i;\n")).collect();
    let end: String =
        (1..9).chain(40..44).map(|register| format!("xor.b32 %x, %x, %r{register};\n")).collect();
    kernel(
        ".shared .align 16 .b8 words[4096];",
        &format!(
            "mov.u32 %s, words; mad.lo.u32 %s, %t, 4, %s; st.shared.u32 [%s], %i; bar.sync 0;\n{start}{}{end}",
            repeated(8, &body)
        ),
    )
}

const SMALL: usize = 1 << 18;

pub(super) fn probes() -> Vec<Probe> {
    let probe = |name, ptx, words, launches| Probe { name, ptx, words, launches };
    vec![
        probe("units", units(), SMALL, &[(4, 256)]),
        probe("chain", chain(), SMALL, &[(1, 32)]),
        probe("dense", dense(), SMALL, &[(4, 512)]),
        probe("divergent", divergent(), SMALL, &[(40, 64)]),
        probe("uniform", uniform(), SMALL, &[(40, 64)]),
        probe("constants", constants(), SMALL, &[(8, 128)]),
        probe("atomics", atomics(), SMALL, &[(40, 256)]),
        probe("local", local(), SMALL, &[(20, 128)]),
        probe("code", code(), SMALL, &[(2, 160), (2, 160)]),
        probe("crowded", crowded(), SMALL, &[(100, 64)]),
        probe("shared lines", shared_lines(), SMALL, &[(30, 256), (30, 256)]),
        probe("scattered", scattered(), 1 << 21, &[(30, 256), (30, 256)]),
    ]
}

/// The probe that leans most on the part of a machine that a key describes.
pub(super) fn for_key(key: &str) -> &'static str {
    match key.split('.').next().unwrap_or_default() {
        "dram" | "l2" | "gpu" => "scattered",
        "l1" | "interconnect" | "launch" => "shared lines",
        "front_end" | "l15" => "code",
        "sm" => "crowded",
        "constant_cache" => "constants",
        "texture_cache" => FETCHES,
        "shared_memory" | "load_store" => "atomics",
        "sub_core" => "uniform",
        "scheduler" => "divergent",
        _ => "units",
    }
}

/// Fetches from a texture, whose code comes from another file.
pub(super) const FETCHES: &str = "fetches";
