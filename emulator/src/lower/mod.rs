//! Lowering: from the PTX [`Module`] to register-allocated machine kernels.
//!
//! [`lower_kernel`] is a list of passes. `build` turns PTX into machine operations on single-assignment
//! values; the optimiser folds, combines and removes instructions as a compiler for hardware would;
//! `legalize` leaves only what one machine instruction can do; `schedule` orders blocks for latency; `ra`
//! allocates registers and writes the [`MachineKernel`]. [`layout`] says where variables live.

mod build;
mod cfg;
mod combine;
mod fold;
mod gvn;
mod ifconv;
pub mod layout;
mod legalize;
mod ra;
mod schedule;
mod truth;
mod unroll;
mod vectorize;
mod vir;

use std::collections::BTreeSet;
use std::sync::Arc;

use trace_format::isa::{MachineKernel, Param, Pc};

use crate::ptx::{Diagnostic, Diagnostics, Formal, FuncId, Module};
pub use layout::{ModuleLayout, Reloc};

/// What may be varied about lowering.
#[derive(Clone, Copy, Debug)]
pub struct LowerOptions {
    /// Registers per thread that may be used, at most 255.
    pub max_registers: u16,
    /// Proves the register allocation by symbolic execution (always in debug builds).
    pub check: bool,
}

impl Default for LowerOptions {
    fn default() -> Self {
        Self { max_registers: 255, check: cfg!(debug_assertions) }
    }
}

/// A lowered kernel.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The machine kernel; dynamic shared memory begins at its `static_shared_bytes`.
    pub kernel: MachineKernel,
    /// Addresses that the loader writes into the kernel's literals before a launch.
    pub relocations: Vec<Reloc>,
    /// What has no lowering: running into it is a fault ([`MachineKernel::traps`]).
    pub unsupported: Vec<Diagnostic>,
}

/// Lowers one kernel of a module.
///
/// # Errors
/// A diagnostic at the variable that does not fit its memory, or at the kernel when it does not fit the
/// registers. What has no lowering becomes a trap that says so, and is listed in [`Lowered::unsupported`].
pub fn lower_kernel(
    module: &Module,
    layout: &ModuleLayout,
    kernel: FuncId,
    options: &LowerOptions,
) -> Result<Lowered, Diagnostics> {
    let built = build::build(module, layout, kernel)?;
    let (mut f, mut frame, barriers, unsupported) =
        (built.func, built.frame, built.barriers, built.unsupported);
    cfg::clean(&mut f);
    cfg::remove_dead(&mut f);
    gvn::run(&mut f);
    combine::run(&mut f);
    gvn::run(&mut f);
    ifconv::run(&mut f);
    combine::run(&mut f);
    unroll::run(&mut f);
    combine::run(&mut f);
    gvn::run(&mut f);
    cfg::clean(&mut f);
    cfg::remove_dead(&mut f);
    vectorize::run(&mut f);
    legalize::run(&mut f, &mut frame);
    cfg::remove_dead(&mut f);
    schedule::run(&mut f);
    cfg::split_critical_edges(&mut f);

    let function = module.function(kernel);
    let requested = function.limits.max_registers.map_or(u16::MAX, |n| n.clamp(16, 255) as u16);
    let limits = ra::Limits { registers: options.max_registers.min(requested).min(255), predicates: 7 };
    let frame_bytes = frame.local_bytes.next_multiple_of(16);
    let allocated = ra::allocate(&mut f, limits, frame_bytes).map_err(|why| {
        let mut errors = Diagnostics::new(Arc::clone(&module.source));
        errors.push(Diagnostic::error(function.span, format!("kernel `{}`: {why}", function.name)));
        errors
    })?;
    let spilled = allocated.spill_bytes > 0;
    let local_bytes = if spilled { frame_bytes + allocated.spill_bytes } else { frame.local_bytes };
    let emitted = ra::emit::emit(&f, &allocated, local_bytes);
    if options.check {
        ra::check::check(&allocated.before, &emitted, local_bytes).map_err(|why| {
            let mut errors = Diagnostics::new(Arc::clone(&module.source));
            let message = format!("kernel `{}`: register allocation is wrong: {why}", function.name);
            errors.push(Diagnostic::error(function.span, message));
            errors
        })?;
    }
    let mut machine = MachineKernel {
        name: function.name.clone(),
        regs_per_thread: allocated.assignment.used.max(1),
        static_shared_bytes: frame.static_shared_bytes,
        local_bytes,
        spill_bytes: allocated.spill_bytes,
        barriers,
        literals: frame.literals,
        max_threads_per_block: function.limits.required_threads.or(function.limits.max_threads),
        functions: emitted
            .subs
            .iter()
            .zip(&f.subs)
            .map(|(pc, s)| (*pc, s.name.clone()))
            .collect::<Vec<(Pc, String)>>(),
        insts: emitted.insts,
        lines: emitted.lines,
        traps: emitted.traps,
        ..MachineKernel::default()
    };
    describe(module, kernel, &mut machine);
    ra::emit::set_reconvergence(&mut machine);
    machine.check().map_err(|why| {
        let mut errors = Diagnostics::new(Arc::clone(&module.source));
        errors.push(Diagnostic::error(function.span, format!("lowering produced malformed code: {why}")));
        errors
    })?;
    Ok(Lowered { kernel: machine, relocations: frame.relocations, unsupported })
}

/// Parameters, file names and source text.
fn describe(module: &Module, kernel: FuncId, machine: &mut MachineKernel) {
    let function = module.function(kernel);
    machine.ptx_file = module.source.name().to_owned();
    machine.files = module.files.iter().map(|(_, path)| path.clone()).collect();
    let lines: BTreeSet<u32> = machine.lines.iter().map(|l| l.ptx_line).filter(|&l| l > 0).collect();
    machine.ptx_lines = lines.into_iter().map(|l| (l, module.source.line(l).trim().to_owned())).collect();
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
