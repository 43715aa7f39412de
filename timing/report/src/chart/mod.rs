//! Charts as data: one file for each kind, and the enum of all kinds.
//!
//! A chart contains its numbers and their format. It yields an SVG, a table of its numbers, a description for
//! those who cannot see it, and notes on values that could not be drawn; page and file writer do the rest.

mod bar;
mod common;
mod frame;
mod heat;
mod histogram;
mod line;
mod mean;
mod scatter;
mod stacked;

pub use bar::BarChart;
pub use common::Series;
pub use heat::HeatChart;
pub use histogram::Histogram;
pub use line::{Line, LineChart};
pub use mean::{Mean, arithmetic_mean, geometric_mean};
pub use scatter::{Points, ScatterChart};
pub use stacked::StackedChart;

use crate::error::Result;
use crate::svg::Svg;
use crate::table::Table;
use common::Meta;

/// A chart of any kind.
#[derive(Clone, Debug)]
pub enum Chart {
    /// Grouped bars.
    Bar(BarChart),
    /// Stacked bars, upright or lying.
    Stacked(StackedChart),
    /// Lines over a numeric axis.
    Line(LineChart),
    /// Counts over bins.
    Histogram(Histogram),
    /// Points over two numeric axes.
    Scatter(ScatterChart),
    /// Coloured cells in rows and columns.
    Heat(HeatChart),
}

macro_rules! each {
    ($chart:expr, $inner:ident => $body:expr) => {
        match $chart {
            Chart::Bar($inner) => $body,
            Chart::Stacked($inner) => $body,
            Chart::Line($inner) => $body,
            Chart::Histogram($inner) => $body,
            Chart::Scatter($inner) => $body,
            Chart::Heat($inner) => $body,
        }
    };
}

impl Chart {
    /// The chart as a standalone SVG file of about `width` pixels, styles included; it follows the
    /// viewer's light or dark preference.
    #[must_use]
    pub fn to_svg(&self, width: f64) -> String {
        self.draw(width).standalone("chart", &self.meta().title, &self.description())
    }

    /// The chart in the light colours as a PNG file, two pixels per unit of an SVG of that width.
    ///
    /// # Errors
    /// A sentence that names what cannot be rendered.
    #[cfg(feature = "png")]
    pub fn to_png(&self, width: f64) -> std::result::Result<Vec<u8>, String> {
        crate::png::render(&self.draw(width).light("chart", &self.meta().title, &self.description()))
    }

    /// The chart's numbers as a table.
    #[must_use]
    pub fn data(&self) -> Table {
        let mut table = each!(self, chart => chart.data());
        table.title.clone_from(&self.meta().title);
        table
    }

    pub(crate) fn meta(&self) -> &Meta {
        each!(self, chart => &chart.meta)
    }

    pub(crate) fn check(&self) -> Result<()> {
        each!(self, chart => chart.check())
    }

    /// Draws the chart; widths without sense fall back to a common one.
    pub(crate) fn draw(&self, width: f64) -> Svg {
        let width = if width.is_finite() { width.clamp(240.0, 4000.0) } else { 960.0 };
        each!(self, chart => chart.draw(width))
    }

    /// What the chart shows, in words.
    pub(crate) fn description(&self) -> String {
        let meta = self.meta();
        if meta.alt.is_empty() { each!(self, chart => chart.describe()) } else { meta.alt.clone() }
    }

    /// Notes on values that could not be drawn as given; empty if there are none.
    pub(crate) fn notes(&self) -> Vec<String> {
        each!(self, chart => chart.notes())
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Bar(_) => "bar",
            Self::Stacked(_) => "stacked",
            Self::Line(_) => "line",
            Self::Histogram(_) => "histogram",
            Self::Scatter(_) => "scatter",
            Self::Heat(_) => "heat",
        }
    }
}

/// The charts without those whose numbers a later one shows again, as two studies of the same thing do.
///
/// ```
/// use report::{Axis, BarChart, Chart, Format, Series, distinct};
/// let chart = |title, value| -> Chart {
///     let axis = Axis::new("Share", Format::Percent(1));
///     BarChart::new(title, axis).categories("Kernel", ["scan"]).series(Series::new("warp", [value])).into()
/// };
/// let charts = [chart("a", 0.5), chart("b", 0.2), chart("c", 0.5)];
/// let titles: Vec<String> = distinct(&charts).into_iter().map(|chart| chart.data().title().to_owned()).collect();
/// assert_eq!(titles, ["b", "c"]);
/// ```
pub fn distinct<'a>(charts: impl IntoIterator<Item = &'a Chart>) -> Vec<&'a Chart> {
    let all: Vec<(&Chart, String)> =
        charts.into_iter().map(|chart| (chart, each!(chart, inner => inner.data()).to_csv())).collect();
    let is_repeated = |at: usize| all[at + 1..].iter().any(|(_, later)| *later == all[at].1);
    (0..all.len()).filter(|at| !is_repeated(*at)).map(|at| all[at].0).collect()
}

macro_rules! chart_from {
    ($($kind:ident: $type:ty),*) => {$(
        impl From<$type> for Chart {
            fn from(chart: $type) -> Self {
                Self::$kind(chart)
            }
        }
    )*};
}
chart_from!(
    Bar: BarChart, Stacked: StackedChart, Line: LineChart, Histogram: Histogram, Scatter: ScatterChart, Heat: HeatChart
);
