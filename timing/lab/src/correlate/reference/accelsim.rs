//! Statistics of Accel-Sim and GPGPU-Sim: what the simulator prints after each kernel, and the tables that the job
//! scripts' `get_stats.py` collects from it.

use super::layout::Format;
use super::row::{Row, Rows, Which};
use crate::correlate::error::CorrelateError;
use std::collections::BTreeMap;

/// Statistics of a kernel that have a counterpart, as the simulator prints them.
const OF_KERNEL: &[&str] = &["gpu_sim_cycle", "gpu_sim_insn", "gpu_occupancy"];
/// Statistics that the simulator adds up from its start.
const SINCE_START: &[&str] = &["gpgpu_n_tot_w_icount", "L2_total_cache_accesses", "L2_total_cache_misses"];
/// Name under which the share of hits in L2 is looked up.
const L2_HIT_RATE: &str = "L2_total_cache_hit_rate";

/// The rows of a text in one of the two formats; none if it is neither.
///
/// # Errors
/// No row of a kernel, or a damaged one, with its line.
pub(super) fn rows(text: &str) -> Result<Option<(Format, Rows)>, CorrelateError> {
    let begins = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
    if begins("gpu_sim_cycle =") || begins("gpu_tot_sim_cycle =") {
        return output(text).map(|rows| Some((Format::AccelsimOutput, rows)));
    }
    // Tables have a title of their own, a regular expression, and a header.
    if text.lines().any(|line| line.contains(r"\s*=\s*")) && (begins("APPS,") || begins("CFG,")) {
        return tables(text).map(|rows| Some((Format::AccelsimTables, rows)));
    }
    Ok(None)
}

/// A row per kernel that the simulator has ended.
fn output(text: &str) -> Result<Rows, CorrelateError> {
    let mut found = Rows::default();
    let mut kernel: Option<Row> = None;
    // The last values of sums, and those at the end of the kernel before.
    let (mut sums, mut before) = (BTreeMap::new(), BTreeMap::new());
    for (number, line) in (1..).zip(text.lines()) {
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim());
        if key == "kernel_name" {
            close(&mut found, kernel.take(), &sums, &mut before);
            if value.is_empty() {
                return Err(CorrelateError(format!("line {number}: kernel_name names no kernel")));
            }
            kernel = Some(Row { kernel: value.to_owned(), ..Row::default() });
            continue;
        }
        let Some(row) = &mut kernel else { continue };
        let known = OF_KERNEL.contains(&key);
        if !known && !SINCE_START.contains(&key) {
            continue;
        }
        let figure = number_of(value)
            .ok_or_else(|| CorrelateError(format!("line {number}: {key} is \"{value}\", not a number")))?;
        if known {
            row.figures.insert(key.to_owned(), figure);
        } else {
            sums.insert(key.to_owned(), figure);
        }
    }
    close(&mut found, kernel, &sums, &mut before);
    if found.rows.is_empty() {
        return Err(CorrelateError(
            "the simulator's output has no kernel that ended (kernel_name, gpu_sim_cycle)".into(),
        ));
    }
    Ok(found)
}

/// Takes a kernel that has ended: its sums are those since the kernel before.
fn close(
    found: &mut Rows,
    kernel: Option<Row>,
    sums: &BTreeMap<String, f64>,
    before: &mut BTreeMap<String, f64>,
) {
    let Some(mut row) = kernel.filter(|row| row.figures.contains_key("gpu_sim_cycle")) else { return };
    for (key, value) in sums {
        let own = value - before.get(key).copied().unwrap_or(0.0);
        row.figures.insert(key.clone(), own);
    }
    before.clone_from(sums);
    hit_rate(&mut row);
    found.rows.push(row);
}

/// Replaces accesses and misses in L2 by the share of hits.
fn hit_rate(row: &mut Row) {
    let figures = &mut row.figures;
    let taken = [figures.remove("L2_total_cache_accesses"), figures.remove("L2_total_cache_misses")];
    if let [Some(accesses), Some(misses)] = taken
        && accesses > 0.0
    {
        figures.insert(L2_HIT_RATE.into(), 100.0 * (1.0 - misses / accesses));
    }
}

/// The tables of `get_stats.py`: by program, kernel and launch, in the order of the text.
#[derive(Default)]
struct Tables {
    rows: Vec<Row>,
    places: BTreeMap<(String, String, usize), usize>,
    /// Whether there are figures of whole runs.
    totals: bool,
}

