"""`cinnabar eval --route` and `--related` measure the choice among the schemas of labelled sets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cinnabar.apps.cli.console import Bar, standard_output, table
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.reading.routing.routing import routing_of
from cinnabar.extraction.store.tables import OTHER_KIND
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import harmless, with_noun

if TYPE_CHECKING:
    from cinnabar.extraction.reading.routing.confusion import SetRoutes
    from cinnabar.extraction.run.work.labelled_sets import LabelledSet

# The most wrong choices that the report names.
_NAMED = 20


def check_alone(**given: object) -> None:
    """Raises UsageError if an option was given that scores records, because no record is made."""
    for name, value in given.items():
        if value:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option}: expected without --route and --related, which measure the choice of a schema and fill"
                " nothing; leave out one of the two"
            )


def evaluate_routing(
    chosen: Sequence[LabelledSet],
    route: bool,
    related: float | None,
    model: str,
    options: RunOptions,
    as_json: bool,
) -> None:
    """Routes the documents of each set among the schemas of all sets, and prints where they went."""
    routing = routing_of([load_schema(one.folder / "schema.json") for one in chosen], route, related, model)
    assert routing is not None, "--route or --related was given"
    # Cold start: Torch takes a second.
    from cinnabar.extraction.reading.routing.confusion import confusion
    from cinnabar.extraction.run.work.labelled_sets import read_set

    with ParserPool(options.workers, settings=parser_settings(options)) as pool, Bar() as bar:
        bar.on_inputs(sum(len(one.truths) for one in chosen))
        documents = {one.name: ((read.path, read.found) for read in read_set(one, pool)) for one in chosen}
        routes = confusion(routing, documents, bar.step)
    several = len(chosen) > 1
    figures = {name: of_set.figures(several) for name, of_set in routes.items()}
    if as_json:
        print(json.dumps(_summary(routes, several) | {"sets": figures}))
    else:
        _report(routes, figures, _summary(routes, several))


def _summary(routes: Mapping[str, SetRoutes], several: bool) -> dict[str, Any]:
    documents = sum(one.documents for one in routes.values())
    return {
        "documents": documents,
        "right": round(sum(one.right for one in routes.values()) / documents, 4),
        "refused": round(sum(one.refused for one in routes.values()) / documents, 4) if several else None,
    }


def _report(routes: Mapping[str, SetRoutes], figures: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    shown = ("documents", "right", "refused")
    columns = [*(one.schema for one in routes.values()), OTHER_KIND]
    rows = [
        [name, *map(figures[name].get, shown), *(one.went[column] for column in columns)]
        for name, one in routes.items()
    ]
    if len(rows) > 1:
        rows.append(["all", *map(summary.get, shown), *(sum(one.went[c] for one in routes.values()) for c in columns)])
    console = standard_output()
    console.print(table(("set", *shown, *columns), rows))
    if summary["refused"] is not None:
        console.print("refused: the share that went to none of the others when its own schema was not offered")
    wrong = [(f"{name}/{file}", route) for name, one in routes.items() for file, route in one.elsewhere.items()]
    for name, route in wrong[:_NAMED]:
        print(harmless(f"{name}: {route}"))
    if len(wrong) > _NAMED:
        print(f"… and {with_noun(len(wrong) - _NAMED, 'document')} more (--json has all)")
    if lost := sum(one.unreadable for one in routes.values()):
        print(f"{with_noun(lost, 'document')} could not be read")
