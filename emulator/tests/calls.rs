//! Functions with machine code of their own: recursion, calls through registers and tables, parameters of every
//! shape, compiled by nvcc for two generations and written by hand. Expected values are computed here.

use crate::calls_kit;

use calls_kit::{TestProgram, manifest, module, words};
use emulator::lower::LowerOptions;

const MODULES: [&str; 2] =
    [include_str!("calls/functions_sm75.ptx"), include_str!("calls/functions_sm100.ptx")];

fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

fn even(n: u32) -> u32 {
    if n == 0 { 1 } else { odd(n - 1) * 3 }
}

fn odd(n: u32) -> u32 {
    if n == 0 { 0 } else { even(n - 1) + 1 }
}

#[test]
fn recursive_functions_and_mutual_recursion_return_to_their_callers() {
    let n = 37;
    let manifest = format!(
        "ptx = \"k.ptx\"\n[buffers.out]\ntype = \"s32\"\nlen = 96\ninit = \"zeros\"\n[buffers.data]\ntype = \"s32\"\n\
         len = {}\ninit = {{ random = {{ seed = 3, min = -50, max = 50 }} }}\n[[launch]]\nkernel = \"recursion\"\n\
         grid = [2, 1, 1]\nblock = [48, 1, 1]\nargs = [\"@out\", \"@data\", {{ s32 = {n} }}]\n",
        96 * n
    );
    for ptx in MODULES {
        let program = TestProgram::new(ptx, &manifest);
        let before: Vec<u32> = words(&program.open().unwrap(), "data");
        let session = program.run();
        let expect: Vec<u32> = (0..96).map(|t| fib(t % 12) + even(t % 9) * 1000).collect();
        assert_eq!(words(&session, "out"), expect);
        let sorted: Vec<u32> = before
            .chunks(n)
            .flat_map(|part| {
                let mut part: Vec<i32> = part.iter().map(|&x| x as i32).collect();
                part.sort_unstable();
                part.into_iter().map(|x| x as u32)
            })
            .collect();
        assert_eq!(words(&session, "data"), sorted);
    }
}

#[test]
fn tables_of_function_addresses_in_global_and_constant_memory_are_called() {
    for ptx in MODULES {
        for which in [0, 1] {
            let manifest = format!(
                "ptx = \"k.ptx\"\n[buffers.out]\ntype = \"s32\"\nlen = 64\ninit = \"zeros\"\n[[launch]]\n\
                 kernel = \"tables\"\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\nargs = [\"@out\", {{ s32 = {which} }}]\n"
            );
            let session = TestProgram::new(ptx, &manifest).run();
            let expect: Vec<u32> = (0..64i32)
                .map(|t| {
                    let f = [t + 7, t - 7, t * 7, t + 7][t as usize & 3];
                    let g = [t * 3, t - 3][which];
                    (f * 1000 + g + 3) as u32
                })
                .collect();
            assert_eq!(words(&session, "out"), expect);
        }
    }
}

#[test]
fn structs_travel_by_value_both_ways() {
    for ptx in MODULES {
        let manifest = "ptx = \"k.ptx\"\n[buffers.out]\ntype = \"f64\"\nlen = 40\ninit = \"zeros\"\n[[launch]]\n\
             kernel = \"structs\"\ngrid = [1, 1, 1]\nblock = [40, 1, 1]\nargs = [\"@out\"]\n";
        let session = TestProgram::new(ptx, manifest).run();
        let expect: Vec<u64> = (0..40i32)
            .map(|t| {
                let mut c: Vec<i32> = (0..9).collect();
                c[t as usize & 7] += 1;
                c[3] += 1;
                let tail: i32 = c.iter().enumerate().map(|(i, &x)| x * (i as i32 + 1)).sum();
                (f64::from(t + t + 3) + f64::from(t) * 0.5 * 4.0 + f64::from(tail)).to_bits()
            })
            .collect();
        let bytes = session.buffer("out").unwrap();
        let have: Vec<u64> =
            bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(have, expect);
    }
}

