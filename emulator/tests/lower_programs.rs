//! Random programs: results of the lowered code, with many registers and with so few that it spills,
//! compared with a direct interpretation of the program; and every bundled workload through the allocation checker.

use crate::lower_kit;

use lower_kit::*;
use proptest::prelude::*;
use std::fmt::Write;

/// 32-bit registers of a program.
const WORDS: usize = 7;
/// 64-bit registers.
const LONGS: usize = 4;
/// Threads that run it.
const THREADS: u32 = 64;
/// Words of local memory that it may address.
const LOCALS: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Arg {
    Reg(usize),
    Imm(u32),
}

#[derive(Clone, Copy, Debug)]
enum Binary {
    Add,
    Sub,
    Mul,
    MulHi,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
    Min,
    Max,
}

#[derive(Clone, Copy, Debug)]
enum Long {
    Add,
    Sub,
    Mul,
    And,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, Debug)]
enum Cmp {
    Lt,
    Ge,
    Eq,
    Ne,
    Lo,
    Hi,
}

#[derive(Clone, Debug)]
enum Stmt {
    Op(Binary, usize, Arg, Arg),
    Mad(usize, Arg, Arg, Arg),
    Wide(usize, usize, Arg),
    LongOp(Long, usize, usize, usize),
    Extend(usize, usize),
    Low(usize, usize),
    /// d = a cmp b (combined by and/or/xor with c cmp2 d) ? x : y.
    Select(usize, (Cmp, Arg, Arg), Option<(u8, Cmp, Arg, Arg)>, Arg, Arg),
    LongSelect(usize, Cmp, usize, usize, Arg, Arg),
    If((Cmp, usize, Arg), Vec<Stmt>, Vec<Stmt>),
    /// A counted loop: iterations depend on the low bits of a register.
    Loop(usize, u32, Vec<Stmt>),
    StoreLocal(usize, Arg),
    LoadLocal(usize, usize),
    /// A guarded addition.
    Guarded((Cmp, usize, Arg), usize, Arg),
}

fn arg() -> impl Strategy<Value = Arg> + Clone {
    prop_oneof![
        3 => (0..WORDS).prop_map(Arg::Reg),
        1 => prop_oneof![Just(0), Just(1), Just(2), Just(4), Just(31), Just(u32::MAX), any::<u32>()].prop_map(Arg::Imm),
    ]
}

fn cmp() -> impl Strategy<Value = Cmp> + Clone {
    use Cmp::*;
    prop::sample::select(vec![Lt, Ge, Eq, Ne, Lo, Hi])
}

fn stmt() -> impl Strategy<Value = Stmt> {
    use Binary::*;
    let binary = prop::sample::select(vec![Add, Sub, Mul, MulHi, And, Or, Xor, Shl, ShrU, ShrS, Min, Max]);
    let long = prop::sample::select(vec![
        Long::Add,
        Long::Sub,
        Long::Mul,
        Long::And,
        Long::Xor,
        Long::Shl,
        Long::Shr,
    ]);
    let (w, l) = (0..WORDS, 0..LONGS);
    let condition = (cmp(), 0..WORDS, arg());
    let leaf = prop_oneof![
        6 => (binary, w.clone(), arg(), arg()).prop_map(|(o, d, a, b)| Stmt::Op(o, d, a, b)),
        2 => (w.clone(), arg(), arg(), arg()).prop_map(|(d, a, b, c)| Stmt::Mad(d, a, b, c)),
        2 => (l.clone(), w.clone(), arg()).prop_map(|(d, a, b)| Stmt::Wide(d, a, b)),
        3 => (long, l.clone(), l.clone(), l.clone()).prop_map(|(o, d, a, b)| Stmt::LongOp(o, d, a, b)),
        1 => (l.clone(), w.clone()).prop_map(|(d, a)| Stmt::Extend(d, a)),
        2 => (w.clone(), l.clone()).prop_map(|(d, a)| Stmt::Low(d, a)),
        2 => (w.clone(), (cmp(), arg(), arg()), prop::option::of((0u8..3, cmp(), arg(), arg())), arg(), arg())
            .prop_map(|(d, c, e, x, y)| Stmt::Select(d, c, e, x, y)),
        1 => (w.clone(), cmp(), l.clone(), l.clone(), arg(), arg())
            .prop_map(|(d, c, a, b, x, y)| Stmt::LongSelect(d, c, a, b, x, y)),
        1 => (0..LOCALS, arg()).prop_map(|(i, a)| Stmt::StoreLocal(i, a)),
        1 => (w.clone(), 0..LOCALS).prop_map(|(d, i)| Stmt::LoadLocal(d, i)),
        1 => (condition.clone(), w.clone(), arg()).prop_map(|(c, d, a)| Stmt::Guarded(c, d, a)),
    ];
    leaf.prop_recursive(3, 40, 6, move |inner| {
        let body = prop::collection::vec(inner, 1..6);
        prop_oneof![
            (condition.clone(), body.clone(), prop::collection::vec(stmt_leaf(), 0..3))
                .prop_map(|(c, t, e)| Stmt::If(c, t, e)),
            (0..WORDS, 1u32..8, body).prop_map(|(r, n, b)| Stmt::Loop(r, n, b)),
        ]
    })
}

