//! `compare_ptxas`: how Warplab's lowering compares with NVIDIA's `ptxas -O3 -arch=sm_75` on the same PTX.
//!
//! For every kernel of the given files (by default all bundled workloads) it prints registers per thread and
//! static instructions of both, their ratios and our spills, then the geometric means. Registers are those that
//! are allocated: hardware since sm_70 adds two to those that instructions name, and ptxas's numbers contain
//! them. NVIDIA's tools are found through `$CUDA_HOME/bin` or `$PATH`; without them only our own columns are
//! shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use emulator::lower::{LowerOptions, ModuleLayout, hidden_registers, lower_kernel};
use tools::nvidia::tool;
use warplab_host::{console, options};

/// Compares Warplab's lowering with ptxas: registers, instructions, spills. Registers are those that an SM allocates:
/// those that instructions name, and two more since sm_70.
#[derive(Parser)]
struct Args {
    /// PTX files; all bundled workloads when none is named.
    files: Vec<PathBuf>,
    /// Only this kernel.
    #[arg(long = "kernels", alias = "kernel")]
    kernel: Option<String>,
    /// Limits the registers per thread of both, as `ptxas -maxrregcount`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(24..=255))]
    maxregs: Option<u16>,
    /// Prints our machine code (and NVIDIA's, if found) instead of the table.
    #[arg(long)]
    disasm: bool,
    /// Prints the table as CSV, as `tests/tables/ptxas.csv` is kept.
    #[arg(long, conflicts_with = "disasm")]
    csv: bool,
}

/// The result of one compiler for a kernel.
#[derive(Clone, Copy, Default)]
struct Size {
    registers: u32,
    instructions: usize,
    spill_bytes: u32,
}

struct Theirs {
    sizes: BTreeMap<String, Size>,
    sass: BTreeMap<String, Vec<String>>,
}

/// Prints a line to standard output; the function returns the error if that cannot be written.
macro_rules! line {
    ($($text:tt)*) => {
        console::print(&format!("{}\n", format_args!($($text)*)))
            .map_err(|why| format!("cannot write to stdout: {why}"))?
    };
}

