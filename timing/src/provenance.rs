//! What produced a result: program, command, machine and traces. JSON results and pages have it, under `produced_by`, so that a
//! result can be produced again.

use crate::config::{GpuConfig, Loaded};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use trace_format::reader::Trace;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Version of the program, with the git revision of its sources if they are a checkout.
pub const VERSION: &str = env!("WARPLAB_VERSION");

/// The revision of the sources; none if they are no git checkout.
pub const REVISION: Option<&str> = option_env!("WARPLAB_REVISION");

/// Key of the description in a result.
pub const KEY: &str = "produced_by";

/// Options with a value that change no result: files to write, and threads.
const WITHOUT_EFFECT: [&str; 9] =
    ["--json", "--csv", "--html", "--series", "--timeline", "--konata", "--output", "-o", "--threads"];
/// Such an option without a value.
const CHECKED: &str = "--checked";

/// Bytes of a file that are read at once.
const PIECE: usize = 1 << 20;

/// The description of what produces a result.
#[derive(Clone, Debug)]
pub struct Provenance {
    command: Vec<String>,
    machine: Option<Value>,
    traces: Vec<Value>,
}

impl Provenance {
    /// A program's command: its name, then its arguments. Options that change no result are left out, so that a result
    /// is the same whatever its file is called and whatever works on it.
    #[must_use]
    pub fn new(command: &[String]) -> Provenance {
        let (mut kept, mut words) = (Vec::new(), command.iter());
        while let Some(word) = words.next() {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            if WITHOUT_EFFECT.contains(&word.as_str()) {
                words.next();
            } else if !WITHOUT_EFFECT.contains(&name) && word != CHECKED {
                kept.push(word.clone());
            }
        }
        Provenance { command: kept, machine: None, traces: Vec::new() }
    }

    /// The command, quoted for a shell.
    #[must_use]
    pub fn command(&self) -> String {
        self.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// With the machine: its name, the values that differ from the named configuration, and all values with their hash.
    #[must_use]
    pub fn on(mut self, loaded: &Loaded, overrides: &[String]) -> Provenance {
        let config = &loaded.config;
        self.machine = Some(json!({
            "name": config.name,
            "overrides": overrides,
            "hash": config_hash(config),
            "config": config,
        }));
        self
    }

    /// With a trace: its path, size and hash, and what recorded it.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn add(&mut self, trace: &Trace) -> Result<(), String> {
        let path = trace.path();
        let hash = file_hash(path).map_err(|why| format!("{}: {why}", path.display()))?;
        self.traces.push(json!({
            "trace": path.display().to_string(),
            "bytes": trace.file_bytes(),
            "hash": hash,
            "recorded_by": trace.header().tool,
        }));
        Ok(())
    }

    /// The description.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "revision": REVISION,
            "command": self.command,
            "machine": self.machine,
            "traces": self.traces,
        })
    }
}

/// Hash of all values of a machine but its name and description: 16 hexadecimal digits.
#[must_use]
pub fn config_hash(config: &GpuConfig) -> String {
    let mut plain = config.clone();
    plain.name.clear();
    plain.description.clear();
    // A configuration is made of plain values, which always have a text.
    let text = serde_json::to_string(&plain).unwrap_or_default();
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// Hash of a file's content: 16 hexadecimal digits.
///
/// # Errors
/// The file cannot be read.
pub fn file_hash(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut piece) = (File::open(path)?, Xxh3::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(format!("{:016x}", hash.digest())),
            read => hash.update(&piece[..read]),
        }
    }
}

/// A word as a shell reads it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,=:+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn a_machine_s_hash_is_of_its_values_and_not_of_its_name() {
        let of = |set: &[&str]| {
            let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
            let config = load("gtx480", &set).expect("a configuration").config;
            (config.name.clone(), config_hash(&config))
        };
        let (name, hash) = of(&[]);
        assert_eq!(of(&["name=mine"]), ("mine".into(), hash.clone()));
        let (changed, other) = of(&["sm.max_warps=32", "scheduler.policy=lrr"]);
        assert_eq!(changed, format!("{name}, sm.max_warps 32, scheduler.policy lrr"));
        assert_ne!(hash, other);
        // A value that the machine has already, and a technique's parameter, change no machine.
        assert_eq!(of(&["technique.bow.window=4", "gpu.sms=15"]).0, name);
    }

    #[test]
    fn a_command_is_quoted_where_a_shell_needs_it() {
        let command = [
            "timing",
            "replay",
            "my trace.wtrace",
            "--json",
            "x",
            "--set",
            "a=b'c",
            "--threads=2",
            "--checked",
        ];
        let command = command.map(str::to_owned);
        assert_eq!(Provenance::new(&command).command(), r"timing replay 'my trace.wtrace' --set 'a=b'\''c'");
    }
}
