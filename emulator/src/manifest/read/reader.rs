//! Values of a manifest, each with an error at its place: tables, lists, texts, numbers and pointers.

use crate::manifest::contents::Number;
use crate::manifest::error::ManifestError;
use crate::manifest::expression::evaluate;
use crate::manifest::node::{Node, Value};
use crate::manifest::spec::{ArgumentValue, Buffer};
use std::path::Path;
use warplab_host::names::perhaps;

pub(super) struct Reader<'m> {
    pub(super) path: &'m Path,
    pub(super) file: &'m str,
    pub(super) scalars: Vec<(String, i64)>,
}

pub(super) type Result<T, E = ManifestError> = std::result::Result<T, E>;

impl Reader<'_> {
    pub(super) fn fail<T>(&self, node: &Node, key: &str, what: impl Into<String>) -> Result<T> {
        Err(self.error(node, key, what))
    }

    pub(super) fn error(&self, node: &Node, key: &str, what: impl Into<String>) -> ManifestError {
        let place = Some(node.place.clone());
        ManifestError { place, key: key.into(), ..ManifestError::file(self.file, what) }
    }

    pub(super) fn wrong_kind<T>(&self, node: &Node, key: &str, wanted: &str) -> Result<T> {
        self.fail(node, key, format!("it is {}, {wanted} is expected", node.kind()))
    }

    /// Refuses keys that are not known, since a misspelt one would otherwise be ignored.
    pub(super) fn only(&self, node: &Node, key: &str, known: &[&str]) -> Result<()> {
        let Value::Table(entries) = &node.value else { return Ok(()) };
        match entries.iter().find(|(k, _)| !known.contains(&k.as_str())) {
            None => Ok(()),
            Some((unknown, value)) => {
                let error = self.error(value, key, format!("the key `{unknown}` is unknown"));
                Err(error.with_help(format!("known keys: {}", known.join(", "))))
            }
        }
    }

    pub(super) fn table<'n>(&self, node: &'n Node, key: &str) -> Result<&'n [(String, Node)]> {
        match &node.value {
            Value::Table(entries) => Ok(entries),
            _ => self.wrong_kind(node, key, "a table"),
        }
    }

    pub(super) fn list<'n>(&self, node: &'n Node, key: &str) -> Result<&'n [Node]> {
        match &node.value {
            Value::List(items) => Ok(items),
            _ => self.wrong_kind(node, key, "an array"),
        }
    }

    pub(super) fn text<'n>(&self, node: &'n Node, key: &str) -> Result<&'n str> {
        match &node.value {
            Value::Text(text) => Ok(text),
            _ => self.wrong_kind(node, key, "a string"),
        }
    }

    pub(super) fn required<'n>(&self, node: &'n Node, key: &str, name: &str, help: &str) -> Result<&'n Node> {
        node.get(name).ok_or_else(|| self.error(node, key, format!("`{name}` is missing")).with_help(help))
    }

    /// An integer or an expression.
    fn wide_integer(&self, node: &Node, key: &str) -> Result<i128> {
        match &node.value {
            Value::Integer(value) => Ok(*value),
            Value::Text(text) => {
                let lookup = |name: &str| self.scalars.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
                evaluate(text, &lookup).map(i128::from).map_err(|what| {
                    let error = self.error(node, key, what);
                    let names: Vec<&str> = self.scalars.iter().map(|(n, _)| n.as_str()).collect();
                    let known = if names.is_empty() { "none".into() } else { names.join(", ") };
                    error.with_help(format!(
                        "expressions know + - * / % ( ) min max ceil_div pow and the scalars: {known}"
                    ))
                })
            }
            _ => self.wrong_kind(node, key, "an integer or an expression in a string"),
        }
    }

    pub(super) fn integer(&self, node: &Node, key: &str) -> Result<i64> {
        let value = self.wide_integer(node, key)?;
        i64::try_from(value).or_else(|_| self.fail(node, key, format!("{value} does not fit 64 bits")))
    }

    pub(super) fn in_range(&self, node: &Node, key: &str, least: u64, most: u64) -> Result<u64> {
        let value = self.wide_integer(node, key)?;
        match u64::try_from(value) {
            Ok(v) if (least..=most).contains(&v) => Ok(v),
            _ => self.fail(node, key, format!("{value} is not between {least} and {most}")),
        }
    }

    pub(super) fn number(&self, node: &Node, key: &str) -> Result<Number> {
        match node.value {
            Value::Float(value) => Ok(Number::Float(value)),
            _ => self.wide_integer(node, key).map(Number::Integer),
        }
    }

    pub(super) fn dimensions(&self, node: &Node, key: &str) -> Result<[u32; 3]> {
        let one = |node: &Node, key: &str| self.in_range(node, key, 1, u64::from(u32::MAX)).map(|v| v as u32);
        let mut dims = [1; 3];
        match &node.value {
            Value::List(items) if (1..=3).contains(&items.len()) => {
                for (i, item) in items.iter().enumerate() {
                    dims[i] = one(item, &format!("{key}.{i}"))?;
                }
            }
            Value::List(items) => {
                return self.fail(node, key, format!("it has {} sizes, 1 to 3 are expected", items.len()));
            }
            _ => dims[0] = one(node, key)?,
        }
        Ok(dims)
    }

    /// `@buffer`, `@buffer+elements`, `@buffer-elements`.
    pub(super) fn pointer(
        &self,
        node: &Node,
        key: &str,
        text: &str,
        buffers: &[Buffer],
    ) -> Result<ArgumentValue> {
        let Some(rest) = text.strip_prefix('@') else {
            let error = self.error(node, key, format!("`{text}` is no argument"));
            return Err(
                error.with_help("write \"@buffer\" for a pointer and { s32 = \"n\" } for an expression")
            );
        };
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        let name = rest[..end].trim();
        let Some(buffer) = buffers.iter().position(|b| b.name == name) else {
            let known: Vec<&str> = buffers.iter().map(|b| b.name.as_str()).collect();
            let guess = perhaps(name, known.iter().copied());
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            let error = self.error(node, key, format!("there is no buffer `{name}`{guess}"));
            return Err(error.with_help(format!("buffers of this manifest: {known}")));
        };
        let elements = if end == rest.len() {
            0
        } else {
            let offset = Node { value: Value::Text(format!("0{}", &rest[end..])), place: node.place.clone() };
            self.integer(&offset, key)?
        };
        let offset_bytes = elements.checked_mul(buffers[buffer].element.bytes() as i64);
        let offset_bytes =
            offset_bytes.ok_or_else(|| self.error(node, key, "the offset does not fit 64 bits"))?;
        Ok(ArgumentValue::Pointer { buffer, offset_bytes })
    }
}
