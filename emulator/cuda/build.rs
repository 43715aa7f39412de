//! Generates the error codes from `data/errors.tsv`, and builds the runtime library's face.
//!
//! All of the implementation is in `libcuda.so`, so that a program that uses driver and runtime API has one GPU.
//! `libcudart.so.13` only forwards: for every function `X` of `data/runtime.tsv` it has a symbol of the version that
//! programs ask for, which goes to the `warplab_X` that `src/runtime` exports, or says that it is not there. Both
//! lie, under the names that the loader looks for, in the folder `cuda` beside the programs that cargo builds, with
//! a `ptxas` that passes PTX on. Libraries that come with NVIDIA's driver, or that depend on its private parts, have
//! stand-ins of the same form ([`STAND_INS`]).
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

/// A library of NVIDIA's that programs load beside the driver: its functions, those that `src` implements, and its names by
/// version.
struct StandIn {
    /// List of its functions and their versions.
    functions: &'static str,
    /// Folder with the implementation.
    source: &'static str,
    /// Whether its symbols have versions.
    versioned: bool,
    /// Names of the library by version.
    libraries: &'static [(&'static str, &'static str)],
    /// What a function without an implementation calls with its name.
    absent: &'static str,
}

/// The libraries with a stand-in.
const STAND_INS: [StandIn; 3] = [
    StandIn {
        functions: "data/nvml.tsv",
        source: "src/nvml",
        versioned: false,
        libraries: &[("1", "libnvidia-ml.so.1")],
        absent: "crate::nvml::absent",
    },
    StandIn {
        functions: "data/cupti.tsv",
        source: "src/cupti",
        versioned: true,
        libraries: &[("12", "libcupti.so.12"), ("13", "libcupti.so.13")],
        absent: "crate::cupti::absent",
    },
    StandIn {
        functions: "data/cudnn.tsv",
        source: "src/cudnn",
        versioned: true,
        libraries: &[("9", "libcudnn.so.9")],
        absent: "crate::cudnn::absent",
    },
];

fn main() {
    println!("cargo::rerun-if-changed=data/errors.tsv");
    println!("cargo::rerun-if-changed=data/bin");
    println!("cargo::rerun-if-changed=data/runtime.tsv");
    println!("cargo::rerun-if-changed=src/runtime");
    for stand_in in &STAND_INS {
        println!("cargo::rerun-if-changed={}", stand_in.functions);
        println!("cargo::rerun-if-changed={}", stand_in.source);
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Threads of the library run until the process ends, so its code must not be unloaded.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    errors(&out);
    if let Err(what) = runtime_library(&out).and_then(|()| stand_ins(&out)) {
        println!("cargo::error=cannot build the libraries in front of libcuda.so: {what}");
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
        let ours = functions_of("src/runtime")?;
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
    let folder = libraries_folder(out)?;
    for version in RUNTIMES {
        let mut source = String::from(".text\n");
        for (f, target) in api.functions.keys().filter_map(|f| Some((f, api.target(f, version)?))) {
            // Programs compiled for per-thread default streams use names with these suffixes. Work is done
            // when it is submitted, so the stream makes no difference.
            for end in ["", "_ptsz", "_ptds"] {
                let _ = writeln!(source, ".globl {f}{end}\n.type {f}{end},@function\n{f}{end}:");
            }
            let _ = writeln!(source, "{}", forward(&target)?);
        }
        front(out, &format!("libcudart.so.{version}"), true, &source, &targets)?;
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

/// Where programs find the libraries. Cargo runs this in target/PROFILE/build/cuda-HASH; the programs are in target/PROFILE.
fn libraries_folder(out: &Path) -> io::Result<PathBuf> {
    let programs = out.ancestors().nth(3).ok_or_else(|| io::Error::other("no folder for programs"))?;
    let folder = programs.join("cuda");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Links a library of jumps to functions that `libcuda.so` exports, and puts it where programs find it. If it is `versioned`,
/// its symbols have the library's name as their version, as in NVIDIA's.
fn front(
    out: &Path,
    name: &str,
    versioned: bool,
    source: &str,
    targets: &BTreeSet<String>,
) -> io::Result<()> {
    // A libcuda.so.1 with these symbols and nothing else, to link with.
    let stub = out.join("libcuda.so.1");
    let mut text = String::from(".text\n");
    for f in targets {
        let _ = writeln!(text, ".globl {PREFIX}{f}\n.type {PREFIX}{f},@function\n{PREFIX}{f}:");
    }
    assemble(out, "stub", &text, &stub, &["-Wl,-soname,libcuda.so.1".into()])?;
    let (library, script) = (out.join(name), out.join(format!("{name}.map")));
    let mut flags = vec![
        format!("-Wl,-soname,{name}"),
        "-Wl,-rpath,$ORIGIN".into(),
        "-Wl,--no-as-needed".into(),
        stub.display().to_string(),
    ];
    if versioned {
        fs::write(&script, format!("{name} {{ global: *; }};\n"))?;
        flags.push(format!("-Wl,--version-script={}", script.display()));
    }
    assemble(out, name, source, &library, &flags)?;
    replace(&libraries_folder(out)?.join(name), |to| fs::copy(&library, to).map(drop))
}

/// Links the stand-ins, and writes the functions that say that they are absent, and the list of the libraries.
fn stand_ins(out: &Path) -> io::Result<()> {
    let (mut code, mut names) = (String::new(), Vec::new());
    for stand_in in &STAND_INS {
        let table = fs::read_to_string(stand_in.functions)?;
        let rows: Vec<(&str, Vec<&str>)> = table
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once('\t'))
            .map(|(name, versions)| (name, versions.split(' ').collect()))
            .collect();
        let ours = functions_of(stand_in.source)?;
        if let Some(unknown) = ours.iter().find(|f| rows.iter().all(|(name, _)| name != f)) {
            return Err(io::Error::other(format!("{unknown} is not in {}", stand_in.functions)));
        }
        for (name, _) in rows.iter().filter(|(name, _)| !ours.contains(*name)) {
            let _ = writeln!(
                code,
                "#[unsafe(export_name = \"{PREFIX}{name}\")]\nextern \"C\" fn {name}() -> u32 {{\n    {}({name:?})\n}}",
                stand_in.absent
            );
        }
        for (version, library) in stand_in.libraries {
            let mut source = String::from(".text\n");
            let mut targets = BTreeSet::new();
            for (name, _) in rows.iter().filter(|(_, versions)| versions.contains(version)) {
                let _ =
                    writeln!(source, ".globl {name}\n.type {name},@function\n{name}:\n{}", forward(name)?);
                targets.insert((*name).to_owned());
            }
            front(out, library, stand_in.versioned, &source, &targets)?;
            names.push(*library);
        }
    }
    let count = names.len();
    let _ = writeln!(
        code,
        "/// Libraries with a stand-in beside this library.\npub(crate) const LIBRARIES: [&str; {count}] = {names:?};"
    );
    fs::write(out.join("stand_ins.rs"), code)
}

/// Replaces a file atomically, so that no reader sees a partial one.
fn replace(path: &Path, make: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let temporary = path.with_extension(format!("{}.part", std::process::id()));
    make(&temporary)?;
    fs::rename(&temporary, path)
}

/// Names of the functions that a folder of sources exports for a library in front, as they declare them.
fn functions_of(folder: &str) -> io::Result<BTreeSet<String>> {
    let mut functions = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
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
