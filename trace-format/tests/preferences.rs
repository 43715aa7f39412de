//! Preferences of a launch: a record of their own, which readers that do not know it skip, and which launches without
//! preferences do not have.

use crate::common;

use common::{Builder, damaged_record_is_named, exit, launch_record};
use trace_format::container::format;
use trace_format::container::{LaunchRecord, TraceError};
use trace_format::reader::Trace;
use trace_format::writer::{TraceWriter, WriterOptions};

fn write(path: &std::path::Path, preferred: &[Option<u8>]) -> Result<(), TraceError> {
    let mut writer = TraceWriter::create(path, &WriterOptions::default())?;
    let mut code = Builder::default();
    code.emit(exit());
    let kernel = writer.kernel(&code.kernel("preferring"))?;
    for &shared_carveout_percent in preferred {
        let launch = LaunchRecord { shared_carveout_percent, ..launch_record(kernel, 1, 32) };
        let run = writer.launch(launch)?;
        let mut recorder = run.recorder();
        recorder.begin(0);
        run.submit(&mut recorder)?;
        run.finish()?;
    }
    writer.finish().map(drop)
}

fn count(trace: &Trace) -> usize {
    trace.records().iter().filter(|record| record.0 == format::PREFERENCES).count()
}

#[test]
fn preferences_come_back_with_their_launch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("preferring.wtrace");
    let preferred = [None, Some(0), Some(100), None, Some(50)];
    write(&path, &preferred).unwrap();
    let trace = Trace::open(&path).unwrap();
    let found: Vec<_> = trace.launches().iter().map(|launch| launch.shared_carveout_percent).collect();
    assert_eq!(found, preferred);
    assert_eq!(count(&trace), 3);
    // Readers that do not know the tag skip it.
    assert!(format::PREFERENCES[0].is_ascii_lowercase());
}

#[test]
fn launches_without_preferences_are_stored_without_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["none", "some"].map(|name| folder.path().join(name));
    write(&paths[0], &[None]).unwrap();
    write(&paths[1], &[Some(7)]).unwrap();
    let bytes = paths.each_ref().map(|path| std::fs::read(path).unwrap());
    let trace = Trace::open(&paths[1]).unwrap();
    let offset = trace.records().iter().find(|record| record.0 == format::PREFERENCES).unwrap().1 as usize;
    // Up to the record, both files are the same: the launch itself does not hold the preference.
    assert_eq!(bytes[0][..offset], bytes[1][..offset]);
    assert_eq!(count(&Trace::open(&paths[0]).unwrap()), 0);
}

#[test]
fn damaged_and_impossible_preferences_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("preferring.wtrace");
    let refused = write(&path, &[Some(101)]).expect_err("more than all").to_string();
    assert!(refused.contains("101 percent"), "{refused}");
    write(&path, &[Some(30)]).unwrap();
    damaged_record_is_named(&path, format::PREFERENCES);
}
