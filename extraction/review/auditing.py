"""The second reader's queue: drawn documents, shown without a trace of what was sure or corrected, judged as a whole.

A verdict is a correction with the action `audit`, stored together with the corrections of wrong values: it is there
once or not at all, in the view `corrections` with its reader and time, and goes with its document when that is
forgotten.

Who works on which document: a courtesy for people who share one review, kept in memory.

A claim ends when its page goes on to another document or stops to renew it, so that a closed laptop holds nobody up.
What two people do to one document all the same is decided by `corrections/corrector.py`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, corrections
from cinnabar.extraction.corrections.units import lists_in
from cinnabar.extraction.review.review import Review
from cinnabar.extraction.run.report.audit import drawn_documents, taken_out, verdicts
from cinnabar.extraction.store.reading import connect
from cinnabar.schemas.automata.strings import parse


@dataclass(frozen=True, slots=True)
class Judged:
    """A place as the second reader judged it; `after` is the right value as JSON text, None if they do not tell it."""

    pointer: str
    right: bool
    after: str | None = None


class Auditing:
    """The audits of a folder under review. Threads may share it."""

    def __init__(self, review: Review) -> None:
        self._review = review
        # One object, because threads share it.
        self._last: tuple[int, Mapping[tuple[str, str], str]] = (-1, {})

    def next_document(self, who: str, taken: Collection[tuple[str, str]] = ()) -> dict[str, Any]:
        """Returns the next document for this reader, and how many are left for them.

        Documents in `taken`, and those that the reader has corrected or accepted, are for others.
        """
        made = corrections(self._review.out)
        done, known = verdicts(made), {(one.document, one.schema_name) for one in made if one.who == who}
        mine = [pair for pair, run in self._drawn().items() if (*pair, run) not in done and pair not in known]
        free = next((pair for pair in mine if pair not in taken), None)
        return {"left": len(mine), "next": free and {"document": free[0], "schema": free[1]}}

    def document(self, document: str, schema: str) -> dict[str, Any]:
        """Returns the record of a drawn document to judge, with its form. Raises UsageError if it is not drawn."""
        self._run(document, schema)
        state = self._review.state(document, schema)
        kept = {name: state[name] for name in ("document", "schema", "path", "record", "form", "media_type")}
        # No more of a place, because that tells whether somebody was there before.
        leaves = [{"pointer": pointer, "value": value} for pointer, value in _values(state).items()]
        return kept | {"leaves": leaves, "seen": state["seen"].get("", "")}

    def judge(self, document: str, schema: str, seen: str, judged: Sequence[Judged], who: str) -> None:
        """Stores a verdict on all places of a document, and the corrections of wrong ones.

        `seen` is the digest of the record that the reader saw. Raises UsageError if a place is missing, or if the
        document is not drawn or is audited, or if this reader corrected it, and the errors of `Review.correct`.
        """
        run, made = self._run(document, schema), corrections(self._review.out)
        if (earlier := verdicts(made).get((document, schema, run))) is not None:
            if earlier.who == who:
                return
            raise UsageError("audit: this document has been audited meanwhile; go on to the next one")
        if any((one.document, one.schema_name, one.who) == (document, schema, who) for one in made):
            raise UsageError("audit: you have corrected or accepted this document, so another reader judges it")
        state = self._review.state(document, schema)
        places = _values(state)
        if len(judged) != len(places) or {one.pointer for one in judged} != places.keys():
            raise UsageError(f"audit: expected a verdict on each of {len(places):,} places, got {len(judged):,}")
        wrong = [one for one in judged if not one.right]
        lists = {pointer for pointer, rows in lists_in(parse(state["record"]), "") if rows}
        # A place that is rightly empty tells nothing of what was read.
        filled = {one for one, value in places.items() if one in lists or value not in (None, "null", '""')}
        changes = [_change(one) for one in wrong if one.after is not None]
        # Guesses stay open when a record is accepted, and one of guesses alone cannot be.
        if len(changes) == len(wrong) and places.keys() - {*state["guesses"], *(one.pointer for one in wrong)}:
            changes.append(Change(Action.ACCEPT, ""))
        verdict = {
            "run": run,
            "right": sum(one.right and one.pointer in filled for one in judged),
            "wrong": [{"pointer": one.pointer, "after": one.after} for one in wrong],
        }
        changes.append(Change(Action.AUDIT, "", json.dumps(verdict, ensure_ascii=False), seen=seen))
        self._review.apply(document, schema, changes, who)

    def _run(self, document: str, schema: str) -> str:
        if (run := self._drawn().get((document, schema))) is None:
            raise UsageError(f"audit: {document[:80]!r} is not drawn for an audit under the schema {schema[:80]!r}")
        return run

    def _drawn(self) -> Mapping[tuple[str, str], str]:
        """Returns the drawn documents, with their runs, of the newest commit."""
        snapshot = self._review.snapshot
        if self._last[0] != snapshot:
            with connect(self._review.out, views=("runs", "outcomes")) as connection:
                self._last = snapshot, drawn_documents(connection, taken_out(corrections(self._review.out)))
        return self._last[1]


def _values(state: Mapping[str, Any]) -> dict[str, str | None]:
    """Returns the places to judge, with their values as JSON texts."""
    return {
        leaf["pointer"]: leaf["value"] for leaf in state["leaves"] if leaf["origin"] not in ("length", "thoughts")
    }


def _change(one: Judged) -> Change:
    return Change(Action.ABSENT, one.pointer) if one.after == "null" else Change(Action.VALUE, one.pointer, one.after)


#: Seconds that a claim holds without being renewed.
LASTING = 150.0
#: Documents that one person has at a time, one a tab; of more, those that were renewed longest ago are free again.
TABS = 100

#: A document under one schema: its digest and the schema's name.
Place = tuple[str, str]


class Claims:
    """The claims of one review. Threads may share it. A tab, named by its page, has one document at a time."""

    def __init__(self, lasting: float = LASTING, clock: Callable[[], float] = time.monotonic) -> None:
        self._lasting, self._clock, self._lock = lasting, clock, threading.Lock()
        # By person and tab: the document, and when its claim ends.
        self._claims: dict[tuple[str, str], tuple[Place, float]] = {}

    def take(self, place: Place, who: str, tab: str) -> str | None:
        """Claims or renews a document for a tab of this person; returns who has it if that is somebody else."""
        with self._lock:
            now = self._clock()
            self._claims = {
                holder: claim for holder, claim in self._claims.items() if claim[1] >= now and holder != (who, tab)
            }
            for (other, _), (held, _) in self._claims.items():
                if held == place and other != who:
                    return other
            own = [holder for holder in self._claims if holder[0] == who]
            for holder in own[: max(0, len(own) + 1 - TABS)]:
                del self._claims[holder]
            self._claims[who, tab] = place, now + self._lasting
            return None

    def of_others(self, who: str) -> dict[Place, str]:
        """Returns the documents that others than this person have, with their names."""
        with self._lock:
            now = self._clock()
            return {place: other for (other, _), (place, end) in self._claims.items() if other != who and end >= now}
