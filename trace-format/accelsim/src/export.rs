//! Export of a trace as the text that Accel-Sim's tracer would have written.
//!
//! The text holds less than the trace: no values, predicates, constants or guards, but the lanes in which each
//! instruction took effect. It says that it is of tracer version 4, whose lines end with an immediate, because earlier
//! versions cannot name a barrier.

use crate::error::AccelsimError;
use liblzma::write::XzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use trace_format::container::{Contents, TraceError, TransferKind};
use trace_format::isa::space::{LOCAL_WINDOW_HI, NO_ADDRESS, SHARED_WINDOW_HI, Space};
use trace_format::isa::{Address, Inst, Kind, MachineKernel, Operand, Pc, Reg};
use trace_format::reader::{MemAccess, Step, Trace, WarpCursor};

/// Bytes between two instructions of the code that is written.
const CODE_BYTES: u64 = 16;
/// Registers that hardware since sm_70 allocates besides those that instructions name.
const HIDDEN_REGISTERS: u32 = 2;
/// Compression level of xz.
const XZ_LEVEL: u32 = 3;
/// Instructions between two calls of the progress function.
const TELL_EVERY: u64 = 1 << 16;

/// How to export.
pub struct ExportOptions<'a> {
    /// Compute capability that the header names, by which the simulator chooses its table of opcodes.
    pub binary_version: u32,
    /// Whether kernels are compressed with xz.
    pub xz: bool,
    /// Called with the warp instructions that have been written.
    pub progress: &'a dyn Fn(u64),
}

impl Default for ExportOptions<'_> {
    fn default() -> Self {
        ExportOptions { binary_version: 75, xz: false, progress: &|_| {} }
    }
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// The list of kernels.
    pub list: PathBuf,
    /// Kernel launches.
    pub launches: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Copies within the GPU and fills, written as copies from the host, the only kind that the list has.
    pub other_copies: u64,
}

/// Writes a trace into a folder, which is created or empty: `kernelslist.g` and a file for each launch.
///
/// # Errors
/// The trace is damaged or holds samples of launches, or a file cannot be written.
pub fn export(trace: &Trace, folder: &Path, options: &ExportOptions<'_>) -> Result<Exported, AccelsimError> {
    if let Some(what) = trace.incomplete().map(str::to_owned).or_else(|| trace.partial()) {
        let what =
            format!("{what}; Accel-Sim needs every block of a grid, so record the program without --blocks");
        return Err(AccelsimError::file(trace.path(), what));
    }
    let failed =
        |path: &Path, error: &io::Error| AccelsimError::file(path, format!("cannot be written: {error}"));
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut held = std::fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    if held.next().is_some() {
        return Err(AccelsimError::file(folder, "is not empty; name a new folder"));
    }
    let mut done = Exported { list: folder.join("kernelslist.g"), ..Exported::default() };
    let mut commands = String::new();
    let mut transfers = trace.transfers().iter().peekable();
    for (number, launch) in (0..).zip(trace.launches()) {
        while let Some(copy) = transfers.next_if(|copy| copy.after_launches <= launch.number) {
            let fills = match copy.kind {
                TransferKind::HostToDevice => true,
                TransferKind::DeviceToDevice | TransferKind::Fill => {
                    done.other_copies += 1;
                    true
                }
                TransferKind::DeviceToHost | TransferKind::HostToHost => false,
            };
            if fills {
                commands += &format!("MemcpyHtoD,{:#018x},{}\n", copy.to, copy.bytes);
            }
        }
        let name = format!("kernel-{}.traceg{}", number + 1, if options.xz { ".xz" } else { "" });
        let path = folder.join(&name);
        let file = File::create(&path).map_err(|error| failed(&path, &error))?;
        let written = if options.xz {
            let mut out = BufWriter::new(XzEncoder::new(BufWriter::new(file), XZ_LEVEL));
            write_launch(trace, number, options, &mut done, &mut out).and_then(|()| {
                let encoder = out.into_inner().map_err(|error| Failure::Io(error.into_error()))?;
                Ok(encoder.finish()?.flush()?)
            })
        } else {
            let mut out = BufWriter::with_capacity(256 << 10, file);
            write_launch(trace, number, options, &mut done, &mut out).and_then(|()| Ok(out.flush()?))
        };
        written.map_err(|why| match why {
            Failure::Io(error) => failed(&path, &error),
            Failure::Trace(error) => error.into(),
        })?;
        commands += &name;
        commands.push('\n');
        done.launches += 1;
    }
    std::fs::write(&done.list, commands).map_err(|error| failed(&done.list, &error))?;
    Ok(done)
}

