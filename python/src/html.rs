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

/// A table, without its title: text is left-aligned, numbers are right-aligned, as in a terminal.
pub(crate) fn table(table: &report::Table) -> String {
    let style = |is_text: bool| format!("style=\"text-align:{}\"", if is_text { "left" } else { "right" });
    let is_text = |cell: &Cell| matches!(cell, Cell::Text(_));
    let has_text = |column: usize| table.rows().iter().any(|row| row.get(column).is_some_and(is_text));
    let heading =
        |(column, name): (usize, &str)| format!("<th {}>{}</th>", style(has_text(column)), escape(name));
    let head: String = table.headings().enumerate().map(heading).collect();
    let row = |row: &Vec<Cell>| {
        let cell =
            |(shown, raw): (String, &Cell)| format!("<td {}>{}</td>", style(is_text(raw)), escape(&shown));
        let cells: String = table.shown(row).into_iter().zip(row).map(cell).collect();
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
    format!("<p>{0}<br><img alt=\"{0}\" src=\"{url}\"></p>", escape(title))
}
