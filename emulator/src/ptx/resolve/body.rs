//! A function's statements to its flat, decoded code.

use super::super::ast::{InstAst, Name, Stmt};
use super::super::decode::{self, RawInst, Signatures};
use super::super::diagnostic::Diagnostic;
use super::super::forms::{Decides, Tables};
use super::super::ids::{BranchTableId, CallTableId, FuncId, LabelId, LocId, PrototypeId, VarId};
use super::super::inst::Guard;
use super::super::module::{Body, CodeLabel, Loc, Prototype, Refused, Statement};
use super::super::types::ScalarType;
use super::arg::{Arg, ArgKind};
use super::resolver::Resolver;
use super::scope::{Names, Symbol};
use super::vars;

/// A function while its statements are walked.
struct Code<'a> {
    owner: FuncId,
    names: Names<'a>,
    body: Body,
    loc: Option<LocId>,
}

impl<'a> Resolver<'a> {
    /// Resolves a function's body and stores it, with the registers that it mentions.
    pub(super) fn function_body(&mut self, id: FuncId, names: Names<'a>, statements: &[Stmt<'a>]) {
        let mut code = Code { owner: id, names, body: Body::default(), loc: None };
        self.scope(&mut code, statements);
        let function = &mut self.functions[id.index()];
        function.registers = code.names.registers;
        function.body = Some(code.body);
    }

    /// The statements of one scope; its labels are known from its beginning, other names from where they
    /// are declared.
    fn scope(&mut self, code: &mut Code<'a>, statements: &[Stmt<'a>]) {
        self.labels(code, statements);
        for statement in statements {
            match statement {
                Stmt::Label(name) => {
                    if let Some(Symbol::Label(id)) = code.names.find(name.text) {
                        code.body.labels[id.index()].statement = code.body.statements.len();
                        code.body.statements.push(Statement::Label(id));
                    }
                }
                Stmt::Inst(inst) => self.instruction(code, inst),
                Stmt::Vars(decl) => self.local_declaration(code, decl),
                Stmt::Scope(inner) => {
                    code.names.enter();
                    self.scope(code, inner);
                    code.names.leave();
                }
                Stmt::Pragma(pragmas) => {
                    code.body.statements.extend(pragmas.iter().cloned().map(Statement::Pragma));
                }
                Stmt::Loc(loc) => code.loc = Some(push_loc(&mut code.body, loc)),
                Stmt::BranchTargets(..) | Stmt::CallTargets(..) | Stmt::CallPrototype(..) => {}
            }
        }
    }

    /// Declares the labels, target lists and prototypes of a scope.
    fn labels(&mut self, code: &mut Code<'a>, statements: &[Stmt<'a>]) {
        for statement in statements {
            let (name, symbol) = match statement {
                Stmt::Label(name) => {
                    let id = LabelId::new(code.body.labels.len());
                    code.body.labels.push(CodeLabel { name: name.text.to_owned(), statement: 0 });
                    (name, Symbol::Label(id))
                }
                Stmt::BranchTargets(name, _) => {
                    let id = BranchTableId::new(code.body.branch_tables.len());
                    code.body.branch_tables.push(Vec::new());
                    (name, Symbol::BranchTable(id))
                }
                Stmt::CallTargets(name, targets) => {
                    let id = CallTableId::new(code.body.call_tables.len());
                    let targets = targets.iter().filter_map(|target| self.call_target(*target)).collect();
                    code.body.call_tables.push(targets);
                    (name, Symbol::CallTable(id))
                }
                Stmt::CallPrototype(name, ast) => {
                    let id = PrototypeId::new(code.body.prototypes.len());
                    let returns = self.prototype_params(&ast.returns);
                    let params = self.prototype_params(&ast.params);
                    code.body.prototypes.push(Prototype { returns, params, noreturn: ast.noreturn });
                    (name, Symbol::Prototype(id))
                }
                _ => continue,
            };
            if let Err(first) = code.names.declare(name.text, symbol, name.span) {
                self.duplicate(*name, first);
            }
        }
        for statement in statements {
            let Stmt::BranchTargets(name, targets) = statement else { continue };
            let targets = targets.iter().filter_map(|target| self.branch_target(code, *target)).collect();
            if let Some(Symbol::BranchTable(id)) = code.names.find(name.text) {
                code.body.branch_tables[id.index()] = targets;
            }
        }
    }

    fn call_target(&mut self, target: Name<'a>) -> Option<FuncId> {
        if let Some(&(Symbol::Func(id), _)) = self.symbols.get(target.text) {
            return Some(id);
        }
        self.error(target.span, format!("undefined function `{}`", target.text));
        None
    }

    fn branch_target(&mut self, code: &Code<'a>, target: Name<'a>) -> Option<LabelId> {
        if let Some(Symbol::Label(id)) = code.names.find(target.text) {
            return Some(id);
        }
        self.error(target.span, format!("undefined label `{}`", target.text));
        None
    }

    fn local_declaration(&mut self, code: &mut Code<'a>, decl: &super::super::ast::VarDecl<'a>) {
        for declarator in &decl.names {
            let Some(space) = vars::var_space(decl) else {
                self.declare_registers(decl, declarator, &mut code.names);
                continue;
            };
            if let Some((name, variable)) = self.declared_variable(decl, declarator, space, Some(code.owner))
            {
                let id = VarId::new(self.vars.len());
                self.vars.push(variable);
                code.body.vars.push(id);
                if let Err(first) = code.names.declare(name.text, Symbol::Var(id), name.span) {
                    self.duplicate(name, first);
                }
                if let Some(init) = &declarator.init {
                    self.initialise(id, init, Some(&mut code.names));
                }
            }
        }
    }

    /// Resolves the operands of an instruction and decodes it.
    fn instruction(&mut self, code: &mut Code<'a>, inst: &InstAst<'a>) {
        let guard = inst.guard.map(|(negated, name)| self.guard(code, negated, name));
        let Some(args) = self.operands(&inst.operands, &mut code.names) else { return };
        let guard = match guard {
            Some(None) => return,
            Some(Some(guard)) => Some(guard),
            None => None,
        };
        let decides = match self.exists(code, inst, &args) {
            Ok(decides) => decides,
            Err(error) => {
                self.diagnostics.push(*error);
                return;
            }
        };
        let raw = RawInst {
            guard,
            opcode: inst.opcode,
            modifiers: inst.modifiers(self.tokens),
            args,
            span: inst.span,
            loc: code.loc,
        };
        let signatures = Signatures { functions: &self.functions, prototypes: &code.body.prototypes };
        let statement = match decode::decode(raw, self.text, &code.names.registers, &signatures) {
            Ok(decoded) => Statement::Inst(decoded),
            Err(error) if decides == Decides::Decoder => {
                self.diagnostics.push(*error);
                return;
            }
            Err(diagnostic) => Statement::Unsupported(Box::new(Refused { guard, diagnostic: *diagnostic })),
        };
        code.body.statements.push(statement);
    }

    /// Checks that PTX has the instruction.
    fn exists(
        &mut self,
        code: &Code<'a>,
        inst: &InstAst<'a>,
        args: &[Arg<'a>],
    ) -> Result<Decides, Box<Diagnostic>> {
        let last = inst.modifiers(self.tokens).last().map_or(inst.opcode.span, |last| last.span);
        let span = inst.opcode.span.to(last);
        let whole = Name { text: self.text.get(span.bytes()).unwrap_or(inst.opcode.text), span };
        let tables = Tables { registers: &code.names.registers, vars: &self.vars };
        self.forms.check(inst.opcode, whole, args, &tables)
    }

    fn guard(&mut self, code: &mut Code<'a>, negated: bool, name: Name<'a>) -> Option<Guard> {
        let expr = super::super::ast::Expr::Name(name);
        let arg = self.value(&expr, &mut code.names)?;
        match arg.kind {
            ArgKind::Reg(reg) if code.names.registers[reg.index()].ty == ScalarType::Pred => {
                Some(Guard { reg, negated })
            }
            _ => {
                let wrong = Diagnostic::error(
                    name.span,
                    format!("the guard `{}` is not a predicate register", name.text),
                );
                self.diagnostics.push(wrong.with_help("declare it with `.reg .pred`"));
                None
            }
        }
    }
}

/// Adds a source position, unless it repeats the last one.
fn push_loc(body: &mut Body, loc: &Loc) -> LocId {
    if body.locs.last() != Some(loc) {
        body.locs.push(loc.clone());
    }
    LocId::new(body.locs.len() - 1)
}
