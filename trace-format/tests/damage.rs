//! Tests of damaged files: truncated anywhere, or with any byte changed. Readable data equal the recorded
//! ones; everything else is a clear error, never a panic or a hang.

use crate::common;

use common::*;
use std::io::Write;
use std::path::Path;
use trace_format::container::TraceError;
use trace_format::container::format::{self, RecordRef};
use trace_format::isa::*;
use trace_format::reader::Trace;
use trace_format::validate::{Progress, validate};
use trace_format::writer::{TraceWriter, WriterOptions};

type Contents = Vec<(u32, u64, u32, Vec<(Pc, u32, u32)>)>;

/// A small kernel with a branch, loads and a loop.
fn kernel() -> MachineKernel {
    let mut b = Builder::default();
    b.emit(s2r(0, SpecialReg::TidX));
    b.emit(iadd(2, Src::RZ, Src::RZ));
    let top = b.here();
    b.emit(lds(1, r(0), 6 << 16));
    b.emit(isetp(0, ICmp::Lt, r(1), Src::imm(1 << 31)));
    let skip = b.bra(PredSrc::of(Pred(0)), Pc(0));
    b.emit(ffma(3, r(1), r(1), r(3)));
    b.land(skip);
    b.emit(iadd(0, r(0), r(1)));
    b.emit(iadd(2, r(2), Src::imm(1)));
    b.emit(isetp(1, ICmp::Lt, r(2), Src::imm(3)));
    b.bra(PredSrc::of(Pred(1)), top);
    b.emit(exit());
    b.kernel("damage")
}

fn small_trace(path: &Path) -> Vec<u8> {
    let options = WriterOptions::default().with_frame_bytes(500);
    record(path, &[(&kernel(), 5, 40), (&kernel(), 1, 3)], &options, 0, None).unwrap();
    std::fs::read(path).unwrap()
}

