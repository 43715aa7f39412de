//! System services of device code: printf, malloc and free, assert, virtual functions of objects from the device
//! heap. Texts are the same at any number of threads. Expected values are computed here.

use crate::calls_kit;
use crate::cli_kit;

use calls_kit::{TestProgram, module, words};
use cli_kit::Folder;
use emulator::exec::{Observer, Options, Stats};
use std::sync::Mutex;

const MODULES: [&str; 2] =
    [include_str!("calls/functions_sm75.ptx"), include_str!("calls/functions_sm100.ptx")];

#[derive(Default)]
struct Listener(Mutex<Vec<u8>>);

impl Observer for Listener {
    fn progress(&self, _: &Stats) {}
    fn printed(&self, text: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(text);
    }
}

fn printed(program: &TestProgram, threads: usize) -> String {
    let listener = Listener::default();
    let options = Options { threads, ..program.options };
    program.open().unwrap().run(&options, &listener).unwrap_or_else(|e| panic!("{e}"));
    String::from_utf8(listener.0.into_inner().unwrap()).unwrap()
}

fn launch(kernel: &str, buffers: &str, grid: u32, block: u32, args: &str) -> String {
    format!(
        "ptx = \"k.ptx\"\n{buffers}\n[[launch]]\nkernel = \"{kernel}\"\ngrid = [{grid}, 1, 1]\n\
         block = [{block}, 1, 1]\nargs = [{args}]\n"
    )
}

const OUT: &str = "[buffers.out]\ntype = \"s32\"\nlen = 64\ninit = \"zeros\"\n";

#[test]
fn vprintf_may_be_declared_without_its_result() {
    let text = |result: Option<&str>| {
        let of = |form: &str| result.map_or(String::new(), |ty| form.replace("TYPE", ty));
        format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n\
             .extern .func {} vprintf (.param .b64 format, .param .b64 arguments);\n\
             .global .align 1 .b8 text[4] = {{ 37, 100, 10, 0 }};\n\
             .visible .entry k() {{\n\
             .local .align 8 .b8 numbers[8];\n.reg .b32 %r<3>;\n.reg .b64 %d<4>;\n\
             mov.u32 %r1, %tid.x;\nst.local.u32 [numbers], %r1;\n\
             mov.u64 %d1, numbers;\ncvta.local.u64 %d1, %d1;\nmov.u64 %d2, text;\ncvta.global.u64 %d2, %d2;\n\
             {{ .param .b64 a; .param .b64 b; {}\nst.param.b64 [a], %d2;\nst.param.b64 [b], %d1;\n\
             call.uni {} vprintf, (a, b); }}\nret;\n}}\n",
            of("(.param .TYPE r)"),
            of(".param .TYPE r;"),
            of("(r),"),
        )
    };
    for result in [Some("b32"), None] {
        let program = TestProgram::new(&text(result), &launch("k", "", 1, 3, ""));
        assert_eq!(printed(&program, 1), "0\n1\n2\n", "declared with {result:?}");
    }
    // A declaration with another result type is refused at the call.
    let error = TestProgram::new(&text(Some("b64")), &launch("k", "", 1, 1, "")).fails();
    assert!(error.contains("a call of `vprintf` as declared here"), "{error}");
}

#[test]
fn printf_comes_in_the_order_of_blocks_at_any_number_of_threads() {
    for ptx in MODULES {
        let program = TestProgram::new(ptx, &launch("prints", "", 3, 4, "{ s32 = 1 }"));
        let mut expect = String::new();
        for block in 0..3 {
            for t in 0..4i64 {
                let parity = if t & 1 == 1 { "odd" } else { "even" };
                let hex = if t == 0 { "0".into() } else { format!("{:#x}", t * 17) };
                let c = char::from(b'a' + t as u8);
                let minus = if t == 0 { "+0".into() } else { format!("-{t}") };
                expect += &format!(
                    "block {block} thread {t:>3} of 4: {:>5.2} {parity:<8}|{minus}|{hex}|{} {c}%\n",
                    t as f64 * 1.5,
                    t << 33
                );
            }
            expect += "plain\n";
        }
        for threads in [1, 4] {
            assert_eq!(printed(&program, threads), expect);
        }
        program.run();
    }
}

