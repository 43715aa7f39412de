//! A light reader of launch manifests: as much of them as the bundled workloads use, read independently of the
//! emulator, which has its own. It knows the scalars, the buffers and the shape of the launches; running
//! them is not its business.

use crate::element::ElementType;
use crate::expression::evaluate;
use crate::init::{Init, Number, contents};
use crate::{Buffers, Scalars};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::{Table, Value};

/// What is wrong with a manifest, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct ManifestError {
    path: String,
    what: String,
}

/// A launch manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Where it was read from.
    pub path: PathBuf,
    /// The PTX file that it launches.
    pub ptx: PathBuf,
    /// Where the program comes from.
    pub about: About,
    /// Named integers with the values that they have unless overridden.
    pub scalars: Scalars,
    /// Scalars that have other values, by the name of the size.
    pub sizes: BTreeMap<String, Scalars>,
    /// Named buffers, in the order of their names.
    pub buffers: Vec<Buffer>,
    /// Launches and loops of launches, in the order in which they run.
    entries: Vec<Entry>,
}

/// Where a program comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The benchmark suite that the original belongs to.
    pub suite: String,
    /// The program's abbreviation in each paper that evaluates it, by the name of the paper's first technique.
    pub papers: BTreeMap<String, String>,
}

/// An entry of the list of launches.
#[derive(Clone, Debug)]
enum Entry {
    Launch(Launch),
    /// The entries once for each value of a variable in `from..to`.
    Loop {
        variable: String,
        from: String,
        to: String,
        entries: Vec<Entry>,
    },
}

/// A launch, and the values that its expressions know: the manifest's scalars and the variables of loops.
#[derive(Clone, Debug)]
pub struct Placed<'a> {
    /// The launch.
    pub launch: &'a Launch,
    /// The values.
    pub scalars: Scalars,
}

/// A buffer of device memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The name that launches and overrides use.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// Number of its elements, as an expression over the scalars.
    pub len: String,
    /// Contents before the first launch.
    pub init: Init,
    /// Checksum that the contents must have after the last launch with the default scalars.
    pub checksum: Option<String>,
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Name of the kernel's entry in the PTX.
    pub kernel: String,
    /// Blocks per grid in x, y, z, as expressions.
    pub grid: [String; 3],
    /// Threads per block in x, y, z, as expressions.
    pub block: [String; 3],
    /// Dynamic shared memory in bytes, as an expression.
    pub shared: String,
    /// One argument per kernel parameter.
    pub args: Vec<Argument>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The address of an element of a buffer.
    Pointer {
        /// The buffer.
        buffer: String,
        /// The element, as an expression.
        element: String,
    },
    /// A scalar of the given type; its value as written.
    Scalar {
        /// Type of the kernel's parameter.
        element: ElementType,
        /// An expression, or a floating-point literal.
        value: String,
    },
    /// The handle of a texture, which only the emulator's reader knows.
    Texture(String),
}

impl Manifest {
    /// Reads the manifest at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, is no TOML, or contains a key that this reader does not know.
    pub fn load(path: &Path) -> Result<Self, ManifestError> {
        let fail = |what: String| ManifestError { path: path.display().to_string(), what };
        let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        Self::parse(path, &text).map_err(fail)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let known = ["ptx", "workload", "scalars", "sizes", "buffers", "texture", "launch"];
        only(&table, "the manifest", &known)?;
        let ptx = match table.get("ptx") {
            Some(file) => path.with_file_name(string(file, "ptx")?),
            None => path.with_extension("ptx"),
        };
        let scalars = match table.get("scalars") {
            Some(value) => scalars(as_table(value, "scalars")?)?,
            None => Scalars::new(),
        };
        let mut sizes = BTreeMap::new();
        if let Some(value) = table.get("sizes") {
            for (name, value) in as_table(value, "sizes")? {
                sizes.insert(name.clone(), self::scalars(as_table(value, name)?)?);
            }
        }
        let about = match table.get("workload") {
            Some(value) => about(as_table(value, "workload")?)?,
            None => About::default(),
        };
        let mut buffers = Vec::new();
        if let Some(value) = table.get("buffers") {
            for (name, value) in as_table(value, "buffers")? {
                buffers.push(buffer(name, value).map_err(|what| format!("buffer {name}: {what}"))?);
            }
        }
        let entries = entries(table.get("launch").ok_or("there is no [[launch]]")?)?;
        Ok(Self { path: path.to_owned(), ptx, about, scalars, sizes, buffers, entries })
    }

