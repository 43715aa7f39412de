//! Tests of `timing sweep`: one table whatever works on it, a store that survives interruptions, failures as rows.

use crate::common;

use common::{Item, Launch, json, labels, text};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use test_kit::{Tool, end_of, skipped};

const TIMING: &str = env!("CARGO_BIN_EXE_timing");

fn timing(arguments: &[&str], folder: &Path) -> Output {
    common::run(TIMING, arguments, folder)
}

/// A folder with two traces.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let launch = Item::Launch(Launch { kernel: 0, stream: 0, blocks: 24, threads: 128 });
    for (name, kernel, launches) in
        [("a", common::mixed("mixed"), 2), ("b", common::arithmetic("chain", 40), 1)]
    {
        common::record(&folder.path().join(format!("{name}.wtrace")), &[kernel], &vec![launch; launches]);
    }
    folder
}

/// Two traces at 2 × (1 + 3) points.
const SWEEP: [&str; 10] = [
    "sweep",
    "a.wtrace",
    "b.wtrace",
    "--tech",
    "bow",
    "--vary",
    "technique.bow.window=2..4",
    "--vary",
    "sm.max_warps=32,64",
    "--config=gtx480",
];
const RUNS: usize = 2 * 2 * (1 + 3);

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SWEEP[..], more].concat()
}

fn passes(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(output));
    text(output)
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn json_file(folder: &Path, name: &str) -> serde_json::Value {
    serde_json::from_str(&read(folder, name)).expect("JSON")
}

/// Names of the files of a store, and their identities.
fn kept(folder: &Path) -> BTreeSet<(String, String)> {
    let entries = std::fs::read_dir(folder.join("runs")).into_iter().flatten().flatten();
    let identity = |path: &Path| warplab_host::destination::Identity::of(path).map(|it| it.to_string());
    entries
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), identity(&entry.path()).unwrap_or_default())
        })
        .collect()
}

#[test]
fn the_table_is_that_of_replays_at_any_number_of_threads() {
    let folder = recorded();
    for threads in ["1", "2", "3"] {
        passes(&timing(&with(&["--threads", threads, "-o", threads]), folder.path()));
    }
    let table = read(folder.path(), "1/sweep.csv");
    for other in ["2", "3"] {
        assert!(table == read(folder.path(), &format!("{other}/sweep.csv")), "{other} threads");
        let page = |at: &str| std::fs::read(folder.path().join(at)).expect("a file");
        assert!(page("1/sweep.parquet") == page(&format!("{other}/sweep.parquet")));
        assert!(page("1/data.json") == page(&format!("{other}/data.json")));
    }
    assert_eq!(kept(&folder.path().join("1")).len(), RUNS, "the baseline is replayed once");
    let mut lines = table.lines();
    let by = json_file(folder.path(), "1/sweep.csv.provenance.json")["produced_by"].clone();
    assert_eq!(by["traces"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&by["command"][1], &by["machines"][0]["techniques"]["bow"]["window"]),
        (&"sweep".into(), &3.into())
    );
    assert_eq!(json_file(folder.path(), "1/data.json")["produced_by"], by);
    let head = "trace,kernel,launch,machine,techniques,technique_bow_window,sm_max_warps,metric,value,baseline,error";
    assert_eq!(lines.next(), Some(head));
    let replayed = |tech: &[&str]| {
        let base = ["replay", "a.wtrace", "--config", "gtx480", "--set", "sm.max_warps=32", "--json", "-"];
        let value = json(&timing(&[&base[..], tech].concat(), folder.path()));
        value["traces"][0]["launches"][1]["cycles"].as_u64().expect("cycles")
    };
    let (plain, with) = (replayed(&[]), replayed(&["--tech", "bow", "--set", "technique.bow.window=3"]));
    let row = format!("a,mixed,1,gtx480,bow,3,32,cycles,{with},{plain},");
    assert!(table.lines().any(|line| line == row), "{row} is missing in:\n{table}");
    assert!(read(folder.path(), "1/index.html").contains("Beside the baseline"));
}

#[test]
fn nothing_runs_twice_and_a_larger_sweep_goes_on() {
    let folder = recorded();
    passes(&timing(&with(&["-o", "out"]), folder.path()));
    let (before, table) = (kept(&folder.path().join("out")), read(folder.path(), "out/sweep.csv"));
    passes(&timing(&with(&["-o", "out"]), folder.path()));
    assert_eq!(before, kept(&folder.path().join("out")));
    assert!(table == read(folder.path(), "out/sweep.csv"));
    let larger = with(&["--tech", "corf", "-o", "out"]);
    let preview = passes(&timing(&[&larger[..], &["--dry-run"]].concat(), folder.path()));
    assert!(preview.contains("20 of them different, 16 of these finished"), "{preview}");
    passes(&timing(&larger, folder.path()));
    let after = kept(&folder.path().join("out"));
    assert!(before.is_subset(&after) && after.len() == RUNS + 4);
}

