"""Reads the batches of a backfill again: each document beside its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cinnabar.extraction.backfill.outstanding import Item
from cinnabar.extraction.batch_reader import BatchReader
from cinnabar.extraction.ingest.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.ingest.settings import DEFAULT, ParserSettings
from cinnabar.extraction.inputs import Input
from cinnabar.extraction.storage.stored_records import Stored, stored
from cinnabar.schemas.changes import Changes

# Torch takes seconds to import; a backfill that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.backfill.refilling import Known
    from cinnabar.extraction.pipeline import Read

# Records that are fetched from the store at a time.
_FETCH = 512


class Rereader:
    """Reads batches of items, parsed in `workers` processes, with their stored records.

    `changes` maps each version of the schema to its changes since. Leaves below `below` are asked as well. A context
    manager.
    """

    def __init__(
        self,
        out: Path,
        batches: list[Sequence[Item]],
        changes: Mapping[str, Changes],
        workers: int,
        below: float = 0.0,
        max_tokens: int | None = None,
        settings: ParserSettings = DEFAULT,
    ) -> None:
        self._out, self._batches, self._changes = out, batches, changes
        self._below = below
        #: The inputs of each batch.
        self.inputs = [[_input(item) for item in batch] for batch in batches]
        self._reader = BatchReader(self.inputs, workers, max_tokens, settings, PageStore(out / PAGES))
        self._fetched: dict[str, Stored] = {}

    def __enter__(self) -> Self:
        self._reader.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.__exit__(kind, error, trace)

    def begin(self, number: int) -> None:
        """Starts parsing a batch, if it has not started."""
        self._reader.begin(number)

    def read(self, number: int) -> tuple[list[Read | None], Known]:
        """Returns the documents of a batch, None for late ones, and the stored records of the others.

        It starts parsing the next batch. A second call parses the documents again.
        """
        read, known = self._reader.read(number), self.known(number)
        records = [record for record, one in zip(known.records, read, strict=True) if one is not None]
        return read, replace(known, records=records)

    @property
    def seconds(self) -> float:
        """Returns the seconds of parsing so far."""
        return self._reader.seconds

    def add(self, batch: Sequence[Item]) -> None:
        """Adds a batch behind the others."""
        self._batches.append(batch)
        self.inputs.append([_input(item) for item in batch])

    def parse(self, items: Sequence[Item]) -> list[Read]:
        """Returns these documents parsed."""
        return self._reader.parse([_input(item) for item in items])

    def known(self, number: int) -> Known:
        """Returns the stored records of a batch's documents; it fetches those of the next batches with them."""
        end = number + 1 + _FETCH // len(self._batches[number])
        coming = [item for batch in self._batches[number + 1 : end] for item in batch]
        return self.records(self._batches[number], coming)

    def records(self, items: Sequence[Item], coming: Sequence[Item] = ()) -> Known:
        """Returns the stored records of these documents; if it fetches, then those of the coming ones, too."""
        from cinnabar.extraction.backfill.refilling import Known

        found = [item.found for item in items]
        if any(one.document not in self._fetched for one in found if one.schema_fingerprint):
            wanted = [item.found for item in [*items, *coming]]
            self._fetched = stored(self._out, [one for one in wanted if one.schema_fingerprint])
        records = [
            (self._fetched[one.document], self._changes[one.schema_fingerprint]) if one.schema_fingerprint else None
            for one in found
        ]
        return Known(records, self._below)


def _input(item: Item) -> Input:
    return Input(item.name, item.content, item.found.document)
