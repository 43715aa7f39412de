//! The CUDA programs of `tests/programs`: compiled with nvcc, run unmodified on our libraries, for two GPUs.
//!
//! Without nvcc every test says that it was skipped. Compiled programs are kept by the hash of their sources; each is
//! linked with the runtime as a library, and with the runtime in it. A program says in its comments what to compile
//! it with (`nvcc:`) and what else than `PASSED` it prints (`expect:`).

use crate::kit;

use cuda::internals::{Generation, implementation};
use emulator::fatbin::runtime::{Runtime, runtime};
use kit::{Tool, nvcc, skipped};
use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use trace_format::reader::Trace;

/// The reason for which tests are skipped.
const NO_NVCC: &str = "no nvcc; tools/scripts/cuda-toolkit.sh installs it, CUDA_HOME says where it is";
/// Compute capabilities that programs are compiled for and run on.
const ARCHITECTURES: [&str; 2] = ["75", "86"];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn libraries() -> PathBuf {
    kit::libraries("cuda-programs")
}

/// The text after a word in the comments of a program.
fn notes<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    text.lines().filter_map(|l| l.strip_prefix("// ")?.strip_prefix(word)).map(str::trim).collect()
}

/// How programs are linked with the CUDA runtime.
const RUNTIMES: [&str; 2] = ["shared", "static"];

/// Makes a file with nvcc, unless it exists.
fn make(file: PathBuf, command: &mut Command) -> PathBuf {
    if file.is_file() {
        return file;
    }
    let made = test_kit::put(&file, |part| {
        let output = command.arg("-o").arg(part).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {}{said}", String::from_utf8_lossy(&output.stdout));
        std::io::Result::Ok(())
    });
    made.expect("nvcc starts, and what it has made can be kept");
    file
}

/// Compiles a program, and links it with the runtime in both ways.
fn compile(nvcc: &Path, name: &str) -> [PathBuf; 2] {
    let folder = sources();
    let source = folder.join(format!("{name}.cu"));
    let text = fs::read_to_string(&source).expect("the program is there");
    let options: Vec<&str> = notes(&text, "nvcc:").iter().flat_map(|o| o.split_whitespace()).collect();
    let mut hasher = DefaultHasher::new();
    (&text, ARCHITECTURES, nvcc).hash(&mut hasher);
    let others: Vec<&str> = options.iter().filter(|o| o.ends_with(".cu")).copied().collect();
    for other in others.iter().chain(&["check.h"]) {
        fs::read(folder.join(other)).expect("the program's other files are there").hash(&mut hasher);
    }
    let program = scratch().join(format!("{name}-{:016x}", hasher.finish()));
    let linked = RUNTIMES.map(|runtime| program.with_extension(runtime));
    if linked.iter().all(|p| p.is_file()) {
        return linked;
    }
    let nvcc = || {
        let mut command = Command::new(nvcc);
        command.current_dir(&folder).args(["-std=c++17", "-w"]).args(&options);
        for arch in ARCHITECTURES {
            command.arg("-gencode").arg(format!("arch=compute_{arch},code=[sm_{arch},compute_{arch}]"));
        }
        command
    };
    // Programs of several files are compiled twice, others once.
    let input = match others[..] {
        [] => make(program.with_extension("o"), nvcc().arg("-c").arg(&source)),
        _ => source,
    };
    for (runtime, linked) in RUNTIMES.iter().zip(&linked) {
        // Some call the driver too.
        let library = format!("-L{}", libraries().display());
        make(linked.clone(), nvcc().args(["-cudart", runtime, &library]).arg(&input));
    }
    linked
}

/// Starts a program with our libraries; programs with the runtime linked in need more than a search path.
fn start(program: &Path, arch: &str, loaded: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries()).env("WARPLAB_DEVICE", format!("sm_{arch}"));
    for name in loaded {
        command.env(name, libraries().join("libcuda.so.1"));
    }
    command.output().expect("the program starts")
}

