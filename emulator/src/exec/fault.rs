//! Guest faults: the error and its place: kernel, PTX line with its text, machine PC, block, warp, lane.

use crate::memory::{Nearest, PAGE_BYTES};
use std::fmt;
use trace_format::isa::space::Space;
use trace_format::isa::{MachineKernel, Pc};
use warplab_host::symbols::signature;

/// Kind of access of a faulting memory instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read.
    Load,
    /// Write.
    Store,
    /// Read, modify, write.
    Atomic,
}

/// Lanes of a warp that cannot continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Block index.
    pub block: [u32; 3],
    /// Warp within the block.
    pub warp: u32,
    /// The lanes.
    pub lanes: u32,
    /// Their program counter.
    pub pc: Pc,
    /// PTX line of the instruction there, 0 when unknown.
    pub ptx_line: u32,
    /// Description of what they wait for.
    pub for_what: String,
}

/// Kinds of faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// An access outside of all allocations.
    OutOfBounds {
        /// Kind of access.
        access: Access,
        /// The space; a generic address is resolved.
        space: Space,
        /// Address in that space.
        address: u64,
        /// Bytes accessed by the lane.
        width: u8,
        /// Size of the space in bytes, for spaces other than global memory.
        size: Option<u64>,
        /// The nearest allocation, for global memory.
        nearest: Option<Nearest>,
    },
    /// An address that is no multiple of the access's width.
    Misaligned {
        /// Kind of access.
        access: Access,
        /// The space; a generic address is resolved.
        space: Space,
        /// Address in that space.
        address: u64,
        /// Bytes accessed by the lane.
        width: u8,
    },
    /// No lane can continue.
    Deadlock {
        /// The waiting lanes.
        waiting: Vec<Waiting>,
        /// Number of blocks that wait for each other, and of blocks that have not started for lack of room.
        /// None when a block waits for itself.
        blocks: Option<(u64, u64)>,
    },
    /// A barrier used against its rules.
    Barrier(String),
    /// An integer division by zero, whose result PTX leaves undefined.
    ZeroDivision,
    /// The kernel trapped.
    Trap,
    /// The launch executed more warp instructions than allowed.
    InstructionLimit(u64),
    /// Failed assertions of a warp, one line each, in CUDA's words.
    Assert(String),
    /// A `free` of an address that is not (or no longer) a block of the device heap.
    BadFree(u64),
    /// The launch printed more than allowed.
    PrintLimit,
    /// A system call whose arguments make no sense.
    SystemCall(String),
    /// A call through a register that holds no function's address.
    BadFunction(u64),
    /// The frames of nested calls do not fit into so many bytes.
    StackOverflow(u32),
    /// Too many nested calls.
    CallDepth(u32),
    /// A texture or surface access to no such object, or out of its range.
    Texture(String),
    /// An operation that this emulator does not support.
    Unsupported(String),
}

/// A fault and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Kind.
    pub kind: FaultKind,
    /// Name of the kernel.
    pub kernel: String,
    /// Program counter.
    pub pc: Pc,
    /// The machine instruction, as listed.
    pub instruction: String,
    /// PTX file.
    pub ptx_file: String,
    /// PTX line, 0 when unknown.
    pub ptx_line: u32,
    /// Text of that line.
    pub ptx_text: Option<String>,
    /// CUDA source file and line, where the PTX names them.
    pub cuda: Option<(String, u32)>,
    /// Block index.
    pub block: [u32; 3],
    /// Warp within the block.
    pub warp: u32,
    /// Lane, if one caused the fault.
    pub lane: Option<u8>,
    /// Thread index of that lane.
    pub thread: Option<[u32; 3]>,
}

/// Location of an event within a launch.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// Program counter.
    pub pc: u32,
    /// Warp within the block.
    pub warp: u32,
    /// Lane, if one caused the event.
    pub lane: Option<u8>,
}

