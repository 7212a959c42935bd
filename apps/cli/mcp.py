"""`cinnabar mcp` gives agents tools: files into records, and the results folder."""

from __future__ import annotations

import getpass
import json
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.apps.cli.options import takes_options
from cinnabar.apps.cli.schema import report_of_schema
from cinnabar.apps.cli.serve import key_in, model_of
from cinnabar.apps.server.settings import ServerSettings, start_log
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.planned_models import sources_of
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extras import check_extra
from cinnabar.schemas import SchemaSource, load_schema

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from cinnabar.apps.server.app import Assembled
    from cinnabar.apps.server.documents import FileReading

_Folders = Annotated[
    list[Path] | None, typer.Argument(metavar="FOLDER…", help="Folders whose files an agent may have read.")
]
_Schemas = Annotated[list[str] | None, typer.Option(metavar="S", help="A schema that agents may name; repeatable.")]
_AllowedHosts = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="With --http: a name of this server; repeatable.")
]
_KeyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --http: a file with the key that clients have to show.")
]
_AddressAsJson = Annotated[
    bool, typer.Option("--json", help="With --http: one JSON object with the address on standard output.")
]


@takes_options(
    *("model", "device", "effort", "max_tokens", "max_seconds", "seconds_each", "password_file"),
    *("ocr", "ocr_engine", "workers"),
)
def serve_agents(
    folders: _Folders = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder with the results of extract.")] = None,
    schema: _Schemas = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Without the tool that corrects.")] = False,
    max_answer: Annotated[int, typer.Option(metavar="KB", help="Kilobytes of an answer.")] = 64,
    http: Annotated[bool, typer.Option("--http", help="By streamable HTTP, in place of standard input.")] = False,
    host: Annotated[str, typer.Option(metavar="HOST", help="With --http: the address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="With --http: the port; 0 takes a free one.")] = 8001,
    allowed_host: _AllowedHosts = None,
    api_key_file: _KeyFile = None,
    timeout: Annotated[float, typer.Option(metavar="S", help="Seconds that an extraction may take.")] = 600.0,
    max_body: Annotated[int, typer.Option(metavar="MB", help="Megabytes of a file.")] = 64,
    as_json: _AddressAsJson = False,
    **run_options: Any,
) -> int:
    """Give agents tools by the Model Context Protocol: extract, query, schema_check, show and correct.

    Without --http an agent's program starts this command and speaks to it on its standard input and output. The model
    is loaded when the first document is read. docs/server.md tells what the tools take and answer.

    \b
    Examples:
      cinnabar mcp mails --out tables
      cinnabar mcp mails invoices --out tables --schema claims.json --read-only
      cinnabar mcp mails --out tables --http --port 8001 --api-key-file key.txt
    """
    check_extra("agents", "cinnabar mcp")
    if max_answer < 1:
        raise UsageError(f"--max-answer: expected at least 1, got {max_answer}")
    if as_json and not http:
        raise UsageError("--json: expected --http with it; else standard output speaks the protocol")
    key = None if api_key_file is None else key_in(api_key_file)
    settings = ServerSettings(host, port, tuple(allowed_host or ()), key, timeout=timeout, max_body=max_body << 20)
    plan = RunPlan.of(schema or (), out, **run_options)
    reader = _LazyReader(plan, settings, [load_schema(one) for one in plan.schemas])
    # Extra: agents.
    from cinnabar.apps.mcp.server import mcp_server
    from cinnabar.apps.mcp.tools import Folders, Tools

    tools = Tools(
        out,
        Folders(folders or (), settings.max_body),
        reader.file_reading,
        lambda source, compiled: report_of_schema(source, compiled).as_json,
        f"{getpass.getuser()} (agent)",
        max_answer << 10,
        timeout,
    )
    server = mcp_server(tools, version("cinnabar-extract"), read_only)
    with ExitStack() as ending:
        ending.callback(reader.close)
        ending.callback(tools.queries.close)
        if http:
            _serve_by_http(server, settings, ending.close, as_json)
        else:
            server.run()
    return 0


class _LazyReader:
    """The reading of files; its model is loaded when the first document is read."""

    def __init__(self, plan: RunPlan, settings: ServerSettings, schemas: Sequence[SchemaSource]) -> None:
        self._plan, self._settings, self._schemas = plan, settings, schemas
        self._loading = threading.Lock()
        self._loaded: Assembled | None = None

    def file_reading(self) -> FileReading:
        """Returns what reads the files; any thread may ask."""
        from cinnabar.apps.server.app import assemble, model_name  # Extra: agents.

        with self._loading:
            if self._loaded is None:
                plan, settings, model = self._plan, self._settings, model_of(self._plan)
                source, escalation = sources_of(plan, model)
                called = model_name(model)
                self._loaded = assemble(source, called, plan.options, settings, self._schemas, None, escalation)
            return self._loaded.documents

    def close(self) -> None:
        """Ends the model, if it was loaded."""
        if self._loaded is not None:
            self._loaded.close()


def _serve_by_http(server: MCPServer[Any], settings: ServerSettings, close: Callable[[], None], as_json: bool) -> None:
    """Serves the tools by HTTP until a signal ends it."""
    # Extra: agents.
    from cinnabar.apps.mcp.server import http_app
    from cinnabar.apps.server.gate import Gate, Metrics
    from cinnabar.apps.server.serving import address, bound, run_server

    listener = bound(settings)
    start_log()
    with listener:
        url = address(settings, listener).removesuffix("/v1") + "/mcp"
        if as_json:
            print(json.dumps({"url": url}), flush=True)
        print(f"cinnabar: tools for agents at {url}; SIGTERM or Ctrl-C ends it", file=sys.stderr, flush=True)
        gate = Gate(http_app(server, settings.max_body), settings, Metrics())
        run_server(gate, settings, listener, close, lifespan=True)
