//! A correlation as text, JSON and CSV.

use super::correlation::{Compared, Correlation, listed};
use super::error::CorrelateError;
use super::metrics::{Kind, METRICS, Metric};
use super::reference::Which;
use super::statistics::{Statistics, error};
use super::tables::heading;
use serde_json::{Map, Value, json};
use warplab_host::symbols::signature;
use warplab_host::text::cell;

impl Correlation {
    /// Text for a terminal with at most `most` kernels, the farthest from the reference, and at most `worst` explained.
    #[must_use]
    pub fn to_text(&self, most: usize, worst: usize) -> String {
        let all: Vec<usize> = (0..self.kernels.len()).collect();
        let shown = if all.len() > most { self.worst().into_iter().take(most).collect() } else { all };
        let mut text = self.kernels_table(&shown).to_text();
        if shown.len() < self.kernels.len() {
            text += &format!(
                "… the {} farthest of {} kernels (--top shows more)\n",
                shown.len(),
                self.kernels.len()
            );
        }
        for table in self.others_table(&shown).into_iter().chain(self.statistics_tables()) {
            text += "\n";
            text += &table.to_text();
        }
        for one in self.statistics.iter().filter(|one| one.zeros > 0) {
            let (name, kernels) = (heading(&one.metric), if one.zeros == 1 { "kernel" } else { "kernels" });
            text += &format!("{name}: {} {kernels} with 0 on one side only, not in the means\n", one.zeros);
        }
        if let Some(change) = self.change() {
            text += &format!("\n{change}\n");
        }
        let lines = self.worst_lines(worst);
        if !lines.is_empty() {
            text += &format!(
                "\nFarthest from the reference in {}\n",
                heading(&self.main_metric()).to_lowercase()
            );
        }
        for (kernel, deviation, why) in lines {
            text += &format!("  {kernel}: {deviation}{}{why}\n", if why.is_empty() { "" } else { "; " });
        }
        text + &self.remarks()
    }

    /// What was not matched, not used, and assumed.
    fn remarks(&self) -> String {
        let mut text = String::new();
        let mut say = |line: String| text += &format!("{line}\n");
        if !self.reference_alone.is_empty() {
            let list: Vec<String> = self.reference_alone.iter().map(reference_alone).collect();
            say(format!("\nOnly in the reference: {}", listed(&list, 12)));
        }
        if !self.ours_alone.is_empty() {
            let list: Vec<String> = self.ours_alone.iter().map(ours_alone).collect();
            say(format!("\nOnly in the results: {}", listed(&list, 12)));
        }
        if !self.unused.is_empty() {
            say(format!("\nIn the reference and not compared: {}", listed(&self.unused, 12)));
        }
        for note in &self.notes {
            say(format!("\nnote: {note}"));
        }
        text
    }

