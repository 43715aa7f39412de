//! The HTML page: head, navigation, sections and their blocks. Tables and listings are drawn by
//! `page_table`, charts by `chart`; everything the page needs is inside it.

use std::fmt::Write as _;

use crate::chart::Chart;
use crate::error::Result;
use crate::highlight::Highlighter;
use crate::outline::{Item, Outline, Placed};
use crate::page_table;
use crate::palette;
use crate::report::Report;
use crate::section::{Block, Callout, CalloutKind, Code, Kpi, Tone};
use crate::text::{data_uri, escape, inline, json_for_script};

const SCRIPT: &str = include_str!("../assets/page.js");
/// Sets a chosen theme before anything is painted.
const EARLY_SCRIPT: &str = "try{var t=localStorage.getItem('report-theme');\
if(t==='light'||t==='dark')document.documentElement.dataset.theme=t}catch(e){}";
/// Content security policy: no external resources.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
base-uri 'none'; form-action 'none'";

/// Width of the content column, and of the gap between things in a row.
const CONTENT: f64 = 1120.0;
const ROW_GAP: f64 = 20.0;
/// Padding of a card, both sides and borders together.
const CARD: f64 = 46.0;
/// Rows of a chart's data shown in the page; the CSV has all.
const DATA_ROWS: usize = 300;

/// Width of a figure that shares its row with `columns - 1` others.
pub(crate) fn figure_width(columns: usize) -> f64 {
    let columns = columns.max(1) as f64;
    ((CONTENT - ROW_GAP * (columns - 1.0)) / columns - CARD).max(300.0)
}

impl Report {
    /// The page as one self-contained HTML document.
    ///
    /// # Errors
    /// As [`Report::check`].
    pub fn to_html(&self) -> Result<String> {
        self.check()?;
        Ok(render(self))
    }
}

/// The whole page; the report was checked.
fn render(report: &Report) -> String {
    let outline = Outline::new(&report.sections);
    let entries: Vec<&str> = outline.entries.iter().flatten().map(|(id, _)| id.as_str()).collect();
    let mut page =
        Page { out: String::with_capacity(1 << 18), items: outline.items.iter(), entries: entries.iter() };
    page.head(report);
    page.navigation(report, &outline);
    page.out.push_str("<main id=\"main\">\n");
    page.title(report);
    for (section, id) in report.sections.iter().zip(&outline.sections) {
        let _ = writeln!(
            page.out,
            "<section id=\"{id}\" aria-labelledby=\"{id}--h\"><h2 id=\"{id}--h\">{}\
             <a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this section\">#</a></h2>",
            escape(&section.title)
        );
        page.blocks(&section.blocks);
        page.out.push_str("</section>\n");
    }
    if !report.footer.is_empty() {
        let _ = writeln!(page.out, "<footer>{}</footer>", inline(&report.footer));
    }
    page.out.push_str("</main>\n</div>\n<div id=\"tip\" hidden></div>\n");
    page.tail(report);
    page.out
}

/// The line of a page's head by which a later report knows that it may replace the page.
pub(crate) const GENERATOR: &str = "<meta name=\"generator\" content=\"Warplab\">";

struct Page<'a> {
    out: String,
    /// Anchors of entries, likewise.
    entries: std::slice::Iter<'a, &'a str>,
    /// Placed items in the order in which walking the blocks meets them.
    items: std::slice::Iter<'a, Placed<'a>>,
}

