// The second reader: a document that was drawn, its values without what others said of them, and a verdict on each.

import { html, useEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { Panel } from "./panels.js";
import { nullText, shown, stopsOf, titleOf, treeOf, typed } from "./values.js";
import { Viewer } from "./viewer.js";

const nothing = () => {};
// A value can be said anew; of a list, and of an object as a whole, only whether it is right.
function placesOf(found) {
  const leaves = found.leaves.map((leaf) => ({ confidence: null, origin: "", flags: [], spans: [], text: "", place: "", ...leaf }));
  const judged = new Map(leaves.map((leaf) => [leaf.pointer, leaf]));
  const seen = stopsOf(treeOf({ ...found, leaves })).filter((one) => judged.has(one.pointer));
  seen.forEach((one) => judged.delete(one.pointer));
  // What the form has no place for is judged all the same.
  return [...seen, ...[...judged.values()].map((leaf) => ({ pointer: leaf.pointer, name: leaf.pointer, leaf, kind: "value", form: { kind: "any", title: "", description: "", nullable: true } }))];
}

function Verdict({ place, verdict, set }) {
  const { pointer, leaf, kind } = place;
  const [problem, setProblem] = useState("");
  const list = kind === "list";
  const text = list ? (place.rows.length === 1 ? "1 row" : `${place.rows.length} rows`) : shown(leaf?.value) || nullText(leaf);
  const name = titleOf(place);
  const say = (said) => {
    try {
      setProblem("");
      set({ right: false, said, after: said.trim() === "" ? null : typed(place.form, said) });
    } catch (error) {
      setProblem(error.message);
      set({ right: false, said, after: null, problem: true });
    }
  };
  return html`<div class="verdict" data-pointer=${pointer}><span class="label" title=${pointer}>${list ? `${name}: all rows, and no more` : name}</span>
    <bdi class="said">${text}</bdi>
    <span class="choice" role="group" aria-label=${`Verdict on ${name} at ${pointer}`}>
      <button type="button" class="small right" aria-pressed=${String(verdict?.right === true)} onClick=${() => set({ right: true })}>Right</button>
      <button type="button" class="small wrong" aria-pressed=${String(verdict?.right === false)} onClick=${() => set({ right: false, said: "", after: null })}>Wrong</button>
      ${verdict?.right === false && !list && html`<input type="text" aria-label=${`Right value of ${name}`} placeholder="right value, if you know it" value=${verdict.said} onInput=${(event) => say(event.target.value)} />
        <button type="button" class="small" aria-pressed=${String(verdict.after === "null")} onClick=${() => set({ right: false, said: "", after: "null" })}>Not there</button>`}</span>
    ${problem && html`<p class="error" role="alert">${problem}</p>`}</div>`;
}

export function Audit({ close, say, changed }) {
  const [left, setLeft] = useState(null);
  const [work, setWork] = useState(null);
  const [content, setContent] = useState(null);
  const [verdicts, setVerdicts] = useState({});
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const alive = useRef(true);
  const load = async () => {
    try {
      setProblem("");
      const { next, left } = await api.get("/api/audit");
      const found = next && (await api.get("/api/audit/document", next));
      if (!alive.current) return;
      setLeft(left);
      setVerdicts({});
      setContent(null);
      setWork(found && { at: next, found });
      if (next) api.content(next).then((one) => alive.current && setContent(one), (error) => setContent({ missing: error.message, blocks: [] }));
    } catch (error) {
      setProblem(error.message);
    }
  };
  useEffect(() => {
    load();
    return () => { alive.current = false; };
  }, []);
  const places = work ? placesOf(work.found) : [];
  const open = places.filter((place) => !verdicts[place.pointer] || verdicts[place.pointer].problem);
  const set = (pointer) => (one) => setVerdicts((before) => ({ ...before, [pointer]: one }));
  const send = () => {
    setBusy(true);
    const said = places.map(({ pointer }) => ({ pointer, right: verdicts[pointer].right, after: verdicts[pointer].after ?? null }));
    api.post("/api/audit", { ...work.at, seen: work.found.seen, places: said })
      .then(() => { say("Stored. Thank you."); changed(); return load(); }, (error) => setProblem(error.message)).finally(() => setBusy(false));
  };
  return html`<${Panel} title="Second reader" close=${close} wide=${true}>
    ${problem && html`<p class="error" role="alert">${problem}</p>`}
    ${left !== null && !work && html`<p role="status">${left ? "Others have what is left for you to audit open." : "Nothing is left for you to audit."} <code>cinnabar extract --audit 5%</code> marks a share of the documents of a run at random, and the report of the run tells how many values are right.</p>`}
    ${work && html`<p role="status">${left === 1 ? "1 document" : `${left} documents`} to go. Compare each value with <bdi>${work.found.path.split("/").at(-1)}</bdi>.</p>
      <div class="audit"><div class="paper"><${Viewer} at=${work.at} content=${content} marks=${[]} active=${null} choose=${nothing} pick=${nothing} picking=${false} zoom=${1} /></div>
      <div class="verdicts">${places.map((place) => html`<${Verdict} key=${place.pointer} place=${place} verdict=${verdicts[place.pointer]} set=${set(place.pointer)} />`)}
        <div class="ask"><button type="button" onClick=${() => setVerdicts((before) => ({ ...Object.fromEntries(places.map((place) => [place.pointer, { right: true }])), ...before }))}>The others are right</button>
          <button type="button" class="primary" disabled=${busy || open.length > 0} onClick=${send}>Store, next</button>
          <span class="quiet">${open.length ? `${open.length} open` : ""}</span></div></div></div>`}
  <//>`;
}
