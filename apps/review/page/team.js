// People who work together: who has which document open, and what each may do.

import { html, useEffect, useMemo, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { useNow } from "./now.js";

const RENEW = 60_000;
const TAB = crypto.getRandomValues(new Uint32Array(4)).join("-").slice(0, 64);
const keyOf = (document, schema) => `${schema}\n${document}`;

export const mayCorrect = (facets) => facets?.role !== "reader";
export const isOwner = (facets) => facets?.role === "owner";

// Claims the document that is looked at, and renews that while it is. Returns who has
// it, if that is somebody else, and the name of the holder of each row.
export function useClaims(at, facets) {
  const [holder, setHolder] = useState(null);
  const claims = useMemo(() => new Map((facets?.claims || []).map((one) => [keyOf(one.document, one.schema), one.who])), [facets?.claims]);
  const together = Boolean(facets) && !facets.alone && mayCorrect(facets);
  const now = useNow({ at });
  useEffect(() => {
    setHolder(null);
    if (!at || !together) return undefined;
    const claim = () => api.post("/api/claim", { ...at, tab: TAB }).then(({ held }) => now.current.at === at && setHolder(held), () => {});
    claim();
    const timer = setInterval(claim, RENEW);
    return () => clearInterval(timer);
  }, [at, together]);
  return { holder, of: (row) => claims.get(keyOf(row.document, row.schema_name)) };
}

export function Claimed({ claims }) {
  if (!claims.holder) return null;
  return html`<div class="notice claimed" role="status"><strong><bdi>${claims.holder}</bdi> has this document open.</strong> You can look at it; what you change all the same is kept, and told if both change one value.</div>`;
}

// The sentences on why the document waits for a person.
export function Why({ state }) {
  if (!state.why?.length) return null;
  return html`<p class="notice why"><bdi>${state.why.join(" ")}</bdi></p>`;
}
