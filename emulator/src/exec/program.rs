//! A kernel with everything that one launch of it fixes: prepared code, geometry, constant banks, sizes.

use super::{Launch, LaunchError};
use crate::record::BlockSink;
use trace_format::isa::{BlockId, Kind, MachineKernel, MemOrder, Op};
use trace_format::semantics::{Banks, Code, Geometry};

/// Threads that a block may have, as on every GPU since compute capability 2.0.
pub const MAX_BLOCK_THREADS: u64 = 1024;
/// Shared memory that a block may have, bytes: 227 KiB, the most that any GPU offers (compute capability 9.0).
pub const MAX_SHARED_BYTES: u64 = 227 << 10;
/// Local memory that a thread may have, bytes (CUDA's limit is 512 KiB).
pub const MAX_LOCAL_BYTES: u32 = 512 << 10;

/// A kernel ready to run.
#[derive(Debug)]
pub(crate) struct Program<'k> {
    pub kernel: &'k MachineKernel,
    pub code: Code,
    pub geometry: Geometry,
    pub banks: Banks,
    pub shared_bytes: u32,
    pub launch_index: u32,
    /// By program counter: the basic block, and one past its last instruction.
    pub blocks: Vec<(BlockId, u32)>,
    /// Whether blocks could wait for one another: the kernel has atomics with results or strong loads.
    pub may_communicate: bool,
}

impl<'k> Program<'k> {
    pub fn new(launch: &Launch<'k>) -> Result<Program<'k>, LaunchError> {
        let (kernel, geometry) = (launch.kernel, launch.geometry);
        kernel.check().map_err(LaunchError::Malformed)?;
        let threads: u64 = geometry.block.iter().map(|&n| u64::from(n)).product();
        let fail = |what: String| LaunchError::Geometry { kernel: kernel.name.clone(), what };
        if geometry.grid.contains(&0) || threads == 0 {
            return Err(fail("grid and block need at least 1 in every dimension".into()));
        }
        if threads > MAX_BLOCK_THREADS {
            return Err(fail(format!("the block has {threads} threads, the limit is {MAX_BLOCK_THREADS}")));
        }
        if let Some(most) = kernel.max_threads_per_block {
            let most_threads: u64 = most.iter().map(|&n| u64::from(n)).product();
            if threads > most_threads {
                return Err(fail(format!(
                    "the block has {threads} threads, but the kernel promises (.maxntid) at most {most_threads}"
                )));
            }
        }
        if geometry.grid.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d))).is_none() {
            return Err(fail("the grid has more than 2^64 blocks".into()));
        }
        let shared = u64::from(kernel.static_shared_bytes) + u64::from(launch.dynamic_shared_bytes);
        if shared > MAX_SHARED_BYTES {
            return Err(fail(format!(
                "the block needs {shared} bytes of shared memory, the limit is {MAX_SHARED_BYTES}"
            )));
        }
        if kernel.local_bytes > MAX_LOCAL_BYTES {
            return Err(fail(format!(
                "a thread needs {} bytes of local memory, the limit is {MAX_LOCAL_BYTES}",
                kernel.local_bytes
            )));
        }
        let flow = kernel.flow();
        let blocks = (0..kernel.insts.len() as u32)
            .map(|pc| {
                let id = flow.block_of(trace_format::isa::Pc(pc));
                (id, flow.block(id).end.0)
            })
            .collect();
        let communicates = |op: &Op| match op {
            Op::Ldg { order, .. } | Op::Ld { order, .. } => *order != MemOrder::Weak,
            _ => {
                matches!(op.info().kind, Kind::Atomic(space) if space != trace_format::isa::space::Space::Shared)
            }
        };
        Ok(Program {
            code: Code::prepare(kernel, &launch.banks),
            banks: launch.banks.clone(),
            shared_bytes: shared as u32,
            launch_index: launch.index,
            may_communicate: kernel.insts.iter().any(|i| communicates(&i.op)),
            kernel,
            geometry,
            blocks,
        })
    }
}

/// What a thread needs besides the block's state to run it.
pub(crate) struct Unit<'p, V, S: BlockSink> {
    pub program: &'p Program<'p>,
    pub memory: V,
    pub sink: S,
}
