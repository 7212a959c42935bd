// What the page tells: a word in passing, and what holds for the document that is looked at.

import { html, useCallback, useEffect, useState } from "./vendor/preact-htm.mjs";

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

export function Notices({ state, pending, lost, again, undo, errors, stops, focusOn }) {
  const known = new Set(stops.map((one) => one.pointer));
  const loose = [...errors].filter(([pointer]) => !known.has(pointer));
  return html`<div class="notices">
    ${state.outcome === "quarantined" && html`<div class="notice held"><strong>■ Held back: ${state.code.replaceAll("_", " ")}</strong>${state.detail && html`<p><bdi>${state.detail}</bdi></p>`}
      ${state.pointers.length > 0 && html`<p>${state.pointers.slice(0, 12).map((pointer) => html`<button type="button" class="chip" onClick=${() => known.has(pointer) && focusOn(pointer)}>${pointer || "/"}</button>`)}</p>`}</div>`}
    ${state.marks.other_kind && html`<div class="notice"><strong>Not of this kind.</strong> The record is out of the views of ${state.schema}.
      <button type="button" class="small" onClick=${undo}>Take that back</button></div>`}
    ${state.failed.length > 0 && html`<div class="notice warn"><strong>✗ ${state.failed.length === 1 ? "A check fails" : "Checks fail"}:</strong> ${state.failed.join(", ")}</div>`}
    ${state.flags.length > 0 && html`<div class="flags">${state.flags.map((flag) => html`<span class="flag">${flag.replaceAll("_", " ")}</span>`)}</div>`}
    ${pending.length > 0 && (lost || errors.size > 0) && html`<div class="notice warn" role="alert"><strong>${pending.length === 1 ? "1 change is" : `${pending.length} changes are`} not saved yet.</strong> ${lost ? html`${lost} <button type="button" class="small" onClick=${again}>Try again</button>` : "The schema refuses the record until the marked places are right."}
      <button type="button" class="small" onClick=${undo}>Discard</button></div>`}
    ${loose.map(([pointer, message]) => html`<p class="error" role="alert">${pointer ? `${pointer}: ` : ""}${message}</p>`)}
  </div>`;
}
