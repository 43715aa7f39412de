//! Memory.

use super::args::{Address, Args};
use super::code::Refusal;
use sass::{Instruction, RZ, Value};
use trace_format::isa::{
    AddrMode, AtomOp, AtomTy, Bank, Inst, MatrixCount, MemOrder, MemWidth, Op, Operand, ReadOnly, Reg, Scale,
    Scope, Src, Transposed,
};

pub(super) const WIDTHS: [(&str, MemWidth); 6] = [
    ("U8", MemWidth::U8),
    ("S8", MemWidth::S8),
    ("U16", MemWidth::U16),
    ("S16", MemWidth::S16),
    ("64", MemWidth::B64),
    ("128", MemWidth::B128),
];

/// Translates an instruction of this file; none if it is another.
pub(super) fn translate(word: &Instruction, args: &mut Args<'_>) -> Result<Option<Inst>, Refusal> {
    let inst = match word.mnemonic {
        "LDG" | "LD" => {
            let (order, ro) = (order(args), ReadOnly(args.has("CONSTANT")));
            let width = width(args);
            let op =
                if word.mnemonic == "LDG" { Op::Ldg { width, order, ro } } else { Op::Ld { width, order } };
            load(op, args, Form::Wide)?
        }
        "STG" | "ST" => {
            let (order, width) = (order(args), width(args));
            let op = if word.mnemonic == "STG" { Op::Stg { width, order } } else { Op::St { width, order } };
            store(op, args, Form::Wide)?
        }
        "LDS" => {
            args.has("U");
            let width = width(args);
            let mut inst = load(Op::Lds { width, scale: Scale::X1 }, args, Form::Scaled)?;
            inst.op = Op::Lds { width, scale: scale(word)? };
            inst
        }
        "STS" => {
            let width = width(args);
            let mut inst = store(Op::Sts { width, scale: Scale::X1 }, args, Form::Scaled)?;
            inst.op = Op::Sts { width, scale: scale(word)? };
            inst
        }
        "LDL" => load(Op::Ldl { width: width(args) }, args, Form::Narrow)?,
        "STL" => store(Op::Stl { width: width(args) }, args, Form::Narrow)?,
        "LDC" => ldc(args)?,
        // Without a register in the address it is a move.
        "ULDC" | "LDCU"
            if indexed(word) || ["U8", "S8", "U16", "S16", "128"].iter().any(|width| word.has(width)) =>
        {
            ldc(args)?
        }
        "LDSM" => {
            args.has("16");
            let trans = Transposed(args.has("MT88"));
            args.has("M88");
            let counts = [("4", MatrixCount::X4), ("2", MatrixCount::X2)];
            let count = args.pick(&counts).unwrap_or(MatrixCount::X1);
            load(Op::Ldsm { count, trans }, args, Form::Narrow)?
        }
        "STSM" => {
            args.has("16");
            let trans = Transposed(args.has("MT88"));
            args.has("M88");
            let counts = [("4", MatrixCount::X4), ("2", MatrixCount::X2)];
            let count = args.pick(&counts).unwrap_or(MatrixCount::X1);
            store(Op::Stsm { count, trans }, args, Form::Narrow)?
        }
        "ATOMG" | "ATOM" | "ATOMS" => atomic(word, args, false)?,
        "RED" | "REDG" => reduction(args)?,
        _ => return Ok(None),
    };
    Ok(Some(inst))
}

/// How the register of an address is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A pair.
    Wide,
    /// 32 bits.
    Narrow,
    /// 32 bits times a factor.
    Scaled,
    /// 32 bits, which the caller extends to a pair.
    Extended,
}

/// Whether a generic access has an address of 32 bits, without sign.
pub(super) fn is_narrow(word: &Instruction) -> bool {
    word.operands.iter().any(|operand| match operand.value {
        Value::Address { register, width: "U32", .. } => register.is_some_and(|number| number != RZ),
        _ => false,
    })
}

pub(super) fn width(args: &mut Args<'_>) -> MemWidth {
    args.pick(&WIDTHS).unwrap_or(MemWidth::B32)
}

/// The scopes do not matter to one that does everything in order.
fn scope(args: &mut Args<'_>) -> Scope {
    let scopes = [("CTA", Scope::Cta), ("SM", Scope::Cta), ("GPU", Scope::Gpu), ("SYS", Scope::Sys)];
    args.pick(&scopes).unwrap_or(Scope::Sys)
}