impl Tables {
    /// Takes a value of the line or column with a name: `program/arguments--kernel--launch`.
    fn take(&mut self, name: &str, statistic: &str, value: Option<f64>) -> Result<(), CorrelateError> {
        let Some((app, kernel)) = name.split_once("--") else { return Ok(()) };
        let Some((kernel, launch)) = kernel.rsplit_once("--") else {
            self.totals = true;
            return Ok(());
        };
        let position =
            launch.parse().map_err(|_| CorrelateError(format!("\"{launch}\" is no number of a launch")))?;
        let Some(value) = value else { return Ok(()) };
        let program = app.split('/').next().unwrap_or(app).to_owned();
        let place =
            *self.places.entry((program.clone(), kernel.to_owned(), position)).or_insert(self.rows.len());
        if place == self.rows.len() {
            let launch = Some(Which::Launch(position));
            self.rows.push(Row {
                program: Some(program),
                kernel: kernel.to_owned(),
                launch,
                ..Row::default()
            });
        }
        self.rows[place].figures.insert(statistic.to_owned(), value);
        Ok(())
    }
}

/// A row per kernel of the tables of `get_stats.py`, which have kernels as lines, or (`-R`) as columns.
fn tables(text: &str) -> Result<Rows, CorrelateError> {
    let mut tables = Tables::default();
    let (mut title, mut header): (String, Option<Vec<&str>>) = (String::new(), None);
    let mut configurations: Vec<&str> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let at = |CorrelateError(why): CorrelateError| CorrelateError(format!("line {number}: {why}"));
        let mut configuration = |name| {
            if !configurations.contains(&name) {
                configurations.push(name);
            }
            match configurations.as_slice() {
                [_] => Ok(()),
                several => Err(CorrelateError(format!(
                    "line {number}: the tables have several configurations ({}); collect one, with get_stats.py -C",
                    several.join(", ")
                ))),
            }
        };
        if line.starts_with("----") || line.is_empty() {
            header = None;
            continue;
        }
        let Some(columns) = &header else {
            if line.starts_with("APPS,") || line.starts_with("CFG,") {
                let columns: Vec<&str> = line.split(',').collect();
                if columns[0] == "APPS" {
                    let named = columns[1..].iter().filter(|name| !name.is_empty() && **name != "AVG");
                    named.copied().try_for_each(&mut configuration)?;
                }
                header = Some(columns);
            } else {
                title = statistic(line);
            }
            continue;
        };
        if columns[0] == "APPS" {
            // Kernels and arguments may have commas of their own.
            let (name, value) = value_of(line);
            tables.take(name, &title, value).map_err(at)?;
        } else {
            let fields: Vec<&str> = line.split(',').collect();
            configuration(fields[0])?;
            if fields.len() != columns.len() {
                let what = format!("{} of {} columns: it is cut off or damaged", fields.len(), columns.len());
                return Err(at(CorrelateError(what)));
            }
            for (name, field) in columns.iter().zip(&fields).skip(1) {
                tables.take(name, &title, number_of(field)).map_err(at)?;
            }
        }
    }
    if tables.rows.is_empty() {
        let why = match tables.totals {
            true => {
                "the tables of get_stats.py have totals only: collect them with -k -K, for each launch of a kernel"
            }
            false => "the tables of get_stats.py have no value",
        };
        return Err(CorrelateError(why.into()));
    }
    tables.rows.iter_mut().for_each(hit_rate);
    Ok(Rows { rows: tables.rows, ..Rows::default() })
}

/// The name of a statistic in its regular expression: `gpu_tot_sim_cycle\s*=\s*(.*)`.
fn statistic(line: &str) -> String {
    let line = line.trim_end_matches(',').trim_start_matches(r"\s+");
    line.split(r"\s").next().unwrap_or(line).replace('\\', "").trim().to_owned()
}

/// The name of a line and its value, which is the first field behind the name that is a number.
fn value_of(line: &str) -> (&str, Option<f64>) {
    let mut rest = line;
    let mut value = None;
    // With one configuration, a value and possibly an average follow the name.
    for _ in 0..2 {
        let Some((before, last)) = rest.rsplit_once(',') else { break };
        let number = number_of(last);
        if number.is_none() && !last.is_empty() && last != "NA" {
            break;
        }
        value = number.or(value);
        rest = before;
    }
    (rest, value)
}

/// A number, possibly a percentage.
fn number_of(field: &str) -> Option<f64> {
    field.trim_end_matches('%').trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tables_are_taken_apart() {
        assert_eq!(statistic(r"gpu_tot_sim_cycle\s*=\s*(.*),"), "gpu_tot_sim_cycle");
        assert_eq!(
            statistic(r"\s+L2_cache_stats_breakdown\[GLOBAL_ACC_R\]\[HIT\]\s*=\s*(.*),"),
            "L2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]"
        );
        assert_eq!(value_of("app/a,b--k--0,12"), ("app/a,b--k--0", Some(12.0)));
        assert_eq!(value_of("app/x--k--0,NA"), ("app/x--k--0", None));
        assert_eq!(value_of("app/x--k--0,12,"), ("app/x--k--0", Some(12.0)));
    }
}
