//! A PTX file or a cubin with its launch manifest, ready to run or record: what the `emu` command, the demo and the
//! tests build on.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use emulator::session::{Session, Setup};
//! let setup = Setup { overrides: vec!["n=1024".into()], ..Setup::default() };
//! let mut session = Session::open("vectoradd.ptx".as_ref(), &setup)?;
//! let run = session.run(&emulator::exec::Options::default(), &emulator::exec::Unobserved)?;
//! println!("{} warp instructions", run.warp_instructions());
//! let c = session.buffer("c").unwrap_or_default();
//! # let _ = c;
//! # Ok(())
//! # }
//! ```

mod choice;
mod error;
mod load;

pub use crate::memory::heap::DEFAULT_HEAP_BYTES;
pub use crate::module::{AnyModule, LoadedModule, ModuleError};
pub use choice::CodeKind;
pub use error::SessionError;
pub use trace_format::writer::WriteSummary;

use crate::check::Checker;
use crate::exec::{self, Launch, LaunchError, Observer, Options, Stats};
use crate::lower::{LowerOptions, Lowered};
use crate::manifest::{self, Buffer, Check, Init, LaunchSpec, Manifest, ManifestError, Verdict};
use crate::native::NativeModule;
use crate::record::Unrecorded;
use crate::record::trace::TraceSink;
use load::Loaded;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace_format::container::{BufferNote, LaunchRecord, TransferKind, TransferRecord};
use trace_format::isa::{Inst, MachineKernel, Op, SysCall};
use trace_format::semantics::Geometry;
use trace_format::writer::{TraceWriter, WriterOptions};

/// How to open a session.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The launch manifest; by default the file beside the PTX that ends in `.toml`.
    pub manifest: Option<PathBuf>,
    /// The size of the manifest; by default its scalars as they are written.
    pub size: Option<String>,
    /// Overrides of the manifest, `PATH=VALUE`.
    pub overrides: Vec<String>,
    /// What may be varied about lowering.
    pub lowering: LowerOptions,
    /// Bytes of the heap of device `malloc`; by default [`DEFAULT_HEAP_BYTES`].
    pub heap_bytes: Option<u64>,
    /// The code that runs: by default PTX, and machine code where there is nothing else.
    pub code: Option<CodeKind>,
    /// The file with the machine code (cubin, fat binary, executable); by default the one that the manifest names, or the file
    /// beside the PTX that ends in `.cubin`.
    pub cubin: Option<PathBuf>,
}

/// A program ready to run.
#[derive(Debug)]
pub struct Session {
    module: AnyModule,
    manifest: Manifest,
    /// Kernels that the manifest launches.
    kernels: Vec<Lowered>,
    /// Size of the device heap, if a kernel uses it.
    heap_bytes: Option<u64>,
    loaded: Loaded,
    /// The file with the code.
    file: PathBuf,
}

/// Recorder or checker of a run.
enum Follower<'f> {
    Nobody,
    Writer(&'f mut TraceWriter),
    Checker(&'f mut Checker),
}

/// Report of one launch.
#[derive(Clone, Debug)]
pub struct LaunchReport {
    /// Number of the launch, repetitions counted.
    pub index: u32,
    /// Name of the kernel.
    pub kernel: String,
    /// Grid and block.
    pub geometry: Geometry,
    /// What was executed.
    pub stats: Stats,
    /// How long it took.
    pub time: Duration,
}

/// Report of a run.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// Launches in order.
    pub launches: Vec<LaunchReport>,
    /// Comparisons with expected contents.
    pub checks: Vec<Check>,
}

impl RunReport {
    /// Warp instructions of all launches.
    #[must_use]
    pub fn warp_instructions(&self) -> u64 {
        self.launches.iter().map(|l| l.stats.warp_instructions).sum()
    }

    /// Time of all launches.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.launches.iter().map(|l| l.time).sum()
    }

    /// Whether no check failed.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.checks.iter().any(|c| matches!(c.verdict, Verdict::Failed(_)))
    }
}

