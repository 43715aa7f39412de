//! `timing import-trace`: a text trace of Accel-Sim's tracer becomes a trace that can be replayed.

use super::error::CliError;
use super::output;
use super::progress::LateBar;
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use warplab_accelsim::{ImportOptions, Imported, Taken, TakenFor, import};

/// Arguments of `timing import-trace`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing import-trace traces/kernelslist.g -o app.wtrace\n  \
    timing replay app.wtrace --config qv100\n\n\
    The traces that the list names are text (.traceg), as post-traces-processing leaves them, possibly compressed with \
    xz; tracer versions up to 6 are read. They hold paths, lanes, registers and addresses, and no values: the trace \
    replays without techniques and with those that need no values. Opcodes that are not in Warplab's table are listed \
    with what they were taken for.")]
pub(super) struct ImportTraceArguments {
    /// The list of copies and kernels, kernelslist.g, or the folder that it is in.
    list: PathBuf,
    /// Writes the trace here; by default beside the list.
    #[arg(short, long, value_name = "FILE.wtrace")]
    output: Option<PathBuf>,
    /// Accepts kernels that lack blocks at their end, and imports those that are there.
    #[arg(long)]
    partial: bool,
    /// Prints JSON, with every opcode.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &ImportTraceArguments) -> Result<(), CliError> {
    let list = &arguments.list;
    let folder =
        if list.is_dir() { list.clone() } else { list.parent().map(Path::to_path_buf).unwrap_or_default() };
    let to = arguments.output.clone().unwrap_or_else(|| {
        // Named after the folder, which programs' traces are told apart by.
        let name = std::path::absolute(&folder).ok().and_then(|path| Some(path.file_name()?.to_os_string()));
        let mut name = name.unwrap_or_else(|| "imported".into());
        name.push(".wtrace");
        folder.join(name)
    });
    output::check(Some(&to))?;
    let bar = LateBar::new("importing");
    let progress = |bytes: u64, of: u64| bar.update(bytes, of, "");
    let done = import(list, &to, &ImportOptions { partial: arguments.partial, progress: &progress })?;
    drop(bar);
    output::print(&if arguments.json { format!("{:#}\n", as_json(&done)) } else { as_text(&done) })
}

fn as_json(done: &Imported) -> serde_json::Value {
    let how = |how| match how {
        Taken::Same => "row",
        Taken::Like => "like",
        Taken::Guess => "guess",
    };
    let opcode = |one: &TakenFor| json!({ "opcode": one.opcode, "taken_for": one.row, "by": how(one.how), "warp_instructions": one.count });
    json!({
        "trace": done.trace.display().to_string(),
        "file_bytes": done.file_bytes,
        "launches": done.launches,
        "warp_instructions": done.warp_instructions,
        "thread_instructions": done.thread_instructions,
        "opcodes": done.opcodes.iter().map(opcode).collect::<Vec<_>>(),
        "widened_operands": done.widened,
        "dropped_operands": done.dropped,
        "other_operands": done.other_operands,
        "accesses_without_addresses": done.without_addresses,
        "ignored_commands": done.ignored_commands,
        "missing_blocks": done.missing_blocks,
    })
}

fn as_text(done: &Imported) -> String {
    let mut text = format!(
        "trace {}: {} bytes, {} {}, {} warp instructions, {} thread instructions\n",
        done.trace.display(),
        done.file_bytes,
        done.launches,
        if done.launches == 1 { "launch" } else { "launches" },
        done.warp_instructions,
        done.thread_instructions
    );
    let other: Vec<&TakenFor> = done.opcodes.iter().filter(|one| one.how != Taken::Same).collect();
    if !other.is_empty() {
        let widest = |column: fn(&TakenFor) -> usize, head: &str| {
            other.iter().map(|one| column(one)).max().unwrap_or(0).max(head.len())
        };
        let (first, second) =
            (widest(|one| one.opcode.len(), "opcode"), widest(|one| one.row.len(), "taken for"));
        text += &format!(" {:<first$}  {:<second$}  warp instructions\n", "opcode", "taken for");
        for one in other {
            let guessed = if one.how == Taken::Guess { "  unknown opcode, guessed by its name" } else { "" };
            let line = format!(" {:<first$}  {:<second$}  {:>17}{guessed}", one.opcode, one.row, one.count);
            text += line.trim_end();
            text.push('\n');
        }
    }
    let notes = [
        (done.widened, "warp instructions have an operand that is taken for the aligned registers around it"),
        (done.dropped, "warp instructions have a register that their row has no operand for"),
        (done.other_operands, "operands are predicates or uniform registers, which are left out"),
        (
            done.without_addresses,
            "warp instructions access memory without an address in the trace, and touch none",
        ),
        (done.ignored_commands, "lines of the list are neither copies nor kernels and have no effect"),
        (done.missing_blocks, "thread blocks are missing"),
    ];
    for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!("note: {count} {what}\n");
    }
    text
}
