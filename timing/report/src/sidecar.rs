//! What produced a CSV file or a log: a file beside it, because a comment in the table would be a row to most readers.
//!
//! `X.csv` has `X.csv.provenance.json`, which also has the size and hash of the table, so that a description left by an
//! older table is told apart.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::report::PRODUCED_BY;

/// End of the name of such a file.
pub const SIDECAR: &str = ".provenance.json";

/// Version of the JSON layout.
const SCHEMA: &str = "warplab-provenance/1";

/// The file beside a table that says what produced it.
///
/// ```
/// # use report::sidecar;
/// assert_eq!(sidecar("out/x.csv".as_ref()).to_str(), Some("out/x.csv.provenance.json"));
/// ```
#[must_use]
pub fn sidecar(table: &Path) -> PathBuf {
    let mut name = table.as_os_str().to_owned();
    name.push(SIDECAR);
    name.into()
}

/// Content of the file beside a table: `produced_by`, and under `file` the table's name, size and hash.
#[must_use]
pub fn sidecar_text(table: &Path, bytes: u64, hash: u64, produced_by: &Value) -> String {
    let name = table.file_name().unwrap_or_default().to_string_lossy();
    let file = json!({ "name": name, "bytes": bytes, "hash": format!("{hash:016x}") });
    format!("{:#}\n", json!({ "schema": SCHEMA, "file": file, PRODUCED_BY: produced_by }))
}

/// The same for a table in memory.
#[must_use]
pub fn sidecar_of(table: &Path, contents: &[u8], produced_by: &Value) -> String {
    sidecar_text(table, contents.len() as u64, xxh3_64(contents), produced_by)
}