pub(super) fn order(args: &mut Args<'_>) -> MemOrder {
    args.has("PRIVATE");
    let strong = args.has("STRONG") || args.has("MMIO");
    scope(args);
    if strong { MemOrder::Strong } else { MemOrder::Weak }
}

fn scale(word: &Instruction) -> Result<Scale, Refusal> {
    let width = word.operands.iter().rev().find_map(|operand| match operand.value {
        Value::Address { width, .. } => Some(width),
        _ => None,
    });
    match width {
        Some("") => Ok(Scale::X1),
        Some("X4") => Ok(Scale::X4),
        Some("X8") => Ok(Scale::X8),
        Some("X16") => Ok(Scale::X16),
        _ => Err("the factor of its address is not known".into()),
    }
}

pub(super) fn address(inst: &mut Inst, args: &mut Args<'_>, form: Form) -> Result<(), Refusal> {
    let Address { register, width, base, offset } = args.address()?;
    let fits = match (form, width) {
        (Form::Extended, "U32") | (Form::Wide, "64") | (Form::Narrow, "") | (Form::Scaled, _) => true,
        // sm_75 does not print the width.
        (Form::Wide, "") => true,
        // The rows of these take a register of 32 bits.
        (Form::Wide, "U32") => {
            inst.op = match inst.op {
                _ if register == Reg::RZ => inst.op,
                Op::Ldg { width, order, ro } => Op::LdgNarrow { width, order, ro },
                Op::Stg { width, order } => Op::StgNarrow { width, order },
                Op::Red { op, ty, order, scope, .. } => Op::RedNarrow { op, ty, order, scope },
                _ => return Err("an address of 32 bits is not known of it".into()),
            };
            true
        }
        _ => false,
    };
    if !fits {
        return Err(format!("an address of the form .{width} is not known of it"));
    }
    inst.src[0] = Src::reg(register);
    (inst.base, inst.offset) = (base, offset);
    Ok(())
}

pub(super) fn load(op: Op, args: &mut Args<'_>, form: Form) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(op);
    // A predicate that some loads write: whether the line is there.
    args.no_pred_dst("its predicate is not known")?;
    args.dst(&mut inst)?;
    address(&mut inst, args, form)?;
    if args.maybe_pred_src().is_some_and(|pred| pred != trace_format::isa::PredSrc::TRUE) {
        return Err("its predicate is not known".into());
    }
    Ok(inst)
}

pub(super) fn store(op: Op, args: &mut Args<'_>, form: Form) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(op);
    address(&mut inst, args, form)?;
    inst.src[1] = args.src()?;
    Ok(inst)
}

/// Whether an operand is a constant whose place depends on a register.
fn indexed(word: &Instruction) -> bool {
    word.operands.iter().any(|operand| match operand.value {
        Value::Constant { register, uniform, .. } => {
            register.is_some_and(|number| number != RZ)
                || uniform.is_some_and(|number| number != word.uniform_zero)
        }
        _ => false,
    })
}

fn ldc(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let width = width(args);
    let mut inst = Inst::new(Op::Nop {});
    args.dst(&mut inst)?;
    let Value::Constant { bank, register, uniform, offset, .. } = args.take()?.value else {
        return Err("its operand is of a kind that is not known of it".into());
    };
    inst.op = Op::Ldc { width, bank: Bank(bank) };
    let register = register.filter(|number| *number != RZ).map_or(Reg::RZ, Reg);
    (inst.src[0], inst.offset) = (Src::reg(register), offset);
    if let Some(number) = uniform {
        inst.base = args.uniform(number);
    }
    Ok(inst)
}

pub(super) const OPERATIONS: [(&str, AtomOp); 10] = [
    ("ADD", AtomOp::Add),
    ("MIN", AtomOp::Min),
    ("MAX", AtomOp::Max),
    ("INC", AtomOp::Inc),
    ("DEC", AtomOp::Dec),
    ("AND", AtomOp::And),
    ("OR", AtomOp::Or),
    ("XOR", AtomOp::Xor),
    ("EXCH", AtomOp::Exch),
    ("CAS", AtomOp::Cas),
];

