//! The resolved module: what lowering reads.
//!
//! Plain tables without names to look up: functions, variables, registers, labels, statements. Everything
//! here is checked (symbols exist, sizes fit, instructions are those of PTX). Instructions that are not emulated stay in
//! place as [`Statement::Unsupported`].

use std::sync::Arc;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::ids::{BranchTableId, CallTableId, FuncId, LabelId, LocId, PrototypeId, RegId, VarId};
use super::inst::{Guard, Inst};
use super::source::{SourceFile, Span};
use super::types::{ScalarType, StateSpace};

/// One PTX file.
#[derive(Clone, Debug)]
pub struct Module {
    /// The text, for reports.
    pub source: Arc<SourceFile>,
    /// `.version`, major and minor.
    pub version: (u32, u32),
    /// `.target`.
    pub target: Target,
    /// `.address_size`: 32 or 64 bits.
    pub address_bits: u32,
    /// Kernels and device functions, declared ones included.
    pub functions: Vec<Function>,
    /// Variables of every scope and space, kernel and function parameters included.
    pub vars: Vec<Variable>,
    /// `.file`: number and path.
    pub files: Vec<(u32, String)>,
    /// `.pragma` at module level.
    pub pragmas: Vec<String>,
    /// What is worth knowing but did not keep the module from loading.
    pub warnings: Diagnostics,
}

/// `.target`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Target {
    /// Everything listed: `sm_75`, `texmode_independent`, `debug`.
    pub names: Vec<String>,
    /// The number of the `sm_` entry: 75, 90, 120; 0 where it is unknown.
    pub sm: u32,
}

/// Who sees a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Linkage {
    /// This module alone.
    #[default]
    Internal,
    /// `.visible`.
    Visible,
    /// `.weak`.
    Weak,
    /// `.extern`: defined elsewhere (dynamic shared memory, runtime functions).
    Extern,
    /// `.common`.
    Common,
}

/// A kernel or device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its (mangled) name.
    pub name: String,
    /// `.entry`, else `.func`.
    pub is_kernel: bool,
    /// Visibility.
    pub linkage: Linkage,
    /// Return values of a `.func`.
    pub returns: Vec<Formal>,
    /// Parameters in order.
    pub params: Vec<Formal>,
    /// `.noreturn`.
    pub noreturn: bool,
    /// `.maxntid` and the like.
    pub limits: Limits,
    /// `.pragma` of the function as a whole.
    pub pragmas: Vec<String>,
    /// Scalar registers, in order of first mention; a vector register is as many neighbours as it has elements.
    pub registers: Vec<Register>,
    /// The code; `None` where the function is only declared.
    pub body: Option<Body>,
    /// Its name in the text.
    pub span: Span,
}

/// A formal parameter or return value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Formal {
    /// In `.param` space (always so for kernels); size, alignment and offset are the variable's.
    Var(VarId),
    /// In a register (`.func` only).
    Reg(RegId),
}

/// Performance directives of a function, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Limits {
    /// `.maxntid`: largest block, missing dimensions 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the only allowed block.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`: blocks that shall fit an SM.
    pub min_blocks_per_sm: Option<u32>,
    /// `.maxnctapersm` (deprecated).
    pub max_blocks_per_sm: Option<u32>,
    /// `.maxnreg`: registers per thread.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`.
    pub cluster_blocks: Option<[u32; 3]>,
    /// `.maxclusterrank`.
    pub max_cluster_rank: Option<u32>,
    /// `.explicitcluster`.
    pub explicit_cluster: bool,
    /// `.blocksareclusters`.
    pub blocks_are_clusters: bool,
}

/// A scalar virtual register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// As written, with `%`; elements of a vector register have `.x` … appended.
    pub name: String,
    /// Declared type: a float type, `.pred`, or an integer or bits type of the width.
    pub ty: ScalarType,
}

