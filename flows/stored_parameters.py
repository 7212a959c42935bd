"""Flows whose deployments may hold parameters that are gone: at their default they are dropped, else the run fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from prefect import Flow

from cinnabar.extraction.plan.left_options import drop_left_options

P = ParamSpec("P")
R = TypeVar("R")


class StoredFlow(Flow[P, R]):
    """A flow of Prefect that meets the parameters of deployments that an earlier version stored."""

    def validate_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Returns the parameters that the flow takes. Raises UsageError for one that is gone and has a value."""
        known = inspect.signature(self.fn).parameters
        return super().validate_parameters(drop_left_options(parameters, known))


def stored_flow(name: str, run_name: str) -> Callable[[Callable[P, R]], StoredFlow[P, R]]:
    """Returns a decorator that makes a flow of a function; `run_name` may name its parameters in braces."""
    return lambda body: StoredFlow(body, name=name, flow_run_name=run_name, persist_result=False)
