//! Two documents, compared as one would by hand.

use super::*;
use serde_json::json;

fn replay(cycles: u64, reads: u64) -> Value {
    json!({
        "config": "small",
        "ratio": null,
        "traces": [{
            "trace": "a.wtrace",
            "cycles": cycles,
            "launches": [
                { "kernel": "k", "launch": 0, "cycles": 10, "stalls": { "issued": 4 } },
                { "kernel": "k", "launch": 1, "cycles": cycles - 10, "rf_reads": reads },
            ],
        }],
    })
}

#[test]
fn what_changes_by_more_than_the_threshold_is_listed_the_worst_first() {
    let found = compare(&replay(100, 1000), &replay(110, 1005), 0.01);
    let paths: Vec<&str> = found.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["traces / a / launches / k 1 / cycles", "traces / a / cycles"]);
    assert!((found.changes[0].relative() - 10.0 / 90.0).abs() < 1e-12);
    assert!((found.changes[1].relative() - 0.1).abs() < 1e-12);
    // cycles twice, two launches' cycles, one stall, one count of reads, of which the last differs by 0.5 %.
    assert_eq!((found.numbers, found.within), (5, 1));
    assert!(!found.is_same());
    assert!(compare(&replay(100, 1000), &replay(100, 1000), 0.0).is_same());
}

#[test]
fn moved_rows_are_the_same_rows() {
    let table = |rows: Value| {
        json!({ "data": [{ "id": "speedup", "label": "Figure 1", "columns": [
            { "key": "kernel", "kind": "text" }, { "key": "bow", "kind": "ratio" } ], "rows": rows }] })
    };
    let before = table(json!([["scan", 1.0], ["bfs", 1.5], ["bfs", 2.0]]));
    let moved = table(json!([["bfs", 1.5], ["bfs", 2.0], ["scan", 1.25]]));
    let found = compare(&before, &moved, 0.01);
    let only = Change { path: "data / speedup / scan / bow".into(), before: 1.0, after: 1.25 };
    assert_eq!((found.changes, found.numbers), (vec![only], 3));
    assert!(found.only_before.is_empty() && found.only_after.is_empty());
}

#[test]
fn rows_without_distinct_texts_are_named_by_where_they_are() {
    let table =
        |columns: Value, rows: Value| json!({ "data": [{ "id": "t", "columns": columns, "rows": rows }] });
    let column = |key: &str, kind: &str| json!({ "key": key, "kind": kind });
    let paths = |value: &Value| flatten(value).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    let course = table(
        json!([column("window", "integer"), column("reads", "fraction")]),
        json!([[2, 0.5], [4, 0.75]]),
    );
    assert_eq!(paths(&course), ["data / t / 2 / reads", "data / t / 4 / reads"]);
    let columns = json!([
        column("kernel", "text"),
        column("line", "integer"),
        column("ptx", "text"),
        column("share", "fraction"),
    ]);
    let lines = table(columns, json!([["k", 7, "ret;", 0.5], ["k", 9, "ret;", 0.5]]));
    assert_eq!(paths(&lines), ["data / t / k 7 ret; / share", "data / t / k 9 ret; / share"]);
}

#[test]
fn texts_and_what_only_one_has_are_listed() {
    let found = compare(
        &json!({ "config": "a", "old": 1, "gone": [1, 2], "zero": 0, "maybe": 3 }),
        &json!({ "config": "b", "new": 2, "gone": [1], "zero": 5, "maybe": null }),
        0.01,
    );
    assert_eq!(
        found.texts,
        [("config".into(), "a".into(), "b".into()), ("maybe".into(), "3".into(), "–".into()),]
    );
    assert_eq!(found.only_before, ["gone / 1", "old"]);
    assert_eq!(found.only_after, ["new"]);
    assert_eq!(found.changes.len(), 1);
    assert!(found.changes[0].relative().is_infinite());
    let text = found.to_text(10);
    for expected in
        ["zero", "config: a -> b", "gone / 1", "Only in the second\n  new", "Of 2 numbers 1 changed"]
    {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(found.to_text(0).contains("and 2 more"));
}

#[test]
fn traces_are_named_by_what_tells_them_apart() {
    let of = |traces: &[(&str, u64)]| {
        let traces: Vec<Value> =
            traces.iter().map(|(path, cycles)| json!({ "trace": path, "cycles": cycles })).collect();
        json!({ "traces": traces, "produced_by": { "traces": [{ "trace": "elsewhere/x.wtrace" }] } })
    };
    let changed = |before: &Value, after: &Value| {
        let found = compare(before, after, 0.0);
        assert!(found.texts.is_empty(), "{found:?}");
        let paths = found.changes.into_iter().map(|change| change.path).collect::<Vec<_>>();
        (paths, found.only_before, found.only_after)
    };
    let none = || Vec::<String>::new();
    // Another folder is no change, neither in a list nor for a single trace.
    let (old, new) =
        (of(&[("/old/run/a.wtrace", 5), ("/old/run/b.wtrace", 6)]), of(&[("a.wtrace", 5), ("b.wtrace", 7)]));
    assert_eq!(changed(&old, &new), (vec!["traces / b / cycles".to_owned()], none(), none()));
    let one = |path: &str| json!({ "trace": path, "cycles": 5 });
    assert!(compare(&one("old/a.wtrace"), &one("new/a.wtrace"), 0.0).is_same());
    assert!(!compare(&one("old/a.wtrace"), &one("old/b.wtrace"), 0.0).is_same());
    // Folders are named as far as they tell traces of one name apart.
    let old = of(&[("/old/small/a.wtrace", 1), ("/old/large/a.wtrace", 2), ("/old/small/b.wtrace", 3)]);
    let new = of(&[("/new/small/a.wtrace", 2), ("/new/large/a.wtrace", 2), ("/new/small/b.wtrace", 9)]);
    let expected = ["traces / b / cycles", "traces / small/a / cycles"].map(str::to_owned).to_vec();
    let (mut paths, before, after) = changed(&old, &new);
    paths.sort();
    assert_eq!((paths, before, after), (expected, none(), none()));
    // A path that both have is one trace, whatever its neighbours are called.
    let (old, new) = (of(&[("x/a.wtrace", 1)]), of(&[("x/a.wtrace", 2), ("y/a.wtrace", 3)]));
    let expected =
        (vec!["traces / x/a / cycles".to_owned()], none(), vec!["traces / y/a / cycles".to_owned()]);
    assert_eq!(changed(&old, &new), expected);
}
