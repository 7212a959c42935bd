"""The state of one document under one schema, as the review page shows it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from cinnabar.extraction.filling.table_columns import matched_columns
from cinnabar.extraction.plan.outcomes import REASONS, Reason
from cinnabar.extraction.review.forms import title_at
from cinnabar.extraction.store.records import LeafRow, Record
from cinnabar.wording import with_noun

#: A document is doubtful in a review if a place of its record is less sure than this.
DOUBTFUL_BELOW = 0.8


def _leaf_json(leaf: LeafRow) -> dict[str, Any]:
    """Returns a leaf as JSON; its value stays a JSON text, so that no digit is lost."""
    evidence = leaf.evidence
    return {
        "pointer": leaf.pointer,
        "value": leaf.value,
        "confidence": leaf.confidence,
        "origin": leaf.origin,
        "missing": leaf.missing,
        "flags": list(leaf.flags),
        "spans": [[span.start, span.end] for span in evidence.spans] if evidence else [],
        "text": evidence.text if evidence else "",
        "place": evidence.place if evidence else "",
    }


def leaves_json(record: Record) -> list[dict[str, Any]]:
    """Returns the leaves and lists of a record as JSON."""
    matched = matched_columns((leaf.pointer, leaf.evidence.place) for leaf in record.leaves if leaf.evidence)
    lists = (
        _leaf_json(LeafRow(pointer, None, sure, "list"))  # type: ignore[arg-type]
        | ({"length": asdict(record.lengths[pointer])} if pointer in record.lengths else {})
        | ({"columns": matched[pointer]} if pointer in matched else {})
        for pointer, sure in record.lists.items()
    )
    return [*map(_leaf_json, record.leaves), *lists]


def held_leaves_json(record: Record, missing: Collection[str]) -> list[dict[str, Any]]:
    """Returns the leaves of a record in quarantine as JSON.

    Nothing is stored of how sure its values are, so their confidence is None until a person says them. Those at the
    pointers `missing` were not found.
    """
    return [
        leaf
        if leaf["origin"] == "human"
        else {**leaf, "confidence": None, "missing": True, "flags": ["guessed"]}
        if leaf["pointer"] in missing
        else {**leaf, "confidence": None}
        for leaf in leaves_json(record)
    ]


def why_stopped(state: Mapping[str, Any]) -> list[str]:
    """Returns the reasons why a state of `Review.state` needs a look, the gravest first; none after a review."""
    if state["marks"]["reviewed"]:
        return []
    found, form = [], state["form"]
    if state["outcome"] == "quarantined":
        # Records of older versions may have codes that are gone.
        reason = REASONS.get(state["code"], Reason(state["code"].replace("_", " ") + "."))
        found.append(f"Held back: {reason.meaning}")
    if failed := state["failed"]:
        found.append(f"It fails {with_noun(len(failed), 'check')}: {', '.join(failed[:3])}{', …' * (len(failed) > 3)}.")
    for leaf in state["leaves"]:
        if (length := leaf.get("length")) and length["disagrees"]:
            found.append(f"The list {title_at(form, leaf['pointer'])} looks incomplete: {length['sentence']}")
        if length and length.get("other"):
            found.append(f"Two readings of the list {title_at(form, leaf['pointer'])} have other numbers of rows.")
    doubted = [
        leaf for leaf in state["leaves"] if leaf["confidence"] is not None and leaf["confidence"] < DOUBTFUL_BELOW
    ]
    if doubted:
        least = min(doubted, key=lambda leaf: leaf["confidence"])
        more = f" ({with_noun(len(doubted), 'place')} below {DOUBTFUL_BELOW:.0%})" if len(doubted) > 1 else ""
        sure = f"{int(least['confidence'] * 100)}%{more}"
        found.append(f"The least sure is {title_at(form, least['pointer'])} with {sure}.")
    return found
