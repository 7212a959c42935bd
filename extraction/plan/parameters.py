"""The parameters that commands and flows have because a run has the option: declared once, by `RunPlan` and its groups.

Ten commands and flows take about 250 of them, so they are not written out. `inspect.signature` asks a function for its
`__signature__` (PEP 362), and Typer and Prefect build options and deployments from what it answers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic.fields import FieldInfo

from cinnabar.extraction.plan.run_options import OPTIONS

Function = TypeVar("Function", bound=Callable[..., Any])


def _in_range(_name: str, field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def takes(*names: str, annotate: Callable[[str, FieldInfo], Any] = _in_range) -> Callable[[Function], Function]:
    """Returns a decorator that replaces a function's `**` parameter by these options of a run.

    They stand before its own parameters with a default. `annotate` makes their types. Their descriptions join a
    docstring with `Args:`, because Prefect reads it, as far as it does not describe them itself.
    """

    def extend(function: Function) -> Function:
        signature = inspect.signature(function, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        required = [one for one in own if one.default is one.empty]
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=OPTIONS[name].default,
                annotation=annotate(name, OPTIONS[name]),
            )
            for name in names
        ]
        parameters = [*required, *options, *own[len(required) :]]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {one.name: one.annotation for one in parameters}
        if "Args:" in (function.__doc__ or ""):
            docstring = (function.__doc__ or "").rstrip()
            lines = {name: f"\n        {name}: " for name in names}
            more = [line + str(OPTIONS[name].description) for name, line in lines.items() if line not in docstring]
            function.__doc__ = docstring + "".join(more)
        return function

    return extend
