//! What ends up on disk: the promised files, the same bytes each time, nothing half-written, and
//! clear errors.

mod common;

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
    assert_eq!((written.svgs.len(), written.pngs.len()), (9, 9));
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
    assert_eq!(names, ["data.json"], "no temporary file is left");
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