impl Session {
    /// Reads, lowers and loads a file of PTX or machine code with its manifest, or a manifest, whose name ends in `.toml`,
    /// with the file that it names.
    ///
    /// # Errors
    /// An error in either file, or a mismatch between them.
    pub fn open(path: &Path, setup: &Setup) -> Result<Session, SessionError> {
        if setup.manifest.is_none() && path.extension().is_some_and(|extension| extension == "toml") {
            return Session::open_manifest(path, setup);
        }
        let manifest = setup.manifest.clone().unwrap_or_else(|| path.with_extension("toml"));
        let manifest = || Manifest::load(&manifest, setup.size.as_deref(), &setup.overrides);
        if choice::is_machine_code(path, setup.code) {
            return Session::native(path, manifest()?, setup);
        }
        if setup.code == Some(CodeKind::Sass) || setup.cubin.is_some() {
            let manifest = manifest()?;
            let cubin = choice::cubin(setup.cubin.as_deref(), &manifest, path)?;
            return Session::native(&cubin, manifest, setup);
        }
        let module = LoadedModule::read(path)?;
        Session::new(Arc::new(module).into(), manifest()?, path, setup)
    }

    /// Opens a manifest and the file of PTX or machine code that it names.
    ///
    /// # Errors
    /// An error in either file, or a mismatch between them.
    pub fn open_manifest(path: &Path, setup: &Setup) -> Result<Session, SessionError> {
        let manifest = Manifest::load(path, setup.size.as_deref(), &setup.overrides)?;
        let ptx = manifest.ptx.clone();
        if choice::wants_machine_code(setup.code, setup.cubin.as_deref(), &manifest) {
            let cubin = choice::cubin(setup.cubin.as_deref(), &manifest, &ptx)?;
            return Session::native(&cubin, manifest, setup);
        }
        Session::new(Arc::new(LoadedModule::read(&ptx)?).into(), manifest, &ptx, setup)
    }

    fn native(cubin: &Path, manifest: Manifest, setup: &Setup) -> Result<Session, SessionError> {
        let kernels: Vec<&str> = manifest.launches.iter().map(|spec| spec.kernel.as_str()).collect();
        let module = NativeModule::read(cubin, &kernels).map_err(ModuleError::from)?;
        Session::new(Arc::new(module).into(), manifest, cubin, setup)
    }

    fn new(
        module: AnyModule,
        manifest: Manifest,
        file: &Path,
        setup: &Setup,
    ) -> Result<Session, SessionError> {
        let mut kernels: Vec<Lowered> = Vec::new();
        for spec in &manifest.launches {
            let known = kernels.iter().position(|k| k.kernel.name == spec.kernel);
            let at = match known {
                Some(at) => at,
                None => {
                    let lowered = module
                        .lower(&spec.kernel, &setup.lowering, &|_| 0)
                        .ok_or_else(|| unknown_kernel(&module, &manifest, spec))?;
                    kernels.push(lowered?);
                    kernels.len() - 1
                }
            };
            load::check_arguments(&manifest, spec, &kernels[at].kernel)?;
        }
        let allocates =
            |inst: &Inst| matches!(inst.op, Op::Syscall { call: SysCall::Malloc | SysCall::Free });
        let has_heap = kernels.iter().any(|k| k.kernel.insts.iter().any(allocates));
        let heap_bytes = has_heap.then(|| setup.heap_bytes.unwrap_or(DEFAULT_HEAP_BYTES));
        let mut loaded = Loaded::new(&module, &manifest, heap_bytes)?;
        if matches!(module, AnyModule::Native(_)) {
            // The addresses of variables, which are known now, are in the code.
            for kernel in &mut kernels {
                if let Some(placed) = loaded.module.kernel(&kernel.kernel.name, &setup.lowering) {
                    *kernel = Lowered::clone(&*placed?);
                }
            }
        }
        Ok(Session { module, manifest, kernels, heap_bytes, loaded, file: file.to_owned() })
    }

