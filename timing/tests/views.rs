//! Tests of timelines, the Konata log and time series: read back and compared with the statistics.

use crate::common;

use common::{Item, Launch};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use timing::config::load;
use timing::observe::ViewOptions;
use timing::replay::{Replay, ReplayOptions, replay};
use timing::stats::Column;
use timing::stats::{COUNTERS, Stall, TechniqueStats};
use timing::view::{konata, timeline};
use trace_format::reader::Trace;

fn trace(folder: &tempfile::TempDir) -> Trace {
    let path = folder.path().join("t.wtrace");
    let kernels = [common::mixed("mixed"), common::arithmetic("chain", 30)];
    let launch = |kernel, blocks| Item::Launch(Launch { kernel, stream: 0, blocks, threads: 128 });
    common::record(&path, &kernels, &[launch(0, 40), Item::Copy(0), Item::Wait(0), launch(1, 9)]);
    Trace::open(&path).expect("the trace")
}

fn run(trace: &Trace, gpu: &str, set: &[&str], techniques: &[&str], view: ViewOptions) -> Replay {
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    let config = load(gpu, &set).expect("a configuration").config;
    let names: Vec<String> = techniques.iter().map(|name| (*name).to_owned()).collect();
    let techniques = timing::techniques::built_in().select(&names, &config).expect("techniques");
    let options = ReplayOptions { view, threads: 2, ..ReplayOptions::default() };
    replay(trace, &config, &techniques, &options).expect("a replay")
}

fn whole() -> ViewOptions {
    ViewOptions { window: Some(0..u64::MAX), waits: true, ..ViewOptions::default() }
}

/// Configurations that differ in schedulers, dual issue and techniques.
const MACHINES: [(&str, &[&str], &[&str]); 5] = [
    ("gtx480", &["gpu.sms=2", "launch.latency_cycles=100"], &[]),
    ("titanx-pascal", &["gpu.sms=3"], &["bow"]),
    ("qv100", &["gpu.sms=2"], &["corf"]),
    ("gtx480", &["gpu.sms=2", "technique.bow.entries=1"], &["bow", "corf"]),
    ("gtx285", &["gpu.sms=1", "sm.max_registers_per_thread=255"], &["bow-wr"]),
];

/// Complete events by process and track: name, start, end.
type Tracks = BTreeMap<(u64, u64), Vec<(String, u64, u64)>>;

/// Process and track, and cycle.
type Point = ((u64, u64), u64);

struct Timeline(Vec<Value>);

impl Timeline {
    fn of(trace: &Trace, replay: &Replay) -> Timeline {
        let mut text = Vec::new();
        timeline::write(&mut text, trace, replay, &[], &Value::Null).expect("a timeline");
        let value: Value = serde_json::from_slice(&text).expect("valid JSON");
        Timeline(value["traceEvents"].as_array().expect("events").clone())
    }

    fn tracks(&self) -> Tracks {
        let mut tracks = Tracks::new();
        for event in self.0.iter().filter(|event| event["ph"] == "X") {
            let of = |key: &str| event[key].as_u64().expect("a number");
            let name = event["name"].as_str().expect("a name").to_owned();
            let span = (name, of("ts"), of("ts") + of("dur"));
            tracks.entry((of("pid"), of("tid"))).or_default().push(span);
        }
        tracks
    }

    fn names(&self, what: &str) -> BTreeMap<(u64, u64), String> {
        let named = self.0.iter().filter(|event| event["ph"] == "M" && event["name"] == what);
        let id = |event: &Value, key: &str| event[key].as_u64().expect("a number");
        named
            .map(|event| {
                let name = event["args"]["name"].as_str().expect("a name").to_owned();
                ((id(event, "pid"), id(event, "tid")), name)
            })
            .collect()
    }
}