    /// The scalars at a size, which is `test` or one of the manifest's.
    pub fn scalars_at(&self, size: &str) -> Option<Scalars> {
        let mut scalars = self.scalars.clone();
        if size != "test" {
            scalars.extend(self.sizes.get(size)?.clone());
        }
        Some(scalars)
    }

    /// Whether a launch takes a texture.
    pub fn has_textures(&self) -> bool {
        fn takes(entry: &Entry) -> bool {
            match entry {
                Entry::Launch(launch) => launch.args.iter().any(|arg| matches!(arg, Argument::Texture(_))),
                Entry::Loop { entries, .. } => entries.iter().any(takes),
            }
        }
        self.entries.iter().any(takes)
    }

    /// The launches in the order in which they run, loops written out.
    ///
    /// # Errors
    /// If a bound of a loop is no valid expression.
    pub fn launches(&self, scalars: &Scalars) -> Result<Vec<Placed<'_>>, String> {
        fn add<'a>(entries: &'a [Entry], scalars: &Scalars, all: &mut Vec<Placed<'a>>) -> Result<(), String> {
            for entry in entries {
                match entry {
                    Entry::Launch(launch) => all.push(Placed { launch, scalars: scalars.clone() }),
                    Entry::Loop { variable, from, to, entries } => {
                        for value in evaluate(from, scalars)?..evaluate(to, scalars)? {
                            let mut inner = scalars.clone();
                            inner.insert(variable.clone(), value);
                            add(entries, &inner, all)?;
                        }
                    }
                }
            }
            Ok(())
        }
        let mut all = Vec::new();
        add(&self.entries, scalars, &mut all)?;
        Ok(all)
    }

    /// The contents of every buffer before the first launch, with the given scalars.
    ///
    /// # Errors
    /// If a length is no valid expression or negative, or a range does not fit its element type.
    pub fn inputs(&self, scalars: &Scalars) -> Result<Buffers, ManifestError> {
        let one = |buffer: &Buffer| {
            let len = evaluate(&buffer.len, scalars)?;
            let len = usize::try_from(len).map_err(|_| format!("the length is {len}"))?;
            contents(&buffer.init, buffer.element, len)
        };
        let mut inputs = Buffers::new();
        for buffer in &self.buffers {
            let bytes = one(buffer).map_err(|what| ManifestError {
                path: self.path.display().to_string(),
                what: format!("buffer {}: {what}", buffer.name),
            })?;
            inputs.insert(buffer.name.clone(), bytes);
        }
        Ok(inputs)
    }
}

/// Refuses keys that are not in `known`, since a misspelt key would otherwise be ignored.
fn only(table: &Table, place: &str, known: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{place} has an unknown key `{key}` (known: {})", known.join(", "))),
        None => Ok(()),
    }
}

fn as_table<'a>(value: &'a Value, place: &str) -> Result<&'a Table, String> {
    value.as_table().ok_or_else(|| format!("{place} is no table"))
}

fn string<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| format!("{key} is no string"))
}

fn required<'a>(table: &'a Table, key: &str) -> Result<&'a Value, String> {
    table.get(key).ok_or_else(|| format!("there is no `{key}`"))
}

/// An integer or an expression, as an expression.
fn expression(value: &Value) -> Result<String, String> {
    match value {
        Value::Integer(number) => Ok(number.to_string()),
        Value::String(text) => Ok(text.clone()),
        _ => Err(format!("{value} is neither an integer nor an expression")),
    }
}

fn number(table: &Table, key: &str) -> Result<Number, String> {
    match required(table, key)? {
        Value::Integer(value) => Ok(Number::Integer(*value)),
        Value::Float(value) => Ok(Number::Float(*value)),
        other => Err(format!("{key} = {other} is no number")),
    }
}

