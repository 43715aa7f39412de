//! The environment of threads: special registers, initialisers that hold addresses, grid-wide barriers
//! through the workspace of cooperative launches, and dynamic stack allocation.

use crate::calls_kit;

use calls_kit::{TestProgram, manifest, module, words};

const MODULES: [&str; 2] =
    [include_str!("calls/functions_sm75.ptx"), include_str!("calls/functions_sm100.ptx")];

/// Each thread stores one special register.
fn special(register: &str, bits: u32) -> Vec<u32> {
    let read = match bits {
        64 => format!(".reg .u64 %x; mov.u64 %x, {register}; cvt.u32.u64 %o, %x;"),
        _ => format!("mov.u32 %o, {register};"),
    };
    let text = module(
        ".shared .align 4 .b8 fixed[40];\n",
        &format!(".reg .u32 %u; ld.shared.u32 %u, [fixed];\n{read}"),
    );
    let manifest = manifest(192, 2, 96).replace("args", "shared = 1000\nargs");
    words(&TestProgram::new(&text, &manifest).run(), "out")
}

#[test]
fn special_registers_that_depend_on_the_launch_alone() {
    let same = |x: u32| vec![x; 192];
    let lane = |f: fn(u32) -> u32| -> Vec<u32> { (0..192).map(|t| f(t % 32)).collect() };
    let cases: Vec<(&str, u32, Vec<u32>)> = vec![
        ("%envreg0", 32, same(0)),
        ("%envreg31", 32, same(0)),
        ("%dynamic_smem_size", 32, same(1000)),
        ("%total_smem_size", 32, same(1040)),
        ("%aggr_smem_size", 32, same(1040)),
        ("%reserved_smem_offset_begin", 32, same(0)),
        ("%current_graph_exec", 64, same(0)),
        ("%pm3", 32, same(0)),
        ("%pm7_64", 64, same(0)),
        ("%gridid", 64, same(0)),
        ("%nwarpid", 32, same(3)),
        ("%warpid", 32, (0..192).map(|t| t % 96 / 32).collect()),
        ("%lanemask_eq", 32, lane(|l| 1 << l)),
        ("%lanemask_lt", 32, lane(|l| (1 << l) - 1)),
        ("%lanemask_le", 32, lane(|l| u32::MAX >> (31 - l))),
        ("%lanemask_gt", 32, lane(|l| (u64::from(u32::MAX) << (l + 1)) as u32)),
        ("%lanemask_ge", 32, lane(|l| u32::MAX << l)),
        ("%clusterid.x", 32, (0..192).map(|t| t / 96).collect()),
        ("%nclusterid.x", 32, same(2)),
        ("%cluster_ctaid.y", 32, same(0)),
        ("%cluster_nctaid.z", 32, same(1)),
        ("%cluster_ctarank", 32, same(0)),
        ("%cluster_nctarank", 32, same(1)),
        ("%smid", 32, (0..192).map(|t| t / 96).collect()),
        ("%nsmid", 32, same(28)),
    ];
    for (register, bits, expect) in cases {
        assert_eq!(special(register, bits), expect, "{register}");
    }
}

#[test]
fn blocks_are_spread_over_the_sms_that_options_name() {
    let text =
        module("", ".reg .u32 %m, %n; mov.u32 %m, %smid; mov.u32 %n, %nsmid; mad.lo.u32 %o, %n, 100, %m;");
    let mut program = TestProgram::new(&text, &manifest(192, 6, 32));
    program.options.sms = 4;
    let expect: Vec<u32> = (0..192).map(|t| 400 + t / 32 % 4).collect();
    assert_eq!(words(&program.run(), "out"), expect);
}

#[test]
fn shared_memory_that_is_declared_with_a_size_has_room_of_its_own() {
    // As in ptxas: `.extern` means the launch's dynamic shared memory only if no size is given.
    let text = module(
        ".extern .shared .align 8 .b8 sized[256];\n.shared .align 4 .b8 fixed[20];\n\
         .extern .shared .align 16 .b8 dynamic[];\n",
        ".reg .u32 %s<8>;\nmov.u32 %s0, sized;\nmov.u32 %s1, dynamic;\nmov.u32 %s2, fixed;\n\
         mad.lo.u32 %s0, %t, 4, %s0;\nmad.lo.u32 %s1, %t, 4, %s1;\nst.shared.u32 [%s0], %t;\n\
         add.u32 %s3, %t, 1000;\nst.shared.u32 [%s1], %s3;\nst.shared.u32 [%s2+16], 7;\nbar.sync 0;\n\
         xor.b32 %s3, %t, 63;\nmov.u32 %s0, sized;\nmov.u32 %s1, dynamic;\n\
         mad.lo.u32 %s0, %s3, 4, %s0;\nmad.lo.u32 %s1, %s3, 4, %s1;\n\
         ld.shared.u32 %s4, [%s0];\nld.shared.u32 %s5, [%s1];\nld.shared.u32 %s6, [%s2+16];\n\
         mov.u32 %s7, %total_smem_size;\nadd.u32 %o, %s4, %s5;\nadd.u32 %o, %o, %s6;\n\
         mad.lo.u32 %o, %s7, 10000, %o;",
    );
    let launch = manifest(64, 1, 64).replace("args", "shared = 256\nargs");
    let expect: Vec<u32> = (0..64).map(|t| (288 + 256) * 10_000 + 2 * (63 - t) + 1000 + 7).collect();
    assert_eq!(words(&TestProgram::new(&text, &launch).run(), "out"), expect);
}

