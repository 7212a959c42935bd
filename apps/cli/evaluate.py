"""`cinnabar eval` scores the whole path on documents with known answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.apps.cli.console import Bar, standard_output, table
from cinnabar.apps.cli.options import AsJson, ModelOption, plan_of, takes_options
from cinnabar.engine.request import Filler, Metered, Prompted
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.planned_models import Escalation, sources_of
from cinnabar.extraction.filling.records.validation import RecordViolation, Validator
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.work.prompt_examples import prompt_examples
from cinnabar.extras import check_extra
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.wording import harmless

if TYPE_CHECKING:
    from cinnabar.extraction.filling.model_sources import Source
    from cinnabar.extraction.filling.tiers import Tier
    from cinnabar.extraction.run.work.labelled_sets import LabelledSet

_SHOWN = (
    "f1",
    "precision",
    "recall",
    "scalars",
    "lists",
    "invented",
    "evidence",
    "coverage95",
)
#: The figures of confidences, of values and of nulls.
_OF_CONFIDENCE = ("ece", "value_ece", "value_auc", "null_ece", "null_auc")
#: The figures of rows, of sets with lists of objects.
_OF_ROWS = ("rows", "rows_found", "rows_exact", "lists_whole")

_Predictions = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the predictions to a file, or for several sets to a folder.")
]
_Rules = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Switch off this rule of the model; the option may be repeated."),
]

_BesideConstant = Annotated[
    bool, typer.Option("--beside-constant", help="Print the F1 of the best answer that ignores the document beside.")
]


@takes_options(
    *("effort", "password_file", "examples", "hidden", "ocr", "budget", "escalate_to", "below"),
)
def evaluate(
    sets: Annotated[list[Path], typer.Argument(metavar="SET...", help="Sets, or folders of sets.")],
    model: ModelOption = "default",
    limit: Annotated[int | None, typer.Option(metavar="N", help="The first N documents of each set.")] = None,
    beside_constant: _BesideConstant = False,
    predictions: _Predictions = None,
    without: _Rules = None,
    as_json: AsJson = False,
    **run_options: Any,
) -> None:
    """Score the whole path on sets of documents with known answers (schema.json, truth.jsonl, documents).

    If the model does not find a value that the schema demands, its best guess counts. Over several sets the
    figures are the means of the sets.

    \b
    Examples:
      cinnabar eval data/samples
      cinnabar eval data/samples/receipt --json --predictions predictions.jsonl
      cinnabar eval my_sets --limit 30 --effort instant
      cinnabar eval data/samples --without label_prior --without proximity
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.learning.evaluation import best_constant_of, score_set, summarise

    plan = plan_of((), None, model=model, on_missing="guess", **run_options)
    check_extra("learn", "cinnabar eval")
    source, escalation = sources_of(plan, model, without or ())
    chosen = select_sets(sets, limit)
    predicted = _predict_planned(chosen, plan.options, source, escalation, predictions)
    summary = summarise({one.name: score_set(one, predicted[one.name]) for one in chosen})
    if as_json:
        print(json.dumps(summary))
    else:
        beside = {one.name: best_constant_of(one)["f1"] for one in chosen} if beside_constant else {}
        print_figures(summary, beside)


