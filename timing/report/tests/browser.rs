//! The page in a real browser: its script runs without errors, sorts, filters, folds and shows tooltips.
//! Without Chromium, the test prints a message and passes.

use crate::browse;
use crate::common;

use common::{everything, owned};
use report::{Axis, Cell, Column, Format, Report, Section, Series, StackedChart, Table};

/// Loads a page at each of some widths, acts on it, and leaves what is not as expected in the document's title. Without a
/// browser nothing is compared.
fn passes(html: &str, acts: &str, widths: &[u32]) {
    let probe = format!(
        r#"<script>
window.failures = [];
addEventListener("error", (e) => failures.push(e.message));
addEventListener("securitypolicyviolation", (e) => failures.push(e.violatedDirective));
addEventListener("load", async () => {{
  try {{
    const expect = (what, ok) => {{ if (!ok) failures.push(what); }};{acts}  }} catch (error) {{ failures.push(String(error)); }}
  document.title = "PROBE " + (failures.length ? failures.join(" | ") : "passed");
}});
</script></head>"#
    );
    let dir = tempfile::tempdir().expect("temp");
    let page = dir.path().join("page.html");
    std::fs::write(&page, html.replacen("</head>", &probe, 1)).expect("writes");
    for &width in widths {
        if let Some(title) = browse::title(&page, dir.path(), width) {
            assert_eq!(title, "PROBE passed", "{width} pixels");
        }
    }
}

/// Acts like a reader.
const READER: &str = r#"
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
    // A key of a legend leaves its series alone in the chart until it is chosen again, by pointer or keyboard.
    const key = document.querySelector("svg.chart .key"), chart = key.closest("svg");
    const shown = () => [...chart.querySelectorAll(".s")].filter((s) => getComputedStyle(s).display !== "none");
    const all = shown().length, own = shown().filter((s) => s.dataset.k === key.dataset.key).length;
    key.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect("isolated", shown().length === own && own < all && shown().every((s) => s.dataset.k === key.dataset.key));
    expect("pressed", key.getAttribute("aria-pressed") === "true" && key.getAttribute("role") === "button");
    key.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    expect("all again", shown().length === all && key.getAttribute("aria-pressed") === "false");
    // A link to a part that is folded away opens it.
    const link = document.querySelector("nav details a"), part = document.querySelector(link.getAttribute("href"));
    expect("folded part", part.tagName === "DETAILS" && !part.open);
    location.hash = link.getAttribute("href");
    dispatchEvent(new HashChangeEvent("hashchange"));
    expect("opened part", part.open);
"#;

#[test]
fn the_script_works_in_a_browser() {
    let names = owned(&["vectoradd", "scan<int>", "bfs", "hotspot", "dct8x8", "sad", "gaussian"]);
    let html = everything(&names, &[1.25, 0.5, f64::NAN, 3.0, 2.0, 0.75]).to_html().expect("consistent");
    passes(&html, READER, &[1280]);
}

/// Looks for legends and text that a reader does not see, or cannot read, at the width of the window.
const WIDTHS: &str = r#"
    const page = document.documentElement;
    expect("the page scrolls sideways", page.scrollWidth <= page.clientWidth + 1);
    const charts = [...document.querySelectorAll("svg.chart")];
    expect("charts", charts.length === 5);
    for (const svg of charts) {
      const edge = svg.closest(".scroll").getBoundingClientRect().right, name = svg.closest("figure").id;
      for (const key of svg.querySelectorAll(".key")) {
        expect(`${name}: ${key.textContent} is out of sight`, key.getBoundingClientRect().right <= edge + 1);
      }
      const size = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width * 11;
      expect(`${name}: letters of ${size} pixels`, size >= 8.5);
    }
"#;

#[test]
fn legends_and_letters_are_seen_at_every_width() {
    let chart = |title: &str| {
        let causes = ["Issued", "Second slot unpaired", "Waiting for memory", "Block ending or starting"];
        let chart = StackedChart::new(title, Axis::new("Scheduler slots", Format::Percent(1)));
        let chart = chart.categories("Kernel", ["scan", "bfs", "hotspot", "dct8x8", "sad", "gaussian"]);
        causes.iter().fold(chart, |chart, cause| chart.series(Series::new(*cause, [1.0; 6])))
    };
    let section = Section::new("Charts")
        .chart(chart("Alone"))
        .row(|row| row.chart(chart("Left")).chart(chart("Right")))
        .row(|row| row.chart(chart("Alone in a row")))
        .details("More", |details| details.chart(chart("Folded")));
    let html = Report::new("Widths").section(section).to_html().expect("consistent");
    let html = html.replace("<details class=\"more\">", "<details class=\"more\" open>");
    passes(&html, WIDTHS, &[1440, 1101, 1024, 560]);
}

/// Opens everything, compares each table with its card, and applies the rules for paper at the width of a page.
const SIDEWAYS: &str = r#"
    const settled = () => new Promise((done) => setTimeout(done, 100));
    dispatchEvent(new Event("beforeprint"));
    expect("printing opens what is folded", [...document.querySelectorAll("details.more")].every((d) => d.open));
    await settled();
    const boxes = [...document.querySelectorAll(".table-figure .scroll")];
    const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth + 2);
    expect("some tables are wide here: " + boxes.length, wide.length > 0 && wide.length < boxes.length);
    for (const box of boxes) {
      const hint = box.nextElementSibling, more = wide.includes(box);
      expect("hint", hint.classList.contains("sideways") && hint.hidden === !more);
      expect("fades", box.classList.contains("more-right") === more);
      expect("mask", (getComputedStyle(box).maskImage !== "none") === more);
      if (!more) continue;
      expect("columns: " + hint.textContent, /^Scroll sideways: [1-9]\d* more columns?\.$/.test(hint.textContent));
      box.scrollLeft = box.scrollWidth;
      box.dispatchEvent(new Event("scroll"));
      expect("at the end", hint.hidden && !box.classList.contains("more-right"));
      const first = box.querySelector("tbody tr").cells[0].getBoundingClientRect();
      expect("the first column stays", Math.abs(first.left - box.getBoundingClientRect().left) < 2);
      box.scrollLeft = 0;
    }
    for (const rule of document.styleSheets[0].cssRules) if (rule.media && rule.media.mediaText === "print") rule.media.mediaText = "all";
    document.body.style.width = "700px";
    await settled();
    for (const box of boxes) {
      const edge = box.getBoundingClientRect().right;
      const cells = [...box.querySelectorAll("tr > *")];
      expect("printed whole", cells.every((cell) => cell.getBoundingClientRect().right <= edge + 1));
    }
"#;

#[test]
fn wide_tables_say_that_they_scroll_and_print_whole() {
    let columns = |count: usize| {
        let numbers = (1..count).map(|k| Column::integer(format!("Measured value number {k}")));
        std::iter::once(Column::text("Trace")).chain(numbers)
    };
    let table = |count: usize| {
        let mut table = Table::new(format!("{count} columns"), columns(count));
        for name in ["vectoradd", "a_kernel_with_a_long_name"] {
            table.push(
                std::iter::once(Cell::from(name)).chain((1..count).map(|k| Cell::from(k as u64 * 1_234_567))),
            );
        }
        table
    };
    let section =
        Section::new("Tables").table(table(3)).table(table(12)).details("More", |d| d.table(table(20)));
    let html = Report::new("Tables").section(section).to_html().expect("consistent");
    passes(&html, SIDEWAYS, &[1280]);
}
