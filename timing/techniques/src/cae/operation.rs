//! What an affine unit does with an instruction: decoded once per kernel. An instruction whose operands are all scalars
//! (a stride of 0) has scalar results. The sum of tuples is a tuple, and so is the product of a tuple and a scalar
//! (DAC, section 3); carries and 64-bit products are those of the whole warp only if no lane differs from the others,
//! which follows from its two ends, because tuples change in one direction.

use super::Lost;
use super::tuples::Tuple;
use trace_format::isa::{
    Extended, High, ICmp, Inst, Kind, Lanes, Op, Operand, Pred, PredSrc, Sign, SpecialReg, Unit, Wide, Wrap,
    space,
};
use warplab_technique::program::{Path, Program, TimedInst};

/// How the strides of results follow from those of operands that are not all scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// No affine unit has the operation.
    Never,
    /// All operands have to be scalars.
    Scalar,
    /// A thread index.
    Index(usize),
    /// The lane's number.
    Lane,
    /// The sum of the operands; `extended` adds a carry and complements negated operands.
    Sum { extended: bool },
    /// a * b + c.
    Product,
    /// a * b + c, where the product and c have 64 bits.
    WideProduct { signed: bool },
    /// (a << shift) + b.
    ShiftedSum(u32),
    /// a << b.
    Shift,
    /// a.
    Copy,
    /// a or b, by a predicate.
    Select,
    /// A comparison.
    Compare { compare: ICmp, signed: bool },
}

/// A word of a source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A register.
    Register(u8),
    /// A literal, or a constant that is known when the kernel starts.
    Known(u32),
    /// Another constant: the same for all lanes.
    Constant,
}

/// An instruction, decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub rule: Rule,
    /// The words of the sources, low word first.
    sources: [[Word; 2]; 3],
    negated: [bool; 3],
    /// Whether a carry leaves the sum.
    carries: bool,
}

/// The kernel's launch, as far as constants depend on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants<'a> {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub local_bytes: u32,
    pub dynamic_shared_bytes: u32,
    pub parameters: &'a [u8],
}

impl Constants<'_> {
    /// A word of a constant bank, if it is known when the kernel starts.
    fn word(&self, bank: u8, offset: u16) -> Word {
        let index = |base: u16| usize::from((offset - base) / 4);
        match offset {
            _ if bank != space::BANK_PARAM || !offset.is_multiple_of(4) => Word::Constant,
            space::PARAM_BASE.. => {
                let at = usize::from(offset - space::PARAM_BASE);
                let byte = |i: usize| self.parameters.get(at + i).copied().unwrap_or(0);
                Word::Known(u32::from_le_bytes(std::array::from_fn(byte)))
            }
            space::PARAM_NTID..space::PARAM_NCTAID => Word::Known(self.block[index(space::PARAM_NTID)]),
            space::PARAM_NCTAID..0x18 => Word::Known(self.grid[index(space::PARAM_NCTAID)]),
            space::PARAM_STACK => Word::Known(self.local_bytes),
            space::PARAM_DYNAMIC_SHARED => Word::Known(self.dynamic_shared_bytes),
            _ => Word::Constant,
        }
    }
}

/// Decodes the instructions of a kernel; with `floats`, affine units also compute scalars of floating point.
pub(super) fn operations(program: &Program, constants: &Constants<'_>, floats: bool) -> Vec<Operation> {
    program.insts.iter().map(|timed| operation(timed, constants, floats)).collect()
}

fn operation(timed: &TimedInst, constants: &Constants<'_>, floats: bool) -> Operation {
    let inst = &timed.inst;
    // The affine units have no way to the uniform registers of machine code.
    let own = timed.uniform_hazards == 0;
    let rule = if timed.path == Path::Alu && own { rule(inst, floats) } else { Rule::Never };
    let words = |source: usize| {
        let widens = matches!(inst.op, Op::ImadWide { sign: Sign::S32 });
        match inst.src[source].operand {
            Operand::None | Operand::Uniform(_) => [Word::Known(0); 2],
            Operand::Reg(reg) if reg.is_zero() => [Word::Known(0); 2],
            Operand::Reg(reg) => [Word::Register(reg.0), Word::Register(reg.0.saturating_add(1))],
            Operand::Imm(low) => {
                [Word::Known(low), Word::Known(if widens { (low as i32 >> 31) as u32 } else { 0 })]
            }
            Operand::Const { bank, offset } => {
                [constants.word(bank, offset), constants.word(bank, offset.saturating_add(4))]
            }
        }
    };
    Operation {
        rule,
        sources: std::array::from_fn(words),
        negated: inst.src.map(|source| source.neg),
        carries: inst.info().pred_dsts > 0 && inst.pdst[0] != Pred::PT,
    }
}