#[test]
fn clocks_move_on_and_are_the_same_in_every_run() {
    for (low, ty) in
        [("%clock", "u32"), ("%clock64", "u64"), ("%globaltimer", "u64"), ("%globaltimer_lo", "u32")]
    {
        let body = format!(
            ".reg .{ty} %x, %y; .reg .u32 %k; .reg .pred %p; mov.{ty} %x, {low}; mov.u32 %k, 0;
             L: add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 100; @%p bra L;
             mov.{ty} %y, {low}; sub.{ty} %y, %y, %x; cvt.u32.{ty} %o, %y; add.u32 %o, %o, %k;"
        )
        .replace("cvt.u32.u32", "mov.u32");
        let steps = words(&TestProgram::new(&module("", &body), &manifest(32, 1, 32)).run(), "out");
        assert!(steps.iter().all(|&s| s > 100 && s == steps[0]), "{low}: {steps:?}");
    }
}

#[test]
fn initialisers_hold_addresses_of_functions_and_variables() {
    let globals = "
.const .align 4 .u32 numbers[4] = {11, 22, 33, 44};
.global .align 4 .u32 words[4] = {5, 6, 7, 8};
.global .align 8 .u64 inside[3] = {words, words+8, generic(words)+12};
.const .align 8 .u64 into_bank[2] = {numbers, generic(numbers)+8};
.global .align 1 .u8 bytes[8] = {0xFF(words), 0xFF00(words), 0xFF0000(words), 0xFF000000(words),
  0xFF00000000(words), 0xFF0000000000(words), 0xFF000000000000(words), 0xFF00000000000000(words)};
.func (.reg .u32 %r) twice(.reg .u32 %a) { add.u32 %r, %a, %a; ret; }
.func (.reg .u32 %r) next(.reg .u32 %a) { add.u32 %r, %a, 1; ret; }
.const .align 8 .u64 table[2] = {next, twice};
";
    let body = "
 .reg .u64 %p, %q; .reg .u32 %v, %w, %i; .reg .pred %e;
 ld.global.u64 %p, [inside+8]; ld.global.u32 %v, [%p]; mov.u32 %o, %v;
 ld.global.u64 %p, [inside+16]; ld.u32 %v, [%p]; mad.lo.u32 %o, %v, 100, %o;
 ld.const.u64 %p, [into_bank]; ld.const.u32 %v, [%p+4]; mad.lo.u32 %o, %v, 10000, %o;
 ld.const.u64 %p, [into_bank+8]; ld.u32 %v, [%p]; mad.lo.u32 %o, %v, 1000000, %o;
 mov.u32 %w, 0; mov.u64 %q, 0;
 ld.global.u32 %v, [bytes]; ld.global.u32 %w, [bytes+4]; mov.b64 %q, {%v, %w};
 mov.u64 %p, words; setp.eq.u64 %e, %p, %q; @!%e mov.u32 %o, 0;
 and.b32 %i, %t, 1; mul.wide.u32 %p, %i, 8; mov.u64 %q, table; add.u64 %q, %q, %p; ld.const.u64 %q, [%q];
 shape: .callprototype (.reg .u32 _) _ (.reg .u32 _);
 call (%o), %q, (%o), shape;
";
    let session = TestProgram::new(&module(globals, body), &manifest(32, 1, 32)).run();
    let base = 7 + 8 * 100 + 22 * 10_000 + 33 * 1_000_000;
    let expect = (0..32).map(|t| if t & 1 == 1 { 2 * base } else { base + 1 });
    assert_eq!(words(&session, "out"), expect.collect::<Vec<u32>>());
}

