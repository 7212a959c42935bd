"""An extraction: it skips documents that are done by their hash, and reads, fills and commits the rest."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.extraction.documents.content.inputs import Content
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input, InputSource, Location, examine, gather, path_of, source_of
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.cost_estimate import estimate_cost
from cinnabar.extraction.filling.model_sources import RemoteSource, Source
from cinnabar.extraction.filling.packets.boundaries import SEVERAL
from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.plan.run_options import DEFAULT_OPTIONS, RunOptions
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.run.batches import Batches
from cinnabar.extraction.run.commits import Commits, open_output
from cinnabar.extraction.run.packets import settle_split, split_packets
from cinnabar.extraction.run.renamed_records import bring_along
from cinnabar.extraction.run.run_group import RunGroup
from cinnabar.extraction.run.settled_inputs import settle_inputs
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.spelling import ARGUMENTS, Spelling, begin_with, remember
from cinnabar.extraction.store.store import PASSWORD_COUNT, Store
from cinnabar.extraction.store.tables import printable
from cinnabar.schemas import SchemaSource
from cinnabar.wording import with_noun

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.routing.routing import Routing
    from cinnabar.extraction.run.cluster.connection import Cluster


def extract(
    paths: Sequence[Location],
    source: SchemaSource,
    out: Path,
    model: Source,
    options: RunOptions = DEFAULT_OPTIONS,
    progress: ProgressListener | None = None,
    escalation: Escalation | None = None,
    cluster: Cluster | None = None,
    routing: Routing | None = None,
) -> Summary:
    """Extracts all documents of these files, folders and mailboxes with this schema into the output folder.

    With an `escalation` a stronger model fills the values that the model is not sure of. With a `cluster` its machines
    do the work; the written records are the same. With a `routing`, of which `source` is the first schema, each
    document gets the schema that fits, or none. Raises UsageError before any work begins if the arguments do not go
    together. Raises RunError if the run fails; committed batches are kept, and the same call continues.
    """
    assignment = Assignment(source, model, options, escalation, routing).read_examples()
    with begin_extraction(assignment, paths, out, progress) as run:
        return run.work_through(cluster)


def begin_extraction(
    assignment: Assignment, paths: Sequence[Location], out: Path, progress: ProgressListener | None = None
) -> BatchedRun:
    """Returns a run that has begun: its inputs are hashed, done ones are skipped, and its batches hold the rest.

    Raises UsageError before any work begins if the arguments do not go together, or another process is writing.
    """
    assignment.check_parts()
    progress = progress or ProgressListener()
    parsers = parser_settings(assignment.options)
    with ExitStack() as stack:
        items = gather(paths, out, stack, parsers.passwords, lambda text: progress.note(text))
        store = open_output(assignment, out, stack)
        for part in assignment.parts:
            bring_along(store, part, progress)
        sources = [source_of(path) for path in paths]
        spelled = _remember_beginning(store, assignment, sources)
        named, packets = named_apart(items, spelled), set[str]()
        documents: Iterable[tuple[str, Path | Content | Input]] = named.items()
        if assignment.options.split:
            pages = PageStore(store.out / PAGES)
            pool = stack.enter_context(ParserPool(assignment.options.workers, settings=parsers, pages=pages))
            documents = split_packets(named, paths, store.out, pool, packets)
        chosen = [*islice(documents, assignment.options.limit)]
        about: dict[str, Any] = {"paths": [_name_of(one, spelled) for one in sources], "out": printable(str(out))}
        if parsers.passwords:
            # Their number and nothing else of them: with another number, locked documents are tried again.
            about[PASSWORD_COUNT] = len(parsers.passwords)
        commits = Commits(assignment, progress, store, [name for name, _ in chosen], assignment.fingerprint, about)
        known = store.digests([one.prefix for one in sources if one.prefix is not None])
        examined = [replace(examine(item, paths, known), path=name) for name, item in chosen]
        settled, left = settle_inputs(examined, commits.begin())
        commits.settle(settled)
        _note_read_again(commits, assignment, left)
        assignment = _with_finished(assignment, commits, left)
        batches = stack.enter_context(Batches(left, assignment, parsers, store.out))
        _estimate(assignment, batches, progress)
        run = BatchedRun(assignment, commits, batches, ending=lambda: _end_packets(commits, packets))
        return run.closing(stack)


def _remember_beginning(store: Store, assignment: Assignment, sources: Sequence[InputSource]) -> Spelling:
    """Stores how the folder's runs spell paths and which model they began with; returns the spelling of its inputs."""
    spelled = Spelling.of(store.out, store.ask(ARGUMENTS))
    files = [one for one in sources if one.file is not None]
    spelled.learn(one.name for one in files)
    relative = [one.name for one in files if one.file is not None and not one.file.is_absolute()]
    if relative:
        remember(store.out, Path.cwd(), [path for path in relative if spelled(path) == path])
    if assignment.escalation is not None and assignment.escalation.named is not None:
        begin_with(store.out, assignment.escalation.named, assignment.escalation.threshold)
    return spelled