#[test]
fn timelines_nest_have_named_tracks_and_count_what_the_statistics_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder);
    for (gpu, set, techniques) in MACHINES {
        let replay = run(&trace, gpu, set, techniques, whole());
        let view = Timeline::of(&trace, &replay);
        let names = view.names("thread_name");
        let processes = view.names("process_name");
        let mut slots: BTreeMap<String, u64> = BTreeMap::new();
        let mut held: BTreeMap<String, u64> = BTreeMap::new();
        let (mut blocks, mut warps, mut issues) = (0, 0, 0);
        for (track, spans) in view.tracks() {
            let name = names.get(&track).unwrap_or_else(|| panic!("{gpu}: track {track:?} has no name"));
            assert!(processes.contains_key(&(track.0, 0)), "{gpu}: {track:?}");
            // Spans of a track begin in order, and nested ones end before their enclosing span.
            let mut open: Vec<u64> = Vec::new();
            let mut last = 0;
            for (what, start, end) in &spans {
                assert!(start < end && *start >= last, "{gpu}: {name}: {what} {start}-{end} after {last}");
                last = *start;
                open.retain(|around| around > start);
                assert!(
                    open.iter().all(|around| end <= around),
                    "{gpu}: {name}: {what} {start}-{end} {spans:?}"
                );
                open.push(*end);
            }
            if name.starts_with("scheduler") {
                // Slots have one cause at a time: spans are not nested, and there is no gap between them.
                let launches = |cycle| replay.launches.iter().any(|launch| launch.launched_at == cycle);
                let joined = spans.windows(2).all(|w| w[0].2 == w[1].1 || launches(w[1].1));
                assert!(joined, "{gpu}: {name} has gaps");
                let stalls: BTreeSet<String> =
                    Stall::ALL.iter().map(|cause| cause.name().replace('_', " ")).collect();
                for (what, start, end) in spans {
                    let own = what.contains(": ");
                    if own {
                        *held.entry(what.clone()).or_default() += end - start;
                    }
                    let cause = match what {
                        _ if own => "technique".to_owned(),
                        what if stalls.contains(&what) => what,
                        _ => "issued".to_owned(),
                    };
                    issues += u64::from(cause == "issued");
                    *slots.entry(cause).or_default() += end - start;
                }
            } else if name.starts_with("block slot") {
                blocks += spans.len() as u64;
            } else if name.starts_with("warp slot") {
                warps += spans.iter().filter(|(what, ..)| what.starts_with("block")).count() as u64;
            }
        }
        let stats = &replay.total;
        for cause in Stall::ALL {
            let shown = slots.get(&cause.name().replace('_', " ")).copied().unwrap_or(0);
            assert_eq!(shown, stats.stalls.get(*cause), "{gpu}: {}", cause.name());
        }
        // Slots that a technique stalled are named after it and its cause.
        let declared = stats.techniques.iter().flat_map(|one| {
            let name = one.info.name;
            one.stalls().map(move |(cause, slots)| (format!("{name}: {}", cause.replace('_', " ")), slots))
        });
        let declared: BTreeMap<String, u64> = declared.filter(|(_, slots)| *slots > 0).collect();
        assert_eq!(held, declared, "{gpu}");
        assert_eq!(declared.is_empty(), !set.contains(&"technique.bow.entries=1"), "{gpu}");
        assert_eq!(issues, stats.stalls.get(Stall::Issued), "{gpu}");
        assert_eq!((blocks, warps), (stats.counters.blocks, stats.counters.warps), "{gpu}");
        requests_pair_up(&view, stats.counters.request_packets);
        loads_point_to_their_lookups(&view, &replay);
    }
}

/// Requests begin once and end once, later.
fn requests_pair_up(view: &Timeline, packets: u64) {
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    let mut count = 0;
    for event in &view.0 {
        let (id, ts) = (event["id"].as_u64(), event["ts"].as_u64().expect("a time"));
        match event["ph"].as_str() {
            Some("b") => {
                assert!(open.insert(id.expect("an id"), ts).is_none());
                count += 1;
            }
            Some("e") => {
                let begun = open.remove(&id.expect("an id")).expect("what ends has begun");
                assert!(ts > begun, "a request took no time");
            }
            _ => {}
        }
    }
    assert!(open.is_empty());
    assert_eq!(count, packets);
}

