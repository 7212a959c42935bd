"""Corrects documents of an output folder through the review page, with the browser, as the truth of a set says.

    python -m bench.scripted_reviewer SET --out DIR --documents 20

It does what a person does: opens a document, chooses each wrong field, marks its words where the document shows them as
text, types the value or says that it is not there, adds and removes rows, and accepts the record. It takes the
documents in the order of the page (what most needs a look), or those of `--files`. It prints what it did as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.review_server import asked, browser_page, served
from cinnabar.extraction.review.forms import place_at
from cinnabar.extraction.run.batch.labelled_sets import load_set
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.pointers import escape

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Selects the first occurrence of a text in the blocks of text, as a mouse does; false if there is none.
_MARK = """(wanted) => {
    const walker = document.createTreeWalker(document.querySelector('.viewer'), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const pre = node.parentElement.closest('pre');
        const at = pre ? node.data.indexOf(wanted) : -1;
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        pre.dispatchEvent(new MouseEvent('mousedown', { bubbles: true, detail: 1 }));
        pre.dispatchEvent(new MouseEvent('mouseup', { bubbles: true }));
        return true;
    }
    return false;
}"""
# Words that are marked have at least so many characters; a single digit stands anywhere.
_LEAST_MARKED = 3


@dataclass
class _Reviewer:
    """Works on the documents of one schema in a page."""

    page: Page
    done: Counter[str]

    def review(self, row: dict[str, Any], truth: Any) -> bool:
        """Corrects one document; returns whether its record is the truth then."""
        self._open(row)
        for _ in range(3):
            state = self._state(row)
            record = None if state["record"] is None else parse(state["record"])
            changes = list(_changes(record, truth))
            if not changes:
                break
            for pointer, kind, value in changes:
                self._apply(pointer, kind, value, place_at(state["form"], pointer))
            self._settled()
        same = self._is(row, truth)
        self._aside()
        self.page.keyboard.press("Shift+A")
        self._settled()
        self.page.wait_for_timeout(150)
        return same

    def _open(self, row: dict[str, Any]) -> None:
        self.page.fill(".search", row["path"])
        self.page.wait_for_function(
            "(path) => { const rows = [...document.querySelectorAll('.row')];"
            " return rows.length > 0 && rows.every((one) => one.title.includes(path)); }",
            arg=row["path"],
        )
        self.page.locator(".row").filter(has_text=row["schema_name"]).first.click()
        self.page.wait_for_function(
            "(path) => document.querySelector('.paper .title').textContent === path"
            " && document.querySelector('.sheet-of footer') !== null"
            " && document.querySelector('.viewer[aria-busy]') === null",
            arg=row["path"],
        )

    def _state(self, row: dict[str, Any]) -> Any:
        return asked(self.page, "/api/state", document=row["document"], schema=row["schema_name"])

    def _is(self, row: dict[str, Any], truth: Any) -> bool:
        text = self._state(row)["record"]
        left = list(_changes(None if text is None else parse(text), truth))
        for pointer, kind, value in left:
            print(f"{row['path']}: left {kind} {pointer} {value!r}", file=sys.stderr, flush=True)
        return not left

    def _aside(self) -> None:
        """Leaves inputs, so that keys are those of the page."""
        self.page.evaluate("() => document.activeElement?.blur()")

    def _settled(self) -> None:
        """Waits until every change has been stored or refused."""
        self.page.wait_for_selector('.app[data-saving="0"]')
        self.page.wait_for_timeout(60)

    def _apply(self, pointer: str, kind: str, value: Any, place: Any) -> None:
        self.done[kind] += 1
        if kind in ("add", "remove"):
            self._row(pointer, kind, value, place)
            return
        if not self._choose(pointer):
            self.done["not found"] += 1
            return
        if kind == "absent":
            self._aside()
            self.page.keyboard.press("x")
            self._settled()
            return
        said = value if isinstance(value, str) and place["kind"] in ("value", "any") else json_text(value)
        if place.get("options"):
            said = json_text(value)
        marked = isinstance(value, (str, int)) and len(str(value)) >= _LEAST_MARKED and self._mark(str(value))
        if not marked:
            self._aside()
            self.page.keyboard.press("Enter")
        self.done["marked" if marked else "typed"] += 1
        box = self.page.locator(".editor input, .editor select, .editor textarea").first
        if box.evaluate("(one) => one.tagName") == "SELECT":
            box.select_option(said)
        elif box.input_value() != said:
            box.fill(said)
        self.page.click(".editor .primary")
        if self.page.locator(".editor").count():
            self.done["refused by the input"] += 1
            self.page.locator(".editor button", has_text="Cancel").click()
        self._settled()

    def _mark(self, said: str) -> bool:
        if not self.page.evaluate(_MARK, said):
            return False
        self.page.wait_for_selector(".editor")
        return True

    def _choose(self, pointer: str) -> bool:
        """Chooses a field: its own button, or its cell of a table."""
        for name in ("pointer", "cell"):
            found = self.page.locator(f"[data-{name}={json.dumps(pointer)}]")
            if found.count():
                found.first.click()
                self.page.wait_for_selector(f".chosen [data-pointer={json.dumps(pointer)}]")
                return True
        return False

    def _row(self, pointer: str, kind: str, value: Any, place: Any) -> None:
        self._aside()
        over, _, index = pointer.rpartition("/")
        head = self.page.locator(f"[data-pointer={json.dumps(over)}]").first
        section = self.page.locator("section.list-of").filter(has=head).last
        if kind == "remove":
            section.locator(".rowhead button").nth(int(index)).click()
            self._settled()
            return
        before = head.inner_text()
        section.locator(":scope > header").get_by_role("button", name="Add").click()
        self.page.wait_for_function(
            "([pointer, before]) => document.querySelector('dialog[open]') !== null"
            " || [...document.querySelectorAll('.value')].find((one) => one.dataset.pointer === pointer)"
            "?.textContent !== before",
            arg=[over, before],
        )
        if self.page.locator("dialog[open]").count():
            self._fill_dialog(value, place)
        self._settled()

    def _fill_dialog(self, value: Any, place: Any) -> None:
        parts = place["properties"] if place["kind"] == "object" else [["", place]]
        for name, part in parts:
            own = value.get(name) if place["kind"] == "object" else value
            if own is None:
                continue
            box = self.page.locator(f"dialog [name={json.dumps(name)}]").first
            if part.get("options"):
                box.select_option(json_text(own))
            else:
                box.fill(own if isinstance(own, str) and part["kind"] in ("value", "any") else json_text(own))
        self.page.click("dialog .primary")
        self._settled()
        if self.page.locator("dialog[open]").count():
            self.done["refused row"] += 1
            self.page.locator("dialog button", has_text="Cancel").click()


def _changes(record: Any, truth: Any, at: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yields what makes a record the truth: (pointer, `value`, `absent`, `add` or `remove`, value).

    Rows go from the end, and new ones come at the end.
    """
    if isinstance(truth, dict) and isinstance(record, dict):
        for name in [*truth, *(name for name in record if name not in truth)]:
            yield from _changes(record.get(name), truth.get(name), f"{at}/{escape(name)}")
    elif isinstance(truth, list) and isinstance(record, list):
        for index in range(len(record) - 1, len(truth) - 1, -1):
            yield f"{at}/{index}", "remove", None
        for index, (own, wanted) in enumerate(zip(record, truth, strict=False)):
            yield from _changes(own, wanted, f"{at}/{index}")
        for index in range(len(record), len(truth)):
            yield f"{at}/{index}", "add", truth[index]
    elif isinstance(truth, list) and record is None:
        for index, row in enumerate(truth):
            yield f"{at}/{index}", "add", row
    elif truth is None:
        if record is not None and record != []:
            yield at, "absent", None
    elif record is None or json_text(record) != json_text(truth):
        yield at, "value", truth


