//! The affine warp's registers, as far as one warp of the batch is concerned, and its instructions on them.
//!
//! A register holds several tuples where lanes of the warp went different ways, each for some lanes (section 4.6); a
//! predicate is a bit per lane. A uniform register holds one tuple for all lanes. Values follow from indices, parameters and
//! constants alone.

use super::sums::{Carry, high_of_sum};
use super::tuple::{Extents, Place, Tuple, Word};
use std::collections::VecDeque;
use std::sync::Arc;
use trace_format::isa::{Inst, Op, Operand, Pc, Pred, PredSrc, Reg, Sign, SpecialReg, UniformReg};
use trace_format::semantics::{Banks, Code, Warp, execute};
use warplab_analysis::affine::{is_complement, is_half_of_sum, is_sign_word, known_carry, modulus};
use warplab_technique::Row;

/// A kernel's code and constants, and a place to evaluate single instructions.
#[derive(Clone, Debug)]
pub(super) struct Evaluator {
    insts: Arc<[Inst]>,
    code: Arc<Code>,
    banks: Arc<Banks>,
    extents: Extents,
    scratch: Warp,
    parts: Vec<u32>,
    /// Operations whose results no tuple holds.
    pub expanded: u64,
    /// Results of mod-type.
    pub moduli: u64,
    /// Greatest number of tuples of a register in a warp.
    pub most_tuples: u64,
}

/// How a predicate computation is expanded (section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Comparison {
    /// Both operands are the same in all threads of a block.
    #[default]
    Scalar,
    /// The first and the last lane agree.
    Ends,
    /// All lanes are compared.
    All,
}

/// What the affine warp has for a warp of an instruction of its stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub pc: u32,
    /// Lanes in which it takes effect.
    pub exec: u32,
    /// How many rows it has: its results, or the words of the address.
    pub rows: u8,
    /// Number of the first one among the rows of its warp.
    pub first_row: u32,
    /// Lanes in which its destination predicates are true.
    pub preds: [u32; 2],
    /// The uniform registers that are added to its address.
    pub base: u64,
    pub comparison: Comparison,
}

impl Event {
    /// An instruction in some lanes, not yet executed.
    pub(super) const fn new(pc: u32, exec: u32) -> Event {
        Event { pc, exec, rows: 0, first_row: 0, preds: [0; 2], base: 0, comparison: Comparison::Scalar }
    }
}

type Pieces = Vec<(u32, Word)>;

/// The registers for one warp.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    pub place: Place,
    /// Those of lanes, then the uniform ones.
    regs: Vec<Pieces>,
    first_uniform: usize,
    preds: [u32; Pred::ALL],
    carries: [Vec<(u32, Carry)>; Pred::ALL],
}

impl Evaluator {
    pub(super) fn new(insts: &[Inst], code: Code, banks: Banks, extents: Extents) -> Evaluator {
        let scratch = Warp::new(&code);
        Evaluator {
            insts: insts.into(),
            code: Arc::new(code),
            banks: Arc::new(banks),
            extents,
            scratch,
            parts: Vec::new(),
            expanded: 0,
            moduli: 0,
            most_tuples: 0,
        }
    }

    /// An instruction, for faults.
    #[cfg(test)]
    pub(super) fn inst_mut(&mut self, pc: usize) -> &mut Inst {
        &mut Arc::make_mut(&mut self.insts)[pc]
    }

    /// Predicates that an instruction writes, one bit each.
    pub(super) fn predicates_of(&self, pc: u32) -> u16 {
        self.insts[pc as usize].all_dst_preds().fold(0, |all, pred| all | 1 << (pred.0 & 15))
    }

    /// The operand as a literal or constant of one or two words.
    fn constant(&self, inst: &Inst, i: usize) -> Option<u64> {
        let two = inst.info().src_regs[i] >= 2;
        match inst.src[i].operand {
            Operand::None => Some(0),
            Operand::Uniform(reg) => reg.is_zero().then_some(0),
            Operand::Reg(reg) => reg.is_zero().then_some(0),
            Operand::Imm(value) if two => {
                let [low, high] = inst.op.literal_pair(value);
                Some(u64::from(low) | u64::from(high) << 32)
            }
            Operand::Imm(value) => Some(u64::from(value)),
            Operand::Const { bank, offset } => {
                let low = u64::from(self.banks.word(bank, usize::from(offset)));
                let high = if two { self.banks.word(bank, usize::from(offset) + 4) } else { 0 };
                Some(low | u64::from(high) << 32)
            }
        }
    }
}

