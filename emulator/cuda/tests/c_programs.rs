//! Programs in C of the driver API, compiled with the toolkit's `cuda.h` and run on our library.
//!
//! `CUDA_HOME` says where the toolkit is; without it, or without a C compiler, the tests say that they were skipped.

use crate::kit;

use kit::{Tool, libraries, skipped, toolkit};
use std::path::{Path, PathBuf};
use std::process::Command;
use trace_format::reader::Trace;
use trace_format::validate::{Progress, validate};

/// Linker options of programs of the driver API.
const DRIVER: &str = "-l:libcuda.so.1";

/// Compiles a C program and runs it in a folder of its own; its output, or `None` if it was skipped with a message.
fn run_in(folder: &Path, source: &Path, library: &str) -> Option<String> {
    run_with(folder, source, library, &[])
}

/// The same with variables in its environment.
fn run_with(folder: &Path, source: &Path, library: &str, variables: &[(&str, &str)]) -> Option<String> {
    run_compiled(folder, source, &[library.to_owned()], &[], (variables, &[]))
}

/// The same with flags for the compiler, arguments, variables, and names of variables that name our library.
fn run_compiled(
    folder: &Path,
    source: &Path,
    flags: &[String],
    arguments: &[&Path],
    (variables, loaded): (&[(&str, &str)], &[&str]),
) -> Option<String> {
    let Some(include) = toolkit().map(|t| t.join("include")) else {
        skipped(
            Tool::Nvcc,
            "no cuda.h; tools/scripts/cuda-toolkit.sh installs it, CUDA_HOME says where it is",
        );
        return None;
    };
    let libraries = libraries("cuda");
    let out = folder.join("program");
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile.arg("-I").arg(include).arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    compile.arg(source).arg("-o").arg(&out).arg("-L").arg(&libraries).args(flags);
    compile.arg(format!("-Wl,-rpath-link,{}", libraries.display()));
    let compiled = match compile.output() {
        Ok(compiled) => compiled,
        Err(error) => {
            skipped(Tool::Compiler, &format!("no C compiler: {error}"));
            return None;
        }
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut command = Command::new(&out);
    command.args(arguments).envs(variables.iter().copied());
    command.envs(loaded.iter().map(|name| (name, libraries.join("libcuda.so.1"))));
    let ran = command.current_dir(folder).env("LD_LIBRARY_PATH", &libraries).output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let told = String::from_utf8_lossy(&ran.stderr);
    let ran_well = ran.status.success() && !told.contains("panicked");
    assert!(ran_well, "{}: {}\n{said}\n{told}", source.display(), ran.status);
    Some(said)
}

/// An empty folder for a program's files.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    folder
}

fn run(name: &str) {
    run_linked_with(name, DRIVER);
}

fn run_linked_with(name: &str, library: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver").join(format!("{name}.c"));
    if let Some(said) = run_in(&folder(name), &source, library) {
        assert!(said.ends_with("passed\n"), "{name}: {said}");
    }
}

/// Launches in a sound trace.
fn launches(path: &Path) -> usize {
    let report = validate(path, 1, &Progress::default()).expect("the trace can be opened");
    assert!(report.is_sound(), "{}: {:?}", path.display(), report.problems);
    Trace::open(path).expect("the trace can be opened").launches().len()
}

#[test]
fn modules_memory_launches_and_errors() {
    run("basics");
}

/// The option of `emu run --fmad=false --` has an effect on the translation of kernels.
#[test]
fn products_and_sums_are_fused_unless_the_environment_says_no() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/contraction.c");
    let folder = folder("contraction");
    for (variables, bits) in [(&[][..], "3a000400"), (&[("WARPLAB_FMAD", "0")], "3a000000")] {
        if let Some(said) = run_with(&folder, &source, DRIVER, variables) {
            assert_eq!(said, format!("{bits}\npassed\n"), "{variables:?}");
        }
    }
}

#[test]
fn opened_at_run_time_by_either_name() {
    run_linked_with("loaded", "-ldl");
}

#[test]
fn the_runtime_of_cuda_12() {
    run_linked_with("runtime12", "-l:libcudart.so.12");
}

#[test]
fn graphs_linking_and_capture() {
    run("graphs");
}

