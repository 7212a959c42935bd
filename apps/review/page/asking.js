// What the folder's language model finds in a document, beside the record; a person takes it over value by value.

import { html, useLayoutEffect, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { useNow } from "./now.js";
import { nullText, partAt, shown, titleOf } from "./values.js";

const NONE = new Map();

export function useAsked(at, say) {
  const [asked, setAsked] = useState(null);
  const now = useNow({ at });
  useLayoutEffect(() => setAsked(null), [at]);
  const ask = () => {
    if (!at || asked?.busy) return;
    setAsked({ busy: true });
    api.post("/api/ask", at).then((found) => {
      if (now.current.at !== at) return;
      setAsked({ ...found, leaves: new Map(found.leaves.map((leaf) => [leaf.pointer, leaf])) });
      say(`${found.model} has read the document. Its other values stand at their fields.`);
    }, (error) => {
      if (now.current.at === at) setAsked(null);
      say(error.message, "bad");
    });
  };
  return { asked, ask };
}

// What the model found at each value that nobody has checked. Of a list with another number of rows only that is told,
// for its rows may be others.
export function proposalsOf(asked, stops) {
  if (!asked?.leaves) return NONE;
  const record = JSON.parse(asked.record);
  const found = new Map();
  const others = [];
  for (const stop of stops) {
    if (stop.leaf?.origin === "human" || others.some((list) => stop.pointer.startsWith(`${list}/`))) continue;
    const leaf = asked.leaves.get(stop.pointer);
    if (stop.kind === "list") {
      const rows = partAt(record, stop.pointer)?.length ?? 0;
      if (rows === stop.rows.length) continue;
      others.push(stop.pointer);
      found.set(stop.pointer, { model: asked.model, rows });
    } else if (stop.kind === "value" && leaf) {
      found.set(stop.pointer, { ...leaf, model: asked.model, same: shown(leaf.value) === shown(stop.leaf?.value) });
    }
  }
  return found;
}

// The words behind the values that the model reads otherwise.
export const marksOf = (proposals, stops) => stops.flatMap((stop) => {
  const found = proposals.get(stop.pointer);
  return found?.spans?.length && !found.same ? [{ pointer: stop.pointer, spans: found.spans, level: "proposed", title: `${found.model}: ${titleOf(stop)}` }] : [];
});

// The value of a proposal and the spans of its words, as an editor saves them.
export const taken = ({ value, spans }) => [value === "null" ? null : value, spans];

export function Proposal({ place, page }) {
  const found = page.proposals.get(place.pointer);
  if (!found) return null;
  if (found.rows !== undefined) return html`<p class="proposal">${found.model} finds ${found.rows === 1 ? "1 row" : `${found.rows} rows`}</p>`;
  const sure = `${Math.floor(found.confidence * 100)}%`;
  if (found.same) return html`<p class="proposal">${found.model} reads the same, ${sure} sure</p>`;
  return html`<p class="proposal">${found.model}, ${sure} sure: <strong><bdi>${shown(found.value) || nullText(found)}</bdi></strong>
    ${found.text && found.text !== shown(found.value) && html` from <q><bdi>${found.text.slice(0, 300)}</bdi></q>`}${" "}
    <button type="button" class="small" onClick=${() => page.save(place, ...taken(found))}>Take it${page.active === place.pointer && html` <kbd>t</kbd>`}</button></p>`;
}