/// Every access to L2 is a span of its slice, and an arrow leads from the issue of a load to each access that it caused.
fn loads_point_to_their_lookups(view: &Timeline, replay: &Replay) {
    let tracks = view.tracks();
    let names = view.names("thread_name");
    let c = &replay.total.counters;
    let of_slices = |track: &(u64, u64)| names.get(track).is_some_and(|name| name.starts_with("slice "));
    let accesses = || tracks.iter().filter(|(track, _)| of_slices(track)).flat_map(|(_, spans)| spans);
    assert_eq!(accesses().count() as u64, c.l2_accesses);
    let writes = accesses().filter(|(name, ..)| name == "write").count();
    let dram = accesses().filter(|(name, ..)| name.contains("from DRAM")).count() as u64;
    assert!(writes > 0);
    assert!(dram > 0 && dram <= c.l2_misses + c.l2_merges, "{dram}");
    // Both ends of an arrow, by its number: track and cycle.
    let mut ends: BTreeMap<u64, [Option<Point>; 2]> = BTreeMap::new();
    for event in &view.0 {
        let end = match event["ph"].as_str() {
            Some("s") => 0,
            Some("f") => 1,
            _ => continue,
        };
        assert_eq!(event["bp"] == "e", end == 1, "{event}");
        let of = |key: &str| event[key].as_u64().expect("a number");
        let place = ((of("pid"), of("tid")), of("ts"));
        let ends = ends.entry(of("id")).or_default();
        assert!(ends[end].replace(place).is_none(), "{event}: a second end");
    }
    let instructions: BTreeMap<((u64, u64), u64), &str> = (view.0.iter())
        .filter_map(|event| {
            let of = |key: &str| event[key].as_u64();
            Some((((of("pid")?, of("tid")?), of("ts")?), event["args"]["instruction"].as_str()?))
        })
        .collect();
    for ends in ends.values() {
        let [Some((from, issued)), Some((to, looked_up))] = ends else {
            panic!("{ends:?}: one end is missing")
        };
        let load = instructions.get(&(*from, *issued)).expect("an arrow begins at an issue");
        assert!(load.contains("LDG"), "{load}");
        assert!(of_slices(to) && looked_up > issued);
        let read = tracks[to].iter().find(|(_, start, _)| start == looked_up).expect("and ends at an access");
        assert!(read.0.starts_with("read"), "{read:?}");
    }
    assert_eq!(ends.len() as u64, c.l1_misses + c.l1_bypasses, "an arrow for each request of a load");
}

/// The steps of a counter track.
fn steps(view: &Timeline, process: u64, name: &str, series: &str) -> Vec<(u64, f64)> {
    let steps =
        view.0.iter().filter(|event| event["ph"] == "C" && event["name"] == name && event["pid"] == process);
    steps
        .map(|event| {
            (event["ts"].as_u64().expect("a time"), event["args"][series].as_f64().expect("a value"))
        })
        .collect()
}

/// A counter's value times the cycles for which it has that value.
fn area(steps: &[(u64, f64)]) -> f64 {
    assert!(steps.windows(2).all(|pair| pair[0].0 <= pair[1].0), "in order of time");
    assert_eq!(steps.last().map(|last| last.1), Some(0.0), "it ends with the launch");
    steps.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0) as f64).sum()
}