impl Fault {
    /// Completes a fault with the kernel's information on its place.
    #[must_use]
    pub fn new(
        kind: FaultKind,
        kernel: &MachineKernel,
        place: Location,
        block: [u32; 3],
        threads: [u32; 3],
    ) -> Fault {
        let pc = Pc(place.pc);
        let line = kernel.lines.get(pc.index()).copied().unwrap_or_default();
        let cuda = kernel.file(line.source).map(|file| (file.name.clone(), line.source.line));
        let [x, y, _] = threads.map(|n| n.max(1));
        let thread = place.lane.map(|lane| {
            let t = place.warp * 32 + u32::from(lane);
            [t % x, t / x % y, t / x / y]
        });
        Fault {
            kind,
            kernel: kernel.name.clone(),
            pc,
            instruction: kernel.insts.get(pc.index()).map_or_else(String::new, ToString::to_string),
            ptx_file: kernel.code_file().map_or_else(String::new, |file| file.name.clone()),
            ptx_line: line.code.line,
            ptx_text: kernel.code_text(pc).map(|t| t.trim().to_string()),
            cuda,
            block,
            warp: place.warp,
            lane: place.lane,
            thread,
        }
    }

    /// Remedy.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        Some(match &self.kind {
            FaultKind::OutOfBounds { access: Access::Load, nearest: Some(n), .. }
                if n.distance.unsigned_abs() <= PAGE_BYTES =>
            {
                format!(
                    "check the kernel's bounds test and the length of `{}`; hardware may not notice such a load, and \
                     --lenient goes on with zeros",
                    n.name
                )
            }
            FaultKind::OutOfBounds { nearest: Some(n), .. } if n.distance > 0 && n.distance <= 1 << 20 => {
                format!("check the kernel's bounds test and the length of `{}`", n.name)
            }
            FaultKind::OutOfBounds { space: Space::Global | Space::Generic, .. } => {
                "check the launch's pointer arguments and the kernel's bounds test".into()
            }
            FaultKind::OutOfBounds { space: Space::Shared, .. } => {
                "check the kernel's index, and the launch's `shared` if it uses dynamic shared memory".into()
            }
            FaultKind::OutOfBounds { .. } => return None,
            FaultKind::Misaligned { width, .. } => {
                format!(
                    "the address must be a multiple of {width}; check casts to wider types and element offsets"
                )
            }
            FaultKind::Deadlock { blocks: Some(_), .. } => {
                "nobody is left to write what they read: check who should have, and that all blocks which wait for \
                 one another fit the device at once"
                    .into()
            }
            FaultKind::Deadlock { .. } => {
                "every thread of the block has to reach the same barrier, or to exit".into()
            }
            FaultKind::InstructionLimit(_) => {
                "the kernel may loop for ever; if it just runs long, raise --max-instructions".into()
            }
            FaultKind::ZeroDivision => {
                "check the divisor; without --trap-zero-division the result is all ones, as on hardware"
                    .into()
            }
            FaultKind::CallDepth(_) => "check that the recursion ends".into(),
            FaultKind::Texture(_) => {
                "check the handles among the arguments and the objects that they stand for".into()
            }
            FaultKind::PrintLimit => {
                "the kernel may print for ever; if it just prints much, raise --max-print-bytes".into()
            }
            FaultKind::Assert(_) | FaultKind::BadFree(_) | FaultKind::SystemCall(_) => return None,
            FaultKind::StackOverflow(_) => {
                "check that the recursion ends; if it is just deep, raise --stack-bytes".into()
            }
            FaultKind::BadFunction(_) => {
                "check that the pointer was set, by this kernel or its module's initialisers".into()
            }
            FaultKind::Barrier(_) | FaultKind::Trap | FaultKind::Unsupported(_) => return None,
        })
    }
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global | Space::Generic => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Const => "constant",
        Space::Texture => "texture",
        Space::Surface => "surface",
    }
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Atomic => "atomic",
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::OutOfBounds { access, space, address, width, size, nearest } => {
                let (what, space) = (access_name(*access), space_name(*space));
                write!(f, "{space} {what} of {width} bytes at {address:#x} is out of bounds")?;
                match (size, nearest) {
                    (Some(0), _) => write!(f, ": the kernel has no {space} memory"),
                    (Some(size), _) => write!(f, ": there are {size} bytes of {space} memory"),
                    (None, Some(n)) => describe_nearest(f, n, *address),
                    (None, None) => f.write_str(": nothing is allocated"),
                }
            }
            FaultKind::Misaligned { access, space, address, width } => write!(
                f,
                "{} {} of {width} bytes at {address:#x} is misaligned",
                space_name(*space),
                access_name(*access)
            ),
            FaultKind::Deadlock { waiting, blocks } => {
                match blocks {
                    None => f.write_str("the block waits for ever")?,
                    Some((all, 0)) => write!(f, "{all} blocks wait for ever")?,
                    Some((all, more)) => {
                        write!(f, "{all} blocks wait for ever, with no room for the {more} not started")?;
                    }
                }
                waiting.iter().take(8).try_for_each(|w| {
                    let [x, y, z] = w.block;
                    write!(
                        f,
                        "; block ({x},{y},{z}) warp {} lanes {:#010x} at PC {}",
                        w.warp, w.lanes, w.pc
                    )?;
                    if w.ptx_line > 0 {
                        write!(f, " (line {})", w.ptx_line)?;
                    }
                    write!(f, " wait for {}", w.for_what)
                })?;
                match waiting.len().saturating_sub(8) {
                    0 => Ok(()),
                    more => write!(f, "; and {more} more"),
                }
            }
            FaultKind::Barrier(what) => write!(f, "barrier misuse: {what}"),
            FaultKind::ZeroDivision => {
                f.write_str("integer division by zero, whose result PTX leaves undefined")
            }
            FaultKind::Trap => f.write_str("the kernel executed a trap"),
            FaultKind::InstructionLimit(limit) => {
                write!(f, "the launch executed more than {limit} warp instructions")
            }
            FaultKind::Assert(text) => f.write_str(text),
            FaultKind::BadFree(address) => {
                write!(f, "free of {address:#x}, which malloc has not returned or which was freed before")
            }
            FaultKind::PrintLimit => f.write_str("the launch prints more text than it may"),
            FaultKind::SystemCall(what) => write!(f, "bad argument of a system call: {what}"),
            FaultKind::BadFunction(0) => f.write_str("call through a null function pointer"),
            FaultKind::BadFunction(address) => {
                write!(f, "call through a bad function pointer: {address:#x} is the address of no function")
            }
            FaultKind::StackOverflow(bytes) => {
                write!(f, "stack overflow: nested calls need more than {bytes} bytes of stack")
            }
            FaultKind::CallDepth(depth) => write!(f, "call stack overflow: more than {depth} calls are open"),
            FaultKind::Texture(what) => f.write_str(what),
            FaultKind::Unsupported(what) => write!(f, "unsupported: {what}"),
        }
    }
}

