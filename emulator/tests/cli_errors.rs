//! Every kind of invalid input to `emu`: exit code 1, a message that names the place and the remedy, no panic.

use crate::cli_kit;

use cli_kit::Folder;

/// A kernel `out[i] = in[i]` for all threads, without a bounds test.
const COPY: &str = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.s32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r5, [%rd4];
    add.s64 %rd5, %rd2, %rd3;
    st.global.u32 [%rd5], %r5;
    ret;
}
";

const COPY_TOML: &str = r#"
[scalars]
n = 64
[buffers.a]
type = "u32"
len = "n"
init = "iota"
[buffers.b]
type = "u32"
len = "n"
[[launch]]
kernel = "copy"
grid = "n/32"
block = 32
args = ["@a", "@b"]
"#;

/// A kernel of one pointer parameter whose body is the given lines.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<19>;\n.reg .b64 %rd<9>;\n.shared .align 4 .b8 tile[128];\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    )
}

const ONE_TOML: &str = r#"
[buffers.a]
type = "u32"
len = 64
[[launch]]
kernel = "k"
grid = 2
block = 64
args = ["@a"]
"#;

#[test]
fn a_good_program_passes() {
    let folder = Folder::new().file("app.ptx", COPY).file("app.toml", COPY_TOML);
    let run = folder.emu(&["run", "app.ptx", "--dump", "b:3"]);
    run.succeeds();
    assert!(run.out.contains("copy") && run.out.contains("b (64 x u32): 0, 1, 2, …"), "{}", run.out);
    assert_eq!(run.err, "");
}

#[test]
fn missing_files() {
    let folder = Folder::new();
    folder.emu(&["run", "app.ptx"]).fails(&["cannot read app.ptx"]);
    let folder = folder.file("app.ptx", COPY);
    folder.emu(&["run", "app.ptx"]).fails(&["app.toml: there is no such launch manifest", "--manifest"]);
    folder.emu(&["run", "app.ptx", "--launch", "other.toml"]).fails(&["other.toml: there is no such"]);
    folder.emu(&["disasm", "other.ptx"]).fails(&["cannot read other.ptx"]);
}

#[test]
fn files_that_are_no_ptx() {
    let folder = Folder::new().file("empty.ptx", "").file("app.toml", ONE_TOML);
    std::fs::create_dir(folder.path("folder.ptx")).unwrap();
    std::fs::write(folder.path("binary.ptx"), (0..=255).cycle().take(100_000).collect::<Vec<u8>>()).unwrap();
    // A sparse file of a hundred megabytes.
    std::fs::File::create(folder.path("zeros.ptx")).unwrap().set_len(100 << 20).unwrap();
    std::fs::write(folder.path("braces.ptx"), "{".repeat(1 << 20)).unwrap();
    for command in ["run", "inspect", "disasm"] {
        folder.emu(&[command, "empty.ptx"]).fails(&["empty.ptx", "names no PTX version"]);
        folder.emu(&[command, "folder.ptx"]).fails(&["cannot read folder.ptx"]);
        folder.emu(&[command, "binary.ptx"]).fails(&["cannot read binary.ptx", "not text"]);
        folder.emu(&[command, "zeros.ptx"]).fails(&["cannot read zeros.ptx", "not text"]);
        folder.emu(&[command, "braces.ptx"]).fails(&["braces.ptx"]);
    }
    #[cfg(unix)]
    folder.emu(&["run", "/dev/zero"]).fails(&["cannot read /dev/zero", "larger than"]);
}

#[test]
fn files_of_other_kinds_are_told_where_they_belong() {
    let folder = Folder::new().file("app.cu", "int x;").file("app.wtrace", "W").file("app.toml", COPY_TOML);
    for command in ["run", "inspect", "disasm"] {
        folder.emu(&[command, "app.cu"]).fails(&["cannot read app.cu", "CUDA source", "nvcc -ptx"]);
        folder.emu(&[command, "app.wtrace"]).fails(&["cannot read app.wtrace", "timing replay"]);
    }
    folder.emu(&["disasm", "app.toml"]).fails(&["cannot read app.toml", "launch manifest"]);
    // The manifest names app.ptx, which is not there.
    folder.emu(&["run", "app.toml"]).fails(&["cannot read", "app.ptx"]);
    let folder = folder.file("app.ptx", COPY);
    folder.emu(&["run", "app.toml"]).succeeds();
    folder.emu(&["record", "app.toml"]).succeeds();
    assert!(std::fs::metadata(folder.path("app.wtrace")).unwrap().len() > 100);
    folder
        .emu(&["run", "app.toml", "--launch", "app.toml"])
        .fails(&["cannot read app.toml", "launch manifest"]);
}

