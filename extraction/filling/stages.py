"""The stages of a document between the answers of its model and its record: functions over it, in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cinnabar.engine.request import Filled
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.merge.list_evidence import doubt_contradicted_lists, remove_sum_rows
from cinnabar.extraction.filling.overlay.given import Given, constants_of, gather, given_by, put
from cinnabar.extraction.filling.overlay.marks import boxes_of
from cinnabar.extraction.filling.passages import locale_of
from cinnabar.extraction.filling.surroundings.surroundings import read_surroundings
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import lies_within


@dataclass(frozen=True, slots=True)
class MergedRecord:
    """A document and its record, merged from its chunks; no model is asked for what is `given`.

    refused: whether the record fails a check of its schema.
    """

    document: Document
    filled: Filled
    given: tuple[Given, ...] = ()
    refused: bool = False

    def is_fact(self, pointer: str) -> bool:
        """Returns whether a place is a fact or an item of one."""
        return any(lies_within(pointer, one.pointer) for one in given_by("fact", self.given))


Stage = Callable[[Form, MergedRecord], Filled]


def go_through(form: Form, read: MergedRecord, stages: Sequence[Stage]) -> Filled:
    """Returns the record of a document after these stages."""
    for stage in stages:
        read = replace(read, filled=stage(form, read))
    return read.filled


def put_facts(form: Form, read: MergedRecord) -> Filled:
    """Puts the document's facts into its record."""
    return put(form, read.filled, given_by("fact", read.given))


def put_constants(form: Form, read: MergedRecord) -> Filled:
    """Makes the constants of the schema certain."""
    return put(form, read.filled, constants_of(form, read.filled))


def put_boxes(form: Form, read: MergedRecord) -> Filled:
    """Puts what boxes say into the record, where nobody else has given a value."""
    boxes = boxes_of(form, read.filled, read.document)
    every = gather(read.given, constants_of(form, read.filled), boxes)
    return put(form, read.filled, given_by("box", every))


def drop_sum_rows(form: Form, read: MergedRecord) -> Filled:
    """Drops the rows of lists that are sums of those above."""
    return remove_sum_rows(form, read.filled, read.document.text)


def doubt_sums(form: Form, read: MergedRecord) -> Filled:
    """Doubts the lists that do not add up."""
    return doubt_contradicted_lists(form, read.filled, read.document.text)


def read_beside(form: Form, read: MergedRecord) -> Filled:
    """Corrects and doubts values by what stands beside them."""
    return read_surroundings(form, read.filled, read.document, locale_of(read.document))


#: Of every record whose chunks are merged; the rows of a stored one stay.
STORED: tuple[Stage, ...] = (put_facts, put_constants, put_boxes)
READ: tuple[Stage, ...] = (*STORED, drop_sum_rows, doubt_sums)
#: Of one that a stronger model may read, which is asked for what the surroundings leave in doubt.
DOUBTED: tuple[Stage, ...] = (*READ, read_beside)
#: Of one that a stronger model has read, and of each before it is judged.
RAISED: tuple[Stage, ...] = (put_facts, put_constants)
LAST: tuple[Stage, ...] = (read_beside,)
