//! The register-allocated machine kernel: the single form that is executed, recorded, listed, analysed and
//! timed.

use super::control_bits::ControlBits;
use super::facts::Kind;
use super::inst::Inst;
use super::regs::Pc;
use super::space;
use super::table::Op;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Language of a source file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Language {
    /// NVIDIA's virtual instruction set.
    Ptx,
    /// CUDA C++.
    Cuda,
    /// Native machine code.
    MachineCode,
    /// Another one, by its name.
    Other(String),
}

impl Language {
    /// The language that a file of device code is written in, by its extension: CUDA unless that says otherwise.
    #[must_use]
    pub fn of_source(name: &str) -> Language {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        match extension {
            Some("ptx") => Language::Ptx,
            Some("sass" | "cubin") => Language::MachineCode,
            Some("py") => Language::Other("Python".into()),
            Some("jl") => Language::Other("Julia".into()),
            Some("rs") => Language::Other("Rust".into()),
            _ => Language::Cuda,
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::Ptx => "PTX",
            Language::Cuda => "CUDA",
            Language::MachineCode => "machine code",
            Language::Other(name) => name,
        })
    }
}

/// A file that instructions come from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its language.
    pub language: Language,
    /// Its name.
    pub name: String,
    /// Known text of the lines that instructions come from: (line, text), sorted by line.
    pub lines: Vec<(u32, String)>,
}

/// A line of a source file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Position {
    /// Index into [`MachineKernel::files`] plus one; 0 when unknown.
    pub file: u32,
    /// Line, counted from 1; 0 when unknown.
    pub line: u32,
}

impl Position {
    /// Whether a file and a line are known.
    #[must_use]
    pub const fn is_known(self) -> bool {
        self.file > 0 && self.line > 0
    }
}

/// Origin of a machine instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct SourceLine {
    /// Position in the code that was translated to machine instructions: PTX, or machine code.
    pub code: Position,
    /// Position in the source of this code, if known (CUDA with `-lineinfo`).
    pub source: Position,
}

/// A kernel parameter in constant bank 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Param {
    /// Name in the source.
    pub name: String,
    /// Byte offset from the start of the parameters ([`super::space::PARAM_BASE`]).
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Type in the notation of PTX, e.g. `u64`, `f32` or `b8[24]`.
    pub ty: String,
}

/// A register-allocated kernel with all data to run, list, analyse and time it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MachineKernel {
    /// Entry name (mangled).
    pub name: String,
    /// Instructions; a [`Pc`] indexes this list.
    pub insts: Vec<Inst>,
    /// Origin of each instruction, parallel to `insts`.
    pub lines: Vec<SourceLine>,
    /// Files that `lines` refers to; the first is the code that was translated to machine instructions.
    pub files: Vec<SourceFile>,
    /// 32-bit registers per thread (highest used register + 1).
    pub regs_per_thread: u16,
    /// Uniform registers per warp (highest used register + 1).
    pub uniform_registers: u8,
    /// Statically declared shared memory, bytes per block.
    pub static_shared_bytes: u32,
    /// Local memory (stack frame, spills), bytes per thread.
    pub local_bytes: u32,
    /// Local memory that holds spilled registers, bytes per thread.
    pub spill_bytes: u32,
    /// Local memory for the frames of called functions, below the kernel's own, bytes per thread.
    pub stack_bytes: u32,
    /// Barriers used per block.
    pub barriers: u8,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Total size of the parameters in bytes.
    pub param_bytes: u32,
    /// Contents of the literal bank ([`super::space::BANK_LITERAL`]).
    pub literals: Vec<u8>,
    /// Maximum block that the kernel declares (`.maxntid`), if it does.
    pub max_threads_per_block: Option<[u32; 3]>,
    /// First instruction of each function besides the entry (slow paths, called functions), with its name.
    pub functions: Vec<(Pc, String)>,
    /// Functions that can be called through a register: the low word of each function's address (the upper is
    /// [`super::space::CODE_WINDOW_HI`]; in machine code 0, as addresses count from the kernel's beginning), and its first
    /// instruction; ascending by address.
    pub entries: Vec<(u32, Pc)>,
    /// Traps in place of code that has no lowering, with its description; ascending.
    pub traps: Vec<(Pc, String)>,
    /// Control bits of each instruction that has them, parallel to `insts`; empty for a kernel without any. A trace has them in
    /// a record of their own.
    #[serde(skip)]
    pub control: Vec<Option<ControlBits>>,
}

impl MachineKernel {
    /// Name of the function that an instruction belongs to; the entry's name for the main body.
    #[must_use]
    pub fn function_at(&self, pc: Pc) -> &str {
        self.functions
            .iter()
            .filter(|(start, _)| *start <= pc)
            .max_by_key(|(start, _)| *start)
            .map_or(self.name.as_str(), |(_, name)| name.as_str())
    }

    /// Whether it was translated from machine code.
    #[must_use]
    pub fn is_machine_code(&self) -> bool {
        self.files.first().is_some_and(|file| file.language == Language::MachineCode)
    }

    /// First instruction of the function at an address. Machine code may count it from the beginning of its section, whose
    /// first instruction is `section`.
    #[must_use]
    pub fn entry(&self, address: u64, section: Pc) -> Option<Pc> {
        let (low, window) = (address as u32, (address >> 32) as u32);
        if self.is_machine_code() && window == 0 {
            let at = Pc(section.0.checked_add(low / space::CODE_STRIDE)?);
            let is_there = low.is_multiple_of(space::CODE_STRIDE);
            return self.entries.iter().map(|(_, pc)| *pc).find(|pc| is_there && *pc == at);
        }
        let at = self.entries.binary_search_by_key(&low, |(address, _)| *address).ok()?;
        (window == space::CODE_WINDOW_HI).then(|| self.entries[at].1)
    }

