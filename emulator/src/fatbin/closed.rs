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

/// Parts of mangled names that only kernels of these libraries have, and the library; a program may be linked with them
/// statically.
const KERNEL_NAMES: [(&str, &str); 8] = [
    ("6cublas", "libcublas"),
    ("8cublasLt", "libcublas"),
    ("5cudnn", "libcudnn"),
    ("8cusparse", "libcusparse"),
    ("8cusolver", "libcusolver"),
    ("5cufft", "libcufft"),
    ("6curand", "libcurand"),
    ("9cutensor", "libcutensor"),
];

/// Beginnings of names of functions of the device runtime, which programs that launch kernels from kernels are linked with.
const DEVICE_RUNTIME: [&str; 3] = ["cuda", "__cuda_", "__cudaCDP"];

/// Beginnings of names of functions that ptxas writes out of line where files are compiled on their own.
const COMPILERS: [&str; 4] =
    ["__cuda_sm", "__cuda__sm", "__cuda_reduxsync_", "__cuda_scalar_video_emulation_"];
/// Part of the names of the device runtime's own functions.
const RUNTIME_FILE: &str = "cuda_device_runtime_cu";

/// The closed library that a function of a linked program is of.
#[must_use]
pub fn closed_function(name: &str) -> Option<&'static str> {
    let is_compilers = COMPILERS.iter().any(|prefix| name.starts_with(prefix));
    let begins_as_runtime = DEVICE_RUNTIME.iter().any(|prefix| name.starts_with(prefix));
    let is_runtime = begins_as_runtime && !is_compilers || name.contains(RUNTIME_FILE);
    if is_runtime { Some("libcudadevrt") } else { closed_kernel(name) }
}

/// The closed library that a kernel is of, by its mangled name.
#[must_use]
pub fn closed_kernel(name: &str) -> Option<&'static str> {
    KERNEL_NAMES.into_iter().find(|(part, _)| name.contains(part)).map(|(_, library)| library)
}
