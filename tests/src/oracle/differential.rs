//! One random kernel, both roads, all bytes compared.

use super::emulated::{Argument, EmulatedModule, How};
use super::generate::{
    Dice, Focus, Kernel, Output, OutputSlot, interesting_bits, interesting_f32, interesting_f64,
};
use super::native::{self, Assembler};
use super::{Device, Fault, Launch};
use emulator::lower::{DEFAULT_INLINE_LIMIT, LowerOptions, Schedule};
use emulator::ptx::{self, Module};
use std::path::{Path, PathBuf};
use trace_format::container::Contents;
use trace_format::semantics::Geometry;

/// How a comparison ended badly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The generator or the oracle is at fault.
    Oracle(String),
    /// The front end does not take the kernel.
    Parse(String),
    /// Lowering refuses the kernel.
    Lower(String),
    /// Something panicked.
    Panic(String),
    /// The emulator faults where the oracle does not.
    Emulator(String),
    /// Memory differs.
    Mismatch(String),
    /// The trace differs from the execution.
    Trace(String),
    /// The machine code of ptxas is refused, or leaves other memory.
    Native(String),
}

impl Failure {
    /// Whether two failures are of one kind; shrinking must not slip from one to another.
    #[must_use]
    pub fn same_kind(&self, other: &Self) -> bool {
        // Up to the first number, refusals of one kind read the same.
        let start = |failure: &Self| {
            let text = failure.to_string();
            text.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().to_owned()
        };
        let lower = matches!((self, other), (Self::Lower(_), Self::Lower(_)));
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && (!lower || start(self) == start(other))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, what) = match self {
            Self::Oracle(what) => ("oracle", what),
            Self::Parse(what) => ("parse", what),
            Self::Lower(what) => ("lower", what),
            Self::Panic(what) => ("panic", what),
            Self::Emulator(what) => ("emulator", what),
            Self::Mismatch(what) => ("mismatch", what),
            Self::Trace(what) => ("trace", what),
            Self::Native(what) => ("machine code", what),
        };
        write!(f, "{kind}: {what}")
    }
}

/// What became of the machine code of a kernel that agrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineCode {
    /// There is no assembler.
    NotAsked,
    /// It leaves the same memory.
    Agrees,
    /// The assembler refuses the kernel: its first error, and the line that it is about.
    Refused(Refusal),
}

/// Why an assembler refuses a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its first error, without the place.
    pub reason: String,
    /// The line that the error is about; empty if it names none.
    pub line: String,
}

impl Refusal {
    /// From what ptxas says about a text: `ptxas kernel.ptx, line 41; error   : Arguments mismatch for instruction 'mov'`.
    fn of(said: &str, ptx: &str) -> Refusal {
        let words = ["error", "fatal"];
        let error = said.lines().find_map(|line| words.iter().find_map(|word| line.split_once(word)));
        let Some((place, rest)) = error else {
            return Refusal { reason: said.trim().to_owned(), line: String::new() };
        };
        let reason = rest.trim_start_matches([' ', ':']).trim().to_owned();
        let number = place.split_once("line ").map(|(_, rest)| rest);
        let number = number.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
        let line = number.and_then(|number: usize| ptx.lines().nth(number.checked_sub(1)?));
        Refusal { reason, line: line.unwrap_or_default().trim().to_owned() }
    }
}

/// How a kernel is run in the emulator.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'p> {
    /// Registers that lowering may use.
    pub max_registers: u16,
    /// Emulator threads.
    pub threads: usize,
    /// Lowering checks its register allocation.
    pub check: bool,
    /// Products and sums are fused on both roads.
    pub fmad: bool,
    /// How much code functions may make where they are inlined; 0 for calls of all.
    pub inline_limit: u64,
    /// The order of instructions.
    pub schedule: Schedule,
    /// Folder for traces, if recordings are to be checked as well.
    pub traces: Option<&'p Path>,
    /// Makes machine code, if that is to be compared as well.
    pub assembler: Option<&'p Assembler>,
}

