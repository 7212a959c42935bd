"""The options that several commands share.

Completion of values in a shell: schemas, models, documents and views of a folder of results.

They give nothing rather than fail: a shell asks them at each press of a key.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from cinnabar.errors import UsageError
from cinnabar.extraction.plan.folder_settings import FILE, folder_settings
from cinnabar.extraction.plan.left_options import left_variables
from cinnabar.extraction.plan.parameters import Function, takes
from cinnabar.extraction.plan.run_options import RUN_SETTINGS, RunOptions, RunPlan
from cinnabar.wording import harmless

# The placeholders of the help for the values of options.
_METAVARS = {
    "ADDRESS": "ray",
    "FILE": "password_file",
    "M": "model escalate_to",
    "N": "limit engines",
    "P": "min_confidence related below",
    "SET": "examples",
    "SHARE": "max_error_rate",
    "USD": "budget",
}
_METAVAR_OF = {name: metavar for metavar, names in _METAVARS.items() for name in names.split()}


#: The most documents that a shell is given.
MOST = 200
_SCHEMA_FILES = (".json", ".yaml", ".yml")


def schemas(incomplete: str) -> list[str]:
    """The schemas of the library and the schema files that begin so."""
    from cinnabar.schemas.library import LIBRARY  # Cold start: classes of Pydantic take .15 s.

    return [name for name in LIBRARY if name.startswith(incomplete)] + list(_paths(incomplete, _SCHEMA_FILES))


def models(incomplete: str) -> list[str]:
    """The default model, and the folders that begin so."""
    return [name for name in ("default", "mercury-2") if name.startswith(incomplete)] + list(_paths(incomplete, ()))


def documents(context: typer.Context, incomplete: str) -> list[str]:
    """The paths of documents in the folder of `--out`, where it is named before, that begin so."""
    sql = "SELECT DISTINCT path FROM outcomes WHERE starts_with(path, ?) ORDER BY path LIMIT ?"
    return _first_column(context, sql, incomplete)


def views(context: typer.Context, incomplete: str) -> list[str]:
    """The views of the folder of `--out`, where it is named before, that begin so; not those with a `_` before them."""
    sql = """
        SELECT view_name FROM duckdb_views()
        WHERE NOT internal AND NOT starts_with(view_name, '_') AND starts_with(view_name, ?) ORDER BY 1 LIMIT ?
    """
    return _first_column(context, sql, incomplete)


def schemas_in_out(context: typer.Context, incomplete: str) -> list[str]:
    """The names of the schemas with records in the folder of `--out`, where it is named before, that begin so."""
    sql = "SELECT DISTINCT schema_name FROM records WHERE starts_with(schema_name, ?) ORDER BY 1 LIMIT ?"
    return _first_column(context, sql, incomplete)


def _first_column(context: typer.Context, sql: str, incomplete: str) -> list[str]:
    out = context.params.get("out")
    if out is None:
        return []
    from cinnabar.extraction.store.reading import connect  # Cold start: DuckDB and PyArrow take .4 s.

    try:
        with connect(Path(out), sql=sql) as connection:
            return [str(row[0]) for row in connection.execute(sql, [incomplete, MOST]).fetchall()]
    except Exception:  # a shell shows no error here
        return []


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yields the folders and the files with these endings that begin so, as they were begun to be written."""
    folder, _, begun = incomplete.rpartition("/")
    above = Path(f"{folder}/" if folder or incomplete.startswith("/") else ".")
    try:
        entries = sorted(above.iterdir())
    except OSError:
        return
    for entry in entries:
        if not entry.name.startswith(begun) or (entry.name.startswith(".") and not begun.startswith(".")):
            continue
        name = f"{folder}/{entry.name}" if "/" in incomplete else entry.name
        if entry.is_dir():
            yield f"{name}/"
        elif entry.suffix in suffixes:
            yield name


_COMPLETED = {"model": models}


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
    for sentence in left_variables():
        print(f"cinnabar: {sentence}", file=sys.stderr)
    for name in (model, values.get("escalate_to")):
        if (address := settings.models.get(name or "", {}).get("base_url")) is not None:
            print(harmless(f"cinnabar: documents go to {address}, as {FILE} says"), file=sys.stderr)
    return RunPlan.of(schemas, out, **{**settings.run, "model": model, **values})


Documents = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Files, folders, mailboxes and stores to read.",
        **_set_once("PATH", "inbox"),
    ),
]
SchemasOption = Annotated[
    list[str],
    typer.Option(
        metavar="S",
        help="A name of the library, a JSON Schema file (JSON or YAML), or module:Class; of several each document gets"
        " the one that fits.",
        autocompletion=schemas,
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
        help="`default`, the folder of a model, mercury-2, or openai:NAME.",
        autocompletion=models,
    ),
]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="PATH", help="A file, folder, mailbox or store to search for documents that have moved."
    ),
]
OnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="WHAT=DO",
        help="What becomes of a record; repeatable. missing=quarantine or guess (a required value it lacks);"
        " check=flag or quarantine (a check that fails); empty=quarantine, skip or write (every value is null);"
        " list-incomplete=flag or quarantine (its document tells other rows).",
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
