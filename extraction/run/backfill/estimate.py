"""Splits a backfill's chosen records into items to fill and outcomes of those done or lost, and tells of their work."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Self

from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.filling.time_estimate import TimeEstimate
from cinnabar.extraction.plan.outcomes import CHANGED, GONE
from cinnabar.extraction.run.backfill.document_lookup import ELSEWHERE, DocumentLookup
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import Done, is_done
from cinnabar.extraction.store.stored_records import LatestRecord


@dataclass(frozen=True, slots=True)
class BackfillEstimate:
    """The work of a backfill: `documents` to fill, their `tokens`, and the `seconds` on this machine.

    The last two are from `sampled` documents. `asked` are the places to fill in each and `dropped` those to remove,
    `done` the number of documents that are done already, `lost` of those that are gone or have changed, `elsewhere` of
    those that a later run sent to another schema or to none, `renamed` of those that come along without their document.
    """

    documents: int
    tokens: int
    seconds: float
    asked: tuple[str, ...]
    dropped: tuple[str, ...]
    done: int
    lost: int
    sampled: int
    elsewhere: int = 0
    renamed: int = 0

    @property
    def time(self) -> TimeEstimate:
        """Returns the seconds as a run tells them."""
        return TimeEstimate(self.seconds / max(1, self.documents), self.documents)


_KEPT = f"the record of the version before stays; {ELSEWHERE}"


@dataclass(frozen=True, slots=True)
class Outstanding:
    """The chosen records by their names in the run, outcomes of those `done` or `lost`, and `inputs` to fill.

    `renamed` are the records that need no document.
    """

    chosen: dict[str, LatestRecord]
    done: list[Outcome] = field(default_factory=list)
    lost: list[Outcome] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    renamed: list[LatestRecord] = field(default_factory=list)

    @classmethod
    def of(
        cls, chosen: Sequence[LatestRecord], done: Done, document_lookup: DocumentLookup, renamed: Collection[str]
    ) -> Self:
        """Splits the chosen records; `done` and `renamed` hold the digests of documents that need not be read."""
        self = cls({record.name: record for record in chosen})
        for name, record in self.chosen.items():
            if is_done(done, record.document, name):
                self.done.append(Outcome(name, "skipped", "done", digest=record.document))
            elif record.document in renamed:
                self.renamed.append(record)
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
