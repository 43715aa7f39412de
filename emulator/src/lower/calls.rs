//! Decides which functions become separate machine functions, and defines the calling convention.
//!
//! A function is inlined where it is called unless it calls itself, is called through a register, takes the
//! address of a parameter, moves the stack, or is so large and so often called that copies would explode. The
//! calling convention is simple: R1 is the stack pointer and stacks grow downwards; arguments and then
//! results lie in the caller's frame from its stack pointer on; a callee preserves every register; it
//! restores R1.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use trace_format::isa::space::{CODE_STRIDE, CODE_WINDOW_HI};

use super::options::LowerOptions;
use crate::ptx::{
    AddressBase, CallShape, Callee, Formal, FuncId, Inst, Module, Op, Operand, Prototype, RelocationTarget,
    ScalarType, Statement, VarId,
};

/// Levels of nested inlining above which the outer function becomes a separate machine function; building
/// such code takes stack for each level.
const MAX_NESTING: u32 = 64;

/// Maximum space of the arguments and results of one call; with more, no launch could run.
const MAX_CALL_BYTES: u32 = 1 << 26;

/// The address of a function, the same in every kernel of its module.
#[must_use]
pub fn function_address(func: FuncId) -> u64 {
    u64::from(CODE_WINDOW_HI) << 32 | u64::from(code_offset(func))
}

/// Lower word of [`function_address`].
pub(crate) fn code_offset(func: FuncId) -> u32 {
    (func.index() as u32 + 1) * CODE_STRIDE
}

/// Decisions about a kernel's functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inlining {
    /// Functions with machine code of their own, in the order of the file.
    pub own: Vec<FuncId>,
    /// Functions among `own` that calls through registers may reach.
    pub addressed: Vec<FuncId>,
    /// Every function that may run.
    pub reached: BTreeSet<FuncId>,
    /// Bytes at the end of local memory for `alloca`; 0 if nothing uses it.
    pub dynamic_bytes: u32,
}

/// Facts about a function that matter to callers.
#[derive(Default)]
pub(super) struct Facts {
    /// Callees, once per call.
    pub calls: Vec<FuncId>,
    /// Whether it calls through a register.
    pub indirect: bool,
    takes_parameter_address: bool,
    moves_stack: bool,
    /// Number of instructions.
    pub size: u64,
}

impl Facts {
    pub(super) fn of(module: &Module, func: FuncId) -> Facts {
        let mut facts = Facts::default();
        let function = module.function(func);
        let Some(body) = &function.body else { return facts };
        let formals: Vec<VarId> =
            function.params.iter().chain(&function.returns).filter_map(variable).collect();
        for statement in &body.statements {
            let Statement::Inst(inst) = statement else { continue };
            facts.size += 1;
            match inst.op {
                Op::Call { callee: Callee::Direct(callee), .. } => facts.calls.push(callee),
                Op::Call { callee: Callee::Indirect { .. }, .. } => facts.indirect = true,
                Op::Alloca { .. } | Op::Stacksave(_) | Op::Stackrestore(_) => facts.moves_stack = true,
                _ => {}
            }
            if !matches!(inst.op, Op::Call { .. }) {
                let named = |o: &Operand| matches!(o, Operand::Var(var, _) if formals.contains(var));
                facts.takes_parameter_address |= operands(inst).any(named);
            }
        }
        facts
    }
}

/// Whether a function itself allocates on the stack, which ends with it.
#[must_use]
pub(crate) fn moves_stack(module: &Module, func: FuncId) -> bool {
    Facts::of(module, func).moves_stack
}

fn variable(formal: &Formal) -> Option<VarId> {
    match formal {
        Formal::Var(var) => Some(*var),
        Formal::Reg(_) => None,
    }
}

/// Every operand, vectors taken apart.
fn operands(inst: &Inst) -> impl Iterator<Item = &Operand> {
    inst.dsts().iter().chain(inst.srcs()).flat_map(Operand::elements)
}

