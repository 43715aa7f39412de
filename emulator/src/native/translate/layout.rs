//! Where what is translated together stands in the translation.

use super::section::{External, Section};
use sass::{INSTRUCTION_BYTES, Instruction, Operand, RZ, Value};
use trace_format::isa::{Pc, Reg, UniformReg};

/// Where sections and functions that are not in the file begin in the translation.
pub(in crate::native) struct Layout {
    pub(in crate::native) sections: Vec<Pc>,
    pub(in crate::native) externals: Vec<Pc>,
    /// Where functions begin that may be called.
    pub(super) entries: Vec<Pc>,
    /// A uniform register that no section names.
    pub(super) free_uniform: Option<UniformReg>,
    /// The register for the lower word of what hardware keeps as the return address, which code uses as a place for a
    /// value; the upper word's is the next. They are behind those of all sections.
    pub(super) return_address: Option<Reg>,
}

impl Layout {
    pub(in crate::native) fn of<'s>(
        sections: impl Iterator<Item = &'s Section> + Clone,
        externals: &[External],
    ) -> Layout {
        let mut next = 0;
        let mut place = |length: usize| {
            let begin = next;
            next += length as u32;
            Pc(begin)
        };
        let bases: Vec<Pc> = sections.clone().map(|section| place(section.words.len())).collect();
        let of_external = |external: &External| place(external.code().map_or(1, |insts| insts.len()));
        let externals: Vec<Pc> = externals.iter().map(of_external).collect();
        let inside = sections.clone().zip(&bases).flat_map(|(section, base)| {
            section.parts.iter().map(|(start, _)| Pc(base.0 + (start / INSTRUCTION_BYTES as u64) as u32))
        });
        let entries = inside.chain(bases.iter().skip(1).copied()).chain(externals.iter().copied()).collect();
        let registers = sections.clone().flat_map(|section| section.words.iter().flatten());
        let return_address = behind_registers(registers.filter_map(highest_register).max());
        // Those beyond get the numbers of others that nothing names.
        let named = sections.flat_map(|section| section.words.iter().flatten()).filter_map(highest_uniform);
        let highest = named.filter(|number| *number < UNIFORM_REGISTERS - 1).max();
        Layout { sections: bases, externals, entries, free_uniform: behind(highest), return_address }
    }
}

/// Uniform registers of every target.
const UNIFORM_REGISTERS: u8 = 63;

/// The uniform register behind the highest one, if there is one.
fn behind(highest: Option<u8>) -> Option<UniformReg> {
    let next = highest.map_or(Some(0), |highest| highest.checked_add(1))?;
    (next < UNIFORM_REGISTERS).then_some(UniformReg(next))
}

/// The first of two registers behind the highest one, if there are as many.
fn behind_registers(highest: Option<u8>) -> Option<Reg> {
    let next = highest.map_or(Some(0), |highest| highest.checked_add(1))?;
    (next < RZ - 1).then_some(Reg(next))
}

/// The highest register that an instruction may name, as part of a vector.
fn highest_register(word: &Instruction) -> Option<u8> {
    let number = |operand: &Operand| match operand.value {
        Value::Register(number) => Some(number),
        Value::Address { register, .. } => register,
        _ => None,
    };
    let named = word.operands.iter().filter_map(number).filter(|number| *number != RZ);
    named.max().map(|number| number | 3).filter(|number| *number != RZ)
}

/// The highest uniform register that an instruction may name, as part of a pair or of four.
fn highest_uniform(word: &Instruction) -> Option<u8> {
    let number = |operand: &Operand| match operand.value {
        Value::Uniform(number) => Some(number),
        Value::Constant { uniform, .. } => uniform,
        Value::Address { descriptor, uniform, .. } => uniform.max(descriptor),
        _ => None,
    };
    let named = word.operands.iter().filter_map(number).filter(|number| *number != word.uniform_zero);
    named.max().map(|number| number | 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets since sm_100 have more uniform registers than the others.
    #[test]
    fn no_uniform_register_is_free_behind_the_last() {
        assert_eq!([None, Some(3), Some(61)].map(behind), [0, 4, 62].map(|number| Some(UniformReg(number))));
        assert_eq!([62, 63, 254, 255].map(|highest| behind(Some(highest))), [None; 4]);
    }
}
