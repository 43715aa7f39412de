//! The attributes of the sections `.nv.info` and `.nv.info.K`: records of a format, a number and a value.
//!
//! The names are those that cuobjdump prints. Every number is in one of three groups: what [`super::kernel`] reads, what has
//! no effect on results (a list with names), and all others, which are refused.

use super::error::SectionError;
use super::file::File;
use std::collections::HashMap;

/// The section with attributes of the module; those of a kernel are in the section of this name, a dot and its name.
pub(super) const INFO: &str = ".nv.info";

/// Numbers of the attributes that are read.
pub(super) mod number {
    pub(in super::super) const MAX_THREADS: u8 = 0x05;
    pub(in super::super) const PARAM_CBANK: u8 = 0x0a;
    pub(in super::super) const EXTERNS: u8 = 0x0f;
    pub(in super::super) const REQNTID: u8 = 0x10;
    pub(in super::super) const FRAME_SIZE: u8 = 0x11;
    pub(in super::super) const MIN_STACK_SIZE: u8 = 0x12;
    pub(in super::super) const KPARAM_INFO: u8 = 0x17;
    pub(in super::super) const CBANK_PARAM_SIZE: u8 = 0x19;
    pub(in super::super) const REGCOUNT: u8 = 0x2f;
    pub(in super::super) const INDIRECT_BRANCH_TARGETS: u8 = 0x34;
    pub(in super::super) const CTA_PER_CLUSTER: u8 = 0x3d;
    pub(in super::super) const EXPLICIT_CLUSTER: u8 = 0x3e;
    pub(in super::super) const KPARAM_INFO_V2: u8 = 0x45;
    pub(in super::super) const SYSCALL_OFFSETS: u8 = 0x46;
    pub(in super::super) const NUM_BARRIERS: u8 = 0x4c;
}

/// Attributes that have no effect on what a kernel computes: limits that the compiler kept, places of instructions that
/// have a meaning of their own, statistics, versions, and workarounds for faults of hardware.
const WITHOUT_EFFECT: [(u8, &str); 37] = [
    (0x01, "PAD"),
    (0x04, "CTAIDZ_USED"),
    // The relocations of bank 0 name the textures and surfaces, and are refused.
    (0x15, "BINDLESS_TEXTURE_BANK"),
    (0x16, "BINDLESS_SURFACE_BANK"),
    (0x1b, "MAXREG_COUNT"),
    (0x1c, "EXIT_INSTR_OFFSETS"),
    (0x1d, "S2RCTAID_INSTR_OFFSETS"),
    (0x1e, "CRS_STACK_SIZE"),
    (0x21, "EXPLICIT_CACHING"),
    (0x22, "ISTYPEP_USED"),
    (0x23, "MAX_STACK_SIZE"),
    (0x24, "SUQ_USED"),
    (0x25, "LD_CACHEMOD_INSTR_OFFSETS"),
    (0x26, "LOAD_CACHE_REQUEST"),
    (0x27, "ATOM_SYS_INSTR_OFFSETS"),
    (0x28, "COOP_GROUP_INSTR_OFFSETS"),
    (0x29, "COOP_GROUP_MASK_REGIDS"),
    (0x2b, "WMMA_USED"),
    // Loops that stand for atomics on 16 bits, and their registers, for debuggers.
    (0x2d, "ATOMF16_EMUL_INSTR_OFFSETS"),
    (0x2e, "ATOM16_EMUL_INSTR_REG_MAP"),
    (0x31, "INT_WARP_WIDE_INSTR_OFFSETS"),
    (0x33, "STATISTICS"),
    // A flag of every kernel of sm_80 and sm_86, without a name.
    (0x35, "0x35"),
    (0x36, "SW_WAR"),
    (0x37, "CUDA_API_VERSION"),
    (0x38, "NUM_MBARRIERS"),
    (0x39, "MBARRIER_INSTR_OFFSETS"),
    // The largest block number within a cluster that the launch bounds allow.
    (0x3f, "MAX_CLUSTER_RANK"),
    // Registers of the instructions that stand for operations on barrier objects, for debuggers.
    (0x40, "INSTR_REG_MAP"),
    (0x44, "UNUSED_LOAD_BYTE_OFFSET"),
    (0x50, "SPARSE_MMA_MASK"),
    (0x53, "GEN_ERRBAR_AT_EXIT"),
    // Where registers are spilled.
    (0x55, "ANNOTATIONS"),
    // Every kernel of every target has it, with one value; without a name.
    (0x5f, "0x5f"),
    (0x66, "LANGUAGE"),
    (0x6b, "NVSAL_SW_WAR"),
    (0x6d, "PREEXIT_USED"),
];