#[test]
fn what_is_known_about_memory() {
    run("knowledge");
}

#[test]
fn arrays_textures_surfaces_and_pools() {
    run("textures");
}

#[test]
fn launches_of_before_cuda_4_and_what_is_not_there() {
    run("legacy");
}

#[test]
fn the_interface_for_embedders() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/embed.c");
    let folder = folder("embed");
    if let Some(said) = run_in(&folder, &source, DRIVER) {
        assert_eq!(said, "passed\n");
        assert_eq!(["embed-1.wtrace", "embed-2.wtrace"].map(|name| launches(&folder.join(name))), [2, 1]);
    }
}

/// The example in the header, with its kernel.
#[test]
fn the_example_of_the_interface_for_embedders() {
    let ptx = ".version 7.0\\n.target sm_75\\n.address_size 64\\n.visible .entry scale(.param .u64 values, .param .f32 factor) {\\n\
               .reg .b32 %b, %n, %t; .reg .f32 %x, %y; .reg .b64 %a, %o;\\nmov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\\n\
               mov.u32 %t, %tid.x; mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %o, %t, 4; ld.param.u64 %a, [values];\\n\
               add.u64 %a, %a, %o; ld.param.f32 %y, [factor]; ld.global.f32 %x, [%a]; mul.f32 %x, %x, %y;\\n\
               st.global.f32 [%a], %x; ret;\\n}\\n";
    let header = include_str!("../include/warplab.h");
    let example: Vec<&str> = header.lines().filter_map(|l| l.strip_prefix(" *     ")).collect();
    assert!(example.len() > 10);
    let (folder, body) = (folder("example"), example.join("\n"));
    let text = format!(
        "#include <stdio.h>\n#include <warplab.h>\nint main(void) {{\nconst char *ptx = \"{ptx}\";\n{body}\nreturn 0;\n}}\n"
    );
    let source = folder.join("example.c");
    std::fs::write(&source, text).expect("the folder can be written");
    if let Some(said) = run_in(&folder, &source, DRIVER) {
        assert_eq!(said, "510\n");
        assert_eq!(launches(&folder.join("scale.wtrace")), 1);
    }
}

/// With our library loaded as by `emu run --`, NVIDIA's run-time compiler stops at PTX.
#[test]
fn machine_code_from_the_run_time_compiler_is_ptx() {
    let Some(folder_of_library) =
        toolkit().map(|t| t.join("lib")).filter(|l| l.join("libnvrtc.so.13").is_file())
    else {
        return skipped(Tool::Nvcc, "no libnvrtc; tools/scripts/cuda-toolkit.sh installs it");
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/compiler.c");
    let library = folder_of_library.join("libnvrtc.so.13");
    let driver = [DRIVER.to_owned(), "-ldl".to_owned()];
    let place = folder_of_library.display();
    let linked = [
        "-DLINKED".to_owned(),
        format!("-L{place}"),
        "-l:libnvrtc.so.13".into(),
        format!("-Wl,-rpath,{place}"),
    ];
    for (name, flags, arguments) in [
        ("compiler-opened", driver.to_vec(), &[&*library][..]),
        ("compiler-linked", [&driver[..], &linked].concat(), &[]),
        ("compiler-bound-now", [&driver[..], &linked, &["-Wl,-z,now".to_owned()]].concat(), &[]),
    ] {
        if let Some(said) =
            run_compiled(&folder(name), &source, &flags, arguments, (&[], &["LD_PRELOAD", "LD_AUDIT"]))
        {
            assert_eq!(said, "passed\n", "{name}");
        }
    }
}

#[test]
fn linking_with_nvidias_device_runtime() {
    let Some(library) = toolkit().map(|t| t.join("lib/libcudadevrt.a")).filter(|l| l.is_file()) else {
        return skipped(Tool::Nvcc, "no libcudadevrt.a; tools/scripts/cuda-toolkit.sh installs it");
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/linking.c");
    if let Some(said) =
        run_compiled(&folder("linking"), &source, &[DRIVER.to_owned()], &[&*library], (&[], &[]))
    {
        assert_eq!(said, "passed\n");
    }
}

#[test]
fn addresses_and_memory_apart() {
    run("mapping");
}

#[test]
fn names_without_a_version() {
    run("old");
}