fn stmt_leaf() -> impl Strategy<Value = Stmt> {
    (0..WORDS, arg(), arg()).prop_map(|(d, a, b)| Stmt::Op(Binary::Add, d, a, b))
}

// ---- as PTX ---------------------------------------------------------------------------------------------------------

#[derive(Default)]
struct Text {
    out: String,
    labels: u32,
}

fn show(a: Arg) -> String {
    match a {
        Arg::Reg(r) => format!("%r{r}"),
        Arg::Imm(x) => format!("{}", x as i32),
    }
}

fn suffix(c: Cmp) -> &'static str {
    match c {
        Cmp::Lt => "lt.s",
        Cmp::Ge => "ge.s",
        Cmp::Eq => "eq.s",
        Cmp::Ne => "ne.s",
        Cmp::Lo => "lt.u",
        Cmp::Hi => "gt.u",
    }
}

impl Text {
    fn line(&mut self, s: &str) {
        let _ = writeln!(self.out, "{s}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn block(&mut self, list: &[Stmt]) {
        list.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Op(op, d, a, b) => {
                let name = match op {
                    Binary::Add => "add.s32",
                    Binary::Sub => "sub.s32",
                    Binary::Mul => "mul.lo.s32",
                    Binary::MulHi => "mul.hi.u32",
                    Binary::And => "and.b32",
                    Binary::Or => "or.b32",
                    Binary::Xor => "xor.b32",
                    Binary::Shl => "shl.b32",
                    Binary::ShrU => "shr.u32",
                    Binary::ShrS => "shr.s32",
                    Binary::Min => "min.s32",
                    Binary::Max => "max.u32",
                };
                self.line(&format!("{name} %r{d}, {}, {};", show(*a), show(*b)));
            }
            Stmt::Mad(d, a, b, c) => {
                self.line(&format!("mad.lo.s32 %r{d}, {}, {}, {};", show(*a), show(*b), show(*c)));
            }
            Stmt::Wide(d, a, b) => self.line(&format!("mul.wide.s32 %d{d}, %r{a}, {};", show(*b))),
            Stmt::LongOp(op, d, a, b) => {
                let name = match op {
                    Long::Add => "add.s64",
                    Long::Sub => "sub.s64",
                    Long::Mul => "mul.lo.s64",
                    Long::And => "and.b64",
                    Long::Xor => "xor.b64",
                    Long::Shl => {
                        return self.line(&format!(
                            "cvt.u32.u64 %t0, %d{b};\nand.b32 %t0, %t0, 63;\nshl.b64 %d{d}, %d{a}, %t0;"
                        ));
                    }
                    Long::Shr => return self.line(&format!("shr.s64 %d{d}, %d{a}, {};", b * 17 + 1)),
                };
                self.line(&format!("{name} %d{d}, %d{a}, %d{b};"));
            }
            Stmt::Extend(d, a) => self.line(&format!("cvt.s64.s32 %d{d}, %r{a};")),
            Stmt::Low(d, a) => self.line(&format!("cvt.u32.u64 %r{d}, %d{a};")),
            Stmt::Select(d, (c, a, b), more, x, y) => {
                self.line(&format!("setp.{}32 %p0, {}, {};", suffix(*c), show(*a), show(*b)));
                if let Some((how, c, a, b)) = more {
                    let how = ["and", "or", "xor"][usize::from(*how)];
                    self.line(&format!(
                        "setp.{}32 %p1, {}, {};\n{how}.pred %p0, %p1, %p0;",
                        suffix(*c),
                        show(*a),
                        show(*b)
                    ));
                }
                self.line(&format!("selp.b32 %r{d}, {}, {}, %p0;", show(*x), show(*y)));
            }
            Stmt::LongSelect(d, c, a, b, x, y) => {
                self.line(&format!(
                    "setp.{}64 %p0, %d{a}, %d{b};\nselp.b32 %r{d}, {}, {}, %p0;",
                    suffix(*c),
                    show(*x),
                    show(*y)
                ));
            }
            Stmt::If((c, a, b), then, other) => {
                let (no, end) = (self.label(), self.label());
                self.line(&format!("setp.{}32 %p0, %r{a}, {};\n@!%p0 bra {no};", suffix(*c), show(*b)));
                self.block(then);
                self.line(&format!("bra {end};\n{no}:"));
                self.block(other);
                self.line(&format!("{end}:"));
            }
            Stmt::Loop(r, n, body) => {
                let (top, end) = (self.label(), self.label());
                let i = self.labels;
                self.line(&format!("{{\n.reg .b32 %i{i}; .reg .pred %c{i};\nand.b32 %i{i}, %r{r}, 3;\nadd.s32 %i{i}, %i{i}, {n};"));
                self.line(&format!("{top}:"));
                self.block(body);
                self.line(&format!(
                    "add.s32 %i{i}, %i{i}, -1;\nsetp.ne.s32 %c{i}, %i{i}, 0;\n@%c{i} bra {top};\n{end}:\n}}"
                ));
            }
            Stmt::StoreLocal(i, a) => {
                self.line(&format!("mov.b32 %t0, {};\nst.local.b32 [frame+{}], %t0;", show(*a), 4 * i));
            }
            Stmt::LoadLocal(d, i) => self.line(&format!("ld.local.b32 %r{d}, [frame+{}];", 4 * i)),
            Stmt::Guarded((c, a, b), d, v) => {
                self.line(&format!(
                    "setp.{}32 %p0, %r{a}, {};\n@%p0 add.s32 %r{d}, %r{d}, {};",
                    suffix(*c),
                    show(*b),
                    show(*v)
                ));
            }
        }
    }
}