impl Inlining {
    /// The decisions for a kernel.
    #[must_use]
    pub(crate) fn of(module: &Module, kernel: FuncId, options: &LowerOptions) -> Inlining {
        let mut facts = BTreeMap::new();
        let mut queue = vec![kernel];
        let mut indirect = false;
        while let Some(func) = queue.pop() {
            if facts.contains_key(&func) {
                continue;
            }
            let of = Facts::of(module, func);
            queue.extend(&of.calls);
            if of.indirect && !indirect {
                indirect = true;
                queue.extend(addressed(module));
            }
            facts.insert(func, of);
        }
        let has_body = |f: &FuncId| module.function(*f).body.is_some();
        let addressed: Vec<FuncId> =
            if indirect { addressed(module).into_iter().filter(has_body).collect() } else { Vec::new() };
        let mut own: BTreeSet<FuncId> = addressed.iter().copied().collect();
        let recursive = recursive(&facts);
        for (&func, of) in &facts {
            if func != kernel && (of.takes_parameter_address || of.moves_stack || recursive.contains(&func)) {
                own.insert(func);
            }
        }
        outgrown(&facts, kernel, options.inline_limit, &mut own);
        own.remove(&kernel);
        own.retain(has_body);
        Inlining {
            own: own.into_iter().collect(),
            addressed,
            dynamic_bytes: if facts.values().any(|f| f.moves_stack) {
                options.stack_bytes.next_multiple_of(16)
            } else {
                0
            },
            reached: facts.into_keys().collect(),
        }
    }

    /// Whether a function has machine code of its own.
    #[must_use]
    pub(crate) fn is_own(&self, func: FuncId) -> bool {
        self.own.binary_search(&func).is_ok()
    }

    /// The functions whose code becomes part of a root's: the root and what is inlined into it.
    #[must_use]
    pub(crate) fn inlined_into(&self, module: &Module, root: FuncId) -> BTreeSet<FuncId> {
        let mut seen = BTreeSet::new();
        let mut stack = vec![root];
        while let Some(func) = stack.pop() {
            if seen.insert(func) {
                let calls = Facts::of(module, func).calls;
                stack.extend(calls.into_iter().filter(|f| !self.is_own(*f)));
            }
        }
        seen
    }

    /// Bytes that a root's code needs in its frame for the arguments and results of its calls.
    #[must_use]
    pub(crate) fn outgoing_bytes(&self, module: &Module, root: FuncId) -> u32 {
        let mut most = 0;
        for func in self.inlined_into(module, root) {
            let Some(body) = &module.function(func).body else { continue };
            for statement in &body.statements {
                let Statement::Inst(Inst { op: Op::Call { callee, .. }, .. }) = statement else { continue };
                let real = match callee {
                    Callee::Direct(f) => self.is_own(*f) || module.function(*f).body.is_none(),
                    Callee::Indirect { .. } => true,
                };
                if real && let Some(abi) = Abi::of_call(module, func, *callee) {
                    most = most.max(abi.bytes);
                }
            }
        }
        most
    }

    /// Whether the positions of stack frames are known only at run time.
    #[must_use]
    pub(crate) fn has_frames(&self) -> bool {
        !self.own.is_empty() || self.dynamic_bytes > 0
    }

    /// The deepest chain of calls among the machine functions, as (function, frame bytes) sums; `None` if
    /// calls may be recursive.
    #[must_use]
    pub(crate) fn deepest(
        &self,
        module: &Module,
        kernel: FuncId,
        frames: &BTreeMap<FuncId, u32>,
    ) -> Option<u64> {
        let mut known: BTreeMap<FuncId, u64> = BTreeMap::new();
        // Functions whose callees are being visited, with the remaining callees and the maximum so far; an
        // explicit stack, because chains may be deeper than this thread's stack.
        let mut open = vec![(kernel, self.own_callees(module, kernel), 0)];
        let mut is_open = BTreeSet::from([kernel]);
        while let Some((func, callees, most)) = open.last_mut() {
            if let Some(callee) = callees.pop_last() {
                if let Some(&bytes) = known.get(&callee) {
                    *most = (*most).max(bytes);
                } else if is_open.insert(callee) {
                    open.push((callee, self.own_callees(module, callee), 0));
                } else {
                    return None;
                }
                continue;
            }
            let (func, bytes) = (*func, *most + u64::from(frames.get(func).copied().unwrap_or(0)));
            known.insert(func, bytes);
            is_open.remove(&func);
            open.pop();
            if let Some((_, _, most)) = open.last_mut() {
                *most = (*most).max(bytes);
            }
        }
        known.get(&kernel).copied()
    }

