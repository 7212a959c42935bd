"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from cinnabar.apps.cli import completion
from cinnabar.extraction.plan.parameters import Function, takes
from cinnabar.extraction.plan.run_options import Device

# The placeholders of the help for the values of options.
_METAVARS = {
    "ADDRESS": "ray sink tell",
    "ENGINE": "ocr_engine",
    "FILE": "password_file",
    "IN,CACHED,OUT": "prices",
    "M": "model escalate_to",
    "N": "steps limit max_tokens workers engines batch concurrency requests_per_minute tokens_per_minute",
    "NAME": "gpu_limit",
    "P": "min_confidence related below",
    "S": "max_seconds timeout",
    "SET": "examples",
    "SHARE": "max_error_rate audit",
    "TOKENS": "context",
    "URL": "base_url",
    "USD": "budget",
}
_METAVAR_OF = {name: metavar for metavar, names in _METAVARS.items() for name in names.split()}
_COMPLETED = {"model": completion.models}

Documents = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Files, folders, mailboxes and stores to read.")
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
OutOption = Annotated[Path, typer.Option(metavar="DIR", help="The folder for the results.")]
ModelOption = Annotated[
    str,
    typer.Option(
        metavar="M",
        help="`default`, the folder of a model, mercury-2, or openai:NAME.",
        autocompletion=completion.models,
    ),
]
DeviceOption = Annotated[Device, typer.Option(help="The device of the model.")]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="PATH", help="A file, folder, mailbox or store to search for documents that have moved."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, for programs.")]


def takes_options(*names: str) -> Callable[[Function], Function]:
    """Returns a decorator that gives a command these options of a run in place of its `**` parameter."""
    return takes(*names, annotate=_option)


def _option(name: str, field: FieldInfo) -> Any:
    # With an explicit name Typer gives a flag no `--no-` opposite.
    named = f"--{name.replace('_', '-')}"
    texts: dict[str, Any] = {"metavar": _METAVAR_OF.get(name), "help": field.description}
    return Annotated[field.annotation, typer.Option(named, autocompletion=_COMPLETED.get(name), **texts)]
