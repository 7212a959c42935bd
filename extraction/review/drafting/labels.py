"""The fields that documents label: what several of them print before a value, and the columns of their tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import BOOLEANS
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.review.table_files import DocumentTable, column_days, column_numbers, document_tables

#: The most fields of a draft, letters of a name, and words of a label; the least columns of a table that is a list.
MOST_FIELDS, LONGEST_NAME, LABEL_WORDS, LIST_COLUMNS = 20, 30, 6, 3
#: The share of the documents that have a label, for it to be a field, and then at least two of them.
USUAL = 0.25
#: The digits from which on whole numbers of one length are a code.
CODE_DIGITS = 5
#: The name of the list of a table's rows.
LIST = "items"
_CELLS = re.compile(r"\t| {2,}")
_LABEL = re.compile(r"(?P<label>[^\W\d_][^:\n]{0,59}?) ?:(?:\s+(?P<value>.+))?")
_MEASURED = re.compile(r"([-−]?\d[\d.,'’ ]*)\s[^\s\d]{1,8}")


def draft_of_labels(documents: Sequence[Document]) -> dict[str, Any]:
    """Returns a schema with a field for each label, and a list for the table, that a share of the documents print.

    It has no fields if they have fewer than two labels and no table in common.
    """
    labelled: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    tables: defaultdict[str, list[DocumentTable]] = defaultdict(list)
    for document in documents:
        found: dict[str, tuple[str, str]] = {}
        for label, value in _labelled(document):
            found.setdefault(_name(label), (label, value))
        for name, one in found.items():
            labelled[name].append(one)
        listed = [one for one in document_tables("", document) if len(one.heads) >= LIST_COLUMNS and all(one.heads)]
        for heads, table in {" ".join(map(_name, one.heads)): one for one in listed}.items():
            tables[heads].append(table)
    least = max(min(2, len(documents)), USUAL * len(documents))
    locale = next(filter(None, (passage_of(one).locale for one in documents)), Locale())
    properties = {
        name: _field(own[0][0], [value for _, value in own], locale)
        for name, own in labelled.items()
        if name and len(own) >= least
    }
    properties = dict([*properties.items()][:MOST_FIELDS])
    if len(alike := max(tables.values(), key=len, default=[])) >= least:
        properties[LIST] = _list(alike, locale)
    if len(properties) < 2 and LIST not in properties:
        properties = {}
    return {"title": "document", "type": "object", "properties": properties, "required": [*properties]}


def _name(label: str) -> str:
    """Returns the name of the field of a label; spellings with other marks, or in capitals, are one field."""
    name = re.sub(r"\W+", "_", label.lower()).strip("_")
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME].rpartition("_")[0]


def _labelled(document: Document) -> Iterator[tuple[str, str]]:
    """Yields the labels of a document with the values beside them, but those of a mail's headers, which are facts."""
    text = document.text
    for part in reversed([one for one in document.parts if one.kind == "headers"]):
        text = text[: part.start] + text[part.end :]
    for line in text.splitlines():
        cells = [one.strip() for one in _CELLS.split(line) if one.strip()]
        # Without a colon a label stands alone before its value.
        if len(cells) == 2 and cells[0][0].isalpha() and ":" not in cells[0]:
            cells = [f"{cells[0]}:", cells[1]]
        while cells:
            match = _LABEL.fullmatch(cells.pop(0))
            if match is not None and len(match["label"].split()) <= LABEL_WORDS and (match["value"] or cells):
                yield match["label"], match["value"] or cells.pop(0)


def _list(tables: Sequence[DocumentTable], locale: Locale) -> dict[str, Any]:
    """Returns the schema of the rows of tables with the same heads."""
    heads, rows = tables[0].heads, [row for table in tables for _, row in table.rows]
    columns = {_name(head): _field(head, [row[at] for row in rows], locale) for at, head in enumerate(heads)}
    item = {"type": "object", "properties": columns, "required": [*columns]}
    return {"description": f"The rows of the table with {', '.join(heads)}.", "type": "array", "items": item}


def _field(label: str, values: Sequence[str], locale: Locale) -> dict[str, Any]:
    """Returns the schema of a field whose values are printed so: of the narrowest type that all of them have."""
    texts = [one for one in values if any(map(str.isalnum, one))]
    about = {"title": label, "description": label}
    truths = {BOOLEANS.get(one.lower()) if one.isalpha() else None for one in texts}
    if truths and None not in truths:
        # The reader takes most answers for true: of 17 it got 4 wrong, and of the two printed words none.
        return about | ({"enum": [*dict.fromkeys(texts), None]} if len(truths) > 1 else {"type": ["boolean", "null"]})
    if texts and all(column_days(one, locale) for one in texts):
        return about | {"type": ["string", "null"], "format": "date"}
    # A unit such as mg/m³ is none that amounts have.
    numbers = column_numbers([_MEASURED.sub(r"\1", one) for one in texts], locale) if texts else None
    lengths = {len(one) * one.isdecimal() for one in texts}
    if numbers is None or (len(texts) > 1 and len(lengths) == 1 and max(lengths) >= CODE_DIGITS):
        return about | {"type": ["string", "null"]}
    places = {-int(number.as_tuple().exponent) for number in numbers}
    if places == {0}:
        return about | {"type": ["integer", "null"]}
    # Two places in each value are those of money; a length may have one more tomorrow.
    return about | {"type": ["number", "null"]} | ({"x-cinnabar-decimals": 2} if places == {2} else {})
