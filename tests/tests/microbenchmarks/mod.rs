//! Microbenchmarks whose answers on silicon are published: latencies and bandwidths of each level of memory, latencies and
//! rates of the units. Each is recorded with our compiler's code and replayed on the machine of its GPU; the difference between a short
//! and a long run leaves out the launch and what comes before the loop.
//!
//! `tests/tables/microbenchmarks-*.csv` have hardware's figures with their sources, and ours. A row is within 10 %, or a cause in
//! `references.toml` names it. `WARPLAB_TABLES=write cargo test --release -p tests --test suite microbenchmarks::` writes ours;
//! then `hash` and `revision` in `references.toml`, and the page: `timing accuracy -o docs/src/project/accuracy.md`.

mod kernels;

use crate::launch_kit::{self, Buffer};
use emulator::exec::{Options, Unobserved};
use kernels::{LINE, LINKS, Pattern, Stream};
use std::fmt::Write as _;
use std::path::Path;
use timing::config::load;
use timing::replay::{ReplayOptions, replay};
use trace_format::reader::Trace;

/// A benchmark, and the unit in which its cycles are counted.
enum Benchmark {
    /// Cycles per load of a chain through that many lines; `cold` where no line is in a cache.
    Chase { lines: u32, steps: u32, cold: bool },
    /// Cycles per load of a chain in shared memory.
    SharedChase,
    /// Cycles per instruction of a warp of which each needs the result of the one before.
    Chain { bits: u32, texts: &'static [&'static str], repeated: u32 },
    /// Cycles per warp instruction of warps on one SM with independent chains.
    Rate { bits: u32, texts: &'static [&'static str], warps: u32, chains: u32, repeated: u32 },
    /// Cycles per KiB that SMs load from a buffer of words, of which a block on each of `sms` loads all again and again.
    Sums { words: u32, threads: u32, sms: u32 },
    /// Cycles per load of a warp from L1, of one block whose lanes access a pattern of words.
    Loads(Pattern),
    /// Cycles per KiB of arrays of doubles in DRAM; `cold` where no line is in a cache at the beginning.
    Stream { kind: Stream, threads: u32, elements: u32, cold: bool },
}