#[test]
fn counter_tracks_have_the_areas_that_the_statistics_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder);
    let close = |shown: f64, counted: u64, what: &str| {
        let counted = counted as f64;
        assert!((shown - counted).abs() <= 1.0 + counted * 0.005, "{what}: {shown} for {counted}");
    };
    for (gpu, set, techniques) in MACHINES {
        let view = ViewOptions { interval: Some(8), most_samples: 16, ..whole() };
        let replay = run(&trace, gpu, set, techniques, view);
        let c = &replay.total.counters;
        let view = Timeline::of(&trace, &replay);
        let processes: Vec<u64> = view
            .names("process_name")
            .into_iter()
            .filter(|(_, name)| name.starts_with("SM "))
            .map(|((pid, _), _)| pid)
            .collect();
        let of_sms =
            |name: &str| processes.iter().map(|pid| area(&steps(&view, *pid, name, "value"))).sum::<f64>();
        close(of_sms("instructions issued per cycle"), c.warp_instructions + c.inserted_instructions, gpu);
        close(of_sms("resident warps"), c.resident_warp_cycles, gpu);
        let reads = replay.recordings.iter().map(|(_, one)| one).flat_map(|one| &one.requests);
        let reads = reads.filter(|one| !format!("{:?}", one.kind).starts_with("Write"));
        close(of_sms("reads of L2 in flight"), reads.map(|one| one.answered - one.sent).sum(), gpu);
        close(area(&steps(&view, 0, "instructions per cycle", "value")), c.warp_instructions, gpu);
        close(area(&steps(&view, 0, "resident warps", "value")), c.resident_warp_cycles, gpu);
        close(area(&steps(&view, 0, "DRAM bytes per cycle", "value")), c.dram_bytes, gpu);
        let slots = replay.total.stalls.total() as f64 / c.cycles as f64;
        for cause in Stall::ALL.iter().filter(|cause| replay.total.stalls.get(**cause) > 0) {
            let counted = replay.launches.iter().filter(|launch| launch.stats.stalls.get(*cause) > 0);
            let counted: u64 = counted.map(|launch| launch.stats.stalls.get(*cause)).sum();
            let name = cause.name().replace('_', " ");
            let share: Vec<(u64, f64)> = (view.0.iter())
                .filter(|event| event["ph"] == "C" && event["name"] == "issue slots, %")
                .filter_map(|event| Some((event["ts"].as_u64()?, event["args"][&name].as_f64()?)))
                .collect();
            close(area(&share) / 100.0 * slots, counted, &name);
        }
        assert!(
            steps(&view, 0, "L1 hits, % of accesses", "value")
                .iter()
                .all(|(_, share)| (0.0..=100.0).contains(share))
        );
    }
}

#[test]
fn a_sampler_with_a_limit_doubles_its_interval_and_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder);
    for (gpu, set, techniques) in MACHINES {
        let view = ViewOptions { interval: Some(1), most_samples: 20, ..ViewOptions::default() };
        let replay = run(&trace, gpu, set, techniques, view);
        for (launches, series) in &replay.series {
            let stats = replay.launches.get(launches.start).stats;
            assert!(series.interval.is_power_of_two() && series.interval > 1, "{gpu}: {}", series.interval);
            assert!(series.rows.len() <= 21 && series.rows.len() >= 10, "{gpu}: {} rows", series.rows.len());
            // The same rows as with that interval from the beginning.
            let view = ViewOptions { interval: Some(series.interval), ..ViewOptions::default() };
            let direct = run(&trace, gpu, set, techniques, view);
            let same = direct.series.iter().find(|(range, _)| range == launches).expect("the launch");
            assert_eq!(&same.1, series, "{gpu}");
            assert_eq!(series.rows.iter().map(|row| row.counters.cycles).sum::<u64>(), stats.counters.cycles);
        }
    }
}

