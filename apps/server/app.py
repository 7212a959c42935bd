"""The application: the routes of the API behind the gate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from cinnabar.apps.server.completions import Completions
from cinnabar.apps.server.documents import FileReading
from cinnabar.apps.server.errors import ApiError, internal_error, json_response
from cinnabar.apps.server.gate import MEDIA_TYPE, Gate, Metrics
from cinnabar.engine.chat.requests import ChatModel
from cinnabar.engine.settings import EFFORTS

_FAILED = {404: "not_found", 405: "method_not_allowed"}


@dataclass(frozen=True)
class Api:
    """The routes of one server. working: whether the model's thread is alive."""

    model: ChatModel
    completions: Completions
    documents: FileReading
    metrics: Metrics
    gate: Gate
    working: Callable[[], bool] = lambda: True
    started: int = field(default_factory=lambda: int(time.time()))

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes and the forms of errors to an application."""
        app.add_exception_handler(HTTPException, _http_error)
        app.add_exception_handler(ApiError, _api_error)
        app.add_exception_handler(Exception, _own_error)
        routes: list[tuple[str, str, Any]] = [
            ("GET", "/v1/models", self._models),
            ("GET", "/v1/models/{name:path}", self._model),
            ("POST", "/v1/chat/completions", self.completions.chat),
            ("POST", "/v1/responses", self.completions.responses),
            ("POST", "/v1/fim/completions", self.completions.fim),
            ("POST", "/v1/edit/completions", self.completions.edit),
            ("POST", "/v1/extract", self.documents.extract),
            ("GET", "/metrics", self._metrics),
            ("GET", "/health", self._health),
            ("GET", "/health/live", self._live),
            ("GET", "/health/ready", self._health),
        ]
        for method, path, endpoint in routes:
            app.add_api_route(path, endpoint, methods=[method], include_in_schema=False)

    async def _models(self, _: Request) -> Response:
        return json_response({"object": "list", "data": [self._description()]})

    async def _model(self, request: Request) -> Response:
        self.completions.check_model(request.path_params["name"])
        return json_response(self._description())

    def _description(self) -> dict[str, Any]:
        return {
            "id": self.completions.name,
            "object": "model",
            "created": self.started,
            "owned_by": "cinnabar",
            "context_length": self.model.context,
            "abilities": sorted(self.model.abilities),
            "reasoning_efforts": [*EFFORTS],
        }

    async def _metrics(self, _: Request) -> Response:
        return Response(self.metrics.text(), media_type=MEDIA_TYPE)

    async def _live(self, _: Request) -> Response:
        return json_response({"status": "live"})

    async def _health(self, _: Request) -> Response:
        if self.gate.draining:
            return json_response({"status": "shutting down"}, 503)
        if not self.working():
            return json_response({"status": "the model's thread ended"}, 503)
        return json_response({"status": "ready"})


async def _api_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error.response()


async def _own_error(request: Request, _: Exception) -> Response:
    """Tells of an error of our own, which the gate then logs."""
    return internal_error(request.state.identity).response()


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = str(error.detail)
    if error.status_code == 404:
        message = "there is no such route; docs/server.md lists them"
    elif error.status_code == 405:
        message = f"expected another method than {request.method} for this route"
    code = _FAILED.get(error.status_code, "invalid_request")
    headers = dict(error.headers or {})
    return ApiError(error.status_code, code, message, headers=headers).response()
