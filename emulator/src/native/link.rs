//! Links the code of a kernel: its own section, the functions of other sections that it may reach, and functions of the system,
//! with the addresses that their instructions get.
//!
//! A module's functions have addresses in the window of code, which are in its data too, so that a pointer to a function means
//! the same to every kernel. Places within code, such as those behind calls, count from the beginning of the kernel's
//! translation.

use super::error::NativeError;
use super::patch::{Patch, PatchValue};
use super::translate::{External, Layout, Section};
use crate::fatbin;
use sass::cubin::{
    CodeField, CodeRelocation, Cubin, CubinError, Function, IndirectBranch, Place, Referent, Relocation,
};
use sass::{INSTRUCTION_BYTES, Instruction, Target, Value, decode};
use std::collections::HashMap;
use trace_format::isa::Pc;
use trace_format::isa::space::{CODE_STRIDE, CODE_WINDOW_HI};

/// Lower word of the first address behind those of a module's functions, which functions of the system get, such as
/// `vprintf`.
const SYSTEM_CODE: u32 = 0xFFFF_0000;

fn code_address(low: u32) -> u64 {
    u64::from(CODE_WINDOW_HI) << 32 | u64::from(low)
}

/// Addresses of functions: those of a module one after the other, in the order of the file, and those of the system.
pub(super) struct CodeAddresses<'m> {
    of: HashMap<String, u32>,
    externals: &'m [String],
}

impl<'m> CodeAddresses<'m> {
    pub(super) fn of(cubin: &Cubin<'_>, externals: &'m [String]) -> CodeAddresses<'m> {
        let mut next = CODE_STRIDE;
        let mut place = |function: &Function<'_>| {
            let begin = next;
            next = next.saturating_add(function.len() as u32 * INSTRUCTION_BYTES as u32).min(SYSTEM_CODE);
            (function.name.clone(), begin)
        };
        CodeAddresses { of: cubin.functions.iter().map(&mut place).collect(), externals }
    }

    fn function(&self, name: &str) -> u32 {
        self.of.get(name).copied().unwrap_or(SYSTEM_CODE)
    }

    fn external(&self, name: &str) -> u32 {
        let number = self.externals.iter().position(|external| external == name).unwrap_or_default();
        SYSTEM_CODE.wrapping_add(number as u32 * CODE_STRIDE)
    }

    /// The address that a relocation of data is about.
    pub(super) fn patch(&self, relocation: &Relocation<'_>) -> Patch {
        let addend = relocation.addend;
        let value = match relocation.of {
            Referent::Data { place, offset } => PatchValue::Data(place, offset.wrapping_add_signed(addend)),
            Referent::Code { function, offset } => {
                let begin = code_address(self.function(function));
                PatchValue::Code(begin.wrapping_add(offset).wrapping_add_signed(addend))
            }
            Referent::External(name) => PatchValue::Code(code_address(self.external(name))),
        };
        Patch { place: relocation.place, offset: relocation.offset, value }
    }
}

/// Functions that any code of a module may reach.
#[derive(Clone, Debug, Default)]
pub(super) struct ModuleCode {
    /// Functions of the system.
    pub externals: Vec<String>,
    /// Sections of functions whose addresses are in the data.
    pub addressed: Vec<String>,
}

impl ModuleCode {
    /// What a module and the relocations of its data name.
    pub(super) fn of(cubin: &Cubin<'_>, relocations: &[Relocation<'_>]) -> ModuleCode {
        let mut addressed: Vec<String> = Vec::new();
        for relocation in relocations {
            if let Referent::Code { function, .. } = relocation.of
                && !addressed.iter().any(|known| known == function)
            {
                addressed.push(function.to_owned());
            }
        }
        ModuleCode { externals: cubin.undefined_functions().map(str::to_owned).collect(), addressed }
    }
}

/// A kernel's code with what it may reach.
pub(super) struct Linked {
    /// Sections, of which the first is the kernel's.
    pub sections: Vec<Section>,
    /// Functions of the system.
    pub externals: Vec<External>,
}

/// A function that a kernel may reach.
struct Reached<'c, 'a> {
    function: &'c Function<'a>,
    section: Section,
    relocations: Vec<CodeRelocation<'a>>,
}

impl<'c, 'a> Reached<'c, 'a> {
    fn of(
        cubin: &Cubin<'a>,
        function: &'c Function<'a>,
        branches: Vec<IndirectBranch>,
        addresses: &CodeAddresses<'_>,
    ) -> Result<Reached<'c, 'a>, CubinError> {
        let section =
            Section { address: addresses.function(&function.name), ..Section::of(function, branches) };
        Ok(Reached { function, section, relocations: cubin.code_relocations(function)? })
    }

