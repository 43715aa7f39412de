//! Reads configuration files: inheritance through `base`, overrides through `--set`, and the place of every key.
//!
//! Files are layered as plain TOML tables first and typed once at the end, so that an inherited key and an
//! overridden one are checked alike; a map from key path to file and line keeps errors pointing at the
//! source. The rules for values are in [`super::rules`].

use super::{GpuConfig, builtin, clock, rules};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use warplab_gpus::device;
use warplab_host::{input, names};

/// Maximum length of an inheritance chain.
const MAX_BASES: usize = 8;

/// Error of a refused configuration: the key, its file and line, and the broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Dotted key path; empty for the whole file.
    pub key: String,
    /// `file:line` or `--set`, where known.
    pub place: Option<String>,
    /// The error and the expected value.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// A configuration with the place of each of its keys.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The checked configuration.
    pub config: GpuConfig,
    /// Key path to `file:line` (or `--set`).
    pub places: BTreeMap<String, String>,
    /// Key path to the comment on the value's source.
    pub sources: BTreeMap<String, String>,
    /// Compute capability of the board, if the configuration describes it.
    pub compute_capability: Option<[i64; 2]>,
}

/// Loads a built-in configuration by name, or a file by path, whose name is that of the file unless it has one, and applies `path.to.key=value` overrides.
///
/// # Errors
/// An unknown name, an unreadable or unparsable file, an unknown key, a wrong type or a broken rule.
pub fn load(name_or_path: &str, overrides: &[String]) -> Result<Loaded, ConfigError> {
    let (text, origin, folder) = read(name_or_path, None)?;
    load_text(&text, &origin, folder.as_deref(), overrides)
}

/// As [`load`], from text; relative `base` files are searched in `folder`.
///
/// # Errors
/// As [`load`].
pub fn load_text(
    text: &str,
    origin: &str,
    folder: Option<&Path>,
    overrides: &[String],
) -> Result<Loaded, ConfigError> {
    let loaded = typed(text, origin, folder, overrides)?;
    match rules::check(&loaded.config) {
        Ok(()) => Ok(loaded),
        Err(broken) => {
            let is_refused = |overrides: &[String]| {
                let other = typed(text, origin, folder, overrides);
                other.is_err() || other.is_ok_and(|other| rules::check(&other.config).is_err())
            };
            Err(refusal(&loaded.places, overrides, &broken, &is_refused))
        }
    }
}

/// A configuration with the right keys and types, whose rules are not checked.
fn typed(
    text: &str,
    origin: &str,
    folder: Option<&Path>,
    overrides: &[String],
) -> Result<Loaded, ConfigError> {
    let mut layers = Layers::default();
    layers.add_chain(text, origin, folder, 0)?;
    let inherits = layers.inherits;
    for item in overrides {
        layers.add_override(item)?;
    }
    let Layers { mut table, places, sources, changes, compute_capability, .. } = layers;
    if let Some(toml::Value::String(name)) = table.get_mut("name") {
        changes.iter().for_each(|(key, value)| name.extend([", ", key, " ", value]));
    }
    let config: GpuConfig = serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|e| {
        let (key, message) = (e.path().to_string(), e.inner().message());
        let mut error = at(&places, &key, message);
        if message.starts_with("missing field") && !inherits {
            error.message += &remedy_of_missing(message, origin);
        } else if message.starts_with("unknown field") {
            hint_at_override(&mut error, overrides);
        }
        error
    })?;
    Ok(Loaded { config, places, sources, compute_capability })
}

/// What to write where a file without `base` lacks a key.
fn remedy_of_missing(message: &str, origin: &str) -> String {
    if message.contains("`name`") {
        return "; write `name = \"…\"` at the top of the file".to_owned();
    }
    format!(
        "; {origin} names no configuration to inherit from: write `base = \"{}\"`, or another name that `timing list` shows, \
         at its top, and only the keys that differ",
        builtin::MODELLED
    )
}

/// Adds to an error about an unknown key what an override may mean: the key in its section, or a parameter of a technique.
fn hint_at_override(error: &mut ConfigError, overrides: &[String]) {
    let wrong = |path: &str| path == error.key || path.starts_with(&format!("{}.", error.key));
    let found = overrides.iter().find_map(|item| {
        let path = item.split_once('=')?.0.trim();
        wrong(path).then_some((item, path))
    });
    let Some((item, path)) = found else { return };
    error.place = Some(format!("--set {item}"));
    if path.starts_with("technique.") {
        return;
    }
    let known = load(builtin::MODELLED, &[]).map_or(Vec::new(), |loaded| loaded.config.keys());
    let end = format!(".{path}");
    let within: Vec<String> =
        known.iter().filter(|key| key.path.ends_with(&end)).map(|key| format!("`{}`", key.path)).collect();
    let is_section = |name: &str| known.iter().any(|key| key.path.split('.').next() == Some(name));
    let hint = match (within.as_slice(), path.split_once('.')) {
        ([], Some((section, _))) if !is_section(section) => {
            format!("a parameter of a technique is `technique.{path}`")
        }
        ([], None) => format!("a parameter of a technique is `technique.NAME.{path}`"),
        ([], Some(_)) => return,
        (keys, _) => format!("did you mean {}?", keys.join(" or ")),
    };
    error.message += &format!("; {hint} `timing config keys` lists all keys");
    error.message = error.message.replace("` `timing config", "`; `timing config");
}

