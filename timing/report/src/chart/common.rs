//! Parts common to all kinds of charts: titles and captions, series, and helpers for descriptions.

use crate::palette::Paint;

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
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Height of the plotting area in pixels.
    pub(super) fn height(&self, default: f64) -> f64 {
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
pub(super) use meta_builders;

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

    pub(super) fn paint(&self, index: usize) -> Paint {
        self.paint.unwrap_or(Paint::Slot(index))
    }
}

/// "3 values are missing" for charts, if any are.
pub(super) fn missing_note(missing: usize) -> Option<String> {
    match missing {
        0 => None,
        1 => Some("1 value is missing or not finite and shown as –.".to_owned()),
        n => Some(format!("{n} values are missing or not finite and shown as –.")),
    }
}

/// Names joined for a description, cut after a dozen.
pub(super) fn listing<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    let mut text = names.iter().take(12).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 12 {
        text.push_str(&format!(" and {} more", names.len() - 12));
    }
    text
}
