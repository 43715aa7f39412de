//! Launches of kernels with a manifest that is written for them.

use emulator::session::{Session, Setup};
use std::fmt::Write as _;
use std::path::Path;

/// A buffer of words: its name, its length, and its `init` in TOML.
pub(crate) type Buffer = (String, usize, Option<String>);

/// A launch: its kernel, blocks, threads of a block, and the words that follow the buffers as arguments.
pub(crate) type Launch<'a> = (&'a str, u32, u32, &'a [u32]);

/// A session of one launch in a folder; the buffers are the kernel's arguments in order, `scalars` follow them.
pub(crate) fn open(
    folder: &Path,
    ptx: &Path,
    (kernel, grid, block): (&str, u32, u32),
    buffers: &[Buffer],
    scalars: &[u32],
) -> Session {
    open_all(folder, ptx, &[(kernel, grid, block, scalars)], buffers)
}

/// A session of several launches with the same buffers.
pub(crate) fn open_all(folder: &Path, ptx: &Path, launches: &[Launch], buffers: &[Buffer]) -> Session {
    let mut toml = format!("ptx = {:?}\n", ptx.display().to_string());
    for (name, len, init) in buffers {
        writeln!(toml, "[buffers.{name}]\ntype = \"u32\"\nlen = {len}").unwrap();
        if let Some(init) = init {
            writeln!(toml, "init = {init}").unwrap();
        }
    }
    for (kernel, grid, block, scalars) in launches {
        let buffers = buffers.iter().map(|(name, ..)| format!("\"@{name}\""));
        let args: Vec<String> = buffers.chain(scalars.iter().map(|s| format!("{{ u32 = {s} }}"))).collect();
        let args = args.join(", ");
        writeln!(toml, "[[launch]]\nkernel = \"{kernel}\"\ngrid = {grid}\nblock = {block}\nargs = [{args}]")
            .unwrap();
    }
    let manifest = folder.join("launch.toml");
    std::fs::write(&manifest, toml).expect("a file");
    Session::open_manifest(&manifest, &Setup::default()).unwrap_or_else(|e| panic!("{}: {e}", ptx.display()))
}