/// A launch: its kernel, blocks, threads per block, and the word that follows the buffers as an argument.
struct Run(&'static str, u32, u32, u32);

/// What is recorded: PTX, words of each buffer, and launches, of which the last two are compared: those before them fill the
/// caches of code; the amount of work by which the two differ.
struct Plan {
    ptx: String,
    buffers: Vec<(&'static str, u32)>,
    launches: Vec<Run>,
    difference: f64,
}

/// Cycles are counted per this many bytes where a benchmark moves data.
const BYTES: f64 = 1024.0;

impl Benchmark {
    fn plan(&self) -> Plan {
        match *self {
            Benchmark::Chase { lines, steps, .. } => {
                assert!(lines.is_power_of_two() && steps.is_multiple_of(LINKS));
                let chase = |steps: u32| Run("chase", 1, 1, steps);
                let threads = lines.min(256);
                Plan {
                    ptx: kernels::chase(),
                    buffers: vec![("lines", lines * LINE / 4)],
                    launches: vec![
                        Run("link", lines / threads, threads, lines - 1),
                        chase(steps),
                        chase(2 * steps),
                    ],
                    difference: f64::from(steps),
                }
            }
            Benchmark::SharedChase => {
                Self::repeated(kernels::shared_chase(), 32, 20 * LINKS, f64::from(20 * LINKS))
            }
            Benchmark::Chain { bits, texts, repeated } => {
                let work = f64::from(10 * repeated * texts.len() as u32);
                Self::repeated(kernels::instructions(bits, texts, 1, repeated), 32, 10, work)
            }
            Benchmark::Rate { bits, texts, warps, chains, repeated } => {
                let work = f64::from(10 * repeated * texts.len() as u32 * chains * warps);
                Self::repeated(kernels::instructions(bits, texts, chains, repeated), 32 * warps, 10, work)
            }
            Benchmark::Sums { words, threads, sms } => {
                let steps = (1 << 20) / words / sms.min(4) + 1;
                let run = |steps: u32| Run("run", sms, threads, steps);
                let bytes = f64::from(steps) * f64::from(words) * 4.0 * f64::from(sms);
                Plan {
                    ptx: kernels::sums(words, threads),
                    buffers: vec![("from", words), ("out", 1024)],
                    launches: vec![run(steps), run(steps), run(2 * steps)],
                    difference: bytes / BYTES,
                }
            }
            Benchmark::Loads(pattern) => {
                let run = |steps: u32| Run("run", 1, pattern.threads(), steps);
                Plan {
                    ptx: kernels::pattern(pattern),
                    buffers: vec![("from", 1 << 18), ("out", 1024)],
                    launches: vec![run(4), run(4), run(8)],
                    difference: f64::from(4 * 8 * pattern.threads() / 32),
                }
            }
            Benchmark::Stream { kind, threads, elements, .. } => {
                let run = |n: u32| Run("run", n.div_ceil(threads), threads, n);
                let bytes = f64::from(elements) * 8.0 * f64::from(kind.arrays());
                Plan {
                    ptx: kernels::stream(kind, SPOILER),
                    buffers: ["a", "b", "c", "d"].map(|name| (name, 4 * elements)).into(),
                    launches: vec![run(elements), run(2 * elements)],
                    difference: bytes / BYTES,
                }
            }
        }
    }

    /// A kernel whose loop runs `steps` times, and twice as often.
    fn repeated(ptx: String, threads: u32, steps: u32, difference: f64) -> Plan {
        let run = |steps: u32| Run("run", 1, threads, steps);
        Plan {
            ptx,
            buffers: vec![("out", 1024)],
            launches: vec![run(steps), run(steps), run(2 * steps)],
            difference,
        }
    }

    /// Overrides of the machine.
    fn set(&self) -> &'static [&'static str] {
        match self {
            Benchmark::Chase { cold: true, .. } | Benchmark::Stream { cold: true, .. } => {
                &["launch.flush_l2=true", "launch.copies_fill_l2=false"]
            }
            _ => &[],
        }
    }
}

/// Records the launches of a plan.
fn record(plan: &Plan, folder: &Path) -> Trace {
    let ptx = folder.join("benchmark.ptx");
    std::fs::write(&ptx, &plan.ptx).expect("a file");
    let buffer = |(name, words): &(&str, u32)| -> Buffer {
        ((*name).to_owned(), *words as usize, Some("{ fill = 0 }".to_owned()))
    };
    let buffers: Vec<Buffer> = plan.buffers.iter().map(buffer).collect();
    let launches: Vec<launch_kit::Launch> = plan
        .launches
        .iter()
        .map(|Run(kernel, grid, block, word)| (*kernel, *grid, *block, std::slice::from_ref(word)))
        .collect();
    let mut session = launch_kit::open_all(folder, &ptx, &launches, &buffers);
    let path = folder.join("benchmark.wtrace");
    session.record(&path, &Options::default(), &Unobserved).expect("a recording");
    Trace::open(&path).expect("a trace")
}

/// Cycles of a benchmark on a machine.
fn measure(benchmark: &Benchmark, machine: &Machine) -> f64 {
    let plan = benchmark.plan();
    let folder = tempfile::tempdir().expect("a folder");
    let trace = record(&plan, folder.path());
    let set = machine.set.iter().chain(benchmark.set()).map(|item| (*item).to_owned()).collect::<Vec<_>>();
    let config = load(machine.name, &set).expect("a configuration").config;
    // One thread: most of these launches have one warp, and other tests run beside this one.
    let done = replay(&trace, &config, &[], &ReplayOptions::default()).expect("a replay");
    let cycles: Vec<u64> = done.launches.iter().map(|launch| launch.stats.counters.cycles).collect();
    let [.., short, long] = cycles[..] else { panic!("two launches") };
    (long - short) as f64 / plan.difference
}

/// A machine with its benchmarks, in the order of its table.
struct Machine {
    name: &'static str,
    set: &'static [&'static str],
    benchmarks: Vec<(&'static str, Benchmark)>,
}

/// An instruction whose result the next one needs.
const fn chain(bits: u32, texts: &'static [&'static str]) -> Benchmark {
    Benchmark::Chain { bits, texts, repeated: 128 / texts.len() as u32 }
}

/// Eight warps in each scheduler, with two chains each.
const fn rate(bits: u32, texts: &'static [&'static str]) -> Benchmark {
    Benchmark::Rate { bits, texts, warps: 32, chains: 2, repeated: 64 / texts.len() as u32 }
}

