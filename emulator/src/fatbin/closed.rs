//! NVIDIA's closed libraries with kernels, by their file names: their device code is not read.

/// Prefixes of the file names.
const LIBRARIES: [&str; 11] = [
    "libcublas",
    "libcudnn",
    "libcufft",
    "libcufile",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libcutensor",
    "libnpp",
    "libnvjpeg",
    "libnvinfer",
];

/// The prefix by which a file name is known as one of NVIDIA's closed libraries.
#[must_use]
pub fn closed_library(file_name: &str) -> Option<&'static str> {
    LIBRARIES.into_iter().find(|library| file_name.starts_with(library))
}
