"""Asks the language model of a folder for one document; what it finds is shown to a person and stored nowhere.

The state of one document under one schema, as the review page shows it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.models.language.gguf_folder import named_model
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.extraction.filling.planned_models import SMALLEST, largest_model
from cinnabar.extraction.filling.planning import matched_columns
from cinnabar.extraction.plan.outcomes import REASONS, Reason
from cinnabar.extraction.plan.thresholds import DOUBTFUL_BELOW
from cinnabar.extraction.review.steps import options_of
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.records import LeafRow, Record
from cinnabar.extraction.store.spelling import began_with
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.wording import with_noun

# Torch takes seconds to import; most reviews ask no model.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Job


class Asking:
    """The language model that the folder began with, or the largest fetched one. Threads may share it.

    It stays loaded after its first question, for the schema and the options of the last one.
    """

    def __init__(self, out: Path) -> None:
        self._out, self._lock = out, threading.Lock()
        self._model = ""
        self._kept: tuple[tuple[str, str, str], Job] | None = None

    def proposals(self, row: Mapping[str, Any], document: Document, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the model's name, its record as JSON text, and the leaves of what it found; takes seconds.

        `row` is the document's in the list, `arguments` are those of the run that read it. Raises UsageError if no
        model is fetched, or if it gives no record.
        """
        with self._lock:
            job = self._job(row["schema_name"], row["schema_fingerprint"], arguments)
            # Cold start: Torch takes a second.
            from cinnabar.extraction.filling.pipeline import OpenedInput, run_batch

            (outcome,) = run_batch([OpenedInput(row["path"], row["document"], document)], job).outcomes
        if outcome.record is None:
            raise UsageError(f"{self._model} gave no record: {outcome.code} {outcome.detail}".strip())
        leaves = [leaf for leaf in leaves_json(outcome.record) if not leaf["missing"]]
        return {"model": self._model, "record": outcome.record.text, "leaves": leaves}

    def _job(self, schema: str, fingerprint: str, arguments: Mapping[str, Any]) -> Job:
        key = schema, fingerprint, str(arguments)
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # before the next one takes its memory
            self._model = self._model or _fetched_model(self._out)
            source = source_of(self._out, schema, fingerprint)
            self._kept = key, Assignment(source, model_source(self._model), options_of(arguments)).with_examples().job()
        return self._kept[1]


def _fetched_model(out: Path) -> str:
    """Returns the name of the model to ask. Raises UsageError if none is fetched that is calibrated and has room."""
    began = began_with(out)
    name = began if began is not None and named_model(began) is not None else largest_model()
    if name is None:
        raise UsageError(
            "No fetched language model fits the free memory:"
            f" `cinnabar model fetch {SMALLEST}` brings the smallest one."
        )
    return name


def leaf_of(leaf: LeafRow, row_confidence: float | None) -> dict[str, Any]:
    """Returns a leaf as JSON; its value stays a JSON text, so that no digit is lost."""
    evidence = leaf.evidence
    return {
        "pointer": leaf.pointer,
        "value": leaf.value,
        "confidence": leaf.confidence,
        "row": row_confidence,
        "origin": leaf.origin,
        "missing": leaf.missing,
        "flags": list(leaf.flags),
        "page": leaf.page,
        "spans": [[span.start, span.end] for span in evidence.spans] if evidence else [],
        "text": evidence.text if evidence else "",
        "place": evidence.place if evidence else "",
    }


def leaves_json(record: Record) -> list[dict[str, Any]]:
    """Returns the leaves and lists of a record as JSON."""
    matched = matched_columns((leaf.pointer, leaf.evidence.place) for leaf in record.leaves if leaf.evidence)
    lists = (
        leaf_of(LeafRow(pointer, None, sure, "list"), None)  # type: ignore[arg-type]
        | ({"length": asdict(record.lengths[pointer])} if pointer in record.lengths else {})
        | ({"columns": matched[pointer]} if pointer in matched else {})
        for pointer, sure in record.lists.items()
    )
    leaves: Iterable[dict[str, Any]] = (leaf_of(leaf, record.row_confidence(leaf.pointer)) for leaf in record.leaves)
    return [*leaves, *lists]


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
    found = []
    if state["outcome"] == "quarantined":
        # Records of older versions may have codes that are gone.
        reason = REASONS.get(state["code"], Reason(state["code"].replace("_", " ") + "."))
        found.append(f"Held back: {reason.meaning}")
    if failed := state["failed"]:
        found.append(f"It fails {with_noun(len(failed), 'check')}: {', '.join(failed[:3])}{', …' * (len(failed) > 3)}.")
    for leaf in state["leaves"]:
        if (length := leaf.get("length")) and length["disagrees"]:
            found.append(f"The list {leaf['pointer']} looks incomplete: {length['sentence']}")
    doubted = [
        leaf for leaf in state["leaves"] if leaf["confidence"] is not None and leaf["confidence"] < DOUBTFUL_BELOW
    ]
    if doubted:
        least = min(doubted, key=lambda leaf: leaf["confidence"])
        more = f" ({with_noun(len(doubted), 'place')} below {DOUBTFUL_BELOW:.0%})" if len(doubted) > 1 else ""
        found.append(f"The least sure is {least['pointer'] or '/'} with {int(least['confidence'] * 100)}%{more}.")
    return found
