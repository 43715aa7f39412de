//! Lowering: from the PTX [`Module`] to register-allocated machine kernels.
//!
//! [`lower_kernel`] is a list of passes, for the kernel and for every function that keeps machine code of its
//! own (`calls`). `build` turns PTX into machine operations on single-assignment values; the optimiser
//! folds, combines and removes instructions as a compiler for hardware would; `legalize` converts operations
//! to single machine instructions; `schedule` orders the instructions of blocks; `ra` allocates registers and writes
//! the [`MachineKernel`]. `layout` places variables.

mod apart;
mod build;
pub(crate) mod calls;
mod cfg;
mod combine;
mod contract;
mod evaluate;
mod fold;
mod frame;
mod gvn;
mod ifconv;
pub(crate) mod layout;
mod legalize;
mod liveness;
mod options;
mod outline;
mod ra;
mod residency;
mod schedule;
mod select;
mod truth;
mod unroll;
mod vectorize;
mod vir;

pub use options::{DEFAULT_INLINE_LIMIT, DEFAULT_STACK_BYTES, LowerOptions, Schedule};
pub use outline::{AddressedCode, outline_kernel};
pub use residency::hidden_registers;

use std::collections::{BTreeMap, BTreeSet};

use trace_format::isa::{Language, MachineKernel, Param, Pc, Reg, SourceFile};

use crate::ptx::{Diagnostic, Diagnostics, Formal, FuncId, Module};
use calls::Inlining;
pub use calls::{addressed_kernels, function_address};
use frame::Addressing;
use layout::Frame;
pub use layout::{ModuleLayout, Reloc};
use ra::emit::{Emitted, Role};
use vir::Func;

/// A lowered kernel.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The machine kernel; dynamic shared memory begins at its `static_shared_bytes`.
    pub kernel: MachineKernel,
    /// Addresses that the loader writes into the kernel's literals before a launch.
    pub relocations: Vec<Reloc>,
    /// Instructions without lowering: executing one is a fault ([`MachineKernel::traps`]).
    pub unsupported: Vec<Diagnostic>,
}

impl Lowered {
    /// A machine kernel without addresses in its literals.
    #[must_use]
    pub fn plain(kernel: MachineKernel) -> Lowered {
        Lowered { kernel, relocations: Vec::new(), unsupported: Vec::new() }
    }
}

/// Lowers one kernel of a module.
///
/// # Errors
/// A diagnostic at the variable that does not fit its memory, or at the kernel when it does not fit the
/// registers. An instruction without lowering becomes a trap that names it, and is listed in
/// [`Lowered::unsupported`].
pub fn lower_kernel(
    module: &Module,
    layout: &ModuleLayout,
    kernel: FuncId,
    options: &LowerOptions,
) -> Result<Lowered, Diagnostics> {
    check_params(module, kernel)?;
    let inlining = Inlining::of(module, kernel, options);
    let most = most_registers(module, kernel, options)?;
    let mut lowered = linked(module, layout, kernel, &inlining, options, most)?;
    let apart = !inlining.reached.iter().any(|&func| apart::counts_active_lanes(module, func));
    if apart && apart::has_sites(&lowered.kernel) {
        let registers = apart::registers(&lowered.kernel);
        if registers > most {
            // The second way of these operations takes registers, which the other code then goes without.
            match linked(module, layout, kernel, &inlining, options, apart::registers_beside(most)) {
                Ok(again) => lowered = again,
                Err(why) if usize::from(registers) > Reg::COUNT => return Err(why),
                Err(_) => {}
            }
        }
        apart::gather(&mut lowered.kernel);
    }
    let machine = &mut lowered.kernel;
    describe(module, kernel, machine);
    machine.set_reconvergence();
    machine
        .check()
        .map_err(|why| refuse(module, kernel, format!("lowering produced malformed code: {why}")))?;
    Ok(lowered)
}

/// A kernel in machine code whose functions have at most so many registers each.
fn linked(
    module: &Module,
    layout: &ModuleLayout,
    kernel: FuncId,
    inlining: &Inlining,
    options: &LowerOptions,
    most: u16,
) -> Result<Lowered, Diagnostics> {
    let build::Built { functions, mut frame, barriers, unsupported } =
        build::build(module, layout, kernel, inlining, options.fmad, options.sm(module))?;
    let mut parts = Vec::new();
    for function in functions {
        parts.push(machine_code(module, kernel, inlining, function, &mut frame, options, most)?);
    }
    let function = module.function(kernel);
    let mut machine = link(parts, inlining, module, kernel, options);
    machine.static_shared_bytes = frame.static_shared_bytes;
    machine.barriers = barriers;
    machine.literals = frame.literals;
    machine.name.clone_from(&function.name);
    machine.max_threads_per_block = function.limits.required_threads.or(function.limits.max_threads);
    Ok(Lowered { kernel: machine, relocations: frame.relocations, unsupported })
}

