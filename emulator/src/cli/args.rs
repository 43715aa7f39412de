//! Flags of the `emu` command.

use crate::exec::{DEFAULT_INTERLEAVE, DEFAULT_MAX_INSTRUCTIONS, DEFAULT_MAX_PRINT_BYTES, Options};
use crate::lower::{DEFAULT_STACK_BYTES, LowerOptions, Schedule};
use crate::session::{CodeKind, DEFAULT_HEAP_BYTES, Setup};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Runs CUDA kernels without a GPU: executes their PTX, checks the results and records the execution of every
/// warp.
#[derive(Debug, Parser)]
#[command(
    name = "emu",
    version = crate::VERSION,
    max_term_width = 100,
    after_help = "Examples:
  emu run vectoradd.ptx                          launches what vectoradd.toml says
  emu run vectoradd.ptx --set n=1024 --dump c:8  with another size, and shows eight results
  emu record matmul.ptx -o matmul.wtrace         also writes the trace
  emu run -- ./app 1000                          a CUDA program as it is, its kernels emulated
  emu record -o app.wtrace -- ./app 1000         one trace of all that it launches
  emu disasm matmul.ptx --kernels matmul --ptx   the machine kernel beside its PTX
  emu inspect app.ptx                            what a PTX file holds, and what of it is not supported
  emu extract ./app -o out                       the PTX and machine code inside a program or library"
)]
pub(super) struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the launches of a manifest and check their results, or run a CUDA program with its kernels emulated.
    #[command(after_help = "Examples:
  emu run -- ./app 1000               a CUDA program as it is; --summary result.json keeps what it launched
  emu run --device a100 -- python3 train.py   with tinygrad, Numba, CuPy, PyCUDA or Triton, for instance
  emu run app.ptx
  emu run app.ptx --manifest small.toml --threads 1
  emu run app.ptx --maxregs 32        what the kernels do with 32 registers per thread
  emu run app.ptx --set n=4096 --set a.len=n*2 --set launch.0.grid=[16,1,1] --dump c
  emu run app.cubin                   NVIDIA's machine code (nvcc -cubin -arch=sm_80 app.cu) with app.toml
  emu run app.ptx --code sass --cubin app.sm_86.cubin    the launches of app.toml, with machine code
  emu run --code sass -- ./app        a CUDA program with its machine code")]
    Run(Run),
    /// Run the launches of a manifest, or a CUDA program, and write their trace.
    #[command(after_help = "Examples:
  emu record -o app.wtrace -- ./app 1000
  emu record --kernels 'gemm|conv' --every 10 --blocks 8/even -- ./app
  emu record app.ptx                  writes app.wtrace beside the PTX
  emu record app.ptx -o x.wtrace --set n=4096
  emu record app.ptx --schedule reuse --maxregs 64   code in another order, with 64 registers at most
  emu record app.ptx --size paper     with the scalars of [sizes.paper]")]
    Record(Record),
    /// List machine kernels: program counters, live registers, reconvergence points. Or NVIDIA's machine code (SASS).
    #[command(after_help = "Examples:
  emu disasm app.ptx
  emu disasm app.ptx --kernels matmul --ptx
  emu disasm app.ptx --maxregs 32 --schedule source
  emu disasm app.cubin --kernels matmul           NVIDIA's machine code (sm_70, 75, 80, 86, 89, 90, 120)
  emu disasm ./app --code sass

