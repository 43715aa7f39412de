//! The colours of page and charts, for light and dark surroundings, and the style sheets made of
//! them.
//!
//! Style sheets say `var(--name)`; the page defines the variables, while a standalone SVG gets the
//! values substituted (many SVG renderers know no variables). The ten series colours were chosen so
//! that any two of the first eight stay apart under protanopia, deuteranopia and tritanopia; the
//! tests measure that.

use std::fmt::Write as _;

const PAGE_CSS: &str = include_str!("../assets/page.css");
const CHART_CSS: &str = include_str!("../assets/chart.css");

/// Number of distinct categorical colours; later series reuse them, lightened.
pub(crate) const SLOTS: usize = 10;
/// Number of steps of the sequential ramp.
pub(crate) const STEPS: usize = 9;

/// Categorical series colours: (light, dark).
const SERIES: [(&str, &str); SLOTS] = [
    ("#406dd6", "#5a70f0"),
    ("#cc7f0e", "#f3c04a"),
    ("#49a998", "#3fd2bd"),
    ("#9b5456", "#bf7488"),
    ("#4f2f8c", "#93529f"),
    ("#4fbdf5", "#6fa3ee"),
    ("#bdb83c", "#a0a11a"),
    ("#65301e", "#b54a1a"),
    ("#f57fc6", "#e3bbf7"),
    ("#757994", "#8ba8ba"),
];

/// Sequential ramp from little to much: (light, dark).
const RAMP: [(&str, &str); STEPS] = [
    ("#c9dff0", "#26405f"),
    ("#a9cbe6", "#2d5480"),
    ("#86b4dc", "#376aa0"),
    ("#659ad0", "#4581bb"),
    ("#4a80c0", "#5b99cf"),
    ("#3767ab", "#79b0de"),
    ("#284f91", "#9bc6e9"),
    ("#1b3974", "#bedbf2"),
    ("#102557", "#e0eefa"),
];

/// Named colours of page and chart furniture: (name, light, dark).
const NAMED: [(&str, &str, &str); 20] = [
    ("page", "#f6f7f8", "#101316"),
    ("surface", "#ffffff", "#181c20"),
    ("raised", "#f1f3f5", "#21262c"),
    ("band", "#f3f5f7", "#1f242a"),
    ("ink", "#191d21", "#e7eaed"),
    ("soft", "#454c54", "#bcc3ca"),
    ("muted", "#626a73", "#949da6"),
    ("line", "#dfe3e7", "#2d343b"),
    ("grid", "#e8ebee", "#2a3037"),
    ("axis", "#9aa2aa", "#5f6973"),
    ("accent", "#2c5cc5", "#8aa5f5"),
    ("tint", "#eaf0fc", "#1d2740"),
    ("heat", "#d9832b", "#e39a45"),
    ("good", "#137a4b", "#4ecb8f"),
    ("bad", "#b3362f", "#f08378"),
    ("warn", "#8f5a00", "#edb54a"),
    ("neutral", "#a3abb4", "#737e89"),
    ("keyword", "#7a3ea8", "#c79bf0"),
    ("string", "#157347", "#7fcf9f"),
    ("comment", "#636c75", "#8b949d"),
];

/// Which paint a series or segment uses; becomes a class suffix in the SVG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Categorical colour by position; positions past the last reuse colours, lightened.
    Slot(usize),
    /// Step of the sequential ramp.
    Step(usize),
    /// Grey, for baselines and remainders.
    Neutral,
}

impl Paint {
    /// Step for position `index` of `count`, spread over the whole ramp.
    pub(crate) fn ramp(index: usize, count: usize) -> Self {
        if count < 2 {
            Self::Step(STEPS / 2)
        } else {
            Self::Step(index.min(count - 1) * (STEPS - 1) / (count - 1))
        }
    }

    /// Suffix shared by the fill (`f…`), stroke (`l…`) and text-upon (`t…`) classes.
    fn suffix(self) -> String {
        match self {
            Self::Slot(slot) => (slot % SLOTS).to_string(),
            Self::Step(step) => format!("q{}", step.min(STEPS - 1)),
            Self::Neutral => "n".to_owned(),
        }
    }

    fn alternate(self) -> &'static str {
        match self {
            Self::Slot(slot) if slot >= SLOTS => " alt",
            _ => "",
        }
    }

    /// Classes that fill a shape.
    pub(crate) fn fill(self) -> String {
        format!("f{}{}", self.suffix(), self.alternate())
    }

    /// Classes that stroke a line.
    pub(crate) fn stroke(self) -> String {
        format!("l{}{}", self.suffix(), self.alternate())
    }

    /// Class of text lying on this paint.
    pub(crate) fn text_upon(self) -> String {
        if self.alternate().is_empty() { format!("t{}", self.suffix()) } else { "label".to_owned() }
    }
}

/// Every variable: (name, light value, dark value).
fn variables() -> Vec<(String, &'static str, &'static str)> {
    let mut all: Vec<_> = NAMED.iter().map(|&(n, l, d)| (n.to_owned(), l, d)).collect();
    let mut painted = |suffix: String, light: &'static str, dark: &'static str| {
        all.push((format!("on-{suffix}"), upon(light), upon(dark)));
        all.push((format!("s-{suffix}"), light, dark));
    };
    for (i, &(light, dark)) in SERIES.iter().enumerate() {
        painted(i.to_string(), light, dark);
    }
    for (i, &(light, dark)) in RAMP.iter().enumerate() {
        painted(format!("q{i}"), light, dark);
    }
    let (_, light, dark) = NAMED[16];
    painted("n".to_owned(), light, dark);
    all
}

