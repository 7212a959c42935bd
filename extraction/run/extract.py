"""An extraction: it skips documents that are done by their hash, and reads, fills and commits the rest."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.request import Metered
from cinnabar.extraction.corrections.carrying import check_corrections_kept
from cinnabar.extraction.corrections.outside_rows import learned_rows
from cinnabar.extraction.corrections.waiting_commits import open_folder
from cinnabar.extraction.documents.content.inputs import Content
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input, InputSource, Location, examine, gather, path_of, source_of
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.plan.run_options import DEFAULT_OPTIONS, RunOptions
from cinnabar.extraction.reading.cost_estimate import estimate_cost
from cinnabar.extraction.reading.model_sources import LanguageSource, RemoteSource, Source
from cinnabar.extraction.reading.packets.boundaries import SEVERAL
from cinnabar.extraction.reading.planned_models import Escalation
from cinnabar.extraction.reading.progress import Progress
from cinnabar.extraction.run.batched_run import BatchedRun, Opening, Summary
from cinnabar.extraction.run.run_group import RunGroup
from cinnabar.extraction.run.splitting import settle_split, split_inputs, split_packets
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.cases import remember_cases
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.sinks.sink import check_apart
from cinnabar.extraction.store.spelling import Spelling, begin_with, remember
from cinnabar.extraction.store.store import PASSWORD_COUNT, UNAVAILABLE
from cinnabar.extraction.store.tables import printable
from cinnabar.schemas import SchemaSource
from cinnabar.wording import with_noun

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.reading.pipeline import Batch
    from cinnabar.extraction.reading.routing.routing import Routing
    from cinnabar.extraction.run.cluster.connection import Cluster


def extract(
    paths: Sequence[Location],
    source: SchemaSource,
    out: Path,
    model: Source,
    options: RunOptions = DEFAULT_OPTIONS,
    progress: Progress | None = None,
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
    assignment = Assignment(source, model, options, escalation, routing).with_examples()
    with Extraction(assignment, paths, out, progress) as extraction:
        return extraction.work_through(cluster)


class Extraction(BatchedRun):
    """A run that has begun: its inputs are hashed, done ones are skipped, and `batches` holds the rest."""

    def __init__(
        self, assignment: Assignment, paths: Sequence[Location], out: Path, progress: Progress | None = None
    ) -> None:
        super().__init__(assignment, progress)
        parsers = parser_settings(assignment.options)
        #: The source behind a server that the run asks, None if there is none.
        self._remote = next((one for one in assignment.sources if isinstance(one, RemoteSource)), None)
        self._left = self._several = 0
        self._raised = {"escalated_documents": 0, "escalated_fields": 0}
        self._settled = False
        #: The digests of the files that may be packets.
        self._packets: set[str] = set()
        listing = time.perf_counter()
        check_apart(assignment.sinks, paths)
        with ExitStack() as stack:
            items = gather(paths, out, stack, parsers.passwords, lambda text: self._progress.note(text))
            store = stack.enter_context(open_folder(out))
            stack.callback(self._end_metered)
            for part in self.assignment.parts:
                store.check_united(part.source, part.compiled_schema)
                if not assignment.options.drop_corrections:
                    check_corrections_kept(store, part.source, part.compiled_schema)
            forms = {part.source.name: part.compiled_schema.form for part in self.assignment.parts}
            if learned := learned_rows(store.out, forms):
                self.assignment = replace(self.assignment, learned=learned)
            spelled = Spelling.of(store.out)
            sources = [source_of(path) for path in paths]
            spelled.learn(one.name for one in sources if one.file is not None)
            relative = [one.name for one in sources if one.file is not None and not one.file.is_absolute()]
            if relative:
                remember(store.out, Path.cwd(), [path for path in relative if spelled(path) == path])
            if assignment.escalation is not None and assignment.escalation.named is not None:
                begin_with(store.out, assignment.escalation.named)
            between = {part.source.name: part.checks.between for part in self.assignment.parts}
            remember_cases(store.out, assignment.options.case, between)
            named = named_apart(items, spelled)
            items_of: Iterator[tuple[str, Path | Content | Input]] = iter(named.items())
            if assignment.options.split:
                kept = PageStore(store.out / PAGES)
                pool = stack.enter_context(ParserPool(assignment.options.workers, settings=parsers, pages=kept))
                items_of = split_packets(named, paths, store.out, pool, self._packets)
            chosen = list(islice(items_of, assignment.options.limit))
            names = [name for name, _ in chosen]
            about: dict[str, Any] = {"paths": [_name_of(one, spelled) for one in sources], "out": printable(str(out))}
            if assignment.options.promise:
                about["promise"] = assignment.options.promise
            if parsers.passwords:
                # Their number and nothing else of them: with another number, locked documents are tried again.
                about[PASSWORD_COUNT] = len(parsers.passwords)
            self._opening = Opening(store, names, self.assignment.fingerprint, about)
            run = self._begun()
            known = store.digests([one.prefix for one in sources if one.prefix is not None])
            settled, left = split_inputs([_with_name(examine(item, paths, known), name) for name, item in chosen], run)
            self._progress.stages({"list": time.perf_counter() - listing})
            self._settle(settled)
            self._tell_finished(left)
            self._take(left, parsers, stack)
            self._estimate()
            self._stack = stack.pop_all()

    def commit(self, batch: Batch) -> list[Outcome]:
        """Commits the outcomes of a filled batch; a second call changes nothing."""
        outcomes = super().commit(batch)
        self._left += sum(outcome.code == "budget" for outcome in outcomes)
        self._several += sum(one.record is not None and SEVERAL in one.record.flags for one in outcomes)
        self._raised["escalated_documents"] += batch.escalated.documents
        self._raised["escalated_fields"] += batch.escalated.fields
        return outcomes

    def finish(self) -> Summary:
        """Ends the run after all batches. Raises RunError if an input has no outcome."""
        if self._packets:
            settle_split(self._opening.store, self._packets, lambda text: self._progress.note(text))
        elif self._several:
            some = with_noun(self._several, "file looks like several documents", "files look like several documents")
            self._progress.note(f"{some} (flag {SEVERAL}); --split reads them one by one")
        summary = super().finish()
        whole = self.assignment.options.limit is None  # documents beyond the limit may have paid answers
        self._settled = whole and not self._left and UNAVAILABLE not in summary.reasons
        return summary

    def _tell_finished(self, left: Sequence[Input]) -> None:
        """Tells the routing which of these documents a schema has from an earlier run with another choice."""
        group, routing = self._begun(), self.assignment.routing
        if isinstance(group, RunGroup) and routing is not None:
            finished = group.find_finished({item.digest for item in left})
            if any(finished.values()):
                self.assignment = replace(self.assignment, routing=replace(routing, done=finished))

    def _estimate(self) -> None:
        """Reports the expected cost of models behind a server before the run asks them."""
        items = [item.content for batch in self.batches for item in batch]
        if not items or self._remote is None:
            return
        estimate = estimate_cost(
            items,
            max((part.compiled_schema.form for part in self.assignment.parts), key=lambda form: len(form.slots)),
            self._reader.pool,
            self._remote.served,
            self.assignment.options.context,
            at_most=self.assignment.escalation is not None or self.assignment.routing is not None,
            examples=None if self.assignment.examples is None else self.assignment.examples.examples,
        )
        self._progress.on_estimate(estimate)

    def _metered_fillers(self) -> list[Metered]:
        """Returns the loaded fillers that ask a server."""
        if self._job is None:
            return []
        fillers = [self._job.engine, *(self._job.tier.loaded_fillers if self._job.tier else ())]
        return [filler for filler in fillers if isinstance(filler, Metered)]

    def _usage(self) -> Mapping[str, Any] | None:
        """Returns the use of the one model behind a server, or of a local model for escalated fields, else None."""
        metered = self._metered_fillers()
        escalation = self.assignment.escalation
        if escalation is not None and isinstance(escalation.source, LanguageSource):
            return self._raised | {"model": Path(escalation.source.folder).name, "left": 0}
        if not metered:
            return None
        usage: dict[str, Any] = dict(metered[-1].usage()) | {"left": self._left}
        return usage | self._raised if escalation is not None else usage

    def _end_metered(self) -> None:
        metered = self._metered_fillers()
        for filler in metered:
            filler.close(self._settled)
        if self._settled and not metered and self._remote is not None:
            self._remote.settle(self.place)


def _with_name(content: Input, name: str) -> Input:
    return content if content.path == name else replace(content, path=name)


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
