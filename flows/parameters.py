"""The parameters of the flows: their types, with the ranges that Prefect's form holds them to.

The options of a run are parameters of their own, one for each. Flows and commands take them from `RunOptions`, with
`takes_run_options`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from cinnabar.extraction.run_options import RunOptions
from cinnabar.schemas.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

Share = Annotated[float, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0)]


class Server(BaseModel):
    """How a model behind a server is asked; money as text. Its key is in the environment, no parameter."""

    model_config = ConfigDict(extra="forbid")

    base_url: str | None = Field(default=None, description="Where mercury-2 or openai:NAME is served.")
    budget: str | None = Field(default=None, description="Dollars to ask for at most; 0 only tells the cost.")
    prices: str | None = Field(default=None, description="IN,CACHED,OUT: dollars for a million tokens.")
    concurrency: _Count | None = Field(default=None, description="Requests under way at a time.")
    requests_per_minute: _Count | None = Field(default=None, description="Requests in any minute, at most.")
    tokens_per_minute: _Count | None = Field(default=None, description="Tokens sent in any minute, at most.")
    timeout: float | None = Field(default=None, description="Seconds that a whole answer may take.")


def _in_range(_name: str, field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def takes_run_options(
    *names: str, annotate: Callable[[str, FieldInfo], Any] = _in_range
) -> Callable[[Function], Function]:
    """Give a function these options of a run as parameters, in the place of its `**` parameter.

    They follow its parameter `device`, with the defaults of `RunOptions`; `annotate` makes their types. Their
    descriptions join the docstring, where Prefect looks for them.
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
    """Raise UsageError where one of these parameters says nothing, or one of its entries does."""
    empty = [
        name
        for name, said in texts.items()
        if any(not text.strip() for text in ([said] if isinstance(said, str) else said))
    ]
    if empty:
        raise UsageError(
            f"{', '.join(empty)}: expected text, got an empty parameter; in a deployment this is so where"
            " an environment variable was not set when it was deployed: set it and deploy again"
        )