fn main() -> ExitCode {
    let args = match options::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            warplab_host::say!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, String> {
    let files = if args.files.is_empty() { workloads()? } else { args.files.clone() };
    let ptxas = tool("ptxas").zip(tool("cuobjdump"));
    if ptxas.is_none() {
        warplab_host::say!(
            "note: ptxas and cuobjdump were not found in $CUDA_HOME/bin or $PATH; only our columns are shown"
        );
    }
    let mut rows = Vec::new();
    let mut failed = false;
    for file in &files {
        let theirs = match &ptxas {
            Some((ptxas, cuobjdump)) => Some(nvidia(ptxas, cuobjdump, file, args.maxregs)?),
            None => None,
        };
        failed |= !ours(args, file, theirs.as_ref(), &mut rows)?;
    }
    if args.csv {
        print_csv(&rows)?;
    } else if !args.disasm {
        print_table(&rows)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What ptxas compiles for.
const SM: u32 = 75;

/// A table row: file, kernel, ours, theirs.
type Comparison = (String, String, Size, Option<Size>);

/// Lowers all kernels of a file; returns whether all succeeded.
fn ours(
    args: &Args,
    file: &Path,
    theirs: Option<&Theirs>,
    rows: &mut Vec<Comparison>,
) -> Result<bool, String> {
    let text = warplab_host::input::read_text(file, warplab_host::input::TEXT_BYTES)
        .map_err(|e| format!("{}: {e}", file.display()))?;
    let module = emulator::ptx::parse(&text, &file.display().to_string()).map_err(|e| e.to_string())?;
    let layout = ModuleLayout::of(&module).map_err(|e| e.plain(&module.source))?;
    let mut complete = true;
    let options = LowerOptions { maxregs: args.maxregs, ..LowerOptions::default() };
    for (id, function) in module.kernels() {
        if args.kernel.as_ref().is_some_and(|k| *k != function.name) {
            continue;
        }
        let lowered = match lower_kernel(&module, &layout, id, &options) {
            Ok(lowered) => lowered,
            Err(errors) => {
                warplab_host::say!("{errors}");
                complete = false;
                continue;
            }
        };
        let kernel = &lowered.kernel;
        if args.disasm {
            line!("{}: {} registers named", kernel.name, kernel.regs_per_thread);
            for (i, inst) in kernel.insts.iter().enumerate() {
                let pc = trace_format::isa::Pc(i as u32);
                let reconv = inst.reconv.map(|r| format!("  // {r}")).unwrap_or_default();
                line!("  {pc}  {inst}{reconv}");
            }
            if let Some(sass) = theirs.and_then(|t| t.sass.get(&kernel.name)) {
                line!("ptxas:");
                for text in sass {
                    line!("  {text}");
                }
            }
        }
        let size = Size {
            registers: u32::from(kernel.regs_per_thread + hidden_registers(SM)),
            instructions: kernel.insts.len(),
            spill_bytes: kernel.spill_bytes,
        };
        let theirs = theirs.and_then(|t| t.sizes.get(&kernel.name)).copied();
        let name = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        rows.push((name, kernel.name.clone(), size, theirs));
    }
    Ok(complete)
}

/// Columns without ptxas are empty.
fn print_csv(rows: &[Comparison]) -> Result<(), String> {
    line!(
        "file,kernel,registers,ptxas_registers,instructions,ptxas_instructions,spill_bytes,ptxas_spill_bytes"
    );
    for (file, kernel, ours, theirs) in rows {
        let of =
            |value: fn(&Size) -> usize| theirs.as_ref().map(|t| value(t).to_string()).unwrap_or_default();
        let (registers, instructions) = (of(|t| t.registers as usize), of(|t| t.instructions));
        let spills = of(|t| t.spill_bytes as usize);
        line!(
            "{file},{kernel},{},{registers},{},{instructions},{},{spills}",
            ours.registers,
            ours.instructions,
            ours.spill_bytes
        );
    }
    Ok(())
}

fn print_table(rows: &[Comparison]) -> Result<(), String> {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header([
        "file", "kernel", "regs", "ptxas", "ratio", "insts", "ptxas", "ratio", "spill B", "ptxas",
    ]);
    let (mut regs, mut insts, mut n) = (0.0f64, 0.0f64, 0u32);
    for (file, kernel, ours, theirs) in rows {
        let mut cells = vec![file.clone(), kernel.clone(), ours.registers.to_string()];
        match theirs {
            Some(t) => {
                let r = f64::from(ours.registers) / f64::from(t.registers.max(1));
                let i = ours.instructions as f64 / t.instructions.max(1) as f64;
                regs += r.ln();
                insts += i.ln();
                n += 1;
                cells.extend([t.registers.to_string(), format!("{r:.2}"), ours.instructions.to_string()]);
                cells.extend([t.instructions.to_string(), format!("{i:.2}"), ours.spill_bytes.to_string()]);
                cells.push(t.spill_bytes.to_string());
            }
            None => {
                cells.extend(["-".into(), "-".into(), ours.instructions.to_string()]);
                cells.extend(["-".into(), "-".into(), ours.spill_bytes.to_string(), "-".into()]);
            }
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let hidden = hidden_registers(SM);
    line!(
        "registers per thread that an SM allocates: those that instructions name, and {hidden} more (sm_{SM})"
    );
    line!("{table}");
    if n > 0 {
        let mean = |sum: f64| (sum / f64::from(n)).exp();
        line!(
            "geometric mean of ours/ptxas over {n} kernels: registers {:.3}, instructions {:.3}",
            mean(regs),
            mean(insts)
        );
    }
    Ok(())
}

/// PTX files of the bundled workloads, in order.
fn workloads() -> Result<Vec<PathBuf>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/workloads");
    let list = |dir: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        Ok(entries.filter_map(Result::ok).map(|e| e.path()).collect())
    };
    let mut files = Vec::new();
    for suite in list(&root)?.into_iter().filter(|p| p.is_dir()) {
        for dir in list(&suite)? {
            files.extend(list(&dir)?.into_iter().filter(|p| p.extension().is_some_and(|e| e == "ptx")));
        }
    }
    // In the order of their names, whatever their suite.
    files.sort_by_key(|file| file.file_name().map(ToOwned::to_owned));
    Ok(files)
}

/// Compiles a file with ptxas and reads its resource usage and code.
fn nvidia(ptxas: &Path, cuobjdump: &Path, file: &Path, maxregs: Option<u16>) -> Result<Theirs, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("a temporary folder: {e}"))?;
    let cubin = folder.path().join("kernels.cubin");
    let compile = Command::new(ptxas)
        .args(["-O3", &format!("-arch=sm_{SM}"), "-v"])
        .args(maxregs.map(|n| format!("-maxrregcount={n}")))
        .arg("-o")
        .arg(&cubin)
        .arg(file)
        .output()
        .map_err(|e| format!("{}: {e}", ptxas.display()))?;
    let log = String::from_utf8_lossy(&compile.stderr).into_owned();
    if !compile.status.success() {
        return Err(format!("ptxas refuses {}:\n{log}", file.display()));
    }
    let dump = Command::new(cuobjdump).arg("-sass").arg(&cubin).output();
    let dump = dump.map_err(|e| format!("{}: {e}", cuobjdump.display()))?;
    let mut theirs = Theirs { sizes: usage(&log), sass: sass(&String::from_utf8_lossy(&dump.stdout)) };
    for (name, code) in &theirs.sass {
        theirs.sizes.entry(name.clone()).or_default().instructions = code.len();
    }
    Ok(theirs)
}

/// Registers and spills per kernel from `ptxas -v`.
fn usage(log: &str) -> BTreeMap<String, Size> {
    let mut sizes: BTreeMap<String, Size> = BTreeMap::new();
    let mut kernel = String::new();
    let number_before = |line: &str, what: &str| -> Option<u32> {
        let at = line.find(what)?;
        line[..at].split_whitespace().next_back()?.parse().ok()
    };
    for line in log.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            kernel = rest.split('\'').next().unwrap_or_default().to_owned();
        }
        let size = sizes.entry(kernel.clone()).or_default();
        if let Some(n) = number_before(line, " bytes spill stores") {
            size.spill_bytes = n;
        }
        if let Some(n) = line.split("Used ").nth(1).and_then(|r| r.split_whitespace().next()?.parse().ok()) {
            size.registers = n;
        }
    }
    sizes.remove("");
    sizes
}

