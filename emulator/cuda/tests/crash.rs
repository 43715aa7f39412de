//! Recordings that fail: killed, on a full disk, two of one file. The part that had been recorded
//! stays readable, the older trace stays until the new one is whole, and the program itself is not disturbed.

use crate::kit;

use crash_kit::{Moment, ended, finished, guest, kill, left, short_of_space};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;
use test_kit::Random;
use warplab_host::destination::{Destination, Identity};

fn scratch() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        // Removes files of earlier runs.
        let _ = std::fs::remove_dir_all(Path::new(env!("CARGO_TARGET_TMPDIR")).join("crash"));
        kit::libraries("crash")
    });
    &FOLDER
}

/// The compiled program; `None` without a C compiler.
fn program() -> Option<&'static Path> {
    static PROGRAM: LazyLock<Option<PathBuf>> = LazyLock::new(|| guest(scratch(), scratch()));
    if PROGRAM.is_none() {
        kit::skipped(kit::Tool::Compiler, "no C compiler");
    }
    PROGRAM.as_deref()
}

/// A new folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = scratch().join(name);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// Records as `emu record` does: an existing file is replaced.
fn recording(mut command: Command, trace: &Path, launches: u64, blocks: u64) -> Command {
    command.args([launches, blocks].map(|n| n.to_string()));
    command.env("LD_LIBRARY_PATH", scratch()).env("WARPLAB_RECORD", trace).env("WARPLAB_THREADS", "2");
    if let Some(older) = Identity::of(trace) {
        command.env("WARPLAB_RECORD_REPLACES", older.to_string());
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn a_killed_program_leaves_every_launch_that_it_has_waited_for() {
    let Some(program) = program() else { return };
    let (folder, mut random) = (folder("killed"), Random::new(20));
    let config = timing::config::load("gtx480", &["gpu.sms=2".to_owned()]).expect("a machine").config;
    let trace = folder.join("t.wtrace");
    let (mut launches, mut unfinished) = (0, 0);
    for round in 0..50 {
        let older = Identity::of(&trace);
        let (count, blocks) = (1 + random.below(60), 1 + random.below(12));
        let moment = Moment {
            lines: random.below(count + 1),
            then: Duration::from_micros(random.below(3) * random.below(2000)),
        };
        let printed = kill(recording(Command::new(program), &trace, count, blocks), moment);
        launches += printed;
        let found = left(&trace, older.as_ref(), printed);
        let found = found.unwrap_or_else(|what| panic!("round {round}, {moment:?}: {what}"));
        if let Some(path) = found.filter(|path| *path != trace) {
            unfinished += 1;
            if round % 10 == 0 {
                let opened = trace_format::reader::Trace::open(&path).expect("it can be read");
                let options = timing::replay::ReplayOptions::default();
                let replay = timing::replay::replay(&opened, &config, &[], &options).expect("it is replayed");
                assert!(replay.launches.len() as u64 >= printed);
            }
        }
        // It does not disturb the next recording, which replaces it when it is whole.
        if random.below(3) == 0 {
            let child = recording(Command::new(program), &trace, 3, 2).spawn().expect("it starts");
            let (status, said) = ended(child);
            assert!(status.success(), "round {round}: {said}");
            finished(&trace, 3).unwrap_or_else(|what| panic!("round {round}: {what}"));
            assert_eq!(names(&folder), ["t.wtrace"], "round {round}");
        }
        for part in Destination::of(&trace).unfinished() {
            std::fs::remove_file(part).expect("it is there");
        }
    }
    // The moments of the kills are spread over a run.
    assert!(launches > 300 && unfinished > 20, "{launches} launches, {unfinished} unfinished");
}

#[test]
fn a_program_whose_trace_cannot_be_written_goes_on_and_does_not_end_well() {
    let Some(program) = program() else { return };
    let trace = folder("full").join("t.wtrace");
    std::fs::write(&trace, "of an earlier run").expect("written");
    let older = Identity::of(&trace);
    let child = recording(short_of_space(program), &trace, 200, 8).spawn().expect("it starts");
    let (status, said) = ended(child);
    assert_eq!(status.code(), Some(1), "{said}");
    for part in
        ["right\n", "nothing more is recorded", "the trace is not complete", "is in ", "t.wtrace.part"]
    {
        assert!(said.contains(part), "{said}\nlacks {part}");
    }
    let path = left(&trace, older.as_ref(), 1).expect("the beginning is there");
    assert_eq!(path.as_deref(), Some(&*trace.with_extension("wtrace.part")));
    // A full device, and a folder that does not exist.
    for nowhere in ["/dev/full", "/nonexistent/t.wtrace"] {
        let command = recording(Command::new(program), nowhere.as_ref(), 7, 2).spawn();
        let (status, said) = ended(command.expect("it starts"));
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(said.contains("right\n") && said.contains("the trace is not complete"), "{said}");
    }
    // The program's own exit code is kept if it fails, and if nothing is recorded.
    let mut command = Command::new(program);
    command.args(["5", "2"]).env("LD_LIBRARY_PATH", scratch()).env("WARPLAB_SUMMARY", "text");
    assert!(command.output().expect("it starts").status.success());
}

/// A file system of a given size; mounting it requires privileges.
#[test]
fn a_full_disk_leaves_what_fits() {
    let Some(program) = program() else { return };
    let namespace = ["--user", "--map-root-user", "--mount"];
    let can = |flags: &[&str]| {
        let mount = "mount -t tmpfs -o size=64k none /mnt";
        let mut command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", mount]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let flags = match (can(&namespace), can(&["--mount"])) {
        (true, _) => &namespace[..],
        (false, true) => &["--mount"][..],
        (false, false) => {
            kit::skipped(kit::Tool::System, "no file system can be mounted here");
            return;
        }
    };
    let folder = folder("tmpfs");
    let disk = folder.join("disk");
    std::fs::create_dir_all(&disk).expect("made");
    let script = "mount -t tmpfs -o size=64k none \"$1\" && echo older > \"$1/t.wtrace\" || exit 99\n\
                  \"$3\" 400 8; code=$?; ls \"$1\" >&2; cp \"$1\"/* \"$2\"; exit $code";
    let mut command = Command::new("unshare");
    command.args(flags).args(["sh", "-c", script, "sh"]).arg(&disk).arg(&folder).arg(program);
    command.env("LD_LIBRARY_PATH", scratch()).env("WARPLAB_RECORD", disk.join("t.wtrace"));
    let output = command.stdout(Stdio::null()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("right\n") && said.contains("No space left on device"), "{said}");
    // The older trace is not of a run that makes room, so that the new one has another name.
    assert_eq!(std::fs::read(folder.join("t.wtrace")).expect("it is still there"), b"older\n");
    let part =
        names(&folder).into_iter().find(|name| name.ends_with(".part")).expect("the beginning is there");
    let opened = trace_format::reader::Trace::open(folder.join(part)).expect("it can be read");
    assert!(opened.launches().len() > 1);
}

#[test]
fn programs_that_record_into_one_file_keep_their_traces() {
    let Some(program) = program() else { return };
    let mut random = Random::new(5);
    for round in 0..6 {
        let folder = folder(&format!("two-{round}"));
        let trace = folder.join("t.wtrace");
        if round % 2 == 1 {
            let child = recording(Command::new(program), &trace, 1, 1).spawn().expect("it starts");
            assert!(ended(child).0.success());
        }
        let commands = [20, 30, 40].map(|launches| recording(Command::new(program), &trace, launches, 3));
        let children = commands.map(|mut command| {
            let child = command.spawn().expect("it starts");
            std::thread::sleep(Duration::from_millis(random.below(30)));
            child
        });
        for child in children {
            let (status, said) = ended(child);
            assert!(status.success(), "{said}");
        }
        let names = names(&folder);
        assert_eq!(names.len(), 3, "{names:?}");
        let opened = names.iter().map(|name| folder.join(name));
        let mut counts: Vec<u64> = opened
            .map(|path| {
                let count =
                    trace_format::reader::Trace::open(&path).expect("a trace").launches().len() as u64;
                finished(&path, count).expect("it is sound");
                count
            })
            .collect();
        counts.sort_unstable();
        assert_eq!(counts, [20, 30, 40]);
        assert!(Destination::of(&trace).unfinished().is_empty());
    }
}

#[test]
fn nothing_recorded_is_told_where_an_older_trace_stays() {
    let Some(program) = program() else { return };
    let trace = folder("nothing").join("t.wtrace");
    std::fs::write(&trace, "older").expect("written");
    let child = recording(Command::new(program), &trace, 0, 2).spawn().expect("it starts");
    let (status, said) = ended(child);
    assert!(status.success() && said.contains("nothing was recorded"), "{said}");
    assert_eq!(std::fs::read(&trace).expect("it is still there"), b"older");
}
