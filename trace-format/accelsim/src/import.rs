//! Import of a text trace: the first pass over a kernel's file collects its instructions, the second one writes its
//! warps.

use crate::error::AccelsimError;
use crate::header::Header;
use crate::kernel::{Event, KernelFile};
use crate::list::{self, Command};
use crate::program::{Built, Fits, Program, TakenFor};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use trace_format::container::{Contents, Header as TraceHeader, LaunchRecord, Sample};
use trace_format::isa::space::{LOCAL_WINDOW_HI, NO_ADDRESS, SHARED_WINDOW_HI, Space};
use trace_format::semantics::Banks;
use trace_format::writer::{BlockRecorder, LaunchWriter, TraceWriter, WriterOptions};

/// Bytes of local memory behind its first generic address.
const LOCAL_WINDOW_BYTES: u64 = 1 << 32;
/// Lines between two calls of the progress function.
const TELL_EVERY: u64 = 1 << 16;

/// How to import.
pub struct ImportOptions<'a> {
    /// Whether a launch may lack blocks at its end; otherwise that is an error.
    pub partial: bool,
    /// Called with the bytes that have been read, and those that will be: each file is read twice.
    pub progress: &'a dyn Fn(u64, u64),
}

impl Default for ImportOptions<'_> {
    fn default() -> Self {
        ImportOptions { partial: false, progress: &|_, _| {} }
    }
}

/// What was imported.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Imported {
    /// The trace that was written.
    pub trace: PathBuf,
    /// Its size in bytes.
    pub file_bytes: u64,
    /// Kernel launches.
    pub launches: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Warp instructions times the lanes in which they took effect.
    pub thread_instructions: u64,
    /// Every opcode with what it was taken for, the most frequent first.
    pub opcodes: Vec<TakenFor>,
    /// Warp instructions with an operand that begins below its register, because rows want pairs to be aligned.
    pub widened: u64,
    /// Warp instructions with a register for which the row has no operand.
    pub dropped: u64,
    /// Warp instructions that access memory without an address in the trace.
    pub without_addresses: u64,
    /// Predicates and uniform registers that the trace lists and that were left out.
    pub other_operands: u64,
    /// Lines of the list that are neither copies nor kernels.
    pub ignored_commands: u64,
    /// Blocks that partial launches lack.
    pub missing_blocks: u64,
}

/// A kernel: launches with this name and size of code are taken to run the same code.
type Name = (String, u32, u32);

/// Imports the kernels of a `kernelslist.g`, or a folder with one, into a trace.
///
/// # Errors
/// A file cannot be read, or is damaged; the error names file and line. The trace cannot be written.
pub fn import(list: &Path, to: &Path, options: &ImportOptions<'_>) -> Result<Imported, AccelsimError> {
    let list = list::read(list)?;
    let mut done = Imported { ignored_commands: list.ignored, ..Imported::default() };
    let files = list.commands.iter().filter_map(|command| match command {
        Command::Kernel(path) => Some(std::fs::metadata(path).map_or(0, |found| found.len())),
        Command::Copy(_) => None,
    });
    let mut read = Progress { files: 0, of: 2 * files.sum::<u64>(), lines: 0, tell: options.progress };
    let mut programs: HashMap<Name, (Program, String)> = HashMap::new();
    let mut scans = Vec::new();
    for command in &list.commands {
        if let Command::Kernel(path) = command {
            scans.push(scan(path, &mut programs, &mut done, &mut read, options.partial)?);
        }
    }
    let header = TraceHeader { contents: Contents::Imported, ..TraceHeader::default() };
    let mut writer = TraceWriter::create(to, &WriterOptions::default().with_header(header))?;
    let mut fits = Fits::default();
    let mut built: HashMap<Name, Built> = HashMap::new();
    for (name, (program, file)) in &programs {
        built.insert(name.clone(), program.build(&name.0, file, &mut fits));
    }
    let mut scans = scans.into_iter();
    for command in &list.commands {
        match command {
            Command::Copy(copy) => writer.transfers(&[list::transfer(*copy, done.launches)])?,
            Command::Kernel(path) => {
                let Some(scan) = scans.next() else { break };
                let (program, built) = (&programs[&scan.name].0, &built[&scan.name]);
                write(path, &scan, program, built, &mut writer, &mut done, &mut read)?;
                done.launches += 1;
            }
        }
    }
    let (summary, path) = writer.finish_as()?;
    (done.trace, done.file_bytes) = (path, summary.file_bytes);
    (done.widened, done.dropped) = (fits.widened, fits.dropped);
    done.without_addresses = fits.without_addresses;
    done.opcodes = fits.taken;
    done.opcodes
        .sort_by(|a, b| b.count.cmp(&a.count).then_with(|| (&a.opcode, &a.row).cmp(&(&b.opcode, &b.row))));
    Ok(done)
}

