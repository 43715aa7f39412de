//! The operands of an instruction, taken one after the other, and its modifiers.

use super::aside::Borrowed;
use super::code::{Refusal, TEMPORARIES, guard_of};
use sass::{Instruction, Operand as Theirs, PT, RZ, Value};
use trace_format::isa::{Inst, Operand, Pred, PredSrc, Reg, Src, UniformReg};

/// Reads an instruction's operands in their order and notes which modifiers were used.
pub(super) struct Args<'a> {
    word: &'a Instruction,
    /// The first of the registers that stand for temporary ones ([`Args::temporary`]).
    temporaries: u8,
    next: usize,
    used: Vec<&'static str>,
}

/// An address in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub register: Reg,
    /// How the register is read: `64`, `U32`, `X4`.
    pub width: &'static str,
    pub base: UniformReg,
    pub offset: i32,
}

/// Modifiers that have no effect on what an instruction computes: hints to caches, and the width of addresses, which is that
/// of 64-bit programs.
const WITHOUT_EFFECT: [&str; 12] =
    ["E", "SYS", "EF", "EL", "LU", "EU", "NA", "LTC64B", "LTC128B", "LTC256B", "SCR", "reuse"];

impl<'a> Args<'a> {
    pub(super) fn of(word: &'a Instruction) -> Args<'a> {
        let is_free = |first: &u8| {
            // A vector has four registers at most.
            let touches = |number: u8| {
                number != RZ && number.saturating_add(3) >= *first && number < first + TEMPORARIES
            };
            !word.operands.iter().filter_map(register_of).any(touches)
        };
        let mut aligned = (0..=(RZ - TEMPORARIES) / 4).rev().map(|number| 4 * number);
        let temporaries = aligned.find(is_free).unwrap_or_default();
        Args { word, temporaries, next: 0, used: Vec::new() }
    }

    /// A register that holds a value only within the instructions that stand for one: it has the number of one that the
    /// instruction does not name, and another is put in its place at the end.
    pub(super) fn temporary(&self, number: u8) -> Reg {
        Reg(self.temporaries + number)
    }

    /// A predicate that holds a value only within the instructions that stand for one, which keep its own in the temporary
    /// register of that number.
    pub(super) fn borrow(&self, number: u8) -> Borrowed {
        Borrowed::of(self.word, self.temporary(number))
    }

    /// Whether a predicate of a lane is the guard.
    pub(super) fn is_guard(&self, pred: Pred) -> bool {
        pred != Pred::PT && guard_of(self.word).pred == pred
    }

    /// Whether the instruction has a modifier, which then counts as understood.
    pub(super) fn has(&mut self, modifier: &'static str) -> bool {
        let has = self.word.has(modifier);
        if has {
            self.used.push(modifier);
        }
        has
    }

    /// The first of these modifiers that the instruction has, with what it stands for.
    pub(super) fn pick<T: Copy>(&mut self, list: &[(&'static str, T)]) -> Option<T> {
        let found = list.iter().find(|(modifier, _)| self.word.has(modifier))?;
        self.used.push(found.0);
        Some(found.1)
    }

    /// What the instruction's modifiers name, in their order.
    pub(super) fn all<T: Copy>(&mut self, list: &[(&'static str, T)]) -> Vec<T> {
        let of = |modifier: &&str| list.iter().find(|(name, _)| name == modifier).copied();
        let found: Vec<(&'static str, T)> = self.word.modifiers.iter().filter_map(of).collect();
        self.used.extend(found.iter().map(|(name, _)| *name));
        found.into_iter().map(|(_, value)| value).collect()
    }

    /// Fails if an operand or a modifier was not understood.
    pub(super) fn finish(&self) -> Result<(), Refusal> {
        let unknown = |m: &&&str| !self.used.contains(m) && !WITHOUT_EFFECT.contains(m);
        if let Some(modifier) = self.word.modifiers.iter().find(unknown) {
            return Err(format!("the modifier .{modifier} is not known of it"));
        }
        match self.word.operands.get(self.next) {
            Some(_) => Err("it has more operands than are known of it".into()),
            None => Ok(()),
        }
    }

    /// All operands that have not been taken.
    pub(super) fn rest(&self) -> &'a [Theirs] {
        &self.word.operands[self.next.min(self.word.operands.len())..]
    }

    /// The name that the second operand from here is, if it is one.
    pub(super) fn peek_second(&self) -> Option<&'static str> {
        match self.word.operands.get(self.next + 1)?.value {
            Value::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn peek(&self) -> Option<&'a Theirs> {
        self.word.operands.get(self.next)
    }

    pub(super) fn take(&mut self) -> Result<&'a Theirs, Refusal> {
        let operand = self.peek().ok_or("an operand is missing")?;
        self.next += 1;
        Ok(operand)
    }

    /// Leaves out so many operands.
    pub(super) fn skip(&mut self, count: usize) {
        self.next += count;
    }

    /// Takes the destination register.
    pub(super) fn dst(&mut self, inst: &mut Inst) -> Result<(), Refusal> {
        match self.take()?.value {
            Value::Register(number) => inst.dst = register(number),
            Value::Uniform(number) => inst.udst = self.uniform(number),
            _ => return Err("its destination is no register".into()),
        }
        Ok(())
    }

    /// The uniform register of a number.
    pub(super) fn uniform(&self, number: u8) -> UniformReg {
        if number == self.word.uniform_zero { UniformReg::URZ } else { UniformReg(number) }
    }

    /// Takes a destination predicate, if one is next.
    pub(super) fn pred_dst(&mut self) -> Option<Pred> {
        let pred = pred(&self.peek()?.value)?;
        self.next += 1;
        Some(pred)
    }

    /// Takes the only destination predicate, if one is next.
    pub(super) fn only_pred_dst(&mut self, inst: &mut Inst) {
        if let Some(pred) = self.pred_dst() {
            inst.pdst[0] = pred;
        }
    }

    /// Takes a destination predicate, if one is next, which has to be absent or to ignore what is written.
    pub(super) fn no_pred_dst(&mut self, why: &str) -> Result<(), Refusal> {
        match self.pred_dst() {
            Some(pred) if !pred.is_true() => Err(why.into()),
            _ => Ok(()),
        }
    }

    /// Takes the destination predicates that are next, at most two.
    pub(super) fn pred_dsts(&mut self, inst: &mut Inst) {
        for place in &mut inst.pdst {
            match self.pred_dst() {
                Some(pred) => *place = pred,
                None => break,
            }
        }
    }

    /// Takes a predicate that is read; true if there is none.
    pub(super) fn pred_src(&mut self) -> PredSrc {
        self.maybe_pred_src().unwrap_or(PredSrc::TRUE)
    }

    /// Takes a predicate that is read, if one is next.
    pub(super) fn maybe_pred_src(&mut self) -> Option<PredSrc> {
        let operand = self.peek()?;
        let pred = pred(&operand.value)?;
        self.next += 1;
        Some(PredSrc { pred, not: operand.not })
    }

    /// Takes a source of one word.
    pub(super) fn src(&mut self) -> Result<Src, Refusal> {
        let operand = self.take()?;
        if !operand.suffix.is_empty() {
            return Err(format!("the part .{} of a register is not known of it", operand.suffix));
        }
        self.source(operand)
    }

    /// Takes a source of which a part is named; gives the part too.
    pub(super) fn part(&mut self) -> Result<(Src, &'static str), Refusal> {
        let operand = self.take()?;
        Ok((self.source(operand)?, operand.suffix))
    }

    fn source(&self, operand: &Theirs) -> Result<Src, Refusal> {
        let place = match operand.value {
            Value::Register(number) => Operand::Reg(register(number)),
            Value::Uniform(number) if number == self.word.uniform_zero => Operand::Reg(Reg::RZ),
            Value::Uniform(number) => Operand::Uniform(UniformReg(number)),
            Value::Constant { bank, register: None | Some(RZ), uniform, offset, .. }
                if uniform.is_none_or(|reg| reg == self.word.uniform_zero) =>
            {
                Operand::Const { bank, offset: place_in_bank(offset)? }
            }
            Value::Integer(value) => Operand::Imm(value as u32),
            Value::Single(bits) => Operand::Imm(bits),
            Value::Double(bits) if bits as u32 == 0 => Operand::Imm((bits >> 32) as u32),
            _ => return Err("an operand is of a kind that is not known of it".into()),
        };
        Ok(Src { operand: place, neg: operand.negate || operand.complement, abs: operand.absolute })
    }

    /// Takes all remaining sources in order.
    pub(super) fn srcs<const N: usize>(&mut self, inst: &mut Inst) -> Result<(), Refusal> {
        for place in 0..N {
            inst.src[place] = self.src()?;
        }
        Ok(())
    }

    /// Takes an integer.
    pub(super) fn integer(&mut self) -> Result<i64, Refusal> {
        match self.take()?.value {
            Value::Integer(value) => Ok(value),
            _ => Err("an operand is no literal".into()),
        }
    }

    /// Takes an address.
    pub(super) fn address(&mut self) -> Result<Address, Refusal> {
        let Value::Address { register: reg, width, uniform, offset, .. } = self.take()?.value else {
            return Err("an operand is no address".into());
        };
        let base = uniform.map_or(UniformReg::URZ, |number| self.uniform(number));
        Ok(Address { register: reg.map_or(Reg::RZ, register), width, base, offset })
    }
}

/// The place in a bank that an offset names. nvdisasm prints offsets from 32 KiB on as negative numbers of 16 bits.
pub(super) fn place_in_bank(offset: i32) -> Result<u16, Refusal> {
    let place = if (-0x8000..0).contains(&offset) { offset + 0x1_0000 } else { offset };
    u16::try_from(place).map_err(|_| "its constant lies beyond 64 KiB".into())
}

/// The register that an operand names.
fn register_of(operand: &Theirs) -> Option<u8> {
    match operand.value {
        Value::Register(number) => Some(number),
        Value::Address { register, .. } | Value::Constant { register, .. } => register,
        _ => None,
    }
}

fn register(number: u8) -> Reg {
    if number == RZ { Reg::RZ } else { Reg(number) }
}

fn pred(value: &Value) -> Option<Pred> {
    match *value {
        Value::Predicate(PT) | Value::UniformPredicate(PT) => Some(Pred::PT),
        Value::Predicate(number) => Some(Pred(number)),
        Value::UniformPredicate(number) => Some(Pred::uniform(number)),
        _ => None,
    }
}
