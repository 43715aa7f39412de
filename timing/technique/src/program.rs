//! A machine kernel decoded once per replay, for a configuration.

use crate::config::{Dependences, GpuConfig, Organisation};
use crate::control;
use crate::timed::decode;
pub use crate::timed::{MAX_DST, MAX_SRC, MemoryKind, Path, Renaming, TimedInst, has_queue};
pub use trace_format::isa::RegSet;
use trace_format::isa::{Inst, MachineKernel};

/// A kernel decoded for timing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Program {
    /// Name of the kernel.
    pub name: String,
    /// Instructions by index.
    pub insts: Vec<TimedInst>,
    /// 32-bit registers per thread.
    pub registers_per_thread: u32,
    /// Statically declared shared memory in bytes.
    pub static_shared_bytes: u32,
    /// Local memory per thread in bytes.
    pub local_bytes: u32,
    /// The kernel itself, for static analyses.
    pub kernel: MachineKernel,
}

impl Program {
    /// Decodes a kernel under a configuration.
    ///
    /// # Errors
    /// The error names the kernel and the instruction that cannot be timed.
    pub fn new(kernel: &MachineKernel, config: &GpuConfig) -> Result<Program, String> {
        let decode = |(pc, inst): (usize, &Inst)| {
            decode(inst, config).map_err(|why| format!("kernel {}, instruction {pc}: {why}", kernel.name))
        };
        let mut insts = kernel.insts.iter().enumerate().map(decode).collect::<Result<Vec<_>, _>>()?;
        // An imported trace has machine code without guards and without these bits. Where its branches go is not known, so that
        // none can be assigned: the scoreboard keeps its instructions in order.
        let is_imported = kernel.is_machine_code() && kernel.control.is_empty();
        let uses_bits = config.sm.organisation == Organisation::ControlBits
            && config.sub_core.dependences == Dependences::ControlBits
            && !is_imported;
        if uses_bits {
            let bits = match kernel.control.is_empty() {
                true => control::assign(kernel, &insts, config).into_iter().map(Some).collect(),
                false => kernel.control.clone(),
            };
            insts.iter_mut().zip(bits).for_each(|(inst, bits)| inst.control = bits);
        }
        Ok(Program {
            name: kernel.name.clone(),
            insts,
            registers_per_thread: u32::from(kernel.regs_per_thread).max(1),
            static_shared_bytes: kernel.static_shared_bytes,
            local_bytes: kernel.local_bytes,
            kernel: kernel.clone(),
        })
    }
}
