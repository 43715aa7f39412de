//! From NVIDIA's machine code to a machine kernel: one instruction of ours for each of theirs, in the same place.
//!
//! Registers keep their numbers. An instruction without a row of the table, or with a modifier or operand that its row does
//! not have, becomes a trap that names it, so that a kernel runs as long as no thread reaches it. So does a word that
//! cannot be decoded: nothing is guessed.

mod args;
mod arithmetic;
mod code;
mod control;
mod float;
mod memory;

use args::Args;
use code::{Code, Refusal};
use sass::cubin::Function;
use sass::{INSTRUCTION_BYTES, Instruction, PT};
use trace_format::isa::{Inst, Language, Op, Pc, Position, Pred, PredSrc, SourceFile, SourceLine};

/// The code of a function in our ISA.
#[derive(Clone, Debug)]
pub struct Translated {
    /// Instructions, in the places of those that they were translated from; padding at the end is left out.
    pub insts: Vec<Inst>,
    /// Where each comes from, parallel to `insts`.
    pub lines: Vec<SourceLine>,
    /// The listing that `lines` refers to.
    pub listing: SourceFile,
    /// Traps in place of code without a translation, with its description; ascending.
    pub traps: Vec<(Pc, String)>,
    /// 32-bit registers that the instructions name (the highest + 1).
    pub registers: u16,
    /// Uniform registers that the instructions name (the highest + 1).
    pub uniform_registers: u8,
}

/// Translates the code of a function. `file` is the name of the listing that instructions are said to come from.
#[must_use]
pub fn translate(function: &Function<'_>, file: &str) -> Translated {
    let words = function.instructions();
    let decoded: Vec<Result<Instruction, String>> =
        words.map(|word| word.map_err(|e| e.to_string())).collect();
    let is_padding = |word: &Result<Instruction, String>| matches!(word, Ok(word) if word.mnemonic == "NOP");
    let length = decoded.iter().rposition(|word| !is_padding(word)).map_or(0, |last| last + 1);
    let entries =
        function.parts.iter().map(|(start, _)| Pc((start / INSTRUCTION_BYTES as u64) as u32)).collect();
    let code = Code { words: &decoded[..length], entries };
    let mut out = Translated {
        listing: SourceFile { language: Language::MachineCode, name: file.to_owned(), lines: Vec::new() },
        insts: Vec::with_capacity(length),
        lines: Vec::with_capacity(length),
        traps: Vec::new(),
        registers: 0,
        uniform_registers: 0,
    };
    for (at, word) in code.words.iter().enumerate() {
        let line = at as u32 + 1;
        let inst = match word {
            Ok(word) => {
                let text = word.to_string();
                let inst = instruction(&code, at, word)
                    .and_then(|inst| inst.check().map(|()| inst))
                    .map_err(|why| format!("`{text}` at {:#x} ({why})", word.address));
                out.listing.lines.push((line, text));
                inst
            }
            Err(why) => Err(why.clone()),
        };
        let inst = inst.unwrap_or_else(|why| {
            out.traps.push((Pc(at as u32), why));
            Inst::new(Op::Bpt {})
        });
        let registers = inst.dst_regs().chain(inst.src_regs()).map(|reg| u16::from(reg.0) + 1);
        out.registers = registers.fold(out.registers, u16::max);
        let uniform = inst.dst_uniforms().chain(inst.src_uniforms()).map(|reg| reg.0 + 1);
        out.uniform_registers = uniform.fold(out.uniform_registers, u8::max);
        out.insts.push(inst);
        out.lines.push(SourceLine { code: Position { file: 1, line }, source: Position::default() });
    }
    out
}

/// The instruction at a place of the code.
fn instruction(code: &Code<'_>, at: usize, word: &Instruction) -> Result<Inst, Refusal> {
    let mut args = Args::of(word);
    let inst = match control::translate(code, at, word, &mut args)? {
        Some(inst) => Some(inst),
        None => match memory::translate(word, &mut args)? {
            Some(inst) => Some(inst),
            None => match arithmetic::translate(word, &mut args)? {
                Some(inst) => Some(inst),
                None => float::translate(word, &mut args)?,
            },
        },
    };
    let inst = inst.ok_or("there is no such instruction in the table")?;
    args.finish()?;
    guard(word, inst)
}

/// Adds the guard. Control flow can have a predicate of its own, which is the guard if there is no other.
fn guard(word: &Instruction, inst: Inst) -> Result<Inst, Refusal> {
    let pred = match (word.guard.predicate, word.guard.uniform) {
        (PT, _) => Pred::PT,
        (number, true) => Pred::uniform(number),
        (number, false) => Pred(number),
    };
    let guard = PredSrc { pred, not: word.guard.negated };
    if inst.is_unguarded() {
        return Ok(inst.guarded(guard));
    }
    if guard == PredSrc::TRUE {
        return Ok(inst);
    }
    let both = match inst.op {
        Op::Bra {} => Op::BraIf {},
        Op::Exit {} => Op::ExitIf {},
        _ => return Err("it has two predicates".into()),
    };
    let mut inst = Inst { op: both, ..inst };
    inst.psrc[0] = inst.guard;
    Ok(inst.guarded(guard))
}