impl Lanes {
    /// A warp's registers before its first instruction.
    pub(super) fn new(place: Place, (registers, uniforms): (usize, usize), threads: u32) -> Lanes {
        let zero = |lanes: u32| vec![(lanes, Word::Low(Tuple::constant(0)))];
        let all = (0..registers).map(|_| zero(threads)).chain((0..uniforms).map(|_| zero(u32::MAX)));
        Lanes {
            place,
            regs: all.collect(),
            first_uniform: registers,
            preds: Pred::AT_START,
            carries: Default::default(),
        }
    }

    /// Place of a uniform register among the registers.
    fn of_uniform(&self, reg: UniformReg) -> usize {
        self.first_uniform + usize::from(reg.0)
    }

    /// Place of the first register of an operand, if it is in registers.
    fn of_source(&self, inst: &Inst, i: usize) -> Option<usize> {
        match inst.src[i].operand {
            Operand::Reg(reg) if !reg.is_zero() => Some(reg.index()),
            Operand::Uniform(reg) if !reg.is_zero() => Some(self.of_uniform(reg)),
            _ => None,
        }
    }

    /// Places of the registers that an instruction writes.
    fn of_results(&self, inst: &Inst) -> impl Iterator<Item = usize> + use<> {
        let first_uniform = self.first_uniform;
        let uniforms = (!inst.udst.is_zero()).then(|| inst.dst_uniforms()).into_iter().flatten();
        inst.dst_regs().map(Reg::index).chain(uniforms.map(move |reg| first_uniform + usize::from(reg.0)))
    }

    /// Places of the registers that an instruction reads.
    fn of_sources(&self, inst: &Inst) -> impl Iterator<Item = usize> {
        let has_uniforms = self.regs.len() > self.first_uniform;
        let uniforms = has_uniforms.then(|| inst.src_uniforms()).into_iter().flatten();
        inst.src_regs().map(Reg::index).chain(uniforms.map(|reg| self.of_uniform(reg)))
    }

    fn pieces(&self, reg: usize) -> &[(u32, Word)] {
        self.regs.get(reg).map_or(&[], Vec::as_slice)
    }

    /// What all lanes of a mask hold.
    fn piece(&self, reg: usize, mask: u32) -> Option<&Word> {
        self.pieces(reg).iter().find(|(lanes, _)| mask & !lanes == 0).map(|(_, word)| word)
    }

    /// A register's values.
    fn row(&self, reg: usize) -> Row {
        match self.pieces(reg) {
            [(u32::MAX, word)] => word.expand(&self.place),
            pieces => {
                let mut row = Row::ZERO;
                for (lanes, word) in pieces {
                    crate::merge(&mut row, &word.expand(&self.place), *lanes);
                }
                row
            }
        }
    }

    fn write(&mut self, reg: usize, mask: u32, word: Word, evaluator: &mut Evaluator) {
        let Some(pieces) = self.regs.get_mut(reg) else { return };
        pieces.retain_mut(|(lanes, _)| {
            *lanes &= !mask;
            *lanes != 0
        });
        match pieces.iter_mut().find(|(_, held)| *held == word) {
            Some((lanes, _)) => *lanes |= mask,
            None => pieces.push((mask, word)),
        }
        evaluator.most_tuples = evaluator.most_tuples.max(pieces.len() as u64);
    }

    fn pred(&self, source: PredSrc) -> u32 {
        let lanes = self.preds[usize::from(source.pred.0 & 15)];
        if source.not { !lanes } else { lanes }
    }

    /// One word of an operand: a tuple whose lower word it is, not yet negated.
    fn word(&self, evaluator: &Evaluator, inst: &Inst, i: usize, mask: u32) -> Option<Tuple> {
        if let Some(value) = evaluator.constant(inst, i) {
            return Some(Tuple::constant(value));
        }
        match self.piece(self.of_source(inst, i)?, mask)? {
            Word::Low(tuple) => Some(*tuple),
            _ => None,
        }
    }

