//! What running a kernel needs to know besides its code, as the attributes and sections of the cubin say.

use super::attribute::{INFO, Record, Records, number, shown};
use super::data::{self, CONSTANT2, Place, Relocation};
use super::error::{CubinError, SectionError};
use super::file::{File, Section};
use super::{Cubin, Function, TEXT};

/// Shared memory that a block of any GPU has: nothing can have more.
const MOST_SHARED_BYTES: u64 = 228 << 10;
/// Barriers of a block.
const MOST_BARRIERS: u16 = 16;
/// Place of the number of barriers in the flags of a section of code, where older compilers keep it.
const FLAGS_BARRIERS: (u32, u64) = (20, 0x1f);
/// A stack size that the compiler does not know, because of recursion or calls through pointers.
const UNKNOWN: u32 = u32::MAX;

/// A parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Where it begins, from the start of the parameters.
    pub offset: u32,
    /// Its bytes.
    pub bytes: u32,
}

/// A branch through a register, and where it may go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndirectBranch {
    /// Address of the branch in the function's section.
    pub address: u64,
    /// Addresses of its targets, in the order of the attribute.
    pub targets: Vec<u64>,
}

/// What running a kernel needs to know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelInfo<'a> {
    /// Registers per thread.
    pub registers: u32,
    /// Where the parameters begin in bank 0.
    pub parameter_base: u32,
    /// Bytes of all parameters.
    pub parameter_bytes: u32,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Contents of bank 0 as the cubin has them, up to the end of the parameters.
    pub bank0: &'a [u8],
    /// Literals of the compiler: bank 2.
    pub bank2: &'a [u8],
    /// Addresses in the literals; their [`Place`] is [`Place::Literals`].
    pub relocations: Vec<Relocation<'a>>,
    /// Static shared memory, bytes; dynamic shared memory begins behind it.
    pub shared_bytes: u32,
    /// Bytes of the kernel's own stack frame.
    pub frame_bytes: u32,
    /// Bytes of stack that the kernel needs with all that it calls, if the compiler knows it.
    pub stack_bytes: Option<u32>,
    /// The largest block that the kernel may be launched with.
    pub max_threads: Option<[u32; 3]>,
    /// The only block that the kernel may be launched with.
    pub required_threads: Option<[u32; 3]>,
    /// Barriers that a block uses.
    pub barriers: u8,
    /// Blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Whether the kernel has to be launched in clusters.
    pub needs_cluster: bool,
    /// Branches through registers.
    pub indirect_branches: Vec<IndirectBranch>,
    /// Functions of the system that it calls, such as `vprintf`.
    pub externs: Vec<&'a str>,
    /// Addresses of calls of these, in the function's section.
    pub system_calls: Vec<u64>,
}

