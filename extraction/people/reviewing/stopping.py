"""Why a document waits for a person, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinnabar.extraction.people.reviewing.listing import DOUBTFUL
from cinnabar.extraction.run.report.report_page import MEANINGS
from cinnabar.schemas.wording import counted

# The places that a sentence names.
_NAMED = 3


def why_stopped(state: Mapping[str, Any]) -> list[str]:
    """Returns the reasons why a state of `Review.state` needs a look, the gravest first; none after a review."""
    if state["marks"]["reviewed"]:
        return []
    found = []
    if state["outcome"] == "quarantined":
        meaning = MEANINGS.get(state["code"], state["code"].replace("_", " ").capitalize() + ".")
        found.append(f"Held back: {meaning[:1].lower()}{meaning[1:]}")
    if state["failed"]:
        found.append(f"It fails {counted(len(state['failed']), 'check')}: {_some(state['failed'])}.")
    lengths = [leaf for leaf in state["leaves"] if leaf.get("length") and leaf["length"]["disagrees"]]
    found += [f"The list {leaf['pointer']} looks incomplete: {leaf['length']['sentence']}" for leaf in lengths[:_NAMED]]
    sure = [leaf for leaf in state["leaves"] if leaf["confidence"] is not None and leaf["confidence"] < DOUBTFUL]
    if sure:
        least = min(sure, key=lambda leaf: leaf["confidence"])
        more = f", and {counted(len(sure) - 1, 'other place')} below {DOUBTFUL:.0%}" if len(sure) > 1 else ""
        place, percent = least["pointer"] or "the record", int(least["confidence"] * 100)
        found.append(f"The least sure is {place} with {percent}%{more}.")
    return found


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