/// The whole kernel: registers start as functions of the thread, all are stored at the end.
fn ptx_of(program: &[Stmt]) -> String {
    let mut t = Text::default();
    t.line(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry test(.param .u64 out)\n{");
    t.line(".reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b32 %t<4>; .reg .pred %p<4>; .reg .b64 %a<4>;");
    t.line(&format!(".local .align 4 .b8 frame[{}];", 4 * LOCALS));
    t.line("mov.u32 %t1, %tid.x;");
    for (i, factor) in FACTORS.iter().enumerate().take(WORDS) {
        t.line(&format!("mad.lo.s32 %r{i}, %t1, {factor}, {};", 3 * i));
    }
    for i in 0..LONGS {
        t.line(&format!("mul.wide.s32 %d{i}, %r{i}, {};", FACTORS[i + 1]));
    }
    for i in 0..LOCALS {
        t.line(&format!("st.local.b32 [frame+{}], %t1;", 4 * i));
    }
    t.block(program);
    t.line(&format!(
        "ld.param.u64 %a0, [out];\nmov.u32 %t1, %tid.x;\nmad.wide.u32 %a0, %t1, {}, %a0;",
        4 * OUTPUTS
    ));
    for i in 0..WORDS {
        t.line(&format!("st.global.b32 [%a0+{}], %r{i};", 4 * i));
    }
    for i in 0..LONGS {
        t.line(&format!("st.global.b64 [%a0+{}], %d{i};", 4 * (WORDS + 1) + 8 * i));
    }
    t.line("ret;\n}");
    t.out
}

const FACTORS: [i32; WORDS] = [1, -3, 0x1234_5678, 7, -0x7654_3210, 65_537, 0x4000_0001];
/// Words stored per thread: all registers, the 64-bit ones aligned.
const OUTPUTS: usize = WORDS + 1 + 2 * LONGS;

// ---- as an interpretation -------------------------------------------------------------------------------------------

struct Thread {
    r: [u32; WORDS],
    d: [u64; LONGS],
    local: [u32; LOCALS],
}

fn compare(c: Cmp, a: i128, b: i128, ua: u64, ub: u64) -> bool {
    match c {
        Cmp::Lt => a < b,
        Cmp::Ge => a >= b,
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Lo => ua < ub,
        Cmp::Hi => ua > ub,
    }
}

impl Thread {
    fn new(tid: u32) -> Thread {
        let r = std::array::from_fn(|i| tid.wrapping_mul(FACTORS[i] as u32).wrapping_add(3 * i as u32));
        let d = std::array::from_fn(|i: usize| (i64::from(r[i] as i32) * i64::from(FACTORS[i + 1])) as u64);
        Thread { r, d, local: [tid; LOCALS] }
    }

    fn arg(&self, a: Arg) -> u32 {
        match a {
            Arg::Reg(r) => self.r[r],
            Arg::Imm(x) => x,
        }
    }

    fn test(&self, c: Cmp, a: u32, b: u32) -> bool {
        compare(c, i128::from(a as i32), i128::from(b as i32), u64::from(a), u64::from(b))
    }

    fn run(&mut self, list: &[Stmt]) {
        for s in list {
            self.step(s);
        }
    }

    fn step(&mut self, s: &Stmt) {
        match s {
            Stmt::Op(op, d, a, b) => {
                let (a, b) = (self.arg(*a), self.arg(*b));
                self.r[*d] = match op {
                    Binary::Add => a.wrapping_add(b),
                    Binary::Sub => a.wrapping_sub(b),
                    Binary::Mul => a.wrapping_mul(b),
                    Binary::MulHi => ((u64::from(a) * u64::from(b)) >> 32) as u32,
                    Binary::And => a & b,
                    Binary::Or => a | b,
                    Binary::Xor => a ^ b,
                    Binary::Shl => a.checked_shl(b).unwrap_or(0),
                    Binary::ShrU => a.checked_shr(b).unwrap_or(0),
                    Binary::ShrS => ((a as i32) >> b.min(31)) as u32,
                    Binary::Min => (a as i32).min(b as i32) as u32,
                    Binary::Max => a.max(b),
                };
            }
            Stmt::Mad(d, a, b, c) => {
                self.r[*d] = self.arg(*a).wrapping_mul(self.arg(*b)).wrapping_add(self.arg(*c));
            }
            Stmt::Wide(d, a, b) => {
                self.d[*d] = (i64::from(self.r[*a] as i32) * i64::from(self.arg(*b) as i32)) as u64;
            }
            Stmt::LongOp(op, d, a, b) => {
                let (x, y) = (self.d[*a], self.d[*b]);
                self.d[*d] = match op {
                    Long::Add => x.wrapping_add(y),
                    Long::Sub => x.wrapping_sub(y),
                    Long::Mul => x.wrapping_mul(y),
                    Long::And => x & y,
                    Long::Xor => x ^ y,
                    Long::Shl => x << (y & 63),
                    Long::Shr => ((x as i64) >> (b * 17 + 1)) as u64,
                };
            }
            Stmt::Extend(d, a) => self.d[*d] = self.r[*a] as i32 as u64,
            Stmt::Low(d, a) => self.r[*d] = self.d[*a] as u32,
            Stmt::Select(d, (c, a, b), more, x, y) => {
                let mut p = self.test(*c, self.arg(*a), self.arg(*b));
                if let Some((how, c, a, b)) = more {
                    let q = self.test(*c, self.arg(*a), self.arg(*b));
                    p = [p & q, p | q, p ^ q][usize::from(*how)];
                }
                self.r[*d] = self.arg(if p { *x } else { *y });
            }
            Stmt::LongSelect(d, c, a, b, x, y) => {
                let (u, v) = (self.d[*a], self.d[*b]);
                let p = compare(*c, i128::from(u as i64), i128::from(v as i64), u, v);
                self.r[*d] = self.arg(if p { *x } else { *y });
            }
            Stmt::If((c, a, b), then, other) => {
                let p = self.test(*c, self.r[*a], self.arg(*b));
                self.run(if p { then } else { other });
            }
            Stmt::Loop(r, n, body) => {
                for _ in 0..(self.r[*r] & 3) + n {
                    self.run(body);
                }
            }
            Stmt::StoreLocal(i, a) => self.local[*i] = self.arg(*a),
            Stmt::LoadLocal(d, i) => self.r[*d] = self.local[*i],
            Stmt::Guarded((c, a, b), d, v) => {
                if self.test(*c, self.r[*a], self.arg(*b)) {
                    self.r[*d] = self.r[*d].wrapping_add(self.arg(*v));
                }
            }
        }
    }

    fn outputs(&self) -> Vec<u32> {
        let mut out = self.r.to_vec();
        out.push(0);
        out.extend(words64(&self.d));
        out
    }
}

/// Few cases by default; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let default =
        ProptestConfig { max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        default
    } else {
        ProptestConfig { cases: 96, ..default }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn lowered_programs_compute_what_they_say(program in prop::collection::vec(stmt(), 1..14)) {
        let text = ptx_of(&program);
        let want: Vec<u32> = (0..THREADS).flat_map(|t| {
            let mut thread = Thread::new(t);
            thread.run(&program);
            thread.outputs()
        }).collect();
        for limit in [255, 14] {
            let lowered = lower(&text, limit);
            prop_assert!(lowered.kernel.regs_per_thread <= limit);
            let got = run(&lowered, &[vec![0; want.len()]], &[], 1, THREADS).pop().unwrap();
            prop_assert_eq!(&got, &want, "with {} registers:\n{}", limit, text);
        }
    }
}

#[test]
fn bundled_kernels_pass_the_allocation_checker_with_any_number_of_registers() {
    use emulator::lower::{LowerOptions, ModuleLayout, lower_kernel};
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/workloads");
    let mut kernels = 0;
    let suites = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir());
    for dir in suites.flat_map(|suite| std::fs::read_dir(suite).unwrap().map(|e| e.unwrap().path())) {
        for file in std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
            if file.extension().is_none_or(|e| e != "ptx") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let module = emulator::ptx::parse(&text, "workload.ptx").unwrap_or_else(|e| panic!("{e}"));
            let layout = ModuleLayout::of(&module).unwrap();
            for (id, function) in module.kernels() {
                for max_registers in [255, 24, 16] {
                    let options = LowerOptions { max_registers, check: true, ..LowerOptions::default() };
                    let lowered = lower_kernel(&module, &layout, id, &options)
                        .unwrap_or_else(|e| panic!("{} with {max_registers} registers: {e}", function.name));
                    let kernel = lowered.kernel;
                    assert!(kernel.regs_per_thread <= max_registers, "{}", kernel.name);
                    assert_eq!(kernel.check(), Ok(()));
                    if max_registers == 255 {
                        assert_eq!(kernel.spill_bytes, 0, "{} spills", kernel.name);
                    }
                }
                kernels += 1;
            }
        }
    }
    assert!(kernels > 30, "only {kernels} bundled kernels were found");
}

