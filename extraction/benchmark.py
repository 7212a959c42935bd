"""How fast each stage is, and what the constraint, more steps and a shorter context cost or gain.

    python -m cinnabar.extraction.benchmark --documents 2000
    python -m cinnabar.extraction.benchmark --parts context --sets SET… --context 2000

Prints tables in Markdown, below a line on the machine, for `docs/results.md`. Each stage is timed by itself,
one after the other; a real run parses while it fills. With a GPU the times of encode, rows and score are
those of launching them, and what they take on the device shows where the next stage waits for it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

# Torch comes with the engine, which has a word to say before it is loaded (engine/__init__.py).
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import Model
from cinnabar.engine.models.loading import load_model
from cinnabar.engine.request import Request
from cinnabar.engine.scan_speed import scan_speed
from cinnabar.engine.training.generator import generate
from cinnabar.extraction.documents import Document
from cinnabar.extraction.evaluation import find_sets
from cinnabar.extraction.experiments import OpenSet, answer_rows, context_rows, steps_rows
from cinnabar.extraction.ingest import parse
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.mixture import MixedDocument, mixed_documents
from cinnabar.extraction.pipeline import Job, Read, run_batch
from cinnabar.extraction.planning import passage_of
from cinnabar.extraction.rates import FIELDS, TOKENS, rate
from cinnabar.extraction.storage.store import Store
from cinnabar.extraction.validation import Validator, Violation
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.errors import DocumentError, UsageError
from cinnabar.schemas.library import LIBRARY

BATCH = 16
#: Counts of steps that are compared.
STEPS = (1, 2, 4, 8, 16)
#: Least posteriors of a value that may be absent.
ANSWERS = (0.1, 0.2, 0.3, 0.4, 0.5)
#: Parts that are measured only where they are named.
APART = ("answer", "long")
#: Tokens of the long document: three times the default model's context and a bit.
LONG = 400_000
ENGINE_STAGES = ("encode", "rows", "score", "constrain", "commit")


class Clock:
    """Seconds spent in each stage so far."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Count the block's seconds for this stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begin


class TimedValidator(Validator):
    """The judge of records, with its time counted."""

    clock: Clock

    def check(self, record_text: str) -> list[Violation]:
        """As the judge's own."""
        with self.clock.time("validate"):
            return super().check(record_text)


