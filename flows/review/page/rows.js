// The rows of the list: those that the filters choose, loaded as they come into sight.

import { useCallback, useEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";

export const CHUNK = 100;
export const NO_FILTERS = { search: "", show: "", schema: "", code: "", flag: "", order: "need" };
const SHOW = { "": {}, todo: { reviewed: false }, reviewed: { reviewed: true }, doubtful: { doubtful: true }, quarantined: { status: "quarantined" }, written: { status: "written" } };

function asked({ search, show, schema, code, flag, order }) {
  const teaching = order === "teach" && schema;
  return { search, schema, code, flag, ...SHOW[show], order: order === "teach" ? "need" : order, next_first: teaching ? true : "" };
}

// `rows` has them by their place in the list.
export function useRows(filters, fail) {
  const [found, setFound] = useState({ rows: new Map(), total: 0, ready: false, filters: null });
  // What was asked for since the filters were chosen: a promise for each chunk.
  const run = useRef(new Map());
  const load = useCallback((chunk, fresh = false) => {
    const mine = run.current;
    if (!fresh && mine.has(chunk)) return mine.get(chunk);
    const asking = api.get("/api/documents", { ...asked(filters), start: chunk * CHUNK, count: CHUNK }).then((part) => {
      if (run.current !== mine) return;
      setFound((before) => {
        const rows = new Map(before.filters === filters ? before.rows : []);
        part.rows.forEach((row, index) => rows.set(part.start + index, row));
        return { rows, total: part.total, ready: true, filters };
      });
    }, (error) => { mine.delete(chunk); fail(error.message); });
    mine.set(chunk, asking);
    return asking;
  }, [filters]);
  useEffect(() => {
    run.current = new Map();
    load(0);
  }, [filters]);
  const need = useCallback((first, last) => {
    for (let chunk = Math.floor(first / CHUNK); chunk * CHUNK < last; chunk += 1) load(chunk);
  }, [load]);
  const reload = useCallback(() => { for (const chunk of [...run.current.keys()]) load(chunk, true); }, [load]);
  const mark = useCallback((at, marks) => setFound((before) => {
    const place = placeOf(before.rows, at);
    return place >= 0 ? { ...before, rows: new Map(before.rows).set(place, { ...before.rows.get(place), ...marks }) } : before;
  }), []);
  return { ...found, need, load, reload, mark };
}

export function placeOf(rows, at) {
  return [...rows].find(([, row]) => row.document === at.document && row.schema_name === at.schema)?.[0] ?? -1;
}
