"""Many cheap cases in one test, each of which is tried and told."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def each(names: str, cases: Collection[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Tries a test with every case, like `parametrize`, but within one test; all that fail are raised with their cases.

    A case costs pytest some milliseconds in each worker, which is more than most of these compute. Fixtures are those
    of the one test: cases that write files or patch something stay with `parametrize`. A case that skips has failed.
    """
    arguments = [name.strip() for name in names.split(",")]
    assert cases and not any(isinstance(case, ParameterSet) for case in cases), "expected cases, and none with a mark"

    def over_all(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tried(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for case in cases:
                given = dict(zip(arguments, case if len(arguments) > 1 else (case,), strict=True))
                try:
                    test(**given, **fixtures)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    error.add_note(f"the case: {given}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases failed", failed)

        left = [one for name, one in inspect.signature(test).parameters.items() if name not in arguments]
        tried.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]  # what pytest takes for fixtures
        return tried

    return over_all
