"""Drawn documents with long lists, and the report that pairs their rows."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from bench.list_layouts.layouts import PARTS, Layout
from bench.list_layouts.subjects import Subject, schema_of
from bench.list_layouts.writing import drawn, write_part
from bench.list_report import Rows, counted

from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.learning.evaluation import broken_truths
from cinnabar.extraction.run.batch.labelled_sets import find_sets
from cinnabar.schemas import compile_schema, load_schema

LAYOUTS = [pytest.param(part, one, id=one.name) for part, layouts in PARTS.items() for one in layouts]


def headers(part: str) -> set[str]:
    """All that a part prints above columns and before facts."""
    subjects = [layout.subject for layout in PARTS[part]]
    fields = [one for own in subjects for one in (*own.columns, *own.root, *own.page, *own.group)]
    printed = {text.casefold() for one in fields for text in (*one.headers, one.band) if text}
    return printed | {title.casefold() for own in subjects for title in own.titles.split("|")}


def printed_texts(truth: Any, schema: dict[str, Any]) -> set[str]:
    """The values of a truth that are printed as they are: texts that are no date and no choice."""
    if isinstance(truth, dict):
        return set().union(*(printed_texts(part, schema["properties"][name]) for name, part in truth.items()))
    if isinstance(truth, list):
        return set().union(*(printed_texts(item, schema["items"]) for item in truth))
    return {truth} if isinstance(truth, str) and not schema.keys() & {"enum", "format"} else set()


@pytest.mark.parametrize(("part", "layout"), LAYOUTS)
def test_a_layout_prints_the_texts_of_its_truth(part: str, layout: Layout) -> None:
    pdf, truth = drawn(part, layout, (12, 12), "1")
    schema = schema_of(layout.subject, layout.nested)
    compile_schema(load_schema(schema).schema)
    assert broken_truths([{"file": "a.pdf", "truth": truth}], Validator(load_schema(schema))) == []
    assert counted(truth, truth) == Rows(12, 12, 12, 12, 1, 1)
    text = parse(pdf, "a.pdf").text
    texts = printed_texts(truth, schema)
    assert texts
    assert [value for value in texts if not all(word in text for word in value.split())] == []


def test_the_parts_share_no_header_no_subject_and_no_combination() -> None:
    assert not headers("tuning") & headers("held_back")
    subjects: list[list[Subject]] = [[layout.subject for layout in layouts] for layouts in PARTS.values()]
    assert not any(one is other for one, other in product(*subjects))
    ways = [
        (own.rules, own.font, own.gap, own.head_lines, own.band, own.repeat, own.group, own.continued, own.carried)
        for layouts in PARTS.values()
        for own in layouts
    ]
    assert len(set(ways)) == len(ways) == 24


def test_headers_and_names_are_unlike() -> None:
    fields = [one for layouts in PARTS.values() for own in layouts for one in own.subject.columns if one.name]
    assert [one.name for one in fields if one.name.replace("_", " ") in map(str.casefold, one.headers)] == []


def test_sets_are_written_with_scans_of_the_same_truth(tmp_path: Path) -> None:
    write_part(tmp_path, "tuning", 1, (12, 12), 1, scans=True)
    plain, scanned = find_sets(tmp_path)
    assert plain.truths == scanned.truths and plain.schema == scanned.schema
    file = plain.truths[0]["file"]
    again, _ = drawn("tuning", PARTS["tuning"][0], (12, 12), f"tuning {plain.name} 1 0")
    assert (plain.folder / file).read_bytes() == again
    assert b"/Font" not in (scanned.folder / file).read_bytes()


def listed(count: int) -> list[dict[str, Any]]:
    """Rows of which many have the same values."""
    return [{"code": f"A-{at:04}", "count": at % 7, "price": at / 4, "town": "Bonn"} for at in range(count)]


def test_rows_out_of_order_are_found() -> None:
    rows = listed(600)
    mixed = json.loads(json.dumps(rows))
    random.Random(1).shuffle(mixed)
    for row in mixed[::3]:
        row["price"] = None
    assert counted({"rows": rows}, {"rows": mixed}) == Rows(600, 600, 600, 400, 1, 0)


def test_a_missing_row_spoils_no_other() -> None:
    rows = listed(600)
    assert counted({"rows": rows}, {"rows": rows[:5] + rows[6:]}) == Rows(600, 599, 599, 599, 1, 0)
    wrong = [row | {"count": 99} for row in rows]
    assert counted({"rows": rows}, {"rows": wrong[:5] + wrong[6:]}) == Rows(600, 599, 599, 0, 1, 0)


def test_a_list_is_whole_without_further_rows_only() -> None:
    rows = listed(3)
    assert counted({"rows": rows}, {"rows": rows}).whole == 1
    assert counted({"rows": rows}, {"rows": [*rows, rows[0]]}) == Rows(3, 4, 3, 3, 1, 0)
    assert counted({"rows": rows}, None) == Rows(3, 0, 0, 0, 1, 0)


def test_half_of_the_values_make_no_row_found() -> None:
    row = listed(1)[0]
    assert counted({"rows": [row]}, {"rows": [row | {"code": "B", "price": 9.5}]}).found == 0
    assert counted({"rows": [row]}, {"rows": [row | {"code": "B"}]}).found == 1


def test_a_nested_row_needs_the_values_of_its_group() -> None:
    groups = [{"line": "R1", "rows": listed(2)}, {"line": "R2", "rows": listed(2)}]
    moved = [{"line": "R1", "rows": [*listed(2), listed(2)[0]]}, {"line": "R2", "rows": listed(2)[1:]}]
    assert counted({"groups": groups}, {"groups": groups}) == Rows(4, 4, 4, 4, 1, 1)
    assert counted({"groups": groups}, {"groups": moved}) == Rows(4, 4, 4, 3, 1, 0)