impl<'a> Cubin<'a> {
    /// What running a kernel needs to know.
    ///
    /// # Errors
    /// A section or attribute is damaged, or says something that is not supported.
    pub fn kernel_info(&self, function: &Function<'a>) -> Result<KernelInfo<'a>, CubinError> {
        let file = &self.file;
        if file.relocatable {
            return Err(CubinError::Relocatable);
        }
        let name = function.name.as_str();
        let text = format!("{TEXT}{name}");
        let mut info = KernelInfo { registers: function.registers, ..KernelInfo::default() };
        of_module(file, name, &mut info)?;
        let found = Found::read(file, function, &mut info)?;
        found.complete(file, name, &mut info)?;
        let own = format!("{CONSTANT2}.{name}");
        let literals = if file.named(&own).is_some() { own.as_str() } else { CONSTANT2 };
        info.bank2 = file.contents_of(literals)?;
        let parameters = format!(".nv.constant0.{name}");
        let sections = [(parameters.as_str(), None), (literals, Some(Place::Literals))];
        info.relocations = data::of_kernel(file, name, &sections)?;
        if let Some(section) = file.named(&format!(".nv.shared.{name}")) {
            info.shared_bytes = shared_bytes(section, name)?;
        }
        if found.barriers.is_none()
            && let Some(section) = file.named(&text)
        {
            let (shift, mask) = FLAGS_BARRIERS;
            info.barriers = (section.flags >> shift & mask).min(MOST_BARRIERS.into()) as u8;
        }
        Ok(info)
    }

    /// Branches through registers of a function that is no kernel.
    ///
    /// # Errors
    /// The attribute is damaged.
    pub fn indirect_branches(&self, function: &Function<'a>) -> Result<Vec<IndirectBranch>, CubinError> {
        let section = format!("{INFO}.{}", function.name);
        let records = Records::new(&section, Some(&function.name), self.file.contents_of(&section)?);
        let mut found = Vec::new();
        for record in records.clone() {
            let record = record?;
            if record.number == number::INDIRECT_BRANCH_TARGETS {
                found.extend(branches(&records, &record)?);
            }
        }
        Ok(found)
    }
}

fn wrong(section: &str, kernel: &str, what: String) -> CubinError {
    SectionError { section: section.to_owned(), offset: 0, kernel: Some(kernel.to_owned()), what }.into()
}

fn shared_bytes(section: &Section<'_>, kernel: &str) -> Result<u32, CubinError> {
    let bytes = u32::try_from(section.size).ok().filter(|&bytes| u64::from(bytes) <= MOST_SHARED_BYTES);
    bytes.ok_or_else(|| {
        let what = format!(
            "{:#x} bytes of shared memory, more than the {MOST_SHARED_BYTES:#x} that a block can have",
            section.size
        );
        wrong(section.name, kernel, what)
    })
}

/// Reads the attributes of the module that are about a kernel.
fn of_module(file: &File<'_>, name: &str, info: &mut KernelInfo<'_>) -> Result<(), CubinError> {
    let records = Records::new(INFO, Some(name), file.contents_of(INFO)?);
    let mut has_registers = false;
    for record in records.clone() {
        let record = record?;
        match record.number {
            number::REGCOUNT | number::FRAME_SIZE | number::MIN_STACK_SIZE => {
                let [symbol, value] = records.exact::<2>(&record)?;
                let Some(symbol) = file.symbols.get(symbol as usize) else {
                    let what = format!(
                        "attribute {} is about symbol number {symbol}, which does not exist",
                        shown(record.number)
                    );
                    return Err(records.wrong(record.offset, what).into());
                };
                if symbol.name != name {
                    continue;
                }
                match record.number {
                    number::REGCOUNT if value <= 255 => {
                        (info.registers, has_registers) = (value, true);
                    }
                    number::REGCOUNT => {
                        let what = format!("{value} registers per thread, of which hardware has 255");
                        return Err(records.wrong(record.offset, what).into());
                    }
                    number::FRAME_SIZE => info.frame_bytes = value,
                    _ => info.stack_bytes = (value != UNKNOWN).then_some(value),
                }
            }
            _ => records.without_effect(&record)?,
        }
    }
    // Older compilers keep it with the section of code alone.
    if !has_registers && info.registers == 0 {
        return Err(wrong(INFO, name, "there is no number of registers".into()));
    }
    Ok(())
}

/// What the attributes of a kernel say about its parameters and barriers.
#[derive(Default)]
struct Found {
    /// Number of the symbol of bank 0, base and bytes of the parameters.
    bank: Option<(u32, u32, u32)>,
    bytes: Option<u32>,
    /// Each with its ordinal.
    parameters: Vec<(u32, Parameter)>,
    barriers: Option<u8>,
}

impl Found {
    fn read<'a>(
        file: &File<'a>,
        function: &Function<'a>,
        info: &mut KernelInfo<'a>,
    ) -> Result<Found, CubinError> {
        let name = function.name.as_str();
        let section = format!("{INFO}.{name}");
        if file.named(&section).is_none() {
            return Err(wrong(
                &section,
                name,
                "there is no such section, so that nothing is known of its parameters".into(),
            ));
        }
        let records = Records::new(&section, Some(name), file.contents_of(&section)?);
        let mut found = Found::default();
        for record in records.clone() {
            let record = record?;
            found.add(file, &records, &record, info)?;
        }
        let code = (function.len() * crate::INSTRUCTION_BYTES) as u64;
        let branches = info.indirect_branches.iter().flat_map(|branch| &branch.targets);
        if let Some(target) =
            branches.chain(&info.system_calls).find(|&&target| target >= code || target % 16 != 0)
        {
            let what = format!(
                "address {target:#x} is no instruction of the function, whose code has {code:#x} bytes"
            );
            return Err(wrong(&section, name, what));
        }
        Ok(found)
    }

