//! Tests of the selection of launches, and of concurrent launches.

use crate::common;

use common::{Item, Launch};
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;
use timing::config::load;
use timing::observe::ViewOptions;
use timing::replay::{Replay, ReplayOptions, Selection, replay};
use timing::stats::Stats;
use trace_format::reader::Trace;

fn launch(kernel: usize, stream: u64, blocks: u32) -> Item {
    Item::Launch(Launch { kernel, stream, blocks, threads: 64 })
}

fn trace(folder: &tempfile::TempDir, items: &[Item]) -> Trace {
    let path = folder.path().join("t.wtrace");
    common::record(&path, &[common::mixed("mixed"), common::arithmetic("chain", 200)], items);
    Trace::open(&path).expect("the trace")
}

fn run(trace: &Trace, concurrent: bool, threads: usize, selection: Selection) -> Replay {
    let set = ["gpu.sms=4".to_owned(), "launch.latency_cycles=300".to_owned()];
    let config = load("gtx480", &set).expect("a configuration").config;
    let options = ReplayOptions { concurrent, threads, selection, ..ReplayOptions::default() };
    replay(trace, &config, &[], &options).expect("a replay")
}

fn all() -> Selection {
    Selection::default()
}

/// Every slot of every cycle between the first launch and the last end has a cause.
fn slots_sum_up(replay: &Replay) {
    let slots = 4 * 2 * replay.total.counters.cycles;
    assert_eq!(replay.total.stalls.total(), slots);
}

#[test]
fn kernels_of_different_streams_overlap_and_do_the_same_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder, &[launch(1, 7, 2), launch(1, 8, 2), launch(0, 9, 3)]);
    let serial = run(&trace, false, 1, all());
    let together = run(&trace, true, 1, all());
    let work = |replay: &Replay| {
        let c = &replay.total.counters;
        (c.warp_instructions, c.thread_instructions, c.blocks, c.rf_reads, c.global_loads)
    };
    assert_eq!(work(&serial), work(&together));
    let longest = together.launches.iter().map(|one| one.stats.counters.cycles).max().expect("launches");
    assert_eq!(together.total.counters.cycles, longest, "all began together");
    assert!(together.launches.iter().all(|one| one.launched_at == 0));
    // Two kernels of two blocks share four SMs: each takes as long as alone.
    let alone = serial.launches.get(0).stats.counters;
    assert_eq!(together.launches.get(0).stats.counters.cycles, alone.cycles);
    assert!(together.total.counters.cycles < serial.total.counters.cycles);
    for (one, other) in together.launches.iter().zip(serial.launches.iter()) {
        assert_eq!(one.stats.counters.warp_instructions, other.stats.counters.warp_instructions);
        assert_eq!(one.blocks, one.stats.counters.blocks);
    }
    slots_sum_up(&serial);
    slots_sum_up(&together);
    for threads in [2, 3] {
        let again = run(&trace, true, threads, all());
        assert_eq!(again.total.counters, together.total.counters);
        assert_eq!(again.total.stalls, together.total.stalls);
    }
}

#[test]
fn an_sm_turns_to_the_next_kernel_when_it_is_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    // Eight blocks of 64 threads fill an SM's block slots: 32 the GPU.
    let trace = trace(&folder, &[launch(1, 7, 40), launch(1, 8, 40)]);
    let serial = run(&trace, false, 1, all());
    let together = run(&trace, true, 1, all());
    assert_eq!(together.total.counters.blocks, 80);
    assert!(together.launches.get(1).ended_at > together.launches.get(0).ended_at);
    assert!(together.total.counters.cycles < serial.total.counters.cycles, "tails overlap");
    slots_sum_up(&together);
}

