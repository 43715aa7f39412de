//! The report as a whole: its sections, its data in one JSON document, its files.

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::outline::{Item, Outline};
use crate::section::{Block, Section};
use crate::table::Table;

/// Version of the JSON layout; raised when keys change meaning.
const SCHEMA: &str = "warplab-report/1";

/// Key of what produced the numbers, in JSON, in the file beside a CSV file and in the metadata of a Parquet file.
pub(crate) const PRODUCED_BY: &str = "produced_by";

/// A report under construction.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) sections: Vec<Section>,
    pub(crate) footer: String,
    pub(crate) produced_by: Option<Value>,
}

/// One chart, table or listing of a report as plain data.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// Anchor in the page and stem of the file names; unique in the report.
    pub id: String,
    /// "Figure 2", "Table 1" or "Listing 1".
    pub label: String,
    /// "bar", "stacked", "line", "histogram", "scatter", "table" or "source".
    pub kind: &'static str,
    /// Title of the section it stands in.
    pub section: String,
    /// The numbers.
    pub table: Table,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// The line under the title, with inline markup.
    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    /// A fact for the head of the page: version, configuration, command line. The report adds none
    /// of its own (no date), so that equal input gives equal bytes.
    #[must_use]
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// What produced the numbers, as data: it is in the page, the JSON and each Parquet file, and beside each
    /// CSV file.
    #[must_use]
    pub fn produced_by(mut self, what: Value) -> Self {
        self.produced_by = Some(what);
        self
    }

    /// Appends a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// The last line of the page, with inline markup.
    #[must_use]
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.footer = footer.into();
        self
    }

    /// Checks that all lengths within charts, tables and listings agree.
    ///
    /// # Errors
    /// [`crate::Error::Length`] or [`crate::Error::Edges`] naming the first item that contradicts itself.
    pub fn check(&self) -> Result<()> {
        Outline::new(&self.sections).items.iter().try_for_each(|placed| match placed.item {
            Item::Chart(chart) => chart.check(),
            Item::Table(table) => table.check(),
            Item::Source(source) => source.check(),
        })
    }

    /// Everything with numbers, in reading order.
    #[must_use]
    pub fn data_sets(&self) -> Vec<DataSet> {
        let outline = Outline::new(&self.sections);
        let data_set = |placed: &crate::outline::Placed<'_>| DataSet {
            id: placed.id.clone(),
            label: placed.label.clone(),
            kind: match placed.item {
                Item::Chart(chart) => chart.kind(),
                Item::Table(_) => "table",
                Item::Source(_) => "source",
            },
            section: placed.section.to_owned(),
            table: match placed.item {
                Item::Chart(chart) => chart.data(),
                Item::Table(table) => table.clone(),
                Item::Source(source) => source.data(),
            },
        };
        outline.items.iter().map(data_set).collect()
    }

    /// The report's data as one JSON document.
    ///
    /// Keys: `schema`, `title`, `subtitle`, `facts` (object), `produced_by` if it is known, `key_numbers` (array of `section`,
    /// `label`, `value`, `text`) and `data` (array of `id`, `label`, `kind`, `section`, `title`,
    /// `columns`, `rows`, and `summary` if there is one). Missing numbers are null; shares are fractions.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let facts: Map<_, _> = self.facts.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        let mut key_numbers = Vec::new();
        for section in &self.sections {
            collect_kpis(&section.title, &section.blocks, &mut key_numbers);
        }
        let data: Vec<_> = self.data_sets().iter().map(DataSet::to_json).collect();
        let mut document = json!({
            "schema": SCHEMA,
            "title": self.title,
            "subtitle": self.subtitle,
            "facts": facts,
            "key_numbers": key_numbers,
            "data": data,
        });
        if let Some(what) = &self.produced_by {
            document[PRODUCED_BY] = what.clone();
        }
        document
    }
}

impl DataSet {
    fn to_json(&self) -> Value {
        let mut object = json!({
            "id": self.id,
            "label": self.label,
            "kind": self.kind,
            "section": self.section,
            "title": self.table.title,
        });
        if let (Some(object), Value::Object(table)) = (object.as_object_mut(), self.table.to_json()) {
            object.extend(table);
        }
        object
    }
}

fn collect_kpis(section: &str, blocks: &[Block], out: &mut Vec<Value>) {
    for block in blocks {
        match block {
            Block::Kpis(kpis) => out.extend(kpis.iter().map(
                |kpi| json!({ "section": section, "label": kpi.label, "value": kpi.raw, "text": kpi.shown }),
            )),
            Block::Details(_, inner) | Block::Row(inner) => collect_kpis(section, inner, out),
            Block::Entry(entry) => collect_kpis(section, &entry.blocks, out),
            _ => {}
        }
    }
}
