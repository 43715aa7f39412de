//! First section: the answer in a few numbers and sentences.

use crate::measure::Results;
use report::{Callout, Cell, Format, Kpi, Section, geometric_mean};
use timing::reports::techniques::{comparison, tone};
use timing::reports::{Lab, Workload};
use timing::studies::StudyResult;

pub(super) fn section(results: &Results) -> Section {
    let Results { lab, workloads, .. } = results;
    let (mut performance, mut energy) = (Vec::new(), Vec::new());
    for (m, variant) in lab.variants.iter().enumerate().skip(1) {
        let mean = geometric_mean(workloads.iter().map(|w| w.speedup(m)));
        let (name, most) = best(workloads, |w| w.speedup(m)).unwrap_or(("–", f64::NAN));
        performance.push(
            Kpi::number(format!("{} speedup", variant.label), mean, Format::Ratio(2))
                .note(format!("geometric mean; {} on {name}", Format::Ratio(2).label(most)))
                .tone(tone(mean - 1.0)),
        );
    }
    for (m, variant) in lab.variants.iter().enumerate().skip(1) {
        let mean = geometric_mean(workloads.iter().map(|w| w.rf_energy(lab, m))) - 1.0;
        energy.push(
            Kpi::number(format!("{} register-file energy", variant.label), mean, Format::Change(0))
                .note("geometric mean, overheads included")
                .tone(tone(-mean)),
        );
    }
    if let Some(share) = mean_share(&results.findings.redundancy, "block_redundant_share") {
        let kpi = Kpi::number("Redundant in their thread block", share, Format::Percent(1));
        performance.push(kpi.note("of warp instructions, arithmetic mean"));
    }
    let checked: usize = results.recordings.iter().map(|recording| recording.buffers_checked).sum();
    let checks = Kpi::new("Results as expected", format!("{checked} of {checked}"));
    energy.push(checks.note("buffers compared with a CPU's results"));
    let mut section = Section::new("Overview").kpis(performance).kpis(energy);
    for (m, variant) in lab.variants.iter().enumerate().skip(1) {
        section = section.callout(Callout::finding(finding(lab, workloads, m, &variant.label)));
    }
    section.text(format!(
        "Every figure below compares the same recorded execution on the same machine model, with and without a \
         technique. Nothing is executed while replaying: the trace knows every value. {}",
        comparison(workloads)
    ))
}

/// The workload with the largest value, and the value.
fn best(workloads: &[Workload], value: impl Fn(&Workload) -> f64) -> Option<(&str, f64)> {
    let values = workloads.iter().map(|workload| (workload.label.as_str(), value(workload)));
    values.filter(|(_, v)| v.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// What a technique did, in a sentence or two.
fn finding(lab: &Lab, workloads: &[Workload], m: usize, label: &str) -> String {
    let cycles = geometric_mean(workloads.iter().map(|w| w.speedup(m))) - 1.0;
    let accesses = geometric_mean(workloads.iter().map(|w| w.rf_accesses(m)));
    let energy = geometric_mean(workloads.iter().map(|w| w.rf_energy(lab, m)));
    let (most, gain) = best(workloads, |w| w.speedup(m)).unwrap_or(("–", f64::NAN));
    let (least, loss) = best(workloads, |w| -w.speedup(m)).unwrap_or(("–", f64::NAN));
    format!(
        "**{label}** leaves {} of the register-file accesses and {} of the register-file energy. Performance changes \
         by {} on average, from {} ({least}) to {} ({most}).",
        Format::Percent(0).show(accesses),
        Format::Percent(0).show(energy),
        Format::Change(1).show(cycles),
        Format::Change(1).show(-loss - 1.0),
        Format::Change(1).show(gain - 1.0),
    )
}

/// A mean over all traces from the study's data.
pub(super) fn mean_share(study: &StudyResult, key: &str) -> Option<f64> {
    let (_, means) = study.data.iter().find(|(name, _)| *name == "means")?;
    let column = means.keys().iter().position(|k| k == key)?;
    means.rows().first()?.get(column).and_then(Cell::number)
}
