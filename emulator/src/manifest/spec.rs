//! The content of a manifest, with all expressions evaluated: scalars, buffers, objects and launches.

use super::contents::Init;
use super::element::ElementType;
use super::error::Place;
use super::objects::{ObjectSpec, SamplerSpec};
use std::path::PathBuf;

/// Bytes that a buffer may have.
pub const MAX_BUFFER_BYTES: u64 = 1 << 35;

/// A manifest with all expressions evaluated.
#[derive(Clone, PartialEq, Debug)]
pub struct Manifest {
    /// Where it was read from.
    pub path: PathBuf,
    /// The PTX file.
    pub ptx: PathBuf,
    /// Whether the manifest names it; otherwise it is the file beside the manifest.
    pub names_ptx: bool,
    /// The file with machine code, if the manifest names one.
    pub cubin: Option<PathBuf>,
    /// Named integers.
    pub scalars: Vec<(String, i64)>,
    /// Buffers in the order of the file.
    pub buffers: Vec<Buffer>,
    /// Textures, then surfaces.
    pub objects: Vec<ObjectSpec>,
    /// Sampler state for the module's sampler references.
    pub samplers: Vec<SamplerSpec>,
    /// Launches in order.
    pub launches: Vec<LaunchSpec>,
    /// Whether another size was chosen or overrides have been applied, so that expected contents do not apply.
    pub overridden: bool,
}

impl Manifest {
    /// The seeds of random contents, each once, in the order of the file.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let mut seeds = Vec::new();
        for buffer in &self.buffers {
            if let Init::Random { seed, .. } = buffer.init
                && !seeds.contains(&seed)
            {
                seeds.push(seed);
            }
        }
        seeds
    }
}

/// A buffer of device memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// Number of elements.
    pub len: u64,
    /// Contents before the first launch.
    pub init: Init,
    /// Whether the manifest states them.
    pub has_init: bool,
    /// Contents after the last launch, if stated.
    pub expect: Option<Expect>,
    /// Where it is declared.
    pub place: Place,
}

/// Expected final contents of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expect {
    /// The contents of a file, floats to within so many units in the last place.
    File {
        /// The file.
        path: PathBuf,
        /// Tolerance in units in the last place.
        ulps: u64,
    },
    /// XXH3-64 of the bytes.
    Checksum(u64),
}

/// A launch.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchSpec {
    /// The path of its entry, for example `launch.0`. Launches of a loop share theirs.
    pub key: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Where it is named.
    pub kernel_place: Place,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared_bytes: u32,
    /// Arguments in order.
    pub args: Vec<Argument>,
    /// Where they are.
    pub args_place: Place,
    /// How often it runs.
    pub repeat: u32,
}

/// An argument with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    /// The value.
    pub value: ArgumentValue,
    /// Where it is written.
    pub place: Place,
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum ArgumentValue {
    /// Device address of an element.
    Pointer {
        /// Index of the buffer.
        buffer: usize,
        /// Distance from its start in bytes.
        offset_bytes: i64,
    },
    /// A number.
    Scalar {
        /// Type.
        element: ElementType,
        /// Little-endian bytes.
        bytes: Vec<u8>,
    },
    /// The bytes of a structure.
    Bytes(Vec<u8>),
    /// The handle of a texture or surface.
    Object {
        /// Index into [`Manifest::objects`].
        object: usize,
    },
}