    /// An operand of one word as it is.
    fn held(&self, evaluator: &Evaluator, inst: &Inst, i: usize, mask: u32) -> Option<Word> {
        match evaluator.constant(inst, i) {
            Some(value) => Some(Word::Low(Tuple::constant(value & 0xFFFF_FFFF))),
            None => self.piece(self.of_source(inst, i)?, mask).cloned(),
        }
    }

    /// An operand of two words.
    fn pair(&self, evaluator: &Evaluator, inst: &Inst, i: usize, mask: u32) -> Option<Tuple> {
        if let Some(value) = evaluator.constant(inst, i) {
            return Some(Tuple::constant(value));
        }
        let first = self.of_source(inst, i)?;
        let Word::Low(low) = self.piece(first, mask)? else { return None };
        self.piece(first + 1, mask)?.join(*low, &evaluator.extents)
    }

    /// The operand, negated as the instruction says.
    fn signed(&self, evaluator: &Evaluator, inst: &Inst, i: usize, mask: u32) -> Option<Tuple> {
        let word = self.word(evaluator, inst, i, mask)?;
        Some(if inst.src[i].neg { word.negated() } else { word })
    }

    /// Parts of a mask in which every source has one tuple.
    fn parts(&self, inst: &Inst, exec: u32, parts: &mut Vec<u32>) {
        parts.clear();
        parts.push(exec);
        for reg in self.of_sources(inst) {
            let pieces = self.pieces(reg);
            if pieces.iter().any(|(lanes, _)| exec & !lanes == 0) {
                continue;
            }
            let before = std::mem::take(parts);
            let cut = before.iter().flat_map(|part| pieces.iter().map(move |(lanes, _)| part & lanes));
            parts.extend(cut.filter(|part| *part != 0));
        }
        for pred in inst.all_src_preds() {
            let carries = &self.carries[usize::from(pred.0 & 15)];
            if carries.len() > 1 {
                let before = std::mem::take(parts);
                for part in before {
                    let mut rest = part;
                    for (lanes, _) in carries {
                        if part & lanes != 0 {
                            parts.push(part & lanes);
                            rest &= !lanes;
                        }
                    }
                    if rest != 0 {
                        parts.push(rest);
                    }
                }
            }
        }
    }

    /// Executes an instruction of the affine stream for this warp in some lanes; its rows are added to `rows`.
    pub(super) fn step(
        &mut self,
        evaluator: &mut Evaluator,
        (pc, exec): (u32, u32),
        rows: &mut VecDeque<Row>,
    ) -> Event {
        let mut event = Event::new(pc, exec);
        let inst = evaluator.insts[pc as usize];
        let inst = &inst;
        if inst.kind().is_memory() {
            let span = inst.src_span(0).into_iter().flat_map(trace_format::isa::RegSpan::iter);
            for reg in span.take(2) {
                rows.push_back(self.row(reg.index()));
                event.rows += 1;
            }
            if !inst.base.is_zero() {
                event.base = self.base(inst);
            }
            return event;
        }
        if inst.kind() != trace_format::isa::Kind::Pure {
            return event;
        }
        if exec != 0 {
            let mut parts = std::mem::take(&mut evaluator.parts);
            self.parts(inst, exec, &mut parts);
            if inst.all_dst_preds().next().is_some() && self.of_results(inst).next().is_none() {
                event.comparison = self.comparison(inst, &parts);
            }
            for part in &parts {
                self.compute(evaluator, inst, pc, *part);
            }
            evaluator.parts = parts;
        }
        for reg in self.of_results(inst).take(2) {
            rows.push_back(self.row(reg));
            event.rows += 1;
        }
        for (bits, pred) in event.preds.iter_mut().zip(inst.all_dst_preds()) {
            *bits = self.materialized(pred.0);
        }
        if event.comparison == Comparison::Ends {
            let mixed = inst.all_dst_preds().any(|pred| {
                let bits = self.preds[usize::from(pred.0 & 15)] & exec;
                bits != 0 && bits != exec
            });
            if mixed {
                event.comparison = Comparison::All;
            }
        }
        event
    }