const ADD: &[&str] = &["add.u32 {a}, {a}, {b};", "xor.b32 {a}, {a}, {c};"];
const MAD: &[&str] = &["mad.lo.u32 {a}, {a}, {b}, {c};"];
const SHIFT: &[&str] = &["shf.l.wrap.b32 {a}, {a}, {b}, {c};"];
const POPC: &[&str] = &["popc.b32 {a}, {a};"];
const SHUFFLE: &[&str] = &["shfl.sync.bfly.b32 {a}, {a}, 1, 31, -1;"];
const MUFU: &[&str] = &["ex2.approx.ftz.f32 {a}, {a};"];
const FADD: &[&str] = &["add.f32 {a}, {a}, {b};"];
const FMUL: &[&str] = &["mul.f32 {a}, {a}, {b};"];
const FFMA: &[&str] = &["fma.rn.f32 {a}, {a}, {b}, {c};"];
const HADD: &[&str] = &["add.f16x2 {a}, {a}, {b};"];
const HMUL: &[&str] = &["mul.f16x2 {a}, {a}, {b};"];
const HFMA: &[&str] = &["fma.rn.f16x2 {a}, {a}, {b}, {c};"];
const DADD: &[&str] = &["add.f64 {a}, {a}, {b};"];
const DMUL: &[&str] = &["mul.f64 {a}, {a}, {b};"];
const DFMA: &[&str] = &["fma.rn.f64 {a}, {a}, {b}, {c};"];
/// 0.1 / (t + 0.2) and the root of t + 0.2, as one step.
const DDIV: &[&str] = &["add.f64 {a}, {a}, 0d3FC999999999999A;\ndiv.rn.f64 {a}, 0d3FB999999999999A, {a};"];
const DSQRT: &[&str] = &["add.f64 {a}, {a}, 0d3FC999999999999A;\nsqrt.rn.f64 {a}, {a};"];

const L1: Benchmark = Benchmark::Chase { lines: 128, steps: 4096, cold: false };
const L2: Benchmark = Benchmark::Chase { lines: 8192, steps: 8192, cold: false };
const DRAM: Benchmark = Benchmark::Chase { lines: 1 << 19, steps: 2048, cold: true };

/// Bytes of shared memory of the blocks of a stream: two of them fit on an SM with 96 KB.
const SPOILER: u32 = 47 * 1024;

/// A stream of two blocks on each SM.
const fn stream(kind: Stream, threads: u32) -> Benchmark {
    Benchmark::Stream { kind, threads, elements: 2 << 20, cold: false }
}

/// The same, longer than 20 MB of L2.
const fn long_stream(kind: Stream, threads: u32) -> Benchmark {
    Benchmark::Stream { kind, threads, elements: 4 << 20, cold: true }
}

/// Instructions of which each needs the result of the one before.
fn dependences() -> Vec<(&'static str, Benchmark)> {
    vec![
        ("add and xor", chain(32, ADD)),
        ("integer multiply-add", chain(32, MAD)),
        ("f32 add", chain(32, FADD)),
        ("f32 multiply", chain(32, FMUL)),
        ("f32 multiply-add", chain(32, FFMA)),
        ("f16 add", chain(32, HADD)),
        ("f16 multiply", chain(32, HMUL)),
        ("f16 multiply-add", chain(32, HFMA)),
        ("f64 add", chain(64, DADD)),
        ("f64 multiply", chain(64, DMUL)),
        ("f64 multiply-add", chain(64, DFMA)),
    ]
}

const HALVES: &str = "rate: f16x2 multiply-add";

/// Rates that the programming guide has.
fn rates() -> Vec<(&'static str, Benchmark)> {
    vec![
        ("rate: add and xor", rate(32, ADD)),
        ("rate: integer multiply-add", rate(32, MAD)),
        ("rate: funnel shift", rate(32, SHIFT)),
        ("rate: f32 multiply-add", rate(32, FFMA)),
        (HALVES, rate(32, HFMA)),
        ("rate: f64 multiply-add", rate(64, DFMA)),
        ("rate: exponential", rate(32, MUFU)),
        ("rate: population count", rate(32, POPC)),
        ("rate: shuffle", rate(32, SHUFFLE)),
    ]
}

