//! Integers, bits, moves, and what crosses lanes; on registers and on uniform registers.

use super::args::Args;
use super::code::{EVERY_LANE, Refusal};
use sass::{Instruction, Operand as Theirs, Value};
use trace_format::isa::{
    Accumulate, BoolOp, Dot, Extended, High, ICmp, Inst, Lut, MatchMode, Max, NanProp, Op, Operand, Pred,
    PredSrc, PrmtMode, ReduxOp, ReduxTy, Reg, Relu, ShflMode, ShiftAmount, ShiftBy, Sign, Src, VoteMode,
    Wide, Wrap,
};

/// Comparisons of integers.
const COMPARISONS: [(&str, ICmp); 6] = [
    ("LT", ICmp::Lt),
    ("EQ", ICmp::Eq),
    ("LE", ICmp::Le),
    ("GT", ICmp::Gt),
    ("NE", ICmp::Ne),
    ("GE", ICmp::Ge),
];

/// How a comparison is combined with a predicate.
pub(super) const COMBINATIONS: [(&str, BoolOp); 3] =
    [("AND", BoolOp::And), ("OR", BoolOp::Or), ("XOR", BoolOp::Xor)];

/// Translates an instruction of this file; none if it is another.
pub(super) fn translate(word: &Instruction, args: &mut Args<'_>) -> Result<Option<Inst>, Refusal> {
    let inst = match word.mnemonic {
        "MOV" | "UMOV" | "ULDC" | "LDCU" => {
            // To be filled into a uniform register again.
            args.has("SPILL");
            let op = if args.has("64") { Op::MovPair {} } else { Op::Mov {} };
            let inst = unary(op, args)?;
            // The bytes that a move writes: all of them.
            if matches!(args.rest(), [Theirs { value: Value::Integer(15), .. }]) {
                args.skip(1);
            }
            inst
        }
        "R2UR" => {
            args.has("FILL");
            unary(Op::R2ur {}, args)?
        }
        "IADD3" | "UIADD3" if word.has("64") => pair_sum(args)?,
        "IADD3" | "UIADD3" => sum(3, args)?,
        "IMAD" | "UIMAD" => imad(word, args)?,
        "IMNMX" | "UIMNMX" | "VIMNMX" | "UVIMNMX" => {
            let (sign, relu) = (sign(args), args.has("RELU"));
            let mut inst = binary(Op::Nop {}, args)?;
            let max = Max(is_max(args)?);
            inst.op = if relu { Op::VimnmxRelu { sign, max } } else { Op::Imnmx { sign, max } };
            inst
        }
        "VIADDMNMX" | "VIMNMX3" => {
            let (sign, relu) = (sign(args), Relu(args.has("RELU")));
            let mut inst = ternary(Op::Nop {}, args)?;
            let max = Max(is_max(args)?);
            inst.op = match word.mnemonic {
                "VIMNMX3" => Op::Vimnmx3 { sign, max, relu },
                _ => Op::Viaddmnmx { sign, max, relu },
            };
            inst
        }
        "VIADD" | "IADD" if args.has("64") => binary(Op::IaddPair {}, args)?,
        "VIADD" | "IADD" => sum(2, args)?,
        "IABS" | "UIABS" => unary(Op::Iabs {}, args)?,
        "ISETP" | "UISETP" => {
            let pair = args.pick(&[("U64", Sign::U32), ("S64", Sign::S32)]);
            let (sign, ex) = (sign(args), Extended(args.has("EX")));
            let cmp = args.pick(&COMPARISONS).ok_or("its comparison is not known")?;
            let bop = args.pick(&COMBINATIONS).ok_or("its combination is not known")?;
            let op = match pair {
                Some(sign) => Op::IsetpPair { cmp, sign, bop },
                None => Op::Isetp { cmp, sign, bop, ex },
            };
            let mut inst = setp(op, args)?;
            if ex.0 {
                inst.psrc[1] = args.pred_src();
            }
            inst
        }
        "LEA" | "ULEA" => lea(args)?,
        "LOP3" | "ULOP3" => lop3(args)?,
        "PLOP3" | "UPLOP3" => plop3(args)?,
        "SHF" | "USHF" => shf(args)?,
        "SEL" | "USEL" => {
            let op = if args.has("64") { Op::SelPair {} } else { Op::Sel {} };
            chosen(op, args)?
        }
        "SGXT" | "USGXT" => binary(Op::Sgxt { sign: sign(args) }, args)?,
        "BMSK" | "UBMSK" => binary(Op::Bmsk { wrap: Wrap(args.has("W")) }, args)?,
        "PRMT" | "UPRMT" => {
            let modes = [
                ("F4E", PrmtMode::F4e),
                ("B4E", PrmtMode::B4e),
                ("RC8", PrmtMode::Rc8),
                ("ECL", PrmtMode::Ecl),
                ("ECR", PrmtMode::Ecr),
                ("RC16", PrmtMode::Rc16),
            ];
            ternary(Op::Prmt { mode: args.pick(&modes).unwrap_or(PrmtMode::Index) }, args)?
        }
        "POPC" | "UPOPC" => unary(Op::Popc {}, args)?,
        "BREV" | "UBREV" => unary(Op::Brev {}, args)?,
        "FLO" | "UFLO" => {
            let op = Op::Flo { sign: sign(args), sh: ShiftAmount(args.has("SH")) };
            let mut inst = Inst::new(op);
            args.dst(&mut inst)?;
            args.no_pred_dst("its predicate is not known")?;
            args.srcs::<1>(&mut inst)?;
            inst
        }
        "IDP" => {
            let dot = if args.has("4A") {
                Dot::Bytes
            } else if args.has("2A") {
                let halves = [("HI", Dot::HalvesHigh), ("LO", Dot::HalvesLow)];
                args.pick(&halves).ok_or("its half is not known")?
            } else {
                return Err("its kind is not known".into());
            };
            let types = [("U8", Sign::U32), ("S8", Sign::S32), ("U16", Sign::U32), ("S16", Sign::S32)];
            let [a, b] = args.all(&types)[..] else { return Err("its types are not known".into()) };
            ternary(Op::Idp { dot, a, b }, args)?
        }
        "VABSDIFF" => ternary(Op::Vabsdiff { sign: sign(args) }, args)?,
        "VABSDIFF4" => {
            let sign = if args.has("U8") { Sign::U32 } else { Sign::S32 };
            let acc = Accumulate(args.has("ACC"));
            ternary(Op::Vabsdiff4 { sign, acc }, args)?
        }
        "P2R" => {
            let mut inst = Inst::new(Op::P2r {});
            args.dst(&mut inst)?;
            predicates(args)?;
            args.srcs::<2>(&mut inst)?;
            inst
        }
        "R2P" => {
            let mut inst = Inst::new(Op::R2p {});
            predicates(args)?;
            args.srcs::<2>(&mut inst)?;
            inst
        }
        "SHFL" => {
            let modes = [
                ("IDX", ShflMode::Idx),
                ("UP", ShflMode::Up),
                ("DOWN", ShflMode::Down),
                ("BFLY", ShflMode::Bfly),
            ];
            let mode = args.pick(&modes).ok_or("its mode is not known")?;
            let mut inst = Inst::new(Op::Shfl { mode });
            args.only_pred_dst(&mut inst);
            args.dst(&mut inst)?;
            args.srcs::<3>(&mut inst)?;
            inst
        }
        "MATCH" => {
            let mode = args.pick(&[("ANY", MatchMode::Any), ("ALL", MatchMode::All)]);
            let wide = Wide(args.has("U64"));
            args.has("U32");
            let mode = mode.ok_or("its mode is not known")?;
            let mut inst = Inst::new(Op::Match { mode, wide }).srcs([Src::RZ, EVERY_LANE]);
            args.only_pred_dst(&mut inst);
            args.dst(&mut inst)?;
            args.srcs::<1>(&mut inst)?;
            inst
        }
        "REDUX" => {
            let ops = [
                ("AND", ReduxOp::And),
                ("OR", ReduxOp::Or),
                ("XOR", ReduxOp::Xor),
                ("SUM", ReduxOp::Sum),
                ("MIN", ReduxOp::Min),
                ("MAX", ReduxOp::Max),
            ];
            let op = args.pick(&ops).unwrap_or(ReduxOp::And);
            let ty = if args.has("S32") { ReduxTy::S32 } else { ReduxTy::U32 };
            let op = Op::Redux { op, ty, nan: NanProp(false) };
            let mut inst = Inst::new(op).srcs([Src::RZ, EVERY_LANE]);
            args.dst(&mut inst)?;
            args.srcs::<1>(&mut inst)?;
            inst
        }
        _ => return Ok(None),
    };
    Ok(Some(inst))
}

