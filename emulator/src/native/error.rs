//! Errors of loading and translating machine code.

use sass::cubin::CubinError;

/// Why machine code cannot be run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NativeError {
    /// A cubin cannot be read, or says something that is not supported.
    #[error("{file}: {error}")]
    Cubin {
        /// The file or image that it is in.
        file: String,
        /// What is wrong, and where.
        error: CubinError,
    },
    /// The file holds no machine code that is known.
    #[error("{file}: {what}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, and the remedy.
        what: String,
    },
    /// A kernel of one of NVIDIA's closed libraries.
    #[error(
        "kernel {kernel} is of {library}, one of NVIDIA's closed libraries, whose licence forbids to disassemble it; it does not run \
         here{}",
        remedy(library)
    )]
    Closed {
        /// The kernel.
        kernel: String,
        /// The library.
        library: String,
    },
    /// A kernel needs something that machine code has not got here.
    #[error("{file}: kernel {kernel} {what}")]
    Kernel {
        /// The file or image that it is in.
        file: String,
        /// The kernel.
        kernel: String,
        /// What it needs.
        what: String,
    },
}

/// What runs instead of a closed library's code.
fn remedy(library: &str) -> &'static str {
    // The front end has a device runtime of its own.
    if library == "libcudadevrt" { " (a program that has PTX runs with `--code ptx`)" } else { "" }
}