/// A kernel as text with everything that its run needs; all have the same parameters.
#[derive(Clone, Debug)]
pub struct Case {
    /// The module; its kernel is called `kernel`.
    pub ptx: String,
    /// What the contents of the buffers are drawn from.
    pub seed: u64,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// Where each thread's results lie in its slice of the output.
    pub output: Output,
}

impl Case {
    /// The case of a random kernel.
    pub fn of(kernel: &Kernel) -> Self {
        let output = kernel.output();
        Self { ptx: kernel.ptx(), seed: kernel.seed, grid: kernel.grid, block: kernel.block, output }
    }

    /// The text with a first line that [`Case::parse`] reads.
    pub fn text(&self, max_registers: u16) -> String {
        let dims = |d: [u32; 3]| format!("{} {} {}", d[0], d[1], d[2]);
        let mut head = format!(
            "//case seed {} grid {} block {} registers {max_registers} slice {} slots",
            self.seed,
            dims(self.grid),
            dims(self.block),
            self.output.slice_bytes
        );
        for (name, at, _) in &self.output.slots {
            head += &format!(" {name}@{at}");
        }
        format!("{head}\n{}", self.ptx)
    }

    /// Reads what [`Case::text`] writes; the second part is the number of registers.
    pub fn parse(text: &str) -> Option<(Self, u16)> {
        let head = text.lines().next()?.strip_prefix("//case seed ")?;
        let words: Vec<&str> = head.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let dims = |at: usize| Some([number(at)? as u32, number(at + 1)? as u32, number(at + 2)? as u32]);
        let (seed, grid, block) = (number(0)?, dims(2)?, dims(6)?);
        let (registers, slice_bytes) = (number(10)? as u16, number(12)? as usize);
        let mut slots = Vec::new();
        for slot in words.get(14..)? {
            let (name, at) = slot.split_once('@')?;
            let kind = match name.as_bytes().get(1)? {
                b'f' => OutputSlot::Single,
                b'g' => OutputSlot::Double,
                _ => OutputSlot::Bits,
            };
            slots.push((name.to_owned(), at.parse().ok()?, kind));
        }
        let output = Output { slots, slice_bytes };
        Some((Self { ptx: text.to_owned(), seed, grid, block, output }, registers))
    }

    /// Threads of the whole launch.
    pub fn threads(&self) -> usize {
        (self.block.iter().product::<u32>() * self.grid.iter().product::<u32>()) as usize
    }
}

/// Contents of the buffers that every kernel gets.
struct Data {
    input: Vec<u8>,
    output: Vec<u8>,
    accumulators: Vec<u8>,
    scratch: Vec<u8>,
    scalars: Vec<Vec<u8>>,
}

impl Data {
    fn new(case: &Case) -> Self {
        let mut dice = Dice::new(case.seed ^ 0xDA7A);
        let mut input = Vec::new();
        for _ in 0..1024 {
            input.extend_from_slice(&interesting_bits(&mut dice).to_le_bytes());
        }
        for _ in 0..2048 {
            input.extend_from_slice(&interesting_f32(&mut dice).to_le_bytes());
        }
        for _ in 0..1024 {
            input.extend_from_slice(&interesting_f64(&mut dice).to_le_bytes());
        }
        let scalars = vec![
            (interesting_bits(&mut dice) as u32).to_le_bytes().to_vec(),
            (interesting_bits(&mut dice) as u16).to_le_bytes().to_vec(),
            interesting_bits(&mut dice).to_le_bytes().to_vec(),
            interesting_f32(&mut dice).to_le_bytes().to_vec(),
            interesting_f64(&mut dice).to_le_bytes().to_vec(),
        ];
        let blocks = case.grid.iter().product::<u32>() as usize;
        let mut noise = |bytes: usize| -> Vec<u8> {
            (0..bytes.div_ceil(8)).flat_map(|_| dice.bits().to_le_bytes()).collect()
        };
        let accumulators = noise(Kernel::accumulator_bytes(blocks));
        let scratch = noise(Kernel::scratch_bytes(case.threads()));
        let output = vec![0; case.output.slice_bytes * case.threads()];
        Self { input, output, accumulators, scratch, scalars }
    }

