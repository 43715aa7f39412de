//! Converts the tree of values to a [`Manifest`]: unknown keys are refused, expressions evaluated, and errors
//! have the place of their value.

use super::element::ElementType;
use super::error::ManifestError;
use super::expression::evaluate;
use super::node::{Node, Value};
use super::objects::ObjectSpec;
use super::{Argument, ArgumentValue, Buffer, Expect, Init, LaunchSpec, MAX_BUFFER_BYTES, Manifest, Number};
use std::path::Path;

/// Evaluates a manifest.
pub(super) fn manifest(
    path: &Path,
    file: &str,
    root: &Node,
    overridden: bool,
) -> Result<Manifest, ManifestError> {
    let mut reader = Reader { path, file, scalars: Vec::new() };
    reader.only(root, "", &["ptx", "scalars", "buffers", "texture", "surface", "sampler", "launch"])?;
    let ptx = match root.get("ptx") {
        Some(node) => path.with_file_name(reader.text(node, "ptx")?),
        None => path.with_extension("ptx"),
    };
    if let Some(node) = root.get("scalars") {
        for (name, value) in reader.table(node, "scalars")? {
            let value = reader.integer(value, &format!("scalars.{name}"))?;
            reader.scalars.push((name.clone(), value));
        }
    }
    let mut buffers = Vec::new();
    if let Some(node) = root.get("buffers") {
        for (name, value) in reader.table(node, "buffers")? {
            buffers.push(reader.buffer(name, value)?);
        }
    }
    let objects = reader.objects(root, &buffers)?;
    let samplers = reader.samplers(root)?;
    let Some(node) = root.get("launch") else {
        let error = ManifestError::file(file, "there is no [[launch]]");
        return Err(error.with_help("add a [[launch]] with kernel, grid, block and args"));
    };
    let mut launches = Vec::new();
    for (i, value) in reader.list(node, "launch")?.iter().enumerate() {
        launches.push(reader.launch(i, value, &buffers, &objects)?);
    }
    let (path, scalars) = (path.to_owned(), reader.scalars);
    Ok(Manifest { path, ptx, scalars, buffers, objects, samplers, launches, overridden })
}