/// The page's whole style sheet: variables for both themes, page rules, chart rules.
pub(crate) fn page_css() -> String {
    let list = |dark: bool| {
        let scheme = if dark { "dark" } else { "light" };
        variables().iter().fold(format!("color-scheme:{scheme};"), |mut css, (name, l, d)| {
            let _ = write!(css, "--{name}:{};", if dark { d } else { l });
            css
        })
    };
    let (light, dark) = (list(false), list(true));
    format!(
        ":root{{{light}}}\n\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
         :root[data-theme=dark]{{{dark}}}\n\
         @media print{{:root:root:root{{{light}}}}}\n\
         {PAGE_CSS}\n{}",
        chart_rules()
    )
}

/// Chart rules with the light colours put in, and the dark ones behind a media query.
pub(crate) fn standalone_css() -> String {
    let rules = chart_rules();
    let (mut light, mut dark) = (rules.clone(), rules);
    for (name, l, d) in variables() {
        let reference = format!("var(--{name})");
        light = light.replace(&reference, l);
        dark = dark.replace(&reference, d);
    }
    format!("{light}\n@media (prefers-color-scheme:dark){{\n{dark}}}\n")
}

/// Chart rules with the light colours put in.
#[cfg(feature = "png")]
pub(crate) fn light_css() -> String {
    variables()
        .iter()
        .fold(chart_rules(), |css, (name, light, _)| css.replace(&format!("var(--{name})"), light))
}

/// The chart style sheet with one fill, stroke and text rule per paint.
fn chart_rules() -> String {
    let mut css = CHART_CSS.to_owned();
    let suffixes = (0..SLOTS).map(|i| i.to_string()).chain((0..STEPS).map(|i| format!("q{i}")));
    for suffix in suffixes.chain(["n".to_owned()]) {
        let _ = writeln!(
            css,
            ".f{suffix}{{fill:var(--s-{suffix})}}.l{suffix}{{stroke:var(--s-{suffix})}}\
             .chart .t{suffix}{{fill:var(--on-{suffix})}}"
        );
    }
    css
}

/// Black or white, whichever reads better on the colour.
fn upon(hex: &str) -> &'static str {
    let luminance = luminance(linear(hex));
    // Contrast against white and against the near-black used for text (luminance 0.008).
    if 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.058 { "#ffffff" } else { "#14171a" }
}

/// Linear-light RGB of `#rrggbb`; unreadable digits count as zero.
fn linear(hex: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| {
        let byte = hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()).unwrap_or(0);
        let c = f64::from(byte) / 255.0;
        if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    })
}

fn luminance([r, g, b]: [f64; 3]) -> f64 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

#[cfg(test)]
mod tests {
    use super::*;

    type Matrix = [[f64; 3]; 3];

    /// Full-severity colour vision deficiency in linear RGB (Machado et al. 2009, Table 1).
    const DEFICIENCIES: [(&str, Matrix); 4] = [
        ("none", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    fn times(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
        m.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum())
    }

    /// OKLab coordinates (Ottosson 2020), in which distance is perceived difference.
    fn oklab(rgb: [f64; 3]) -> [f64; 3] {
        let lms = times(
            &[
                [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
                [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
                [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
            ],
            rgb,
        );
        times(
            &[
                [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
                [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
                [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
            ],
            lms.map(f64::cbrt),
        )
    }

    fn distance(a: &str, b: &str, deficiency: &Matrix) -> f64 {
        let see = |hex| oklab(times(deficiency, linear(hex)).map(|c| c.clamp(0.0, 1.0)));
        see(a).iter().zip(see(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn the_first_eight_series_stay_apart_for_every_kind_of_colour_vision() {
        for dark in [false, true] {
            let colours = SERIES.map(|(l, d)| if dark { d } else { l });
            for (name, matrix) in &DEFICIENCIES {
                for i in 0..8 {
                    for j in 0..i {
                        let apart = distance(colours[i], colours[j], matrix);
                        assert!(apart > 0.08, "{name} dark={dark}: series {j} and {i} are {apart:.3} apart");
                    }
                }
            }
        }
    }

    #[test]
    fn text_meets_wcag_contrast_on_its_ground() {
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(linear(a)) + 0.05, luminance(linear(b)) + 0.05);
            a.max(b) / a.min(b)
        };
        let find = |name: &str| NAMED.iter().find(|n| n.0 == name).map(|n| (n.1, n.2)).unwrap();
        let texts = ["ink", "soft", "muted", "accent", "good", "bad", "warn", "keyword", "string", "comment"];
        for ground in ["page", "surface"] {
            for text in texts {
                let ((tl, td), (gl, gd)) = (find(text), find(ground));
                assert!(contrast(tl, gl) >= 4.5, "{text} on {ground}, light: {:.2}", contrast(tl, gl));
                assert!(contrast(td, gd) >= 4.5, "{text} on {ground}, dark: {:.2}", contrast(td, gd));
            }
        }
        for (light, dark) in SERIES.iter().chain(&RAMP) {
            assert!(
                contrast(light, upon(light)) >= 4.0 && contrast(dark, upon(dark)) >= 4.0,
                "{light} {dark}"
            );
        }
    }

    #[test]
    fn no_variable_is_left_in_a_standalone_sheet() {
        assert!(!standalone_css().contains("var("));
        let page = page_css();
        for reference in page.split("var(--").skip(1) {
            let name = &reference[..reference.find([')', ',']).unwrap()];
            let set = ["w", "h", "natural"].contains(&name) || page.contains(&format!("--{name}:"));
            assert!(set, "--{name} is used but never defined");
        }
    }
}
