//! Tables, charts and definitions of the study `redundancy`.

use super::{INFO, Tally};
use crate::studies::{Explain, StudyResult};
use report::{Axis, BarChart, Cell, Column, Format, Series, StackedChart, Table, arithmetic_mean};
use trace_format::semantics::Geometry;

/// The definitions, as `--explain` prints them.
pub const EXPLAIN: Explain = Explain {
    text: &[
        "An instance is the k-th execution of one program counter; the k-th execution in one warp corresponds to \
         the k-th in every other warp of the launch. Every share is a fraction of all dynamic warp instructions, \
         diverged ones included. An average over traces is the arithmetic mean of their shares, as in the paper.",
        "Operands are the source registers in every launched lane, predicates, and for a conditional branch, call, \
         return or exit its guard. Immediates and constants are the same in all warps of a launch. A special \
         register is its own operand. Loads must also have returned the same values. Values are compared as \
         32-bit words, by 128-bit digests.",
        "Warp level: every lane of the warp has the same operands (warps with a single thread are never \
         redundant). Block level: every warp of the block executes the instance, with the same operands lane by \
         lane. Grid level: every warp of the grid does. Blocks and grids of one warp are never redundant. A \
         partial last warp is compared in the lanes that it has.",
        "Never redundant at any level: diverged instructions, i.e. those that do not take effect in every \
         launched lane of their warp, because of control flow or of a false guard (a conditional transfer of \
         control counts as taking effect in all lanes on its path); instructions that operate on no value \
         (unconditional transfers, barriers, fences); atomics, which executed once would do something else.",
        "The shape of a block-redundant instance is that of its operands: uniform when every lane of every warp \
         has the same value in each; affine when each is base + lane x stride (modulo 2^32, or modulo 2^64 for \
         a register pair) and not all are uniform; unstructured otherwise. A predicate that is not the same in \
         all lanes is unstructured. A load is classified by its address, as the paper does, and not by what it \
         returns.",
        "Memory is bounded: when a block has more than 2^20 instances open because its warps are that far apart, \
         or more than 2^22 instances of the first block would have to be remembered for the grid level, those \
         are given up, counted as not redundant, and reported.",
    ],
    columns: &[
        ("trace", "name of the trace"),
        ("kernel", "name of the kernel; its launches with the same block shape are one row"),
        ("block", "threads of a block along x, y, z"),
        ("block_dimensions", "1 when y = z = 1, 2 when z = 1, otherwise 3"),
        ("launches", "launches in this row"),
        ("blocks", "thread blocks in this row"),
        ("warp_instructions", "dynamic warp instructions: the denominator of every share"),
        ("diverged_instructions", "those that did not take effect in every launched lane"),
        ("not_counted_instructions", "those without operands, and atomics; none of the diverged"),
        ("warp_redundant_instructions", "redundant at warp level (Figure 1, Warp)"),
        ("block_redundant_instructions", "redundant at thread-block level (Figure 1, TB)"),
        ("grid_redundant_instructions", "redundant at grid level (Figure 1, Grid)"),
        ("block_uniform_instructions", "block-redundant with uniform operands (Figure 2)"),
        ("block_affine_instructions", "block-redundant with affine operands (Figure 2)"),
        ("block_unstructured_instructions", "block-redundant with unstructured operands (Figure 2)"),
        ("given_up_instructions", "perhaps block-redundant, given up to bound memory"),
        ("grid_given_up_instructions", "perhaps grid-redundant, given up to bound memory"),
        ("..._share", "the same divided by warp_instructions"),
    ],
};

/// One row of the result: a kernel of a trace at one block shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelRow {
    /// Name of the trace.
    pub trace: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Launches in the row.
    pub launches: u64,
    /// Blocks of those launches.
    pub blocks: u64,
    /// Their instructions.
    pub tally: Tally,
}