fn run(name: &str) {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let [shared, linked_in] = compile(&nvcc, name);
    let text = fs::read_to_string(sources().join(format!("{name}.cu"))).expect("the program is there");
    for (program, arch, loaded) in [
        (&shared, ARCHITECTURES[0], &[][..]),
        (&shared, ARCHITECTURES[1], &[]),
        (&linked_in, ARCHITECTURES[0], &["LD_PRELOAD"]),
        (&linked_in, ARCHITECTURES[1], &["LD_PRELOAD", "LD_AUDIT"]),
    ] {
        let output = start(program, arch, loaded);
        let said = String::from_utf8_lossy(&output.stdout);
        let lines: BTreeSet<&str> = said.lines().collect();
        let complete = notes(&text, "expect:").iter().all(|line| lines.contains(line));
        assert!(
            output.status.success() && said.ends_with("PASSED\n") && complete,
            "{name} on sm_{arch}, {loaded:?}: {}\n{said}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Second files of programs, and those with a test of their own.
const ELSEWHERE: [&str; 6] = ["rdc_other", "layouts", "careless", "leaving", "lenient", "entry_points"];

/// A test for each program, and one that every program has a test.
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
            let programs: BTreeSet<String> = stems.filter(|s| !ELSEWHERE.contains(&s.as_str())).collect();
            assert_eq!(listed, programs);
        }
    };
}

programs! {
    allocations assertion bad_pointers beside conditions cooperative copies errors graphs handlers illegal limits loading
    math_functions memory_errors nested nodes objects pools printing rdc registered reset standard_library streams surfaces
    symbols tensor textures threads thrust_cub unmapped vector_add
}

/// Loads just outside of a buffer are a fault; with the flag they are a warning, once per instruction, with their
/// number.
#[test]
fn lenient_programs_read_zeros() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let [program, _] = compile(&nvcc, "lenient");
    let run = |lenient: &str| {
        let mut command = Command::new(&program);
        command
            .env("LD_LIBRARY_PATH", libraries())
            .env("WARPLAB_LENIENT", lenient)
            .env("WARPLAB_SUMMARY", "text");
        let output = command.output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let (ended_well, said, told) = run("1");
    assert!(ended_well && said.ends_with("PASSED\n"), "{said}{told}");
    assert_eq!(told.matches("512 bytes before").count(), 1, "{told}");
    assert!(
        told.contains("384 loads out of bounds gave 0 in kernel north(float const*, float*), PC 0x"),
        "{told}"
    );
    let (ended_well, _, told) = run("0");
    assert!(!ended_well && told.contains("512 bytes before"), "{told}");
}

/// A program that exits with 0 although a kernel has failed: `emu` exits with 1 and gives the reason.
#[test]
fn ignored_faults_are_told_at_the_end() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let [program, _] = compile(&nvcc, "careless");
    for (summary, code) in [(Some("text"), 1), (None, 0)] {
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", libraries()).envs(summary.map(|s| ("WARPLAB_SUMMARY", s)));
        let output = command.output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "PASSED");
        assert_eq!(told.contains("warplab: a kernel failed: launch 0 of wild(int*)"), code == 1, "{told}");
    }
}

/// The process ends when the program's last thread does, even if threads of our libraries still run.
#[test]
fn programs_end_whose_first_thread_has_left() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let [program, _] = compile(&nvcc, "leaving");
    let trace = scratch().join("leaving.wtrace");
    for variables in
        [&[][..], &[("WARPLAB_SUMMARY", "text".as_ref())], &[("WARPLAB_RECORD", trace.as_os_str())]]
    {
        let _ = fs::remove_file(&trace);
        let mut command = Command::new("timeout");
        command.arg("60").arg(&program).env("LD_LIBRARY_PATH", libraries()).envs(variables.iter().copied());
        let output = command.output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said == "PASSED\n", "{variables:?}: {} {said}", output.status);
    }
    assert_eq!(Trace::open(&trace).expect("the trace can be opened").launches().len(), 2);
}

