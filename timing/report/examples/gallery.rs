//! Renders every kind of chart, table and block with synthetic data, to look at and to compare.
//!
//! `cargo run -p warplab-report --example gallery -- DIR`; the default directory is `target/gallery`.
//! None of the numbers was measured: they come from formulas and a small generator.

use report::{
    Axis, BarChart, Callout, Code, Column, Format, Histogram, Kpi, Language, Line, LineChart, Points, Report,
    ScatterChart, Section, Series, SourceListing, StackedChart, Table, Tone, cells,
};
use test_kit::Random;

const KERNELS: [&str; 13] = [
    "vectoradd",
    "matmul_naive",
    "matmul_tiled",
    "hotspot",
    "backprop_1",
    "backprop_2",
    "pathfinder",
    "bfs",
    "gaussian",
    "dct8x8",
    "reduction",
    "scan",
    "histogram",
];

/// Repeatable numbers between 0 and 1.
struct Synthetic(Random);

impl Synthetic {
    fn next(&mut self) -> f64 {
        (self.0.bits() >> 40) as f64 / f64::from(1u32 << 24)
    }

    fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.next()
    }
}

fn main() -> Result<(), report::Error> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "target/gallery".to_owned());
    let report = Report::new("Report gallery")
        .subtitle("Every kind of chart, table and block. **All data on this page are synthetic**; nothing was measured.")
        .fact("Data", "synthetic, seed 7")
        .fact("Configuration", "none")
        .fact("Kernels", "13 names without programs")
        .section(techniques())
        .section(shares())
        .section(sweeps())
        .section(tables())
        .section(source())
        .section(edge_cases())
        .footer("Synthetic data throughout. Made by `cargo run -p warplab-report --example gallery`.");
    let written = report.write(dir)?;
    println!("{}", written.html.display());
    Ok(())
}

fn speedups(seed: u64, lo: f64, hi: f64) -> Vec<f64> {
    let mut random = Synthetic(Random::new(seed));
    KERNELS.iter().map(|_| random.between(lo, hi)).collect()
}

fn techniques() -> Section {
    let axis = || Axis::new("Speedup over baseline (synthetic)", Format::Ratio(2));
    let chart = BarChart::new("Speedup by technique", axis())
        .caption("Baseline is `gto` without any technique. Taller is better.")
        .categories("Kernel", KERNELS)
        .series(Series::new("bow", speedups(1, 0.98, 1.14)))
        .series(Series::new("corf", speedups(2, 0.99, 1.19)))
        .series(Series::new("bow,corf", speedups(3, 1.0, 1.3)))
        .baseline(1.0)
        .geometric_mean();
    let diverging = BarChart::new("The same, from the baseline", axis())
        .caption("Bars grow from 1.0, so that small changes show.")
        .categories("Kernel", KERNELS)
        .series(Series::new("bow", speedups(1, 0.93, 1.14)))
        .diverging(1.0)
        .geometric_mean();
    let energy = BarChart::new("Register file energy", Axis::new("Energy", Format::Si).unit("J"))
        .categories("Kernel", &KERNELS[..4])
        .series(Series::new("baseline", [3.1e-5, 8.2e-4, 7.7e-4, 2.9e-4]).neutral())
        .series(Series::new("bow,corf", [2.2e-5, 5.0e-4, 4.4e-4, 2.1e-4]).colour(2));
    Section::new("Techniques")
        .text(
            "Tiles first: what a reader should take away. Charts follow, each with its data one click away.",
        )
        .kpis([
            Kpi::number("bow", 1.061, Format::Ratio(2)).note("geometric mean of 13 kernels"),
            Kpi::number("bow,corf", 1.148, Format::Ratio(2))
                .note("geometric mean of 13 kernels")
                .tone(Tone::Good),
            Kpi::number("Register file energy", -0.372, Format::Change(1))
                .note("against the baseline")
                .tone(Tone::Good),
            Kpi::number("Bank conflicts", 0.043, Format::Change(1))
                .note("cycles lost, `titanx-pascal`")
                .tone(Tone::Bad),
            Kpi::number("Replayed", 48_213_004.0, Format::Si).note("warp instructions"),
        ])
        .callout(Callout::finding(
            "Synthetic example of a finding: **both together** gain more than either alone.",
        ))
        .chart(chart)
        .row(|row| row.chart(diverging).chart(energy))
}

