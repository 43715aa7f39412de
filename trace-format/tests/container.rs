//! Tests of whole traces: cursors regenerate the recorded values; the bytes do not depend on the order in
//! which blocks finish; the writer refuses invalid input.

use crate::common;

use common::*;
use proptest::prelude::*;
use std::path::PathBuf;
use trace_format::container::TraceError;
use trace_format::isa::*;
use trace_format::reader::Trace;
use trace_format::semantics::Code;
use trace_format::validate::{Progress, validate};
use trace_format::writer::{TraceWriter, WriterOptions};

fn small_frames() -> WriterOptions {
    WriterOptions::default().with_frame_bytes(2000)
}

fn in_dir(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("t.wtrace")
}

/// Compares every warp of a trace with the recording machine's log.
fn check_log(trace: &Trace, log: &Log) {
    for (launch, blocks) in log.iter().enumerate() {
        for (block, warps) in blocks.iter().enumerate() {
            for (warp, seen) in warps.iter().enumerate() {
                check_warp(trace, (launch as u32, block as u64, warp as u32), seen);
            }
        }
    }
}

fn check_warp(trace: &Trace, (launch, block, warp): (u32, u64, u32), seen: &[Seen]) {
    let mut cursor = trace.warp_cursor(launch, block, warp).unwrap();
    for expected in seen {
        let next = cursor.peek().unwrap();
        assert_eq!((next.pc, next.active), (expected.pc, expected.active));
        let step = cursor.step().unwrap().unwrap();
        let inst = cursor.code().inst(step.pc);
        let got = Seen {
            pc: step.pc,
            active: step.active,
            exec: step.exec,
            dst: (inst.dst_rows > 0).then(|| *cursor.warp().row(inst.dst)),
            preds: inst.pdst.map(|p| cursor.warp().pred(p)),
            address: cursor
                .mem()
                .filter(|m| m.mask != 0)
                .map(|m| m.addresses[m.mask.trailing_zeros() as usize]),
        };
        assert_eq!(&got, expected, "launch {launch}, block {block}, warp {warp}");
    }
    assert_eq!(cursor.peek(), None);
    assert_eq!(cursor.step().unwrap(), None);
    assert_eq!(cursor.steps(), seen.len() as u64);
    let mut path = trace.path_cursor(launch, block, warp).unwrap();
    let mut at = 0;
    while let Some(entered) = path.step().unwrap() {
        assert_eq!((entered.first, entered.active), (seen[at].pc, seen[at].active));
        at += (entered.end.0 - entered.first.0) as usize;
    }
    assert_eq!(at, seen.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_survive(seed in any::<u64>(), grid in 1u32..12, threads in 1u32..150, parts in prop::option::of(1u64..40)) {
        let dir = tempfile::tempdir().unwrap();
        let path = in_dir(&dir);
        let (a, b) = (random_kernel(seed), random_uniform_kernel(seed ^ 1));
        let launches = [(&a, grid, threads), (&b, 3, 40), (&a, 2, threads)];
        let (summary, log) = record(&path, &launches, &small_frames(), seed, parts).unwrap();
        let trace = Trace::open(&path).unwrap();
        prop_assert_eq!(trace.incomplete(), None);
        prop_assert_eq!(trace.kernel_count(), if a == b { 1 } else { 2 });
        prop_assert_eq!(trace.kernel_of(2), &a);
        prop_assert_eq!(trace.file_bytes(), summary.file_bytes);
        check_log(&trace, &log);
        let report = validate(&path, 2, &Progress::default()).unwrap();
        prop_assert!(report.is_sound(), "{:?}", report.problems);
        let steps: usize = log.iter().flatten().flatten().map(Vec::len).sum();
        prop_assert_eq!(report.warp_instructions, steps as u64);
        prop_assert_eq!(summary.warp_instructions, steps as u64);
        prop_assert_eq!(summary.thread_instructions, report.thread_instructions);
    }

    #[test]
    fn recordings_are_byte_identical(seed in any::<u64>(), order in any::<u64>()) {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("1"), dir.path().join("2"));
        let kernel = random_kernel(seed);
        record(&one, &[(&kernel, 20, 64)], &small_frames(), 0, None).unwrap();
        record(&two, &[(&kernel, 20, 64)], &small_frames(), order, None).unwrap();
        prop_assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    }
}