/// For a stripped program with NVIDIA's runtime linked in, or if our library is loaded too late, a message names a
/// remedy, and its calls fail with codes; it never crashes.
#[test]
fn runtimes_that_cannot_be_replaced_fail_in_words() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let [_, program] = compile(&nvcc, "vector_add");
    let stripped = program.with_extension("stripped");
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(&program).status().expect("strip starts");
    assert!(done.success());
    for (program, loaded, told) in [
        (&stripped, &["LD_PRELOAD", "LD_AUDIT"][..], "or do not strip it"),
        (&stripped, &["LD_PRELOAD"], "or do not strip it"),
        (&program, &[], "start the program with `emu run --`"),
    ] {
        let output = start(program, ARCHITECTURES[0], loaded);
        let said = String::from_utf8_lossy(&output.stdout);
        let what = String::from_utf8_lossy(&output.stderr);
        // The first failing call is named with CUDA's text for its code.
        assert!(output.status.code().is_some_and(|c| c != 0), "{loaded:?}: {}", output.status);
        assert!(said.contains("vector_add.cu:") && what.contains(told), "{said}{what}");
    }
}

/// A kernel without PTX and without machine code of a known target is not run and is reported once; each launch fails with CUDA's code for that, and other
/// calls succeed.
#[test]
fn kernels_without_ptx_fail_with_their_code() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let folder = scratch().join("cuda-machine-code");
    fs::create_dir_all(&folder).expect("the folder for tests can be written");
    let launch = "for (int i = 0; i < 2; i++) {\n\
        k<<<1, 1>>>(p); printf(\"%s \", cudaGetErrorName(cudaGetLastError())); }\n\
        void *args[] = {&p};\n\
        printf(\"%s \", cudaGetErrorName(cudaLaunchKernel((void *)k, 1, 1, args, 0, 0)));\n\
        printf(\"%s \", cudaGetErrorName(cudaGetLastError()));\n";
    let text = format!(
        "#include <cstdio>\n__global__ void k(int *p) {{ *p = 1; }}\n__device__ int v;\nint main() {{ int *p;\n\
         if (cudaSetDevice(0) || cudaMalloc(&p, 4) || cudaMemset(p, 0, 4)) return 1;\n{launch}\
         return cudaDeviceSynchronize(); }}\n"
    );
    let source = folder.join("machine.cu");
    fs::write(&source, text).expect("a source file can be written");
    for (runtime, loaded) in RUNTIMES.into_iter().zip([&[][..], &["LD_PRELOAD", "LD_AUDIT"]]) {
        let program = folder.join(runtime);
        let mut compile = Command::new(&nvcc);
        compile.args(["-gencode", "arch=compute_100,code=sm_100", "-cudart", runtime, "-o"]).arg(&program);
        let compiled = compile.arg(&source).output().expect("nvcc starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let output = start(&program, ARCHITECTURES[0], loaded);
        let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(said, "cudaErrorNoKernelImageForDevice ".repeat(4), "{runtime}: {told}");
        assert!(output.status.success(), "{runtime}: {told}");
        assert_eq!(told.matches("has machine code for sm_100 but no PTX").count(), 1, "{told}");
    }
}

/// Names of the functions that the toolkit's headers of the driver API declare.
fn declared(include: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for header in ["cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"] {
        let text = fs::read_to_string(include.join(header)).expect("the toolkit has the header");
        for rest in text.split("CUDAAPI").skip(1) {
            let rest = rest.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            names.extend(rest.starts_with("cu").then(|| rest[..end].to_owned()));
        }
    }
    names
}

/// Every function of the driver API can be found by name or is reported as not found, as CUDA does; those that the
/// headers declare can be linked with.
#[test]
fn every_driver_function_is_there_or_not_found() {
    let Some((nvcc, include)) = nvcc().zip(kit::toolkit().map(|t| t.join("include"))) else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let mut names = declared(&include);
    assert!(names.len() > 500, "{}", names.len());
    names.retain(|name| !name.starts_with("cuWGL"));
    let [program, _] = compile(&nvcc, "entry_points");
    let list = scratch().join("entry_points.txt");
    fs::write(&list, names.iter().map(|n| format!("{n}\n")).collect::<String>())
        .expect("a list can be written");
    let output = Command::new(program)
        .arg(&list)
        .env("LD_LIBRARY_PATH", libraries())
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.ends_with("PASSED\n"), "{}: {said}{told}", output.status);
}

