//! From NVIDIA's machine code to a machine kernel: one instruction of ours for each of theirs, in the same place.
//!
//! Registers keep their numbers. An instruction without a row of the table, or with a modifier or operand that its row does
//! not have, becomes a trap that names it, so that a kernel runs as long as no thread reaches it. So does a word that
//! cannot be decoded: nothing is guessed. A few that our table can express only in several instructions are a branch to
//! these, which stand behind the code of the function ([`code::Aside`]).

mod args;
mod arithmetic;
mod aside;
mod bits;
mod code;
mod control;
mod float;
mod half;
mod layout;
mod memory;
mod section;
mod uniforms;

pub(super) use bits::DependenceBarrier;
pub(super) use layout::Layout;
pub use section::{External, Section};

use args::Args;
use code::{Aside, Code, Place, Refusal, guard_of};
use sass::{INSTRUCTION_BYTES, Instruction, PT};
use trace_format::isa::{
    ControlBits, Inst, Language, Op, Pc, Position, PredSrc, SourceFile, SourceLine, Src,
};

/// Code in our ISA.
#[derive(Clone, Debug)]
pub struct Translated {
    /// Instructions, in the places of those that they were translated from; padding at the end is left out.
    pub insts: Vec<Inst>,
    /// Where each comes from, parallel to `insts`.
    pub lines: Vec<SourceLine>,
    /// The control bits of each, parallel to `insts`; none of a trap.
    pub control: Vec<Option<ControlBits>>,
    /// The listing that `lines` refers to.
    pub listing: SourceFile,
    /// How many of the instructions are in the places of theirs; those behind belong to instructions that need several.
    pub length: usize,
    /// Functions behind the beginning of the code, ascending: where each begins, and its name.
    pub functions: Vec<(Pc, String)>,
    /// Lower words of the addresses of these functions, ascending, and where each begins.
    pub entries: Vec<(u32, Pc)>,
    /// Traps in place of code without a translation, with its description; ascending.
    pub traps: Vec<(Pc, String)>,
    /// 32-bit registers that the instructions name (the highest + 1).
    pub registers: u16,
    /// Uniform registers that the instructions name (the highest + 1).
    pub uniform_registers: u8,
    /// Bytes at the beginning of local memory in which instructions save registers.
    pub saved_bytes: u32,
}

/// Translates sections of code, of which the first is a kernel's, and functions that are not in the file and that these call.
/// `file` is the name of the listing that instructions are said to come from.
#[must_use]
pub fn translate(sections: &[Section], externals: &[External], file: &str) -> Translated {
    let length = sections.iter().map(|section| section.words.len()).sum();
    let mut out = Translated {
        listing: SourceFile { language: Language::MachineCode, name: file.to_owned(), lines: Vec::new() },
        insts: Vec::with_capacity(length),
        lines: Vec::with_capacity(length),
        control: Vec::with_capacity(length),
        length,
        functions: Vec::new(),
        entries: Vec::new(),
        traps: Vec::new(),
        registers: 0,
        uniform_registers: 0,
        saved_bytes: 0,
    };
    let layout = Layout::of(sections.iter(), externals);
    let mut asides: Vec<(usize, &Instruction, Aside)> = Vec::new();
    for (section, &base) in sections.iter().zip(&layout.sections) {
        out.section(section, base, &layout, &mut asides);
    }
    for (external, &base) in externals.iter().zip(&layout.externals) {
        out.external(external, base);
    }
    // The second register of a pair may be named by instructions that stand aside alone.
    let used = asides.iter().map(|(.., aside)| aside.registers()).fold(out.registers, u16::max);
    for (at, word, mut aside) in asides {
        let line = at as u32 + 1;
        out.saved_bytes = out.saved_bytes.max(aside.local_bytes).max(aside.place_temporaries(used));
        let begin = out.insts.len();
        out.insts[at].target = Pc(begin as u32);
        for (from, to) in aside.local {
            aside.insts[from].target = Pc((begin + to) as u32);
        }
        let parts = bits::of_parts(word, &aside.insts);
        for (inst, bits) in aside.insts.into_iter().zip(parts) {
            out.push(inst, line, Some(bits));
        }
        if aside.returns {
            let mut back = Inst::new(Op::Bra {});
            back.target = Pc(line);
            out.push(back, line, Some(bits::of_part()));
        }
    }
    uniforms::renumber(&mut out.insts);
    let highest = out.insts.iter().flat_map(Inst::uniforms).map(|reg| reg.0 + 1).max();
    out.uniform_registers = highest.unwrap_or(0);
    out.traps.sort_by_key(|(pc, _)| *pc);
    out.entries.sort_unstable();
    out
}