def review(folder: Path, out: Path, documents: int, files: Sequence[str] = ()) -> dict[str, Any]:
    """Corrects documents of a folder as the truth of a set says, and returns what was done."""
    text = (folder / "truth.jsonl").read_text(encoding="utf-8")
    truths = {line["file"]: line["truth"] for line in map(parse, filter(str.strip, text.split("\n")))}
    assert len(truths) == len({line["file"] for line in load_set(folder).truths})
    begun, right, reviewed, done = time.perf_counter(), 0, list[str](), Counter[str]()
    with served(out) as address, browser_page(address) as page:
        reviewer = _Reviewer(page, done)
        for row, file in _rows(page, truths, files):
            right += reviewer.review(row, truths[file])
            reviewed.append(file)
            print(f"{len(reviewed)}: {file}", file=sys.stderr, flush=True)
            if len(reviewed) >= documents:
                break
    return {
        "documents": len(reviewed),
        "right": right,
        "seconds": round(time.perf_counter() - begun, 1),
        "done": dict(done),
        "files": reviewed,
    }


def _rows(page: Page, truths: dict[str, Any], files: Sequence[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yields rows of the list with the file of the set that each is, in the order of the page or of `files`."""
    found: dict[str, dict[str, Any]] = {}
    start, name = 0, asked(page, "/api/list")["list"]
    while True:
        part = asked(page, "/api/documents", list=name, start=start, count=500)
        for row in part["rows"]:
            file = next((name for name in _ends(row["path"]) if name in truths), None)
            if file is not None:
                found.setdefault(file, row)
        start += 500
        if start >= part["total"]:
            break
    for file in files or found:
        if file not in found:
            raise SystemExit(f"{file}: expected a document of the folder and of the set")
        yield found[file], file


def _ends(path: str) -> Iterator[str]:
    """Yields the ends of a path, the longest first."""
    parts = path.split("/")
    for at in range(len(parts)):
        yield "/".join(parts[at:])


def main() -> None:
    """Reviews as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("set", type=Path, metavar="SET")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--files", nargs="*", default=[], help="documents of the set, in place of the page's order")
    said = parser.parse_args()
    print(json.dumps(review(said.set, said.out, said.documents, said.files), ensure_ascii=False))


if __name__ == "__main__":
    main()
