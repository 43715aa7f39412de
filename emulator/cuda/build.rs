//! Generates the error codes from `data/errors.tsv`, and gives the library the name that programs ask for.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=data/errors.tsv");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
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
        let _ = writeln!(rows, "    ErrorText {{ code: {number}, driver: c{driver:?}, runtime: c{runtime:?}, text: c{text:?} }},");
    }
    let generated = format!(
        "#[allow(missing_docs, reason = \"generated\")]\nimpl Status {{\n{code}}}\n\nstatic TEXTS: &[ErrorText] = &[\n{rows}];\n"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
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