/// Instructions per kernel from `cuobjdump -sass`, without the padding after the last one.
fn sass(dump: &str) -> BTreeMap<String, Vec<String>> {
    let mut code: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut kernel = None;
    for line in dump.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("Function : ") {
            kernel = Some(name.to_owned());
        } else if let (Some(kernel), Some(text)) = (&kernel, instruction(line)) {
            code.entry(kernel.clone()).or_default().push(text);
        }
    }
    for list in code.values_mut() {
        while list.last().is_some_and(|l| is_padding(l)) {
            list.pop();
        }
    }
    code
}

/// `/*0040*/ S2R R3, SR_TID.X ; /* encoding */` as address and text.
fn instruction(line: &str) -> Option<String> {
    let rest = line.strip_prefix("/*")?;
    let (address, rest) = rest.split_once("*/")?;
    if address.trim().is_empty() || !address.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let text = rest.split(';').next()?.trim();
    (!text.is_empty() && !text.starts_with("/*")).then(|| format!("{address}  {text}"))
}

/// NOP, or the branch to itself that fills the end.
fn is_padding(line: &str) -> bool {
    let Some((address, text)) = line.split_once("  ") else { return false };
    let target = u64::from_str_radix(address, 16).map(|a| format!("BRA {a:#x}"));
    text == "NOP" || target.is_ok_and(|t| text.starts_with(&t))
}

#[cfg(test)]
mod tests {
    use super::Args;
    use clap::CommandFactory;
    use warplab_host::options::unclassified;

    #[test]
    fn every_option_with_a_path_is_known_to_read_or_to_write() {
        assert_eq!(unclassified(&Args::command(), &[]), Vec::<String>::new());
    }
}
