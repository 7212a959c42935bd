// Requests to the server of this page, and a small cache of documents that are or will soon be looked at.

// The key stands behind the `#` of the printed address. This tab alone keeps it, and sends it with each request; a cookie
// would go to every other server of this machine.
const given = location.hash.slice(1);
if (given) {
  sessionStorage.setItem("key", given);
  history.replaceState(null, "", location.pathname);
}
const KEY = { "x-cinnabar-key": sessionStorage.getItem("key") || "" };
// Behind a proxy there is no key: the cookie of its session tells it who asks.
const PROXIED = KEY["x-cinnabar-key"] === "";
addEventListener("hashchange", () => location.reload());

// `lost` tells that the server may not have got the request, `overtaken` the places that others have changed meanwhile.
export class Problem extends Error {
  constructor(message, { places = [], lost = false, overtaken = [], gone = false } = {}) {
    super(message);
    Object.assign(this, { places, lost, overtaken, gone });
  }
}

async function answer(response) {
  const text = await response.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  if (!response.ok) {
    const lost = ![401, 403].includes(response.status) ? "" : text.startsWith("Open the address") ? "Open the address that `cinnabar review` printed; this one has no key, or an old one." : text.slice(0, 300);
    const told = { lost: lost !== "", overtaken: body?.overtaken || [], gone: response.status === 410 };
    throw new Problem(body?.error || lost || `The server answered ${response.status}.`, told);
  }
  if (body?.refused) throw new Problem(body.refused, { places: body.places });
  return body;
}

async function asked(path, options = {}) {
  try {
    return await fetch(path, { credentials: PROXIED ? "same-origin" : "omit", ...options, headers: { ...KEY, ...options.headers } });
  } catch {
    throw new Problem("The review server does not answer. Is `cinnabar review` still running?", { lost: true });
  }
}

const request = async (path, options) => answer(await asked(path, options));

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

const MOST = 24;
const records = new Map();
const pictures = new Map();

// Returns what is kept under a key, or loads it; of too many the one that was asked for longest ago goes.
function remembered(key, load, kept = records, drop = () => {}) {
  let found = kept.get(key);
  if (!found) {
    found = load();
    found.catch(() => kept.delete(key));
  }
  kept.delete(key);
  kept.set(key, found);
  for (const [old, gone] of kept) {
    if (kept.size <= MOST) break;
    kept.delete(old);
    gone.then(drop, () => {});
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

// The address of a page's picture within this page, null if there is none: an image cannot send the key by itself.
export const picture = (at, part) => remembered(keyOf(`picture ${part}`, at), async () => {
  const response = await asked(`/api/picture?${new URLSearchParams({ ...at, part })}`);
  return response.status === 200 ? URL.createObjectURL(await response.blob()) : null;
}, pictures, (address) => address && URL.revokeObjectURL(address));

// A correction or a new commit makes the kept state old.
export const setState = (at, found) => records.set(keyOf("state", at), Promise.resolve(found));
export const forgetState = (at) => records.delete(keyOf("state", at));
export const forgetStates = () => {
  for (const key of [...records.keys()]) if (key.startsWith('["state"')) records.delete(key);
};

// The record, the text and the first page of a neighbour, so that it shows at once.
export async function prefetch(at) {
  try {
    const [, found] = await Promise.all([state(at), content(at)]);
    const first = found.blocks[0];
    if (!first) return;
    await Promise.all([first.width ? picture(at, first.part) : null, text(at, first.start, first.end)]);
  } catch {
    // It is asked for again, with its message, when it is looked at.
  }
}