pub(super) fn sign(args: &mut Args<'_>) -> Sign {
    args.has("S32");
    if args.has("U32") { Sign::U32 } else { Sign::S32 }
}

pub(super) fn unary(op: Op, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(op);
    args.dst(&mut inst)?;
    args.srcs::<1>(&mut inst)?;
    Ok(inst)
}

pub(super) fn binary(op: Op, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(op);
    args.dst(&mut inst)?;
    args.srcs::<2>(&mut inst)?;
    Ok(inst)
}

pub(super) fn ternary(op: Op, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(op);
    args.dst(&mut inst)?;
    args.srcs::<3>(&mut inst)?;
    Ok(inst)
}

/// Two sources and the predicate that chooses between them or is combined with their comparison.
pub(super) fn chosen(op: Op, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let mut inst = binary(op, args)?;
    inst.psrc[0] = args.pred_src();
    Ok(inst)
}

/// A comparison: predicates of two sources, combined with another.
pub(super) fn setp(op: Op, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(op);
    args.pred_dsts(&mut inst);
    args.srcs::<2>(&mut inst)?;
    inst.psrc[0] = args.pred_src();
    Ok(inst)
}

/// Whether an instruction whose last operand chooses between minimum (true) and maximum is a maximum.
pub(super) fn is_max(args: &mut Args<'_>) -> Result<bool, Refusal> {
    match args.maybe_pred_src() {
        Some(PredSrc::TRUE) => Ok(false),
        Some(PredSrc::FALSE) => Ok(true),
        _ => Err("a predicate chooses between minimum and maximum".into()),
    }
}

