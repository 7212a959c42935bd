// The dialog of a new row, or of an object that was not there: all that the schema needs is typed before it is stored.

import { html, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import { isRead, Reading, useAsking, useReadings } from "./reading.js";
import { escaped, optionsOf, shown, titleOf, typed } from "./values.js";

// What was typed into one input of the dialog will be stored as this.
function Told({ form, pointer, said, readings, choose }) {
  useAsking(readings, form, pointer, said);
  return html`<${Reading} found=${readings.of(pointer, said)} choose=${choose} />`;
}

export function RowDraft({ draft, close, send, errors, read }) {
  const box = useRef(null);
  const { place, number } = draft;
  const form = number === null ? place.form : place.items;
  const pointer = number === null ? place.pointer : `${place.pointer}/${number}`;
  const all = form.kind === "object" ? form.properties : [["", form]];
  // Rows of lists within it are added afterwards, at their list.
  const parts = all.filter(([, part]) => part.kind !== "list");
  const [values, setValues] = useState({});
  const [problem, setProblem] = useState("");
  // Values that were chosen where a text may mean several, by the name of their part.
  const [meant, setMeant] = useState({});
  const readings = useReadings(read);
  const at = (name) => (name ? `${pointer}/${escaped(name)}` : pointer);
  useLayoutEffect(() => {
    box.current.showModal();
    box.current.querySelector("form input, form select, form textarea")?.focus();
  }, []);
  const add = async (event) => {
    event.preventDefault();
    setProblem("");
    try {
      const one = async ([name, part]) => {
        const said = values[name] ?? "";
        if (said === "" && (part.nullable || part.kind !== "value")) return [name, part.kind === "list" ? "[]" : "null"];
        return [name, meant[name]?.said === said ? meant[name].value : isRead(part) ? await readings.settle(part, at(name), said) : typed(part, said)];
      };
      const texts = await Promise.all(all.filter(([name, part]) => (values[name] ?? "") !== "" || part.required || name === "").map(one));
      const after = form.kind === "object" ? `{${texts.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}` : texts[0][1];
      if (await send([{ action: number === null ? "value" : "insert", pointer, after }])) close();
      else setProblem("refused");
    } catch (error) {
      setProblem(error.message);
    }
  };
  const told = problem === "refused" ? [...errors].map(([where, message]) => `${titled(where)}: ${message}`) : problem ? [problem] : [];
  const titled = (where) => {
    const [name, part] = all.find(([one]) => one && at(one) === where) || [];
    return part ? titleOf({ name, form: part }) : where;
  };
  const input = (name, part) => {
    const common = { name, value: values[name] ?? "", onInput: (event) => setValues({ ...values, [name]: event.target.value }) };
    const options = optionsOf(part);
    if (options) {
      return html`<select ...${common} onChange=${common.onInput}><option value=""></option>${options.map((one) => html`<option value=${one}>${shown(one)}</option>`)}</select>`;
    }
    if (part.kind !== "value") return html`<textarea rows="2" placeholder=${'"text", 12, or {"name": "value"}'} ...${common}></textarea>`;
    return html`<input type="text" placeholder=${part.format === "date" ? "4 May 2026, 4.5.2026 or 2026-05-04" : ""} inputmode=${part.types.includes("string") ? undefined : "decimal"} ...${common} />`;
  };
  return html`<dialog ref=${box} aria-labelledby="row-title" onClose=${close}><form class="inside" onSubmit=${add}>
    <header><h2 id="row-title">${number === null ? titleOf(place) : `New row of ${titleOf(place)}`}</h2><button type="button" class="small" aria-label="Close" onClick=${close}>✕</button></header>
    ${parts.map(([name, part]) => html`<label class="draft"><span>${name ? titleOf({ name, form: part }) : "Value"}${part.required && !part.nullable ? html`<span class="needed" title="The schema needs a value here"> *</span>` : ""}</span>${input(name, part)}</label>
      <${Told} form=${part} pointer=${at(name)} said=${values[name] ?? ""} readings=${readings} choose=${(value) => setMeant({ ...meant, [name]: { said: values[name], value } })} />
      ${meant[name]?.said === values[name] && meant[name] && html`<p class="will">chosen: <strong>${shown(meant[name].value)}</strong></p>`}`)}
    ${told.map((one) => html`<p class="error" role="alert">${one}</p>`)}
    <div class="ask"><button type="submit" class="primary">${number === null ? "Save" : "Add the row"}</button><button type="button" onClick=${close}>Cancel</button></div></form></dialog>`;
}
