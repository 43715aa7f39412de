//! Images: PTX text, a fat binary, a wrapper that points to one, or an ELF file that holds one.
//!
//! The newest PTX in an image that the GPU can run is chosen; machine code if it is asked for, or if there is no PTX.

use crate::device::Device;
use crate::error::{Outcome, Status};
use crate::host::{self, Access};
use emulator::fatbin::{self, Image, ImageKind};
use emulator::native::module::{is_known, known_targets};
use emulator::ptx;
use emulator::session::CodeKind;
use memmap2::Mmap;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// First word of the wrappers that nvcc puts around fat binaries.
const WRAPPER_MAGIC: u32 = 0x4662_43B1;
/// First word of ELF files.
const ELF_MAGIC: u32 = 0x464C_457F;
/// Largest length of an image that is passed as a pointer without length.
const MAX_IMAGE_BYTES: u64 = 1 << 31;

/// Bytes of the program's memory, if they are readable.
fn bytes_at<const N: usize>(address: u64) -> Outcome<[u8; N]> {
    let mut bytes = [0; N];
    if !host::is_accessible(address, N as u64, Access::Read) {
        return Err(Status::INVALID_KERNEL_IMAGE);
    }
    // SAFETY: the bytes can be read.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), N) };
    Ok(bytes)
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

/// Bytes of an ELF file: to the end of the header tables, which compilers put last.
fn elf_length(header: &[u8; 64]) -> u64 {
    let end = |at, size, count| {
        let [size, count] = [size, count].map(|at| u64::from(u16::from_le_bytes(word(header, at))));
        u64::from_le_bytes(word(header, at)).saturating_add(size * count)
    };
    end(0x28, 0x3a, 0x3c).max(end(0x20, 0x36, 0x38))
}

/// Reads the image at an address that a program gave us: a PTX text with a NUL at its end, a fat binary, its
/// wrapper, or an ELF file. Their headers contain their lengths; memory is read as far as it is mapped.
///
/// # Errors
/// `INVALID_VALUE` for no address, `INVALID_KERNEL_IMAGE` where the image cannot be.
pub(crate) fn image_at(image: *const u8) -> Outcome<Vec<u8>> {
    let mut start = image as u64;
    if start == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let mut magic = u32::from_le_bytes(bytes_at(start)?);
    if magic == WRAPPER_MAGIC {
        // The wrapper's second field is the address of a fat binary.
        start = u64::from_le_bytes(bytes_at(start + 8)?);
        magic = u32::from_le_bytes(bytes_at(start)?);
    }
    let length = match magic {
        WRAPPER_MAGIC => return Err(Status::INVALID_KERNEL_IMAGE),
        fatbin::CONTAINER_MAGIC => {
            let header: [u8; 16] = bytes_at(start)?;
            u64::from(u16::from_le_bytes(word(&header, 6)))
                .saturating_add(u64::from_le_bytes(word(&header, 8)))
        }
        ELF_MAGIC => elf_length(&bytes_at(start)?),
        _ => host::text_length(start, MAX_IMAGE_BYTES).ok_or(Status::INVALID_KERNEL_IMAGE)?,
    };
    if length > MAX_IMAGE_BYTES || !host::is_accessible(start, length, Access::Read) {
        return Err(Status::INVALID_KERNEL_IMAGE);
    }
    // SAFETY: the bytes can be read.
    Ok(unsafe { std::slice::from_raw_parts(start as *const u8, length as usize) }.to_vec())
}

/// The device code of an image or a file, unpacked.
#[derive(Debug)]
pub struct Images(Vec<Image>);

impl Images {
    /// Unpacks an image.
    ///
    /// # Errors
    /// A code for the program and words for people.
    pub fn open(image: &[u8]) -> Result<Images, (Status, String)> {
        fatbin::open(image).map(Images).map_err(|e| (Status::INVALID_KERNEL_IMAGE, e.to_string()))
    }

    /// Unpacks the relocatable PTX of a file, if it has some. The rest of the file is not read.
    ///
    /// # Errors
    /// As [`Images::open`].
    pub fn open_relocatable(file: &Path) -> Result<Images, (Status, String)> {
        let failed = |status, what: String| (status, format!("{}: {what}", file.display()));
        // SAFETY: the loader has mapped the same file, whose change would end the process in any case.
        let bytes = File::open(file).and_then(|file| unsafe { Mmap::map(&file) });
        let bytes = bytes.map_err(|e| failed(Status::FILE_NOT_FOUND, e.to_string()))?;
        let images = fatbin::relocatable(&bytes);
        let mut images = images.map_err(|e| failed(Status::INVALID_KERNEL_IMAGE, e.to_string()))?;
        images.retain(|i| i.kind == ImageKind::Ptx);
        Ok(Images(images))
    }

    /// Whether there is PTX.
    #[must_use]
    pub fn has_ptx(&self) -> bool {
        self.0.iter().any(|i| i.kind == ImageKind::Ptx)
    }

    /// Whether there is machine code that runs here. Programs that are compiled with `-rdc=true` register what the linker
    /// made of it, which may be empty.
    #[must_use]
    pub fn has_machine_code(&self) -> bool {
        self.0.iter().any(is_known)
    }

    /// The newest architecture.
    #[must_use]
    pub fn newest(&self) -> Option<u32> {
        self.0.iter().map(|i| i.arch).max()
    }

    /// What a GPU runs, or the reason why there is nothing: PTX if there is some, otherwise machine code, or the other way
    /// round if machine code is asked for.
    ///
    /// # Errors
    /// A code for the program and words for people.
    pub fn choose(mut self, device: &Device, code: CodeKind) -> Result<Image, (Status, String)> {
        let (ptx, native) = (best(device, self.0.iter().enumerate()), best_native(device, &self.0));
        let at = match code {
            CodeKind::Ptx => ptx.or(native),
            CodeKind::Sass => native.or(ptx),
        };
        match at {
            Some(at) => Ok(self.0.swap_remove(at)),
            None => Err(self.nothing()),
        }
    }

    /// Why nothing of it runs.
    fn nothing(&self) -> (Status, String) {
        let arch = self.newest().unwrap_or(75);
        let known = known_targets();
        let what = format!(
            "the program has machine code for sm_{arch} but no PTX; what runs here is PTX, and machine code of {known}; \
             compile it with `-gencode arch=compute_{arch},code=compute_{arch}`"
        );
        (Status::NO_KERNEL_IMAGE_FOR_DEVICE, what)
    }

    /// The PTX that a GPU runs of relocatable code: objects and libraries hold one text per source file.
    ///
    /// # Errors
    /// As [`Images::choose`]: there is no PTX.
    pub fn choose_all(self, device: &Device) -> Result<Vec<Image>, (Status, String)> {
        let containers: BTreeSet<usize> = self.0.iter().map(|i| i.container).collect();
        let numbered = || self.0.iter().enumerate();
        let of = |container| best(device, numbered().filter(move |(_, i)| i.container == container));
        let chosen: BTreeSet<usize> = containers.into_iter().filter_map(of).collect();
        if chosen.is_empty() {
            return Err(self.nothing());
        }
        let numbered = self.0.into_iter().enumerate();
        Ok(numbered.filter(|(at, _)| chosen.contains(at)).map(|(_, image)| image).collect())
    }

    /// Relocatable PTX, linked: one text per source file, the best of each for a GPU.
    ///
    /// # Errors
    /// A code for the program and words for people; there is an image at least.
    pub fn link(self, device: &Device, file: &Path) -> Result<String, (Status, String)> {
        let name = |i: &Image| i.name.clone().unwrap_or_else(|| format!("relocatable PTX {}", i.container));
        let text = |i: &Image| (name(i), String::from_utf8_lossy(&i.contents).into_owned());
        let texts: Vec<(String, String)> = self.choose_all(device)?.iter().map(text).collect();
        let texts: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        ptx::link(&texts).map_err(|e| (Status::INVALID_PTX, format!("{}: {e}", file.display())))
    }
}

/// The number of the PTX that a GPU runs.
fn best<'i>(device: &Device, images: impl Iterator<Item = (usize, &'i Image)>) -> Option<usize> {
    let ptx: Vec<(usize, u32)> =
        images.filter(|(_, i)| i.kind == ImageKind::Ptx).map(|(at, i)| (at, i.arch)).collect();
    // PTX for an older GPU runs on a newer one, so that the newest that is not too new is best. If there is
    // only PTX for newer GPUs, it is used: the emulator does not depend on the target.
    let fitting = ptx.iter().filter(|(_, arch)| *arch <= device.arch()).max_by_key(|(_, arch)| *arch);
    fitting.or_else(|| ptx.iter().min_by_key(|(_, arch)| *arch)).map(|&(at, _)| at)
}

