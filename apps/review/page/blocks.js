// What pages and texts share: a block of the document is loaded when it is near, and scrolled to when it is looked for.

import { useEffect, useRef, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";

export const spansWithin = (spans, block) => spans.filter(([start, end]) => start < block.end && end > block.start);

// Loads a block's text once it is near the screen.
export function useText(at, block, wanted) {
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

export function useScrollTo(goal, ready, active) {
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