/// Overwrites a file without truncating it first, because truncation waits for the disk in some file systems.
fn overwrite(path: &Path, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

/// Everything that can be read from a file, or the error that stops it.
fn contents(path: &Path) -> Result<Contents, TraceError> {
    let trace = Trace::open(path)?;
    let mut all = Vec::new();
    for (number, launch) in trace.launches().iter().enumerate() {
        for block in 0..launch.blocks_recorded() {
            for warp in 0..launch.geometry.warps_per_block() {
                let mut cursor = trace.warp_cursor(number as u32, block, warp)?;
                let mut steps = Vec::new();
                while let Some(step) = cursor.step()? {
                    steps.push((step.pc, step.active, step.exec));
                }
                all.push((number as u32, block, warp, steps));
            }
        }
    }
    Ok(all)
}

#[test]
fn every_changed_byte_is_harmless_or_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (good, bad) = (dir.path().join("good"), dir.path().join("bad"));
    let bytes = small_trace(&good);
    let whole = contents(&good).unwrap();
    assert!(bytes.len() < 6000, "{} bytes make this test slow", bytes.len());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        overwrite(&bad, &damaged);
        match contents(&bad) {
            // A file whose footer or index is damaged is read by walking it, as far as that goes.
            Ok(read) => assert!(whole.starts_with(&read), "byte {at}: other contents"),
            Err(error) => assert!(error.to_string().contains("bad"), "byte {at}: {error}"),
        }
        match validate(&bad, 1, &Progress::default()) {
            Ok(report) => assert!(!report.is_sound(), "byte {at} was not noticed"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn cut_off_files_are_read_to_their_last_whole_frame() {
    let dir = tempfile::tempdir().unwrap();
    let (good, bad) = (dir.path().join("good"), dir.path().join("bad"));
    let bytes = small_trace(&good);
    let whole = contents(&good).unwrap();
    let frames = Trace::open(&good).unwrap().frames().to_vec();
    for len in 0..bytes.len() {
        overwrite(&bad, &bytes[..len]);
        let blocks: u64 = frames
            .iter()
            .filter(|f| f.offset + f.bytes <= len as u64)
            .map(|f| u64::from(f.head.blocks_ended))
            .sum();
        match contents(&bad) {
            Ok(read) => {
                assert!(whole.starts_with(&read));
                let read_blocks: std::collections::HashSet<_> = read.iter().map(|w| (w.0, w.1)).collect();
                assert_eq!(read_blocks.len() as u64, blocks, "cut at {len}");
                let why = Trace::open(&bad).unwrap().incomplete().map(str::to_string);
                assert!(why.is_some_and(|w| w.contains("footer")), "cut at {len}");
            }
            Err(_) => assert_eq!(blocks, 0, "cut at {len}"),
        }
        assert!(validate(&bad, 1, &Progress::default()).map_or(true, |r| !r.is_sound()));
    }
}

#[test]
fn a_broken_off_recording_keeps_what_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.wtrace");
    let kernel = kernel();
    let mut writer = TraceWriter::create(&path, &WriterOptions::default()).unwrap();
    let id = writer.kernel(&kernel).unwrap();
    let launch = launch_record(id, 9, 64);
    let (geometry, code) = (launch.geometry, trace_format::semantics::Code::prepare(&kernel, &launch.banks));
    let run = writer.launch(launch).unwrap();
    let mut recorder = run.recorder();
    for block in 0..4 {
        run_block(&kernel, &code, &geometry, block, &mut recorder, &run, None).unwrap();
    }
    drop(run);
    drop(writer);
    assert!(!path.exists());
    let trace = Trace::open(dir.path().join("x.wtrace.part")).unwrap();
    assert!(trace.incomplete().is_some());
    assert_eq!(trace.launches()[0].blocks_recorded(), 4);
    let error = trace.warp_cursor(0, 4, 0).unwrap_err().to_string();
    assert!(error.contains("ended after 4 blocks"), "{error}");
    assert!(trace.warp_cursor(0, 3, 1).is_ok());
}

/// A file that somebody cuts short, empties or writes over while it is open: frames that have been read stay, others are
/// errors.
#[test]
fn a_trace_that_changes_while_it_is_open_gives_errors() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("x.wtrace"), dir.path().join("y.wtrace"));
    let whole = small_trace(&path);
    record(&other, &[(&kernel(), 5, 64), (&kernel(), 1, 3)], &WriterOptions::default(), 0, None).unwrap();
    let other = std::fs::read(&other).unwrap();
    let zeros = vec![0; whole.len()];
    let changes: [(&[u8], &str); 5] = [
        (&[], "truncated"),
        (&whole[..whole.len() / 3], "truncated"),
        (&zeros, "do not match its hash"),
        (&other, ""),
        (&other[..100], "truncated"),
    ];
    for (bytes, told) in changes {
        overwrite(&path, &whole);
        let trace = Trace::open(&path).unwrap();
        let warp = trace.warp_cursor(0, 0, 0).unwrap();
        overwrite(&path, bytes);
        let last = trace.launches()[0].blocks_recorded() - 1;
        let read = |mut cursor: trace_format::reader::WarpCursor| -> Result<u32, TraceError> {
            let mut steps = 0;
            while cursor.step()?.is_some() {
                steps += 1;
            }
            Ok(steps)
        };
        let error = trace.warp_cursor(0, last, 0).and_then(read).unwrap_err().to_string();
        assert!(error.contains("damaged frame") && error.contains(told), "{error}");
        // Whatever was read before, and whatever was not.
        assert!(read(warp).map_or_else(|e| e.to_string().contains("damaged"), |steps| steps > 0));
        assert!(trace.frame_payload(trace.frames().len() - 1).is_err());
        assert!(validate(&path, 1, &Progress::default()).map_or(true, |r| r.is_sound() == (bytes == other)));
    }
}

#[cfg(unix)]
#[test]
fn what_has_no_end_is_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [&pipe, Path::new("/dev/zero")] {
        let error = Trace::open(path).unwrap_err().to_string();
        assert!(error.contains("not a Warplab trace"), "{error}");
    }
    // A file that says of itself that it is larger than any memory.
    let path = dir.path().join("large.wtrace");
    let mut bytes = small_trace(&path);
    bytes[format::PREAMBLE_BYTES + 8..][..8].copy_from_slice(&(1u64 << 43).to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 43).unwrap();
    assert!(Trace::open(&path).is_err());
}

#[test]
fn where_an_unfinished_trace_is_stands_in_the_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.wtrace");
    drop(TraceWriter::create(&path, &WriterOptions::default()).unwrap());
    let error = Trace::open(&path).unwrap_err().to_string();
    assert!(error.contains("an unfinished recording is in") && error.contains("x.wtrace.part"), "{error}");
}