#[test]
fn threads_record_together_and_cursors_are_shared() {
    let dir = tempfile::tempdir().unwrap();
    let (path, single) = (in_dir(&dir), dir.path().join("single"));
    let kernel = random_kernel(77);
    let (_, log) = record(&single, &[(&kernel, 60, 96)], &small_frames(), 0, Some(7)).unwrap();
    let launch = launch_record(0, 60, 96);
    let options = small_frames().with_window_bytes(4000);
    let mut writer = TraceWriter::create(&path, &options).unwrap();
    writer.kernel(&kernel).unwrap();
    let (geometry, code) = (launch.geometry, Code::prepare(&kernel, &launch.banks));
    let run = writer.launch(launch).unwrap();
    let next = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut recorder = run.recorder();
                loop {
                    let block = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if block >= 60 {
                        break;
                    }
                    run_block(&kernel, &code, &geometry, block, &mut recorder, &run, Some(7)).unwrap();
                }
            });
        }
    });
    run.finish().unwrap();
    writer.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&single).unwrap());
    let trace = Trace::open(&path).unwrap();
    std::thread::scope(|scope| {
        for t in 0..4 {
            let (trace, log) = (&trace, &log);
            scope.spawn(move || {
                for block in (t..60).step_by(4) {
                    for warp in 0..3 {
                        check_warp(trace, (0, block as u64, warp), &log[0][block][warp as usize]);
                    }
                }
            });
        }
    });
}

#[test]
fn a_restarted_cursor_is_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = in_dir(&dir);
    let (a, b) = (random_kernel(5), random_kernel(6));
    let (_, log) = record(&path, &[(&a, 3, 64), (&b, 3, 33)], &small_frames(), 0, None).unwrap();
    let trace = Trace::open(&path).unwrap();
    let mut cursor = trace.warp_cursor(0, 0, 0).unwrap();
    for (launch, block, warp) in [(0, 2, 1), (1, 1, 1), (0, 0, 0), (1, 0, 0)] {
        cursor.step().unwrap();
        cursor.restart(launch, block, warp).unwrap();
        let mut pcs = Vec::new();
        while let Some(step) = cursor.step().unwrap() {
            pcs.push(step.pc);
        }
        let seen = &log[launch as usize][block as usize][warp as usize];
        assert_eq!(pcs, seen.iter().map(|s| s.pc).collect::<Vec<_>>());
    }
}

fn straight_kernel() -> MachineKernel {
    let mut b = Builder::default();
    b.emit(s2r(0, SpecialReg::TidX));
    b.emit(lds(1, r(0), 0));
    b.emit(exit());
    b.kernel("straight")
}

#[test]
fn what_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = in_dir(&dir);
    record(&path, &[(&straight_kernel(), 2, 40)], &small_frames(), 0, None).unwrap();
    let trace = Trace::open(&path).unwrap();
    for ((launch, block, warp), text) in [
        ((1, 0, 0), "no launch 1; there are 1"),
        ((0, 2, 0), "no block 2; there are 2"),
        ((0, 0, 2), "no warp 2; there are 2"),
    ] {
        let error = trace.warp_cursor(launch, block, warp).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

fn refusal(result: Result<impl Sized, TraceError>) -> String {
    result.err().unwrap().to_string()
}

#[test]
fn impossible_recordings_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = in_dir(&dir);
    let kernel = straight_kernel();
    let options = WriterOptions::default();
    let mut writer = TraceWriter::create(&path, &options).unwrap();
    assert_eq!(writer.kernel(&kernel).unwrap(), 0);
    assert_eq!(writer.kernel(&kernel.clone()).unwrap(), 0);
    assert!(refusal(writer.kernel(&MachineKernel::default())).contains("no instructions"));
    let mut wild = kernel.clone();
    wild.insts[1].guard = PredSrc::of(Pred(15));
    assert!(refusal(writer.kernel(&wild)).contains("predicate 15"));
    assert!(refusal(writer.launch(launch_record(3, 1, 32))).contains("unknown kernel 3"));
    assert!(refusal(writer.launch(launch_record(0, 0, 32))).contains("grid of [0, 1, 1]"));
    assert!(refusal(writer.launch(launch_record(0, 1, 1025))).contains("block of [1025, 1, 1]"));
    let run = writer.launch(launch_record(0, 2, 32)).unwrap();
    let mut recorder = run.recorder();
    recorder.begin(2);
    assert!(refusal(run.submit(&mut recorder)).contains("block 2"));
    recorder.begin(1);
    run.submit(&mut recorder).unwrap();
    run.finish().unwrap();
    assert!(refusal(writer.finish()).contains("block 0 of launch 0 was never submitted"));
    assert!(!path.exists());
}

#[test]
fn a_writer_that_cannot_write_says_so() {
    let error = refusal(TraceWriter::create("/nonexistent/x.wtrace".as_ref(), &WriterOptions::default()));
    assert!(error.contains("/nonexistent/x.wtrace: cannot create"), "{error}");
    let error = refusal(Trace::open("/nonexistent/x.wtrace"));
    assert!(error.contains("cannot open"), "{error}");
}
