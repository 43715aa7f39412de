//! Branches, calls, convergence, barriers and instructions without effect.

use super::args::Args;
use super::code::{Code, EVERY_LANE, Refusal};
use sass::{INSTRUCTION_BYTES, Instruction, Operand as Theirs, PT, Value};
use trace_format::isa::space::SHARED_WINDOW_HI;
use trace_format::isa::{
    BarMode, Clear, Convergence, Inst, Op, Pc, Pred, PredSrc, Reg, Scope, SpecialReg, Src,
};

/// Translates an instruction of this file; none if it is another.
pub(super) fn translate(
    code: &Code<'_>,
    at: usize,
    word: &Instruction,
    args: &mut Args<'_>,
) -> Result<Option<Inst>, Refusal> {
    let inst = match word.mnemonic {
        "NOP" | "YIELD" | "DEPBAR" | "ERRBAR" | "CGAERRBAR" | "CCTL" | "LDGDEPBAR" | "PREEXIT"
        | "ACQBULK" => {
            for modifier in word.modifiers.iter() {
                args.has(modifier);
            }
            args.skip(args.rest().len());
            Inst::new(Op::Nop {})
        }
        "BRA" => branch(code, at, word, args)?,
        "EXIT" => predicated(Op::Exit {}, args),
        "CALL" => {
            if !args.has("NOINC") {
                return Err("only calls without a stack of return addresses are known".into());
            }
            let is_absolute = is_absolute(args)?;
            if let Some(Theirs { value: Value::Register(_), .. }) = args.peek() {
                return through_register(Op::CallInd {}, is_absolute, code, args).map(Some);
            }
            if is_absolute {
                let mut inst = Inst::new(Op::Call {});
                inst.target = match args.take()?.value {
                    Value::Integer(address) => code.function(address as u64)?,
                    _ => return Err("its target is no address".into()),
                };
                return Ok(Some(inst));
            }
            // Within a function it is a jump: no return address is set, and nothing returns.
            let at = target(code, args)?;
            let calls = code.is_function(at);
            let mut inst = Inst::new(if calls { Op::Call {} } else { Op::Bra {} });
            inst.target = at;
            inst
        }
        "RET" => {
            if !args.has("NODEC") {
                return Err("only returns to the address in a register are known".into());
            }
            let is_absolute = is_absolute(args)?;
            let pred = args.pred_src();
            through_register(Op::RetTo {}, is_absolute, code, args)?.guarded(pred)
        }
        // Absolute addresses of places of the code count from the beginning of the translation.
        "LEPC" => {
            let mut inst = Inst::new(Op::MovPair {});
            args.dst(&mut inst)?;
            let own = code.place(word.address)?;
            let of = if args.rest().is_empty() { own } else { target(code, args)? };
            inst.srcs([Src::imm(of.0 * INSTRUCTION_BYTES as u32)])
        }
        "BSSY" => {
            args.has("RECONVERGENT");
            args.has("RELIABLE");
            let at = convergence(args)?;
            let mut inst = Inst::new(Op::Bssy { at });
            inst.target = target(code, args)?;
            inst
        }
        "BSYNC" => {
            args.has("RECONVERGENT");
            args.has("RELIABLE");
            let pred = args.pred_src();
            Inst::new(Op::Bsync { at: convergence(args)? }).guarded(pred)
        }
        "BREAK" => {
            args.has("RELIABLE");
            let pred = args.pred_src();
            Inst::new(Op::Break { at: convergence(args)? }).guarded(pred)
        }
        "BMOV" => bmov(args)?,
        "RPCMOV" => return_address(code, args)?,
        "WARPSYNC" => warpsync(code, args)?,
        "ENDCOLLECTIVE" => Inst::new(Op::EndCollective {}),
        "BAR" => bar(code, at, args)?,
        "B2R" => {
            if !args.has("RESULT") {
                return Err("what it reads is not known".into());
            }
            // The barrier before it has written the result.
            args.skip(args.rest().len());
            Inst::new(Op::Nop {})
        }
        "MEMBAR" => {
            args.has("SC");
            args.has("ALL");
            let scopes = [
                ("CTA", Scope::Cta),
                ("SM", Scope::Cta),
                ("GPU", Scope::Gpu),
                ("VC", Scope::Gpu),
                ("SYS", Scope::Sys),
            ];
            Inst::new(Op::Membar { scope: args.pick(&scopes).unwrap_or(Scope::Sys) })
        }
        "NANOSLEEP" => {
            // Whether the warp sleeps or its lanes do, and what may wake it early, changes no result.
            for modifier in ["WARP", "SYNCS", "RAND"] {
                args.has(modifier);
            }
            let mut inst = Inst::new(Op::Nanosleep {});
            if args.pred_src() != PredSrc::TRUE {
                return Err("its predicate is not known".into());
            }
            args.srcs::<1>(&mut inst)?;
            inst
        }
        "BPT" if args.has("TRAP") => {
            args.skip(args.rest().len());
            Inst::new(Op::Bpt {})
        }
        "S2R" | "S2UR" => special(args)?,
        "CS2R" | "CS2UR" => {
            if args.peek_second() == Some("SRZ") && !args.has("32") {
                let mut inst = Inst::new(Op::MovPair {}).srcs([Src::RZ]);
                args.dst(&mut inst)?;
                args.skip(1);
                inst
            } else if args.has("32") {
                special(args)?
            } else {
                return Err("only zero and special registers of 32 bits are known of it".into());
            }
        }
        "VOTE" | "VOTEU" => super::arithmetic::vote(args)?,
        _ => return Ok(None),
    };
    Ok(Some(inst))
}

