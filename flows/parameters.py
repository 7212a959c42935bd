"""The types of the flows' parameters, with the ranges that Prefect's form enforces.

Each option of a run is a parameter of its own. Flows and commands take these from `RunOptions` by `takes_run_options`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from cinnabar.extraction.run_options import RunOptions
from cinnabar.schemas.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

#: What may fail a run that ended well.
FailOn = Literal["drift"]
Share = Annotated[float, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0)]


class Server(BaseModel):
    """The settings for a model behind a server; money is text. The key comes from the environment only."""

    model_config = ConfigDict(extra="forbid")

    base_url: str | None = Field(default=None, description="The address of mercury-2 or openai:NAME.")
    budget: str | None = Field(default=None, description="The most dollars to spend; 0 only tells the cost.")
    prices: str | None = Field(default=None, description="IN,CACHED,OUT: dollars for a million tokens each.")
    concurrency: _Count | None = Field(default=None, description="Requests under way at a time.")
    requests_per_minute: _Count | None = Field(default=None, description="Requests in any minute, at most.")
    tokens_per_minute: _Count | None = Field(default=None, description="Tokens sent in any minute, at most.")
    timeout: float | None = Field(default=None, description="The most seconds for a whole answer.")


def _in_range(_name: str, field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def takes_run_options(
    *names: str, annotate: Callable[[str, FieldInfo], Any] = _in_range
) -> Callable[[Function], Function]:
    """Returns a decorator that replaces a function's `**` parameter by these options of a run.

    They follow its parameter `device`, with the defaults of `RunOptions`; `annotate` makes their types. Their
    descriptions join the docstring, because Prefect reads it.
    """

    def extended(function: Function) -> Function:
        signature = inspect.signature(function, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        place = 1 + [one.name for one in own].index("device")
        fields = {name: RunOptions.model_fields[name] for name in names}
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=field.default,
                annotation=annotate(name, field),
            )
            for name, field in fields.items()
        ]
        parameters = [*own[:place], *options, *own[place:]]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {one.name: one.annotation for one in parameters}
        if "Args:" in (function.__doc__ or ""):
            said = "".join(f"\n        {name}: {field.description}" for name, field in fields.items())
            function.__doc__ = f"{(function.__doc__ or '').rstrip()}{said}"
        return function

    return extended


def check_given(**texts: str | Sequence[str]) -> None:
    """Raises UsageError if one of these parameters, or one of its entries, is blank."""
    empty = [
        name
        for name, said in texts.items()
        if any(not text.strip() for text in ([said] if isinstance(said, str) else said))
    ]
    if empty:
        raise UsageError(
            f"{', '.join(empty)}: expected text, got an empty parameter; in a deployment this happens if"
            " an environment variable was not set when it was deployed: set it and deploy again"
        )