    /// The whole correlation as an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let labels = self.labels();
        let kernels = self.kernels.iter().zip(&labels).map(|(one, label)| self.kernel_json(one, label));
        let names = ["program", "kernel", "launches"];
        let ours_alone = self.ours_alone.iter().map(|(program, kernel, count)| {
            Value::Object(
                names
                    .map(str::to_owned)
                    .into_iter()
                    .zip([json!(program), json!(kernel), json!(count)])
                    .collect(),
            )
        });
        let reference_alone = self
            .reference_alone
            .iter()
            .map(|(kernel, rows, why)| json!({ "kernel": kernel, "rows": rows, "why": why }));
        let statistics = self.statistics.iter().enumerate().map(|(position, one)| {
            let mut value = statistics_json(one);
            if let Some(before) = &self.before {
                value["before"] = statistics_json(&before[position]);
            }
            value
        });
        json!({
            "schema": "warplab-correlate/1",
            "reference_formats": self.formats,
            "kernels": kernels.collect::<Vec<_>>(),
            "metrics": statistics.collect::<Vec<_>>(),
            "only_in_results": ours_alone.collect::<Vec<_>>(),
            "only_in_reference": reference_alone.collect::<Vec<_>>(),
            "not_compared": self.unused,
            "notes": self.notes,
        })
    }

    fn kernel_json(&self, one: &Compared, label: &str) -> Value {
        let pair = &one.pair;
        let metrics = self.statistics.iter().filter_map(|statistics| {
            let metric = statistics.metric;
            let (ours, reference) = one.both(metric.name)?;
            let mut value = json!({
                "ours": ours,
                "reference": reference,
                "error": error(metric.kind, ours, reference),
            });
            if let Some(before) = one.before.as_ref().and_then(|before| before.get(metric.name)) {
                value["before"] = json!(before);
                value["error_before"] = json!(error(metric.kind, *before, reference));
            }
            Some((metric.name.to_owned(), value))
        });
        let slots: Map<String, Value> =
            pair.slots.iter().map(|(label, slots)| ((*label).to_owned(), json!(slots))).collect();
        json!({
            "label": label,
            "program": pair.program,
            "kernel": pair.kernel,
            "launch": launch(pair.which),
            "launches": pair.launches,
            "metrics": metrics.collect::<Map<_, _>>(),
            "slots": slots,
        })
    }

    /// A row per kernel: our value of every metric, and where the reference has it, its value and the quotient (or the
    /// difference of percentages). The table is read as results again.
    ///
    /// # Errors
    /// None in practice: the text is made in memory.
    pub fn to_csv(&self) -> Result<String, CorrelateError> {
        let broken = |why: String| CorrelateError(why);
        let has = |metric: &&Metric| self.kernels.iter().any(|one| one.pair.ours.contains_key(metric.name));
        let listed: Vec<&Metric> = METRICS.iter().filter(has).collect();
        let further = self.statistics.iter().map(|one| &one.metric);
        let further = further.filter(|metric| !METRICS.iter().any(|known| known.name == metric.name));
        let metrics: Vec<&Metric> = listed.into_iter().chain(further).collect();
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut header: Vec<String> = ["program", "kernel", "launch"].map(str::to_owned).to_vec();
        for metric in &metrics {
            header.push(metric.name.to_owned());
            if self.of(metric.name).is_some() {
                header.extend(["reference", "ratio"].map(|what| format!("{}_{what}", metric.name)));
            }
        }
        writer.write_record(&header).map_err(|why| broken(why.to_string()))?;
        for one in &self.kernels {
            let mut row =
                vec![one.pair.program.clone(), one.pair.kernel.clone(), launch(one.pair.which).to_string()];
            row[2] = row[2].trim_matches('"').to_owned();
            let number = |value: Option<f64>| {
                value.filter(|v| v.is_finite()).map_or(String::new(), |v| rounded(v).to_string())
            };
            for metric in &metrics {
                row.push(number(one.pair.ours.get(metric.name).copied()));
                if self.of(metric.name).is_some() {
                    let reference = one.pair.reference.get(metric.name).copied();
                    let relation = one.both(metric.name).map(|(ours, reference)| match metric.kind {
                        Kind::Count => ours / reference,
                        Kind::Percentage => ours - reference,
                    });
                    row.extend([number(reference), number(relation)]);
                }
            }
            writer
                .write_record(row.iter().map(|text| cell(text).into_owned()))
                .map_err(|why| broken(why.to_string()))?;
        }
        let bytes = writer.into_inner().map_err(|why| broken(why.to_string()))?;
        String::from_utf8(bytes).map_err(|why| broken(why.to_string()))
    }
}

/// Six significant digits after the point are enough for quotients and rates; counts are whole.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 { value } else { (value * 1e6).round() / 1e6 }
}

fn launch(which: Which) -> Value {
    match which {
        Which::Launch(number) => json!(number),
        Which::Mean => json!("mean"),
    }
}

pub(super) fn ours_alone((program, kernel, count): &(String, String, usize)) -> String {
    let program = if program.is_empty() { String::new() } else { format!(" of {program}") };
    format!("{}{program}{}", signature(kernel), times(*count, "launches"))
}

pub(super) fn reference_alone((kernel, count, why): &(String, usize, String)) -> String {
    format!("{}{}: {why}", signature(kernel), times(*count, "rows"))
}

fn times(count: usize, what: &str) -> String {
    if count == 1 { String::new() } else { format!(" ({count} {what})") }
}

fn statistics_json(one: &Statistics) -> Value {
    // Figures without a sense are null.
    json!({
        "metric": one.metric.name,
        "unit": if one.metric.kind == Kind::Count { "fraction" } else { "percentage points" },
        "kernels": one.kernels,
        "zeros": one.zeros,
        "mean_absolute_error": one.mean_error,
        "bias": one.bias,
        "pearson": one.pearson,
        "spearman": one.spearman,
        "within": one.within,
    })
}
