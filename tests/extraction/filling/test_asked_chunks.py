"""Of a long document a second reader reads the chunks with something doubtful, and is asked what was found there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support.reading_model import ReadingModel
from tests.support.remote_forms import form_of

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Filled, Leaf, Request, Result
from cinnabar.extraction.documents.chunking import Chunk
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.asked_chunks import asked_chunks
from cinnabar.extraction.filling.stages import MergedRecord
from cinnabar.extraction.filling.tiers import Tier, escalate

TEXT = {"type": ["string", "null"]}
ROWS = {"type": "array", "items": {"type": "object", "properties": {"what": TEXT}, "required": ["what"]}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "city": TEXT,
        "seller": {"type": "object", "properties": {"day": TEXT}, "required": ["day"]},
        "rows": ROWS,
        "none": TEXT,
    },
    "required": ["name", "city", "seller", "rows", "none"],
}
CHUNKS = [Chunk(0, 100), Chunk(80, 200), Chunk(180, 300)]
RECORD = {"name": "Ada", "city": "Bonn", "seller": {"day": "Friday"}, "rows": [{"what": "x"}], "none": None}


def read(places: dict[str, int], doubts: dict[str, float], rows: dict[str, int] | None = None) -> Filled:
    """The record with values found at these characters."""
    form = form_of(SCHEMA)
    slots = {slot.path: slot.index for slot in form.slots}
    leaves = {}
    for at in ("/name", "/city", "/seller/day", "/rows/0/what", "/none"):
        spans = ((places[at], places[at] + 1),) if at in places else ()
        text = None if at == "/none" else '"Friday"'
        leaves[at] = Leaf(text, doubts.get(at, 0.99), spans, slot=slots[at.replace("/0/", "/*/")])
    return Filled("d", RECORD, leaves, {at: (begin, 0.9) for at, begin in (rows or {}).items()}, 1, 0)


def test_each_place_is_asked_where_it_was_found_alone_and_chunks_with_nothing_doubtful_are_not_read() -> None:
    found = read({"/name": 3, "/city": 250, "/seller/day": 4}, {}, {"/rows/0": 120, "/rows/1": 290})
    form = form_of(SCHEMA)
    assert asked_chunks(form, found, CHUNKS, ["/name", "/rows/1", "/none"]) == [
        (CHUNKS[0], {"/city", "/rows", "/none"}),
        (CHUNKS[1], {"/name", "/city", "/seller/day", "/none"}),
        (CHUNKS[2], {"/name", "/seller/day", "/none"}),
    ]
    assert asked_chunks(form, found, CHUNKS, ["/city"]) == [(CHUNKS[2], {"/name", "/seller/day", "/none"})]
    assert asked_chunks(form, found, CHUNKS, ["/none"]) == []


@pytest.mark.parametrize(("begin", "chunk"), [(85, 0), (95, 1)])
def test_of_chunks_that_overlap_the_one_that_shows_more_around_a_value_is_asked(begin: int, chunk: int) -> None:
    asked = asked_chunks(form_of(SCHEMA), read({"/name": begin}, {}), CHUNKS, ["/name"])
    assert [one for one, _ in asked] == [CHUNKS[chunk]]


def test_a_form_that_counts_members_is_asked_as_a_whole() -> None:
    form = form_of({**SCHEMA, "required": [], "minProperties": 2})
    assert asked_chunks(form, read({"/name": 3}, {}), CHUNKS, ["/name"]) == [(one, frozenset()) for one in CHUNKS]


class Noted(Engine):
    """Keeps what it is asked."""

    asked: Sequence[Request] = ()

    def fill(self, requests: Sequence[Request], *others: Any) -> list[Result]:
        """See `Engine.fill`."""
        self.asked = requests
        return super().fill(requests, *others)


def test_a_long_document_is_read_again_where_the_reader_doubts_and_nothing_else_of_it_changes() -> None:
    other = "word " * 300
    text = f"name=Ada\nseller\n{other}\ncity=Ulm\n{other}"
    document = parse(text.encode(), "page.txt")
    found = read({"/name": text.index("Ada"), "/city": text.index("Ulm")}, {"/city": 0.2})
    engine = Noted(ReadingModel())
    tier = Tier(lambda: engine, 1.0, prefer_confident=True)
    (result,), counts = escalate([MergedRecord(document, found)], form_of(SCHEMA), tier, context=128)
    assert isinstance(result, Filled) and json.loads(result.record) == RECORD | {"city": "Ulm"}
    assert result.leaves["/name"] == found.leaves["/name"] and counts.documents == 1
    (asked,) = engine.asked
    assert "city=Ulm" in asked.passage.text and asked.passage.draft is found
    assert asked.elsewhere == {"/name", "/seller/day", "/rows", "/none"}
    # What the reader found nowhere stays as it is, and a kind that it does not know is read as a whole.
    for doubts, many in (({"/none": 0.2}, 0), (dict.fromkeys(found.leaves, 0.2), 5)):
        engine.asked = ()
        (_,), counts = escalate([MergedRecord(document, read({}, doubts))], form_of(SCHEMA), tier, context=128)
        assert len(engine.asked) >= many and counts.documents == (many > 0)
        assert not any(request.elsewhere for request in engine.asked)


def test_a_list_stays_of_which_the_parts_that_were_read_again_show_fewer_rows() -> None:
    other = "word " * 300
    text = f"name=Ada\n{other}\ncity=Ulm\n- what=z\n{other}"
    found = read({"/city": text.index("Ulm")}, {"/city": 0.2}, {"/rows/0": 2, "/rows/1": text.index("- what")})
    leaf = found.leaves["/rows/0/what"]
    rows = {"/rows/0/what": replace(leaf, text='"x"'), "/rows/1/what": replace(leaf, text='"y"')}
    record = RECORD | {"rows": [{"what": "x"}, {"what": "y"}]}
    found = replace(found, value=record, leaves={**found.leaves, **rows}, lists={"/rows": 0.2})
    tier = Tier(lambda: Engine(ReadingModel()), 1.0, prefer_confident=True)
    (result,), _ = escalate([MergedRecord(parse(text.encode(), "page.txt"), found)], form_of(SCHEMA), tier, context=128)
    assert isinstance(result, Filled) and json.loads(result.record) == record | {"city": "Ulm"}


def test_a_list_stays_though_all_was_asked_in_the_one_chunk_that_is_read_again() -> None:
    other = "word " * 300
    text = f"- what=v\n{other}\nname=Ada\ncity=Ulm\nseller\n- what=z\n{other}"
    at = {"/name": text.index("Ada"), "/city": text.index("Ulm"), "/seller/day": text.index("seller")}
    found = read({**at, "/none": text.index("Ada")}, {"/city": 0.2}, {"/rows/0": 2, "/rows/1": text.index("- what=z")})
    leaf = found.leaves["/rows/0/what"]
    rows = {f"/rows/{row}/what": replace(leaf, text=one, confidence=0.85) for row, one in enumerate(('"x"', '"y"'))}
    record = RECORD | {"rows": [{"what": "x"}, {"what": "y"}]}
    found = replace(found, value=record, leaves={**found.leaves, **rows})
    engine = Noted(ReadingModel())
    tier = Tier(lambda: engine, 1.0, prefer_confident=True)
    (result,), _ = escalate([MergedRecord(parse(text.encode(), "page.txt"), found)], form_of(SCHEMA), tier, context=128)
    assert [one.elsewhere for one in engine.asked] == [frozenset()]
    assert isinstance(result, Filled) and json.loads(result.record)["rows"] == record["rows"]