#[test]
fn samples_of_kernels_that_share_the_gpu_sum_to_their_total() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder, &[launch(1, 7, 40), launch(0, 8, 20), launch(1, 9, 3)]);
    let set = ["gpu.sms=4".to_owned(), "launch.latency_cycles=300".to_owned()];
    let config = load("gtx480", &set).expect("a configuration").config;
    for interval in [13, 500] {
        let view =
            ViewOptions { interval: Some(interval), window: Some(0..u64::MAX), ..ViewOptions::default() };
        let options = ReplayOptions { concurrent: true, view, ..ReplayOptions::default() };
        let replay = replay(&trace, &config, &[], &options).expect("a replay");
        let [(launches, series)] = &replay.series[..] else { panic!("one group") };
        assert_eq!(launches.len(), 3);
        let mut sum = Stats::default();
        for row in &series.rows {
            sum.counters.merge(&row.counters);
            sum.stalls.merge(&row.stalls);
        }
        assert_eq!(sum.counters, replay.total.counters);
        assert_eq!(sum.stalls, replay.total.stalls);
        // Every interval has all of its slots, whichever kernel an SM holds.
        let mut before = 0;
        for (end, row) in series.ends().zip(&series.rows) {
            assert_eq!(row.stalls.total(), 4 * 2 * (end - before));
            before = end;
        }
        // The recordings of the kernels cover the slots of the GPU without gap or overlap.
        let runs = replay.recordings.iter().map(|(_, one)| one).flat_map(|one| &one.slots);
        let cycles: u64 = runs.map(|run| run.end - run.start).sum();
        assert_eq!(cycles, replay.total.stalls.total());
    }
}

#[test]
fn the_order_of_streams_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    for items in [
        // One stream; the default stream in between; a copy on the default stream in between.
        vec![launch(1, 7, 2), launch(1, 7, 2)],
        vec![launch(1, 7, 2), launch(0, 0, 2), launch(1, 8, 2)],
        vec![launch(1, 7, 2), Item::Copy(0), launch(1, 8, 2)],
        // The program waits in between, or the second stream does.
        vec![launch(1, 7, 2), Item::Wait(0), launch(1, 8, 2)],
        vec![launch(1, 7, 2), Item::Wait(8), launch(1, 8, 2)],
    ] {
        let trace = trace(&folder, &items);
        let together = run(&trace, true, 2, all());
        let launches: Vec<_> = together.launches.iter().collect();
        for pair in launches.windows(2) {
            assert!(pair[1].launched_at >= pair[0].ended_at, "{items:?}");
            let first_issue = pair[1].launched_at + 300;
            assert!(pair[1].ended_at > first_issue, "{items:?}: the launch latency passes");
        }
        slots_sum_up(&together);
    }
}

#[test]
fn launches_are_chosen_by_name_and_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let items: Vec<Item> = [0, 1, 1, 0, 1].map(|kernel| launch(kernel, 0, 1)).to_vec();
    let trace = trace(&folder, &items);
    let chosen = |kernels, launches| -> Vec<usize> {
        let selection = Selection::parse(kernels, launches).expect("a selection");
        run(&trace, false, 1, selection).launches.iter().map(|one| one.launch).collect()
    };
    assert_eq!(chosen(None, None), [0, 1, 2, 3, 4]);
    assert_eq!(chosen(Some("^ch"), None), [1, 2, 4]);
    assert_eq!(chosen(Some("^ch"), Some("2-")), [2, 4]);
    assert_eq!(chosen(None, Some("0,3-4")), [0, 3, 4]);
    // Launches that are not selected have no effect: with empty caches, the numbers are those of a trace with
    // only this launch.
    let alone = run(&trace, false, 1, Selection::parse(None, Some("3")).expect("a selection"));
    let first = run(&trace, false, 1, Selection::parse(None, Some("0")).expect("a selection"));
    assert_eq!(alone.total.counters, first.total.counters);
}

#[test]
fn caches_are_kept_or_flushed_between_kernels_as_configured() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder, &[launch(0, 0, 4), launch(0, 0, 4)]);
    let misses = |l1: bool, l2: bool| {
        let set = [format!("launch.flush_l1={l1}"), format!("launch.flush_l2={l2}"), "gpu.sms=1".to_owned()];
        let config = load("gtx480", &set).expect("a configuration").config;
        let replay = replay(&trace, &config, &[], &ReplayOptions::default()).expect("a replay");
        let second = replay.launches.get(1).stats.counters;
        (second.l1_misses + second.l1_merges > 0, second.dram_reads > 0)
    };
    // Stores drop lines from L1, so only L2's contents can be told from DRAM reads of the second launch.
    assert_eq!(misses(true, true), (true, true));
    assert_eq!(misses(true, false), (true, false));
}

