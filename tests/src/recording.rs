//! Recordings of launch manifests, for tests of programs that read traces.

use crate::oracle::native::Assembler;
use emulator::exec::{Options, Unobserved};
use emulator::session::{CodeKind, Session, Setup};
use std::path::Path;
use trace_format::container::{Contents, Header};
use trace_format::reader::Trace;
use trace_format::writer::WriterOptions;

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
    let [trace] = record_as(manifest, Some(assembler), [Contents::Values], dir)
        .unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
    trace
}

/// Records a manifest's launches, at the size of tests, once for each of the contents: with our code of its PTX, or with the
/// machine code that an assembler makes of it.
///
/// # Errors
/// The assembler refuses the PTX, the code cannot be run, or the folder not be written.
pub fn record_as<const N: usize>(
    manifest: &Path,
    assembler: Option<&Assembler>,
    contents: [Contents; N],
    dir: &Path,
) -> Result<[Trace; N], String> {
    let ptx = Setup { size: Some("test".into()), ..Setup::default() };
    let open = |setup: &Setup| Session::open_manifest(manifest, setup).map_err(|e| e.to_string());
    let setup = match assembler {
        None => ptx,
        Some(assembler) => {
            let cubin = dir.join("code.cubin");
            assembler.assemble(&open(&ptx)?.manifest().ptx, &cubin, &[])?;
            Setup { code: Some(CodeKind::Sass), cubin: Some(cubin), ..ptx }
        }
    };
    let record = |contents: Contents| {
        let path = dir.join(format!("{contents:?}.wtrace"));
        let header = Header { contents, ..Header::default() };
        let writing = WriterOptions::default().with_header(header);
        let recorded = open(&setup)?.record_as(&path, &Options::default(), &Unobserved, &writing);
        recorded.map_err(|e| e.to_string())?;
        Trace::open(&path).map_err(|e| e.to_string())
    };
    let traces = contents.into_iter().map(record).collect::<Result<Vec<Trace>, String>>()?;
    traces.try_into().map_err(|_| "a trace for each".to_owned())
}
