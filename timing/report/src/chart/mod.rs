//! Charts as data: the parts common to all kinds, and the enum of all kinds.
//!
//! A chart knows its numbers and how they read. It gives an SVG, a table of its numbers, a
//! description for those who cannot see it, and notes on what could not be drawn; page and file
//! writer do the rest.

mod bar;
mod frame;
mod histogram;
mod line;
mod mean;
mod stacked;

pub use bar::BarChart;
pub use histogram::Histogram;
pub use line::{Line, LineChart};
pub use mean::{arithmetic_mean, geometric_mean};
pub use stacked::StackedChart;

use crate::error::Result;
use crate::palette::Paint;
use crate::svg::Svg;
use crate::table::Table;

/// What every chart has besides its data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meta {
    pub(crate) title: String,
    pub(crate) id: Option<String>,
    pub(crate) caption: String,
    pub(crate) alt: String,
    pub(crate) height: Option<f64>,
}

impl Meta {
    fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Height of the plotting area in pixels.
    fn height(&self, default: f64) -> f64 {
        self.height.map_or(default, |h| if h.is_finite() { h.clamp(60.0, 2000.0) } else { default })
    }
}

/// The builder methods that every chart kind shares.
macro_rules! meta_builders {
    () => {
        /// Fixes the anchor and file name; the default is made of the title.
        #[must_use]
        pub fn id(mut self, id: impl Into<String>) -> Self {
            self.meta.id = Some(id.into());
            self
        }

        /// A sentence or two under the title, with inline markup.
        #[must_use]
        pub fn caption(mut self, caption: impl Into<String>) -> Self {
            self.meta.caption = caption.into();
            self
        }

        /// Replaces the generated description for screen readers.
        #[must_use]
        pub fn alt(mut self, alt: impl Into<String>) -> Self {
            self.meta.alt = alt.into();
            self
        }

        /// Height of the plotting area in pixels.
        #[must_use]
        pub fn height(mut self, pixels: f64) -> Self {
            self.meta.height = Some(pixels);
            self
        }
    };
}
use meta_builders;

/// A named list of values, one per category; NaN stands for a missing value.
#[derive(Clone, Debug)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
    pub(crate) paint: Option<Paint>,
}

impl Series {
    /// A series with the colour of its position.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        Self { name: name.into(), values: values.into_iter().collect(), paint: None }
    }

    /// Draws the series in the categorical colour of another position, so that one thing keeps its
    /// colour in every chart.
    #[must_use]
    pub fn colour(mut self, position: usize) -> Self {
        self.paint = Some(Paint::Slot(position));
        self
    }

    /// Draws the series in grey: a baseline, or what remains.
    #[must_use]
    pub fn neutral(mut self) -> Self {
        self.paint = Some(Paint::Neutral);
        self
    }

    fn paint(&self, index: usize) -> Paint {
        self.paint.unwrap_or(Paint::Slot(index))
    }
}

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
}

macro_rules! each {
    ($chart:expr, $inner:ident => $body:expr) => {
        match $chart {
            Chart::Bar($inner) => $body,
            Chart::Stacked($inner) => $body,
            Chart::Line($inner) => $body,
            Chart::Histogram($inner) => $body,
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
    /// A sentence on what cannot be rendered.
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

    /// Remarks on what could not be drawn as given; empty if nothing.
    pub(crate) fn notes(&self) -> Vec<String> {
        each!(self, chart => chart.notes())
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Bar(_) => "bar",
            Self::Stacked(_) => "stacked",
            Self::Line(_) => "line",
            Self::Histogram(_) => "histogram",
        }
    }
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
chart_from!(Bar: BarChart, Stacked: StackedChart, Line: LineChart, Histogram: Histogram);

/// "3 values are missing" for charts, if any are.
fn missing_note(missing: usize) -> Option<String> {
    match missing {
        0 => None,
        1 => Some("1 value is missing or not finite and shown as –.".to_owned()),
        n => Some(format!("{n} values are missing or not finite and shown as –.")),
    }
}

/// Names joined for a description, cut after a dozen.
fn listing<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    let mut text = names.iter().take(12).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 12 {
        text.push_str(&format!(" and {} more", names.len() - 12));
    }
    text
}