fn target(code: &Code<'_>, args: &mut Args<'_>) -> Result<Pc, Refusal> {
    match args.take()?.value {
        Value::Target(address) => code.place(address),
        Value::Integer(address) => code.place(address as u64),
        _ => Err("its target is no address".into()),
    }
}

/// Whether the address of a call or a return is absolute, and does not count from the beginning of the section.
fn is_absolute(args: &mut Args<'_>) -> Result<bool, Refusal> {
    let kinds = [("ABS", true), ("REL", false)];
    args.pick(&kinds).ok_or_else(|| "what its address counts from is not known".into())
}

/// A call or a return to the address in a register pair.
fn through_register(
    op: Op,
    is_absolute: bool,
    code: &Code<'_>,
    args: &mut Args<'_>,
) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(op);
    args.srcs::<1>(&mut inst)?;
    if is_absolute {
        let added = if args.rest().is_empty() { 0 } else { args.integer()? };
        return if added == 0 { Ok(inst) } else { Err("an offset is not known of it".into()) };
    }
    inst.target = target(code, args)?;
    if inst.target == code.base {
        Ok(inst)
    } else {
        Err("the address is not relative to the beginning".into())
    }
}

/// Whether the first operand is a predicate.
pub(super) fn has_predicate(word: &Instruction) -> bool {
    word.operands.first().is_some_and(|first| matches!(first.value, Value::Predicate(number) if number != PT))
}

/// An instruction whose first operand may be a predicate.
fn predicated(op: Op, args: &mut Args<'_>) -> Inst {
    let pred = args.pred_src();
    Inst::new(op).guarded(pred)
}

fn branch(code: &Code<'_>, at: usize, word: &Instruction, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    // Whether all lanes take it makes no difference to which take it.
    args.has("U");
    args.has("INC");
    args.has("DEC");
    if compares_masks(code, at, word) {
        // The predicate knows where to go.
        args.has("CONV");
        args.has("DIV");
        args.skip(1);
        let mut inst = Inst::new(Op::Bra {});
        inst.target = target(code, args)?;
        return Ok(inst);
    }
    if args.has("CONV") {
        // It skips code that converges the lanes, which does no harm where they have converged.
        args.skip(args.rest().len());
        return Ok(Inst::new(Op::Nop {}));
    }
    if args.has("DIV") {
        // Behind the target, lanes gather; here, those that are together go on.
        let members = match args.peek().map(|operand| operand.value) {
            Some(Value::Target(_)) => EVERY_LANE,
            _ => members_of(args.take()?)?,
        };
        let mut inst = Inst::new(Op::BraDiv {}).srcs([members]);
        inst.target = target(code, args)?;
        return Ok(inst);
    }
    let mut inst = predicated(Op::Bra {}, args);
    inst.target = target(code, args)?;
    Ok(inst)
}

/// The lanes that a branch on divergence names: all of them, or those in a uniform register.
fn members_of(operand: &Theirs) -> Result<Src, Refusal> {
    match operand.value {
        Value::Uniform(63 | 255) if operand.complement => Ok(EVERY_LANE),
        Value::Uniform(number) if !operand.complement && !matches!(number, 63 | 255) => {
            Ok(Src::uniform(trace_format::isa::UniformReg(number)))
        }
        _ => Err("the lanes are not in a uniform register".into()),
    }
}