    /// What the uniform registers hold that are added to an address.
    fn base(&self, inst: &Inst) -> u64 {
        let word = |reg: UniformReg| u64::from(self.row(self.of_uniform(reg)).0[0]);
        inst.base_uniforms().enumerate().fold(0, |all, (place, reg)| all | word(reg) << (32 * place))
    }

    /// Whether a comparison's operands are the same in all threads of a block.
    fn comparison(&self, inst: &Inst, parts: &[u32]) -> Comparison {
        let of_block =
            |reg: usize| parts.len() == 1 && self.piece(reg, parts[0]).is_some_and(Word::is_of_block);
        if self.of_sources(inst).all(of_block) { Comparison::Scalar } else { Comparison::Ends }
    }

    /// Executes an instruction in lanes in which every source has one tuple.
    fn compute(&mut self, evaluator: &mut Evaluator, inst: &Inst, pc: u32, mask: u32) {
        // A uniform result is that of the whole warp.
        let active = mask;
        let mask = if inst.writes_uniform() { u32::MAX } else { mask };
        match inst.op {
            Op::R2ur {} => return self.spread_first(evaluator, inst, active),
            Op::Sel {} => return self.select(evaluator, inst, pc, mask),
            Op::Imnmx { sign, max } => {
                let (Some(a), Some(b)) =
                    (self.signed(evaluator, inst, 0, mask), self.signed(evaluator, inst, 1, mask))
                else {
                    return self.generic(evaluator, inst, pc, mask);
                };
                let (left, right) = (self.place.expand(&a), self.place.expand(&b));
                let less = |lane: usize| match sign {
                    Sign::S32 => (left[lane] as i32) < right[lane] as i32,
                    Sign::U32 => (left[lane] as u32) < right[lane] as u32,
                };
                let lanes =
                    (0..32).filter(|lane| less(*lane) != max.0).fold(0u32, |all, lane| all | 1 << lane);
                self.choose(evaluator, inst, mask, lanes, [Word::Low(a), Word::Low(b)]);
                return;
            }
            Op::Iabs {} => {
                let Some(a) = self.signed(evaluator, inst, 0, mask) else {
                    return self.generic(evaluator, inst, pc, mask);
                };
                let values = self.place.expand(&a);
                let lanes =
                    (0..32).filter(|lane| values[*lane] as i32 >= 0).fold(0u32, |all, lane| all | 1 << lane);
                self.choose(evaluator, inst, mask, lanes, [Word::Low(a), Word::Low(a.negated())]);
                return;
            }
            _ => {}
        }
        match self.linear(evaluator, inst, mask) {
            Some((first, second)) => {
                for (word, reg) in [Some(first), second].into_iter().flatten().zip(self.of_results(inst)) {
                    if matches!(&word, Word::Low(tuple) | Word::High(tuple) if tuple.is_modulus()) {
                        evaluator.moduli += 1;
                    }
                    self.write(reg, mask, word, evaluator);
                }
            }
            None => self.generic(evaluator, inst, pc, mask),
        }
    }

    /// One of two words in each lane.
    fn choose(&mut self, evaluator: &mut Evaluator, inst: &Inst, mask: u32, first: u32, words: [Word; 2]) {
        let [one, other] = words;
        let Some(reg) = self.of_results(inst).next() else { return };
        if mask & first != 0 {
            self.write(reg, mask & first, one, evaluator);
        }
        if mask & !first != 0 {
            self.write(reg, mask & !first, other, evaluator);
        }
    }

    /// The first active lane's value, in all lanes.
    fn spread_first(&mut self, evaluator: &mut Evaluator, inst: &Inst, active: u32) {
        let lane = active.trailing_zeros() & 31;
        let word = match self.of_source(inst, 0).map(|reg| self.piece(reg, 1 << lane).cloned()) {
            Some(Some(word)) if word.is_of_block() => word,
            Some(Some(word)) => {
                evaluator.expanded += 1;
                Word::Lanes(Box::new(Row::splat(word.expand(&self.place).0[lane as usize])))
            }
            Some(None) => return,
            None => Word::Low(Tuple::constant(evaluator.constant(inst, 0).unwrap_or(0))),
        };
        for reg in self.of_results(inst) {
            self.write(reg, u32::MAX, word.clone(), evaluator);
        }
    }