impl Page<'_> {
    fn head(&mut self, report: &Report) {
        let title = escape(&report.title);
        let _ = write!(
            self.out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             {GENERATOR}\n<title>{title}</title>\n<style>\n{}</style>\n<script>{EARLY_SCRIPT}</script>\n</head>\n<body id=\"top\">\n\
             <a class=\"skip\" href=\"#main\">Skip to content</a>\n<div class=\"shell\">\n",
            palette::page_css()
        );
    }

    fn navigation(&mut self, report: &Report, outline: &Outline<'_>) {
        let _ = write!(
            self.out,
            "<nav class=\"side\" aria-label=\"Sections\"><a class=\"brand\" href=\"#top\">{}</a><ol>",
            escape(&report.title)
        );
        let anchors = outline.sections.iter().zip(&outline.entries);
        for (section, (id, entries)) in report.sections.iter().zip(anchors) {
            let title = escape(&section.title);
            let _ = write!(self.out, "<li><a href=\"#{id}\">{title}</a>");
            if !entries.is_empty() {
                let count = entries.len();
                let _ = write!(
                    self.out,
                    "<details><summary aria-label=\"Parts of {title}\">{count} {}</summary><ol>",
                    if count == 1 { "part" } else { "parts" }
                );
                for (id, title) in entries {
                    let _ = write!(self.out, "<li><a href=\"#{id}\">{}</a></li>", escape(title));
                }
                self.out.push_str("</ol></details>");
            }
            self.out.push_str("</li>");
        }
        // The buttons work by script only and are hidden until it runs.
        self.out.push_str(
            "</ol><div class=\"actions\" hidden>\
             <button type=\"button\" data-action=\"theme\">Theme: auto</button>\
             <button type=\"button\" data-action=\"data\">Data as JSON</button></div></nav>\n",
        );
    }

    fn title(&mut self, report: &Report) {
        let _ = write!(self.out, "<header class=\"head\"><h1>{}</h1>", escape(&report.title));
        if !report.subtitle.is_empty() {
            let _ = write!(self.out, "<p class=\"subtitle\">{}</p>", inline(&report.subtitle));
        }
        if !report.facts.is_empty() {
            self.out.push_str("<dl class=\"facts\">");
            for (name, value) in &report.facts {
                let _ = write!(self.out, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
            }
            self.out.push_str("</dl>");
        }
        self.out.push_str("</header>\n");
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Heading(text) => {
                    let _ = writeln!(self.out, "<h3>{}</h3>", escape(text));
                }
                Block::Text(text) => {
                    let _ = writeln!(self.out, "<p>{}</p>", inline(text));
                }
                Block::List(items) => {
                    self.out.push_str("<ul class=\"sentences\">");
                    for item in items {
                        let _ = write!(self.out, "<li>{}</li>", inline(item));
                    }
                    self.out.push_str("</ul>\n");
                }
                Block::Kpis(kpis) => self.kpis(kpis),
                Block::Code(code) => self.code(code),
                Block::Callout(callout) => self.callout(callout),
                Block::Details(summary, inner) => {
                    let summary = escape(summary);
                    let _ = writeln!(self.out, "<details class=\"more\"><summary>{summary}</summary><div>");
                    self.blocks(inner);
                    self.out.push_str("</div></details>\n");
                }
                Block::Entry(entry) => {
                    let id = self.entries.next().copied().unwrap_or_default();
                    let (title, note) = (escape(&entry.title), inline(&entry.note));
                    let _ = writeln!(
                        self.out,
                        "<details class=\"more entry\" id=\"{id}\"><summary>{title}<span>{note}</span></summary><div>"
                    );
                    self.blocks(&entry.blocks);
                    self.out.push_str("</div></details>\n");
                }
                Block::Row(inner) => {
                    self.out.push_str("<div class=\"row\">\n");
                    self.blocks(inner);
                    self.out.push_str("</div>\n");
                }
                Block::Chart(_) | Block::Table(_) | Block::Source(_) => self.item(),
            }
        }
    }

    /// The next item of the plan, which walks the blocks in this same order.
    fn item(&mut self) {
        let Some(placed) = self.items.next() else { return };
        match placed.item {
            Item::Chart(chart) => self.chart(placed, chart),
            Item::Table(table) => {
                self.open_figure(
                    placed,
                    "table-figure",
                    &table.title,
                    &table.caption,
                    &table.to_csv(),
                    false,
                );
                page_table::table(&mut self.out, table, &placed.id, usize::MAX);
                self.out.push_str("</figure>\n");
            }
            Item::Source(source) => {
                let csv = source.data().to_csv();
                self.open_figure(placed, "source-figure", &source.title, &source.caption, &csv, false);
                page_table::source(&mut self.out, source);
                self.out.push_str("</figure>\n");
            }
        }
    }

    fn chart(&mut self, placed: &Placed<'_>, chart: &Chart) {
        let (meta, data) = (chart.meta(), chart.data());
        self.open_figure(placed, "chart-figure", &meta.title, &meta.caption, &data.to_csv(), true);
        let svg = chart.draw(figure_width(placed.columns));
        let _ = write!(
            self.out,
            "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Chart: {}\">{}</div>",
            escape(&meta.title),
            svg.inline(&placed.id, &meta.title, &chart.description())
        );
        for note in chart.notes() {
            let _ = write!(self.out, "<p class=\"remark\">{}</p>", escape(&note));
        }
        self.out.push_str("<details class=\"data\"><summary>Show data</summary>");
        page_table::table(&mut self.out, &data, &format!("{}--data", placed.id), DATA_ROWS);
        self.out.push_str("</details></figure>\n");
    }

    /// Opens a figure: label, title, caption and the download links.
    fn open_figure(
        &mut self,
        placed: &Placed<'_>,
        class: &str,
        title: &str,
        caption: &str,
        csv: &str,
        is_chart: bool,
    ) {
        let (id, label) = (&placed.id, &placed.label);
        let _ = write!(
            self.out,
            "<figure id=\"{id}\" class=\"card {class}\"><figcaption><div class=\"caption\">\
             <span class=\"number\">{label}</span> <strong>{}</strong>",
            escape(title)
        );
        if !caption.is_empty() {
            let _ = write!(self.out, "<p>{}</p>", inline(caption));
        }
        let name = escape(title);
        let _ = write!(
            self.out,
            "</div><div class=\"tools\"><a download=\"{id}.csv\" href=\"{}\" aria-label=\"Data of {name} as CSV\">\
             CSV</a>",
            data_uri("text/csv", csv)
        );
        if is_chart {
            let _ = write!(
                self.out,
                "<button type=\"button\" hidden data-action=\"svg\" data-of=\"{id}\" \
                 aria-label=\"{name} as SVG\">SVG</button>"
            );
        }
        self.out.push_str("</div></figcaption>");
    }

    fn kpis(&mut self, kpis: &[Kpi]) {
        self.out.push_str("<dl class=\"kpis card\">");
        for kpi in kpis {
            let tone = match kpi.tone {
                Tone::Plain => "",
                Tone::Good => " class=\"good\"",
                Tone::Bad => " class=\"bad\"",
            };
            let (label, shown) = (escape(&kpi.label), escape(&kpi.shown));
            let _ = write!(self.out, "<div><dt>{label}</dt><dd{tone}>{shown}</dd>");
            if !kpi.note.is_empty() {
                let _ = write!(self.out, "<dd class=\"kpi-note\">{}</dd>", inline(&kpi.note));
            }
            self.out.push_str("</div>");
        }
        self.out.push_str("</dl>\n");
    }

    fn code(&mut self, code: &Code) {
        self.out.push_str("<div class=\"code card\"><div class=\"code-head\">");
        let _ = write!(
            self.out,
            "<span>{}</span><button type=\"button\" hidden data-action=\"copy\">Copy</button></div>\
             <pre tabindex=\"0\"><code>",
            escape(&code.title)
        );
        let mut highlighter = Highlighter::new(code.language);
        for line in code.text.lines() {
            let _ = writeln!(self.out, "{}", highlighter.line(line));
        }
        self.out.push_str("</code></pre></div>\n");
    }

    fn callout(&mut self, callout: &Callout) {
        let (class, word) = match callout.kind {
            CalloutKind::Note => ("note", "Note"),
            CalloutKind::Finding => ("finding", "Finding"),
            CalloutKind::Warning => ("warning", "Caution"),
        };
        let text = inline(&callout.text);
        let _ = writeln!(
            self.out,
            "<aside class=\"callout {class}\"><strong>{word}</strong><p>{text}</p></aside>"
        );
    }

    /// The data and the script; the chart styles are there for saving a chart as a file.
    fn tail(&mut self, report: &Report) {
        let _ = write!(
            self.out,
            "<script type=\"application/json\" id=\"report-data\">{}</script>\n\
             <script type=\"text/css\" id=\"report-chart-css\">{}</script>\n\
             <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            json_for_script(&report.to_json().to_string()),
            palette::standalone_css()
        );
    }
}