/// The error of a broken rule. If the value that breaks it is not that of an override, the overrides that conflict with it
/// are named, because these are what the user wrote.
fn refusal(
    places: &BTreeMap<String, String>,
    overrides: &[String],
    broken: &rules::Broken,
    is_refused: &dyn Fn(&[String]) -> bool,
) -> ConfigError {
    let plain = at(places, &broken.key, &broken.rule);
    let is_own = plain.place.as_ref().is_none_or(|place| place.starts_with("--set "));
    if is_own || overrides.is_empty() || is_refused(&[]) {
        return plain;
    }
    let without = |at: usize| [&overrides[..at], &overrides[at + 1..]].concat();
    let culprits: Vec<&String> = overrides
        .iter()
        .enumerate()
        .filter(|(at, _)| !is_refused(&without(*at)))
        .map(|(_, item)| item)
        .collect();
    let named: Vec<&str> = match culprits.as_slice() {
        [] => overrides.iter().map(String::as_str).collect(),
        some => some.iter().map(|item| item.as_str()).collect(),
    };
    let it = plain.place.unwrap_or_default();
    ConfigError {
        place: Some(format!("--set {}", named.join(" --set "))),
        message: format!("{}; that value is the one of {it}: change both", broken.rule),
        key: plain.key,
    }
}

/// An error at `key`, with the place of the key or of its nearest known parent.
fn at(places: &BTreeMap<String, String>, key: &str, message: &str) -> ConfigError {
    let mut probe = key;
    let place = loop {
        if let Some(place) = places.get(probe) {
            break Some(place.clone());
        }
        match probe.rfind('.') {
            Some(dot) => probe = &probe[..dot],
            None => break None,
        }
    };
    let key = if key == "." { "" } else { key };
    ConfigError { key: key.to_owned(), place, message: with_guess(message.trim()) }
}

/// The message of the parser about a key that does not exist, with what it may mean.
fn with_guess(message: &str) -> String {
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match (message.split_once(", expected"), words.as_slice()) {
        (Some((unknown, expected)), [wrong, known @ ..]) if message.starts_with("unknown field") => {
            match names::nearest(wrong, known.iter().copied()) {
                Some(guess) => format!("{unknown}; did you mean `{guess}`? expected{expected}"),
                None => message.to_owned(),
            }
        }
        _ => message.to_owned(),
    }
}

/// Text, display name and folder of a configuration.
fn read(name: &str, beside: Option<&Path>) -> Result<(String, String, Option<PathBuf>), ConfigError> {
    if let Some(found) = builtin::find(builtin::GPUS, name) {
        return Ok((found.text.to_owned(), found.path.to_owned(), None));
    }
    let looks_like_file = name.ends_with(".toml") || name.contains(['/', '\\']);
    let path = beside.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    let refuse = |message: String| ConfigError { key: String::new(), place: None, message };
    if !looks_like_file {
        return Err(refuse(format!(
            "{}, or give a file ending in .toml",
            names::unknown("configuration", name, &builtin::list(builtin::GPUS))
        )));
    }
    let text = input::read_text(&path, input::TEXT_BYTES)
        .map_err(|e| refuse(format!("cannot read configuration {}: {e}", path.display())))?;
    Ok((text, path.display().to_string(), path.parent().map(Path::to_path_buf)))
}

#[derive(Default)]
struct Layers {
    table: toml::Table,
    places: BTreeMap<String, String>,
    sources: BTreeMap<String, String>,
    /// Overrides of the machine's values, by key, in the order in which they were first named: a machine is called by its
    /// changes. Parameters of techniques belong to these.
    changes: Vec<(String, String)>,
    /// Whether the first file inherits from another one.
    inherits: bool,
    compute_capability: Option<[i64; 2]>,
}

