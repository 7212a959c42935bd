"""Which inputs of a run are settled before any is parsed, and which are left to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from cinnabar.extraction.ingest import SUFFIXES
from cinnabar.extraction.inputs import Input
from cinnabar.extraction.storage.records import Outcome


def sift(inputs: Iterable[Input], done: Callable[[str], bool]) -> tuple[list[Outcome], list[Input]]:
    """The outcomes of what cannot be read, is done, or has the same bytes as an earlier path; and the rest.

    `done` says whether the document with this digest is done.
    """
    first: dict[str, str] = {}
    settled: list[Outcome] = []
    left: list[Input] = []
    # What a file is may depend on its name: of the same bytes, a name that a parser knows comes first.
    for item in sorted(inputs, key=_is_nameless):
        if item.problem is not None:
            problem = item.problem
            settled.append(Outcome(item.path, "quarantined", problem.code, problem.detail))
        elif item.digest in first:
            other = first[item.digest]
            settled.append(Outcome(item.path, "skipped", "duplicate", digest=item.digest, duplicate_of=other))
        else:
            first[item.digest] = item.path
            if done(item.digest):
                settled.append(Outcome(item.path, "skipped", "done", digest=item.digest))
            else:
                left.append(item)
    return settled, left


def _is_nameless(item: Input) -> bool:
    return isinstance(item.content, Path) and item.content.suffix.lower() not in SUFFIXES