/// Whether a branch on convergence or divergence is guarded by a comparison of the lanes' member masks.
fn compares_masks(code: &Code<'_>, at: usize, word: &Instruction) -> bool {
    if !(word.has("DIV") || word.has("CONV")) || word.guard.predicate == PT || !word.guard.negated {
        return false;
    }
    let pred = Value::Predicate(word.guard.predicate);
    let names = |word: &&Instruction| word.operands.iter().any(|operand| operand.value == pred);
    let before = code.words[..at].iter().rev().map_while(|word| word.as_ref().ok()).find(names);
    before.is_some_and(is_comparison_of_masks)
}

/// Whether it is `R2UR P, URZ, R`, between a union of member masks and a branch on how the lanes stand to it.
pub(super) fn is_comparison_of_masks(word: &Instruction) -> bool {
    word.mnemonic == "R2UR"
        && matches!(word.operands.first(), Some(Theirs { value: Value::Predicate(..PT), .. }))
}

fn convergence(args: &mut Args<'_>) -> Result<Convergence, Refusal> {
    convergence_of(&args.take()?.value).ok_or_else(|| "it names no convergence register".into())
}

/// The convergence register that an operand names. Moves have them among other registers of a warp.
fn convergence_of(value: &Value) -> Option<Convergence> {
    let number = match *value {
        Value::Convergence(number) => number,
        Value::Name(name) => name.strip_prefix('B')?.parse().ok()?,
        _ => return None,
    };
    (usize::from(number) < Convergence::COUNT).then_some(Convergence(number))
}

fn bmov(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    args.has("32");
    args.has("PQUAD");
    let clear = Clear(args.has("CLEAR"));
    if args.peek().is_some_and(|operand| convergence_of(&operand.value).is_some()) {
        let mut inst = Inst::new(Op::BmovTo { at: convergence(args)? });
        args.srcs::<1>(&mut inst)?;
        return Ok(inst);
    }
    let mut inst = Inst::new(Op::Nop {});
    args.dst(&mut inst)?;
    inst.op = Op::BmovFrom { at: convergence(args)?, clear };
    Ok(inst)
}

/// Moves to or from the words of the return address, which calls of programs do not use.
fn return_address(code: &Code<'_>, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    args.has("32");
    let own = code.layout.return_address.ok_or("all registers are in use")?;
    let word = |value: &Value| match value {
        Value::Name("Rpc.LO") => Some(own),
        Value::Name("Rpc.HI") => Some(own.nth(1)),
        _ => None,
    };
    let mut inst = Inst::new(Op::Mov {});
    if let Some(to) = args.peek().and_then(|operand| word(&operand.value)) {
        args.skip(1);
        inst.dst = to;
        args.srcs::<1>(&mut inst)?;
    } else {
        args.dst(&mut inst)?;
        let from = word(&args.take()?.value).ok_or("it names no word of the return address")?;
        inst.src[0] = Src::reg(from);
    }
    Ok(inst)
}

fn warpsync(code: &Code<'_>, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(Op::Warpsync {}).srcs([EVERY_LANE]);
    if !args.has("ALL") {
        args.srcs::<1>(&mut inst)?;
    }
    if args.has("COLLECTIVE") {
        inst.op = Op::WarpsyncCollective {};
        inst.target = target(code, args)?;
    }
    Ok(inst)
}

/// How many instructions may stand between a barrier and the one that takes its result.
const RESULT_WITHIN: usize = 64;