struct Progress<'a> {
    /// Bytes of the files that have been read.
    files: u64,
    of: u64,
    lines: u64,
    tell: &'a dyn Fn(u64, u64),
}

impl Progress<'_> {
    /// Counts a line; so many bytes of the current file have been read.
    fn line(&mut self, bytes: impl Fn() -> u64) {
        self.lines += 1;
        if self.lines.is_multiple_of(TELL_EVERY) {
            (self.tell)(self.files + bytes(), self.of);
        }
    }
}

/// The facts of a launch that the first pass finds.
struct Scan {
    name: Name,
    blocks: u64,
    lines: u64,
}

/// The first pass over a kernel's file.
fn scan(
    path: &Path,
    programs: &mut HashMap<Name, (Program, String)>,
    done: &mut Imported,
    progress: &mut Progress<'_>,
    partial: bool,
) -> Result<Scan, AccelsimError> {
    let mut file = KernelFile::open(path)?;
    let header = file.header.clone();
    let name = (header.name.clone(), header.registers, header.binary_version);
    let shown = file.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let shown = shown.trim_end_matches(".xz").to_owned();
    let (program, _) = programs.entry(name.clone()).or_insert_with(|| (Program::default(), shown));
    program.launched(&header);
    let mut found = Scan { name, blocks: 0, lines: 0 };
    let (mut before, mut launched, mut alive, mut bad) = (None, 0, 0, None);
    while let Some(event) = file.next()? {
        match event {
            Event::Block(number) if number != found.blocks => {
                let what = format!("thread block {} is missing; this is block {number}", found.blocks);
                return Err(file.error(what));
            }
            Event::Block(_) => {}
            Event::Warp(warp) => {
                launched = header.geometry.launched_mask(warp);
                (before, alive) = (None, launched);
            }
            Event::Line(line) => {
                if line.mask & !alive != 0 {
                    let which =
                        if line.mask & !launched != 0 { "without a thread" } else { "that have ended" };
                    bad = Some(format!("the mask {:08x} names lanes {which}", line.mask));
                }
                done.other_operands += u64::from(line.others);
                found.lines += 1;
                match program.see(&line, before) {
                    Ok(number) => {
                        before = Some(number);
                        alive &= if program.ends_lanes(number) { !line.mask } else { u32::MAX };
                    }
                    Err(why) => bad = Some(why),
                }
            }
            Event::BlockEnd => found.blocks += 1,
        }
        if let Some(why) = bad {
            return Err(file.error(why));
        }
        progress.line(|| file.bytes());
    }
    progress.files += file.bytes();
    let all = header.geometry.blocks();
    if found.lines == 0 {
        return Err(file.error("it has no instruction"));
    }
    if found.blocks < all && !partial {
        let what = format!(
            "the file ends after {} of {all} thread blocks; --partial imports those that are there",
            found.blocks
        );
        return Err(file.error(what));
    }
    done.missing_blocks += all - found.blocks;
    Ok(found)
}

