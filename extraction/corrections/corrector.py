"""Corrects stored records: a correction is durable when the call returns, and in the views as soon as may be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cinnabar.extraction.corrections import journal
from cinnabar.extraction.corrections.changes import (
    Action,
    Change,
    Correction,
    Reviewed,
    Undo,
    in_force,
)
from cinnabar.extraction.corrections.committing import (
    Step,
    after_entry,
    check_stored,
    corrections_after,
    open_folder,
    state_after,
)
from cinnabar.extraction.corrections.editing import Edited, edited
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.revising import Rules, guesses_of, rules_of
from cinnabar.extraction.corrections.seen import check_seen, sights
from cinnabar.extraction.corrections.stored import CorrectedState, correction_rows, states
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import is_locked
from cinnabar.schemas.errors import InUse, NotAccepted, NotStored, Refused, RunError, UsageError

#: Returns a document by its digest and the name of its schema, None if it cannot be read now.
FindDocument = Callable[[str, str], Document | None]
# How often a commit is followed by a look for what others left to it.
_LOOKS = 8


class Corrector:
    """Corrects the records of an output folder; threads may share it.

    It works while another process runs an extraction into the folder: that run commits the corrections. `document`
    finds the text behind the spans that a person marked; without it their words are not stored.
    """

    def __init__(self, out: Path, document: FindDocument | None = None) -> None:
        self._out = out.absolute()
        self._document = document
        self._mutex = threading.RLock()

    def state(self, document: str, schema_name: str) -> Reviewed:
        """Returns the present record of this document (its digest), with corrections that still wait for their commit.

        Raises UsageError if the folder has no outcome of the document under this schema.
        """
        return _reviewed(self._state(document, schema_name))

    def _state(self, document: str, schema_name: str) -> CorrectedState:
        # In this order: an entry goes after its commit, so one that is gone from the first listing is in the second.
        waiting = [
            entry
            for entry in journal.waiting(self._out)
            if (entry.document, entry.schema_name) == (document, schema_name)
        ]
        while True:
            committed = manifests.read_live(self._out)
            try:
                rows = correction_rows(self._out, committed, {document})
                state = states(self._out, committed, {(document, schema_name)}, rows)[document, schema_name]
                break
            except FileNotFoundError:
                # The writer has merged batches since, and removed the old ones.
                if committed == manifests.read_live(self._out):
                    raise
        if not state.path:
            raise UsageError(
                f"{document}: no outcome of this document under the schema {schema_name} in {self._out};"
                " `outcomes` lists all documents"
            )
        for entry in waiting:
            if not entry.identities & rows.identities:
                state = self._after(state, entry)
        return state

    def _after(self, state: CorrectedState, entry: WaitingCorrection) -> CorrectedState:
        try:
            after = state_after(self._out, state, entry)
            check_stored(self._out, after, entry)
            return after
        except RunError:
            raise
        except Exception:  # whoever commits it sets it aside, and says so
            return state

    def _rules(self, state: CorrectedState) -> Rules:
        return rules_of(self._out, state.schema_name, state.schema_fingerprint)

    def correct(self, document: str, schema_name: str, changes: Sequence[Change], who: str) -> Reviewed:
        """Corrects the record of this document, all changes or none; the corrections are durable when this returns.

        Raises Refused, with the places, if the record would not satisfy its schema then; Overtaken, with both values,
        if a place is not as the person saw it; UsageError for a change that makes no sense, or if there is no record.
        """
        with self._mutex:
            with journal.writing(self._out):
                state = self._state(document, schema_name)
                check_seen(state, changes)
                identity = journal.new_identity(_last(state))
                own = self._corrections(state, changes, who, identity)
                entry = WaitingCorrection(identity, document, schema_name, own)
                if not entry.corrections:
                    return _reviewed(state)
                found = after_entry(state, entry, self._rules(state))
                self._ask_columns(found, entry)
                journal.write(self._out, entry)
            self._commit({entry.identity: (state, found)})
            return _reviewed(found, state)

    def _corrections(
        self, state: CorrectedState, changes: Sequence[Change], who: str, identity: str
    ) -> tuple[Correction, ...]:
        made = manifests.now()
        kinds = [change for change in changes if change.action is Action.OTHER_KIND]
        if kinds and len(changes) > 1:
            raise UsageError("correct: expected other_kind alone, because it stands for the whole document")
        if kinds or not changes:
            found = [] if not changes or state.other_kind else [Edited(changes[0], None, None, None, ())]
        else:
            if state.record is None:
                raise UsageError(
                    f"{state.path}: there is no record to correct ({state.code or state.status}); read it again first"
                )
            whole = None
            if self._document is not None and any(change.spans for change in changes):
                whole = self._document(state.document, state.schema_name)
            found = edited(state.record, changes, self._rules(state), whole, state.path, guesses_of(state))
        return tuple(
            Correction(
                f"{identity}-{number}",
                state.document,
                state.schema_name,
                state.schema_fingerprint,
                one.change.action,
                one.change.pointer,
                one.before,
                one.after,
                one.evidence,
                who,
                made,
                None,
                one.units,
            )
            for number, one in enumerate(found)
        )

    def undo(
        self, document: str, schema_name: str, identities: Sequence[str] | None, who: str, seen: str | None = None
    ) -> Reviewed:
        """Takes back these corrections of a document, None for all: the record is again what the model had made.

        `seen` is the digest of the whole record that the person saw. Raises UsageError for an unknown identity,
        Overtaken if the record is another one now, Refused if it would not satisfy its schema then.
        """
        with self._mutex:
            with journal.writing(self._out):
                state = self._state(document, schema_name)
                known = {one.identity for one in state.corrections}
                unknown = [one for one in identities or () if one not in known]
                if unknown:
                    some = ", ".join(sorted(known)) or "none"
                    raise UsageError(f"{state.path}: has no correction {unknown[0]}, expected one of {some}")
                wanted = known if identities is None else set(identities)
                gone = [one for one in state.in_force if one.identity in wanted]
                if not gone:
                    return _reviewed(state)
                check_seen(state, [Change(Action.ACCEPT, "", None, (), seen)])
                identity, made = journal.new_identity(_last(state)), manifests.now()
                undone = tuple(
                    Undo(f"{identity}-{number}", one.identity, who, made) for number, one in enumerate(gone)
                )
                entry = WaitingCorrection(identity, document, schema_name, (), undone)
                try:
                    found = self._undone(state, entry)
                except NotAccepted as problem:
                    raise Refused(state.path, [(problem.pointer, str(problem))]) from problem
                self._ask_columns(found, entry)
                journal.write(self._out, entry)
            self._commit({entry.identity: (state, found)})
            return _reviewed(found, state)

    def _ask_columns(self, state: CorrectedState, entry: WaitingCorrection) -> None:
        """Raises Refused if a column cannot hold what an entry makes of a record: then nothing must be durable."""
        try:
            check_stored(self._out, state, entry)
        except NotStored as error:
            raise Refused(state.path, [(error.pointer, error.why)], "cannot be stored") from error

    def _undone(self, state: CorrectedState, entry: WaitingCorrection) -> CorrectedState:
        if state.record is None:
            return replace(state, corrections=corrections_after(state, entry))
        return after_entry(state, entry, self._rules(state))

    def _commit(self, known: Mapping[str, Step]) -> None:
        """Commits and publishes what waits if no run holds the folder; else that run does it."""
        # Who finds the folder locked by another correction leaves it to that one, which looks again when it is done.
        for _ in range(_LOOKS):
            if not journal.waiting(self._out) or is_locked(self._out):
                return
            try:
                open_folder(self._out, known).close()
            except InUse:
                return


def corrections(out: Path) -> list[Correction]:
    """Returns all corrections in force, those that wait for their commit too, oldest first."""
    entries = journal.waiting(out)
    rows = correction_rows(out.absolute(), manifests.read_live(out))
    for entry in entries:
        rows.add(entry)
    found = [one for pair in rows.pairs for one in in_force(rows.of(pair))]
    return sorted(found, key=lambda one: one.identity)


def _last(state: CorrectedState) -> str:
    return max((one.identity for one in state.corrections), default="")


def _reviewed(state: CorrectedState, before: CorrectedState | None = None) -> Reviewed:
    now = sights(state)
    was = {} if before is None else sights(before)
    moved = {pointer: (seen, now.get(pointer, now["-"])) for pointer, seen in was.items()}
    moved |= {pointer: (was["-"], seen) for pointer, seen in now.items() if was and pointer not in was}
    return Reviewed(
        state.document,
        state.path,
        state.schema_name,
        state.record,
        state.corrections,
        "skipped" if state.other_kind else state.status,
        "other_kind" if state.other_kind else state.code,
        "" if state.other_kind else state.detail,
        state.pointers,
        state.schema_fingerprint,
        state.run_id,
        guesses_of(state),
        now,
        {pointer: pair for pointer, pair in moved.items() if pair[0] != pair[1]},
    )
