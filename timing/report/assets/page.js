"use strict";
// Behaviour of a report page. Everything works without it except sorting, filtering, folding,
// saving charts and the theme switch. Text goes in as textContent only.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const SVG = "http://www.w3.org/2000/svg";

  // ---- theme: auto, light, dark
  const root = document.documentElement;
  const themeButton = document.querySelector("[data-action=theme]");
  const showTheme = () => { themeButton.textContent = "Theme: " + (root.dataset.theme || "auto"); };
  const nextTheme = () => {
    const next = { undefined: "light", light: "dark", dark: undefined }[root.dataset.theme];
    if (next) root.dataset.theme = next; else delete root.dataset.theme;
    try {
      if (next) localStorage.setItem("report-theme", next); else localStorage.removeItem("report-theme");
    } catch { /* a page opened from disk may have no storage; the choice then lasts for the visit */ }
    showTheme();
  };

  // ---- saving
  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const saveSvg = (id) => {
    const copy = document.getElementById(id).querySelector("svg").cloneNode(true);
    copy.setAttribute("xmlns", SVG);
    copy.removeAttribute("style");
    copy.classList.remove("focused");
    all(".off", copy).forEach((e) => e.classList.remove("off"));
    all(".key", copy).forEach((e) => ["role", "tabindex", "aria-pressed"].forEach((name) => e.removeAttribute(name)));
    all(".cursor", copy).forEach((e) => e.remove());
    all("[data-tip]", copy).forEach((e) => {
      const title = document.createElementNS(SVG, "title");
      title.textContent = e.dataset.tip;
      e.append(title);
      e.removeAttribute("data-tip");
    });
    const style = document.createElementNS(SVG, "style");
    style.textContent = document.getElementById("report-chart-css").textContent;
    const ground = document.createElementNS(SVG, "rect");
    const margin = 16;
    const box = copy.viewBox.baseVal;
    const [width, height] = [box.width + 2 * margin, box.height + 2 * margin];
    const set = (element, values) => Object.entries(values).forEach(([k, v]) => element.setAttribute(k, v));
    set(ground, { class: "ground", x: -margin, y: -margin, width: "100%", height: "100%" });
    set(copy, { viewBox: [-margin, -margin, width, height].join(" "), width, height });
    copy.querySelector("desc").after(style, ground);
    save(id + ".svg", "image/svg+xml", new XMLSerializer().serializeToString(copy));
  };

  const actions = {
    theme: nextTheme,
    data: () => save("data.json", "application/json", document.getElementById("report-data").textContent),
    svg: (button) => saveSvg(button.dataset.of),
    copy: (button) => {
      const text = button.closest(".code").querySelector("code").textContent;
      const done = (word) => { button.textContent = word; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
      if (!navigator.clipboard) return done("Not available");
      navigator.clipboard.writeText(text).then(() => done("Copied"), () => done("Not allowed"));
    },
    unfold: (button) => {
      const body = button.closest("tbody");
      body.nextElementSibling.hidden = false;
      body.hidden = true;
    },
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    if (button) actions[button.dataset.action](button);
  });
  all(".actions, .tools button, .code button, .filter").forEach((e) => { e.hidden = false; });
  all(".source tbody.cold").forEach((e) => { e.hidden = true; e.previousElementSibling.hidden = false; });
  showTheme();

  // ---- downloads of tables say what produced them, as the files of the report do
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[download$='.csv']");
    if (!link || link.dataset.told) return;
    link.dataset.told = "yes";
    const by = JSON.parse(document.getElementById("report-data").textContent).produced_by;
    if (by) link.href = link.href.replace(",", "," + encodeURIComponent("# produced_by " + JSON.stringify(by) + "\n"));
  });

  // ---- sorting: numbers by raw value, text naturally, missing values last either way
  const compareText = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;
  const sort = (head) => {
    const table = head.closest("table");
    const numeric = head.classList.contains("n");
    const now = head.getAttribute("aria-sort");
    // Numbers are mostly looked at from the largest down, names from the first on.
    const first = numeric ? "descending" : "ascending";
    const order = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
    all("thead th", table).forEach((h) => h.setAttribute("aria-sort", h === head ? order : "none"));
    const sign = order === "ascending" ? 1 : -1;
    const column = head.cellIndex;
    const key = (row) => {
      const cell = row.cells[column];
      if (!numeric) return cell.textContent;
      return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
    };
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (numeric ? (a > b) - (a < b) : compareText(a, b));
    });
    body.append(...rows.map((pair) => pair[1]));
  };
  all("table.sortable thead button").forEach((b) => b.addEventListener("click", () => sort(b.closest("th"))));

  all(".filter input").forEach((input) => input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of document.getElementById(input.dataset.of).tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  }));

  // ---- tooltips: titles of marks become a tooltip of our own, at once and at the pointer
  const tip = document.getElementById("tip");
  all(".chart .mark").forEach((mark) => {
    const title = mark.querySelector("title");
    if (title) { mark.dataset.tip = title.textContent; title.remove(); }
  });
  const line = (text, colour) => {
    const row = document.createElement("div");
    const swatch = document.createElement("i");
    swatch.style.background = colour;
    row.append(swatch, text);
    return row;
  };
  const showTip = (event, marks) => {
    const head = document.createElement("b");
    head.textContent = marks[0].dataset.tip.split("\n")[0];
    const rest = (mark) => mark.dataset.tip.split("\n").slice(1).join("\n");
    tip.replaceChildren(head, ...marks.map((m) => line(rest(m), getComputedStyle(m).fill)));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = event.clientX + 16 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 16;
    const top = event.clientY + 18 + height > innerHeight ? event.clientY - 12 - height : event.clientY + 18;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, top) + "px";
  };
  const hideTip = () => { tip.hidden = true; };

  // Over lines the nearest position counts, and all lines there are shown together.
  const trackLines = (svg) => {
    const points = all(".mark.point", svg);
    const xs = [...new Set(points.map((p) => p.dataset.x))].map(Number).sort((a, b) => a - b);
    const cursor = document.createElementNS(SVG, "line");
    cursor.setAttribute("class", "cursor");
    const grid = all(".grid", svg).map((g) => Number(g.getAttribute("y1")));
    const lit = [];
    const clear = () => { cursor.remove(); lit.splice(0).forEach((p) => p.classList.remove("near")); hideTip(); };
    svg.addEventListener("pointermove", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const x = xs.reduce((best, x) => (Math.abs(x - at.x) < Math.abs(best - at.x) ? x : best), xs[0]);
      clear();
      if (Math.abs(x - at.x) > 60 || at.y < Math.min(...grid) - 8 || at.y > Math.max(...grid) + 24) return;
      const here = points.filter((p) => Number(p.dataset.x) === x);
      here.forEach((p) => { p.classList.add("near"); lit.push(p); });
      for (const [name, value] of [["x1", x], ["x2", x], ["y1", Math.min(...grid)], ["y2", Math.max(...grid)]]) {
        cursor.setAttribute(name, value);
      }
      svg.querySelector(".s").before(cursor);
      showTip(event, here);
    });
    svg.addEventListener("pointerleave", clear);
  };
  all("svg.chart").forEach((svg) => {
    // Panels share no horizontal position, so that each mark has its own tooltip.
    if (svg.querySelector(".mark.point") && !svg.querySelector(".panel")) return trackLines(svg);
    svg.addEventListener("pointermove", (event) => {
      const mark = event.target.closest(".mark");
      if (mark && mark.dataset.tip) showTip(event, [mark]); else hideTip();
    });
    svg.addEventListener("pointerleave", hideTip);
  });

  // ---- legend: pointing at a key dims the other series, choosing it hides them until it is chosen again
  all("svg.chart .key").forEach((key) => {
    const svg = key.closest("svg");
    key.addEventListener("pointerenter", () => {
      all(".s", svg).forEach((s) => s.classList.toggle("lit", s.dataset.k === key.dataset.key));
      svg.classList.add("focused");
    });
    key.addEventListener("pointerleave", () => svg.classList.remove("focused"));
    const keys = all(".key", svg);
    if (keys.length < 2) return;
    Object.entries({ role: "button", tabindex: "0", "aria-pressed": "false" }).forEach(([k, v]) => key.setAttribute(k, v));
    const choose = () => {
      const only = key.getAttribute("aria-pressed") === "true" ? null : key.dataset.key;
      all(".s", svg).forEach((s) => s.classList.toggle("off", only !== null && s.dataset.k !== only));
      keys.forEach((k) => {
        k.classList.toggle("off", only !== null && k !== key);
        k.setAttribute("aria-pressed", String(k === key && only !== null));
      });
      svg.classList.remove("focused");
      hideTip();
    };
    key.addEventListener("click", choose);
    key.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
  });

  // ---- what is wider than its card fades at the edge, and says how much more there is
  all(".scroll").forEach((box) => {
    const table = box.querySelector("table");
    const hint = document.createElement("p");
    hint.className = "remark sideways";
    hint.hidden = true;
    box.after(hint);
    const look = () => {
      const more = box.scrollWidth - box.clientWidth - box.scrollLeft > 2;
      box.classList.toggle("overflows", box.scrollWidth - box.clientWidth > 2);
      box.classList.toggle("more-right", more);
      hint.hidden = !more;
      if (!more) return;
      const edge = box.getBoundingClientRect().right;
      const cells = table ? [...table.tHead.rows[0].cells] : [];
      const count = cells.filter((cell) => cell.getBoundingClientRect().right > edge + 2).length;
      hint.textContent = table ? `Scroll sideways: ${count} more ${count === 1 ? "column" : "columns"}.` : "Scroll sideways for the rest.";
    };
    box.addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    // What is folded away has no width.
    document.addEventListener("toggle", (event) => { if (event.target.contains(box)) look(); }, true);
    look();
  });

  // ---- a link to something that is folded away opens it
  const reveal = () => {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* not an anchor of ours */ }
    if (!target) return;
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    // Following the same link again does not change the address.
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
  });
  if (location.hash) reveal();

  // ---- navigation follows the reader
  const links = new Map(all(".side li a").map((a) => [a.getAttribute("href").slice(1), a]));
  const seen = new Set();
  const sections = all("main > section");
  const observer = new IntersectionObserver((entries) => {
    entries.forEach((e) => (e.isIntersecting ? seen.add(e.target) : seen.delete(e.target)));
    const current = sections.find((s) => seen.has(s));
    links.forEach((a) => a.removeAttribute("aria-current"));
    if (current) links.get(current.id).setAttribute("aria-current", "true");
  }, { rootMargin: "-10% 0px -55% 0px" });
  sections.forEach((section) => observer.observe(section));

  // ---- printing shows what is folded away
  const opened = [];
  addEventListener("beforeprint", () => {
    all("details.more:not([open])").forEach((d) => { d.open = true; opened.push(d); });
  });
  addEventListener("afterprint", () => opened.splice(0).forEach((d) => { d.open = false; }));
})();
