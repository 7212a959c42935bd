"""How many tests `make test` runs on each change, and how many it leaves to `make test-slow`.

`make test` sets CINNABAR_TEST_PROFILE=quick and leaves out the tests marked `slow`. Properties draw few examples there,
and of many equal cases the first few run. `make test-slow` draws all of the examples and runs the rest of the cases,
and the tests of benches, training and samples. `make lint` runs those of the project's own files (tests/project). A
plain `pytest` runs everything in full.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings

#: Whether properties draw few examples.
QUICK = os.environ.get("CINNABAR_TEST_PROFILE", "full") == "quick"
#: Examples of a property in `make test`.
FEW = 5


def examples(count: int, few: int = FEW) -> settings:
    """Draw a property this often, but at most `few` times in the quick profile."""
    return settings(max_examples=min(count, few) if QUICK else count)


def some(names: Collection[str], cases: Iterable[str]) -> list[Any]:
    """Cases of a parametrised test; all but those of these names are marked slow."""
    return [case if case in names else pytest.param(case, marks=pytest.mark.slow) for case in cases]


def first(few: int, cases: Iterable[Any]) -> list[Any]:
    """Cases of a parametrised test; all after the first few are marked slow."""
    return [case if at < few else pytest.param(case, marks=pytest.mark.slow) for at, case in enumerate(cases)]
