"""A model without weights: it reads `name=value` as a value, `- ` as a row, and `* ` as a row within a row.

It sees its passage and nothing else, so its answer for a chunk is right for that chunk alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import torch

from cinnabar.engine.model import Candidate, Canvas, Row, Scores, SlotInstance
from cinnabar.engine.request import Passage
from cinnabar.engine.work_time import check_time
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.schemas.automata.strings import scalar_text
from cinnabar.schemas.form.form import Form

_ROW = re.compile(r"^( *)([-*]) ", re.MULTILINE)


class ReadingModel:
    """A model that takes blanks for the ends of tokens, and fails on a passage with the word BOOM."""

    def __init__(self, context_tokens: int = 1000) -> None:
        self.context_tokens = context_tokens
        self.fingerprint = "reading"
        self.calibration = None
        self.device = torch.device("cpu")
        #: A text whose presence makes the model unsure.
        self.doubted = "\0"
        self.passages = 0
        self.longest = 0

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def windows(self, _: Passage) -> list[tuple[int, int]]:
        return []

    def prepare(self, form: Form) -> None:
        pass

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        if any("BOOM" in passage.text for passage in passages):
            raise ValueError("the model met BOOM")
        self.passages += len(passages)
        self.longest = max([self.longest, *(self.count_tokens(passage.text) for passage in passages)])
        return [passage.text for passage in passages]

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        return [_rows(form, text) for form, text in zip(forms, memories, strict=True)]

    def score(
        self, _forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        found = [_value(one, rows[one.request], memories[one.request]) for one in canvas.instances]
        sure = [0.5 if self.doubted in memories[one.request] else 9.0 for one in canvas.instances]
        there = torch.tensor([s if value else -s for s, value in zip(sure, found, strict=True)])
        return Scores(
            candidates=[[value] if value else [] for value in found],
            candidate_logits=torch.where(there > 0, there, float("-inf")).unsqueeze(1),
            absent_logit=-there,
            refused_logit=torch.full((len(found),), float("-inf")),
        )


def _rows(form: Form, text: str) -> list[Row]:
    by_depth = {array.path.count("*"): array.index for array in form.arrays}
    rows: list[Row] = []
    outer = -1
    for match in _ROW.finditer(text):
        depth = 0 if match[2] == "-" else 1
        if depth not in by_depth or (depth and outer < 0):
            continue
        if not depth:
            outer = len(rows)
        rows.append(Row(by_depth[depth], outer if depth else -1, match.start(2), 0.9))
    return rows


def _value(instance: SlotInstance, rows: Sequence[Row], text: str) -> Candidate | None:
    name = instance.slot.path.rsplit("/", 1)[1]
    start, end = 0, len(text)
    if instance.row >= 0:
        row = rows[instance.row]
        start = row.anchor
        later = (r.anchor for r in rows if r.anchor > start and (r.array == row.array or r.parent < 0))
        end = min(later, default=end)
    match = re.compile(rf"\b{re.escape(name)}=(\S+)").search(text, start, end)
    if match is None:
        return None
    number = instance.slot.kind in ("number", "integer")
    spelled = scalar_text(Decimal(match[1]) if number else match[1]).encode()
    return Candidate(spelled, (match.span(1),)) if instance.slot.accepts(spelled) else None


#: What a run takes for its model: a new one of these each time.
READING = ModelSource("reading", ReadingModel)


class EndlessModel(ReadingModel):
    """A model that never ends with a passage that holds the word SLOW."""

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        while any("SLOW" in passage.text for passage in passages):
            check_time()
        return super().encode(passages)
