//! Kernels that programs hold.

use crate::summary;
use emulator::exec::Prepared;
use emulator::lower::Lowered;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use trace_format::isa::{MachineKernel, Op, SysCall};

/// A kernel that a program holds.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Handle of its module.
    pub module: u64,
    /// Whether only its attributes are known, and its code has not been translated.
    pub outlined: bool,
    /// Its machine code.
    pub lowered: Arc<Lowered>,
    /// Data shared by all its launches.
    pub prepared: Arc<Prepared>,
    /// Whether its code launches kernels or asks the device runtime.
    pub nests: bool,
    /// Its index in the summary.
    pub tally: usize,
    /// Dynamic shared memory that it has been allowed, when that is more than the default.
    pub max_dynamic_shared_bytes: u32,
    /// Attributes that programs set and read back (cache preference, carve-out).
    pub preferences: [i32; 2],
    /// Threads of its largest launch as long as all launches were quick.
    pub quick_threads: Arc<AtomicU64>,
}

impl Kernel {
    /// A kernel of a module without any settings of the program.
    #[must_use]
    pub fn new(module: u64, lowered: Arc<Lowered>, prepared: Prepared) -> Kernel {
        Kernel {
            module,
            outlined: false,
            nests: is_nesting(&lowered.kernel),
            tally: summary::kernel(&lowered.kernel.name),
            lowered,
            prepared: Arc::new(prepared),
            max_dynamic_shared_bytes: 0,
            preferences: [-1, 0],
            quick_threads: Arc::default(),
        }
    }
}

/// Whether a kernel launches others or asks the device runtime.
#[must_use]
pub(crate) fn is_nesting(kernel: &MachineKernel) -> bool {
    let nests =
        |op: Op| matches!(op, Op::Syscall { call: SysCall::Launch | SysCall::Transfer | SysCall::Query });
    kernel.insts.iter().any(|inst| nests(inst.op))
}
