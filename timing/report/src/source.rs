//! Annotated source: every line with its numbers beside it, the hottest ones shaded.
//!
//! Long stretches without numbers fold away, so that the hot spots of a long file fit a screen.

use crate::error::{Result, expect_len};
use crate::format::Format;
use crate::highlight::Language;
use crate::table::{Cell, Column, Table};

/// A source file with numbers per line, for instance shares of cycles.
#[derive(Clone, Debug)]
pub struct SourceListing {
    pub(crate) title: String,
    pub(crate) id: Option<String>,
    pub(crate) caption: String,
    pub(crate) language: Language,
    pub(crate) columns: Vec<Column>,
    pub(crate) lines: Vec<SourceLine>,
    pub(crate) context: Option<usize>,
}

/// One line and its numbers; NaN where there is none.
#[derive(Clone, Debug)]
pub(crate) struct SourceLine {
    pub(crate) number: u32,
    pub(crate) text: String,
    pub(crate) values: Vec<f64>,
}

impl SourceLine {
    fn has_values(&self) -> bool {
        self.values.iter().any(|v| v.is_finite())
    }
}

impl SourceListing {
    /// An empty listing.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            id: None,
            caption: String::new(),
            language: Language::Cuda,
            columns: Vec::new(),
            lines: Vec::new(),
            context: Some(3),
        }
    }

    /// Fixes the anchor and file name; the default is made of the title.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// A sentence or two under the title, with inline markup.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// The language of the source; the default is [`Language::Cuda`].
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// Adds a column of numbers; the first one decides how lines are shaded.
    #[must_use]
    pub fn column(mut self, name: impl Into<String>, format: Format) -> Self {
        self.columns.push(Column::number(name, format).bar());
        self
    }

    /// Appends a line with one value per column; a line without numbers has an empty list.
    #[must_use]
    pub fn line(
        mut self,
        number: u32,
        text: impl Into<String>,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        self.push(number, text, values);
        self
    }

    /// Appends a line in place; see [`SourceListing::line`].
    pub fn push(&mut self, number: u32, text: impl Into<String>, values: impl IntoIterator<Item = f64>) {
        self.lines.push(SourceLine { number, text: text.into(), values: values.into_iter().collect() });
    }

    /// Lines kept visible around those with numbers; `None` shows everything. The default is 3.
    #[must_use]
    pub fn context(mut self, lines: Option<usize>) -> Self {
        self.context = lines;
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        for line in self.lines.iter().filter(|line| !line.values.is_empty()) {
            let part = || format!("line {}", line.number);
            expect_len("source listing", &self.title, part, "values", line.values.len(), self.columns.len())?;
        }
        Ok(())
    }

    pub(crate) fn data(&self) -> Table {
        let columns = [Column::integer("Line"), Column::text("Source")];
        let mut table = Table::new(&self.title, columns.into_iter().chain(self.columns.iter().cloned()));
        for line in &self.lines {
            let value = |k| Cell::Number(line.values.get(k).copied().unwrap_or(f64::NAN));
            let values = (0..self.columns.len()).map(value);
            table.push([Cell::from(line.number), Cell::from(&line.text)].into_iter().chain(values));
        }
        table
    }

    /// The lines in runs: (lines, whether the run folds away).
    pub(crate) fn runs(&self) -> Vec<(&[SourceLine], bool)> {
        let Some(context) = self.context else { return vec![(&self.lines, false)] };
        let mut near = vec![false; self.lines.len()];
        for (i, _) in self.lines.iter().enumerate().filter(|(_, line)| line.has_values()) {
            let end = (i + context.min(self.lines.len()) + 1).min(near.len());
            near[i.saturating_sub(context)..end].fill(true);
        }
        if !near.contains(&true) {
            return vec![(&self.lines, false)];
        }
        let mut runs: Vec<(&[SourceLine], bool)> = Vec::new();
        let mut start = 0;
        for part in near.chunk_by(|a, b| a == b) {
            let lines = &self.lines[start..start + part.len()];
            // Folding three lines away saves nothing.
            runs.push((lines, !part[0] && lines.len() > 3));
            start += part.len();
        }
        runs
    }

    /// Largest magnitude of each column, zero if it has none.
    pub(crate) fn peaks(&self) -> Vec<f64> {
        let value = |line: &SourceLine, k: usize| line.values.get(k).copied().unwrap_or(f64::NAN).abs();
        let peak =
            |k| self.lines.iter().map(|line| value(line, k)).filter(|v| v.is_finite()).fold(0.0, f64::max);
        (0..self.columns.len()).map(peak).collect()
    }
}
