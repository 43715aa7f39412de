//! Recordings of launch manifests, for tests of programs that read traces.

use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, Setup};
use std::path::Path;
use trace_format::reader::Trace;

/// Records a manifest's launches into a folder.
///
/// # Panics
/// When the manifest cannot be run or the folder not be written.
pub fn record(manifest: &Path, dir: &Path) -> Trace {
    let mut session = Session::open_manifest(manifest, &Setup::default()).unwrap();
    let path = dir.join(manifest.file_stem().unwrap()).with_extension("wtrace");
    session.record(&path, &Options::default(), &Unobserved).unwrap();
    Trace::open(&path).unwrap()
}