/// Sums of three parameters of different sizes through a prototype, with the target chosen by the lane.
const BY_PROTOTYPE: &str = "
.func (.param .b64 r) f(.param .b32 a, .param .b64 b, .param .b8 c);
.func (.param .b64 r) g(.param .b32 a, .param .b64 b, .param .b8 c)
{
  .reg .u32 %a; .reg .u64 %b, %w; .reg .u16 %c;
  ld.param.u32 %a, [a]; ld.param.u64 %b, [b]; ld.param.s8 %c, [c];
  cvt.u64.u32 %w, %a; mul.lo.u64 %b, %b, %w; cvt.s64.s16 %w, %c; sub.u64 %b, %b, %w;
  st.param.b64 [r], %b;
  ret;
}
.func (.param .b64 r) f(.param .b32 a, .param .b64 b, .param .b8 c)
{
  .reg .u32 %a; .reg .u64 %b, %w; .reg .u16 %c;
  ld.param.u32 %a, [a]; ld.param.u64 %b, [b]; ld.param.s8 %c, [c];
  cvt.u64.u32 %w, %a; add.u64 %b, %b, %w; cvt.s64.s16 %w, %c; add.u64 %b, %b, %w;
  st.param.b64 [r], %b;
  ret;
}
";

fn by_prototype(pointer: &str) -> String {
    let body = format!(
        ".reg .u64 %f, %g, %x; .reg .pred %p; .reg .u32 %s; .reg .u16 %h;
         mov.u64 %f, f; mov.u64 %g, g; and.b32 %s, %t, 1; setp.eq.u32 %p, %s, 1; selp.b64 %f, %g, %f, %p;
         {pointer}
         {{ .param .b32 p0; .param .b64 p1; .param .b8 p2; .param .b64 q;
         st.param.b32 [p0], %t; mul.wide.u32 %x, %t, 65537; shl.b64 %x, %x, 20; st.param.b64 [p1], %x;
         cvt.u16.u32 %h, %t; neg.s16 %h, %h; st.param.b8 [p2], %h;
         proto: .callprototype (.param .b64 _) _ (.param .b32 _, .param .b64 _, .param .b8 _);
         call (q), %f, (p0, p1, p2), proto;
         ld.param.b64 %x, [q]; }}
         shr.u64 %f, %x, 32; xor.b64 %x, %x, %f; cvt.u32.u64 %o, %x;"
    );
    module(BY_PROTOTYPE, &body)
}

#[test]
fn lanes_call_different_functions_through_one_prototype() {
    let session = TestProgram::new(&by_prototype(""), &manifest(100, 1, 100)).run();
    let expect: Vec<u32> = (0..100u64)
        .map(|t| {
            let (a, b, c) = (t, (t * 65537) << 20, -(t as i64));
            let r = if t & 1 == 1 {
                b.wrapping_mul(a).wrapping_sub(c as u64)
            } else {
                b.wrapping_add(a).wrapping_add(c as u64)
            };
            (r ^ r >> 32) as u32
        })
        .collect();
    assert_eq!(words(&session, "out"), expect);
}

#[test]
fn a_bad_function_pointer_is_named() {
    let null = TestProgram::new(&by_prototype("mov.u64 %f, 0;"), &manifest(32, 1, 32)).fails();
    assert!(null.contains("null function pointer") && null.contains("call (q), %f"), "{null}");
    let bad = TestProgram::new(&by_prototype("add.u64 %f, %f, 4;"), &manifest(32, 1, 32)).fails();
    assert!(bad.contains("bad function pointer: 0xffff0003"), "{bad}");
}

const DEEP: &str = "
.func (.reg .u32 %r) down(.reg .u32 %n)
{
  .reg .pred %p; .reg .u32 %m, %k;
  setp.eq.u32 %p, %n, 0; mov.u32 %r, 0; @%p ret;
  sub.u32 %m, %n, 1;
  call (%k), down, (%m);
  add.u32 %r, %k, %n;
  ret;
}";

#[test]
fn recursion_that_is_too_deep_overflows_the_stack_and_more_stack_helps() {
    let text = |n: &str| module(DEEP, &format!(".reg .u32 %q; mov.u32 %q, {n}; call (%o), down, (%q);"));
    let session = TestProgram::new(&text("%t"), &manifest(64, 1, 64)).run();
    assert_eq!(words(&session, "out"), (0..64).map(|t| t * (t + 1) / 2).collect::<Vec<u32>>());
    let mut deep = TestProgram::new(&text("5000"), &manifest(32, 1, 32));
    let error = deep.fails();
    assert!(error.contains("stack overflow") && error.contains("--stack-bytes"), "{error}");
    let mut endless = TestProgram::new(&text("0xFFFFFFFF"), &manifest(32, 1, 32));
    endless.setup.lowering = LowerOptions { stack_bytes: 400_000, ..LowerOptions::default() };
    assert!(endless.fails().contains("stack overflow"));
    deep.setup.lowering = LowerOptions { stack_bytes: 400_000, ..LowerOptions::default() };
    assert_eq!(words(&deep.run(), "out"), [5000 * 5001 / 2; 32]);
}