    fn buffers(&self) -> [&Vec<u8>; 4] {
        [&self.input, &self.output, &self.accumulators, &self.scratch]
    }
}

/// Contents of output, accumulators and scratch after a run.
type Outcome = Vec<Vec<u8>>;

/// Runs a kernel on both roads.
///
/// # Errors
/// The first thing that is not as it should be.
pub fn compare(case: &Case, setup: &Setup<'_>) -> Result<MachineCode, Failure> {
    let data = Data::new(case);
    let module = guarded(|| ptx::parse(&case.ptx, "random.ptx"))?
        .map_err(|diagnostics| Failure::Parse(super::emulated::words(&diagnostics)))?;
    if let Some((_, unsupported)) = module.unsupported().next() {
        return Err(Failure::Parse(unsupported.message.clone()));
    }
    let expected =
        oracle(case, &module, &data, setup.fmad).map_err(|fault| Failure::Oracle(fault.to_string()))?;
    let actual = guarded(|| emulated(case, &module, &data, setup))??;
    check(case, &expected, &actual)?;
    match setup.assembler {
        Some(assembler) => third(case, &module, &data, assembler),
        None => Ok(MachineCode::NotAsked),
    }
}

/// Compares machine code of ptxas with the interpreter; neither fuses products and sums.
fn third(case: &Case, module: &Module, data: &Data, assembler: &Assembler) -> Result<MachineCode, Failure> {
    let fail = Failure::Native;
    let expected = oracle(case, module, data, false).map_err(|fault| Failure::Oracle(fault.to_string()))?;
    let folder = tempfile::tempdir().map_err(|error| fail(error.to_string()))?;
    let ptx = with_target(&case.ptx, &assembler.target);
    // What ptxas refuses, such as more registers than there are, says nothing about machine code.
    let code = match assembler.unfused(&ptx, folder.path()) {
        Ok(code) => code,
        Err(said) => return Ok(MachineCode::Refused(Refusal::of(&said, &ptx))),
    };
    let geometry = Geometry { grid: case.grid, block: case.block };
    let mut files = Vec::new();
    for contents in [Contents::Values, Contents::Addresses] {
        let file = folder.path().join(format!("{contents:?}.wtrace"));
        let trace = Some((file.as_path(), contents));
        let run = || native::run(code.clone(), geometry, &data.buffers(), &data.scalars, 20_000_000, trace);
        let actual = match guarded(run)? {
            // Which of two readings is right, only silicon can tell.
            Err(said) if said.contains("what silicon does") => {
                let reason = "machine code of which it is not known what silicon does".to_owned();
                return Ok(MachineCode::Refused(Refusal { reason, line: said }));
            }
            ran => ran.map_err(fail)?,
        };
        check(case, &expected, &actual)
            .map_err(|failure| fail(format!("{}: {failure}", assembler.target)))?;
        files.push(file);
    }
    let told = |failure: Failure| Failure::Trace(format!("{}: {failure}", assembler.target));
    check_recordings(&files).map_err(told)?;
    Ok(MachineCode::Agrees)
}

/// A module that names another target.
fn with_target(ptx: &str, target: &str) -> String {
    let line = |line: &str| match line.starts_with(".target ") {
        true => format!(".target {target}\n"),
        false => format!("{line}\n"),
    };
    ptx.lines().map(line).collect()
}

/// Turns a panic into a failure.
fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Failure::Panic(text.unwrap_or_default())
    })
}

