//! Generates the error codes from `data/errors.tsv`, and builds the runtime library's face.
//!
//! All of the implementation is in `libcuda.so`, so that a program that uses driver and runtime API has one GPU.
//! `libcudart.so.13` only forwards: for every function `X` of `data/runtime.tsv` it has a symbol of the version that
//! programs ask for, which goes to the `warplab_X` that `src/runtime` exports, or says that it is not there. Both
//! lie, under the names that the loader looks for, in the folder `cuda` beside the programs that cargo builds, with
//! a `ptxas` that passes PTX on.
//!
//! CUDA 12 has a second version of functions whose only version CUDA 13 has, so that `X_v2` there is our `X`. What is
//! different in CUDA 12 alone is called `warplab_X_v12`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Versions of the runtime library that programs may be linked with.
const RUNTIMES: [&str; 2] = ["13", "12"];
/// Programs for those that compile kernels while they run.
const TOOLS: [&str; 2] = ["bin/ptxas", "bin/nvcc"];
/// What the exported functions of `src/runtime` are called.
const PREFIX: &str = "warplab_";
/// Functions of CUDA 12 that have a second version there, though both do the same here.
const UNCHANGED: [&str; 1] = ["cudaEventElapsedTime"];

fn main() {
    println!("cargo::rerun-if-changed=data/errors.tsv");
    println!("cargo::rerun-if-changed=data/bin");
    println!("cargo::rerun-if-changed=data/runtime.tsv");
    println!("cargo::rerun-if-changed=src/runtime");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Threads of the library run until the process ends, so its code must not be unloaded.
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

/// The functions of CUDA's runtime API, and those that are implemented here.
struct Api {
    /// Functions with the versions of the runtime that have them.
    functions: BTreeMap<String, BTreeSet<String>>,
    ours: BTreeSet<String>,
}

impl Api {
    fn read() -> io::Result<Api> {
        let table = fs::read_to_string("data/runtime.tsv")?;
        let row = |line: &str| {
            let (name, versions) = line.split_once('\t').unwrap_or((line, ""));
            (name.to_owned(), versions.split(' ').map(str::to_owned).collect())
        };
        let functions: BTreeMap<_, _> = table.lines().skip(1).map(row).collect();
        let ours = runtime_functions()?;
        let known = |f: &&String| functions.contains_key(f.trim_end_matches("_v12"));
        if let Some(unknown) = ours.iter().find(|f| !known(f)) {
            return Err(io::Error::other(format!("{unknown} is not in data/runtime.tsv")));
        }
        Ok(Api { functions, ours })
    }

    fn has(&self, function: &str, version: &str) -> bool {
        self.functions.get(function).is_some_and(|versions| versions.contains(version))
    }

    /// Which of our functions is a function of a version of the runtime; none where it has no such function.
    fn target(&self, function: &str, version: &str) -> Option<String> {
        if !self.has(function, version) {
            return None;
        }
        let absent = Some(format!("absent_{function}"));
        let own = |name: String| if self.ours.contains(&name) { Some(name) } else { absent.clone() };
        if version == "13" {
            return own(function.to_owned());
        }
        if self.ours.contains(&format!("{function}_v12")) {
            return Some(format!("{function}_v12"));
        }
        let base = function.trim_end_matches("_v3").trim_end_matches("_v2");
        let next = if function.ends_with("_v2") { format!("{base}_v3") } else { format!("{function}_v2") };
        match self.has(&next, version) || self.has(&format!("{base}_v3"), version) && base == function {
            true if !UNCHANGED.contains(&function) => absent,
            _ if self.ours.contains(function) => own(function.to_owned()),
            _ => own(base.to_owned()),
        }
    }

    /// A function for each of CUDA's that Warplab does not support, which says so by name on standard error and
    /// returns `cudaErrorNotSupported`; and the table of all functions.
    fn source(&self) -> String {
        let targets: BTreeMap<&String, Vec<Option<String>>> =
            self.functions.keys().map(|f| (f, RUNTIMES.map(|v| self.target(f, v)).to_vec())).collect();
        // Numbers are their names in Rust.
        let used: BTreeSet<&String> = targets.values().flatten().flatten().collect();
        let used: Vec<&String> = used.into_iter().collect();
        let mut code = String::new();
        for (i, target) in used.iter().enumerate() {
            if let Some(name) = target.strip_prefix("absent_") {
                let _ = writeln!(
                    code,
                    "#[unsafe(export_name = \"{PREFIX}{target}\")]\nextern \"C\" fn absent_{i}() -> Status {{\n    \
                     absent({name:?})\n}}"
                );
            }
        }
        code += "unsafe extern \"C\" {\n";
        for (i, target) in used.iter().enumerate() {
            let _ = writeln!(code, "    #[link_name = \"{PREFIX}{target}\"]\n    fn target_{i}();");
        }
        code += "}\nstatic FUNCTIONS: &[Function] = &[\n";
        for (function, targets) in &targets {
            let number = |target: &String| used.binary_search(&target).unwrap_or_default();
            let shown: Vec<String> = targets
                .iter()
                .map(|t| t.as_ref().map_or("None".to_owned(), |t| format!("Some(target_{})", number(t))))
                .collect();
            let _ = writeln!(code, "    Function {{ name: {function:?}, targets: [{}] }},", shown.join(", "));
        }
        code + "];\n"
    }
}

/// Links the forwarding libraries and puts them where programs find them.
fn runtime_library(out: &Path) -> io::Result<()> {
    let api = Api::read()?;
    fs::write(out.join("runtime.rs"), api.source())?;
    let targets: BTreeSet<String> =
        RUNTIMES.iter().flat_map(|v| api.functions.keys().filter_map(|f| api.target(f, v))).collect();
    let stub = out.join("libcuda.so.1");
    let mut source = String::from(".text\n");
    for f in &targets {
        let _ = writeln!(source, ".globl {PREFIX}{f}\n.type {PREFIX}{f},@function\n{PREFIX}{f}:");
    }
    assemble(out, "stub", &source, &stub, &["-Wl,-soname,libcuda.so.1".into()])?;
    // Cargo runs this in target/PROFILE/build/cuda-HASH; the programs are in target/PROFILE.
    let programs = out.ancestors().nth(3).ok_or_else(|| io::Error::other("no folder for programs"))?;
    let folder = programs.join("cuda");
    fs::create_dir_all(&folder)?;
    for version in RUNTIMES {
        let runtime = format!("libcudart.so.{version}");
        let library = out.join(&runtime);
        let mut source = String::from(".text\n");
        for (f, target) in api.functions.keys().filter_map(|f| Some((f, api.target(f, version)?))) {
            // Programs compiled for per-thread default streams use names with these suffixes. Work is done
            // when it is submitted, so the stream makes no difference.
            for end in ["", "_ptsz", "_ptds"] {
                let _ = writeln!(source, ".globl {f}{end}\n.type {f}{end},@function\n{f}{end}:");
            }
            let _ = writeln!(source, "{}", forward(&target)?);
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
        assemble(out, &runtime, &source, &library, &flags)?;
        replace(&folder.join(runtime), |to| fs::copy(&library, to).map(drop))?;
    }
    fs::create_dir_all(folder.join("bin"))?;
    for tool in TOOLS {
        replace(&folder.join(tool), |to| fs::copy(Path::new("data").join(tool), to).map(drop))?;
    }
    // NVIDIA's driver installs both names: programs are linked with the first, and some open the second at run time.
    for name in ["libcuda.so.1", "libcuda.so"] {
        replace(&folder.join(name), |to| std::os::unix::fs::symlink("../libcuda.so", to))?;
    }
    Ok(())
}

/// Replaces a file atomically, so that no reader sees a partial one.
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
    let mut command = Command::new(compiler());
    command.args(["-shared", "-nostdlib", "-o"]).arg(library).arg(&file).args(flags);
    let done = command.output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{name}: {}", String::from_utf8_lossy(&done.stderr).replace('\n', " "))))
}

/// The C compiler for the processor that is built for: `CC_TARGET` as cross-compilers set it, else `CC`, else `cc`.
fn compiler() -> OsString {
    let target = env::var("TARGET").unwrap_or_default();
    let of_target = [format!("CC_{}", target.replace('-', "_")), format!("CC_{target}")];
    let names = of_target.iter().map(String::as_str).chain(["CC"]);
    names.filter_map(env::var_os).next().unwrap_or_else(|| "cc".into())
}