/// A function's code, scopes flattened.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Labels, instructions, pragmas, in program order.
    pub statements: Vec<Statement>,
    /// Branch targets.
    pub labels: Vec<CodeLabel>,
    /// `.local`, `.shared`, `.param`, `.global` … variables declared in the body.
    pub vars: Vec<VarId>,
    /// `.branchtargets` lists.
    pub branch_tables: Vec<Vec<LabelId>>,
    /// `.calltargets` lists.
    pub call_tables: Vec<Vec<FuncId>>,
    /// `.callprototype`s.
    pub prototypes: Vec<Prototype>,
    /// CUDA source positions.
    pub locs: Vec<Loc>,
}

/// A branch target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLabel {
    /// Its name.
    pub name: String,
    /// Index of its [`Statement::Label`].
    pub statement: usize,
}

/// One element of a function's code.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A branch target.
    Label(LabelId),
    /// An instruction.
    Inst(Inst),
    /// An instruction of PTX that is not emulated; to be reported by whoever needs this function.
    Unsupported(Box<Refused>),
    /// `.pragma "nounroll"`, `"used_bytes_mask 0x…"` (about the next instruction), …; the text inside
    /// the quotes.
    Pragma(String),
}

/// An instruction of PTX that is not emulated; its [`Diagnostic`] gives the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// Condition under which a thread would execute it.
    pub guard: Option<Guard>,
    /// Why it is refused, with its place.
    pub diagnostic: Diagnostic,
}

impl std::ops::Deref for Refused {
    type Target = Diagnostic;

    fn deref(&self) -> &Diagnostic {
        &self.diagnostic
    }
}

/// `.callprototype`: the shape of an indirect call's target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// Return values.
    pub returns: Vec<PrototypeParam>,
    /// Parameters.
    pub params: Vec<PrototypeParam>,
    /// `.noreturn`.
    pub noreturn: bool,
}

/// A parameter of a prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrototypeParam {
    /// `.reg`, else `.param`.
    pub in_register: bool,
    /// Element type.
    pub ty: ScalarType,
    /// Size in bytes; 0 where an array's is left open.
    pub size_bytes: u64,
    /// Alignment in bytes.
    pub align_bytes: u32,
}

/// A CUDA source position (`.loc`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loc {
    /// Number of the `.file`.
    pub file: u32,
    /// Line, from 1 (0: none).
    pub line: u32,
    /// Column, from 1 (0: none).
    pub col: u32,
    /// `inlined_at file line col`.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarSpace {
    /// `.global`: one per device.
    Global,
    /// `.const`: read-only, at most 64 KiB.
    Const,
    /// `.shared`: one per block.
    Shared,
    /// `.local`: one per thread.
    Local,
    /// `.param`: a kernel's or function's parameter, or an argument slot of a call.
    Param,
    /// `.tex`, `.texref`, `.samplerref`, `.surfref`: opaque.
    Texture,
}

impl VarSpace {
    /// The space an instruction would name for it; textures count as global.
    #[must_use]
    pub const fn state_space(self) -> StateSpace {
        match self {
            Self::Global | Self::Texture => StateSpace::Global,
            Self::Const => StateSpace::Const,
            Self::Shared => StateSpace::Shared,
            Self::Local => StateSpace::Local,
            Self::Param => StateSpace::Param,
        }
    }
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub space: VarSpace,
    /// Visibility.
    pub linkage: Linkage,
    /// The function it is declared in, `None` at module level.
    pub owner: Option<FuncId>,
    /// Element type; `.b64` for opaque references.
    pub ty: ScalarType,
    /// Elements of a vector type (`.v2`, `.v4`), else 1.
    pub vec: u8,
    /// Array dimensions as declared, outermost first, 0 for `[]` without initialiser; empty for scalars.
    pub dims: Vec<u64>,
    /// Size in bytes; 0 for `[]` (dynamic shared memory).
    pub size_bytes: u64,
    /// Alignment in bytes, a power of two.
    pub align_bytes: u32,
    /// For formals: byte offset in the parameter list, each at its alignment; else 0.
    pub param_offset: u64,
    /// Attributes of a pointer parameter's target (`.ptr .space .align n`).
    pub pointer: Option<PointerAttribute>,
    /// Kind of opaque reference.
    pub opaque: Option<super::op_data::OpaqueKind>,
    /// Initial contents; `None` is zeros.
    pub init: Option<Initializer>,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// Its name in the text.
    pub span: Span,
}