#[test]
fn the_command_prints_what_device_code_prints() {
    let folder =
        Folder::new().file("k.ptx", MODULES[0]).file("k.toml", &launch("prints", "", 1, 2, "{ s32 = 1 }"));
    let run = folder.emu(&["run", "k.ptx"]);
    run.succeeds();
    assert!(
        run.out.contains("block 0 thread   1 of 2:  1.50 odd     |-1|0x11|8589934592 b%\nplain\n"),
        "{}",
        run.out
    );
    let json = folder.emu(&["run", "k.ptx", "--json"]);
    assert!(json.err.contains("plain") && !json.out.contains("plain"), "{}", json.out);
    folder
        .emu(&["run", "k.ptx", "--max-print-bytes", "40"])
        .fails(&["prints more text", "--max-print-bytes"]);
}

#[test]
fn a_failed_assertion_says_what_cuda_says() {
    for ptx in MODULES {
        let buffers = "[buffers.a]\ntype = \"s32\"\nlen = 64\ninit = \"iota\"\n";
        let program = TestProgram::new(ptx, &launch("asserts", buffers, 1, 64, "\"@a\""));
        let error = program.fails();
        assert!(error.contains("functions.cu:"), "{error}");
        let told =
            "void asserts(int *): block: [0,0,0], thread: [3,0,0] Assertion `a[threadIdx.x] != 3` failed.";
        assert!(error.contains(told), "{error}");
        let fine = "[buffers.a]\ntype = \"s32\"\nlen = 64\ninit = { fill = 4 }\n";
        assert_eq!(
            words(&TestProgram::new(ptx, &launch("asserts", fine, 1, 64, "\"@a\"")).run(), "a"),
            [0; 64]
        );
    }
}

#[test]
fn lists_from_the_device_heap_and_null_when_it_is_exhausted() {
    for ptx in MODULES {
        let mut program = TestProgram::new(ptx, &launch("lists", OUT, 1, 64, "\"@out\", { s32 = 20 }"));
        assert_eq!(words(&program.run(), "out"), (0..64).map(|t| t * 190).collect::<Vec<u32>>());
        // Sixteen bytes a node: room for the lists of some threads only.
        program.setup.heap_bytes = Some(16 * 32 * 10);
        let short = words(&program.run(), "out");
        assert!(short.iter().all(|&x| x == u32::MAX), "{short:?}");
    }
}

#[test]
fn virtual_functions_of_objects_made_with_new() {
    for ptx in MODULES {
        let buffers = "[buffers.out]\ntype = \"f32\"\nlen = 96\ninit = \"zeros\"\n";
        let session = TestProgram::new(ptx, &launch("virtuals", buffers, 2, 48, "\"@out\"")).run();
        let expect: Vec<u32> = (0..96i32)
            .map(|t| {
                let (s, k) = ((t & 7) as f32, t as f32);
                match t % 3 {
                    0 => s * s + k,
                    1 => 3.0 * s * s * 0.5 + k,
                    _ => (3.0 * s * s * 2.0 + 7.0) + (4.0 * s * s + k),
                }
                .to_bits()
            })
            .collect();
        assert_eq!(words(&session, "out"), expect);
    }
}

#[test]
fn freeing_twice_or_what_was_not_allocated_is_a_fault() {
    let declared = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);";
    let text = |frees: &str| {
        let body = format!(
            ".reg .u64 %p; mov.u32 %o, 0;
             {{ .param .b64 n; .param .b64 r; st.param.b64 [n], 100; call (r), malloc, (n); ld.param.b64 %p, [r]; }}
             st.u32 [%p+96], 5;
             {frees}"
        );
        module(declared, &body)
    };
    let free = "{ .param .b64 a; st.param.b64 [a], %p; call free, (a); }\n";
    let manifest = calls_kit::manifest(32, 1, 32);
    TestProgram::new(&text(free), &manifest).run();
    TestProgram::new(
        &text("mov.u64 %p, 0;").replace("mov.u64 %p, 0;", &format!("mov.u64 %p, 0;\n{free}")),
        &manifest,
    )
    .run();
    let twice = TestProgram::new(&text(&format!("{free}{free}")), &manifest).fails();
    assert!(twice.contains("freed before") && twice.contains("call free, (a)"), "{twice}");
    let inside = TestProgram::new(&text(&format!("add.u64 %p, %p, 8;\n{free}")), &manifest).fails();
    assert!(inside.contains("malloc has not returned"), "{inside}");
}
