//! The page and its figures are well formed, self-contained, consistent with the data files, and
//! accessible; hostile names stay text.

use crate::common;

use std::collections::HashSet;

use common::{HOSTILE, ODD, everything, owned};
use report::{Axis, BarChart, Chart, Format, Line, LineChart, Report, Section, Series, StackedChart};
use roxmltree::Document;
use scraper::{Html, Selector};

fn select<'a>(page: &'a Html, selector: &str) -> Vec<scraper::ElementRef<'a>> {
    page.select(&Selector::parse(selector).expect("a valid selector")).collect()
}

fn ordinary() -> Report {
    everything(&owned(&["vectoradd", "matmul_tiled<32>", "bfs", "scan"]), &[1.02, 0.97, 1.31, 0.4, 12.0])
}

/// One report per hostile name, with that name in every place.
fn hostile() -> impl Iterator<Item = (String, Report)> {
    (0..HOSTILE.len()).map(|i| {
        let mut names = owned(&HOSTILE);
        names.rotate_left(i);
        (names[0].clone(), everything(&names, &ODD))
    })
}

#[test]
fn anchors_are_unique_and_every_reference_has_a_target() {
    for (_, report) in hostile().chain([(String::new(), ordinary())]) {
        let page = Html::parse_document(&report.to_html().expect("consistent"));
        assert!(page.errors.is_empty(), "{:?}", page.errors);
        let mut ids = HashSet::new();
        for element in select(&page, "[id]") {
            let id = element.value().id().expect("has one");
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
        }
        for link in select(&page, "a[href^='#']") {
            let target = &link.value().attr("href").expect("has one")[1..];
            assert!(ids.contains(target), "nothing is called {target}");
        }
        for attribute in ["aria-labelledby", "data-of"] {
            for element in select(&page, &format!("[{attribute}]")) {
                for id in element.value().attr(attribute).expect("has one").split(' ') {
                    assert!(ids.contains(id), "{attribute} names {id}");
                }
            }
        }
    }
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let html = ordinary().to_html().expect("consistent");
    let page = Html::parse_document(&html);
    assert!(select(&page, "link, img, iframe, object, embed, base, [src], [srcset]").is_empty());
    for foreign in ["@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "eval("] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    for link in select(&page, "a[href]") {
        let href = link.value().attr("href").expect("has one");
        assert!(href.starts_with('#') || href.starts_with("data:text/csv"), "{href}");
    }
}

#[test]
fn hostile_names_stay_text() {
    const ELEMENTS: [&str; 49] = [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "script",
        "body",
        "a",
        "div",
        "nav",
        "ol",
        "ul",
        "li",
        "button",
        "main",
        "header",
        "h1",
        "h2",
        "h3",
        "p",
        "dl",
        "dt",
        "dd",
        "section",
        "figure",
        "figcaption",
        "span",
        "strong",
        "code",
        "pre",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "label",
        "input",
        "aside",
        "footer",
        "svg",
        "g",
        "rect",
        "path",
        "line",
        "text",
    ];
    for (name, report) in hostile() {
        let html = report.to_html().expect("consistent");
        let page = Html::parse_document(&html);
        for element in select(&page, "*") {
            let element = element.value();
            let known = ELEMENTS.contains(&element.name()) || ["circle", "desc"].contains(&element.name());
            assert!(known, "an element {} came out of {name:?}", element.name());
            for (attribute, value) in element.attrs() {
                assert!(!attribute.starts_with("on"), "{attribute} came out of {name:?}");
                assert!(!value.trim_start().to_lowercase().starts_with("javascript:"), "{value}");
            }
        }
        assert_eq!(select(&page, "script").len(), 4, "{name:?}");
        let heading: String = select(&page, "h1")[0].text().collect();
        let printable =
            |text: &str| text.replace(|c: char| c.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&c), "");
        assert_eq!(printable(&heading).replace('\u{fffd}', ""), printable(&name).replace('\u{fffd}', ""));
    }
}

