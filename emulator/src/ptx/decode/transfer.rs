//! Control transfer, calls, and other instructions that end or delay a thread.

use super::super::inst::Operand;
use super::super::module::{Formal, PrototypeParam};
use super::super::op::{CallShape, Callee, Op};
use super::super::resolve::{Arg, ArgKind, Const};
use super::super::types::ScalarType as T;
use super::cursor::{Decoder, Width};
use super::raw::Decode;

pub(super) fn control(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let opcode = d.opcode();
    if opcode == "brx" {
        d.need_flag("idx")?;
    }
    let uniform = matches!(opcode, "bra" | "brx" | "call" | "ret") && d.flag("uni");
    match opcode {
        "bra" => {
            let arg = d.next()?;
            match arg.kind {
                ArgKind::Label(target) => Ok(Op::Bra { target, uniform }),
                _ => Err(d.error(arg.span, "a branch goes to a label of the same function")),
            }
        }
        "brx" => {
            d.src(T::U32)?;
            let arg = d.next()?;
            match arg.kind {
                ArgKind::BranchTable(table) => Ok(Op::BrxIdx { table, uniform }),
                _ => Err(d.error(arg.span, "an indexed branch names a `.branchtargets` list")),
            }
        }
        "call" => call(d, uniform),
        "ret" => Ok(Op::Ret { uniform }),
        "exit" => Ok(Op::Exit),
        "trap" => Ok(Op::Trap),
        _ => Ok(Op::Brkpt),
    }
}

/// `call (returns), callee, (arguments), prototype or targets`.
fn call(d: &mut Decoder<'_, '_>, uniform: bool) -> Decode<Op> {
    let returns = list(d)?;
    let target = d.next()?;
    let arguments = list(d)?;
    let callee = callee(d, &target)?;
    check_arity(d, callee, returns.len(), arguments.len())?;
    let (result_types, argument_types) = register_types(d, callee);
    for (at, arg) in returns.iter().enumerate() {
        let operand = match (&arg.kind, result_types.get(at).copied().flatten()) {
            (&ArgKind::Var(id, 0), _) => Operand::Var(id, 0),
            (ArgKind::Reg(_) | ArgKind::Sink, Some(ty)) => d.dst_operand(arg, ty, Width::Exact)?,
            (&ArgKind::Reg(reg), None) => Operand::Reg(reg),
            (ArgKind::Sink, None) => Operand::Sink,
            _ => return Err(d.error(arg.span, "a result goes to a register or a `.param` variable")),
        };
        d.push_dst(operand);
    }
    for (at, arg) in arguments.iter().enumerate() {
        let ty = match (&arg.kind, argument_types.get(at).copied().flatten()) {
            (ArgKind::Var(..), _) => T::B64,
            (_, Some(ty)) => ty,
            (&ArgKind::Reg(reg), None) => d.register_type(reg),
            (ArgKind::Const(Const::Single(_)), None) => T::B32,
            _ => T::B64,
        };
        let operand = d.src_operand(arg, ty, Width::Exact)?;
        d.push_src(operand);
    }
    Ok(Op::Call { callee, uniform })
}

/// The types that results and parameters of a callee have in registers; `None` for those in `.param` space.
fn register_types(d: &Decoder<'_, '_>, callee: Callee) -> (Vec<Option<T>>, Vec<Option<T>>) {
    match callee {
        Callee::Direct(id) => {
            let function = &d.signatures.functions[id.index()];
            let ty = |formal: &Formal| match formal {
                Formal::Reg(reg) => function.registers.get(reg.index()).map(|register| register.ty),
                Formal::Var(_) => None,
            };
            (function.returns.iter().map(ty).collect(), function.params.iter().map(ty).collect())
        }
        Callee::Indirect { shape: CallShape::Prototype(id), .. } => {
            let prototype = &d.signatures.prototypes[id.index()];
            let ty = |param: &PrototypeParam| param.in_register.then_some(param.ty);
            (prototype.returns.iter().map(ty).collect(), prototype.params.iter().map(ty).collect())
        }
        Callee::Indirect { shape: CallShape::Targets(_), .. } => (Vec::new(), Vec::new()),
    }
}