impl KernelRow {
    /// Adds a launch to its row.
    pub fn add(
        rows: &mut Vec<KernelRow>,
        trace: &str,
        kernel: &str,
        geometry: Geometry,
        blocks: u64,
        tally: &Tally,
    ) {
        let same =
            |row: &KernelRow| row.trace == trace && row.kernel == kernel && row.block == geometry.block;
        let at = rows.iter().position(same).unwrap_or_else(|| {
            rows.push(KernelRow {
                trace: trace.to_owned(),
                kernel: kernel.to_owned(),
                block: geometry.block,
                launches: 0,
                blocks: 0,
                tally: Tally::default(),
            });
            rows.len() - 1
        });
        rows[at].launches += 1;
        rows[at].blocks += blocks;
        rows[at].tally.add(tally);
    }

    fn dimensions(&self) -> u8 {
        match self.block {
            [_, 1, 1] => 1,
            [_, _, 1] => 2,
            _ => 3,
        }
    }

    fn block_text(&self) -> String {
        let [x, y, z] = self.block;
        match self.dimensions() {
            1 => format!("{x}"),
            2 => format!("{x}x{y}"),
            _ => format!("{x}x{y}x{z}"),
        }
    }
}

/// Counts with their names, in the order of the columns.
fn counts(tally: &Tally) -> [(&'static str, u64); 10] {
    let [uniform, affine, unstructured] = tally.block_redundant;
    [
        ("diverged", tally.diverged),
        ("not_counted", tally.not_counted),
        ("warp_redundant", tally.warp_redundant),
        ("block_redundant", tally.block_redundant_total()),
        ("grid_redundant", tally.grid_redundant),
        ("block_uniform", uniform),
        ("block_affine", affine),
        ("block_unstructured", unstructured),
        ("given_up", tally.given_up),
        ("grid_given_up", tally.grid_given_up),
    ]
}

fn share(count: u64, tally: &Tally) -> f64 {
    if tally.warp_instructions == 0 { f64::NAN } else { count as f64 / tally.warp_instructions as f64 }
}

/// Sums by trace, in the order of first appearance.
fn traces<'a>(rows: impl Iterator<Item = &'a KernelRow>) -> Vec<(&'a str, Tally)> {
    let mut sums: Vec<(&str, Tally)> = Vec::new();
    for row in rows {
        match sums.iter_mut().find(|(trace, _)| *trace == row.trace) {
            Some((_, sum)) => sum.add(&row.tally),
            None => sums.push((&row.trace, row.tally)),
        }
    }
    sums
}

/// Sums by number of block dimensions and trace: what Figure 2 has a bar for.
fn by_dimension(rows: &[KernelRow]) -> Vec<(u8, Vec<(&str, Tally)>)> {
    let of = |dimensions| (dimensions, traces(rows.iter().filter(|row| row.dimensions() == dimensions)));
    [1, 2, 3].map(of).into_iter().filter(|(_, sums)| !sums.is_empty()).collect()
}

/// Everything that the study shows.
pub fn result(rows: &[KernelRow]) -> StudyResult {
    let sums = traces(rows.iter());
    let groups = by_dimension(rows);
    StudyResult {
        tables: vec![levels_table(&sums), taxonomy_table(&groups)],
        charts: vec![levels_chart(&sums).into(), taxonomy_chart(&groups).into()],
        notes: given_up_notes(&sums),
        data: vec![
            ("kernels", kernels_data(rows)),
            ("traces", traces_data(&sums)),
            ("means", means_data(&sums, &groups)),
        ],
        ..StudyResult::new(&INFO)
    }
}

/// Picks a count of a tally.
type Count = fn(&Tally) -> u64;

const LEVELS: [(&str, Count); 3] = [
    ("Grid", |t| t.grid_redundant),
    ("Thread block", Tally::block_redundant_total),
    ("Warp", |t| t.warp_redundant),
];

const SHAPES: [&str; 3] = ["Uniform", "Affine", "Unstructured"];

fn mean(sums: &[(&str, Tally)], count: impl Fn(&Tally) -> u64) -> f64 {
    arithmetic_mean(sums.iter().map(|(_, tally)| share(count(tally), tally)))
}

