// The document: pictures of pages with the places of values, and text with marked spans. Words are picked by dragging.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { points, sliced } from "./values.js";

// Values of words on one line become one box.
function boxesOf(words, spans) {
  const found = [];
  for (const word of words) {
    if (word.length < 6 || !spans.some(([start, end]) => word[0] < end && word[1] > start)) continue;
    const [, , x0, top, x1, bottom] = word;
    const last = found.at(-1);
    const near = last && Math.min(bottom, last[3]) - Math.max(top, last[1]) > (bottom - top) / 2 && x0 - last[2] < 4 * (bottom - top) && x0 >= last[0];
    if (near) found[found.length - 1] = [last[0], Math.min(last[1], top), Math.max(last[2], x1), Math.max(last[3], bottom)];
    else found.push([x0, top, x1, bottom]);
  }
  return found;
}

const spansWithin = (spans, block) => spans.filter(([start, end]) => start < block.end && end > block.start);

export function Viewer({ at, content, marks, active, choose, pick, picking, zoom }) {
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
    ${content.blocks.map((block, index) => html`<${block.width ? PageBlock : TextBlock} key=${`${at.document} ${index}`} at=${at} block=${block} label=${labels[index]}
      first=${index === 0 || content.blocks[index - 1].part !== block.part}
      marks=${marks} active=${active} goal=${index === goal} choose=${choose} pick=${pick} />`)}
    ${content.blocks.length === 0 && html`<p class="quiet">This document has no text.</p>`}
  </div>`;
}

// Loads a block's text once it is near the screen.
function useText(at, block, wanted) {
  const ref = useRef(null);
  const [near, setNear] = useState(false);
  const [found, setFound] = useState(null);
  useEffect(() => {
    const seen = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && setNear(true), { rootMargin: "800px" });
    seen.observe(ref.current);
    return () => seen.disconnect();
  }, []);
  useEffect(() => {
    let alive = true;
    if (near || wanted) api.text(at, block.start, block.end).then((text) => alive && setFound(text), () => {});
    return () => { alive = false; };
  }, [near || wanted]);
  return [ref, near || wanted, found];
}

function useScrollTo(goal, ready, active) {
  const ref = useRef(null);
  useEffect(() => {
    if (!goal) return;
    const place = ref.current?.querySelector(".mark.active") || ref.current;
    const frame = ref.current?.closest(".viewer");
    if (!place || !frame) return;
    const [inner, outer] = [place.getBoundingClientRect(), frame.getBoundingClientRect()];
    if (inner.top < outer.top + 40 || inner.bottom > outer.bottom - 40) {
      frame.scrollBy({ top: inner.top - outer.top - outer.height / 3, behavior: "instant" });
    }
  }, [goal, ready, active]);
  return ref;
}

function PageBlock({ at, block, label, first, marks, active, goal, choose, pick }) {
  const [seen, near, text] = useText(at, block, goal);
  const [drawn, setDrawn] = useState(true);
  const [drag, setDrag] = useState(null);
  const scroll = useScrollTo(goal, text !== null, active);
  const words = text ? text.words : [];
  const percent = ([x0, top, x1, bottom]) => ({
    left: `${(x0 / block.width) * 100}%`, top: `${(top / block.height) * 100}%`,
    width: `${((x1 - x0) / block.width) * 100}%`, height: `${((bottom - top) / block.height) * 100}%`,
  });
  const shown = useMemo(() => marks.flatMap((mark) => {
    const spans = spansWithin(mark.spans, block);
    return spans.length ? boxesOf(words, spans).map((place, index) => ({ ...mark, place, index })) : [];
  }), [marks, text]);
  const touched = drag ? words.filter((word) => word.length > 2 && word[2] < drag[2] && word[4] > drag[0] && word[3] < drag[3] && word[5] > drag[1]) : [];
  const placeOf = (event) => {
    const frame = scroll.current.querySelector(".page").getBoundingClientRect();
    return [((event.clientX - frame.left) / frame.width) * block.width, ((event.clientY - frame.top) / frame.height) * block.height];
  };
  const start = (event) => {
    if (event.button !== 0) return;
    const [x, y] = placeOf(event);
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrag([x, y, x, y, x, y]);
  };
  const move = (event) => {
    if (!drag) return;
    const [x, y] = placeOf(event);
    const [, , , , x0, y0] = drag;
    setDrag([Math.min(x, x0), Math.min(y, y0), Math.max(x, x0), Math.max(y, y0), x0, y0]);
  };
  const end = () => {
    const moved = drag && (drag[2] - drag[0] > 3 || drag[3] - drag[1] > 3);
    if (moved && touched.length) pick(runsOf(words, touched));
    else if (drag && !moved) {
      const [x, y] = drag;
      const hit = shown.find(({ place }) => x >= place[0] - 2 && x <= place[2] + 2 && y >= place[1] - 2 && y <= place[3] + 2);
      if (hit) choose(hit.pointer);
    }
    setDrag(null);
  };
  return html`<section class="block" ref=${(one) => { seen.current = one; scroll.current = one; }} aria-label=${label}>
    ${first && html`<h2>${block.label}</h2>`}
    <div class="page" style=${{ aspectRatio: `${block.width} / ${block.height}` }} onPointerDown=${start} onPointerMove=${move} onPointerUp=${end}
      onPointerCancel=${() => setDrag(null)} data-part=${block.part}>
      ${near && drawn && html`<img src=${api.pictureOf(at, block.part)} alt=${`Picture of ${block.label.toLowerCase()}`} draggable=${false} onError=${() => setDrawn(false)} />`}
      ${!drawn && text && html`<${DrawnWords} words=${words} text=${text} block=${block} />`}
      ${shown.map((mark) => html`<span key=${`${mark.pointer} ${mark.index}`} class=${`mark box ${mark.level} ${mark.pointer === active ? "active" : ""}`} style=${percent(mark.place)} title=${mark.title}>
        ${mark.pointer === active && mark.index === 0 && html`<span class="tag">${mark.title}</span>`}</span>`)}
      ${touched.map((word) => html`<span class="touched" style=${percent(word.slice(2))}></span>`)}
      ${drag && html`<span class="lasso" style=${percent(drag)}></span>`}
    </div>
  </section>`;
}

// Without a picture the words stand at their places.
function DrawnWords({ words, text, block }) {
  return html`<svg class="drawn" viewBox=${`0 0 ${block.width} ${block.height}`} aria-hidden="true">
    ${words.filter((word) => word.length > 2).map(([start, end, x0, top, x1, bottom]) => html`<text x=${x0} y=${bottom - (bottom - top) * 0.22}
      font-size=${(bottom - top) * 0.8} textLength=${Math.max(1, x1 - x0)} lengthAdjust="spacingAndGlyphs">${sliced(text.text, start - text.start, end - text.start)}</text>`)}
  </svg>`;
}

// Words that follow each other are one span.
function runsOf(words, touched) {
  const chosen = new Set(touched);
  const found = [];
  let open = false;
  for (const word of words) {
    if (!chosen.has(word)) open = false;
    else if (open) found.at(-1)[1] = word[1];
    else {
      found.push([word[0], word[1]]);
      open = true;
    }
  }
  return found;
}

function TextBlock({ at, block, label, first, marks, active, goal, choose, pick }) {
  const [seen, , text] = useText(at, block, goal);
  const scroll = useScrollTo(goal, text !== null, active);
  const pieces = useMemo(() => (text ? piecesOf(text, marks, active) : []), [text, marks, active]);
  const end = () => {
    const spans = selectedSpan(scroll.current);
    if (spans) pick([spans]);
    else if (!getSelection()?.isCollapsed && getSelection()?.toString().trim()) pick([]);
    getSelection()?.isCollapsed || getSelection()?.removeAllRanges();
  };
  const lines = Math.max(2, Math.ceil((block.end - block.start) / 70));
  return html`<section class="block text" ref=${(one) => { seen.current = one; scroll.current = one; }} aria-label=${label}>
    ${first && html`<h2>${block.label}</h2>`}
    <pre dir="auto" style=${text ? {} : { minHeight: `${lines * 1.5}em` }} onMouseUp=${end}>${pieces.map(([start, said, mark]) => mark
      ? html`<mark class=${`mark ${mark.level} ${mark.pointer === active ? "active" : ""}`} data-start=${start} title=${mark.title} onClick=${() => getSelection()?.isCollapsed !== false && choose(mark.pointer)}>${said}</mark>`
      : html`<span data-start=${start}>${said}</span>`)}</pre>
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