fn scalars(table: &Table) -> Result<Scalars, String> {
    let entry = |(name, value): (&String, &Value)| match value {
        Value::Integer(value) => Ok((name.clone(), *value)),
        _ => Err(format!("scalar {name} is no integer")),
    };
    table.iter().map(entry).collect()
}

fn about(table: &Table) -> Result<About, String> {
    only(table, "workload", &["suite", "papers"])?;
    let mut papers = BTreeMap::new();
    if let Some(value) = table.get("papers") {
        for (paper, name) in as_table(value, "papers")? {
            papers.insert(paper.clone(), string(name, paper)?.to_owned());
        }
    }
    Ok(About { suite: string(required(table, "suite")?, "suite")?.to_owned(), papers })
}

fn buffer(name: &str, value: &Value) -> Result<Buffer, String> {
    let table = as_table(value, "it")?;
    only(table, "it", &["type", "len", "init", "expect"])?;
    let checksum = match table.get("expect") {
        Some(expect) => {
            let expect = as_table(expect, "expect")?;
            only(expect, "expect", &["checksum"])?;
            Some(string(required(expect, "checksum")?, "checksum")?.to_owned())
        }
        None => None,
    };
    Ok(Buffer {
        name: name.to_owned(),
        element: ElementType::from_str(string(required(table, "type")?, "type")?)?,
        len: expression(required(table, "len")?)?,
        init: init(required(table, "init")?)?,
        checksum,
    })
}

fn init(value: &Value) -> Result<Init, String> {
    if let Some(word) = value.as_str() {
        return match word {
            "zeros" => Ok(Init::Zeros),
            "iota" => Ok(Init::Iota),
            _ => Err(format!("init = \"{word}\" is unknown")),
        };
    }
    let table = as_table(value, "init")?;
    only(table, "init", &["fill", "random"])?;
    let Some(random) = table.get("random") else {
        return Ok(Init::Fill(number(table, "fill")?));
    };
    let random = as_table(random, "random")?;
    only(random, "random", &["seed", "min", "max"])?;
    let Number::Integer(seed) = number(random, "seed")? else {
        return Err("seed is no integer".into());
    };
    Ok(Init::Random { seed: seed as u64, min: number(random, "min")?, max: number(random, "max")? })
}

fn entries(value: &Value) -> Result<Vec<Entry>, String> {
    let listed = value.as_array().ok_or("launch is no array")?.iter().enumerate();
    listed.map(|(number, value)| entry(value).map_err(|what| format!("launch {number}: {what}"))).collect()
}

fn entry(value: &Value) -> Result<Entry, String> {
    let table = as_table(value, "it")?;
    let Some(variable) = table.get("for") else { return launch(table).map(Entry::Launch) };
    only(table, "it", &["for", "from", "to", "launch"])?;
    Ok(Entry::Loop {
        variable: string(variable, "for")?.to_owned(),
        from: expression(required(table, "from")?)?,
        to: expression(required(table, "to")?)?,
        entries: entries(required(table, "launch")?)?,
    })
}

fn launch(table: &Table) -> Result<Launch, String> {
    only(table, "it", &["kernel", "grid", "block", "shared", "args"])?;
    let args = required(table, "args")?.as_array().ok_or("args is no array")?;
    Ok(Launch {
        kernel: string(required(table, "kernel")?, "kernel")?.to_owned(),
        grid: shape(required(table, "grid")?)?,
        block: shape(required(table, "block")?)?,
        shared: table.get("shared").map_or_else(|| Ok("0".into()), expression)?,
        args: args.iter().map(argument).collect::<Result<_, _>>()?,
    })
}

fn shape(value: &Value) -> Result<[String; 3], String> {
    let listed = value.as_array().filter(|array| (1..=3).contains(&array.len()));
    let listed = listed.ok_or("grid and block take one to three entries")?;
    let mut shape = [const { String::new() }; 3].map(|_| "1".to_owned());
    for (entry, value) in shape.iter_mut().zip(listed) {
        *entry = expression(value)?;
    }
    Ok(shape)
}