/// A parenthesised list, if one comes next.
fn list<'a>(d: &mut Decoder<'a, '_>) -> Decode<Vec<Arg<'a>>> {
    if !matches!(d.peek(), Some(ArgKind::List(_))) {
        return Ok(Vec::new());
    }
    match d.next()?.kind {
        ArgKind::List(list) => Ok(list.into_iter().flat_map(elements).collect()),
        _ => Ok(Vec::new()),
    }
}

/// The elements of a vector, which are as many arguments; anything else is one.
fn elements(arg: Arg<'_>) -> Vec<Arg<'_>> {
    match arg.kind {
        ArgKind::Vector(elements) => elements,
        _ => vec![arg],
    }
}

fn callee(d: &mut Decoder<'_, '_>, target: &Arg<'_>) -> Decode<Callee> {
    let pointer = match target.kind {
        ArgKind::Func(id) => return Ok(Callee::Direct(id)),
        ArgKind::Reg(reg) => reg,
        _ => return Err(d.error(target.span, "a call names a function or a register that holds its address")),
    };
    if !matches!(d.register_type(pointer).bits(), 32 | 64) {
        return Err(d.error(target.span, "a function's address has 32 or 64 bits"));
    }
    if d.remaining() == 0 {
        return Err(d.whole("calls through a register", "name its `.callprototype` or `.calltargets` last"));
    }
    let arg = d.next()?;
    let shape = match arg.kind {
        ArgKind::Prototype(id) => CallShape::Prototype(id),
        ArgKind::CallTable(id) => CallShape::Targets(id),
        _ => return Err(d.error(arg.span, "expected a `.callprototype` or `.calltargets` label")),
    };
    Ok(Callee::Indirect { pointer, shape })
}

/// Checks the number of results and arguments against the callee's.
fn check_arity(d: &Decoder<'_, '_>, callee: Callee, returns: usize, arguments: usize) -> Decode<()> {
    let formals = |list: &[Formal]| list.len();
    let (wanted_returns, wanted_arguments) = match callee {
        Callee::Direct(id) => {
            let function = &d.signatures.functions[id.index()];
            (formals(&function.returns), formals(&function.params))
        }
        Callee::Indirect { shape: CallShape::Prototype(id), .. } => {
            let prototype = &d.signatures.prototypes[id.index()];
            (prototype.returns.len(), prototype.params.len())
        }
        Callee::Indirect { shape: CallShape::Targets(_), .. } => return Ok(()),
    };
    if (returns, arguments) == (wanted_returns, wanted_arguments) {
        return Ok(());
    }
    let message = format!(
        "the callee has {wanted_returns} results and {wanted_arguments} parameters, this call {returns} and {arguments}"
    );
    Err(d.error(d.span(), message))
}

/// `nanosleep`, `pmevent`, the stack instructions, `setmaxnreg`, `griddepcontrol`.
pub(super) fn miscellaneous(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    const SIZE: &[T] = &[T::U32, T::U64];
    match d.opcode() {
        "nanosleep" => {
            let ty = d.ty(&[T::U32])?;
            d.src(ty)?;
            Ok(Op::Nanosleep)
        }
        "pmevent" => {
            let mask = d.flag("mask");
            d.src(T::U32)?;
            Ok(Op::Pmevent { mask })
        }
        "alloca" => {
            let ty = d.ty(SIZE)?;
            d.dst(ty)?;
            d.src(ty)?;
            d.maybe_src(T::U32)?;
            Ok(Op::Alloca { ty })
        }
        "stacksave" => {
            let ty = d.ty(SIZE)?;
            d.dst(ty)?;
            Ok(Op::Stacksave(ty))
        }
        "stackrestore" => {
            let ty = d.ty(SIZE)?;
            d.src(ty)?;
            Ok(Op::Stackrestore(ty))
        }
        "setmaxnreg" => {
            let increase = d.need("`.inc` or `.dec`", |word| match word {
                "inc" => Some(true),
                "dec" => Some(false),
                _ => None,
            })?;
            d.need_flag("sync")?;
            d.need_flag("aligned")?;
            d.ty(&[T::U32])?;
            let registers = u32::try_from(d.constant()?).unwrap_or(u32::MAX);
            Ok(Op::Setmaxnreg { increase, registers })
        }
        _ => {
            let wait = d.need("`.wait` or `.launch_dependents`", |word| match word {
                "wait" => Some(true),
                "launch_dependents" => Some(false),
                _ => None,
            })?;
            Ok(Op::Griddepcontrol { wait })
        }
    }
}