pub(super) struct Reader<'m> {
    path: &'m Path,
    file: &'m str,
    scalars: Vec<(String, i64)>,
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
                        "expressions know + - * / % ( ) min max ceil_div and the scalars: {known}"
                    ))
                })
            }
            _ => self.wrong_kind(node, key, "an integer or an expression in a string"),
        }
    }

    fn integer(&self, node: &Node, key: &str) -> Result<i64> {
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

    fn element(&self, node: &Node, key: &str, name: &str) -> Result<ElementType> {
        ElementType::from_name(name).ok_or_else(|| {
            let names = ElementType::ALL.map(|(n, _)| n).join(", ");
            self.error(node, key, format!("the type `{name}` is unknown"))
                .with_help(format!("known types: {names}"))
        })
    }

    fn buffer(&self, name: &str, node: &Node) -> Result<Buffer> {
        let key = format!("buffers.{name}");
        self.table(node, &key)?;
        self.only(node, &key, &["type", "len", "init", "expect"])?;
        let ty = self.required(node, &key, "type", "for example type = \"f32\"")?;
        let element = self.element(ty, &format!("{key}.type"), self.text(ty, &format!("{key}.type"))?)?;
        let len = self.required(node, &key, "len", "the number of elements, for example len = 1024")?;
        let most = MAX_BUFFER_BYTES / element.bytes() as u64;
        let len = self.in_range(len, &format!("{key}.len"), 0, most)?;
        let has_init = node.get("init").is_some();
        let init = match node.get("init") {
            None => Init::Zeros,
            Some(init) => self.init(init, &format!("{key}.init"), element)?,
        };
        let expect = match node.get("expect") {
            None => None,
            Some(expect) => Some(self.expect(expect, &format!("{key}.expect"), element)?),
        };
        Ok(Buffer { name: name.into(), element, len, init, has_init, expect, place: node.place.clone() })
    }

    fn init(&self, node: &Node, key: &str, element: ElementType) -> Result<Init> {
        let help = "\"zeros\", \"iota\", { fill = X }, { random = { seed = 1, min = X, max = Y } } or { file = \"…\" }";
        let unknown = |what: String| Err(self.error(node, key, what).with_help(format!("init is {help}")));
        let init = match &node.value {
            Value::Text(text) if text == "zeros" => Init::Zeros,
            Value::Text(text) if text == "iota" => Init::Iota,
            Value::Text(text) => return unknown(format!("`{text}` is unknown")),
            Value::Table(entries) => match entries.as_slice() {
                [(name, value)] if name == "fill" => Init::Fill(self.number(value, &format!("{key}.fill"))?),
                [(name, value)] if name == "file" => {
                    Init::File(self.path.with_file_name(self.text(value, &format!("{key}.file"))?))
                }
                [(name, value)] if name == "random" => self.random(value, &format!("{key}.random"))?,
                _ => return unknown("it has not exactly one of fill, random and file".into()),
            },
            _ => return unknown(format!("it is {}", node.kind())),
        };
        init.validate(element).or_else(|what| self.fail(node, key, what))?;
        Ok(init)
    }

    fn random(&self, node: &Node, key: &str) -> Result<Init> {
        self.table(node, key)?;
        self.only(node, key, &["seed", "min", "max"])?;
        let part = |name: &str| {
            let help = "random takes a seed and a range: { seed = 1, min = -1.0, max = 1.0 }";
            self.required(node, key, name, help)
        };
        let seed = part("seed")?;
        Ok(Init::Random {
            seed: self.in_range(seed, &format!("{key}.seed"), 0, u64::MAX)?,
            min: self.number(part("min")?, &format!("{key}.min"))?,
            max: self.number(part("max")?, &format!("{key}.max"))?,
        })
    }

    fn expect(&self, node: &Node, key: &str, element: ElementType) -> Result<Expect> {
        self.table(node, key)?;
        self.only(node, key, &["file", "ulps", "checksum"])?;
        let ulps = match node.get("ulps") {
            None => 0,
            Some(ulps) if !element.is_float() => {
                return self.fail(ulps, key, format!("a tolerance makes no sense for {}", element.name()));
            }
            Some(ulps) => self.in_range(ulps, &format!("{key}.ulps"), 0, u64::MAX)?,
        };
        match (node.get("file"), node.get("checksum")) {
            (Some(file), None) => {
                let path = self.path.with_file_name(self.text(file, &format!("{key}.file"))?);
                Ok(Expect::File { path, ulps })
            }
            (None, Some(sum)) => {
                let text = self.text(sum, &format!("{key}.checksum"))?;
                if ulps > 0 {
                    return self.fail(node, key, "a checksum has no tolerance; compare with a file instead");
                }
                let digits = text.strip_prefix("xxh3:").filter(|d| d.len() == 16);
                let value = digits.and_then(|d| u64::from_str_radix(d, 16).ok());
                value.map(Expect::Checksum).ok_or_else(|| {
                    self.error(sum, &format!("{key}.checksum"), format!("`{text}` is no checksum"))
                        .with_help("a checksum is xxh3: and 16 hexadecimal digits")
                })
            }
            _ => self.fail(node, key, "it needs either `file` or `checksum`"),
        }
    }

    fn launch(
        &self,
        index: usize,
        node: &Node,
        buffers: &[Buffer],
        objects: &[ObjectSpec],
    ) -> Result<LaunchSpec> {
        let key = format!("launch.{index}");
        self.table(node, &key)?;
        self.only(node, &key, &["kernel", "grid", "block", "shared", "args", "repeat"])?;
        let kernel = self.required(node, &key, "kernel", "the name of the kernel's .entry in the PTX")?;
        let dims = |name: &str| -> Result<[u32; 3]> {
            let value = self.required(
                node,
                &key,
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
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            let error = self.error(node, key, format!("there is no buffer `{name}`"));
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

/// Bytes of a string of hexadecimal digits, blanks and underscores ignored.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '_')
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|d| (d[0] << 4 | d[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;

    const SMALL: &str = r#"
ptx = "small.ptx"
[scalars]
n = 100
m = "n*2"
[buffers.a]
type = "f32"
len = "n+1"
init = { random = { seed = 5, min = -1.0, max = 1 } }
[buffers.b]
type = "u8"
len = 16
expect = { checksum = "xxh3:0123456789abcdef" }
[[launch]]
kernel = "k"
grid = ["ceil_div(m,64)", 2]
block = 64
args = ["@a", "@a+n-1", { s32 = "m" }, 7, 1.5, { u64 = 18446744073709551615 }, { bytes = "01 02_ff" }]
"#;

    fn load(text: &str, sets: &[&str]) -> Result<Manifest> {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        Manifest::parse(Path::new("dir/app.toml"), text, &sets)
    }

    #[test]
    fn a_manifest_is_read_whole() {
        let m = load(SMALL, &[]).unwrap();
        assert_eq!(m.ptx, Path::new("dir/small.ptx"));
        assert_eq!(m.scalars, [("n".to_string(), 100), ("m".to_string(), 200)]);
        assert_eq!(
            (m.buffers[0].len, &m.buffers[1].expect),
            (101, &Some(Expect::Checksum(0x0123_4567_89ab_cdef)))
        );
        let launch = &m.launches[0];
        assert_eq!((launch.grid, launch.block, launch.repeat), ([4, 2, 1], [64, 1, 1], 1));
        let scalar = |element, bytes: &[u8]| ArgumentValue::Scalar { element, bytes: bytes.to_vec() };
        let values: Vec<ArgumentValue> = launch.args.iter().map(|a| a.value.clone()).collect();
        let expect = [
            ArgumentValue::Pointer { buffer: 0, offset_bytes: 0 },
            ArgumentValue::Pointer { buffer: 0, offset_bytes: 396 },
            scalar(ElementType::S32, &200i32.to_le_bytes()),
            scalar(ElementType::S32, &7i32.to_le_bytes()),
            scalar(ElementType::F32, &1.5f32.to_le_bytes()),
            scalar(ElementType::U64, &[255; 8]),
            ArgumentValue::Bytes(vec![1, 2, 255]),
        ];
        assert_eq!(values, expect);
        assert!(!m.overridden);
        assert_eq!(
            load("[[launch]]\nkernel='k'\ngrid=1\nblock=1", &[]).unwrap().ptx,
            Path::new("dir/app.ptx")
        );
    }

    #[test]
    fn overrides_reach_every_value() {
        let m =
            load(SMALL, &["n=10", "a.len=7", "buffer.b.len = n*2", "launch.0.grid=[3]", "launch.0.args.3=8"])
                .unwrap();
        assert_eq!((m.buffers[0].len, m.buffers[1].len, m.launches[0].grid), (7, 20, [3, 1, 1]));
        assert_eq!(m.scalars[1].1, 20);
        assert!(m.overridden);
        let eight = ArgumentValue::Scalar { element: ElementType::S32, bytes: vec![8, 0, 0, 0] };
        assert_eq!(m.launches[0].args[3].value, eight);
        for (set, told) in [
            ("n", "NAME=VALUE"),
            ("k=1", "scalars of this manifest: n, m"),
            ("c.len=1", "no `c`"),
            ("launch.1.grid=1", "0 to 0"),
            ("a.length=3", "`length` is unknown"),
            ("n=true", "a boolean"),
            ("launch.0.args.3.x=1", "an integer"),
        ] {
            let error = load(SMALL, &[set]).unwrap_err().to_string();
            assert!(error.contains(told) && error.contains("dir/app.toml"), "{set}: {error}");
        }
        let error = load(SMALL, &["a.len=bogus*2"]).unwrap_err();
        assert_eq!(error.place, Some(Place::Override("a.len=bogus*2".into())), "{error}");
    }

    #[test]
    fn mistakes_are_told_with_line_and_key() {
        for (from, to, line, told) in [
            ("len = 16", "len = 'n*'", 12, "buffers.b.len: in the expression"),
            ("len = 16", "len = -1", 12, "-1 is not between 0"),
            ("len = 16", "", 10, "`len` is missing"),
            ("\"u8\"", "\"u7\"", 11, "known types: u8"),
            ("\"u8\"", "8", 11, "it is an integer, a string"),
            ("kernel = ", "kernle = ", 15, "`kernle` is unknown"),
            ("\"@a\"", "\"a\"", 18, "launch.0.args.0: `a` is no argument"),
            ("\"@a\"", "\"@c\"", 18, "buffers of this manifest: a, b"),
            ("{ s32 = \"m\" }", "{ s8 = \"m\" }", 18, "200 does not fit s8"),
            ("{ s32 = \"m\" }", "{ s32 = 1.5 }", 18, "integer type"),
            ("01 02_ff", "01 2", 18, "hexadecimal"),
            ("block = 64", "block = [1,1,1,1]", 17, "4 sizes"),
            ("block = 64", "block = 0", 17, "0 is not between 1"),
            ("seed = 5, ", "", 9, "`seed` is missing"),
            ("max = 1 ", "max = -2.0 ", 9, "empty"),
            ("xxh3:0123", "xxh3:012", 13, "16 hexadecimal digits"),
            ("[[launch]]", "[launch]", 14, "an array is expected"),
            ("n = 100", "n = = 100", 4, "it is not TOML"),
            ("n = 100", "n = \"k\"", 4, "no scalar `k`"),
        ] {
            let error = load(&SMALL.replace(from, to), &[]).unwrap_err();
            assert!(error.to_string().contains(told), "{from} -> {to}: {error}");
            assert_eq!(error.place, Some(Place::Line(line)), "{from} -> {to}: {error}");
        }
        assert!(load("", &[]).unwrap_err().to_string().contains("[[launch]]"));
    }
}
