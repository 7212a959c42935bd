"""Splits the inputs of a run into those that are settled before parsing and those left to read.

What is done, `Store.done_keys` says: a record of this schema, read by the parts of the code that would read it now.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from cinnabar.extraction.documents.content.codes import problem_message
from cinnabar.extraction.documents.content.formats import SUFFIXES
from cinnabar.extraction.documents.ingest.sandbox import name_of
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.system_files import SYSTEM_FILE, is_system_file
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.tables import OTHER_KIND
from cinnabar.schemas.errors import DocumentError


class _Finished(Protocol):
    """The things that earlier runs have done."""

    def done(self, digest: str) -> bool: ...
    def refused(self, digest: str) -> bool: ...
    def known_problem(self, path: str, problem: DocumentError) -> bool: ...


def split_inputs(inputs: Iterable[Input], finished: _Finished) -> tuple[list[Outcome], list[Input]]:
    """Returns the outcomes of inputs that need no reading, and the inputs left to read.

    The former are files of the system, unreadable, done, duplicates, or of another kind as a person said.

    A duplicate has the same bytes as an earlier path. An unreadable input whose problem is in quarantine is done.
    """
    first: dict[str, str] = {}
    settled: list[Outcome] = []
    left: list[Input] = []
    # The parser depends on the file name: of files with the same bytes, one with a known suffix comes first.
    for item in sorted(inputs, key=_is_nameless):
        if is_system_file(item.path):
            settled.append(Outcome(item.path, "skipped", SYSTEM_FILE, digest=item.digest))
        elif item.problem is not None:
            problem = item.problem
            if finished.known_problem(item.path, problem):
                settled.append(Outcome(item.path, "skipped", "done"))
                continue
            settled.append(Outcome(item.path, "quarantined", problem.code, problem_message(problem)))
        elif item.digest in first:
            other = first[item.digest]
            settled.append(Outcome(item.path, "skipped", "duplicate", digest=item.digest, duplicate_of=other))
        else:
            first[item.digest] = item.path
            if finished.refused(item.digest):
                settled.append(Outcome(item.path, "skipped", OTHER_KIND, digest=item.digest))
            elif finished.done(item.digest):
                settled.append(Outcome(item.path, "skipped", "done", digest=item.digest))
            else:
                left.append(item)
    return settled, left


def _is_nameless(item: Input) -> bool:
    return name_of(item.content).suffix.lower() not in SUFFIXES