Machine code is listed as address, control bits and instruction. B01----:R2:W3:Y:S04 says: wait until the dependence
counters 0 and 1 are zero; counter 2 is decremented when the operands have been read, counter 3 when the results have been
written (- for none); Y: another warp should issue in the next cycle; the warp issues its next instruction after 4 cycles.")]
    Disasm(Disasm),
    /// List the PTX and machine code inside an executable, library, fat binary or cubin, and write them out.
    #[command(after_help = "Examples:
  emu extract ./app                     lists what is inside
  emu extract libkernels.so -o out      writes every PTX and cubin into the folder out
  emu extract ./app --ptx -o .          only the PTX, which emu runs")]
    Extract(Extract),
    /// Show the contents of a PTX file, and unsupported instructions.
    #[command(after_help = "Examples:
  emu inspect app.ptx
  emu inspect app.ptx --json")]
    Inspect(Inspect),
    /// Write a launch manifest for the kernels of a PTX file, from their signatures.
    #[command(after_help = "Examples:
  emu init app.ptx                    writes app.toml beside it, with a launch of each kernel to fill in
  emu init app.ptx --kernels gemm -o -    prints one for the kernel gemm")]
    Init(Init),
    /// Print completions for a shell.
    #[command(after_help = "Example:
  emu completions bash > ~/.local/share/bash-completion/completions/emu")]
    Completions(Completions),
    /// Print the manual page, or write all of them into a folder.
    #[command(after_help = "Examples:
  emu man | man -l -
  emu man -o ~/.local/share/man/man1")]
    Man(Man),
}

/// Flags of `emu init`.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// The PTX file.
    #[arg(value_name = "APP.ptx")]
    pub ptx: PathBuf,
    /// Only this kernel. May be repeated.
    #[arg(long = "kernels", alias = "kernel", value_name = "NAME")]
    pub kernel: Vec<String>,
    /// The manifest [default: APP.toml beside the PTX]; `-` for standard output.
    #[arg(short, long, value_name = "FILE.toml")]
    pub output: Option<PathBuf>,
    /// Replace a manifest that is there.
    #[arg(long)]
    pub force: bool,
}

/// Flags of `emu completions`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    pub shell: warplab_host::manual::Shell,
}

