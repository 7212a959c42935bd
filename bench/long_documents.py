"""Measures how far one long text harms others: time until the others are written, and time by its length.

    python -m bench.long_documents
    python -m bench.long_documents --parts parse,beside --rounds 1

`parse` times the parser on generated texts of 80 MB. `beside` runs over mixed documents alone and beside a long log,
in turn, and takes the time until the mixed documents are committed: once beside a log that is refused as too long, and
once beside one that the model reads. `length` reads a text of 16K and one of 128K tokens in turn, and tells processor
seconds, their ratio, and how far the memory rises above what the process holds before.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

from bench.mixture import mixed_documents
from bench.reporting import machine, peak_memory, start_peak, table
from cinnabar.errors import DocumentError, UsageError
from cinnabar.extraction.documents.content.document import check_length
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.model_sources import ModelSource, model_source
from cinnabar.extraction.filling.progress import NoProgress
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import begin_extraction

# The engine must set up its environment before torch is loaded (engine/__init__.py).
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas import SchemaSource, load_schema

from bench.timing import read_alone  # isort: skip
import torch  # isort: skip

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "samples"
WANTED = 1.3
#: The tokens of the texts of `length`, and the most times that the longer one may take.
LENGTHS, WANTED_LENGTH = (16_384, 131_072), 8.5
#: The schemas whose text is prose; all others read a log.
IN_PROSE = ("contract",)
_EVENTS = (
    "request GET /api/v1/items/{} took {} ms",
    "connection {} opened, {} in use",
    "job {} finished in {} s",
    "evicted {} keys, {} bytes freed",
)
_WORDS = ("the", "of", "and", "to", "in", "a", "is", "that", "it", "was", "for", "on", "are", "with", "his", "they")


def log_text(characters: int, seed: int = 0) -> str:
    """Lines of a server's log."""
    draw = random.Random(seed)
    lines, size, second = list[str](), 0, 0
    while size < characters:
        second += draw.randint(1, 30)
        when = (datetime(2024, 3, 1) + timedelta(seconds=second)).isoformat()
        level, event = draw.choice(("INFO", "WARN", "ERROR")), draw.choice(_EVENTS)
        lines.append(f"{when} {level:5} {event.format(draw.randint(1, 99999), draw.randint(1, 255))}\n")
        size += len(lines[-1])
    return "".join(lines)[:characters]


def prose(characters: int, seed: int = 0) -> str:
    """Paragraphs of short words."""
    draw = random.Random(seed)
    pieces, size = list[str](), 0
    while size < characters:
        sentence = " ".join(draw.choices(_WORDS, k=draw.randint(6, 22))).capitalize()
        pieces.append(sentence + (". " if draw.random() < 0.8 else ".\n\n"))
        size += len(pieces[-1])
    return "".join(pieces)[:characters]


def parse_report(megabytes: int) -> Iterator[str]:
    """The processor seconds that the parser takes for a text of so many MB."""
    options, rows = RunOptions(), []
    for name, written in (("log", log_text), ("prose", prose)):
        data = written(megabytes * 1_000_000).encode()
        begin = time.process_time()
        document, said = parse(data, "long.txt"), "passes"
        try:
            check_length(document, options.max_tokens)
        except DocumentError as error:
            said = error.code
        rows.append((f"{name}, {megabytes} MB", f"{time.process_time() - begin:.2f}", said))
    yield "## The parser on a long text"
    yield table(("text", "seconds", "bound of tokens"), rows)


class _Enough(Exception):
    """The mixed documents are committed."""


class _Until(NoProgress):
    """Ends the run once these documents are committed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._left = set(names)

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Counts the documents off."""
        self._left -= {Path(outcome.path).name for outcome in outcomes}
        if not self._left:
            raise _Enough


def _seconds(
    docs: Sequence[Path], until: Sequence[str], source: SchemaSource, out: Path, model: ModelSource
) -> tuple[float, float]:
    """The seconds until the documents of these names are committed: by the clock, and of this process's processor."""
    begin, processor = time.perf_counter(), time.process_time()
    try:
        assignment = Assignment(source, model, RunOptions(on_missing="guess"))
        with begin_extraction(assignment, docs, out, _Until(until)) as run:
            run.work_through()
    except _Enough:
        pass
    return time.perf_counter() - begin, time.process_time() - processor