    /// Machine functions that a root's code calls.
    fn own_callees(&self, module: &Module, root: FuncId) -> BTreeSet<FuncId> {
        let mut callees = BTreeSet::new();
        for func in self.inlined_into(module, root) {
            let facts = Facts::of(module, func);
            callees.extend(facts.calls.into_iter().filter(|f| self.is_own(*f)));
            if facts.indirect {
                callees.extend(&self.addressed);
            }
        }
        callees
    }
}

/// Functions, other than kernels, whose address is taken anywhere in the module, in the order of the file.
pub(super) fn addressed(module: &Module) -> Vec<FuncId> {
    let mut found = with_address(module);
    found.retain(|f| !module.function(*f).is_kernel);
    found.into_iter().collect()
}

/// Kernels whose address is taken anywhere in the module, so that device code may launch them, in the order of the file.
#[must_use]
pub fn addressed_kernels(module: &Module) -> Vec<FuncId> {
    with_address(module).into_iter().filter(|f| module.function(*f).is_kernel).collect()
}

fn with_address(module: &Module) -> BTreeSet<FuncId> {
    let mut found = BTreeSet::new();
    for body in module.functions.iter().filter_map(|f| f.body.as_ref()) {
        found.extend(body.call_tables.iter().flatten().copied());
        for statement in &body.statements {
            let Statement::Inst(inst) = statement else { continue };
            found.extend(operands(inst).filter_map(|o| match o {
                Operand::Func(func) => Some(*func),
                _ => None,
            }));
        }
    }
    for init in module.vars.iter().filter_map(|v| v.init.as_ref()) {
        found.extend(init.relocations.iter().filter_map(|r| match r.target {
            RelocationTarget::Func(func) => Some(func),
            RelocationTarget::Var(_) => None,
        }));
    }
    found
}

/// The functions from which direct calls lead back to themselves.
fn recursive(facts: &BTreeMap<FuncId, Facts>) -> BTreeSet<FuncId> {
    let calls = facts.iter().flat_map(|(&func, of)| of.calls.iter().map(move |&callee| (func, callee)));
    let graph: DiGraphMap<FuncId, ()> = calls.collect();
    // Kosaraju's algorithm does not recurse in this process, whose stack a long chain of calls would exhaust.
    let components = kosaraju_scc(&graph).into_iter();
    let circles =
        components.filter(|members| members.len() > 1 || graph.contains_edge(members[0], members[0]));
    circles.flatten().collect()
}

/// Adds functions whose inlining would make too much code.
fn outgrown(facts: &BTreeMap<FuncId, Facts>, kernel: FuncId, limit: u64, own: &mut BTreeSet<FuncId>) {
    let mut sites: BTreeMap<FuncId, u64> = BTreeMap::new();
    for callee in facts.values().flat_map(|f| &f.calls) {
        *sites.entry(*callee).or_insert(0) += 1;
    }
    // Callees first; what is recursive has code of its own already, so this ends.
    let mut sizes: BTreeMap<FuncId, u64> = BTreeMap::new();
    let mut nesting: BTreeMap<FuncId, u32> = BTreeMap::new();
    let mut stack = vec![(kernel, false)];
    stack.extend(own.iter().map(|&f| (f, false)));
    while let Some((func, ready)) = stack.pop() {
        let Some(of) = facts.get(&func) else { continue };
        if ready {
            let inlined =
                of.calls.iter().filter(|f| !own.contains(f)).map(|f| sizes.get(f).copied().unwrap_or(0));
            let size = inlined.fold(of.size, u64::saturating_add);
            sizes.insert(func, size);
            let sites = sites.get(&func).copied().unwrap_or(0);
            let copied = sites > 1 && size.saturating_mul(sites) > limit;
            let inlined = of.calls.iter().filter(|f| !own.contains(f));
            let deepest = inlined.map(|f| nesting.get(f).copied().unwrap_or(0) + 1).max().unwrap_or(0);
            nesting.insert(func, deepest);
            if func != kernel && (copied || limit == 0 || deepest >= MAX_NESTING) {
                own.insert(func);
            }
        } else if let Entry::Vacant(size) = sizes.entry(func) {
            size.insert(of.size);
            stack.push((func, true));
            stack.extend(of.calls.iter().filter(|f| !own.contains(f)).map(|&f| (f, false)));
        }
    }
}

