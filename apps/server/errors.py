"""Errors in the form of OpenAI's API, for everything that a client may meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from fastapi import Response

from cinnabar.engine.chat.requests import FailedRequest
from cinnabar.errors import CinnabarError, UnsupportedSchema

#: The status of each failure of a model that is no fault of the request (400). 499: the client is gone.
_STATUS = {"cancelled": 499, "timeout": 504, "closed": 503, "engine_error": 500}
#: The type of an error with each status; 400 to 499 and 500 to 599 have one for all others.
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_REQUEST, _SERVER = "invalid_request_error", "server_error"


@dataclass(eq=False)
class ApiError(Exception):
    """An error that a client is told: the status of its answer, and the members of `error`.

    `pointer` is the JSON pointer of the keyword at fault, within the schema that `param` names.
    """

    status: int
    code: str
    message: str
    param: str | None = None
    pointer: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        """The error as a JSON value."""
        kind = _TYPES.get(self.status, _REQUEST if self.status < 500 else _SERVER)
        members: dict[str, Any] = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        if self.pointer is not None:
            members["pointer"] = self.pointer
        return {"error": members}

    def response(self) -> Response:
        """Returns the answer with this error."""
        return json_response(self.body, self.status, self.headers)


def json_response(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Returns an answer with this JSON value; a text that is JSON already stands in it as `orjson.Fragment`."""
    return Response(orjson.dumps(body), status, headers, "application/json")


def invalid(message: str, param: str | None = None, code: str = "invalid_value") -> ApiError:
    """Returns the error of a request that is wrong."""
    return ApiError(400, code, message, param)


def internal_error(identity: str) -> ApiError:
    """Returns the error of a request that we fail, of this id."""
    return ApiError(500, "internal_error", f"an error within the server; its log names the request {identity}")


def of_failure(failed: FailedRequest) -> ApiError:
    """Returns the error of a request that the model did not answer."""
    headers = {"retry-after": "1"} if failed.code == "closed" else {}
    if failed.code == "timeout":
        headers["x-should-retry"] = "false"
    return ApiError(_STATUS.get(failed.code, 400), failed.code, failed.message, failed.param, headers=headers)


def of_schema(problem: CinnabarError, param: str) -> ApiError:
    """Returns the error of a schema that cannot be enforced, with the JSON pointer of its keyword."""
    pointer = problem.pointer if isinstance(problem, UnsupportedSchema) else None
    return ApiError(400, "invalid_schema", str(problem), param, pointer)
