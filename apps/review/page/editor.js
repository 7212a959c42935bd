// The input of a value: one for each type of the schema.

import { html, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import { isRead, Reading, useAsking, useReadings } from "./reading.js";
import { optionsOf, shown, typed } from "./values.js";

export function Editor({ place, page, title }) {
  const { form, leaf, pointer } = place;
  const picked = page.picked?.pointer === pointer ? page.picked : null;
  const begin = picked?.values[0] ?? picked?.text ?? leaf?.value ?? null;
  const asJson = form.kind === "any" || form.kind === "object" || place.kind === "object";
  const asTyped = (text) => (form.options || asJson ? (text ?? "") : begin === picked?.text && picked && !picked.values.length ? text : shown(text) === "yes" || shown(text) === "no" ? text : shown(text));
  const [said, say] = useState(asTyped(begin));
  const [problem, setProblem] = useState("");
  // The input stays the same one while its text grows.
  const [first] = useState(said);
  const box = useRef(null);
  const open = useRef(true);
  const [keeping, setKeeping] = useState(false);
  // A number that is there already stands as JSON has it.
  const untouched = said === first && (picked ? picked.values.length > 0 : leaf?.value !== null);
  const isDate = form.format === "date" || form.format === "date-time";
  const readings = useReadings(page.read);
  useAsking(readings, untouched && !isDate ? { kind: "any" } : form, pointer, said);
  useLayoutEffect(() => {
    box.current?.focus();
    box.current?.select?.();
    return () => { open.current = false; };
  }, []);
  const keep = (text) => page.save(place, text, picked?.spans || []);
  const save = async () => {
    if (keeping) return;
    try {
      if (said.trim() === "" && form.nullable && !form.options) keep(null);
      else if (!isRead(form)) keep(typed(form, said));
      else if (untouched) keep(begin);
      else {
        setKeeping(true);
        const text = await readings.settle(form, pointer, said);
        // Escape, or another field, has taken it back meanwhile.
        if (open.current) keep(text);
      }
    } catch (error) {
      setKeeping(false);
      setProblem(error.message);
    }
  };
  const key = (event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      save();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      page.stop();
    }
  };
  const common = { ref: box, value: said, readOnly: keeping, onInput: (event) => { say(event.target.value); setProblem(""); }, onKeyDown: key, "aria-label": `New value of ${title}`, "aria-invalid": problem ? "true" : undefined };
  // The words themselves are what a plain text says; a number or a date may be another one.
  const others = (picked?.values || []).slice(1, 6);
  const plain = form.kind !== "value" || (form.types.includes("string") && !form.format);
  let input;
  const options = optionsOf(form);
  if (options) {
    input = html`<select ...${common} onChange=${(event) => say(event.target.value)}>
      <option value="" disabled>choose …</option>
      ${options.map((one) => html`<option value=${one}>${shown(one)}</option>`)}</select>`;
  } else if (form.kind === "value" && form.format === "date") {
    input = html`<input type="text" placeholder="4 May 2026, 4.5.2026 or 2026-05-04" ...${common} />`;
  } else if (form.kind === "value" && !form.types.includes("string")) {
    input = html`<input type="text" inputmode="decimal" ...${common} />`;
  } else if (asJson || first.length > 48 || first.includes("\n")) {
    input = html`<textarea rows=${Math.min(8, 1 + Math.ceil(first.length / 44))} ...${common}></textarea>`;
  } else {
    input = html`<input type="text" placeholder=${form.format ? `format: ${form.format}` : ""} ...${common} />`;
  }
  return html`<div class="editor">${input}
    ${others.length > 0 && html`<details class="others" open=${!plain}><summary>${others.length === 1 ? "1 other reading" : `${others.length} other readings`}</summary>
      <div class="chips" role="group" aria-label="Other readings of these words">${others.map((one, at) => html`<button type="button" class="chip" onClick=${() => (isRead(form) ? keep(one) : say(asTyped(one)))}>${picked.words?.[at + 1] || shown(one) || one}</button>`)}</div></details>`}
    <${Reading} found=${readings.of(pointer, said)} choose=${keep} />
    <div class="acts"><button type="button" class="primary" onClick=${save}>Save <kbd>Enter</kbd></button>
      <button type="button" onClick=${() => page.stop()}>Cancel <kbd>Esc</kbd></button>
      ${picked && html`<span class="hint">from <q>${picked.text.slice(0, 60)}</q></span>`}</div>
    ${problem && html`<p class="error" role="alert">${problem}</p>`}
  </div>`;
}
