//! Generates the error codes from `data/errors.tsv`, and builds the runtime library's face.
//!
//! All of the implementation is in `libcuda.so`, so that a program that uses driver and runtime API has one GPU.
//! `libcudart.so.13` only forwards: for every function `warplab_X` that `src/runtime` exports, it has a symbol
//! `X` of the version that programs ask for. Both lie, under the names that the loader looks for, in the folder
//! `cuda` beside the programs that cargo builds, with a `ptxas` that passes PTX on.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Versions of the runtime library that programs may be linked with.
const RUNTIMES: [&str; 2] = ["libcudart.so.13", "libcudart.so.12"];
/// What the exported functions of `src/runtime` are called.
const PREFIX: &str = "warplab_";

fn main() {
    println!("cargo::rerun-if-changed=data/errors.tsv");
    println!("cargo::rerun-if-changed=data/ptxas");
    println!("cargo::rerun-if-changed=src/runtime");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Threads of the library run until the process ends, so its code has to stay.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    errors(&out);
    if let Err(what) = runtime_library(&out) {
        println!("cargo::error=cannot build the CUDA runtime library: {what}");
    }
}

fn errors(out: &Path) {
    let table = fs::read_to_string("data/errors.tsv").expect("the table of errors is there");
    let mut code = String::new();
    let mut rows = String::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, driver, runtime, text] = fields[..] else { panic!("not four fields: {line}") };
        let name = if runtime.is_empty() { driver } else { runtime };
        let constant = constant_name(name);
        let _ = writeln!(code, "    /// `{name}`: {}.", if text.is_empty() { "no text" } else { text });
        let _ = writeln!(code, "    pub const {constant}: Status = Status({number});");
        let _ = writeln!(
            rows,
            "    ErrorText {{ code: {number}, driver: c{driver:?}, runtime: c{runtime:?}, text: c{text:?} }},"
        );
    }
    let generated = format!(
        "#[allow(missing_docs, reason = \"generated\")]\nimpl Status {{\n{code}}}\n\nstatic TEXTS: &[ErrorText] = &[\n{rows}];\n"
    );
    fs::write(out.join("errors.rs"), generated).expect("the output folder is writable");
}

/// `cudaErrorInvalidValue` and `CUDA_ERROR_KEY_ROTATION` become `INVALID_VALUE` and `KEY_ROTATION`.
fn constant_name(name: &str) -> String {
    if let Some(rest) = name.strip_prefix("CUDA_ERROR_") {
        return rest.to_owned();
    }
    let rest = name.strip_prefix("cudaError").or_else(|| name.strip_prefix("cuda")).unwrap_or(name);
    let mut constant = String::new();
    let mut before = ' ';
    for c in rest.chars() {
        if c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) {
            constant.push('_');
        }
        constant.push(c.to_ascii_uppercase());
        before = c;
    }
    constant
}

/// Links the forwarding libraries and puts them where programs find them.
fn runtime_library(out: &Path) -> io::Result<()> {
    let functions = runtime_functions()?;
    let stub = out.join("libcuda.so.1");
    let mut source = String::from(".text\n");
    for f in &functions {
        let _ = writeln!(source, ".globl {PREFIX}{f}\n.type {PREFIX}{f},@function\n{PREFIX}{f}:");
    }
    assemble(out, "stub", &source, &stub, &["-Wl,-soname,libcuda.so.1".into()])?;
    // Cargo runs this in target/PROFILE/build/cuda-HASH; the programs are in target/PROFILE.
    let programs = out.ancestors().nth(3).ok_or_else(|| io::Error::other("no folder for programs"))?;
    let folder = programs.join("cuda");
    fs::create_dir_all(&folder)?;
    for runtime in RUNTIMES {
        let library = out.join(runtime);
        let mut source = String::from(".text\n");
        for f in &functions {
            // Programs whose default stream is the thread's ask for names with these ends. Work is done when it is
            // submitted, so that the stream makes no difference.
            for end in ["", "_ptsz", "_ptds"] {
                let _ = writeln!(source, ".globl {f}{end}\n.type {f}{end},@function\n{f}{end}:");
            }
            let _ = writeln!(source, "{}", forward(f)?);
        }
        let script = out.join(format!("{runtime}.map"));
        fs::write(&script, format!("{runtime} {{ global: *; }};\n"))?;
        let flags = [
            format!("-Wl,-soname,{runtime}"),
            format!("-Wl,--version-script={}", script.display()),
            "-Wl,-rpath,$ORIGIN".into(),
            "-Wl,--no-as-needed".into(),
            stub.display().to_string(),
        ];
        assemble(out, runtime, &source, &library, &flags)?;
        replace(&folder.join(runtime), |to| fs::copy(&library, to).map(drop))?;
    }
    replace(&folder.join("ptxas"), |to| fs::copy("data/ptxas", to).map(drop))?;
    replace(&folder.join("libcuda.so.1"), |to| std::os::unix::fs::symlink("../libcuda.so", to))
}

/// Puts a file in its place at once, so that nobody sees half of it.
fn replace(path: &Path, make: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let temporary = path.with_extension(format!("{}.part", std::process::id()));
    make(&temporary)?;
    fs::rename(&temporary, path)
}

/// Names of the functions that the runtime API exports, as the sources declare them.
fn runtime_functions() -> io::Result<BTreeSet<String>> {
    let mut functions = BTreeSet::new();
    for entry in fs::read_dir("src/runtime")? {
        let text = fs::read_to_string(entry?.path())?;
        for (at, mark) in text.match_indices(&format!("\"{PREFIX}")) {
            let name = text[at + mark.len()..].split('"').next().unwrap_or("");
            functions.insert(name.to_owned());
        }
    }
    Ok(functions)
}

/// A jump to the implementation through the table of addresses that the loader fills.
fn forward(function: &str) -> io::Result<String> {
    let target = format!("{PREFIX}{function}");
    match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => Ok(format!("    jmp *{target}@GOTPCREL(%rip)")),
        Ok("aarch64") => {
            Ok(format!("    adrp x16, :got:{target}\n    ldr x16, [x16, :got_lo12:{target}]\n    br x16"))
        }
        other => Err(io::Error::other(format!("no forwarding for processor {other:?}"))),
    }
}

/// Makes a shared library of an assembly text with the C compiler, which Rust links with anyway.
fn assemble(out: &Path, name: &str, source: &str, library: &Path, flags: &[String]) -> io::Result<()> {
    let file = out.join(format!("{name}.s"));
    fs::write(&file, format!("{source}\n.section .note.GNU-stack,\"\",%progbits\n"))?;
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-nostdlib", "-o"]).arg(library).arg(&file).args(flags);
    let done = command.output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{name}: {}", String::from_utf8_lossy(&done.stderr).replace('\n', " "))))
}
