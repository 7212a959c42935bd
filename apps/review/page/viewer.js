// The document: its pages and texts, one below the other.

import { html, useLayoutEffect, useMemo, useRef } from "./vendor/preact-htm.mjs";
import { spansWithin } from "./blocks.js";
import { PacketBar } from "./packet.js";
import { PageBlock } from "./pages.js";
import { TextBlock } from "./text.js";

export function Viewer({ at, schemas, content, marks, active, choose, pick, picking, zoom }) {
  const box = useRef(null);
  const target = marks.find((mark) => mark.pointer === active);
  const goal = target && content ? content.blocks.findIndex((block) => spansWithin(target.spans, block).length > 0) : -1;
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = 0;
  }, [at.document, at.schema]);
  // A landmark has a name of its own, also if a text is cut into several blocks.
  const labels = useMemo(() => {
    const seen = new Map();
    return (content?.blocks || []).map(({ label }) => {
      seen.set(label, (seen.get(label) || 0) + 1);
      return seen.get(label) === 1 ? label : `${label}, part ${seen.get(label)}`;
    });
  }, [content]);
  if (!content) return html`<div class="viewer" ref=${box} aria-busy="true"><p class="quiet">Reading the document …</p></div>`;
  if (content.missing) {
    return html`<div class="viewer" ref=${box} tabindex="0" role="region" aria-label="Pages and text"><div class="notice"><strong>The document cannot be shown.</strong>
      <p><bdi>${content.missing}</bdi></p><p>The record can still be corrected. The words behind each value are beside it.</p></div></div>`;
  }
  return html`<div class=${`viewer ${picking ? "picking" : ""}`} ref=${box} style=${{ "--zoom": zoom }} role="region" aria-label="Pages and text" tabindex="0">
    ${schemas && html`<${PacketBar} at=${at} schemas=${schemas} />`}
    ${content.blocks.map((block, index) => html`<${block.width ? PageBlock : TextBlock} key=${`${at.document} ${index}`} at=${at} block=${block} label=${labels[index]}
      first=${index === 0 || content.blocks[index - 1].part !== block.part}
      marks=${marks} active=${active} goal=${index === goal} choose=${choose} pick=${pick} />`)}
    ${content.blocks.length === 0 && html`<p class="quiet">This document has no text.</p>`}
  </div>`;
}