def beside_report(model: ModelSource, source: SchemaSource, count: int, megabytes: int, rounds: int) -> Iterator[str]:
    """The seconds until `count` documents are committed, alone and beside a long log."""
    taken: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        docs, names = root / "docs", list[str]()
        docs.mkdir()
        for document in mixed_documents(SAMPLES, count):
            (docs / document.name).write_bytes(document.data)
            names.append(document.name)
        others: dict[str, list[Path]] = {"alone": []}
        for name, characters in ((f"beside {megabytes} MB", megabytes * 1_000_000), ("beside 1 MB", 1_000_000)):
            # The long text comes first: its folder is named first, and its name sorts before all others.
            others[name] = [root / f"{characters}" / "0.txt"]
            others[name][0].parent.mkdir()
            others[name][0].write_text(log_text(characters))
        for number in range(rounds):
            for name, long in others.items():
                out = root / f"out {name} {number}"
                taken.setdefault(name, []).append(_seconds([*long, docs], names, source, out, model))
                clock, processor = taken[name][-1]
                print(f"{name}: {clock:.1f} s, {processor:.1f} of the processor", file=sys.stderr, flush=True)
    rows = []
    for name, found in taken.items():
        cells = [name]
        for clock in (0, 1):
            mine, own = (median(one[clock] for one in of_way) for of_way in (found, taken["alone"]))
            cells += [f"{mine:.1f}", f"{mine / own:.2f}"]
        rows.append(cells)
    yield f"## Until {count} documents are committed, and of their own time: median of {rounds}, at most {WANTED}"
    yield table(("", "seconds", "ratio", "processor seconds", "ratio"), rows)


def sized(written: Callable[[int], str], tokens: int, count: Callable[[str], int]) -> str:
    """Returns a text of about so many tokens."""
    text = written(8 * tokens)
    for _ in range(2):
        text = text[: len(text) * tokens // count(text)]
    return text


def length_report(model: ModelSource, schemas: Sequence[str], rounds: int) -> Iterator[str]:
    """The processor seconds and the most memory for one text of 16K and of 128K tokens, measured in turn."""
    loaded, rows = model.load(), []
    for schema in schemas:
        written, name = (prose, "prose") if schema in IN_PROSE else (log_text, "log")
        texts = [sized(written, tokens, loaded.count_tokens) for tokens in LENGTHS]
        # The first document of a schema compiles it and asks its questions.
        read_alone(loaded, "medium", schema, texts[0][:2000])
        taken: list[list[float]] = [[] for _ in texts]
        grown: list[list[float]] = [[] for _ in texts]
        values = [0 for _ in texts]
        for _ in range(rounds):
            for at, text in enumerate(texts):
                before, begin = start_peak(), time.process_time()
                outcome, _ = read_alone(loaded, "medium", schema, text)
                taken[at].append(time.process_time() - begin)
                grown[at].append(peak_memory() - before)
                values[at] = len(outcome.record.leaves) if outcome.record else 0
                print(f"{schema}: {LENGTHS[at]} tokens, {taken[at][-1]:.1f} s", file=sys.stderr, flush=True)
        ratio = median(b / a for a, b in zip(*taken, strict=True))
        for at, tokens in enumerate(LENGTHS):
            seconds, more = median(taken[at]), median(grown[at])
            shown = f"{ratio:.2f}" if at else ""
            rows.append((schema, name, f"{tokens:,}", f"{seconds:.1f}", shown, str(values[at]), f"{more:.0f}"))
    yield f"## One text of 128K tokens against one of 16K: medians of {rounds} in turn, at most {WANTED_LENGTH}"
    yield table(("schema", "text", "tokens", "processor seconds", "times", "values", "MiB more at the peak"), rows)


def main() -> None:
    """Measures the chosen parts and prints the report."""
    p = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    p.add_argument("--parts", default="parse,beside,length", help="parts of the report")
    p.add_argument("--documents", type=int, default=36, help="documents beside the long one")
    p.add_argument("--megabytes", type=int, default=80, help="length of the text that is refused")
    p.add_argument("--rounds", type=int, default=3, help="times that each way is measured, in turn")
    p.add_argument("--schema", default="receipt", help="schema of all documents")
    p.add_argument("--schemas", default="contract,event", help="schemas of the part `length`")
    p.add_argument("--threads", type=int, default=1, help="threads of the model")
    a = p.parse_args()
    if min(a.documents, a.megabytes, a.rounds, a.threads) < 1:
        raise UsageError("--documents, --megabytes, --rounds, --threads: expected at least 1")
    found = model_source("default", "cpu")
    assert isinstance(found, ModelSource)
    torch.set_num_threads(a.threads)
    loaded = found.load()
    model = replace(found, encodings=0, load=lambda: loaded)
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "parse": lambda: parse_report(a.megabytes),
        "beside": lambda: beside_report(model, load_schema(a.schema), a.documents, a.megabytes, a.rounds),
        "length": lambda: length_report(model, a.schemas.split(","), a.rounds),
    }
    chosen = a.parts.split(",")
    if unknown := [part for part in chosen if part not in parts]:
        raise UsageError(f"--parts: expected some of {', '.join(parts)}, got {unknown[0]!r}")
    print(machine(loaded), flush=True)
    for part in chosen:
        for line in parts[part]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
