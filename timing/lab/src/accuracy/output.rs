//! References as text for a terminal and as JSON.

use super::figures::{Group, Grouping};
use super::reference::{Against, Reference};
use super::tables::overview;
use serde_json::{Value, json};

/// What no table here has.
pub(super) const MISSING: &str = "HyFiSS and PPT-GPU: no figure of theirs for these rows is at hand, so they are not compared. Accel-Sim's stand beside \
    ours where they were published with the reference.";

/// Tables of references for a terminal: an overview, then each with its errors by program, size and cause, and with every row if
/// requested.
#[must_use]
pub fn to_text(references: &[Reference], every_row: bool) -> String {
    let mut text = overview(references).to_text();
    for reference in references {
        text += &format!("\n{} ({})\n", reference.title, reference.id);
        for (name, value) in facts(reference) {
            text += &format!("  {name}: {}\n", value.replace('`', ""));
        }
        let rows = every_row && !reference.is_of_steps();
        let tables = reference.tables().into_iter().chain(rows.then(|| reference.rows_table()));
        for table in tables {
            text += "\n";
            text += &table.to_text();
        }
    }
    text + "\n" + MISSING + "\n"
}

/// What a reader has to know about a reference.
pub(super) fn facts(reference: &Reference) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Rows".to_owned(), reference.programs.clone()),
        ("GPU".to_owned(), format!("{}, {}", reference.gpu, reference.clock)),
        ("Reference".to_owned(), reference.source.clone()),
        ("Ours".to_owned(), reference.ours.clone()),
        ("Used for fitting".to_owned(), format!("{}: {}", reference.fitted.word(), reference.fitted_on)),
    ];
    for column in &reference.columns {
        let revision = column.revision.as_ref();
        let when = revision.map_or(String::new(), |revision| format!(" (measured at {revision})"));
        facts.push((column.name.clone(), format!("{}{when}", column.about)));
    }
    facts
}

impl Reference {
    /// By program, size and, if causes are known, cause; then the fits. Of steps every row is shown, and no class of size.
    pub(super) fn tables(&self) -> Vec<report::Table> {
        let steps = self.is_of_steps();
        let wanted = |by: &&Grouping| match by {
            Grouping::Program => true,
            Grouping::Size => !steps,
            Grouping::Cause => !self.causes.is_empty(),
        };
        let groups = Grouping::ALL.iter().filter(wanted).map(|by| self.groups_table(*by));
        groups.chain(steps.then(|| self.rows_table())).chain(self.fits_table()).collect()
    }
}

/// References with their errors and all rows as an object.
#[must_use]
pub fn to_json(references: &[Reference]) -> Value {
    json!({
        "schema": "warplab-accuracy/1",
        "references": references.iter().map(reference_json).collect::<Vec<_>>(),
        "not_compared": ["HyFiSS", "PPT-GPU"],
    })
}

fn reference_json(reference: &Reference) -> Value {
    let columns = reference
        .columns
        .iter()
        .map(|column| json!({ "name": column.name, "about": column.about, "revision": column.revision }));
    let fits = reference.fits.iter().map(|fit| {
        json!({
            "values": fit.values,
            "judged_by": fit.judged_by,
            "mean_absolute_error": fit.error,
            "mean_absolute_error_left_out": fit.left_out,
            "source": fit.source,
        })
    });
    let rows = reference.rows.iter().map(|row| {
        json!({
            "program": row.program,
            "kernel": row.name,
            "cause": row.cause.map(|cause| &reference.causes[cause].cause),
            "reference": row.reference,
            "cycles": row.cycles,
        })
    });
    let mut value = json!({
        "id": reference.id,
        "title": reference.title,
        "against": if reference.against == Against::Silicon { "silicon" } else { "simulators" },
        "gpu": reference.gpu,
        "clock": reference.clock,
        "programs": reference.programs,
        "source": reference.source,
        "ours": reference.ours,
        "used_for_fitting": reference.fitted.word(),
        "fitted_on": reference.fitted_on,
        "columns": columns.collect::<Vec<_>>(),
        "fits": fits.collect::<Vec<_>>(),
        "all": figures_json(reference, &reference.overall()),
        "rows": rows.collect::<Vec<_>>(),
    });
    for by in Grouping::ALL {
        let groups =
            reference.groups(by).iter().map(|group| figures_json(reference, group)).collect::<Vec<_>>();
        value[format!("by_{}", by.word())] = json!(groups);
    }
    value
}

fn figures_json(reference: &Reference, group: &Group) -> Value {
    let figures = reference.columns.iter().zip(&group.figures).map(|(column, figures)| {
        json!({
            "column": column.name,
            "mean_absolute_error": figures.mean_error,
            "geometric_mean_ratio": figures.bias,
            "within_30_percent": figures.within,
        })
    });
    json!({ "name": group.name, "rows": group.rows, "figures": figures.collect::<Vec<_>>() })
}
