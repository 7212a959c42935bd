// Records and forms as trees of places; texts of values; confidence in words.

const unescaped = (step) => step.replaceAll("~1", "/").replaceAll("~0", "~");
export const escaped = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

// Server offsets count code points, and JavaScript's strings count UTF-16 units.
const ASTRAL = /[\ud800-\udfff]/;
export const points = (text) => (ASTRAL.test(text) ? [...text].length : text.length);
export const sliced = (text, start, end) => (ASTRAL.test(text) ? [...text].slice(start, end).join("") : text.slice(start, end));

const ANY = { kind: "any", title: "", description: "", nullable: true };

// The tree of a record: the places of its form, in the order of the form, with the values that are there.
// Each place has: pointer, name, form, kind, and leaf (a value's row), rows (a list) or parts (an object).
export function treeOf(state) {
  const leaves = new Map(state.leaves.map((leaf) => [leaf.pointer, leaf]));
  let value;
  try {
    value = state.record === null ? undefined : JSON.parse(state.record);
  } catch {
    value = undefined;
  }
  const place = (form, value, pointer, name, required) => {
    const found = { pointer, name, form, required, kind: "value", present: value !== undefined };
    const leaf = leaves.get(pointer);
    if (Array.isArray(value) || (value === undefined && form.kind === "list") || (value === null && form.kind === "list")) {
      const items = form.kind === "list" ? form.items : ANY;
      const rows = Array.isArray(value) ? value : [];
      found.kind = "list";
      found.leaf = leaf;
      found.items = items;
      found.rows = rows.map((row, index) => place(items, row, `${pointer}/${index}`, String(index), true));
    } else if (value !== null && typeof value === "object") {
      found.kind = "object";
      found.parts = partsOf(form, value, pointer, place);
      // Only as one value can an object become null, or another alternative of its schema.
      if (pointer !== "" && (form.nullable || form.kind !== "object")) found.leaf = wholeOf(found.parts, pointer, value);
    } else if ((value === undefined || value === null) && form.kind === "object" && pointer === "") {
      found.kind = "object";
      found.parts = partsOf(form, {}, pointer, place);
    } else if (value === undefined && form.kind === "object") {
      found.kind = "object";
      found.parts = partsOf(form, {}, pointer, place);
    } else {
      found.leaf = leaf || { pointer, value: value === undefined ? null : JSON.stringify(value), confidence: null, origin: "", flags: [], spans: [], text: "", place: "" };
    }
    return found;
  };
  return place(state.form || ANY, value, "", "", true);
}

// An object as one value: its text, as sure as its least sure part.
function wholeOf(parts, pointer, value) {
  const under = stopsOf({ kind: "object", parts }).map((one) => one.leaf).filter((leaf) => typeof leaf?.confidence === "number");
  const confidence = under.length ? Math.min(...under.map((leaf) => leaf.confidence)) : null;
  const origin = under.length && under.every((leaf) => leaf.origin === "human") ? "human" : "";
  return { pointer, value: JSON.stringify(value, null, 1), confidence, origin, flags: [], spans: [], text: "", place: "" };
}

function partsOf(form, value, pointer, place) {
  const known = form.kind === "object" ? form.properties : [];
  const names = new Set(known.map(([name]) => name));
  const parts = known.map(([name, part]) => place(part, value[name], `${pointer}/${escaped(name)}`, name, part.required));
  for (const name of Object.keys(value)) {
    if (!names.has(name)) parts.push(place(ANY, value[name], `${pointer}/${escaped(name)}`, name, false));
  }
  return parts;
}

// The places that the keyboard goes through, in the order of the page.
export function stopsOf(place, found = []) {
  if (place.kind === "object") {
    if (place.leaf) found.push(place);
    place.parts.forEach((part) => stopsOf(part, found));
  }
  else if (place.kind === "list") {
    found.push(place);
    place.rows.forEach((row) => stopsOf(row, found));
  } else found.push(place);
  return found;
}

export function titleOf(place) {
  if (place.form.title) return place.form.title;
  if (/^\d+$/.test(place.name)) return String(Number(place.name) + 1);
  const words = place.name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll(/[_-]+/g, " ").trim();
  return words ? words[0].toUpperCase() + words.slice(1) : "Record";
}

// The part of a record at a pointer.
export const partAt = (record, pointer) => pointer.split("/").slice(1).reduce((part, step) => part?.[unescaped(step)], record);

