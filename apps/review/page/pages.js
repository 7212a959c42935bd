// A page as its picture, with the places of values; words are picked by dragging.

import { html, useEffect, useMemo, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { spansWithin, useScrollTo, useText } from "./blocks.js";
import { sliced } from "./values.js";

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

export function PageBlock({ at, block, label, first, marks, active, goal, choose, pick }) {
  const [seen, near, text] = useText(at, block, goal);
  const [drawn, setDrawn] = useState(true);
  const [address, setAddress] = useState(null);
  const [drag, setDrag] = useState(null);
  const scroll = useScrollTo(goal, text !== null, active);
  useEffect(() => {
    let alive = true;
    if (near) api.picture(at, block.part).then((found) => alive && (found ? setAddress(found) : setDrawn(false)), () => alive && setDrawn(false));
    return () => { alive = false; };
  }, [near]);
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
      ${address && drawn && html`<img src=${address} alt=${`Picture of ${block.label.toLowerCase()}`} draggable=${false} onError=${() => setDrawn(false)} />`}
      ${(text ? text.tables : []).map((table) => html`<${TableRules} table=${table} percent=${percent} />`)}
      ${!drawn && text && html`<${DrawnWords} words=${words} text=${text} block=${block} />`}
      ${shown.map((mark) => html`<span key=${`${mark.level} ${mark.pointer} ${mark.index}`} class=${`mark box ${mark.level} ${mark.pointer === active ? "active" : ""}`} style=${percent(mark.place)} title=${mark.title}>
        ${mark.pointer === active && mark.index === 0 && html`<span class="tag">${mark.title}</span>`}</span>`)}
      ${touched.map((word) => html`<span class="touched" style=${percent(word.slice(2))}></span>`)}
      ${drag && html`<span class="lasso" style=${percent(drag)}></span>`}
    </div>
  </section>`;
}

// The rules of a table: where it stands, and where each of its columns begins.
function TableRules({ table, percent }) {
  const [x0, top, x1, bottom] = table.box;
  return html`<span class="table-box" style=${percent([x0 - 3, top - 2, x1 + 3, bottom + 2])} aria-hidden="true"></span>
    ${table.columns.slice(1).map((x) => html`<span class="table-rule" style=${percent([x - 3, top - 2, x - 2.4, bottom + 2])} aria-hidden="true"></span>`)}`;
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
