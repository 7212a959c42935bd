"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from cinnabar.extraction.run_options import Device
from cinnabar.flows.cli import completion
from cinnabar.flows.parameters import FailOn, Function, takes_run_options

# The placeholders of the help for the values of a run's options.
_METAVARS = {
    "steps": "N",
    "min_confidence": "P",
    "limit": "N",
    "context": "TOKENS",
    "max_tokens": "N",
    "max_seconds": "S",
    "password_file": "FILE",
    "examples": "SET",
    "ocr_engine": "ENGINE",
    "workers": "N",
    "engines": "N",
    "batch": "N",
}

Documents = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Files, folders and mailboxes to read.")
]
SchemaOption = Annotated[
    str,
    typer.Option(
        metavar="S",
        help="A name of the library, a JSON Schema file (JSON or YAML), or module:Class.",
        autocompletion=completion.schemas,
    ),
]
SchemasOption = Annotated[
    list[str],
    typer.Option(
        metavar="S",
        help="A name of the library, a JSON Schema file (JSON or YAML), or module:Class; several with --route.",
        autocompletion=completion.schemas,
    ),
]
RouteOption = Annotated[
    bool, typer.Option("--route", help="Read each document with the one schema that fits it, or with none.")
]
RelatedOption = Annotated[
    float | None,
    typer.Option(metavar="P", help="Skip documents that are of the schema's kind with a probability below P."),
]
OutOption = Annotated[Path, typer.Option(metavar="DIR", help="The folder for the results.")]
ModelOption = Annotated[
    str,
    typer.Option(
        metavar="M",
        help="`default`, the folder of a model, mercury-2, or openai:NAME.",
        autocompletion=completion.models,
    ),
]
OwnModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="M",
        help="`default`, the folder of a model, mercury-2, or openai:NAME; without it the one kept by `improve`.",
    ),
]
DeviceOption = Annotated[Device, typer.Option(help="The device of the model.")]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="PATH", help="A file, folder or mailbox to search for documents that have moved."
    ),
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="The address of mercury-2 or openai:NAME.")]
PricesOption = Annotated[
    str | None,
    typer.Option(metavar="IN,CACHED,OUT", help="Dollars for a million tokens each, if not the known prices."),
]
RayOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Spread the work over a Ray cluster: auto, HOST:PORT or local."),
]
MaxErrorRate = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Fail (status 3) if a larger share of the documents read is in quarantine."),
]
FailOnOption = Annotated[
    FailOn | None,
    typer.Option(help="Fail (status 3) if the run differs from earlier runs by more than chance."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, for programs.")]


def run_options(*names: str) -> Callable[[Function], Function]:
    """Returns a decorator that gives a command these options of `RunOptions` in place of its `**` parameter."""
    return takes_run_options(*names, annotate=_option)


def _option(name: str, field: FieldInfo) -> Any:
    # With an explicit name Typer gives a flag no `--no-` opposite.
    named = f"--{name.replace('_', '-')}"
    return Annotated[
        field.annotation, typer.Option(named, metavar=_METAVARS.get(name), help=field.description)
    ]
