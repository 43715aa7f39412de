//! Last section: how to read the numbers, and how to reproduce them.

use crate::measure::Results;
use report::{Code, Language, Section};
use timing::config::builtin;
use timing::reports::{command, traces, variants};

pub(super) fn section(results: &Results) -> Section {
    let lab = &results.lab;
    let mut section = Section::new("How to read and reproduce this")
        .text(
            "**Means.** Ratios to the baseline are averaged geometrically, shares arithmetically, each workload \
             counting once. **Cycles** are those of a model of the named GPU with its published sizes and latencies, \
             not of the chip itself; what is compared is the same model with and without a technique. **Energy** is \
             counted events times published prices; components without a price are not in it.",
        )
        .text(
            "**Sizes.** The workloads are small enough to run together in under a minute, so their grids do not fill \
             a large GPU. Latency that more resident warps would hide is then visible, and there is less pressure \
             on banks and units than on a full GPU.",
        )
        .code(command(&results.produced_by))
        .heading("The same, step by step")
        .text("From the output folder; every command has `--help` with examples.")
        .code(Code::new(commands(results), Language::Plain).title("shell"));
    section = section.table(traces(&results.workloads)).table(variants(lab, "Variants compared"));
    section.details("Configuration and energy table", |mut details| {
        for (list, name) in [(builtin::GPUS, &lab.config.name), (builtin::ENERGY_TABLES, &lab.energy.name)] {
            if let Some(file) = builtin::find(list, name) {
                details = details.code(Code::new(file.text, Language::Config).title(file.path));
            }
        }
        details
    })
}

fn commands(Results { config_word, recordings, workloads, .. }: &Results) -> String {
    let largest = recordings.iter().zip(workloads).max_by_key(|(_, w)| w.plain().counters.warp_instructions);
    let Some((recording, _)) = largest else { return String::new() };
    let name = recording.name;
    format!(
        "emu record {} --launch {} -o {name}.wtrace\n\
         trace verify {name}.wtrace\n\
         timing replay {name}.wtrace --config {config_word} --tech bow,corf\n\
         timing study redundancy traces/*.wtrace --csv redundancy.csv\n",
        recording.ptx.display(),
        recording.manifest.display(),
    )
}
