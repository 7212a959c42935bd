// Corrections on their way to the server: they go one after another. Those that the schema refuses wait, and those that
// somebody else overtook are told with both values, of which the person takes one.

import { useLayoutEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { useNow } from "./now.js";
import { partAt, seenPlace } from "./values.js";

const NOTHING = [];
const keyOf = (at) => JSON.stringify(at);
// The row itself is what is not there.
const sent = ({ action, pointer, after, spans, seen }) => ({ action: action === "remove" ? "absent" : action, pointer, after, spans: spans || [], seen });

export function useChanges(doc, list, say) {
  const { at } = doc;
  // What waits of the document that is looked at; an answer that comes after it was left finds another box.
  const box = useRef({ list: [], lost: "" });
  const queue = useRef(Promise.resolve());
  // What the person saw when they began to type, by place; others may change the record while they do.
  const saw = useRef(null);
  const [pending, setPending] = useState([]);
  const [errors, setErrors] = useState(new Map());
  const [saving, setSaving] = useState(0);
  const [overtaken, setOvertaken] = useState(new Map());
  const mine = (at && overtaken.get(keyOf(at))) || NOTHING;
  const now = useNow({ at, saving, errors, state: doc.state, overtaken: mine });

  const clearErrors = () => setErrors(new Map());
  const forget = () => { box.current = { list: [], lost: "" }; setPending([]); clearErrors(); };
  useLayoutEffect(forget, [at]);
  const looking = (typing) => { saw.current = typing && doc.state ? { ...doc.state.seen } : null; };
  const settle = (place, change) => setOvertaken((before) => {
    const left = (before.get(keyOf(place)) || []).filter((one) => one.change !== change);
    return new Map(before).set(keyOf(place), left);
  });

  // Waiting changes that the schema refused go again with the next one.
  const send = (changes) => {
    const mine = box.current;
    const seen = saw.current || now.current.state?.seen || {};
    const record = now.current.state?.record ? JSON.parse(now.current.state.record) : null;
    for (const one of changes) {
      one.place = seenPlace(record, one);
      one.seen ??= seen[one.place] ?? seen["-"] ?? "";
    }
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
      const found = await api.post("/api/correct", { ...place, changes: all.map(sent) });
      mine.list = mine.list.filter((one) => !all.includes(one));
      mine.lost = "";
      // What the person's own changes have moved, they have seen.
      const move = (pointer, seen) => (found.moved[pointer]?.[0] === seen ? found.moved[pointer][1] : seen);
      for (const one of mine.list) one.seen = move(one.place, one.seen);
      if (saw.current) for (const [pointer, seen] of Object.entries(saw.current)) saw.current[pointer] = move(pointer, seen);
      api.setState(place, found);
      list.mark(place, found.marks);
      if (box.current === mine) {
        doc.setState(found);
        setPending(mine.list);
        clearErrors();
      }
      return true;
    } catch (error) {
      if (error.overtaken.length) return tellOvertaken(mine, place, changes, error);
      const told = new Map(error.places.map((one) => [one.pointer, one.message]));
      // What was refused holds nothing else back: the others go without it.
      const refused = all.filter((one) => told.has(one.pointer));
      if (refused.length && refused.length < all.length) {
        mine.list = all.filter((one) => !refused.includes(one));
        const stored = await sendNow(mine, place, mine.list);
        mine.list = [...mine.list, ...refused];
        if (box.current === mine) { setPending(mine.list); setErrors(told); }
        say(`Not saved yet: ${[...told.values()][0]}`, "bad");
        return stored && !changes.some((one) => refused.includes(one));
      }
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
  // Somebody was faster: their value stands, and the person's own waits for a decision, also if they have gone on.
  const tellOvertaken = async (mine, place, changes, error) => {
    const theirs = new Map(error.overtaken.map((one) => [one.pointer, one]));
    const late = mine.list.filter((one) => theirs.has(one.pointer));
    mine.list = mine.list.filter((one) => !late.includes(one));
    setOvertaken((before) => new Map(before).set(keyOf(place), [...(before.get(keyOf(place)) || []), ...late.map((change) => ({ change, ...theirs.get(change.pointer) }))]));
    api.forgetState(place);
    const found = await api.state(place).catch(() => null);
    if (found) list.mark(place, found.marks);
    if (box.current === mine) {
      setPending(mine.list);
      if (found) doc.setState(found);
    } else say(`${error.message} Open the document again to decide.`, "bad");
    // What others did not touch goes on its way.
    if (mine.list.length) await sendNow(mine, place, mine.list);
    return !changes.some((one) => late.includes(one));
  };
  const takeTheirs = (one) => settle(at, one.change);
  const takeMine = (one) => {
    settle(at, one.change);
    const { place, seen, ...change } = one.change;
    return send([change.action === "insert" ? { ...change, pointer: lastPlace(now.current.state, change.pointer) } : change]);
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
  // Takes back the last change of this person, else the last one of anybody.
  const undo = (who) => {
    if (pending.length) {
      forget();
      say("The changes that were not saved are gone.");
      return;
    }
    const made = doc.state.corrections.filter((one) => !one.undone);
    if (!made.length) { say("There is nothing to take back."); return; }
    const last = made.findLast((one) => one.who === who) || made.at(-1);
    const identities = made.filter((one) => one.made === last.made && one.who === last.who).map((one) => one.identity);
    api.post("/api/undo", { ...at, identities, seen: doc.state.seen[""] }).then((found) => {
      api.setState(at, found);
      list.mark(at, found.marks);
      if (now.current.at !== at) return;
      doc.setState(found);
      clearErrors();
      say(last.who === who ? "Taken back." : `Taken back: a change of ${last.who}.`);
    }, (error) => {
      say(error.overtaken?.length ? `Nothing was taken back: ${error.overtaken[0].who || "a run"} has changed the record. Look at it first.` : error.message, "bad");
      if (error.overtaken?.length) { api.forgetState(at); renew(); }
    });
  };
  const mayLeave = () => {
    const stuck = (now.current.errors.size || box.current.lost) && box.current.list.length;
    return !(stuck || now.current.overtaken.length) || confirm("Some changes of this document are not saved. Leave it all the same?");
  };
  return { pending, errors, saving, overtaken: mine, lost: box.current.lost, send, again, renew, undo, mayLeave, clearErrors, looking, takeTheirs, takeMine };
}

// The place of a new row: where it was meant, or behind the last one if the list has become shorter.
function lastPlace(state, pointer) {
  const [over, number] = [pointer.slice(0, pointer.lastIndexOf("/")), Number(pointer.slice(pointer.lastIndexOf("/") + 1))];
  const rows = partAt(JSON.parse(state.record), over);
  return `${over}/${Math.min(number, Array.isArray(rows) ? rows.length : 0)}`;
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
