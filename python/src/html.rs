//! HTML for notebooks: tables as notebooks style them, and charts as pictures that follow the reader's colours.

use report::{Cell, escape};

/// A heading of a result.
pub(crate) fn heading(text: &str) -> String {
    format!("<p><b>{}</b></p>", escape(text))
}

/// A paragraph.
pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>", escape(text))
}

/// A table, without its title.
pub(crate) fn table(table: &report::Table) -> String {
    // The text is aligned, so that its words are those that readers of a terminal see; numbers are right-aligned.
    let cell = |cell: &Cell, shown: &str| {
        let align = if matches!(cell, Cell::Text(_)) { "left" } else { "right" };
        format!("<td style=\"text-align:{align}\">{}</td>", escape(shown))
    };
    let head: String = table.headings().map(|name| format!("<th>{}</th>", escape(name))).collect();
    let row = |row: &Vec<Cell>| {
        let cells: String = table.shown(row).iter().zip(row).map(|(shown, raw)| cell(raw, shown)).collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: String = table.rows().iter().map(row).collect();
    let last: String = table.summaries().iter().map(row).collect();
    let foot = if last.is_empty() { String::new() } else { format!("<tfoot>{last}</tfoot>") };
    format!("<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>{foot}</table>")
}

/// A chart as a picture within the page.
pub(crate) fn picture(svg: &str, title: &str) -> String {
    let mut url = String::from("data:image/svg+xml,");
    for byte in svg.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b' '
            | b'-'
            | b'_'
            | b'.'
            | b'/'
            | b':'
            | b'='
            | b','
            | b';' => {
                url.push(char::from(byte));
            }
            _ => url += &format!("%{byte:02X}"),
        }
    }
    format!("<p><img alt=\"{}\" src=\"{url}\"></p>", escape(title))
}
