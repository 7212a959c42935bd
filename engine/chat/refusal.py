"""The refusal of a request before any work is done for it."""

from __future__ import annotations

from cinnabar.engine.chat.requests import Failed, FailureCode
from cinnabar.schemas.errors import UsageError


class RequestRefused(UsageError):
    """A request that cannot be answered; `param` names the parameter at fault, None if it is none of them."""

    def __init__(self, code: FailureCode, message: str, param: str | None = None) -> None:
        self.code, self.message, self.param = code, message, param
        super().__init__(message)

    @property
    def event(self) -> Failed:
        """The event that tells the client."""
        return Failed(self.code, self.message, self.param)
