//! A small SVG writer: every coordinate is finite and short, every text is escaped.
//!
//! Charts draw through it and never format markup themselves, so that hostile names and non-finite numbers
//! cannot reach the output.

use std::fmt::Write as _;

use crate::palette;
use crate::text::escape;

/// Size of ordinary chart text in pixels.
pub(crate) const FONT: f64 = 12.0;
/// Size of tick and value labels in pixels.
pub(crate) const SMALL: f64 = 11.0;

/// Free pixels around a chart that stands in a file of its own.
const MARGIN: f64 = 16.0;

/// Where a text is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) w: f64,
    pub(crate) h: f64,
}

impl Rect {
    pub(crate) fn right(&self) -> f64 {
        self.x + self.w
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.h
    }

    pub(crate) fn overlaps(&self, other: &Rect) -> bool {
        self.x <= other.right()
            && other.x <= self.right()
            && self.y <= other.bottom()
            && other.y <= self.bottom()
    }
}

/// Size and body of a drawing under construction.
pub(crate) struct Svg {
    pub(crate) width: f64,
    pub(crate) height: f64,
    body: String,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(crate) fn end(&mut self) {
        self.body.push_str("</g>");
    }

    /// A group that belongs to series `series`: highlighting a legend key dims all others;
    /// [`Svg::end`] closes it.
    pub(crate) fn series_group(&mut self, class: &str, series: usize) {
        let _ = write!(self.body, "<g class=\"{class}\" data-k=\"{series}\">");
    }