/// Fifty levels that call the next one twice each would inline to 2^50 copies.
#[test]
fn deep_call_trees_do_not_explode() {
    let mut functions = String::from(
        ".func (.reg .u32 %r) f0(.reg .u32 %a)\n{\nmad.lo.u32 %r, %a, 3, 1;\nxor.b32 %r, %r, 5;\nret;\n}\n",
    );
    for i in 1..50 {
        let below = i - 1;
        let second = if i < 12 { format!("call (%x), f{below}, (%x);") } else { "add.u32 %x, %x, 1;".into() };
        functions += &format!(
            ".func (.reg .u32 %r) f{i}(.reg .u32 %a)\n{{\n.reg .u32 %x;\ncall (%x), f{below}, (%a);\n{second}\n\
             add.u32 %r, %x, {i};\nret;\n}}\n"
        );
    }
    let session = TestProgram::new(&module(&functions, "call (%o), f49, (%t);"), &manifest(32, 1, 32)).run();
    fn f(i: u32, a: u32) -> u32 {
        if i == 0 {
            return (a.wrapping_mul(3).wrapping_add(1)) ^ 5;
        }
        let x = f(i - 1, a);
        let x = if i < 12 { f(i - 1, x) } else { x.wrapping_add(1) };
        x.wrapping_add(i)
    }
    assert_eq!(words(&session, "out"), (0..32).map(|t| f(49, t)).collect::<Vec<u32>>());
    let instructions = session.kernel("k").unwrap().insts.len();
    assert!(instructions < 40_000, "{instructions}");
}

#[test]
fn the_address_of_a_parameter_reaches_its_bytes() {
    let functions = "
.func (.param .b32 r) pick(.param .align 8 .b8 s[24], .param .b32 i)
{
  .reg .u64 %p, %o; .reg .u32 %i, %v, %w;
  ld.param.u32 %i, [i]; mov.b64 %p, s; mul.wide.u32 %o, %i, 4; add.u64 %p, %p, %o;
  ld.param.u32 %v, [%p];
  mov.b64 %p, s; cvta.local.u64 %p, %p; add.u64 %p, %p, %o; ld.u32 %w, [%p];
  mad.lo.u32 %v, %w, 1000, %v;
  st.param.b32 [r], %v; ret;
}";
    let body = ".reg .u32 %i, %j; rem.u32 %i, %t, 6;
      { .param .align 8 .b8 s[24]; .param .b32 i; .param .b32 q;
      st.param.u32 [s], %t; add.u32 %j, %t, 1; st.param.u32 [s+4], %j; add.u32 %j, %t, 2; st.param.u32 [s+8], %j;
      add.u32 %j, %t, 3; st.param.u32 [s+12], %j; st.param.v2.u32 [s+16], {%j, %t}; st.param.b32 [i], %i;
      call (q), pick, (s, i); ld.param.u32 %o, [q]; }";
    let session = TestProgram::new(&module(functions, body), &manifest(64, 2, 32)).run();
    let expect = (0..64).map(|t: u32| [t, t + 1, t + 2, t + 3, t + 3, t][t as usize % 6] * 1001);
    assert_eq!(words(&session, "out"), expect.collect::<Vec<u32>>());
}

