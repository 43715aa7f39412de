//! Flattens documents to paths and leaves. An object in a list is named by its identifying keys (trace,
//! kernel, launch, …), a row of a table by its texts, so that paths do not change when rows move.

use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt;

/// A value without parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Leaf {
    /// A number.
    Number(f64),
    /// A text or truth value.
    Text(String),
    /// Nothing.
    Missing,
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leaf::Number(number) => write!(f, "{number}"),
            Leaf::Text(text) => f.write_str(text),
            Leaf::Missing => f.write_str("–"),
        }
    }
}

/// Keys that identify an object in a list.
const IDENTITY: [&str; 11] =
    ["trace", "study", "section", "label", "name", "kernel", "block", "launch", "limit", "pc", "line"];

/// Keys that describe presentation or origin, not data.
const FURNITURE: [&str; 6] = ["text", "kind", "help", "title", "definitions", crate::provenance::KEY];

/// Every leaf of a document with its path, in the document's order; paths are unique.
#[must_use]
pub(crate) fn flatten(value: &Value) -> Vec<(String, Leaf)> {
    let mut leaves = Vec::new();
    walk(String::new(), value, &mut leaves);
    let mut times: HashMap<String, usize> = HashMap::new();
    for (path, _) in &mut leaves {
        let times = times.entry(path.clone()).or_default();
        *times += 1;
        if *times > 1 {
            *path += &format!(" #{times}");
        }
    }
    leaves
}

fn join(path: &str, part: &str) -> String {
    if path.is_empty() { part.to_owned() } else { format!("{path} / {part}") }
}

fn walk(path: String, value: &Value, out: &mut Vec<(String, Leaf)>) {
    match value {
        Value::Object(object) => match table(object) {
            Some((columns, rows)) => walk_table(&path, &columns, rows, out),
            None => {
                for (key, inner) in object.iter().filter(|(key, _)| !FURNITURE.contains(&key.as_str())) {
                    walk(join(&path, key), inner, out);
                }
            }
        },
        Value::Array(items) => walk_list(&path, items, out),
        Value::Number(number) => out.push((path, Leaf::Number(number.as_f64().unwrap_or(f64::NAN)))),
        Value::String(text) => out.push((path, Leaf::Text(text.clone()))),
        Value::Bool(flag) => out.push((path, Leaf::Text(flag.to_string()))),
        Value::Null => out.push((path, Leaf::Missing)),
    }
}

fn walk_list(path: &str, items: &[Value], out: &mut Vec<(String, Leaf)>) {
    let mut times: HashMap<String, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let Value::Object(object) = item else {
            walk(join(path, &index.to_string()), item, out);
            continue;
        };
        // An `id` alone identifies an object; its other texts may be a running number.
        let keys: &[&str] = if object.contains_key("id") { &["id"] } else { &IDENTITY };
        let parts: Vec<String> = keys.iter().filter_map(|key| short(object.get(*key)?)).collect();
        let mut name = if parts.is_empty() { index.to_string() } else { parts.join(" ") };
        let times = times.entry(name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            name += &format!(" #{times}");
        }
        let identity = |key: &str| keys.contains(&key);
        match table(object) {
            Some((columns, rows)) => walk_table(&join(path, &name), &columns, rows, out),
            None => {
                let named = |key: &str, value: &Value| identity(key) && short(value).is_some();
                let told = |key: &str, value: &Value| named(key, value) || FURNITURE.contains(&key);
                let rest = object.iter().filter(|(key, value)| !told(key, value));
                rest.for_each(|(key, inner)| walk(join(&join(path, &name), key), inner, out));
            }
        }
    }
}

fn short(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Key of a column, and whether it holds text.
type Heading<'a> = (&'a str, bool);

/// Columns and rows of an object that is a table of a report.
fn table(object: &Map<String, Value>) -> Option<(Vec<Heading<'_>>, &[Value])> {
    let column = |column: &'_ Value| -> Option<bool> { Some(column.get("kind")?.as_str()? == "text") };
    let columns = object.get("columns")?.as_array()?;
    let columns = columns.iter().map(|one| Some((one.get("key")?.as_str()?, column(one)?)));
    Some((columns.collect::<Option<Vec<_>>>()?, object.get("rows")?.as_array()?))
}

/// Names rows by their texts; if these repeat, also by the numbers among them (a launch, a line); without
/// texts by the first number (a window size, a cycle).
fn walk_table(path: &str, columns: &[Heading<'_>], rows: &[Value], out: &mut Vec<(String, Leaf)>) {
    let cells = |row: &'_ Value| -> Vec<Value> { row.as_array().cloned().unwrap_or_default() };
    let coordinates = columns.iter().rposition(|column| column.1).unwrap_or(1);
    let numbers: Vec<usize> = (0..coordinates.min(columns.len())).filter(|i| !columns[*i].1).collect();
    let names_with = |count: usize| -> Vec<String> {
        let named = |i: &usize| columns[*i].1 || numbers[..count].contains(i);
        let name = |row: &Value| {
            let cells = cells(row);
            let parts = (0..columns.len()).filter(named).filter_map(|i| short(cells.get(i)?));
            parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        rows.iter().map(name).collect()
    };
    let distinct =
        |names: &[String]| names.iter().collect::<std::collections::HashSet<_>>().len() == names.len();
    let count = (0..=numbers.len()).find(|count| distinct(&names_with(*count))).unwrap_or(0);
    for (row, name) in rows.iter().zip(names_with(count)) {
        let name = if name.is_empty() { "row".to_owned() } else { name };
        for (index, (key, cell)) in columns.iter().zip(cells(row)).enumerate() {
            if !key.1 && !numbers[..count].contains(&index) {
                walk(join(&join(path, &name), key.0), &cell, out);
            }
        }
    }
}