// The place that a change may not miss: its own, the row of the outermost list around it, or the list of a new row.
export function seenPlace(record, { action, pointer }) {
  const place = action === "insert" ? pointer.slice(0, pointer.lastIndexOf("/")) : pointer;
  const steps = place.split("/");
  for (let count = 1; count < steps.length; count += 1) {
    if (Array.isArray(partAt(record, steps.slice(0, count).join("/")))) return steps.slice(0, count + 1).join("/");
  }
  return place;
}

// How many of the values of a document are sure; rows and places without a value do not count.
export function sureOf(leaves) {
  const values = leaves.filter((leaf) => leaf.origin !== "list" && leaf.value !== null && leaf.value !== "null" && typeof leaf.confidence === "number");
  return { sure: values.filter((leaf) => leaf.confidence >= 0.9).length, values: values.length };
}

// The share of sure values in words, with a name for colours and a mark.
export function shareOf({ sure, values }) {
  if (!values) return { level: "none", mark: "–", text: "", words: "no values" };
  const share = sure / values;
  const [level, mark] = share >= 0.9 ? ["sure", "●"] : share >= 0.7 ? ["likely", "◐"] : ["doubtful", "▲"];
  return { level, mark, text: `${sure.toLocaleString("en")} of ${values.toLocaleString("en")} sure`, words: `${sure} of ${values} values are sure` };
}

export const titleAt = (stops, pointer) => {
  const found = stops.find((one) => one.pointer === pointer);
  const list = stops.findLast((one) => one.kind === "list" && pointer.startsWith(`${one.pointer}/`));
  const row = list ? ` in row ${Number(pointer.slice(list.pointer.length + 1).split("/")[0]) + 1}` : "";
  return found ? `${titleOf(found)}${row}` : pointer || "the record";
};

// The JSON texts that a value is chosen from, if it is not typed.
export function optionsOf(form) {
  return form.options || (form.kind === "value" && form.types.length === 1 && form.types[0] === "boolean" ? ["true", "false"] : null);
}

// A JSON text as a person reads it.
export function shown(text) {
  if (text === null || text === undefined || text === "null") return "";
  if (text === "true") return "yes";
  if (text === "false") return "no";
  if (text.startsWith('"')) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text;
}

// Of the nulls of eight labelled sets that are surer than this 95% are right, of the others 9%.
const LEAST_NULL = 0.6;

// How a place without a value reads: only a person, or a confidence at which nulls are right, tells that it has none.
export function nullText(leaf) {
  return leaf?.origin !== "human" && typeof leaf?.confidence === "number" && leaf.confidence < LEAST_NULL ? "nothing found" : "not in the document";
}

// How sure a leaf is: a name for colours and marks, and words.
export function sureness(leaf) {
  if (leaf?.missing && typeof leaf.confidence !== "number") return { level: "doubtful", mark: "▲", words: "guessed: not found, and the schema needs a value here" };
  if (typeof leaf?.confidence !== "number") return { level: "none", mark: "–", words: "not rated" };
  if (leaf.origin === "human") return { level: "human", mark: "✓", words: "checked by a person" };
  const percent = `${Math.floor(leaf.confidence * 100)}%`;
  if (leaf.missing) return { level: "doubtful", mark: "▲", words: `${percent} sure; the schema needs a value here` };
  if (leaf.confidence >= 0.9) return { level: "sure", mark: "●", words: `${percent} sure`, percent };
  if (leaf.confidence >= 0.7) return { level: "likely", mark: "◐", words: `${percent} sure`, percent };
  return { level: "doubtful", mark: "▲", words: `${percent} sure, please look`, percent };
}

// What a person typed, as JSON text for this place, but for dates and numbers (reading.js). Throws an Error with a message for them.
export function typed(form, said) {
  const text = said.trim();
  if (form.kind === "value") {
    if (form.options?.includes(said)) return said;
    const types = form.types;
    if (types.includes("boolean") && (text === "true" || text === "false")) return text;
    if (types.includes("string")) return JSON.stringify(form.format ? text : said.replace(/[ \t]+$/gm, "").trim());
    throw new Error("Choose yes or no.");
  }
  try {
    JSON.parse(text);
    return text;
  } catch {
    if (form.kind === "any" && text && !/^[[{"]/.test(text)) return JSON.stringify(text);
    throw new Error('Expected JSON, such as "text", 12, or {"name": "value"}.');
  }
}
