"""Reads mutated files of every kind in real parser processes, and counts the outcomes by code.

    python -m bench mutation_report                                        1,000 files of each kind
    python -m bench mutation_report --kind pdf --count 20000
    python -m bench mutation_report --kind pdf --show 123 > 123.pdf

The seeds are small files that `mutation_seeds` builds. File N of a kind depends on the seeds, `--seed` and N alone. The
report fails on an error of the run itself, on an unknown code or flag, on a file without an outcome, and on one beyond
the bound.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Unanswered
from dataclasses import dataclass, field
from pathlib import PurePath

from bench.mutation_seeds import KINDS, PASSWORD, seeds_of
from bench.mutations import mutated
from bench.reporting import table
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import Sent
from cinnabar.extraction.documents.content.parse_context import FLAGS, ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.plan.outcomes import UNREADABLE

#: Codes that tell of a parser that was ended, or that failed: they name the files to look at.
NOTED = ("worker_died", "timeout", "memory", "parser_error")
_SETTINGS = ParserSettings(passwords=(PASSWORD,), ocr="never", hidden=True)


@dataclass(slots=True)
class Outcomes:
    """The outcomes of one kind.

    noted: files whose parser ended or failed, each `number seed: code detail`. faults: what the report fails on.
    """

    counts: Counter[str] = field(default_factory=Counter)
    noted: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, number: int, name: str, code: str, detail: str) -> None:
        """Counts one file."""
        self.counts[code] += 1
        told = f"{number} {name}: {code} {detail}".rstrip()
        if code in NOTED:
            self.noted.append(told)
        if code != "document" and code not in UNREADABLE:
            self.faults.append(told)


class Mutations:
    """The mutated files of one kind, by number."""

    def __init__(self, kind: str, seed: int, seeds: dict[str, bytes]) -> None:
        if not seeds:
            raise ValueError(f"expected seeds of the kind {kind}, got none")
        self.kind, self.seed, self.seeds = kind, seed, seeds
        self.names, self.all = list(seeds), list(seeds.values())

    def name(self, number: int) -> str:
        """Returns the seed of a file; they take turns."""
        return self.names[number % len(self.names)]

    def file(self, number: int) -> bytes:
        """Returns the bytes of a file."""
        name = self.name(number)
        return mutated(name, self.seeds[name], self.all, random.Random(f"{self.seed} {self.kind} {number}"))


def code_of(found: Document | DocumentError) -> tuple[str, str]:
    """Returns the code of an outcome, "document" for one that was read, and its detail."""
    if isinstance(found, DocumentError):
        return found.code, (str(found)[:120] if found.code in NOTED else "")
    unknown = sorted(set(found.flags) - set(FLAGS))
    return (f"unknown flags {', '.join(unknown)}", "") if unknown else ("document", "")


def read(files: Mutations, numbers: Sequence[int], workers: int, limit: float) -> Iterator[tuple[int, str, str]]:
    """Yields number, code and detail of each file, in order. Raises TimeoutError for one beyond every bound."""
    waiting: list[tuple[int, Future[Document | DocumentError]]] = []
    ahead = 4 * workers
    # A file has two tries, and waits for those before it; a worker starts within some seconds.
    bound = (ahead + 1) * (2 * limit + 20)

    def first() -> tuple[int, str, str]:
        number, future = waiting.pop(0)
        try:
            return number, *code_of(future.result(bound))
        except Unanswered as error:
            raise TimeoutError(f"{files.kind} {number}: no outcome within {bound:g} s") from error

    with ParserPool(workers, time_limit=limit, settings=_SETTINGS) as pool:
        for number in numbers:
            suffix = PurePath(files.name(number)).suffix
            waiting.append((number, pool.submit(Sent(PurePath(f"{number}{suffix}"), files.file(number)))))
            if len(waiting) >= ahead:
                yield first()
        while waiting:
            yield first()


def run(files: Mutations, count: int, workers: int, limit: float) -> Outcomes:
    """Reads the files 0 to `count`."""
    found, begun = Outcomes(), time.monotonic()
    try:
        for number, code, detail in read(files, range(count), workers, limit):
            found.add(number, files.name(number), code, detail)
            if number % 500 == 499:
                print(f"{files.kind}: {number + 1} of {count}", file=sys.stderr, flush=True)
    except TimeoutError as error:
        found.faults.append(str(error))
    found.seconds = time.monotonic() - begun
    if missing := count - found.counts.total():
        found.faults.append(f"{files.kind}: {missing} files without an outcome, the first is {count - missing}")
    return found


def shown(found: dict[str, Outcomes]) -> Iterator[str]:
    """Yields the lines of the report."""
    codes = sorted({code for one in found.values() for code in one.counts}, key=lambda code: (code != "document", code))
    rows = [(code, *(f"{one.counts[code]:,}" for one in found.values())) for code in codes]
    rows.append(("all", *(f"{one.counts.total():,}" for one in found.values())))
    rows.append(("seconds of this run", *(f"{one.seconds:.0f}" for one in found.values())))
    yield table(("outcome", *found), rows)
    for kind, one in found.items():
        for told in itertools.islice(one.noted, 40):
            yield f"- {kind} {told}"
        for told in one.faults:
            yield f"- FAULT {kind} {told}"


def main(arguments: Sequence[str]) -> int:
    """Prints the report and returns 1 if it found a fault."""
    parser = argparse.ArgumentParser(
        prog="mutation_report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=tuple(KINDS), action="append")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for one try of a file")
    parser.add_argument("--show", type=int, help="write this file of the kind to standard output, and read none")
    said = parser.parse_args(arguments)
    kinds = said.kind or list(KINDS)
    files = [Mutations(kind, said.seed, seeds_of(kind)) for kind in kinds]
    if said.show is not None:
        if len(files) != 1:
            parser.error("--show: expected one --kind")
        sys.stdout.buffer.write(files[0].file(said.show))
        return 0
    found = {one.kind: run(one, said.count, said.workers, said.limit) for one in files}
    print("\n".join(shown(found)))
    return int(any(one.faults for one in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
