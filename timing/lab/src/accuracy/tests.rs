//! The list and its tables are complete, and our columns are those that were measured.

use super::reference::{TABLES, read};
use super::{Grouping, page, references, to_json, to_text};

#[test]
fn every_table_is_listed_once_and_has_its_columns() {
    let all = references().expect("the list");
    let mut listed: Vec<&str> = all.iter().map(|one| one.file.as_str()).collect();
    let mut compiled: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    compiled.sort_unstable();
    assert_eq!(listed, compiled);
    for one in &all {
        assert!(one.columns[0].revision.is_some(), "{}: our columns come first", one.id);
        let unused =
            one.causes.iter().enumerate().find(|(at, _)| one.rows.iter().all(|row| row.cause != Some(*at)));
        assert!(unused.is_none(), "{}: no row has the cause {unused:?}", one.id);
    }
    let rows: Vec<(&str, usize)> = all.iter().map(|one| (one.id.as_str(), one.rows.len())).collect();
    assert_eq!(
        rows,
        [
            ("base-clock", 47),
            ("boost-clock", 8),
            ("boost-clock-programs", 25),
            ("simulators", 11),
            ("microbenchmarks-qv100", 44),
            ("microbenchmarks-rtx2060", 23),
            ("microbenchmarks-rtxa6000", 33),
            ("microbenchmarks-a100", 40),
        ]
    );
}

/// A table that was edited by hand, or measured again without saying so, has another hash than the list.
#[test]
fn our_columns_have_the_hash_of_the_list() {
    let wrong: Vec<String> = references()
        .expect("the list")
        .iter()
        .filter(|one| one.hash != one.measured_hash())
        .map(|one| format!("{}: {} has the hash {:?}", one.id, one.file, one.measured_hash()))
        .collect();
    assert!(
        wrong.is_empty(),
        "measured again? Set hash and revision in references.toml:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn groups_hold_every_row_once() {
    for one in references().expect("the list") {
        for by in Grouping::ALL {
            let groups = one.groups(by);
            assert_eq!(
                groups.iter().map(|group| group.rows).sum::<usize>(),
                one.rows.len(),
                "{} {by:?}",
                one.id
            );
            assert!(groups.iter().all(|group| group.figures.len() == one.columns.len()));
        }
        let sizes = one.groups(Grouping::Size);
        assert!(sizes.windows(2).all(|pair| pair[0].name != pair[1].name));
    }
}

const LIST: &str = r#"
[[reference]]
id = "x"
title = "X"
file = "x.csv"
against = "silicon"
gpu = "G"
clock = "1 MHz"
programs = "p"
source = "s"
ours = "o"
reference = "theirs"
names = ["kernel"]
fitted = "no"
fitted_on = "nothing"
hash = ""
columns = [{ name = "own", column = "mine", revision = "1", about = "a" }, { name = "Other", column = "other", about = "b" }]
causes = [{ cause = "c", kernels = ["k2"] }]
"#;

#[test]
fn errors_are_of_programs_sizes_and_causes() {
    let table = "# c\nprogram,kernel,mine,theirs,other\np,k,50,100,100\np,k2,6000,5001,1\nq,k,90000,60000,60000\nq,none,1,,1\n";
    let found = read(LIST, &[("x.csv", table)]).expect("a reference");
    let names =
        |by| found[0].groups(by).into_iter().map(|group| (group.name, group.rows)).collect::<Vec<_>>();
    assert_eq!(names(Grouping::Program), [("p".into(), 2), ("q".into(), 1)]);
    let sizes = ["up to 5 000 cycles", "5 000 to 50 000 cycles", "over 50 000 cycles"]
        .map(|name| (name.to_owned(), 1));
    assert_eq!(names(Grouping::Size), sizes);
    assert_eq!(names(Grouping::Cause), [("c".into(), 1), ("no cause known".into(), 2)]);
    let q = &found[0].groups(Grouping::Program)[1].figures;
    assert!((q[0].mean_error - 0.5).abs() < 1e-12 && q[1].mean_error == 0.0);
    let text = to_text(&found, true);
    assert!(text.contains("Used for fitting: no: nothing") && text.contains("k2"), "{text}");
    let json = to_json(&found);
    assert_eq!(json["references"][0]["by_program"][1]["figures"][0]["within_30_percent"], 0);
    assert_eq!(json["references"][0]["rows"][1]["cause"], "c");
    let made = page(&found, "name");
    assert!(made.text.contains("(name-x.svg)") && made.charts[0].1.contains("<svg"), "{}", made.text);
    // The hash covers our columns and the names of rows, and no others.
    let hash = |table: &str| read(LIST, &[("x.csv", table)]).expect("a reference")[0].measured_hash();
    assert_eq!(hash(table), hash(&table.replace(",100,100", ",100,99")));
    assert_ne!(hash(table), hash(&table.replace("k,50", "k,51")));
}

#[test]
fn wrong_lists_and_tables_are_errors_with_a_place() {
    let told = |list: &str, table: &str| read(list, &[("x.csv", table)]).unwrap_err().to_string();
    assert!(told("x = 1", "").starts_with("references.toml: "));
    assert_eq!(told(&LIST.replace("x.csv", "y.csv"), ""), "references.toml: x: there is no table y.csv");
    assert_eq!(told(LIST, "program,kernel,mine,other\n"), "x.csv: there is no column theirs");
    assert_eq!(told(LIST, "program,kernel,mine,theirs,other\n"), "x.csv: there are no rows");
    let wrong = told(LIST, "program,kernel,mine,theirs,other\np,k,-1,2,3\n");
    assert_eq!(wrong, "x.csv: p,k,-1,2,3: -1 is no number of cycles");
    let unequal = told(LIST, "program,kernel,mine,theirs,other\np,k\n");
    assert!(unequal.starts_with("x.csv: "), "{unequal}");
}
