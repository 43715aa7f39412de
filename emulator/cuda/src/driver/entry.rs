//! Entry points by name: `cuGetProcAddress`.

use super::{Export, In, Out, Text, exports, functions};
use crate::error::{Outcome, Status};
use crate::tell::tell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::LazyLock;

/// Flag of `cuGetProcAddress`: functions whose default stream is the thread's.
const PER_THREAD_DEFAULT_STREAM: u64 = 2;
/// The private table that NVIDIA's run-time compiler queries; it works without it.
const NVRTC_TABLE: [u8; 16] = 0xda91_51d3_3ae6_cc41_a5c0_4f26_d533_e328_u128.to_be_bytes();
/// Results of `cuGetProcAddress_v2` for a name.
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;
const VERSION_NOT_SUFFICIENT: u32 = 2;

/// A table of addresses, which are the same for all threads.
struct Names(HashMap<&'static str, Vec<&'static Export>>);

// SAFETY: the pointers are those of functions.
unsafe impl Send for Names {}
// SAFETY: see above.
unsafe impl Sync for Names {}

/// Functions by their name without version suffix.
static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names: HashMap<&str, Vec<&Export>> = HashMap::new();
    for export in exports() {
        names.entry(base(export.name)).or_default().push(export);
    }
    Names(names)
});

/// A symbol's name without the suffix of its version.
fn base(symbol: &str) -> &str {
    match symbol.rsplit_once("_v") {
        Some((base, version)) if version.bytes().all(|b| b.is_ascii_digit()) && !version.is_empty() => base,
        _ => symbol,
    }
}

/// The function that a version of CUDA calls by a name.
pub(crate) fn find(name: &str, version: i32, flags: u64) -> Result<*const c_void, u32> {
    let (wanted, exact) = (base(name), base(name) != name);
    let versions = NAMES.0.get(wanted).ok_or(NOT_FOUND)?;
    let fits = |e: &&&Export| if exact { e.name == name } else { e.since <= version };
    let newest = versions.iter().filter(fits).max_by_key(|e| e.since);
    let found = newest.ok_or(if exact { NOT_FOUND } else { VERSION_NOT_SUFFICIENT })?;
    let per_thread = found.per_thread.filter(|_| flags & PER_THREAD_DEFAULT_STREAM != 0);
    Ok(per_thread.unwrap_or(found.address))
}

fn look_up(name: Text, to: Out<*const c_void>, version: i32, flags: u64, status: Out<u32>) -> Outcome {
    if flags > 3 || !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    match find(&name.get()?, version, flags) {
        Ok(address) => {
            status.offer(FOUND);
            to.set(address)
        }
        Err(why) => {
            status.offer(why);
            to.set(std::ptr::null())?;
            Err(Status::SYMBOL_NOT_FOUND)
        }
    }
}

functions! {
    "cuGetProcAddress" 11030 Nothing get_proc_address(
        name: Text, to: Out<*const c_void>, version: i32, flags: u64,
    ) {
        look_up(name, to, version, flags, Out(std::ptr::null_mut()))
    }

    "cuGetProcAddress_v2" 12000 Nothing get_proc_address_v2(
        name: Text, to: Out<*const c_void>, version: i32, flags: u64, status: Out<u32>,
    ) {
        look_up(name, to, version, flags, status)
    }

    "cuGetExportTable" 3000 Nothing get_export_table(table: Out<*const c_void>, id: In<[u8; 16]>) {
        static TOLD: std::sync::Once = std::sync::Once::new();
        let optional = id.get() == Ok(NVRTC_TABLE);
        table.offer(std::ptr::null());
        if optional {
            return Err(Status::SYMBOL_NOT_FOUND);
        }
        TOLD.call_once(|| {
            tell(
                "the program asks for the driver's private tables, as NVIDIA's closed libraries do (cuBLAS, cuDNN, CUPTI), \
                 which do not run here, and as its runtime does where it could not be replaced: start the program with \
                 `emu run --`, or link it with `nvcc -cudart shared`",
            );
        });
        Err(Status::SYMBOL_NOT_FOUND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_choose_symbols() {
        let address = |symbol: &str| exports().find(|e| e.name == symbol).map(|e| e.address);
        assert_eq!(find("cuMemAlloc", 12_000, 0).ok(), address("cuMemAlloc_v2"));
        assert_eq!(find("cuMemAlloc", 2000, 0).ok(), address("cuMemAlloc"));
        assert_eq!(find("cuMemAlloc", 1000, 0), Err(VERSION_NOT_SUFFICIENT));
        assert_eq!(find("cuCtxCreate", 11_000, 0).ok(), address("cuCtxCreate_v2"));
        assert_eq!(find("cuCtxCreate", 12_040, 0).ok(), address("cuCtxCreate_v3"));
        assert_eq!(find("cuCtxCreate", 13_000, 0).ok(), address("cuCtxCreate_v4"));
        assert_eq!(find("cuMemAlloc_v2", 0, 0).ok(), address("cuMemAlloc_v2"));
        assert_eq!(find("cuNothing", 13_000, 0), Err(NOT_FOUND));
        assert_ne!(find("cuLaunchKernel", 13_000, 2), find("cuLaunchKernel", 13_000, 0));
        assert_eq!(find("cuMemAlloc", 13_000, 2), find("cuMemAlloc", 13_000, 0));
    }

    #[test]
    fn no_symbol_is_exported_twice() {
        let mut names: Vec<&str> = exports().map(|e| e.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
