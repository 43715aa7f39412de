//! Tests of the records between launches: copies, fills and waits, in order, in whole files and in files cut
//! off.

use trace_format::container::format::{self, RecordRef};
use trace_format::container::{TransferKind, TransferRecord, WaitRecord};
use trace_format::reader::Trace;
use trace_format::writer::{TraceWriter, WriterOptions};

fn transfer(n: u64) -> TransferRecord {
    let kind = [TransferKind::HostToDevice, TransferKind::Fill, TransferKind::DeviceToHost][n as usize % 3];
    TransferRecord {
        kind,
        bytes: 100 + n,
        to: n << 40,
        from: u64::MAX - 1000 - n,
        stream: n % 4,
        after_launches: n / 2,
    }
}

fn wait(n: u64) -> WaitRecord {
    WaitRecord { stream: if n.is_multiple_of(2) { 0 } else { u64::MAX - n }, after_launches: n }
}

#[test]
fn copies_and_waits_are_read_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("between.wtrace");
    let mut writer = TraceWriter::create(&path, &WriterOptions::default()).unwrap();
    let (transfers, waits): (Vec<_>, Vec<_>) = (0..9).map(|n| (transfer(n), wait(n))).unzip();
    for part in 0..3 {
        writer.transfers(&transfers[part * 3..part * 3 + 3]).unwrap();
        writer.waits(&waits[part * 3..part * 3 + 3]).unwrap();
        // Nothing is no record.
        writer.transfers(&[]).unwrap();
        writer.waits(&[]).unwrap();
    }
    writer.finish().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!((trace.transfers(), trace.waits()), (&transfers[..], &waits[..]));
    assert_eq!(trace.records().iter().filter(|record| record.0 == format::WAITS).count(), 3);

    let whole = std::fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let Ok(trace) = Trace::open(&path) else { continue };
        assert!(trace.incomplete().is_some());
        assert!(transfers.starts_with(trace.transfers()) && waits.starts_with(trace.waits()), "cut at {cut}");
    }
    // The record's hash covers it: one changed byte is found, whichever it is.
    let offset = trace.records().iter().find(|record| record.0 == format::WAITS).unwrap().1;
    let record = RecordRef::at(&whole, offset).unwrap();
    for at in offset..offset + record.bytes() {
        let mut damaged = whole.clone();
        damaged[at as usize] ^= 0x40;
        std::fs::write(&path, &damaged).unwrap();
        let waits_of = |trace: &Trace| trace.waits().to_vec();
        match Trace::open(&path) {
            Ok(trace) => {
                assert!(trace.incomplete().is_some() && waits.starts_with(&waits_of(&trace)), "byte {at}");
            }
            Err(error) => assert!(error.to_string().contains("between.wtrace"), "{error}"),
        }
    }
}

/// A reader that does not know waits skips them: their tag begins with a small letter.
#[test]
fn waits_may_be_skipped() {
    assert!(format::WAITS[0].is_ascii_lowercase());
    assert!(
        [format::TRANSFERS, format::LAUNCH, format::KERNEL].iter().all(|tag| tag[0].is_ascii_uppercase())
    );
}
