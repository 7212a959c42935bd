// The page: which document, which field, and what a key or a button does about them.

import { html, render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { actionOf } from "./keys.js";
import { DocumentList, Filters } from "./list.js";
import { Help, Improve, Steps } from "./panels.js";
import { Record, idOf } from "./record.js";
import { Viewer } from "./viewer.js";
import { shown, sliced, stopsOf, sureness, titleOf, treeOf, typed } from "./values.js";

const CHUNK = 100;
const EVERY = 2500;
const NO_FILTERS = { search: "", show: "", schema: "", code: "", flag: "", order: "need" };
const SHOW = { "": {}, todo: { reviewed: false }, reviewed: { reviewed: true }, doubtful: { doubtful: true }, quarantined: { status: "quarantined" }, written: { status: "written" } };

function asked({ search, show, schema, code, flag, order }) {
  const teaching = order === "teach" && schema;
  return { search, schema, code, flag, ...SHOW[show], order: order === "teach" ? "need" : order, next_first: teaching ? true : "" };
}

// The list of documents: rows by their place, loaded as they come into sight.
function useRows(filters, fail) {
  const [found, setFound] = useState({ rows: new Map(), total: 0, ready: false, filters: null });
  const run = useRef({ number: 0, loading: new Set() });
  const load = useCallback((chunk, fresh = false) => {
    const mine = run.current;
    if (!fresh && mine.loading.has(chunk)) return Promise.resolve();
    mine.loading.add(chunk);
    return api.get("/api/documents", { ...asked(filters), start: chunk * CHUNK, count: CHUNK }).then((part) => {
      if (run.current !== mine) return;
      setFound((before) => {
        const rows = new Map(before.filters === filters ? before.rows : []);
        part.rows.forEach((row, index) => rows.set(part.start + index, row));
        return { rows, total: part.total, ready: true, filters };
      });
    }, (error) => { mine.loading.delete(chunk); fail(error.message); });
  }, [filters]);
  useEffect(() => {
    run.current = { number: run.current.number + 1, loading: new Set() };
    load(0);
  }, [filters]);
  const need = useCallback((first, last) => {
    for (let chunk = Math.floor(first / CHUNK); chunk * CHUNK < last; chunk += 1) load(chunk);
  }, [load]);
  const reload = useCallback(() => { for (const chunk of run.current.loading) load(chunk, true); }, [load]);
  const mark = useCallback(({ document, schema }, marks) => setFound((before) => {
    const place = [...before.rows].find(([, row]) => row.document === document && row.schema_name === schema);
    return place ? { ...before, rows: new Map(before.rows).set(place[0], { ...place[1], ...marks }) } : before;
  }), []);
  return { ...found, need, load, reload, mark };
}

function App() {
  const [facets, setFacets] = useState(null);
  const [filters, setFilters] = useState(NO_FILTERS);
  const [toast, setToast] = useState(null);
  const [panel, setPanel] = useState(null);
  const [drawer, setDrawer] = useState(false);
  const [side, setSide] = useState("document");
  const [zoom, setZoom] = useState(1);
  const [theme, setTheme] = useState(() => localStorage.getItem("theme") || "");
  const [index, setIndex] = useState(-1);
  const [at, setAt] = useState(null);
  const [state, setState] = useState(null);
  const [content, setContent] = useState(null);
  const [active, setActive] = useState(null);
  const [editing, setEditing] = useState(false);
  const [picked, setPicked] = useState(null);
  const [pending, setPending] = useState([]);
  const [errors, setErrors] = useState(new Map());
  const searchRef = useRef(null);
  const listRef = useRef(null);
  const box = useRef({ list: [] });
  const queue = useRef(Promise.resolve());
  const [saving, setSaving] = useState(0);
  const [gone, setGone] = useState("");
  const say = useCallback((text, kind = "") => setToast({ text, kind }), []);
  const list = useRows(filters, (message) => say(message, "bad"));
  const now = useRef({});

  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  useEffect(() => {
    if (!toast) return undefined;
    const timer = setTimeout(() => setToast(null), toast.kind === "bad" ? 9000 : 3500);
    return () => clearTimeout(timer);
  }, [toast]);

  // The folder: its kinds and totals, and whether a run has added documents.
  useEffect(() => {
    let snapshot = null;
    const look = () => {
      if (document.hidden) return;
      api.get("/api/overview").then((found) => {
        setFacets(found);
        document.title = `Review: ${found.folder.split("/").filter(Boolean).at(-1) || "/"}`;
        if (snapshot !== null && found.snapshot !== snapshot) {
          api.forgetStates();
          now.current.reload();
          now.current.renew();
        }
        snapshot = found.snapshot;
        setGone("");
        if (box.current.lost) now.current.again();
      }, (error) => setGone(error.message));
    };
    look();
    const timer = setInterval(look, EVERY);
    return () => clearInterval(timer);
  }, []);

  // The document that is looked at.
  const open = useCallback((wanted) => {
    const { list } = now.current;
    if (wanted < 0 || wanted >= list.total) return;
    if ((now.current.errors.size || box.current.lost) && now.current.pending.length && !confirm("Some changes of this document are not saved. Leave it all the same?")) return;
    const row = list.rows.get(wanted);
    if (!row) {
      list.load(Math.floor(wanted / CHUNK)).then(() => setTimeout(() => now.current.open(wanted)));
      return;
    }
    setIndex(wanted);
    setDrawer(false);
    setAt((before) => (before?.document === row.document && before?.schema === row.schema_name ? before : { document: row.document, schema: row.schema_name }));
  }, []);
  useEffect(() => {
    if (!list.ready || list.filters !== filters) return;
    const place = at && [...list.rows].find(([, row]) => row.document === at.document && row.schema_name === at.schema);
    if (place) setIndex(place[0]);
    else if (list.total && !at) open(0);
    else setIndex(-1);
  }, [list.ready, list.filters, at === null]);
  // A run that adds documents moves the place of the one that is looked at.
  useEffect(() => {
    const place = at && [...list.rows].find(([, row]) => row.document === at.document && row.schema_name === at.schema);
    if (place) setIndex(place[0]);
  }, [list.rows]);
  const reset = () => { setEditing(false); setPicked(null); box.current = { list: [] }; setPending([]); setErrors(new Map()); };
  useEffect(() => {
    if (!at) return undefined;
    let alive = true;
    reset();
    setActive(null);
    setContent(null);
    api.state(at).then((found) => { if (alive) { setState(found); setActive(firstOf(found)); } }, (error) => alive && say(error.message, "bad"));
    api.content(at).then((found) => alive && setContent(found), (error) => alive && setContent({ missing: error.message, blocks: [] }));
    const near = [index + 1, index + 2, index - 1].map((one) => list.rows.get(one)).filter(Boolean);
    const timer = setTimeout(() => near.forEach((row) => api.prefetch({ document: row.document, schema: row.schema_name })), 60);
    return () => { alive = false; clearTimeout(timer); };
  }, [at]);

  const current = state && at && state.document === at.document && state.schema === at.schema ? state : null;
  const tree = useMemo(() => (current ? treeOf(withPending(current, pending)) : null), [current, pending]);
  const stops = useMemo(() => (tree ? stopsOf(tree) : []), [tree]);
  const marks = useMemo(() => stops.filter((one) => one.leaf?.spans?.length).map((one) => ({ pointer: one.pointer, spans: one.leaf.spans, level: sureness(one.leaf).level, title: titleOf(one) })), [stops]);

  // Changes go one after another. Those that the schema refuses wait, and go again with the next one.
  const send = (changes) => {
    const mine = box.current;
    const place = at;
    mine.list = [...mine.list.filter((one) => !changes.includes(one) && !changes.some((two) => two.pointer === one.pointer && two.action !== "insert")), ...changes];
    setPending(mine.list);
    const run = async () => {
      const all = mine.list;
      if (!changes.some((one) => all.includes(one))) return true;
      try {
        const found = await api.post("/api/correct", { ...place, changes: all });
        mine.list = mine.list.filter((one) => !all.includes(one));
        mine.lost = "";
        api.setState(place, found);
        list.mark(place, found.marks);
        if (box.current === mine) {
          setState(found);
          setPending(mine.list);
          setErrors(new Map());
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
    setSaving((count) => count + 1);
    queue.current = queue.current.then(run).finally(() => setSaving((count) => count - 1));
    return queue.current;
  };
  // What did not reach the server goes again.
  const again = () => { if (saving === 0 && box.current.list.length) send([...box.current.list]); };
  // A run, or somebody else, may have changed the document that is looked at.
  const renew = () => {
    const mine = box.current;
    if (!at || saving > 0) return;
    api.state(at).then((found) => { if (box.current === mine && now.current.saving === 0) setState(found); }, (error) => {
      if (error.lost || box.current !== mine) return;
      // It was forgotten: nothing of it stays in sight.
      reset();
      setState(null);
      setContent(null);
      setAt(null);
      say("This document is not in the folder any more.", "bad");
    });
  };
  // Goes on at once; if the change is refused, it comes back unless something else has begun.
  const sendAndGoOn = (changes, pointer) => {
    focusOn(followingOf(pointer));
    send(changes).then((saved) => !saved && at === now.current.at && !now.current.editing && focusOn(pointer));
  };

  const page = {
    active, editing, picked, errors,
    pending: useMemo(() => new Set(pending.map((one) => one.pointer)), [pending]),
    choose: (pointer) => { if (pointer !== now.current.active) { setActive(pointer); setEditing(false); setPicked(null); } },
    edit: () => act("edit"),
    stop: () => { setEditing(false); setPicked(null); focusOn(active); },
    save: (place, text, spans) => {
      const pointer = place.pointer;
      setEditing(false);
      setPicked(null);
      sendAndGoOn([text === null ? { action: "absent", pointer } : { action: "value", pointer, after: text, spans }], pointer);
    },
    act: (action) => act(action),
    insert: (place, number, after = null, spans = []) => {
      const changes = [{ action: "insert", pointer: `${place.pointer}/${number}`, after }];
      if (spans.length) changes.push({ action: "value", pointer: `${place.pointer}/${number}`, after, spans });
      send(changes).then((saved) => {
        if (!saved && place.items.kind !== "value") { setRowDraft({ place, number }); setErrors(new Map()); setToast(null); }
        else if (saved) setTimeout(() => { const first = now.current.stops.find((one) => one.pointer.startsWith(`${place.pointer}/${number}`)); if (first && !now.current.editing) focusOn(first.pointer); });
        else if (place.items.kind === "value" && after === null) { setRowDraft({ place, number }); setErrors(new Map()); setToast(null); }
      });
    },
    remove: (place, number) => send([{ action: "remove", pointer: `${place.pointer}/${number}` }]).then((saved) => saved && !now.current.editing && focusOn(place.pointer)),
  };
  const [rowDraft, setRowDraft] = useState(null);
  useEffect(() => setRowDraft(null), [at]);

  const focusOn = (pointer) => {
    if (pointer === null || pointer === undefined) return;
    setActive(pointer);
    setEditing(false);
    setPicked(null);
    requestAnimationFrame(() => {
      if (now.current.active !== pointer || now.current.editing) return;
      const element = document.getElementById(idOf(pointer)) || document.querySelector(`[data-cell="${CSS.escape(pointer)}"]`);
      const button = element?.matches("button") ? element : element?.querySelector(":scope > .value, :scope > header > .value");
      button?.focus({ preventScroll: true });
      (document.querySelector(`[data-cell="${CSS.escape(pointer)}"]`) || element)?.scrollIntoView({ block: "nearest" });
    });
  };
  const followingOf = (pointer) => {
    const place = stops.findIndex((one) => one.pointer === pointer);
    // What is said of an object as a whole holds for its parts.
    const whole = stops[place]?.kind === "object";
    const next = stops.find((one, other) => other > place && !(whole && one.pointer.startsWith(`${pointer}/`)));
    return place >= 0 && next ? next.pointer : pointer;
  };
  const step = (by) => {
    if (!stops.length) return;
    const place = stops.findIndex((one) => one.pointer === active);
    focusOn(stops[Math.max(0, Math.min(stops.length - 1, place < 0 ? 0 : place + by))].pointer);
  };
  const nextTodo = (told = "") => {
    if (told) say(told);
    const rows = list.rows;
    for (let place = index + 1; place < list.total; place += 1) {
      const row = rows.get(place);
      if (!row || !row.reviewed) return open(place);
    }
    return say(`${told} That was the last document of this list.`.trim());
  };
  const listAround = () => {
    const [, base, number] = /^(.*)\/(\d+)(?:\/[^/]*)?$/.exec(active || "") || [];
    const own = stops.find((one) => one.kind === "list" && one.pointer === active);
    if (own) return [own, own.rows.length];
    const place = stops.find((one) => one.kind === "list" && one.pointer === base);
    return place ? [place, Number(number)] : [null, 0];
  };

  function act(action) {
    const stop = stops.find((one) => one.pointer === active);
    if (action === "next") step(1);
    else if (action === "previous") step(-1);
    else if (action === "doubtful") {
      const from = stops.findIndex((one) => one.pointer === active);
      const order = [...stops.slice(from + 1), ...stops.slice(0, from + 1)];
      const found = order.find((one) => sureness(one.leaf).level === "doubtful" && one.leaf);
      if (found) focusOn(found.pointer);
      else say("No field of this document is doubtful.");
    } else if (action === "accept" && stop?.leaf && current.record !== null) {
      sendAndGoOn([{ action: "accept", pointer: stop.pointer }], stop.pointer);
    } else if (action === "edit" && stop) {
      if (stop.kind === "list") page.insert(stop, stop.rows.length);
      // An object that is not there yet is typed part by part.
      else if (stop.kind === "value" && stop.form.kind === "object") { setErrors(new Map()); setRowDraft({ place: stop, number: null }); }
      else setEditing(true);
    } else if (action === "absent" && stop && stop.kind !== "list") {
      sendAndGoOn([{ action: "absent", pointer: stop.pointer }], stop.pointer);
    } else if (action === "insert" || action === "remove") {
      const [place, number] = listAround();
      if (!place) say("Choose a list or one of its rows first.");
      else if (action === "insert") page.insert(place, place.pointer === active ? number : number + 1);
      else if (place.pointer !== active) page.remove(place, number);
    } else if (action === "done" && current) {
      if (current.record === null) say("This document has no record to accept.");
      else send([{ action: "accept", pointer: "" }]).then((saved) => saved && nextTodo());
    } else if (action === "other" && current) {
      send([{ action: "other_kind", pointer: "" }]).then((saved) => saved && nextTodo("Not of this kind: it leaves the views. Undo takes that back."));
    } else if (action === "undo" && current) undo();
    else if (action === "nextDocument") open(index + 1);
    else if (action === "previousDocument") open(index - 1);
    else if (action === "search") { setDrawer(true); searchRef.current?.focus(); searchRef.current?.select(); }
    else if (["steps", "improve", "help"].includes(action)) setPanel(action);
    else if (action === "escape") {
      if (document.activeElement?.matches(".search")) document.activeElement.blur();
      setEditing(false); setPicked(null); setDrawer(false);
    }
  }

  function undo() {
    if (pending.length) {
      reset();
      say("The changes that were not saved are gone.");
      return;
    }
    const made = current.corrections.filter((one) => !one.undone);
    if (!made.length) { say("There is nothing to take back."); return; }
    const last = made.at(-1).made;
    const place = at;
    api.post("/api/undo", { ...place, identities: made.filter((one) => one.made === last).map((one) => one.identity) }).then((found) => {
      api.setState(place, found);
      if (now.current.at !== place) return;
      setState(found);
      setErrors(new Map());
      list.mark(place, found.marks);
      say("Taken back.");
    }, (error) => say(error.message, "bad"));
  }

  const pick = (spans) => {
    const stop = stops.find((one) => one.pointer === active);
    if (!stop) { say("Choose a field first, then drag over its words."); return; }
    const place = stop.kind === "list" ? (stop.items.kind === "value" ? `${stop.pointer}/${stop.rows.length}` : null) : stop.pointer;
    if (place === null) { say("Add a row first, then choose one of its fields."); return; }
    if (!spans.length) { say("Mark words within one part of the document."); return; }
    const words = spans.map(([start, end]) => wordsOf(at, content, start, end));
    Promise.all([api.post("/api/readings", { ...at, pointer: place, spans }), ...words]).then(([found, ...texts]) => {
      if (stop.kind === "list") {
        if (found.values.length) page.insert(stop, stop.rows.length, found.values[0], spans);
        else say("These words have no value of this kind.");
        return;
      }
      setPicked({ pointer: stop.pointer, spans, values: found.values, text: texts.join(" ").replaceAll(/\s+/g, " ").trim() });
      setEditing(true);
    }, (error) => say(error.message, "bad"));
  };

  now.current = { list, reload: list.reload, saving, renew, again, pending, errors, editing, open, at, index, active, stops, act };
  useEffect(() => {
    const press = (event) => {
      const action = actionOf(event);
      if (!action) return;
      if (action !== "escape") event.preventDefault();
      now.current.act(action);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);

  if (!facets) return html`<main class="starting"><p role="status">${toast ? toast.text : "Opening the folder …"}</p></main>`;
  const row = index >= 0 ? list.rows.get(index) : null;
  return html`<div data-saving=${saving} class=${`app ${drawer ? "drawn" : ""} side-${side}`}>
    <header class="top">
      <button type="button" class="menu" aria-label="Documents" aria-expanded=${String(drawer)} onClick=${() => setDrawer(!drawer)}>☰</button>
      <h1><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" /><path d="M9 8h10l4 4v12H9z" /></svg>Review <span class="where"><bdi>${facets.folder}</bdi></span></h1>
      <div class="progress" title=${`${facets.reviewed} of ${facets.documents} documents are reviewed`}><progress max=${facets.documents || 1} value=${facets.reviewed} aria-label="Reviewed documents"></progress><span>${facets.reviewed.toLocaleString("en")} of ${facets.documents.toLocaleString("en")}<span class="long"> reviewed</span></span></div>
      <nav aria-label="Panels"><button type="button" onClick=${() => setPanel("improve")}>Learn</button>
        <button type="button" onClick=${() => setTheme(theme === "dark" ? "light" : theme === "light" ? "" : "dark")} title="Light, dark, or as the system" aria-label=${`Colours: ${theme || "as the system"}`}>${theme === "dark" ? "☾" : theme === "light" ? "☀" : "◑"}</button>
        <button type="button" aria-label="Help" onClick=${() => setPanel("help")}>?</button></nav>
    </header>
    ${gone && html`<p class="gone" role="alert"><strong>No connection.</strong> ${gone}</p>`}
    <aside aria-label="Documents">
      <${Filters} filters=${filters} facets=${facets} set=${setFilters} searchRef=${searchRef} first=${() => open(0)} />
      <p class="total" role="status">${list.total === 1 ? "1 document" : `${list.total.toLocaleString("en")} documents`}</p>
      <${DocumentList} rows=${list.rows} total=${list.total} current=${index} open=${open} need=${list.need} listRef=${listRef} />
    </aside>
    <main>
      ${!at && html`<p class="quiet middle">${list.ready ? "No document fits these filters." : ""}</p>`}
      ${at && html`<div class="tabs" role="group" aria-label="Side"><button type="button" aria-pressed=${String(side === "document")} onClick=${() => setSide("document")}>Document</button><button type="button" aria-pressed=${String(side === "record")} onClick=${() => setSide("record")}>Record</button></div>
      <section class="paper" aria-label="Document">
        <div class="bar"><button type="button" aria-label="Previous document" disabled=${index <= 0} onClick=${() => open(index - 1)}>‹</button>
          <strong class="title path" title=${current?.path || row?.path}><bdi>${current?.path || row?.path || ""}</bdi></strong>
          <button type="button" aria-label="Next document" disabled=${index + 1 >= list.total} onClick=${() => open(index + 1)}>›</button>
          <span class="zoom"><button type="button" aria-label="Smaller" onClick=${() => setZoom(Math.max(0.5, zoom - 0.25))}>−</button><button type="button" aria-label="Larger" onClick=${() => setZoom(Math.min(3, zoom + 0.25))}>+</button></span></div>
        <${Viewer} at=${at} content=${content} marks=${marks} active=${active} choose=${focusOn} pick=${pick} picking=${active !== null} zoom=${zoom} />
      </section>
      <section class="sheet-of" aria-label="Record">
        <div class="bar"><strong class="title">${at.schema}</strong>
          ${current && html`<span class="sum">${current.confidence === null ? "" : html`<span class=${`conf ${sureness({ confidence: current.confidence, origin: current.marks.reviewed ? "human" : "" }).level}`}>${current.marks.reviewed ? "✓ reviewed" : `least sure ${Math.floor(current.confidence * 100)}%`}</span>`}</span>
            <button type="button" onClick=${() => act("steps")}>Steps</button>`}</div>
        ${current && html`<${Notices} state=${current} pending=${pending} lost=${box.current.lost} again=${again} undo=${undo} errors=${errors} stops=${stops} focusOn=${focusOn} />`}
        <div class="fields" tabindex="-1">${tree && html`<${Record} tree=${tree} page=${page} />`}</div>
        ${current && html`<footer><button type="button" class="primary" disabled=${current.record === null} onClick=${() => act("done")}>Accept all, next <kbd>A</kbd></button>
          <button type="button" onClick=${undo}>Undo <kbd>u</kbd></button><button type="button" onClick=${() => act("other")}>Not my kind <kbd>o</kbd></button></footer>`}
      </section>`}
    </main>
    ${rowDraft && html`<${RowDraft} draft=${rowDraft} close=${() => { setRowDraft(null); focusOn(rowDraft.place.pointer); }} send=${send} errors=${errors} />`}
    ${panel === "help" && html`<${Help} close=${() => setPanel(null)} />`}
    ${panel === "improve" && html`<${Improve} facets=${facets} schema=${at?.schema} close=${() => setPanel(null)} teach=${(schema) => setFilters({ ...NO_FILTERS, schema, order: "teach" })} />`}
    ${panel === "steps" && at && html`<${Steps} at=${at} close=${() => setPanel(null)} />`}
    <div class=${`toast ${toast ? "on" : ""} ${toast?.kind || ""}`} role="status" aria-live="polite">${toast?.text || ""}</div>
  </div>`;
}

// The first field that needs a look: a missing or doubtful one, else the first.
function firstOf(state) {
  const stops = stopsOf(treeOf(state));
  const told = new Set(state.pointers);
  const found = stops.find((one) => told.has(one.pointer)) || stops.find((one) => one.leaf && sureness(one.leaf).level === "doubtful") || stops[0];
  return found ? found.pointer : null;
}

// Changes that the server has refused so far stay in sight.
function withPending(state, pending) {
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

async function wordsOf(at, content, start, end) {
  const block = content.blocks.find((one) => one.start <= start && start < one.end);
  if (!block) return "";
  const found = await api.text(at, block.start, block.end);
  return sliced(found.text, start - found.start, end - found.start);
}

function Notices({ state, pending, lost, again, undo, errors, stops, focusOn }) {
  const known = new Set(stops.map((one) => one.pointer));
  const loose = [...errors].filter(([pointer]) => !known.has(pointer));
  return html`<div class="notices">
    ${state.outcome === "quarantined" && html`<div class="notice held"><strong>■ Held back: ${state.code.replaceAll("_", " ")}</strong>${state.detail && html`<p><bdi>${state.detail}</bdi></p>`}
      ${state.pointers.length > 0 && html`<p>${state.pointers.slice(0, 12).map((pointer) => html`<button type="button" class="chip" onClick=${() => known.has(pointer) && focusOn(pointer)}>${pointer || "/"}</button>`)}</p>`}</div>`}
    ${state.marks.other_kind && html`<div class="notice"><strong>Not of this kind.</strong> The record is out of the views of ${state.schema}.
      <button type="button" class="small" onClick=${undo}>Take that back</button></div>`}
    ${state.failed.length > 0 && html`<div class="notice warn"><strong>✗ ${state.failed.length === 1 ? "A check fails" : "Checks fail"}:</strong> ${state.failed.join(", ")}</div>`}
    ${state.flags.length > 0 && html`<div class="flags">${state.flags.map((flag) => html`<span class="flag">${flag.replaceAll("_", " ")}</span>`)}</div>`}
    ${pending.length > 0 && html`<div class="notice warn" role="alert"><strong>${pending.length === 1 ? "1 change is" : `${pending.length} changes are`} not saved yet.</strong> ${lost ? html`${lost} <button type="button" class="small" onClick=${again}>Try again</button>` : "The schema refuses the record until the marked places are right."}
      <button type="button" class="small" onClick=${undo}>Discard</button></div>`}
    ${loose.map(([pointer, message]) => html`<p class="error" role="alert">${pointer ? `${pointer}: ` : ""}${message}</p>`)}
  </div>`;
}

// A new row whose parts the schema needs: all of it is typed before it is stored.
// A new row, or an object that was not there, whose parts the schema needs: all of it is typed before it is stored.
function RowDraft({ draft, close, send, errors }) {
  const box = useRef(null);
  const { place, number } = draft;
  const form = number === null ? place.form : place.items;
  const pointer = number === null ? place.pointer : `${place.pointer}/${number}`;
  // Rows of lists within it are added afterwards, at their list.
  const parts = (form.kind === "object" ? form.properties : [["", form]]).filter(([, part]) => part.kind !== "list");
  const [values, setValues] = useState({});
  const [problem, setProblem] = useState("");
  useLayoutEffect(() => {
    box.current.showModal();
    box.current.querySelector("form input, form select, form textarea")?.focus();
  }, []);
  const add = async (event) => {
    event.preventDefault();
    setProblem("");
    try {
      const one = (part, said) => ((said ?? "") === "" && (part.nullable || part.kind !== "value") ? (part.kind === "list" ? "[]" : "null") : typed(part, said ?? ""));
      const all = form.kind === "object" ? form.properties : [["", form]];
      const texts = all.filter(([name, part]) => (values[name] ?? "") !== "" || part.required || name === "").map(([name, part]) => [name, one(part, values[name])]);
      const after = form.kind === "object" ? `{${texts.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}` : texts[0][1];
      if (await send([{ action: number === null ? "value" : "insert", pointer, after }])) close();
      else setProblem("refused");
    } catch (error) {
      setProblem(error.message);
    }
  };
  const told = problem === "refused" ? [...errors].map(([where, message]) => `${where.split("/").at(-1)}: ${message}`) : problem ? [problem] : [];
  const input = (name, part) => {
    const common = { name, value: values[name] ?? "", onInput: (event) => setValues({ ...values, [name]: event.target.value }) };
    if (part.options || (part.kind === "value" && part.types.length === 1 && part.types[0] === "boolean")) {
      const options = part.options || ["true", "false"];
      return html`<select ...${common} onChange=${common.onInput}><option value=""></option>${options.map((one) => html`<option value=${one}>${shown(one)}</option>`)}</select>`;
    }
    if (part.kind !== "value") return html`<textarea rows="2" placeholder=${'"text", 12, or {"name": "value"}'} ...${common}></textarea>`;
    return html`<input type=${part.format === "date" ? "date" : "text"} inputmode=${part.types.includes("string") ? undefined : "decimal"} ...${common} />`;
  };
  return html`<dialog ref=${box} aria-labelledby="row-title" onClose=${close}><form class="inside" onSubmit=${add}>
    <header><h2 id="row-title">${number === null ? titleOf(place) : `New row of ${titleOf(place)}`}</h2><button type="button" class="small" aria-label="Close" onClick=${close}>✕</button></header>
    ${parts.map(([name, part]) => html`<label class="draft"><span>${name ? titleOf({ name, form: part }) : "Value"}${part.required && !part.nullable ? html`<span class="needed" title="The schema needs a value here"> *</span>` : ""}</span>${input(name, part)}</label>`)}
    ${told.map((one) => html`<p class="error" role="alert">${one}</p>`)}
    <div class="ask"><button type="submit" class="primary">${number === null ? "Save" : "Add the row"}</button><button type="button" onClick=${close}>Cancel</button></div></form></dialog>`;
}

render(html`<${App} />`, document.getElementById("app"));
