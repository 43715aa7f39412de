//! One launch of a kernel with a manifest that is written for it.

use emulator::session::{Session, Setup};
use std::fmt::Write as _;
use std::path::Path;

/// A buffer of words: its name, its length, and its `init` in TOML.
pub(crate) type Buffer = (String, usize, Option<String>);

/// A session in a folder; the buffers are the kernel's arguments in order, `scalars` follow them.
pub(crate) fn open(
    folder: &Path,
    ptx: &Path,
    (kernel, grid, block): (&str, u32, u32),
    buffers: &[Buffer],
    scalars: &[u32],
) -> Session {
    let mut toml = format!("ptx = {:?}\n", ptx.display().to_string());
    let mut args = Vec::new();
    for (name, len, init) in buffers {
        writeln!(toml, "[buffers.{name}]\ntype = \"u32\"\nlen = {len}").unwrap();
        if let Some(init) = init {
            writeln!(toml, "init = {init}").unwrap();
        }
        args.push(format!("\"@{name}\""));
    }
    args.extend(scalars.iter().map(|s| format!("{{ u32 = {s} }}")));
    let args = args.join(", ");
    writeln!(toml, "[[launch]]\nkernel = \"{kernel}\"\ngrid = {grid}\nblock = {block}\nargs = [{args}]")
        .unwrap();
    let manifest = folder.join("launch.toml");
    std::fs::write(&manifest, toml).expect("a file");
    Session::open_manifest(&manifest, &Setup::default()).unwrap_or_else(|e| panic!("{kernel}: {e}"))
}
