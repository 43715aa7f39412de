//! Converts the tree of values to a [`Manifest`]: unknown keys are refused, expressions evaluated, and errors
//! have the place of their value.

mod launches;
mod objects;
mod reader;

use super::contents::Init;
use super::element::ElementType;
use super::error::ManifestError;
use super::node::{Node, Value};
use super::spec::{Buffer, Expect, MAX_BUFFER_BYTES, Manifest};
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
    let known = [
        "ptx", "cubin", "workload", "scalars", "sizes", "buffers", "texture", "surface", "sampler", "launch",
    ];
    reader.only(root, "", &known)?;
    reader.about(root)?;
    let ptx = match root.get("ptx") {
        Some(node) => path.with_file_name(reader.text(node, "ptx")?),
        None => path.with_extension("ptx"),
    };
    let names_ptx = root.get("ptx").is_some();
    let cubin = root.get("cubin").map(|node| Ok(path.with_file_name(reader.text(node, "cubin")?)));
    let cubin = cubin.transpose()?;
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
    let launches = reader.launches(node, &buffers, &objects)?;
    let (path, scalars) = (path.to_owned(), reader.scalars);
    Ok(Manifest { path, ptx, names_ptx, cubin, scalars, buffers, objects, samplers, launches, overridden })
}

impl Reader<'_> {
    /// Checks `[workload]`, which says where a program comes from. It is for those that list programs and does
    /// not change a run.
    fn about(&self, root: &Node) -> Result<()> {
        let Some(node) = root.get("workload") else { return Ok(()) };
        self.table(node, "workload")?;
        self.only(node, "workload", &["suite", "papers"])?;
        let suite =
            self.required(node, "workload", "suite", "the benchmark suite, for example \"rodinia\"")?;
        self.text(suite, "workload.suite")?;
        if let Some(papers) = node.get("papers") {
            for (paper, name) in self.table(papers, "workload.papers")? {
                self.text(name, &format!("workload.papers.{paper}"))?;
            }
        }
        Ok(())
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
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::super::spec::ArgumentValue;
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
        Manifest::parse(Path::new("dir/app.toml"), text, None, &sets)
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

    #[test]
    fn loops_are_written_out() {
        let text = r#"
[scalars]
n = 3
[workload]
suite = "textbook"
papers = { someone = "XY" }
[[launch]]
for = "i"
from = 1
to = "n"
launch = [
    { kernel = "a", grid = "i", block = 32 },
    { for = "j", from = 0, to = "i", launch = [{ kernel = "b", grid = "n*i+j", block = 32 }] },
]
[[launch]]
kernel = "c"
grid = 1
block = 32
"#;
        let run = |text: &str| {
            let m = load(text, &[]).unwrap();
            m.launches.iter().map(|l| format!("{}{} {}", l.kernel, l.grid[0], l.key)).collect::<Vec<_>>()
        };
        let (a, b) = ("launch.0.launch.0", "launch.0.launch.1.launch.0");
        let wanted =
            [format!("a1 {a}"), format!("b3 {b}"), format!("a2 {a}"), format!("b6 {b}"), format!("b7 {b}")];
        assert_eq!(run(text)[..5], wanted);
        assert_eq!(run(text)[5], "c1 launch.1");
        assert_eq!(run(&text.replace("to = \"n\"", "to = 1")), ["c1 launch.1"]);
        for (from, to, line, told) in [
            ("for = \"i\"", "for = \"n\"", 8, "there is a scalar `n` already"),
            ("for = \"j\"", "for = \"i\"", 13, "there is a scalar `i` already"),
            ("for = \"i\"", "for = \"2i\"", 8, "`2i` is no name"),
            ("from = 1\n", "", 7, "`from` is missing"),
            ("to = \"n\"", "to = \"n*100000\"", 7, "more than 65536 rounds"),
            ("to = \"i\"", "to = \"60000\"", 13, "more than 65536 launches"),
            ("from = 1", "start = 1", 9, "`start` is unknown"),
            ("grid = \"n*i+j\"", "grid = \"k\"", 13, "no scalar `k`"),
            ("suite = \"textbook\"", "", 4, "`suite` is missing"),
            ("{ someone = \"XY\" }", "{ someone = 1 }", 6, "a string is expected"),
        ] {
            let error = load(&text.replace(from, to), &[]).unwrap_err();
            assert!(error.to_string().contains(told), "{from} -> {to}: {error}");
            assert_eq!(error.place, Some(Place::Line(line)), "{from} -> {to}: {error}");
        }
    }
}
