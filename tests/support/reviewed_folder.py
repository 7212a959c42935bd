"""An output folder to review: records that were written by hand, of documents of several kinds, one of them hostile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cinnabar.engine.request import Origin
from cinnabar.extraction.documents.content.document import Document, Evidence, Span
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.records import DocumentInfo, LeafRow, Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.automata.strings import json_text

SCHEMA: dict[str, Any] = {
    "title": "parcel",
    "type": "object",
    "properties": {
        "carrier": {"type": "string", "title": "Carrier", "minLength": 1},
        "parcels": {"type": ["integer", "null"], "minimum": 0},
        "day": {"type": ["string", "null"], "format": "date"},
        "status": {"enum": ["sent", "lost", None]},
        "insured": {"type": ["boolean", "null"]},
        "note": {"type": ["string", "null"], "description": "Anything else."},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"item": {"type": "string"}, "count": {"type": ["integer", "null"]}},
                "required": ["item", "count"],
                "additionalProperties": False,
            },
        },
        "labels": {"type": "array", "items": {"type": "string"}},
        "weight": {"type": ["number", "null"]},
        "sender": {
            "anyOf": [
                {"type": "object", "properties": {"name": {"type": "string", "minLength": 1}}, "required": ["name"]},
                {"type": "null"},
            ]
        },
    },
    "required": ["carrier", "parcels", "day", "status", "insured", "note", "lines", "labels", "weight", "sender"],
    "additionalProperties": False,
}
#: Runs, if anything of it runs, and says so in the window.
SCRIPT = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"
HOSTILE_NAME = "<img src=x onerror=window.hacked=1>&quot;javascript:alert(1)'.txt"
TEXT = "Carrier: Kestrel Freight\nParcels: 12 of 12\nShipped on 17 March 2026, insured\nOak table 2\nPine chair 4\n"
_MAIL = (
    "From: Ada Byron <ada@north.example>\nTo: desk@south.example\nSubject: Two parcels\n"
    "Date: Tue, 17 Mar 2026 09:30:00 +0100\nMessage-ID: <1@north.example>\n\n"
    "Hello,\n\nHeron Post took 2 parcels \U0001f4e6\U0001f4e6 on 16 March 2026.\n\nAda\n"
)


def write_pdf(path: Path) -> None:
    """Writes a page of a few lines."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen import canvas

    page = canvas.Canvas(str(path), pagesize=A4, invariant=1)
    for number, line in enumerate(TEXT.splitlines()):
        page.drawString(72, 760 - 24 * number, line)
    page.save()


def write_folder(root: Path) -> Path:
    """Writes documents to `root`/docs and their records to `root`/out, and returns the latter."""
    docs, out = root / "docs", root / "out"
    docs.mkdir(parents=True)
    (docs / "letter.txt").write_text(TEXT, encoding="utf-8")
    (docs / "second.txt").write_text(TEXT.replace("Kestrel", "Merlin"), encoding="utf-8")
    (docs / "third.txt").write_text(TEXT.replace("Kestrel", "Osprey"), encoding="utf-8")
    (docs / "held.txt").write_text(TEXT.replace("Kestrel", "Buzzard"), encoding="utf-8")
    (docs / "gone.txt").write_text(TEXT.replace("Kestrel", "Harrier"), encoding="utf-8")
    (docs / "parcels.eml").write_text(_MAIL, encoding="utf-8")
    (docs / HOSTILE_NAME).write_text(f"Carrier: {SCRIPT} Freight\n{SCRIPT}\n", encoding="utf-8")
    write_pdf(docs / "page.pdf")
    found = {}
    with ParserPool(1) as pool:
        for path, document in pool.parse_many(sorted(docs.iterdir())):
            assert isinstance(document, Document), f"{path}: {document}"
            found[path.name] = document
    outcomes = [
        _outcome(document, "Carrier", *_read(name, document))
        for name, document in found.items()
        if name != "held.txt"
    ]
    held = found["held.txt"]
    refused = _outcome(held, "Carrier", {**_values("Buzzard Freight"), "carrier": ""}, {}, 0.2).record
    outcomes.append(
        Outcome(
            held.path,
            "quarantined",
            "missing",
            "no value found for /carrier",
            held.digest,
            DocumentInfo.of(held),
            refused,
            pointers=("/carrier",),
        )
    )
    source = load_schema(SCHEMA)
    with Store.open(out) as store:
        run = Run(store, source, compile_schema(source.schema), "0123456789abcdef", {"model": "by hand"})
        run.commit_batch(outcomes)
        run.finish()
    (docs / "gone.txt").unlink()
    return out