/// Flags of `emu man`.
#[derive(Debug, Args)]
pub(super) struct Man {
    /// Write the pages of all commands into this folder; created if needed.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Flags of the code that kernels become, shared by `emu run`, `emu record` and `emu disasm`.
#[derive(Debug, Args)]
pub(super) struct Code {
    /// Fuse products and sums that name no rounding into multiply-adds, as ptxas does by default; =false keeps both, as
    /// `ptxas -fmad false`.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub fmad: bool,
    /// Keep the loops and branches of the PTX: nothing is unrolled, no branch becomes guarded instructions. Each
    /// instruction then runs as often as its PTX line, for comparisons of compilers.
    #[arg(long)]
    pub keep_branches: bool,
    /// Registers per thread of kernels without .maxnreg, .maxntid and .reqntid, as nvcc's --maxrregcount: other values are
    /// spilled to local memory. Since sm_70, hardware takes two of them for itself.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(16..=255))]
    pub maxregs: Option<u16>,
    /// The order of instructions within a basic block: latency (loads early, as compilers do), source (the order of the
    /// PTX), or reuse (instructions soon after the last access of the registers that they read).
    #[arg(long, value_name = "ORDER", default_value = "latency", value_parser = schedules())]
    pub schedule: Schedule,
}

impl Code {
    /// Options of the compilation.
    #[must_use]
    pub(super) fn options(&self) -> LowerOptions {
        let Code { fmad, keep_branches, maxregs, schedule } = *self;
        LowerOptions { fmad, keep_branches, maxregs, schedule, ..LowerOptions::default() }
    }
}

/// Flags shared by `emu run` and `emu record`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The PTX file or cubin, with its launch manifest beside it, or a manifest ending in .toml that names its file.
    #[arg(value_name = "APP.ptx", required_unless_present = "program", conflicts_with = "program")]
    pub ptx: Option<PathBuf>,
    /// A CUDA program (executable, script, interpreter) with its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
    /// The code that runs: `ptx`, or `sass`, NVIDIA's machine code that a compiler has made; nothing is compiled here. Default: ptx,
    /// and sass where there is no PTX. The machine code of a PTX file is in the file of --cubin, of the key `cubin` of the
    /// manifest, or in APP.cubin beside the PTX.
    #[arg(long = "code", value_name = "KIND")]
    pub kind: Option<CodeKind>,
    /// Run the machine code of this file: a cubin, fat binary, executable or library. Of several targets in it, the oldest known
    /// runs.
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    pub cubin: Option<PathBuf>,
    /// (program) The GPU that it sees: rtx2060 by default. Kernels get registers as on its SMs; if none is named, as on those of
    /// the `.target` of their PTX.
    #[arg(long, value_name = "NAME", conflicts_with = "ptx")]
    pub device: Option<String>,
    /// (program) Write the summary of its launches into this file, as JSON, instead of to standard error.
    #[arg(long, value_name = "FILE.json", conflicts_with = "ptx")]
    pub summary: Option<PathBuf>,
    /// The launch manifest [default: APP.toml beside the PTX].
    #[arg(long = "manifest", alias = "launch", value_name = "FILE.toml", conflicts_with = "program")]
    pub launch: Option<PathBuf>,
    /// The size of the manifest, [sizes.NAME] there: other values of its scalars [default: test, the scalars as
    /// they are written].
    #[arg(long, value_name = "NAME", conflicts_with = "program")]
    pub size: Option<String>,
    /// Override a value of the manifest: a scalar (n=1024), a buffer's key (a.len=n*2), a launch's
    /// (launch.0.grid=[4,1,1]). May be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", conflicts_with = "program")]
    pub overrides: Vec<String>,
    /// Print the first N elements of a buffer afterwards [default N: 16]. May be repeated.
    #[arg(long, value_name = "BUFFER[:N]", conflicts_with = "program")]
    pub dump: Vec<String>,
    /// Warp instructions after which a launch counts as an endless loop.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_INSTRUCTIONS)]
    pub max_instructions: u64,
    /// Bytes that the threads of one launch may print.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_PRINT_BYTES)]
    pub max_print_bytes: u64,
    /// Bytes of the heap that device code allocates from.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_HEAP_BYTES, value_parser = clap::value_parser!(u64).range(..=1 << 36))]
    pub heap_bytes: u64,
    /// Bytes of stack per thread for recursion, calls through registers and alloca.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_STACK_BYTES, value_parser = clap::value_parser!(u32).range(..=1 << 29))]
    pub stack_bytes: u32,
    /// How kernels are compiled.
    #[command(flatten)]
    pub code: Code,
    /// Threads to run blocks on [default: all of the machine]. Results are the same for every number.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Warp instructions of a warp's turn. The results of programs with data races depend on it; on hardware,
    /// warps progress at about the same rate.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_INTERLEAVE, value_parser = clap::value_parser!(u64).range(1..))]
    pub interleave: u64,
    /// Continue after loads out of bounds that hardware usually does not detect, at most a page of 2 MiB from
    /// an allocation: they return 0, with a warning for each place in the code.
    #[arg(long)]
    pub lenient: bool,
    /// Stop at an integer division by zero, which otherwise yields all ones, as on hardware.
    #[arg(long)]
    pub trap_zero_division: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// (emu run) Check for hidden errors, on one thread and about forty times slower (measured on tiled
    /// matmul): memcheck (accesses out of bounds, misaligned or to freed memory), initcheck (reads of memory
    /// never written; buffers without `init` count as such), racecheck (races of a block's threads on shared
    /// memory), synccheck (divergent barriers), divcheck (integer division by zero), or all, the default. The
    /// exit code is 1 when there are findings.
    #[arg(long, value_name = "CHECKS", conflicts_with = "program", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub check: Option<String>,
    /// Maximum number of different findings to print with --check.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub check_limit: usize,
}