fn argument(value: &Value) -> Result<Argument, String> {
    if let Some(text) = value.as_str() {
        let name = text.strip_prefix('@').ok_or_else(|| format!("{text} is no @buffer"))?;
        let (buffer, element) = name.split_once('+').unwrap_or((name, "0"));
        return Ok(Argument::Pointer { buffer: buffer.to_owned(), element: element.to_owned() });
    }
    let table = as_table(value, "an argument")?;
    let Some((name, value)) = table.iter().next().filter(|_| table.len() == 1) else {
        return Err(format!("argument {value} is not of the form {{ type = value }}"));
    };
    if name == "texture" {
        return Ok(Argument::Texture(string(value, name)?.to_owned()));
    }
    let value = match value {
        Value::Float(number) => number.to_string(),
        other => expression(other)?,
    };
    Ok(Argument::Scalar { element: ElementType::from_str(name)?, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::encode;

    const SMALL: &str = r#"
        [scalars]
        n = 3
        [buffers.a]
        type = "s16"
        len = "n+1"
        init = "iota"
        [buffers.b]
        type = "f32"
        len = 2
        init = { fill = 1.5 }
        [[launch]]
        kernel = "k"
        grid = ["ceil_div(n,2)"]
        block = [32, 2]
        args = ["@a", "@b+1", { s32 = "n" }, { f32 = 0.5 }]
    "#;

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(Path::new("some/small.toml"), text)
    }

    #[test]
    fn a_small_manifest_is_read_whole() {
        let manifest = parse(SMALL).unwrap();
        assert_eq!(manifest.ptx, Path::new("some/small.ptx"));
        let launches = manifest.launches(&manifest.scalars).unwrap();
        assert_eq!(launches[0].launch.grid, ["ceil_div(n,2)", "1", "1"]);
        assert_eq!(launches[0].launch.block, ["32", "2", "1"]);
        let one = Argument::Pointer { buffer: "b".into(), element: "1".into() };
        assert_eq!(launches[0].launch.args[1], one);
        let inputs = manifest.inputs(&manifest.scalars).unwrap();
        assert_eq!(inputs["a"], encode(&[0_i16, 1, 2, 3]));
        assert_eq!(inputs["b"], encode(&[1.5_f32, 1.5]));
    }

    #[test]
    fn sizes_and_loops_are_read() {
        let text = r#"
            [workload]
            suite = "rodinia"
            papers = { dac = "XY" }
            [scalars]
            n = 2
            m = 5
            [sizes.paper]
            n = 3
            [[launch]]
            for = "i"
            from = 1
            to = "n"
            launch = [{ kernel = "k", grid = ["i"], block = [32], args = [{ texture = "t" }] }]
        "#;
        let manifest = parse(text).unwrap();
        assert_eq!(manifest.about.suite, "rodinia");
        assert_eq!(manifest.about.papers["dac"], "XY");
        assert!(manifest.has_textures());
        let scalars = manifest.scalars_at("paper").unwrap();
        assert_eq!((scalars["n"], scalars["m"], manifest.scalars_at("other")), (3, 5, None));
        let launches = manifest.launches(&scalars).unwrap();
        assert_eq!(launches.iter().map(|l| l.scalars["i"]).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(manifest.launches(&manifest.scalars).unwrap().len(), 1);
    }

    #[test]
    fn mistakes_are_refused_with_their_place() {
        for (from, to, told) in [
            ("s16", "s17", "buffer a: no workload uses the element type `s17`"),
            ("iota", "iotas", "buffer a: init = \"iotas\" is unknown"),
            ("kernel", "kernle", "launch 0: it has an unknown key `kernle`"),
            ("\"@a\"", "\"a\"", "launch 0: a is no @buffer"),
            ("[[launch]]", "[launches]", "the manifest has an unknown key `launches`"),
        ] {
            let error = parse(&SMALL.replace(from, to)).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
        let manifest = parse(&SMALL.replace("n+1", "0-n")).unwrap();
        let error = manifest.inputs(&manifest.scalars).unwrap_err();
        assert_eq!(error.to_string(), "some/small.toml: buffer a: the length is -3");
    }
}
