// What the page tells: a word in passing, and what holds for the document that is looked at.

import { html, useCallback, useEffect, useState } from "./vendor/preact-htm.mjs";
import { shown, titleAt } from "./values.js";

export function useToast() {
  const [toast, setToast] = useState(null);
  const say = useCallback((text, kind = "") => setToast({ text, kind }), []);
  const hush = useCallback(() => setToast(null), []);
  useEffect(() => {
    if (!toast) return undefined;
    const timer = setTimeout(hush, toast.kind === "bad" ? 9000 : 3500);
    return () => clearTimeout(timer);
  }, [toast]);
  return [toast, say, hush];
}

export function Toast({ toast }) {
  return html`<div class=${`toast ${toast ? "on" : ""} ${toast?.kind || ""}`} role="status" aria-live="polite">${toast?.text || ""}</div>`;
}

// A change that somebody else overtook, with both values: the person takes either.
function Overtaken({ one, stops, takeMine, takeTheirs }) {
  const { action, pointer } = one.change;
  const value = (text) => shown(text) || "nothing";
  const [mine, ours, theirs] = {
    value: [`you said ${value(one.mine)}`, `Take ${value(one.mine)}`, `Keep ${value(one.theirs)}`],
    absent: ["you said that it is not there", "It is not there", `Keep ${value(one.theirs)}`],
    remove: ["you removed this row", "Remove this row", "Keep the rows"],
    insert: ["you added a row", "Add my row, too", "Leave it"],
    accept: ["you accepted what was there before", pointer ? `Accept ${value(one.theirs)}` : "Accept it as it is now", "Leave it open"],
    other_kind: ["you said that it is not of this kind", "Not my kind, all the same", "Leave it"],
  }[action];
  const what = action === "insert" ? "these rows" : pointer ? titleAt(stops, pointer) : "this record";
  const now = ["value", "absent", "accept"].includes(action) && pointer ? ` to “${value(one.theirs).slice(0, 120)}”` : "";
  return html`<div class="notice warn overtaken" role="alert"><strong>${one.who || "A run"} has ${one.undone ? "taken back a change of" : "changed"} ${what}${now} meanwhile;</strong> ${mine.slice(0, 140)}.
    <div class="ask"><button type="button" class="small" onClick=${() => takeTheirs(one)}>${theirs.slice(0, 60)}</button> <button type="button" class="small" onClick=${() => takeMine(one)}>${ours.slice(0, 60)}</button></div></div>`;
}

// The sentences on why the document waits for a person.
function Why({ state }) {
  if (!state.why?.length) return null;
  return html`<p class="notice why"><bdi>${state.why.join(" ")}</bdi></p>`;
}

export function Notices({ state, pending, lost, again, undo, errors, stops, focusOn, overtaken, takeMine, takeTheirs }) {
  const known = new Set(stops.map((one) => one.pointer));
  // The longest first: /lines/10 is not /lines/1.
  const named = [...state.pointers].filter(Boolean).sort((one, other) => other.length - one.length);
  const detail = named.reduce((text, pointer) => text.replaceAll(pointer, titleAt(stops, pointer)), state.detail || "");
  const loose = [...errors].filter(([pointer]) => !known.has(pointer));
  return html`<div class="notices">
    <${Why} state=${state} />
    ${overtaken.map((one) => html`<${Overtaken} one=${one} stops=${stops} takeMine=${takeMine} takeTheirs=${takeTheirs} />`)}
    ${state.outcome === "quarantined" && html`<div class="notice held"><strong>■ Held back: ${state.code.replaceAll("_", " ")}</strong>${detail && html`<p title=${state.detail}><bdi>${detail}</bdi></p>`}
      ${state.pointers.length > 0 && html`<p>${state.pointers.slice(0, 12).map((pointer) => html`<button type="button" class="chip" title=${pointer || "/"} onClick=${() => known.has(pointer) && focusOn(pointer)}>${titleAt(stops, pointer)}</button>`)}</p>`}</div>`}
    ${state.marks.other_kind && html`<div class="notice"><strong>Not of this kind.</strong> The record is out of the views of ${state.schema}.
      <button type="button" class="small" onClick=${undo}>Take that back</button></div>`}
    ${state.failed.length > 0 && html`<div class="notice warn"><strong>✗ ${state.failed.length === 1 ? "A check fails" : "Checks fail"}:</strong> ${state.failed.join(", ")}</div>`}
    ${state.flags.length > 0 && html`<div class="flags">${state.flags.map((flag) => html`<span class="flag">${flag.replaceAll("_", " ")}</span>`)}</div>`}
    ${pending.length > 0 && (lost || errors.size > 0) && html`<div class="notice warn" role="alert"><strong>${pending.length === 1 ? "1 change is" : `${pending.length} changes are`} not saved yet.</strong> ${lost ? html`${lost} <button type="button" class="small" onClick=${again}>Try again</button>` : "The schema refuses the record until the marked places are right."}
      <button type="button" class="small" onClick=${undo}>Discard</button></div>`}
    ${loose.map(([pointer, message]) => html`<p class="error" role="alert" title=${pointer}>${pointer ? `${titleAt(stops, pointer)}: ` : ""}${message}</p>`)}
  </div>`;
}