/// Attributes that have no effect as long as their value is zero.
const WITHOUT_EFFECT_IF_ZERO: [(u8, &str); 1] = [(0x4a, "VRC_CTA_INIT_COUNT")];

/// Names of attributes that are refused, for the message.
const REFUSED: [(u8, &str); 18] = [
    (0x02, "IMAGE_SLOT"),
    (0x14, "BINDLESS_IMAGE_OFFSETS"),
    (0x18, "SMEM_PARAM_SIZE"),
    (0x1f, "NEED_CNP_WRAPPER"),
    (0x20, "NEED_CNP_PATCH"),
    (0x2c, "HAS_PRE_V10_OBJECT"),
    (0x32, "SHARED_SCRATCH"),
    (0x3a, "COROUTINE_RESUME_ID_OFFSETS"),
    (0x41, "RESERVED_SMEM_USED"),
    (0x42, "RESERVED_SMEM_0_SIZE"),
    (0x4b, "TOOLS_PATCH_FUNC"),
    (0x51, "TCGEN05_1CTA_USED"),
    (0x52, "TCGEN05_2CTA_USED"),
    (0x54, "REG_RECONFIG"),
    (0x5b, "BLOCKS_ARE_CLUSTERS"),
    (0x5c, "SANITIZE"),
    (0x5d, "SYSCALLS_FALLBACK"),
    (0x68, "GRID_ATTRIBUTES"),
];

/// One attribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    /// Where it begins in its section.
    pub offset: u64,
    pub number: u8,
    /// The bytes of its value.
    pub value: &'a [u8],
}

/// Attributes of a section.
#[derive(Clone, Debug)]
pub(super) struct Records<'a> {
    section: &'a str,
    kernel: Option<&'a str>,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    pub(super) fn new(section: &'a str, kernel: Option<&'a str>, bytes: &'a [u8]) -> Records<'a> {
        Records { section, kernel, bytes, at: 0 }
    }

    /// An error at an offset of the section.
    pub(super) fn wrong(&self, offset: u64, what: String) -> SectionError {
        SectionError {
            section: self.section.to_owned(),
            offset,
            kernel: self.kernel.map(str::to_owned),
            what,
        }
    }

    /// The error that a value has another size.
    pub(super) fn size(&self, record: &Record<'_>, expected: &str) -> SectionError {
        let (number, have) = (shown(record.number), record.value.len());
        self.wrong(record.offset, format!("attribute {number} has {have} bytes, {expected} are expected"))
    }

    /// The value as words of 32 bits.
    pub(super) fn words(&self, record: &Record<'a>) -> Result<Vec<u32>, SectionError> {
        let (words, rest) = record.value.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(self.size(record, "a multiple of four"));
        }
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// The value as a number of words of 32 bits.
    pub(super) fn exact<const N: usize>(&self, record: &Record<'a>) -> Result<[u32; N], SectionError> {
        let words = self.words(record)?;
        words.try_into().map_err(|_| self.size(record, &(4 * N).to_string()))
    }

    /// The value of a record of one or two bytes.
    pub(super) fn small(&self, record: &Record<'a>) -> Result<u16, SectionError> {
        match *record.value {
            [byte] => Ok(byte.into()),
            [low, high] => Ok(u16::from_le_bytes([low, high])),
            _ => Err(self.size(record, "one or two")),
        }
    }

    /// Passes over an attribute that has no effect on results.
    ///
    /// # Errors
    /// Any other attribute.
    pub(super) fn without_effect(&self, record: &Record<'_>) -> Result<(), SectionError> {
        let is = |list: &[(u8, &str)]| list.iter().any(|(number, _)| *number == record.number);
        let zero = record.value.iter().all(|&byte| byte == 0);
        if is(&WITHOUT_EFFECT) || is(&WITHOUT_EFFECT_IF_ZERO) && zero {
            return Ok(());
        }
        let what = format!(
            "attribute {} is not supported, and may change what the kernel does",
            shown(record.number)
        );
        Err(self.wrong(record.offset, what))
    }

    fn read(&mut self) -> Result<Record<'a>, SectionError> {
        let offset = self.at as u64;
        let cut = |this: &Self| this.wrong(offset, "an attribute runs off the end of the section".into());
        let Some(&[format, number, low, high]) =
            self.bytes.get(self.at..).and_then(|rest| rest.first_chunk())
        else {
            return Err(cut(self));
        };
        let begin = self.at + 4;
        let (value, end) = match format {
            // A number alone; with a byte; with two bytes; with as many as it says.
            1 => (&[][..], begin),
            2 => (&self.bytes[begin - 2..begin - 1], begin),
            3 => (&self.bytes[begin - 2..begin], begin),
            4 => {
                let end = begin + usize::from(u16::from_le_bytes([low, high]));
                (self.bytes.get(begin..end).ok_or_else(|| cut(self))?, end)
            }
            other => {
                let what = format!("attribute {} has the format {other}, which is not known", shown(number));
                return Err(self.wrong(offset, what));
            }
        };
        self.at = end;
        Ok(Record { offset, number, value })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, SectionError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let record = self.read();
        if record.is_err() {
            self.at = self.bytes.len();
        }
        Some(record)
    }
}

