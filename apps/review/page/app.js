// The page: its layout, and how its parts are joined.

import { html, render, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact-htm.mjs";
import { actOf, useEdits, useKeys } from "./actions.js";
import * as api from "./api.js";
import { useChanges, withPending } from "./changes.js";
import { useDocument } from "./document.js";
import { RowDraft } from "./draft.js";
import { useField } from "./field.js";
import { useFolder } from "./folder.js";
import { DocumentList, Filters } from "./list.js";
import { Notices, Toast, useToast } from "./notices.js";
import { History } from "./history.js";
import { Help, Improve } from "./panels.js";
import { pickingOf } from "./picking.js";
import { Record } from "./record.js";
import { NO_FILTERS, useRows } from "./rows.js";
import { Viewer } from "./viewer.js";
import { shareOf, stopsOf, sureness, sureOf, titleOf, treeOf } from "./values.js";

function useTheme() {
  const [theme, setTheme] = useState(() => localStorage.getItem("theme") || "");
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  return [theme, setTheme];
}

function App() {
  const [toast, say, hush] = useToast();
  const [theme, setTheme] = useTheme();
  const [filters, setFilters] = useState(NO_FILTERS);
  const [panel, setPanel] = useState(null);
  const [drawer, setDrawer] = useState(false);
  const [side, setSide] = useState("document");
  const [zoom, setZoom] = useState(1);
  const [draft, setDraft] = useState(null);
  const searchRef = useRef(null);

  const list = useRows(filters, (message) => say(message, "bad"));
  const doc = useDocument(list, filters, say);
  const changes = useChanges(doc, list, say);
  const field = useField(doc);
  const { at, index, state: current } = doc;
  const { pending, errors } = changes;
  const [facets, gone] = useFolder(
    () => { api.forgetStates(); list.reload(); changes.renew(); },
    () => { if (changes.lost) changes.again(); },
  );
  useLayoutEffect(() => setDraft(null), [at]);
  useLayoutEffect(() => changes.looking(field.editing || draft !== null), [at, field.active, field.editing, draft]);
  const open = (wanted) => {
    if (wanted >= 0 && wanted < list.total) setDrawer(false);
    doc.open(wanted, changes.mayLeave);
  };

  const tree = useMemo(() => (current ? treeOf(withPending(current, pending)) : null), [current, pending]);
  const stops = useMemo(() => (tree ? stopsOf(tree) : []), [tree]);
  const marks = useMemo(() => stops.filter((one) => one.leaf?.spans?.length).map((one) => ({ pointer: one.pointer, spans: one.leaf.spans, level: sureness(one.leaf).level, title: titleOf(one) })), [stops]);
  const edits = useEdits({ doc, changes, field, stops, draft: (place, number) => setDraft({ place, number }), hush });
  const act = actOf({ doc, list, changes, field, stops, edits, open, setPanel, setDrawer, searchRef, say, who: facets?.who });
  const pick = pickingOf({ doc, field, stops, insert: edits.insert, say });
  useKeys(act);
  const page = {
    active: field.active, editing: field.editing, picked: field.picked, choose: field.choose, focusOn: field.focusOn, errors,
    read: (pointer, said) => api.post("/api/readings", { ...at, pointer, said }),
    pending: useMemo(() => new Set(pending.map((one) => one.pointer)), [pending]),
    act, edit: () => act("edit"), type: () => field.type(), stop: edits.stop, save: edits.save, insert: edits.insert, remove: edits.remove,
    columnsOf: edits.columnsOf, setColumn: edits.setColumn, takeRows: edits.takeRows,
  };

  if (!facets) return html`<main class="starting"><p role="status">${gone || toast?.text || "Opening the folder …"}</p></main>`;
  const row = index >= 0 ? list.rows.get(index) : null;
  const share = current && shareOf(sureOf(current.leaves));
  return html`<div data-saving=${changes.saving} class=${`app ${drawer ? "drawn" : ""} side-${side}`}>
    <header class="top">
      <button type="button" class="menu" aria-label="Documents" aria-expanded=${String(drawer)} onClick=${() => setDrawer(!drawer)}>☰</button>
      <h1><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" /><path d="M9 8h10l4 4v12H9z" /></svg>Review <span class="where"><bdi>${facets.folder}</bdi></span></h1>
      <div class="progress" title=${`${facets.reviewed} of ${facets.reviewable} documents with a record are reviewed`}><progress max=${facets.reviewable || 1} value=${facets.reviewed} aria-label="Reviewed documents"></progress><span>${facets.reviewed.toLocaleString("en")} of ${facets.reviewable.toLocaleString("en")}<span class="long"> reviewed</span></span></div>
      ${!facets.alone && html`<span class="person"><bdi>${facets.who}</bdi></span>`}
      <nav aria-label="Panels"><button type="button" onClick=${() => setPanel("improve")}>Learn</button>
        <button type="button" onClick=${() => setTheme(theme === "dark" ? "light" : theme === "light" ? "" : "dark")} title="Light, dark, or as the system" aria-label=${`Colours: ${theme || "as the system"}`}>${theme === "dark" ? "☾" : theme === "light" ? "☀" : "◑"}</button>
        <button type="button" aria-label="Help" onClick=${() => setPanel("help")}>?</button></nav>
    </header>
    ${gone && html`<p class="gone" role="alert"><strong>No connection.</strong> ${gone}</p>`}
    ${facets.lost && html`<p class="gone" role="alert"><strong>Not all is here.</strong> ${facets.lost}</p>`}
    <aside aria-label="Documents">
      <${Filters} filters=${filters} facets=${facets} set=${setFilters} searchRef=${searchRef} first=${() => open(0)} />
      <p class="total" role="status"><span>${list.total === 1 ? "1 document" : `${list.total.toLocaleString("en")} documents`}</span>
        ${list.added > 0 && html`<button type="button" class="small" onClick=${list.sort}>${list.added.toLocaleString("en")} new: sort again</button>`}</p>
      <${DocumentList} rows=${list.rows} total=${list.total} current=${index} open=${open} need=${list.need} />
    </aside>
    <main onClick=${() => drawer && setDrawer(false)}>
      ${!at && html`<p class="quiet middle">${!list.ready ? "" : facets.documents > 0 ? "No document fits these filters." : html`This folder has no documents yet. What <code>cinnabar extract</code> writes into it appears here.`}</p>`}
      ${at && html`<div class="tabs" role="group" aria-label="Side"><button type="button" aria-pressed=${String(side === "document")} onClick=${() => setSide("document")}>Document</button><button type="button" aria-pressed=${String(side === "record")} onClick=${() => setSide("record")}>Record</button></div>
      <section class="paper" aria-label="Document">
        <div class="bar"><button type="button" aria-label="Previous document" disabled=${index <= 0} onClick=${() => open(index - 1)}>‹</button>
          <strong class="title path" title=${current?.path || row?.path}><bdi>${current?.path || row?.path || ""}</bdi></strong>
          <button type="button" aria-label="Next document" disabled=${index + 1 >= list.total} onClick=${() => open(index + 1)}>›</button>
          <span class="zoom"><button type="button" aria-label="Smaller" onClick=${() => setZoom(Math.max(0.5, zoom - 0.25))}>−</button><button type="button" aria-label="Larger" onClick=${() => setZoom(Math.min(3, zoom + 0.25))}>+</button></span></div>
        <${Viewer} at=${at} schemas=${facets?.schemas ?? []} content=${doc.content} marks=${marks} active=${field.active} choose=${field.focusOn} pick=${pick} picking=${field.active !== null} zoom=${zoom} />
      </section>
      <section class="sheet-of" aria-label="Record">
        <div class="bar"><strong class="title">${at.schema}</strong>
          ${current && html`<span class="sum">${changes.saving > 0 ? html`<span class="quiet" role="status">Saving …</span>` : current.confidence === null ? "" : html`<span class=${`conf ${current.marks.reviewed ? "human" : share.level}`}>${current.marks.reviewed ? "✓ reviewed" : share.words}</span>`}</span>
            <button type="button" onClick=${() => setPanel("history")}>History</button>`}</div>
        ${current && html`<${Notices} state=${current} pending=${pending} lost=${changes.lost} again=${changes.again} overtaken=${changes.overtaken} takeMine=${changes.takeMine} takeTheirs=${changes.takeTheirs} undo=${() => act("undo")} errors=${errors} stops=${stops} focusOn=${field.focusOn} />`}
        <div class="fields" tabindex="-1">${tree && html`<${Record} tree=${tree} page=${page} />`}</div>
        ${current && html`<footer><button type="button" class="primary" disabled=${current.record === null} onClick=${() => act("done")}>Accept all, next <kbd>A</kbd></button>
          <button type="button" onClick=${() => act("undo")}>Undo <kbd>u</kbd></button><button type="button" onClick=${() => act("other")}>Not my kind <kbd>o</kbd></button></footer>`}
      </section>`}
    </main>
    ${draft && html`<${RowDraft} draft=${draft} read=${page.read} close=${() => { setDraft(null); field.focusOn(draft.place.pointer); }} send=${changes.send} errors=${errors} />`}
    ${panel === "help" && html`<${Help} close=${() => setPanel(null)} />`}
    ${panel === "improve" && html`<${Improve} facets=${facets} schema=${at?.schema} close=${() => setPanel(null)} />`}
    ${panel === "history" && current && html`<${History} state=${current} stops=${stops} close=${() => setPanel(null)} />`}
    <${Toast} toast=${toast} />
  </div>`;
}

render(html`<${App} />`, document.getElementById("app"));
