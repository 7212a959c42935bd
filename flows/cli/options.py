"""The options that several commands have, each said once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from cinnabar.extraction.run_options import Device
from cinnabar.flows.parameters import Function, takes_run_options

# The names that the help has for the values of the options of a run.
_METAVARS = {
    "steps": "N",
    "min_confidence": "P",
    "limit": "N",
    "context": "TOKENS",
    "workers": "N",
    "batch": "N",
}

Documents = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Files, folders and mailboxes to read.")
]
SchemaOption = Annotated[
    str, typer.Option(metavar="S", help="A name of the library, a JSON Schema file, or module:Class.")
]
OutOption = Annotated[Path, typer.Option(metavar="DIR", help="The folder that the results go to.")]
ModelOption = Annotated[
    str, typer.Option(metavar="M", help="`default`, a folder made by train, mercury-2, or openai:NAME.")
]
DeviceOption = Annotated[Device, typer.Option(help="Where the model runs.")]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="PATH", help="A file, folder or mailbox to look in for what is not where it was."
    ),
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="Where mercury-2 or openai:NAME is served.")]
PricesOption = Annotated[
    str | None,
    typer.Option(metavar="IN,CACHED,OUT", help="Dollars for a million tokens, where they are others."),
]
RayOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Spread the work over a Ray cluster: auto, HOST:PORT or local."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, for programs.")]


def run_options(*names: str) -> Callable[[Function], Function]:
    """Give a command these options of `RunOptions`, which it takes as its `**` parameter."""
    return takes_run_options(*names, annotate=_option)


def _option(name: str, field: FieldInfo) -> Any:
    # A name of its own, so that a flag has no opposite.
    named = f"--{name.replace('_', '-')}"
    return Annotated[
        field.annotation, typer.Option(named, metavar=_METAVARS.get(name), help=field.description)
    ]