/// Registers of the functions of a module, by the number of the symbol. Damaged records end the list.
pub(super) fn register_counts(file: &File<'_>) -> HashMap<u32, u32> {
    let bytes = file.contents_of(INFO).unwrap_or_default();
    let all = Records::new(INFO, None, bytes);
    let records = all.clone().map_while(Result::ok).filter(|record| record.number == number::REGCOUNT);
    records.filter_map(|record| all.exact::<2>(&record).ok()).map(|[symbol, count]| (symbol, count)).collect()
}

/// The number of an attribute, with its name if it has one.
pub(super) fn shown(number: u8) -> String {
    let read = [
        (number::MAX_THREADS, "MAX_THREADS"),
        (number::PARAM_CBANK, "PARAM_CBANK"),
        (number::EXTERNS, "EXTERNS"),
        (number::REQNTID, "REQNTID"),
        (number::FRAME_SIZE, "FRAME_SIZE"),
        (number::MIN_STACK_SIZE, "MIN_STACK_SIZE"),
        (number::KPARAM_INFO, "KPARAM_INFO"),
        (number::CBANK_PARAM_SIZE, "CBANK_PARAM_SIZE"),
        (number::REGCOUNT, "REGCOUNT"),
        (number::INDIRECT_BRANCH_TARGETS, "INDIRECT_BRANCH_TARGETS"),
        (number::CTA_PER_CLUSTER, "CTA_PER_CLUSTER"),
        (number::EXPLICIT_CLUSTER, "EXPLICIT_CLUSTER"),
        (number::KPARAM_INFO_V2, "KPARAM_INFO_V2"),
        (number::SYSCALL_OFFSETS, "SYSCALL_OFFSETS"),
        (number::NUM_BARRIERS, "NUM_BARRIERS"),
    ];
    let lists = [&read[..], &WITHOUT_EFFECT, &WITHOUT_EFFECT_IF_ZERO, &REFUSED];
    let name = lists.into_iter().flatten().find(|(known, _)| *known == number).map(|(_, name)| *name);
    match name {
        Some(name) if !name.starts_with("0x") => format!("{number:#04x} ({name})"),
        _ => format!("{number:#04x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_number_is_in_two_lists() {
        let lists = [&WITHOUT_EFFECT[..], &WITHOUT_EFFECT_IF_ZERO, &REFUSED];
        let all: Vec<u8> = lists.into_iter().flatten().map(|(number, _)| *number).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(
            all.iter().all(|n| ![number::MAX_THREADS, number::REQNTID, number::NUM_BARRIERS].contains(n))
        );
    }

    #[test]
    fn records_of_every_format_are_read() {
        let bytes = [1, 4, 0, 0, 2, 0x4c, 3, 9, 3, 0x19, 0x34, 0x12, 4, 0x10, 4, 0, 7, 0, 0, 0];
        let records: Vec<_> = Records::new("s", None, &bytes).collect::<Result<_, _>>().unwrap();
        let told: Vec<_> = records.iter().map(|r| (r.offset, r.number, r.value)).collect();
        let expected: [(u64, u8, &[u8]); 4] =
            [(0, 4, &[]), (4, 0x4c, &[3]), (8, 0x19, &[0x34, 0x12]), (12, 0x10, &[7, 0, 0, 0])];
        assert_eq!(told, expected);
        for cut in [1, 2, 3, 5, 13, 15, 16, 19] {
            let error = Records::new("s", Some("k"), &bytes[..cut]).find_map(Result::err).unwrap();
            assert!(error.to_string().contains("(kernel k): an attribute runs off"), "{error}");
        }
        let error = Records::new("s", None, &[9, 0x10, 0, 0]).find_map(Result::err).unwrap();
        assert_eq!(
            error.to_string(),
            "section s, offset 0x0: attribute 0x10 (REQNTID) has the format 9, which is not known"
        );
    }
}
