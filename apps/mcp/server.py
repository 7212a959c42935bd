"""The Model Context Protocol (2025-11-25) around the tools: descriptions for agents, and errors."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

import anyio.to_thread
from fastapi import FastAPI
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from starlette.routing import Route

from cinnabar.apps.mcp.tools import LONGEST, Tools
from cinnabar.apps.server.errors import ApiError
from cinnabar.errors import CinnabarError

_P = ParamSpec("_P")
INSTRUCTIONS = (
    "Cinnabar turns documents into records that meet a JSON Schema, each value with its evidence and confidence. "
    "`extract` reads files or texts now; `query`, `show` and `correct` work on the results folder of earlier runs: "
    "views `documents`, `quarantine`, `fields`, and one for each schema. A low confidence is a doubt: tell it."
)


def _answering_in_json(tool: Callable[_P, Any]) -> Callable[_P, Awaitable[str]]:
    """Returns a tool that answers in JSON, and raises ToolError, with what to do, for a mistake of the agent."""

    @functools.wraps(tool)
    async def answer(*given: _P.args, **named: _P.kwargs) -> str:
        called = functools.partial(tool, *given, **named)
        try:
            value = await (called() if inspect.iscoroutinefunction(tool) else anyio.to_thread.run_sync(called))
        except (CinnabarError, ApiError) as error:
            said = error.message if isinstance(error, ApiError) else str(error)
            raise ToolError(said if len(said) <= LONGEST else f"{said[:LONGEST]} …") from error
        except OSError as error:
            raise ToolError(f"cannot be read: {error.strerror or type(error).__name__}") from error
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)

    return answer


def mcp_server(tools: Tools, version: str, read_only: bool) -> MCPServer[Any]:
    """Returns a server of these tools; `read_only` leaves out the one that corrects."""
    server = MCPServer[Any]("cinnabar", instructions=INSTRUCTIONS, version=version, log_level="WARNING")
    for tool in (tools.extract, tools.query, tools.schema_check, tools.show, tools.correct):
        reads = tool != tools.correct
        if reads or not read_only:
            about = ToolAnnotations(read_only_hint=reads, open_world_hint=False)
            server.add_tool(_answering_in_json(tool), annotations=about, structured_output=False)
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