fn timing(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timing"));
    let output = command.args(arguments).current_dir(folder).output().expect("the command runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn empty_and_wrong_choices_list_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    trace(&folder, &[launch(0, 0, 1), launch(1, 0, 1), launch(1, 0, 1)]);
    let cases: &[(&[&str], &[&str])] = &[
        (&["--kernels", "matmul"], &["--kernels matmul", "0: mixed", "1-2: chain"]),
        (&["--launches", "1-,9"], &["launch 9", "1-2: chain"]),
        (&["--launches", "5-2"], &["--launches 5-2", "3-10,12"]),
        (&["--kernels", "("], &["--kernels (", "unclosed"]),
        (&["--kernels", "mixed", "--launches", "1"], &["no launch is selected", "0: mixed"]),
        (&["--max-cycles", "10"], &["mixed", "--max-cycles"]),
        (&["--window", "3-9"], &["--timeline"]),
        (&["--timeline", "t.json", "--window", "9-3"], &["--window 9-3"]),
        (&["--timeline", "t.json", "--sms", "28"], &["--sms 28", "0-27"]),
        (&["--series", "s.csv"], &["--interval"]),
        (&["--interval", "0"], &["--interval"]),
        (&["--interval", "10", "--columns", "ipcc"], &["ipcc", "--counters"]),
        (&["t.wtrace", "--timeline", "t.json"], &["one trace at a time"]),
        (&["--timeline", "no/such/t.json"], &["no/such/t.json"]),
    ];
    for (arguments, parts) in cases {
        let (success, message) = timing(folder.path(), &[&["replay", "t.wtrace"], *arguments].concat());
        assert!(!success && !message.contains("panicked"), "{arguments:?}: {message}");
        for part in *parts {
            assert!(message.contains(part), "{arguments:?} lacks {part}: {message}");
        }
    }
}

const GPUS: [&str; 7] = ["gtx285", "gtx480", "titanx-pascal", "gtx1080ti", "qv100", "rtx2060", "rtx3070"];

fn items() -> impl Strategy<Value = Vec<Item>> {
    let stream = || prop::sample::select(vec![0u64, 7, 8, 9]);
    let item = prop_oneof![
        6 => (0..2usize, stream(), 1u32..9).prop_map(|(kernel, stream, blocks)| launch(kernel, stream, blocks)),
        1 => stream().prop_map(Item::Copy),
        1 => stream().prop_map(Item::Wait),
    ];
    prop::collection::vec(item, 1..9).prop_map(|mut items| {
        items.push(launch(1, 7, 1));
        items
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn kernels_together_end_on_any_machine_with_any_launch_latency(
        items in items(),
        gpu in prop::sample::select(GPUS.to_vec()),
        latency in prop::sample::select(vec![0u64, 1, 2, 3, 7, 99, 1_001, 2_000_003]),
        sms in 1u32..6,
        crossbar in prop::sample::select(vec![1u32, 2, 13, 64]),
        threads in 1usize..5,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = trace(&folder, &items);
        let set = [
            format!("gpu.sms={sms}"),
            format!("launch.latency_cycles={latency}"),
            format!("interconnect.request_latency_cycles={crossbar}"),
        ];
        let config = load(gpu, &set).expect("a configuration").config;
        let run = |concurrent, threads| {
            let options = ReplayOptions { concurrent, threads, ..ReplayOptions::default() };
            replay(&trace, &config, &[], &options).unwrap_or_else(|why| panic!("{gpu} {set:?}: {why}"))
        };
        let (together, serial) = (run(true, threads), run(false, 1));
        let work = |replay: &Replay| (replay.total.counters.warp_instructions, replay.total.counters.blocks);
        prop_assert_eq!(work(&together), work(&serial));
        prop_assert_eq!(format!("{:?}", together.total), format!("{:?}", run(true, 1).total));
        for one in together.launches.iter() {
            prop_assert!(one.ended_at >= one.launched_at + latency);
        }
    }
}

#[test]
fn a_kernel_without_launch_latency_starts_when_the_one_before_it_has_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder, &[launch(1, 7, 2), launch(0, 7, 5), launch(1, 0, 1), launch(0, 8, 1)]);
    for gpu in GPUS {
        for latency in [0u64, 1, 3] {
            let config = load(gpu, &[format!("launch.latency_cycles={latency}")]).expect("valid").config;
            let options = ReplayOptions { concurrent: true, ..ReplayOptions::default() };
            let replay = replay(&trace, &config, &[], &options);
            let replay = replay.unwrap_or_else(|why| panic!("{gpu}, latency {latency}: {why}"));
            assert_eq!(replay.total.counters.blocks, 9);
        }
    }
}

#[test]
fn files_of_views_are_written_by_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    trace(&folder, &[launch(0, 7, 2), launch(1, 8, 1)]);
    let arguments = [
        "replay",
        "t.wtrace",
        "--concurrent",
        "--per-sm",
        "--timeline",
        "t.json",
        "--konata",
        "k.log",
        "--sms",
        "0-1",
        "--window",
        "0-9000",
        "--interval",
        "100",
        "--series",
        "s.csv",
        "--columns",
        "ipc,dram_bytes,stall_barrier",
        "--json",
        "o.json",
        "--config",
        "qv100",
    ];
    let (success, message) = timing(folder.path(), &arguments);
    assert!(success, "{message}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("the file");
    let json = |name: &str| serde_json::from_str::<serde_json::Value>(&read(name)).expect("valid JSON");
    assert!(json("t.json")["traceEvents"].as_array().is_some_and(|events| events.len() > 100));
    // What the command says of the files is what they hold.
    let events = json("t.json")["traceEvents"].as_array().map_or(0, Vec::len);
    let arrows = read("t.json").matches("\"ph\":\"f\"").count();
    let instructions = read("k.log").lines().filter(|line| line.starts_with("I\t")).count();
    let waits = read("k.log")
        .lines()
        .filter(|line| line.starts_with("S\t") && line.split('\t').nth(2) == Some("1"))
        .count();
    let size = |name: &str| match read(name).len() {
        bytes @ 0..10_000 => format!("{bytes} bytes"),
        bytes @ 10_000..1_000_000 => format!("{} kB", bytes / 1000),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    };
    assert!(arrows > 0 && waits > 0);
    for part in [
        format!("t.json: SMs 0-1, cycles 0-9000: {events} events, "),
        format!("with {arrows} arrows to L2, {}; for ui.perfetto.dev", size("t.json")),
        format!("k.log: SMs 0-1, cycles 0-9000: {instructions} instructions, {waits} waits"),
        format!("on lane 1, {}; for the Konata", size("k.log")),
    ] {
        assert!(message.contains(&part), "{part} is not in {message}");
    }
    assert!(read("k.log").starts_with("Kanata\t0004\nC=\t"));
    let tooltip = read("k.log").lines().any(|line| {
        line.starts_with("L\t0\t1\t\\nproduced by timing replay t.wtrace --concurrent") && !line.contains('#')
    });
    assert!(tooltip, "the command is in a tooltip");
    let series = read("s.csv");
    let mut lines = series.lines();
    assert_eq!(lines.next(), Some("launch,kernel,end_cycle,ipc,dram_bytes,stall_barrier"));
    assert!(lines.next().is_some_and(|line| line.starts_with("0+1,mixed+chain,100,")));
    let value = json("o.json");
    let trace = &value["traces"][0];
    assert_eq!(trace["sms"].as_array().map(Vec::len), Some(80));
    let of = |value: &serde_json::Value| value["warp_instructions"].as_u64().expect("a count");
    let sum: u64 = trace["sms"].as_array().expect("SMs").iter().map(of).sum();
    assert_eq!(sum, of(trace));
    assert_eq!(trace["launches"][1]["stream"], 8);
    assert_eq!(trace["series"][0]["rows"].as_array().map(Vec::len), Some(lines.count() + 1));
}
