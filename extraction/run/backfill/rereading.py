"""The stored records of the documents that a backfill reads again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from cinnabar.extraction.corrections.renaming import renamed_record
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.store.stored_records import LatestRecord, Stored, load_records
from cinnabar.schemas.compiling.changes import Changes

# Torch takes seconds to import; a backfill that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.run.work.refilling import Known

# Records that are fetched from the store at a time.
_FETCH = 512


class StoredRecords:
    """The stored records of a backfill, fetched hundreds at a time.

    `found` maps the names of inputs to their records, `changes` each version of the schema to its changes since. Leaves
    below `below` are asked as well.
    """

    def __init__(
        self, out: Path, latest: Mapping[str, LatestRecord], changes: Mapping[str, Changes], below: float
    ) -> None:
        self._out, self._found, self._changes, self._below = out, latest, changes, below
        self._fetched: dict[str, Stored] = {}

    def known(self, items: Sequence[Input], coming: Sequence[Sequence[Input]] = ()) -> Known:
        """Returns the stored records of these documents; if it fetches, then those of the coming batches, too."""
        # Cold start: Torch takes a second.
        from cinnabar.extraction.run.work.refilling import Known

        wanted = [self._found[item.path] for item in items]
        if any(one.document not in self._fetched for one in wanted if one.schema_fingerprint):
            following = (self._found[item.path] for item in islice(chain.from_iterable(coming), _FETCH))
            self._fetched = load_records(self._out, [one for one in chain(wanted, following) if one.schema_fingerprint])
        return Known([self._known(one) if one.schema_fingerprint else None for one in wanted], self._below)

    def _known(self, one: LatestRecord) -> tuple[Stored, Changes]:
        """Returns a stored record, by the names of the version that is asked for, and the changes since its own."""
        found, changes = self._fetched[one.document], self._changes[one.schema_fingerprint]
        if not changes.renames.pairs:
            return found, changes
        moved = changes.renames.pointer
        fields = {moved(at): moved(field) for at, field in found.fields.items()}
        return Stored(renamed_record(found.record, changes.renames), fields), changes
