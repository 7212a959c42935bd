"""The parameters of flows and commands that `RunPlan` and its groups of options declare, and their ranges."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field
from pydantic.fields import FieldInfo

from cinnabar.extraction.plan.run_options import OPTIONS
from cinnabar.schemas.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0)]


def _in_range(_name: str, field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def takes(*names: str, annotate: Callable[[str, FieldInfo], Any] = _in_range) -> Callable[[Function], Function]:
    """Returns a decorator that replaces a function's `**` parameter by these options of a run.

    They stand before its own parameters with a default; an own one of the same name takes the option's place.
    `annotate` makes their types. Their descriptions join a docstring with `Args:`, because Prefect reads it, as far as
    it does not describe them itself.
    """

    def extended(function: Function) -> Function:
        signature = inspect.signature(function, eval_str=True)
        own = {name: one for name, one in signature.parameters.items() if one.kind is not one.VAR_KEYWORD}
        fields = {name: OPTIONS[name] for name in names if name not in own}
        required = {name: one for name, one in own.items() if one.default is one.empty}
        for name in names:
            required[name] = own.get(name) or inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=OPTIONS[name].default,
                annotation=annotate(name, OPTIONS[name]),
            )
        parameters = [*(required | own).values()]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {one.name: one.annotation for one in parameters}
        if "Args:" in (function.__doc__ or ""):
            docstring = (function.__doc__ or "").rstrip()
            lines = {name: f"\n        {name}: " for name in fields}
            more = [line + str(fields[name].description) for name, line in lines.items() if line not in docstring]
            function.__doc__ = docstring + "".join(more)
        return function

    return extended


def check_given(**texts: str | Sequence[str]) -> None:
    """Raises UsageError if one of these parameters, or one of its entries, is blank."""
    empty = [
        name
        for name, value in texts.items()
        if any(not text.strip() for text in ([value] if isinstance(value, str) else value))
    ]
    if empty:
        raise UsageError(
            f"{', '.join(empty)}: expected text, got an empty parameter; in a deployment this happens if"
            " an environment variable was not set when it was deployed: set it and deploy again"
        )
