"""Fills a stored document once more and shows each denoising step; nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.request import OverEngine
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.batch_reader import BatchReader
from cinnabar.extraction.filling.model_sources import MODEL_FOLDER, LanguageSource, ModelSource, model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.store.names import resolve_name
from cinnabar.extraction.store.reading import connect, show
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.schemas import SchemaSource

# Torch takes seconds to import; a document that is gone is told before.
if TYPE_CHECKING:
    from cinnabar.engine.fill.engine import Engine, FormState
    from cinnabar.engine.language.engine import LanguageEngine
    from cinnabar.engine.request import Request, Result


@dataclass(frozen=True, slots=True)
class WatchedStep:
    """A document's form after a denoising step.

    `step` counts from 0, the state before the first step, anew in each `passage` of a long document (from 1). `record`
    is a whole JSON text that the schema allows; of a passage it has the values of this passage alone. `committed` are
    the pointers of the values that the step committed, `doubted` of those that it opened again. `confidence` maps
    pointers to the model's own probability so far. The last step is `final`: the record that a run would store, with
    the calibrated confidence; it is missing if there is none.
    """

    step: int
    record: str
    committed: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()
    confidence: Mapping[str, float] = field(default_factory=dict)
    passage: int = 1
    final: bool = False


#: Receives each step as soon as it is taken.
Tell = Callable[[WatchedStep], None]


class _Followed(OverEngine):
    """Fills the passages of a document one after another and tells each step.

    `passage` counts the passages so far, `steps` the states of the last one.
    """

    _engine: Engine | LanguageEngine

    def __init__(self, engine: Engine | LanguageEngine, tell: Tell) -> None:
        self._engine, self._tell = engine, tell
        self.passage = self.steps = 0

    def fill(self, requests: Sequence[Request]) -> list[Result]:
        """Returns a result for each passage."""
        results: list[Result] = []
        for request in requests:
            self.passage += 1
            results += self._engine.fill([request], watcher=self._follow)
        return results

    def _follow(self, state: FormState) -> None:
        self.steps = state.step + 1
        told = (state.step, state.record, state.committed, state.doubted, state.confidence, self.passage)
        self._tell(WatchedStep(*told))


@dataclass(frozen=True, slots=True)
class _Stored:
    """A document in the folder: its paths, the schema, and the arguments of the run that read it."""

    digest: str
    paths: tuple[str, ...]
    size: int | None
    source: SchemaSource
    arguments: Mapping[str, Any]


def watch(
    out: Path,
    document: str,
    schema_name: str | None,
    tell: Tell,
    *,
    model: str | None = None,
    device: str = "auto",
) -> Outcome:
    """Fills a stored document as its run did, tells each step, and returns the outcome that a run would store.

    `document` is named as for `cinnabar show`; without a `schema_name` the latest schema counts. `model` names another
    model than that of the run. Raises UsageError if there is no such document, its file is gone or holds other bytes,
    it cannot be parsed, or its model is not on this machine.
    """
    stored = _find_stored(out, document, schema_name)
    source = _model_of(stored, model, device)
    known = {name: stored.arguments[name] for name in RunOptions.model_fields if name in stored.arguments}
    options = RunOptions(**known | {"limit": None})
    settings = parser_settings(options)
    with DocumentLookup(out) as lookup:
        # A backfill names an older content by path and digest if the path was read again since.
        paths = [path.removesuffix(f"@{stored.digest[:16]}") for path in stored.paths]
        content = lookup.find(paths, stored.digest, stored.size)
        if content is None:
            raise UsageError(f"{stored.paths[0]}: the file is gone, or holds other bytes than those that were read")
        # `Input` carries the name of the file in the run.
        batch = [[Input(stored.paths[0], content, stored.digest)]]
        with BatchReader(batch, 1, options.max_tokens, settings, PageStore(out / PAGES)) as reader:
            (read,) = reader.parse(batch[0])
    # Cold start: Torch takes a second.
    from cinnabar.engine.fill.engine import Engine
    from cinnabar.engine.language.engine import LanguageEngine
    from cinnabar.extraction.filling.pipeline import run_batch

    if isinstance(read.found, Exception):
        raise UsageError(f"{stored.paths[0]}: no step to show, the file cannot be read: {read.found}")
    if read.found.digest != stored.digest:
        raise UsageError(f"{stored.paths[0]}: the file holds other bytes than those that were read")
    job = Assignment(stored.source, source, options).read_examples().job()
    assert isinstance(job.engine, (Engine, LanguageEngine))
    engine = _Followed(job.engine, tell)
    (outcome,) = run_batch([read], replace(job, engine=engine)).outcomes
    record = outcome.record
    if record is not None and not job.validator.check(record.text):
        sure = {one.pointer: one.confidence for one in record.leaves}
        tell(WatchedStep(engine.steps, record.text, confidence=sure, passage=engine.passage, final=True))
    return outcome


def _find_stored(out: Path, document: str, schema_name: str | None) -> _Stored:
    """Returns the document with the latest run of a model that has read it."""
    shown = show(out, document)
    names = dict.fromkeys(one.schema_name for one in shown)
    known = None if schema_name is None else resolve_name(schema_name, names)
    own = [one for one in shown if schema_name is None or one.schema_name == known]
    if not own:
        there = ", ".join(names) or "none"
        raise UsageError(f"{document}: no outcome under the schema {schema_name}; the folder has {there}")
    digest, name = own[0].document, own[0].schema_name
    if not digest:
        raise UsageError(f"{own[0].path}: no step to show, the file could not be opened ({own[0].code})")
    with connect(out, views=("outcomes", "runs", "documents")) as connection:
        # A person's release or correction is a run without a model.
        run = connection.execute(
            "SELECT path, outcomes.schema_fingerprint, arguments FROM outcomes JOIN runs USING (run_id)"
            " WHERE document = ? AND outcomes.schema_name = ? AND outcome <> 'skipped'"
            " AND arguments ->> 'effort' IS NOT NULL ORDER BY run_id DESC LIMIT 1",
            [digest, name],
        ).fetchone()
        paths = connection.execute(
            "SELECT path, any_value(size) FROM outcomes LEFT JOIN (SELECT document, size FROM documents)"
            " USING (document) WHERE document = ? GROUP BY path ORDER BY max(run_id) DESC",
            [digest],
        ).fetchall()
    if run is None:
        raise UsageError(f"{own[0].path}: no step to show, no model has filled it")
    path, fingerprint, arguments = run
    others = (other for other, _ in paths if other != path)
    source = source_of(out, name, fingerprint)
    return _Stored(digest, (path, *others), paths[0][1], source, json.loads(arguments))


def _model_of(stored: _Stored, named: str | None, device: str) -> ModelSource | LanguageSource:
    """Returns the model of the run, or the named one. Raises UsageError if it is elsewhere or behind a server."""
    wanted = stored.arguments["model"]
    source = model_source(named or stored.arguments.get(MODEL_FOLDER) or "default", device)
    if isinstance(source, (ModelSource, LanguageSource)) and (named or source.fingerprint == wanted):
        return source
    raise UsageError(
        f"{stored.paths[0]}: the model {named or wanted} is not on this machine in the form that filled it, or answers"
        " behind a server, which shows no steps; --model NAME shows the steps of another one, such as `--model default`"
    )
