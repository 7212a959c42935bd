"""The style and the script of an exported page; the page's policy names their hashes."""

from __future__ import annotations

from cinnabar.extraction.watching.pages import STYLE

EXPORT_STYLE = (
    STYLE
    + """
:root{--sure:#1f7a46;--likely:#8a5a00;--doubtful:#b3261e;--human:#5a3fb0;--tint:.16}
@media (prefers-color-scheme:dark){:root{--sure:#6fcf97;--likely:#e2b04a;--doubtful:#ff8a80;--human:#b9a5ff;--tint:.28}}
header{position:sticky;top:0;z-index:2;background:var(--page);border-bottom:1px solid var(--line);padding:.7rem 1.25rem}
header h1{display:inline;font-size:1.1rem;margin-right:1rem}header p{margin:.15rem 0;font-size:.85rem;max-width:none}
input{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:.3rem;
padding:.25rem .5rem;width:min(28rem,60vw)}
kbd{border:1px solid var(--line);border-radius:.2rem;padding:0 .3rem;background:var(--card);font-size:.85em}
main{max-width:110rem;padding-top:.5rem}
article{scroll-margin-top:8.5rem;border-bottom:1px solid var(--line);padding:1rem 0 1.5rem}
article h2{margin:.2rem 0;overflow-wrap:anywhere}h3{font-size:.85rem;color:var(--soft);margin:.8rem 0 .3rem}
.both{display:grid;grid-template-columns:minmax(0,1.15fr) minmax(0,1fr);gap:1.25rem;align-items:start;margin-top:.6rem}
@media (max-width:60rem){.both{grid-template-columns:minmax(0,1fr)}}
.document{max-height:88vh;overflow:auto;border:1px solid var(--line);background:var(--card);padding:.6rem}
.record{max-height:88vh;overflow:auto}
figure{margin:0 0 .8rem}figure svg{width:100%;background:#fff;border:1px solid var(--line)}
figcaption{font-size:.85rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,monospace;margin:0}
tr.value{cursor:pointer;scroll-margin:9.5rem 0 3rem}tr.value th{font-weight:500;font-size:.85rem;width:32%}
.about{color:var(--soft);font-size:.82rem}.corrected{color:var(--human)}
.badge{white-space:nowrap;border-left:.25rem solid currentColor;padding-left:.35rem}
.badge.sure{color:var(--sure)}.badge.likely{color:var(--likely)}.badge.doubtful{color:var(--doubtful)}
.badge.human{color:var(--human)}
mark{color:inherit;background:none;border-bottom:2px solid var(--sure);border-radius:.1rem;cursor:pointer}
mark.likely{border-bottom:2px dashed var(--likely)}mark.doubtful{border-bottom:2px dotted var(--doubtful)}
mark.human{border-bottom:3px double var(--human)}
rect{fill:#1f7a46;fill-opacity:.12;stroke:#1f7a46;stroke-width:1;cursor:pointer}
rect.likely{fill:#8a5a00;stroke:#8a5a00;stroke-dasharray:4 2}
rect.doubtful{fill:#b3261e;stroke:#b3261e;stroke-dasharray:1.5 2}rect.human{fill:#5a3fb0;stroke:#5a3fb0}
mark.on{background:var(--mark)}rect.on{fill:#ffcf33;fill-opacity:.5;stroke-width:2.5}
tr.on{outline:2px solid var(--focus);outline-offset:-2px}
.hide{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.missing{color:var(--doubtful)}
@media print{header{position:static}.document,.record{max-height:none;overflow:visible}}
"""
)

SCRIPT = """
"use strict";
(() => {
  const all = [...document.querySelectorAll("article")], texts = new Map();
  const find = document.getElementById("find"), found = document.getElementById("found");
  const there = () => all.filter(one => !one.hidden);
  let current = 0;

  function search() {
    const words = find.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const one of all) {
      if (words.length && !texts.has(one)) texts.set(one, one.textContent.toLowerCase());
      one.hidden = !words.every(word => texts.get(one).includes(word));
    }
    current = 0;
    found.textContent = words.length ? there().length + " of " + all.length + " found" : "";
  }
  function light(article, keys) {
    for (const old of article.querySelectorAll(".on")) old.classList.remove("on");
    let first = null;
    for (const one of article.querySelectorAll("[data-v]")) {
      if (one.dataset.v.split(" ").some(key => keys.includes(key))) {
        one.classList.add("on");
        first = first || one;
      }
    }
    return first;
  }
  function reveal(one) {
    const pane = one.closest(".document");
    const a = one.getBoundingClientRect(), b = pane.getBoundingClientRect();
    if (a.top < b.top || a.bottom > b.bottom) pane.scrollTop += a.top - b.top - pane.clientHeight / 3;
  }
  function choose(row) {
    const first = light(row.closest("article"), [row.id]);
    row.classList.add("on");
    if (first) reveal(first);
  }
  function go(step) {
    const shown = there();
    if (!shown.length) return;
    current = Math.min(Math.max(current + step, 0), shown.length - 1);
    shown[current].scrollIntoView({block: "start"});
    shown[current].focus({preventScroll: true});
  }
  function walk(step, kind) {
    const article = there()[current];
    if (!article) return;
    const rows = [...article.querySelectorAll("tr.value" + kind)];
    if (!rows.length) return;
    const every = [...article.querySelectorAll("tr.value")];
    const at = every.indexOf(document.activeElement);
    const next = step > 0 ? rows.find(row => every.indexOf(row) > at)
      : rows.reverse().find(row => every.indexOf(row) < at);
    (next || rows[0]).focus();
  }
  find.addEventListener("input", search);
  document.addEventListener("focusin", event => {
    const article = event.target.closest("article");
    if (article) current = Math.max(there().indexOf(article), 0);
    const row = event.target.closest("tr.value");
    if (row) choose(row);
  });
  document.addEventListener("click", event => {
    const place = event.target.closest("[data-v]");
    if (place) document.getElementById(place.dataset.v.split(" ")[0]).focus();
  });
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { find.value = ""; search(); find.blur(); return; }
    if (event.target === find) return;
    const act = {j: () => go(1), k: () => go(-1), n: () => walk(1, ""), p: () => walk(-1, ""),
      d: () => walk(1, ".doubtful"), "/": () => find.focus()}[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();
"""