#[test]
fn a_window_bounds_everything_but_launches() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder);
    let of = |window: std::ops::Range<u64>, sms| {
        let view = ViewOptions { window: Some(window), sms, ..ViewOptions::default() };
        run(&trace, "gtx480", &["gpu.sms=2"], &[], view)
    };
    let all = of(0..u64::MAX, 0..2);
    let part = of(200..350, 1..2);
    assert_eq!(all.total.counters, part.total.counters, "looking changes nothing");
    let view = Timeline::of(&trace, &part);
    for ((process, track), spans) in view.tracks() {
        let l2 = view.names("process_name").get(&(process, 0)).is_some_and(|name| name.starts_with("L2"));
        assert!(process == 0 || process == 2 || l2, "only SM 1 is shown");
        if process == 2 {
            assert!(spans.iter().all(|(_, start, end)| *start >= 200 && *end <= 350), "{track}: {spans:?}");
            assert!(spans.iter().all(|(name, ..)| name != "issue"), "every issue has its instruction");
        }
    }
    // The slots in the window are those of the whole timeline, cut at its ends.
    let cut = |view: &Timeline| -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for ((process, track), spans) in view.tracks() {
            if process == 2 && track < 100 {
                for (what, start, end) in spans {
                    let inside = end.min(350).saturating_sub(start.max(200));
                    let name = if what.chars().any(char::is_uppercase) { "issue".to_owned() } else { what };
                    *sums.entry(name).or_default() += inside;
                }
            }
        }
        sums.retain(|_, sum| *sum > 0);
        sums
    };
    assert_eq!(cut(&Timeline::of(&trace, &all)), cut(&view));
}

#[test]
fn looking_changes_no_statistics_and_a_full_record_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder);
    for (gpu, set, techniques) in MACHINES {
        let plain = run(&trace, gpu, set, techniques, ViewOptions::default());
        let view = ViewOptions { interval: Some(37), most_records: 50, ..whole() };
        let seen = run(&trace, gpu, set, techniques, view);
        assert_eq!(plain.total.counters, seen.total.counters, "{gpu}");
        assert_eq!(plain.total.stalls, seen.total.stalls, "{gpu}");
        let recordings = || seen.recordings.iter().map(|(_, one)| one);
        assert!(recordings().any(|one| one.full_at.is_some()), "{gpu}");
        assert!(recordings().all(|one| one.insts.len() + one.slots.len() + one.waits.len() <= 50), "{gpu}");
    }
}

/// Content of a Kanata log for an instruction.
#[derive(Default, Debug)]
struct Logged {
    stages: Vec<(u64, String)>,
    /// Lane 1: what it waited for, from and to.
    waits: Vec<(String, u64, u64)>,
    label: String,
    end: Option<(u64, bool)>,
}

/// Reads a log by the format's own rules.
fn read_log(text: &str) -> (BTreeMap<u64, Logged>, usize) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    let mut now: Option<u64> = None;
    let mut rows: BTreeMap<u64, Logged> = BTreeMap::new();
    let (mut retired, mut arrows) = (0, 0);
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| -> u64 { fields[index].parse().unwrap_or_else(|_| panic!("{line}")) };
        let cycle = || now.expect("the start comes first");
        match fields[0] {
            "C=" => now = Some(number(1)),
            "C" => {
                assert!(number(1) > 0);
                now = Some(cycle() + number(1));
            }
            "I" => {
                assert_eq!(number(1), rows.len() as u64, "identifiers are given in order");
                rows.insert(number(1), Logged::default());
            }
            "L" => {
                let row = rows.get_mut(&number(1)).expect("begun");
                assert!(matches!(fields[2], "0" | "1") && fields.len() == 4, "{line}");
                if fields[2] == "0" {
                    row.label += fields[3];
                }
            }
            "S" => {
                let row = rows.get_mut(&number(1)).expect("begun");
                assert!(row.end.is_none(), "{line}");
                match number(2) {
                    0 => row.stages.push((cycle(), fields[3].to_owned())),
                    1 => {
                        assert!(row.waits.last().is_none_or(|(_, _, to)| *to <= cycle()), "{line}: overlaps");
                        row.waits.push((fields[3].to_owned(), cycle(), u64::MAX));
                    }
                    lane => panic!("{line}: nothing is on lane {lane}"),
                }
            }
            "E" => {
                let wait = rows.get_mut(&number(1)).and_then(|row| row.waits.last_mut()).expect("begun");
                assert!(fields[2] == "1" && fields[3] == wait.0 && wait.2 == u64::MAX, "{line}");
                assert!(cycle() > wait.1, "{line}: a wait of no cycle");
                wait.2 = cycle();
            }
            "W" => {
                assert!(rows[&number(1)].end.is_none() && rows.contains_key(&number(2)), "{line}");
                arrows += 1;
            }
            "R" => {
                assert_eq!(number(2), retired, "{line}");
                let flushed = number(3) == 1;
                retired += u64::from(!flushed);
                let row = rows.get_mut(&number(1)).expect("begun");
                assert!(row.end.replace((cycle(), flushed)).is_none(), "{line}: ended twice");
            }
            other => panic!("unknown command {other}"),
        }
    }
    (rows, arrows)
}

