//! Attacks lowering, execution and recording with random kernels, and reduces failing kernels to a few lines
//! of PTX.

use clap::Parser;
use emulator::lower::{DEFAULT_INLINE_LIMIT, Schedule};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tests::coverage::forms;
use tests::oracle::differential::{Case, Failure, MachineCode, Refusal, Setup, attack, compare};
use tests::oracle::generate::{Drawn, Kernel, shrink};
use tests::oracle::native::Assembler;
use tests::trying::{Span, keep, options};

/// Cutting a kernel down takes no longer.
const SHRINKING: Duration = Duration::from_secs(240);

/// Runs random kernels through lowering, execution and recording, and through an interpreter of PTX; the memory that
/// both leave must be equal. What fails is cut down to a few lines.
#[derive(Parser, Debug)]
#[command(
    name = "attack",
    after_help = "Examples:\n  attack --minutes 60 --out failing\n  \
                  attack --seed 4711 --count 1 --no-shrink --out failing\n  attack failing/seed4711.ptx\n\n\
                  At the end it lists the forms of real programs (tests/data/forms.txt) that no kernel held.\n\n\
                  The exit code is 1 if a kernel failed, or if no machine code could be compared where that was requested."
)]
struct Options {
    #[command(flatten)]
    span: Span,
    /// Records each run into this folder as well, and checks the traces
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
    /// Compares the machine code that ptxas makes for this target as well, and says which kernels ptxas refuses; kernels then
    /// hold only instructions that the target has
    #[arg(long, value_name = "TARGET", value_parser = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"])]
    machine_code: Option<String>,
    /// Writes failing kernels into this folder instead of printing them, and those that ptxas refuses
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Ends after so many failures
    #[arg(long, default_value_t = 1, value_name = "N")]
    keep_going: usize,
    /// Leaves failing kernels as they are
    #[arg(long)]
    no_shrink: bool,
    /// Lets lowering not check its register allocation
    #[arg(long)]
    no_check: bool,
    /// Counts refusals of lowering as failures where they contain this text
    #[arg(long, value_name = "TEXT")]
    refused: Option<String>,
    /// Runs these kernels, which an earlier attack wrote, instead of random ones
    #[arg(value_name = "CASE.ptx")]
    files: Vec<PathBuf>,
}

/// The ways to lower a kernel among which a seed chooses: the limit of inlining, whether products are fused, the order.
fn ways() -> impl Iterator<Item = (u64, bool, Schedule)> {
    let schedules = [Schedule::Latency, Schedule::Source, Schedule::Reuse];
    let limits = [DEFAULT_INLINE_LIMIT, 0];
    let fused = limits.into_iter().flat_map(|limit| [true, false].map(|fmad| (limit, fmad)));
    fused.flat_map(move |(limit, fmad)| schedules.map(|schedule| (limit, fmad, schedule)))
}