/// Loads of one block from L1.
fn patterns() -> Vec<(&'static str, Benchmark)> {
    let stride = |name, words| (name, Benchmark::Loads(Pattern::Stride(words)));
    let block = |name, words| (name, Benchmark::Loads(Pattern::Block(words)));
    vec![
        stride("a word", 0),
        stride("stride of 1 word", 1),
        stride("stride of 2 words", 2),
        stride("stride of 3 words", 3),
        stride("stride of 4 words", 4),
        stride("stride of 5 words", 5),
        stride("stride of 7 words", 7),
        stride("stride of 8 words", 8),
        stride("stride of 15 words", 15),
        stride("stride of 16 words", 16),
        stride("stride of 31 words", 31),
        stride("stride of 32 words", 32),
        stride("stride of 33 words", 33),
        stride("stride of 48 words", 48),
        stride("stride of 64 words", 64),
        block("rows of 1 word", 1),
        block("rows of 2 words", 2),
        block("rows of 4 words", 4),
        block("rows of 8 words", 8),
        block("rows of 16 words", 16),
    ]
}

fn machines() -> [Machine; 4] {
    let division = |texts| Benchmark::Chain { bits: 64, texts, repeated: 8 };
    let divisions = |texts| Benchmark::Rate { bits: 64, texts, warps: 32, chains: 1, repeated: 8 };
    let mut volta = vec![
        ("load from L1", L1),
        ("load from L2", L2),
        ("load from DRAM", DRAM),
        ("load from shared memory", Benchmark::SharedChase),
        ("bandwidth of L1", Benchmark::Sums { words: 4096, threads: 1024, sms: 1 }),
        ("bandwidth of L2", Benchmark::Sums { words: 1 << 18, threads: 1024, sms: 80 }),
        ("stores of 2x1024 threads", stream(Stream::Store, 1024)),
        ("loads of 2x1024 threads", stream(Stream::Read, 1024)),
        ("scale of 2x1024 threads", stream(Stream::Scale, 1024)),
        ("triad of 2x1024 threads", stream(Stream::Triad, 1024)),
        ("loads of 2x512 threads", stream(Stream::Read, 512)),
        ("loads of 2x256 threads", stream(Stream::Read, 256)),
        ("loads of 2x128 threads", stream(Stream::Read, 128)),
        ("scale of 2x256 threads", stream(Stream::Scale, 256)),
        ("stores of 2x128 threads", stream(Stream::Store, 128)),
    ];
    volta.extend([
        ("rows 2 lines apart", Benchmark::Loads(Pattern::Rows(2))),
        ("rows 3 lines apart", Benchmark::Loads(Pattern::Rows(3))),
        ("rows 8 lines apart", Benchmark::Loads(Pattern::Rows(8))),
        ("rows 13 lines apart", Benchmark::Loads(Pattern::Rows(13))),
        ("rows 15 lines apart", Benchmark::Loads(Pattern::Rows(15))),
    ]);
    volta.extend(dependences());
    volta.extend([("f64 division of a sum", division(DDIV)), ("f64 root of a sum", division(DSQRT))]);
    volta.extend(rates());
    volta.extend([
        ("rate: f64 division of a sum", divisions(DDIV)),
        ("rate: f64 root of a sum", divisions(DSQRT)),
    ]);
    let mut turing =
        vec![("load from L1", L1), ("load from L2", L2), ("load from shared memory", Benchmark::SharedChase)];
    turing.extend(dependences());
    turing.extend(rates());
    let mut ampere = vec![
        ("load from L1", L1),
        ("load from L2", L2),
        ("load from DRAM", DRAM),
        ("bandwidth of L1", Benchmark::Sums { words: 4096, threads: 1024, sms: 1 }),
        ("bandwidth of L2", Benchmark::Sums { words: 1 << 18, threads: 1024, sms: 84 }),
    ];
    ampere.extend(patterns());
    ampere.extend(rates().into_iter().filter(|(name, _)| *name != HALVES));
    let mut a100 = vec![
        ("load from L1", L1),
        ("load from L2", L2),
        ("load from DRAM", DRAM),
        ("bandwidth of L1", Benchmark::Sums { words: 4096, threads: 1024, sms: 1 }),
        ("bandwidth of L2", Benchmark::Sums { words: 1 << 18, threads: 1024, sms: 108 }),
        ("stores of 2x1024 threads", long_stream(Stream::Store, 1024)),
        ("loads of 2x1024 threads", long_stream(Stream::Read, 1024)),
        ("scale of 2x1024 threads", long_stream(Stream::Scale, 1024)),
        ("triad of 2x1024 threads", long_stream(Stream::Triad, 1024)),
        ("loads of 2x256 threads", long_stream(Stream::Read, 256)),
        ("stores of 2x128 threads", long_stream(Stream::Store, 128)),
    ];
    a100.extend(patterns());
    a100.extend(rates());
    [
        Machine { name: "qv100", set: &["clock.core=1.38GHz"], benchmarks: volta },
        Machine { name: "rtx2060", set: &[], benchmarks: turing },
        Machine { name: "rtxa6000", set: &["clock.core=1.74GHz"], benchmarks: ampere },
        // The measured streams leave room for two blocks on an SM.
        Machine { name: "a100", set: &["sm.max_blocks=2"], benchmarks: a100 },
    ]
}

