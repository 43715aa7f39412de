//! Last section: how to read the numbers, and how to get them again.

use crate::measure::{Case, Lab};
use report::{Code, Column, Language, Section, Table};
use timing::config::builtin;

pub fn section(lab: &Lab, cases: &[Case]) -> Section {
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
        .heading("The same, step by step")
        .text("From the output folder; every command has `--help` with examples.")
        .code(Code::new(commands(lab, cases), Language::Plain).title("shell"));
    section = section.table(table_of_machines(lab));
    section.details("Configuration and energy table", |mut details| {
        for (list, name) in [(builtin::GPUS, &lab.config.name), (builtin::ENERGY_TABLES, &lab.energy.name)] {
            if let Some(file) = builtin::find(list, name) {
                details = details.code(Code::new(file.text, Language::Config).title(file.path));
            }
        }
        details
    })
}

fn commands(lab: &Lab, cases: &[Case]) -> String {
    let Some(case) = cases.iter().max_by_key(|case| case.plain().counters.warp_instructions) else {
        return String::new();
    };
    let name = case.recording.name;
    let launch = case.recording.manifest.display();
    format!(
        "emu record {} --launch {launch} -o {name}.wtrace\n\
         trace verify {name}.wtrace\n\
         timing replay {name}.wtrace --config {} --tech bow,corf\n\
         timing study redundancy traces/*.wtrace --csv redundancy.csv\n",
        case.recording.ptx.display(),
        lab.config_word,
    )
}

fn table_of_machines(lab: &Lab) -> Table {
    let columns = [
        Column::text("Machine"),
        Column::text("Technique"),
        Column::text("What it does"),
        Column::text("Paper"),
    ];
    let mut table = Table::new("Machines compared", columns).id("machines");
    for machine in &lab.machines {
        let rows: Vec<_> = machine.tech.split(',').filter_map(timing::techniques::info).collect();
        let join = |of: &dyn Fn(&timing::techniques::TechniqueInfo) -> &str| {
            rows.iter().map(|row| of(row)).collect::<Vec<_>>().join("; ")
        };
        let what =
            if rows.is_empty() { "the configuration as it is".to_owned() } else { join(&|row| row.summary) };
        table.push(report::cells![machine.label, machine.tech, what, join(&|row| row.paper)]);
    }
    table
}
