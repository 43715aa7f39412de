//! One report with every kind of content, built from any names and numbers, for all tests.
use serde_json::Value;

use report::{
    Axis, BarChart, Callout, Cell, Chart, Code, Column, Format, Histogram, Kpi, Language, Line, LineChart,
    Points, Report, ScatterChart, Section, Series, SourceListing, StackedChart, Table,
};

/// Names that try to break out of HTML, SVG, JSON, CSV and file names.
pub(crate) const HOSTILE: [&str; 16] = [
    "foo<int, 32>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "]]></style><svg onload=alert(1)>",
    "&amp; &lt; &#x3c;b&#x3e;",
    "a,b\"c\nd\re;=1+1",
    "../../../etc/passwd",
    "\0\u{1}\u{8}\u{1b}[31m\u{7f}\u{85}\u{fffe}\u{ffff}",
    "\u{202e}gnp.exe \u{2028}\u{2029}",
    "`<b>` **<i>** [x](javascript:alert(1)) [y](https://a\"onclick=\"b)",
    "矩阵乘法 مصفوفة 🚀👩‍👩‍👧",
    "",
    "con",
    "{{constructor.constructor('alert(1)')()}}",
];

/// Numbers at which arithmetic and formatting break first.
pub(crate) const ODD: [f64; 16] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    -0.0,
    0.0,
    1.0,
    -1.0,
    1e15,
    1e16 + 2.0,
    -3.5e-9,
    0.1,
    999_999.5,
];

/// All chart kinds and options over the given names (categories, series) and values (repeated as
/// often as needed).
pub(crate) fn charts(categories: &[String], series: &[String], values: &[f64]) -> Vec<Chart> {
    let mut supply = values.iter().copied().cycle();
    let mut take = |n: usize| -> Vec<f64> { (0..n).map(|_| supply.next().unwrap_or(f64::NAN)).collect() };
    let count = categories.len();
    let first = categories.first().cloned().unwrap_or_default();
    let axis = |format| Axis::new(&first, format).unit(&first);
    let mut charts = Vec::new();

    let mut bars = BarChart::new(&first, axis(Format::Ratio(2))).categories(&first, categories);
    let mut spread = BarChart::new(&first, axis(Format::Si).max(take(1)[0])).categories(&first, categories);
    let mut upright = StackedChart::new(&first, axis(Format::Integer)).categories(&first, categories);
    let groups: Vec<_> = categories.iter().enumerate().map(|(i, c)| (&categories[i / 2], c)).collect();
    let mut shares =
        StackedChart::new(&first, axis(Format::Percent(1))).grouped(&first, &first, groups.clone());
    let mut lying = StackedChart::new(&first, axis(Format::Bytes)).grouped(&first, &first, groups);
    let mut lines = LineChart::new(&first, axis(Format::Integer), axis(Format::Change(1)));
    let mut logarithmic =
        LineChart::new(&first, axis(Format::Integer).log2(), axis(Format::Float(1)).log10());
    let mut scatter =
        ScatterChart::new(&first, axis(Format::Integer).log10(), axis(Format::Integer).log10()).band(0.3);
    for (k, name) in series.iter().enumerate() {
        bars = bars.series(Series::new(name, take(count)));
        spread = spread.series(Series::new(name, take(count)).colour(k + 9));
        upright = upright.series(Series::new(name, take(count)).neutral());
        shares = shares.series(Series::new(name, take(count)));
        lying = lying.series(Series::new(name, take(count)));
        let points: Vec<_> = take(count).into_iter().zip(take(count)).collect();
        let band: Vec<_> = take(count).into_iter().zip(take(count)).collect();
        lines = lines.line(Line::new(name, points.clone()).band(band));
        scatter = scatter.points(Points::new(name, points.iter().map(|(x, y)| (name.as_str(), *x, *y))));
        logarithmic = logarithmic.line(Line::new(name, points));
    }
    charts.push(bars.baseline(take(1)[0]).geometric_mean().caption(&first).into());
    charts.push(spread.diverging(take(1)[0]).arithmetic_mean().alt(&first).into());
    charts.push(upright.ordered().into());
    charts.push(shares.shares().into());
    charts.push(lying.horizontal().height(take(1)[0]).into());
    charts.push(lines.reference(take(1)[0]).from_zero().into());
    charts.push(logarithmic.into());
    let many = LineChart::new(&first, axis(Format::Integer), axis(Format::Float(2)));
    let many = (0..8).fold(many, |chart, k| {
        let points: Vec<_> = take(count).into_iter().zip(take(count)).collect();
        chart.line(Line::new(format!("{first} {k}"), points))
    });
    charts.push(many.reference(take(1)[0]).into());
    charts.push(scatter.into());
    let histogram = Histogram::of(&first, axis(Format::Float(2)), take(count * 3), count);
    charts.push(histogram.mark(take(1)[0], &first).mark(take(1)[0], &first).into());
    let edges = (0..=count).map(|i| i as f64);
    charts.push(Histogram::new(&first, axis(Format::Integer), edges, take(count)).shares().into());
    charts
}

