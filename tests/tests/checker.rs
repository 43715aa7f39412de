//! The checker on CUDA kernels with one mistake each: it names the line of the mistake, and reports nothing for the
//! same kernels without it, for bundled workloads and for programs whose blocks and lanes wait for one another.

use crate::launch_kit;

use emulator::check::{CheckKind, Checker, Checks, Finding};
use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, Setup};
use std::path::{Path, PathBuf};

fn path(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(of)
}

/// Checks one launch; `buffers` are its arguments, without contents where none are given, `scalars` follow.
fn check(
    ptx: &str,
    kernel: &str,
    (grid, block): (u32, u32),
    buffers: &[(u32, Option<&str>)],
    scalars: &[u32],
) -> (Vec<Finding>, bool) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let of = |(i, (len, init)): (usize, &(u32, Option<&str>))| {
        (format!("b{i}"), *len as usize, init.map(|init| format!("{init:?}")))
    };
    let buffers: Vec<launch_kit::Buffer> = buffers.iter().enumerate().map(of).collect();
    let mut session = launch_kit::open(folder.path(), &path(ptx), (kernel, grid, block), &buffers, scalars);
    let mut checker = Checker::new(Checks::ALL, 20);
    let run = session.run_checked(&Options::default(), &mut checker, &Unobserved);
    (checker.findings().list().to_vec(), run.is_ok())
}

/// The line of the CUDA source that a kernel's mistake is marked on.
fn marked(kernel: &str) -> u32 {
    let source = std::fs::read_to_string(path("checker/checker.cu")).expect("the source");
    let mark = format!("// BAD {kernel}");
    source.lines().position(|l| l.ends_with(&mark)).expect("a mark") as u32 + 1
}

const INPUT: Option<&str> = Some("iota");

/// Kernel, launch, buffers, scalars, the check that finds its mistake, and a part of its message.
type Case = (
    &'static str,
    (u32, u32),
    &'static [(u32, Option<&'static str>)],
    &'static [u32],
    CheckKind,
    &'static str,
);

const CASES: &[Case] = &[
    (
        "past_the_end",
        (2, 64),
        &[(100, INPUT), (100, None)],
        &[100],
        CheckKind::Memcheck,
        "past the end of `b",
    ),
    (
        "reads_unwritten",
        (2, 64),
        &[(100, INPUT), (100, None)],
        &[100],
        CheckKind::Initcheck,
        "read of `b1` + 4 ",
    ),
    ("reads_unwritten_shared", (2, 64), &[(64, None)], &[], CheckKind::Initcheck, "shared memory at 0x100"),
    ("forgotten_barrier", (1, 64), &[(64, None)], &[], CheckKind::Racecheck, "race on shared memory"),
    ("overwritten_too_early", (1, 64), &[(64, None)], &[], CheckKind::Racecheck, "race on shared memory"),
    ("forgotten_syncwarp", (1, 32), &[(32, None)], &[], CheckKind::Racecheck, "race on shared memory"),
    ("lost_updates", (1, 64), &[(64, INPUT), (8, None)], &[], CheckKind::Racecheck, "race on shared memory"),
    (
        "divergent_barrier",
        (1, 64),
        &[(64, None)],
        &[],
        CheckKind::Synccheck,
        "divergent barrier 0: lanes 0x55555555",
    ),
    (
        "different_barriers",
        (1, 64),
        &[(64, None)],
        &[],
        CheckKind::Synccheck,
        "different instructions for barrier 0",
    ),
    ("divides", (1, 64), &[(64, INPUT), (64, None)], &[], CheckKind::Divcheck, "division by zero"),
    ("uses_freed", (1, 32), &[(32, None)], &[], CheckKind::Memcheck, "freed or was never allocated"),
];

