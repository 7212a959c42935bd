// Words that were marked in the document become the value of the chosen field.

import * as api from "./api.js";
import { sliced } from "./values.js";

async function wordsOf(at, content, start, end) {
  const block = content.blocks.find((one) => one.start <= start && start < one.end);
  if (!block) return "";
  const found = await api.text(at, block.start, block.end);
  return sliced(found.text, start - found.start, end - found.start);
}

export function pickingOf({ doc, field, stops, insert, say }) {
  const { at, content } = doc;
  return (spans, pointer = field.active) => {
    const stop = stops.find((one) => one.pointer === pointer);
    if (!stop) { say("Choose a field first, then drag over its words."); return; }
    const place = stop.kind === "list" ? (stop.items.kind === "value" ? `${stop.pointer}/${stop.rows.length}` : null) : stop.pointer;
    if (place === null) { say("Add a row first, then choose one of its fields."); return; }
    if (!spans.length) { say("Mark words within one part of the document."); return; }
    const words = spans.map(([start, end]) => wordsOf(at, content, start, end));
    Promise.all([api.post("/api/readings", { ...at, pointer: place, spans }), ...words]).then(([found, ...texts]) => {
      if (stop.kind === "list") {
        if (found.values.length) insert(stop, stop.rows.length, found.values[0], spans);
        else say("These words have no value of this kind.");
        return;
      }
      // Another field may have been chosen since the words were marked.
      field.typeAt(stop.pointer, { pointer: stop.pointer, spans, values: found.values, words: found.words, text: texts.join(" ").replaceAll(/\s+/g, " ").trim() });
    }, (error) => say(error.message, "bad"));
  };
}
