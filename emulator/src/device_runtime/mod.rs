//! CUDA's device runtime: functions with which kernels launch kernels, copy, query, and synchronise a grid.
//!
//! NVIDIA's is linked from `libcudadevrt` and calls NVIDIA's driver. Ours replaces it: modules that declare
//! its functions get their definitions from [`runtime.ptx`](runtime.ptx), compiled from
//! [`runtime.cu`](runtime.cu), which makes system calls to the executor ([`crate::exec::nested`]). NVIDIA's
//! definitions are omitted when modules are linked.

use crate::ptx;
use std::borrow::Cow;

/// The functions, as PTX.
const TEXT: &str = include_str!("runtime.ptx");
/// Prefixes of their names.
const PREFIXES: [&str; 3] = ["__cudaCDP2", "cudaCG", "cudaGraphSetConditional"];
/// A text followed by definitions of the device runtime functions that it declares, so that its own line
/// numbers do not change.
#[must_use]
pub(crate) fn complete(text: &str) -> Cow<'_, str> {
    if !PREFIXES.iter().any(|prefix| text.contains(prefix)) {
        return Cow::Borrowed(text);
    }
    let missing = ptx::missing_from(text, TEXT);
    if missing.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}\n{missing}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

    #[test]
    fn declared_functions_are_defined_and_no_others() {
        let text = format!(
            "{HEAD}.extern .func (.param .b32 r) __cudaCDP2GetDevice(.param .b64 p);\n.visible .entry k(.param .u64 p) {{\n\
             .reg .b64 %rd<2>; ld.param.u64 %rd1, [p];\n{{ .param .b64 a; .param .b32 r; st.param.b64 [a], %rd1;\n\
             call.uni (r), __cudaCDP2GetDevice, (a); }}\nret; }}"
        );
        let completed = complete(&text);
        assert!(completed.starts_with(&text));
        let module = ptx::parse(&completed, "k.ptx").unwrap_or_else(|e| panic!("{e}"));
        let defined: Vec<&str> =
            module.functions.iter().filter(|f| f.body.is_some()).map(|f| f.name.as_str()).collect();
        assert_eq!(defined, ["__cudaCDP2GetDevice", "k"]);
        // Functions that it calls are included.
        assert!(module.functions.iter().any(|f| f.name == "__warplab_error"));
        assert!(!module.functions.iter().any(|f| f.name == "__warplab_launch"));
    }

    #[test]
    fn texts_without_need_and_those_that_define_it_stay_as_they_are() {
        for text in [
            format!("{HEAD}.visible .entry k() {{ ret; }}"),
            format!("{HEAD}// __cudaCDP2GetDevice\n.visible .entry k() {{ ret; }}"),
            format!("{HEAD}.visible .func (.param .b32 r) __cudaCDP2GetDevice(.param .b64 p) {{ ret; }}"),
        ] {
            assert_eq!(complete(&text), text);
        }
    }
}
