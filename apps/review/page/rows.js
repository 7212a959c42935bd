// The list: its order stands while one works through it, and its rows are loaded as they come into sight.

import { useCallback, useEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { useNow } from "./now.js";

export const CHUNK = 100;
export const NO_FILTERS = { search: "", show: "", schema: "", code: "", flag: "", order: "need" };
const SHOW = { "": {}, todo: { reviewed: false }, reviewed: { reviewed: true }, doubtful: { doubtful: true }, quarantined: { status: "quarantined" }, written: { status: "written" } };
const chunkOf = (place) => Math.max(0, Math.floor(place / CHUNK));

function asked({ search, show, schema, code, flag, order }, at) {
  return { search, schema, code, flag, ...SHOW[show], order, document: at?.document, document_schema: at?.schema };
}

// `rows` has them by their place in the list, `place` is that of the document that was looked at when it was sorted, and
// `added` counts the documents that have come since.
export function useRows(filters, fail) {
  const [found, setFound] = useState({ name: "", rows: new Map(), total: 0, place: -1, added: 0, filters: null });
  // The list that is shown, with a promise for each chunk that was asked for.
  const run = useRef({ name: "", chunks: new Map() });
  const now = useNow({ filters, at: null });

  const rowsOf = (part) => part.rows.map((row, index) => [part.start + index, row || { gone: true }]);
  const ask = (name, chunk) => api.get("/api/documents", { list: name, start: chunk * CHUNK, count: CHUNK });
  const sort = useCallback(async () => {
    const mine = { name: "", chunks: new Map() };
    run.current = mine;
    const { filters, at } = now.current;
    try {
      const made = await api.get("/api/list", asked(filters, at));
      const parts = await Promise.all([...new Set([0, chunkOf(made.place)])].map((chunk) => ask(made.list, chunk)));
      if (run.current !== mine) return;
      mine.name = made.list;
      parts.forEach((part) => mine.chunks.set(chunkOf(part.start), Promise.resolve()));
      setFound({ name: made.list, rows: new Map(parts.flatMap(rowsOf)), total: made.total, place: made.place, added: 0, filters });
    } catch (error) {
      if (run.current === mine) fail(error.message);
    }
  }, []);
  const load = useCallback((chunk, fresh = false) => {
    const mine = run.current;
    if (!mine.name) return Promise.resolve();
    if (!fresh && mine.chunks.has(chunk)) return mine.chunks.get(chunk);
    const asking = ask(mine.name, chunk).then((part) => {
      if (run.current !== mine) return;
      setFound((before) => ({ ...before, rows: new Map([...before.rows, ...rowsOf(part)]), added: part.added }));
      // An empty list has no order to keep.
      if (part.total === 0 && part.added > 0) sort();
    }, (error) => {
      mine.chunks.delete(chunk);
      if (run.current !== mine) return;
      if (error.gone) sort();
      else fail(error.message);
    });
    mine.chunks.set(chunk, asking);
    return asking;
  }, []);
  useEffect(() => { sort(); }, [filters]);
  const need = useCallback((first, last) => {
    for (let chunk = chunkOf(first); chunk * CHUNK < last; chunk += 1) load(chunk);
  }, []);
  const reload = useCallback(() => { for (const chunk of [...run.current.chunks.keys()]) load(chunk, true); }, []);
  const mark = useCallback((at, marks) => setFound((before) => {
    const place = placeOf(before.rows, at);
    return place >= 0 ? { ...before, rows: new Map(before.rows).set(place, { ...before.rows.get(place), ...marks }) } : before;
  }), []);
  const next = useCallback((after) => api.get("/api/next", { list: run.current.name, after }), []);
  const lookAt = useCallback((at) => { now.current.at = at; }, []);
  return { ...found, ready: found.name !== "", need, load, reload, mark, sort, next, lookAt };
}

function placeOf(rows, at) {
  return [...rows].find(([, row]) => row.document === at.document && row.schema_name === at.schema)?.[0] ?? -1;
}