/// Takes the word for all predicates.
pub(super) fn predicates(args: &mut Args<'_>) -> Result<(), Refusal> {
    match args.take()? {
        Theirs { value: Value::Name("PR"), suffix: "" | "B0", .. } => Ok(()),
        _ => Err("only P0 to P6 in the lowest byte are known of it".into()),
    }
}

/// The sum of two pairs, where the third term is zero.
fn pair_sum(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    args.has("64");
    let mut inst = Inst::new(Op::IaddPair {});
    args.dst(&mut inst)?;
    args.no_pred_dst("its carry out is not known")?;
    args.no_pred_dst("its carry out is not known")?;
    args.srcs::<2>(&mut inst)?;
    if args.src()? != Src::RZ {
        return Err("three pairs are not known of it".into());
    }
    Ok(inst)
}

/// The sum of two or three terms, with carries.
fn sum(terms: usize, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let x = Extended(args.has("X"));
    let mut inst = Inst::new(Op::Iadd3Carries { x });
    args.dst(&mut inst)?;
    args.pred_dsts(&mut inst);
    inst.src[2] = Src::RZ;
    for place in 0..terms {
        inst.src[place] = args.src()?;
    }
    if x.0 {
        for place in 0..2 {
            inst.psrc[place] = args.maybe_pred_src().unwrap_or(PredSrc::FALSE);
        }
    } else if inst.pdst == [Pred::PT; 2] {
        inst.op = Op::Iadd3 { x };
    } else {
        inst.psrc[..2].fill(PredSrc::FALSE);
    }
    Ok(inst)
}

fn imad(word: &Instruction, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let (wide, high, x) = (args.has("WIDE"), args.has("HI"), args.has("X"));
    let sign = sign(args);
    let mut inst = Inst::new(Op::Imad {});
    args.dst(&mut inst)?;
    let carry_out = args.pred_dst();
    args.srcs::<3>(&mut inst)?;
    let negated_addend = inst.src[2].neg;
    inst.op = match (wide, high) {
        (true, _) if x || carry_out.is_some_and(|pred| !pred.is_true()) => {
            Op::ImadWideCarry { sign, x: Extended(x) }
        }
        (true, _) => Op::ImadWide { sign },
        (false, true) if x => return Err("a carry into the upper word of a product is not known".into()),
        (false, true) => Op::ImadHiPair { sign },
        (false, false) if x => Op::ImadX {},
        (false, false) => Op::Imad {},
    };
    if (wide || high) && negated_addend {
        return Err("a negated addend of 64 bits is not known".into());
    }
    if let Some(pred) = carry_out.filter(|pred| !pred.is_true()) {
        if !wide {
            return Err("its carry out is not known".into());
        }
        inst.pdst[0] = pred;
    }
    if x {
        inst.psrc[0] = args.pred_src();
    }
    // The literal that is an addend of 64 bits has its sign in the instruction's own type.
    if wide && sign == Sign::U32 && matches!(inst.src[2].operand, Operand::Imm(value) if value >> 31 != 0) {
        return Err(format!("the literal of `{word}` may be negative"));
    }
    Ok(inst)
}

