//! Device code that cannot run here, and the message about it, once per file.
//!
//! NVIDIA's closed libraries are recognised by their names; their device code is not read.

use crate::error::Status;
use crate::process::mapped_file;
use crate::tell::tell;
use emulator::fatbin::closed_library;
use emulator::native::module::known_targets;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Prefix of PyTorch's file names.
const PYTORCH: &str = "libtorch";

/// The file name of a path.
fn name(file: &Path) -> &str {
    file.file_name().and_then(|n| n.to_str()).unwrap_or_default()
}

/// The library that an address lies in, if it is one of NVIDIA's closed ones.
#[must_use]
pub(crate) fn library_at(address: usize) -> Option<PathBuf> {
    mapped_file(address).filter(|file| is_closed(file))
}

/// Whether a file is one of NVIDIA's closed libraries, by its name.
#[must_use]
pub(crate) fn is_closed(file: &Path) -> bool {
    closed_library(name(file)).is_some()
}

/// Why no kernel of a file runs, and what to do about it; `arch` is the newest that it has machine code for, where
/// that is known.
#[must_use]
pub(crate) fn reason(file: &Path, arch: Option<u32>) -> String {
    let shown = file.display();
    if is_closed(file) {
        return format!(
            "{shown} is one of NVIDIA's closed libraries, whose kernels do not run here; use one that comes as source \
             or PTX instead"
        );
    }
    let arch = arch.unwrap_or(75);
    let remedy = if name(file).starts_with(PYTORCH) {
        "build PyTorch from source with TORCH_CUDA_ARCH_LIST=\"7.5+PTX\"".to_owned()
    } else {
        format!("compile it with `-gencode arch=compute_{arch},code=compute_{arch}`")
    };
    format!(
        "{shown} has machine code for sm_{arch} but no PTX; what runs here is PTX, and linked machine code of {}, so that none \
         of its kernels does; {remedy}",
        known_targets()
    )
}

/// Whether code of the program was refused.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Whether code of the program was refused, so that it may lack a kernel.
#[must_use]
pub(crate) fn has_refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// Notes that code of the program is refused; the reason has been printed.
pub(crate) fn refused(status: Status) -> Status {
    REFUSED.store(true, Ordering::Relaxed);
    status
}

/// Prints a message, but each only once.
pub(crate) fn tell_once(what: &str) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(what.to_owned()) {
        tell(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_names_with_what_to_do() {
        let told = |file: &str| reason(Path::new(file), Some(86));
        assert!(told("/opt/libcublasLt.so.13").contains("one of NVIDIA's closed libraries"));
        assert!(told("/opt/libtorch_cuda.so").contains("TORCH_CUDA_ARCH_LIST"));
        let own = told("/home/libkernels.so");
        assert!(
            own.contains("machine code for sm_86") && own.contains("arch=compute_86,code=compute_86"),
            "{own}"
        );
        assert!(!is_closed(Path::new("/opt/libcublas/libkernels.so")), "only the file's name counts");
    }
}