enum Failure {
    Io(io::Error),
    Trace(TraceError),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        Failure::Trace(error)
    }
}

fn write_launch(
    trace: &Trace,
    number: u32,
    options: &ExportOptions<'_>,
    done: &mut Exported,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let launch = &trace.launches()[number as usize];
    let kernel = trace.kernel_of(number);
    write_header(out, kernel, launch, number, options)?;
    let texts = texts(kernel, trace.header().contents);
    let mut cursor: Option<WarpCursor> = None;
    for block in 0..launch.blocks_recorded() {
        let [x, y, z] = launch.geometry.block_index(block);
        write!(out, "\n#BEGIN_TB\n\nthread block = {x},{y},{z}\n")?;
        for warp in 0..launch.geometry.warps_per_block() {
            let mut path = trace.path_cursor(number, block, warp)?;
            while path.step()?.is_some() {}
            write!(out, "\nwarp = {warp}\ninsts = {}\n", path.warp_instructions())?;
            match &mut cursor {
                Some(cursor) => cursor.restart(number, block, warp)?,
                None => cursor = Some(trace.slice_cursor(number, block, warp)?),
            }
            let Some(cursor) = &mut cursor else { continue };
            while let Some(step) = cursor.step()? {
                write_line(out, &texts[step.pc.index()], step, cursor.mem())?;
                done.warp_instructions += 1;
                if done.warp_instructions.is_multiple_of(TELL_EVERY) {
                    (options.progress)(done.warp_instructions);
                }
            }
        }
        write!(out, "\n#END_TB\n")?;
    }
    Ok(())
}

fn write_header(
    out: &mut impl Write,
    kernel: &MachineKernel,
    launch: &trace_format::reader::Launch,
    number: u32,
    options: &ExportOptions<'_>,
) -> io::Result<()> {
    let triple = |of: [u32; 3]| format!("({},{},{})", of[0], of[1], of[2]);
    let hidden = if options.binary_version >= 70 { HIDDEN_REGISTERS } else { 0 };
    let name: String = kernel.name.chars().filter(|c| !c.is_control()).collect();
    let shared = u64::from(kernel.static_shared_bytes) + u64::from(launch.dynamic_shared_bytes);
    let window = |high: u32| u64::from(high) << 32;
    writeln!(out, "-kernel name = {name}")?;
    writeln!(out, "-kernel id = {}", number + 1)?;
    writeln!(out, "-grid dim = {}", triple(launch.geometry.grid))?;
    writeln!(out, "-block dim = {}", triple(launch.geometry.block))?;
    writeln!(out, "-shmem = {shared}")?;
    writeln!(out, "-nregs = {}", (u32::from(kernel.regs_per_thread) + hidden).min(255))?;
    writeln!(out, "-binary version = {}", options.binary_version)?;
    writeln!(out, "-cuda stream id = {}", launch.stream)?;
    writeln!(out, "-shmem base_addr = {:#018x}", window(SHARED_WINDOW_HI))?;
    writeln!(out, "-local mem base_addr = {:#018x}", window(LOCAL_WINDOW_HI))?;
    writeln!(out, "-nvbit version = none")?;
    writeln!(out, "-accelsim tracer version = 4")?;
    writeln!(out, "-enable lineinfo = 0\n")?;
    writeln!(
        out,
        "#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] \
         [mem_addresses] immediate\n"
    )
}

/// The parts of an instruction's line that do not change.
struct Text {
    pc: u64,
    /// From the number of destinations to the last source.
    operands: String,
    immediate: u32,
    memory: bool,
}

fn texts(kernel: &MachineKernel, contents: Contents) -> Vec<Text> {
    let text = |(pc, inst): (usize, &Inst)| {
        let imported = kernel.code_text(Pc(pc as u32)).filter(|_| contents == Contents::Imported);
        let immediate = match inst.src[0].operand {
            Operand::Imm(barrier) if inst.kind() == Kind::Barrier => barrier,
            _ => 0,
        };
        Text {
            pc: pc as u64 * CODE_BYTES,
            operands: imported.map_or_else(|| of_inst(inst), |text| of_text(inst, text)),
            immediate,
            memory: inst.kind().is_memory(),
        }
    };
    kernel.insts.iter().enumerate().map(text).collect()
}

