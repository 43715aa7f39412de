//! The list of references and the rows of their tables.
//!
//! `tests/tables/references.toml` describes each reference, and says which columns of which table hold its cycles, ours, and
//! those of other simulators. List and tables are compiled into the program, so that an installed one has them.

use super::error::AccuracyError;
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

const LIST: &str = include_str!("../../../../tests/tables/references.toml");
/// The tables by name.
pub(super) const TABLES: [(&str, &str); 8] = [
    ("silicon-base-clock.csv", include_str!("../../../../tests/tables/silicon-base-clock.csv")),
    ("silicon-ours.csv", include_str!("../../../../tests/tables/silicon-ours.csv")),
    ("silicon-programs.csv", include_str!("../../../../tests/tables/silicon-programs.csv")),
    ("cycles.csv", include_str!("../../../../tests/tables/cycles.csv")),
    ("microbenchmarks-qv100.csv", include_str!("../../../../tests/tables/microbenchmarks-qv100.csv")),
    ("microbenchmarks-rtx2060.csv", include_str!("../../../../tests/tables/microbenchmarks-rtx2060.csv")),
    ("microbenchmarks-rtxa6000.csv", include_str!("../../../../tests/tables/microbenchmarks-rtxa6000.csv")),
    ("microbenchmarks-a100.csv", include_str!("../../../../tests/tables/microbenchmarks-a100.csv")),
];

/// What a reference's cycles come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Against {
    /// A GPU.
    Silicon,
    /// Other simulators.
    Simulators,
}

/// Whether values of the model were chosen with the rows of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Fitted {
    /// They were.
    #[serde(rename = "yes")]
    Yes,
    /// None was.
    #[serde(rename = "no")]
    No,
    /// Some values come from the same measurements, none was chosen for a row.
    #[serde(rename = "in part")]
    InPart,
}

impl Fitted {
    /// As the list writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Fitted::Yes => "yes",
            Fitted::No => "no",
            Fitted::InPart => "in part",
        }
    }
}

/// A column of cycles beside those of the reference.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Name in tables.
    pub name: String,
    /// Column of the table.
    pub column: String,
    /// Revision of this repository that it was measured with; none for columns of other simulators.
    pub revision: Option<String>,
    /// What was measured.
    pub about: String,
}

/// Values that were chosen with the rows, and the error if the program that judges has no part in the choice.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// The values, and among which they were chosen.
    pub values: String,
    /// The error that chooses and judges.
    pub judged_by: String,
    /// Mean absolute error with the values chosen with all programs.
    pub error: f64,
    /// The same, each program judged with the values chosen with the others.
    pub left_out: f64,
    /// Where the two figures come from.
    pub source: String,
}

/// A known cause of errors, and the kernels that have it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// The cause.
    pub cause: String,
    /// Names of kernels, or of rows.
    pub kernels: Vec<String>,
}

/// A launch or kernel of a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Program.
    pub program: String,
    /// Kernel, with the launch where the table has several.
    pub name: String,
    /// The cause of its error in [`Reference::causes`], if it is known.
    pub cause: Option<usize>,
    /// Cycles of the reference.
    pub reference: f64,
    /// Cycles by [`Reference::columns`].
    pub cycles: Vec<f64>,
}

/// A reference with its rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Short name, for the command line and for files.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Name of the table.
    pub file: String,
    /// What was measured or simulated.
    pub against: Against,
    /// GPU.
    pub gpu: String,
    /// Clock of its cores.
    pub clock: String,
    /// Programs and state of the caches.
    pub programs: String,
    /// Where the cycles come from.
    pub source: String,
    /// How ours are measured.
    pub ours: String,
    /// Column with the cycles of the reference. Rows without are left out.
    reference: String,
    /// Column with the program.
    #[serde(default = "program")]
    program: String,
    /// Columns that name a row within its program; a launch of 0 where it is the kernel's only one is not shown.
    #[serde(default = "names")]
    names: Vec<String>,
    /// Whether values were chosen with these rows.
    pub fitted: Fitted,
    /// Which ones.
    pub fitted_on: String,
    /// Hash of our columns as the list has it.
    pub hash: String,
    /// Columns of cycles, ours first.
    pub columns: Vec<Measured>,
    /// Choices of values with their error on programs that had no part in them.
    #[serde(default)]
    pub fits: Vec<Fit>,
    /// Known causes of errors.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Launches or kernels, in the order of the table.
    #[serde(skip)]
    pub rows: Vec<Row>,
}

fn program() -> String {
    "program".to_owned()
}

fn names() -> Vec<String> {
    ["kernel", "launch"].map(str::to_owned).to_vec()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    reference: Vec<Reference>,
}

/// All references, in the order of the list.
///
/// # Errors
/// The list or a table is not as it has to be, with the place.
pub fn references() -> Result<Vec<Reference>, AccuracyError> {
    read(LIST, &TABLES)
}

/// References of a list, with the rows of these tables.
pub(super) fn read(list: &str, tables: &[(&str, &str)]) -> Result<Vec<Reference>, AccuracyError> {
    let list: List = toml::from_str(list).map_err(|why| AccuracyError(format!("references.toml: {why}")))?;
    let with_rows = |mut reference: Reference| {
        let (_, text) = tables.iter().find(|(name, _)| *name == reference.file).ok_or_else(|| {
            AccuracyError(format!("references.toml: {}: there is no table {}", reference.id, reference.file))
        })?;
        reference.rows =
            rows(&reference, text).map_err(|why| AccuracyError(format!("{}: {why}", reference.file)))?;
        Ok(reference)
    };
    list.reference.into_iter().map(with_rows).collect()
}

fn rows(reference: &Reference, text: &str) -> Result<Vec<Row>, String> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|why| why.to_string())?.clone();
    let position = |column: &str| {
        header.iter().position(|name| name == column).ok_or_else(|| format!("there is no column {column}"))
    };
    let at = position(&reference.reference)?;
    let program = position(&reference.program)?;
    let names = reference.names.iter().map(|name| position(name)).collect::<Result<Vec<_>, _>>()?;
    let columns = reference.columns.iter().map(|one| position(&one.column)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|why| why.to_string())?;
        if record[at].is_empty() {
            continue;
        }
        let cycles = |column: usize| {
            let value: Option<f64> = record[column].parse().ok();
            value.filter(|value| value.is_finite() && *value > 0.0).ok_or_else(|| {
                format!(
                    "{}: {} is no number of cycles",
                    record.iter().collect::<Vec<_>>().join(","),
                    &record[column]
                )
            })
        };
        let name = names.iter().map(|column| &record[*column]).collect::<Vec<_>>().join(" ");
        let is_of = |kernel: &String| name == *kernel || name.split(' ').next() == Some(kernel);
        let cause = reference.causes.iter().position(|cause| cause.kernels.iter().any(is_of));
        rows.push(Row {
            program: record[program].to_owned(),
            cause,
            reference: cycles(at)?,
            cycles: columns.iter().map(|column| cycles(*column)).collect::<Result<_, _>>()?,
            name,
        });
    }
    if rows.is_empty() { Err("there are no rows".to_owned()) } else { Ok(rows) }
}

impl Reference {
    /// The hash of our columns, with the names of the rows.
    #[must_use]
    pub fn measured_hash(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            text += &format!("{},{}", row.program, row.name);
            for (column, cycles) in self.columns.iter().zip(&row.cycles) {
                if column.revision.is_some() {
                    text += &format!(",{cycles}");
                }
            }
            text.push('\n');
        }
        format!("{:016x}", xxh3_64(text.as_bytes()))
    }
}