/// The second pass over a kernel's file.
fn write(
    path: &Path,
    scan: &Scan,
    program: &Program,
    built: &Built,
    writer: &mut TraceWriter,
    done: &mut Imported,
    progress: &mut Progress<'_>,
) -> Result<(), AccelsimError> {
    let mut file = KernelFile::open(path)?;
    let header = file.header.clone();
    let kernel = writer.kernel(&built.kernel)?;
    let whole = scan.blocks == header.geometry.blocks();
    let launch = writer.launch(LaunchRecord {
        kernel,
        geometry: header.geometry,
        dynamic_shared_bytes: header.shared_bytes,
        banks: Banks {
            param: Banks::parameter_head(&header.geometry, built.kernel.local_bytes),
            ..Banks::default()
        },
        number: done.launches,
        stream: header.stream,
        sample: if whole { Sample::All } else { Sample::First(scan.blocks) },
        ..LaunchRecord::default()
    })?;
    let mut recorder = launch.recorder();
    let spaces = Spaces { header: &header, local_base: built.local_base };
    let changed = "the file has been changed while it was imported";
    let (mut blocks, mut warp, mut lost) = (0, 0, false);
    while let Some(event) = file.next()? {
        match event {
            Event::Block(number) => {
                lost = number != blocks || blocks == scan.blocks;
                recorder.begin(number);
            }
            Event::Warp(number) => warp = number,
            Event::Line(mut line) => {
                let place = program.find(&line.what).map(|number| built.places[number]);
                let known = place.filter(|_| line.mask & !header.geometry.launched_mask(warp) == 0);
                match known {
                    Some(pc) => {
                        let space = built.kernel.insts[pc.index()].kind().space();
                        space.inspect(|space| spaces.translate(*space, line.mask, &mut line.addresses));
                        recorder.imported(warp, pc, line.mask, &line.addresses);
                        done.warp_instructions += 1;
                        done.thread_instructions += u64::from(line.mask.count_ones());
                    }
                    None => lost = true,
                }
                submit_part(&launch, &mut recorder)?;
            }
            Event::BlockEnd => {
                blocks += 1;
                launch.submit(&mut recorder)?;
            }
        }
        if lost {
            return Err(file.error(changed));
        }
        progress.line(|| file.bytes());
    }
    progress.files += file.bytes();
    if blocks != scan.blocks {
        return Err(file.error(changed));
    }
    Ok(launch.finish()?)
}

fn submit_part(launch: &LaunchWriter<'_>, recorder: &mut BlockRecorder) -> Result<(), AccelsimError> {
    if recorder.is_full() {
        launch.submit_part(recorder)?;
    }
    Ok(())
}

/// Addresses of the tracer to ours.
struct Spaces<'a> {
    header: &'a Header,
    local_base: u64,
}

impl Spaces<'_> {
    fn translate(&self, space: Space, mask: u32, addresses: &mut [u64; 32]) {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let address = &mut addresses[lane];
            if *address != NO_ADDRESS {
                *address = self.address(space, *address);
            }
        }
    }

    fn address(&self, space: Space, address: u64) -> u64 {
        let (shared, local) = (self.header.shared_base, self.header.local_base);
        match space {
            Space::Generic if shared == 0 || local == 0 => window(SHARED_WINDOW_HI, address),
            Space::Generic if (shared..local).contains(&address) => {
                window(SHARED_WINDOW_HI, address - shared)
            }
            Space::Generic if (local..local.saturating_add(LOCAL_WINDOW_BYTES)).contains(&address) => {
                window(LOCAL_WINDOW_HI, address - local)
            }
            Space::Shared if shared > 0 && address >= shared => (address - shared) & 0xFFFF_FFFF,
            Space::Shared | Space::Const => address & 0xFFFF_FFFF,
            Space::Local => address.wrapping_sub(self.local_base) & 0xFFFF_FFFF,
            _ => address,
        }
    }
}

fn window(high: u32, offset: u64) -> u64 {
    u64::from(high) << 32 | offset & 0xFFFF_FFFF
}
