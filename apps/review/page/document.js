// The document that is looked at: its place in the list, its record and its content.

import { useEffect, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { useNow } from "./now.js";
import { CHUNK } from "./rows.js";

const same = (one, other) => one?.document === other.document && one?.schema === other.schema;
const atOf = (row) => ({ document: row.document, schema: row.schema_name });

export function useDocument(list, filters, say) {
  const [index, setIndex] = useState(-1);
  const [at, setAt] = useState(null);
  const [state, setState] = useState(null);
  const [content, setContent] = useState(null);
  const now = useNow({ list, at });

  // Opens a place of the list, once its row is there; `mayLeave` is asked before the present document is left.
  const open = (wanted, mayLeave = () => true) => {
    const { list } = now.current;
    if (wanted < 0 || wanted >= list.total) return;
    const row = list.rows.get(wanted);
    if (!row) {
      list.load(Math.floor(wanted / CHUNK)).then(() => setTimeout(() => now.current.list.rows.has(wanted) && open(wanted, mayLeave)));
      return;
    }
    if (row.gone || (!same(now.current.at, atOf(row)) && !mayLeave())) return;
    setIndex(wanted);
    setAt((before) => (same(before, atOf(row)) ? before : atOf(row)));
  };
  useEffect(() => {
    if (!list.ready || list.filters !== filters) return;
    setIndex(at ? list.place : -1);
  }, [list.name, list.filters]);
  useEffect(() => {
    if (list.ready && list.filters === filters && list.total && !at) open(0);
  }, [list.name, list.filters, at === null]);
  list.lookAt(at);
  useEffect(() => {
    setContent(null);
    if (!at) return undefined;
    let alive = true;
    api.state(at).then((found) => alive && setState(found), (error) => alive && say(error.message, "bad"));
    api.content(at).then((found) => alive && setContent(found), (error) => alive && setContent({ missing: error.message, blocks: [] }));
    const near = [index + 1, index + 2, index - 1].map((one) => list.rows.get(one)).filter(Boolean);
    const timer = setTimeout(() => near.forEach((row) => api.prefetch(atOf(row))), 60);
    return () => { alive = false; clearTimeout(timer); };
  }, [at]);
  const close = () => { setState(null); setAt(null); };
  const isAt = (place) => same(now.current.at, place);
  return { index, at, isAt, state: state && at && same(state, at) ? state : null, setState, content, open, close };
}
