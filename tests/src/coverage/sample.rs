//! A sample: a form in an instruction, and the kernel around it in the dialects of both compiler generations.

/// Threads of a block in samples.
pub const BLOCK: usize = 128;
/// Bytes of input and of output that belong to a thread.
pub const SLICE: usize = 64;

/// What the registers of a kernel are declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// By type: `.reg .f32`, as compilers write up to compute_90.
    Typed,
    /// By width: `.reg .b32`, as compilers write from compute_100 on.
    Untyped,
}

/// How the result of a sample is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Bit for bit, any NaN being any NaN.
    Exact,
    /// An approximation: close to the oracle's.
    Close,
    /// The kernel must stop with a fault.
    Faults,
    /// Only that it runs to its end: the result is nobody's promise.
    Runs,
    /// Every thread's first destination must be this.
    Is(u64),
}

/// A form at work.
///
/// Kinds of operands are letters: `h`, `r`, `d` integers of 16, 32 and 64 bits, `e` and `x` half precision and
/// a pair of it, `f` and `g` single and double precision, `p` predicates. Destinations are `%d0` …, sources
/// `%s0` …; a thread's own input and output are at `%in` and `%out`, those of its block at `%bin` and `%bout`,
/// those of its warp at `%win` and `%wout`.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Module-scope variables and functions.
    pub module: String,
    /// Declarations and statements.
    pub body: String,
    /// Kinds of destinations.
    pub dsts: Vec<char>,
    /// Kinds of sources.
    pub srcs: Vec<char>,
    /// How it is judged.
    pub verdict: Verdict,
}

impl Sample {
    pub(super) fn new(body: impl Into<String>, dsts: &str, srcs: &str) -> Self {
        Self {
            module: String::new(),
            body: body.into(),
            dsts: dsts.chars().collect(),
            srcs: srcs.chars().collect(),
            verdict: Verdict::Exact,
        }
    }

    pub(super) fn judged(self, verdict: Verdict) -> Self {
        Self { verdict, ..self }
    }

    pub(super) fn with(self, module: impl Into<String>) -> Self {
        Self { module: module.into(), ..self }
    }
}

impl Sample {
    /// The module: a kernel in which every thread reads its sources, executes the body and stores its
    /// destinations at the end of its output.
    #[must_use]
    pub fn ptx(&self, dialect: Dialect) -> String {
        use std::fmt::Write;
        let (version, target) = match dialect {
            Dialect::Typed => ("9.1", "sm_90"),
            Dialect::Untyped => ("9.1", "sm_100"),
        };
        let mut text = format!(".version {version}\n.target {target}\n.address_size 64\n{}\n", self.module);
        text += ".visible .entry kernel(\n\t.param .u64 p_in,\n\t.param .u64 p_out,\n\t.param .align 16 .b8 p_struct[64]\n)\n{\n";
        text += "\t.reg .b64 %in, %out, %bin, %bout, %win, %wout, %offset, %t0, %t1;\n\t.reg .b32 %me, %cta, %word, %warp, %half;\n\t.reg .pred %no;\n";
        for (side, kinds) in [("d", &self.dsts), ("s", &self.srcs)] {
            for (at, kind) in kinds.iter().enumerate() {
                let _ = writeln!(text, "\t.reg .{} %{side}{at};", declared(*kind, dialect));
            }
        }
        text += "\tld.param.u64 %in, [p_in];\n\tld.param.u64 %out, [p_out];\n\tcvta.to.global.u64 %in, %in;\n\tcvta.to.global.u64 %out, %out;\n";
        let _ = write!(
            text,
            "\tmov.u32 %me, %tid.x;\n\tmov.u32 %cta, %ctaid.x;\n\tmul.wide.u32 %offset, %cta, {block};\n\
             \tadd.s64 %bin, %in, %offset;\n\tadd.s64 %bout, %out, %offset;\n\tmul.wide.u32 %offset, %me, {SLICE};\n\
             \tadd.s64 %in, %bin, %offset;\n\tadd.s64 %out, %bout, %offset;\n\tshr.u32 %warp, %me, 5;\n\
             \tmul.wide.u32 %offset, %warp, {warp};\n\tadd.s64 %win, %bin, %offset;\n\tadd.s64 %wout, %bout, %offset;\n",
            block = BLOCK * SLICE,
            warp = 32 * SLICE
        );
        for (at, kind) in self.srcs.iter().enumerate() {
            let ty = stored(*kind, dialect);
            let _ = match kind {
                'p' => writeln!(
                    text,
                    "\tld.global.b32 %word, [%in+{}];\n\tand.b32 %word, %word, 1;\n\tsetp.ne.s32 %s{at}, %word, 0;",
                    at * 8
                ),
                _ => writeln!(text, "\tld.global.{ty} %s{at}, [%in+{}];", at * 8),
            };
        }
        for line in self.body.lines() {
            let _ = writeln!(text, "\t{line}");
        }
        // Destinations go where bodies that write memory themselves do not write: from the slice's end down.
        for (at, kind) in self.dsts.iter().enumerate() {
            let (ty, to) = (stored(*kind, dialect), SLICE - 8 * (at + 1));
            let _ = match kind {
                'p' => writeln!(text, "\tselp.b32 %word, 1, 0, %d{at};\n\tst.global.b32 [%out+{to}], %word;"),
                _ => writeln!(text, "\tst.global.{ty} [%out+{to}], %d{at};"),
            };
        }
        text + "\tret;\n}\n"
    }
}

/// How a register of a kind is declared.
fn declared(kind: char, dialect: Dialect) -> &'static str {
    match (kind, dialect) {
        ('h', Dialect::Typed) => "u16",
        ('r', Dialect::Typed) => "u32",
        ('d', Dialect::Typed) => "u64",
        ('f', Dialect::Typed) => "f32",
        ('g', Dialect::Typed) => "f64",
        ('h' | 'e', _) => "b16",
        ('r' | 'x' | 'f', _) => "b32",
        ('p', _) => "pred",
        _ => "b64",
    }
}

/// The type that a kind is loaded and stored as.
fn stored(kind: char, dialect: Dialect) -> &'static str {
    match (kind, dialect) {
        ('h' | 'e', _) => "b16",
        ('f', Dialect::Typed) => "f32",
        ('g', Dialect::Typed) => "f64",
        ('r' | 'x' | 'f' | 'p', _) => "b32",
        _ => "b64",
    }
}
