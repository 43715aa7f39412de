//! PTX of the microbenchmarks: chains of loads, chains and streams of instructions, and streams through the caches.

use std::fmt::Write as _;

/// Loads of a chain in the body of a loop.
pub(super) const LINKS: u32 = 32;
/// Bytes of a line of the caches.
pub(super) const LINE: u32 = 128;

fn module(body: &str) -> String {
    format!(".version 7.0\n.target sm_70\n.address_size 64\n{body}")
}

/// `link`: the first word of line i gets the address of the line that follows it in a permutation of all lines. `chase`: one
/// thread walks that many links from the first line on.
pub(super) fn chase() -> String {
    let links = "ld.global.u64 %p, [%p];\n".repeat(LINKS as usize);
    module(&format!(
        ".visible .entry link(.param .u64 lines, .param .u32 mask) {{
            .reg .u32 %r<8>; .reg .u64 %rd<4>;
            mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
            mad.lo.u32 %r3, %r0, %r1, %r2;
            ld.param.u32 %r4, [mask]; ld.param.u64 %rd0, [lines];
            mad.lo.u32 %r5, %r3, 1664525, 1013904223; and.b32 %r5, %r5, %r4;
            mad.wide.u32 %rd1, %r3, {LINE}, %rd0; mad.wide.u32 %rd2, %r5, {LINE}, %rd0;
            st.global.u64 [%rd1], %rd2;
            ret;
        }}
        .visible .entry chase(.param .u64 lines, .param .u32 steps) {{
            .reg .u32 %n; .reg .u64 %p; .reg .pred %more;
            ld.param.u64 %p, [lines]; ld.param.u32 %n, [steps];
        LOOP: {links}
            sub.u32 %n, %n, {LINKS}; setp.ne.u32 %more, %n, 0;
        @%more bra LOOP;
            st.global.u64 [%p+8], %p;
            ret;
        }}"
    ))
}

/// One thread follows a word of shared memory that holds its own address.
pub(super) fn shared_chase() -> String {
    let links = "ld.shared.u32 %p, [%p];\n".repeat(LINKS as usize);
    module(&format!(
        ".visible .entry run(.param .u64 out, .param .u32 steps) {{
            .reg .u32 %n, %p; .reg .u64 %o; .reg .pred %more; .shared .align 4 .b8 word[4];
            ld.param.u64 %o, [out]; ld.param.u32 %n, [steps];
            mov.u32 %p, word; st.shared.u32 [%p], %p;
        LOOP: {links}
            sub.u32 %n, %n, {LINKS}; setp.ne.u32 %more, %n, 0;
        @%more bra LOOP;
            st.global.u32 [%o], %p;
            ret;
        }}"
    ))
}

/// Instructions in a loop. `{a}` stands for the register that an instruction reads and writes, `{b}` and `{c}` for others of
/// the same type; several chains take turns, each with an `{a}` of its own.
pub(super) fn instructions(bits: u32, texts: &[&str], chains: u32, repeated: u32) -> String {
    let mut body = String::new();
    for _ in 0..repeated {
        for text in texts {
            for chain in 0..chains {
                let text = text.replace("{a}", &format!("%a{chain}"));
                writeln!(body, "{}", text.replace("{b}", "%b0").replace("{c}", "%c0")).expect("written");
            }
        }
    }
    let (load, store) = (format!("ld.global.b{bits}"), format!("st.global.b{bits}"));
    let bytes = bits / 8;
    let inputs = (0..chains).fold(String::new(), |text, chain| {
        text + &format!("{load} %a{chain}, [%o+{}];\n", (chain + 2) * bytes)
    });
    let outputs = (0..chains).fold(String::new(), |text, chain| {
        text + &format!("{store} [%o+{}], %a{chain};\n", (chain + 2) * bytes)
    });
    module(&format!(
        ".visible .entry run(.param .u64 out, .param .u32 steps) {{
            .reg .u32 %n; .reg .u64 %o; .reg .pred %more; .reg .b{bits} %a<{chains}>, %b0, %c0;
            ld.param.u64 %o, [out]; ld.param.u32 %n, [steps];
            {load} %b0, [%o]; {load} %c0, [%o+{bytes}];
            {inputs}
        LOOP: {body}
            sub.u32 %n, %n, 1; setp.ne.u32 %more, %n, 0;
        @%more bra LOOP;
            {outputs}
            ret;
        }}"
    ))
}