/// Path of NVIDIA's own runtime library in the toolkit.
fn nvidias_library(nvcc: &Path) -> Option<PathBuf> {
    let toolkit = nvcc.ancestors().nth(2)?;
    ["lib64", "lib"].iter().map(|l| toolkit.join(l).join("libcudart.so.13")).find(|p| p.is_file())
}

/// Our table lists exactly the functions of NVIDIA's library.
#[test]
fn the_whole_runtime_api_is_known() {
    let Some(library) = nvcc().and_then(|nvcc| nvidias_library(&nvcc)) else {
        return skipped(Tool::Nvcc, "no libcudart.so.13");
    };
    let bytes = fs::read(&library).expect("it can be read");
    let Runtime::Linked(found) = runtime(&library, &bytes) else { panic!("{} is none", library.display()) };
    assert!(found.functions.len() > 400);
    for function in &found.functions {
        assert!(
            implementation(&function.name, Generation::Cuda13).is_some(),
            "{} is not known",
            function.name
        );
    }
}

/// NVIDIA's library is replaced in programs that find it before ours.
#[test]
fn nvidias_library_is_replaced() {
    let Some((nvcc, library)) = nvcc().and_then(|nvcc| Some((nvcc.clone(), nvidias_library(&nvcc)?))) else {
        return skipped(Tool::Nvcc, "no libcudart.so.13");
    };
    let [program, _] = compile(&nvcc, "symbols");
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", library.parent().expect("it lies in a folder"));
    for name in ["LD_PRELOAD", "LD_AUDIT"] {
        command.env(name, libraries().join("libcuda.so.1"));
    }
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.ends_with("PASSED\n"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// A library with the runtime linked in works if the program links it and if it opens it at run time.
#[test]
fn libraries_bring_their_runtimes() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let folder = scratch().join("cuda-library");
    fs::create_dir_all(&folder).expect("the folder for tests can be written");
    let source = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).expect("a source file can be written");
        file
    };
    let library = source(
        "answer.cu",
        "__global__ void k(int *p) { *p = 6 * blockDim.x; }\n\
         extern \"C\" int answer() { int *d, h = 0; if (cudaMalloc(&d, 4)) return -1; k<<<1, 7>>>(d);\n\
         cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); return h; }\n",
    );
    let linked = source("linked.c", "extern int answer(void);\nint main(void) { return answer(); }\n");
    let opened = source(
        "opened.c",
        "#include <dlfcn.h>\nint main(void) { void *library = dlopen(\"libanswer.so\", RTLD_NOW);\n\
         return library ? ((int (*)(void))dlsym(library, \"answer\"))() : 1; }\n",
    );
    let run = |command: &mut Command| {
        let output = command.output().expect("the compiler starts");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let flags =
        ["-shared", "-Xcompiler", "-fPIC", "-arch=compute_75", "-code=compute_75", "-o", "libanswer.so"];
    run(Command::new(nvcc).current_dir(&folder).args(flags).arg(&library));
    for (source, program, flags) in [(linked, "linked", "-lanswer"), (opened, "opened", "-ldl")] {
        run(Command::new("cc").current_dir(&folder).args(["-o", program]).arg(source).args(["-L.", flags]));
        let mut command = Command::new(folder.join(program));
        command.env("LD_LIBRARY_PATH", format!("{}:{}", libraries().display(), folder.display()));
        for name in ["LD_PRELOAD", "LD_AUDIT"] {
            command.env(name, libraries().join("libcuda.so.1"));
        }
        let output = command.output().expect("the program starts");
        assert_eq!(output.status.code(), Some(42), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Our declarations of CUDA's structures have the same sizes and offsets.
#[test]
fn structures_lie_as_in_the_headers() {
    let Some(nvcc) = nvcc() else {
        return skipped(Tool::Nvcc, NO_NVCC);
    };
    let [program, _] = compile(&nvcc, "layouts");
    let output = start(&program, ARCHITECTURES[0], &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    for (name, value) in cuda::internals::layouts() {
        let line = format!("{name} {value}");
        assert!(said.lines().any(|l| l == line), "{line} is not what the header says:\n{said}");
    }
}