#[test]
fn arguments_that_do_not_fit_the_kernel() {
    let with = |args: &str, told: &[&str]| {
        let toml = COPY_TOML.replace("[\"@a\", \"@b\"]", args);
        Folder::new().file("app.ptx", COPY).file("app.toml", &toml).emu(&["run", "app.ptx"]).fails(told);
    };
    let signature = "copy(u64 from, u64 to)";
    with(
        "[\"@a\"]",
        &["app.toml:15: launch.0.args: kernel `copy` takes 2 arguments, 1 are given", signature],
    );
    with("[\"@a\", 5]", &["app.toml:15: launch.0.args.1", "parameter `to` (u64) has 8", "{ u64 = … }"]);
    with("[\"@a\", { f64 = 1.0 }]", &["a value of type f64 is given for parameter `to` of type u64"]);
    with("[\"@a\", { bytes = \"00\" }]", &["1 bytes are given, parameter `to` (u64) has 8"]);
    with("[\"@a\", \"@c\"]", &["there is no buffer `c`", "a, b"]);
}

#[test]
fn unknown_kernels_list_those_there_are() {
    let toml = COPY_TOML.replace("\"copy\"", "\"copi\"");
    let folder = Folder::new().file("app.ptx", COPY).file("app.toml", &toml);
    folder.emu(&["run", "app.ptx"]).fails(&[
        "app.toml:12: launch.0.kernel",
        "no kernel `copi` in app.ptx",
        "file: copy",
    ]);
    folder.emu(&["disasm", "app.ptx", "--kernel", "copi"]).fails(&["no kernel `copi`", "file: copy"]);
}

#[test]
fn unparsable_ptx_reports_every_error_with_its_line() {
    let bad = COPY
        .replace("mov.u32 %r3, %tid.x;", "mov.u32 %q3, %tid.x;")
        .replace("%rd5, %rd2, %rd3;", "%rd5, %rd2 %rd3;");
    let folder = Folder::new().file("app.ptx", &bad).file("app.toml", COPY_TOML);
    folder.emu(&["run", "app.ptx"]).fails(&["app.ptx:17:", "error"]);
    folder.emu(&["disasm", "app.ptx"]).fails(&["app.ptx:17:"]);
    let folder = Folder::new().file("app.toml", COPY_TOML);
    std::fs::write(folder.path("app.ptx"), [0x7F, b'E', b'L', b'F', 0xFF, 0xFE]).unwrap();
    folder.emu(&["run", "app.ptx"]).fails(&["cannot read app.ptx", "compiled program", "emu run -- PROGRAM"]);
    let folder = folder.file("app.ptx", &COPY.replace("mov.u32 %r3, %tid.x;", "frobnicate.u32 %r3, %r2;"));
    folder.emu(&["run", "app.ptx"]).fails(&["app.ptx:12:", "frobnicate"]);
}

#[test]
fn reading_out_of_bounds() {
    let folder = Folder::new().file("app.ptx", COPY).file("app.toml", COPY_TOML);
    let run = folder.emu(&["run", "app.ptx", "--set", "a.len=50", "--threads", "2"]);
    run.fails(&[
        "global load of 4 bytes at 0x",
        "0 bytes past the end of `a`",
        "(0x",
        "200 bytes), the nearest allocation",
        "at app.ptx:16: ld.global.u32 %r5, [%rd4];",
        "in kernel copy, PC 0x",
        "LDG",
        "block (1,0,0), warp 0, lane 18, thread (18,0,0)",
        "help: check",
    ]);
}

#[test]
fn a_newer_version_and_an_unknown_target_are_refused() {
    let newer = COPY.replace(".version 8.0", ".version 97.3");
    let unknown = COPY.replace("sm_75", "sm_next");
    for (text, told) in [
        (newer, "app.ptx:1:1: error: there is no PTX 97.3 that is known here"),
        (unknown, "app.ptx:2:9: error: there is no target `sm_next`"),
    ] {
        let folder = Folder::new().file("app.ptx", &text).file("app.toml", COPY_TOML);
        for arguments in [&["run", "app.ptx"][..], &["inspect", "app.ptx"], &["disasm", "app.ptx"]] {
            folder.emu(arguments).fails(&[told]);
        }
    }
    let known = Folder::new().file("app.ptx", COPY).file("app.toml", COPY_TOML).emu(&["run", "app.ptx"]);
    assert_eq!(known.err, "");
}

