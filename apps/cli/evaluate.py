"""`cinnabar eval` scores the whole path on documents with known answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.apps.cli.console import Bar, standard_output, table
from cinnabar.apps.cli.lazy_commands import Answer
from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.options import ModelOption, plan_of, takes_options
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.checks.validation import RecordViolation
from cinnabar.extraction.filling.run_models import sources_of
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batch.prompt_examples import prompt_examples
from cinnabar.extras import check_extra
from cinnabar.schemas import load_schema

if TYPE_CHECKING:
    from cinnabar.extraction.run.batch.labelled_sets import LabelledSet

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
    Path | None, typer.Option(metavar="FILE", help="Write the answers; of several sets to a folder.")
]
_Rules = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Switch off this rule; repeatable."),
]

_BesideConstant = Annotated[
    bool, typer.Option("--beside-constant", help="Print the F1 of the best constant answer, too.")
]


@takes_options(
    *("effort", "password_file", "examples", "hidden", "ocr", "budget", "escalate_to", "below"),
)
def evaluate(
    sets: Annotated[list[Path], typer.Argument(metavar="SET...", help="Sets, or folders of sets.")],
    model: ModelOption = "default",
    limit: Annotated[int | None, typer.Option(metavar="N", help="Documents of each set.")] = None,
    beside_constant: _BesideConstant = False,
    predictions: _Predictions = None,
    without: _Rules = None,
    **run_options: Any,
) -> Answer:
    """Score the whole path on labelled documents.

    If the model does not find a value that the schema demands, its best guess counts. Over several sets the
    figures are the means of the sets.

    \b
    Examples:
      cinnabar eval data/samples --beside-constant --without proximity
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.learning.evaluation import best_constant_of, score_set, summarise

    plan = plan_of((), None, model=model, on_missing="guess", on_empty="write", **run_options)
    check_extra("learn", "cinnabar eval")
    chosen = select_sets(sets, limit)
    if predictions is not None:
        _check_writable(predictions, several=len(chosen) > 1)
    predicted = predict_sets(chosen, plan, model, without or ())
    if predictions is not None:
        _write(predictions, predicted)
    summary = summarise({one.name: score_set(one, predicted[one.name]) for one in chosen})
    yield summary
    print_figures(summary, {one.name: best_constant_of(one)["f1"] for one in chosen} if beside_constant else {})


def select_sets(paths: Sequence[Path], limit: int | None = None) -> list[LabelledSet]:
    """Returns the sets of these folders with the documents to score. Raises UsageError if there are none."""
    from cinnabar.extraction.run.batch.labelled_sets import find_sets  # Cold start: Torch takes a second.

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
    chosen: Sequence[LabelledSet], plan: RunPlan, model: str, without: Sequence[str] = ()
) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns the predictions of the models of a plan by set and file; shows progress and the cost.

    The models are loaded when the schemas are found to be sound. Of several sets those that cannot be answered are
    told, and have no predictions.
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.learning.evaluation import answers, broken_truths
    from cinnabar.extraction.run.batch.labelled_sets import read_set

    source, escalation = sources_of(plan, model, without)
    if source.notice is not None:
        print_notice(source.notice)
    schemas = [load_schema(one.folder / "schema.json") for one in chosen]
    assignment = Assignment(schemas[0], source, plan.options, escalation)
    assignment = replace(assignment, examples=prompt_examples(plan.options, schemas, assignment.sources))
    parts = {one.name: replace(assignment, source=schema) for one, schema in zip(chosen, schemas, strict=True)}

    @contextmanager
    def told(name: str) -> Iterator[None]:
        try:
            yield
        except UsageError as error:
            if len(chosen) == 1:
                raise
            print_notice(f"{name}: counts as unanswered: {error}")
            del parts[name]

    for one in chosen:
        with told(one.name):
            parts[one.name].check_parts()
            warn_of_broken(one.name, broken_truths(one.truths, parts[one.name].validator))
    engine, tier = loaded = assignment.load()
    jobs = {}
    for name, part in [*parts.items()]:
        with told(name):
            jobs[name] = part.job(loaded)
    predictions: dict[str, dict[str, dict[str, Any]]] = {one.name: {} for one in chosen}
    pool = ParserPool(plan.options.workers, settings=parser_settings(plan.options))
    with pool, Bar() as bar:
        bar.on_inputs(sum(len(one.truths) for one in chosen))
        for one in chosen:
            if one.name in jobs:
                predictions[one.name] = answers(read_set(one, pool), jobs[one.name], bar.step)
    fillers = [engine] if tier is None else [engine, *tier.loaded_fillers]
    for usage in filter(None, (one.usage() for one in fillers)):
        cost = "not known" if usage["cost"] is None else f"${usage['cost']}"
        print_notice(f"{usage['requests']} requests to {usage['model']}, cost {cost}")
        if usage["stopped"]:
            reason = f"{usage['stopped']}; the documents that were not asked about count as unanswered"
            print_notice(f"lack of budget: {reason}")
    return predictions


def warn_of_broken(name: str, broken: Sequence[tuple[str, RecordViolation]]) -> None:
    """Prints to standard error how many truths the schema does not allow, with the first of them."""
    if broken:
        file, violation = broken[0]
        print_notice(
            f"{name}: {len(broken)} of the truths break schema.json and cannot be met; {file} does"
            f" at {violation.pointer or '/'}: {violation.message}"
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
    with_rows = {name: figures for name, figures in each.items() if "rows" in figures}
    sure = each if any(figures.get("ece") is not None for figures in each.values()) else {}
    for columns, sets in ((("documents", *shown), each), (_OF_ROWS, with_rows), (_OF_CONFIDENCE, sure)):
        if sets:
            rows = [[name, *map(figures.get, columns)] for name, figures in sets.items()]
            standard_output().print(table(("set", *columns), rows))