fn lea(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let (high, x, sx32) = (args.has("HI"), Extended(args.has("X")), args.has("SX32"));
    let mut inst = Inst::new(Op::Nop {});
    args.dst(&mut inst)?;
    args.pred_dsts(&mut inst);
    let sources = if high && !sx32 { 3 } else { 2 };
    for place in 0..sources {
        inst.src[place] = args.src()?;
    }
    let shift = args.integer()?;
    let shift = ShiftBy(u8::try_from(shift).ok().filter(|n| *n < 32).ok_or("its shift is not 0 to 31")?);
    if x.0 {
        inst.psrc[0] = args.pred_src();
    }
    // A negated term is its complement and one more, which counts for the carry.
    let more = !x.0 && high && inst.pdst[0] != Pred::PT && inst.src.iter().any(|src| src.neg);
    let x = Extended(x.0 || more);
    if more {
        inst.psrc[0] = PredSrc::TRUE;
    }
    inst.op = match (high, sx32) {
        (false, _) if x.0 => return Err("a carry into the lower word is not known".into()),
        (false, _) => Op::Lea { shift },
        (true, true) if inst.pdst[0] != Pred::PT => Op::LeaHiSx32Carry { shift, x },
        (true, false) if inst.pdst[0] != Pred::PT => Op::LeaHiCarry { shift, x },
        (true, true) => Op::LeaHiSx32 { shift, x },
        (true, false) => Op::LeaHi { shift, x },
    };
    if inst.pdst[1] != Pred::PT {
        return Err("its second carry out is not known".into());
    }
    // With a carry in, terms are complemented, which is done before.
    if inst.pdst[0] != Pred::PT && !x.0 && inst.src.iter().any(|src| src.neg) {
        return Err("the carry of a negated term is not known".into());
    }
    Ok(inst)
}

fn lop3(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    args.has("LUT");
    let and = args.has("PAND");
    let mut inst = Inst::new(Op::Nop {});
    args.only_pred_dst(&mut inst);
    args.dst(&mut inst)?;
    args.srcs::<3>(&mut inst)?;
    let lut = Lut(args.integer()? as u8);
    inst.op = Op::Lop3 { lut };
    // The predicate is whether the result has ones, combined with this one.
    let (bop, neutral) = if and { (BoolOp::And, PredSrc::TRUE) } else { (BoolOp::Or, PredSrc::FALSE) };
    let with = args.maybe_pred_src().unwrap_or(neutral);
    if inst.pdst[0] != Pred::PT && with != neutral {
        inst.op = Op::Lop3With { lut, bop };
        inst.psrc[0] = with;
    }
    Ok(inst)
}

fn plop3(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    args.has("LUT");
    let mut inst = Inst::new(Op::Nop {});
    args.pred_dsts(&mut inst);
    for place in 0..3 {
        inst.psrc[place] = args.maybe_pred_src().ok_or("a predicate is missing")?;
    }
    let (lut, second) = (Lut(args.integer()? as u8), Lut(args.integer()? as u8));
    inst.op = Op::Plop3Both { lut, second };
    Ok(inst)
}

fn shf(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let (wrap, high) = (Wrap(args.has("W")), High(args.has("HI")));
    let types = [
        ("U32", (Sign::U32, false)),
        ("S32", (Sign::S32, false)),
        ("U64", (Sign::U32, true)),
        ("S64", (Sign::S32, true)),
    ];
    let (sign, wide) = args.pick(&types).ok_or("its type is not known")?;
    let wide = Wide(wide);
    let op = if args.has("L") {
        Op::ShfL { wide, wrap, high }
    } else if args.has("R") {
        Op::ShfR { sign, wide, wrap, high }
    } else {
        return Err("its direction is not known".into());
    };
    ternary(op, args)
}

/// A vote of the active lanes: the lanes in a register, or a predicate.
pub(super) fn vote(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let modes = [("ALL", VoteMode::All), ("ANY", VoteMode::Any), ("EQ", VoteMode::Uni)];
    let mode = args.pick(&modes).ok_or("its mode is not known")?;
    let mut inst = Inst::new(Op::Nop {}).srcs([EVERY_LANE]);
    if !args
        .peek()
        .is_some_and(|operand| matches!(operand.value, Value::Predicate(_) | Value::UniformPredicate(_)))
    {
        args.dst(&mut inst)?;
    }
    args.only_pred_dst(&mut inst);
    inst.psrc[0] = args.maybe_pred_src().ok_or("the predicate is missing")?;
    let lanes = inst.dst != Reg::RZ || !inst.udst.is_zero();
    inst.op = match (lanes, mode) {
        (false, mode) => Op::Vote { mode },
        (true, VoteMode::Any) => Op::Vote { mode: VoteMode::Ballot },
        (true, _) if inst.pdst[0] == Pred::PT => Op::Vote { mode: VoteMode::Ballot },
        (true, _) => return Err("both the lanes and a predicate of its mode are not known".into()),
    };
    Ok(inst)
}
