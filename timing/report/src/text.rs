//! Text on its way into HTML and SVG: escaping, the little inline markup of prose, slugs, and an
//! estimate of how wide a label will be (layout happens here, without a browser to ask).

use std::fmt::Write as _;

/// Escapes text for HTML and XML, in content and in double-quoted attributes.
///
/// Characters that XML 1.0 forbids become U+FFFD, so that every SVG stays parsable.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON text made safe inside a `<script>` element: no `<` survives, so no tag can end it.
pub(crate) fn json_for_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A `data:` URI of the text, percent-encoded.
pub(crate) fn data_uri(mime: &str, text: &str) -> String {
    let mut out = format!("data:{mime};charset=utf-8,");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b',' | b':' | b'/' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Prose with light markup as HTML: `` `code` ``, `**bold**` and `[text](https://…)`.
///
/// Everything else is escaped; links go to http(s) addresses and page anchors only, and an
/// unclosed mark is an ordinary character.
pub(crate) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        out.push_str(&escape(&rest[..at]));
        rest = &rest[at..];
        if let Some((html, used)) = markup(rest) {
            out.push_str(&html);
            rest = &rest[used..];
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(&escape(rest));
    out
}

/// One marked-up span at the start of `text`: its HTML and the bytes it spans.
fn markup(text: &str) -> Option<(String, usize)> {
    if let Some(body) = text.strip_prefix("**") {
        let end = body.find("**").filter(|&end| end > 0)?;
        return Some((format!("<strong>{}</strong>", escape(&body[..end])), end + 4));
    }
    if let Some(body) = text.strip_prefix('`') {
        let end = body.find('`').filter(|&end| end > 0)?;
        return Some((format!("<code>{}</code>", escape(&body[..end])), end + 2));
    }
    let body = text.strip_prefix('[')?;
    let (label, tail) = body.split_once("](")?;
    let (target, _) = tail.split_once(')')?;
    let safe = ["https://", "http://", "#"].iter().any(|scheme| target.starts_with(scheme));
    if !safe || label.contains('[') {
        return None;
    }
    let html = format!("<a href=\"{}\">{}</a>", escape(target), escape(label));
    Some((html, 1 + label.len() + 2 + target.len() + 1))
}

/// A short name of `[a-z0-9]` words joined by `separator`, for anchors, files and CSV headers.
pub(crate) fn slug(text: &str, separator: char) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with(separator) {
            out.push(separator);
        }
        if out.len() >= 60 {
            break;
        }
    }
    while out.ends_with(separator) {
        out.pop();
    }
    out
}

/// Interface faces run wider than Helvetica, whose metrics are used here; per mille of the size.
const WIDENING: f64 = 0.00113;

/// Estimated width in pixels of `text` in a common sans-serif face at `size` pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let units: f64 = text.chars().map(advance).sum();
    units * size * WIDENING
}

/// Shortens `text` with an ellipsis so that its estimated width stays within `limit` pixels.
pub(crate) fn fit(text: &str, size: f64, limit: f64) -> String {
    if width(text, size) <= limit {
        return text.to_owned();
    }
    let room = limit - width("…", size);
    let mut out = String::new();
    let mut used = 0.0;
    for c in text.chars() {
        used += advance(c) * size * WIDENING;
        if used > room {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// Advance of a character in thousandths of the font size.
fn advance(c: char) -> f64 {
    #[rustfmt::skip]
    const ASCII: [u16; 95] = [
        278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
        556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
        1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
        667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
        333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
        556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
    ];
    match c {
        ' '..='~' => f64::from(ASCII[c as usize - 32]),
        '\u{202f}' => 200.0,
        // East Asian scripts and emoji fill the whole square.
        '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}' => 1000.0,
        _ => 600.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_markup_escapes_all_else() {
        assert_eq!(inline("a `x<y>` **b** <i>"), "a <code>x&lt;y&gt;</code> <strong>b</strong> &lt;i&gt;");
        assert_eq!(inline("2 * 3 ` unclosed [x"), "2 * 3 ` unclosed [x");
        assert_eq!(inline("[p](https://a.b/?q=\"&c)"), "<a href=\"https://a.b/?q=&quot;&amp;c\">p</a>");
        assert_eq!(inline("[p](javascript:alert(1))"), "[p](javascript:alert(1))");
    }

    #[test]
    fn slugs_and_fitting() {
        assert_eq!(slug("Speed-up: BOW & CORF (×)", '-'), "speed-up-bow-corf");
        assert_eq!(slug("×", '-'), "");
        let short = fit("a_very_long_kernel_name<float, 32>", 12.0, 80.0);
        assert!(short.ends_with('…') && width(&short, 12.0) <= 80.0);
        assert_eq!(fit("ok", 12.0, 80.0), "ok");
    }
}
