"""The Model Context Protocol (2025-11-25) around the tools: descriptions for agents, and errors."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, ParamSpec, TypeVar

import anyio.to_thread
from fastapi import FastAPI
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.routing import Route

from cinnabar.apps.mcp.tools import LONGEST, Tools
from cinnabar.apps.server.errors import ApiError
from cinnabar.errors import CinnabarError

_P = ParamSpec("_P")
_T = TypeVar("_T")
INSTRUCTIONS = (
    "Cinnabar turns documents into records that meet a JSON Schema, each value with its evidence and confidence. "
    "`extract` reads files or texts now; `query`, `show` and `correct` work on the results folder of earlier runs: "
    "views `documents`, `quarantine`, `fields`, and one for each schema. A low confidence is a doubt: tell it."
)
Schema = Annotated[
    dict[str, Any] | str,
    Field(description="A JSON Schema of an object, or the name of a schema: of the library, or of this server."),
]
Strings = tuple[str, ...]
Values = dict[str, Any]
Document = Annotated[str, Field(description="Its path, the end of it, or the first digits of its SHA-256.")]


async def _told(work: Awaitable[_T]) -> _T:
    """Returns what some work comes to. Raises ToolError, with what to do, for a mistake of the agent."""
    try:
        return await work
    except (CinnabarError, ApiError) as error:
        said = error.message if isinstance(error, ApiError) else str(error)
        raise ToolError(said if len(said) <= LONGEST else f"{said[:LONGEST]} …") from error
    except OSError as error:
        raise ToolError(f"cannot be read: {error.strerror or type(error).__name__}") from error


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def mcp_server(tools: Tools, version: str, read_only: bool) -> MCPServer[Any]:
    """Returns a server of these tools; `read_only` leaves out the one that corrects."""
    server = MCPServer[Any]("cinnabar", instructions=INSTRUCTIONS, version=version, log_level="WARNING")
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    def in_thread(function: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> Awaitable[_T]:
        return _told(anyio.to_thread.run_sync(functools.partial(function, *given, **named)))

    @server.tool(annotations=reads, structured_output=False)
    async def extract(
        schema: Schema,
        files: Annotated[Strings | str, Field(description="Files within the server's folders: PDF, mail, office")] = (),
        texts: Annotated[Strings, Field(description="Texts of documents, in place of files or beside them.")] = (),
    ) -> str:
        """Read documents now: a record for each, with confidence and evidence. Nothing is stored."""
        return _json(await _told(tools.extract(schema, files, texts)))

    @server.tool(annotations=reads, structured_output=False)
    async def query(
        sql: Annotated[str, Field(description="One SELECT in DuckDB's SQL; `select view_name from duckdb_views()`.")],
    ) -> str:
        """Query the tables of the results folder: a view for each schema, and fields, documents, quarantine, runs."""
        return _json(await in_thread(tools.query, sql))

    @server.tool(annotations=reads, structured_output=False)
    async def schema_check(schema: Schema) -> str:
        """Tell the fields that a schema asks for, or where and why it cannot be enforced."""
        return _json(await _told(tools.schema_check(schema)))

    @server.tool(annotations=reads, structured_output=False)
    async def show(document: Document) -> str:
        """Show a stored record with the evidence of its values, or why the document was held back."""
        return _json(await in_thread(tools.show, document))

    async def correct(
        document: Document,
        set_values: Annotated[Values | None, Field(description="Values by JSON pointer: {'/total': 12.5}")] = None,
        absent: Annotated[Strings, Field(description="JSON pointers of values that the document lacks.")] = (),
        accept: Annotated[Strings, Field(description="JSON pointers of values that are right as they are.")] = (),
        schema: Annotated[str | None, Field(description="Its schema's name, if it has records of several.")] = None,
    ) -> str:
        """Correct a stored record, as a person has said; later runs keep it. All changes count or none."""
        return _json(await in_thread(tools.correct, document, set_values or {}, absent, accept, schema))

    if not read_only:
        writes = ToolAnnotations(read_only_hint=False, open_world_hint=False)
        server.add_tool(correct, annotations=writes, structured_output=False)

    return server


def add_tools(app: FastAPI, server: MCPServer[Any], most: int) -> None:
    """Adds the tools by streamable HTTP at /mcp to an application, whose gate checks hosts, origins and the key.

    most: bytes of a request.
    """
    allowed = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    own = server.streamable_http_app(stateless_http=True, max_request_body_size=most, transport_security=allowed)
    for route in own.routes:
        if isinstance(route, Route):
            # Without sessions there is nothing to listen for, and an open stream would keep the server from ending.
            app.router.routes.append(Route(route.path, route.endpoint, methods=["POST"]))
    app.router.lifespan_context = own.router.lifespan_context
