//! Control bits: those of each instruction, for the timing of its translation.

use sass::{Control, Instruction, Operand, Value};
use trace_format::isa::{ControlBits, Inst, Kind, Reg};

/// The forms of an instruction's sources (bits 9 to 11 of the word) in which the second place names a register.
const SECOND_IS_REGISTER: u16 = 1;

/// The control bits of an instruction and of its translation.
pub(super) fn of(word: &Instruction, inst: &Inst) -> ControlBits {
    let control = word.control;
    let barrier = DependenceBarrier::of(word);
    let names = |at: usize, shift: u32| {
        let reg = Reg((word.word >> shift) as u8);
        let is_register = at != 1 || word.opcode >> 9 == SECOND_IS_REGISTER;
        if is_register && inst.src_regs().any(|source| source == reg) { reg } else { Reg::RZ }
    };
    ControlBits {
        stall_cycles: control.stall_cycles,
        yields: control.yields,
        waits_for: control.wait_mask | barrier.as_ref().map_or(0, |barrier| barrier.others),
        waits_until: barrier.map(|barrier| (barrier.counter, barrier.most)),
        write_counter: control.write_counter,
        read_counter: control.read_counter,
        places: [names(0, 24), names(1, 32), names(2, 64)],
        reuse: control.reuse,
        partial: false,
    }
}

/// The bits of the branch that stands in the place of an instruction that takes several.
pub(super) fn of_branch(word: &Instruction, branch: &Inst) -> ControlBits {
    ControlBits { write_counter: None, read_counter: None, reuse: 0, ..of(word, branch) }
}

/// The bits of an instruction that is part of another.
pub(super) fn of_part() -> ControlBits {
    ControlBits { partial: true, ..ControlBits::default() }
}

/// The bits of the parts that stand aside. The counters of the whole are those of the last one that has results or accesses
/// memory.
pub(super) fn of_parts(word: &Instruction, aside: &[Inst]) -> Vec<ControlBits> {
    let mut parts = vec![of_part(); aside.len()];
    let computes = |inst: &Inst| !matches!(inst.kind(), Kind::Branch | Kind::Trap);
    if let Some(last) = aside.iter().rposition(computes) {
        let Control { write_counter, read_counter, .. } = word.control;
        parts[last] = ControlBits { write_counter, read_counter, ..parts[last] };
    }
    parts
}

/// What `DEPBAR.LE` waits for.
pub(in crate::native) struct DependenceBarrier {
    /// A counter.
    pub(in crate::native) counter: u8,
    /// What it may have at most.
    pub(in crate::native) most: u8,
    /// Counters that have to be zero, as a mask.
    pub(in crate::native) others: u8,
}

impl DependenceBarrier {
    pub(in crate::native) fn of(word: &Instruction) -> Option<DependenceBarrier> {
        if word.mnemonic != "DEPBAR" || !word.has("LE") {
            return None;
        }
        let value = |at: usize| word.operands.get(at).map(|operand: &Operand| operand.value);
        let (Some(Value::Scoreboard(counter)), Some(Value::Integer(most))) = (value(0), value(1)) else {
            return None;
        };
        let listed = if let Some(Value::Name(listed)) = value(2) { listed } else { "" };
        let others = listed.chars().filter_map(|c| c.to_digit(10)).fold(0, |mask, number| mask | 1 << number);
        Some(DependenceBarrier { counter, most: u8::try_from(most).unwrap_or(u8::MAX), others })
    }
}
