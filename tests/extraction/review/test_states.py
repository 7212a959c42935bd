"""A sentence tells why a document waits for a person."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.extraction.review.forms import form_of
from cinnabar.extraction.review.shown_state import why_stopped

CALM: dict[str, Any] = {"marks": {"reviewed": False}, "outcome": "written", "code": "", "failed": [], "leaves": []}
CALM |= {"form": form_of({"type": "object", "properties": {"sum": {"type": "number", "title": "Grand total"}}})}


def leaf(pointer: str, confidence: float | None, **more: Any) -> dict[str, Any]:
    return {"pointer": pointer, "confidence": confidence, **more}


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({}, []),
        (
            {"outcome": "quarantined", "code": "missing"},
            ["Held back: The document lacks a value that the schema demands."],
        ),
        ({"outcome": "quarantined", "code": "of_tomorrow"}, ["Held back: of tomorrow."]),
        ({"failed": ["sum", "dates"]}, ["It fails 2 checks: sum, dates."]),
        (
            {"leaves": [leaf("/total", 0.434), leaf("/day", 0.7)]},
            ["The least sure is /total with 43% (2 places below 80%)."],
        ),
        ({"leaves": [leaf("/sum", 0.434)]}, ["The least sure is Grand total with 43%."]),
        ({"leaves": [leaf("/total", 0.9), leaf("/day", None)]}, []),
        (
            {"leaves": [leaf("/lines", 1.0, length={"disagrees": True, "sentence": "it counts 9 rows, 8 found"})]},
            ["The list /lines looks incomplete: it counts 9 rows, 8 found"],
        ),
        ({"marks": {"reviewed": True}, "failed": ["sum"]}, []),
    ],
)  # fmt: skip
def test_the_reasons_stand_in_sentences(state: dict[str, Any], told: list[str]) -> None:
    assert why_stopped(CALM | state) == told
