//! Names and numbers of everything in a report that has data: unique anchors, file names and "Figure 3".
//! Page, JSON and file writer all use this outline, so they agree.

use crate::chart::Chart;
use crate::names::Names;
use crate::section::{Block, Section};
use crate::source::SourceListing;
use crate::table::Table;
use crate::text;

/// Something in the report that carries data.
#[derive(Clone, Copy)]
pub(crate) enum Item<'a> {
    Chart(&'a Chart),
    Table(&'a Table),
    Source(&'a SourceListing),
}

/// An item with its place: anchor, number within its kind, section.
pub(crate) struct Placed<'a> {
    pub(crate) id: String,
    /// "Figure 2", "Table 1", "Listing 1".
    pub(crate) label: String,
    pub(crate) section: &'a str,
    pub(crate) item: Item<'a>,
    /// Whether it shares its row with others and gets a part of the width.
    pub(crate) columns: usize,
}

/// Section anchors and placed items, both in reading order.
pub(crate) struct Outline<'a> {
    pub(crate) sections: Vec<String>,
    pub(crate) items: Vec<Placed<'a>>,
    /// By section: anchors and titles of its entries, in reading order.
    pub(crate) entries: Vec<Vec<(String, &'a str)>>,
}

impl<'a> Outline<'a> {
    pub(crate) fn new(sections: &'a [Section]) -> Self {
        let mut walk = Walk {
            names: Names::new('-'),
            counts: [0; 3],
            items: Vec::new(),
            entries: Vec::new(),
            section: "",
            columns: 1,
        };
        // Anchors the page itself uses.
        for reserved in ["report-data", "top", "main", "tip"] {
            walk.names.claim(reserved, reserved);
        }
        let anchors = sections
            .iter()
            .map(|section| walk.names.claim(section.id.as_deref().unwrap_or(&section.title), "section"))
            .collect();
        for section in sections {
            walk.section = &section.title;
            walk.entries.push(Vec::new());
            walk.blocks(&section.blocks);
        }
        Self { sections: anchors, items: walk.items, entries: walk.entries }
    }
}

struct Walk<'a> {
    names: Names,
    counts: [usize; 3],
    items: Vec<Placed<'a>>,
    entries: Vec<Vec<(String, &'a str)>>,
    section: &'a str,
    columns: usize,
}

impl<'a> Walk<'a> {
    fn blocks(&mut self, blocks: &'a [Block]) {
        for block in blocks {
            match block {
                Block::Chart(chart) => {
                    self.place(Item::Chart(chart), chart.meta().id.as_ref(), &chart.meta().title);
                }
                Block::Table(table) => self.place(Item::Table(table), table.id.as_ref(), &table.title),
                Block::Source(source) => self.place(Item::Source(source), source.id.as_ref(), &source.title),
                Block::Details(_, inner) => self.blocks(inner),
                Block::Entry(entry) => {
                    let id = self.names.claim(&entry.id, "entry");
                    if let Some(entries) = self.entries.last_mut() {
                        entries.push((id, &entry.title));
                    }
                    self.blocks(&entry.blocks);
                }
                Block::Row(inner) => {
                    let outer = std::mem::replace(&mut self.columns, inner.len().max(1));
                    self.blocks(inner);
                    self.columns = outer;
                }
                Block::Heading(_)
                | Block::Text(_)
                | Block::List(_)
                | Block::Kpis(_)
                | Block::Code(_)
                | Block::Callout(_) => {}
            }
        }
    }

    fn place(&mut self, item: Item<'a>, id: Option<&String>, title: &str) {
        let (kind, name) = match item {
            Item::Chart(_) => (0, "Figure"),
            Item::Table(_) => (1, "Table"),
            Item::Source(_) => (2, "Listing"),
        };
        self.counts[kind] += 1;
        let label = format!("{name} {}", self.counts[kind]);
        let fallback = text::slug(&label, '-');
        let id = self.names.claim(id.map_or(title, String::as_str), &fallback);
        self.items.push(Placed { id, label, section: self.section, item, columns: self.columns });
    }
}
