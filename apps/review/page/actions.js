// What the keys and buttons do with the fields and rows of the document that is looked at.

import { useEffect } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { doubtfulAfter, followingOf, listAround, steppedOf } from "./field.js";
import { actionOf } from "./keys.js";
import { useNow } from "./now.js";
import { titleAt } from "./values.js";

// Changes of values and rows, each with the field that the person sees next.
export function useEdits({ doc, changes, field, stops, draft, hush }) {
  const { send } = changes;
  const now = useNow({ at: doc.at, active: field.active, editing: field.editing, stops });

  // Goes on at once; if the change is refused, it comes back unless another field was chosen or is typed.
  const sendAndGoOn = (changed, pointer) => {
    const following = followingOf(stops, pointer);
    field.focusOn(following);
    send(changed).then((saved) => {
      const { at, active, editing } = now.current;
      if (!saved && doc.at === at && active === following && !editing) field.focusOn(pointer);
    });
  };
  const ask = (place, number) => { draft(place, number); changes.clearErrors(); hush(); };
  return {
    stop: () => { field.rest(); field.focusOn(field.active); },
    save: ({ pointer }, text, spans) => {
      field.rest();
      sendAndGoOn([text === null ? { action: "absent", pointer } : { action: "value", pointer, after: text, spans }], pointer);
    },
    accept: ({ pointer }) => sendAndGoOn([{ action: "accept", pointer }], pointer),
    absent: ({ pointer }) => sendAndGoOn([{ action: "absent", pointer }], pointer),
    insert: (place, number, after = null, spans = []) => {
      const pointer = `${place.pointer}/${number}`;
      send([{ action: "insert", pointer, after, spans }]).then((saved) => {
        // A row that the schema refuses as an empty one is typed first.
        if (!saved && (place.items.kind !== "value" || after === null)) ask(place, number);
        else if (saved) setTimeout(() => {
          const first = now.current.stops.find((one) => one.pointer.startsWith(pointer));
          if (first && !now.current.editing) field.focusOn(first.pointer);
        });
      });
    },
    columnsOf: ({ pointer }) => api.get("/api/columns", { ...doc.at, pointer }).then(({ columns }) => columns, () => []),
    setColumn: ({ pointer }, name, head) => send([{ action: "column", pointer, after: JSON.stringify([name, head]) }]),
    takeRows: ({ pointer, leaf }) => send([{ action: "list", pointer, after: leaf.length.other }]),
    remove: (place, number) => send([{ action: "remove", pointer: `${place.pointer}/${number}` }])
      .then((saved) => saved && !now.current.editing && field.focusOn(place.pointer)),
    edit: (stop) => {
      // An object that is not there yet is typed part by part.
      if (stop.kind === "value" && stop.form.kind === "object") { draft(stop, null); changes.clearErrors(); }
      else field.type();
    },
  };
}

// Returns the function that does what an action of `keys.js` names.
export function actOf({ doc, list, changes, field, stops, edits, open, setPanel, setDrawer, searchRef, say, who }) {
  const { state, index } = doc;
  const stop = stops.find((one) => one.pointer === field.active);
  // Goes to the next record that nobody has reviewed, wherever it stands in the list.
  const nextTodo = (told = "") => list.next(index).then(({ place }) => {
    if (!doc.isAt(doc.at)) return;
    if (place !== null) open(place);
    const end = place === null ? "Every record of this list is reviewed." : "";
    if (told || end) say(`${told} ${end}`.trim());
  }, (error) => (error.gone ? list.sort() : say(error.message, "bad")));
  const whole = async (action, told) => {
    if (!(await changes.send([{ action, pointer: "" }])) || !doc.isAt(doc.at)) return;
    const { guesses } = action === "accept" ? await api.state(doc.at) : { guesses: [] };
    if (!guesses.length) { nextTodo(told); return; }
    const named = guesses.slice(0, 3).map((pointer) => titleAt(stops, pointer)).join(", ");
    say(`Accepted, but for what was guessed: ${named}${guesses.length > 3 ? " …" : ""}. Accept, type or take away each of these.`);
    field.focusOn(guesses.find((pointer) => stops.some((one) => one.pointer === pointer)));
  };
  const rows = (one) => {
    const [place, number] = listAround(stops, field.active);
    if (!place) say("Choose a list or one of its rows first.");
    else if (one === "insert") edits.insert(place, place.pointer === field.active ? number : number + 1);
    else if (place.pointer !== field.active) edits.remove(place, number);
  };
  const doubtful = () => {
    const found = doubtfulAfter(stops, field.active);
    if (found) field.focusOn(found.pointer);
    else say("No field of this document is doubtful.");
  };
  const done = () => {
    if (state.record === null) say("This document has no record to accept.");
    else whole("accept");
  };
  const does = {
    next: () => field.focusOn(steppedOf(stops, field.active, 1)),
    previous: () => field.focusOn(steppedOf(stops, field.active, -1)),
    doubtful,
    accept: () => stop?.leaf && state.record !== null && edits.accept(stop),
    edit: () => stop && (stop.kind === "list" ? edits.insert(stop, stop.rows.length) : edits.edit(stop)),
    absent: () => stop && stop.kind !== "list" && edits.absent(stop),
    insert: () => rows("insert"),
    remove: () => rows("remove"),
    done: () => state && done(),
    other: () => state && whole("other_kind", "Not of this kind: it leaves the views. Undo takes that back."),
    undo: () => { if (state) { if (changes.pending.length) field.rest(); changes.undo(who); } },
    nextDocument: () => open(index + 1),
    previousDocument: () => open(index - 1),
    search: () => { setDrawer(true); searchRef.current?.focus(); searchRef.current?.select(); },
    improve: () => setPanel("improve"),
    help: () => setPanel("help"),
    escape: () => {
      if (document.activeElement?.matches(".search")) document.activeElement.blur();
      field.rest();
      setDrawer(false);
    },
  };
  return (action) => does[action]?.();
}

export function useKeys(act) {
  const now = useNow(act);
  useEffect(() => {
    const press = (event) => {
      const action = actionOf(event);
      if (!action) return;
      if (action !== "escape") event.preventDefault();
      now.current(action);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}