impl Translated {
    /// Adds the instructions of a section; those that stand aside are left for later.
    fn section<'a>(
        &mut self,
        section: &'a Section,
        base: Pc,
        layout: &Layout,
        asides: &mut Vec<(usize, &'a Instruction, Aside)>,
    ) {
        if base.0 > 0 {
            self.function(base, section.name.clone(), section.address);
        }
        for (start, name) in &section.parts {
            let inside = (start / INSTRUCTION_BYTES as u64) as u32;
            if (1..section.words.len() as u32).contains(&inside) {
                self.function(Pc(base.0 + inside), name.clone(), section.address.wrapping_add(*start as u32));
            }
        }
        let code = Code { words: &section.words, base, layout, branches: &section.branches };
        for (inside, word) in section.words.iter().enumerate() {
            let at = base.index() + inside;
            let line = at as u32 + 1;
            let place = match word {
                Ok(word) => {
                    let text = word.to_string();
                    let place = instruction(&code, inside, word)
                        .and_then(checked)
                        .map_err(|why| format!("`{text}` at {:#x} ({why})", word.address));
                    self.listing.lines.push((line, text));
                    place.map(|place| (word, place))
                }
                Err(why) => Err(why.clone()),
            };
            match place {
                Ok((word, Place::Here(inst))) => self.push(inst, line, Some(bits::of(word, &inst))),
                Ok((word, Place::Aside(aside))) => {
                    asides.push((at, word, aside));
                    let branch = Inst::new(Op::Bra {});
                    self.push(branch, line, Some(bits::of_branch(word, &branch)));
                }
                Err(why) => self.trap(at, why, line),
            }
        }
    }

    /// Adds the instructions of a function that is not in the file.
    fn external(&mut self, external: &External, base: Pc) {
        self.function(base, external.name.clone(), external.address);
        let line = base.0 + 1;
        self.listing.lines.push((line, external.name.clone()));
        match external.code() {
            Ok(insts) => {
                self.saved_bytes = self.saved_bytes.max(external.saved_bytes());
                for inst in insts {
                    self.push(inst, line, Some(bits::of_part()));
                }
            }
            Err(why) => self.trap(base.index(), why, line),
        }
    }

    fn function(&mut self, at: Pc, name: String, address: u32) {
        self.functions.push((at, name));
        self.entries.push((address, at));
    }

    fn push(&mut self, inst: Inst, line: u32, control: Option<ControlBits>) {
        let registers = inst.regs().map(|reg| u16::from(reg.0) + 1);
        self.registers = registers.fold(self.registers, u16::max);
        self.insts.push(inst);
        self.control.push(control);
        self.lines.push(SourceLine { code: Position { file: 1, line }, source: Position::default() });
    }

    fn trap(&mut self, at: usize, why: String, line: u32) {
        self.traps.push((Pc(at as u32), why));
        self.push(Inst::new(Op::Bpt {}), line, None);
    }
}

/// Fails if an instruction is not as its row has it, or has a sign that it does not read.
fn checked(place: Place) -> Result<Place, Refusal> {
    let check = |inst: &Inst| {
        inst.check()?;
        let ignored = |(i, source): (usize, &Src)| {
            (source.neg && !inst.op.reads_sign(i)) || (source.abs && !inst.op.reads_magnitude(i))
        };
        match inst.src.iter().enumerate().any(ignored) {
            true => Err("a sign of its sources is not known of it".to_owned()),
            false => Ok(()),
        }
    };
    match &place {
        Place::Here(inst) => check(inst)?,
        Place::Aside(aside) => aside.insts.iter().try_for_each(check)?,
    }
    Ok(place)
}

/// The instruction at a place of the code.
fn instruction(code: &Code<'_>, at: usize, word: &Instruction) -> Result<Place, Refusal> {
    let mut args = Args::of(word);
    let mut place = match aside::translate(code, at, word, &mut args)? {
        Some(place) => place,
        None => aside::with_literal_pair(word, single(code, at, word, &mut args)?, &args)?,
    };
    args.finish()?;
    if let Place::Aside(aside) = &mut place {
        aside.temporaries = args.temporary(0).0;
    }
    match &mut place {
        Place::Here(inst) => *inst = guard(word, *inst)?,
        Place::Aside(aside) if aside.guards_itself => {}
        // A branch through a register has its guard inside.
        Place::Aside(aside) if aside.returns => {
            let changes = |inst: &Inst| inst.all_dst_preds().any(|pred| pred == guard_of(word).pred);
            if aside.insts.iter().rev().skip(1).any(changes) {
                return Err("a guard that it writes is not known of it".into());
            }
            for inst in &mut aside.insts {
                *inst = guard(word, *inst)?;
            }
        }
        Place::Aside(_) if word.guard.predicate == PT && !word.guard.negated => {}
        Place::Aside(_) => return Err("a guard is not known of it".into()),
    }
    Ok(place)
}

/// The one instruction that one of theirs is.
fn single(code: &Code<'_>, at: usize, word: &Instruction, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    if let Some(inst) = control::translate(code, at, word, args)? {
        return Ok(inst);
    }
    for translate in [memory::translate, arithmetic::translate, float::translate, half::translate] {
        if let Some(inst) = translate(word, args)? {
            return Ok(inst);
        }
    }
    Err("there is no such instruction in the table".into())
}

/// Adds the guard. Control flow can have a predicate of its own, which is the guard if there is no other.
fn guard(word: &Instruction, inst: Inst) -> Result<Inst, Refusal> {
    let guard = guard_of(word);
    if inst.has_no_guard() {
        return Ok(inst.guarded(guard));
    }
    if guard == PredSrc::TRUE {
        return Ok(inst);
    }
    let both = match inst.op {
        Op::Bra {} => Op::BraIf {},
        Op::Exit {} => Op::ExitIf {},
        Op::Break { at } => Op::BreakIf { at },
        _ => return Err("it has two predicates".into()),
    };
    let mut inst = Inst { op: both, ..inst };
    inst.psrc[0] = inst.guard;
    Ok(inst.guarded(guard))
}
