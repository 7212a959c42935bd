// The list of documents: search, filters, and rows that exist only while they are in sight.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import { shareOf } from "./values.js";

const ROW = 62;
const MORE = 6;

const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1) || path;
const folderOf = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

export function Filters({ filters, facets, set, searchRef, first }) {
  const choose = (name) => (event) => set({ ...filters, [name]: event.target.value });
  const [said, say] = useState(filters.search);
  useEffect(() => {
    if (said === filters.search) return undefined;
    const timer = setTimeout(() => set({ ...filters, search: said }), 150);
    return () => clearTimeout(timer);
  }, [said]);
  const used = ["show", "schema", "code", "flag"].filter((name) => filters[name]).length;
  return html`<div class="filters">
    <input ref=${searchRef} class="search" type="search" placeholder="Search paths  ( / )" aria-label="Search paths"
      value=${said} onInput=${(event) => say(event.target.value)}
      onKeyDown=${(event) => event.key === "Enter" && (event.preventDefault(), event.target.blur(), first())} />
    <details open=${used > 0}>
      <summary>Filters and order${used ? html` <span class="count">${used}</span>` : ""}</summary>
      <div class="choices">
        <label>Show
          <select value=${filters.show} onChange=${choose("show")}>
            <option value="">everything</option>
            <option value="todo">not yet reviewed</option>
            <option value="reviewed">reviewed</option>
            <option value="doubtful">low confidence</option>
            <option value="quarantined">in quarantine</option>
            <option value="written">not in quarantine</option>
          </select></label>
        <label>Kind
          <select value=${filters.schema} onChange=${choose("schema")}>
            <option value="">all kinds</option>
            ${facets.schemas.map((one) => html`<option value=${one.name}>${one.name} (${one.documents})</option>`)}
          </select></label>
        ${facets.codes.length > 0 && html`<label>Held back for
          <select value=${filters.code} onChange=${choose("code")}>
            <option value="">any reason</option>
            ${facets.codes.map((one) => html`<option value=${one.name}>${one.name} (${one.documents})</option>`)}
          </select></label>`}
        ${facets.flags.length > 0 && html`<label>Flag or failed check
          <select value=${filters.flag} onChange=${choose("flag")}>
            <option value="">any</option>
            ${facets.flags.map((one) => html`<option value=${one.name}>${one.name} (${one.documents})</option>`)}
          </select></label>`}
        <label>Order
          <select value=${filters.order} onChange=${choose("order")}>
            <option value="need">what most needs a look</option>
            <option value="path">path</option>
            <option value="newest">newest run</option>
            <option value="sure">surest first</option>
          </select></label>
      </div>
    </details>
  </div>`;
}

export function DocumentList({ rows, total, current, open, need }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  useLayoutEffect(() => {
    const seen = new ResizeObserver(() => setHeight(box.current.clientHeight));
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW) - MORE);
  const last = Math.min(total, Math.ceil((top + height) / ROW) + MORE);
  useEffect(() => need(first, last), [first, last, total, rows]);
  useLayoutEffect(() => {
    if (current < 0) return;
    const at = current * ROW;
    const frame = box.current;
    if (at < frame.scrollTop) frame.scrollTop = at;
    else if (at + ROW > frame.scrollTop + frame.clientHeight) frame.scrollTop = at + ROW - frame.clientHeight;
  }, [current]);
  const shown = [];
  for (let index = first; index < last; index += 1) {
    shown.push(html`<${Row} key=${index} index=${index} row=${rows.get(index)} chosen=${index === current} total=${total} open=${open} />`);
  }
  return html`<div class="list" role="listbox" aria-label="Documents" tabindex="0" ref=${box}
    aria-activedescendant=${current >= first && current < last ? `row-${current}` : undefined}
    onScroll=${(event) => setTop(event.target.scrollTop)}>
    <div class="sheet" role="presentation" style=${{ height: `${total * ROW}px` }}>${shown}</div>
  </div>`;
}

function Row({ index, row, chosen, total, open }) {
  const style = { top: `${index * ROW}px`, height: `${ROW}px` };
  const place = { role: "option", id: `row-${index}`, "aria-selected": String(chosen), "aria-posinset": index + 1, "aria-setsize": total };
  if (!row || row.gone) return html`<div class="row empty" style=${style} ...${place}><span class="name">${row ? "not in the folder any more" : "…"}</span></div>`;
  const held = row.outcome === "quarantined";
  const share = shareOf(row);
  const level = held ? "held" : share.level;
  const words = held ? `held back: ${row.code}` : share.words;
  return html`<div class=${`row ${chosen ? "chosen" : ""} ${row.reviewed ? "reviewed" : ""}`} style=${style} ...${place}
    onClick=${() => open(index)} title=${row.path}>
    <span class=${`edge ${row.reviewed ? "human" : level}`} aria-hidden="true"></span>
    <span class="name"><bdi>${nameOf(row.path)}</bdi></span>
    <span class=${`badge ${row.reviewed ? "human" : level}`} title=${words}>
      ${row.reviewed ? (row.other_kind ? "✓ other kind" : "✓ done") : held ? html`■ ${row.code}` : html`${share.mark} ${share.text}`}
      <span class="hidden">${words}</span></span>
    <span class="about"><span class="kind">${row.schema_name}</span>
      ${row.failed.length > 0 && html`<span class="warn">✗ ${row.failed.length === 1 ? row.failed[0] : `${row.failed.length} checks`}</span>`}
      ${row.corrected > 0 && html`<span>✎ ${row.corrected}</span>`}
      <span class="folder"><bdi>${folderOf(row.path)}</bdi></span></span>
  </div>`;
}
