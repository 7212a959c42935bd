// Requests to the server of this page, and a small cache of documents that are or will soon be looked at.

// `lost` tells that the server may not have got the request.
export class Problem extends Error {
  constructor(message, places = [], lost = false) {
    super(message);
    this.places = places;
    this.lost = lost;
  }
}

async function answer(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  if (!response.ok) {
    const lost = response.status === 403 ? "This page's address has expired. Open the newly printed one." : "";
    throw new Problem(body?.error || lost || `The server answered ${response.status}.`, body?.places || [], lost !== "");
  }
  if (body?.refused) throw new Problem(body.refused, body.places);
  return body;
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Problem("The review server does not answer. Is `cinnabar review` still running?", [], true);
  }
  return answer(response);
}

export function get(path, values = {}) {
  const said = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return request(`${path}?${new URLSearchParams(said)}`);
}

export function post(path, body) {
  const text = JSON.stringify(body);
  // A correction reaches the server even if the page is closed at once; browsers bound such requests to 64 KiB.
  const keepalive = text.length < 16000;
  return request(path, { method: "POST", headers: { "content-type": "application/json" }, body: text, keepalive });
}

export function pictureOf(at, part) {
  return `/api/picture?${new URLSearchParams({ ...at, part })}`;
}

const MOST = 24;
const kept = new Map();

function remembered(key, load) {
  let found = kept.get(key);
  if (!found) {
    found = load();
    found.catch(() => kept.delete(key));
  }
  kept.delete(key);
  kept.set(key, found);
  for (const old of kept.keys()) {
    if (kept.size <= MOST) break;
    kept.delete(old);
  }
  return found;
}

const keyOf = (kind, { document, schema }) => JSON.stringify([kind, document, schema]);

export const state = (at) => remembered(keyOf("state", at), () => get("/api/state", at));
export const content = (at) => remembered(keyOf("content", at), () => get("/api/content", at));
export const text = (at, start, end) => {
  const own = keyOf(`text ${start} ${end}`, at);
  return remembered(own, () => get("/api/text", { ...at, start, end }));
};

// A correction or a new commit makes the kept state old.
export const setState = (at, found) => kept.set(keyOf("state", at), Promise.resolve(found));
export const forgetStates = () => {
  for (const key of [...kept.keys()]) if (key.startsWith('["state"')) kept.delete(key);
};

// The record, the text and the first page of a neighbour, so that it shows at once.
export async function prefetch(at) {
  try {
    const [, found] = await Promise.all([state(at), content(at)]);
    const first = found.blocks[0];
    if (!first) return;
    if (first.width) new Image().src = pictureOf(at, first.part);
    await text(at, first.start, first.end);
  } catch {
    // It is asked for again, with its message, when it is looked at.
  }
}