impl Layers {
    /// Adds a file after its `base` chain.
    fn add_chain(
        &mut self,
        text: &str,
        origin: &str,
        folder: Option<&Path>,
        depth: usize,
    ) -> Result<(), ConfigError> {
        let refuse = |offset: Option<usize>, message: String| ConfigError {
            key: String::new(),
            place: Some(offset.map_or(origin.to_owned(), |o| format!("{origin}:{}", Lines::of(text).at(o)))),
            message,
        };
        if depth == MAX_BASES {
            return Err(refuse(
                None,
                format!("more than {MAX_BASES} configurations inherit from one another"),
            ));
        }
        let syntax = |e: toml::de::Error| refuse(e.span().map(|s| s.start), e.message().to_owned());
        let spanned = DeTable::parse(text).map_err(syntax)?;
        let mut table: toml::Table = toml::from_str(text).map_err(syntax)?;
        if let Some(base) = table.remove("base") {
            self.inherits = true;
            let Some(base) = base.as_str() else {
                return Err(refuse(None, "`base` must be the name of a configuration, in quotes".into()));
            };
            let (base_text, base_origin, base_folder) = read(base, folder)?;
            self.add_chain(&base_text, &base_origin, base_folder.as_deref(), depth + 1)?;
        }
        // The name of another machine would be wrong on every result.
        if folder.is_some() && !table.contains_key("name") && self.inherits {
            let stem = Path::new(origin).file_stem().map(|stem| stem.to_string_lossy().into_owned());
            table.extend(stem.map(|stem| ("name".to_owned(), toml::Value::String(stem))));
        }
        // The description of the board for programs is not part of the model.
        if let Some(device) = table.remove("device") {
            let capability = device.get("compute_capability").and_then(toml::Value::as_array);
            let parts: Option<Vec<i64>> =
                capability.map(|parts| parts.iter().filter_map(toml::Value::as_integer).collect());
            self.compute_capability =
                parts.and_then(|parts| parts.try_into().ok()).or(self.compute_capability);
            device::check(device).map_err(|e| refuse(None, format!("`device`: {}", e.message())))?;
        }
        self.record("", spanned.get_ref(), &Lines::of(text), origin);
        builtin::merge(&mut self.table, table);
        Ok(())
    }

    /// Records the place of every key of a table, and the comment on its source.
    fn record(&mut self, prefix: &str, table: &DeTable<'_>, lines: &Lines<'_>, origin: &str) {
        for (key, value) in table {
            let name = key.get_ref();
            if prefix.is_empty() && name == "device" {
                continue;
            }
            let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
            let line = lines.at(key.span().start);
            self.places.insert(path.clone(), format!("{origin}:{line}"));
            self.sources.insert(path.clone(), lines.source(line));
            if let DeValue::Table(inner) = value.get_ref() {
                self.record(&path, inner, lines, origin);
            }
        }
    }

    /// Adds `path.to.key=value`; the value is TOML, or else a string.
    fn add_override(&mut self, item: &str) -> Result<(), ConfigError> {
        let place = Some(format!("--set {item}"));
        if let Some((clock, frequency)) = clock::named(item) {
            let key = format!("clock.{clock}");
            let values = clock::values(&self.table, clock, frequency).map_err(|message| ConfigError {
                key,
                place,
                message,
            })?;
            return values.iter().try_for_each(|(key, value)| self.add_override(&format!("{key}={value}")));
        }
        let Some((path, value)) = item.split_once('=') else {
            let message = "expected path.to.key=value".to_owned();
            return Err(ConfigError { key: String::new(), place, message });
        };
        let (path, value) = (path.trim(), value.trim());
        let value = toml::from_str::<toml::Table>(&format!("v = {value}"))
            .ok()
            .and_then(|mut table| table.remove("v"))
            .unwrap_or_else(|| toml::Value::String(value.to_owned()));
        let mut keys: Vec<&str> = path.split('.').collect();
        let Some(last) = keys.pop().filter(|last| !last.is_empty() && keys.iter().all(|k| !k.is_empty()))
        else {
            return Err(ConfigError { key: path.to_owned(), place, message: "empty key in the path".into() });
        };
        let mut table = &mut self.table;
        for key in keys {
            let entry = table.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            let Some(inner) = entry.as_table_mut() else {
                let message = format!("`{key}` is a value, not a section");
                return Err(ConfigError { key: path.to_owned(), place, message });
            };
            table = inner;
        }
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let same = table.get(last) == Some(&value);
        table.insert(last.to_owned(), value);
        if !path.starts_with("technique.") && !["name", "description"].contains(&path) {
            match self.changes.iter_mut().find(|(key, _)| key == path) {
                Some((_, old)) => *old = shown,
                None if same => {}
                None => self.changes.push((path.to_owned(), shown)),
            }
        }
        self.places.insert(path.to_owned(), format!("--set {item}"));
        self.sources.insert(path.to_owned(), String::new());
        Ok(())
    }
}

/// A text by lines, which are numbered from 1.
struct Lines<'t> {
    lines: Vec<&'t str>,
    /// Offset at which each line begins.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Lines<'t> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { lines: text.lines().collect(), starts }
    }

    /// The line that holds an offset.
    fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// The comment on the source of the value on a line: on the line itself, else directly above it, else the
    /// nearest one above it in the section, which applies to the lines that follow.
    fn source(&self, line: usize) -> String {
        let lines = &self.lines;
        let own = |index: usize| comment(lines.get(index)?);
        if let Some(found) = own(line.wrapping_sub(1)) {
            return found.to_owned();
        }
        // Comments above the first section describe the file.
        let in_section = lines.iter().take(line).any(|line| line.trim_start().starts_with('['));
        for index in (0..line.saturating_sub(1)).rev().take_while(|_| in_section) {
            if let Some(found) = own(index) {
                return found.to_owned();
            }
            if lines[index].trim_start().starts_with('[') || lines[index].trim().is_empty() {
                break;
            }
        }
        String::new()
    }
}

/// The comment of a line, if it has one.
fn comment(line: &str) -> Option<&str> {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return Some(line[at + 1..].trim()).filter(|text| !text.is_empty()),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    None
}
