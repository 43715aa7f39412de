//! Finds the tables in a file: where each begins, and its format by its header.
//!
//! Profilers write lines of their own and output of the program around their tables, and nvprof several tables into one
//! file. A table reaches to the next header.

use crate::correlate::error::CorrelateError;
use crate::correlate::metrics::is_compared;
use crate::correlate::quantity::{Decimal, quantity, scale, shown_decimal};
use csv::StringRecord;
use std::collections::BTreeMap;

/// A format of reference figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// `ncu --csv --page raw`: a row per launch, a column per metric.
    NsightRaw,
    /// `ncu --csv`, the details page or chosen metrics: a row per metric of a launch.
    NsightDetails,
    /// `nvprof --print-gpu-trace --csv`: a row per launch with its duration.
    NvprofTrace,
    /// `nvprof --print-gpu-trace --metrics … --csv`: a row per launch, a column per metric.
    NvprofLaunches,
    /// `nvprof --metrics … --csv` or `--events`: a row per kernel and metric with its mean.
    NvprofMetrics,
    /// `nvprof --csv`: a row per kernel with the mean of its durations.
    NvprofSummary,
    /// The output of Accel-Sim or GPGPU-Sim: statistics after each kernel.
    AccelsimOutput,
    /// The tables that Accel-Sim's `get_stats.py -k -K` prints.
    AccelsimTables,
    /// A table with a column of kernels.
    Plain,
}

impl Format {
    /// Name for readers.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Format::NsightRaw => "Nsight Compute, raw page",
            Format::NsightDetails => "Nsight Compute, details page",
            Format::NvprofTrace => "nvprof, GPU trace",
            Format::NvprofLaunches => "nvprof, metrics of launches",
            Format::NvprofMetrics => "nvprof, metrics of kernels",
            Format::NvprofSummary => "nvprof, summary",
            Format::AccelsimOutput => "output of Accel-Sim",
            Format::AccelsimTables => "tables of Accel-Sim's get_stats.py",
            Format::Plain => "plain table",
        }
    }

    /// The format of a header; plain tables are looked for only if a file has no other table.
    fn of(header: &[String]) -> Option<Format> {
        let has = |name: &str| header.iter().any(|column| column == name);
        if has("Invocations") && has("Kernel") && (has("Metric Name") || has("Event Name")) && has("Avg") {
            Some(Format::NvprofMetrics)
        } else if has("Metric Name") && (has("Metric Value") || has("Average")) {
            Some(Format::NsightDetails)
        } else if has("Kernel Name") && (has("ID") || header.iter().any(|column| column.contains("__"))) {
            Some(Format::NsightRaw)
        } else if has("Start") && has("Duration") && has("Name") {
            Some(Format::NvprofTrace)
        } else if has("Time(%)") && has("Calls") && has("Avg") && has("Name") {
            Some(Format::NvprofSummary)
        } else if has("Device") && has("Kernel") && !has("Metric Name") {
            Some(Format::NvprofLaunches)
        } else {
            None
        }
    }
}

/// A table of a file.
#[derive(Debug)]
pub(super) struct Table {
    pub format: Format,
    pub header: Vec<String>,
    /// The records with their lines.
    records: Vec<(usize, StringRecord)>,
}

/// Names of the column of kernels in a plain table, in lower case.
pub(super) const KERNEL: &[&str] = &["kernel", "kernel name", "kernel_name", "name"];

/// The tables of a file.
///
/// # Errors
/// There is none, or its quoting is broken.
pub(super) fn tables(text: &str) -> Result<Vec<Table>, CorrelateError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(CorrelateError("it is empty".into()));
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut starts: Vec<(usize, Format, Vec<String>)> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let header = fields(line);
        if let Some(format) = Format::of(&header) {
            starts.push((number, format, header));
        }
    }
    if starts.is_empty() {
        let (number, header) = plain_header(&lines).ok_or_else(|| no_table(text))?;
        starts.push((number, Format::Plain, header));
    }
    let ends = starts.iter().skip(1).map(|start| start.0).chain([lines.len()]);
    let table = |((start, format, header), end): (&(usize, Format, Vec<String>), usize)| {
        let records = records(&lines, start + 1..end, *format)?;
        Ok(Table { format: *format, header: header.clone(), records })
    };
    starts.iter().zip(ends).map(table).collect()
}