/// A row of a table: group, benchmark, unit, hardware's cycles, their source, ours.
const HEADER: [&str; 6] = ["group", "benchmark", "per", "hardware", "source", "ours"];

/// The largest error of a row of which no cause is known.
const BOUND: f64 = 0.1;

/// Writes PTX, manifest and trace of every benchmark into the folder that `WARPLAB_MICROBENCHMARKS` names, to be looked at.
#[test]
#[ignore = "writes files for people"]
fn microbenchmarks_into_a_folder() {
    let Some(folder) = std::env::var_os("WARPLAB_MICROBENCHMARKS") else {
        panic!("WARPLAB_MICROBENCHMARKS names no folder")
    };
    for machine in machines() {
        for (name, benchmark) in &machine.benchmarks {
            let place = Path::new(&folder).join(machine.name).join(name.replace([' ', ':'], "_"));
            std::fs::create_dir_all(&place).expect("a folder");
            record(&benchmark.plan(), &place);
        }
    }
}

#[test]
fn microbenchmarks_are_those_of_the_tables() {
    let write = std::env::var("WARPLAB_TABLES").is_ok_and(|value| value == "write");
    let references = timing::accuracy::references().expect("the references");
    let mut wrong = String::new();
    for machine in machines() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tables/microbenchmarks-{}.csv", machine.name));
        let text = std::fs::read_to_string(&path).expect("a table");
        let comments: String =
            text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        assert_eq!(reader.headers().expect("a header"), &HEADER[..]);
        let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(HEADER).expect("written");
        let measured: Vec<f64> =
            machine.benchmarks.iter().map(|(_, benchmark)| measure(benchmark, &machine)).collect();
        assert_eq!(rows.len(), measured.len(), "{}: a row for each benchmark", path.display());
        let id = format!("microbenchmarks-{}", machine.name);
        let reference = references.iter().find(|one| one.id == id);
        for (row, ((name, _), ours)) in rows.iter().zip(machine.benchmarks.iter().zip(&measured)) {
            assert_eq!(&row[1], *name, "{}", path.display());
            writer.write_record(row.iter().take(5).chain([format!("{ours:.3}").as_str()])).expect("written");
            let hardware: f64 = row[3].parse().expect("cycles");
            let error = (ours / hardware - 1.0).abs();
            let listed = reference.and_then(|one| one.rows.iter().find(|row| row.name == *name));
            let excused = listed.is_some_and(|row| row.cause.is_some());
            let place = format!("{} {name}: {ours:.3}, hardware {hardware}", machine.name);
            if (error > BOUND) != excused {
                let _ = writeln!(wrong, "{place}: {:.1} % off, cause known: {excused}", 100.0 * error);
            }
            if !write && (row[5].parse::<f64>().unwrap_or(0.0) - ours).abs() > 0.0006 {
                let _ = writeln!(wrong, "{place}: the table has {}", &row[5]);
            }
        }
        if write {
            let written = String::from_utf8(writer.into_inner().expect("rows")).expect("text");
            std::fs::write(&path, comments + &written).expect("written");
        }
    }
    assert!(wrong.is_empty(), "see the top of this file:\n{wrong}");
}