fn describe_nearest(f: &mut fmt::Formatter<'_>, n: &Nearest, address: u64) -> fmt::Result {
    let end = n.base + n.len;
    let (name, base, len) = (&n.name, n.base, n.len);
    let place = match n.distance {
        d if d < 0 => format!("{} bytes before", d.unsigned_abs()),
        _ if address < end => "inside, but reaching past the end of".into(),
        d => format!("{} bytes past the end of", d - 1),
    };
    write!(f, ": it lies {place} `{name}` ({base:#x}..{end:#x}, {len} bytes), the nearest allocation")
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.kind)?;
        if self.ptx_line > 0 {
            write!(f, "  at {}:{}", self.ptx_file, self.ptx_line)?;
            match &self.ptx_text {
                Some(text) => writeln!(f, ": {text}")?,
                None => writeln!(f)?,
            }
        }
        if let Some((file, line)) = &self.cuda {
            writeln!(f, "  from {file}:{line}")?;
        }
        writeln!(f, "  in kernel {}, PC {}: {}", signature(&self.kernel), self.pc, self.instruction)?;
        let [x, y, z] = self.block;
        write!(f, "  block ({x},{y},{z}), warp {}", self.warp)?;
        if let (Some(lane), Some([x, y, z])) = (self.lane, self.thread) {
            write!(f, ", lane {lane}, thread ({x},{y},{z})")?;
        }
        if let Some(remedy) = self.remedy() {
            write!(f, "\n  help: {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
