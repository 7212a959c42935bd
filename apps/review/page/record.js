// The record: its places with values, and how sure they are.

import { html, useEffect, useState } from "./vendor/preact-htm.mjs";
import { Editor } from "./editor.js";
import { nullText, shown, sureness, titleOf } from "./values.js";

const BLOCK = 60;
// A click on the line of a field chooses it, as one on its value does.
const chosenBy = (page, pointer) => (event) => event.target.closest("button, input, select, textarea, summary, .editor") || (page.editing && page.active === pointer) || page.focusOn(pointer);
// What a pointer at a title tells: the schema's words, and the place.
const about = ({ form, pointer }) => [form.description, pointer].filter(Boolean).join("\n");
export const idOf = (pointer) => `place-${[...new TextEncoder().encode(pointer)].map((one) => one.toString(16)).join("")}`;

export function Record({ tree, page }) {
  return html`<div class="record">${tree.kind === "object" ? html`<${Parts} parts=${tree.parts} page=${page} />` : html`<${Place} place=${tree} page=${page} />`}</div>`;
}

function Parts({ parts, page }) {
  return parts.map((part) => html`<${Place} key=${part.pointer} place=${part} page=${page} />`);
}

function Place({ place, page }) {
  if (place.kind === "object") {
    return html`<${ObjectGroup} place=${place} page=${page} />`;
  }
  return place.kind === "list" ? html`<${List} place=${place} page=${page} />` : html`<${Field} place=${place} page=${page} />`;
}

// An object that may be null or another alternative can be chosen, and edited as JSON.
function ObjectGroup({ place, page }) {
  const { pointer, leaf } = place;
  const chosen = leaf && page.active === pointer;
  const error = leaf && page.errors.get(pointer);
  return html`<section class=${`group object-of ${chosen ? "chosen" : ""} ${error ? "wrong" : ""}`} id=${idOf(pointer)}>
    <header onClick=${leaf && chosenBy(page, pointer)}><h3 title=${about(place)}>${titleOf(place)}</h3>${leaf && html`<button type="button" class="value rows" data-pointer=${pointer} aria-label=${`${titleOf(place)}: edit as JSON`}
      onClick=${() => { page.choose(pointer); page.type(); }} onFocus=${() => page.choose(pointer)}>Edit as JSON</button>`}</header>
    ${chosen && (page.editing ? html`<${Editor} key=${pointer} place=${place} page=${page} title=${titleOf(place)} />`
      : html`<div class="acts"><button type="button" onClick=${() => page.edit()}>Edit <kbd>Enter</kbd></button>
        ${place.form.nullable && html`<button type="button" onClick=${() => page.act("absent")}>Not there <kbd>x</kbd></button>`}</div>`)}
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <${Parts} parts=${place.parts} page=${page} /></section>`;
}

function Value({ leaf, place }) {
  const text = shown(leaf?.value);
  if (text === "") return html`<span class="nothing">${place.present || leaf?.origin ? nullText(leaf) : "not set"}</span>`;
  return html`<bdi>${text}</bdi>`;
}

function Sureness({ leaf }) {
  const found = sureness(leaf);
  return html`<span class=${`conf ${found.level}`} title=${found.words}><span aria-hidden="true">${found.mark} ${found.percent || ""}</span><span class="hidden">${found.words}</span></span>`;
}

