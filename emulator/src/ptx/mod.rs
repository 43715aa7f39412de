//! PTX front end: text in, resolved and decoded [`Module`] out.
//!
//! [`parse`] is lex → parse → resolve → check → decode. Each stage reports all that it finds before it stops:
//! broken structure, undefined or duplicate symbols, and instructions that PTX does not have for the file's version and
//! target (`forms/table.txt` lists those that it has) make the whole file fail with every error listed. An
//! instruction that exists and that the decoder does not know costs only itself: it stays in the code as
//! [`Statement::Unsupported`] with its [`Diagnostic`] and is the business of whoever lowers that function
//! ([`Module::unsupported`] lists them all).
//!
//! What lowering may rely on:
//! - **No names.** [`RegId`] indexes [`Function::registers`], [`LabelId`] [`Body::labels`], [`VarId`]
//!   [`Module::vars`] (one table for module variables, locals, shared memory and parameters), [`FuncId`]
//!   [`Module::functions`] (a body of `None` is a declaration such as `vprintf`).
//! - **Flat code.** [`Body::statements`] holds labels, instructions and pragmas in program order; scopes
//!   are gone, names that they shadowed are different registers, labels and variables.
//! - **Scalar registers.** A vector register is as many scalar ones, its use an [`Operand::Vector`].
//! - **Data apart from operands.** [`Op`] says what an instruction does, with the operand order at each
//!   variant; [`Inst::dsts`] and [`Inst::srcs`] give the operands, whose number, kind and width the
//!   decoder has checked. Both spellings of nvcc (`ld.global.f32` into `.f32` registers, `ld.global.b32`
//!   into `.b32` registers) decode to the type that the instruction names.
//! - **Constants are bits.** [`Operand::Imm`] is already in the operand's type; `WARP_SZ` is 32.
//! - **Places.** [`Inst::span`] gives the PTX text and line ([`Module::line`]), [`Inst::loc`] the CUDA line.

mod ast;
mod decode;
mod diagnostic;
mod forms;
mod ids;
mod inst;
mod lexer;
mod link;
mod module;
mod op;
mod op_data;
mod parser;
mod resolve;
mod source;
mod special;
mod types;

use std::sync::Arc;

pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
pub use ids::{BranchTableId, CallTableId, FuncId, LabelId, LocId, PrototypeId, RegId, VarId};
pub use inst::{Address, AddressBase, Guard, Inst, Operand};
pub use link::{LinkError, is_nvidias_runtime, link, missing_from};
pub use module::*;
pub use op::{CallShape, Callee, Op};
pub use op_data::*;
pub use source::{LineCol, SourceFile, Span};
pub use special::{Axis, SpecialRegister};
pub use types::*;

/// Parses, resolves and decodes one PTX text; diagnostics show `file_name`.
///
/// # Errors
/// All errors of structure and symbols, instructions that PTX does not have, and the text's warnings. Instructions that
/// are not emulated are no error here, see [`Module::unsupported`].
pub fn parse(source: &str, file_name: &str) -> Result<Module, Diagnostics> {
    let source = Arc::new(SourceFile::new(file_name, source));
    let mut diagnostics = Diagnostics::new(Arc::clone(&source));
    if u32::try_from(source.text().len()).is_err() {
        diagnostics.push(Diagnostic::error(Span::default(), "this file is larger than 4 GiB"));
        return Err(diagnostics);
    }
    let tokens = lexer::lex(source.text(), &mut diagnostics);
    let file = parser::parse_file(source.text(), &tokens, &mut diagnostics);
    let mut module = resolve::resolve(file, &source, &tokens, &mut diagnostics);
    diagnostics.sort();
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    module.warnings = diagnostics;
    Ok(module)
}
