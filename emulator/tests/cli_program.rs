//! `emu run -- PROGRAM` and `emu record -- PROGRAM`: the program's environment, its exit code, and the errors before
//! it starts. The libraries themselves have tests of their own; here an empty file replaces them.

use crate::cli_kit;

use cli_kit::Folder;
use std::path::Path;
use std::process::{Command, Output};
use test_kit::{Tool, nvcc, skipped};

fn folder() -> Folder {
    Folder::new().file("libcuda.so.1", "")
}

fn emu(folder: &Folder, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_emu"));
    command.args(args).current_dir(folder.path("")).env("WARPLAB_LIBRARIES", folder.path(""));
    command.env("LD_LIBRARY_PATH", "/before").output().expect("emu starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it is text")
}

#[test]
fn the_program_gets_its_arguments_and_the_flags_and_keeps_its_exit_code() {
    let folder = folder();
    let script = "echo \"$0 $1\"; env | grep -E '^(LD_|WARPLAB_(C|D|F|I|LEN|T|M|S))' | LC_ALL=C sort; exit 7";
    let flags = [
        "run",
        "--threads",
        "3",
        "--device",
        "a100",
        "--max-instructions",
        "99",
        "--interleave",
        "7",
        "--lenient",
        "--code",
        "sass",
        "--fmad=false",
        "--maxregs",
        "32",
        "--schedule",
        "reuse",
        "--",
    ];
    let ran = emu(&folder, &[&flags[..], &["sh", "-c", script, "a b", "--json"]].concat());
    assert_eq!(ran.status.code(), Some(7));
    let place = folder.path("").display().to_string();
    let expected = format!(
        "a b --json\nLD_AUDIT={place}libcuda.so.1\nLD_LIBRARY_PATH={}:/before\nLD_PRELOAD={place}libcuda.so.1\nWARPLAB_CODE=sass\nWARPLAB_DEVICE=a100\nWARPLAB_FMAD=0\nWARPLAB_INTERLEAVE=7\nWARPLAB_LENIENT=1\nWARPLAB_MAXREGS=32\nWARPLAB_MAX_INSTRUCTIONS=99\n\
         WARPLAB_SCHEDULE=reuse\n\
         WARPLAB_SUMMARY=text\nWARPLAB_THREADS=3\n",
        place.trim_end_matches('/')
    );
    assert_eq!(
        text(&ran.stdout).replace(&format!("{place}:"), &format!("{}:", place.trim_end_matches('/'))),
        expected
    );
}

/// Addresses are the same in every run of the program if the system allows that.
#[test]
fn the_program_lies_at_the_same_addresses_in_every_run() {
    let folder = folder();
    let allowed = Command::new("setarch").args(["-R", "true"]).status().is_ok_and(|status| status.success());
    if !allowed {
        return skipped(Tool::System, "addresses cannot be fixed here");
    }
    let place = "grep -F -e '[stack]' -e '[heap]' /proc/self/maps; cat /proc/self/personality";
    for command in ["run", "record"] {
        let [one, other] = [(); 2].map(|()| emu(&folder, &[command, "--", "sh", "-c", place]));
        assert!(one.status.success() && text(&one.stdout).ends_with("00040000\n"), "{}", text(&one.stdout));
        assert_eq!(text(&one.stdout), text(&other.stdout));
    }
}

#[test]
fn programs_that_compile_kernels_are_told_to_end_with_ptx() {
    let folder = folder().file("bin/ptxas", "").file("bin/nvcc", "").file("real/nvcc", "");
    let (ptxas, real) = (folder.path("bin/ptxas"), folder.path("real"));
    let shell = "echo $TRITON_PTXAS_PATH $TRITON_PTXAS_BLACKWELL_PATH $CUPY_COMPILE_WITH_PTX $PATH";
    let show = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_emu"));
        command.args(["run", "--", "/bin/sh", "-c", shell]).env("WARPLAB_LIBRARIES", folder.path(""));
        command.env("PATH", "/nothing").envs(variables.iter().copied());
        text(&command.output().expect("emu starts").stdout).trim_end().to_owned()
    };
    let ptxas = ptxas.display();
    assert_eq!(show(&[]), format!("{ptxas} {ptxas} 1 /nothing"));
    let own = [("TRITON_PTXAS_PATH", "/own"), ("CUPY_COMPILE_WITH_PTX", "0")];
    assert_eq!(show(&own), format!("/own {ptxas} 0 /nothing"));
    // Our nvcc precedes another one in PATH, and PATH is otherwise unchanged.
    let path = format!("/nothing:{}", real.display());
    let expected = format!("{ptxas} {ptxas} 1 {}:{path}", folder.path("bin").display());
    assert_eq!(show(&[("PATH", &path)]), expected);
}

