//! The CUDA programs of `tests/programs`: compiled with nvcc, run unmodified on our libraries, for two GPUs.
//!
//! nvcc is looked for in `CUDA_HOME`, on `PATH` and where `tools/scripts/cuda-toolkit.sh` is told to install in its
//! example; without it every test says that it was skipped. Compiled programs are kept by the hash of their sources.
//! A program says in its comments what to compile it with (`nvcc:`) and what else than `PASSED` it prints (`expect:`).

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// Compute capabilities that programs are compiled for and run on.
const ARCHITECTURES: [&str; 2] = ["75", "86"];

fn nvcc() -> Option<PathBuf> {
    let told = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).map(|p| p.join("nvcc")).collect();
    let home = std::env::var_os("HOME").map(|h| Path::new(&h).join(".cache"));
    let cached = home.into_iter().flat_map(|h| [h.join("warplab/cuda"), h.join("cuda")]);
    let in_toolkit = |p: PathBuf| p.join("bin/nvcc");
    told.map(in_toolkit).chain(on_path).chain(cached.map(in_toolkit)).find(|p| p.is_file())
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// A folder with both libraries under the names that programs look for.
fn libraries() -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().expect("the test has a path");
        let runtime = test.ancestors().nth(2).expect("it lies in deps").join("cuda/libcudart.so.13");
        let folder = scratch().join("cuda-programs");
        fs::create_dir_all(&folder).expect("the folder for tests can be written");
        for (library, name) in
            [(test.with_file_name("libcuda.so"), "libcuda.so.1"), (runtime, "libcudart.so.13")]
        {
            assert!(library.is_file(), "{} is built with this test", library.display());
            let link = folder.join(name);
            let _ = fs::remove_file(&link);
            symlink(&library, &link).expect("a link can be made");
        }
        folder
    });
    FOLDER.clone()
}

/// What follows a word in the comments of a program.
fn notes<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    text.lines().filter_map(|l| l.strip_prefix("// ")?.strip_prefix(word)).map(str::trim).collect()
}

/// Compiles a program, unless that has been done.
fn compile(nvcc: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let folder = sources();
    let source = folder.join(format!("{name}.cu"));
    let text = fs::read_to_string(&source).expect("the program is there");
    let options: Vec<&str> = notes(&text, "nvcc:").iter().flat_map(|o| o.split_whitespace()).collect();
    let mut hasher = DefaultHasher::new();
    (&text, flags, ARCHITECTURES, nvcc).hash(&mut hasher);
    let others = options.iter().filter(|o| o.ends_with(".cu")).copied();
    for other in others.chain(["check.h"]) {
        fs::read(folder.join(other)).expect("the program's other files are there").hash(&mut hasher);
    }
    let program = scratch().join(format!("{name}-{:016x}", hasher.finish()));
    if program.is_file() {
        return program;
    }
    let part = program.with_extension(format!("{}.part", std::process::id()));
    let mut command = Command::new(nvcc);
    command.current_dir(&folder).args(["-std=c++17", "-w"]).args(flags).args(options);
    for arch in ARCHITECTURES {
        command.arg("-gencode").arg(format!("arch=compute_{arch},code=[sm_{arch},compute_{arch}]"));
    }
    let output = command.arg("-o").arg(&part).arg(&source).output().expect("nvcc starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}{said}", String::from_utf8_lossy(&output.stdout));
    fs::rename(&part, &program).expect("the program can be kept");
    program
}

fn start(program: &Path, arch: &str) -> Output {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries()).env("WARPLAB_DEVICE", format!("sm_{arch}"));
    command.output().expect("the program starts")
}

fn run(name: &str) {
    let Some(nvcc) = nvcc() else {
        eprintln!("skipped: no nvcc");
        return;
    };
    let program = compile(&nvcc, name, &["-cudart", "shared"]);
    let text = fs::read_to_string(sources().join(format!("{name}.cu"))).expect("the program is there");
    for arch in ARCHITECTURES {
        let output = start(&program, arch);
        let said = String::from_utf8_lossy(&output.stdout);
        let lines: BTreeSet<&str> = said.lines().collect();
        let complete = notes(&text, "expect:").iter().all(|line| lines.contains(line));
        assert!(
            output.status.success() && said.ends_with("PASSED\n") && complete,
            "{name} on sm_{arch}: {}\n{said}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// A test for each program, and one that none is forgotten.
macro_rules! programs {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_program_is_run() {
            let listed: BTreeSet<String> = [$(stringify!($name)),*].map(String::from).into();
            let files = fs::read_dir(sources()).expect("the folder of programs is there");
            let names = files.map(|f| f.expect("it can be read").path()).filter(|p| p.extension().is_some_and(|e| e == "cu"));
            let stems = names.filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned()));
            // Second files of programs, and the one that checks layouts.
            let programs: BTreeSet<String> = stems.filter(|s| s != "rdc_other" && s != "layouts").collect();
            assert_eq!(listed, programs);
        }
    };
}

programs! {
    assertion cooperative copies graphs illegal objects pools printing rdc streams surfaces symbols tensor
    textures threads thrust_cub vector_add
}

/// A program with NVIDIA's runtime linked in finds our driver library, or says what is missing; it never crashes.
#[test]
fn statically_linked_runtimes_fail_in_words() {
    let Some(nvcc) = nvcc() else {
        eprintln!("skipped: no nvcc");
        return;
    };
    let toolkit = nvcc.ancestors().nth(2).expect("nvcc lies in bin");
    if !["lib64", "lib"].iter().any(|l| toolkit.join(l).join("libcudart_static.a").is_file()) {
        eprintln!("skipped: no libcudart_static.a");
        return;
    }
    let program = compile(&nvcc, "vector_add", &["-cudart", "static"]);
    let output = start(&program, ARCHITECTURES[0]);
    let said = String::from_utf8_lossy(&output.stdout);
    // The first failing call is named with CUDA's text for its code, or all is well.
    assert!(output.status.code().is_some(), "ended by a signal: {}", output.status);
    assert!(said.ends_with("PASSED\n") || said.contains("vector_add.cu:"), "{said}");
}

/// Sizes and offsets of CUDA's structures are those that our mirrors are declared with.
#[test]
fn structures_lie_as_in_the_headers() {
    let Some(nvcc) = nvcc() else {
        eprintln!("skipped: no nvcc");
        return;
    };
    let output = start(&compile(&nvcc, "layouts", &["-cudart", "shared"]), ARCHITECTURES[0]);
    let said = String::from_utf8_lossy(&output.stdout);
    for (name, value) in cuda::runtime::layouts() {
        let line = format!("{name} {value}");
        assert!(said.lines().any(|l| l == line), "{line} is not what the header says:\n{said}");
    }
}
