"""The house report counts what it says that it counts."""

from __future__ import annotations

import ast

from bench.house_report import record_places


def test_places_that_parse_or_write_a_record_are_counted_by_name() -> None:
    expected = {
        "parse(filled.record)": (1, 0),
        "json.loads(one.record_json)": (1, 0),
        "parse(text)": (0, 0),
        "compiled.canonical(value)": (0, 1),
        "canonical(slot)": (0, 0),
        "Writer(layout, values)": (0, 1),
        "json_text(draft.value)": (0, 1),
        "json_text(parse(record))": (1, 1),
        "json_text(part)": (0, 0),
    }
    assert {text: record_places(ast.parse(text)) for text in expected} == expected