fn shares() -> Section {
    const CAUSES: [&str; 8] = [
        "issued",
        "scoreboard",
        "memory",
        "operand collector",
        "pipeline busy",
        "barrier",
        "fetch",
        "no warp",
    ];
    let mut random = Synthetic(Random::new(7));
    let configurations = ["baseline", "bow", "corf"];
    let groups: Vec<_> = KERNELS[..5].iter().flat_map(|k| configurations.map(|c| (*k, c))).collect();
    let mut stack = StackedChart::new("Where cycles go", Axis::new("Scheduler slots", Format::Si))
        .caption("CPI stack per kernel and configuration.")
        .grouped("Kernel", "Configuration", groups.clone())
        .shares();
    let mut lying = StackedChart::new("Energy by component", Axis::new("Energy", Format::Si).unit("J"))
        .categories("Kernel", KERNELS)
        .horizontal();
    for (i, cause) in CAUSES.iter().enumerate() {
        let scale = 3e6 / (1.0 + i as f64 * 0.6);
        stack = stack.series(Series::new(*cause, groups.iter().map(|_| random.between(0.3, 1.0) * scale)));
    }
    for component in ["register file", "operand collector", "execution", "L1 and shared", "L2", "DRAM"] {
        lying = lying.series(Series::new(component, KERNELS.map(|_| random.between(1e-5, 2e-4))));
    }
    let mut width = StackedChart::new("Operand width", Axis::new("Operands", Format::Integer))
        .caption("Classes with an order get a ramp instead of categories.")
        .categories("Kernel", &KERNELS[..7])
        .shares()
        .horizontal()
        .ordered();
    for bits in ["≤ 8 bit", "≤ 16 bit", "≤ 24 bit", "≤ 32 bit"] {
        width = width
            .series(Series::new(bits, KERNELS[..7].iter().map(|_| random.between(100.0, 9000.0).round())));
    }
    let mut upright = StackedChart::new("Redundancy", Axis::new("Warp instructions", Format::Percent(1)))
        .categories("Kernel", &KERNELS[..9])
        .height(208.0);
    for (level, hi) in [("warp", 0.22), ("block", 0.3), ("grid", 0.2)] {
        upright = upright.series(Series::new(level, KERNELS[..9].iter().map(|_| random.between(0.03, hi))));
    }
    Section::new("Shares and stacks").chart(stack).chart(lying).row(|row| row.chart(width).chart(upright))
}

