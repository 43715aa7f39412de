//! The third road: ptxas makes machine code of a kernel, which the emulator runs.

use super::emulated::{execute, recorded};
use emulator::device::{DeviceModule, Shape};
use emulator::exec::Options;
use emulator::lower::LowerOptions;
use emulator::memory::{AllocationId, GlobalMemory};
use emulator::native::NativeModule;
use emulator::record::Unrecorded;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use trace_format::container::Contents;
use trace_format::semantics::Geometry;

/// An assembler and the target that it assembles for.
#[derive(Clone, Debug)]
pub struct Assembler {
    /// The program ptxas.
    pub ptxas: PathBuf,
    /// The target, such as `sm_80`.
    pub target: String,
}

impl Assembler {
    /// The ptxas of `CUDA_HOME`, or of the toolkit that `tools/scripts/cuda-toolkit.sh` installs, which has an older one for
    /// sm_70 beside it; none if there is neither.
    #[must_use]
    pub fn installed(target: &str) -> Option<Assembler> {
        let own = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/warplab/cuda"));
        let home = std::env::var_os("CUDA_HOME").map(PathBuf::from).or_else(own)?;
        let ptxas = home.join(if target == VOLTA { "bin/ptxas-12.9" } else { "bin/ptxas" });
        ptxas.is_file().then(|| Assembler { ptxas, target: target.to_owned() })
    }

    /// The number of its target, such as 80.
    #[must_use]
    pub fn number(&self) -> u32 {
        let digits: String = self.target.chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_default()
    }

    /// Assembles a PTX file to a cubin; `options` are further ones of ptxas.
    ///
    /// # Errors
    /// What ptxas says.
    pub fn assemble(&self, source: &Path, cubin: &Path, options: &[&str]) -> Result<(), String> {
        let older = cubin.with_extension("volta.ptx");
        let source = if self.target == VOLTA {
            let text = std::fs::read_to_string(source).map_err(|error| error.to_string())?;
            std::fs::write(&older, for_volta(&text)).map_err(|error| error.to_string())?;
            &older
        } else {
            source
        };
        let made = Command::new(&self.ptxas)
            .arg(format!("-arch={}", self.target))
            .args(options)
            .args([Path::new("-o"), cubin, source])
            .output()
            .map_err(|error| format!("{}: {error}", self.ptxas.display()))?;
        if made.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&made.stderr).into_owned()) }
    }

    /// Machine code of a PTX text, in which products and sums are not fused.
    ///
    /// # Errors
    /// What ptxas says.
    pub fn unfused(&self, ptx: &str, folder: &Path) -> Result<Vec<u8>, String> {
        let (source, cubin) = (folder.join("kernel.ptx"), folder.join("kernel.cubin"));
        std::fs::write(&source, ptx).map_err(|error| error.to_string())?;
        self.assemble(&source, &cubin, &["--fmad", "false"])?;
        std::fs::read(&cubin).map_err(|error| error.to_string())
    }
}

/// The target that the compilers of CUDA 13 no longer know.
const VOLTA: &str = "sm_70";

/// A PTX text with a version and a target that an assembler for sm_70 knows.
fn for_volta(text: &str) -> String {
    let line = |line: &str| match line.split_whitespace().next() {
        Some(".version") => ".version 8.5\n".to_owned(),
        Some(".target") => format!(".target {VOLTA}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Runs the kernel `kernel` of a cubin on buffers and the scalars that follow them, which are aligned to their size, and
/// records it if a file is given.
///
/// # Errors
/// The machine code is not supported, or faults.
pub fn run(
    image: Vec<u8>,
    geometry: Geometry,
    buffers: &[&Vec<u8>],
    scalars: &[Vec<u8>],
    max_instructions: u64,
    trace: Option<(&Path, Contents)>,
) -> Result<Vec<Vec<u8>>, String> {
    let module = NativeModule::parse(image, "random.cubin").map_err(|error| error.to_string())?;
    let mut memory = GlobalMemory::new();
    let mut device =
        DeviceModule::load(Arc::new(module), &mut memory, Vec::new()).map_err(|error| error.to_string())?;
    let ids: Vec<AllocationId> =
        buffers.iter().map(|bytes| memory.allocate("buffer", (*bytes).clone())).collect();
    let mut params: Vec<u8> = ids.iter().flat_map(|id| memory.allocation(*id).base.to_le_bytes()).collect();
    for scalar in scalars {
        params.resize(params.len().next_multiple_of(scalar.len()), 0);
        params.extend(scalar);
    }
    let lowered = device.kernel("kernel", &LowerOptions::default());
    let lowered = lowered.ok_or("there is no kernel")?;
    let lowered = lowered.map_err(|error| error.to_string())?;
    let shape = Shape { geometry: &geometry, dynamic_shared_bytes: 0, sms: 1 };
    let banks = device.banks(&memory, &lowered, &shape, &params).map_err(|error| error.to_string())?;
    let launch = emulator::exec::Launch {
        kernel: &lowered.kernel,
        geometry,
        dynamic_shared_bytes: 0,
        banks,
        index: 0,
    };
    let options = Options { threads: 1, max_instructions, ..Options::default() };
    let done = match trace {
        Some((path, contents)) => recorded(&mut memory, &launch, &options, path, contents),
        None => execute(&mut memory, &launch, &options, &mut Unrecorded),
    };
    done.map_err(|fault| fault.to_string())?;
    Ok(ids[1..].iter().map(|id| memory.allocation(*id).bytes.to_vec()).collect())
}