/// The most registers that a kernel may have.
fn most_registers(module: &Module, kernel: FuncId, options: &LowerOptions) -> Result<u16, Diagnostics> {
    let sm = options.sm(module);
    let requested = residency::most_registers(&module.function(kernel).limits, sm, options.maxregs)
        .map_err(|why| refuse(module, kernel, why))?;
    Ok(options.max_registers.min(requested))
}

/// Maximum size of a kernel's parameters in bytes, as in PTX 8.1.
const MAX_PARAM_BYTES: u64 = 32764;

/// Whether a kernel's parameters fit their constant bank.
fn check_params(module: &Module, kernel: FuncId) -> Result<(), Diagnostics> {
    let function = module.function(kernel);
    let ends = function.params.iter().filter_map(|formal| match formal {
        Formal::Var(id) => Some(module.var(*id).param_offset.saturating_add(module.var(*id).size_bytes)),
        Formal::Reg(_) => None,
    });
    match ends.max() {
        Some(end) if end > MAX_PARAM_BYTES => {
            let name = &function.name;
            let what = format!("the parameters of `{name}` take {end} bytes, the limit is {MAX_PARAM_BYTES}");
            Err(refuse(module, kernel, what))
        }
        _ => Ok(()),
    }
}

/// The one error that keeps a kernel from being lowered.
fn refuse(module: &Module, func: FuncId, why: String) -> Diagnostics {
    Diagnostics::one(&module.source, Diagnostic::error(module.function(func).span, why))
}

/// Loops in each other that are unrolled, from the innermost.
const UNROLLED_DEPTH: usize = 3;

/// The passes between building and register allocation, with the reasons for their order; `registers` may be used, and where
/// so many are, `room` says how many cost no occupancy beyond theirs.
fn optimise(
    f: &mut Func,
    frame: &mut Frame,
    registers: u16,
    room: &dyn Fn(u16) -> u16,
    options: &LowerOptions,
) {
    // Unreachable blocks and unused values are removed first, because every later pass counts uses or
    // compares sizes.
    cfg::clean(f);
    cfg::remove_dead(f);
    // Contraction follows the runs of statements of the source, which the passes below merge and reorder.
    // Products that are fused completely must be removed before value numbering.
    contract::run(f);
    // So must slow paths of divisions whose quotients nothing reads; ptxas counts those as uses of a product.
    cfg::remove_dead_calls(f);
    // Value numbering gives one definition to equal values, so that combination sees all of a value's uses;
    // combination in turn makes further values equal.
    gvn::run(f);
    combine::run(f);
    gvn::run(f);
    // If-conversion needs the sizes of combined code to judge a branch. Its predicates and selections can be
    // combined with surrounding code.
    if !options.keep_branches {
        ifconv::run(f);
        combine::run(f);
        // Only now is a loop body one block, which unrolling requires; that around an unrolled loop may be one after
        // it. Copies repeat address arithmetic that combination and numbering fold.
        for _ in 0..UNROLLED_DEPTH {
            if !unroll::run(f) {
                break;
            }
            combine::run(f);
        }
    }
    combine::run(f);
    gvn::run(f);
    cfg::clean(f);
    cfg::remove_dead(f);
    // After unrolling, neighbouring loads are adjacent, with addresses that differ by a constant.
    vectorize::run(f);
    // Predication hides what an instruction computes from combination, so it comes after it.
    select::run(f);
    cfg::remove_dead(f);
    // Carry chains and register tuples come last, because no earlier pass handles them.
    legalize::run(f, frame);
    cfg::remove_dead(f);
    // Scheduling orders the final instructions; register allocation only adds spills, and copies on edges,
    // for which critical edges are split.
    schedule::run(f, registers, room, options.schedule);
    cfg::split_critical_edges(f);
}

/// Machine code of the kernel or of one function.
struct Part {
    func: FuncId,
    code: Emitted,
    /// Names of its subroutines.
    subs: Vec<String>,
    registers: u16,
    frame_bytes: u32,
    spill_bytes: u32,
}

