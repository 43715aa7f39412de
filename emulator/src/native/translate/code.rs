//! The decoded code of a function, in which targets are found.

use sass::cubin::IndirectBranch;
use sass::{INSTRUCTION_BYTES, Instruction};
use trace_format::isa::{Inst, Operand, Pc, Reg};

/// Why an instruction has no translation.
pub(super) type Refusal = String;

/// The decoded words of a function.
pub(super) struct Code<'a> {
    pub(super) words: &'a [Result<Instruction, String>],
    /// Where the functions that it calls begin.
    pub(super) entries: Vec<Pc>,
    /// Branches through registers, with their targets.
    pub(super) branches: &'a [IndirectBranch],
}

/// What an instruction becomes.
pub(super) enum Place {
    /// One instruction in its place.
    Here(Inst),
    /// Several, behind the code of the function; a branch to them is in its place.
    Aside(Aside),
}

/// Instructions behind the code of a function.
#[derive(Default)]
pub(super) struct Aside {
    pub(super) insts: Vec<Inst>,
    /// Instructions whose target is another of these, with its number.
    pub(super) local: Vec<(usize, usize)>,
    /// Whether the code goes on behind the instruction that they stand for.
    pub(super) returns: bool,
}

/// Registers of an aside that hold values only within it. The code of the function has others; these stand for the ones
/// behind its last.
pub(super) const TEMPORARIES: u8 = 244;
/// How many there are.
pub(super) const TEMPORARY_COUNT: u8 = 8;

/// A temporary register.
pub(super) const fn temporary(number: u8) -> Reg {
    Reg(TEMPORARIES + number)
}

impl Aside {
    /// Instructions after which the code goes on.
    pub(super) fn of(insts: impl IntoIterator<Item = Inst>) -> Place {
        Place::Aside(Aside { insts: insts.into_iter().collect(), local: Vec::new(), returns: true })
    }

    /// Puts the registers from `first` on in place of the temporary ones.
    pub(super) fn place_temporaries(&mut self, first: u8) {
        let place = |reg: &mut Reg| {
            if (TEMPORARIES..TEMPORARIES + TEMPORARY_COUNT).contains(&reg.0) {
                reg.0 = reg.0 - TEMPORARIES + first;
            }
        };
        for inst in &mut self.insts {
            place(&mut inst.dst);
            for src in &mut inst.src {
                if let Operand::Reg(reg) = &mut src.operand {
                    place(reg);
                }
            }
        }
    }
}

impl Code<'_> {
    /// The place of an address.
    pub(super) fn place(&self, address: u64) -> Result<Pc, Refusal> {
        let at = address / INSTRUCTION_BYTES as u64;
        if address.is_multiple_of(INSTRUCTION_BYTES as u64) && at < self.words.len() as u64 {
            Ok(Pc(at as u32))
        } else {
            Err(format!("{address:#x} lies outside the function"))
        }
    }
}
