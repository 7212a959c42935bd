"""Corrects stored records: a correction is durable when the call returns, and in the views as soon as may be.

A value that somebody has changed since a person saw it is never replaced unseen: a short digest of its place is
compared under the lock. That place is the value itself, the row of a value in a list, or the list for a new row.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cinnabar.errors import (
    CinnabarError,
    NotStored,
    Overtaken,
    OvertakenPlace,
    Refused,
    RunError,
    UsageError,
)
from cinnabar.extraction.corrections import journal
from cinnabar.extraction.corrections.changes import EXCLUDING, Action, Change, Correction, in_force
from cinnabar.extraction.corrections.editing import entry_of_changes, entry_of_undo
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.revising import after_entry, after_waiting, apply_corrections
from cinnabar.extraction.corrections.state import Reviewed, place_digest
from cinnabar.extraction.corrections.stored import Pair, correction_rows, states, told_apart
from cinnabar.extraction.corrections.units import place_of, text_at
from cinnabar.extraction.corrections.waiting_commits import Judged, commit_waiting
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.plan.outcomes import OTHER_KIND
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import is_locked
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.pointers import lies_within, value_at

# How often a commit is followed by a look for what others left to it.
_LOOKS = 8


class Corrector:
    """Corrects the records of an output folder; threads may share it.

    It works while another process runs an extraction into the folder: that run commits the corrections. With `behind`
    calls return once they are durable, and the caller commits them by `commit`, so that nobody waits for that.
    """

    def __init__(self, out: Path, behind: bool = False) -> None:
        self._out = out.absolute()
        self._mutex = threading.RLock()
        self._behind = behind
        # What was judged when a person said it, until somebody else commits.
        self._judged: dict[Pair, Judged] = {}

    def commit(self) -> None:
        """Commits and publishes what waits if no run holds the folder; else that run does it.

        What cannot be committed now, as on a full disk, waits on: it is durable, so this is no failure of a change.
        """
        # Who finds the folder locked by another correction leaves it to that one, which looks again when it is done.
        with contextlib.suppress(CinnabarError, OSError):
            before: list[WaitingCorrection] = []
            for _ in range(_LOOKS):
                waiting = journal.waiting_corrections(self._out)
                if waiting == before or is_locked(self._out):
                    break
                before = waiting
                with Store.open(self._out) as store:
                    commit_waiting(store, self._judged)
                self._judged.clear()

    def state(self, document: str, schema_name: str) -> Reviewed:
        """Returns the present record of this document (its digest), with corrections that still wait for their commit.

        Raises UsageError if the folder has no outcome of the document under this schema.
        """
        return _shown(self._state(document, schema_name).state)

    def correct(
        self, document: str, schema_name: str, changes: Sequence[Change], who: str, content: Document | None = None
    ) -> Reviewed:
        """Corrects the record of this document, all changes or none; the corrections are durable when this returns.

        `content` is the document behind the spans that the person marked; without it their words are not stored.
        Raises Refused, with the places, if the record would not satisfy its schema then; Overtaken, with both values,
        if a place is not as the person saw it; UsageError for a change that makes no sense, or if there is no record.
        """
        with self._mutex:
            with journal.lock_journal(self._out):
                before = self._state(document, schema_name)
                check_seen(before.state, changes)
                entry = entry_of_changes(self._out, before.state, changes, who, content)
                if not entry.corrections:
                    return _shown(before.state)
                after = self._write(before, entry)
            return self._commit(after)

    def undo(
        self,
        document: str,
        schema_name: str,
        identities: Sequence[str] | None,
        who: str,
        seen: str | None = None,
        of_packet: bool = False,
    ) -> Reviewed:
        """Takes back these corrections of a document, None for all: the record is again what the model had made.

        `seen` is the digest of the whole record that they saw. `of_packet` as for `entry_of_undo`. Raises
        UsageError for an unknown identity, Overtaken if the record is another one now, Refused if it would not satisfy
        its schema then.
        """
        with self._mutex:
            with journal.lock_journal(self._out):
                before = self._state(document, schema_name)
                entry = entry_of_undo(before.state, identities, who, of_packet)
                if not entry.undone:
                    return _shown(before.state)
                check_seen(before.state, [Change(Action.ACCEPT, "", None, (), seen)])
                after = self._write(before, entry)
            return self._commit(after)

    def _state(self, document: str, schema_name: str) -> Judged:
        # In this order: an entry goes after its commit, so one that is gone from the first listing is in the second.
        pair = document, schema_name
        entries = [one for one in journal.waiting_corrections(self._out) if one.pair == pair]
        while True:
            committed = manifests.read_live(self._out)
            try:
                stored, rows = states(self._out, committed, {pair})
                break
            except FileNotFoundError:
                # The writer has merged batches since, and removed the old ones.
                if committed == manifests.read_live(self._out):
                    raise
        state = stored[pair]
        if not state.path:
            raise UsageError(
                f"{document}: no outcome of this document under the schema {schema_name} in {self._out};"
                " `outcomes` lists all documents"
            )
        if state.base is not None and state.outcome == "quarantined":
            # Nothing else is stored of its values. Without its schema the record is shown as it was read.
            with contextlib.suppress(RunError):
                state = replace(state, record=apply_corrections(self._out, state).record)
        entries = [one for one in entries if not one.identities & rows.identities]
        over, waiting = told_apart(self._out, committed), tuple(one.identity for one in entries)
        known = self._judged.get(pair)
        if known is None or known[:2] != (over, waiting):
            state, counting = after_waiting(self._out, state, entries)
            known = Judged(over, tuple(one.identity for one in counting), state)
        return known

    def _write(self, before: Judged, entry: WaitingCorrection) -> Reviewed:
        """Judges an entry and makes it durable. Raises Refused, and nothing is durable then."""
        try:
            after = after_entry(self._out, before.state, entry, new=True)
        except NotStored as error:
            raise Refused(before.state.path, [(error.pointer, error.why)], "cannot be stored") from error
        journal.write(self._out, entry)
        self._judged[entry.pair] = Judged(before.over, (*before.entries, entry.identity), after)
        return replace(after, before=before.state)

    def _commit(self, after: Reviewed) -> Reviewed:
        if not self._behind:
            self.commit()
        return _shown(after)


def corrections(out: Path) -> list[Correction]:
    """Returns all corrections in force, those that wait for their commit too, oldest first."""
    entries = journal.waiting_corrections(out)
    rows = correction_rows(out.absolute(), manifests.read_live(out))
    for entry in entries:
        rows.add(entry)
    return sorted((one for pair in rows.pairs for one in in_force(rows.of(pair))), key=lambda one: one.identity)


def _shown(state: Reviewed) -> Reviewed:
    """Returns the state as people see it; a document of another kind counts as skipped."""
    return replace(state, outcome="skipped", code=OTHER_KIND, detail="") if state.other_kind else state


def check_seen(state: Reviewed, changes: Sequence[Change]) -> None:
    """Raises Overtaken, with both values, for changes of places that are not as the person saw them.

    A change whose value is there already, and one that does not tell what was seen, pass.
    """
    value = state.value
    late = [
        OvertakenPlace(change.pointer, change.after, text_at(value, change.pointer), *_last(state, place))
        for change in changes
        if change.seen is not None and not _is_so(state, value, change)
        for place in [_seen_place(value, change)]
        if change.seen not in {place_digest(value_at(value, one), state.other_kind) for one in (place, change.pointer)}
    ]
    if late:
        raise Overtaken(state.path, late)


def _seen_place(value: Any, change: Change) -> str:
    if change.action is Action.INSERT:
        return change.pointer.rpartition("/")[0]
    outer = place_of(value, change.pointer)
    if outer == change.pointer:
        return outer
    return f"{outer}/{change.pointer[len(outer) + 1 :].partition('/')[0]}"


def _is_so(state: Reviewed, value: Any, change: Change) -> bool:
    """Returns whether the record is already as this change wants it."""
    if change.action in EXCLUDING:
        return state.other_kind
    if state.other_kind:
        return False
    if change.action in (Action.VALUE, Action.LIST) and change.after is not None:
        return text_at(value, change.pointer) == change.after
    gone = change.action is Action.ABSENT and change.pointer == place_of(value, change.pointer)
    return gone and text_at(value, change.pointer) in (None, "null")


def _last(state: Reviewed, place: str) -> tuple[str, bool]:
    """Returns who corrected this place last, "" if it was no person, and whether it was taken back."""
    own = [one for one in state.corrections if _concerns(one, place)]
    if not own:
        return "", False
    last = max(own, key=lambda one: (one.undone or one.made, one.identity))
    return last.who, last.undone is not None


def _concerns(one: Correction, place: str) -> bool:
    if one.action in EXCLUDING or not place:
        return True
    return any(lies_within(own, place) or lies_within(place, own) for own in one.places)