fn sweeps() -> Section {
    let window = [2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
    let mut sweep = LineChart::new(
        "Bypassed reads by window",
        Axis::new("Window", Format::Integer).unit("instructions").log2(),
        Axis::new("Bypassed reads", Format::Percent(1)),
    )
    .from_zero();
    for (i, kernel) in KERNELS[..5].iter().enumerate() {
        let top = 0.35 + 0.09 * i as f64;
        sweep = sweep.line(Line::new(*kernel, window.map(|w| (w, top * (1.0 - (-w / 3.5_f64).exp())))));
    }
    let mut random = Synthetic(Random::new(11));
    let mut level = 0.5;
    let time: Vec<_> = (0..600)
        .map(|i| {
            level = (level + random.between(-0.05, 0.05)).clamp(0.15, 0.9);
            (f64::from(i) * 500.0, level)
        })
        .collect();
    let band: Vec<_> = time.iter().map(|p| (p.1 * 0.7, (p.1 * 1.25).min(1.0))).collect();
    let live = LineChart::new(
        "Live registers over time",
        Axis::new("Time", Format::Integer).unit("cycles"),
        Axis::new("Live share of allocated registers", Format::Percent(1)).min(0.0).max(1.0),
    )
    .caption("Line: average over warps. Band: minimum to maximum.")
    .line(Line::new("hotspot", time).band(band));
    let normal = (0..4000).map(|_| (0..8).map(|_| random.next()).sum::<f64>() * 60.0);
    let histogram = Histogram::of(
        "Reuse distance",
        Axis::new("Distance", Format::Float(0)).unit("instructions"),
        normal,
        36,
    )
    .mark(240.0, "median")
    .mark(331.0, "p95");
    let lanes: Vec<f64> = (1..=32).map(|l| if l == 32 { 61_000.0 } else { 9000.0 / f64::from(l) }).collect();
    let active = Histogram::new(
        "Active lanes",
        Axis::new("Active lanes per warp instruction", Format::Integer),
        (0..=32).map(|e| f64::from(e) + 0.5),
        lanes,
    )
    .shares();
    let cycles = |spread: f64, random: &mut Synthetic| {
        let points = KERNELS.iter().enumerate().map(|(i, kernel)| {
            let hardware = 2000.0 * 1.7_f64.powi(i as i32);
            (*kernel, hardware, hardware * (1.0 + spread * (random.next() - 0.4)))
        });
        points.collect::<Vec<_>>()
    };
    let axis = |label: &str| Axis::new(label, Format::Integer).unit("cycles").log10();
    let scatter = ScatterChart::new("Model and hardware", axis("Hardware"), axis("Model"))
        .caption("The band is ±30 %; kernels beyond it are named.")
        .points(Points::new("before", cycles(1.9, &mut random)).neutral())
        .points(Points::new("now", cycles(1.1, &mut random)))
        .band(0.3);
    Section::new("Sweeps and distributions")
        .row(|row| row.chart(sweep).chart(live))
        .row(|row| row.chart(histogram).chart(active))
        .chart(scatter)
}

fn tables() -> Section {
    let mut random = Synthetic(Random::new(21));
    let columns = [
        Column::text("Kernel"),
        Column::integer("Cycles").help("Cycles from launch to the last retired warp, synthetic"),
        Column::float("IPC", 2).unit("per SM"),
        Column::ratio("Speedup", 2),
        Column::percent("Bypassed", 1).bar(),
        Column::number("Energy", Format::Change(1)),
    ];
    let mut table = Table::new("Counters", columns.clone())
        .caption("Click a heading to sort; bars compare within a column.");
    let mut long = Table::new("All counters of many kernels", columns);
    for i in 0..53 {
        let name = KERNELS[i % KERNELS.len()];
        let row = cells![
            if i < KERNELS.len() { name.to_owned() } else { format!("{name}<{i}>") },
            random.between(8e4, 9e6) as u64,
            if i == 7 { f64::NAN } else { random.between(0.3, 3.6) },
            random.between(0.95, 1.3),
            random.between(0.0, 0.7),
            random.between(-0.4, 0.05),
        ];
        if i < KERNELS.len() {
            table.push(row.clone());
        }
        long.push(row);
    }
    let table =
        table.summary(cells!["Geo. mean", Option::<u64>::None, 1.62, 1.11, Option::<f64>::None, -0.21]);
    Section::new("Tables and text")
        .table(table)
        .details("A long table, with a filter", |details| details.table(long))
        .callout(Callout::note("Links such as [an address](https://example.org/) and `code` are marked up."))
        .callout(Callout::warning("Numbers of different configurations are not comparable."))
        .code(
            Code::new(
                "[sm]\nschedulers = 4          # per SM\npolicy = \"gto\"\nwindow = 3\n",
                Language::Config,
            )
            .title("config.toml"),
        )
}

fn source() -> Section {
    let text = include_str!("gallery.cu");
    let mut random = Synthetic(Random::new(5));
    let mut listing = SourceListing::new("Hot spots of matmul_tiled")
        .caption("Shares of all cycles by source line. Lines without samples fold away.")
        .column("Cycles", Format::Percent(1))
        .column("Reads", Format::Si);
    for (i, line) in text.lines().enumerate() {
        let hot = line.contains('+') || line.contains("__syncthreads") || line.contains("load");
        let share = if line.contains("acc +=") { 0.41 } else { random.between(0.0, 0.08) };
        let values = if hot { vec![share, share * 4e6] } else { Vec::new() };
        listing.push(i as u32 + 1, line, values);
    }
    Section::new("Source hot spots").source(listing)
}

fn edge_cases() -> Section {
    let axis = || Axis::new("Change", Format::Change(1));
    let many: Vec<_> = (0..40).map(|i| format!("kernel_{i}<float, {}>", 1 << (i % 7))).collect();
    let mut random = Synthetic(Random::new(3));
    let forty = BarChart::new("Forty kernels", Axis::new("Speedup", Format::Ratio(2)))
        .categories("Kernel", many.clone())
        .series(Series::new("bow", many.iter().map(|_| random.between(0.9, 1.3))))
        .series(Series::new("corf", many.iter().map(|_| random.between(0.9, 1.3))))
        .baseline(1.0)
        .geometric_mean();
    let negative = BarChart::new("Negative and missing values", axis())
        .categories("Kernel", ["scan", "bfs", "dct8x8", "sad"])
        .series(Series::new("energy", [-0.31, 0.12, f64::NAN, -0.07]))
        .series(Series::new("cycles", [0.02, -0.11, 0.2, f64::INFINITY]));
    let one = BarChart::new("One kernel", Axis::new("IPC", Format::Float(2)))
        .categories("Kernel", ["void cutlass::Kernel<cutlass::gemm::kernel::Gemm<float, 128, 64>>(Params)"])
        .series(Series::new("baseline", [1.73]));
    let empty = LineChart::new(
        "No data",
        Axis::new("Window", Format::Integer),
        Axis::new("Share", Format::Percent(0)),
    );
    let cut = BarChart::new("One value beyond the axis", Axis::new("Speedup", Format::Ratio(1)).max(2.0))
        .categories("Kernel", &KERNELS[..6])
        .series(Series::new("limit", [1.1, 1.3, 7.4, 1.2, 1.0, 1.5]))
        .baseline(1.0);
    Section::new("Edge cases")
        .text("Crowded, empty, negative, missing and cut-off data.")
        .chart(forty)
        .row(|row| row.chart(negative).chart(one))
        .row(|row| row.chart(empty).chart(cut))
}
