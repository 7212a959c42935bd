// What a typed text will be stored as: dates and numbers are read by the server, as the engine reads this document.

import { html, useEffect, useState } from "./vendor/preact-htm.mjs";
import { optionsOf, shown } from "./values.js";

const FORMATS = ["date", "date-time", "time", "duration"];
const isNumber = (form) => form.types.includes("number") || form.types.includes("integer");
// How long what will be stored stands before it is kept, in ms, if it was not shown while it was typed.
const LOOK = 700;

export const isRead = (form) => form.kind === "value" && !optionsOf(form) && (FORMATS.includes(form.format) || isNumber(form));

// The JSON text of what means the same in every document, so that it needs no server; null for all else.
export function certain(form, said) {
  const text = said.trim();
  if (form.format === "date" && /^\d{4}-\d\d-\d\d$/.test(text)) {
    const day = new Date(`${text}T00:00:00Z`);
    return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text) ? JSON.stringify(text) : null;
  }
  const plain = form.types.includes("number") ? /^-?(0|[1-9]\d*)(\.(\d{1,2}|\d{4,}))?$/ : /^-?(0|[1-9]\d*)$/;
  return isNumber(form) && plain.test(text) ? text : null;
}

const one = (found) => found.values.length === 1;
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

// The readings of texts that are typed, by their fields, each behind the last key by a moment.
export function useReadings(read) {
  const [found, setFound] = useState({});
  const put = (pointer, said) => read(pointer, said).then((answer) => {
    const told = { said, ...answer };
    setFound((before) => ({ ...before, [pointer]: told }));
    return told;
  });
  return {
    of: (pointer, said) => (found[pointer]?.said === said ? found[pointer] : null),
    ask: (pointer, said) => put(pointer, said).catch(() => {}),
    // The JSON text of what was typed, once it has stood before the person. Throws an Error with a message for them.
    settle: async (form, pointer, said) => {
      const sure = certain(form, said);
      if (sure !== null) return sure;
      if (said.trim() === "") throw new Error("Type a value first.");
      let told = found[pointer]?.said === said ? found[pointer] : null;
      if (told === null) {
        told = await put(pointer, said);
        if (one(told)) await pause(LOOK);
      }
      if (one(told)) return told.values[0];
      throw new Error(told.values.length ? `${said.trim()} can be ${told.words.join(" or ")}: choose the one that is meant.` : `Expected ${told.expected}.`);
    },
  };
}

export function useAsking(readings, form, pointer, said) {
  useEffect(() => {
    if (!isRead(form) || said.trim() === "") return undefined;
    const timer = setTimeout(() => readings.ask(pointer, said), 120);
    return () => clearTimeout(timer);
  }, [said]);
}

// What will be stored, in words, or the values that may be meant, of which one is chosen.
export function Reading({ found, choose }) {
  if (!found?.values.length) return null;
  if (one(found)) return html`<p class="will" role="status">Will be stored as <strong>${found.words[0]}</strong></p>`;
  return html`<div class="chips will" role="group" aria-label="What may be meant">${found.values.map((value, at) => html`<button type="button" class="chip" onClick=${() => choose(value)}>${found.words[at] || shown(value)}</button>`)}</div>`;
}