fn levels_table(sums: &[(&str, Tally)]) -> Table {
    let columns = [
        Column::text("Trace"),
        Column::integer("Warp instructions"),
        Column::percent("Grid", 1).help("Every warp of the grid executes it with the same operands").bar(),
        Column::percent("Thread block", 1)
            .help("Every warp of the block executes it with the same operands")
            .bar(),
        Column::percent("Warp", 1).help("Every lane of the warp has the same operands").bar(),
        Column::percent("Diverged", 1).help("Not in effect in every launched lane: never redundant"),
        Column::percent("No operands", 1).help("Barriers, unconditional branches, atomics: never redundant"),
    ];
    let mut table =
        Table::new("Redundant warp instructions by level", columns).id("redundancy-levels").caption(
            "Shares of all dynamic warp instructions. A level is not contained in another: a uniform operand \
                  that differs between warps is redundant in the warp only.",
        );
    for (trace, tally) in sums {
        let shares = LEVELS.map(|(_, count)| share(count(tally), tally));
        let [grid, block, warp] = shares.map(Cell::from);
        let others = [share(tally.diverged, tally), share(tally.not_counted, tally)].map(Cell::from);
        let [diverged, none] = others;
        table.push([Cell::from(*trace), tally.warp_instructions.into(), grid, block, warp, diverged, none]);
    }
    let [grid, block, warp] = LEVELS.map(|(_, count)| Cell::from(mean(sums, count)));
    let diverged = mean(sums, |t| t.diverged).into();
    let none = mean(sums, |t| t.not_counted).into();
    table.summary([Cell::from("Arithmetic mean"), Cell::Missing, grid, block, warp, diverged, none])
}

fn taxonomy_table(groups: &[(u8, Vec<(&str, Tally)>)]) -> Table {
    let columns = [
        Column::text("Blocks"),
        Column::text("Trace"),
        Column::percent("Uniform", 1).bar(),
        Column::percent("Affine", 1).bar(),
        Column::percent("Unstructured", 1).bar(),
        Column::percent("Block-redundant", 1),
    ];
    let mut table = Table::new("Block-redundant instructions by the shape of their operands", columns)
        .id("redundancy-taxonomy")
        .caption("Shares of all dynamic warp instructions of the trace's kernels with blocks of that many dimensions.");
    for (dimensions, sums) in groups {
        for (trace, tally) in sums {
            let [uniform, affine, unstructured] = tally.block_redundant.map(|n| Cell::from(share(n, tally)));
            let all = share(tally.block_redundant_total(), tally).into();
            let blocks = Cell::from(format!("{dimensions}D"));
            table.push([blocks, Cell::from(*trace), uniform, affine, unstructured, all]);
        }
    }
    for (dimensions, sums) in groups {
        let [uniform, affine, unstructured] =
            [0, 1, 2].map(|i| Cell::from(mean(sums, |t| t.block_redundant[i])));
        let all = mean(sums, Tally::block_redundant_total).into();
        let blocks = Cell::from(format!("{dimensions}D"));
        table = table.summary([blocks, Cell::from("Arithmetic mean"), uniform, affine, unstructured, all]);
    }
    table
}

fn levels_chart(sums: &[(&str, Tally)]) -> BarChart {
    let axis = Axis::new("Share of warp instructions", Format::Percent(1)).min(0.0);
    let chart = BarChart::new("Redundant warp instructions by level", axis)
        .id("redundancy-by-level")
        .caption("After DARSIE, Figure 1.")
        .categories("Trace", sums.iter().map(|(trace, _)| *trace));
    let with_level = |chart: BarChart, (name, count): (&str, Count)| {
        chart.series(Series::new(name, sums.iter().map(|(_, tally)| share(count(tally), tally))))
    };
    let chart = LEVELS.into_iter().fold(chart, with_level);
    if sums.len() > 1 { chart.arithmetic_mean() } else { chart }
}