/// The fields of a line on its own.
fn fields(line: &str) -> Vec<String> {
    if !line.contains(',') {
        return Vec::new();
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(|field| field.trim().to_owned()).collect()
}

/// The header of a plain table: the first line that is neither empty nor a comment, if it has a column of kernels.
fn plain_header(lines: &[&str]) -> Option<(usize, Vec<String>)> {
    let mut used = lines.iter().enumerate().filter(|(_, line)| !is_aside(line));
    let (number, line) = used.next()?;
    let header = fields(line);
    let kernel = |column: &String| KERNEL.contains(&column.to_lowercase().as_str());
    header.iter().any(kernel).then_some((number, header))
}

/// Whether a line belongs to no table: empty, a comment, or a profiler's own words.
fn is_aside(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#') || line.starts_with("==")
}

/// Parses lines, keeping their numbers.
fn records(
    lines: &[&str],
    range: std::ops::Range<usize>,
    format: Format,
) -> Result<Vec<(usize, StringRecord)>, CorrelateError> {
    // The profiled program may print between the lines of a profile.
    let printed = |line: &str| format != Format::Plain && !line.contains([',', '"']);
    // Lines that belong to no table stay as empty ones, so that positions are those of the file.
    let mut text = "\n".repeat(range.start);
    for line in &lines[range] {
        text += if is_aside(line) || printed(line) { "" } else { line };
        text.push('\n');
    }
    if text.matches('"').count() % 2 == 1 {
        let last = text.trim_end().lines().count();
        return Err(CorrelateError(format!(
            "line {last} ends within a quoted field: the file is cut off or damaged"
        )));
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let (mut line, mut counted) = (1, 0);
    let numbered = |record: Result<StringRecord, csv::Error>| {
        let record = record.map_err(|why| CorrelateError(why.to_string()))?;
        // The reader's position is before the empty lines in front of a record.
        let mut start = record.position().map_or(0, |position| position.byte() as usize).min(text.len());
        start += text[start..].bytes().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        line += text[counted..start].matches('\n').count();
        counted = start;
        Ok((line, record))
    };
    reader.records().map(numbered).collect()
}

/// Whether a cell says that there is no value.
pub(super) fn is_missing(text: &str) -> bool {
    let text = text.to_lowercase();
    ["", "-", "–", "n/a", "na", "nan"].contains(&text.as_str()) || text.starts_with("<overflow>")
}

fn no_table(text: &str) -> CorrelateError {
    if text.contains("ERR_NVGPUCTRPERM") {
        return CorrelateError(
            "the profiler had no permission to read the GPU's counters (ERR_NVGPUCTRPERM): profile again with it".into(),
        );
    }
    for nothing in ["No kernels were profiled", "no kernels were profiled"] {
        if text.contains(nothing) {
            return CorrelateError(format!("the profiler wrote \"{nothing}\""));
        }
    }
    let by_semicolons = text.lines().find(|line| !is_aside(line)).is_some_and(|line| {
        line.split(';')
            .any(|column| KERNEL.contains(&column.trim().trim_matches('"').to_lowercase().as_str()))
    });
    let hint = if by_semicolons {
        "its columns are separated by semicolons: write them with commas, and numbers with points"
    } else if text.contains("Metric Name") || text.contains("Time(%)") {
        "it looks like a profiler's text output: use --csv (ncu --csv --page raw, nvprof --csv --print-gpu-trace)"
    } else {
        "expected CSV of Nsight Compute (ncu --csv) or nvprof (--csv), statistics of Accel-Sim, or a table whose header has \
         the columns kernel and cycles"
    };
    CorrelateError(format!("it has no table of kernels: {hint}"))
}

impl Table {
    /// The position of a column.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// The position of a column that the format must have.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn need(&self, name: &str) -> Result<usize, CorrelateError> {
        let missing = || CorrelateError(format!("{}: it has no column \"{name}\"", self.format.title()));
        self.column(name).ok_or_else(missing)
    }

    /// The records with their lines; each has at least `least` fields.
    ///
    /// # Errors
    /// A record is shorter: the file ends within it, or a line was damaged.
    pub(super) fn records(&self, least: usize) -> Result<impl Iterator<Item = Record<'_>>, CorrelateError> {
        for (line, record) in &self.records {
            // Empty fields at the end are those of a spreadsheet.
            if record.iter().skip(self.header.len()).any(|field| !field.trim().is_empty()) {
                return Err(CorrelateError(format!(
                    "line {line} has {} columns and the header {}: a number with a decimal comma or grouped digits has to be in \
                     quotes, or to be written with a point",
                    record.len(),
                    self.header.len()
                )));
            }
            if record.len() < least {
                return Err(CorrelateError(format!(
                    "line {line} has {} of {} columns: the file is cut off or damaged there",
                    record.len(),
                    self.header.len()
                )));
            }
        }
        Ok(self.records.iter().map(|(line, record)| Record { line: *line, record }))
    }

    /// The decimal separator of the numbers in some columns: the one that they show, and a point where none does, because
    /// profilers group digits by commas.
    ///
    /// # Errors
    /// Numbers of both kinds.
    pub(super) fn decimal(&self, columns: &[usize]) -> Result<Decimal, CorrelateError> {
        let mut seen: [Option<(usize, &str)>; 2] = [None; 2];
        for (line, record) in &self.records {
            for text in columns.iter().filter_map(|column| record.get(*column)) {
                if let Some(decimal) = shown_decimal(text) {
                    seen[decimal as usize].get_or_insert((*line, text.trim()));
                }
            }
        }
        match seen {
            [Some((a, point)), Some((b, comma))] => Err(CorrelateError(format!(
                "\"{point}\" in line {a} has a decimal point and \"{comma}\" in line {b} a decimal comma: write all numbers with one \
                 of them"
            ))),
            [None, Some(_)] => Ok(Decimal::Comma),
            _ => Ok(Decimal::Point),
        }
    }

    /// As [`Table::records`], for formats whose records are as long as the header; splits off the units, which are in a
    /// record without a kernel's name.
    ///
    /// # Errors
    /// As [`Table::records`].
    pub(super) fn with_units(
        &self,
        kernel: usize,
    ) -> Result<(BTreeMap<usize, String>, Vec<Record<'_>>), CorrelateError> {
        let mut records: Vec<Record<'_>> = self.records(self.header.len())?.collect();
        let mut units = BTreeMap::new();
        if records.first().is_some_and(|first| first.text(kernel).is_empty()) {
            let first = records.remove(0);
            units = (0..self.header.len()).map(|column| (column, first.text(column).to_owned())).collect();
        }
        Ok((units, records))
    }
}

