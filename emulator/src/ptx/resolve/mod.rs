//! Syntax tree to module: every name becomes an index, every declaration a checked table entry.
//!
//! This file collects the module's symbols and checks the header; `resolver` holds the state, `vars` turns
//! declarations into variables, `init` their initialisers into bytes, `body` walks a function's statements, `operand` its
//! operands, `scope` holds the name tables and `constant` the arithmetic. Every undefined or doubly
//! defined name is reported; instructions are compared with the forms of PTX and decoded on the way, and those that
//! are not emulated stay in the code as unsupported.

mod arg;
mod body;
mod constant;
mod init;
mod operand;
mod resolver;
mod scope;
mod vars;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use arg::{Arg, ArgKind};
pub(super) use constant::Const;

use super::ast::{FileAst, FunctionAst, Name};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::forms::{Architecture, Forms, check_header};
use super::ids::{FuncId, VarId};
use super::lexer::Token;
use super::module::{Body, Formal, Function, Linkage, Module, Target, VarSpace};
use super::source::{SourceFile, Span};
use resolver::Resolver;
use scope::{Names, Symbol};
use vars::DeclaredType;

/// Resolves and decodes a whole file. Errors go to `diagnostics`; with any, the module is incomplete.
pub(super) fn resolve(
    file: FileAst<'_>,
    source: &Arc<SourceFile>,
    tokens: &[Token],
    diagnostics: &mut Diagnostics,
) -> Module {
    let text = source.text();
    let mut resolver = Resolver {
        text,
        tokens,
        diagnostics,
        symbols: HashMap::new(),
        vars: Vec::new(),
        functions: Vec::new(),
        forms: Forms::new(architecture(&file)),
        initialised_bytes: 0,
    };
    let version = resolver.version(&file);
    let target = resolver.target(&file);
    check_header(&file, resolver.diagnostics);
    let address_bits = resolver.address_bits(&file);
    let inits = resolver.module_variables(&file);
    let heads = resolver.function_heads(&file.functions);
    resolver.aliases(&file.aliases);
    for (id, init) in inits {
        resolver.initialise(id, init, None);
    }
    for (function, (id, names)) in file.functions.iter().zip(heads) {
        if let (Some(id), Some(statements)) = (id, &function.body) {
            resolver.function_body(id, names, statements);
        }
    }
    Module {
        source: Arc::clone(source),
        version,
        target,
        address_bits,
        functions: resolver.functions,
        vars: resolver.vars,
        files: file.files,
        pragmas: file.pragmas,
        warnings: Diagnostics::new(Arc::clone(source)),
    }
}

/// Version and target of a file.
fn architecture(file: &FileAst<'_>) -> Architecture {
    let digits = file
        .target
        .iter()
        .find_map(|name| name.text.strip_prefix("sm_").or_else(|| name.text.strip_prefix("compute_")));
    let digits = digits.unwrap_or("");
    let plain = digits.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let version = file.version.map_or((0, 0), |(version, _)| version);
    Architecture { version, sm: plain.parse().unwrap_or(0), specific: plain.len() < digits.len() }
}

impl<'a> Resolver<'a> {
    fn version(&mut self, file: &FileAst<'_>) -> (u32, u32) {
        let Some((version, _)) = file.version else {
            let missing = Diagnostic::error(Span::default(), "this file names no PTX version");
            self.diagnostics.push(missing.with_help("begin it with `.version 8.7` or the like"));
            return (0, 0);
        };
        version
    }

    fn target(&mut self, file: &FileAst<'_>) -> Target {
        if file.target.is_empty() {
            let missing = Diagnostic::error(Span::default(), "this file names no target");
            self.diagnostics.push(missing.with_help("add `.target sm_75` or the like behind the version"));
            return Target::default();
        }
        Target {
            names: file.target.iter().map(|name| name.text.to_owned()).collect(),
            sm: architecture(file).sm,
        }
    }

    /// 32 if the file does not give it, as in the ISA.
    fn address_bits(&mut self, file: &FileAst<'_>) -> u32 {
        match file.address_bits {
            None => 32,
            Some((bits @ (32 | 64), _)) => bits,
            Some((bits, span)) => {
                self.error(span, format!("an address has 32 or 64 bits, not {bits}"));
                64
            }
        }
    }

    /// Declares a module-level name. An `.extern` declaration and a definition may denote one object: `merge`
    /// decides this for a pair, given the earlier symbol.
    fn declare_global(
        &mut self,
        name: Name<'a>,
        symbol: Symbol,
        merge: impl Fn(&Self, Symbol) -> bool,
    ) -> bool {
        match self.symbols.get(name.text).copied() {
            Some((earlier, _)) if merge(self, earlier) => true,
            Some((_, first)) => {
                self.duplicate(name, first);
                false
            }
            None => {
                self.symbols.insert(name.text, (symbol, name.span));
                true
            }
        }
    }

