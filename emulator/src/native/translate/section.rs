//! What is translated together: sections of code and functions of the system.

use crate::services::Service;
use sass::cubin::{Function, IndirectBranch};
use sass::{Instruction, RZ};
use trace_format::isa::{Inst, MemOrder, MemWidth, Op, Reg, Src};

/// A section of code, decoded.
#[derive(Clone, Debug)]
pub struct Section {
    /// The function that it is of.
    pub name: String,
    /// Lower word of its address.
    pub address: u32,
    /// Its words without the padding at the end; a text in place of one that is not known.
    pub words: Vec<Result<Instruction, String>>,
    /// Branches through registers, with their targets.
    pub branches: Vec<IndirectBranch>,
    /// Functions within it, ascending: where each begins, and its name.
    pub parts: Vec<(u64, String)>,
}

impl Section {
    /// The section of a function as the file has it, at no address.
    #[must_use]
    pub fn of(function: &Function<'_>, branches: Vec<IndirectBranch>) -> Section {
        let words = function.instructions();
        let mut words: Vec<Result<Instruction, String>> =
            words.map(|word| word.map_err(|e| e.to_string())).collect();
        let is_padding =
            |word: &Result<Instruction, String>| matches!(word, Ok(word) if word.mnemonic == "NOP");
        words.truncate(words.iter().rposition(|word| !is_padding(word)).map_or(0, |last| last + 1));
        Section { name: function.name.clone(), address: 0, words, branches, parts: function.parts.clone() }
    }
}

/// A function that is not in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct External {
    /// Its name.
    pub name: String,
    /// Lower word of its address.
    pub address: u32,
}

/// The first register of arguments and results, and that of the return address.
const ARGUMENTS: Reg = Reg(4);
const RETURN_ADDRESS: Reg = Reg(20);

/// Sets the value of a condition of a graph. The handle of a condition is the address of its value, as in
/// `crate::device_runtime`.
const SET_CONDITION: &str = "cudaGraphSetConditional";

impl External {
    /// Its code, or why there is none.
    pub(super) fn code(&self) -> Result<Vec<Inst>, String> {
        let returning = Inst::new(Op::RetTo {}).srcs([Src::reg(RETURN_ADDRESS)]);
        if self.name == SET_CONDITION {
            let store = Op::St { width: MemWidth::B32, order: MemOrder::Weak };
            let operands = [Src::reg(ARGUMENTS), Src::reg(ARGUMENTS.nth(2))];
            return Ok(vec![Inst::new(store).srcs(operands), returning]);
        }
        let Some(service) = Service::named(&self.name) else {
            return Err(format!("{}, a function that is not in the cubin", self.name));
        };
        // The arguments lie in registers as they would in memory.
        let mut insts = Vec::new();
        for at in (0..service.argument_bytes()).step_by(8) {
            let width = MemWidth::B64;
            let source = Src::reg(ARGUMENTS.nth((at / 4) as u8));
            let store = Inst::new(Op::Stl { width }).srcs([Src::RZ, source]);
            insts.push(Inst { offset: at as i32, ..store });
        }
        let dst = if service.result == 0 { Reg(RZ) } else { ARGUMENTS };
        insts.push(Inst::new(Op::Syscall { call: service.call }).dst(dst).srcs([Src::imm(0)]));
        insts.push(returning);
        Ok(insts)
    }

    /// Bytes at the beginning of local memory that its code uses.
    pub(super) fn saved_bytes(&self) -> u32 {
        Service::named(&self.name).map_or(0, Service::argument_bytes)
    }
}
