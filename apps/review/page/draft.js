// The dialog of a new row, or of an object that was not there: all that the schema needs is typed before it is stored.

import { html, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import { optionsOf, shown, titleOf, typed } from "./values.js";

export function RowDraft({ draft, close, send, errors }) {
  const box = useRef(null);
  const { place, number } = draft;
  const form = number === null ? place.form : place.items;
  const pointer = number === null ? place.pointer : `${place.pointer}/${number}`;
  const all = form.kind === "object" ? form.properties : [["", form]];
  // Rows of lists within it are added afterwards, at their list.
  const parts = all.filter(([, part]) => part.kind !== "list");
  const [values, setValues] = useState({});
  const [problem, setProblem] = useState("");
  useLayoutEffect(() => {
    box.current.showModal();
    box.current.querySelector("form input, form select, form textarea")?.focus();
  }, []);
  const add = async (event) => {
    event.preventDefault();
    setProblem("");
    try {
      const one = (part, said) => ((said ?? "") === "" && (part.nullable || part.kind !== "value") ? (part.kind === "list" ? "[]" : "null") : typed(part, said ?? ""));
      const texts = all.filter(([name, part]) => (values[name] ?? "") !== "" || part.required || name === "").map(([name, part]) => [name, one(part, values[name])]);
      const after = form.kind === "object" ? `{${texts.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}` : texts[0][1];
      if (await send([{ action: number === null ? "value" : "insert", pointer, after }])) close();
      else setProblem("refused");
    } catch (error) {
      setProblem(error.message);
    }
  };
  const told = problem === "refused" ? [...errors].map(([where, message]) => `${where.split("/").at(-1)}: ${message}`) : problem ? [problem] : [];
  const input = (name, part) => {
    const common = { name, value: values[name] ?? "", onInput: (event) => setValues({ ...values, [name]: event.target.value }) };
    const options = optionsOf(part);
    if (options) {
      return html`<select ...${common} onChange=${common.onInput}><option value=""></option>${options.map((one) => html`<option value=${one}>${shown(one)}</option>`)}</select>`;
    }
    if (part.kind !== "value") return html`<textarea rows="2" placeholder=${'"text", 12, or {"name": "value"}'} ...${common}></textarea>`;
    return html`<input type=${part.format === "date" ? "date" : "text"} max=${part.format === "date" ? "9999-12-31" : undefined} inputmode=${part.types.includes("string") ? undefined : "decimal"} ...${common} />`;
  };
  return html`<dialog ref=${box} aria-labelledby="row-title" onClose=${close}><form class="inside" onSubmit=${add}>
    <header><h2 id="row-title">${number === null ? titleOf(place) : `New row of ${titleOf(place)}`}</h2><button type="button" class="small" aria-label="Close" onClick=${close}>✕</button></header>
    ${parts.map(([name, part]) => html`<label class="draft"><span>${name ? titleOf({ name, form: part }) : "Value"}${part.required && !part.nullable ? html`<span class="needed" title="The schema needs a value here"> *</span>` : ""}</span>${input(name, part)}</label>`)}
    ${told.map((one) => html`<p class="error" role="alert">${one}</p>`)}
    <div class="ask"><button type="submit" class="primary">${number === null ? "Save" : "Add the row"}</button><button type="button" onClick=${close}>Cancel</button></div></form></dialog>`;
}
