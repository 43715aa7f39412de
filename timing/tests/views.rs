//! Tests of timelines, the Konata log and time series: read back and compared with the statistics.

mod common;

use common::{Item, Launch};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use timing::config::load;
use timing::observe::ViewOptions;
use timing::replay::{Replay, ReplayOptions, replay};
use timing::stats::Column;
use timing::stats::{COUNTERS, Stall, TechniqueStats};
use timing::techniques::Catalogue;
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
    let techniques = Catalogue::built_in().select(&names, &config).expect("techniques");
    let options = ReplayOptions { view, threads: 2, ..ReplayOptions::default() };
    replay(trace, &config, &techniques, &options).expect("a replay")
}

fn whole() -> ViewOptions {
    ViewOptions { window: Some(0..u64::MAX), ..ViewOptions::default() }
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
        assert!(process == 0 || process == 2, "only SM 1 is shown");
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
        let recordings = || seen.launches.iter().flat_map(|launch| &launch.recordings);
        assert!(recordings().any(|one| one.full_at.is_some()), "{gpu}");
        assert!(recordings().all(|one| one.insts.len() + one.slots.len() <= 50), "{gpu}");
    }
}

/// Content of a Kanata log for an instruction.
#[derive(Default, Debug)]
struct Logged {
    stages: Vec<(u64, String)>,
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
                assert!(row.end.is_none() && number(2) == 0, "{line}");
                row.stages.push((cycle(), fields[3].to_owned()));
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
            // Viewers pass over what they do not know.
            comment if comment.starts_with("# produced_by ") => {}
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
        konata::write(&mut text, &trace, &replay, &Value::Null).expect("a log");
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
    konata::write(&mut text, &trace, &replay, &Value::Null).expect("a log");
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
                let stats = &replay.launches[launches.start].stats;
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
    let catalogue = Catalogue::built_in();
    let corf = catalogue.info("corf").expect("built in");
    assert!(Column::find("corf.supplied", &[]).is_err(), "it is not in the run");
    assert_eq!(
        Column::find("corf.supplied", &[corf]).map(|column| column.name()),
        Ok("corf.supplied".to_owned())
    );
    assert!(Column::find("corf.suplied", &[corf]).expect_err("unknown").contains("corf.supplied"));
}
