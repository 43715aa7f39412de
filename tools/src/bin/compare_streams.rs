//! `compare_streams`: the warp instructions that a program executes in our code and, estimated, in ptxas's, loop by loop.

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tools::nvidia::tool;
use tools::streams::{Code, Estimate, LoopId, Profile, estimate, executions, native};
use trace_format::reader::Trace;
use warplab_host::{console, input, options};

/// Compares the instruction streams of our code and ptxas's, loop by loop.
///
/// Ours are counted in a trace. ptxas's are estimated: its code is tied to lines of PTX, whose executions a second trace
/// has, recorded with --keep-branches. The last column applies the same estimate to our own code, beside the count.
#[derive(Parser)]
#[command(after_help = "Examples:\n  \
    emu record app.ptx -o app.wtrace --addresses-only\n  \
    emu record app.ptx -o lines.wtrace --addresses-only --keep-branches\n  \
    compare_streams app.wtrace lines.wtrace app.ptx")]
struct Args {
    /// The trace of our code.
    ours: PathBuf,
    /// The same run, recorded with --keep-branches.
    lines: PathBuf,
    /// The PTX that was run.
    ptx: PathBuf,
    /// The GPU that ptxas compiles for.
    #[arg(long, default_value = "sm_75")]
    arch: String,
    /// Only this kernel.
    #[arg(long = "kernels", alias = "kernel")]
    kernel: Option<String>,
    /// Prints a row per launch as CSV, as `timing correlate --instructions` reads it.
    #[arg(long)]
    csv: bool,
}

/// Prints a line to standard output; the function returns the error if that cannot be written.
macro_rules! line {
    ($($text:tt)*) => {
        console::print(&format!("{}\n", format_args!($($text)*)))
            .map_err(|why| format!("cannot write to stdout: {why}"))?
    };
}

