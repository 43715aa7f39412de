//! A manifest as a tree of values that know where they were written, with overrides applied.

use super::error::{ManifestError, Place};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Bool(bool),
    Date,
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

/// A value and its place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node {
    pub value: Value,
    pub place: Place,
}

impl Node {
    /// What kind of value it is, for reports.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a boolean",
            Value::Date => "a date",
            Value::List(_) => "an array",
            Value::Table(_) => "a table",
        }
    }

    /// An entry of a table.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// Keys of a table, in the order of the file.
    pub(super) fn keys(&self) -> Vec<&str> {
        match &self.value {
            Value::Table(entries) => entries.iter().map(|(k, _)| k.as_str()).collect(),
            _ => Vec::new(),
        }
    }
}

/// Parses a manifest's text.
pub(super) fn parse(file: &str, text: &str) -> Result<Node, ManifestError> {
    let line =
        |at: usize| 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&b| b == b'\n').count() as u32;
    match DeTable::parse(text) {
        Ok(table) => Ok(table_node(table.get_ref(), &|at| Place::Line(line(at)), 0)),
        Err(error) => Err(ManifestError {
            place: error.span().map(|s| Place::Line(line(s.start))),
            ..ManifestError::file(file, format!("it is not TOML: {}", error.message().replace('\n', ", ")))
        }),
    }
}

fn table_node(table: &DeTable<'_>, place: &dyn Fn(usize) -> Place, start: usize) -> Node {
    let mut entries: Vec<(usize, String, Node)> = table
        .iter()
        .map(|(key, value)| {
            (key.span().start, key.get_ref().to_string(), value_node(value, key.span().start, place))
        })
        .collect();
    entries.sort_by_key(|(at, ..)| *at);
    let entries = entries.into_iter().map(|(_, key, node)| (key, node)).collect();
    Node { value: Value::Table(entries), place: place(start) }
}

/// `key` is where the value's key stands, which is what a report should show.
fn value_node(value: &Spanned<DeValue<'_>>, key: usize, place: &dyn Fn(usize) -> Place) -> Node {
    let start = key;
    let inner = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => {
            let digits = integer.as_str().replace('_', "");
            i128::from_str_radix(&digits, integer.radix()).map_or(Value::Text(digits), Value::Integer)
        }
        DeValue::Float(float) => {
            let digits = float.as_str().replace('_', "");
            digits.parse().map_or(Value::Text(digits), Value::Float)
        }
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(list) => {
            Value::List(list.iter().map(|item| value_node(item, item.span().start, place)).collect())
        }
        DeValue::Table(table) => return table_node(table, place, start),
    };
    Node { value: inner, place: place(start) }
}

/// Applies `PATH=VALUE`: a scalar's name, `buffers.NAME.KEY` or `NAME.KEY`, `launch.N.KEY` and below.
pub(super) fn set(root: &mut Node, file: &str, assignment: &str) -> Result<(), ManifestError> {
    let place = Place::Override(Arc::from(assignment));
    let fail = |what: String, help: String| {
        let place = Some(place.clone());
        ManifestError { place, help: Some(help), ..ManifestError::file(file, what) }
    };
    let Some((path, text)) = assignment.split_once('=') else {
        return Err(fail("an override has the form NAME=VALUE".into(), "for example --set n=1024".into()));
    };
    let value = override_value(text.trim(), &place);
    let mut steps: Vec<&str> = path.trim().split('.').collect();
    if steps.len() == 1 {
        steps.insert(0, "scalars");
        if !names(root.get("scalars")).contains(&steps[1]) {
            let known = names(root.get("scalars")).join(", ");
            let help =
                format!("scalars of this manifest: {}", if known.is_empty() { "none" } else { &known });
            let guess = warplab_host::names::perhaps(steps[1], names(root.get("scalars")));
            return Err(fail(format!("there is no scalar `{}`{guess}", steps[1]), help));
        }
    } else if steps[0] == "buffer" {
        steps[0] = "buffers";
    } else if names(root.get("buffers")).contains(&steps[0]) && root.get(steps[0]).is_none() {
        steps.insert(0, "buffers");
    }
    let mut node = root;
    let (last, above) = steps.split_last().unwrap_or((&"", &[]));
    for step in above {
        let known = describe_inside(node);
        node = child(node, step).ok_or_else(|| {
            fail(format!("there is no `{step}` in `{}`", path.trim()), format!("there is {known}"))
        })?;
    }
    let known = describe_inside(node);
    match &mut node.value {
        Value::Table(entries) => match entries.iter_mut().find(|(k, _)| k == last) {
            Some((_, old)) => *old = value,
            None => entries.push((last.to_string(), value)),
        },
        Value::List(_) => match child(node, last) {
            Some(old) => *old = value,
            None => return Err(fail(format!("there is no element `{last}`"), format!("there is {known}"))),
        },
        _ => {
            return Err(fail(
                format!("`{path}` names nothing inside {}", node.kind()),
                format!("there is {known}"),
            ));
        }
    }
    Ok(())
}

fn names(node: Option<&Node>) -> Vec<&str> {
    node.map_or_else(Vec::new, Node::keys)
}

fn child<'n>(node: &'n mut Node, step: &str) -> Option<&'n mut Node> {
    match &mut node.value {
        Value::Table(entries) => entries.iter_mut().find(|(k, _)| k == step).map(|(_, n)| n),
        Value::List(items) => step.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
        _ => None,
    }
}

fn describe_inside(node: &Node) -> String {
    match &node.value {
        Value::Table(_) => node.keys().join(", "),
        Value::List(items) if items.is_empty() => "nothing".into(),
        Value::List(items) => format!("0 to {}", items.len() - 1),
        _ => node.kind().into(),
    }
}

/// A TOML value, or else an expression as text.
fn override_value(text: &str, place: &Place) -> Node {
    match DeValue::parse(text) {
        Ok(value) => value_node(&value, 0, &|_| place.clone()),
        Err(_) => Node { value: Value::Text(text.into()), place: place.clone() },
    }
}
