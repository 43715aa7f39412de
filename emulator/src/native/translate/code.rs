//! The decoded code of a function, in which targets are found.

use super::layout::Layout;
use sass::cubin::IndirectBranch;
use sass::{INSTRUCTION_BYTES, Instruction, PT, RZ};
use trace_format::isa::{Inst, Lut, MemWidth, Op, Operand, Pc, Pred, PredSrc, Reg, Src};

/// The member mask of an instruction whose lanes are the active ones.
pub(super) const EVERY_LANE: Src = Src::imm(u32::MAX);

/// Why an instruction has no translation.
pub(super) type Refusal = String;

/// The decoded words of a section.
pub(super) struct Code<'a> {
    pub(super) words: &'a [Result<Instruction, String>],
    /// Where it begins in the translation.
    pub(super) base: Pc,
    /// Where the other functions begin.
    pub(super) layout: &'a Layout,
    /// Branches through registers, with their targets.
    pub(super) branches: &'a [IndirectBranch],
}

/// The guard of an instruction.
pub(super) fn guard_of(word: &Instruction) -> PredSrc {
    let pred = match (word.guard.predicate, word.guard.uniform) {
        (PT, _) => Pred::PT,
        (number, true) => Pred::uniform(number),
        (number, false) => Pred(number),
    };
    PredSrc { pred, not: word.guard.negated }
}

/// What an instruction becomes.
pub(super) enum Place {
    /// One instruction in its place.
    Here(Inst),
    /// Several, behind the code of the function; a branch to them is in its place.
    Aside(Aside),
}

/// A predicate that gets a value.
pub(super) fn constant(pred: Pred, value: bool) -> Inst {
    let lut = Lut(if value { 0xFF } else { 0 });
    let mut inst = Inst::new(Op::Plop3Both { lut, second: Lut(0) });
    inst.pdst[0] = pred;
    inst.psrc = [PredSrc::TRUE; 3];
    inst
}

/// to = source.
pub(super) fn moved(source: Src, to: Reg) -> Inst {
    Inst { dst: to, ..Inst::new(Op::Mov {}).srcs([source]) }
}

/// Instructions behind the code of a function.
#[derive(Default)]
pub(super) struct Aside {
    pub(super) insts: Vec<Inst>,
    /// Instructions whose target is another of these, with its number.
    pub(super) local: Vec<(usize, usize)>,
    /// Whether the code goes on behind the instruction that they stand for.
    pub(super) returns: bool,
    /// The first of the registers that stand for temporary ones.
    pub(super) temporaries: u8,
    /// Bytes at the beginning of local memory that they use.
    pub(super) local_bytes: u32,
    /// Whether they contain the guard of the instruction, which they do not get as their own then.
    pub(super) guards_itself: bool,
}

/// How many registers an aside may have that hold values only within it.
pub(super) const TEMPORARIES: u8 = 12;

impl Aside {
    /// Instructions after which the code goes on.
    pub(super) fn of(insts: impl IntoIterator<Item = Inst>) -> Place {
        Place::Aside(Aside::returning(insts))
    }

    /// The same, not yet in a place.
    pub(super) fn returning(insts: impl IntoIterator<Item = Inst>) -> Aside {
        Aside { insts: insts.into_iter().collect(), returns: true, ..Aside::default() }
    }

    /// One past the highest register that they name, without the temporary ones.
    pub(super) fn registers(&self) -> u16 {
        let temporary = self.temporaries..self.temporaries + TEMPORARIES;
        let named = self.insts.iter().flat_map(Inst::regs).filter(|reg| !temporary.contains(&reg.0));
        named.map(|reg| u16::from(reg.0) + 1).max().unwrap_or(0)
    }

    /// Puts registers of its own behind the `used` ones in place of the temporary ones. Where there are too few, others take
    /// their place, which the instructions save in local memory and put back. Returns the bytes of local memory.
    pub(super) fn place_temporaries(&mut self, used: u16) -> u32 {
        let begin = self.temporaries;
        let of = |reg: &Reg| reg.0.checked_sub(begin).filter(|number| *number < TEMPORARIES);
        let named: Vec<Reg> = self.insts.iter().flat_map(Inst::regs).collect();
        let count = named.iter().filter_map(of).map(|number| number + 1).max().unwrap_or(0);
        // The first ones may be a vector.
        let alignment = u16::from(count).next_power_of_two().min(4);
        let first = used.next_multiple_of(alignment);
        if first + u16::from(count) <= u16::from(RZ) {
            self.put_temporaries(first as u8);
            return 0;
        }
        let is_free = |first: &u8| {
            !named.iter().any(|reg| of(reg).is_none() && (*first..first + count).contains(&reg.0))
        };
        let first = (0..RZ - TEMPORARIES).step_by(4).find(is_free).unwrap_or(0);
        self.put_temporaries(first);
        self.save((0..count).map(|number| Reg(first + number)));
        4 * u32::from(count)
    }

    /// Saves registers at the beginning of local memory before the instructions, and puts them back where the code goes on.
    fn save(&mut self, registers: impl Iterator<Item = Reg> + Clone) {
        let at = |inst: Inst, number: usize| Inst { offset: 4 * number as i32, ..inst };
        let width = MemWidth::B32;
        let saved = registers
            .clone()
            .enumerate()
            .map(|(number, reg)| at(Inst::new(Op::Stl { width }).srcs([Src::RZ, Src::reg(reg)]), number));
        let restored = registers.enumerate().map(|(number, reg)| {
            let load = Inst { dst: reg, ..Inst::new(Op::Ldl { width }).srcs([Src::RZ]) };
            at(load, number)
        });
        let mut insts: Vec<Inst> = saved.collect();
        let mut places = Vec::new();
        for (number, inst) in self.insts.iter().enumerate() {
            places.push(insts.len());
            let leaves = inst.op == Op::Bra {} && !self.local.iter().any(|(from, _)| *from == number);
            if leaves {
                insts.extend(restored.clone());
            }
            insts.push(*inst);
        }
        if self.returns {
            insts.extend(restored);
        }
        self.insts = insts;
        self.local.iter_mut().for_each(|(from, to)| (*from, *to) = (places[*from], places[*to]));
    }

    /// Puts the registers from `first` on in place of the temporary ones.
    fn put_temporaries(&mut self, first: u8) {
        let begin = self.temporaries;
        let place = |reg: &mut Reg| {
            if (begin..begin + TEMPORARIES).contains(&reg.0) {
                reg.0 = reg.0 - begin + first;
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
    /// The place of an address in the section.
    pub(super) fn place(&self, address: u64) -> Result<Pc, Refusal> {
        let at = address / INSTRUCTION_BYTES as u64;
        if address.is_multiple_of(INSTRUCTION_BYTES as u64) && at < self.words.len() as u64 {
            Ok(Pc(self.base.0 + at as u32))
        } else {
            Err(format!("{address:#x} lies outside the function"))
        }
    }

    /// The function at an address that counts from the beginning of the translation, as the linker puts it into calls.
    pub(super) fn function(&self, address: u64) -> Result<Pc, Refusal> {
        let at = Pc((address / INSTRUCTION_BYTES as u64) as u32);
        if address != 0 && address.is_multiple_of(INSTRUCTION_BYTES as u64) && self.is_function(at) {
            Ok(at)
        } else {
            Err("the function that it calls is not known".into())
        }
    }

    /// Whether a function that may be called begins at a place.
    pub(super) fn is_function(&self, at: Pc) -> bool {
        self.layout.entries.contains(&at)
    }
}
