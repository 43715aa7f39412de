//! Modules: what programs load, from an image of any kind to kernels and variables.
//!
//! An image is PTX text, a fat binary, a wrapper that points to one, or an ELF file that holds one. Of the PTX in
//! it the newest that the GPU can run is taken; machine code alone cannot be run, and the message says what to do.

use crate::device::Device;
use crate::error::{Outcome, Status};
use crate::memory::Memory;
use emulator::device::{DeviceModule, LoadError};
use emulator::exec::Prepared;
use emulator::fatbin::{self, Image, ImageKind, Origin};
use emulator::lower::{LowerOptions, Lowered};
use emulator::ptx::{self, FuncId};
use emulator::session::LoadedModule;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// First word of the wrappers that nvcc puts around fat binaries.
const WRAPPER_MAGIC: u32 = 0x4662_43B1;
/// Largest image that a pointer without a length is believed to have.
const MAX_IMAGE_BYTES: u64 = 1 << 31;

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    /// Its code and variables.
    pub device: DeviceModule,
    /// Handles of the kernels that programs have asked for.
    pub kernels: Vec<(FuncId, u64)>,
    /// Whether it is a library, which outlives the contexts that it is used in.
    pub is_library: bool,
}

/// A kernel that a program holds.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Handle of its module.
    pub module: u64,
    /// Its function.
    pub function: FuncId,
    /// Its machine code.
    pub lowered: Arc<Lowered>,
    /// What all launches of it share.
    pub prepared: Arc<Prepared>,
    /// Its place in the summary.
    pub tally: usize,
    /// Dynamic shared memory that it has been allowed, when that is more than the default.
    pub max_dynamic_shared_bytes: u32,
    /// Attributes that programs set and read back (cache preference, carve-out).
    pub preferences: [i32; 2],
}

/// Reads the image at an address that a program gave us.
///
/// # Safety
/// `image` points to a PTX text with a NUL at its end, a fat binary, its wrapper, or an ELF file.
pub unsafe fn image_at(image: *const u8) -> Outcome<Vec<u8>> {
    if image.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: every kind of image has at least four bytes.
    let magic = unsafe { image.cast::<u32>().read_unaligned() };
    // SAFETY (all below): the headers say how long the images are.
    let length = match magic {
        WRAPPER_MAGIC => {
            // SAFETY: the wrapper's second field is the address of a fat binary.
            return unsafe { image_at(image.add(8).cast::<*const u8>().read_unaligned()) };
        }
        fatbin::CONTAINER_MAGIC => {
            // SAFETY: a container has 16 bytes of header.
            let (header, body) = unsafe {
                (image.add(6).cast::<u16>().read_unaligned(), image.add(8).cast::<u64>().read_unaligned())
            };
            u64::from(header).saturating_add(body)
        }
        0x464C_457F => {
            // SAFETY: the ELF header has 64 bytes; its section table ends the files that compilers write.
            unsafe {
                let sections = image.add(0x28).cast::<u64>().read_unaligned();
                let entry = image.add(0x3a).cast::<u16>().read_unaligned();
                let count = image.add(0x3c).cast::<u16>().read_unaligned();
                let programs = image.add(0x20).cast::<u64>().read_unaligned();
                let program_entry = image.add(0x36).cast::<u16>().read_unaligned();
                let program_count = image.add(0x38).cast::<u16>().read_unaligned();
                let end = |at: u64, size: u16, n: u16| at.saturating_add(u64::from(size) * u64::from(n));
                end(sections, entry, count).max(end(programs, program_entry, program_count))
            }
        }
        // SAFETY: anything else is text with a NUL at its end.
        _ => unsafe { std::ffi::CStr::from_ptr(image.cast()) }.to_bytes().len() as u64,
    };
    if length > MAX_IMAGE_BYTES {
        return Err(Status::INVALID_KERNEL_IMAGE);
    }
    // SAFETY: the image has this many bytes.
    Ok(unsafe { std::slice::from_raw_parts(image, length as usize) }.to_vec())
}

/// The PTX of an image that a GPU runs, and why there is none.
///
/// # Errors
/// A code for the program and words for people.
pub fn choose(device: &Device, image: &[u8]) -> Result<Image, (Status, String)> {
    let images = fatbin::open(image).map_err(|e| (Status::INVALID_KERNEL_IMAGE, e.to_string()))?;
    best(device, images.iter()).cloned().ok_or_else(|| {
        let arch = images.iter().map(|i| i.arch).max().unwrap_or(75);
        let what = format!(
            "the program has machine code for sm_{arch} but no PTX, which is what runs here; compile it with \
             `-gencode arch=compute_{arch},code=compute_{arch}`"
        );
        (Status::NO_KERNEL_IMAGE_FOR_DEVICE, what)
    })
}

