// The field that is chosen, whether it is typed, and the words that were picked for it.

import { useLayoutEffect, useState } from "./vendor/preact-htm.mjs";
import { useNow } from "./now.js";
import { idOf } from "./record.js";
import { stopsOf, sureness, treeOf } from "./values.js";

// The first field that needs a look: a missing or doubtful one, else the first.
function firstOf(state) {
  const stops = stopsOf(treeOf(state));
  const told = new Set(state.pointers);
  const found = stops.find((one) => told.has(one.pointer)) || stops.find((one) => one.leaf && sureness(one.leaf).level === "doubtful") || stops[0];
  return found ? found.pointer : null;
}

export function useField({ at, state }) {
  const [active, setActive] = useState(null);
  const [editing, setEditing] = useState(false);
  const [picked, setPicked] = useState(null);
  const now = useNow({ active, editing });
  const rest = () => { setEditing(false); setPicked(null); };
  useLayoutEffect(() => { rest(); setActive(state ? firstOf(state) : null); }, [at, state === null]);

  const choose = (pointer) => { if (pointer !== now.current.active) { setActive(pointer); rest(); } };
  const focusOn = (pointer) => {
    if (pointer === null || pointer === undefined) return;
    setActive(pointer);
    rest();
    requestAnimationFrame(() => {
      if (now.current.active !== pointer || now.current.editing) return;
      const element = document.getElementById(idOf(pointer)) || document.querySelector(`[data-cell="${CSS.escape(pointer)}"]`);
      const button = element?.matches("button") ? element : element?.querySelector(":scope > .value, :scope > header > .value");
      button?.focus({ preventScroll: true });
      (document.querySelector(`[data-cell="${CSS.escape(pointer)}"]`) || element)?.scrollIntoView({ block: "nearest" });
    });
  };
  const type = (words = null) => { if (words) setPicked(words); setEditing(true); };
  const typeAt = (pointer, words) => { setActive(pointer); type(words); };
  return { active, editing, picked, choose, focusOn, type, typeAt, rest };
}

// The stop that follows; what is said of an object holds for its parts.
export function followingOf(stops, pointer) {
  const place = stops.findIndex((one) => one.pointer === pointer);
  const whole = stops[place]?.kind === "object";
  const next = stops.find((one, other) => other > place && !(whole && one.pointer.startsWith(`${pointer}/`)));
  return place >= 0 && next ? next.pointer : pointer;
}

export function steppedOf(stops, pointer, by) {
  const place = stops.findIndex((one) => one.pointer === pointer);
  return stops[Math.max(0, Math.min(stops.length - 1, place < 0 ? 0 : place + by))]?.pointer;
}

// The next doubtful stop, from the beginning again after the last one.
export function doubtfulAfter(stops, pointer) {
  const from = stops.findIndex((one) => one.pointer === pointer);
  return [...stops.slice(from + 1), ...stops.slice(0, from + 1)].find((one) => one.leaf && sureness(one.leaf).level === "doubtful");
}

// The list that is chosen, or has the chosen row, and the number of that row.
export function listAround(stops, pointer) {
  const [, base, number] = /^(.*)\/(\d+)(?:\/[^/]*)?$/.exec(pointer || "") || [];
  const own = stops.find((one) => one.kind === "list" && one.pointer === pointer);
  if (own) return [own, own.rows.length];
  const place = stops.find((one) => one.kind === "list" && one.pointer === base);
  return place ? [place, Number(number)] : [null, 0];
}