/// A caller with values and predicates that are live across its calls, callees that overwrite many registers, divide
/// (slow paths are subroutines of their own), branch and call on, some lanes only.
const BUSY: &str = "
.func (.reg .f32 %r) ratio(.reg .f32 %a, .reg .f32 %b) { div.rn.f32 %r, %a, %b; ret; }
.func (.param .b32 r) mix(.param .b32 x, .param .b32 y)
{
  .reg .u32 %x, %y, %k<12>; .reg .f32 %f<4>; .reg .pred %p<6>;
  ld.param.u32 %x, [x]; ld.param.u32 %y, [y];
  setp.lt.u32 %p0, %x, %y; setp.eq.u32 %p1, %x, 3; and.b32 %k11, %x, 1; setp.eq.u32 %p2, %k11, 0;
  mad.lo.u32 %k0, %x, 7, 1; mad.lo.u32 %k1, %y, 11, 2; xor.b32 %k2, %k0, %k1; add.u32 %k3, %k2, %x;
  shl.b32 %k4, %k3, 1; sub.u32 %k5, %k4, %y; mul.lo.u32 %k6, %k5, %k1; add.u32 %k7, %k6, %k0;
  cvt.rn.f32.u32 %f0, %x; cvt.rn.f32.u32 %f1, %y; add.f32 %f1, %f1, 0f3F800000;
  @%p1 bra SKIP;
  call (%f2), ratio, (%f0, %f1);
  cvt.rzi.u32.f32 %k8, %f2; add.u32 %k7, %k7, %k8;
SKIP:
  @%p0 add.u32 %k7, %k7, 1000;
  @%p2 add.u32 %k7, %k7, 20000;
  add.u32 %k7, %k7, %k2; add.u32 %k7, %k7, %k5;
  st.param.b32 [r], %k7; ret;
}";

#[test]
fn called_functions_keep_what_their_callers_need() {
    let body = "
  .reg .u32 %k<4>, %x, %y, %s; .reg .pred %p<3>;
  rem.u32 %x, %t, 7; rem.u32 %y, %t, 5;
  setp.gt.u32 %p0, %x, %y; setp.eq.u32 %p1, %y, 2; setp.lt.u32 %p2, %t, 40;
  mul.lo.u32 %k0, %t, 13; add.u32 %k1, %t, 99; xor.b32 %k2, %k0, %k1; mov.u32 %s, 0;
  @!%p2 bra DONE;
  { .param .b32 a; .param .b32 b; .param .b32 q; st.param.b32 [a], %x; st.param.b32 [b], %y;
    call (q), mix, (a, b); ld.param.b32 %s, [q]; }
  { .param .b32 a; .param .b32 b; .param .b32 q; st.param.b32 [a], %y; st.param.b32 [b], %s;
    call (q), mix, (a, b); ld.param.b32 %y, [q]; }
  @%p0 add.u32 %s, %s, %k0;
  @%p1 add.u32 %s, %s, %k1;
  add.u32 %s, %s, %y;
DONE:
  add.u32 %o, %s, %k2;";
    fn mix(x: u32, y: u32) -> u32 {
        let (k0, k1) = (x.wrapping_mul(7).wrapping_add(1), y.wrapping_mul(11).wrapping_add(2));
        let k2 = k0 ^ k1;
        let k5 = (k2.wrapping_add(x) << 1).wrapping_sub(y);
        let mut k7 = k5.wrapping_mul(k1).wrapping_add(k0);
        if x != 3 {
            k7 = k7.wrapping_add((x as f32 / (y as f32 + 1.0)) as u32);
        }
        if x < y {
            k7 = k7.wrapping_add(1000);
        }
        if x & 1 == 0 {
            k7 = k7.wrapping_add(20000);
        }
        k7.wrapping_add(k2).wrapping_add(k5)
    }
    let expect: Vec<u32> = (0..64u32)
        .map(|t| {
            let (x, y) = (t % 7, t % 5);
            let (k0, k1) = (t * 13, t + 99);
            let mut s = 0u32;
            if t < 40 {
                s = mix(x, y);
                let second = mix(y, s);
                s = s.wrapping_add(if x > y { k0 } else { 0 }).wrapping_add(if y == 2 { k1 } else { 0 });
                s = s.wrapping_add(second);
            }
            s.wrapping_add(k0 ^ k1)
        })
        .collect();
    for (inline_limit, max_registers) in [(0, 255), (0, 16), (6000, 255), (6000, 16)] {
        let mut program = TestProgram::new(&module(BUSY, body), &manifest(64, 2, 32));
        program.setup.lowering = LowerOptions { inline_limit, max_registers, ..LowerOptions::default() };
        let session = program.run();
        assert_eq!(words(&session, "out"), expect, "{inline_limit} {max_registers}");
        let calls = session.kernel("k").unwrap().functions.iter().any(|(_, name)| name == "mix");
        assert_eq!(calls, inline_limit == 0);
    }
}

