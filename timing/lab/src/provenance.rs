//! What produced a result: program, command, machine, techniques and traces. JSON results, pages, Parquet files and
//! timelines have it under `produced_by`, CSV files and Konata logs in a file beside them, so that a result can be produced
//! again.

use crate::config::{GpuConfig, Loaded};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use trace_format::reader::Trace;
use warplab_host::shell;
use warplab_technique::{ParamValue, Technique};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Version of the program, with the git revision of its sources if they are a checkout.
pub const VERSION: &str = env!("WARPLAB_VERSION");

/// The revision of the sources; none if they are no git checkout.
pub const REVISION: Option<&str> = option_env!("WARPLAB_REVISION");

/// Key of the description in a result.
pub const KEY: &str = "produced_by";

/// Options with a value that change no result, in addition to those that write.
const WITHOUT_EFFECT: [&str; 1] = ["--threads"];
/// Such options without a value.
const FLAGS: [&str; 3] = ["--checked", "--discard-traces", "--retry-failed"];

/// Bytes of a file that are read at once.
const PIECE: usize = 1 << 20;

/// The description of what produces a result.
#[derive(Clone, Debug)]
pub struct Provenance {
    command: Vec<String>,
    machine: Option<Value>,
    techniques: Map<String, Value>,
    machines: Vec<Value>,
    traces: Vec<Value>,
}

impl Provenance {
    /// A program's command: its name, then its arguments. Options that change no result are left out, so that a result
    /// is the same whatever its file is called and whatever works on it.
    #[must_use]
    pub fn new(command: &[String]) -> Provenance {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let (words, _) = shell::without_writing(&words);
        let kept = shell::without(words, &WITHOUT_EFFECT, &FLAGS);
        Provenance {
            command: kept.into_iter().map(str::to_owned).collect(),
            machine: None,
            techniques: Map::new(),
            machines: Vec::new(),
            traces: Vec::new(),
        }
    }

    /// The command, quoted for a shell.
    #[must_use]
    pub fn command(&self) -> String {
        self.command.iter().map(|word| shell::quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// With the machine: its name, the values that differ from the named configuration, and all values with their hash.
    #[must_use]
    pub fn on(mut self, loaded: &Loaded, overrides: &[String]) -> Provenance {
        let config = &loaded.config;
        self.machine = Some(json!({
            "name": config.name,
            "compute_capability": loaded.compute_capability,
            "overrides": overrides,
            "hash": config_hash(config),
            "config": config,
        }));
        self
    }

    /// With another machine under a name of its own, and its techniques with all their parameters.
    #[must_use]
    pub fn beside<'a>(
        mut self,
        name: &str,
        loaded: &Loaded,
        techniques: impl IntoIterator<Item = &'a Box<dyn Technique>>,
    ) -> Provenance {
        let config = &loaded.config;
        self.machines.push(json!({
            "name": name,
            "machine": config.name,
            "hash": config_hash(config),
            "config": config,
            "techniques": with_parameters(techniques),
        }));
        self
    }

    /// With techniques and all their parameters.
    #[must_use]
    pub fn running<'a>(mut self, techniques: impl IntoIterator<Item = &'a Box<dyn Technique>>) -> Provenance {
        self.techniques.extend(with_parameters(techniques));
        self
    }

    /// With a trace: its path, size and hash, what recorded it, and the seeds of its data.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn add(&mut self, trace: &Trace) -> Result<(), String> {
        self.add_at(trace, trace.path())
    }

    /// As [`Provenance::add`], for a trace that the program writes itself: its path from the folder of the result, which is
    /// the same wherever that folder is.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn add_at(&mut self, trace: &Trace, path: &Path) -> Result<(), String> {
        self.traces.push(json!({
            "trace": path.display().to_string(),
            "bytes": trace.file_bytes(),
            "hash": trace_hash(trace)?,
            "recorded_by": trace.header().recorder(),
            "origin": origin(trace),
            "seeds": trace.header().seeds(),
        }));
        Ok(())
    }

    /// With a recording that is made on demand: its workload, its key by content, and the options of `emu record`.
    pub fn add_recording(&mut self, workload: &str, key: Option<&str>, options: &[String]) {
        let origin = ["emu", "record", workload].into_iter().chain(options.iter().map(String::as_str));
        let origin: Vec<&str> = origin.collect();
        self.traces.push(json!({ "trace": null, "hash": key, "origin": origin.join(" ") }));
    }

    /// With the machine, techniques and traces of a result that is an input; the machine of the first one counts.
    pub fn take_over(&mut self, input: &Value) {
        if self.machine.is_none() && input["machine"].is_object() {
            self.machine = Some(input["machine"].clone());
        }
        self.techniques.extend(input["techniques"].as_object().cloned().unwrap_or_default());
        for trace in input["traces"].as_array().into_iter().flatten() {
            if !self.traces.contains(trace) {
                self.traces.push(trace.clone());
            }
        }
    }

    /// The description.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "revision": REVISION,
            "command": self.command,
            "machine": self.machine,
            "techniques": self.techniques,
            // Other machines of a comparison, under their names.
            "machines": self.machines,
            "traces": self.traces,
            // No part of a replay or a study is random; the data of a trace may be, see its seeds.
            "seed": null,
        })
    }
}

/// Techniques by name, with all their parameters.
fn with_parameters<'a>(techniques: impl IntoIterator<Item = &'a Box<dyn Technique>>) -> Map<String, Value> {
    let of = |technique: &dyn Technique| {
        let parameter = |(name, value): (&'static str, ParamValue)| {
            let value = match value {
                ParamValue::Number(value) => json!(value),
                ParamValue::Switch(value) => json!(value),
                ParamValue::Word(value) => json!(value),
            };
            (name.to_owned(), value)
        };
        let parameters = technique.params().into_iter().map(parameter).collect();
        (technique.info().name.to_owned(), Value::Object(parameters))
    };
    techniques.into_iter().map(|technique| of(technique.as_ref())).collect()
}

/// The command that recorded a trace; where the trace does not have it, the files of its kernels.
#[must_use]
pub fn origin(trace: &Trace) -> String {
    trace.header().origin().map_or_else(|| sources(trace), str::to_owned)
}

/// The files of a trace's kernels, where nothing says what recorded them.
fn sources(trace: &Trace) -> String {
    let mut names: Vec<&str> = Vec::new();
    for launch in trace.launches() {
        let file = trace.kernel(launch.kernel).files.first().map(|file| file.name.as_str());
        names.extend(file.filter(|name| !name.is_empty() && !names.contains(name)));
    }
    format!("kernels of {}", if names.is_empty() { "unnamed files".into() } else { names.join(", ") })
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

/// Hash of the content of a trace that was opened: as [`file_hash`] of the same bytes.
///
/// # Errors
/// The file cannot be read, or has been written since it was opened.
pub fn trace_hash(trace: &Trace) -> Result<String, String> {
    let hash = trace.hash().map_err(|why| format!("{}: {why}", trace.path().display()))?;
    Ok(format!("{hash:016x}"))
}

/// Hash of a file's content: 16 hexadecimal digits.
///
/// # Errors
/// It is no regular file (a device has no end, a pipe may have no writer), or cannot be read.
pub fn file_hash(path: &Path) -> io::Result<String> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let (mut file, mut hash, mut piece) = (File::open(path)?, Xxh3::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(format!("{:016x}", hash.digest())),
            read => hash.update(&piece[..read]),
        }
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