#[test]
fn recording_says_where_and_what() {
    let folder = folder().file("old.wtrace", "old").file("old.wtrace.part", "older");
    let script = "echo $WARPLAB_RECORD $WARPLAB_RECORD_KERNELS $WARPLAB_RECORD_LAUNCHES $WARPLAB_RECORD_EVERY \
                  $WARPLAB_RECORD_BLOCKS; ls";
    let flags = ["--kernels", "a|b", "--launches", "1-2", "--every", "3", "--blocks", "4/even"];
    let args = [&["record", "-o", "old.wtrace"], &flags[..], &["--", "sh", "-c", script]].concat();
    // Traces of earlier runs stay until the new trace is whole.
    let ran = emu(&folder, &args);
    let names = "libcuda.so.1\nold.wtrace\nold.wtrace.part\n";
    assert_eq!(text(&ran.stdout), format!("old.wtrace a|b 1-2 3 4/even\n{names}"));
    let told = "note: old.wtrace.part holds an interrupted recording";
    assert!(text(&ran.stderr).starts_with(told), "{}", text(&ran.stderr));
    assert!(text(&emu(&folder, &["record", "--", "sh", "-c", script]).stdout).starts_with("sh.wtrace\n"));
    let contents = "echo \"<$WARPLAB_RECORD_ADDRESSES_ONLY>\"";
    for (flags, expected) in [(&["--addresses-only"][..], "<1>\n"), (&[], "<>\n")] {
        let args = [&["record"], flags, &["--", "sh", "-c", contents]].concat();
        assert_eq!(text(&emu(&folder, &args).stdout), expected);
    }
}

#[test]
fn what_cannot_work_is_told_before_the_start() {
    let folder = folder().file("kept.wtrace", "of an earlier run");
    for (args, told) in [
        (&["run", "--", "./nothing"][..], "there is no program ./nothing"),
        (&["record", "-o", "kept.wtrace", "--", "./nothing"], "there is no program ./nothing"),
        (&["record", "--launches", "9-3", "--", "true"], "--launches 9-3"),
        (&["record", "--kernels", "(", "--", "true"], "--kernels ("),
        (&["record", "--blocks", "0", "--", "true"], "--blocks 0"),
        (&["record", "-o", "missing/x.wtrace", "--", "echo"], "cannot write missing/x.wtrace"),
        (&["record", "-o", "libcuda.so.1/x.wtrace", "--", "echo"], "cannot write libcuda.so.1/x.wtrace"),
        (&["record", "-o", ".", "--", "echo"], "cannot write .: is a directory"),
        (&["record", "-o", "/dev/stdout", "--", "echo"], "-o /dev/stdout: the program prints there"),
        (&["run"], "APP.ptx"),
        (&["run", "app.ptx", "--", "true"], "cannot be used with"),
        (&["run", "--launch", "a.toml", "--", "true"], "cannot be used with"),
        (&["run", "--device", "a100", "app.ptx"], "cannot be used with"),
    ] {
        let ran = emu(&folder, args);
        assert!(!ran.status.success() && text(&ran.stderr).contains(told), "{args:?}: {}", text(&ran.stderr));
        assert!(ran.stdout.is_empty(), "{args:?} was started");
    }
    // A file to which standard output is redirected is not renamed or removed.
    let out = std::fs::File::create(folder.path("out")).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_emu"));
    command.args(["record", "-o", "out", "--", "echo"]).current_dir(folder.path("")).stdout(out);
    assert_eq!(
        command.env("WARPLAB_LIBRARIES", folder.path("")).status().expect("emu starts").code(),
        Some(1)
    );
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, ["kept.wtrace", "libcuda.so.1", "out"]);
    std::fs::remove_file(folder.path("libcuda.so.1")).expect("it is there");
    let ran = emu(&folder, &["run", "--", "true"]);
    assert!(text(&ran.stderr).contains("the CUDA libraries are not in"), "{}", text(&ran.stderr));
}