/// The number of the machine code that a GPU runs: the newest for its major version, as on hardware, otherwise the oldest, since
/// the emulator runs that of every known target.
fn best_native(device: &Device, images: &[Image]) -> Option<usize> {
    let known = || images.iter().enumerate().filter(|(_, image)| is_known(image));
    let major = |arch: u32| arch / 10;
    let own = |image: &Image| major(image.arch) == major(device.arch()) && image.arch <= device.arch();
    let fitting = known().filter(|(_, image)| own(image)).max_by_key(|(_, image)| image.arch);
    fitting.or_else(|| known().min_by_key(|(_, image)| image.arch)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory with these bytes at its end, followed by an unmapped page.
    fn at_an_edge(bytes: &[u8]) -> *const u8 {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, of which the second page goes again.
        unsafe {
            let start = mmap_anonymous(std::ptr::null_mut(), 8192, access, MapFlags::PRIVATE).unwrap();
            munmap(start.byte_add(4096), 4096).unwrap();
            let to = start.cast::<u8>().add(4096 - bytes.len());
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            to
        }
    }

    fn wrapper(of: *const u8) -> Vec<u8> {
        let mut bytes = WRAPPER_MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0, 0, 0]);
        bytes.extend((of as u64).to_le_bytes());
        bytes
    }

    fn container(header: u16, length: u64) -> Vec<u8> {
        let mut bytes = fatbin::CONTAINER_MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0]);
        bytes.extend(header.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes
    }

    #[test]
    fn images_end_where_memory_does() {
        let good = at_an_edge(&container(16, 0));
        assert_eq!(image_at(good), Ok(container(16, 0)));
        assert_eq!(image_at(at_an_edge(&wrapper(good))), Ok(container(16, 0)));
        assert_eq!(image_at(at_an_edge(b".version 7.0\0")), Ok(b".version 7.0".to_vec()));
        let mut elf = [0u8; 64];
        elf[..4].copy_from_slice(&ELF_MAGIC.to_le_bytes());
        assert_eq!(image_at(at_an_edge(&elf)), Ok(Vec::new()));
        let own = at_an_edge(&wrapper(std::ptr::null()));
        // SAFETY: the wrapper's field, which can be written.
        unsafe { own.add(8).cast_mut().cast::<u64>().write_unaligned(own as u64) };
        elf[0x28] = 1;
        elf[0x3a] = 64;
        elf[0x3c] = 64;
        let damaged = [
            at_an_edge(&container(16, 1)),
            at_an_edge(&container(u16::MAX, u64::MAX)),
            at_an_edge(&container(16, 1 << 31)),
            at_an_edge(&container(16, 0)[..12]),
            at_an_edge(&wrapper(std::ptr::null())),
            at_an_edge(&wrapper(0x1000 as *const u8)),
            at_an_edge(&wrapper(good)[..8]),
            own,
            at_an_edge(b".version 7.0"),
            at_an_edge(&elf),
            at_an_edge(&elf[..63]),
            0x1000 as *const u8,
            u64::MAX as *const u8,
        ];
        for image in damaged {
            assert_eq!(image_at(image), Err(Status::INVALID_KERNEL_IMAGE), "{image:?}");
        }
        assert_eq!(image_at(std::ptr::null()), Err(Status::INVALID_VALUE));
    }
}
