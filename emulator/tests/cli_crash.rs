//! `emu record APP.ptx` when it is killed, the disk is full, or another one writes the same file: the older trace stays until the new one is whole,
//! and the part of the new one that is written can be read.

use crate::cli_kit;

use cli_kit::Folder;
use crash_kit::{Moment, ended, finished, kill, left, short_of_space};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use test_kit::Random;
use warplab_host::destination::{Destination, Identity};

const PTX: &str = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 to) {\n\
    .reg .b32 %r<8>; .reg .b64 %a<4>; .reg .pred %p;\n\
    ld.param.u64 %a0, [to]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n\
    mad.lo.u32 %r3, %r0, %r1, %r2; mul.wide.u32 %a1, %r3, 4; add.u64 %a1, %a0, %a1; mov.u32 %r4, 0;\n\
    again: ld.global.u32 %r5, [%a1]; mad.lo.u32 %r5, %r5, 1664525, %r3; st.global.u32 [%a1], %r5;\n\
    add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 64; @%p bra again; ret;\n}\n";

const LAUNCHES: u64 = 12;

fn folder() -> Folder {
    let launch = "[[launch]]\nkernel = \"k\"\ngrid = [64, 1, 1]\nblock = [64, 1, 1]\nargs = [\"@to\"]\n";
    let manifest = manifest("\"zeros\"") + &launch.repeat(LAUNCHES as usize - 1);
    Folder::new().file("app.ptx", PTX).file("app.toml", &manifest)
}

fn manifest(init: &str) -> String {
    format!(
        "ptx = \"app.ptx\"\n[buffers.to]\ntype = \"u32\"\nlen = 4096\ninit = {init}\n\
         [[launch]]\nkernel = \"k\"\ngrid = [64, 1, 1]\nblock = [64, 1, 1]\nargs = [\"@to\"]\n"
    )
}

/// Records `app.ptx` with `emu`, or with a command that starts it.
fn record(folder: &Folder, mut command: Command) -> Command {
    command.args(["record", "app.ptx", "--threads", "2"]).current_dir(folder.path(""));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn emu() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_emu"))
}

fn names(folder: &Folder) -> Vec<String> {
    let mut names = folder.names();
    names.sort();
    names
}

#[test]
fn a_killed_recording_can_be_read_and_the_older_one_stays() {
    let (folder, mut random) = (folder(), Random::new(8));
    let trace = folder.path("app.wtrace");
    let started = Instant::now();
    let (status, said) = ended(record(&folder, Command::new(emu())).spawn().expect("emu starts"));
    assert!(status.success(), "{said}");
    finished(&trace, LAUNCHES).expect("it is whole");
    // The moments of the kills depend on how long a recording takes here: rounds continue until enough were
    // interrupted.
    let (whole, mut took) =
        (std::fs::read(&trace).expect("it is there"), started.elapsed().as_micros() as u64);
    let (mut unfinished, mut round) = (0, 0);
    let _watchdog = test_kit::Watchdog::over("recordings that are killed");
    while round < 50 || unfinished <= 5 {
        std::fs::write(&trace, format!("older {round}")).expect("written");
        let older = Identity::of(&trace);
        let moment = Moment { lines: 0, then: Duration::from_micros(random.below(took * 5 / 4)) };
        kill(record(&folder, Command::new(emu())), moment);
        let found = left(&trace, older.as_ref(), 0);
        let found = found.unwrap_or_else(|what| panic!("round {round}, {moment:?}: {what}"));
        match found {
            Some(path) if path != trace => unfinished += 1,
            Some(_) => took = (took * 15 / 16).max(1),
            None => took += took / 16 + 1,
        }
        if round % 10 == 9 {
            let (status, said) = ended(record(&folder, Command::new(emu())).spawn().expect("emu starts"));
            assert!(status.success(), "{said}");
            assert!(std::fs::read(&trace).expect("it is there") == whole, "another trace than before");
            assert_eq!(names(&folder), ["app.ptx", "app.toml", "app.wtrace"]);
        } else {
            for part in Destination::of(&trace).unfinished() {
                std::fs::remove_file(part).expect("it is there");
            }
        }
        round += 1;
    }
}

#[test]
fn a_recording_that_is_short_of_space_says_so_and_leaves_the_older_one() {
    let folder = folder().file("app.wtrace", "older");
    let (status, said) = ended(record(&folder, short_of_space(emu())).spawn().expect("it starts"));
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("error: ") && said.contains("cannot write"), "{said}");
    assert_eq!(names(&folder), ["app.ptx", "app.toml", "app.wtrace"]);
    assert_eq!(std::fs::read(folder.path("app.wtrace")).expect("it is there"), b"older");
    folder.emu(&["record", "app.ptx", "-o", "/dev/full"]).fails(&["/dev/full", "No space left"]);
    folder.emu(&["record", "ap.ptx", "-o", "app.wtrace"]).fails(&["ap.ptx"]);
    assert_eq!(std::fs::read(folder.path("app.wtrace")).expect("it is there"), b"older");
}

#[test]
fn recordings_into_one_file_are_both_kept() {
    let folder = folder().file("app.wtrace", "older");
    let start = || record(&folder, Command::new(emu())).spawn().expect("emu starts");
    let children = [start(), start(), start()];
    let mut told = 0;
    for child in children {
        let (status, said) = ended(child);
        assert!(status.success(), "{said}");
        told += u32::from(said.contains("was written by another process meanwhile"));
    }
    let traces: Vec<String> = names(&folder).into_iter().filter(|name| name.ends_with(".wtrace")).collect();
    // A recording that began after another had ended has replaced its file, as it should.
    assert_eq!(traces.len() as u32, 1 + told, "{traces:?}");
    assert!(traces.contains(&"app.wtrace".to_owned()));
    for name in traces {
        finished(&folder.path(&name), LAUNCHES).expect("it is whole");
    }
    assert!(names(&folder).iter().all(|name| !name.contains(".part")));
}

#[test]
fn inputs_without_end_are_refused() {
    let folder = folder().file("zero.toml", &manifest("{ file = \"/dev/zero\" }"));
    for (args, told) in [
        (&["run", "/dev/zero"][..], "/dev/zero"),
        (&["run", "app.ptx", "--launch", "/dev/zero"], "it has more than 64 MiB"),
        (&["run", "app.ptx", "--launch", "zero.toml"], "it has more than 16384 bytes"),
        (&["inspect", "/dev/zero"], "/dev/zero"),
        (&["disasm", "/dev/zero"], "/dev/zero"),
        (&["extract", "/dev/zero"], "it has more than 256 MiB"),
    ] {
        folder.emu(args).fails(&[told]);
    }
    // A pipe whose writer never ends.
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let writer = Command::new("sh").args(["-c", "exec yes 'x = 1' > \"$0\""]).arg(&pipe).spawn();
    let mut writer = writer.expect("sh starts");
    folder.emu(&["run", "app.ptx", "--launch", "pipe"]).fails(&["it has more than 64 MiB"]);
    // The pipe ends it otherwise.
    let _ = writer.kill();
    let _ = writer.wait();
}
