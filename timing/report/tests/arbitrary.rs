//! Arbitrary names and numbers: nothing panics, no coordinate is anything but a finite number, CSV
//! reads back exactly, and equal input gives equal bytes.

use crate::common;

use common::{HOSTILE, ODD, charts, everything};
use proptest::collection::vec;
use proptest::prelude::*;
use report::{Cell, Format};
use roxmltree::Document;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => -2.0..2.0f64,
        2 => any::<f64>(),
        2 => proptest::sample::select(ODD.to_vec()),
        1 => (0u32..1_000_000).prop_map(f64::from),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[a-z_]{1,12}",
        1 => any::<String>(),
        1 => proptest::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        1 => "[a-z_<>:, 0-9]{40,200}",
    ]
}

/// Every number in geometry attributes and path data must be finite and near the drawing.
fn check_geometry(svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        for attribute in node.attributes() {
            let numeric = [
                "x",
                "y",
                "x1",
                "y1",
                "x2",
                "y2",
                "cx",
                "cy",
                "r",
                "rx",
                "d",
                "viewBox",
                "transform",
                "data-x",
            ];
            let size = ["width", "height"].contains(&attribute.name()) && !attribute.value().ends_with('%');
            if !numeric.contains(&attribute.name()) && !size {
                continue;
            }
            let separators = |c: char| !(c.is_ascii_digit() || c == '.' || c == '-');
            let words = attribute.value().split(separators).filter(|word| !word.is_empty());
            for word in words {
                let value: f64 = word.parse().unwrap_or_else(|_| panic!("{}: {word}", attribute.value()));
                assert!(value.abs() < 100_000.0, "{} = {}", attribute.name(), attribute.value());
                assert!(
                    !size || value > 0.0 || node.tag_name().name() == "rect",
                    "{} = {value}",
                    attribute.name()
                );
            }
            let letters = attribute.value().replace("rotate", "");
            assert!(!letters.contains("NaN") && !letters.contains("inf"), "{}", attribute.value());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn charts_draw_anything(
        categories in vec(name(), 0..9),
        series in vec(name(), 0..13),
        values in vec(number(), 1..40),
        width in prop_oneof![200.0..1400.0f64, number()],
    ) {
        for chart in charts(&categories, &series, &values) {
            check_geometry(&chart.to_svg(width));
        }
    }

    #[test]
    fn many_categories_and_points_draw(count in 10usize..400, values in vec(number(), 1..400)) {
        let categories: Vec<_> = (0..count).map(|i| format!("kernel_{i}")).collect();
        for chart in charts(&categories, &["a".to_owned(), "b".to_owned()], &values) {
            check_geometry(&chart.to_svg(900.0));
        }
    }

    #[test]
    fn reports_render_and_are_deterministic(names in vec(name(), 1..7), values in vec(number(), 1..30)) {
        let html = everything(&names, &values).to_html().expect("consistent");
        prop_assert_eq!(&html, &everything(&names, &values).to_html().expect("consistent"));
        prop_assert!(!html.contains("NaN") || names.iter().any(|n| n.contains("NaN")));
    }

    #[test]
    fn csv_reads_back_exactly(names in vec(name(), 1..7), values in vec(number(), 1..30)) {
        let table = common::table(&names, &values);
        let text = table.to_csv();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let keys = table.keys();
        prop_assert_eq!(reader.headers().expect("a header"), &csv::StringRecord::from(keys.clone()));
        prop_assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), keys.len());
        let records: Vec<_> = reader.records().map(|record| record.expect("well formed")).collect();
        prop_assert_eq!(records.len(), table.rows().len());
        for (record, row) in records.iter().zip(table.rows()) {
            for (field, cell) in record.iter().zip(row) {
                match cell {
                    // What a spreadsheet would take for a formula begins with an apostrophe.
                    Cell::Text(text) => prop_assert_eq!(field, warplab_host::text::cell(text)),
                    Cell::Number(value) if value.is_finite() => {
                        prop_assert_eq!(field.parse::<f64>().expect("a number").to_bits(), value.to_bits());
                    }
                    _ => prop_assert_eq!(field, ""),
                }
            }
        }
    }

    #[test]
    fn formats_write_something_short(value in number(), digits in any::<u8>()) {
        let formats = [
            Format::Integer, Format::Float(digits), Format::Percent(digits), Format::Change(digits),
            Format::Ratio(digits), Format::Si, Format::Bytes,
        ];
        for format in formats {
            let text = format.show_with_unit(value, "cycles");
            prop_assert!(!text.is_empty() && text.chars().count() < 60, "{} of {}: {}", format!("{format:?}"), value, text);
            prop_assert!(!text.contains("NaN") && !text.contains("inf"));
        }
    }
}