/// Every block sums the same buffer of `words`, a power of two of them, `steps` times.
pub(super) fn sums(words: u32, threads: u32) -> String {
    let loads = (words / threads).min(16);
    let mut body = String::new();
    for load in 0..loads {
        writeln!(body, "ld.global.f32 %f{load}, [%q+{}];", load * threads * 4).expect("written");
    }
    for load in 0..loads {
        writeln!(body, "add.f32 %s{}, %s{0}, %f{load};", load % 4).expect("written");
    }
    let (step, bytes) = (loads * threads * 4, words * 4);
    module(&format!(
        ".visible .entry run(.param .u64 from, .param .u64 out, .param .u32 steps) {{
            .reg .u32 %n, %t, %b, %i; .reg .u64 %p, %q, %o; .reg .pred %more; .reg .f32 %f<16>, %s<4>;
            ld.param.u64 %p, [from]; ld.param.u64 %o, [out]; ld.param.u32 %n, [steps];
            mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;
            mov.f32 %s0, 0f00000000; mov.f32 %s1, %s0; mov.f32 %s2, %s0; mov.f32 %s3, %s0;
            mad.wide.u32 %p, %t, 4, %p;
        OUTER: mov.u64 %q, %p; mov.u32 %i, 0;
        INNER: {body}
            add.u64 %q, %q, {step}; add.u32 %i, %i, {step}; setp.lt.u32 %more, %i, {bytes};
        @%more bra INNER;
            sub.u32 %n, %n, 1; setp.ne.u32 %more, %n, 0;
        @%more bra OUTER;
            add.f32 %s0, %s0, %s1; add.f32 %s2, %s2, %s3; add.f32 %s0, %s0, %s2;
            mad.wide.u32 %o, %t, 4, %o;
            setp.eq.f32 %more, %s0, 0f7f800000;
        @%more st.global.f32 [%o], %s0;
            ret;
        }}"
    ))
}

/// Loads from L1 whose lanes access a pattern of words, in a loop.
pub(super) fn pattern(pattern: Pattern) -> String {
    let bits = pattern.bits();
    let bytes = bits / 8;
    let mut body = String::new();
    for (load, offset) in pattern.offsets().iter().enumerate() {
        writeln!(body, "ld.global.f{bits} %f{load}, [%p+{}];", offset * bytes).expect("written");
    }
    for load in 0..pattern.offsets().len() {
        writeln!(body, "add.f{bits} %s{}, %s{0}, %f{load};", load % 4).expect("written");
    }
    let element = match pattern {
        Pattern::Stride(words) => format!("and.b32 %e, %t, 63; mul.lo.u32 %e, %e, {words};"),
        Pattern::Block(width) => format!(
            "and.b32 %e, %t, {}; shr.u32 %x, %t, {}; and.b32 %x, %x, 31; mad.lo.u32 %e, %x, {PITCH}, %e; add.u32 %e, %e, {PITCH};",
            width - 1,
            width.ilog2()
        ),
        Pattern::Rows(lines) => format!(
            "and.b32 %e, %t, 15; shr.u32 %x, %t, 4; and.b32 %x, %x, 1; mad.lo.u32 %e, %x, {}, %e; shr.u32 %x, %t, 5;
             mad.lo.u32 %e, %x, 512, %e; add.u32 %e, %e, 1;",
            16 * lines
        ),
    };
    module(&format!(
        ".visible .entry run(.param .u64 from, .param .u64 out, .param .u32 steps) {{
            .reg .u32 %n, %t, %e, %x; .reg .u64 %p, %o, %z; .reg .pred %more; .reg .f{bits} %f<8>, %s<4>;
            ld.param.u64 %p, [from]; ld.param.u64 %o, [out]; ld.param.u32 %n, [steps];
            mov.u32 %t, %tid.x;
            {element}
            mad.wide.u32 %p, %e, {bytes}, %p;
            and.b32 %x, %n, 0x40000000; cvt.u64.u32 %z, %x;
            mov.f{bits} %s0, {zero}; mov.f{bits} %s1, %s0; mov.f{bits} %s2, %s0; mov.f{bits} %s3, %s0;
        LOOP: add.u64 %p, %p, %z;
            {body}
            sub.u32 %n, %n, 1; setp.ne.u32 %more, %n, 0;
        @%more bra LOOP;
            add.f{bits} %s0, %s0, %s1; add.f{bits} %s2, %s2, %s3; add.f{bits} %s0, %s0, %s2;
            setp.gt.f{bits} %more, %s0, {zero};
        @%more st.global.f{bits} [%o], %s0;
            ret;
        }}",
        zero = if bits == 32 { "0f00000000" } else { "0d0000000000000000" },
    ))
}

