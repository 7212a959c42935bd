"""`cinnabar serve` answers clients of Mercury's and OpenAI's API, and agents, with a model on this machine."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.options import LocalModelOption, plan_of, takes_options
from cinnabar.apps.cli.schema import report_of_schema
from cinnabar.apps.server.settings import ServerSettings, start_log
from cinnabar.engine.asking.few_shot import Examples, join_examples
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.model_sources import LanguageSource, Source
from cinnabar.extraction.filling.run_models import chosen_note, sources_of
from cinnabar.extraction.filling.time_estimate import TimeEstimate
from cinnabar.extraction.plan.run_options import RunOptions, RunPlan
from cinnabar.extraction.run.batch.improved_models import kept_model, model_for
from cinnabar.extraction.run.batch.prompt_examples import prompt_examples
from cinnabar.extraction.store.stored_records import names
from cinnabar.extras import check_extra
from cinnabar.schemas import SchemaSource, load_schema

if TYPE_CHECKING:
    from concurrent.futures import Future
    from socket import socket

    from mcp.server import MCPServer

    from cinnabar.apps.mcp.tools import Tools
    from cinnabar.apps.server.app import Assembled
    from cinnabar.apps.server.documents import FileReading

#: How agents reach the tools.
_STDIO, _HTTP = "stdio", "http"
_Folders = Annotated[
    list[Path] | None, typer.Argument(metavar="FOLDER...", help="With --mcp: what agents may have read.")
]
_Mcp = Annotated[
    str | None,
    typer.Option(metavar="WAY", help="Tools for agents: stdio, or http beside the rest."),
]
_ModelName = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model's name for clients.")
]
_AllowedHosts = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A name of the server in Host; repeatable.")
]
_KeyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The key that clients show.")
]
_Schemas = Annotated[
    list[str] | None,
    typer.Option(metavar="S", help="For clients to name; repeatable."),
]
_Results = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Results whose corrections and model are used."),
]
_AddressAsJson = Annotated[
    bool, typer.Option("--json", help="One JSON object with the address at the start.")
]


@takes_options(
    *("effort", "seconds_each", "password_file", "examples", "hidden", "ocr"),
)
def serve_model(
    folders: _Folders = None,
    model: LocalModelOption = None,
    mcp: _Mcp = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Without the tool that corrects.")] = False,
    name: _ModelName = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="The port; 0 takes a free one.")] = 8000,
    allowed_host: _AllowedHosts = None,
    api_key_file: _KeyFile = None,
    schema: _Schemas = None,
    out: _Results = None,
    max_clients: Annotated[
        int, typer.Option(metavar="N", help="Requests at a time; more get 429.")
    ] = 256,
    timeout: Annotated[float, typer.Option(metavar="S", help="Seconds of a request.")] = 600.0,
    max_body: Annotated[int, typer.Option(metavar="MB", help="Megabytes of a request.")] = 64,
    as_json: _AddressAsJson = False,
    **run_options: Any,
) -> int:
    """Serve a model by HTTP: chat completions with a schema, files into records.

    It speaks Mercury's API, which is OpenAI's with `diffusing`; docs/server.md tells which model answers what. SIGTERM
    ends it: what is in flight is finished, new requests get status 503.

    With --mcp it gives agents tools by the Model Context Protocol: extract, query, schema_check, show and correct. With
    --mcp stdio an agent's program starts it and speaks to it on its standard input and output.

    \b
    Examples:
      cinnabar serve --port 8080 --schema claims.json
      cinnabar serve --host 0.0.0.0 --api-key-file key.txt --allowed-host my.org
      cinnabar serve mails --mcp stdio --out tables
    """
    check_extra("server", "cinnabar serve")
    _check_ways(mcp, folders or (), read_only, as_json)
    settings = ServerSettings(
        host,
        port,
        tuple(allowed_host or ()),
        None if api_key_file is None else key_in(api_key_file),
        max_clients,
        timeout,
        max_body << 20,
    )
    plan = plan_of(schema or (), out, model=model, **run_options)
    schemas = [load_schema(one) for one in plan.schemas]
    source, escalation = sources_of(plan, reading := model_of(plan))
    if (said := chosen_note(plan, reading, escalation)) is not None:
        print_notice(said)
    examples = _examples(plan.options, schemas, source if escalation is None else escalation.source, out)
    # Extra: server.
    from cinnabar.apps.server.app import assemble, model_name

    called = name or model_name(plan.model or "default")
    load = partial(assemble, source, called, plan.options, settings, schemas, examples, escalation)
    _serve(load, settings, mcp, folders or (), out, read_only, as_json)
    return 0


def _serve(
    load: Callable[[], Assembled],
    settings: ServerSettings,
    mcp: str | None,
    folders: Sequence[Path],
    out: Path | None,
    read_only: bool,
    as_json: bool,
) -> None:
    """Loads the model in a thread of its own, and serves it by HTTP, to agents, or both, until a signal ends it."""
    # Extra: server.
    from cinnabar.apps.server.serving import bound

    with ExitStack() as ending:
        loading = ThreadPoolExecutor(1, thread_name_prefix="model")
        ending.callback(loading.shutdown)
        agents = None
        if mcp is not None:
            tools = _tools(lambda: loaded.result().documents, folders, out, settings)
            ending.callback(tools.queries.close)
            from cinnabar.apps.mcp.server import mcp_server  # Extra: server.

            agents = mcp_server(tools, version("cinnabar-extract"), read_only)
        listener = None if mcp == _STDIO else ending.enter_context(bound(settings))
        loaded = loading.submit(load)
        ending.callback(_close, loaded)
        if listener is not None:
            _serve_by_http(loaded, settings, listener, agents, as_json)
        elif agents is not None:
            agents.run()


def _serve_by_http(
    loaded: Future[Assembled], settings: ServerSettings, listener: socket, agents: MCPServer[Any] | None, as_json: bool
) -> None:
    """Serves the model, and the tools for agents if there are some, until a signal ends it."""
    # Extra: server.
    from cinnabar.apps.server.serving import address, run_server

    start_log()
    server, url = loaded.result(), address(settings, listener)
    if agents is not None:
        from cinnabar.apps.mcp.server import add_tools  # Cold start: the protocol takes a second.

        add_tools(server.app, agents, settings.max_body)
    if as_json:
        print(json.dumps({"url": url, "model": server.name}), flush=True)
    seconds = server.documents.seconds
    time = f"; {TimeEstimate(seconds)}" if seconds is not None and seconds >= 1 else ""
    print_notice(f"{server.name} at {url}{time}; SIGTERM or Ctrl-C ends it")
    run_server(server.gate, settings, listener)


def _close(loaded: Future[Assembled]) -> None:
    if loaded.exception() is None:
        loaded.result().close()


def _check_ways(mcp: str | None, folders: Sequence[Path], read_only: bool, as_json: bool) -> None:
    """Raises UsageError if agents cannot be given tools in this way, or if options come without it."""
    if mcp not in (None, _STDIO, _HTTP):
        raise UsageError(f"--mcp: expected {_STDIO} or {_HTTP}, got {mcp!r}")
    if mcp is None and (folders or read_only):
        raise UsageError("folders and --read-only: expected --mcp with them")
    if mcp == _STDIO and as_json:
        raise UsageError(f"--json: expected --mcp {_HTTP} or none; standard output speaks the protocol")


def _tools(
    reading: Callable[[], FileReading], folders: Sequence[Path], out: Path | None, settings: ServerSettings
) -> Tools:
    """Returns the tools for agents, who correct in the name of this user."""
    # Extra: server.
    from cinnabar.apps.mcp.tools import Folders, Tools

    own = Folders(folders, settings.max_body)
    who = f"{getpass.getuser()} (agent)"
    return Tools(out, own, reading, report_of_schema, who, settings.timeout)


def model_of(plan: RunPlan) -> str:
    """Returns the model that was asked for, else the one that the folder keeps for its only schema, else `default`.

    Raises UsageError if the folder has several schemas and keeps models, so that none of them is passed over unsaid.
    """
    named, out = plan.model, plan.out
    if out is None:
        return named or "default"
    if not out.is_dir():
        raise UsageError(f"--out {out}: expected a folder of results, found none")
    schema_names = names(out)
    kept = {name: folder for name in schema_names if (folder := kept_model(out, name)) is not None}
    if named is None and kept and len(schema_names) > 1:
        choices = ", ".join(f"`--model {folder}` for {name}" for name, folder in kept.items())
        raise UsageError(
            f"--out {out}: it has {len(schema_names)} schemas, and `improve` kept models, but a server has one;"
            f" expected --model with it: {choices}, or `--model default` for the shipped one"
        )
    return model_for(out, schema_names, named)


def _examples(
    options: RunOptions, schemas: Sequence[SchemaSource], model: Source, out: Path | None
) -> Examples | None:
    """Returns the examples for the prompts of a language model: of a labelled set, and the corrected documents of a
    folder. A set is one of the schemas that were named, else of its own schema."""
    own = [*schemas]
    if options.examples is not None and not own:
        # Cold start: Torch takes a second.
        from cinnabar.extraction.run.batch.labelled_sets import find_sets

        own = [load_schema(one.folder / "schema.json") for one in find_sets(Path(options.examples))]
    of_set = prompt_examples(options, own, [model])
    given = [] if of_set is None else [of_set.examples]
    if out is not None and isinstance(model, LanguageSource):
        # Cold start: Torch takes a second.
        from cinnabar.extraction.learning.corrected_set import corrected_examples

        given.append(corrected_examples(out))
    return join_examples(given) if any(one.by_form for one in given) else None


def key_in(file: Path) -> str:
    """Returns the key in a file. Raises UsageError if there is none."""
    try:
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text in UTF-8"
        raise UsageError(f"--api-key-file {file}: cannot be read: {reason}") from error
    if not key or not key.isascii() or any(letter.isspace() for letter in key):
        raise UsageError(f"--api-key-file {file}: expected one line of ASCII letters, digits and signs")
    return key