fn oracle(case: &Case, module: &Module, data: &Data, fmad: bool) -> Result<Outcome, Fault> {
    let device = Device::new(module)?;
    let mut device = if fmad { device } else { device.unfused() };
    let bases: Vec<u64> = data.buffers().iter().map(|bytes| device.global.add((*bytes).clone())).collect();
    let mut args: Vec<Vec<u8>> = bases.iter().map(|base| base.to_le_bytes().to_vec()).collect();
    args.extend(data.scalars.iter().cloned());
    device.run(&Launch {
        kernel: "kernel".into(),
        grid: case.grid,
        block: case.block,
        dynamic_shared_bytes: 0,
        args,
        max_instructions: 200_000,
    })?;
    Ok(bases[1..].iter().map(|base| device.global.contents(*base).unwrap_or_default().to_vec()).collect())
}

fn emulated(case: &Case, module: &Module, data: &Data, setup: &Setup<'_>) -> Result<Outcome, Failure> {
    let lower = |fault: Fault| Failure::Lower(fault.to_string());
    let mut emulated = EmulatedModule::new(module).map_err(lower)?;
    let options = LowerOptions {
        max_registers: setup.max_registers,
        check: setup.check,
        fmad: setup.fmad,
        inline_limit: setup.inline_limit,
        schedule: setup.schedule,
        ..LowerOptions::default()
    };
    let lowered = emulated.lower("kernel", &options).map_err(lower)?;
    let geometry = Geometry { grid: case.grid, block: case.block };
    let names = ["in", "out", "acc", "scratch"];
    let ids =
        names.iter().zip(data.buffers()).map(|(name, bytes)| emulated.memory.allocate(*name, bytes.clone()));
    let ids: Vec<_> = ids.collect();
    let mut args: Vec<Argument> = ids.iter().map(|id| Argument::Pointer(*id, 0)).collect();
    args.extend(data.scalars.iter().cloned().map(Argument::Bytes));
    let file = setup.traces.map(|folder| folder.join(format!("{}.wtrace", case.seed)));
    let how = How { threads: setup.threads, max_instructions: 20_000_000, trace: file.as_deref() };
    emulated.run(&lowered, geometry, 0, &args, how).map_err(|fault| Failure::Emulator(fault.to_string()))?;
    let outcome: Outcome = ids[1..].iter().map(|id| emulated.memory.allocation(*id).bytes.to_vec()).collect();
    if let (Some(path), Some(folder)) = (&file, setup.traces) {
        let checked = check_trace(path, || {
            let mut again = EmulatedModule::new(module)?;
            for (name, bytes) in names.iter().zip(data.buffers()) {
                again.memory.allocate(*name, bytes.clone());
            }
            let second = folder.join(format!("{}-second.wtrace", case.seed));
            let threads = if setup.threads == 1 { 4 } else { 1 };
            let how = How { threads, trace: Some(&second), ..how };
            again.run(&lowered, geometry, 0, &args, how)?;
            Ok(second)
        });
        let _ = std::fs::remove_file(path);
        checked?;
    }
    Ok(outcome)
}

/// Recordings of the same launches, the first of them with values, are sound and give the same lanes and addresses.
fn check_recordings(files: &[PathBuf]) -> Result<(), Failure> {
    let fail = |what: String| Failure::Trace(what);
    let mut traces = Vec::new();
    for path in files {
        let report = trace_format::validate::validate(path, 2, &trace_format::validate::Progress::default());
        let report = report.map_err(|e| fail(e.to_string()))?;
        if !report.is_sound() {
            return Err(fail(format!("{}: {:?}", path.display(), report.problems.first())));
        }
        traces.push(trace_format::reader::Trace::open(path).map_err(|e| fail(e.to_string()))?);
    }
    for trace in &traces {
        for launch in 0..trace.launches().len() {
            crate::timing_slice::compare(&traces[0], trace, launch as u32, u64::MAX).map_err(fail)?;
        }
    }
    Ok(())
}

