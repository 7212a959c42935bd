"""Splits the inputs of a run into those that are settled before parsing and those left to read.

What is done, `Store.done_keys` says: a record of this schema, read by the parts of the code that would read it now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cinnabar.extraction.documents.content.formats import SUFFIXES, format_named
from cinnabar.extraction.documents.content.inputs import content_of
from cinnabar.extraction.documents.content.parse_context import problem_message
from cinnabar.extraction.documents.inputs import Input, is_system_file
from cinnabar.extraction.plan.outcomes import OTHER_KIND, SYSTEM_FILE
from cinnabar.extraction.run.run_group import RunGroup
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.records import Outcome


def settle_inputs(inputs: Iterable[Input], finished: Run | RunGroup) -> tuple[list[Outcome], list[Input]]:
    """Returns the outcomes of inputs that need no reading, and the inputs left to read.

    The former are files of the system, unreadable, done, duplicates, or of another kind as a person said.

    A duplicate has the same bytes as an earlier path. With another suffix it may be readable where that one is not: it
    is left `instead_of` it. An unreadable input whose problem is in quarantine is done.
    """
    # By digest: the path of the first one, of the one that is to be read, and of one that settles all of these bytes.
    first, reading, whole = dict[str, str](), dict[str, str](), dict[str, str]()
    tried: set[tuple[str, str]] = set()
    settled: list[Outcome] = []
    left: list[Input] = []
    # The parser depends on the file name: of files with the same bytes, one with a known suffix comes first.
    for item in sorted(inputs, key=lambda one: content_of(one.content).name.suffix.lower() not in SUFFIXES):
        digest, kind = item.digest, (item.digest, format_named(item.path))
        if is_system_file(item.path):
            settled.append(Outcome(item.path, "skipped", SYSTEM_FILE, digest=digest))
        elif item.problem is not None:
            problem = item.problem
            if finished.known_problem(item.path, problem):
                settled.append(Outcome(item.path, "skipped", "done"))
                continue
            settled.append(Outcome(item.path, "quarantined", problem.code, problem_message(problem)))
        elif kind in tried or digest in whole:
            other = whole.get(digest, first[digest])
            settled.append(Outcome(item.path, "skipped", "duplicate", digest=digest, duplicate_of=other))
        else:
            first.setdefault(digest, item.path)
            tried.add(kind)
            if finished.is_refused(digest) or finished.done(digest):
                whole[digest] = item.path
                code = OTHER_KIND if finished.is_refused(digest) else "done"
                settled.append(Outcome(item.path, "skipped", code, digest=digest))
            elif finished.done(digest, item.path):
                settled.append(Outcome(item.path, "skipped", "done", digest=digest))
            else:
                left.append(replace(item, instead_of=reading[digest]) if digest in reading else item)
                reading.setdefault(digest, item.path)
    return settled, left
