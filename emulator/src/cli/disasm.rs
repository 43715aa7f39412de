//! `emu disasm`: machine kernels as text.
//!
//! A line gives the program counter, the number of live registers before the instruction, a mark at
//! reconvergence points (`>`) and other branch targets (`:`), and the instruction. `machine_code` lists NVIDIA's.

use super::args::Disasm;
use super::error::CliError;
use super::machine_code;
use crate::session::{CodeKind, LoadedModule};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use trace_format::isa::{Kind, MachineKernel, Pc};
use warplab_host::console;

/// Lists the kernels of a file.
///
/// # Errors
/// The file cannot be read or lowered, or has no such kernel.
pub(super) fn disasm(args: &Disasm) -> Result<(), CliError> {
    if args.kind == Some(CodeKind::Sass) || args.kind.is_none() && machine_code::only_machine_code(&args.ptx)
    {
        return machine_code::list(args);
    }
    if args.check_control {
        return Err(CliError::Usage(
            "PTX has no control bits\n  help: `emu disasm app.cubin --check-control` checks those of machine code; --code sass chooses it".into(),
        ));
    }
    let module = LoadedModule::read(&args.ptx)?;
    let names: Vec<&str> = match &args.kernel {
        None => module.kernels(),
        Some(name) => vec![name.as_str()],
    };
    let mut out = console::out(false);
    for (i, name) in names.iter().enumerate() {
        let Some(id) = module.kernel(name) else {
            let guess = warplab_host::names::perhaps(name, module.kernels());
            let known = module.kernels().join(", ");
            return Err(CliError::Usage(format!(
                "there is no kernel `{name}` in {}{guess}\n  help: kernels of the PTX file: {}",
                args.ptx.display(),
                if known.is_empty() { "none" } else { &known }
            )));
        };
        let lowered = module.lower(id, &args.code.options())?;
        let gap = if i > 0 { "\n" } else { "" };
        write!(out, "{gap}{}", listing(&lowered.kernel, args.ptx_lines))?;
    }
    if names.is_empty() {
        return Err(CliError::Usage(format!("{} has no kernels", args.ptx.display())));
    }
    out.flush()?;
    Ok(())
}

/// The listing of a kernel, optionally with the PTX lines that instructions come from.
#[must_use]
pub(super) fn listing(kernel: &MachineKernel, ptx_lines: bool) -> String {
    let flow = kernel.flow();
    let liveness = flow.liveness(kernel);
    let targets = |jumps: fn(Kind) -> bool| -> BTreeSet<Pc> {
        kernel.insts.iter().filter(|i| jumps(i.kind())).map(|i| i.target).collect()
    };
    let targets = targets(|k| matches!(k, Kind::Branch | Kind::Call));
    let meetings: BTreeSet<Pc> = kernel.insts.iter().filter_map(|i| i.reconv).collect();
    let mut text = header(kernel, liveness.max());
    let mut last_line = 0;
    for (i, inst) in kernel.insts.iter().enumerate() {
        let pc = Pc(i as u32);
        if let Some((_, name)) = kernel.functions.iter().find(|(start, _)| *start == pc) {
            let _ = writeln!(text, "{name}:");
        }
        let line = kernel.lines[i].code.line;
        if ptx_lines && line != last_line && line > 0 {
            let source = kernel.lines[i].source;
            let source = kernel.file(source).filter(|_| source.is_known()).map(|file| (file, source.line));
            let _ = writeln!(
                text,
                "            // {}:{line}{}: {}",
                kernel.code_file().map_or("", |file| file.name.as_str()),
                source.map_or(String::new(), |(file, line)| format!(", {}:{line}", file.name)),
                kernel.code_text(pc).unwrap_or("")
            );
            last_line = line;
        }
        let mark = match (meetings.contains(&pc), targets.contains(&pc)) {
            (true, _) => '>',
            (_, true) => ':',
            _ => ' ',
        };
        let _ = write!(text, "{pc} {:>4} {mark} {inst}", liveness.count(pc));
        if let Some(r) = inst.reconv {
            let _ = write!(text, "  // lanes meet at {r}");
        }
        text.push('\n');
    }
    text
}

fn header(kernel: &MachineKernel, live: u32) -> String {
    let mut text = format!("kernel {}\n", warplab_host::symbols::both(&kernel.name));
    let _ = writeln!(
        text,
        "  {} instructions, {} registers (at most {live} live), {} bytes of shared and {} of local memory{}",
        kernel.insts.len(),
        kernel.regs_per_thread,
        kernel.static_shared_bytes,
        kernel.local_bytes,
        if kernel.spill_bytes > 0 {
            format!(", {} of them spills", kernel.spill_bytes)
        } else {
            String::new()
        }
    );
    for p in &kernel.params {
        let at = u32::from(trace_format::isa::space::PARAM_BASE) + p.offset;
        let _ = writeln!(text, "  c[0x0][{at:#x}] {} {}", p.ty, p.name);
    }
    text.push_str("pc     live   instruction\n");
    text
}