#[test]
fn the_konata_log_has_every_instruction_with_its_stages_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder);
    for (gpu, set, techniques) in MACHINES {
        let replay = run(&trace, gpu, set, techniques, whole());
        let mut text = Vec::new();
        konata::write(&mut text, &trace, &replay, "timing replay").expect("a log");
        let text = String::from_utf8(text).expect("UTF-8");
        let (rows, arrows) = read_log(&text);
        let c = &replay.total.counters;
        assert_eq!(rows.len() as u64, c.fetched_instructions, "{gpu}: everything fetched is shown");
        let flushed = rows.values().filter(|row| row.end.is_some_and(|(_, flushed)| flushed)).count() as u64;
        assert_eq!(flushed, c.flushed_instructions, "{gpu}");
        let retired = rows.len() as u64 - flushed;
        assert_eq!(
            retired,
            c.warp_instructions + c.inserted_instructions,
            "{gpu}: every instruction retires"
        );
        let order = ["F", "D", "Oc", "Du", "X", "M", "Wb"];
        for row in rows.values() {
            let (end, flushed) = row.end.unwrap_or_else(|| panic!("{gpu}: {row:?} never ends"));
            let ranks: Vec<usize> = row
                .stages
                .iter()
                .map(|(_, name)| order.iter().position(|o| o == name).expect("a stage"))
                .collect();
            assert!(ranks.windows(2).all(|w| w[0] < w[1]), "{gpu}: {row:?}");
            assert!(row.stages.windows(2).all(|w| w[0].0 < w[1].0), "{gpu}: {row:?}");
            assert!(row.stages.last().is_some_and(|(start, _)| *start < end), "{gpu}: {row:?}");
            assert_eq!(row.stages[0].1, "F", "{gpu}: {row:?}");
            let has = |name: &str| row.stages.iter().any(|(_, stage)| stage == name);
            if !flushed {
                assert_eq!(
                    has("M"),
                    ["LDG", "STG", "LDS"].iter().any(|op| row.label.contains(op)),
                    "{gpu}: {row:?}"
                );
                assert_eq!(
                    has("Wb"),
                    !["STG", "BAR", "EXIT", "inserted"].iter().any(|op| row.label.contains(op)),
                    "{gpu}: {row:?}"
                );
            }
        }
        // 30 dependent products of 36 warps: all but the first wait for the one before.
        assert!(arrows >= 29 * 36, "{gpu}: {arrows} arrows");
    }
}