def throughput(model: Model, documents: Sequence[MixedDocument], effort: str, workers: int) -> Iterator[str]:
    """Documents/s of each stage over these documents."""
    clock = Clock()
    engine = Engine(model, effort)
    outcomes: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = [root / "documents" / document.kind / document.name for document in documents]
        for document, path in zip(documents, paths, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(document.data)
        with ParserPool(workers) as pool:
            list(pool.parse_many(paths[: 2 * workers]))  # so that the workers are warm
            with clock.time("ingest"):
                parsed = [found for _, found in pool.parse_many(paths)]
        reads = {kind: list[Read]() for kind in LIBRARY}
        for document, path, found in zip(documents, paths, parsed, strict=True):
            digest = hashlib.sha256(document.data).hexdigest()
            reads[document.kind].append(Read(str(path), digest, found))
        done = 0
        for kind, all_of_kind in reads.items():
            source = load_schema(kind)
            compiled = compile_schema(source.schema)
            validator = TimedValidator(source)
            validator.clock = clock
            job = Job(compiled, engine, validator)
            with Store.open(root / "out") as store:
                run = store.begin_run(source, compiled, "benchmark", {})
                for start in range(0, len(all_of_kind), BATCH):
                    batch = all_of_kind[start : start + BATCH]
                    with clock.time("all of filling"):
                        filled = run_batch(batch, job)
                    with clock.time("store"):
                        run.commit_batch(filled.outcomes)
                    for outcome in filled.outcomes:
                        ended = " ".join(filter(None, (outcome.status, outcome.code)))
                        outcomes[ended] = outcomes.get(ended, 0) + 1
                    done += len(batch)
                    print(f"\r{done} of {len(documents)} documents", end="", file=sys.stderr, flush=True)
                with clock.time("store"):
                    run.finish()
        print(file=sys.stderr)
    filling = clock.seconds.pop("all of filling")
    stages = {"ingest": clock.seconds["ingest"]} | {name: engine.timings[name] for name in ENGINE_STAGES}
    stages["validate"] = clock.seconds.get("validate", 0.0)
    stages["cut, merge, evidence"] = filling - sum(engine.timings.values()) - stages["validate"]
    stages["store"] = clock.seconds["store"]
    total = sum(stages.values())
    yield f"## {len(documents)} documents by stage, effort {effort}, {workers} parsers"
    yield ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    rows = [(name, f"{s:.2f}", f"{len(documents) / s:.1f}", f"{s / total:.1%}") for name, s in stages.items()]
    rows.append(("all, one after the other", f"{total:.2f}", f"{len(documents) / total:.1f}", "100.0%"))
    yield table(("stage", "seconds", "documents/s", "share"), rows)
    yield f"Peak memory of the main process: {_peak_memory()} MiB."


def constraint(model: Model, samples: Path, effort: str, repeat: int = 2) -> Iterator[str]:
    """The parts of a denoising step over batches of 16 documents: one batch of all kinds, and one of each."""
    of_kind = {kind: _requests(samples, kind) for kind in LIBRARY}
    turns = max(map(len, of_kind.values()))
    mixed = [found[turn] for turn in range(turns) for found in of_kind.values() if turn < len(found)]
    engine = Engine(model, effort, token_budget=1 << 30)
    engine.fill([found[0] for found in of_kind.values()])  # so that automata are lifted and forms are read
    rows = []
    for name, requests in {"all kinds": mixed, **of_kind}.items():
        batch = [requests[number % len(requests)] for number in range(BATCH)]
        engine.timings = dict.fromkeys(engine.timings, 0.0)
        steps = 0

        def count(step: int, _: list[str]) -> None:
            nonlocal steps
            steps += step > 0

        for _ in range(repeat):
            engine.fill(batch, count)
        parts = [engine.timings[part] for part in ("score", "constrain", "commit")]
        slots = sum(len(request.form.slots) for request in batch)
        steps = max(1, steps)
        milliseconds = [f"{part / steps * 1000:.1f}" for part in parts]
        share = f"{parts[1] / sum(parts):.1%}"
        rows.append((name, str(slots), f"{steps / repeat:.1f}", *milliseconds, share))
    yield f"## A denoising step over {BATCH} documents, effort {effort}: milliseconds"
    head = ("batch", "slots of its forms", "steps", "score", "constrain", "commit", "share of the constraint")
    yield table(head, rows)


def scan_report(model: Model) -> Iterator[str]:
    """The constrained pass over many slots at once, against the plain ways, in one run."""
    found = scan_speed(model.device)
    yield (
        f"{found.slots} slots of {found.positions} positions, {found.edges} edges in all, {found.fewest} of "
        "the smallest automaton, milliseconds:"
    )
    rows = (
        ("posterior and witness", found.at_once, "one slot after the other", found.one_by_one),
        ("token classes", found.classes, "a mask over the vocabulary for each class", found.masks),
    )
    yield table(
        ("what", "all at once", "plain way", "milliseconds", "ratio"),
        [
            (what, f"{fast:.1f}", plain, f"{slow:.1f}", f"{slow / fast:.1f}")
            for what, fast, plain, slow in rows
        ],
    )


def steps_report(model: Model, sets: Sequence[OpenSet]) -> Iterator[str]:
    """The table of steps."""
    yield "## Steps"
    rows = []
    for r in steps_rows(model, sets, STEPS):
        changes = (f"{r.reopened:.2f}", f"{r.corrected}", f"{r.spoiled}")
        rows.append((f"{r.steps}", f"{r.f1:.4f}", *changes, f"{r.seconds:.1f}"))
    head = ("steps", "F1", "re-openings per record", "errors it corrected", "errors it made", "seconds")
    yield table(head, rows)
    yield f"Over {', '.join(one.labelled.name for one in sets)}; F1 is the mean of the sets."


def answer_report(model: Model, sets: Sequence[OpenSet]) -> Iterator[str]:
    """The table of what caution costs and saves."""
    yield "## From which posterior on a value is given"
    figures = ("answer", "f1", "precision", "recall", "invented")
    rows = [[f"{getattr(row, name):.4g}" for name in figures] for row in answer_rows(model, sets, ANSWERS)]
    yield table(figures, rows)
    yield f"Over {', '.join(one.labelled.name for one in sets)}; means of the sets."


def context_report(model: Model, sets: Sequence[OpenSet], context: int, effort: str) -> Iterator[str]:
    """The table of contexts."""
    yield f"## Context of {context} tokens instead of {model.context_tokens}"
    rows = []
    for r in context_rows(model, sets, context, effort):
        figures = (f"{r.whole:.4f}", f"{r.short:.4f}", f"{r.short - r.whole:+.4f}")
        rows.append((r.name, f"{r.documents}", f"{r.cut}", *figures))
    yield table(("set", "documents", "cut", "F1, whole", "F1, cut", "difference"), rows)


def long_report(model: Model, effort: str) -> Iterator[str]:
    """What becomes of a document of LONG tokens."""
    pieces, tokens = list[str](), 0
    for example in generate(0):
        pieces.append(example.text)
        tokens += model.count_tokens(example.text)
        if tokens >= LONG:
            break
    data = "\n\n".join(pieces).encode()
    document = parse(data, "long.txt")
    source = load_schema("event")
    job = Job(compile_schema(source.schema), Engine(model, effort), Validator(source), "guess")
    begin = time.perf_counter()
    outcome = run_batch([Read("long.txt", document.digest, document)], job).outcomes[0]
    seconds = time.perf_counter() - begin
    yield f"## A document of {model.count_tokens(document.text)} tokens"
    yield f"{outcome.status} {outcome.code} after {seconds:.1f} s; peak memory {_peak_memory()} MiB."


def rate_report(model: Model, effort: str) -> Iterator[str]:
    """Whole fills against the encoder alone, with the threads that there are."""
    found = rate(model, effort)
    fields = len(FIELDS["properties"])
    yield f"## {found.documents} documents of {TOKENS} tokens, {fields} fields, effort {effort}"
    yield (
        f"{found.filled:.1f} documents/s, {found.encoded:.1f} by the encoder alone, ratio "
        f"{found.filled / found.encoded:.2f}; {found.steps} steps (median)."
    )


def machine(model: Model) -> str:
    """Where and when this was measured."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.processor() or platform.machine()
    device = torch.cuda.get_device_name() if model.device.type == "cuda" else "cpu"
    return (
        f"{date.today()}, commit {_commit()}, {cpu}, {os.cpu_count()} cores, "
        f"{torch.get_num_threads()} threads, device {device}, torch {torch.__version__}, "
        f"Python {platform.python_version()}, model {model.fingerprint}"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _requests(samples: Path, kind: str) -> list[Request]:
    """The readable samples of a kind as requests for its schema."""
    form = compile_schema(load_schema(kind).schema).form
    found = []
    for path in sorted((samples / kind / "docs").glob("*")):
        try:
            document: Document = parse(path.read_bytes(), path.name)
        except DocumentError:
            continue
        found.append(Request(f"{kind}/{path.name}", form, passage_of(document)))
    return found


def _peak_memory() -> int:
    """MiB; Linux counts in KiB, macOS in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most >> (20 if sys.platform == "darwin" else 10)


def _commit() -> str:
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=Path(__file__).resolve().parent, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and print it as it comes."""
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "throughput": lambda: throughput(model, documents(), a.effort, a.workers),
        "constraint": lambda: constraint(model, a.samples, a.effort),
        "scan": lambda: scan_report(model),
        "steps": lambda: steps_report(model, sets()),
        "answer": lambda: answer_report(model, sets()),
        "context": lambda: context_report(model, sets(), a.context, a.effort),
        "long": lambda: long_report(model, a.effort),
        "rate": lambda: rate_report(model, a.effort),
    }
    p = argparse.ArgumentParser(
        prog="python -m cinnabar.extraction.benchmark", description=(__doc__ or "").split("\n")[0]
    )
    p.add_argument("--parts", nargs="+", choices=parts, default=[part for part in parts if part not in APART])
    p.add_argument("--documents", type=int, default=2000, help="mixed documents of `throughput`")
    p.add_argument("--samples", type=Path, default=Path("data/samples"), help="folder of the sample sets")
    p.add_argument("--sets", type=Path, nargs="+", help="labelled sets of `steps`, `answer`, `context`")
    p.add_argument("--limit", type=int, help="documents of each set")
    p.add_argument("--context", type=int, default=2000, help="tokens of the shorter context")
    p.add_argument("--model", default="default")
    p.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    p.add_argument("--effort", default="medium")
    p.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="parser processes")
    p.add_argument("--threads", type=int, help="threads of torch; its own choice where not given")
    a = p.parse_args(arguments)
    if a.threads:
        import torch

        torch.set_num_threads(a.threads)

    def documents() -> list[MixedDocument]:
        return list(mixed_documents(a.samples, a.documents))

    opened: list[OpenSet] = []

    def sets() -> list[OpenSet]:
        if not opened:
            found = [one for folder in a.sets or [a.samples] for one in find_sets(folder)]
            opened.extend(OpenSet(one.select(limit=a.limit)) for one in found)
        return opened

    try:
        model = load_model(a.model, a.device)
        print(machine(model))
        for part in a.parts:
            for text in parts[part]():
                print(f"\n{text}", flush=True)
    except UsageError as problem:
        raise SystemExit(f"benchmark: {problem}") from None


if __name__ == "__main__":
    main()
