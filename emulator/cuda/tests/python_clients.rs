//! Python packages that use CUDA's driver API, unmodified, on our library: tinygrad and Numba.
//!
//! `WARPLAB_PYTHON` names an interpreter that has them (`pip install tinygrad numba-cuda nvidia-nvvm
//! nvidia-cuda-nvrtc`), else `python3` is asked; what is not installed is skipped and says so.

use std::path::Path;
use std::process::Command;

fn run(package: &str, script: &str, device: Option<&str>) {
    let python = std::env::var("WARPLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    let library = std::env::current_exe().expect("the test has a path").with_file_name("libcuda.so");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{package}"));
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&library, &link).expect("a link can be made");
    match Command::new(&python).args(["-c", &format!("import {package}")]).output() {
        Ok(found) if found.status.success() => {}
        Ok(_) => {
            return eprintln!("skipped: {python} has no {package}; WARPLAB_PYTHON may name one that has");
        }
        Err(error) => return eprintln!("skipped: {python}: {error}"),
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let mut command = Command::new(&python);
    command.arg(script).env("LD_LIBRARY_PATH", &folder);
    if let Some(device) = device {
        command.env("DEV", device);
    }
    let ran = command.output().expect("the interpreter has started before");
    let (said, told) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if said.contains("skipped:") {
        return eprintln!("{said}");
    }
    assert!(ran.status.success() && said.ends_with("passed\n"), "{}\n{said}\n{told}", ran.status);
}

#[test]
fn tinygrad_trains_a_convolutional_network() {
    run("tinygrad", "train_tinygrad.py", Some("CUDA:PTX"));
}

#[test]
fn numba_kernels_run() {
    run("numba.cuda", "numba_kernels.py", None);
}
