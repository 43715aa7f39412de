//! Converts the tree of values to a [`Manifest`]: unknown keys are refused, expressions evaluated, and errors
//! have the place of their value.

mod objects;
mod reader;

use super::contents::{Init, Number};
use super::element::ElementType;
use super::error::ManifestError;
use super::node::{Node, Value};
use super::objects::ObjectSpec;
use super::spec::{Argument, ArgumentValue, Buffer, Expect, LaunchSpec, MAX_BUFFER_BYTES, Manifest};
use reader::{Reader, Result};
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

impl Reader<'_> {
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