def _note_read_again(commits: Commits, assignment: Assignment, left: Sequence[Input]) -> None:
    """Tells of documents that have a record, but none that today's rules, model, options and schema would make."""
    digests = {item.digest for item in left}
    recorded = [commits.store.recorded_documents(part.source.name) for part in assignment.parts] if digests else []
    if again := len(digests.intersection(set().union(*recorded))):
        have = with_noun(again, "document has a record", "documents have a record")
        commits.progress.note(f"{have} of other rules, another model, schema or options: read again")


def _with_finished(assignment: Assignment, commits: Commits, left: Sequence[Input]) -> Assignment:
    """Returns the assignment, whose routing knows what a schema has from an earlier run with another choice."""
    group, routing = commits.begin(), assignment.routing
    if isinstance(group, RunGroup) and routing is not None:
        finished = group.find_finished({item.digest for item in left})
        if any(finished.values()):
            return replace(assignment, routing=replace(routing, done=finished))
    return assignment


def _estimate(assignment: Assignment, batches: Batches, progress: ProgressListener) -> None:
    """Reports the expected cost of models behind a server before the run asks them."""
    items = [item.content for batch in batches for item in batch]
    server = next((one for one in assignment.sources if isinstance(one, RemoteSource)), None)
    if not items or server is None:
        return
    estimate = estimate_cost(
        items,
        max((part.compiled_schema.form for part in assignment.parts), key=lambda form: len(form.slots)),
        batches.pool,
        server.served,
        assignment.options.context,
        at_most=assignment.escalation is not None or assignment.routing is not None,
        examples=None if assignment.examples is None else assignment.examples.examples,
    )
    progress.on_estimate(estimate)


def _end_packets(commits: Commits, packets: Collection[str]) -> None:
    """Leaves in the views what packets were split into, or tells of files that should be."""
    if packets:
        settle_split(commits.store, packets, lambda text: commits.progress.note(text))
    elif commits.several:
        some = with_noun(commits.several, "file looks like several documents", "files look like several documents")
        commits.progress.note(f"{some} (flag {SEVERAL}); --split reads them one by one")


def _name_of(source: InputSource, spelled: Spelling) -> str:
    return printable(source.name if source.file is None else spelled(source.name))


# Names the inputs of a run: each has one of its own, even if its path is spelled like that of another.


def named_apart(
    items: Iterable[Path | Content | Input], spelled: Callable[[str], str]
) -> dict[str, Path | Content | Input]:
    """Returns the inputs by the paths that their outcomes carry; a second one of a path has a number behind it.

    Two spellings of one path are one input. An input of an earlier run keeps its path.
    """
    named: dict[str, Path | Content | Input] = {}
    # As they are stored: paths of other letters may be equal there.
    taken: set[str] = set()
    alike: dict[str, list[Path | Content | Input]] = defaultdict(list)
    for item in items:
        path = item.path if isinstance(item, Input) else spelled(path_of(item))
        others = alike[printable(path)]
        if others and _place(item) in map(_place, others):
            continue
        others.append(item)
        names = chain([path], (f"{path}#same={number}" for number in count(2)))
        name = next(one for one in names if printable(one) not in taken)
        taken.add(printable(name))
        named[name] = item
    return named


def _place(item: Path | Content | Input) -> tuple[object, ...]:
    """Returns what tells an input from all others of its spelled path: its kind, and where it lies."""
    at = f"{item.path} {item.digest}" if isinstance(item, Input) else os.path.realpath(path_of(item))
    return type(item), at, getattr(item, "inner", "")
