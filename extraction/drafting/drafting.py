"""A proposal of a JSON Schema from a few documents of one kind: what several of them say in the same place.

The headers of mails are bound to their facts. Four things are found besides, in this order: tables (equal heads in
several documents), labels with their values, lists of bullets below a heading, and values of prose behind the same
words. No rule knows a language or a name. A label that comes several times in most documents, together with others,
makes a list of objects.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cinnabar.extraction.documents import Document
from cinnabar.extraction.drafting.bound_facts import bound_facts, lines_of_facts
from cinnabar.extraction.drafting.column_tables import FoundTable, tables_of
from cinnabar.extraction.drafting.labelled_values import LabelledValue, labelled_values
from cinnabar.extraction.drafting.naming import property_name, title_of
from cinnabar.extraction.drafting.page_lines import CellPage, cell_page, key_of, without_marks
from cinnabar.extraction.drafting.phrases import Phrase, common_phrases, phrases_of
from cinnabar.extraction.drafting.value_types import Value, nullable, text_type

#: The share of the documents in which a label, a table or words have to come, and at least two of several documents.
SHARE_OF_DOCUMENTS = 0.25
#: The same for a label without a colon, which may be two cells of any line, and for words before a value in prose.
SHARE_UNJOINED, SHARE_PROSE = 0.5, 0.35
#: The documents from which on a value that is the same in all of them belongs to the form, and is no field.
SAME_IN_ALL = 4
#: The mean number of times that a label comes in a document from which on it is one of a list.
TIMES_IN_LIST = 1.5
#: The share of both tables' heads that two variants of a table have in common.
SAME_TABLE = 0.6
#: The most properties of a proposal, those of the most documents first.
MOST_PROPERTIES = 40
#: The most characters of the first line of a document that is a heading.
LONGEST_TITLE = 160
_BULLETS = ("- ", "* ", "• ", "+ ")


@dataclass(slots=True)
class DraftField:
    """A field with its values in each document; `place` orders fields, as the mean share of the text before them."""

    label: str
    about: str
    values: list[list[str]]
    place: float
    columns: list[DraftField] = field(default_factory=list)
    many: bool = False

    def documents(self) -> int:
        """The number of documents that have a value."""
        parts = [self.values, *(column.values for column in self.columns)]
        return sum(any(part[number] for part in parts) for number in range(len(self.values)))


@dataclass(frozen=True, slots=True)
class SchemaDraft:
    """A proposed schema, and the texts of each document behind each of its fields by JSON pointer (`*` for an item)."""

    schema: dict[str, Any]
    values: Mapping[str, Sequence[Sequence[str]]]


def draft_schema(documents: Sequence[Document], name: str = "document") -> SchemaDraft:
    """The proposal from these documents; `name` is the title where they begin with no common line."""
    pages = [cell_page(document.text) for document in documents]
    least = 1 if len(pages) == 1 else max(2, math.ceil(SHARE_OF_DOCUMENTS * len(pages)))
    facts = bound_facts(documents)
    tables, in_tables = _tables(pages, least)
    if facts:
        printed = [lines_of_facts(document, page) for document, page in zip(documents, pages, strict=True)]
        in_tables = [lines | more for lines, more in zip(in_tables, printed, strict=True)]
    labelled = [labelled_values(page, taken) for page, taken in zip(pages, in_tables, strict=True)]
    fields = [*tables, *_labels(pages, labelled, least), *_bullets(pages, least)]
    told = [{one.line for one in found} | lines for found, lines in zip(labelled, in_tables, strict=True)]
    named = _title(pages, told)
    fields += [named] if named else []
    taken = [_intervals(page, found, lines) for page, found, lines in zip(pages, labelled, in_tables, strict=True)]
    fields += _prose(pages, taken, least)
    best = sorted(fields, key=lambda one: -one.documents())[:MOST_PROPERTIES]
    return _schema(sorted(best, key=lambda one: one.place), pages, name, facts)


def _tables(pages: Sequence[CellPage], least: int) -> tuple[list[DraftField], list[frozenset[int]]]:
    """The tables of several documents as fields, and the lines of each document that they take."""
    groups: list[tuple[Counter[str], list[tuple[int, FoundTable]]]] = []
    for number, page in enumerate(pages):
        for table in tables_of(page):
            for keys, members in groups:
                common = len(keys.keys() & set(table.keys))
                if common >= SAME_TABLE * max(len(members[0][1].keys), len(table.keys)):
                    keys.update(table.keys)
                    members.append((number, table))
                    break
            else:
                groups.append((Counter(table.keys), [(number, table)]))
    fields, lines = [], [set[int]() for _ in pages]
    for keys, members in groups:
        documents = len({number for number, _ in members})
        # Two cells above two others are often no table.
        sure = sum(table.sure for _, table in members) * 2 > len(members)
        if documents < least or not (sure or (documents > 1 and len(keys) > 2)):
            continue
        for number, table in members:
            lines[number] |= set(range(table.first, table.until))
        fields.append(_table_field(keys, members, pages))
    return fields, [frozenset(found) for found in lines]


def _table_field(
    keys: Counter[str], members: Sequence[tuple[int, FoundTable]], pages: Sequence[CellPage]
) -> DraftField:
    heads: dict[str, Counter[str]] = defaultdict(Counter)
    cells: dict[str, list[list[str]]] = {key: [[] for _ in pages] for key in keys}
    for number, table in members:
        for at, key in enumerate(table.keys):
            heads[key][table.heads[at]] += 1
            cells[key][number] += [row[at] for row in table.rows if row[at]]
    headings = Counter(key_of(table.heading) for _, table in members if table.heading)
    heading = ""
    if headings and headings.most_common(1)[0][1] * 2 >= len(members):
        best = headings.most_common(1)[0][0]
        heading = next(table.heading for _, table in members if key_of(table.heading) == best)
    place = sum(_share(pages[number], table.first) for number, table in members) / len(members)
    columns = [
        DraftField(head, f'The column "{head}".', cells[key], 0.0)
        for key in keys
        for head in [heads[key].most_common(1)[0][0]]
    ]
    told = ", ".join(f'"{column.label}"' for column in columns[:6])
    about = f"One entry for each row of the table with the columns {told}."
    return DraftField(heading or "rows", about, [[] for _ in pages], place, columns, many=True)


def _labels(pages: Sequence[CellPage], labelled: Sequence[Sequence[LabelledValue]], least: int) -> list[DraftField]:
    by_key: dict[str, list[list[LabelledValue]]] = defaultdict(lambda: [[] for _ in pages])
    for number, found in enumerate(labelled):
        for one in found:
            by_key[one.key][number].append(one)
    single: list[DraftField] = []
    repeated: dict[str, list[list[LabelledValue]]] = {}
    for key, per_document in by_key.items():
        documents = sum(map(bool, per_document))
        every = [one for found in per_document for one in found]
        valued = [one for one in every if one.value]
        if documents < least or len(valued) * 2 < len(every) or not _is_said(per_document, len(pages)):
            continue
        if len(every) > TIMES_IN_LIST * documents:
            repeated[key] = per_document
        else:
            single.append(_label_field(per_document, pages))
    return [*single, *_lists(repeated, pages)]


def _is_said(per_document: Sequence[Sequence[LabelledValue]], pages: int) -> bool:
    """Whether it is a label: joined to its value, or cells of many documents with other values behind them."""
    every = [one for found in per_document for one in found]
    documents, different = sum(map(bool, per_document)), len({one.value for one in every})
    if sum(one.joined for one in every) * 2 >= len(every):
        return different > 1 or documents < SAME_IN_ALL
    return documents >= max(2, SHARE_UNJOINED * pages) and different > 1


def _label_field(per_document: Sequence[Sequence[LabelledValue]], pages: Sequence[CellPage]) -> DraftField:
    every = [(number, one) for number, found in enumerate(per_document) for one in found]
    label = Counter(one.label for _, one in every).most_common(1)[0][0]
    place = sum(_share(pages[number], one.line) for number, one in every) / len(every)
    values = [[one.value for one in found if one.value] for found in per_document]
    return DraftField(label, f'The value behind "{label}".', values, place)


def _lists(repeated: Mapping[str, list[list[LabelledValue]]], pages: Sequence[CellPage]) -> list[DraftField]:
    """Labels that come equally often in most documents as one list of objects, a label alone as a list of values."""
    groups: list[list[str]] = []
    for key, found in repeated.items():
        for group in groups:
            other = repeated[group[0]]
            both = [(len(a), len(b)) for a, b in zip(found, other, strict=True) if a or b]
            if sum(a == b for a, b in both) * 2 >= len(both):
                group.append(key)
                break
        else:
            groups.append([key])
    fields = []
    for group in groups:
        columns = [_label_field(repeated[key], pages) for key in group]
        if len(columns) == 1:
            columns[0].many = True
            fields.append(columns[0])
            continue
        told = ", ".join(f'"{column.label}"' for column in columns[:6])
        about = f"One entry for each block with the labels {told}."
        label = f"{columns[0].label} entries"
        fields.append(DraftField(label, about, [[] for _ in pages], columns[0].place, columns, many=True))
    return fields


def _bullets(pages: Sequence[CellPage], least: int) -> list[DraftField]:
    """Lists of bullets below the same line in several documents."""
    found: dict[str, list[list[str]]] = defaultdict(lambda: [[] for _ in pages])
    labels: dict[str, tuple[str, float]] = {}
    for number, page in enumerate(pages):
        above, key = "", ""
        for at, line in enumerate(page.lines):
            text = line.text.strip()
            if text.startswith(_BULLETS) and key:
                found[key][number].append(without_marks(text))
                labels.setdefault(key, (above, _share(page, at)))
            elif text:
                above = without_marks(text).rstrip(":")
                key = key_of(above) if len(above.split()) <= 6 else ""
    fields = []
    for key, values in found.items():
        documents = [value for value in values if value]
        if len(documents) >= least and sum(map(len, documents)) > TIMES_IN_LIST * len(documents):
            label, place = labels[key]
            fields.append(DraftField(label, f'The points below "{label}".', values, place, many=True))
    return fields


def _title(pages: Sequence[CellPage], taken: Sequence[set[int]]) -> DraftField | None:
    """The first line of each document, if most begin with a line of their own that is no label."""
    values: list[list[str]] = []
    for page, lines in zip(pages, taken, strict=True):
        first = next((number for number, line in enumerate(page.lines) if line.cells), None)
        text = "" if first is None or first in lines else without_marks(page.lines[first].text)
        values.append([text] if 0 < len(text) <= LONGEST_TITLE else [])
    said = [value[0] for value in values if value]
    if len(said) * 5 < len(pages) * 4 or len(set(said)) * 2 <= len(said):
        return None
    return DraftField("Heading", "The first line of the document.", values, -1.0)


def _prose(pages: Sequence[CellPage], taken: Sequence[list[tuple[int, int]]], least: int) -> list[DraftField]:
    found = [phrases_of(page, intervals) for page, intervals in zip(pages, taken, strict=True)]
    fields = []
    for words, values in common_phrases(found, max(least, math.ceil(SHARE_PROSE * len(pages)))):
        label = " ".join(words)
        every: list[tuple[int, Phrase]] = [(number, one) for number, page in enumerate(values) for one in page]
        if len(pages) > 1 and len({one.value for _, one in every}) == 1:
            continue
        place = sum(one.start / max(1, len(pages[number].text)) for number, one in every) / len(every)
        texts = [[one.value for one in page] for page in values]
        fields.append(DraftField(label, f'The value behind "{label}".', texts, place))
    return fields


def _intervals(page: CellPage, labelled: Sequence[LabelledValue], lines: frozenset[int]) -> list[tuple[int, int]]:
    """The characters of the lines that labels and tables take."""
    numbers = {one.line for one in labelled if one.joined} | lines
    return [(page.lines[at].start, page.lines[at].start + len(page.lines[at].text) + 1) for at in sorted(numbers)]


def _share(page: CellPage, line: int) -> float:
    return page.lines[line].start / max(1, len(page.text))


def _schema(
    fields: Sequence[DraftField], pages: Sequence[CellPage], name: str, facts: Mapping[str, dict[str, Any]]
) -> SchemaDraft:
    properties: dict[str, Any] = dict(facts)
    values: dict[str, Sequence[Sequence[str]]] = {}
    for one in fields:
        own = property_name(one.label, set(properties))
        if one.columns:
            items: dict[str, Any] = {}
            for column in one.columns:
                inner = property_name(column.label, set(items))
                items[inner] = _scalar(column, pages)
                values[f"/{own}/*/{inner}"] = column.values
            item = {"type": "object", "additionalProperties": False, "required": [*items], "properties": items}
            properties[own] = {"title": title_of(one.label), "description": one.about, "type": "array", "items": item}
        elif one.many:
            item = {key: part for key, part in _scalar(one, pages, null=False).items() if key != "title"}
            properties[own] = {"title": title_of(one.label), "description": one.about, "type": "array", "items": item}
            values[f"/{own}/*"] = one.values
        else:
            properties[own] = _scalar(one, pages)
            values[f"/{own}"] = one.values
    schema = {
        "title": property_name(name),
        "description": f"A document of the kind {name}.",
        "type": "object",
        "additionalProperties": False,
        "required": [*properties],
        "properties": properties,
    }
    return SchemaDraft(schema, values)


def _scalar(one: DraftField, pages: Sequence[CellPage], *, null: bool = True) -> dict[str, Any]:
    texts = [Value(text, page.locale) for found, page in zip(one.values, pages, strict=True) for text in found]
    schema = text_type(texts)
    more = f", {schema.pop('description')}" if "description" in schema else ""
    found = nullable(schema) if null else schema
    return {"title": title_of(one.label), "description": f"{one.about.rstrip('.')}{more}.", **found}