    fn add<'a>(
        &mut self,
        file: &File<'a>,
        records: &Records<'_>,
        record: &Record<'_>,
        info: &mut KernelInfo<'a>,
    ) -> Result<(), SectionError> {
        match record.number {
            number::PARAM_CBANK => {
                let [symbol, place] = records.exact(record)?;
                self.bank = Some((symbol, place & 0xffff, place >> 16));
            }
            number::CBANK_PARAM_SIZE => self.bytes = Some(records.small(record)?.into()),
            number::KPARAM_INFO => {
                let [_, place, rest] = records.exact(record)?;
                self.parameters.push((place & 0xffff, Parameter { offset: place >> 16, bytes: rest >> 18 }));
            }
            number::KPARAM_INFO_V2 => {
                let [_, place, rest] = records.exact(record)?;
                self.parameters
                    .push((place & 0xffff, Parameter { offset: place >> 16, bytes: rest & 0xffff }));
            }
            number::MAX_THREADS => info.max_threads = Some(records.exact(record)?),
            number::REQNTID => info.required_threads = Some(records.exact(record)?),
            number::CTA_PER_CLUSTER => info.cluster = Some(records.exact(record)?),
            number::EXPLICIT_CLUSTER => info.needs_cluster = true,
            number::NUM_BARRIERS => {
                let count = records.small(record)?;
                if count > MOST_BARRIERS {
                    let what = format!("{count} barriers, of which a block has {MOST_BARRIERS}");
                    return Err(records.wrong(record.offset, what));
                }
                info.barriers = count as u8;
                self.barriers = Some(info.barriers);
            }
            number::EXTERNS => {
                for symbol in records.words(record)? {
                    let found = file.symbols.get(symbol as usize);
                    let what = || format!("extern function {symbol} is no symbol");
                    info.externs.push(found.ok_or_else(|| records.wrong(record.offset, what()))?.name);
                }
            }
            number::SYSCALL_OFFSETS => {
                info.system_calls = records.words(record)?.into_iter().map(u64::from).collect();
            }
            number::INDIRECT_BRANCH_TARGETS => info.indirect_branches = branches(records, record)?,
            _ => records.without_effect(record)?,
        }
        Ok(())
    }

    /// Checks the parameters and takes over what was found.
    fn complete<'a>(&self, file: &File<'a>, name: &str, info: &mut KernelInfo<'a>) -> Result<(), CubinError> {
        let section = format!("{INFO}.{name}");
        let refuse = |what: String| Err(wrong(&section, name, what));
        let Some((symbol, base, bytes)) = self.bank else {
            if self.parameters.is_empty() && self.bytes.unwrap_or(0) == 0 {
                // A kernel without parameters.
                info.bank0 = file.contents_of(&format!(".nv.constant0.{name}"))?;
                info.parameter_base = info.bank0.len() as u32;
                return Ok(());
            }
            return refuse(format!("there is no attribute {}", shown(number::PARAM_CBANK)));
        };
        if let Some(other) = self.bytes.filter(|&other| other != bytes) {
            return refuse(format!("parameters of {bytes:#x} bytes and of {other:#x}"));
        }
        let bank = file.symbols.get(symbol as usize).and_then(|symbol| file.sections.get(symbol.section));
        let Some(bank) = bank.filter(|bank| bank.name.starts_with(".nv.constant0.")) else {
            return refuse(format!("symbol number {symbol} is in no section of bank 0"));
        };
        info.bank0 = file.contents(bank)?;
        if (base + bytes) as usize > info.bank0.len() {
            return refuse(format!(
                "parameters of {bytes:#x} bytes at {base:#x} do not fit section {}, which has {:#x} bytes",
                bank.name,
                info.bank0.len()
            ));
        }
        (info.parameter_base, info.parameter_bytes) = (base, bytes);
        let mut parameters = self.parameters.clone();
        parameters.sort_by_key(|(ordinal, _)| *ordinal);
        for (place, (ordinal, parameter)) in parameters.iter().enumerate() {
            if *ordinal as usize != place {
                return refuse(format!("there is no parameter {place}, or it is there twice"));
            }
            if parameter.offset + parameter.bytes > bytes {
                return refuse(format!(
                    "parameter {ordinal} of {:#x} bytes at {:#x} does not fit the {bytes:#x} bytes of parameters",
                    parameter.bytes, parameter.offset
                ));
            }
        }
        info.parameters = parameters.into_iter().map(|(_, parameter)| parameter).collect();
        Ok(())
    }
}

/// Branches, each of an address, a word that is zero, a number of targets and the targets.
fn branches(records: &Records<'_>, record: &Record<'_>) -> Result<Vec<IndirectBranch>, SectionError> {
    let words = records.words(record)?;
    let (mut found, mut rest) = (Vec::new(), words.as_slice());
    while let [address, zero, count, after @ ..] = rest {
        let Some((targets, behind)) = after.split_at_checked(*count as usize).filter(|_| *zero == 0) else {
            let what =
                format!("the branch at {address:#x} has {count} targets, more than the attribute holds");
            return Err(records.wrong(record.offset, what));
        };
        let targets = targets.iter().copied().map(u64::from).collect();
        found.push(IndirectBranch { address: u64::from(*address), targets });
        rest = behind;
    }
    if !rest.is_empty() {
        return Err(records.size(record, "an address, a number and targets for each branch"));
    }
    Ok(found)
}