/// `.ptr` of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PointerAttribute {
    /// Space pointed to, generic if not given.
    pub space: StateSpace,
    /// Alignment of the target in bytes.
    pub align_bytes: u32,
}

/// Initial contents of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Initializer {
    /// Little-endian bytes from the start; the rest of the variable is zero.
    pub bytes: Vec<u8>,
    /// Places to fill with addresses.
    pub relocations: Vec<Relocation>,
}

/// An address inside initial contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where, in bytes from the start of the variable.
    pub offset: u64,
    /// Bytes to write: 1 for `mask(symbol)`, else that of the element.
    pub size_bytes: u32,
    /// Whose address.
    pub target: RelocationTarget,
    /// Added to the address.
    pub addend: i64,
    /// `generic(symbol)`: the generic address instead of the one in the symbol's space.
    pub generic: bool,
    /// For `0xFF00(symbol)`: right shift that brings the wanted byte to the low end.
    pub shift: u32,
}

/// Target of a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelocationTarget {
    /// A variable.
    Var(VarId),
    /// A function.
    Func(FuncId),
}

impl Module {
    /// A function.
    #[must_use]
    pub fn function(&self, id: FuncId) -> &Function {
        &self.functions[id.index()]
    }

    /// A variable.
    #[must_use]
    pub fn var(&self, id: VarId) -> &Variable {
        &self.vars[id.index()]
    }

    /// The kernel of a name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<FuncId> {
        self.functions
            .iter()
            .position(|function| function.is_kernel && function.name == name)
            .map(FuncId::new)
    }

    /// All kernels that have a body.
    pub fn kernels(&self) -> impl Iterator<Item = (FuncId, &Function)> {
        let functions = self.functions.iter().enumerate();
        functions
            .filter(|(_, function)| function.is_kernel && function.body.is_some())
            .map(|(at, f)| (FuncId::new(at), f))
    }

    /// Every instruction that could not be decoded, with its function.
    pub fn unsupported(&self) -> impl Iterator<Item = (FuncId, &Diagnostic)> {
        self.functions.iter().enumerate().flat_map(|(at, function)| {
            function.unsupported().map(move |diagnostic| (FuncId::new(at), diagnostic))
        })
    }

    /// Line of the PTX text at which a span starts, from 1.
    #[must_use]
    pub fn line(&self, span: Span) -> u32 {
        self.source.line_col(span).line
    }

    /// Path of a `.file` number.
    #[must_use]
    pub fn file(&self, number: u32) -> Option<&str> {
        self.files.iter().find(|(file, _)| *file == number).map(|(_, path)| path.as_str())
    }
}

impl Function {
    /// A register.
    #[must_use]
    pub fn register(&self, id: RegId) -> &Register {
        &self.registers[id.index()]
    }

    /// Every instruction of the body that could not be decoded.
    pub fn unsupported(&self) -> impl Iterator<Item = &Diagnostic> {
        self.body.iter().flat_map(|body| &body.statements).filter_map(|statement| match statement {
            Statement::Unsupported(refused) => Some(&refused.diagnostic),
            _ => None,
        })
    }
}

impl Body {
    /// A label.
    #[must_use]
    pub fn label(&self, id: LabelId) -> &CodeLabel {
        &self.labels[id.index()]
    }

    /// The targets of an indexed branch.
    #[must_use]
    pub fn branch_table(&self, id: BranchTableId) -> &[LabelId] {
        &self.branch_tables[id.index()]
    }

    /// The targets of an indirect call.
    #[must_use]
    pub fn call_table(&self, id: CallTableId) -> &[FuncId] {
        &self.call_tables[id.index()]
    }

    /// A call prototype.
    #[must_use]
    pub fn prototype(&self, id: PrototypeId) -> &Prototype {
        &self.prototypes[id.index()]
    }

    /// A CUDA source position.
    #[must_use]
    pub fn loc(&self, id: LocId) -> &Loc {
        &self.locs[id.index()]
    }
}