/// The place of the instruction that takes the result of the barrier at a place. Nothing between them may leave the code's
/// straight line, or name the place of the result: the barrier of our table writes it at once.
pub(super) fn taker(code: &Code<'_>, barrier: usize) -> Option<usize> {
    let words = code.words.get(barrier + 1..)?.iter().take(RESULT_WITHIN);
    let takes = |word: &Instruction| word.mnemonic == "B2R" && word.has("RESULT");
    let between: Vec<&Instruction> =
        words.clone().map_while(|word| word.as_ref().ok()).take_while(|word| !takes(word)).collect();
    let at = barrier + 1 + between.len();
    let Some(Ok(taker)) = code.words.get(at).filter(|_| between.len() < RESULT_WITHIN) else { return None };
    let control = [
        "BRA", "BSYNC", "BSSY", "BAR", "EXIT", "RET", "CALL", "BRX", "BRXU", "BREAK", "P2R", "R2P",
        "WARPSYNC",
    ];
    let harmless = |word: &&Instruction| {
        let named = |operand: &Theirs| match operand.value {
            Value::Register(number) => {
                // Vectors are four registers at most.
                taker.operands.iter().any(|result| match result.value {
                    Value::Register(of) => of != sass::RZ && of.wrapping_sub(number) < 4,
                    _ => false,
                })
            }
            Value::Predicate(PT) => false,
            Value::Predicate(_) => taker.operands.iter().any(|result| result.value == operand.value),
            _ => false,
        };
        let guarded = taker.operands.iter().any(
            |result| matches!(result.value, Value::Predicate(of) if of != PT && of == word.guard.predicate),
        );
        !control.contains(&word.mnemonic) && !guarded && !word.operands.iter().any(named)
    };
    let plain = taker.guard.predicate == PT && !is_target(code, barrier + 1..at + 1);
    (takes(taker) && plain && between.iter().all(harmless)).then_some(at)
}

/// Whether a branch goes to one of these places.
fn is_target(code: &Code<'_>, places: std::ops::Range<usize>) -> bool {
    let listed = code.branches.iter().flat_map(|branch| branch.targets.iter().copied());
    let named =
        code.words.iter().flatten().flat_map(|word| word.operands.iter()).filter_map(|operand| match operand
            .value
        {
            Value::Target(address) => Some(address),
            _ => None,
        });
    named.chain(listed).any(|address| places.contains(&(address as usize / INSTRUCTION_BYTES)))
}

/// Whether the instruction at a place takes the result of a barrier before it.
pub(super) fn is_result(code: &Code<'_>, at: usize) -> bool {
    let barrier = |place: &usize| matches!(code.words.get(*place), Some(Ok(word)) if word.mnemonic == "BAR" && word.has("RED"));
    let before = (at.saturating_sub(RESULT_WITHIN)..at).rev().find(barrier);
    before.is_some_and(|barrier| taker(code, barrier) == Some(at))
}

pub(super) fn bar(code: &Code<'_>, at: usize, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    args.has("DEFER_BLOCKING");
    let mode = if args.has("SYNC") {
        BarMode::Sync
    } else if args.has("ARV") {
        BarMode::Arrive
    } else if args.has("RED") {
        let modes = [("POPC", BarMode::RedPopc), ("AND", BarMode::RedAnd), ("OR", BarMode::RedOr)];
        args.pick(&modes).ok_or("its reduction is not known")?
    } else {
        return Err("its kind is not known".into());
    };
    let mut inst = Inst::new(Op::Bar { mode }).srcs([Src::RZ, Src::imm(0)]);
    inst.src[0] = args.src()?;
    if !args.rest().is_empty() && args.rest().first().is_some_and(|operand| !is_pred(operand)) {
        inst.src[1] = args.src()?;
    }
    if inst.op.is_barrier_reduction() {
        inst.psrc[0] = args.pred_src();
        if let Some(place) = taker(code, at)
            && let Some(Ok(taker)) = code.words.get(place)
        {
            for operand in taker.operands.iter() {
                match operand.value {
                    Value::Register(sass::RZ) => {}
                    Value::Register(number) => inst.dst = Reg(number),
                    Value::Predicate(number) => inst.pdst[0] = Pred(number),
                    _ => return Err("the place of its result is not known".into()),
                }
            }
        }
    }
    Ok(inst)
}

fn is_pred(operand: &Theirs) -> bool {
    matches!(operand.value, Value::Predicate(_) | Value::UniformPredicate(_))
}

/// Reads a special register.
fn special(args: &mut Args<'_>) -> Result<Inst, Refusal> {
    let mut inst = Inst::new(Op::Nop {});
    args.dst(&mut inst)?;
    let Value::Name(name) = args.take()?.value else { return Err("it names no special register".into()) };
    let known = match name {
        "SR_SWINHI" => Some(SHARED_WINDOW_HI),
        // A cluster is one block.
        "SR_CgaSize" => Some(1),
        _ => None,
    };
    if let Some(value) = known {
        inst.op = Op::Mov {};
        return Ok(inst.srcs([Src::imm(value)]));
    }
    let sr = SpecialReg::ALL.iter().find(|sr| trace_format::isa::Modifier::suffix(*sr).trim() == name);
    let sr = sr.copied().ok_or_else(|| format!("the special register {name} is not known"))?;
    inst.op = Op::S2r { sr };
    Ok(inst)
}
