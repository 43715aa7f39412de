//! Traces of addresses: the same steps and accesses as with values, refusals where values are needed; and traces whose
//! opcode table is another.

use crate::common;

use common::*;
use std::path::Path;
use trace_format::container::{Contents, ErrorKind, Header, format};
use trace_format::isa::*;
use trace_format::reader::{MemAccess, Trace, WarpCursor};
use trace_format::validate::{Progress, validate};
use trace_format::writer::WriterOptions;

fn options(contents: Contents) -> WriterOptions {
    let header = Header { contents, ..Header::default() };
    WriterOptions::default().with_header(header).with_frame_bytes(2000)
}

/// Addresses of lanes that access memory; those of others are undefined.
fn visible(access: Option<&MemAccess>) -> Option<MemAccess> {
    access.cloned().map(|mut access| {
        for (lane, address) in access.addresses.iter_mut().enumerate() {
            *address *= u64::from(access.mask >> lane & 1);
        }
        access
    })
}

/// Operands of a barrier in its first lane.
fn barrier(cursor: &WarpCursor, pc: Pc, exec: u32) -> Option<[u32; 2]> {
    let inst = cursor.code().inst(pc);
    let lane = exec.trailing_zeros() as usize & 31;
    let reads = || [0, 1].map(|i| cursor.warp().row(inst.src[i].row).0[lane]);
    (inst.kind == Kind::Barrier && exec != 0).then(reads)
}

fn compare(values: &Trace, addresses: &Trace, (blocks, warps): (u64, u32)) -> u64 {
    let mut steps = 0;
    for (block, warp) in (0..blocks).flat_map(|block| (0..warps).map(move |warp| (block, warp))) {
        let mut all = values.warp_cursor(0, block, warp).unwrap();
        let mut slices = [addresses, values].map(|of| of.slice_cursor(0, block, warp).unwrap());
        let mut guards = values.guard_cursor(0, block, warp).unwrap();
        loop {
            let wanted = all.step().unwrap();
            assert_eq!(guards.step().unwrap(), wanted, "block {block}, warp {warp}, step {}", all.steps());
            for slice in &mut slices {
                assert_eq!(slice.step().unwrap(), wanted, "block {block}, warp {warp}, step {}", all.steps());
                let Some(step) = wanted else { continue };
                assert_eq!(visible(slice.mem()), visible(all.mem()), "block {block}, warp {warp}, {step:?}");
                assert_eq!(barrier(slice, step.pc, step.exec), barrier(&all, step.pc, step.exec));
            }
            if wanted.is_none() {
                break;
            }
            steps += 1;
        }
    }
    steps
}

#[test]
fn random_kernels_take_the_same_steps_to_the_same_addresses() {
    let dir = tempfile::tempdir().unwrap();
    let (full, small) = (dir.path().join("full"), dir.path().join("small"));
    let (mut steps, mut bytes) = (0, [0, 0]);
    for seed in 0..160 {
        let kernel = if seed < 60 { random_kernel(seed) } else { random_uniform_kernel(seed) };
        record(&full, &[(&kernel, 6, 96)], &options(Contents::Values), seed, Some(50)).unwrap();
        record(&small, &[(&kernel, 6, 96)], &options(Contents::Addresses), seed, Some(50)).unwrap();
        let (values, addresses) = (Trace::open(&full).unwrap(), Trace::open(&small).unwrap());
        steps += compare(&values, &addresses, (6, 3));
        let report = validate(&small, 2, &Progress::default()).unwrap();
        assert!(report.is_sound(), "seed {seed}: {:?}", report.problems);
        assert_eq!(report.warps, 18);
        bytes[0] += values.file_bytes();
        bytes[1] += addresses.file_bytes();
    }
    assert!(steps > 10_000, "{steps} steps");
    assert!(bytes[1] < bytes[0], "{bytes:?}");
}

/// A loop whose end and whose data are loaded: only the comparison's lanes are in the trace.
fn loop_until_loaded() -> MachineKernel {
    let mut b = Builder::default();
    b.emit(s2r(0, SpecialReg::TidX));
    let top = b.here();
    b.emit(lds(1, r(0), 6 << 16));
    b.emit(isetp(0, ICmp::Lt, r(1), Src::imm(1 << 31)));
    b.emit(iadd(0, r(0), Src::imm(4)));
    b.emit(isetp(1, ICmp::Lt, r(0), Src::imm(200)));
    b.bra(PredSrc::of(Pred(1)), top);
    b.emit(ffma(2, r(1), r(1), r(2)).guarded(PredSrc::of(Pred(0))));
    b.emit(exit());
    b.kernel("until")
}

fn record_loop(path: &Path, contents: Contents) -> Trace {
    record(path, &[(&loop_until_loaded(), 3, 64)], &options(contents), 1, None).unwrap();
    Trace::open(path).unwrap()
}

#[test]
fn values_of_a_trace_of_addresses_are_refused_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wtrace");
    let trace = record_loop(&path, Contents::Addresses);
    let error = trace.warp_cursor(0, 0, 0).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Missing { .. }), "{error}");
    let text = error.to_string();
    for part in ["a.wtrace", "--addresses-only", "no register values", "record it without"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(trace.slice_cursor(0, 3, 0).unwrap_err().to_string().contains("no block 3"));
    assert!(trace.slice_cursor(1, 0, 0).unwrap_err().to_string().contains("no launch 1"));
}

#[test]
fn a_changed_value_of_a_trace_of_addresses_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wtrace");
    record_loop(&path, Contents::Addresses);
    let (plain, values) =
        (record_loop(&path, Contents::Addresses), record_loop(&dir.path().join("b"), Contents::Values));
    assert!(compare(&values, &plain, (3, 2)) > 100);
    let bytes = std::fs::read(&path).unwrap();
    let mut sum = 0;
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        let sound = validate(&path, 1, &Progress::default()).is_ok_and(|report| report.is_sound());
        sum += usize::from(!sound);
        assert!(!sound || at < 16, "byte {at} of {} may be anything", bytes.len());
    }
    assert!(sum > 500, "{sum}");
}

#[test]
fn a_trace_of_another_opcode_table_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.wtrace");
    let header = Header { isa: table_hash() ^ 1, tool: "warplab 9.9".into(), ..Header::default() };
    let options = WriterOptions::default().with_header(header);
    record(&path, &[(&loop_until_loaded(), 3, 64)], &options, 1, None).unwrap();
    let error = Trace::open(&path).unwrap_err();
    let place = format::PREAMBLE_BYTES as u64;
    match error.kind() {
        ErrorKind::OpcodeTable { offset, found, supported, .. } => {
            assert_eq!((*offset, *found, *supported), (place, table_hash() ^ 1, table_hash()));
        }
        _ => panic!("{error}"),
    }
    let text = error.to_string();
    for part in ["other.wtrace", "header at byte 16", "warplab 9.9", "opcode table", "record it again"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(validate(&path, 1, &Progress::default()).is_err());
    // The same file without its footer is found by walking, and refused alike.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 40]).unwrap();
    assert!(matches!(Trace::open(&path).unwrap_err().kind(), ErrorKind::OpcodeTable { .. }));
}

#[test]
fn a_trace_of_an_older_format_is_refused_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.wtrace");
    record_loop(&path, Contents::Values);
    let mut bytes = std::fs::read(&path).unwrap();
    for version in 1..format::FORMAT_VERSION {
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let text = Trace::open(&path).unwrap_err().to_string();
        assert!(
            text.contains(&format!("trace format {version}")) && text.contains("record it again"),
            "{text}"
        );
    }
}