#[test]
fn a_killed_sweep_and_two_at_once_give_the_same_table() {
    let folder = recorded();
    passes(&timing(&with(&["-o", "whole"]), folder.path()));
    let start = |out: &str| {
        let mut command = Command::new(TIMING);
        command.args(with(&["--threads", "1", "-o", out])).current_dir(folder.path());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("timing starts")
    };
    let mut killed = start("out");
    let results =
        || kept(&folder.path().join("out")).iter().filter(|(name, _)| name.ends_with(".json")).count();
    while results() < 2 && killed.try_wait().expect("a state").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    killed.kill().expect("killed");
    killed.wait().expect("ended");
    let finished = results();
    let mut both = [start("out"), start("out")];
    for one in &mut both {
        assert!(end_of(one, "a sweep").success());
    }
    assert!(finished >= 2 && results() == RUNS, "{finished} and {} results", results());
    assert!(read(folder.path(), "whole/sweep.csv") == read(folder.path(), "out/sweep.csv"));
}

#[test]
fn an_interrupted_sweep_says_what_is_kept() {
    let folder = recorded();
    let mut command = Command::new(TIMING);
    command.args(with(&["--threads", "1", "-o", "out"])).current_dir(folder.path());
    let mut sweep = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("timing starts");
    while kept(&folder.path().join("out")).is_empty() && sweep.try_wait().expect("a state").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let signalled = Command::new("kill").args(["-INT", &sweep.id().to_string()]).status();
    assert!(signalled.expect("kill starts").success());
    let end = end_of(&mut sweep, "the interrupted sweep");
    let said = std::io::read_to_string(sweep.stderr.take().expect("its messages")).expect("text");
    assert_eq!(
        (end.code(), said.trim()),
        (Some(130), "interrupted: finished runs are kept, and the same command goes on from there")
    );
}

#[test]
fn failures_are_rows_and_the_rest_goes_on() {
    let folder = recorded();
    std::fs::write(folder.path().join("bad.wtrace"), b"no trace").expect("written");
    let arguments = ["sweep", "a.wtrace", "bad.wtrace", "--tech", "bow", "--vary"];
    let arguments = [&arguments[..], &["technique.bow.window=2,99", "-o", "out"]].concat();
    let output = timing(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("nothing was run: 1 of 3"), "{}", text(&output));
    assert!(text(&output).contains("bow window=99: ") && !folder.path().join("out").exists());
    let output = timing(&[&arguments[..], &["--skip-refused"]].concat(), folder.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("4 of 6 runs have no result"), "{}", text(&output));
    let table = read(folder.path(), "out/sweep.csv");
    let failed: Vec<&str> = table.lines().filter(|line| !line.ends_with(',')).skip(1).collect();
    assert_eq!(failed.len(), 4, "{failed:?}");
    assert!(failed[0].starts_with("a,,,titanx-pascal,bow,99,,,,") && failed[0].contains("`window`: 99"));
    assert!(failed[1].starts_with("bad,,,") && failed[1].contains("bad.wtrace"));
    for (mistake, said) in [
        (&["--tech", "bwo"][..], "unknown technique"),
        (&["--vary", "technique.bow.window=2"], "add --tech bow"),
        (&["--machine", "x: bwo"], "did you mean `bow`"),
        (&["--vary", "sm.max_warps=2..1"], "ends before it begins"),
        (&["--slurm", "partitions=x", "-o", "out"], "partitions"),
        (&["--slurm", "time=1"], "name it with --output"),
        (&["--metrics", "("], "--metrics"),
    ] {
        let output = timing(&[&["sweep", "a.wtrace"][..], mistake].concat(), folder.path());
        assert_eq!(output.status.code(), Some(1), "{mistake:?}: {}", text(&output));
        assert!(text(&output).contains(said), "{mistake:?}: {}", text(&output));
    }
}

/// Half of the machines cannot have 16 warps, and one refuses the kernel's blocks: nothing runs, and messages name what was
/// typed.
#[test]
fn every_combination_is_checked_before_the_first_run() {
    let folder = recorded();
    let base = ["sweep", "a.wtrace", "--machine", "gtx480", "--machine", "titanx-pascal", "--vary"];
    for (more, parts) in [
        (
            &["sm.max_warps=16,32", "-o", "out"][..],
            &[
                "2 of 4 combinations",
                "gtx480 sm.max_warps=16: sm.max_warps=16: `sm.max_threads_per_block`: 1024 is refused",
                "titanx-pascal sm.max_warps=16",
                "32 × sm.max_warps = 512",
                "--skip-refused",
            ][..],
        ),
        // The kernel has registers for no block.
        (&["sm.registers=65536,256", "-o", "out"], &["a at gtx480 sm.registers=256: ", "registers"]),
    ] {
        let output = timing(&[&base[..], more].concat(), folder.path());
        assert_eq!(output.status.code(), Some(1), "{more:?}: {}", text(&output));
        assert!(parts.iter().all(|part| text(&output).contains(part)), "{more:?}: {}", text(&output));
        assert!(!text(&output).contains("--set"), "nobody wrote --set: {}", text(&output));
        assert!(!folder.path().join("out").exists(), "{more:?}: nothing was run");
        let output = timing(&[&base[..], more, &["--skip-refused"]].concat(), folder.path());
        assert!(text(&output).contains("2 of 4 runs have no result"), "{more:?}: {}", text(&output));
        std::fs::remove_dir_all(folder.path().join("out")).expect("the others ran");
    }
}

