//! Where what is translated together stands in the translation.

use super::section::{External, Section};
use sass::{INSTRUCTION_BYTES, Instruction, Operand, Value};
use trace_format::isa::{Pc, UniformReg};

/// Where sections and functions that are not in the file begin in the translation.
pub(in crate::native) struct Layout {
    pub(in crate::native) sections: Vec<Pc>,
    pub(in crate::native) externals: Vec<Pc>,
    /// Where functions begin that may be called.
    pub(super) entries: Vec<Pc>,
    /// A uniform register that no section names.
    pub(super) free_uniform: Option<UniformReg>,
}

impl Layout {
    pub(in crate::native) fn of(sections: &[Section], externals: &[External]) -> Layout {
        let mut next = 0;
        let mut place = |length: usize| {
            let begin = next;
            next += length as u32;
            Pc(begin)
        };
        let bases: Vec<Pc> = sections.iter().map(|section| place(section.words.len())).collect();
        let of_external = |external: &External| place(external.code().map_or(1, |insts| insts.len()));
        let externals: Vec<Pc> = externals.iter().map(of_external).collect();
        let inside = sections.iter().zip(&bases).flat_map(|(section, base)| {
            section.parts.iter().map(|(start, _)| Pc(base.0 + (start / INSTRUCTION_BYTES as u64) as u32))
        });
        let entries = inside.chain(bases.iter().skip(1).copied()).chain(externals.iter().copied()).collect();
        let named =
            sections.iter().flat_map(|section| section.words.iter().flatten()).filter_map(highest_uniform);
        let free = named.max().map_or(0, |highest| highest + 1);
        let free_uniform = (free < UNIFORM_REGISTERS).then_some(UniformReg(free));
        Layout { sections: bases, externals, entries, free_uniform }
    }
}

/// Uniform registers of every target.
const UNIFORM_REGISTERS: u8 = 63;

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
