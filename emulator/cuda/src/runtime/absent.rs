//! All functions of CUDA's runtime API by name. Functions without an implementation print their names once
//! and return `cudaErrorNotSupported`, so that no program fails to start because of a missing symbol.

use super::done;
use crate::error::Status;
use crate::tell::tell;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A function of the runtime API.
pub(crate) struct Function {
    /// Its symbol, without the suffixes for per-thread default streams.
    name: &'static str,
    /// Its implementations for the runtimes of CUDA 13 and 12, where they have it.
    targets: [Option<unsafe extern "C" fn()>; 2],
}

include!(concat!(env!("OUT_DIR"), "/runtime.rs"));

/// Generations of the runtime, whose functions differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generation {
    /// CUDA 13.
    Cuda13,
    /// CUDA 12.
    Cuda12,
}

/// Address of our function for one of a runtime's, by its symbol.
#[must_use]
pub fn implementation(symbol: &str, generation: Generation) -> Option<usize> {
    let name = symbol.strip_suffix("_ptsz").or_else(|| symbol.strip_suffix("_ptds")).unwrap_or(symbol);
    let at = FUNCTIONS.binary_search_by_key(&name, |f| f.name).ok()?;
    FUNCTIONS[at].targets[generation as usize].map(|target| target as usize)
}

/// Prints that a function is not supported.
fn absent(name: &'static str) -> Status {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        tell(&format!("{name} is not supported"));
    }
    done(Err(Status::NOT_SUPPORTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_symbol_and_generation() {
        assert!(FUNCTIONS.windows(2).all(|pair| pair[0].name < pair[1].name));
        let find = implementation;
        let (new, old) = (Generation::Cuda13, Generation::Cuda12);
        assert_eq!(find("cudaMemcpyAsync_ptsz", new), find("cudaMemcpyAsync", new));
        assert_eq!(find("cudaMalloc", old), find("cudaMalloc", new));
        // The second version of CUDA 12 is the only one of CUDA 13.
        assert_eq!(find("cudaMemAdvise_v2", old), find("cudaMemAdvise", new));
        assert_eq!(find("cudaMemAdvise_v2", new), None);
        assert_ne!(find("cudaMemAdvise", old), find("cudaMemAdvise", new));
        assert_eq!(find("cudaStreamGetCaptureInfo_v3_ptsz", old), find("cudaStreamGetCaptureInfo", new));
        assert_eq!(find("cudaEventElapsedTime", old), find("cudaEventElapsedTime", new));
        assert_eq!(find("cudaMyOwn", new), None);
    }
}