/// Predicates and vectors as `.reg` parameters and results, of functions that are inlined, have code of their own,
/// and are called through a register.
#[test]
fn register_parameters_may_be_predicates_and_vectors() {
    let functions = "
.func (.reg .pred %q, .reg .v2 .u32 %s) pick(.reg .pred %p, .reg .v4 .u32 %v, .reg .pred %n)
{
  .reg .u32 %x; .reg .pred %e;
  selp.u32 %x, %v.x, %v.y, %p;
  selp.u32 %s.y, %v.z, %v.w, %n;
  mov.u32 %s.x, %x;
  setp.gt.u32 %e, %x, 40;
  xor.pred %q, %e, %n;
  ret;
}";
    let head = ".reg .v4 .u32 %v; .reg .v2 .u32 %s; .reg .pred %p, %n, %q; .reg .u32 %x, %y; .reg .u64 %f;
      and.b32 %x, %t, 1; setp.eq.u32 %p, %x, 0; and.b32 %x, %t, 2; setp.ne.u32 %n, %x, 0;
      add.u32 %v.x, %t, 10; add.u32 %v.y, %t, 20; add.u32 %v.z, %t, 30; add.u32 %v.w, %t, 40;";
    let tail = "selp.u32 %o, 1000000, 0, %q; mad.lo.u32 %o, %s.x, 1000, %o; add.u32 %o, %o, %s.y;";
    let prototype =
        "P: .callprototype (.reg .pred _, .reg .v2 .u32 _) _ (.reg .pred _, .reg .v4 .u32 _, .reg .pred _);";
    let direct = format!("{head} call (%q, %s), pick, (%p, %v, %n); {tail}");
    let indirect = format!("{head} {prototype} mov.u64 %f, pick; call (%q, %s), %f, (%p, %v, %n), P; {tail}");
    let negated = format!("{head} not.pred %p, %p; call (%q, %s), pick, (!%p, %v, %n); {tail}");
    let expect: Vec<u32> = (0..64u32)
        .map(|t| {
            let (p, n) = (t & 1 == 0, t & 2 != 0);
            let x = if p { t + 10 } else { t + 20 };
            let y = if n { t + 30 } else { t + 40 };
            u32::from((x > 40) != n) * 1_000_000 + x * 1000 + y
        })
        .collect();
    for body in [direct, indirect, negated] {
        for inline_limit in [emulator::lower::DEFAULT_INLINE_LIMIT, 0] {
            let mut program = TestProgram::new(&module(functions, &body), &manifest(64, 2, 32));
            program.setup.lowering = LowerOptions { inline_limit, ..LowerOptions::default() };
            assert_eq!(words(&program.run(), "out"), expect, "inline limit {inline_limit}: {body}");
        }
    }
}

/// An argument of another kind than its parameter is refused with its position.
#[test]
fn register_arguments_have_the_kind_of_their_parameters() {
    let functions = ".func (.reg .u32 %r) f(.reg .u32 %a) { mov.u32 %r, %a; ret; }
        .func (.reg .pred %r) g(.reg .pred %a) { mov.pred %r, %a; ret; }
        .func h(.reg .v2 .u32 %a) { ret; }";
    let cases = [
        ("call (%n0), f, (%p);", "`call`: `%p` is declared `.pred`, this operand has type `.u32`"),
        ("call (%n0), f, (%a);", "`call`: `%a` is declared `.b64`, this operand has type `.u32`"),
        ("call (%p), f, (%n0);", "`call`: `%p` is declared `.pred`, this operand has type `.u32`"),
        ("call (%p), g, (%n0);", "`call`: `%n0` is declared `.u32`, this operand has type `.pred`"),
        ("call h, (%n0);", "the callee has 0 results and 2 parameters, this call 0 and 1"),
    ];
    for (body, wanted) in cases {
        let text = module(
            functions,
            &format!(".reg .pred %p; setp.eq.u32 %p, %t, 0; mov.u32 %n0, 7; {body} mov.u32 %o, 0;"),
        );
        let Err(error) = TestProgram::new(&text, &manifest(64, 2, 32)).open() else {
            panic!("{body} is accepted")
        };
        assert!(error.to_string().contains(wanted), "{body}: {error}");
    }
}
