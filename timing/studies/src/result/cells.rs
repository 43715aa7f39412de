//! Columns and cells of the counts and shares of a study.

use crate::define::{Share, Shown, Study};
use crate::rows::KernelCounts;
use report::{Cell, Column};
use warplab_host::symbols::Shortened;

/// Counts of a trace with its name.
pub(super) type Sum<'a> = (&'a str, Vec<u64>);

/// How tables and charts show the kernels.
pub(super) fn shown_names(rows: &[KernelCounts]) -> Shortened {
    Shortened::of(rows.iter().map(|row| row.kernel.name.as_str()))
}

/// The mean of a share over traces.
pub(super) fn mean(study: &Study, share: &Share, sums: &[Sum<'_>]) -> f64 {
    study.mean.of_shares(sums.iter().map(|(_, sum)| share.value(sum)))
}

/// The column of a share under its heading.
pub(super) fn column(study: &Study, share: &Share) -> Column {
    let text =
        if share.meaning.is_empty() { share.formula(study.counters) } else { share.meaning.to_owned() };
    match share.shown {
        Shown::Percent => Column::percent(share.name, 1).bar(),
        Shown::Number(unit) if share.is_whole() => Column::integer(share.name).unit(unit),
        Shown::Number(unit) => Column::float(share.name, 2).unit(unit),
    }
    .help(text)
}

pub(super) fn shown(study: &Study) -> impl Iterator<Item = &'static Share> {
    study.shares.iter().filter(|share| share.in_table)
}

/// Columns of files: all counts, then all shares.
pub(super) fn data_columns(study: &Study) -> Vec<Column> {
    let counts =
        study.counters.iter().map(|c| Column::integer(c.key).key(c.key).unit(c.unit).help(c.meaning));
    let shares = study.shares.iter().map(|share| {
        let help = format!("{}; {}", share.formula(study.counters), share.meaning);
        match share.shown {
            Shown::Percent => Column::percent(share.key, 2),
            Shown::Number(unit) if share.is_whole() => Column::integer(share.key).unit(unit),
            Shown::Number(unit) => Column::float(share.key, 4).unit(unit),
        }
        .key(share.key)
        .help(help.trim_end_matches("; "))
    });
    counts.chain(shares).collect()
}

pub(super) fn data_cells(study: &Study, counts: &[u64]) -> Vec<Cell> {
    let whole = |&n: &u64| if n == u64::MAX { Cell::Missing } else { Cell::from(n) };
    let shares = study.shares.iter().map(|share| share.cell(counts));
    counts.iter().map(whole).chain(shares).collect()
}