fn of_inst(inst: &Inst) -> String {
    let destination = inst.dst_span().map(|span| span.first.0);
    let source = |slot: usize| match inst.src[slot].operand {
        Operand::Reg(Reg(number)) if inst.info().src_regs[slot] > 0 => Some(number),
        _ => None,
    };
    let sources: Vec<u8> = (0..3).filter_map(source).collect();
    operands(destination, &opcode(inst), &sources)
}

/// The line that an imported instruction was read from, from the text that was kept of it.
fn of_text(inst: &Inst, text: &str) -> String {
    let (opcode, registers) = text.split_once(' ').unwrap_or((text, ""));
    let number = |name: &str| match name.trim() {
        "RZ" => Some(255),
        name => name.strip_prefix('R')?.parse().ok(),
    };
    let mut registers: Vec<u8> = registers.split(',').filter_map(number).collect();
    let first_is_written = inst.info().dst_regs > 0
        && registers.first().is_some_and(|first| *first == 255 || inst.dst_span().is_some());
    let destination = first_is_written.then(|| registers.remove(0));
    operands(destination, opcode, &registers)
}

fn operands(destination: Option<u8>, opcode: &str, sources: &[u8]) -> String {
    let mut text = destination.map_or_else(|| "0".to_owned(), |number| format!("1 R{number}"));
    text += &format!(" {opcode} {}", sources.len());
    for number in sources {
        text += &format!(" R{number}");
    }
    text
}

/// The mnemonic as SASS spells it: accesses with 64-bit addresses are extended.
fn opcode(inst: &Inst) -> String {
    let mnemonic = inst.op.mnemonic();
    let mnemonic = mnemonic.split(' ').next().unwrap_or_default();
    let base = inst.info().mnemonic;
    match inst.info().memory {
        Some(memory) if memory.address == Address::Wide => {
            // An atomic on a generic address has a name of its own.
            let generic = matches!(inst.kind(), Kind::Atomic(Space::Generic));
            let name = if generic { "ATOM" } else { base };
            let order = if inst.op.reads_others() { ".GPU" } else { "" };
            format!("{name}.E{}{order}", &mnemonic[base.len()..])
        }
        _ => mnemonic.to_owned(),
    }
}

fn write_line(out: &mut impl Write, text: &Text, step: Step, access: Option<&MemAccess>) -> io::Result<()> {
    write!(out, "{:04x} {:08x} {} ", text.pc, step.exec, text.operands)?;
    let addresses = access.filter(|_| text.memory).map(|access| (access, lanes(access, step.exec)));
    match addresses {
        // Of a memory instruction that touches nothing there is no address to write.
        Some((_, addresses)) if addresses.iter().all(|address| *address == NO_ADDRESS) && step.exec != 0 => {
            write!(out, "0")?;
        }
        Some((access, addresses)) => {
            write!(out, "{} ", access.bytes_per_lane.max(1))?;
            write_addresses(out, step.exec, &addresses)?;
        }
        None => write!(out, "0")?,
    }
    writeln!(out, " {}", text.immediate)
}

/// The address of each lane that took part; none where a texture or surface access touches no memory.
fn lanes(access: &MemAccess, exec: u32) -> Vec<u64> {
    let of = |lane: usize| {
        let touches = access.mask >> lane & 1 != 0 || !access.space.is_remote();
        if touches { access.addresses[lane] } else { NO_ADDRESS }
    };
    (0..32).filter(|lane| exec >> lane & 1 != 0).map(of).collect()
}

/// In the shortest notation that the lanes and addresses allow.
fn write_addresses(out: &mut impl Write, exec: u32, addresses: &[u64]) -> io::Result<()> {
    let Some((&base, rest)) = addresses.split_first() else { return write!(out, "1 0x0 0") };
    let distance = |pair: &[u64]| i32::try_from(pair[1].wrapping_sub(pair[0]) as i64).ok();
    let distances: Option<Vec<i32>> = addresses.windows(2).map(distance).collect();
    let in_a_row = exec >> exec.trailing_zeros();
    let in_a_row = in_a_row & in_a_row.wrapping_add(1) == 0;
    match distances {
        Some(distances) if in_a_row && distances.iter().all(|distance| *distance == distances[0]) => {
            write!(out, "1 {base:#x} {}", distances.first().copied().unwrap_or(0))
        }
        Some(distances) => {
            write!(out, "2 {base:#x}")?;
            distances.iter().try_for_each(|distance| write!(out, " {distance}"))
        }
        None => {
            write!(out, "0 {base:#x}")?;
            rest.iter().try_for_each(|address| write!(out, " {address:#x}"))
        }
    }
}