// A value with the button that focuses it; its input takes its place while it is typed.
function Field({ place, page, label = true }) {
  const { leaf, pointer } = place;
  const chosen = page.active === pointer;
  const error = page.errors.get(pointer);
  const pending = page.pending.has(pointer);
  const found = sureness(leaf);
  const title = titleOf(place);
  const near = leaf?.flags || [];
  return html`<div class=${`field ${found.level} ${chosen ? "chosen" : ""} ${pending ? "pending" : ""} ${error ? "wrong" : ""}`} id=${idOf(pointer)} onClick=${chosenBy(page, pointer)}>
    ${label && html`<span class="label" title=${about(place)}>${title}${place.required && !place.form.nullable ? html`<span class="needed" title="The schema needs a value here"> *</span>` : ""}</span>`}
    ${chosen && page.editing
      ? html`<${Editor} key=${`${pointer} ${page.picked ? page.picked.spans : ""}`} place=${place} page=${page} title=${title} />`
      : html`<button type="button" class="value" data-pointer=${pointer} aria-label=${`${title}: ${shown(leaf?.value) || "empty"}. ${found.words}`}
          onClick=${() => page.choose(pointer)} onDblClick=${() => page.edit()} onFocus=${() => page.choose(pointer)}><${Value} leaf=${leaf} place=${place} /></button>`}
    <${Sureness} leaf=${leaf} />
    ${near.length > 0 && html`<span class="flags">${near.map((flag) => html`<span class="flag">${flag.replaceAll("_", " ")}</span>`)}</span>`}
    ${chosen && !page.editing && html`<div class="acts">
      ${leaf?.origin !== "human" && html`<button type="button" onClick=${() => page.act("accept")}>Accept <kbd>a</kbd></button>`}
      <button type="button" onClick=${() => page.edit()}>Type <kbd>Enter</kbd></button>
      ${shown(leaf?.value) !== "" && html`<button type="button" onClick=${() => page.act("absent")}>Not there <kbd>x</kbd></button>`}
      <span class="hint">or drag over words</span></div>`}
    ${chosen && leaf?.text && shown(leaf.value) !== leaf.text && html`<p class="evidence">read from <q><bdi>${leaf.text.slice(0, 300)}</bdi></q>${leaf.place ? ` (${leaf.place})` : ""}</p>`}
    ${error && html`<p class="error" role="alert">${error}</p>`}
  </div>`;
}

const scalarRow = (place) => place.kind === "object" && place.parts.every((part) => part.kind === "value");

function List({ place, page }) {
  const [most, setMost] = useState(BLOCK);
  const { pointer, rows } = place;
  const chosen = page.active === pointer;
  const index = page.active?.startsWith(`${pointer}/`) ? Number(page.active.slice(pointer.length + 1).split("/")[0]) : -1;
  useEffect(() => { if (index >= most) setMost(index + BLOCK); }, [index]);
  const error = page.errors.get(pointer);
  const known = place.items.kind === "object" ? place.items.properties : rows.find((row) => row.kind === "object")?.parts.map((part) => [part.name, part.form]);
  const tabular = known && known.length > 1 && known.length <= 9 && rows.every(scalarRow);
  const some = rows.slice(0, most);
  const found = sureness(place.leaf);
  return html`<section class=${`group list-of ${chosen ? "chosen" : ""} ${error ? "wrong" : ""}`} id=${idOf(pointer)}>
    <header onClick=${chosenBy(page, pointer)}><h3 title=${about(place)}>${titleOf(place)}</h3>
      <button type="button" class="value rows" data-pointer=${pointer} aria-label=${`${titleOf(place)}: ${rows.length} rows. ${found.words}`}
        onClick=${() => page.choose(pointer)} onFocus=${() => page.choose(pointer)}>${rows.length === 0 ? "no rows" : rows.length === 1 ? "1 row" : `${rows.length} rows`}</button>
      <${Sureness} leaf=${place.leaf} />
      <button type="button" class="small" onClick=${() => page.insert(place, rows.length)}>+ Add<span class="hidden"> a row to ${titleOf(place)}</span></button></header>
    ${place.leaf?.length?.sentence && html`<p class=${`length ${place.leaf.length.disagrees ? "wrong" : ""}`}>${place.leaf.length.sentence}</p>`}
    ${place.leaf?.length?.other && html`<${OtherRows} place=${place} page=${page} />`}
    ${place.leaf?.columns && html`<${Columns} place=${place} page=${page} />`}
    ${chosen && html`<div class="acts">${place.leaf && place.leaf.origin !== "human" && html`<button type="button" onClick=${() => page.act("accept")}>The rows are right <kbd>a</kbd></button>`}
      ${place.items.kind === "value" && html`<span class="hint">drag over words to add a row</span>`}</div>`}
    ${error && html`<p class="error" role="alert">${error}</p>`}
    ${tabular ? html`<${Table} place=${place} rows=${some} known=${known} page=${page} />`
      : html`<ol>${some.map((row, number) => html`<li key=${row.pointer}><div class="card"><${RowHead} place=${place} number=${number} page=${page} />
        ${row.kind === "object" ? html`<${Parts} parts=${row.parts} page=${page} />` : row.kind === "list" ? html`<${List} place=${row} page=${page} />` : html`<${Field} place=${row} page=${page} label=${false} />`}</div></li>`)}</ol>`}
    ${rows.length > most && html`<button type="button" class="small" onClick=${() => setMost(most + 4 * BLOCK)}>Show more of ${rows.length} rows</button>`}
  </section>`;
}

