"""What stays of a stored record whose document is filled again: it is frozen, and joined with what was asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from cinnabar.engine.request import Filled
from cinnabar.errors import DocumentError
from cinnabar.extraction.filling.overlay.freezing import freeze, join, left_of
from cinnabar.extraction.filling.overlay.given import Given
from cinnabar.extraction.plan.outcomes import CHANGED, GONE
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.version_changes import Changes
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import outside, within

if TYPE_CHECKING:
    from cinnabar.extraction.documents.content.document import Document

_T = TypeVar("_T")
#: A parser's codes for a document that is missing.
_ABSENT = ("unreadable", "not_a_file")
#: The flag of a record that a person released (extraction/run/quarantine.py); the new record keeps it.
_RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Known:
    """The stored record of a document that a backfill reads, None if it has none, and its schema's changes since.

    Leaves, rows and lists below `below` are asked as well.
    """

    record: Record | None = None
    changes: Changes = field(default_factory=Changes)
    below: float = 0.0


def lost_outcome(path: str, digest: str, document: Document | DocumentError) -> Outcome | None:
    """Returns the outcome of a document that has gone, or is another one, since a backfill found it; else None.

    digest: that of the document as the backfill found it.
    """
    if isinstance(document, DocumentError):
        if document.code not in _ABSENT:
            return None
        detail = f"{path} could not be read any more ({document.detail}); run the same command again"
        return Outcome(path, "skipped", GONE, detail, digest=digest)
    if document.digest != digest:
        detail = f"{path} was changed while it was read; run the same command again"
        return Outcome(path, "skipped", CHANGED, detail, digest=digest)
    return None


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A stored record under the changes of its schema, and what is given of it: no model is asked for that.

    asked: the places to fill, pointers and templates. left: its value without the places that the schema has no more.
    """

    record: Record
    changes: Changes
    given: Sequence[Given]
    asked: frozenset[str]
    left: Any

    @classmethod
    def of(cls, known: Known | None, form: Form, lists: bool) -> Self | None:
        """Returns what stays of a known record; None if there is none. `lists` as in `freeze`."""
        if known is None or known.record is None:
            return None
        record, changes = known.record, known.changes
        frozen = freeze(form, record, changes, known.below, lists)
        return cls(
            record, changes, frozen.given, frozen.asked.union(changes.asked_places), left_of(record.value, changes)
        )

    @property
    def unasked(self) -> Filled:
        """Returns what is filled if there is nothing to ask."""
        return Filled("", self.left, {}, {}, 0, 0)

    def join(self, compiled: CompiledSchema, filled: Filled) -> tuple[Filled, set[str]]:
        """Returns the stored record with what was asked of a filled one, with the leaves of that alone, and its places.

        Raises NotAccepted if the schema does not allow the record.
        """
        value, taken = join(self.left, filled.value, self.asked)
        return replace(filled, value=compiled.arrange(value), leaves=within(filled.leaves, taken)), taken

    def add_stored(
        self, fresh: Record, taken: Collection[str], flags: Collection[str]
    ) -> tuple[Record, Collection[str]]:
        """Returns a joined record with what is stored of all but the places that are `taken`, and the leaves of these.

        fresh: its record without that; beside those of its leaves it gives these `flags` if it has them.
        """
        old = self.record

        def both(kept: Mapping[str, _T], new: Mapping[str, _T]) -> dict[str, _T]:
            left = {at: one for at, one in outside(kept, taken).items() if not self.changes.drops(at)}
            return left | within(new, taken)

        leaves = both({leaf.pointer: leaf for leaf in old.leaves}, {leaf.pointer: leaf for leaf in fresh.leaves})
        of_leaves = {flag for leaf in leaves.values() for flag in leaf.flags}
        flags = of_leaves | ({_RELEASED} & {*old.flags}) | ({*flags} & {*fresh.flags})
        rows, lists = both(old.rows, fresh.rows), both(old.lists, fresh.lists)
        record = Record.of(fresh.text, [*leaves.values()], flags, rows, lists, both(old.lengths, fresh.lengths))
        return record, outside(leaves, taken).keys()