def written(root: Path, count: int, name: str = "doc", held: int = 0) -> Path:
    """Adds texts to `root`/docs and their records to `root`/out, the less sure the later, and returns the latter.

    The first `held` are in quarantine for a guess.
    """
    docs, out = root / "docs", root / "out"
    docs.mkdir(parents=True, exist_ok=True)
    paths = [docs / f"{name}-{number}.txt" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(f"Number {name} {number}\n{TEXT}", encoding="utf-8")
    outcomes = []
    with ParserPool(1) as pool:
        for number, (_, document) in enumerate(pool.parse_many(paths)):
            assert isinstance(document, Document)
            found = {"/carrier": "Kestrel Freight", "/parcels": "12", "/lines/0/item": "Oak table"}
            made = _outcome(document, "Carrier", _values("Kestrel Freight"), found, 0.9 - 0.01 * number)
            if number < held:
                held_back = {"detail": "no value found for /carrier", "pointers": ("/carrier",)}
                made = replace(made, status="quarantined", code="missing", **held_back)
            outcomes.append(made)
    source = load_schema(SCHEMA)
    with Store.open(out) as store:
        run = Run(store, source, compile_schema(source.schema), "0123456789abcdef", {"model": "by hand"})
        run.commit_batch(outcomes)
        run.finish()
    return out


def _read(name: str, document: Document) -> tuple[dict[str, Any], dict[str, str], float]:
    if name == HOSTILE_NAME:
        return {**_values(f"{SCRIPT} Freight"), "note": SCRIPT, "lines": []}, {"/carrier": f"{SCRIPT} Freight"}, 0.5
    if name == "parcels.eml":
        values = {**_values("Heron Post"), "parcels": 2, "day": "2026-03-15", "lines": []}
        return values, {"/carrier": "Heron Post", "/parcels": "2 parcels"}, 0.95
    carrier = next(line for line in document.text.splitlines() if "Freight" in line).partition(": ")[2]
    spans = {"/carrier": carrier, "/parcels": "12", "/day": "17 March 2026", "/lines/0/item": "Oak table"}
    return _values(carrier), spans, 0.97 if name == "letter.txt" else 0.8


def _values(carrier: str) -> dict[str, Any]:
    lines = [{"item": "Oak table", "count": 2}, {"item": "Pine chair", "count": None}]
    return {
        "carrier": carrier, "parcels": 12, "day": "2026-03-17", "status": "sent", "insured": None, "note": None,
        "lines": lines, "labels": ["urgent"], "weight": None, "sender": None,
    }  # fmt: skip


def _outcome(
    document: Document, doubted: str, values: Mapping[str, Any], found: Mapping[str, str], sure: float
) -> Outcome:
    leaves = []
    for pointer, value in _leaves(values):
        evidence = None
        if words := found.get(pointer):
            start = document.text.index(words)
            evidence = Evidence((Span(start, start + len(words)),), words)
        origin: Origin = "absent" if value is None else "copied"
        certain = sure if pointer == f"/{doubted.lower()}" else 0.99
        leaves.append(LeafRow(pointer, json_text(value), certain, origin, evidence=evidence, page=0))
    record = Record.of(json.dumps(values), leaves, (), {"/lines/0": 0.99, "/lines/1": 0.98}, {"/lines": 0.9})
    return Outcome(document.path, "written", digest=document.digest, document=DocumentInfo.of(document), record=record)


def _leaves(value: Any, at: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for name, part in value.items() for leaf in _leaves(part, f"{at}/{name}")]
    if isinstance(value, list):
        return [leaf for index, part in enumerate(value) for leaf in _leaves(part, f"{at}/{index}")]
    return [(at, value)]
