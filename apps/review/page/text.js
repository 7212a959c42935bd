// A text with the places of values; words are picked by selecting them.

import { html, useMemo, useRef } from "./vendor/preact-htm.mjs";
import { spansWithin, useScrollTo, useText } from "./blocks.js";
import { points, sliced } from "./values.js";

export function TextBlock({ at, block, label, first, marks, active, goal, choose, pick }) {
  const [seen, , text] = useText(at, block, goal);
  const scroll = useScrollTo(goal, text !== null, active);
  const pieces = useMemo(() => (text ? piecesOf(text, marks, active) : []), [text, marks, active]);
  // The field that was chosen before the mouse went down: a double click on a marked word picks it for that field.
  const before = useRef(null);
  // A drag may end outside of the text, and one that ends on a marked word is still no click on it.
  const start = (event) => {
    if (event.button !== 0) return;
    if (event.detail < 2) before.current = active;
    document.addEventListener("mouseup", end, { once: true });
  };
  const end = (event) => {
    const selection = getSelection();
    if (selection && !selection.isCollapsed && selection.toString().trim()) {
      const spans = selectedSpan(scroll.current);
      if (before.current !== active) choose(before.current);
      pick(spans ? [spans] : [], before.current);
      selection.removeAllRanges();
      return;
    }
    const mark = event.target instanceof Element && scroll.current?.contains(event.target) && event.target.closest(".mark");
    if (mark) choose(mark.dataset.of);
  };
  const lines = Math.max(2, Math.ceil((block.end - block.start) / 70));
  return html`<section class="block text" ref=${(one) => { seen.current = one; scroll.current = one; }} aria-label=${label}>
    ${first && html`<h2>${block.label}</h2>`}
    <pre dir="auto" style=${text ? {} : { minHeight: `${lines * 1.5}em` }} onMouseDown=${start}>${pieces.map(([at, said, mark]) => mark
      ? html`<mark class=${`mark ${mark.level} ${mark.pointer === active ? "active" : ""}`} data-start=${at} data-of=${mark.pointer} title=${mark.title}>${said}</mark>`
      : html`<span data-start=${at}>${said}</span>`)}</pre>
  </section>`;
}

// Cuts a text at the ends of marks; where marks overlap, the active one wins, then the first.
function piecesOf(text, marks, active) {
  const within = [];
  for (const mark of marks) for (const [start, end] of spansWithin(mark.spans, text)) within.push([Math.max(start, text.start), Math.min(end, text.end), mark]);
  const cuts = [...new Set([text.start, text.end, ...within.flatMap(([start, end]) => [start, end])])].sort((a, b) => a - b);
  const found = [];
  for (let place = 0; place + 1 < cuts.length; place += 1) {
    const [start, end] = [cuts[place], cuts[place + 1]];
    const over = within.filter((one) => one[0] <= start && one[1] >= end).map((one) => one[2]);
    const mark = over.find((one) => one.pointer === active) || over[0];
    found.push([start, sliced(text.text, start - text.start, end - text.start), mark]);
  }
  return found;
}

function offsetOf(node, offset) {
  let element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
  if (node.nodeType !== Node.TEXT_NODE) {
    const child = node.childNodes[offset];
    if (child instanceof HTMLElement && child.dataset.start) return Number(child.dataset.start);
    element = node.closest("[data-start]");
    if (!element) {
      const last = [...node.querySelectorAll("[data-start]")].at(-1);
      return last ? Number(last.dataset.start) + points(last.textContent) : null;
    }
    return Number(element.dataset.start) + (offset ? points(element.textContent) : 0);
  }
  element = element.closest("[data-start]");
  return element ? Number(element.dataset.start) + points(node.data.slice(0, offset)) : null;
}

// The span of the selected text, without blanks at its ends.
function selectedSpan(within) {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
  const range = selection.getRangeAt(0);
  if (!within.contains(range.startContainer) || !within.contains(range.endContainer)) return null;
  const start = offsetOf(range.startContainer, range.startOffset);
  const end = offsetOf(range.endContainer, range.endOffset);
  const said = selection.toString();
  if (start === null || end === null || end <= start || !said.trim()) return null;
  return [start + points(said) - points(said.trimStart()), Math.max(start + 1, end - (points(said) - points(said.trimEnd())))];
}