/// A table with a column of every kind.
pub(crate) fn table(names: &[String], values: &[f64]) -> Table {
    let name = names.first().cloned().unwrap_or_default();
    let formats = [
        Format::Integer,
        Format::Float(2),
        Format::Percent(1),
        Format::Change(1),
        Format::Ratio(2),
        Format::Si,
        Format::Bytes,
    ];
    let columns = formats.map(|format| Column::number(&name, format).unit(&name).help(&name).bar());
    let mut table = Table::new(&name, [Column::text(&name)].into_iter().chain(columns)).caption(&name);
    for (i, name) in names.iter().enumerate() {
        let cell =
            |k: usize| Cell::Number(values.get((i + k) % values.len().max(1)).copied().unwrap_or(f64::NAN));
        table.push([Cell::from(name)].into_iter().chain((0..formats.len()).map(cell)));
    }
    table
        .clone()
        .summary(table.rows().first().cloned().unwrap_or_else(|| vec![Cell::Missing; formats.len() + 1]))
}

/// A report with everything in it.
pub(crate) fn everything(names: &[String], values: &[f64]) -> Report {
    let name = names.first().cloned().unwrap_or_default();
    let other = names.last().cloned().unwrap_or_default();
    let mut listing = SourceListing::new(&name).caption(&other).column(&name, Format::Percent(1));
    for (i, text) in names.iter().cycle().take(names.len() * 3).enumerate() {
        let value = values.get(i).copied();
        listing.push(i as u32, text, value.filter(|_| i % 7 == 0));
    }
    let mut charts = charts(names, &names[..names.len().min(3)], values).into_iter();
    let (left, right) = (charts.next().expect("a bar chart"), charts.next().expect("another"));
    let mut section = Section::new(&other)
        .heading(&name)
        .text(&name)
        .list([&name, &other])
        .entry(&name, &other, &name, |entry| entry.text(&name).table(table(names, values)))
        .entry("entry", &name, &other, |entry| entry.kpis([Kpi::number(&other, values[0], Format::Si)]))
        .kpis([Kpi::new(&name, &other).note(&name), Kpi::number(&name, values[0], Format::Si)])
        .row(|row| row.chart(left).chart(right))
        .callout(Callout::warning(&name))
        .code(Code::new(&name, Language::Cuda).title(&other))
        .code(Code::new(&name, Language::Config))
        .details(&name, |details| details.table(table(names, values)).source(listing));
    for chart in charts {
        section = section.chart(chart);
    }
    Report::new(&name)
        .subtitle(&name)
        .fact(&name, &other)
        .section(Section::new(&name).text(names.join("\n")).table(table(names, values)))
        .section(section)
        .footer(&name)
}

/// Owned copies of string slices.
pub(crate) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Where two JSON documents first differ. serde_json reads numbers fast rather than to the last
/// bit, so equal numbers may be one unit in the last place apart after reading.
pub(crate) fn first_difference(a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            x.iter().zip(y).find_map(|(a, b)| first_difference(a, b))
        }
        (Value::Object(x), Value::Object(y)) if x.keys().eq(y.keys()) => {
            x.iter().find_map(|(key, a)| first_difference(a, &y[key]).map(|d| format!("{key}: {d}")))
        }
        (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
            let (x, y) = (x.as_f64().unwrap_or(f64::NAN), y.as_f64().unwrap_or(f64::NAN));
            let near = x == y || (x - y).abs() <= f64::EPSILON * x.abs();
            (!near).then(|| format!("{x} is not {y}"))
        }
        _ => (a != b).then(|| format!("{a} is not {b}")),
    }
}
