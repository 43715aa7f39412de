//! Tests of the heat chart: its cells, its data, and rows of a wrong length.

use report::{Chart, Format, HeatChart, Report, Section};

fn chart() -> HeatChart {
    HeatChart::new("Cycles", Format::Integer)
        .columns("Window", ["2", "3", "4"])
        .row("bow", [100.0, 200.0, 900.0])
        .row("corf", [100.0, f64::NAN, 500.0])
}

#[test]
fn every_value_is_a_cell_and_a_row_of_the_data() {
    let chart = Chart::from(chart());
    let svg = chart.to_svg(800.0);
    assert_eq!(svg.matches("<rect class=\"mark").count(), 6);
    for text in
        ["bow, 2\n100", "corf, 3\n–", "Heat chart of Cycles over Window, from 100 to 900; rows: bow, corf."]
    {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
    // The least value has the first colour of the ramp, the greatest the last.
    assert_eq!((svg.matches("mark fq0").count(), svg.matches("mark fq8").count()), (2, 1));
    assert_eq!(
        chart.data().to_csv(),
        "row,window,value\nbow,2,100\nbow,3,200\nbow,4,900\ncorf,2,100\ncorf,3,\ncorf,4,500\n"
    );
}

#[test]
fn a_row_of_another_length_is_refused() {
    let wrong = Report::new("x").section(Section::new("x").chart(chart().row("rfc", [1.0])));
    let why = wrong.to_html().expect_err("refused").to_string();
    assert!(why.contains("row \"rfc\"") && why.contains("heat chart"), "{why}");
}

#[test]
fn one_value_and_none_can_be_drawn() {
    let same = HeatChart::new("x", Format::Integer).columns("", ["a"]).row("r", [5.0]);
    assert!(Chart::from(same).to_svg(300.0).contains(">5<"));
    let empty = HeatChart::new("x", Format::Integer).columns("", ["a"]);
    assert!(Chart::from(empty).to_svg(300.0).contains("No data"));
}