fn main() -> ExitCode {
    let args = match options::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            warplab_host::say!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One launch in both codes.
struct Streams {
    ours: Estimate,
    theirs: Estimate,
    /// The estimate of our own code, to judge the method.
    ours_estimated: f64,
}

/// A kernel's launches, and the profile of the first.
struct Kernel {
    name: String,
    profile: Profile,
    launches: Vec<Streams>,
    /// Iterations of each loop over all launches.
    iterations: Vec<f64>,
}

fn run(args: &Args) -> Result<(), String> {
    let (Some(ptxas), Some(nvdisasm)) = (tool("ptxas"), tool("nvdisasm")) else {
        return Err("ptxas and nvdisasm were not found in $CUDA_HOME/bin or $PATH; \
                    tools/scripts/cuda-toolkit.sh FOLDER assembles them"
            .into());
    };
    let open = |path: &Path| Trace::open(path).map_err(|why| why.to_string());
    let (ours, lines) = (open(&args.ours)?, open(&args.lines)?);
    let text = input::read_text(&args.ptx, input::TEXT_BYTES)
        .map_err(|why| format!("{}: {why}", args.ptx.display()))?;
    let native = native(&ptxas, &nvdisasm, &args.ptx, &text, &args.arch).map_err(|why| why.to_string())?;
    check_same_run(args, &ours, &lines)?;
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut absent: BTreeMap<String, usize> = BTreeMap::new();
    for launch in 0..ours.launches().len() as u32 {
        let name = &ours.kernel_of(launch).name;
        if args.kernel.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let Some(theirs) = native.get(name) else {
            *absent.entry(name.clone()).or_insert(0) += 1;
            continue;
        };
        let damaged = |why: trace_format::container::TraceError| why.to_string();
        let profile = Profile::of(&lines, launch).map_err(damaged)?;
        let code = Code::of(ours.kernel_of(launch));
        let ran = executions(&ours, launch).map_err(damaged)?;
        let streams = Streams {
            ours: estimate(&code, &profile, Some(&ran.blocks)),
            theirs: estimate(theirs, &profile, None),
            ours_estimated: estimate(&code, &profile, None).total(),
        };
        let iterations = profile.loops.iter().map(|l| l.iterations);
        match kernels.iter_mut().find(|kernel| kernel.name == *name) {
            Some(kernel) => {
                kernel.iterations.iter_mut().zip(iterations).for_each(|(sum, of)| *sum += of);
                kernel.launches.push(streams);
            }
            None => {
                let iterations = iterations.collect();
                kernels.push(Kernel { name: name.clone(), profile, launches: vec![streams], iterations });
            }
        }
    }
    for (name, launches) in absent {
        warplab_host::say!(
            "note: {} has no kernel {name}, which the trace launches {launches} times",
            args.ptx.display()
        );
    }
    if args.csv {
        print_csv(args, &kernels)?;
    } else {
        print_tables(&kernels)?;
    }
    Ok(())
}

/// Both traces must be of the same launches.
fn check_same_run(args: &Args, ours: &Trace, lines: &Trace) -> Result<(), String> {
    let shape = |trace: &Trace, launch: u32| {
        let of = &trace.launches()[launch as usize];
        (trace.kernel_of(launch).name.clone(), of.blocks_recorded(), of.geometry.warps_per_block())
    };
    let count = ours.launches().len();
    let same = count == lines.launches().len()
        && (0..count as u32).all(|launch| shape(ours, launch) == shape(lines, launch));
    let (a, b) = (args.ours.display(), args.lines.display());
    if same {
        Ok(())
    } else {
        Err(format!("{a} and {b} do not have the same launches: record the same run twice"))
    }
}

fn print_csv(args: &Args, kernels: &[Kernel]) -> Result<(), String> {
    line!("program,kernel,launch,warp_instructions");
    let program = args.ours.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    for kernel in kernels {
        for (launch, streams) in kernel.launches.iter().enumerate() {
            line!("{program},{},{launch},{:.0}", kernel.name, streams.theirs.total());
        }
    }
    Ok(())
}

fn print_tables(kernels: &[Kernel]) -> Result<(), String> {
    for kernel in kernels {
        line!("{}", kernel.name);
        line!("{}", table(kernel));
        let sum = |of: fn(&Streams) -> f64| kernel.launches.iter().map(of).sum::<f64>();
        let (counted, method) = (sum(|s| s.ours.total()), sum(|s| s.ours_estimated));
        line!("the estimate of our own code is {:+.1} % off its count", 100.0 * (method / counted - 1.0));
        let called = sum(|s| s.ours.called);
        if called > 0.0 {
            line!("left out: {called:.0} warp instructions of our slow paths and called functions");
        }
        line!("");
    }
    Ok(())
}

fn table(kernel: &Kernel) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header([
        "lines of PTX",
        "iterations",
        "ours",
        "each",
        "copies",
        "ptxas",
        "each",
        "copies",
        "ours/ptxas",
    ]);
    let sum = |of: &dyn Fn(&Streams) -> f64| kernel.launches.iter().map(of).sum::<f64>();
    let ratio =
        |ours: f64, theirs: f64| if theirs > 0.0 { format!("{:.2}", ours / theirs) } else { "-".into() };
    let outside = (sum(&|s| s.ours.outside), sum(&|s| s.theirs.outside));
    let whole = |value: f64| format!("{value:.0}");
    let plain = |what: &str, ours: f64, theirs: f64| {
        let blank = String::new;
        [
            what.into(),
            blank(),
            whole(ours),
            blank(),
            blank(),
            whole(theirs),
            blank(),
            blank(),
            ratio(ours, theirs),
        ]
    };
    table.add_row(plain("outside of loops", outside.0, outside.1));
    let mut order: Vec<usize> = (0..kernel.profile.loops.len()).collect();
    order.sort_by_key(|l| {
        (kernel.profile.loops[*l].lines.0, std::cmp::Reverse(kernel.profile.loops[*l].lines.1))
    });
    for l in order {
        let (ours, theirs) = (sum(&|s| s.ours.loops[l]), sum(&|s| s.theirs.loops[l]));
        let iterations = kernel.iterations[l];
        let each =
            |value: f64| if iterations > 0.0 { format!("{:.2}", value / iterations) } else { "-".into() };
        let copies = |of: &Estimate| match of.copies[l] {
            0 => "none".to_owned(),
            copies => copies.to_string(),
        };
        let (first, last) = kernel.profile.loops[l].lines;
        let first_launch = &kernel.launches[0];
        table.add_row([
            format!("{}{first}-{last}", "  ".repeat(kernel.profile.depth(LoopId(l)))),
            whole(iterations),
            whole(ours),
            each(ours),
            copies(&first_launch.ours),
            whole(theirs),
            each(theirs),
            copies(&first_launch.theirs),
            ratio(ours, theirs),
        ]);
    }
    table.add_row(plain("all", sum(&|s| s.ours.total()), sum(&|s| s.theirs.total())));
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

#[cfg(test)]
mod tests {
    use super::Args;
    use clap::CommandFactory;
    use warplab_host::options::unclassified;

    #[test]
    fn every_option_with_a_path_is_known_to_read_or_to_write() {
        assert_eq!(unclassified(&Args::command(), &[]), Vec::<String>::new());
    }
}