    fn select(&mut self, evaluator: &mut Evaluator, inst: &Inst, pc: u32, mask: u32) {
        let first = self.pred(inst.psrc[0]);
        let word = |i: usize| {
            let held = self.held(evaluator, inst, i, mask)?;
            match (inst.src[i].neg, held) {
                (false, held) => Some(held),
                (true, Word::Low(tuple)) => Some(Word::Low(tuple.negated())),
                _ => None,
            }
        };
        match (word(0), word(1)) {
            (Some(one), Some(other)) => self.choose(evaluator, inst, mask, first, [one, other]),
            _ => self.generic(evaluator, inst, pc, mask),
        }
    }

    /// Operations on tuples. Notes what a carry is of.
    fn linear(&mut self, evaluator: &Evaluator, inst: &Inst, mask: u32) -> Option<(Word, Option<Word>)> {
        let low = |tuple: Tuple| Some((Word::Low(tuple), None));
        let one = |word: Word| Some((word, None));
        let word = |i: usize| self.word(evaluator, inst, i, mask);
        let signed = |i: usize| self.signed(evaluator, inst, i, mask);
        match inst.op {
            Op::Mov {} => one(self.held(evaluator, inst, 0, mask)?),
            Op::MovPair {} => match evaluator.constant(inst, 0) {
                Some(pair) => {
                    Some((Word::Low(Tuple::constant(pair)), Some(Word::high(Tuple::constant(pair)))))
                }
                None => {
                    let first = self.of_source(inst, 0)?;
                    Some((self.piece(first, mask)?.clone(), Some(self.piece(first + 1, mask)?.clone())))
                }
            },
            Op::S2r { sr } => low(Tuple::axis(axis(sr)?)),
            Op::Iadd3 { x } if !x.0 => {
                let sum = signed(0)?.plus(signed(1)?)?.plus(signed(2)?)?;
                let terms = [word(0)?, word(1)?, word(2)?];
                self.note_carry(inst, mask, Carry { terms, negated: inst.src.map(|src| src.neg) });
                low(sum)
            }
            Op::Iadd3 { .. } => {
                let of = self.carry(inst.psrc[0], mask)?.terms;
                let mut sum = Tuple::constant(0);
                for (i, low) in of.into_iter().enumerate() {
                    let pair = self.held(evaluator, inst, i, mask)?.join(low, &evaluator.extents)?;
                    sum = sum.plus(if inst.src[i].neg { pair.negated() } else { pair })?;
                }
                one(Word::high(sum))
            }
            Op::Iadd3Carries { x } if !x.0 && is_half_of_sum(inst) => {
                let terms = [word(0)?, word(1)?, word(2)?];
                // Of three terms there may be two carries.
                let absent = |i: usize| terms[i].as_constant() == Some(0) && !inst.src[i].neg;
                (0..3).any(absent).then_some(())?;
                let sum = signed(0)?.plus(signed(1)?)?.plus(signed(2)?)?;
                self.note_carry(inst, mask, Carry { terms, negated: inst.src.map(|src| src.neg) });
                low(sum)
            }
            Op::Iadd3Carries { x } if x.0 && inst.pdst == [Pred::PT; 2] && known_carry(inst).is_some() => {
                // The complement of a word is its negative less one.
                let term = |i: usize| {
                    let less = u64::from(inst.src[i].neg).wrapping_neg();
                    signed(i)?.plus(Tuple::constant(less))
                };
                low(term(0)?.plus(term(1)?)?.plus(term(2)?)?.plus(Tuple::constant(known_carry(inst)?))?)
            }
            Op::Iadd3Carries { .. } if is_half_of_sum(inst) => {
                let carry = self.carry(inst.psrc[0], mask)?;
                let mut terms = Vec::with_capacity(3);
                for i in 0..3 {
                    terms.push((self.held(evaluator, inst, i, mask)?, inst.src[i].neg));
                }
                one(Word::high(high_of_sum(&carry, &terms, &evaluator.extents)?))
            }
            Op::ImadX {} => {
                // A product with zero or one.
                let carry = self.carry(inst.psrc[0], mask)?;
                let mut terms = vec![(self.held(evaluator, inst, 2, mask)?, inst.src[2].neg)];
                let factors =
                    [0, 1].map(|i| self.scalar(evaluator, inst, i, mask).filter(|_| !inst.src[i].neg));
                match factors {
                    [Some(0), _] | [_, Some(0)] => {}
                    [Some(1), _] if !inst.src[1].neg => {
                        terms.push((self.held(evaluator, inst, 1, mask)?, false));
                    }
                    [_, Some(1)] if !inst.src[0].neg => {
                        terms.push((self.held(evaluator, inst, 0, mask)?, false));
                    }
                    _ => return None,
                }
                one(Word::high(high_of_sum(&carry, &terms, &evaluator.extents)?))
            }
            Op::Imad {} if word(2).is_none() && !inst.src[2].neg => {
                // A move of an upper word.
                let is_zero = |i: usize| self.scalar(evaluator, inst, i, mask) == Some(0);
                (is_zero(0) || is_zero(1)).then_some(())?;
                one(self.held(evaluator, inst, 2, mask)?)
            }
            Op::Imad {} => low(product(signed(0)?, signed(1)?)?.plus(signed(2)?)?),
            Op::ImadWide { sign } => {
                let wide = |i: usize| signed(i)?.widened(sign == Sign::S32, &evaluator.extents);
                let sum = product(wide(0)?, wide(1)?)?.plus(self.pair(evaluator, inst, 2, mask)?)?;
                Some((Word::Low(sum), Some(Word::high(sum))))
            }
            Op::Lea { shift } => {
                let shifted = word(0)?.times(1 << (shift.0 & 31));
                let terms = [shifted, word(1)?, Tuple::constant(0)];
                let sum = signed(0)?.times(1 << (shift.0 & 31)).plus(signed(1)?)?;
                self.note_carry(
                    inst,
                    mask,
                    Carry { terms, negated: [inst.src[0].neg, inst.src[1].neg, false] },
                );
                low(sum)
            }
            Op::LeaHi { shift, x } if x.0 && !inst.src.iter().any(|src| src.neg) => {
                let of = self.carry(inst.psrc[0], mask)?.terms;
                let shifted = self.held(evaluator, inst, 2, mask)?.join(word(0)?, &evaluator.extents)?;
                let added = self.held(evaluator, inst, 1, mask)?.join(of[1], &evaluator.extents)?;
                one(Word::high(shifted.times(1 << (shift.0 & 31)).plus(added)?))
            }
            Op::LeaHiSx32 { shift, x } if x.0 && !inst.src.iter().any(|src| src.neg) => {
                let carry = self.carry(inst.psrc[0], mask)?;
                let extended = word(0)?.widened(true, &evaluator.extents)?;
                let added = self.held(evaluator, inst, 1, mask)?;
                let sum = |term: Tuple| {
                    let terms = [(Word::high(term), false), (added.clone(), false)];
                    high_of_sum(&carry, &terms, &evaluator.extents)
                };
                // Shifted by one bit, the upper word is that of the extended word itself, which code uses.
                let own = || if shift.0 == 1 { sum(extended) } else { None };
                one(Word::high(sum(extended.times(1 << (shift.0 & 31))).or_else(own)?))
            }
            Op::ShfL { wide, wrap, high } if !wrap.0 => {
                let count = word(1)?.as_constant()? as u32;
                let factor = |limit: u32| if count < limit { 1u64 << count } else { 0 };
                match (wide.0, high.0) {
                    (false, false) => low(word(0)?.times(factor(32))),
                    (true, false) => low(word(0)?.times(factor(64))),
                    (_, true) if count < 32 => {
                        let pair = self.held(evaluator, inst, 2, mask)?.join(word(0)?, &evaluator.extents)?;
                        one(Word::high(pair.times(1 << count)))
                    }
                    _ => None,
                }
            }
            Op::ShfR { .. } if is_sign_word(inst) => {
                one(Word::high(word(2)?.widened(true, &evaluator.extents)?))
            }
            Op::Lop3 { .. } if inst.pdst[0].is_true() => match modulus(inst) {
                Some((of, bits)) => low(word(of)?.modulo(bits)?),
                None if is_complement(inst) => low(word(0)?.negated().plus(Tuple::constant(u64::MAX))?),
                None => None,
            },
            _ => None,
        }
    }