    pub(crate) fn line(&mut self, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
        let _ =
            write!(self.body, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    /// A rectangle; with a tooltip it becomes a mark that reacts to the pointer.
    pub(crate) fn rect(&mut self, class: &str, r: Rect, radius: f64, tip: Option<&str>) {
        let [x, y, w, h] = [r.x, r.y, r.w.max(0.0), r.h.max(0.0)].map(coordinate);
        let _ = write!(self.body, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"");
        if radius > 0.0 {
            let _ = write!(self.body, " rx=\"{}\"", coordinate(radius));
        }
        self.close("rect", tip);
    }

    /// A bar whose far end (the one away from the axis) is rounded; `up` says which end that is.
    pub(crate) fn bar(&mut self, class: &str, r: Rect, up: bool, tip: &str) {
        let radius = 2.0_f64.min(r.w / 3.0).min(r.h).max(0.0);
        let [x, right] = [r.x, r.right()].map(coordinate);
        let (flat, round, inner) =
            if up { (r.bottom(), r.y, r.y + radius) } else { (r.y, r.bottom(), r.bottom() - radius) };
        let [flat, round, inner] = [flat, round, inner].map(coordinate);
        let [left_in, right_in] = [r.x + radius, r.right() - radius].map(coordinate);
        let _ = write!(
            self.body,
            "<path class=\"mark {class}\" d=\"M{x} {flat}V{inner}Q{x} {round} {left_in} {round}H{right_in}\
             Q{right} {round} {right} {inner}V{flat}Z\""
        );
        self.close("path", Some(tip));
    }

    /// A path given as ready path data; build it with [`PathData`].
    pub(crate) fn path(&mut self, class: &str, data: &PathData) {
        if !data.0.is_empty() {
            let _ = write!(self.body, "<path class=\"{class}\" d=\"{}\"/>", data.0);
        }
    }

    /// A point marker; its shape varies with `shape` so that colour is not the only difference.
    pub(crate) fn marker(&mut self, class: &str, shape: usize, x: f64, y: f64, tip: Option<&str>) {
        let mut d = PathData::default();
        let corners: &[(f64, f64)] = match shape % 5 {
            0 => {
                let [cx, cy] = [x, y].map(coordinate);
                let _ = write!(self.body, "<circle class=\"{class}\" cx=\"{cx}\" cy=\"{cy}\" r=\"3.6\"");
                if tip.is_some() {
                    let _ = write!(self.body, " data-x=\"{cx}\"");
                }
                return self.close("circle", tip);
            }
            1 => &[(-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)],
            2 => &[(0.0, -4.4), (4.2, 3.2), (-4.2, 3.2)],
            3 => &[(0.0, -4.6), (4.6, 0.0), (0.0, 4.6), (-4.6, 0.0)],
            _ => &[(0.0, 4.4), (4.2, -3.2), (-4.2, -3.2)],
        };
        for &(dx, dy) in corners {
            d.point(x + dx, y + dy);
        }
        d.close();
        let _ = write!(self.body, "<path class=\"{class}\" d=\"{}\"", d.0);
        if tip.is_some() {
            let _ = write!(self.body, " data-x=\"{}\"", coordinate(x));
        }
        self.close("path", tip);
    }

    pub(crate) fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.text_full(class, x, y, anchor, 0.0, text, None);
    }

    /// A text, optionally rotated about its anchor, with the full wording as a tooltip if cut short.
    #[expect(clippy::too_many_arguments, reason = "one call per label; a struct would only rename them")]
    pub(crate) fn text_full(
        &mut self,
        class: &str,
        x: f64,
        y: f64,
        anchor: Anchor,
        degrees: f64,
        text: &str,
        full: Option<&str>,
    ) {
        let [px, py] = [x, y].map(coordinate);
        let _ = write!(self.body, "<text class=\"{class}\" x=\"{px}\" y=\"{py}\"");
        match anchor {
            Anchor::Start => {}
            Anchor::Middle => self.body.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.body.push_str(" text-anchor=\"end\""),
        }
        if degrees != 0.0 {
            let _ = write!(self.body, " transform=\"rotate({} {px} {py})\"", coordinate(degrees));
        }
        let _ = write!(self.body, ">{}", escape(text));
        if let Some(full) = full.filter(|full| *full != text) {
            let _ = write!(self.body, "<title>{}</title>", escape(full));
        }
        self.body.push_str("</text>");
    }

    /// Draws a legend key; the swatch follows through `swatch`.
    pub(crate) fn key(&mut self, series: usize, swatch: impl FnOnce(&mut Self)) {
        let _ = write!(self.body, "<g class=\"key\" data-key=\"{series}\">");
        swatch(self);
        self.end();
    }

    fn close(&mut self, element: &str, tip: Option<&str>) {
        match tip {
            Some(tip) => {
                let _ = write!(self.body, "><title>{}</title></{element}>", escape(tip));
            }
            None => self.body.push_str("/>"),
        }
    }

    /// The drawing as an element for a page that brings the styles itself.
    pub(crate) fn inline(&self, id: &str, title: &str, description: &str) -> String {
        // The page keeps charts from shrinking beyond reading; it needs their natural width for that.
        let style = format!(" style=\"--natural:{}px\"", coordinate(self.width));
        self.wrap(id, title, description, 0.0, &style, "")
    }

    /// The drawing as a file of its own, styles and background included.
    pub(crate) fn standalone(&self, id: &str, title: &str, description: &str) -> String {
        self.file(id, title, description, &palette::standalone_css())
    }

    /// The same in the light colours only, for renderers that know no media queries.
    #[cfg(feature = "png")]
    pub(crate) fn light(&self, id: &str, title: &str, description: &str) -> String {
        self.file(id, title, description, &palette::light_css())
    }

    fn file(&self, id: &str, title: &str, description: &str, css: &str) -> String {
        let style = format!("<style>\n{}</style>\n", escape_css(css));
        let at = coordinate(-MARGIN);
        let ground =
            format!("<rect class=\"ground\" x=\"{at}\" y=\"{at}\" width=\"100%\" height=\"100%\"/>\n");
        let svg = self.wrap(
            id,
            title,
            description,
            MARGIN,
            " xmlns=\"http://www.w3.org/2000/svg\"",
            &format!("{style}{ground}"),
        );
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{svg}\n")
    }

    /// The element with `margin` free pixels around the drawing.
    fn wrap(
        &self,
        id: &str,
        title: &str,
        description: &str,
        margin: f64,
        attributes: &str,
        head: &str,
    ) -> String {
        let [at, w, h] = [-margin, self.width + 2.0 * margin, self.height + 2.0 * margin].map(coordinate);
        format!(
            "<svg{attributes} class=\"chart\" viewBox=\"{at} {at} {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
             aria-labelledby=\"{id}--title {id}--desc\">\
             <title id=\"{id}--title\">{}</title><desc id=\"{id}--desc\">{}</desc>\n{head}{}</svg>",
            escape(title),
            escape(description),
            self.body
        )
    }
}

/// Path data under construction.
#[derive(Default)]
pub(crate) struct PathData(String);

impl PathData {
    /// Moves to the first point, draws a line to each further one.
    pub(crate) fn point(&mut self, x: f64, y: f64) {
        let command = if self.0.is_empty() || self.0.ends_with(['Z', ' ']) { 'M' } else { 'L' };
        let _ = write!(self.0, "{command}{} {}", coordinate(x), coordinate(y));
    }

    /// Lifts the pen: the next point starts a new stroke.
    pub(crate) fn lift(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with(['Z', ' ']) {
            self.0.push(' ');
        }
    }

    pub(crate) fn close(&mut self) {
        self.0.push('Z');
    }
}

/// A coordinate with at most two digits; a non-finite or huge one is clamped.
fn coordinate(value: f64) -> String {
    if value.is_nan() {
        return "0".to_owned();
    }
    let rounded = (value.clamp(-1e6, 1e6) * 100.0).round() / 100.0;
    // Adding zero turns -0 into 0.
    (rounded + 0.0).to_string()
}

/// XML-escapes the one character a style sheet can contain that matters inside `<style>`.
fn escape_css(css: &str) -> String {
    css.replace('&', "&amp;").replace('<', "&lt;")
}
