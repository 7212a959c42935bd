// A document that is some pages of a packet: where it begins, how its pages lie, its schema, and what a person says of that.

import { html, useEffect, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";

export function PacketBar({ at, schemas }) {
  const [packet, setPacket] = useState({});
  const [first, setFirst] = useState(0);
  const [page, setPage] = useState(0);
  const [kind, setKind] = useState("");
  const [said, setSaid] = useState("");
  const took = (found) => {
    setPacket(found);
    if (found.place >= 0) { setFirst(found.parts[found.place].first); setKind(found.parts[found.place].kind); }
  };
  useEffect(() => {
    let alive = true;
    setPacket({}); setFirst(0); setPage(0); setKind(""); setSaid("");
    api.get("/api/packet", { document: at.document }).then((found) => alive && took(found), () => {});
    return () => { alive = false; };
  }, [at.document]);
  if (!packet.parts) return null;
  // What was said made it another document: the part with its first page is what is spoken of then.
  const place = packet.place >= 0 ? packet.place : packet.parts.findIndex((one) => one.first <= first && first <= one.last);
  const own = packet.parts[place];
  const say = (change) => api.post("/api/packet", { document: at.document, state: packet.state, ...change }).then(
    (found) => { took(found); setSaid("Stored. The next run with --split reads what is new."); },
    (error) => { setSaid(error.message); api.get("/api/packet", { document: at.document }).then(took, () => {}); });
  if (!own) return html`<div class="notice packet"><p>This is no document of its packet any more.</p></div>`;
  const pages = Array.from({ length: own.last - own.first + 1 }, (_, index) => own.first + index).filter((one) => !packet.sheets.includes(one));
  const next = packet.parts[place + 1];
  const chosen = pages.includes(page) ? page : own.first;
  const turned = (Object.fromEntries(own.turns)[chosen] || 0) + 90;
  const button = (text, change, off = false) => html`<button type="button" class="small" disabled=${off} onClick=${() => say(change)}>${text}</button>`;
  return html`<div class="notice packet" role="group" aria-label="Packet">
    <p>Pages ${own.first} to ${own.last} of a packet of ${packet.pages}, ${Math.round(100 * own.probability)}% sure${packet.who && html`; last corrected by <bdi>${packet.who}</bdi>`}.</p>
    <p>${place > 0 && button("Join with the one before", { join: [own.first] })} ${next && button("Join with the next", { join: [next.first] })}</p>
    <p><label>Page <select value=${chosen} onChange=${(event) => setPage(Number(event.target.value))}>${pages.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
      ${" "}${button("Split here", { split: [chosen] }, chosen === own.first)} ${button("Turn to the right", { turns: { [chosen]: turned % 360 } })}</p>
    <p><label>Schema <input list="packet-kinds" value=${kind} onInput=${(event) => setKind(event.target.value)} /></label>
      <datalist id="packet-kinds">${schemas.map((one) => html`<option value=${one.name} />`)}</datalist>
      ${" "}${button("Read with this schema", { kinds: { [own.first]: kind.trim() } }, kind.trim() === own.kind)}</p>
    <p role="status">${said}</p></div>`;
}