#[test]
fn embedded_data_equal_the_files() {
    for (name, report) in hostile() {
        let page = Html::parse_document(&report.to_html().expect("consistent"));
        let embedded: String = select(&page, "#report-data")[0].text().collect();
        let parsed: serde_json::Value = serde_json::from_str(&embedded).expect("valid JSON");
        assert_eq!(common::first_difference(&parsed, &report.to_json()), None, "{name:?}");
        let links = select(&page, "a[download]");
        let sets = report.data_sets();
        assert_eq!(links.len(), sets.len());
        for (link, set) in links.iter().zip(&sets) {
            let href = link.value().attr("href").expect("has one");
            let body = href.strip_prefix("data:text/csv;charset=utf-8,").expect("a data URI");
            assert_eq!(percent_decoded(body), set.table.to_csv());
            assert_eq!(link.value().attr("download"), Some(format!("{}.csv", set.id).as_str()));
            assert!(
                set.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{}",
                set.id
            );
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            out.push(u8::from_str_radix(&text[at + 1..at + 3], 16).expect("two hex digits"));
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn figures_are_labelled_xml_with_their_styles_inside() {
    for (name, _) in hostile() {
        for chart in common::charts(&owned(&[&name, "b"]), &owned(&[&name, "t"]), &[1.0, 2.5, -1.0]) {
            let svg = chart.to_svg(700.0);
            let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{name:?}: {error}\n{svg}"));
            let root = document.root_element();
            assert_eq!(root.attribute("role"), Some("img"));
            let child = |tag| root.children().find(|n| n.has_tag_name(("http://www.w3.org/2000/svg", tag)));
            for id in root.attribute("aria-labelledby").expect("labelled").split(' ') {
                assert!(root.children().any(|n| n.attribute("id") == Some(id)));
            }
            assert!(child("style").is_some_and(|style| !style.text().unwrap_or("").contains("var(")));
            assert!(
                child("desc").and_then(|d| d.text()).is_some_and(|text| !text.is_empty()) || name.is_empty()
            );
            let foreign =
                document.descendants().find(|n| ["script", "image", "use"].contains(&n.tag_name().name()));
            assert!(foreign.is_none(), "{name:?}");
        }
    }
}

/// A section's parts that open on demand are in the navigation, folded, under the section.
#[test]
fn entries_are_listed_under_their_section() {
    let section = Section::new("Studies")
        .entry("study-a", "A", "40 % of all", |entry| entry.text("first"))
        .entry("study-b", "B", "", |entry| entry.text("second"));
    let html = Report::new("r").section(Section::new("Other").text("x")).section(section).to_html();
    let page = Html::parse_document(&html.expect("consistent"));
    let parts = select(&page, "nav li details");
    assert_eq!(parts.len(), 1, "only one section has parts");
    assert!(parts[0].value().attr("open").is_none());
    let links: Vec<_> =
        select(&page, "nav details a").iter().map(|a| a.value().attr("href").map(str::to_owned)).collect();
    assert_eq!(links, [Some("#study-a".to_owned()), Some("#study-b".to_owned())]);
    for id in ["study-a", "study-b"] {
        let entry = select(&page, &format!("details.entry#{id}"));
        assert_eq!(entry.len(), 1, "{id}");
        assert!(entry[0].value().attr("open").is_none(), "{id} is folded");
    }
    let summary: String = select(&page, "#study-a > summary")[0].text().collect();
    assert_eq!(summary, "A40 % of all");
}

fn lines(count: usize) -> LineChart {
    let chart = LineChart::new("Lines", Axis::new("x", Format::Integer), Axis::new("y", Format::Integer));
    let line = |k: usize| Line::new(format!("line {k}"), (0..5).map(move |x| (f64::from(x), k as f64)));
    (0..count).fold(chart, |chart, k| chart.line(line(k)))
}

/// More lines than one can tell apart get a plot each, with the same axes and without a legend.
#[test]
fn many_lines_become_small_multiples() {
    let few = Chart::from(lines(6)).to_svg(960.0);
    assert_eq!((few.matches("class=\"panel\"").count(), few.matches("class=\"key\"").count()), (0, 6));
    let many = Chart::from(lines(11)).to_svg(960.0);
    assert_eq!((many.matches("class=\"panel\"").count(), many.matches("class=\"key\"").count()), (11, 0));
    let document = Document::parse(&many).expect("XML");
    let height: f64 =
        document.root_element().attribute("height").and_then(|h| h.parse().ok()).expect("a height");
    let named = |class: &'static str| {
        document.descendants().filter(move |node| node.attribute("class") == Some(class))
    };
    let titles: Vec<_> = named("panel").map(|node| node.text().unwrap_or_default()).collect();
    assert!(
        titles.iter().enumerate().all(|(k, title)| title.starts_with(&format!("line {k}"))),
        "{titles:?}"
    );
    let bottom =
        named("panel").filter_map(|node| node.attribute("y")?.parse::<f64>().ok()).fold(0.0, f64::max);
    assert!(bottom < height, "every plot is within the picture");
    // Each plot shows the other ten lines behind its own.
    assert_eq!(named("series behind").count(), 11 * 10);
    assert_eq!(many.matches("<g class=\"s\"").count(), 11);
}

/// A number that a bar's height says already is left out; the mean always has its own.
#[test]
fn bars_at_the_reference_have_no_number() {
    let chart = BarChart::new("Speedup", Axis::new("Speedup", Format::Ratio(2)))
        .categories("Trace", ["a", "b", "c"])
        .series(Series::new("bow", [1.0, 1.251, 1.004]))
        .diverging(1.0)
        .geometric_mean();
    let svg = Chart::from(chart).to_svg(960.0);
    let document = Document::parse(&svg).expect("XML");
    let labels = document.descendants().filter(|node| node.attribute("class") == Some("label"));
    let labels: Vec<_> = labels.map(|node| node.text().unwrap_or_default()).collect();
    assert_eq!(labels, ["×1.25", "×1.0040", "×1.0789"]);
}

/// Numbers that have to stand upright are those of the extremes and of the mean.
#[test]
fn upright_numbers_are_those_of_the_extremes() {
    let names: Vec<String> = (0..12).map(|k| format!("trace {k}")).collect();
    let values =
        |offset: f64| (0..12).map(move |k| if k < 11 { offset + f64::from(k) } else { offset + 5.0 });
    let chart = BarChart::new("Reads", Axis::new("Reads", Format::Float(2)))
        .categories("Trace", &names)
        .series(Series::new("rising", values(10.0)))
        .series(Series::new("level", (0..12).map(|_| 7.0)))
        .mean_last();
    let svg = Chart::from(chart).to_svg(500.0);
    let document = Document::parse(&svg).expect("XML");
    let labels = document.descendants().filter(|node| node.attribute("class") == Some("label"));
    let labels: Vec<_> = labels.map(|node| node.text().unwrap_or_default()).collect();
    assert_eq!(labels, ["10.00", "20.00", "15.00", "7.00"]);
}

/// Of a stack only the parts are labelled that are a tenth of it or more.
#[test]
fn small_parts_of_a_stack_have_no_number() {
    let chart = StackedChart::new("Slots", Axis::new("Slots", Format::Integer))
        .categories("Trace", ["a", "b"])
        .series(Series::new("large", [91.0, 60.0]))
        .series(Series::new("small", [9.0, 40.0]))
        .height(400.0)
        .shares();
    let svg = Chart::from(chart).to_svg(500.0);
    let document = Document::parse(&svg).expect("XML");
    let labels = document
        .descendants()
        .filter(|node| node.attribute("class").is_some_and(|class| class.starts_with("on ")));
    let labels: Vec<_> = labels.filter_map(|node| node.text()).collect();
    assert_eq!(labels, ["91", "60", "40"]);
}