#[test]
fn lowering_is_deterministic() {
    let text = elementwise(&["f64", "f64"], "f64", "div.rn.f64 %out, %in0, %in1;");
    assert_eq!(lower(&text, 255).kernel, lower(&text, 255).kernel);
}

/// Divisions one after the other, each with values of its own that are live across it: they are loaded before
/// the division, and stored with the quotient after it.
fn divisions(count: usize) -> String {
    let mut body = String::new();
    for i in 0..count {
        let at = |k: usize| 32 * i + 4 * k;
        for k in 0..8 {
            writeln!(body, "ld.global.f32 %f{k}, [%rd0+{}];", at(k)).unwrap();
        }
        writeln!(body, "div.rn.f32 %f8, %f0, %f1;").unwrap();
        for k in 0..8 {
            writeln!(body, "add.f32 %f{k}, %f{k}, %f8; st.volatile.global.f32 [%rd0+{}], %f{k};", at(k))
                .unwrap();
        }
    }
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 data) {{\n\
         .reg .f32 %f<9>; .reg .b64 %rd<1>;\nld.param.u64 %rd0, [data];\n{body}ret;\n}}\n"
    )
}

#[test]
fn values_live_across_different_calls_share_registers() {
    let registers = |count| lower(&divisions(count), 255).kernel.regs_per_thread;
    let (two, twelve) = (registers(2), registers(12));
    assert!(twelve <= two + 2, "2 divisions take {two} registers, 12 take {twelve}");
}