#[test]
fn dividing_by_zero() {
    for divide in ["div.u32", "div.s32", "rem.u32", "rem.s32"] {
        let body = format!(
            "sub.u32 %r2, %r1, 37;\nadd.u32 %r3, %r1, 77;\n{divide} %r4, %r3, %r2;\nst.global.u32 [%rd1], %r4;"
        );
        let folder = Folder::new().file("app.ptx", &kernel(&body)).file("app.toml", ONE_TOML);
        let line = format!("app.ptx:14: {divide} %r4, %r3, %r2;");
        let run = folder.emu(&["run", "app.ptx", "--trap-zero-division"]);
        run.fails(&[
            "integer division by zero",
            &line,
            "block (0,0,0), warp 1, lane 5",
            "--trap-zero-division",
        ]);
        folder.emu(&["run", "app.ptx"]).succeeds();
    }
    let body = "cvt.s64.s32 %rd2, %r1;\ndiv.s64 %rd3, %rd1, %rd2;\nst.global.u64 [%rd1], %rd3;";
    let folder = Folder::new().file("app.ptx", &kernel(body)).file("app.toml", ONE_TOML);
    folder.emu(&["run", "app.ptx"]).succeeds();
    folder.emu(&["run", "app.ptx", "--trap-zero-division"]).fails(&[
        "integer division by zero",
        "app.ptx:13: div.s64",
        "warp 0, lane 0",
    ]);
}

#[test]
fn waiting_for_ever_at_a_divergent_barrier() {
    let body = "setp.gt.u32 %p1, %r1, 15;\n@%p1 bra SKIP;\nbar.sync 0;\nSKIP:\nst.global.u32 [%rd1], %r1;\nbar.sync 1;";
    let folder = Folder::new().file("app.ptx", &kernel(body)).file("app.toml", ONE_TOML);
    folder.emu(&["run", "app.ptx"]).fails(&[
        "the block waits for ever",
        "warp 0 lanes 0x0000ffff at PC 0x",
        "wait for barrier 0",
        "threads have arrived",
        "lanes 0xffff0000",
        "wait for barrier 1",
        "app.ptx:14: bar.sync 0;",
        "kernel k, PC 0x",
        "block (0,0,0)",
        "help: every thread",
    ]);
}

#[test]
fn looping_for_ever() {
    let body = "LOOP:\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\nbra LOOP;";
    let folder = Folder::new().file("app.ptx", &kernel(body)).file("app.toml", ONE_TOML);
    folder.emu(&["run", "app.ptx", "--max-instructions", "100000"]).fails(&[
        "more than 100000 warp instructions",
        "kernel k, PC 0x",
        "app.ptx:1",
        "block (0,0,0), warp",
        "raise --max-instructions",
    ]);
}

#[test]
fn misaligned_and_trapping_and_shared_out_of_bounds() {
    let run = |body: &str, told: &[&str]| {
        Folder::new()
            .file("app.ptx", &kernel(body))
            .file("app.toml", ONE_TOML)
            .emu(&["run", "app.ptx"])
            .fails(told);
    };
    run(
        "ld.global.u64 %rd2, [%rd1+4];\nst.global.u64 [%rd1], %rd2;",
        &["load of 8 bytes", "misaligned", "app.ptx:12"],
    );
    run("setp.eq.u32 %p1, %r1, 40;\n@%p1 trap;", &["executed a trap", "app.ptx:13", "warp 1, lane 8"]);
    let beyond = "mov.u32 %r2, tile;\nmad.lo.u32 %r3, %r1, 4, %r2;\nst.shared.u32 [%r3], %r1;";
    run(beyond, &["shared store of 4 bytes at 0x80", "there are 128 bytes of shared memory", "app.ptx:14"]);
}

#[test]
fn overrides_and_dumps_that_name_nothing() {
    let folder = Folder::new().file("app.ptx", COPY).file("app.toml", COPY_TOML);
    folder.emu(&["run", "app.ptx", "--set", "m=1"]).fails(&[
        "app.toml (--set m=1)",
        "no scalar `m`",
        "manifest: n",
    ]);
    folder.emu(&["run", "app.ptx", "--set", "n"]).fails(&["NAME=VALUE"]);
    folder.emu(&["run", "app.ptx", "--set", "n=1/0"]).fails(&["division by zero"]);
    folder.emu(&["run", "app.ptx", "--set", "a.len=100000000000"]).fails(&["is not between 0 and"]);
    folder
        .emu(&["run", "app.ptx", "--set", "launch.0.block=2000"])
        .fails(&["2000 threads, the limit is 1024"]);
    folder
        .emu(&["run", "app.ptx", "--set", "launch.0.shared=300000"])
        .fails(&["shared memory, the limit is"]);
    folder.emu(&["run", "app.ptx", "--dump", "c"]).fails(&["no buffer `c`", "a, b"]);
    folder.emu(&["run", "app.ptx", "--dump", "b:x"]).fails(&["`x` is no number"]);
    let usage = folder.emu(&["run"]);
    assert_eq!(usage.code, Some(2));
}