def _predict_planned(
    chosen: Sequence[LabelledSet],
    options: RunOptions,
    source: Source,
    escalation: Escalation | None,
    file: Path | None,
) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns what the models of a plan predict, each with the examples of its prompts, and writes it if asked to."""
    if file is not None:
        _check_writable(file, several=len(chosen) > 1)
    if source.notice is not None:
        print(harmless(f"cinnabar: {source.notice}"), file=sys.stderr)
    schemas = [load_schema(one.folder / "schema.json") for one in chosen]
    sources = [source] if escalation is None else [source, escalation.source]
    examples = prompt_examples(options, schemas, sources)
    lower, *upper = sources if examples is None else map(examples.shown_to, sources)
    tier = None
    if escalation is not None:
        tier = escalation.tier(options.effort, lambda: upper[0].filler(options.effort, None))
    predicted = predict_sets(chosen, partial(lower.filler, options.effort, options.steps), options, tier)
    if file is not None:
        _write(file, predicted)
    return predicted


def select_sets(paths: Sequence[Path], limit: int | None = None) -> list[LabelledSet]:
    """Returns the sets of these folders with the documents to score. Raises UsageError if there are none."""
    from cinnabar.extraction.run.work.labelled_sets import find_sets  # Cold start: Torch takes a second.

    if limit is not None and limit < 1:
        raise UsageError(f"--limit: expected at least 1, got {limit}")
    labelled = [one for path in paths for one in find_sets(path)]
    names = [one.name for one in labelled]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice}: two of these sets have this name; score them one by one")
    chosen = [one.select(limit=limit) for one in labelled]
    if not any(one.truths for one in chosen):
        raise UsageError("none of the documents of these sets is left to score")
    return [one for one in chosen if one.truths]


def predict_sets(
    chosen: Sequence[LabelledSet], filler: Callable[[], Filler], options: RunOptions, tier: Tier | None = None
) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns the predictions of the documents by set and file; shows progress and the cost.

    The `filler` is made when the schemas are found to be sound. The `tier` is asked for what it is not sure of.
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.filling.pipeline import Job
    from cinnabar.extraction.learning.evaluation import broken_truths, predict

    compiled = {}
    for one in chosen:
        source = load_schema(one.folder / "schema.json")
        try:
            ready = compile_schema(source.schema)
            _ = ready.form  # reports a schema that no record meets now
            compiled[one.name] = (ready, Validator(source), Checks(source, ready))
            warn_of_broken(one.name, broken_truths(one.truths, compiled[one.name][1]))
        except UsageError as error:
            if len(chosen) == 1:
                raise
            print(harmless(f"cinnabar: {one.name}: counts as unanswered: {error}"), file=sys.stderr)

    engine = filler()
    for name, (ready, *_) in [*compiled.items()]:
        try:
            if isinstance(engine, Prompted):
                engine.context_beside(ready.form)
        except UsageError as error:
            if len(chosen) == 1:
                raise
            print(harmless(f"cinnabar: {name}: counts as unanswered: {error}"), file=sys.stderr)
            del compiled[name]
    predictions: dict[str, dict[str, dict[str, Any]]] = {}
    with ExitStack() as stack:
        pool = stack.enter_context(ParserPool(options.workers, settings=parser_settings(options)))
        bar = stack.enter_context(Bar())
        bar.on_inputs(sum(len(one.truths) for one in chosen))
        for one in chosen:
            predictions[one.name] = {}
            if one.name in compiled:
                ready, validator, checks = compiled[one.name]
                limits = options.max_tokens, options.max_seconds
                job = Job(ready, engine, validator, "guess", options.context, 0.0, tier, *limits, checks=checks)
                predictions[one.name] = predict(one, job, pool, bar.step)
    fillers = [engine] if tier is None else [engine, *tier.loaded_fillers]
    for usage in [one.usage() for one in fillers if isinstance(one, Metered)]:
        cost = "not known" if usage["cost"] is None else f"${usage['cost']}"
        print(f"cinnabar: {usage['requests']} requests to {usage['model']}, cost {cost}", file=sys.stderr)
        if usage["stopped"]:
            reason = f"{usage['stopped']}; the documents that were not asked about count as unanswered"
            print(f"cinnabar: lack of budget: {reason}", file=sys.stderr)
    return predictions


def warn_of_broken(name: str, broken: Sequence[tuple[str, RecordViolation]]) -> None:
    """Prints to standard error how many truths the schema does not allow, with the first of them."""
    if broken:
        file, violation = broken[0]
        print(
            f"cinnabar: {name}: {len(broken)} of the truths break schema.json and cannot be met; {file} does"
            f" at {violation.pointer or '/'}: {violation.message}",
            file=sys.stderr,
        )


def _check_writable(path: Path, several: bool) -> None:
    """Raises UsageError if the predictions cannot be written, before an hour of work."""
    try:
        if several:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.open("a").close()
    except OSError as error:
        what = "a folder, as there are several sets" if several else "a file that can be written"
        raise UsageError(f"--predictions {path}: expected {what}: {error.strerror}") from error


def _write(path: Path, found: Mapping[str, Mapping[str, dict[str, Any]]]) -> None:
    for set_name, lines in found.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines.values())
        (path / f"{set_name}.jsonl" if len(found) > 1 else path).write_text(text, encoding="utf-8")


def print_figures(summary: dict[str, Any], constant: Mapping[str, float]) -> None:
    """Prints the figures of each set and their means, with the F1 of the best constant answers if there are any."""
    shown = (_SHOWN[0], "constant", *_SHOWN[1:]) if constant else _SHOWN
    mean = {"constant": round(sum(constant.values()) / len(constant), 4)} if constant else {}
    each = {name: figures | {"constant": constant.get(name)} for name, figures in summary["sets"].items()}
    if len(each) > 1:
        each["mean"] = summary | mean
    rows = [[name, figures["documents"], *map(figures.get, shown)] for name, figures in each.items()]
    standard_output().print(table(("set", "documents", *shown), rows))
    if with_rows := {name: figures for name, figures in each.items() if "rows" in figures}:
        rows = [[name, *map(figures.get, _OF_ROWS)] for name, figures in with_rows.items()]
        standard_output().print(table(("set", *_OF_ROWS), rows))
    if any(figures.get("ece") is not None for figures in each.values()):
        rows = [[name, *map(figures.get, _OF_CONFIDENCE)] for name, figures in each.items()]
        standard_output().print(table(("set", *_OF_CONFIDENCE), rows))
