//! Reads `launch`: the list of launches, with its loops written out.

use super::reader::{Reader, Result};
use crate::manifest::contents::Number;
use crate::manifest::element::ElementType;
use crate::manifest::node::{Node, Value};
use crate::manifest::objects::ObjectSpec;
use crate::manifest::spec::{Argument, ArgumentValue, Buffer, LaunchSpec};

/// Launches that a manifest may have, loops written out.
const MAX_LAUNCHES: usize = 1 << 16;

impl Reader<'_> {
    /// All launches in order.
    pub(super) fn launches(
        &mut self,
        node: &Node,
        buffers: &[Buffer],
        objects: &[ObjectSpec],
    ) -> Result<Vec<LaunchSpec>> {
        let mut launches = Vec::new();
        self.list_of_launches(node, "launch", buffers, objects, &mut launches)?;
        Ok(launches)
    }

    fn list_of_launches(
        &mut self,
        node: &Node,
        key: &str,
        buffers: &[Buffer],
        objects: &[ObjectSpec],
        launches: &mut Vec<LaunchSpec>,
    ) -> Result<()> {
        for (i, entry) in self.list(node, key)?.iter().enumerate() {
            let key = format!("{key}.{i}");
            if entry.get("for").is_some() {
                self.counted(entry, &key, buffers, objects, launches)?;
            } else {
                launches.push(self.launch(entry, &key, buffers, objects)?);
            }
            if launches.len() > MAX_LAUNCHES {
                let what = format!("there are more than {MAX_LAUNCHES} launches, loops written out");
                return self.fail(entry, &key, what);
            }
        }
        Ok(())
    }

    /// A loop: `{ for = "k", from = 0, to = "n", launch = [ … ] }`, where expressions of the inner launches know
    /// `k`, which counts up from `from` to `to` - 1.
    fn counted(
        &mut self,
        node: &Node,
        key: &str,
        buffers: &[Buffer],
        objects: &[ObjectSpec],
        launches: &mut Vec<LaunchSpec>,
    ) -> Result<()> {
        self.only(node, key, &["for", "from", "to", "launch"])?;
        let help = "a loop of launches is { for = \"k\", from = 0, to = \"n\", launch = [ … ] }";
        let name = self.required(node, key, "for", help)?;
        let name_key = format!("{key}.for");
        let variable = self.text(name, &name_key)?.to_owned();
        let is_name = !variable.starts_with(|c: char| c.is_ascii_digit())
            && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if variable.is_empty() || !is_name {
            return self.fail(name, &name_key, format!("`{variable}` is no name"));
        }
        if self.scalars.iter().any(|(known, _)| *known == variable) {
            return self.fail(name, &name_key, format!("there is a scalar `{variable}` already"));
        }
        let bound = |name: &str| -> Result<i64> {
            self.integer(self.required(node, key, name, help)?, &format!("{key}.{name}"))
        };
        let (from, to) = (bound("from")?, bound("to")?);
        let inner = self.required(node, key, "launch", help)?;
        let inner_key = format!("{key}.launch");
        if to.saturating_sub(from) > MAX_LAUNCHES as i64 {
            let what = format!("{from} to {to} are more than {MAX_LAUNCHES} rounds");
            return self.fail(node, key, what);
        }
        for value in from..to {
            self.scalars.push((variable.clone(), value));
            let read = self.list_of_launches(inner, &inner_key, buffers, objects, launches);
            self.scalars.pop();
            read?;
        }
        Ok(())
    }

    fn launch(
        &self,
        node: &Node,
        key: &str,
        buffers: &[Buffer],
        objects: &[ObjectSpec],
    ) -> Result<LaunchSpec> {
        self.table(node, key)?;
        self.only(node, key, &["kernel", "grid", "block", "shared", "args", "repeat"])?;
        let kernel = self.required(node, key, "kernel", "the name of the kernel's .entry in the PTX")?;
        let dims = |name: &str| -> Result<[u32; 3]> {
            let value = self.required(
                node,
                key,
                name,
                "one to three sizes, for example [\"ceil_div(n,256)\", 1, 1]",
            )?;
            self.dimensions(value, &format!("{key}.{name}"))
        };
        let optional = |name: &str, default: u64, least: u64| match node.get(name) {
            None => Ok(default),
            Some(value) => self.in_range(value, &format!("{key}.{name}"), least, u64::from(u32::MAX)),
        };
        let (args, args_place) = match node.get("args") {
            None => (Vec::new(), node.place.clone()),
            Some(list) => {
                let items = self.list(list, &format!("{key}.args"))?.iter().enumerate();
                let args =
                    items.map(|(i, arg)| self.argument(arg, &format!("{key}.args.{i}"), buffers, objects));
                (args.collect::<Result<Vec<_>>>()?, list.place.clone())
            }
        };
        Ok(LaunchSpec {
            key: key.to_owned(),
            kernel: self.text(kernel, &format!("{key}.kernel"))?.into(),
            kernel_place: kernel.place.clone(),
            grid: dims("grid")?,
            block: dims("block")?,
            shared_bytes: optional("shared", 0, 0)? as u32,
            args,
            args_place,
            repeat: optional("repeat", 1, 0)? as u32,
        })
    }

    fn argument(
        &self,
        node: &Node,
        key: &str,
        buffers: &[Buffer],
        objects: &[ObjectSpec],
    ) -> Result<Argument> {
        let scalar = |element: ElementType, number: Number| -> Result<ArgumentValue> {
            let bytes = number.encode(element).or_else(|what| self.fail(node, key, what))?;
            Ok(ArgumentValue::Scalar { element, bytes })
        };
        let value = match &node.value {
            Value::Text(text) => self.pointer(node, key, text, buffers)?,
            Value::Integer(value) => scalar(ElementType::S32, Number::Integer(*value))?,
            Value::Float(value) => scalar(ElementType::F32, Number::Float(*value))?,
            Value::Table(entries) => match entries.as_slice() {
                [(name, value)] if name == "bytes" => {
                    let text = self.text(value, key)?;
                    let bytes = hex(text).ok_or_else(|| {
                        self.error(value, key, format!("`{text}` is no string of hexadecimal bytes"))
                    })?;
                    ArgumentValue::Bytes(bytes)
                }
                [(name, value)] if name == "texture" || name == "surface" => {
                    self.object_argument(value, key, name == "surface", objects)?
                }
                [(name, value)] => scalar(self.element(node, key, name)?, self.number(value, key)?)?,
                _ => return self.fail(node, key, "it has not exactly one entry, such as { s32 = \"n\" }"),
            },
            _ => return self.wrong_kind(node, key, "\"@buffer\", a number or { TYPE = value }"),
        };
        Ok(Argument { value, place: node.place.clone() })
    }
}

/// Bytes of a string of hexadecimal digits, blanks and underscores ignored.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '_')
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|d| (d[0] << 4 | d[1]) as u8).collect())
}
