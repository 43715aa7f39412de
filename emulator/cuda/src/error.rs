//! Error codes of CUDA with their names and texts.
//!
//! Driver and runtime API share their numbers; `data/errors.tsv` lists them once, and the constants are generated
//! from it. The names and texts are those that CUDA 13.5 returns.

use std::ffi::CStr;
use std::fmt::Write as _;

/// Result of an API function: 0, or the number of an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Status(pub u32);

/// Names and text of one code.
struct ErrorText {
    code: u32,
    driver: &'static CStr,
    runtime: &'static CStr,
    text: &'static CStr,
}

include!(concat!(env!("OUT_DIR"), "/errors.rs"));

impl Status {
    /// `CUDA_ERROR_INVALID_CONTEXT` of the driver API.
    pub const INVALID_CONTEXT: Status = Status::DEVICE_UNINITIALIZED;

    fn row(self) -> Option<&'static ErrorText> {
        TEXTS.binary_search_by_key(&self.0, |row| row.code).ok().map(|at| &TEXTS[at])
    }

    /// Name in the driver API, such as `CUDA_ERROR_INVALID_VALUE`.
    #[must_use]
    pub fn driver_name(self) -> Option<&'static CStr> {
        self.row().map(|row| row.driver).filter(|name| !name.is_empty())
    }

    /// Name in the runtime API, such as `cudaErrorInvalidValue`.
    #[must_use]
    pub fn runtime_name(self) -> Option<&'static CStr> {
        self.row().map(|row| row.runtime).filter(|name| !name.is_empty())
    }

    /// What the code means, such as `invalid argument`.
    #[must_use]
    pub fn text(self) -> Option<&'static CStr> {
        self.row().map(|row| row.text).filter(|text| !text.is_empty())
    }
}

/// PTX of the functions of the device runtime that tell what codes mean: tables of strings by code.
#[must_use]
pub(crate) fn device_functions() -> String {
    let mut text = String::from(".version 6.0\n.target sm_30\n.address_size 64\n");
    let unknown = c"unrecognized error code";
    let last = TEXTS.last().map_or(0, |row| row.code);
    let name = |row: &'static ErrorText| row.runtime;
    let meaning = |row: &'static ErrorText| row.text;
    let functions: [(&str, &dyn Fn(&'static ErrorText) -> &'static CStr); 2] =
        [("__cudaCDP2GetErrorName", &name), ("__cudaCDP2GetErrorString", &meaning)];
    for (function, of) in functions {
        let mut entries = Vec::new();
        let mut string = |at: u32, contents: &CStr| {
            let bytes: Vec<String> = contents.to_bytes_with_nul().iter().map(u8::to_string).collect();
            let (length, list) = (bytes.len(), bytes.join(", "));
            let _ = writeln!(text, ".global .align 1 .b8 {function}_{at}[{length}] = {{{list}}};");
            format!("generic({function}_{at})")
        };
        let otherwise = string(last + 1, unknown);
        for code in 0..=last {
            let row = Status(code).row().filter(|row| !of(row).is_empty());
            entries.push(row.map_or_else(|| otherwise.clone(), |row| string(code, of(row))));
        }
        entries.push(otherwise);
        let (count, list, past) = (entries.len(), entries.join(", "), last + 1);
        let _ = writeln!(
            text,
            ".global .align 8 .u64 {function}_table[{count}] = {{{list}}};\n\
             .visible .func (.param .b64 text) {function}(.param .b32 code) {{\n\
             .reg .b32 %r<3>; .reg .b64 %rd<5>;\n\
             ld.param.u32 %r1, [code]; min.u32 %r2, %r1, {past};\n\
             mov.u64 %rd1, {function}_table; mul.wide.u32 %rd2, %r2, 8; add.u64 %rd3, %rd1, %rd2;\n\
             ld.global.u64 %rd4, [%rd3]; st.param.b64 [text], %rd4; ret;\n}}"
        );
    }
    text
}

/// Result within API functions: success carries a value.
pub(crate) type Outcome<T = ()> = Result<T, Status>;

/// The code that an outcome stands for.
#[must_use]
pub(crate) fn status(outcome: Outcome) -> Status {
    outcome.err().unwrap_or(Status::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_and_texts_of_cuda() {
        let text = |s: Status| s.text().map(|t| t.to_str().expect("ASCII"));
        assert_eq!(Status::SUCCESS.0, 0);
        assert_eq!(Status::INVALID_VALUE.0, 1);
        assert_eq!(Status::INVALID_VALUE.driver_name(), Some(c"CUDA_ERROR_INVALID_VALUE"));
        assert_eq!(Status::INVALID_VALUE.runtime_name(), Some(c"cudaErrorInvalidValue"));
        assert_eq!(text(Status::ILLEGAL_ADDRESS), Some("an illegal memory access was encountered"));
        assert_eq!(Status(12_345).text(), None);
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(TEXTS.windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
