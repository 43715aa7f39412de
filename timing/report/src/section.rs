//! Sections and their blocks: prose, tiles, charts, tables, code, callouts.

use crate::chart::Chart;
use crate::format::Format;
use crate::highlight::Language;
use crate::source::SourceListing;
use crate::table::Table;

/// One section of a report, reachable from the navigation.
#[derive(Clone, Debug)]
pub struct Section {
    pub(crate) title: String,
    pub(crate) id: Option<String>,
    pub(crate) blocks: Vec<Block>,
}

/// One thing in a section.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Heading(String),
    Text(String),
    List(Vec<String>),
    Kpis(Vec<Kpi>),
    Chart(Box<Chart>),
    Table(Table),
    Source(SourceListing),
    Code(Code),
    Callout(Callout),
    Details(String, Vec<Block>),
    Entry(Entry),
    Row(Vec<Block>),
}

/// A part of a section that opens on demand and has a place in the navigation.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), id: None, blocks: Vec::new() }
    }

    /// Fixes the anchor; the default is made of the title.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// A heading within the section.
    #[must_use]
    pub fn heading(self, text: impl Into<String>) -> Self {
        self.with(Block::Heading(text.into()))
    }

    /// A paragraph; `` `code` ``, `**bold**` and `[text](https://…)` are marked up, all else is literal.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(Block::Text(text.into()))
    }

    /// A list of sentences, marked up like a paragraph.
    #[must_use]
    pub fn list<S: Into<String>>(self, items: impl IntoIterator<Item = S>) -> Self {
        self.with(Block::List(items.into_iter().map(Into::into).collect()))
    }

    /// A row of tiles with key numbers.
    #[must_use]
    pub fn kpis(self, kpis: impl IntoIterator<Item = Kpi>) -> Self {
        self.with(Block::Kpis(kpis.into_iter().collect()))
    }

    /// A chart.
    #[must_use]
    pub fn chart(self, chart: impl Into<Chart>) -> Self {
        self.with(Block::Chart(Box::new(chart.into())))
    }

    /// A table.
    #[must_use]
    pub fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }

    /// An annotated source listing.
    #[must_use]
    pub fn source(self, listing: SourceListing) -> Self {
        self.with(Block::Source(listing))
    }

    /// A block of code or configuration.
    #[must_use]
    pub fn code(self, code: Code) -> Self {
        self.with(Block::Code(code))
    }

    /// A highlighted remark.
    #[must_use]
    pub fn callout(self, callout: Callout) -> Self {
        self.with(Block::Callout(callout))
    }

    /// Something that opens on demand: `.details("All counters", |d| d.table(counters))`.
    #[must_use]
    pub fn details(self, summary: impl Into<String>, fill: impl FnOnce(Self) -> Self) -> Self {
        let blocks = fill(Self::new("")).blocks;
        self.with(Block::Details(summary.into(), blocks))
    }

    /// A part that opens on demand, with an anchor, a place in the navigation under the section, and a note beside its
    /// title: `.entry("reuse", "Reuse", "64 % of reads", |e| e.chart(reads))`.
    #[must_use]
    pub fn entry(
        self,
        id: impl Into<String>,
        title: impl Into<String>,
        note: impl Into<String>,
        fill: impl FnOnce(Self) -> Self,
    ) -> Self {
        let blocks = fill(Self::new("")).blocks;
        self.with(Block::Entry(Entry { id: id.into(), title: title.into(), note: note.into(), blocks }))
    }

    /// Blocks side by side if the screen is wide enough: `.row(|r| r.chart(left).chart(right))`.
    #[must_use]
    pub fn row(self, fill: impl FnOnce(Self) -> Self) -> Self {
        let blocks = fill(Self::new("")).blocks;
        self.with(Block::Row(blocks))
    }
}

/// Whether a tile reports something good or bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neither.
    #[default]
    Plain,
    /// Good news.
    Good,
    /// Bad news.
    Bad,
}

/// A tile with one number.
#[derive(Clone, Debug)]
pub struct Kpi {
    pub(crate) label: String,
    pub(crate) shown: String,
    pub(crate) raw: Option<f64>,
    pub(crate) note: String,
    pub(crate) tone: Tone,
}

impl Kpi {
    /// A tile showing text.
    pub fn new(label: impl Into<String>, shown: impl Into<String>) -> Self {
        Self { label: label.into(), shown: shown.into(), raw: None, note: String::new(), tone: Tone::Plain }
    }

    /// A tile showing a number; the raw value goes into the JSON.
    pub fn number(label: impl Into<String>, value: f64, format: Format) -> Self {
        Self { raw: Some(value), ..Self::new(label, format.label(value)) }
    }

    /// A line under the number.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Colours the number.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// A block of code or configuration.
#[derive(Clone, Debug)]
pub struct Code {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) language: Language,
}

impl Code {
    /// A block of text in the given language.
    pub fn new(text: impl Into<String>, language: Language) -> Self {
        Self { title: String::new(), text: text.into(), language }
    }

    /// A line above the block, such as a file name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }
}

/// A highlighted remark.
#[derive(Clone, Debug)]
pub struct Callout {
    pub(crate) kind: CalloutKind,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CalloutKind {
    Note,
    Finding,
    Warning,
}

impl Callout {
    /// Something to know.
    pub fn note(text: impl Into<String>) -> Self {
        Self { kind: CalloutKind::Note, text: text.into() }
    }

    /// A finding from the numbers.
    pub fn finding(text: impl Into<String>) -> Self {
        Self { kind: CalloutKind::Finding, text: text.into() }
    }

    /// Something to be careful about.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { kind: CalloutKind::Warning, text: text.into() }
    }
}
