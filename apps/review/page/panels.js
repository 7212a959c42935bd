// The panels over the page: help and learning.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { KEYS } from "./keys.js";

export function Panel({ title, close, wide, children }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before?.isConnected && before.focus?.();
  }, []);
  return html`<dialog ref=${box} class=${wide ? "wide" : ""} aria-labelledby="panel-title" onClose=${close} onClick=${(event) => event.target === box.current && close()}>
    <div class="inside"><header><h2 id="panel-title">${title}</h2><button type="button" class="small" aria-label="Close" onClick=${close}>✕</button></header>${children}</div></dialog>`;
}

export function Help({ close }) {
  return html`<${Panel} title="Keys and marks" close=${close}>
    <table class="keys"><tbody>${KEYS.map(([first, second, , words]) => html`<tr><td><kbd>${first}</kbd>${second && html` <kbd>${second}</kbd>`}</td><td>${words}</td></tr>`)}</tbody></table>
    <ul class="legend">
      <li><span class="conf sure">●</span> at least 90% sure</li><li><span class="conf likely">◐</span> 70 to 90% sure</li>
      <li><span class="conf doubtful">▲</span> less sure, or a value is missing: please look</li><li><span class="conf human">✓</span> checked or typed by a person</li>
      <li><span class="conf held">■</span> held back in quarantine</li></ul>
    <p>Choose a field, then drag over words of the document: they become its value, with the place as evidence. Every change can be taken back.</p><//>`;
}

const percent = (value) => (value === null || value === undefined ? "–" : value.toFixed(2).replace(/^0/, ""));

