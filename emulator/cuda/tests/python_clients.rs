//! Python packages that use CUDA through our libraries, unmodified: tinygrad, Numba, CuPy, PyCUDA, Triton.
//!
//! `tools/scripts/python-clients.sh` makes an environment that has them; `WARPLAB_PYTHON` names another interpreter.
//! Tests of packages that are not installed are skipped with a message that the harness does not capture.

use crate::kit;

use kit::{Tool, libraries, python, skipped};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Output of a Python expression about a package; `None` without an interpreter or the package.
fn ask(code: &str) -> Option<String> {
    let output = Command::new(python()).args(["-c", code]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a script of `tests/python` that needs a package, with variables besides the libraries' folder.
fn run(package: &str, script: &str, variables: &[(&str, &str)]) {
    let python = python();
    if ask(&format!("import importlib.util as u; u.find_spec('{package}').loader")).is_none() {
        let (tool, how) = match package {
            "pycuda" => {
                (Tool::PyCuda, "pip builds it from source, with cuda.h and any libcuda.so to link with")
            }
            _ => (Tool::Python, "tools/scripts/python-clients.sh installs it"),
        };
        return skipped(tool, &format!("{} has no {package}; {how}", python.display()));
    }
    let name = script.split('.').next().unwrap_or(script);
    let folder = libraries(&format!("python-{name}{}", variables.len()));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let mut command = Command::new(&python);
    command.arg(script).env("LD_LIBRARY_PATH", &folder).envs(variables.iter().copied());
    // Caches of compiled kernels are neither used nor left outside of this folder.
    let caches = folder.join("caches");
    let _ = std::fs::remove_dir_all(&caches);
    for variable in ["XDG_CACHE_HOME", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR"] {
        command.env(variable, caches.join(variable));
    }
    // As `emu run --` does: CuPy has NVIDIA's runtime linked into libraries that it loads later.
    for variable in ["LD_PRELOAD", "LD_AUDIT"] {
        command.env(variable, folder.join("libcuda.so.1"));
    }
    command.env("TRITON_PTXAS_PATH", folder.join("bin/ptxas")).env("CUPY_COMPILE_WITH_PTX", "1");
    if let Some(toolkit) = kit::toolkit() {
        let folders = [folder.join("bin"), toolkit.join("bin")];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path)));
        command.env("CUDA_PATH", toolkit).env("PATH", path.expect("folders have no colons"));
    }
    let ran = command.output().expect("the interpreter has started before");
    let (said, told) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if let Some(why) = said.lines().find_map(|l| l.strip_prefix("skipped: ")) {
        return skipped(Tool::Python, why);
    }
    assert!(ran.status.success() && said.ends_with("passed\n"), "{}\n{said}\n{told}", ran.status);
}

/// NVIDIA's run-time compiler, among the packages of the interpreter or in a toolkit.
fn nvrtc() -> Option<PathBuf> {
    let code = "import pathlib, sysconfig\n\
                found = pathlib.Path(sysconfig.get_path('purelib')).glob('nvidia/*/lib/libnvrtc.so.1?')\n\
                print(next(found))";
    let packaged = ask(code).map(PathBuf::from);
    packaged.or_else(|| Some(kit::toolkit()?.join("lib/libnvrtc.so.13"))).filter(|p| p.is_file())
}

#[test]
fn tinygrad_trains_a_convolutional_network() {
    run("tinygrad", "train_tinygrad.py", &[("DEV", "CUDA:PTX")]);
}

#[test]
fn tinygrad_trains_with_kernels_from_nvrtc() {
    let Some(nvrtc) = nvrtc() else {
        return skipped(Tool::Python, "no libnvrtc; tools/scripts/python-clients.sh installs it");
    };
    let nvrtc = nvrtc.to_str().expect("the path is text");
    run("tinygrad", "train_tinygrad.py", &[("DEV", "CUDA:CUDA"), ("NVRTC_PATH", nvrtc)]);
}

#[test]
fn numba_kernels_run() {
    run("numba", "numba_kernels.py", &[]);
}

#[test]
fn triton_kernels_run_for_two_generations() {
    run("triton", "triton_kernels.py", &[("WARPLAB_DEVICE", "rtx2060")]);
    run("triton", "triton_kernels.py", &[("WARPLAB_DEVICE", "a100")]);
}

#[test]
fn cupy_kernels_run_for_two_generations() {
    run("cupy", "cupy_kernels.py", &[("WARPLAB_DEVICE", "rtx2060")]);
    run("cupy", "cupy_kernels.py", &[("WARPLAB_DEVICE", "a100")]);
}

#[test]
fn pycuda_kernels_run() {
    if kit::toolkit().is_none_or(|t| !t.join("bin/nvcc").is_file()) {
        return skipped(
            Tool::Nvcc,
            "no nvcc, which PyCUDA compiles with; tools/scripts/cuda-toolkit.sh installs it",
        );
    }
    run("pycuda", "pycuda_kernels.py", &[]);
}
