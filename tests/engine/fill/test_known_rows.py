"""Known rows and values stand from the start: the engine does not look for them or ask about them."""

from __future__ import annotations

import json
from typing import Any

import torch
from tests.support.random_model import request
from tests.support.reading_model import ReadingModel
from tests.support.tiny_network import tiny_model

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.model import Canvas, Row, Scores
from cinnabar.engine.request import Filled, Passage, Request
from cinnabar.schemas import compile_schema

TEXT = "name=Ada\n- what=nut price=2\n- what=bolt price=3\n"
#: The offset of each `request` passage in its document.
OFFSET = 7
LINE = {"type": "object", "properties": {"what": {"type": "string"}, "price": {"type": ["number", "null"]}}}
LINES = {"type": "array", "items": LINE}
FORM = compile_schema(
    {"type": "object", "properties": {"name": {"type": "string"}, "lines": LINES, "more": LINES}}
).form


class Watched(ReadingModel):
    """Note the arrays that were searched for rows, and the number of slots that were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = self.asked = 0

    def find_rows(self, forms: Any, memories: Any) -> list[list[Row]]:
        self.looked += len(forms)
        return super().find_rows(forms, memories)

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
        self.asked += canvas.known.count(False)
        return super().score(forms, memories, rows, canvas)


def fill(known: dict[str, str | None], counted: set[int], *rows: tuple[int, int]) -> tuple[Any, Watched]:
    plain = request(FORM, text=TEXT)
    model = Watched()
    asked = Request("a", FORM, plain.passage, known, frozenset(counted), rows)
    (found,) = Engine(model).fill([asked])
    assert isinstance(found, Filled)
    return json.loads(found.record), model


def test_rows_that_are_known_are_not_looked_for() -> None:
    begins = OFFSET + TEXT.index("- what=bolt")
    known: dict[str, str | None] = {"/name": '"Eve"', "/lines/0/what": '"screw"'}
    record, model = fill(known, {0, 1}, (0, begins))
    # The row is at the place that was named: it gets the price printed there.
    assert record == {"name": "Eve", "lines": [{"what": "screw", "price": 3}], "more": []}
    assert (model.looked, model.asked) == (0, 1)


def test_other_arrays_are_still_searched_for_rows() -> None:
    record, model = fill({}, {0})
    assert [line["what"] for line in record["more"]] == ["nut", "bolt"] and record["lines"] == []
    assert model.looked == 1


def test_the_default_model_gives_no_answers_for_frozen_slots() -> None:
    model, said = tiny_model(1), list[Scores]()

    class Heard:
        def __getattr__(self, name: str) -> Any:
            return getattr(model, name)

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = model.score(forms, memories, rows, canvas)
            for at, known in enumerate(canvas.known):
                assert not (known and scores.candidates[at])
            said.append(scores)
            return scores

    passage: Passage = request(FORM, text=TEXT).passage
    known: dict[str, str | None] = {"/lines/0/what": '"nut"', "/lines/0/price": "2"}
    asked = Request("a", FORM, passage, known, frozenset({0, 1}), ((0, OFFSET + TEXT.index("- what=nut")),))
    (found,) = Engine(Heard()).fill([asked])  # type: ignore[arg-type]
    assert isinstance(found, Filled) and json.loads(found.record)["lines"] == [{"what": "nut", "price": 2}]
    assert said and all(bool(scores.absent_logit.isfinite().all()) for scores in said)
    assert torch.is_tensor(said[0].absent_logit)
