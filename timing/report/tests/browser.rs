//! The page in a real browser: its script runs without errors, sorts, filters, folds and shows
//! tooltips. Needs Chromium, so it runs on demand: `cargo test -p report -- --ignored`.

mod common;

use std::process::Command;

use common::{everything, owned};

/// Acts like a reader and leaves what it saw in the document's title.
const PROBE: &str = r#"<script>
window.failures = [];
addEventListener("error", (e) => failures.push(e.message));
addEventListener("securitypolicyviolation", (e) => failures.push(e.violatedDirective));
addEventListener("load", () => {
  try {
    const expect = (what, ok) => { if (!ok) failures.push(what); };
    const table = document.querySelector("table.sortable");
    const column = (k) => [...table.tBodies[0].rows].map((r) => r.cells[k].textContent);
    const before = column(0).join();
    const head = (k) => table.tHead.rows[0].cells[k];
    head(2).querySelector("button").click();
    const values = [...table.tBodies[0].rows].map((r) => r.cells[2].dataset.v).map((v) => v === undefined ? null : +v);
    const known = values.filter((v) => v !== null);
    expect("descending", known.every((v, i) => i === 0 || known[i - 1] >= v) && known.length > 2);
    expect("missing last", values.slice(known.length).every((v) => v === null) && values.includes(null));
    expect("aria-sort", head(2).getAttribute("aria-sort") === "descending");
    head(0).querySelector("button").click();
    expect("names ascending", column(0).join() === column(0).sort().join() && column(0).join() !== before);
    document.querySelector("[data-action=theme]").click();
    expect("theme", document.documentElement.dataset.theme === "light");
    const mark = document.querySelector("svg .mark");
    const box = mark.getBoundingClientRect();
    const at = { bubbles: true, clientX: box.x + 1, clientY: box.y + 1 };
    mark.dispatchEvent(new PointerEvent("pointermove", at));
    const tip = document.getElementById("tip");
    expect("tooltip", !tip.hidden && tip.textContent.length > 3);
    expect("folded", [...document.querySelectorAll(".source tbody.cold")].every((b) => b.hidden));
    const unfold = document.querySelector("[data-action=unfold]");
    if (unfold) { unfold.click(); expect("unfolded", !document.querySelector(".source tbody.cold").hidden); }
    expect("charts have size", [...document.querySelectorAll("svg.chart")].every((s) => s.viewBox.baseVal.height > 50));
    let saved = null;
    URL.createObjectURL = (blob) => { saved = blob; return "data:,"; };
    HTMLAnchorElement.prototype.click = () => {};
    document.querySelector("[data-action=svg]").click();
    expect("saved", saved && saved.type === "image/svg+xml" && saved.size > 2000);
  } catch (error) { failures.push(String(error)); }
  document.title = "PROBE " + (failures.length ? failures.join(" | ") : "passed");
});
</script></head>"#;

#[test]
#[ignore = "needs Chromium"]
fn the_script_works_in_a_browser() {
    let dir = tempfile::tempdir().expect("temp");
    let names = owned(&["vectoradd", "scan<int>", "bfs", "hotspot", "dct8x8", "sad", "gaussian"]);
    let html = everything(&names, &[1.25, 0.5, f64::NAN, 3.0, 2.0, 0.75]).to_html().expect("consistent");
    let page = dir.path().join("page.html");
    std::fs::write(&page, html.replacen("</head>", PROBE, 1)).expect("writes");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
        .args(["--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("Chromium starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let title =
        dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or("no title");
    assert_eq!(title, "PROBE passed");
}
