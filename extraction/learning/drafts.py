"""Drafts of labelled documents: a JSON file that a person corrects, and an HTML page of the document beside it.

A draft has `file` (relative to the set's folder), `checked` (false until a person sets it), `truth` (the record, which
the person corrects) and `fields`: the model's value of each place and its evidence, the least certain first. Fields to
look at first have `check`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.run.report.pages import render
from cinnabar.extraction.store.records import LeafRow, Record

# A person should look at values below this confidence.
_CHECK_BELOW = 0.8
# Characters of the document that are shown on each side of a value.
_CONTEXT = 40
# Bytes of a document's name in the name of its draft: a file name has 255 at most.
_NAME = 200


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft of one document, by its name in the set; `fields` are sorted, the least certain first."""

    file: str
    document: Document
    record: Record
    fields: tuple[LeafRow, ...]

    @classmethod
    def of(cls, file: str, document: Document, record: Record) -> Draft:
        """Returns the draft of this record."""
        return cls(file, document, record, tuple(sorted(record.leaves, key=lambda leaf: leaf.confidence)))

    @property
    def confidence(self) -> float:
        """Returns the mean confidence of the fields; 1 if there are none."""
        return sum(leaf.confidence for leaf in self.fields) / len(self.fields) if self.fields else 1.0

    @property
    def doubts(self) -> int:
        """Returns the number of fields to look at."""
        return sum(map(deserves_a_look, self.fields))

    def json(self) -> str:
        """Returns the draft's JSON text: the record over several lines, each field on one."""
        fields = ",\n".join(f"  {_dumped(self._field(leaf))}" for leaf in self.fields)
        truth = json.dumps(json.loads(self.record.text), ensure_ascii=False, indent=1).replace("\n", "\n ")
        return (
            f'{{\n "file": {_dumped(self.file)},\n "checked": false,\n "truth": {truth},\n'
            f' "fields": [\n{fields}\n ]\n}}\n'
        )

    def _field(self, leaf: LeafRow) -> dict[str, Any]:
        field: dict[str, Any] = {"field": leaf.pointer}
        if deserves_a_look(leaf):
            field["check"] = True
        field |= {"value": _value(leaf), "confidence": round(leaf.confidence, 2)}
        if leaf.evidence is not None:
            field["read"] = _in_context(self.document.text, leaf)
            field["spans"] = [[span.start, span.end] for span in leaf.evidence.spans]
            if leaf.page:
                field["page"] = leaf.page
        return field

    def page(self, draft: str, link: str) -> str:
        """Returns the draft as an HTML page: the text with its values marked. `link` leads to the document."""
        fields = {leaf.pointer: _page_field(leaf) for leaf in self.fields}
        pieces = [(text, None if leaf is None else fields[leaf.pointer]) for text, leaf in self._pieces()]
        return render("draft.html", file=self.file, link=link, draft=draft, pieces=pieces, fields=fields.values())

    def _pieces(self) -> Iterator[tuple[str, LeafRow | None]]:
        """Yields the text in pieces, those that a value was read from with its field."""
        known = [(leaf, leaf.evidence) for leaf in self.fields if leaf.evidence]
        spans = [(span.start, span.end, leaf) for leaf, evidence in known for span in evidence.spans]
        text, at = self.document.text, 0
        for start, end, leaf in sorted(spans, key=lambda span: span[:2]):
            if start < at:  # two fields share words; one mark is enough
                continue
            yield text[at:start], None
            yield text[start:end], leaf
            at = end
        yield text[at:], None


def deserves_a_look(leaf: LeafRow) -> bool:
    """Returns True if a person should look at this value first: unsure, or required and not found."""
    return leaf.missing or leaf.confidence < _CHECK_BELOW


def file_name(number: int, file: str, suffix: str) -> str:
    """Returns the file name of a draft: its number, then the document's own name."""
    own = re.sub(r"[^\w.-]+", "_", Path(file).name)
    return f"{number:03}-{own.encode()[:_NAME].decode(errors='ignore')}{suffix}"


def _value(leaf: LeafRow) -> Any:
    return None if leaf.value is None else json.loads(leaf.value)


def _in_context(text: str, leaf: LeafRow) -> str:
    assert leaf.evidence is not None
    span = leaf.evidence.spans[0]
    before, after = text[max(0, span.start - _CONTEXT) : span.start], text[span.end : span.end + _CONTEXT]
    return " ".join(f"{before}»{text[span.start : span.end]}«{after}".split())


def _page_field(leaf: LeafRow) -> dict[str, Any]:
    """Returns a field as the values that the template of the page shows."""
    value = _dumped(_value(leaf))
    return {"pointer": leaf.pointer, "value": value, "confidence": leaf.confidence, "check": deserves_a_look(leaf)}


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
