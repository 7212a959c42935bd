// Corrections on their way to the server: they go one after another, and those that the schema refuses wait.

import { useLayoutEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { useNow } from "./now.js";

export function useChanges(doc, list, say) {
  const { at } = doc;
  // What waits of the document that is looked at; an answer that comes after it was left finds another box.
  const box = useRef({ list: [], lost: "" });
  const queue = useRef(Promise.resolve());
  const [pending, setPending] = useState([]);
  const [errors, setErrors] = useState(new Map());
  const [saving, setSaving] = useState(0);
  const now = useNow({ at, saving, errors });

  const clearErrors = () => setErrors(new Map());
  const forget = () => { box.current = { list: [], lost: "" }; setPending([]); clearErrors(); };
  useLayoutEffect(forget, [at]);

  // Waiting changes that the schema refused go again with the next one.
  const send = (changes) => {
    const mine = box.current;
    const replaced = (one) => changes.includes(one) || changes.some((two) => two.pointer === one.pointer && two.action !== "insert");
    mine.list = [...mine.list.filter((one) => !replaced(one)), ...changes];
    setPending(mine.list);
    setSaving((count) => count + 1);
    queue.current = queue.current.then(() => sendNow(mine, at, changes)).finally(() => setSaving((count) => count - 1));
    return queue.current;
  };
  const sendNow = async (mine, place, changes) => {
    const all = mine.list;
    if (!changes.some((one) => all.includes(one))) return true;
    try {
      const found = await api.post("/api/correct", { ...place, changes: all });
      mine.list = mine.list.filter((one) => !all.includes(one));
      mine.lost = "";
      api.setState(place, found);
      list.mark(place, found.marks);
      if (box.current === mine) {
        doc.setState(found);
        setPending(mine.list);
        clearErrors();
      }
      return true;
    } catch (error) {
      const told = new Map((error.places || []).map((one) => [one.pointer, one.message]));
      // A row is not shown before it is stored, so a refused one goes, and its message stays. What did not reach the
      // server waits for it; only what may arrive twice without harm.
      const waits = error.lost ? ["value", "absent", "accept"] : told.size > 0 ? ["value", "absent"] : [];
      mine.list = mine.list.filter((one) => !changes.includes(one) || waits.includes(one.action));
      mine.lost = error.lost && mine.list.length > 0 ? error.message : "";
      if (box.current === mine) {
        setPending(mine.list);
        setErrors(told);
      }
      if (!mine.lost || box.current !== mine) say(told.size ? `Not saved yet: ${[...told.values()][0]}` : error.message, "bad");
      return false;
    }
  };
  // What did not reach the server goes again.
  const again = () => { if (now.current.saving === 0 && box.current.list.length) send([...box.current.list]); };
  // A run, or somebody else, may have changed the document that is looked at.
  const renew = () => {
    const mine = box.current;
    if (!at || saving > 0) return;
    api.state(at).then((found) => { if (box.current === mine && now.current.saving === 0) doc.setState(found); }, (error) => {
      if (error.lost || box.current !== mine) return;
      // It was forgotten: nothing of it stays in sight.
      doc.close();
      say("This document is not in the folder any more.", "bad");
    });
  };
  const undo = () => {
    if (pending.length) {
      forget();
      say("The changes that were not saved are gone.");
      return;
    }
    const made = doc.state.corrections.filter((one) => !one.undone);
    if (!made.length) { say("There is nothing to take back."); return; }
    const last = made.at(-1).made;
    const identities = made.filter((one) => one.made === last).map((one) => one.identity);
    api.post("/api/undo", { ...at, identities }).then((found) => {
      api.setState(at, found);
      if (now.current.at !== at) return;
      doc.setState(found);
      clearErrors();
      list.mark(at, found.marks);
      say("Taken back.");
    }, (error) => say(error.message, "bad"));
  };
  const mayLeave = () => {
    const stuck = (now.current.errors.size || box.current.lost) && box.current.list.length;
    return !stuck || confirm("Some changes of this document are not saved. Leave it all the same?");
  };
  return { pending, errors, saving, lost: box.current.lost, send, again, renew, undo, mayLeave, clearErrors };
}

// The record with changes that are not stored yet: they stay in sight.
export function withPending(state, pending) {
  if (!pending.length) return state;
  const leaves = new Map(state.leaves.map((leaf) => [leaf.pointer, leaf]));
  for (const one of pending) {
    if (!["value", "absent", "accept"].includes(one.action)) continue;
    const before = leaves.get(one.pointer) || { pointer: one.pointer, flags: [], text: "", place: "" };
    if (one.action === "accept") {
      if (one.pointer) leaves.set(one.pointer, { ...before, confidence: 1, origin: "human" });
      continue;
    }
    leaves.set(one.pointer, { ...before, value: one.action === "absent" ? null : one.after, spans: one.spans || [], confidence: 1, origin: "human" });
  }
  return { ...state, leaves: [...leaves.values()] };
}
