//! `kernelslist.g`: the copies and kernels of a program in the order in which they ran.

use crate::error::AccelsimError;
use crate::lines::Lines;
use std::path::{Path, PathBuf};
use trace_format::container::{TransferKind, TransferRecord};

/// Most commands of a list.
const MAX_COMMANDS: usize = 1 << 20;

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// A copy from the host to the GPU.
    Copy(Copy),
    /// A kernel, by its file.
    Kernel(PathBuf),
}

/// A copy from the host to the GPU.
#[derive(Clone, std::marker::Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    to: u64,
    bytes: u64,
}

/// The record of a copy after so many launches.
pub(crate) fn transfer(copy: Copy, after_launches: u64) -> TransferRecord {
    let Copy { to, bytes } = copy;
    TransferRecord { kind: TransferKind::HostToDevice, bytes, to, from: 0, stream: 0, after_launches }
}

/// A list, read.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub commands: Vec<Command>,
    /// Lines that are neither, which the simulator ignores too.
    pub ignored: u64,
}

/// Reads a list; a path that is a folder means the list in it.
pub(crate) fn read(path: &Path) -> Result<List, AccelsimError> {
    let folder = path.is_dir();
    let path = if folder { path.join("kernelslist.g") } else { path.to_path_buf() };
    let mut lines = Lines::open(&path)?;
    let mut list = List::default();
    while lines.advance()? {
        let text = String::from_utf8_lossy(&lines.text).trim().to_owned();
        if text.starts_with("kernel") {
            list.commands.push(Command::Kernel(beside(&path, &text)));
        } else if text.starts_with("MemcpyHtoD") {
            let copy = copy(&text).ok_or_else(|| {
                lines.error(format!("`{}`: expected MemcpyHtoD,0xADDRESS,BYTES", lines.shown()))
            })?;
            transfer(copy, 0).check().map_err(|why| lines.error(why))?;
            list.commands.push(Command::Copy(copy));
        } else if !text.is_empty() {
            list.ignored += 1;
        }
        if list.commands.len() > MAX_COMMANDS {
            return Err(lines.error(format!("more than {MAX_COMMANDS} commands")));
        }
    }
    if !list.commands.iter().any(|command| matches!(command, Command::Kernel(_))) {
        let what = "it names no kernel; expected the kernelslist.g that Accel-Sim's tracer and its \
                    post-traces-processing leave beside the traces";
        return Err(AccelsimError::file(&path, what));
    }
    Ok(list)
}

fn copy(text: &str) -> Option<Copy> {
    let mut parts = text.split(',').map(str::trim);
    let (_, to, bytes) = (parts.next()?, parts.next()?, parts.next()?);
    let to = u64::from_str_radix(to.trim_start_matches("0x"), 16).ok()?;
    let copy = Copy { to, bytes: bytes.parse().ok()? };
    parts.next().is_none().then_some(copy)
}

/// The file that a list names, which is often compressed after the list was written.
fn beside(list: &Path, name: &str) -> PathBuf {
    let path = list.with_file_name(name);
    let packed = list.with_file_name(format!("{name}.xz"));
    if !path.exists() && packed.exists() { packed } else { path }
}
