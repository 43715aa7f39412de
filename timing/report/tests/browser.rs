//! The page in a real browser: its script runs without errors, sorts, filters, folds and shows tooltips.
//! Without Chromium, the test prints a message and passes.

mod browse;
mod common;

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
fn the_script_works_in_a_browser() {
    let dir = tempfile::tempdir().expect("temp");
    let names = owned(&["vectoradd", "scan<int>", "bfs", "hotspot", "dct8x8", "sad", "gaussian"]);
    let html = everything(&names, &[1.25, 0.5, f64::NAN, 3.0, 2.0, 0.75]).to_html().expect("consistent");
    let page = dir.path().join("page.html");
    std::fs::write(&page, html.replacen("</head>", PROBE, 1)).expect("writes");
    if let Some(title) = browse::title(&page, dir.path(), 1280) {
        assert_eq!(title, "PROBE passed");
    }
}
