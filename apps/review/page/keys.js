// The keys of the page, each with what it does; the help lists them.

export const KEYS = [
  ["j", "↓", "next", "Next field"],
  ["k", "↑", "previous", "Previous field"],
  ["d", "", "doubtful", "Next doubtful field"],
  ["a", "", "accept", "Accept this value"],
  ["Enter", "e", "edit", "Type another value"],
  ["x", "Delete", "absent", "Not in the document"],
  ["+", "", "insert", "Add a row below"],
  ["-", "", "remove", "Remove this row"],
  ["A", "", "done", "Accept the whole record, and on to the next document"],
  ["o", "", "other", "Not my kind of document"],
  ["u", "", "undo", "Take the last change back"],
  ["n", "→", "nextDocument", "Next document"],
  ["p", "←", "previousDocument", "Previous document"],
  ["/", "", "search", "Search"],
  ["i", "", "improve", "Have it learn"],
  ["?", "", "help", "This help"],
  ["Escape", "", "escape", "Leave the input, close a panel"],
];

const ARROWS = { ArrowDown: "↓", ArrowUp: "↑", ArrowRight: "→", ArrowLeft: "←" };
const named = new Map();
for (const [first, second, action] of KEYS) for (const key of [first, second]) if (key) named.set(key, action);

const typing = (target) => target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");

// Returns what a key asks for, or null if it belongs to an input, a button or the browser.
export function actionOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return null;
  if (event.key === "Escape") return "escape";
  if (typing(event.target) || document.querySelector("dialog[open]")) return null;
  const button = event.target instanceof HTMLElement && event.target.closest("button, summary, [role=option]");
  if (event.key === "Enter" && button && !button.matches(".value")) return null;
  if (event.target instanceof HTMLElement && event.target.closest("[role=listbox]") && event.key.startsWith("Arrow")) {
    return event.key === "ArrowDown" ? "nextDocument" : event.key === "ArrowUp" ? "previousDocument" : null;
  }
  return named.get(ARROWS[event.key] || event.key) || null;
}