/// A record of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    line: usize,
    record: &'a StringRecord,
}

impl<'a> Record<'a> {
    /// A field; empty if the record is shorter.
    pub(super) fn text(&self, column: usize) -> &'a str {
        self.record.get(column).unwrap_or("").trim()
    }

    /// The line in the file.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The value of a metric. None where there is none, and for a text of a metric that is not compared.
    ///
    /// # Errors
    /// A metric that is compared has no number, or an unknown unit.
    pub(super) fn metric(
        &self,
        column: usize,
        name: &str,
        unit: &str,
        decimal: Decimal,
    ) -> Result<Option<f64>, CorrelateError> {
        let text = self.text(column);
        match self.figure(column, unit, decimal) {
            Some(value) => Ok(Some(value)),
            None if is_missing(text) || !is_compared(name) => Ok(None),
            None => {
                let unit = if unit.is_empty() { String::new() } else { format!(" with the unit \"{unit}\"") };
                let line = self.line();
                Err(CorrelateError(format!("line {line}: {name} is \"{text}\"{unit}, which is no number")))
            }
        }
    }

    /// A field as a number in base units, by a unit of its own or the given one; none if it is no number or the unit is
    /// not known.
    pub(super) fn figure(&self, column: usize, unit: &str, decimal: Decimal) -> Option<f64> {
        let (value, own) = quantity(self.text(column), decimal)?;
        let unit = if own.is_empty() || own.starts_with('(') { unit } else { own };
        Some(value * scale(unit)?)
    }
}