    /// The manifest, evaluated.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &AnyModule {
        &self.module
    }

    /// The kernels that the manifest launches.
    pub fn kernels(&self) -> impl Iterator<Item = &MachineKernel> {
        self.kernels.iter().map(|lowered| &lowered.kernel)
    }

    /// A kernel that the manifest launches.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&MachineKernel> {
        self.kernels.iter().map(|k| &k.kernel).find(|k| k.name == name)
    }

    /// Launches that a run makes, repetitions counted, and their blocks.
    #[must_use]
    pub fn work(&self) -> (u64, u64) {
        self.manifest.launches.iter().fold((0, 0), |(launches, blocks), spec| {
            let geometry = Geometry { grid: spec.grid, block: spec.block };
            let repeat = u64::from(spec.repeat);
            (launches + repeat, blocks.saturating_add(geometry.blocks().saturating_mul(repeat)))
        })
    }

    /// Puts the initial contents back into all buffers and variables.
    ///
    /// # Errors
    /// When a file that they come from cannot be read any more.
    pub fn reset(&mut self) -> Result<(), SessionError> {
        self.loaded = Loaded::new(&self.module, &self.manifest, self.heap_bytes)?;
        Ok(())
    }

    /// Runs all launches.
    ///
    /// # Errors
    /// The first launch that fails.
    pub fn run(&mut self, options: &Options, observer: &dyn Observer) -> Result<RunReport, SessionError> {
        self.all(options, observer, Follower::Nobody)
    }

    /// Runs all launches and writes their trace, which appears under its name when it is complete.
    ///
    /// # Errors
    /// The first launch that fails, or the trace cannot be written.
    pub fn record(
        &mut self,
        path: &Path,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<(RunReport, WriteSummary, PathBuf), SessionError> {
        self.record_as(path, options, observer, &WriterOptions::default())
    }

    /// As [`Session::record`], with a choice of what the trace holds and how it is packed.
    ///
    /// # Errors
    /// As [`Session::record`].
    pub fn record_as(
        &mut self,
        path: &Path,
        options: &Options,
        observer: &dyn Observer,
        writing: &WriterOptions,
    ) -> Result<(RunReport, WriteSummary, PathBuf), SessionError> {
        let trace = |e: trace_format::container::TraceError| SessionError::Trace(e.to_string());
        let mut writer = TraceWriter::create(path, writing).map_err(trace)?;
        let part = writer.part_path().to_path_buf();
        let copied = writer.transfers(&self.copies()).map_err(trace);
        let report = copied.and_then(|()| self.all(options, observer, Follower::Writer(&mut writer)));
        let written = match report {
            Ok(report) => writer.finish_as().map(|(written, path)| (report, written, path)).map_err(trace),
            Err(error) => {
                drop(writer);
                Err(error)
            }
        };
        // A launch that failed, or a full disk, leaves nothing.
        written.inspect_err(|_| {
            if part.metadata().is_ok_and(|found| found.is_file()) {
                let _ = std::fs::remove_file(&part);
            }
        })
    }

    /// The copies to the device that a program with the manifest's data would make before its first launch:
    /// those of buffers with contents. Zeros represent memory that has not been written yet.
    fn copies(&self) -> Vec<TransferRecord> {
        let buffers = self.manifest.buffers.iter().zip(&self.loaded.buffers);
        let copied = buffers.filter(|(buffer, _)| buffer.has_init && buffer.init != Init::Zeros);
        copied
            .map(|(_, id)| self.loaded.memory.allocation(*id))
            .filter(|allocation| allocation.len > 0)
            .map(|allocation| TransferRecord {
                kind: TransferKind::HostToDevice,
                bytes: allocation.len,
                to: allocation.base,
                from: 0,
                stream: 0,
                after_launches: 0,
            })
            .collect()
    }

    /// Runs all launches with a checker. Buffers without initial contents count as never written.
    ///
    /// # Errors
    /// The first launch that fails; what was found so far is with the checker.
    pub fn run_checked(
        &mut self,
        options: &Options,
        checker: &mut Checker,
        observer: &dyn Observer,
    ) -> Result<RunReport, SessionError> {
        for (buffer, &id) in self.manifest.buffers.iter().zip(&self.loaded.buffers) {
            if !buffer.has_init {
                checker.forget(id, self.loaded.memory.allocation(id).len);
            }
        }
        self.all(options, observer, Follower::Checker(checker))
    }

    fn all(
        &mut self,
        options: &Options,
        observer: &dyn Observer,
        mut follower: Follower<'_>,
    ) -> Result<RunReport, SessionError> {
        let mut report = RunReport::default();
        let mut index = 0;
        for at in 0..self.manifest.launches.len() {
            for _ in 0..self.manifest.launches[at].repeat {
                let launch = self.launch(at, index, options, observer, &mut follower)?;
                observer.finished(&launch.stats);
                report.launches.push(launch);
                index += 1;
            }
        }
        report.checks = self.check();
        Ok(report)
    }

    fn launch(
        &mut self,
        at: usize,
        index: u32,
        options: &Options,
        observer: &dyn Observer,
        follower: &mut Follower<'_>,
    ) -> Result<LaunchReport, SessionError> {
        let spec = &self.manifest.launches[at];
        let Some(lowered) = self.kernels.iter().find(|k| k.kernel.name == spec.kernel) else {
            return Err(unknown_kernel(&self.module, &self.manifest, spec).into());
        };
        let kernel = &lowered.kernel;
        let geometry = Geometry { grid: spec.grid, block: spec.block };
        let banks = self.loaded.banks(lowered, spec, &geometry, options.sms)?;
        let launch = Launch { kernel, geometry, dynamic_shared_bytes: spec.shared_bytes, banks, index };
        let start = Instant::now();
        let memory = &mut self.loaded.memory;
        let outcome = match follower {
            Follower::Nobody => exec::launch(memory, &launch, options, &mut Unrecorded, observer),
            Follower::Checker(checker) => exec::launch_checked(memory, &launch, options, checker, observer),
            Follower::Writer(writer) => {
                let notes = memory.allocations().map(|a| BufferNote {
                    name: a.name.clone(),
                    address: a.base,
                    bytes: a.len,
                });
                let trace = |e: trace_format::container::TraceError| SessionError::Trace(e.to_string());
                let record = LaunchRecord {
                    kernel: writer.kernel(kernel).map_err(trace)?,
                    geometry,
                    dynamic_shared_bytes: spec.shared_bytes,
                    banks: launch.banks.clone(),
                    buffers: notes.collect(),
                    number: index.into(),
                    ..LaunchRecord::default()
                };
                exec::check(&launch).map_err(|error| failed(index, error, &self.file))?;
                let mut sink = TraceSink::new(writer.launch(record).map_err(trace)?);
                let outcome = exec::launch(memory, &launch, options, &mut sink, observer);
                outcome.and_then(|stats| sink.finish().map(|()| stats).map_err(LaunchError::Sink))
            }
        };
        let stats = outcome.map_err(|error| failed(index, error, &self.file))?;
        Ok(LaunchReport { index, kernel: kernel.name.clone(), geometry, stats, time: start.elapsed() })
    }

    /// Compares buffers with what the manifest expects. With overrides there is nothing to compare with.
    #[must_use]
    pub fn check(&self) -> Vec<Check> {
        let checks = self.manifest.buffers.iter().zip(&self.loaded.buffers).filter_map(|(buffer, &id)| {
            if self.manifest.overridden {
                let verdict = Verdict::Skipped("the manifest's values are overridden".into());
                return buffer.expect.as_ref().map(|_| Check { buffer: buffer.name.clone(), verdict });
            }
            manifest::check::check(buffer, &self.loaded.memory.allocation(id).bytes.contents())
        });
        checks.collect()
    }

    /// Contents of a buffer of the manifest, or of a variable of the module in global memory.
    #[must_use]
    pub fn buffer(&self, name: &str) -> Option<&[u8]> {
        let mut all = self.loaded.memory.allocations();
        if let Some(allocation) = all.find(|a| a.name == name) {
            return allocation.bytes.own();
        }
        let (address, length) = self.loaded.module.variable(name)?;
        let mut all = self.loaded.memory.allocations();
        let around = all.find(|a| a.base <= address && address - a.base < a.len)?;
        let at = (address - around.base) as usize;
        around.bytes.own()?.get(at..at + length as usize)
    }

    /// Handle of a texture, surface or sampler of the manifest.
    #[must_use]
    pub fn handle(&self, name: &str) -> Option<u64> {
        self.loaded.handles.iter().find(|(n, _)| n == name).map(|(_, handle)| *handle)
    }

    /// A buffer as the manifest declares it.
    #[must_use]
    pub fn declaration(&self, name: &str) -> Option<&Buffer> {
        self.manifest.buffers.iter().find(|b| b.name == name)
    }
}

fn failed(index: u32, mut error: LaunchError, file: &Path) -> SessionError {
    if let LaunchError::Fault(fault) = &mut error {
        fault.ptx_file = file.display().to_string();
    }
    SessionError::Launch { index, error: Box::new(error) }
}

fn unknown_kernel(module: &AnyModule, manifest: &Manifest, spec: &LaunchSpec) -> ManifestError {
    let known = module.kernels();
    let help = match known.as_slice() {
        [] => format!("{} has no kernels", module.name()),
        names => format!("kernels of the file: {}", names.join(", ")),
    };
    ManifestError {
        place: Some(spec.kernel_place.clone()),
        key: format!("{}.kernel", spec.key),
        help: Some(help),
        ..ManifestError::file(
            manifest.path.display().to_string(),
            format!(
                "there is no kernel `{}` in {}{}",
                spec.kernel,
                module.name(),
                warplab_host::names::perhaps(&spec.kernel, known.iter().copied())
            ),
        )
    }
}
