"""The options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from cinnabar.apps.cli.notices import print_notice
from cinnabar.errors import UsageError
from cinnabar.extraction.plan.folder_settings import FILE, folder_settings
from cinnabar.extraction.plan.left_options import LEFT_VARIABLES
from cinnabar.extraction.plan.parameters import Function, takes
from cinnabar.extraction.plan.run_options import RUN_SETTINGS, RunOptions, RunPlan

# The placeholders of the help for the values of options.
_METAVARS = {
    "ADDRESS": "ray",
    "EFFORT": "effort",
    "FILE": "password_file",
    "M": "model escalate_to",
    "N": "limit engines",
    "P": "min_confidence related below",
    "PAGES": "pages",
    "S": "seconds_each",
    "SET": "examples",
    "SHARE": "max_error_rate",
    "USD": "budget",
    "WHEN": "ocr",
}
_METAVAR_OF = {name: metavar for metavar, names in _METAVARS.items() for name in names.split()}


#: What `--on` says of a run: the parameters of its policies by their words.
_POLICIES = {name.removeprefix("on_").replace("_", "-"): name for name in RunOptions.model_fields if name[:3] == "on_"}
#: The options of a run that commands have under their own names.
RUN_OPTIONS = tuple(
    name for name in RunOptions.model_fields if name not in ("batch", *RUN_SETTINGS, *_POLICIES.values())
)


def setting(option: str, name: str) -> Any:
    """Returns what `cinnabar.toml` says in place of an option. Raises UsageError if it says nothing."""
    if not (found := getattr(folder_settings(), name)):
        raise UsageError(f"expected {option}, or `{name}` in {FILE} of this folder")
    return [*found] if isinstance(found, tuple) else found


def _set_once(option: str, name: str) -> dict[str, Any]:
    """Returns the settings of an option in whose place `cinnabar.toml` may stand."""

    def value_or_setting(context: typer.Context, value: Any) -> Any:
        # A shell that completes a command line sets this: nothing is demanded yet.
        return value or (None if context.resilient_parsing else setting(option, name))

    shown = f"{name} of {FILE}"
    return {"default_factory": lambda: None, "callback": value_or_setting, "show_default": shown}


def plan_of(schemas: Iterable[Any], out: Path | None, **values: Any) -> RunPlan:
    """Returns the plan of a command's options, and of what `cinnabar.toml` sets beside them."""
    settings = folder_settings()
    model = values.pop("model", None) or settings.model
    for one in values.pop("on", None) or ():
        what, _, do = one.partition("=")
        if what not in _POLICIES:
            raise UsageError(f"--on {one}: expected WHAT=DO, of which WHAT is one of {', '.join(_POLICIES)}")
        values[_POLICIES[what]] = do
    for variable, text in LEFT_VARIABLES.items():
        if os.environ.get(variable):
            print_notice(f"{variable} is read no more: {text}")
    for name in (model, values.get("escalate_to")):
        if (address := settings.models.get(name or "", {}).get("base_url")) is not None:
            print_notice(f"documents go to {address}, as {FILE} says")
    return RunPlan.of(schemas, out, **{**settings.run, "model": model, **values})


Documents = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Files, folders, mailboxes and stores.",
        **_set_once("PATH", "inbox"),
    ),
]
SchemasOption = Annotated[
    list[str],
    typer.Option(
        metavar="S",
        help="A name of the library, a JSON Schema file or module:Class; of several the fitting one.",
        **_set_once("--schema S", "schema"),
    ),
]
OutOption = Annotated[
    Path,
    typer.Option(
        metavar="DIR",
        help="The folder of the results.",
        **_set_once("--out DIR", "results"),
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        metavar="M",
        help="auto, reader, a fetched model, a folder, mercury-2 or openai:NAME.",
        show_default=False,
    ),
]
LocalModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="M", help="auto, reader, a fetched model or a folder."),
]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="PATH", help="Where to look for moved documents, too."
    ),
]
OnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="WHAT=DO",
        help="What becomes of a record, by default the first: missing=quarantine|guess (required values),"
        " check=flag|quarantine (a failed one), empty=quarantine|skip|write (all null),"
        " list-incomplete=flag|quarantine (rows missing).",
    ),
]
StoredDocument = Annotated[
    str,
    typer.Argument(metavar="DOCUMENT", help="Its path, the end of it, or the start of its digest."),
]


def takes_options(*names: str) -> Callable[[Function], Function]:
    """Returns a decorator that gives a command these options of a run in place of its `**` parameter."""
    return takes(*names, annotate=_option)


def _option(name: str, field: FieldInfo) -> Any:
    # With an explicit name Typer gives a flag no `--no-` opposite.
    named = f"--{name.replace('_', '-')}"
    metavar, shown = _METAVAR_OF.get(name), bool(field.default)
    return Annotated[
        field.annotation, typer.Option(named, metavar=metavar, help=field.description, show_default=shown)
    ]
