"""Accepting drafts: faults in a corrected draft are named with file, line and place, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.learning.truth import accept, line_of
from cinnabar.extraction.reading.records.validation import pointer
from cinnabar.schemas.errors import UsageError

SCHEMA = {
    "type": "object",
    "required": ["total"],
    "additionalProperties": False,
    "properties": {
        "total": {"type": ["number", "null"]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}},
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "docs").mkdir()
    (tmp_path / "drafts").mkdir()
    for i in range(3):
        (tmp_path / "docs" / f"{i}.txt").write_text("some text")
        write(tmp_path, i, {"total": i + 0.5})
    return tmp_path


def write(folder: Path, number: int, truth: Any, **other: Any) -> Path:
    path = folder / "drafts" / f"00{number + 1}-{number}.txt.json"
    draft = {"file": f"docs/{number}.txt", "checked": True, "truth": truth, "fields": []} | other
    path.write_text(json.dumps(draft, indent=1))
    return path


def truths(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]


def told(folder: Path) -> list[str]:
    """The faults of the set; nothing may be written beside them."""
    found = accept(folder)
    assert not (folder / "truth.jsonl").exists()
    return [str(problem) for problem in found.problems]


def test_checked_drafts_become_lines_in_their_order(folder: Path) -> None:
    assert accept(folder).lines == 3
    assert truths(folder) == [{"file": f"docs/{i}.txt", "truth": {"total": i + 0.5}} for i in range(3)]


def test_a_value_that_the_schema_refuses_is_named_with_its_line(folder: Path) -> None:
    write(folder, 1, {"total": 3, "lines": [{"price": 1}, {"price": "1,50"}]})
    (one,) = told(folder)
    assert one.startswith("drafts/002-1.txt.json:11: /lines/1/price: ")
    assert '"1,50" is not of type "number"' in one
    assert (folder / "drafts" / "002-1.txt.json").read_text().splitlines()[10].strip() == '"price": "1,50"'


def test_a_missing_property_is_named_at_its_object(folder: Path) -> None:
    write(folder, 2, {})
    assert told(folder) == ['drafts/003-2.txt.json:4: "total" is a required property']


def test_broken_json_is_named_with_its_line(folder: Path) -> None:
    path = write(folder, 0, {"total": 3})
    path.write_text(path.read_text().replace('"total": 3', '"total": 3,5'))
    (one,) = told(folder)
    assert one.startswith("drafts/001-0.txt.json:5: not JSON: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"checked": "yes"}, 'expected "checked": true or false'),
        ({"file": "docs/none.txt"}, "there is no file docs/none.txt in the set"),
        ({"file": "docs/0.txt"}, "drafts/001-0.txt.json is a draft of docs/0.txt too"),
        ({"file": 3}, "expected an object with file, checked and truth"),
    ],
)
def test_other_faults_of_a_draft_are_named(folder: Path, change: dict[str, Any], message: str) -> None:
    write(folder, 1, {"total": 1}, **change)
    assert [one.partition(": ")[2] for one in told(folder)] == [message]


def test_a_repeated_key_is_named(folder: Path) -> None:
    path = write(folder, 0, {"total": 3})
    path.write_text(path.read_text().replace('"total": 3', '"total": 3, "total": 4'))
    assert "the key 'total' twice" in told(folder)[0]


def test_unchecked_drafts_wait_and_may_be_wrong(folder: Path) -> None:
    write(folder, 0, {"total": "?"}, checked=False)
    done = accept(folder)
    assert (done.taken, done.waiting, done.problems) == (2, ("drafts/001-0.txt.json",), ())


def test_truths_of_other_documents_stay_and_withdrawn_ones_go(folder: Path) -> None:
    old = [{"file": "docs/other.txt", "truth": {"total": 9}, "also_accepted": {"total": [8]}}]
    old += [{"file": "docs/0.txt", "truth": {"total": 7}}, {"file": "docs/1.txt", "truth": {"total": 7}}]
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old))
    write(folder, 0, {"total": 1}, checked=False)
    assert accept(folder).lines == 3
    assert truths(folder) == [
        old[0],
        *({"file": f"docs/{i}.txt", "truth": {"total": i + 0.5}} for i in (1, 2)),
    ]


@pytest.mark.parametrize("line", ["5", '["a.txt"]', '{"truth": {}}', '{"file": 5, "truth": {}}'])
def test_a_line_of_the_truth_without_a_document_is_named(folder: Path, line: str) -> None:
    write(folder, 1, {"author": "Anna", "day": None})
    (folder / "truth.jsonl").write_text(line + "\n")
    with pytest.raises(UsageError, match=r"truth\.jsonl: expected an object with file and truth a line, got"):
        accept(folder)
    assert (folder / "truth.jsonl").read_text() == line + "\n"


def test_a_folder_without_drafts_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a set with schema\.json and drafts"):
        accept(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The places of a value in the order of its text."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(below for key, part in parts for below in places(part, (*path, key)))]


@pytest.mark.slow
@given(JSON)
def test_places_of_a_written_value_stand_on_lines_in_its_order(value: Any) -> None:
    text = json.dumps(value, indent=1)
    lines = [line_of(text, pointer(path)) for path in places(value)]
    assert lines == sorted(lines) and lines[0] == 1 and len(set(lines)) == len(lines)


def test_a_missing_place_is_found_at_its_nearest_parent() -> None:
    text = '{\n "a": [\n  1,\n  {"b": 2}\n ]\n}'
    assert [line_of(text, p) for p in ("", "/a", "/a/0", "/a/1/b", "/a/1/c", "/a/7", "/x")] == [
        1,
        2,
        3,
        4,
        4,
        2,
        1,
    ]