// The rows of another reading, which one press takes in place of these.
function OtherRows({ place, page }) {
  const rows = JSON.parse(place.leaf.length.other);
  const words = (row) => (row !== null && typeof row === "object" ? Object.values(row) : [row]).filter((one) => one !== null).map((one) => (typeof one === "object" ? JSON.stringify(one) : String(one))).join(" · ");
  return html`<details class="length others"><summary>Another reading has ${rows.length === 1 ? "1 row" : `${rows.length} rows`}${" "}
      <button type="button" class="small" onClick=${(event) => { event.preventDefault(); page.takeRows(place); }}>Take ${rows.length === 1 ? "it" : "them"}<span class="hidden"> for ${titleOf(place)}</span></button></summary>
    <ol>${rows.map((row) => html`<li><bdi>${words(row)}</bdi></li>`)}</ol></details>`;
}

// The columns of the document's tables in which the fields were found; another one holds for all rows.
function Columns({ place, page }) {
  const [heads, setHeads] = useState([]);
  const load = () => heads.length === 0 && page.columnsOf(place).then(setHeads);
  const found = Object.entries(place.leaf.columns);
  return html`<p class="length columns">${found.map(([name, head]) => html`<label key=${name}>${name} = <select aria-label=${`Column of ${name} in all rows`} value=${head}
    onFocus=${load} onMouseDown=${load} onChange=${(event) => page.setColumn(place, name, event.target.value)}>
    ${[...new Set([head, ...heads])].map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label> `)}</p>`;
}

function RowHead({ place, number, page }) {
  return html`<span class="rowhead"><span class="number">${number + 1}</span>
    <button type="button" class="small quiet" title="Remove this row" aria-label=${`Remove row ${number + 1} of ${titleOf(place)}`} onClick=${() => page.remove(place, number)}>−</button></span>`;
}

const numeric = (form) => form.kind === "value" && form.types.some((type) => type === "number" || type === "integer") && !form.types.includes("string");

function Table({ place, rows, known, page }) {
  if (rows.length === 0) return null;
  const inside = page.active?.startsWith(`${place.pointer}/`);
  const cell = inside && rows.flatMap((row) => row.parts).find((part) => part.pointer === page.active);
  return html`<div class="table" tabindex="0" role="region" aria-label=${`Rows of ${titleOf(place)}`}><table><thead><tr><th scope="col"><span class="hidden">Row</span></th>
    ${known.map(([name, form]) => html`<th scope="col" class=${numeric(form) ? "number" : ""} title=${about({ form, pointer: name })}>${titleOf({ name, form })}</th>`)}</tr></thead>
    <tbody>${rows.map((row, number) => html`<tr key=${row.pointer} class=${page.active?.startsWith(`${row.pointer}/`) ? "chosen" : ""}>
      <th scope="row"><${RowHead} place=${place} number=${number} page=${page} /></th>
      ${known.map(([name]) => {
        const part = row.parts.find((one) => one.name === name);
        return part ? html`<${Cell} place=${part} page=${page} />` : html`<td></td>`;
      })}</tr>`)}</tbody></table></div>
    ${cell && html`<${Field} key=${cell.pointer} place=${cell} page=${page} />`}`;
}

function Cell({ place, page }) {
  const found = sureness(place.leaf);
  const error = page.errors.get(place.pointer);
  const text = shown(place.leaf?.value);
  return html`<td class=${`${found.level} ${page.active === place.pointer ? "chosen" : ""} ${error ? "wrong" : ""} ${page.pending.has(place.pointer) ? "pending" : ""} ${numeric(place.form) ? "number" : ""}`} onClick=${() => page.choose(place.pointer)}>
    <button type="button" class="cell" data-cell=${place.pointer} title=${`${text}${text ? "\n" : ""}${found.words}`} aria-label=${`${titleOf(place)}, row ${Number(place.pointer.split("/").at(-2)) + 1}: ${text || "empty"}. ${found.words}`}><span class=${`mini ${found.level}`} aria-hidden="true">${found.mark}</span><bdi>${text || "·"}</bdi></button></td>`;
}