#[test]
fn launch_bounds_limit_registers() {
    // Eighty values that are live at once, loaded before the first is stored.
    let line = |i: usize, what: &str| match what {
        "load" => format!("ld.volatile.global.u32 %v{i}, [%d0+{}];\n", 4 * i),
        _ => format!("st.volatile.global.u32 [%d0+{}], %v{};\n", 4 * i, 79 - i),
    };
    let body: String =
        ["load", "store"].iter().flat_map(|what| (0..80).map(move |i| line(i, what))).collect();
    let kernel = |directives: &str| {
        format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry kernel(.param .u64 p)\n{directives}\n{{\n\
             .reg .u64 %d0; .reg .u32 %v<80>;\nld.param.u64 %d0, [p];\ncvta.to.global.u64 %d0, %d0;\n{body}ret;\n}}\n"
        )
    };
    let bounds = [
        ("", 82..=255),
        (".maxntid 256, 1, 1", 82..=255),
        (".maxntid 1024, 1, 1", 50..=64),
        (".reqntid 256, 1, 1\n.minnctapersm 4", 50..=64),
        (".maxntid 256, 1, 1\n.minnctapersm 3", 66..=80),
        (".maxntid 1024, 1, 1\n.maxnreg 100", 82..=100),
    ];
    for (directives, expected) in bounds {
        let lowered = lower(&kernel(directives), 255);
        let registers = lowered.kernel.regs_per_thread;
        assert!(expected.contains(&registers), "{directives}: {registers}");
        let words: Vec<u32> = (0..80).map(|i| i * 77 + 5).collect();
        let reversed: Vec<u32> = words.iter().rev().copied().collect();
        assert_eq!(run(&lowered, &[words], &[], 1, 1), [reversed], "{directives}");
    }
}