/// Settled data are in the file, even if the writer is not finished.
#[test]
fn settled_launches_are_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.wtrace");
    let kernel = kernel();
    let mut writer = TraceWriter::create(&path, &WriterOptions::default()).unwrap();
    let id = writer.kernel(&kernel).unwrap();
    for number in 0..20 {
        let launch = launch_record(id, 9, 64);
        let (geometry, code) =
            (launch.geometry, trace_format::semantics::Code::prepare(&kernel, &launch.banks));
        let run = writer.launch(launch).unwrap();
        let mut recorder = run.recorder();
        for block in 0..9 {
            run_block(&kernel, &code, &geometry, block, &mut recorder, &run, None).unwrap();
        }
        run.finish().unwrap();
        writer.settle().unwrap();
        let trace = Trace::open(writer.part_path()).unwrap();
        assert_eq!(trace.launches().len(), number + 1);
        assert!(trace.launches().iter().all(trace_format::reader::Launch::is_whole));
    }
    writer.finish().unwrap();
    assert_eq!(Trace::open(&path).unwrap().launches().len(), 20);
}

/// Changes a record's payload and gives it a fitting hash again, as only a malicious or buggy program would.
fn forge(bytes: &mut [u8], offset: u64, at: usize, change: impl FnOnce(u8) -> u8) {
    let start = offset as usize + format::RECORD_HEAD_BYTES;
    let record = RecordRef::at(bytes, offset).unwrap();
    let (tag, len) = (record.tag, record.payload.len());
    bytes[start + at % len] = change(bytes[start + at % len]);
    let head = format::record_head(tag, &bytes[start..start + len]);
    bytes[offset as usize..start].copy_from_slice(&head);
}

#[test]
fn forged_records_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let (good, bad) = (dir.path().join("good"), dir.path().join("bad"));
    let bytes = small_trace(&good);
    let whole = contents(&good).unwrap();
    let mut offsets = Vec::new();
    let mut offset = format::PREAMBLE_BYTES as u64;
    while let Some(record) = RecordRef::at(&bytes, offset) {
        offsets.push((offset, record.payload.len()));
        offset += record.bytes();
    }
    let mut rng = Random::new(9);
    for (offset, len) in offsets {
        for at in 0..len {
            let mut damaged = bytes.clone();
            let bits = 1 << rng.below(8);
            forge(&mut damaged, offset, at, |b| b ^ bits);
            overwrite(&bad, &damaged);
            // Header text may differ harmlessly; a launch or kernel may become another valid one.
            let _ = contents(&bad).map(|read| read.len() == whole.len());
            let _ = validate(&bad, 1, &Progress::default());
        }
    }
}

#[test]
fn a_wrong_value_is_found_and_placed() {
    let dir = tempfile::tempdir().unwrap();
    let (good, bad) = (dir.path().join("good"), dir.path().join("bad"));
    // Loaded words that no compressor shrinks stand in the file as they are: change one.
    let mut b = Builder::default();
    b.emit(s2r(0, SpecialReg::TidX));
    b.emit(lds(1, r(0), 6 << 16));
    b.emit(exit());
    let kernel = b.kernel("wrong");
    record(&good, &[(&kernel, 1, 32)], &WriterOptions::default(), 0, None).unwrap();
    let mut bytes = std::fs::read(&good).unwrap();
    let frame = Trace::open(&good).unwrap().frames()[0];
    let len = frame.bytes as usize - format::RECORD_HEAD_BYTES;
    forge(&mut bytes, frame.offset, len - 1, |b| b ^ 0x40);
    std::fs::write(&bad, &bytes).unwrap();
    let report = validate(&bad, 1, &Progress::default()).unwrap();
    assert_eq!(report.problem_count, 1, "{:?}", report.problems);
    let problem = &report.problems[0];
    assert_eq!(problem.place, "frame 0, launch 0, block 0, warp 0");
    assert!(
        problem.what.contains("step 3") && problem.what.contains("differ from the recorded ones"),
        "{problem:?}"
    );
}

#[test]
fn other_files_are_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    for (bytes, text) in [
        (&b""[..], "not a Warplab trace"),
        (b"short", "not a Warplab trace"),
        (b"something that is long enough", "not a Warplab trace"),
        (b"\x89WTRACE\n\x63\0\0\0\0\0\0\0", "trace format 99, but this build reads format 7"),
        (b"\x89WTRACE\n\x07\0\0\0\0\0\0\0", "damaged header"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = Trace::open(&path).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    assert!(Trace::open(dir.path()).is_err());
}