/// Of several the PTX that a GPU runs.
fn best<'i>(device: &Device, images: impl Iterator<Item = &'i Image> + Clone) -> Option<&'i Image> {
    let ptx = images.filter(|i| i.kind == ImageKind::Ptx);
    // PTX for an older GPU runs on a newer one, so that the newest that is not too new is best. PTX for newer
    // GPUs only is tried all the same: the emulator does not care.
    let fitting = ptx.clone().filter(|i| i.arch <= device.arch()).max_by_key(|i| i.arch);
    fitting.or_else(|| ptx.min_by_key(|i| i.arch))
}

/// Whether an image is linked machine code without PTX, as programs register that are compiled with `-rdc=true`.
#[must_use]
pub fn is_without_ptx(image: &[u8]) -> bool {
    fatbin::open(image).is_ok_and(|images| images.iter().all(|i| i.kind != ImageKind::Ptx))
}

/// The file that an address of this process has been mapped from.
#[must_use]
pub fn mapped_file(address: usize) -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        let path = rest.find('/').map(|at| &rest[at..])?;
        (start..end).contains(&address).then(|| PathBuf::from(path))
    })
}

/// The relocatable PTX of a file, linked: one text per source file, the best of each for a GPU.
///
/// # Errors
/// A code for the program and words for people.
pub fn linked(device: &Device, file: &Path) -> Result<String, (Status, String)> {
    let failed = |status, what: String| (status, format!("{}: {what}", file.display()));
    let bytes = std::fs::read(file).map_err(|e| failed(Status::FILE_NOT_FOUND, e.to_string()))?;
    let images = fatbin::open(&bytes).map_err(|e| failed(Status::INVALID_KERNEL_IMAGE, e.to_string()))?;
    let relocatable: Vec<&Image> = images.iter().filter(|i| i.origin == Origin::Relocatable).collect();
    let containers: BTreeSet<usize> = relocatable.iter().map(|i| i.container).collect();
    let mut texts = Vec::new();
    for container in containers {
        let parts = relocatable.iter().copied().filter(|i| i.container == container);
        if let Some(image) = best(device, parts) {
            let name = image.name.clone().unwrap_or_else(|| format!("relocatable PTX {container}"));
            texts.push((name, String::from_utf8_lossy(&image.contents).into_owned()));
        }
    }
    if texts.is_empty() {
        return Err(failed(Status::NO_KERNEL_IMAGE_FOR_DEVICE, MACHINE_CODE_ONLY.into()));
    }
    let texts: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    ptx::link(&texts).map_err(|e| failed(Status::INVALID_PTX, e.to_string()))
}

/// What to do about a program without PTX.
const MACHINE_CODE_ONLY: &str = "the program's device code is machine code without PTX, which is what runs \
    here; compile it with `-gencode arch=compute_XX,code=compute_XX` too";

/// What CUDA's device runtime does for graphs: a condition's handle is the address of its value.
const SET_CONDITIONAL: &str = "
.version 6.0
.target sm_30
.address_size 64
.visible .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value) {
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [condition];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1], %r1;
    ret;
}
";

/// A text with what it wants of the device runtime, if that is known here.
fn with_runtime<'t>(text: &'t str, name: &str) -> Result<Cow<'t, str>, (Status, String)> {
    let wants = text
        .lines()
        .any(|l| l.trim_start().starts_with(".extern .func") && l.contains("cudaGraphSetConditional"));
    if !wants {
        return Ok(Cow::Borrowed(text));
    }
    let linked = ptx::link(&[(name, text), ("the device runtime", SET_CONDITIONAL)]);
    linked.map(Cow::Owned).map_err(|e| (Status::INVALID_PTX, e.to_string()))
}

/// Parses a PTX text and places its variables.
///
/// # Errors
/// A code for the program and words for people.
pub fn load(memory: &mut Memory, text: &str, name: &str) -> Result<Module, (Status, String)> {
    let text = &with_runtime(text, name)?;
    let parsed = LoadedModule::parse(text, name).map_err(|e| (Status::INVALID_PTX, e.to_string()))?;
    match DeviceModule::load(Arc::new(parsed), memory, Vec::new()) {
        Ok(device) => Ok(Module { device, kernels: Vec::new(), is_library: false }),
        Err(error @ (LoadError::OutOfMemory { .. } | LoadError::TooLarge { .. })) => {
            Err((Status::MEMORY_ALLOCATION, error.to_string()))
        }
        Err(LoadError::Module(errors)) => Err((Status::INVALID_PTX, errors.to_string())),
    }
}

/// How kernels are lowered.
#[must_use]
pub fn lowering() -> LowerOptions {
    LowerOptions::default()
}
