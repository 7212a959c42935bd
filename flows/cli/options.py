"""The options that several commands have, each said once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Device(StrEnum):
    """Where the model runs."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class EffortName(StrEnum):
    """How many denoising steps a record is worth."""

    INSTANT = "instant"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Missing(StrEnum):
    """What becomes of a record that lacks a value which its schema demands."""

    QUARANTINE = "quarantine"
    GUESS = "guess"


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
EffortOption = Annotated[EffortName, typer.Option(help="At most 1, 2, 3 or 16 steps.")]
StepsOption = Annotated[int | None, typer.Option(metavar="N", help="Denoising steps instead of these.")]
MissingOption = Annotated[
    Missing, typer.Option(help="What becomes of a record without a value that the schema demands.")
]
MinConfidence = Annotated[
    float, typer.Option(metavar="P", help="Quarantine records with anything that is less sure than this.")
]
ContextOption = Annotated[
    int | None, typer.Option(metavar="TOKENS", help="Read documents in chunks of at most so many tokens.")
]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="PATH", help="A file, folder or mailbox to look in for what is not where it was."
    ),
]
WorkersOption = Annotated[int, typer.Option(metavar="N", help="Processes that parse files.")]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="Where mercury-2 or openai:NAME is served.")]
PricesOption = Annotated[
    str | None,
    typer.Option(metavar="IN,CACHED,OUT", help="Dollars for a million tokens, where they are others."),
]
RayOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Spread the work over a Ray cluster: auto, HOST:PORT or local."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