    /// The scalar that an operand of one word is, not yet negated.
    fn scalar(&self, evaluator: &Evaluator, inst: &Inst, i: usize, mask: u32) -> Option<u32> {
        self.word(evaluator, inst, i, mask)?.as_constant().map(|value| value as u32)
    }

    fn note_carry(&mut self, inst: &Inst, mask: u32, carry: Carry) {
        let Some(pred) = inst.all_dst_preds().next() else { return };
        let carries = &mut self.carries[usize::from(pred.0 & 15)];
        forget(carries, mask);
        carries.push((mask, carry));
    }

    fn carry(&self, source: PredSrc, mask: u32) -> Option<Carry> {
        let held = self.carries[usize::from(source.pred.0 & 15)].iter().find(|(lanes, _)| mask & !lanes == 0);
        held.filter(|_| !source.not).map(|(_, carry)| *carry)
    }

    /// Any other instruction: of scalars a single lane's result, otherwise its values lane by lane.
    fn generic(&mut self, evaluator: &mut Evaluator, inst: &Inst, pc: u32, mask: u32) {
        let mut scalar = !matches!(inst.op, Op::S2r { .. });
        // Uniform registers have rows of their own behind those of the lanes.
        let own_rows = evaluator.code.uniform_rows().start;
        let first_uniform = self.first_uniform;
        let row_of = |reg: usize| {
            let row = if reg < first_uniform { reg } else { reg - first_uniform + own_rows };
            row as u16
        };
        for reg in self.of_sources(inst) {
            let word = self.piece(reg, mask);
            scalar &= word.is_some_and(|word| word.as_constant().is_some());
            let row = word.map_or(Row::ZERO, |word| word.expand(&self.place));
            evaluator.scratch.write_row(row_of(reg), &row, u32::MAX);
        }
        for pred in inst.all_src_preds() {
            let bits = self.materialized(pred.0);
            scalar &= bits & mask == 0 || bits & mask == mask;
            evaluator.scratch.write_pred(pred.0, bits, u32::MAX);
        }
        let code = Arc::clone(&evaluator.code);
        execute(&code, code.inst(Pc(pc)), &mut evaluator.scratch, mask);
        for pred in inst.all_dst_preds() {
            let bits = evaluator.scratch.pred(pred.0) & mask;
            let held = &mut self.preds[usize::from(pred.0 & 15)];
            *held = *held & !mask | bits;
            forget(&mut self.carries[usize::from(pred.0 & 15)], mask);
        }
        let lane = mask.trailing_zeros() as usize & 31;
        for reg in self.of_results(inst) {
            let row = *evaluator.scratch.row(row_of(reg));
            let word = if scalar {
                Word::Low(Tuple::constant(u64::from(row.0[lane])))
            } else {
                evaluator.expanded += 1;
                Word::Lanes(Box::new(row))
            };
            self.write(reg, mask, word, evaluator);
        }
    }