/// Compares kernels that an earlier attack wrote, lowered in every way.
fn replay(files: &[PathBuf], check: bool, assembler: Option<&Assembler>) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in files {
        let case = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let case = case.and_then(|text| Case::parse(&text).ok_or_else(|| "no `//case` line".to_owned()));
        let result = case.and_then(|(case, max_registers)| {
            let ways = ways().map(|(inline_limit, fmad, schedule)| Setup {
                max_registers,
                threads: 1,
                check,
                fmad,
                inline_limit,
                schedule,
                traces: None,
                assembler,
            });
            for setup in ways {
                let Setup { inline_limit, fmad, schedule, .. } = setup;
                match compare(&case, &setup) {
                    Ok(MachineCode::Refused(why)) => return Err(format!("ptxas refuses it: {}", why.reason)),
                    Ok(_) => {}
                    Err(failure) => {
                        return Err(format!(
                            "inlining {inline_limit}, fused {fmad}, {schedule:?}: {failure}"
                        ));
                    }
                }
            }
            Ok(())
        });
        match result {
            Ok(()) => println!("{}: agrees", path.display()),
            Err(what) => {
                println!("{}: {what}", path.display());
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

impl Options {
    /// Whether a kernel failed for another reason than an unsupported feature that lowering names.
    fn counts(&self, failure: &Failure) -> bool {
        let Failure::Lower(what) = failure else { return true };
        let wrong = what.contains("malformed") || what.contains("is wrong");
        wrong || self.refused.as_ref().is_some_and(|text| what.contains(text))
    }

    /// The smallest kernel found that fails alike.
    fn shrunk(&self, kernel: &Kernel, setup: &Setup<'_>, failure: &Failure) -> Kernel {
        let deadline = Instant::now() + SHRINKING;
        shrink(kernel, &mut |candidate| {
            Instant::now() < deadline
                && compare(&Case::of(candidate), setup).is_err_and(|other| {
                    let refused = self.refused.as_ref();
                    other.same_kind(failure) && refused.is_none_or(|text| other.to_string().contains(text))
                })
        })
    }

    /// Writes a kernel to a file, if requested.
    fn written(&self, name: &str, text: &str) -> Option<PathBuf> {
        self.out.as_ref().map(|folder| keep(folder, name, text))
    }
}

/// How many kernels' machine code was compared, and why ptxas refused the others.
#[derive(Default)]
struct Assembled {
    agreed: u64,
    refused: u64,
    /// Kernels by reason, with the line of one of them.
    reasons: BTreeMap<String, (u64, String)>,
}

impl Assembled {
    /// How many reasons are printed.
    const REASONS: usize = 12;

    fn refuse(&mut self, why: &Refusal) {
        self.refused += 1;
        self.reasons.entry(why.reason.clone()).or_insert_with(|| (0, why.line.clone())).0 += 1;
    }

    /// Prints the counts and the most frequent reasons.
    fn print(&self, target: &str) {
        println!("machine code for {target}: {} agreed, {} refused by ptxas", self.agreed, self.refused);
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (reason, (count, line)) in reasons.iter().take(Self::REASONS) {
            println!("  {count} refused by ptxas: {reason} `{line}`");
        }
        if let Some(more) = reasons.len().checked_sub(Self::REASONS + 1) {
            println!("  and {} more reasons", more + 1);
        }
    }
}

/// Prints the forms and constructs that no kernel of the run contained.
fn print_missing(drawn: &Drawn) {
    let all = forms();
    let missing = drawn.missing_forms(&all);
    let count: usize = missing.values().map(Vec::len).sum();
    println!("never drawn: {count} of the {} forms that real programs use (forms and programs)", all.len());
    for (family, list) in missing {
        let list: Vec<String> = list.iter().map(|(form, programs)| format!("{form} {programs}")).collect();
        println!("  {family}: {}", list.join(", "));
    }
    let constructs = drawn.missing_constructs();
    if !constructs.is_empty() {
        println!("never drawn: {}", constructs.join(", "));
    }
}

fn main() -> ExitCode {
    let options: Options = match options() {
        Ok(options) => options,
        Err(code) => return code,
    };
    let assembler = match &options.machine_code {
        None => None,
        Some(target) => match Assembler::installed(target) {
            Some(assembler) => Some(assembler),
            None => {
                eprintln!("error: there is no ptxas in CUDA_HOME; tools/scripts/cuda-toolkit.sh installs it");
                return ExitCode::FAILURE;
            }
        },
    };
    if !options.files.is_empty() {
        return replay(&options.files, !options.no_check, assembler.as_ref());
    }
    if let Some(folder) = &options.traces
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        eprintln!("error: cannot make the folder {}: {error}", folder.display());
        return ExitCode::FAILURE;
    }
    std::panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let (mut compared, mut failures) = (0u64, 0);
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    let mut drawn = Drawn::default();
    let mut assembled = Assembled::default();
    for seed in options.span.seeds() {
        if failures >= options.keep_going {
            break;
        }
        let (kernel, setup, result) =
            attack(seed, !options.no_check, options.traces.as_deref(), assembler.as_ref());
        compared += 1;
        drawn.add(&kernel);
        let failure = match result {
            Ok(MachineCode::NotAsked) => continue,
            Ok(MachineCode::Agrees) => {
                assembled.agreed += 1;
                continue;
            }
            Ok(MachineCode::Refused(why)) => {
                assembled.refuse(&why);
                let text = Case::of(&kernel).text(setup.max_registers);
                options.written(&format!("refused{seed}.ptx"), &text);
                continue;
            }
            Err(failure) => failure,
        };
        if let Failure::Lower(what) = &failure {
            // The instruction itself comes in backquotes.
            let kind = what.split(": `").next().unwrap_or(what);
            *refused.entry(format!("{kind} ({})", setup.max_registers)).or_default() += 1;
        }
        if !options.counts(&failure) {
            continue;
        }
        failures += 1;
        println!("seed {seed} ({:?}, {} registers): {failure}", kernel.focus, setup.max_registers);
        if options.no_shrink {
            options.written(&format!("seed{seed}.ptx"), &Case::of(&kernel).text(setup.max_registers));
            continue;
        }
        let small = Case::of(&options.shrunk(&kernel, &setup, &failure));
        let last = compare(&small, &setup).err().map_or_else(String::new, |failure| failure.to_string());
        let text = small.text(setup.max_registers);
        match options.written(&format!("seed{seed}.ptx"), &text) {
            Some(path) => println!("  {last}: {}", path.display()),
            None => println!("{text}"),
        }
    }
    println!("{compared} kernels in {:.1?}, {failures} failures", start.elapsed());
    for (what, count) in refused {
        println!("  {count} refused: {what}");
    }
    if let Some(target) = &options.machine_code {
        assembled.print(target);
    }
    print_missing(&drawn);
    if options.machine_code.is_some() && assembled.agreed == 0 && failures == 0 {
        eprintln!("error: no machine code was compared");
        return ExitCode::FAILURE;
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