/// Lane 1 covers each instruction from the cycle in which it is the warp's next one to its issue, with one cause at a time.
#[test]
fn lane_1_has_a_cause_for_every_cycle_in_which_an_instruction_was_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder);
    let mut seen = BTreeSet::new();
    for (gpu, set, techniques) in MACHINES {
        let replay = run(&trace, gpu, set, techniques, whole());
        let mut text = Vec::new();
        let contents = konata::write(&mut text, &trace, &replay, "timing replay").expect("a log");
        assert_eq!(contents.bytes, text.len() as u64);
        let (rows, _) = read_log(&String::from_utf8(text).expect("UTF-8"));
        assert_eq!(contents.waits, rows.values().map(|row| row.waits.len()).sum::<usize>(), "{gpu}");
        let mut by_warp: BTreeMap<String, Vec<&Logged>> = BTreeMap::new();
        for row in rows.values() {
            seen.extend(row.waits.iter().map(|(name, ..)| name.clone()));
            let issue = row.stages.iter().find(|(_, stage)| ["Oc", "X"].contains(&stage.as_str()));
            let Some((issued, _)) = issue else { continue };
            assert!(
                row.waits.iter().all(|(_, from, to)| from >= &row.stages[0].0 && to <= issued),
                "{gpu}: {row:?}"
            );
            let warp = row.label.split(' ').take(3).collect::<Vec<_>>().join(" ");
            by_warp.entry(warp).or_default().push(row);
        }
        for rows in by_warp.values_mut() {
            let issued = |row: &Logged| {
                row.stages
                    .iter()
                    .find(|(_, stage)| ["Oc", "X"].contains(&stage.as_str()))
                    .map_or(0, |(at, _)| *at)
            };
            rows.sort_by_key(|row| issued(row));
            for pair in rows.windows(2) {
                let (before, row) = (issued(pair[0]), pair[1]);
                let decoded =
                    row.stages.iter().find(|(_, stage)| stage == "D").map_or(u64::MAX, |(at, _)| *at);
                let from = decoded.max(before + 1);
                let covered: u64 =
                    row.waits.iter().map(|(_, start, end)| end - end.min(&from).max(start)).sum();
                assert_eq!(covered, issued(row).saturating_sub(from), "{gpu}: {row:?} after {before}");
            }
        }
    }
    for cause in ["not_selected", "alu_dependency", "memory_dependency", "barrier", "ibuffer_empty"] {
        assert!(seen.contains(cause), "{cause} is not in {seen:?}");
    }
    assert!(seen.iter().any(|cause| cause.starts_with("bow:")), "a technique's cause: {seen:?}");
}

/// With one warp, the causes of the warp are those of its scheduler.
#[test]
fn lane_1_of_a_single_warp_agrees_with_the_slots_of_its_scheduler() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one.wtrace");
    let launch = Launch { kernel: 0, stream: 0, blocks: 1, threads: 32 };
    common::record(&path, &[common::mixed("mixed")], &[Item::Launch(launch)]);
    let trace = Trace::open(&path).expect("the trace");
    let replay = run(&trace, "titanx-pascal", &["gpu.sms=1", "scheduler.issue_width=1"], &[], whole());
    let mut text = Vec::new();
    konata::write(&mut text, &trace, &replay, "timing replay").expect("a log");
    let (rows, _) = read_log(&String::from_utf8(text).expect("UTF-8"));
    let mut shown: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, from, to) in rows.values().flat_map(|row| &row.waits) {
        *shown.entry(name).or_default() += to - from;
    }
    for cause in [Stall::AluDependency, Stall::MemoryDependency, Stall::Barrier, Stall::UnitBusy] {
        let counted = replay.total.stalls.get(cause);
        assert_eq!(shown.get(cause.name()).copied().unwrap_or(0), counted, "{}", cause.name());
    }
    assert!(
        replay.total.stalls.get(Stall::MemoryDependency) > 0
            && replay.total.stalls.get(Stall::AluDependency) > 0
    );
    assert!(!shown.contains_key("not_selected"), "there is no other warp");
}

/// gtx480's pipeline on paper: I-cache hit 1 + decode 1, one read through the collector's port per cycle from the
/// cycle after issue, latency of FFMA 5.
#[test]
fn the_stages_of_a_dependent_product_take_the_configured_cycles() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one.wtrace");
    let launch = Launch { kernel: 0, stream: 0, blocks: 1, threads: 32 };
    common::record(&path, &[common::arithmetic("chain", 12)], &[Item::Launch(launch)]);
    let trace = Trace::open(&path).expect("the trace");
    let replay = run(&trace, "gtx480", &["gpu.sms=1"], &[], whole());
    let mut text = Vec::new();
    konata::write(&mut text, &trace, &replay, "timing replay").expect("a log");
    let (rows, _) = read_log(&String::from_utf8(text).expect("UTF-8"));
    let products: Vec<&Logged> = rows.values().filter(|row| row.label.contains("FFMA")).collect();
    assert_eq!(products.len(), 12);
    for pair in products[3..].windows(2) {
        let at =
            |row: &Logged, name: &str| row.stages.iter().find(|(_, stage)| stage == name).map(|(at, _)| *at);
        assert_eq!(at(pair[0], "D"), at(pair[0], "F").map(|at| at + 2), "{pair:?}");
        // Reads of R1 and R3 (two registers), then dispatch in the cycle of the last one's arrival.
        assert_eq!(at(pair[0], "X"), at(pair[0], "Oc").map(|at| at + 3), "{pair:?}");
        assert_eq!(at(pair[0], "Wb"), at(pair[0], "X").map(|at| at + 5), "{pair:?}");
        assert_eq!(
            at(pair[1], "Oc"),
            at(pair[0], "Wb"),
            "the next issues in the cycle of the writeback: {pair:?}"
        );
    }
}