    /// Whether it calls functions by absolute addresses in registers.
    fn calls_through_registers(&self) -> bool {
        self.section.words.iter().flatten().any(|word| {
            let through =
                |operand: &sass::Operand| matches!(operand.value, Value::Register(_) | Value::Uniform(_));
            word.mnemonic == "CALL" && word.has("ABS") && word.operands.iter().any(through)
        })
    }
}

/// Links a kernel of a module with this code; `base` gives the address of a part of the data.
pub(super) fn link<'a>(
    cubin: &Cubin<'a>,
    kernel: &Function<'a>,
    branches: Vec<IndirectBranch>,
    code: &ModuleCode,
    base: &dyn Fn(Place) -> u64,
    file: &str,
) -> Result<Linked, NativeError> {
    let refuse = |error| NativeError::Cubin { file: file.to_owned(), error };
    let addresses = CodeAddresses::of(cubin, &code.externals);
    let mut reached = vec![Reached::of(cubin, kernel, branches, &addresses).map_err(refuse)?];
    let mut externals: Vec<&str> = Vec::new();
    let mut through_registers = false;
    let mut at = 0;
    while let Some(function) = reached.get(at) {
        at += 1;
        let mut names: Vec<&str> = Vec::new();
        for relocation in &function.relocations {
            match relocation.of {
                Referent::Data { .. } => {}
                Referent::Code { function, .. } => names.push(function),
                Referent::External(name) if externals.contains(&name) => {}
                Referent::External(name) => externals.push(name),
            }
        }
        if !through_registers && function.calls_through_registers() {
            through_registers = true;
            names.extend(code.addressed.iter().map(String::as_str));
            externals = code.externals.iter().map(String::as_str).collect();
        }
        for name in names {
            if reached.iter().any(|known| known.function.name == name) {
                continue;
            }
            if let Some(library) = fatbin::closed_function(name) {
                return Err(NativeError::Closed { kernel: name.to_owned(), library: library.to_owned() });
            }
            let Some(function) = cubin.function(name) else { continue };
            let branches = cubin.indirect_branches(function).map_err(refuse)?;
            reached.push(Reached::of(cubin, function, branches, &addresses).map_err(refuse)?);
        }
    }
    let external = |name: &&str| External { name: (*name).to_owned(), address: addresses.external(name) };
    let externals: Vec<External> = externals.iter().map(external).collect();
    let layout = Layout::of(reached.iter().map(|function| &function.section), &externals);
    let places =
        Places { addresses: &addresses, layout: &layout, reached: &reached, externals: &externals, base };
    let words: Vec<_> = reached.iter().map(|function| places.addressed(cubin.target, function)).collect();
    let mut sections: Vec<Section> = reached.into_iter().map(|function| function.section).collect();
    for (section, words) in sections.iter_mut().zip(words) {
        for (number, word) in words {
            // What stands in the padding behind the last instruction does not run.
            if let Some(place) = section.words.get_mut(number) {
                *place = word;
            }
        }
    }
    Ok(Linked { sections, externals })
}

/// What relocations of a kernel's code are about.
struct Places<'p, 'a> {
    addresses: &'p CodeAddresses<'p>,
    layout: &'p Layout,
    reached: &'p [Reached<'p, 'a>],
    externals: &'p [External],
    base: &'p dyn Fn(Place) -> u64,
}

impl Places<'_, '_> {
    /// The words of a function that get addresses, with their numbers.
    fn addressed(&self, target: Target, of: &Reached<'_, '_>) -> Vec<(usize, Result<Instruction, String>)> {
        let word = |relocation: &CodeRelocation<'_>| {
            let number = relocation.address as usize / INSTRUCTION_BYTES;
            let word = relocation.field.put(of.function.words().nth(number)?, self.value(relocation));
            Some((number, decode(target, relocation.address, word).map_err(|error| error.to_string())))
        };
        of.relocations.iter().filter_map(word).collect()
    }

    /// The address that a field gets.
    fn value(&self, relocation: &CodeRelocation<'_>) -> u64 {
        let calls = matches!(relocation.field, CodeField::Call | CodeField::LongCall);
        let from_beginning = |pc: Pc| u64::from(pc.0) * INSTRUCTION_BYTES as u64;
        match relocation.of {
            Referent::Data { place, offset } => {
                (self.base)(place).wrapping_add(offset).wrapping_add_signed(relocation.addend)
            }
            Referent::Code { function, offset } => {
                let inside = offset.wrapping_add_signed(relocation.addend);
                let number = self.reached.iter().position(|known| known.function.name == function);
                match number {
                    // A function, and no place within one.
                    Some(1..) if inside == 0 && !calls => code_address(self.addresses.function(function)),
                    Some(number) => from_beginning(self.layout.sections[number]).wrapping_add(inside),
                    None => 0,
                }
            }
            Referent::External(name) => {
                let number = self.externals.iter().position(|external| external.name == name);
                match number {
                    Some(number) if calls => from_beginning(self.layout.externals[number]),
                    _ => code_address(self.addresses.external(name)),
                }
            }
        }
    }
}
