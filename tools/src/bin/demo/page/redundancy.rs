//! Section: the limit studies.

use super::overview::mean_share;
use crate::measure::Results;
use report::{Callout, Format, Section};
use timing::studies;

pub(super) fn section(Results { workloads, findings, .. }: &Results) -> Section {
    let mut section = Section::new("Redundancy: what need not have run").text(
        "A limit study needs no machine model: it reads from the trace how much of an opportunity exists. An \
         instruction is redundant in its thread block when every warp of the block executes it on the same \
         operands, lane by lane; once would have been enough. The same is asked for all warps of the grid, and for \
         the lanes within one warp.",
    );
    let share = |key: &str| mean_share(&findings.redundancy, key).unwrap_or(f64::NAN);
    let percent = |key: &str| Format::Percent(1).show(share(key));
    section = section.callout(Callout::finding(format!(
        "On average over {} workloads, {} of the warp instructions are redundant in their thread block, {} in the whole \
         grid, and {} work on one value in all lanes of the warp. {} ran with lanes switched off and count as not \
         redundant.",
        workloads.len(),
        percent("block_redundant_share"),
        percent("grid_redundant_share"),
        percent("warp_redundant_share"),
        percent("diverged_share"),
    )));
    let all = [&findings.redundancy, &findings.taxonomy];
    for chart in report::distinct(all.iter().flat_map(|study| &study.charts)) {
        section = section.chart(chart.clone());
    }
    section = section.text(
        "In 2D blocks whose rows are no longer than a warp, thread indices repeat from warp to warp, and with them \
         addresses (affine) and what is loaded from there (unstructured). In 1D blocks only uniform values repeat.",
    );
    for table in all.iter().flat_map(|study| &study.tables) {
        section = section.table(table.clone());
    }
    for note in all.iter().flat_map(|study| &study.notes) {
        section = section.callout(Callout::warning(note));
    }
    section.details("Definitions", |mut details| {
        for study in all {
            for paragraph in studies::find(study.study).into_iter().flat_map(|info| info.text) {
                details = details.text(*paragraph);
            }
            for (_, data) in study.data.iter().filter(|(name, _)| *name == "kernels") {
                details = details.table(data.clone());
            }
        }
        details
    })
}
