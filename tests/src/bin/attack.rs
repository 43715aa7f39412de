//! Attacks lowering, execution and recording with random kernels, and reduces failing kernels to a few lines
//! of PTX.

use clap::Parser;
use emulator::lower::{DEFAULT_INLINE_LIMIT, Schedule};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tests::coverage::forms;
use tests::oracle::differential::{Case, Failure, Setup, attack, compare};
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
                  The exit code is 1 if a kernel failed."
)]
struct Options {
    #[command(flatten)]
    span: Span,
    /// Records each run into this folder as well, and checks the traces
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
    /// Compares the machine code that ptxas makes for this target as well: `sm_75`, `sm_80`, `sm_86`
    #[arg(long, value_name = "TARGET")]
    machine_code: Option<String>,
    /// Writes failing kernels into this folder instead of printing them
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

/// Compares kernels that an earlier attack wrote.
fn replay(files: &[PathBuf], check: bool, assembler: Option<&Assembler>) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in files {
        let case = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let case = case.and_then(|text| Case::parse(&text).ok_or_else(|| "no `//case` line".to_owned()));
        let result = case.and_then(|(case, max_registers)| {
            [DEFAULT_INLINE_LIMIT, 0].into_iter().try_for_each(|inline_limit| {
                let setup = Setup {
                    max_registers,
                    threads: 1,
                    check,
                    fmad: true,
                    inline_limit,
                    schedule: Schedule::default(),
                    traces: None,
                    assembler,
                };
                compare(&case, &setup).map_err(|failure| format!("inlining {inline_limit}: {failure}"))
            })
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
    fn written(&self, seed: u64, text: &str) -> Option<PathBuf> {
        self.out.as_ref().map(|folder| keep(folder, &format!("seed{seed}.ptx"), text))
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
    for seed in options.span.seeds() {
        if failures >= options.keep_going {
            break;
        }
        let (kernel, setup, result) =
            attack(seed, !options.no_check, options.traces.as_deref(), assembler.as_ref());
        compared += 1;
        drawn.add(&kernel);
        let Err(failure) = result else { continue };
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
            options.written(seed, &Case::of(&kernel).text(setup.max_registers));
            continue;
        }
        let small = Case::of(&options.shrunk(&kernel, &setup, &failure));
        let last = compare(&small, &setup).err().map_or_else(String::new, |failure| failure.to_string());
        let text = small.text(setup.max_registers);
        match options.written(seed, &text) {
            Some(path) => println!("  {last}: {}", path.display()),
            None => println!("{text}"),
        }
    }
    println!("{compared} kernels in {:.1?}, {failures} failures", start.elapsed());
    for (what, count) in refused {
        println!("  {count} refused: {what}");
    }
    print_missing(&drawn);
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
