//! Recordings of launch manifests, for tests of programs that read traces.

use crate::oracle::native::Assembler;
use emulator::exec::{Options, Unobserved};
use emulator::session::{CodeKind, Session, Setup};
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

/// Records a manifest's launches, at the size of tests, of the machine code that an assembler makes of its PTX.
///
/// # Panics
/// When the assembler refuses the PTX, the machine code cannot be run, or the folder not be written.
pub fn record_machine_code(manifest: &Path, assembler: &Assembler, dir: &Path) -> Trace {
    let setup = Setup { size: Some("test".into()), ..Setup::default() };
    let open = |setup: &Setup| {
        Session::open_manifest(manifest, setup).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()))
    };
    let ptx = open(&setup).manifest().ptx.clone();
    let (cubin, path) = (dir.join("code.cubin"), dir.join("code.wtrace"));
    assembler.assemble(&ptx, &cubin, &[]).expect("ptxas takes the workload");
    let native = Setup { code: Some(CodeKind::Sass), cubin: Some(cubin), ..setup };
    let recorded = open(&native).record(&path, &Options::default(), &Unobserved);
    recorded.unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
    Trace::open(&path).unwrap()
}
