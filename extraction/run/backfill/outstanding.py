"""Splits a backfill's chosen records into documents to fill and outcomes of those done or lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.run.backfill.document_lookup import ELSEWHERE, DocumentLookup
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import Done, is_done
from cinnabar.extraction.store.stored_records import CHANGED, GONE, LatestRecord

_KEPT = f"the record of the version before stays; {ELSEWHERE}"


@dataclass(frozen=True, slots=True)
class Outstanding:
    """The chosen records by their names in the run: outcomes of those `done` or `lost`, and `inputs` to fill."""

    records: dict[str, LatestRecord]
    done: list[Outcome] = field(default_factory=list)
    lost: list[Outcome] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)

    @classmethod
    def of(cls, chosen: Sequence[LatestRecord], done: Done, document_lookup: DocumentLookup) -> Self:
        """Splits the chosen records; `done` holds the digests of finished documents."""
        # An older content gets a name of its own if its path was read again since.
        self = cls({f.paths[0] if f.current else f"{f.paths[0]}@{f.document[:16]}": f for f in chosen})
        for name, record in self.records.items():
            if is_done(done, record.document, name):
                self.done.append(Outcome(name, "skipped", "done", digest=record.document))
            elif (content := document_lookup.find(record.paths, record.document, record.size)) is not None:
                self.inputs.append(Input(name, content, record.document))
            else:
                self.lost.append(_lost(name, record, document_lookup))
        return self


def _lost(name: str, record: LatestRecord, document_lookup: DocumentLookup) -> Outcome:
    changed = any(document_lookup.file_at(path) for path in record.paths)
    code = CHANGED if changed else GONE
    path = record.paths[0]
    reason = f"{path} holds other bytes than those of the record" if changed else document_lookup.explain_missing(path)
    return Outcome(name, "skipped", code, f"{reason}; {_KEPT}", digest=record.document)