#[test]
fn rows_of_the_series_sum_to_the_totals_at_any_interval() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(&folder);
    for (gpu, set, techniques) in MACHINES {
        for interval in [1, 7, 100, 1 << 40] {
            let view = ViewOptions { interval: Some(interval), ..ViewOptions::default() };
            let replay = run(&trace, gpu, set, techniques, view);
            assert_eq!(replay.series.len(), 2, "a series per launch");
            for (launches, series) in &replay.series {
                let stats = replay.launches.get(launches.start).stats;
                assert_eq!(series.rows.len() as u64, stats.counters.cycles.div_ceil(interval));
                for (index, row) in COUNTERS.iter().enumerate() {
                    let sum: u64 = series.rows.iter().map(|row| row.counters.values()[index]).sum();
                    assert_eq!(sum, stats.counters.values()[index], "{gpu}: {} every {interval}", row.name);
                }
                for cause in Stall::ALL {
                    let sum: u64 = series.rows.iter().map(|row| row.stalls.get(*cause)).sum();
                    assert_eq!(sum, stats.stalls.get(*cause), "{gpu}: {} every {interval}", cause.name());
                }
                // The columns that techniques declare do too.
                let infos: Vec<_> = stats.techniques.iter().map(|one| one.info).collect();
                let mut own = 0;
                for (name, value) in stats.techniques.iter().flat_map(TechniqueStats::columns) {
                    let column = Column::find(&name, &infos).expect("a column");
                    assert!(Column::default_of(&infos).contains(&column), "{name}");
                    let of_row = |row| column.value(row).as_u64().expect("a count");
                    assert_eq!(
                        series.rows.iter().map(of_row).sum::<u64>(),
                        value,
                        "{gpu}: {name} every {interval}"
                    );
                    own += value;
                }
                assert_eq!(own > 0, !techniques.is_empty(), "{gpu}");
                // Every interval has all of its scheduler slots.
                let slots = stats.stalls.total() / stats.counters.cycles;
                let mut before = 0;
                for (end, row) in series.ends().zip(&series.rows) {
                    assert_eq!(row.stalls.total(), slots * (end - before), "{gpu} every {interval}");
                    before = end;
                }
            }
        }
    }
}

#[test]
fn columns_are_found_by_name() {
    assert_eq!(Column::find("ipc", &[]), Ok(Column::Ipc));
    assert_eq!(Column::find("stall_barrier", &[]), Ok(Column::Cause(Stall::Barrier)));
    for row in COUNTERS {
        assert_eq!(Column::find(row.name, &[]).expect("a counter").name(), row.name);
    }
    assert!(Column::find("ipcc", &[]).expect_err("unknown").contains("ipcc"));
    let catalogue = timing::techniques::built_in();
    let corf = catalogue.info("corf").expect("built in");
    assert!(Column::find("corf.supplied", &[]).is_err(), "it is not in the run");
    assert_eq!(
        Column::find("corf.supplied", &[corf]).map(|column| column.name()),
        Ok("corf.supplied".to_owned())
    );
    assert!(Column::find("corf.suplied", &[corf]).expect_err("unknown").contains("corf.supplied"));
}