/// Optimises a function, allocates its registers, at most so many, and writes its machine code.
fn machine_code(
    module: &Module,
    kernel: FuncId,
    inlining: &Inlining,
    function: build::BuiltFunction,
    frame: &mut Frame,
    options: &LowerOptions,
    most: u16,
) -> Result<Part, Diagnostics> {
    let build::BuiltFunction { func, code: mut f, local_bytes: own_bytes } = function;
    let sm = options.sm(module);
    let bounds = &module.function(kernel).limits;
    let limits = ra::Limits {
        registers: most,
        predicates: 7,
        hidden: hidden_registers(sm),
        plentiful: residency::plentiful_registers(bounds, sm),
    };
    let room = |registers| residency::roomy_registers(bounds, sm, registers);
    optimise(&mut f, frame, limits.registers, &room, options);
    let name = &module.function(func).name;
    let spill_at = own_bytes.next_multiple_of(16);
    let allocated = ra::allocate(&mut f, limits, spill_at)
        .map_err(|why| refuse(module, func, format!("{} `{name}`: {why}", kind(module, func))))?;
    let spilled = allocated.spill_bytes > 0;
    let mut frame_bytes = if spilled { spill_at + allocated.spill_bytes } else { own_bytes };
    let role = if func == kernel { Role::Kernel } else { Role::Function { save_at: frame_bytes } };
    let addressing = if inlining.has_frames() {
        frame_bytes = frame_bytes.next_multiple_of(16);
        if func != kernel {
            let kept = &allocated.assignment;
            let (registers, predicates) = (kept.used_registers().len(), kept.used_predicates().len());
            frame_bytes += ra::emit::kept_bytes(registers as u32, predicates as u32);
        }
        frame_bytes = frame_bytes.next_multiple_of(16);
        if func == kernel {
            frame_bytes = frame_bytes.saturating_add(inlining.dynamic_bytes);
        }
        Addressing::Framed { frame_bytes }
    } else {
        Addressing::Fixed { local_bytes: frame_bytes }
    };
    let code = ra::emit::emit(&f, &allocated, addressing, role);
    if options.check {
        ra::check::check(&allocated.before, &code, addressing).map_err(|why| {
            let what = kind(module, func);
            refuse(module, func, format!("{what} `{name}`: register allocation is wrong: {why}"))
        })?;
    }
    Ok(Part {
        func,
        code,
        subs: f.subs.iter().map(|s| s.name.clone()).collect(),
        registers: allocated.assignment.used.max(1),
        frame_bytes,
        spill_bytes: allocated.spill_bytes,
    })
}

fn kind(module: &Module, func: FuncId) -> &'static str {
    if module.function(func).is_kernel { "kernel" } else { "function" }
}

/// Concatenates the machine code of a kernel and its functions.
fn link(
    parts: Vec<Part>,
    inlining: &Inlining,
    module: &Module,
    kernel: FuncId,
    options: &LowerOptions,
) -> MachineKernel {
    let mut starts = BTreeMap::new();
    let mut at = 0;
    for part in &parts {
        starts.insert(part.func, Pc(at));
        at += part.code.insts.len() as u32;
    }
    let frames = parts.iter().map(|p| (p.func, p.frame_bytes)).collect();
    let main_bytes = parts.iter().find(|p| p.func == kernel).map_or(0, |p| p.frame_bytes);
    let mut machine = MachineKernel::default();
    for part in parts {
        let start = machine.insts.len() as u32;
        let moved = |pc: Pc| Pc(pc.0 + start);
        let mut insts = part.code.insts;
        for inst in insts.iter_mut().filter(|i| i.jumps_to().is_some()) {
            inst.target = moved(inst.target);
        }
        for (at, callee) in part.code.calls {
            insts[at].target = starts.get(&callee).copied().unwrap_or(Pc(0));
        }
        if part.func != kernel {
            machine.functions.push((Pc(start), module.function(part.func).name.clone()));
        }
        machine.functions.extend(part.code.subs.iter().zip(part.subs).map(|(pc, name)| (moved(*pc), name)));
        machine.traps.extend(part.code.traps.into_iter().map(|(pc, why)| (moved(pc), why)));
        machine.insts.append(&mut insts);
        machine.lines.extend(part.code.lines);
        machine.regs_per_thread = machine.regs_per_thread.max(part.registers);
        machine.spill_bytes = machine.spill_bytes.max(part.spill_bytes);
    }
    machine.entries = inlining.addressed.iter().map(|f| (calls::code_offset(*f), starts[f])).collect();
    machine.entries.sort_unstable();
    machine.local_bytes = main_bytes;
    if inlining.has_frames() {
        let called = inlining.deepest(module, kernel, &frames).map(|bytes| bytes - u64::from(main_bytes));
        let limit = options.stack_bytes.next_multiple_of(16);
        let stack = called.map_or(limit, |bytes| u32::try_from(bytes).unwrap_or(limit));
        machine.stack_bytes = stack;
        machine.local_bytes = main_bytes.saturating_add(stack);
    }
    machine
}

/// Parameters, file names and source text.
fn describe(module: &Module, kernel: FuncId, machine: &mut MachineKernel) {
    let function = module.function(kernel);
    let lines: BTreeSet<u32> = machine.lines.iter().map(|l| l.code.line).filter(|&l| l > 0).collect();
    machine.files = vec![SourceFile {
        language: Language::Ptx,
        name: module.source.name().to_owned(),
        lines: lines.into_iter().map(|l| (l, module.source.line(l).trim().to_owned())).collect(),
    }];
    machine.files.extend(module.files.iter().map(|(_, path)| SourceFile {
        language: Language::of_source(path),
        name: path.clone(),
        lines: Vec::new(),
    }));
    for formal in &function.params {
        let Formal::Var(id) = formal else { continue };
        let var = module.var(*id);
        let ty = match var.dims.iter().product::<u64>() {
            _ if var.dims.is_empty() => var.ty.to_string(),
            n => format!("{}[{n}]", var.ty),
        };
        machine.params.push(Param {
            name: var.name.clone(),
            offset: var.param_offset as u32,
            size: var.size_bytes as u32,
            ty,
        });
    }
    machine.param_bytes = machine.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
}
