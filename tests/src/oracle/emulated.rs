//! The code under test: PTX is lowered to a machine kernel, executed and, if wanted, recorded.

use super::Fault;
use emulator::exec::{Execute, LaunchError, Options, Unobserved, launch};
use emulator::lower::{LowerOptions, Lowered, ModuleLayout, lower_kernel};
use emulator::memory::{AllocationId, GlobalMemory};
use emulator::ptx::{Diagnostics, Module, RelocationTarget, VarId};
use emulator::record::TraceSink;
use emulator::record::Unrecorded;
use std::collections::HashMap;
use std::path::Path;
use trace_format::container::{Contents, Header, LaunchRecord};
use trace_format::isa::space;
use trace_format::semantics::{Banks, Geometry};
use trace_format::writer::{TraceWriter, WriterOptions};

/// A module in the emulator.
#[derive(Debug)]
pub struct EmulatedModule<'m> {
    module: &'m Module,
    layout: ModuleLayout,
    vars: HashMap<VarId, AllocationId>,
    /// Device memory.
    pub memory: GlobalMemory,
}

/// An argument of a launch.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The address of an allocation plus an offset.
    Pointer(AllocationId, u64),
    /// Little-endian bytes.
    Bytes(Vec<u8>),
}

/// Where and how a launch runs.
#[derive(Clone, Copy, Debug)]
pub struct How<'p> {
    /// Emulator threads.
    pub threads: usize,
    /// Warp instructions after which it is stopped.
    pub max_instructions: u64,
    /// Trace file to record into.
    pub trace: Option<&'p Path>,
}

/// The words of all diagnostics.
pub fn words(diagnostics: &Diagnostics) -> String {
    let text = |d: &emulator::ptx::Diagnostic| d.message.clone();
    diagnostics.iter().map(text).collect::<Vec<_>>().join("; ")
}

impl<'m> EmulatedModule<'m> {
    /// Places the module's variables.
    ///
    /// # Errors
    /// If the layout refuses them.
    pub fn new(module: &'m Module) -> Result<Self, Fault> {
        let layout = ModuleLayout::of(module).map_err(|d| Fault::new(d.message))?;
        let mut memory = GlobalMemory::new();
        let mut vars = HashMap::new();
        for &id in &layout.globals {
            let var = module.var(id);
            let mut bytes = var.init.as_ref().map(|init| init.bytes.clone()).unwrap_or_default();
            bytes.resize(var.size_bytes as usize, 0);
            vars.insert(id, memory.allocate(var.name.clone(), bytes));
        }
        Ok(Self { module, layout, vars, memory })
    }

    /// Lowers a kernel.
    ///
    /// # Errors
    /// What lowering cannot do.
    pub fn lower(&self, kernel: &str, options: &LowerOptions) -> Result<Lowered, Fault> {
        let id = self.module.kernel(kernel).ok_or_else(|| Fault::new(format!("no kernel `{kernel}`")))?;
        let lowered =
            lower_kernel(self.module, &self.layout, id, options).map_err(|d| Fault::new(words(&d)))?;
        match lowered.unsupported.first() {
            Some(diagnostic) => Err(Fault::new(diagnostic.message.clone())),
            None => Ok(lowered),
        }
    }

    fn address(&self, target: RelocationTarget) -> Result<u64, Fault> {
        let RelocationTarget::Var(id) = target else { return Err(Fault::new("an address of a function")) };
        let allocation = self.vars.get(&id).ok_or_else(|| Fault::new("an address outside of memory"))?;
        Ok(self.memory.allocation(*allocation).base)
    }

    fn banks(&self, lowered: &Lowered, geometry: Geometry, args: &[Argument]) -> Result<Banks, Fault> {
        let kernel = &lowered.kernel;
        let mut param = vec![0; usize::from(space::PARAM_BASE) + kernel.param_bytes as usize];
        let mut put = |at: usize, bytes: &[u8]| param[at..at + bytes.len()].copy_from_slice(bytes);
        for axis in 0..3 {
            put(usize::from(space::PARAM_NTID) + 4 * axis, &geometry.block[axis].to_le_bytes());
            put(usize::from(space::PARAM_NCTAID) + 4 * axis, &geometry.grid[axis].to_le_bytes());
        }
        put(usize::from(space::PARAM_STACK), &kernel.local_bytes.to_le_bytes());
        for (formal, arg) in kernel.params.iter().zip(args) {
            let at = usize::from(space::PARAM_BASE) + formal.offset as usize;
            match arg {
                Argument::Bytes(bytes) => put(at, bytes),
                Argument::Pointer(id, offset) => {
                    put(at, &(self.memory.allocation(*id).base + offset).to_le_bytes());
                }
            }
        }
        let mut literal = kernel.literals.clone();
        for reloc in &lowered.relocations {
            let value = self.address(reloc.target)?.wrapping_add_signed(reloc.addend);
            literal[reloc.literal_offset as usize..][..8].copy_from_slice(&value.to_le_bytes());
        }
        Ok(Banks { param, user: self.layout.const_image.clone(), literal, addresses: Vec::new() })
    }

    /// Runs a lowered kernel.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub fn run(
        &mut self,
        lowered: &Lowered,
        geometry: Geometry,
        dynamic_shared_bytes: u32,
        args: &[Argument],
        how: How<'_>,
    ) -> Result<(), Fault> {
        let banks = self.banks(lowered, geometry, args)?;
        let run = emulator::exec::Launch {
            kernel: &lowered.kernel,
            geometry,
            dynamic_shared_bytes,
            banks,
            index: 0,
        };
        let options =
            Options { threads: how.threads, max_instructions: how.max_instructions, ..Options::default() };
        let Some(path) = how.trace else {
            return execute(&mut self.memory, &run, &options, &mut Unrecorded);
        };
        recorded(&mut self.memory, &run, &options, path, Contents::Values)
    }
}

/// Runs a launch and records it into a trace of its own.
pub(super) fn recorded(
    memory: &mut GlobalMemory,
    run: &emulator::exec::Launch<'_>,
    options: &Options,
    path: &Path,
    contents: Contents,
) -> Result<(), Fault> {
    let fail = |e: &dyn std::fmt::Display| Fault::new(format!("trace: {e}"));
    let header = Header { contents, ..Header::default() };
    let writing = WriterOptions::default().with_header(header);
    let mut writer = TraceWriter::create(path, &writing).map_err(|e| fail(&e))?;
    let kernel = writer.kernel(run.kernel).map_err(|e| fail(&e))?;
    let record = LaunchRecord {
        kernel,
        geometry: run.geometry,
        dynamic_shared_bytes: run.dynamic_shared_bytes,
        banks: run.banks.clone(),
        buffers: Vec::new(),
        ..LaunchRecord::default()
    };
    let mut sink = TraceSink::new(writer.launch(record).map_err(|e| fail(&e))?);
    execute(memory, run, options, &mut sink)?;
    sink.finish().map_err(|e| fail(&e))?;
    writer.finish().map_err(|e| fail(&e))?;
    Ok(())
}

pub(super) fn execute<S: Execute>(
    memory: &mut GlobalMemory,
    run: &emulator::exec::Launch<'_>,
    options: &Options,
    sink: &mut S,
) -> Result<(), Fault> {
    launch(memory, run, options, sink, &Unobserved).map(|_| ()).map_err(|error| match error {
        LaunchError::Fault(fault) => Fault::new(format!("emulator fault: {fault:?}")),
        other => Fault::new(format!("emulator: {other}")),
    })
}