/// As cargo builds them, as archives have them, and with a link from elsewhere; alone, as `cargo install` leaves it, `emu`
/// names the remedy.
#[test]
fn the_libraries_are_found_wherever_emu_is_installed() {
    let install = |libraries: &str| {
        let folder = Folder::new().file("links/none", "").file("top/bin/none", "").file(libraries, "");
        std::fs::copy(env!("CARGO_BIN_EXE_emu"), folder.path("top/bin/emu")).expect("a copy");
        std::os::unix::fs::symlink("../top/bin/emu", folder.path("links/emu")).expect("a link");
        folder
    };
    let run = |folder: &Folder, emu: &str| {
        let mut command = Command::new(folder.path(emu));
        command.args(["run", "--", "/bin/sh", "-c", "echo $LD_LIBRARY_PATH"]).env_clear();
        // A process that another test starts may still have the copy open for writing.
        let busy = |result: &std::io::Result<_>| matches!(result, Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy);
        let mut result = command.output();
        while busy(&result) {
            result = command.output();
        }
        result.expect("emu starts")
    };
    for (libraries, place) in
        [("top/bin/cuda/libcuda.so.1", "top/bin/cuda"), ("top/lib/warplab/libcuda.so.1", "top/lib/warplab")]
    {
        let folder = install(libraries);
        let place = std::fs::canonicalize(folder.path(place)).expect("the folder").display().to_string();
        for emu in ["top/bin/emu", "links/emu"] {
            let ran = run(&folder, emu);
            assert_eq!(text(&ran.stdout).trim(), place, "{}", text(&ran.stderr));
        }
    }
    let ran = run(&install("top/lib/none"), "links/emu");
    assert_eq!(ran.status.code(), Some(1));
    for told in
        ["top/bin/cuda, nor in ", "top/lib/warplab, nor in ", "tools/scripts/install.sh", "WARPLAB_LIBRARIES"]
    {
        assert!(text(&ran.stderr).contains(told), "{told} is missing in:\n{}", text(&ran.stderr));
    }
}

#[test]
fn executables_with_no_more_device_code_than_nvcc_links_in_are_started() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, "no nvcc; tools/scripts/cuda-toolkit.sh installs it");
    };
    let folder = folder().file("app.cpp", "int main() { return 7; }\n");
    // Ours do not exist, so that the program loads NVIDIA's runtime library.
    let runtimes = nvcc.parent().and_then(Path::parent).expect("nvcc lies in a toolkit").join("lib");
    for runtime in ["shared", "static"] {
        let mut command = Command::new(&nvcc);
        command
            .args(["-arch=sm_75", "-cudart", runtime, "-Xlinker"])
            .arg(format!("-rpath={}", runtimes.display()))
            .arg("-o")
            .arg(folder.path("app"))
            .arg(folder.path("app.cpp"));
        let compiled = command.output().expect("nvcc starts");
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
        let ran = emu(&folder, &["run", "--", "./app"]);
        assert_eq!(ran.status.code(), Some(7), "{runtime}: {}", text(&ran.stderr));
        let listed = text(&emu(&folder, &["extract", "app"]).stdout).to_owned();
        assert!(listed.contains("no device code but what nvcc links into every executable"), "{listed}");
    }
}

#[test]
fn executables_that_cannot_work_are_told_what_to_compile_with() {
    let Some(nvcc) = nvcc() else {
        return skipped(
            Tool::Nvcc,
            "no nvcc; tools/scripts/cuda-toolkit.sh installs it, CUDA_HOME says where it is",
        );
    };
    let folder = folder().file("app.cu", "__global__ void k() {}\nint main() { k<<<1, 1>>>(); return 0; }\n");
    let compile = |out: &str, flags: &[&str]| {
        let mut command = Command::new(&nvcc);
        command.args(flags).arg("-o").arg(folder.path(out)).arg(folder.path("app.cu"));
        let compiled = command.output().expect("nvcc starts");
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    };
    compile("stripped", &["-arch=compute_75", "-code=compute_75", "-Xlinker", "-s"]);
    compile("alone", &["-arch=compute_75", "-code=compute_75", "-Xcompiler", "-static", "-w"]);
    compile("sass", &["-gencode", "arch=compute_100,code=sm_100", "-cudart", "shared"]);
    for (program, told) in [
        ("./stripped", "-cudart shared"),
        ("./stripped", "do not strip it"),
        ("./alone", "is statically linked"),
        ("./sass", "machine code for sm_100 but no PTX"),
        ("./sass", "-gencode arch=compute_100,code=compute_100"),
    ] {
        let ran = emu(&folder, &["run", "--", program]);
        assert_eq!(ran.status.code(), Some(1));
        assert!(text(&ran.stderr).contains(told), "{}", text(&ran.stderr));
    }
}