fn taxonomy_chart(groups: &[(u8, Vec<(&str, Tally)>)]) -> StackedChart {
    let axis = Axis::new("Share of warp instructions", Format::Percent(1)).min(0.0);
    let mut bars: Vec<(String, &str, [f64; 3])> = Vec::new();
    for (dimensions, sums) in groups {
        let group = format!("{dimensions}D blocks");
        for (trace, tally) in sums {
            bars.push((group.clone(), trace, tally.block_redundant.map(|n| share(n, tally))));
        }
        if sums.len() > 1 {
            bars.push((group, "mean", [0, 1, 2].map(|i| mean(sums, |t| t.block_redundant[i]))));
        }
    }
    let chart = StackedChart::new("What thread-block redundancy is made of", axis)
        .id("redundancy-by-shape")
        .caption("After DARSIE, Figure 2: block-redundant warp instructions by the shape of their operands.")
        .grouped("Blocks", "Trace", bars.iter().map(|(group, trace, _)| (group.clone(), *trace)));
    let with_shape = |chart: StackedChart, (i, name): (usize, &str)| {
        chart.series(Series::new(name, bars.iter().map(|(_, _, shares)| shares[i])))
    };
    SHAPES.into_iter().enumerate().fold(chart, with_shape)
}

fn given_up_notes(sums: &[(&str, Tally)]) -> Vec<String> {
    let note = |(trace, tally): &(&str, Tally)| {
        let lost = tally.given_up + tally.grid_given_up;
        (lost > 0).then(|| {
            format!(
                "{trace}: {} instructions were not compared within their block and {} not across blocks, to bound \
                 memory; the shares are lower bounds.",
                tally.given_up, tally.grid_given_up
            )
        })
    };
    sums.iter().filter_map(note).collect()
}

fn count_columns() -> Vec<Column> {
    let names = counts(&Tally::default()).map(|(name, _)| name);
    let instructions =
        |name: &&str| Column::integer(format!("{name}_instructions")).unit("warp instructions");
    let share = |name: &&str| Column::percent(format!("{name}_share"), 2);
    names.iter().map(instructions).chain(names.iter().map(share)).collect()
}

fn count_cells(tally: &Tally) -> Vec<Cell> {
    let counts = counts(tally);
    let shares = counts.iter().map(|&(_, n)| Cell::from(share(n, tally)));
    counts.iter().map(|&(_, n)| Cell::from(n)).chain(shares).collect()
}

fn kernels_data(rows: &[KernelRow]) -> Table {
    let columns = [
        Column::text("trace"),
        Column::text("kernel"),
        Column::text("block"),
        Column::integer("block_dimensions"),
        Column::integer("launches"),
        Column::integer("blocks"),
        Column::integer("warp_instructions"),
    ];
    let mut table = Table::new("Redundancy by kernel", columns.into_iter().chain(count_columns()));
    for row in rows {
        let head = report::cells![
            &row.trace,
            &row.kernel,
            row.block_text(),
            row.dimensions(),
            row.launches,
            row.blocks,
            row.tally.warp_instructions,
        ];
        table.push(head.into_iter().chain(count_cells(&row.tally)));
    }
    table
}

fn traces_data(sums: &[(&str, Tally)]) -> Table {
    let columns = [Column::text("trace"), Column::integer("warp_instructions")];
    let mut table = Table::new("Redundancy by trace", columns.into_iter().chain(count_columns()));
    for (trace, tally) in sums {
        let head = report::cells![*trace, tally.warp_instructions];
        table.push(head.into_iter().chain(count_cells(tally)));
    }
    table
}

/// Arithmetic means of the traces' shares: over all, and by block dimensions.
fn means_data(sums: &[(&str, Tally)], groups: &[(u8, Vec<(&str, Tally)>)]) -> Table {
    let names = counts(&Tally::default()).map(|(name, _)| name);
    let columns = [Column::text("over"), Column::integer("traces")];
    let shares = names.iter().map(|name| Column::percent(format!("{name}_share"), 2));
    let mut table = Table::new("Mean redundancy", columns.into_iter().chain(shares));
    let mut push = |over: String, sums: &[(&str, Tally)]| {
        let means = (0..names.len()).map(|i| Cell::from(mean(sums, |tally| counts(tally)[i].1)));
        table.push([Cell::from(over), sums.len().into()].into_iter().chain(means));
    };
    push("all".into(), sums);
    for (dimensions, sums) in groups {
        push(format!("{dimensions}D blocks"), sums);
    }
    table
}
