//! Errors of reading cubins.

use crate::DecodeError;

/// The machine number of NVIDIA's GPUs in ELF files.
pub(super) const EM_CUDA: u16 = 190;

/// Why a cubin cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CubinError {
    /// No ELF file, or a damaged one.
    #[error("this is no cubin: {0}")]
    Elf(String),
    /// An ELF file for another machine.
    #[error("this ELF file is for machine {0}, and not for a GPU of NVIDIA ({EM_CUDA})")]
    Machine(u16),
    /// A target whose instructions are not known.
    #[error(
        "the cubin is for sm_{0}, whose instructions are not known; known are sm_70, sm_75, sm_80, sm_86, sm_89, sm_90 and sm_120"
    )]
    Target(u32),
    /// A section runs off the end of the file.
    #[error("section {section} at byte {offset:#x} runs off the end of the file: it has {size:#x} bytes")]
    Truncated {
        /// Its name.
        section: String,
        /// Where it begins in the file.
        offset: u64,
        /// Its bytes.
        size: u64,
    },
    /// A section of code is no whole number of instructions.
    #[error(
        "section {section} at byte {offset:#x} has {size:#x} bytes, which are no whole number of instructions"
    )]
    Unaligned {
        /// Its name.
        section: String,
        /// Where it begins in the file.
        offset: u64,
        /// Its bytes.
        size: u64,
    },
    /// An object file, whose code refers to functions of others.
    #[error("the cubin is a relocatable object, which has to be linked (nvcc -dlink, nvlink) before it runs")]
    Relocatable,
    /// The contents of a section are damaged, or say something that is not supported.
    #[error("{0}")]
    Section(Box<SectionError>),
}

/// What is wrong in a section, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("section {section}, offset {offset:#x}{}: {what}", of_kernel(.kernel.as_deref()))]
pub struct SectionError {
    /// The section.
    pub section: String,
    /// Where in the section.
    pub offset: u64,
    /// The kernel that it is about, if it is about one.
    pub kernel: Option<String>,
    /// What is wrong.
    pub what: String,
}

fn of_kernel(kernel: Option<&str>) -> String {
    kernel.map_or_else(String::new, |name| format!(" (kernel {name})"))
}

impl From<SectionError> for CubinError {
    fn from(error: SectionError) -> CubinError {
        CubinError::Section(Box::new(error))
    }
}

/// A word of a function that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("section {section}, offset {error}")]
pub struct WordError {
    /// The section.
    pub section: String,
    /// The word, its address and what is unknown.
    #[source]
    pub error: DecodeError,
}