#[test]
fn expected_contents_that_do_not_match_fail_the_run() {
    let sum = |text: &str| {
        let run = Folder::new()
            .file("app.ptx", COPY)
            .file("app.toml", &COPY_TOML.replace("[[launch]]", &format!("expect = {text}\n[[launch]]")))
            .file("right.bin", &(0..64u8).map(|i| format!("{}\0\0\0", char::from(i))).collect::<String>())
            .file(
                "wrong.bin",
                &(0..64u8).map(|i| format!("{}\0\0\0", char::from(i.max(2)))).collect::<String>(),
            )
            .emu(&["run", "app.ptx"]);
        (run.code, run.out)
    };
    let (code, out) = sum("{ file = \"right.bin\" }");
    assert!(code == Some(0) && out.contains("check b: passed"), "{out}");
    let (code, out) = sum("{ file = \"wrong.bin\" }");
    assert!(
        code == Some(1)
            && out.contains("FAILED, 2 of 64 elements differ; the first is element 0: 0, expected 2"),
        "{out}"
    );
    let (code, out) = sum("{ checksum = \"xxh3:0000000000000000\" }");
    assert!(code == Some(1) && out.contains("the checksum is xxh3:"), "{out}");
    let (code, out) = sum("{ file = \"missing.bin\" }");
    assert!(code == Some(1) && out.contains("missing.bin"), "{out}");
}

#[test]
fn recordings_that_cannot_be_written_or_finished_leave_nothing() {
    let folder = Folder::new().file("app.ptx", COPY).file("app.toml", COPY_TOML);
    folder.emu(&["record", "app.ptx", "-o", "no/such/folder/x.wtrace"]).fails(&["no/such/folder/x.wtrace"]);
    folder.emu(&["record", "app.ptx", "-o", "app.toml/x.wtrace"]).fails(&["app.toml/x.wtrace"]);
    for inner in [".", "..", "./"] {
        folder.emu(&["record", "app.ptx", "-o", inner]).fails(&["cannot create", "is a directory"]);
    }
    folder.emu(&["record", "app.ptx", "--set", "a.len=3"]).fails(&["out of bounds"]);
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, ["app.ptx", "app.toml"]);
}

/// A limit on the address space (`ulimit -v`) is reported with a remedy; no command crashes for lack of memory.
#[test]
fn a_small_address_space_is_an_error_in_words() {
    let workload = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/workloads/textbook/vectoradd/vectoradd.ptx");
    for kib in [20_000, 25_000, 30_000, 60_000] {
        for command in ["run", "record -o /dev/null", "disasm"] {
            let script = format!("ulimit -v {kib}; exec \"$0\" {command} \"$1\"");
            let mut shell = std::process::Command::new("sh");
            let output =
                shell.args(["-c", &script, env!("CARGO_BIN_EXE_emu")]).arg(&workload).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{kib} {command}: {told}");
            assert!(told.contains("ulimit -v unlimited") && told.contains("MiB"), "{kib} {command}: {told}");
        }
    }
}

#[test]
fn loads_beside_a_buffer_are_a_fault_or_with_lenient_a_warning() {
    let body = "mul.wide.u32 %rd2, %r1, 4;\nsub.s64 %rd2, %rd1, %rd2;\nld.global.u32 %r2, [%rd2];\n\
                mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r2;";
    let folder = Folder::new().file("app.ptx", &kernel(body)).file("app.toml", ONE_TOML);
    folder.emu(&["run", "app.ptx"]).fails(&["4 bytes before `a`", "--lenient goes on with zeros"]);
    let run = folder.emu(&["run", "app.ptx", "--lenient"]);
    run.succeeds();
    for told in [
        "warning: global load of 4 bytes",
        "4 bytes before `a`",
        "in kernel k, PC 0x",
        "app.ptx:14",
        "126 such loads",
    ] {
        assert!(run.err.contains(told), "{told} is missing in: {}", run.err);
    }
    folder.emu(&["record", "app.ptx", "--lenient", "--interleave", "3"]).succeeds();
    let run = folder.emu(&["run", "app.ptx", "--interleave", "0"]);
    assert!(run.err.contains("--interleave"), "{}", run.err);
}