/// Values spread over both banks of registers as long as that costs no resident warps, on the SM of the GPU that is named or
/// of the module's target: 1 024 threads share it on sm_75, 2 048 on sm_70.
#[test]
fn registers_are_chosen_for_the_gpu_that_is_named() {
    use emulator::lower::LowerOptions;

    let text = |target: u32| {
        let loads: String = (0..20).map(|n| format!("ld.global.f32 %f{n}, [%rd1+{}];\n", n * 256)).collect();
        let sums: String = (1..20).map(|n| format!("add.f32 %f0, %f0, %f{n};\n")).collect();
        format!(
            ".version 7.0\n.target sm_{target}\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .f32 %f<20>;\n\
             .reg .b64 %rd<2>;\nld.param.u64 %rd1, [a];\n{loads}{sums}st.global.f32 [%rd1], %f0;\nret;\n}}\n"
        )
    };
    let registers = |target: u32, gpu: Option<u32>| {
        lower_with(&text(target), LowerOptions { gpu, ..LowerOptions::default() }).kernel.regs_per_thread
    };
    assert!(registers(75, None) > 32, "{}", registers(75, None));
    assert!(registers(75, Some(70)) <= 30, "{}", registers(75, Some(70)));
    assert_eq!(registers(75, Some(70)), registers(70, None));
    assert_eq!(registers(70, Some(75)), registers(75, None));
}
