//! What ends up on disk: the promised files, the same bytes each time, nothing half-written, and
//! clear errors.

use crate::common;

use std::fs;
use std::path::Path;

use common::{HOSTILE, ODD, everything, owned};
use report::{
    Axis, BarChart, Column, Error, Format, Histogram, Report, Section, Series, SourceListing, Table, cells,
};

fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below").to_string_lossy().into_owned();
                found.push((name, fs::read(path).expect("readable")));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn two_runs_write_the_same_files_and_leave_nothing_else() {
    let (first, second) = (tempfile::tempdir().expect("temp"), tempfile::tempdir().expect("temp"));
    let report = || everything(&owned(&HOSTILE), &ODD);
    let written = report().write(first.path()).expect("writes");
    report().write(second.path()).expect("writes");
    // Writing over an earlier report must work as well.
    report().write(second.path()).expect("writes again");
    assert_eq!(contents(first.path()), contents(second.path()));
    let tables = written.csvs.len() + written.parquets.len();
    let expected = 2 + tables + written.svgs.len() + written.pngs.len();
    assert_eq!(contents(first.path()).len(), expected);
    assert_eq!(written.csvs.len(), report().data_sets().len());
    assert_eq!(written.parquets.len(), written.csvs.len());
    assert_eq!((written.svgs.len(), written.pngs.len()), (11, 11));
    let json = fs::read_to_string(&written.json).expect("readable");
    let read: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(common::first_difference(&read, &report().to_json()), None);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().expect("temp");
    let file = dir.path().join("taken");
    fs::write(&file, "a file").expect("writes");
    let error = Report::new("t").write(&file).expect_err("a file is no folder");
    assert!(matches!(&error, Error::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("taken"), "{error}");

    fs::create_dir_all(dir.path().join("out/index.html")).expect("creates");
    let error = Report::new("t").write(dir.path().join("out")).expect_err("a folder is in the way");
    assert!(error.to_string().contains("index.html"), "{error}");
    let names: Vec<_> = contents(&dir.path().join("out")).into_iter().map(|f| f.0).collect();
    assert!(names.is_empty(), "{names:?} is left");
}

#[test]
fn contradictions_are_named_before_anything_is_written() {
    let dir = tempfile::tempdir().expect("temp");
    let out = dir.path().join("out");
    let refused = |section: Section| {
        let error = Report::new("r").section(section).write(&out).expect_err("contradicts itself");
        assert!(!out.exists());
        error.to_string()
    };
    let axis = || Axis::new("IPC", Format::Float(2));
    let short =
        BarChart::new("Speed", axis()).categories("Kernel", ["a", "b"]).series(Series::new("bow", [1.0]));
    assert_eq!(
        refused(Section::new("s").chart(short)),
        "bar chart \"Speed\": series \"bow\" has 1 values, but 2 are needed"
    );
    let table =
        Table::new("T", [Column::text("A"), Column::integer("B")]).row(cells!["x", 1]).row(cells!["y"]);
    assert_eq!(
        refused(Section::new("s").details("d", |d| d.table(table))),
        "table \"T\": row 2 has 1 cells, but 2 are needed"
    );
    let edges = Histogram::new("H", axis(), [0.0, 2.0, f64::NAN], [1.0, 2.0]);
    assert!(refused(Section::new("s").chart(edges)).contains("edge 2"));
    let listing = SourceListing::new("L").column("Cycles", Format::Si).line(7, "x", [1.0, 2.0]);
    assert!(refused(Section::new("s").source(listing)).contains("line 7"));
}

#[test]
fn a_chart_gives_its_numbers_and_its_mean() {
    let chart = BarChart::new("Speed", Axis::new("Speedup", Format::Ratio(2)))
        .categories("Kernel", ["scan", "bfs<int>"])
        .series(Series::new("bow", [1.0, 4.0]))
        .series(Series::new("bow", [0.5, f64::NAN]))
        .geometric_mean();
    let report = Report::new("r").section(Section::new("s").chart(chart));
    let data = &report.data_sets()[0];
    assert_eq!(data.table.to_csv(), "kernel,bow,bow_2\nscan,1,0.5\nbfs<int>,4,\n");
    let json = &report.to_json()["data"][0];
    assert_eq!(json["rows"], serde_json::json!([["scan", 1.0, 0.5], ["bfs<int>", 4.0, null]]));
    assert_eq!(json["summary"][0][1], 2.0);
    assert_eq!(json["columns"][1]["kind"], "ratio");
}

#[test]
fn parquet_files_hold_every_cell_with_its_type() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    let columns = [
        Column::text("Kernel"),
        Column::integer("Reads"),
        Column::percent("Bypassed", 1),
        Column::integer("Huge"),
        Column::integer("Nothing"),
        Column::text("Kernel"),
    ];
    let none = Option::<u64>::None;
    let table = Table::new("t", columns)
        .row(cells!["scan, \"é\"", i64::MAX, 0.1, u64::MAX, none, "a"])
        .row(cells![none, i64::MIN, f64::NAN, 1u8, none, ""])
        .row(cells!["", none, -0.0, none, none, "c"])
        .summary(cells!["not a row", 1u8, 1.0, 1u8, none, ""]);
    let bytes = table.to_parquet().expect("encodes");
    assert_eq!(bytes, table.to_parquet().expect("encodes"));
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
    let rows: Vec<Vec<(String, Field)>> =
        reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").into_columns()).collect();
    let text = |text: &str| Field::Str(text.to_owned());
    let names: Vec<&str> = rows[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["kernel", "reads", "bypassed", "huge", "nothing", "kernel_2"]);
    let values = |row: usize| rows[row].iter().map(|(_, field)| field.clone()).collect::<Vec<_>>();
    let huge = Field::Double(18_446_744_073_709_551_615.0);
    assert_eq!(
        values(0),
        [text("scan, \"é\""), Field::Long(i64::MAX), Field::Double(0.1), huge, Field::Null, text("a")]
    );
    let one = Field::Double(1.0);
    assert_eq!(values(1), [Field::Null, Field::Long(i64::MIN), Field::Null, one, Field::Null, text("")]);
    assert_eq!(values(2), [text(""), Field::Null, Field::Double(-0.0), Field::Null, Field::Null, text("c")]);
    assert_eq!(rows.len(), 3);
    let empty = Table::new("t", [Column::text("Kernel")]).to_parquet().expect("encodes");
    let reader = SerializedFileReader::new(bytes::Bytes::from(empty)).expect("a Parquet file");
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn pictures_are_as_large_as_their_drawings_and_not_empty() {
    let chart = |value: f64| -> report::Chart {
        BarChart::new("Speedup", Axis::new("Speedup", Format::Ratio(2)))
            .categories("Kernel", ["scan", "bfs"])
            .series(Series::new("bow", [value, 1.0]))
            .into()
    };
    let decode = |png: Vec<u8>| resvg::tiny_skia::Pixmap::decode_png(&png).expect("a PNG");
    let one = decode(chart(1.0).to_png(600.0).expect("renders"));
    let svg = chart(1.0).to_svg(600.0);
    let side = |name: &str| -> f64 {
        let at = svg.find(&format!(" {name}=\"")).expect(name) + name.len() + 3;
        svg[at..].split('"').next().expect("a value").parse().expect("a number")
    };
    assert_eq!(
        (f64::from(one.width()), f64::from(one.height())),
        ((2.0 * side("width")).ceil(), (2.0 * side("height")).ceil())
    );
    let count = |picture: &resvg::tiny_skia::Pixmap, colour: [u8; 3]| {
        picture.pixels().iter().filter(|p| [p.red(), p.green(), p.blue()] == colour).count()
    };
    // The first series' light colour fills the bars, on white.
    let blue = [0x40, 0x6d, 0xd6];
    let half = decode(chart(0.5).to_png(600.0).expect("renders"));
    assert!(count(&one, [255; 3]) > one.pixels().len() / 2);
    let (both, less) = (count(&one, blue) as f64, count(&half, blue) as f64);
    assert!((less / both - 0.75).abs() < 0.02, "one bar of two is half as high: {less} of {both}");
}