    /// Declares the module's variables; returns their initialisers, which may name later symbols.
    fn module_variables<'f>(&mut self, file: &'f FileAst<'a>) -> Vec<(VarId, &'f super::ast::Init<'a>)> {
        let mut inits = Vec::new();
        for decl in &file.vars {
            let Some(space) = vars::var_space(decl) else {
                let span = decl.names.first().map_or_else(Span::default, |name| name.name.span);
                let wrong = Diagnostic::error(span, "registers are declared inside functions");
                let help = "PTX before 3.0 had registers of the module, which all functions share; these are not supported: \
                            hand the value to functions as a parameter";
                self.diagnostics.push(if file.version.is_some_and(|(version, _)| version < (3, 0)) {
                    wrong.with_help(help)
                } else {
                    wrong
                });
                continue;
            };
            if space == VarSpace::Local && file.version.is_some_and(|(version, _)| version >= (3, 0)) {
                let span = decl.names.first().map_or_else(Span::default, |name| name.name.span);
                self.error(span, "a variable of the module in `.local` space is of PTX before 3.0");
            }
            for declarator in &decl.names {
                if let Some((name, variable)) = self.declared_variable(decl, declarator, space, None) {
                    let id = VarId::new(self.vars.len());
                    let linkage = variable.linkage;
                    let is_extern = |this: &Self, earlier: Symbol| match earlier {
                        Symbol::Var(var) => {
                            linkage == Linkage::Extern || this.vars[var.index()].linkage == Linkage::Extern
                        }
                        _ => false,
                    };
                    self.vars.push(variable);
                    if !self.declare_global(name, Symbol::Var(id), is_extern) {
                        continue;
                    }
                    if linkage != Linkage::Extern {
                        self.symbols.insert(name.text, (Symbol::Var(id), name.span));
                    }
                    inits.extend(declarator.init.as_ref().map(|init| (id, init)));
                }
            }
        }
        inits
    }

    /// Declares all functions with their formals; for each its number, unless it is a duplicate, and the
    /// scope that holds the formals.
    fn function_heads(&mut self, functions: &[FunctionAst<'a>]) -> Vec<(Option<FuncId>, Names<'a>)> {
        functions.iter().map(|function| self.function_head(function)).collect()
    }

    fn function_head(&mut self, ast: &FunctionAst<'a>) -> (Option<FuncId>, Names<'a>) {
        let earlier = match self.symbols.get(ast.name.text) {
            Some(&(Symbol::Func(id), _)) => Some(id),
            _ => None,
        };
        let id = earlier.unwrap_or_else(|| FuncId::new(self.functions.len()));
        let has_body = |this: &Self| this.functions[id.index()].body.is_some();
        let defines = ast.body.is_some();
        let merge =
            |this: &Self, symbol: Symbol| matches!(symbol, Symbol::Func(_)) && !(defines && has_body(this));
        let declared = self.declare_global(ast.name, Symbol::Func(id), merge);
        let mut names = Names::new();
        let returns = self.formals(&ast.returns, ast.is_kernel, id, &mut names);
        let params = self.formals(&ast.params, ast.is_kernel, id, &mut names);
        if !declared {
            return (None, names);
        }
        let function = Function {
            name: ast.name.text.to_owned(),
            is_kernel: ast.is_kernel,
            linkage: ast.linkage,
            returns,
            params,
            noreturn: ast.noreturn,
            limits: ast.limits,
            pragmas: ast.pragmas.clone(),
            registers: names.registers.clone(),
            // Filled by `function_body`; its presence marks the function as defined.
            body: defines.then(Body::default),
            span: ast.name.span,
        };
        match earlier {
            None => self.functions.push(function),
            // A declaration after the definition adds nothing.
            Some(_) if !defines && has_body(self) => return (None, names),
            Some(earlier) => self.functions[earlier.index()] = function,
        }
        (Some(id), names)
    }

    /// Formal parameters or return values, laid out one after the other.
    fn formals(
        &mut self,
        decls: &[super::ast::VarDecl<'a>],
        is_kernel: bool,
        owner: FuncId,
        names: &mut Names<'a>,
    ) -> Vec<Formal> {
        let mut formals = Vec::with_capacity(decls.len());
        let mut end = 0u64;
        for decl in decls {
            for declarator in &decl.names {
                let name = declarator.name;
                let Some(space) = vars::var_space(decl) else {
                    if is_kernel {
                        self.error(name.span, "a parameter of a kernel is in `.param` space");
                        continue;
                    }
                    if let Some(DeclaredType { ty, .. }) = self.register_type(decl, declarator) {
                        if let Err(first) = names.declare_registers(name.text, None, ty, decl.vec, name.span)
                        {
                            self.duplicate(name, first);
                        } else if let Some(Symbol::Reg(decl, index)) = names.find(name.text) {
                            let (first, count) = names.register(decl, index);
                            let all = (0..count as usize)
                                .map(|at| Formal::Reg(super::ids::RegId::new(first.index() + at)));
                            formals.extend(all);
                        }
                    }
                    continue;
                };
                if space != VarSpace::Param {
                    self.error(name.span, "a parameter is in `.param` or `.reg` space");
                    continue;
                }
                if is_kernel && matches!(declarator.dims.first(), Some(None)) {
                    self.error(name.span, "a parameter of a kernel is an array of a known size");
                    continue;
                }
                if let Some((name, mut variable)) =
                    self.declared_variable(decl, declarator, space, Some(owner))
                {
                    let id = VarId::new(self.vars.len());
                    variable.param_offset = end.next_multiple_of(u64::from(variable.align_bytes));
                    end = variable.param_offset.saturating_add(variable.size_bytes);
                    self.vars.push(variable);
                    formals.push(Formal::Var(id));
                    if name.text != "_"
                        && let Err(first) = names.declare(name.text, Symbol::Var(id), name.span)
                    {
                        self.duplicate(name, first);
                    }
                }
            }
        }
        formals
    }

    /// `.alias a, b`: from now on `a` is `b`.
    fn aliases(&mut self, aliases: &[(Name<'a>, Name<'a>)]) {
        for (alias, target) in aliases {
            match self.symbols.get(target.text) {
                Some(&(symbol @ Symbol::Func(_), _)) => {
                    self.symbols.insert(alias.text, (symbol, alias.span));
                }
                _ => self.error(target.span, format!("`{}` is not a function", target.text)),
            }
        }
    }
}
