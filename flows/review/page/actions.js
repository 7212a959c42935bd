// What the keys and buttons do with the fields and rows of the document that is looked at.

import { useEffect } from "./vendor/preact-htm.mjs";
import { doubtfulAfter, followingOf, listAround, steppedOf } from "./field.js";
import { actionOf } from "./keys.js";
import { useNow } from "./now.js";

// Changes of values and rows, each with the field that the person sees next.
export function useEdits({ doc, changes, field, stops, draft, hush }) {
  const { send } = changes;
  const now = useNow({ at: doc.at, editing: field.editing, stops });

  // Goes on at once; if the change is refused, it comes back unless something else has begun.
  const sendAndGoOn = (changed, pointer) => {
    field.focusOn(followingOf(stops, pointer));
    send(changed).then((saved) => !saved && doc.at === now.current.at && !now.current.editing && field.focusOn(pointer));
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
      const changed = [{ action: "insert", pointer, after }];
      if (spans.length) changed.push({ action: "value", pointer, after, spans });
      send(changed).then((saved) => {
        // A row that the schema refuses as an empty one is typed first.
        if (!saved && (place.items.kind !== "value" || after === null)) ask(place, number);
        else if (saved) setTimeout(() => {
          const first = now.current.stops.find((one) => one.pointer.startsWith(pointer));
          if (first && !now.current.editing) field.focusOn(first.pointer);
        });
      });
    },
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
export function actOf({ doc, list, changes, field, stops, edits, open, setPanel, setDrawer, searchRef, say }) {
  const { state, index } = doc;
  const stop = stops.find((one) => one.pointer === field.active);
  const nextTodo = (told = "") => {
    if (told) say(told);
    for (let place = index + 1; place < list.total; place += 1) if (!list.rows.get(place)?.reviewed) { open(place); return; }
    say(`${told} That was the last document of this list.`.trim());
  };
  const whole = (action, told) => changes.send([{ action, pointer: "" }]).then((saved) => saved && nextTodo(told));
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
    undo: () => { if (state) { if (changes.pending.length) field.rest(); changes.undo(); } },
    nextDocument: () => open(index + 1),
    previousDocument: () => open(index - 1),
    search: () => { setDrawer(true); searchRef.current?.focus(); searchRef.current?.select(); },
    steps: () => setPanel("steps"),
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