/// Flags of `emu record`.
#[derive(Debug, Args)]
pub(super) struct Record {
    /// What to run.
    #[command(flatten)]
    pub run: Run,
    /// The trace file [default: APP.wtrace beside the PTX, of a program in this folder].
    #[arg(short, long, value_name = "APP.wtrace")]
    pub output: Option<PathBuf>,
    /// Record only what a replay without techniques needs (addresses, barriers and active lanes), and no
    /// other values. The trace is much smaller; techniques that check values, and studies, refuse it.
    #[arg(long)]
    pub addresses_only: bool,
    /// (program) Record only launches of kernels whose name, as in the PTX, has a match of this regular
    /// expression. All kernels are executed in any case.
    #[arg(long, value_name = "REGEX", conflicts_with = "ptx")]
    pub kernels: Option<String>,
    /// (program) Record only these launches, numbered from 0 in the order of the run: 10-20, or 0,5,100-.
    #[arg(long, value_name = "RANGES", conflicts_with = "ptx")]
    pub launches: Option<String>,
    /// (program) Of the selected launches, record the first and then every N-th.
    #[arg(long, value_name = "N", conflicts_with = "ptx")]
    pub every: Option<String>,
    /// (program) Record only the first N blocks of each launch, or with N/even N evenly spaced blocks.
    #[arg(long, value_name = "N[/even]", conflicts_with = "ptx")]
    pub blocks: Option<String>,
}

/// Flags of `emu disasm`.
#[derive(Debug, Args)]
pub(super) struct Disasm {
    /// The PTX file; or, for machine code, a cubin, fat binary, executable or library.
    #[arg(value_name = "APP.ptx")]
    pub ptx: PathBuf,
    /// What is listed: `ptx`, the kernels that the PTX becomes here, or `sass`, NVIDIA's machine code in the file. Default: ptx,
    /// or sass if the file only holds machine code.
    #[arg(long = "code", value_name = "KIND")]
    pub kind: Option<CodeKind>,
    /// Only this kernel.
    #[arg(long = "kernels", alias = "kernel", value_name = "NAME")]
    pub kernel: Option<String>,
    /// Show the lines of PTX, and of CUDA if it has been compiled with -lineinfo, that instructions come from.
    #[arg(long = "ptx")]
    pub ptx_lines: bool,
    /// In place of a listing, check the control bits of machine code: an instruction that may issue before one that it
    /// depends on is printed, and the exit code is 1.
    #[arg(long = "check-control")]
    pub check_control: bool,
    /// How kernels are compiled.
    #[command(flatten)]
    pub code: Code,
}

/// Flags of `emu extract`.
#[derive(Debug, Args)]
pub(super) struct Extract {
    /// An executable, library, object file, fat binary, cubin or PTX.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the contents into this folder, which is created if needed; without it they are only listed.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Only PTX; an error when there is none.
    #[arg(long)]
    pub ptx: bool,
    /// Print the list as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `emu inspect`.
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// The PTX file.
    #[arg(value_name = "APP.ptx")]
    pub ptx: PathBuf,
    /// Fuse products and sums that name no rounding into multiply-adds, as ptxas does by default; =false keeps both, as
    /// `ptxas -fmad false`.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub fmad: bool,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Parses the name of an order; errors and help list the names.
fn schedules() -> impl TypedValueParser<Value = Schedule> {
    PossibleValuesParser::new(Schedule::ALL.map(|(name, _)| name)).try_map(|name| name.parse::<Schedule>())
}

impl Run {
    /// Setup of the session.
    #[must_use]
    pub(super) fn setup(&self) -> Setup {
        Setup {
            manifest: self.launch.clone(),
            size: self.size.clone(),
            overrides: self.overrides.clone(),
            lowering: LowerOptions { stack_bytes: self.stack_bytes, ..self.code.options() },
            heap_bytes: Some(self.heap_bytes),
            code: self.kind,
            cubin: self.cubin.clone(),
        }
    }

    /// Options of the execution.
    #[must_use]
    pub(super) fn options(&self) -> Options {
        let default = Options::default();
        let threads = warplab_host::limits::threads(self.threads.map_or(default.threads, NonZeroUsize::get));
        let Run { max_instructions, trap_zero_division, max_print_bytes, interleave, lenient, .. } = *self;
        Options {
            threads,
            max_instructions,
            trap_zero_division,
            max_print_bytes,
            interleave,
            lenient,
            ..default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory;
    use warplab_host::options::unclassified;

    #[test]
    fn every_option_with_a_path_is_known_to_read_or_to_write() {
        let command = Arguments::command();
        assert_eq!(unclassified(&command, &["cubin", "manifest"]), Vec::<String>::new());
        assert!(!unclassified(&command, &[]).is_empty());
    }
}
