// The history of a document's values, and what only an owner does to it.

import { html, useEffect, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { Panel } from "./panels.js";
import { isOwner } from "./team.js";
import { shown, titleAt } from "./values.js";

const DID = { value: "said", absent: "said that it is not there", accept: "accepted", list: "gave the rows", other_kind: "said that it is not of this kind", audit: "audited" };
const when = (time) => new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
const cut = (text) => (shown(text) || "nothing").slice(0, 200);

function Step({ step }) {
  const values = ["value", "absent", "list"].includes(step.action) ? html`: <bdi>${cut(step.before)}</bdi> → <bdi>${cut(step.after)}</bdi>` : "";
  return html`<li class=${step.undone ? "quiet" : ""}><time datetime=${step.made}>${when(step.made)}</time> <strong><bdi>${step.who}</bdi></strong> ${DID[step.action] || step.action}${values}
    ${step.undone && html`<span> (taken back by <bdi>${step.undone_by || "somebody"}</bdi>, ${when(step.undone)})</span>`}</li>`;
}

export function History({ at, state, facets, stops, close, say, renew }) {
  const [places, setPlaces] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => { api.get("/api/history", at).then((found) => setPlaces(found.places), (error) => setProblem(error.message)); }, []);
  const ask = (path, question, told) => {
    if (!confirm(question)) return;
    api.post(path, at).then(() => { say(told); close(); renew(); }, (error) => setProblem(error.message));
  };
  return html`<${Panel} title="History" close=${close} wide=${true}>
    ${problem && html`<p class="error" role="alert">${problem}</p>`}
    ${places?.length === 0 && html`<p>Nobody has looked at a value of this document yet.</p>`}
    ${(places || []).map((place) => html`<section class="history"><h3>${place.pointer ? titleAt(stops, place.pointer) : "The whole record"}</h3>
      ${place.pointer && html`<p class="quiet">The model read <bdi>${cut(place.first)}</bdi>${place.confidence === null ? "" : `, ${Math.floor(place.confidence * 100)}% sure`}.</p>`}
      <ol>${place.steps.map((step) => html`<${Step} step=${step} />`)}</ol></section>`)}
    ${isOwner(facets) && html`<div class="ask">
      ${state.outcome === "quarantined" && html`<button type="button" onClick=${() => ask("/api/release", "Write the record of this document as it is?", "Released.")}>Release from quarantine</button>`}
      <button type="button" onClick=${() => ask("/api/forget", "Remove all that is stored of this document? This cannot be taken back.", "Forgotten.")}>Forget this document</button></div>`}
  <//>`;
}