#[test]
fn every_mistake_is_found_where_it_is() {
    for (kernel, launch, buffers, scalars, by, told) in CASES {
        let (findings, _) = check("checker/checker.ptx", kernel, *launch, buffers, scalars);
        let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
        let shown = shown.join("\n\n");
        let mine =
            findings.iter().find(|f| f.what.contains(told)).unwrap_or_else(|| panic!("{kernel}:\n{shown}"));
        // The racing word is also read before it is written.
        let race = *by == CheckKind::Racecheck;
        let expected = |f: &Finding| f.check == *by || race && f.check == CheckKind::Initcheck;
        assert!(findings.iter().all(expected), "{kernel}:\n{shown}");
        let line = marked(kernel);
        let lines: Vec<u32> = findings.iter().filter_map(|f| f.site.cuda.as_ref().map(|c| c.1)).collect();
        assert!(lines.contains(&line), "{kernel}, line {line}:\n{shown}");
        assert_eq!(mine.kernel, *kernel);
        assert!(
            mine.site.ptx_line > 0 && shown.contains("checker.ptx:") && shown.contains("checker.cu:"),
            "{shown}"
        );
        if *by == CheckKind::Racecheck {
            let other = mine.other.as_ref().expect("the other access");
            assert!(other.thread != mine.site.thread && other.ptx_line > 0, "{shown}");
        }
    }
}

#[test]
fn the_same_kernels_without_the_mistake_are_clean() {
    let mut checked = 0;
    let source = std::fs::read_to_string(path("checker/checker.cu")).expect("the source");
    for (kernel, launch, buffers, scalars, ..) in CASES {
        let ok = format!("{kernel}_ok");
        if source.contains(&format!("{ok}(")) {
            let (findings, completed) = check("checker/checker.ptx", &ok, *launch, buffers, scalars);
            assert!(findings.is_empty() && completed, "{ok}: {findings:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 7);
    let (findings, completed) =
        check("checker/checker.ptx", "under_a_lock_ok", (3, 256), &[(256, None)], &[]);
    assert!(findings.is_empty() && completed, "{findings:?}");
}

#[test]
fn counts_are_of_threads() {
    let buffers = [(100, INPUT), (100, None)];
    let (findings, completed) = check("checker/checker.ptx", "past_the_end", (2, 64), &buffers, &[100]);
    assert!(completed, "the rest of the kernel runs");
    assert_eq!(findings.iter().map(|f| f.count).collect::<Vec<_>>(), [28, 28], "{findings:?}");
    assert_eq!((findings[0].site.block, findings[0].site.thread), ([1, 0, 0], [36, 0, 0]));
}

/// A kernel, grid and block, the length and contents of its buffers, and its scalars.
type Waiting<'a> = (&'a str, (u32, u32), &'a [(u32, Option<&'a str>)], &'a [u32]);

#[test]
fn waiting_programs_are_clean() {
    let zeros = Some("zeros");
    let cases: [Waiting<'_>; 4] = [
        ("rounds", (4, 64), &[(256, INPUT), (256, zeros)], &[3]),
        ("scan_look_back", (5, 256), &[(1280, INPUT), (1280, None), (5, zeros), (10, None)], &[1280]),
        ("spin_lock", (2, 64), &[(1, zeros), (1, zeros), (128, None)], &[]),
        ("lanes_of_a_warp", (1, 32), &[(16, None)], &[]),
    ];
    for (kernel, launch, buffers, scalars) in cases {
        let (findings, completed) = check("waiting/waiting.ptx", kernel, launch, buffers, scalars);
        assert!(findings.is_empty() && completed, "{kernel}: {findings:?}");
    }
}

#[test]
fn bundled_workloads_are_clean() {
    for workload in tests::tabled_workloads() {
        let manifest = path("").join(&workload.manifests()[0]);
        let mut session = Session::open_manifest(&manifest, &Setup::default()).expect("a session");
        let mut checker = Checker::new(Checks::ALL, 20);
        session.run_checked(&Options::default(), &mut checker, &Unobserved).expect("a run");
        let shown: Vec<String> = checker.findings().list().iter().map(ToString::to_string).collect();
        assert!(shown.is_empty(), "{}: {}", workload.name, shown.join("\n\n"));
    }
}
