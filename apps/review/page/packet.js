// A document that is some pages of a packet: where it begins, and what a person says of that.

import { html, useEffect, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";

export function PacketBar({ at }) {
  const [packet, setPacket] = useState({});
  const [page, setPage] = useState("");
  const [said, setSaid] = useState("");
  useEffect(() => {
    let alive = true;
    setPacket({});
    setPage("");
    setSaid("");
    api.get("/api/packet", { document: at.document }).then((found) => alive && setPacket(found), () => {});
    return () => { alive = false; };
  }, [at.document]);
  if (!packet.parts || packet.pages < 2) return null;
  const own = packet.parts[packet.place];
  const say = (action, where) => api.post("/api/packet", { document: at.document, action, page: Number(where) }).then(
    (found) => { setPacket(found); setSaid("Stored. The next run with --split reads what is new."); }, (error) => setSaid(error.message));
  const sure = own && (packet.who ? `said by ${packet.who}` : `${Math.round(100 * own.probability)}% sure`);
  const inner = own ? Array.from({ length: own.last - own.first }, (_, index) => own.first + 1 + index).filter((one) => !packet.sheets.includes(one)) : [];
  const next = packet.parts[packet.place + 1];
  return html`<div class="notice packet" role="group" aria-label="Packet">
    <p>${own ? html`Pages ${own.first} to ${own.last} of a packet of ${packet.pages}, <bdi>${sure}</bdi>.` : "This is no document of its packet any more."}</p>
    ${own && packet.place > 0 && html`<button type="button" class="small" onClick=${() => say("join", own.first)}>Join with the one before</button>`}
    ${own && next && html`<button type="button" class="small" onClick=${() => say("join", next.first)}>Join with the next</button>`}
    ${inner.length > 0 && html`<label>A document begins on page <select value=${page} onChange=${(event) => setPage(event.target.value)}>
      <option value="">…</option>${inner.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
      <button type="button" class="small" disabled=${!page} onClick=${() => say("split", page)}>Split here</button>`}
    <p role="status">${said}</p></div>`;
}
