"""Models whose scores a test decides, and requests for them."""

# ruff: noqa: ARG002 - the models and observers of these tests have the signatures that the engine calls.

from __future__ import annotations

from typing import Any

import torch
from tests.support.random_model import RandomModel, request
from tests.support.random_schemas import forms as random_forms

from cinnabar.engine.model import Candidate, Canvas, Scores
from cinnabar.engine.request import Filled, Request, Result
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form


def form_of(**properties: Any) -> Form:
    """A form with these properties; all are required except those with names that begin with `maybe`."""
    required = [name for name in properties if not name.startswith("maybe")]
    return compile_schema({"type": "object", "properties": properties, "required": required}).form


def many(count: int, seed: int = 0) -> list[Request]:
    return [request(c.form, f"r{k}") for k, c in enumerate(random_forms(seed, count))]


def filled(result: Result) -> Filled:
    assert isinstance(result, Filled), result
    return result


class Scripted(RandomModel):
    """A model that offers these candidates for every slot, with the logits of the step."""

    def __init__(self, texts: list[str], steps: list[list[float]], absent: float = -20.0) -> None:
        super().__init__()
        self.texts, self.script, self.absent, self.step = texts, steps, absent, 0

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
        size = len(canvas.instances)
        logits = self.script[min(self.step, len(self.script) - 1)]
        self.step += 1
        return Scores(
            candidates=[[Candidate(text.encode(), ((2, 5),)) for text in self.texts] for _ in range(size)],
            candidate_logits=torch.tensor([[*logits]] * size),
            absent_logit=torch.full((size,), self.absent),
            refused_logit=torch.full((size,), float("-inf")),
        )