const TYPES: [(&str, AtomTy); 9] = [
    ("S32", AtomTy::S32),
    ("S64", AtomTy::S64),
    ("64", AtomTy::U64),
    ("F32", AtomTy::F32),
    ("F64", AtomTy::F64),
    ("F16x2", AtomTy::F16x2),
    ("BF16x2", AtomTy::Bf16x2),
    ("BF16_V2", AtomTy::Bf16x2),
    ("128", AtomTy::B128),
];

/// Vectors of atomics: the type of their elements as ours modify them, and how many of these a vector holds.
pub(super) const VECTORS: [(&str, (AtomTy, u8)); 6] = [
    ("F32x2", (AtomTy::F32, 2)),
    ("F32x4", (AtomTy::F32, 4)),
    ("F16x4", (AtomTy::F16x2, 2)),
    ("F16x8", (AtomTy::F16x2, 4)),
    ("BF16x4", (AtomTy::Bf16x2, 2)),
    ("BF16x8", (AtomTy::Bf16x2, 4)),
];

/// The operation and the type of an atomic; of one on a vector, that of an element.
fn operation(args: &mut Args<'_>) -> Result<(AtomOp, AtomTy), Refusal> {
    args.has("FTZ");
    args.has("RN");
    args.has("U32");
    // Compare-and-swap in a loop of the code, which ends when it has stored.
    let spins = args.has("CAST") && args.has("SPIN");
    let op = if spins { Some(AtomOp::CasDone) } else { args.pick(&OPERATIONS) };
    let element = args.pick(&TYPES).or_else(|| args.pick(&VECTORS).map(|(element, _)| element));
    Ok((op.ok_or("its operation is not known")?, element.unwrap_or(AtomTy::U32)))
}

/// `stored`: the predicate that it writes is the caller's.
pub(super) fn atomic(word: &Instruction, args: &mut Args<'_>, stored: bool) -> Result<Inst, Refusal> {
    let order = order(args);
    let counts = args.has("POPC");
    let mut inst = Inst::new(Op::Nop {});
    if counts {
        args.has("32");
    }
    let (op, ty) = operation(args)?;
    if stored {
        args.skip(1);
    } else {
        args.no_pred_dst("its predicate is not known")?;
    }
    args.dst(&mut inst)?;
    if word.mnemonic == "ATOMS" {
        inst.op = Op::Atoms { op, ty, scale: scale(word)? };
        address(&mut inst, args, Form::Scaled)?;
    } else {
        let mode = if word.mnemonic == "ATOMG" { AddrMode::Global } else { AddrMode::Generic };
        inst.op = Op::Atomg { op, ty, mode, order, scope: Scope::Gpu };
        address(&mut inst, args, Form::Wide)?;
    }
    if counts {
        // Adds the number of lanes with the same address, as if each added 1; what they get differs.
        if inst.dst != Reg::RZ || op != AtomOp::Inc {
            return Err("only the count without a result is known of it".into());
        }
        inst.op = Op::Atoms { op: AtomOp::Add, ty: AtomTy::U32, scale: scale(word)? };
        inst.src[1] = Src { operand: Operand::Imm(1), neg: false, abs: false };
        return Ok(inst);
    }
    inst.src[1] = args.src()?;
    if matches!(op, AtomOp::Cas | AtomOp::CasDone) {
        inst.src[2] = args.src()?;
    }
    Ok(inst)
}

/// A compare-and-swap in shared memory without a place for its result, whose predicate is the caller's.
pub(super) fn swap(word: &Instruction, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let (op, ty) = operation(args)?;
    args.skip(1);
    let mut inst = Inst::new(Op::Atoms { op, ty, scale: scale(word)? });
    address(&mut inst, args, Form::Scaled)?;
    (inst.src[1], inst.src[2]) = (args.src()?, args.src()?);
    Ok(inst)
}

/// A reduction in global memory.
pub(super) fn reduction(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let order = order(args);
    let (op, ty) = operation(args)?;
    let mut inst = Inst::new(Op::Red { op, ty, mode: AddrMode::Global, order, scope: Scope::Gpu });
    address(&mut inst, args, Form::Wide)?;
    inst.src[1] = args.src()?;
    Ok(inst)
}