#[test]
fn a_work_file_is_done_by_number_and_merged() {
    let folder = recorded();
    passes(&timing(&with(&["-o", "whole"]), folder.path()));
    std::fs::create_dir(folder.path().join("out")).expect("made");
    std::fs::copy(folder.path().join("whole/work.json"), folder.path().join("out/work.json"))
        .expect("copied");
    // From another folder, as a scheduler may start it.
    let work = folder.path().join("out/work.json").display().to_string();
    let one = passes(&timing(&["sweep", "--work", &work, "--index", "3"], Path::new("/")));
    assert!(one.contains("run 3: a at bow window=2 sm.max_warps=64: "), "{one}");
    let merged = timing(&["sweep", "--work", &work, "--merge"], Path::new("/"));
    assert_eq!(merged.status.code(), Some(1));
    assert!(text(&merged).contains("it has not run yet") && text(&merged).contains("15 of 16 runs"));
    passes(&timing(&["sweep", "--work", &work, "--index", "0-7,10"], Path::new("/")));
    passes(&timing(&["sweep", "--work", &work], Path::new("/")));
    assert!(read(folder.path(), "whole/sweep.csv") == read(folder.path(), "out/sweep.csv"));
    let beyond = timing(&["sweep", "--work", &work, "--index", "16"], Path::new("/"));
    assert!(text(&beyond).contains("there are 16 runs, numbered from 0"), "{}", text(&beyond));
    // Another trace under the same name is not taken for the planned one.
    std::fs::remove_dir_all(folder.path().join("out/runs")).expect("removed");
    std::fs::copy(folder.path().join("b.wtrace"), folder.path().join("a.wtrace")).expect("copied");
    let changed = timing(&["sweep", "--work", &work, "--index", "0"], Path::new("/"));
    assert_eq!(changed.status.code(), Some(1));
    assert!(text(&changed).contains("another content"), "{}", text(&changed));
}

#[test]
fn a_file_and_named_machines_describe_a_sweep() {
    let folder = recorded();
    let file = "traces = [\"?.wtrace\"]\nconfig = \"gtx480\"\nmachine = [\"w3: bow, technique.bow.window=3\", \"plain: gtx480\"]\n\
                vary = [\"sm.max_warps=32,48\", \"collectors.ports=1,2\"]\nzip = true\nmetrics = \"^cycles$\"\n";
    std::fs::write(folder.path().join("sweep.toml"), file).expect("written");
    let output = timing(&["sweep", "--file", "sweep.toml", "--json", "-"], folder.path());
    let value = json(&output);
    let labels = labels(&value);
    let expected = [
        "plain sm.max_warps=32 collectors.ports=1",
        "w3 bow sm.max_warps=32 collectors.ports=1",
        "plain sm.max_warps=48 collectors.ports=2",
        "w3 bow sm.max_warps=48 collectors.ports=2",
    ];
    assert_eq!(labels, expected);
    assert_eq!(value["runs"].as_array().map(Vec::len), Some(8));
    assert_eq!(value["runs"][0]["metrics"].as_object().map(serde_json::Map::len), Some(1));
    std::fs::write(folder.path().join("wrong.toml"), "trace = []\n").expect("written");
    let wrong = timing(&["sweep", "--file", "wrong.toml"], folder.path());
    assert!(text(&wrong).contains("wrong.toml:1: unknown field `trace`"), "{}", text(&wrong));
}

/// Mounts a small file system; none where that is forbidden.
fn small_disk(at: &Path, size: &str) -> bool {
    std::fs::create_dir_all(at).expect("made");
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).output();
    mount.is_ok_and(|output| output.status.success())
}

#[test]
fn a_full_disk_ends_a_sweep_that_goes_on_when_there_is_room() {
    let folder = recorded();
    let disk = folder.path().join("disk");
    if !small_disk(&disk, "120k") {
        return skipped(Tool::System, "nothing may be mounted");
    }
    passes(&timing(&with(&["-o", "whole"]), folder.path()));
    let full = timing(&with(&["-o", "disk/out"]), folder.path());
    let remount = ["-o", "remount,size=64m"].map(str::to_owned);
    let room = Command::new("mount").args(remount).arg(&disk).output().expect("mount starts");
    let again = timing(&with(&["-o", "disk/out"]), folder.path());
    let table = std::fs::read_to_string(disk.join("out/sweep.csv"));
    Command::new("umount").arg(&disk).output().expect("umount starts");
    assert_eq!(full.status.code(), Some(1));
    assert!(text(&full).contains("No space left"), "{}", text(&full));
    assert!(room.status.success() && again.status.success(), "{}", text(&again));
    assert!(read(folder.path(), "whole/sweep.csv") == table.expect("a table"));
}