/// Words from a row of a block to the next.
const PITCH: u32 = 4098;

/// Which words the lanes of a load access.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pattern {
    /// Of 64 threads after each other, floats so many words apart.
    Stride(u32),
    /// Rows of so many floats, of an array in which a row follows at a distance of 4 098 words.
    Block(u32),
    /// Two rows of 16 doubles from the second double of a line on; the second row is so many lines behind the first.
    Rows(u32),
}

impl Pattern {
    fn bits(self) -> u32 {
        match self {
            Pattern::Stride(_) | Pattern::Block(_) => 32,
            Pattern::Rows(_) => 64,
        }
    }

    /// Elements by which the eight loads of a step differ. Those of rows are multiples of 256 bytes.
    fn offsets(self) -> [u32; 8] {
        match self {
            Pattern::Stride(_) | Pattern::Block(_) => [0, 4, 8, 12, 20, 16, 24, 28],
            Pattern::Rows(_) => [0, 32, 64, 96, 128, 160, 192, 224],
        }
    }

    /// Threads of the block, as in the measured program.
    pub(super) fn threads(self) -> u32 {
        match self {
            Pattern::Stride(_) | Pattern::Block(_) => 1024,
            Pattern::Rows(_) => 256,
        }
    }
}

/// The kernels of a stream over arrays of doubles: one element per thread. `spoiler` bytes of shared memory keep blocks from an
/// SM.
pub(super) fn stream(kind: Stream, spoiler: u32) -> String {
    let work = match kind {
        Stream::Store => "st.global.f64 [%a], 0d3fcd70a3d70a3d71;",
        Stream::Read => {
            "ld.global.f64 %x, [%b]; setp.eq.f64 %p, %x, 0d405ec00000000000; @%p st.global.f64 [%a], %x;"
        }
        Stream::Scale => {
            "ld.global.f64 %x, [%b]; mul.f64 %x, %x, 0d3ff3333333333333; st.global.f64 [%a], %x;"
        }
        Stream::Triad => {
            "ld.global.f64 %x, [%b]; ld.global.f64 %y, [%c]; ld.global.f64 %z, [%d];
             fma.rn.f64 %x, %x, %y, %z; st.global.f64 [%a], %x;"
        }
    };
    module(&format!(
        ".shared .align 8 .b8 spoiler[{spoiler}];
        .visible .entry run(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, .param .u32 n) {{
            .reg .u32 %t, %g, %s, %i, %n; .reg .u64 %a, %b, %c, %d; .reg .f64 %x, %y, %z; .reg .pred %p;
            ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; ld.param.u64 %c, [pc]; ld.param.u64 %d, [pd];
            ld.param.u32 %n, [n];
            mov.u32 %t, %tid.x; mov.u32 %g, %ctaid.x; mov.u32 %s, %ntid.x;
            mad.lo.u32 %i, %g, %s, %t;
            setp.ge.u32 %p, %i, %n; @%p ret;
            mad.wide.u32 %a, %i, 8, %a; mad.wide.u32 %b, %i, 8, %b;
            mad.wide.u32 %c, %i, 8, %c; mad.wide.u32 %d, %i, 8, %d;
            setp.eq.u32 %p, %n, 7; @%p st.shared.u32 [spoiler], %n;
            {work}
            ret;
        }}"
    ))
}

/// What a stream does with each element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    /// a = constant.
    Store,
    /// Reads b.
    Read,
    /// a = b * constant.
    Scale,
    /// a = b * c + d.
    Triad,
}

impl Stream {
    /// Arrays that are read or written.
    pub(super) fn arrays(self) -> u32 {
        match self {
            Stream::Store | Stream::Read => 1,
            Stream::Scale => 2,
            Stream::Triad => 4,
        }
    }
}
