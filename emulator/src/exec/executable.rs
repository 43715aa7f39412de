//! A kernel bound to one launch: prepared code, geometry, constant banks, sizes. Data that all launches of a
//! kernel share are computed once, as [`Prepared`].

use super::interface::{Launch, LaunchError, Options};
use super::nested::DeviceHost;
use super::polls;
use crate::record::BlockSink;
use crate::texture::ObjectTable;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use trace_format::isa::space::Space;
use trace_format::isa::{BlockId, CollectiveSite, Kind, MachineKernel, Op, Operand, Pc, SpecialReg as Sr};
use trace_format::semantics::{Banks, Code, ExecInst, Geometry, PredRef, Template, VectorLevel, Warp};

/// Maximum number of threads in a block, as on every GPU since compute capability 2.0.
pub const MAX_BLOCK_THREADS: u64 = 1024;
/// Maximum shared memory of a block in bytes: 227 KiB, the most that any GPU offers (compute capability 9.0).
pub const MAX_SHARED_BYTES: u64 = 227 << 10;
/// Maximum local memory of a thread in bytes (CUDA's limit is 512 KiB).
pub const MAX_LOCAL_BYTES: u32 = 512 << 10;

/// Warp instructions after which lanes that poll memory in a way that `super::spin` does not detect count as
/// waiting for others of their warp, in kernels with locks.
pub(super) const SPIN_LIMIT: u64 = 32 << 10;

/// The rest of a basic block from an instruction on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub id: BlockId,
    /// One past the last instruction.
    pub end: u32,
    /// Whether it holds selections for divisions by zero, which must fault.
    pub guards: bool,
    /// Whether it is a barrier with a reduction, which lanes enter when its result is available.
    pub reduces: bool,
}

/// How lanes call and return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Calls {
    /// Lanes that call together meet behind the call (code of ours).
    Framed,
    /// A call is a jump, and a return one to the address in a register. Lanes of several calls may run a function together
    /// (machine code).
    Jumps,
}

/// A kernel ready to run.
#[derive(Debug)]
pub(crate) struct Executable<'k> {
    pub kernel: &'k MachineKernel,
    pub code: Code,
    pub geometry: Geometry,
    pub banks: Banks,
    pub shared_bytes: u32,
    pub launch_index: u32,
    /// Vector instructions of this host.
    pub level: VectorLevel,
    /// By program counter: the rest of the basic block from there.
    pub blocks: Arc<[Run]>,
    /// By program counter: whether it is the selection that gives a division by zero its result.
    zero_guards: Arc<[bool]>,
    /// Whether lanes may hold a lock or set a flag that others of their warp poll: the kernel exchanges values in memory,
    /// or has strong loads. In others a long loop is work, and lanes behind it wait for it as on a GPU. Lowering gathers
    /// the lanes of `.sync` instructions in such kernels only.
    pub has_locks: bool,
    /// Whether blocks could wait for one another: the kernel has atomics with results or strong loads.
    pub may_communicate: bool,
    /// Bytes that may still be printed.
    pub print_left: AtomicU64,
    /// Texture and surface objects that handles stand for.
    pub objects: Arc<ObjectTable>,
    /// How lanes call and return.
    pub calls: Calls,
    /// Places of `WARPSYNC.COLLECTIVE`, ascending.
    pub collectives: Arc<[CollectiveSite]>,
    /// By program counter: whether it may poll memory. Empty if no instruction does.
    pub polls: Arc<[bool]>,
    /// Whether it reads a clock.
    pub reads_clock: bool,
    /// Services for the device runtime.
    pub host: Option<&'k dyn DeviceHost>,
    /// Warp instructions of a warp's turn.
    pub interleave: u64,
    /// Whether loads out of bounds may yield zeros.
    pub lenient: bool,
    /// What `%nsmid` tells; `%smid` is the block's number modulo this.
    pub sms: u32,
}

/// Data that all launches of a kernel share, computed once; keep it beside a kernel that is launched often.
#[derive(Clone, Debug)]
pub struct Prepared {
    template: Template,
    blocks: Arc<[Run]>,
    zero_guards: Arc<[bool]>,
    collectives: Arc<[CollectiveSite]>,
    polls: Arc<[bool]>,
    has_locks: bool,
    may_communicate: bool,
    reads_clock: bool,
    /// Whether it was prepared to find divisions by zero.
    finds_zero_division: bool,
}

impl Prepared {
    /// Checks a kernel and prepares it for its launches.
    ///
    /// # Errors
    /// When it is not well formed.
    pub fn new(kernel: &MachineKernel, options: &Options) -> Result<Prepared, LaunchError> {
        Prepared::of(kernel, options.trap_zero_division)
    }

