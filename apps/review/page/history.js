// The history of a document's values: what the model read, and who changed it to what, when.

import { html } from "./vendor/preact-htm.mjs";
import { Panel } from "./panels.js";
import { shown, titleAt } from "./values.js";

const DID = { value: "said", absent: "said that it is not there", accept: "accepted", list: "gave the rows", other_kind: "said that it is not of this kind", no_part: "changed where documents of the packet begin", audit: "audited" };
const when = (time) => new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
const cut = (text) => (shown(text) || "nothing").slice(0, 200);

function Step({ step }) {
  const values = ["value", "absent", "list"].includes(step.action) ? html`: <bdi>${cut(step.before)}</bdi> → <bdi>${cut(step.after)}</bdi>` : "";
  return html`<li class=${step.undone ? "quiet" : ""}><time datetime=${step.made}>${when(step.made)}</time> <strong><bdi>${step.who}</bdi></strong> ${DID[step.action] || step.action}${values}
    ${step.undone && html`<span> (taken back by <bdi>${step.undone_by || "somebody"}</bdi>, ${when(step.undone)})</span>`}</li>`;
}

export function History({ state, stops, close }) {
  const places = [...new Set(state.corrections.map((one) => one.pointer))].sort();
  return html`<${Panel} title="History" close=${close} wide=${true}>
    ${places.length === 0 && html`<p>Nobody has looked at a value of this document yet.</p>`}
    ${places.map((pointer) => {
      const [first, sure] = state.first[pointer] || [];
      return html`<section class="history" key=${pointer}><h3 title=${pointer}>${pointer ? titleAt(stops, pointer) : "The whole record"}</h3>
      ${first !== undefined && html`<p class="quiet">The model read <bdi>${cut(first)}</bdi>${sure === null ? "" : `, ${Math.floor(sure * 100)}% sure`}.</p>`}
      <ol>${state.corrections.filter((one) => one.pointer === pointer).map((step) => html`<${Step} key=${step.identity} step=${step} />`)}</ol></section>`;
    })}
  <//>`;
}