#[test]
fn the_blocks_of_a_grid_meet() {
    for ptx in MODULES {
        let n = 256u32;
        let buffers = |name| format!("[buffers.{name}]\ntype = \"s32\"\nlen = {n}\ninit = \"zeros\"\n");
        let manifest = format!(
            "ptx = \"k.ptx\"\n{}{}[[launch]]\nkernel = \"gridsync\"\ngrid = [8, 1, 1]\nblock = [32, 1, 1]\nrepeat = 2\n\
             args = [\"@a\", \"@b\", {{ s32 = {n} }}]\n",
            buffers("a"),
            buffers("b")
        );
        let session = TestProgram::new(ptx, &manifest).run();
        let b: Vec<u32> = (0..n).map(|t| (t + n / 2) % n * 3).collect();
        let a: Vec<u32> = (0..n as usize).map(|t| b[n as usize - 1 - t] + 1).collect();
        assert_eq!((words(&session, "a"), words(&session, "b")), (a, b));
    }
}

#[test]
fn alloca_gives_every_thread_its_own_memory() {
    for ptx in MODULES {
        let manifest = "ptx = \"k.ptx\"\n[buffers.out]\ntype = \"s32\"\nlen = 64\ninit = \"zeros\"\n[[launch]]\n\
             kernel = \"dyn\"\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\nargs = [\"@out\", { s32 = 0 }]\n";
        let session = TestProgram::new(ptx, manifest).run();
        let sum = |t: u32| -> u32 {
            let m = (t % 5 + 1) * 4;
            (0..m).map(|i| (i * 7) % m * t).sum()
        };
        assert_eq!(words(&session, "out"), (0..64).map(sum).collect::<Vec<u32>>());
    }
}

/// A recursive function with an array whose size is its depth: the caller's arrays stay unchanged, and what a
/// callee has allocated is freed when it returns.
const NESTED: &str = "
.func (.reg .u32 %r) nest(.reg .u32 %n)
{
  .reg .u64 %p, %s, %i; .reg .u32 %m, %k, %b; .reg .pred %q;
  mov.u32 %r, 1; setp.eq.u32 %q, %n, 0; @%q ret;
  mul.lo.u32 %b, %n, 1000; cvt.u64.u32 %s, %b;
  alloca.u64 %p, %s, 64;
  st.local.u32 [%p], %n; add.u64 %i, %p, %s; st.local.u32 [%i+-4], %b;
  sub.u32 %m, %n, 1;
  call (%k), nest, (%m);
  call (%m), nest, (%m);
  ld.local.u32 %r, [%p]; ld.local.u32 %b, [%i+-4];
  cvt.u32.u64 %n, %p; and.b32 %n, %n, 63; add.u32 %r, %r, %b; add.u32 %r, %r, %k; add.u32 %r, %r, %m; add.u32 %r, %r, %n;
  ret;
}";

#[test]
fn nested_allocations_end_with_their_function() {
    let text = module(NESTED, ".reg .u32 %d; rem.u32 %d, %t, 9; call (%o), nest, (%d);");
    let session = TestProgram::new(&text, &manifest(32, 1, 32)).run();
    fn nest(n: u32) -> u32 {
        if n == 0 { 1 } else { n + 1000 * n + 2 * nest(n - 1) }
    }
    assert_eq!(words(&session, "out"), (0..32).map(|t| nest(t % 9)).collect::<Vec<u32>>());
}

#[test]
fn stacksave_and_stackrestore_reuse_memory_and_too_much_faults() {
    let body = |n: &str, restore: &str| {
        format!(
            ".reg .u64 %s, %p, %z; .reg .u32 %k; .reg .pred %q; mov.u32 %k, 0; mov.u32 %o, 0; mov.u64 %z, {n};
             L: stacksave.u64 %s; alloca.u64 %p, %z; st.local.u32 [%p+{n}-4], %k; ld.local.u32 %o, [%p+{n}-4]; {restore}
             add.u32 %k, %k, 1; setp.lt.u32 %q, %k, 100; @%q bra L;"
        )
    };
    let session =
        TestProgram::new(&module("", &body("2000", "stackrestore.u64 %s;")), &manifest(32, 1, 32)).run();
    assert_eq!(words(&session, "out"), [99; 32]);
    let error = TestProgram::new(&module("", &body("2000", "")), &manifest(32, 1, 32)).fails();
    assert!(error.contains("local store") && error.contains("out of bounds"), "{error}");
    let huge = TestProgram::new(&module("", &body("0xFFFFFFF0", "")), &manifest(32, 1, 32)).fails();
    assert!(huge.contains("out of bounds") || huge.contains("overflow"), "{huge}");
}