/// A recording is sound, gives the same addresses with and without data, and another one with another number of threads is
/// the same.
fn check_trace(path: &Path, again: impl FnOnce() -> Result<PathBuf, Fault>) -> Result<(), Failure> {
    let fail = |what: String| Failure::Trace(what);
    check_recordings(&[path.to_path_buf()])?;
    let second = again().map_err(|fault| fail(fault.to_string()))?;
    let same = std::fs::read(path).ok() == std::fs::read(&second).ok();
    let _ = std::fs::remove_file(second);
    if same { Ok(()) } else { Err(fail("a recording on another number of threads differs".into())) }
}

/// Bytes of a register in the output; predicates take a word.
fn slot_bytes(register: &str) -> usize {
    match register.as_bytes().get(1) {
        Some(b'd' | b'g') => 8,
        Some(b'h') => 2,
        _ => 4,
    }
}

/// Compares memory after both executions.
fn check(case: &Case, expected: &Outcome, actual: &Outcome) -> Result<(), Failure> {
    let output = &case.output;
    for thread in 0..case.threads() {
        for (name, offset, slot) in &output.slots {
            let at = thread * output.slice_bytes + offset;
            let size = slot_bytes(name);
            let value =
                |bytes: &[u8]| bytes[at..at + size].iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
            let (wanted, found) = (value(&expected[0]), value(&actual[0]));
            let both_nan = match slot {
                OutputSlot::Bits => false,
                OutputSlot::Single => {
                    f32::from_bits(wanted as u32).is_nan() && f32::from_bits(found as u32).is_nan()
                }
                OutputSlot::Double => f64::from_bits(wanted).is_nan() && f64::from_bits(found).is_nan(),
            };
            if wanted != found && !both_nan {
                return Err(Failure::Mismatch(format!(
                    "thread {thread}: {name} is {found:#x} instead of {wanted:#x}"
                )));
            }
        }
        // Padding and the word of early returns.
        let end = output.slots.iter().map(|(name, at, _)| at + slot_bytes(name)).max().unwrap_or(0);
        let rest = thread * output.slice_bytes + end..(thread + 1) * output.slice_bytes;
        if expected[0][rest.clone()] != actual[0][rest] {
            return Err(Failure::Mismatch(format!("thread {thread}: the word of early returns differs")));
        }
    }
    for (buffer, name) in [(1, "accumulators"), (2, "scratch")] {
        let differs = expected[buffer].iter().zip(&actual[buffer]).position(|(a, b)| a != b);
        if let Some(at) = differs {
            let word = at / 4 * 4;
            return Err(Failure::Mismatch(format!(
                "{name} at {word}: {:02x?} instead of {:02x?}",
                &actual[buffer][word..word + 4],
                &expected[buffer][word..word + 4]
            )));
        }
    }
    Ok(())
}

/// The kernel of a seed, run as the seed decides.
///
/// # Errors
/// As [`compare`].
pub fn attack<'p>(
    seed: u64,
    check: bool,
    traces: Option<&'p Path>,
    assembler: Option<&'p Assembler>,
) -> (Kernel, Setup<'p>, Result<MachineCode, Failure>) {
    let mut dice = Dice::new(seed.rotate_left(17));
    let target = assembler.map(Assembler::number);
    let kernel = Kernel::random(seed, dice.pick(&Focus::ALL), target);
    let max_registers = dice.pick(&[255, 255, 255, 255, 64, 40, 32, 24]);
    let setup = Setup {
        max_registers,
        threads: dice.pick(&[1, 1, 2]),
        check,
        fmad: dice.pick(&[false, true]),
        inline_limit: dice.pick(&[0, DEFAULT_INLINE_LIMIT]),
        schedule: dice.pick(&[Schedule::Latency, Schedule::Latency, Schedule::Source, Schedule::Reuse]),
        traces,
        assembler,
    };
    let result = compare(&Case::of(&kernel), &setup);
    (kernel, setup, result)
}
