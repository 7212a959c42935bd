"""The collected hostile PDFs and mails: each has one outcome, the expected text, and what a mail says of itself.

    python -m bench.hostile_report FOLDER [--kind pdf|mail] [--ocr auto|always|never] [--soft] [--record]

Each folder `pdf` and `mail` in FOLDER has a MANIFEST.jsonl, as the README of the collection describes it. A file agrees
if its outcome is one that its line accepts. A document that only waits for OCR counts as empty, and so does a PDF with
nothing but values of fields and comments, which the collection's engines do not read. Files whose line gives a password
are read once more with it. The report ends with every file that differs, and how. Expectations of soft truth
count only with --soft. `--record` writes the three main rows of both kinds into `bench/results/` (`make results`).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.recording import Row, record
from bench.reporting import table
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool

# The outcomes of the collection, by our codes; every other code is an error.
_OUTCOMES = {"empty": "empty", "image_only": "empty", "password": "password"}
#: The rows of the report, in its order.
ROWS = ("outcome", "text", "with password", "told apart", "subject", "sender", "attachments", "nesting")
#: The rows that are recorded: in words, and the least share that is wanted.
_RECORDED = {
    "outcome": ("outcome right", 0.98),
    "text": ("expected text found", 0.97),
    "told apart": ("password, empty and error told apart", 0.98),
}


@dataclass(slots=True)
class Tally:
    """Counts of one kind of file: agreeing and all, by row, and the differences in words."""

    right: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    def add(self, row: str, holds: bool, told: str) -> None:
        """Counts one expectation; `told` describes the difference if it does not hold."""
        self.total[row] = self.total.get(row, 0) + 1
        self.right[row] = self.right.get(row, 0) + holds
        if not holds:
            self.differences.append(f"{row}: {told}")

    def shown(self, row: str) -> str:
        """Returns the share of a row in words."""
        if row not in self.total:
            return "—"
        return f"{self.right[row]} of {self.total[row]} ({self.right[row] / self.total[row]:.1%})"


def squeezed(text: str) -> str:
    """Returns text for comparison: NFKC, without blanks and letters without a width."""
    return "".join(unicodedata.normalize("NFKC", clean(text)).split())


def holds(text: str, wanted: str) -> bool:
    """Returns whether a squeezed text holds a wanted one; U+FFFD, which other readers put, stands for any character."""
    pattern = ".".join(map(re.escape, squeezed(wanted).split("\ufffd")))
    return re.search(pattern, text, re.DOTALL) is not None


def outcomes_of(found: Document | DocumentError) -> list[str]:
    """Returns the outcome, and the one without what OCR read of pictures, which the collection does not know."""
    return list(dict.fromkeys(outcome_of(found, ocr) for ocr in (True, False)))


def outcome_of(found: Document | DocumentError, ocr: bool = True) -> str:
    """Returns the outcome of the collection: text, empty, password or error."""
    if isinstance(found, Document):
        beside = [part.kind in ("fields", "notes", "attachment") for part in found.parts]
        for at, part in enumerate(found.parts):
            beside[at] |= part.parent >= 0 and beside[part.parent]
        pdf = found.media_type == "application/pdf"
        sure = found.words.sure
        read = [True] * len(found.words) if ocr or sure is None else (sure == 1.0).tolist()
        words = sum(
            own and not (pdf and beside[part]) for own, part in zip(read, found.words.part.tolist(), strict=True)
        )
        return "text" if words else "empty"
    return _OUTCOMES.get(found.code, "error")


def judged(entries: Sequence[dict[str, Any]], found: Sequence[Document | DocumentError], soft: bool) -> Tally:
    """Returns the counts of one folder without passwords."""
    tally = Tally()
    for entry, one in zip(entries, found, strict=True):
        name, (outcome, *others) = entry["file"], outcomes_of(one)
        outcome = next((other for other in others if other in entry["accept"]), outcome)
        code = one.code if isinstance(one, DocumentError) else outcome
        tally.add("outcome", outcome in entry["accept"], f"{name}: expected {'/'.join(entry['accept'])}, got {code}")
        if entry["expect"] != "text":
            alike = outcome == entry["expect"] or outcome in entry["accept"]
            tally.add("told apart", alike, f"{name}: expected {entry['expect']}, got {code}")
        if entry.get("truth_strength") == "soft" and not soft:
            continue
        text = squeezed(one.text) if isinstance(one, Document) else ""
        wanted = [*entry.get("must_contain", ()), *(entry.get("must_contain_if_text", ()) if text else ())]
        for want in wanted:
            tally.add("text", holds(text, want), f"{name}: lacks {want[:80]!r}")
        if "expected" in entry and isinstance(one, Document):
            _judge_mail(tally, entry, one)
    return tally


def _in_ascii(address: str) -> str:
    """Returns an address as readers without RFC 6532 print it: a question mark for each byte beyond ASCII."""
    return "".join(letter if letter.isascii() else "?" * len(letter.encode()) for letter in address)


def _judge_mail(tally: Tally, entry: dict[str, Any], document: Document) -> None:
    name, expected = entry["file"], entry["expected"]
    if expected.get("subject"):
        got = str(document.facts["mail.subject"].value) if "mail.subject" in document.facts else ""
        alike = len(squeezed(got)) == len(squeezed(expected["subject"])) and holds(squeezed(got), expected["subject"])
        tally.add("subject", alike, f"{name}: expected {expected['subject'][:80]!r}, got {got[:80]!r}")
    if expected.get("from"):
        got = str(document.facts["mail.from.address"].value) if "mail.from.address" in document.facts else ""
        said = {one.casefold() for one in expected["from"]}
        alike = got.casefold() in said or _in_ascii(got).casefold() in said
        tally.add("sender", alike, f"{name}: expected {expected['from']}, got {got!r}")
    held = [part for part in document.parts if part.kind in ("attachment", "message")]
    files = {part.name for part in held}
    if "mail.attachments.name" in document.facts:
        names = document.facts["mail.attachments.name"].value
        files |= set(map(str, names)) if isinstance(names, tuple) else {str(names)}
    for one in expected.get("attachments", ()):
        tally.add("attachments", any(holds(squeezed(file), one) for file in files), f"{name}: no attachment {one!r}")
    if expected.get("nested_messages"):
        nested = sum(part.kind == "message" for part in held)
        told = f"{name}: expected {expected['nested_messages']} nested messages, got {nested}"
        tally.add("nesting", nested >= expected["nested_messages"], told)


def _with_passwords(folder: Path, entries: Sequence[dict[str, Any]], tally: Tally) -> None:
    for entry in entries:
        if "password" not in entry or "expect_with_password" not in entry:
            continue
        with ParserPool(1, settings=ParserSettings(passwords=("wrong", entry["password"]))) as pool:
            found = pool.submit(folder / entry["file"]).result()
        expected = entry["expect_with_password"]
        got = next((one for one in outcomes_of(found) if one == expected), outcome_of(found))
        text = squeezed(found.text) if isinstance(found, Document) else ""
        right = got == expected and all(holds(text, one) for one in entry.get("must_contain_with_password", ()))
        tally.add("with password", right, f"{entry['file']}: expected {expected} and its text, got {got}")


def _lines(kinds: Sequence[str], tallies: Sequence[Tally]) -> Iterator[str]:
    yield table(("", *kinds), [(row, *(tally.shown(row) for tally in tallies)) for row in ROWS])
    for kind, tally in zip(kinds, tallies, strict=True):
        yield from ("", f"{kind}: {len(tally.differences)} differences")
        yield from (f"- {one}" for one in tally.differences)


def recorded_rows(kind: str, tally: Tally) -> Iterator[Row]:
    """Yields the main rows of one kind of file as they are recorded."""
    for name, (words, least) in _RECORDED.items():
        if tally.total.get(name):
            missed = tally.right[name] < least * tally.total[name]
            yield Row(f"{kind}: {words}", f"{least:.0%}", tally.shown(name), missed)


def main(arguments: Sequence[str]) -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(prog="hostile_report", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", choices=("pdf", "mail"))
    parser.add_argument("--ocr", choices=("auto", "always", "never"), default="auto")
    parser.add_argument("--soft", action="store_true")
    parser.add_argument("--record", action="store_true", help="keep the main rows in bench/results/")
    said = parser.parse_args(arguments)
    if said.record and said.kind:
        parser.error("expected both kinds with --record, got --kind")
    kinds = [said.kind] if said.kind else ["pdf", "mail"]
    tallies = []
    for kind in kinds:
        folder = said.folder / kind
        entries = [json.loads(line) for line in (folder / "MANIFEST.jsonl").read_text("utf-8").splitlines()]
        begun = time.monotonic()
        with ParserPool(2, settings=ParserSettings(ocr=said.ocr)) as pool:
            found = [one for _, one in pool.parse_many([folder / entry["file"] for entry in entries])]
        print(f"{kind}: {len(entries)} files in {time.monotonic() - begun:.1f} s", file=sys.stderr)
        tally = judged(entries, found, said.soft)
        _with_passwords(folder, entries, tally)
        tallies.append(tally)
    print("\n".join(_lines(kinds, tallies)))
    if said.record:
        named = zip(("PDFs", "mails"), tallies, strict=True)
        rows = [row for kind, tally in named for row in recorded_rows(kind, tally)]
        record("hostile_files", "hostile files", "python -m bench hostile_report", rows, precision="no model")


if __name__ == "__main__":
    main(sys.argv[1:])