    /// A predicate's bits, carries worked out.
    fn materialized(&self, pred: u8) -> u32 {
        let mut bits = self.preds[usize::from(pred & 15)];
        for (lanes, of) in &self.carries[usize::from(pred & 15)] {
            let rows = of.terms.map(|tuple| self.place.expand(&tuple));
            let carry = |lane: usize| of.bit([rows[0][lane], rows[1][lane], rows[2][lane]]);
            let carries = (0..32).fold(0u32, |all, lane| all | carry(lane) << lane);
            bits = bits & !lanes | carries & lanes;
        }
        bits
    }
}

/// The product, if one of the factors is a scalar.
fn product(a: Tuple, b: Tuple) -> Option<Tuple> {
    match (a.as_constant(), b.as_constant()) {
        (Some(factor), _) => Some(b.times(factor)),
        (_, Some(factor)) => Some(a.times(factor)),
        _ => None,
    }
}

fn forget(carries: &mut Vec<(u32, Carry)>, mask: u32) {
    carries.retain_mut(|(lanes, _)| {
        *lanes &= !mask;
        *lanes != 0
    });
}

fn axis(register: SpecialReg) -> Option<usize> {
    use SpecialReg as S;
    [S::TidX, S::TidY, S::TidZ, S::CtaidX, S::CtaidY, S::CtaidZ].iter().position(|known| *known == register)
}
