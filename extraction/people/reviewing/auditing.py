"""The second reader's queue: drawn documents, shown without a trace of what was sure or corrected, judged as a whole.

A verdict is a correction with the action `audit`, stored together with the corrections of wrong values: it is there
once or not at all, in the view `corrections` with its reader and time, and goes with its document when that is
forgotten.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cinnabar.extraction.corrections import Action
from cinnabar.extraction.corrections.units import lists_in
from cinnabar.extraction.people.reviewing.review import AskedChange, Review
from cinnabar.extraction.run.report.audit import (
    AuditFigure,
    audit_figures,
    audit_runs,
    audits,
    has_corrections,
    marked_documents,
)
from cinnabar.extraction.store.reading import connect
from cinnabar.schemas.automata.canonical import parse
from cinnabar.schemas.errors import UsageError

# What the second reader must not see of a place: it tells whether somebody was there before.
_SHOWN = ("pointer", "value")


@dataclass(frozen=True, slots=True)
class Judged:
    """A place as the second reader judged it; `after` is the right value as JSON text, None if they do not tell it."""

    pointer: str
    right: bool
    after: str | None = None


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The drawn documents of a snapshot: path and run by document and schema, in their order; who audited or knows."""

    snapshot: int
    places: Mapping[tuple[str, str], tuple[str, str]]
    done: Mapping[tuple[str, str], str]
    known: Mapping[tuple[str, str], frozenset[str]]
    figures: Sequence[AuditFigure]


class Auditing:
    """The audits of a folder under review. Threads may share it."""

    def __init__(self, review: Review) -> None:
        self._review, self._lock = review, threading.Lock()
        self._last = _Drawn(-1, {}, {}, {}, ())
        self._since: dict[tuple[str, str], str] = {}

    def overview(self) -> dict[str, Any]:
        """Returns the figures of the runs that draw documents, the newest first, and how many documents are left."""
        drawn = self._drawn()
        left = sum(place not in drawn.done for place in drawn.places)
        return {"left": left, "figures": [asdict(one) | {"sentence": one.sentence} for one in drawn.figures]}

    def following(self, who: str, taken: Collection[tuple[str, str]] = (), alone: bool = False) -> dict[str, Any]:
        """Returns the next document for this reader, and how many are left for them.

        Documents in `taken`, and those that the reader has corrected or accepted, are for others; a reader who is
        `alone` gets these, too.
        """
        drawn = self._drawn()
        mine = [
            place
            for place in drawn.places
            if place not in drawn.done and (alone or who not in drawn.known.get(place, ()))
        ]
        free = [place for place in mine if place not in taken]
        if not free:
            return {"left": len(mine), "next": None}
        document, schema = free[0]
        return {"left": len(mine), "next": {"document": document, "schema": schema}}

    def document(self, document: str, schema: str) -> dict[str, Any]:
        """Returns the record of a drawn document to judge, with its form. Raises UsageError if it is not drawn."""
        self._run(document, schema)
        state = self._review.state(document, schema)
        kept = {name: state[name] for name in ("document", "schema", "path", "record", "form", "media_type")}
        leaves = [{name: leaf[name] for name in _SHOWN} for leaf in state["leaves"] if _is_judged(leaf)]
        return kept | {"leaves": leaves, "seen": state["seen"].get("", "")}

    def judge(self, document: str, schema: str, seen: str, judged: Sequence[Judged], who: str) -> None:
        """Stores a verdict on all places of a document, and the corrections of wrong ones.

        `seen` is the digest of the record that the reader saw. Raises UsageError if a place is missing, or if the
        document is not drawn or is audited, and the errors of `Review.correct`.
        """
        run = self._run(document, schema)
        if (done := self._drawn().done.get((document, schema))) is not None:
            if done == who:
                return
            raise UsageError("audit: this document has been audited meanwhile; go on to the next one")
        state = self._review.state(document, schema)
        by_pointer = {one.pointer: one for one in judged}
        places = [leaf["pointer"] for leaf in state["leaves"] if _is_judged(leaf)]
        if by_pointer.keys() != set(places) or len(judged) != len(places):
            raise UsageError(f"audit: expected a verdict on each of {len(places):,} places, got {len(judged):,}")
        wrong = [one for one in judged if not one.right]
        filled = _filled(state, places)
        right = sum(one.right and one.pointer in filled for one in judged)
        said = [{"pointer": one.pointer, "after": one.after} for one in wrong]
        verdict = json.dumps({"run": run, "right": right, "wrong": said}, ensure_ascii=False)
        changes = [_change(one) for one in wrong if one.after is not None]
        # Guesses stay open when a record is accepted, and one of guesses alone cannot be.
        if len(changes) == len(wrong) and not set(places) <= {*state["guesses"], *(one.pointer for one in wrong)}:
            changes.append(AskedChange("accept", "", None))
        self._review.judge(document, schema, [*changes, AskedChange(str(Action.AUDIT), "", seen, verdict)], who)
        with self._lock:
            self._since[document, schema] = who

    def _run(self, document: str, schema: str) -> str:
        found = self._drawn().places.get((document, schema))
        if found is None:
            raise UsageError(f"audit: {document[:80]!r} is not drawn for an audit under the schema {schema[:80]!r}")
        return found[1]

    def _drawn(self) -> _Drawn:
        snapshot = self._review.snapshot
        with self._lock:
            if self._last.snapshot != snapshot:
                self._last = _read(self._review.out, snapshot)
            since = {place: who for place, who in self._since.items() if place not in self._last.done}
            self._since = since
            last = self._last
        return _Drawn(last.snapshot, last.places, {**last.done, **since}, last.known, last.figures)


def _read(out: Path, snapshot: int) -> _Drawn:
    with connect(out, views=("runs", "outcomes", "corrections")) as connection:
        runs = audit_runs(connection)
        if not runs:
            return _Drawn(snapshot, {}, {}, {}, ())
        latest: dict[tuple[str, str], tuple[str, str]] = {}
        for path, document, schema, run_id in marked_documents(connection, runs):
            if run_id >= latest.get((document, schema), ("", ""))[1]:
                latest[document, schema] = path, run_id
        done = {
            (document, schema): who
            for (document, schema, run_id), (_, _, who) in audits(connection).items()
            if latest.get((document, schema), ("", ""))[1] == run_id
        }
        known: dict[tuple[str, str], frozenset[str]] = {}
        if has_corrections(connection):
            rows = connection.execute("SELECT document, schema_name, list(DISTINCT who) FROM corrections GROUP BY ALL")
            known = {(document, schema): frozenset(people) for document, schema, people in rows.fetchall()}
        return _Drawn(snapshot, latest, done, known, audit_figures(connection, runs))


def _is_judged(leaf: Mapping[str, Any]) -> bool:
    return leaf["origin"] not in ("length", "thoughts")


def _filled(state: Mapping[str, Any], places: Sequence[str]) -> set[str]:
    """Returns the places that hold something: a value that is not empty, or a list with a row."""
    values = {leaf["pointer"]: leaf["value"] for leaf in state["leaves"]}
    lists = {one for one, length in lists_in(parse(state["record"]), "") if length}
    return {one for one in places if one in lists or values[one] not in (None, "null", '""')}


def _change(one: Judged) -> AskedChange:
    gone = one.after == "null"
    return AskedChange("absent" if gone else "value", one.pointer, None, None if gone else one.after)
