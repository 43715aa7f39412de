//! Reads the option files of GPGPU-Sim (`gpgpusim.config`) and Accel-Sim (`trace.config`, beside the other) and converts
//! them to configurations of this model.
//!
//! `options` parses a file, `cache` parses cache strings, `map` maps each option. Values that an option
//! file does not set come from the shipped configuration of the same generation; options without effect are
//! listed, never dropped silently.

mod cache;
mod map;
mod options;
#[cfg(test)]
mod tests;

pub use map::Unhonoured;

use super::{Loaded, flatten, load, load_text};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use toml::Value;

/// Result of an import.
#[derive(Clone, Debug)]
pub struct Import {
    /// Shipped configuration that supplies the other values.
    pub base: &'static str,
    /// Values by key path, each with the option that it comes from.
    pub values: BTreeMap<String, (Value, String)>,
    /// Options without effect, in the order of the file.
    pub unhonoured: Vec<Unhonoured>,
    /// The configuration that results.
    pub loaded: Loaded,
}

/// Imports the text of an option file; `name` is the name of the configuration.
///
/// # Errors
/// The line and option that is invalid, or the rule that the imported values break together.
pub fn import(text: &str, origin: &str, name: &str) -> Result<Import, String> {
    import_all(&[(text, origin)], name)
}

/// As [`import`], of several files, whose texts come with their names: the options of all of them count, as in the
/// simulators, and those of later files replace those of earlier ones.
///
/// # Errors
/// As [`import`].
pub fn import_all(files: &[(&str, &str)], name: &str) -> Result<Import, String> {
    let options = options::parse(files)?;
    let origins: Vec<&str> = files.iter().map(|(_, origin)| *origin).collect();
    let origin = &origins.join(" and ");
    if options.is_empty() {
        return Err(format!("{origin}: no options; expected lines such as `-gpgpu_n_clusters 28`"));
    }
    let describes_gpu =
        |option: &String| !option.starts_with("trace_") && !option.starts_with("specialized_unit");
    if !options.keys().any(describes_gpu) {
        return Err(format!(
            "{origin}: it has latencies only, as Accel-Sim's trace.config; give the gpgpusim.config of the same GPU, too"
        ));
    }
    // Errors of an option begin with its file and line, others with the option alone.
    let placed = |why: String| match origins.iter().any(|origin| why.starts_with(origin)) {
        true => why,
        false => format!("{origin}: {why}"),
    };
    let base = map::base(&options).map_err(placed)?;
    let shipped = load(base, &[]).map_err(|why| why.to_string())?;
    let mapped = map::map(&options, &shipped.config).map_err(placed)?;
    let known = flatten(&Value::try_from(&shipped.config).map_err(|why| why.to_string())?);
    let mut values = BTreeMap::new();
    let mut unhonoured = mapped.unhonoured;
    for (key, (value, source)) in mapped.values {
        if known.contains_key(&key) {
            values.insert(key, (value, source));
        } else if !source.contains(map::DEFAULT) {
            let (option, value) = source.split_once(' ').unwrap_or((&source, ""));
            let why = format!("this model has no {key}");
            unhonoured.push(Unhonoured { option: option.into(), value: value.into(), why });
        }
    }
    let text = render(base, name, origin, &values, &unhonoured);
    let loaded = load_text(&text, name, None, &[]).map_err(|broken| {
        let source =
            values.get(&broken.key).map(|(_, source)| format!(" (from {source})")).unwrap_or_default();
        format!(
            "{origin}: the options contradict each other here: `{}`{source}: {}",
            broken.key, broken.message
        )
    })?;
    Ok(Import { base, values, unhonoured, loaded })
}

impl Import {
    /// The configuration as a file, with the option of each value and the list of options without effect.
    #[must_use]
    pub fn to_toml(&self, origin: &str) -> String {
        render(self.base, &self.loaded.config.name, origin, &self.values, &self.unhonoured)
    }

    /// Keys of which the imported value differs from a shipped configuration's: key, imported, shipped.
    ///
    /// # Errors
    /// There is no such configuration.
    pub fn differences(&self, shipped: &str) -> Result<Vec<(String, String, String)>, String> {
        let other = load(shipped, &[]).map_err(|why| why.to_string())?;
        let table =
            |config| Value::try_from(config).map(|value| flatten(&value)).map_err(|why| why.to_string());
        let (mine, theirs) = (table(&self.loaded.config)?, table(&other.config)?);
        let absent = || "none".to_owned();
        let keys: std::collections::BTreeSet<&String> = mine.keys().chain(theirs.keys()).collect();
        let pair = |key: &&String| {
            let of =
                |table: &BTreeMap<String, Value>| table.get(*key).map_or_else(absent, ToString::to_string);
            ((*key).clone(), of(&mine), of(&theirs))
        };
        let differs = |(key, mine, theirs): &(String, String, String)| {
            mine != theirs && !matches!(key.as_str(), "name" | "description")
        };
        Ok(keys.iter().map(pair).filter(differs).collect())
    }
}

fn render(
    base: &str,
    name: &str,
    origin: &str,
    values: &BTreeMap<String, (Value, String)>,
    unhonoured: &[Unhonoured],
) -> String {
    // The folder is private, and a line break in the name would end the comment.
    let file = |origin: &str| {
        let name = Path::new(origin).file_name().map_or_else(|| origin.into(), |name| name.to_string_lossy());
        name.chars().filter(|c| !c.is_control()).collect::<String>()
    };
    let origin = origin.split(" and ").map(file).collect::<Vec<_>>().join(" and ");
    let mut text = format!(
        "# Imported from {origin}, as options of GPGPU-Sim. Other values are as in {base}.\nbase = \"{base}\"\n"
    );
    let line = |text: &mut String, key: &str, value: &Value, source: &str| {
        let _ = writeln!(text, "{:<40} # {source}", format!("{key} = {value}"));
    };
    let _ = writeln!(text, "name = {}", Value::String(name.to_owned()));
    let described = format!("imported from {origin}, based on {base}");
    let _ = writeln!(text, "description = {}", Value::String(described));
    let mut section = "";
    for (key, (value, source)) in values {
        let (path, last) = key.rsplit_once('.').unwrap_or(("", key));
        if path != section {
            let _ = writeln!(text, "\n[{path}]");
            section = path;
        }
        line(&mut text, last, value, source);
    }
    if !unhonoured.is_empty() {
        text += "\n# Not honoured:\n";
        for Unhonoured { option, value, why } in unhonoured {
            let _ = writeln!(text, "#   {option} {value}: {why}");
        }
    }
    text
}
