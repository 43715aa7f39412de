//! Names of traces in two documents: the same recording lies in another folder on another day, and its figures belong together.

use crate::provenance::KEY;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Both documents with every trace under the shortest end of its path that tells it apart from the document's other traces.
/// A path that both documents have has one name.
#[must_use]
pub(super) fn shortened(before: &Value, after: &Value) -> (Value, Value) {
    let (mut first, mut second) = (names(before), names(after));
    for (path, name) in &mut first {
        if let Some(other) = second.get_mut(path) {
            // An end that is longer tells the trace apart as well.
            let longer = if other.len() > name.len() { other.clone() } else { name.clone() };
            *name = longer.clone();
            *other = longer;
        }
    }
    let (mut before, mut after) = (before.clone(), after.clone());
    visit(&mut before, &mut |path| path.clone_from(&first[path.as_str()]));
    visit(&mut after, &mut |path| path.clone_from(&second[path.as_str()]));
    (before, after)
}

/// The traces of a document, with their short names.
fn names(document: &Value) -> BTreeMap<String, String> {
    let mut paths = BTreeSet::new();
    visit(&mut document.clone(), &mut |path| {
        paths.insert(path.clone());
    });
    let short = |path: &String| {
        let starts =
            std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1)).collect::<Vec<_>>();
        let alone = |end: &str| {
            paths.iter().filter(|other| *other == end || other.ends_with(&format!("/{end}"))).count() == 1
        };
        let ends = starts.into_iter().rev().map(|start| &path[start..]);
        let end = ends.filter(|end| !end.is_empty()).find(|end| alone(end)).unwrap_or(path);
        end.strip_suffix(".wtrace").filter(|rest| !rest.is_empty()).unwrap_or(end).to_owned()
    };
    paths.iter().map(|path| (path.clone(), short(path))).collect()
}

/// Calls a function with the path of every trace.
fn visit(value: &mut Value, with: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object.iter_mut().filter(|(key, _)| *key != KEY) {
                match inner {
                    Value::String(path) if key == "trace" => with(path),
                    other => visit(other, with),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, with)),
        _ => {}
    }
}