    /// Whether a launch may poll memory.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        !self.polls.is_empty()
    }

    /// Whether it matches this kernel and these options.
    pub(super) fn fits(&self, kernel: &MachineKernel, options: &Options) -> bool {
        self.blocks.len() == kernel.insts.len() && self.finds_zero_division == options.trap_zero_division
    }

    pub(super) fn of(kernel: &MachineKernel, finds_zero_division: bool) -> Result<Prepared, LaunchError> {
        kernel.check().map_err(LaunchError::Malformed)?;
        let zero_guards: Vec<bool> =
            (0..kernel.insts.len()).map(|pc| finds_zero_division && is_zero_guard(kernel, pc)).collect();
        let flow = kernel.flow();
        let blocks = (0..kernel.insts.len())
            .map(|pc| {
                let id = flow.block_of(Pc(pc as u32));
                let end = flow.block(id).end;
                Run {
                    id,
                    end: end.0,
                    guards: zero_guards[pc..end.index()].contains(&true),
                    reduces: kernel.insts[pc].op.is_barrier_reduction(),
                }
            })
            .collect();
        let calls_system = kernel.insts.iter().any(|i| matches!(i.op, Op::Syscall { .. }));
        let strong = || kernel.insts.iter().map(|i| i.op).filter(Op::reads_others);
        let in_block = Kind::Atomic(Space::Shared);
        let mut polls = polls::sites(kernel, &flow);
        if !polls.contains(&true) {
            polls.clear();
        }
        let time = |sr| matches!(sr, Sr::ClockLo | Sr::ClockHi | Sr::GlobalTimerLo | Sr::GlobalTimerHi);
        let reads_clock = kernel.insts.iter().any(|i| matches!(i.op, Op::S2r { sr } if time(sr)));
        Ok(Prepared {
            template: Template::of(kernel),
            blocks,
            zero_guards: zero_guards.into(),
            collectives: CollectiveSite::all(&kernel.insts).into(),
            polls: polls.into(),
            has_locks: kernel.insts.iter().any(|inst| inst.op.may_lock()),
            may_communicate: calls_system || strong().any(|op| op.info().kind != in_block),
            reads_clock,
            finds_zero_division,
        })
    }
}

impl<'k> Executable<'k> {
    /// For a launch of the kernel that was prepared.
    pub(super) fn new(launch: &Launch<'k>, prepared: &Prepared) -> Result<Executable<'k>, LaunchError> {
        let (kernel, geometry) = (launch.kernel, launch.geometry);
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
        Ok(Executable {
            code: prepared.template.bind(&launch.banks),
            banks: launch.banks.clone(),
            shared_bytes: shared as u32,
            launch_index: launch.index,
            level: VectorLevel::detect(),
            has_locks: prepared.has_locks,
            may_communicate: prepared.may_communicate,
            print_left: AtomicU64::new(u64::MAX),
            polls: Arc::clone(&prepared.polls),
            reads_clock: prepared.reads_clock,
            interleave: super::interface::DEFAULT_INTERLEAVE,
            lenient: false,
            sms: 1,
            kernel,
            geometry,
            blocks: Arc::clone(&prepared.blocks),
            zero_guards: Arc::clone(&prepared.zero_guards),
            calls: if kernel.is_machine_code() { Calls::Jumps } else { Calls::Framed },
            collectives: Arc::clone(&prepared.collectives),
            objects: Arc::default(),
            host: None,
        })
    }

    /// The place to which machine code returns by an address that counts from the beginning of `section`: one at which
    /// a basic block begins, as behind every call.
    pub(super) fn return_place(&self, address: u64, section: Pc) -> Option<Pc> {
        let pc = self.kernel.instruction_at(address, section)?;
        let begins = pc.0 == 0 || self.blocks[pc.index() - 1].id != self.blocks[pc.index()].id;
        begins.then_some(pc)
    }

    /// The `WARPSYNC.COLLECTIVE` whose instructions lanes of the one at `pc` execute.
    pub(super) fn leader(&self, pc: Pc) -> Pc {
        let at = self.collectives.binary_search_by_key(&pc, |site| site.pc);
        at.map_or(pc, |at| self.collectives[at].leader)
    }

    /// Lanes of `exec` in which the selection at `pc` selects the result of a division by zero.
    #[inline]
    pub(super) fn zero_divisors(&self, pc: u32, inst: &ExecInst, regs: &Warp, exec: u32) -> u32 {
        if !self.zero_guards[pc as usize] {
            return 0;
        }
        let PredRef { index, not } = inst.psrc[0];
        let first = if not { !regs.pred(index) } else { regs.pred(index) };
        let all_ones = self.kernel.insts[pc as usize].src[0].operand == Operand::Imm(u32::MAX);
        exec & if all_ones { first } else { !first }
    }
}

/// Whether an instruction is the selection of all ones where a divisor is zero, with which lowering ends
/// every integer division: the result of hardware.
fn is_zero_guard(kernel: &MachineKernel, pc: usize) -> bool {
    let inst = &kernel.insts[pc];
    let all_ones = |i: usize| inst.src[i].operand == Operand::Imm(u32::MAX);
    let selects = matches!(inst.op, Op::Sel {}) && (all_ones(0) || all_ones(1));
    let divides = |text: &str| ["div.u", "div.s", "rem.u", "rem.s"].iter().any(|op| text.contains(op));
    // 64-bit divisions share subroutines, whose instructions may have no single origin.
    let shared = |name: &str| ["div_u64", "div_s64", "rem_u64", "rem_s64"].contains(&name);
    let pc = Pc(pc as u32);
    selects && (kernel.code_text(pc).is_some_and(divides) || shared(kernel.function_at(pc)))
}

/// State of an emulator thread for the blocks that it runs.
pub(crate) struct Worker<'p, V, S: BlockSink> {
    pub executable: &'p Executable<'p>,
    pub memory: V,
    pub sink: S,
    /// Counts changes of memory, so that polling warps know whether there was one.
    pub changes: u64,
}

impl<'p, V, S: BlockSink> Worker<'p, V, S> {
    /// For blocks of an executable.
    pub(super) fn new(executable: &'p Executable<'p>, memory: V, sink: S) -> Worker<'p, V, S> {
        Worker { executable, memory, sink, changes: 0 }
    }
}