/// One argument or result in the frame of a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    /// Bytes from the caller's stack pointer.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Whether it is a predicate, which travels as 0 or 1.
    pub predicate: bool,
}

/// Layout of the arguments and results of a call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Abi {
    /// Arguments.
    pub params: Vec<Slot>,
    /// Results.
    pub returns: Vec<Slot>,
    /// All of them together, a multiple of 16.
    pub bytes: u32,
}

impl Abi {
    /// Of a function.
    #[must_use]
    pub(crate) fn of_function(module: &Module, func: FuncId) -> Abi {
        let function = module.function(func);
        let size = |formal: &Formal| match formal {
            Formal::Var(var) => {
                let var = module.var(*var);
                (var.size_bytes as u32, var.align_bytes, false)
            }
            Formal::Reg(reg) => {
                let ty = function.register(*reg).ty;
                let bytes = ty.bits().div_ceil(8);
                (bytes, bytes, ty == ScalarType::Pred)
            }
        };
        let [params, returns] = [&function.params, &function.returns].map(|l| l.iter().map(size).collect());
        Abi::of(params, returns)
    }

    /// Of a `.callprototype`.
    #[must_use]
    pub(crate) fn of_prototype(prototype: &Prototype) -> Abi {
        let [params, returns] = [&prototype.params, &prototype.returns].map(|l| {
            l.iter().map(|p| (p.size_bytes as u32, p.align_bytes, p.ty == ScalarType::Pred)).collect()
        });
        Abi::of(params, returns)
    }

    /// Of a call in a function; `None` where a list of targets is empty.
    #[must_use]
    pub(crate) fn of_call(module: &Module, caller: FuncId, callee: Callee) -> Option<Abi> {
        let body = module.function(caller).body.as_ref()?;
        Some(match callee {
            Callee::Direct(func) => Abi::of_function(module, func),
            Callee::Indirect { shape: CallShape::Prototype(id), .. } => {
                Abi::of_prototype(body.prototypes.get(id.index())?)
            }
            Callee::Indirect { shape: CallShape::Targets(id), .. } => {
                Abi::of_function(module, *body.call_tables.get(id.index())?.first()?)
            }
        })
    }

    fn of(params: Vec<(u32, u32, bool)>, returns: Vec<(u32, u32, bool)>) -> Abi {
        let mut end = 0u32;
        let mut place = |(bytes, align, predicate): (u32, u32, bool)| {
            // Whole words, so that a register can be stored and loaded whatever its type.
            let offset = end.next_multiple_of(align.clamp(4, 16));
            end = offset.saturating_add(bytes.max(4)).min(MAX_CALL_BYTES);
            Slot { offset, bytes, predicate }
        };
        let params = params.into_iter().map(&mut place).collect();
        let returns = returns.into_iter().map(&mut place).collect();
        Abi { params, returns, bytes: end.next_multiple_of(16) }
    }
}

/// The variables that functions mention.
#[must_use]
pub(crate) fn mentioned(module: &Module, functions: &BTreeSet<FuncId>) -> BTreeSet<VarId> {
    let mut vars = BTreeSet::new();
    for func in functions {
        let Some(body) = &module.function(*func).body else { continue };
        for statement in &body.statements {
            let Statement::Inst(inst) = statement else { continue };
            vars.extend(operands(inst).filter_map(|o| match o {
                Operand::Var(var, _) => Some(*var),
                Operand::Mem(address) => match address.base {
                    AddressBase::Var(var) => Some(var),
                    _ => None,
                },
                _ => None,
            }));
        }
    }
    vars
}