const STAGES = {
  reading: "reading the corrected documents", measuring: "measuring how well documents are read", training: "training",
  comparing: "comparing", keeping: "taking the model into use", "reading again": "reading the unsure values again",
};
const lasting = (seconds) => (seconds >= 60 ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s` : `${Math.round(seconds || 0)} s`);

export function Improve({ facets, schema, close }) {
  const [chosen, choose] = useState(schema || facets.schemas[0]?.name || "");
  const [minutes, setMinutes] = useState(10);
  const [told, setTold] = useState({ state: "idle" });
  const [problem, setProblem] = useState("");
  const [lost, setLost] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    let alive = true;
    let timer;
    const look = () => api.get("/api/improve").then((found) => {
      if (!alive) return;
      setTold(found);
      setLost("");
      timer = setTimeout(look, ["running", "keeping"].includes(found.state) ? 700 : 4000);
    }, (error) => {
      if (!alive) return;
      setLost(error.message);
      timer = setTimeout(look, 4000);
    });
    look();
    return () => { alive = false; clearTimeout(timer); };
  }, [told.state]);
  const ask = (action) => {
    setProblem("");
    setBusy(true);
    api.post("/api/improve", { action, schema: told.schema && action !== "start" ? told.schema : chosen, minutes })
      .then(setTold, (error) => setProblem(error.message)).finally(() => setBusy(false));
  };
  const facts = facets.schemas.find((one) => one.name === chosen);
  const working = ["running", "keeping"].includes(told.state);
  // A result is that of its own kind alone.
  const other = !working && told.schema && told.schema !== chosen;
  const result = other ? null : told.result;
  return html`<${Panel} title="Have it learn" close=${close} wide=${true}>
    <p>Your corrected documents become examples. A training runs beside this page and tells how good the model was before and is after, on documents that it did not learn from. Nothing changes until you keep it.</p>
    ${!working && facets.schemas.length === 0 && html`<p>There are no documents to learn from yet.</p>`}
    ${!working && facets.schemas.length > 0 && html`<div class="ask">
      <label>Kind <select value=${chosen} onChange=${(event) => choose(event.target.value)}>${facets.schemas.map((one) => html`<option value=${one.name}>${one.name}</option>`)}</select></label>
      <label>At most <input type="number" min="1" max="600" value=${minutes} onInput=${(event) => setMinutes(Number(event.target.value) || 10)} /> minutes</label>
      <button type="button" class="primary" disabled=${!chosen || busy} onClick=${() => ask("start")}>Train</button></div>
      ${facts && html`<p class="quiet">${facts.reviewed} of ${facts.documents} documents of this kind are reviewed; ten are the fewest, twenty a good start.</p>`}`}
    ${working && html`<div class="running"><p role="status"><strong>${told.schema}</strong>: ${STAGES[told.stage] || told.stage}</p>
      <progress max="1" value=${told.done || undefined} aria-label=${`Progress of ${told.state === "keeping" ? "reading again" : "the training"}`}></progress>
      <p class="quiet">${lasting(told.seconds)}${told.left === undefined || told.left === null ? "" : `, at most ${lasting(told.left)} left`}${told.f1 === undefined || told.f1 === null ? "" : `, F1 ${percent(told.f1)} so far`}. You can close this panel and go on reviewing.</p>
      <button type="button" disabled=${busy} onClick=${() => ask("stop")}>Stop</button></div>`}
    ${other && told.result && html`<p class="quiet">There is a result for ${told.schema}; choose that kind to see it.</p>`}
    ${!other && told.state === "stopped" && html`<p role="status">${told.deciding ? "Stopped. What was read again so far is stored." : "Stopped. What is done so far is kept: Train goes on from there."}</p>`}
    ${!other && told.state === "failed" && html`<p class="error" role="alert">${told.message}</p>`}
    ${[problem, lost].filter(Boolean).map((one) => html`<p class="error" role="alert">${one}</p>`)}
    ${result && html`<div class="result">
      <div class="figures"><div><span>before</span><strong>${percent(result.before)}</strong></div><span class="arrow" aria-hidden="true">→</span><div class=${result.better ? "good" : "bad"}><span>after</span><strong>${percent(result.after)}</strong></div>
        <p>F1 of ${told.schema} on documents it did not learn from${result.documents ? `, from ${result.documents} documents` : ""}.${result.better ? "" : result.tells === false ? " Not better on these, but they are too few to tell." : " Not better: more corrected documents may help."}</p></div>
      <div class="table" tabindex="0" role="region" aria-label="Fields, before and after"><table><thead><tr><th scope="col">field</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th><th scope="col" class="number">change</th><th scope="col" class="number">values</th></tr></thead><tbody>
        ${[...(result.fields || [])].sort((a, b) => (b.after - b.before) - (a.after - a.before)).map((one) => {
          const change = (one.after ?? 0) - (one.before ?? 0);
          return html`<tr><th scope="row"><bdi>${one.field}</bdi></th><td class="number">${percent(one.before)}</td><td class="number">${percent(one.after)}</td>
            <td class=${`number ${change > 0.005 ? "good" : change < -0.005 ? "bad" : ""}`}>${change > 0.005 ? "▲ better" : change < -0.005 ? "▼ worse" : "same"} ${Math.abs(change) > 0.005 ? `${change > 0 ? "+" : "−"}${percent(Math.abs(change))}` : ""}</td><td class="number">${one.support ?? ""}</td></tr>`;
        })}</tbody></table></div>
      ${["done", "stopped", "failed"].includes(told.state) ? html`<div class="ask"><button type="button" class="primary" disabled=${busy} onClick=${() => ask("keep")}>Keep it</button><button type="button" disabled=${busy} onClick=${() => ask("discard")}>Discard it</button>
          <span class="quiet">Keeping reads the values below 80% again.</span></div>`
        : told.state === "kept" ? html`<p class="good" role="status">Kept${told.read_again ? `, and ${told.read_again.written.toLocaleString("en")} ${told.read_again.written === 1 ? "document" : "documents"} read again` : ""}. The next <code>cinnabar extract</code> or <code>backfill</code> into this folder uses it.</p>`
        : told.state === "discarded" ? html`<p role="status">Discarded. Nothing has changed.</p>` : ""}</div>`}
  <//>`;
}