/// The rule of an instruction.
fn rule(inst: &Inst, floats: bool) -> Rule {
    use SpecialReg as S;
    let info = inst.info();
    if inst.kind() != Kind::Pure || info.lanes != Lanes::Own {
        return Rule::Never;
    }
    match inst.op {
        Op::S2r { sr: S::TidX } => Rule::Index(0),
        Op::S2r { sr: S::TidY } => Rule::Index(1),
        Op::S2r { sr: S::TidZ } => Rule::Index(2),
        Op::S2r { sr: S::LaneId } => Rule::Lane,
        Op::S2r { sr: S::LaneMaskEq | S::LaneMaskLt | S::LaneMaskLe | S::LaneMaskGt | S::LaneMaskGe } => {
            Rule::Never
        }
        Op::S2r { .. } => Rule::Scalar,
        Op::Iadd3 { x: Extended(extended) } => Rule::Sum { extended },
        Op::Imad {} => Rule::Product,
        Op::ImadWide { sign } => Rule::WideProduct { signed: sign == Sign::S32 },
        Op::Lea { shift } => Rule::ShiftedSum(u32::from(shift.0 & 31)),
        Op::ShfL { wide: Wide(false), wrap: Wrap(false), high: High(false) } => Rule::Shift,
        Op::Mov {} => Rule::Copy,
        Op::Sel {} => Rule::Select,
        Op::Isetp { cmp, sign, ex: Extended(false), .. } => {
            Rule::Compare { compare: cmp, signed: sign == Sign::S32 }
        }
        _ if info.unit == Unit::Int => Rule::Scalar,
        _ if info.unit == Unit::Fp32 && floats => Rule::Scalar,
        _ => Rule::Never,
    }
}

/// The operands of an instruction of a warp.
pub(super) trait Operands {
    /// The tuple of a register.
    fn register(&self, reg: u8) -> Option<Tuple>;
    /// The value of a predicate that is the same in every lane; the last one is always true.
    fn predicate(&self, pred: u8) -> Option<bool>;
    /// The strides of the thread indices in the warp.
    fn index_strides(&self) -> [Option<u32>; 3];
}

/// An operand: the value in lane 0, if it is known, and the difference to the next lane.
#[derive(Clone, Copy, Debug)]
struct Value {
    base: Option<u32>,
    stride: u32,
}

impl Value {
    fn negated(self) -> Value {
        Value { base: self.base.map(u32::wrapping_neg), stride: self.stride.wrapping_neg() }
    }

    fn complemented(self) -> Value {
        Value { base: self.base.map(|base| !base), stride: self.stride.wrapping_neg() }
    }

    /// The values in the first and the last lane as whole numbers, if it passes from one to the other without a wrap.
    fn ends(self, signed: bool) -> Option<[i64; 2]> {
        let base = self.base?;
        let first = if signed { i64::from(base as i32) } else { i64::from(base) };
        let last = first + 31 * i64::from(self.stride as i32);
        let fits = if signed { i32::try_from(last).is_ok() } else { u32::try_from(last).is_ok() };
        fits.then_some([first, last])
    }
}