    /// The instruction of machine code at a byte address that counts from the beginning of `section`.
    #[must_use]
    pub fn instruction_at(&self, address: u64, section: Pc) -> Option<Pc> {
        let stride = u64::from(space::CODE_STRIDE);
        let at = (address / stride).checked_add(u64::from(section.0))?;
        let is_there = address.is_multiple_of(stride) && at < self.insts.len() as u64;
        is_there.then_some(Pc(at as u32))
    }

    /// Description of the trap at an instruction, if it stands for code without lowering.
    #[must_use]
    pub fn trap(&self, pc: Pc) -> Option<&str> {
        let at = self.traps.binary_search_by_key(&pc, |(at, _)| *at).ok()?;
        Some(&self.traps[at].1)
    }

    /// The file that was translated to machine instructions.
    #[must_use]
    pub fn code_file(&self) -> Option<&SourceFile> {
        self.files.first()
    }

    /// The file that a position is in.
    #[must_use]
    pub fn file(&self, at: Position) -> Option<&SourceFile> {
        self.files.get(at.file.checked_sub(1)? as usize)
    }

    /// Text of a line.
    #[must_use]
    pub fn text(&self, at: Position) -> Option<&str> {
        let lines = &self.file(at)?.lines;
        let found = lines.binary_search_by_key(&at.line, |(line, _)| *line).ok()?;
        Some(&lines[found].1)
    }

    /// Text of the line of translated code that an instruction comes from.
    #[must_use]
    pub fn code_text(&self, pc: Pc) -> Option<&str> {
        self.text(self.lines.get(pc.index())?.code)
    }

    /// File, line and language of a position, e.g. `saxpy.cu:12 (CUDA)`.
    #[must_use]
    pub fn place(&self, at: Position) -> Option<String> {
        let file = self.file(at).filter(|_| at.is_known())?;
        Some(format!("{}:{} ({})", file.name, at.line, file.language))
    }

    /// Checks that every instruction is well formed, targets exist and the code cannot run off its end.
    ///
    /// # Errors
    /// The first violation, with its PC.
    pub fn check(&self) -> Result<(), String> {
        if self.insts.is_empty() {
            return Err(format!("kernel {} has no instructions", self.name));
        }
        if self.lines.len() != self.insts.len() {
            return Err(format!(
                "kernel {}: {} lines for {} instructions",
                self.name,
                self.lines.len(),
                self.insts.len()
            ));
        }
        for (i, inst) in self.insts.iter().enumerate() {
            let pc = Pc(i as u32);
            let fail = |why: String| Err(format!("kernel {}, PC {pc}: {why}", self.name));
            if let Err(why) = inst.check() {
                return fail(why);
            }
            let collective = (inst.op == (Op::WarpsyncCollective {})).then_some(inst.target);
            if inst.jumps_to().or(collective).is_some_and(|target| target.index() >= self.insts.len()) {
                return fail(format!("target {} lies outside the kernel", inst.target));
            }
            if inst.reconv.is_some_and(|r| r.index() >= self.insts.len()) {
                return fail("reconvergence point lies outside the kernel".into());
            }
            let highest = inst.regs().map(|r| u16::from(r.0) + 1).max().unwrap_or(0);
            let uniform = inst.uniforms().map(|reg| reg.0).max();
            if uniform.is_some_and(|reg| reg >= self.uniform_registers) {
                return fail(format!(
                    "uniform register UR{} is beyond the {} of the kernel",
                    uniform.unwrap_or_default(),
                    self.uniform_registers
                ));
            }
            if highest > self.regs_per_thread {
                return fail(format!(
                    "register R{} is beyond the {} allocated",
                    highest - 1,
                    self.regs_per_thread
                ));
            }
        }
        if !self.control.is_empty() && self.control.len() != self.insts.len() {
            let (bits, insts) = (self.control.len(), self.insts.len());
            return Err(format!("kernel {}: control bits for {bits} of {insts} instructions", self.name));
        }
        for (pc, bits) in self.control.iter().enumerate().filter_map(|(pc, bits)| Some((pc, bits.as_ref()?)))
        {
            bits.check().map_err(|why| format!("kernel {}, PC {}: {why}", self.name, Pc(pc as u32)))?;
        }
        let known = |at: Position| at.file as usize <= self.files.len();
        if let Some(pc) = self.lines.iter().position(|line| !known(line.code) || !known(line.source)) {
            return Err(format!("kernel {}, PC {}: its source file is not listed", self.name, Pc(pc as u32)));
        }
        let listed = self.entries.iter().map(|(_, pc)| pc).chain(self.traps.iter().map(|(pc, _)| pc));
        if let Some(pc) = listed.copied().find(|pc| pc.index() >= self.insts.len()) {
            return Err(format!("kernel {}: PC {pc} is listed but lies outside the kernel", self.name));
        }
        let last = self.insts[self.insts.len() - 1];
        let ends = match last.kind() {
            Kind::Exit | Kind::Return | Kind::Branch => last.is_unguarded(),
            Kind::Trap => true,
            _ => false,
        };
        if ends { Ok(()) } else { Err(format!("kernel {}: control runs off the end", self.name)) }
    }
}
