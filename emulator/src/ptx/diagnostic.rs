//! Diagnostics of the front end: errors and warnings with places and remedies.
//!
//! A [`Diagnostic`] is plain data without a file; [`Diagnostics`] owns the list together with the source and
//! renders it, graphically through `miette` or as one plain line per entry. The front end collects all errors
//! of a file before it gives up; callers decide how to show them.

use std::fmt;
use std::sync::Arc;
use warplab_host::text::{is_printable, printable};

use super::source::{LineCol, SourceFile, Span};

/// Longest line, in bytes, that a graphical report quotes.
const MAX_SHOWN_BYTES: usize = 2000;

/// Most lines that a graphical report quotes for one place.
const MAX_SHOWN_LINES: u32 = 50;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The module (or, for an unsupported instruction, its function) cannot be used.
    Error,
    /// Worth knowing; nothing is lost.
    Warning,
}

/// A second place that belongs to a diagnostic, such as the first definition of a duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The offending text.
    pub span: Span,
    /// What to do about it.
    pub help: Option<String>,
    /// Other places involved.
    pub labels: Vec<Label>,
}

impl Diagnostic {
    /// An error at a place.
    #[must_use]
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, message: message.into(), span, help: None, labels: Vec::new() }
    }

    /// A warning at a place.
    #[must_use]
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// The graphical report for a terminal, with the source lines shown; `color` switches ANSI colours.
    #[must_use]
    pub fn render(&self, source: &Arc<SourceFile>, color: bool) -> String {
        if !self.is_showable(source) {
            return self.render_excerpt(source);
        }
        let theme =
            if color { miette::GraphicalTheme::unicode() } else { miette::GraphicalTheme::unicode_nocolor() };
        let handler = miette::GraphicalReportHandler::new_themed(theme).with_links(false);
        let mut out = String::new();
        match handler.render_report(&mut out, &Report { diagnostic: self, source }) {
            Ok(()) => out,
            Err(fmt::Error) => self.plain(source),
        }
    }

    /// The report in prose, for screen readers and logs that cannot show boxes.
    #[must_use]
    pub fn render_narrated(&self, source: &Arc<SourceFile>) -> String {
        if !self.is_showable(source) {
            return self.render_excerpt(source);
        }
        let mut out = String::new();
        match miette::NarratableReportHandler::new()
            .render_report(&mut out, &Report { diagnostic: self, source })
        {
            Ok(()) => out,
            Err(fmt::Error) => self.plain(source),
        }
    }

    /// Whether no text of the report commands a terminal, and all lines that it would quote are of a length that a person
    /// reads (and `miette` can mark: it refuses columns from 65 536 on).
    fn is_showable(&self, source: &SourceFile) -> bool {
        let spans = std::iter::once(self.span).chain(self.labels.iter().map(|label| label.span));
        let mut texts = [&*self.message, source.name(), self.help.as_deref().unwrap_or("")]
            .into_iter()
            .chain(self.labels.iter().map(|label| &*label.message));
        texts.all(is_printable)
            && spans.into_iter().all(|span| {
                let first = source.line_col(span).line;
                let last = source.line_col(Span::new(span.end, span.end)).line;
                let few = last - first < MAX_SHOWN_LINES;
                few && (first.saturating_sub(1)..=last + 1).all(|line| {
                    let line = source.line(line);
                    line.len() <= MAX_SHOWN_BYTES && is_printable(line)
                })
            })
    }

    /// The plain line and a piece of the source around the place, for texts that no report can show whole.
    fn render_excerpt(&self, source: &SourceFile) -> String {
        let start = self.span.start as usize;
        let before: String = source.text().get(..start).unwrap_or("").chars().rev().take(30).collect();
        let before: String = before.chars().rev().collect();
        let after: String = source.text().get(start..).unwrap_or("").chars().take(50).collect();
        printable(&format!("{}\n  near {:?}\n", self.plain(source), before + &after)).into_owned()
    }

    /// One line: `file:line:col: error: message (help)`.
    #[must_use]
    pub fn plain(&self, source: &SourceFile) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let help = self.help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
        format!("{}:{}: {severity}: {}{help}", source.name(), source.line_col(self.span), self.message)
    }
}

/// All errors and warnings of one file, in the order in which they were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    source: Arc<SourceFile>,
    list: Vec<Diagnostic>,
    omitted: usize,
}

impl Diagnostics {
    /// Entries kept per file; beyond them only the count is.
    pub const LIMIT: usize = 1000;

    /// An empty list for a file.
    #[must_use]
    pub const fn new(source: Arc<SourceFile>) -> Self {
        Self { source, list: Vec::new(), omitted: 0 }
    }

    /// The list of one entry.
    #[must_use]
    pub fn one(source: &Arc<SourceFile>, only: Diagnostic) -> Self {
        Self { source: Arc::clone(source), list: vec![only], omitted: 0 }
    }

    /// Adds one entry; past [`Self::LIMIT`] it is only counted.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() < Self::LIMIT {
            self.list.push(diagnostic);
        } else {
            self.omitted += 1;
        }
    }

    /// The file the entries speak of.
    #[must_use]
    pub const fn source(&self) -> &Arc<SourceFile> {
        &self.source
    }

    /// The entries kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Number of entries, those only counted included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len() + self.omitted
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether an error is among them.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|entry| entry.severity == Severity::Error)
    }

    /// Line and column of an entry.
    #[must_use]
    pub fn line_col(&self, diagnostic: &Diagnostic) -> LineCol {
        self.source.line_col(diagnostic.span)
    }

    /// All entries as graphical reports, one after the other; `color` switches ANSI colours.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        let mut out: String = self.list.iter().map(|entry| entry.render(&self.source, color)).collect();
        if self.omitted > 0 {
            out.push_str(&format!("… and {} more in {}\n", self.omitted, self.source.name()));
        }
        out
    }

    /// Moves errors to the front, each group in source order.
    pub(super) fn sort(&mut self) {
        self.list.sort_by_key(|entry| (entry.severity == Severity::Warning, entry.span.start));
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, entry) in self.list.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            f.write_str(&entry.plain(&self.source))?;
        }
        if self.omitted > 0 {
            write!(f, "\n{}: and {} more", self.source.name(), self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Lends a diagnostic and its file to `miette`.
struct Report<'a> {
    diagnostic: &'a Diagnostic,
    source: &'a SourceFile,
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Report").field(self.diagnostic).finish()
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for Report<'_> {}

impl miette::Diagnostic for Report<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(self)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let place = |span: Span| (span.start as usize, span.len());
        let main = miette::LabeledSpan::new_primary_with_span(None, place(self.diagnostic.span));
        let others = self.diagnostic.labels.iter().map(move |label| {
            miette::LabeledSpan::new_with_span(Some(label.message.clone()), place(label.span))
        });
        Some(Box::new(std::iter::once(main).chain(others)))
    }
}

impl miette::SourceCode for Report<'_> {
    fn read_span<'a>(
        &'a self,
        span: &miette::SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn miette::SpanContents<'a> + 'a>, miette::MietteError> {
        let text = self.source.text();
        let contents = text.read_span(span, context_lines_before, context_lines_after)?;
        Ok(Box::new(miette::MietteSpanContents::new_named(
            self.source.name().to_owned(),
            contents.data(),
            *contents.span(),
            contents.line(),
            contents.column(),
            contents.line_count(),
        )))
    }
}