/// The strides of an instruction's results, low word first.
///
/// # Errors
/// The reason for which the lanes have to compute them.
pub(super) fn evaluate(
    operation: &Operation,
    timed: &TimedInst,
    operands: &impl Operands,
    end_points: bool,
) -> Result<[u32; 2], Lost> {
    let mut scalars = true;
    for reg in timed.sources() {
        scalars &= operands.register(*reg).ok_or(Lost::Vector)?.stride == 0;
    }
    let known = |pred: Pred| operands.predicate(pred.0).is_some();
    if timed.pred_hazards != 0 && !timed.inst.src_preds().all(known) {
        return Err(Lost::Predicate);
    }
    match operation.rule {
        Rule::Never => return Err(Lost::Operation),
        Rule::Index(index) => {
            return operands.index_strides()[index].map(|stride| [stride, 0]).ok_or(Lost::Index);
        }
        Rule::Lane => return Ok([1, 0]),
        _ if scalars => return Ok([0, 0]),
        _ => {}
    }
    let word = |word: Word| match word {
        Word::Register(reg) => {
            let tuple = operands.register(reg).ok_or(Lost::Vector)?;
            Ok(Value { base: Some(tuple.base), stride: tuple.stride })
        }
        Word::Known(base) => Ok(Value { base: Some(base), stride: 0 }),
        Word::Constant => Ok(Value { base: None, stride: 0 }),
    };
    let low = |source: usize| word(operation.sources[source][0]);
    let value = |source: usize| {
        let value = low(source)?;
        Ok::<Value, Lost>(if operation.negated[source] { value.negated() } else { value })
    };
    let holds = |source: PredSrc| operands.predicate(source.pred.0).unwrap_or(true) != source.not;
    let one = |stride: u32| [stride, 0];
    match operation.rule {
        Rule::Copy => Ok(one(value(0)?.stride)),
        Rule::Sum { extended } => {
            let plain = !extended && !operation.carries;
            let term = |source: usize| {
                let value = low(source)?;
                Ok::<Value, Lost>(match operation.negated[source] {
                    true if plain => value.negated(),
                    true => value.complemented(),
                    false => value,
                })
            };
            let terms = [term(0)?, term(1)?, term(2)?];
            if operation.carries {
                let carry = match extended {
                    true => i64::from(holds(timed.inst.psrc[0])),
                    false => operation.negated.iter().map(|negated| i64::from(*negated)).sum(),
                };
                same_carry(&terms, carry)?;
            }
            Ok(one(terms.iter().fold(0, |sum, term| sum.wrapping_add(term.stride))))
        }
        Rule::ShiftedSum(shift) => {
            let (a, b) = (value(0)?, value(1)?);
            let shifted = Value { base: a.base.map(|base| base << shift), stride: a.stride << shift };
            if operation.carries {
                same_carry(&[shifted, b], 0)?;
            }
            Ok(one(shifted.stride.wrapping_add(b.stride)))
        }
        Rule::Product => {
            let (a, b, c) = (value(0)?, value(1)?, value(2)?);
            let product = match (a.stride, b.stride) {
                (0, 0) => 0,
                (stride, 0) => stride.wrapping_mul(b.base.ok_or(Lost::Constant)?),
                (0, stride) => stride.wrapping_mul(a.base.ok_or(Lost::Constant)?),
                _ => return Err(Lost::NotLinear),
            };
            Ok(one(product.wrapping_add(c.stride)))
        }
        Rule::WideProduct { signed } => {
            let high = word(operation.sources[2][1])?;
            if operation.negated[2] || high.stride != 0 {
                return Err(Lost::NotLinear);
            }
            wide_product(value(0)?, value(1)?, low(2)?, high.base, signed)
        }
        Rule::Shift => {
            let (a, by) = (low(0)?, low(1)?);
            if by.stride != 0 {
                return Err(Lost::NotLinear);
            }
            Ok(one(a.stride.checked_shl(by.base.ok_or(Lost::Constant)?).unwrap_or(0)))
        }
        Rule::Select => Ok(one(value(usize::from(!holds(timed.inst.psrc[0])))?.stride)),
        Rule::Compare { compare, signed } if end_points => {
            same_outcome(compare, value(0)?.ends(signed), value(1)?.ends(signed)).map(|()| [0, 0])
        }
        _ => Err(Lost::NotScalar),
    }
}

/// Whether the sum of these words and a carry has the same carry in every lane.
fn same_carry(terms: &[Value], carry: i64) -> Result<(), Lost> {
    let mut ends = [carry; 2];
    for term in terms {
        let [first, last] = term.ends(false).ok_or(Lost::Ends)?;
        ends = [ends[0] + first, ends[1] + last];
    }
    if ends[0] >> 32 == ends[1] >> 32 { Ok(()) } else { Err(Lost::Ends) }
}

/// The strides of a product of words plus a double word, whose upper word is the same in every lane.
fn wide_product(a: Value, b: Value, low: Value, high: Option<u32>, signed: bool) -> Result<[u32; 2], Lost> {
    if a.stride != 0 && b.stride != 0 {
        return Err(Lost::NotLinear);
    }
    let known = [a, b, low].iter().all(|value| value.base.is_some());
    let (true, Some(high)) = (known, high) else { return Err(Lost::Constant) };
    let ([a0, a1], [b0, b1]) = (a.ends(signed).ok_or(Lost::Ends)?, b.ends(signed).ok_or(Lost::Ends)?);
    let [c0, c1] = low.ends(false).ok_or(Lost::Ends)?;
    let first = (i128::from(high) << 32) + i128::from(c0) + i128::from(a0) * i128::from(b0);
    let last = (i128::from(high) << 32) + i128::from(c1) + i128::from(a1) * i128::from(b1);
    if first >> 32 != last >> 32 {
        return Err(Lost::Ends);
    }
    // The difference over 31 lanes is 31 strides.
    Ok([((last - first) / 31) as u32, 0])
}

/// Whether a comparison of words that do not wrap has the same outcome in every lane.
fn same_outcome(compare: ICmp, a: Option<[i64; 2]>, b: Option<[i64; 2]>) -> Result<(), Lost> {
    let (Some(a), Some(b)) = (a, b) else { return Err(Lost::Ends) };
    let differences = [a[0] - b[0], a[1] - b[1]];
    let same = |of: fn(i64) -> bool| of(differences[0]) == of(differences[1]);
    let decided = match compare {
        ICmp::Lt | ICmp::Ge => same(|difference| difference < 0),
        ICmp::Gt | ICmp::Le => same(|difference| difference > 0),
        // Equal in no lane, because the difference does not pass through 0.
        ICmp::Eq | ICmp::Ne => {
            differences == [0, 0]
                || (differences[0] != 0 && differences[0].signum() == differences[1].signum())
        }
    };
    if decided { Ok(()) } else { Err(Lost::Ends) }
}
