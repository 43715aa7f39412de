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
    let has_title = text.lines().any(|line| line.contains(r"\s*=\s*"));
    if has_title && begins("APPS,") {
        return tables(text).map(|rows| Some((Format::AccelsimTables, rows)));
    }
    if has_title && begins("CFG,") {
        let why = "a table of get_stats.py with configurations as rows: collect it again without -R";
        return Err(CorrelateError(why.into()));
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
        let figure = value.trim_end_matches('%').trim().parse::<f64>().ok().filter(|figure| figure.is_finite());
        let figure = figure.ok_or_else(|| {
            CorrelateError(format!("line {number}: {key} is \"{value}\", not a number"))
        })?;
        if known {
            row.figures.insert(key.to_owned(), figure);
        } else {
            sums.insert(key.to_owned(), figure);
        }
    }
    close(&mut found, kernel, &sums, &mut before);
    if found.rows.is_empty() {
        return Err(CorrelateError("the simulator's output has no kernel that ended (kernel_name, gpu_sim_cycle)".into()));
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

/// A row per kernel of the tables of `get_stats.py`.
fn tables(text: &str) -> Result<Rows, CorrelateError> {
    let mut rows: BTreeMap<(String, String, usize), Row> = BTreeMap::new();
    let mut order: Vec<(String, String, usize)> = Vec::new();
    let (mut title, mut in_table, mut totals) = (String::new(), false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.starts_with("----") || line.is_empty() {
            in_table = false;
        } else if line.starts_with("APPS,") {
            let configurations: Vec<&str> =
                line.split(',').skip(1).filter(|name| !name.is_empty() && *name != "AVG").collect();
            if configurations.len() > 1 {
                return Err(CorrelateError(format!(
                    "line {number}: the tables have several configurations ({}); collect one, with get_stats.py -C",
                    configurations.join(", ")
                )));
            }
            in_table = true;
        } else if !in_table {
            title = statistic(line);
        } else {
            // Kernels and arguments may have commas of their own.
            let (name, value) = value_of(line);
            let Some((app, kernel)) = name.split_once("--") else { continue };
            let Some((kernel, instance)) = kernel.rsplit_once("--") else {
                totals = true;
                continue;
            };
            let instance = instance.parse::<usize>().map_err(|_| {
                CorrelateError(format!("line {number}: \"{instance}\" is no number of a launch"))
            })?;
            let Some(value) = value else { continue };
            let program = app.split('/').next().unwrap_or(app).to_owned();
            let key = (program.clone(), kernel.to_owned(), instance);
            if !rows.contains_key(&key) {
                order.push(key.clone());
            }
            let row = rows.entry(key).or_insert_with(|| Row {
                program: Some(program),
                kernel: kernel.to_owned(),
                launch: Some(Which::Launch(instance)),
                ..Row::default()
            });
            row.figures.insert(title.clone(), value);
        }
    }
    if rows.is_empty() {
        let why = match totals {
            true => "the tables of get_stats.py have totals only: collect them with -k -K, for each launch of a kernel",
            false => "the tables of get_stats.py have no value",
        };
        return Err(CorrelateError(why.into()));
    }
    let mut found = Rows::default();
    found.rows = order.into_iter().filter_map(|key| rows.remove(&key)).collect();
    found.rows.iter_mut().for_each(hit_rate);
    Ok(found)
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
        let number = last.trim_end_matches('%').trim().parse::<f64>().ok().filter(|number| number.is_finite());
        if number.is_none() && !last.is_empty() && last != "NA" {
            break;
        }
        value = number.or(value);
        rest = before;
    }
    (rest, value)
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
