"""What all tests share: helper modules next to this file, and the development data where it is at hand."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

HERE = Path(__file__).resolve().parent

# Tests are no package (importlib mode), so helper modules such as schema_strategies are found by path; bench/
# is no part of what is installed, and is found by path as well.
sys.path[:0] = [str(HERE), str(HERE.parent)]

from effort import FEW, QUICK  # noqa: E402, it is one of these helpers

# A busy machine is no failure: examples have no deadline, and slow drawing of them is let through.
settings.register_profile("cinnabar", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("cinnabar"), max_examples=FEW)
# scripts/mutants.py wants to know whether a test fails, not the smallest example of it.
settings.register_profile(
    "mutants",
    settings.get_profile("cinnabar"),
    phases=(Phase.explicit, Phase.generate),
    database=None,
)
settings.load_profile("quick" if QUICK else "cinnabar")

# Nothing of an earlier run, nor of the user's own cache, has a part in the tests.
os.environ["CINNABAR_CACHE"] = ""
# Nor has the processor: training would take bfloat16 where it has the instructions. Tests of a precision name it.
os.environ["CINNABAR_PRECISION"] = "float32"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A property that draws all of its examples is slow."""
    for item in items:
        if not QUICK and getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("slow")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server that speaks Mercury's contract, and the key that it wants (mercury_server.py)."""
    import mercury_server as mercury

    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)
    with mercury.running(mercury.Server()) as running:
        yield running


@pytest.fixture(scope="session")
def shared() -> Path:
    """The development data beside the project; tests that want it are skipped where it is missing."""
    found = HERE.parent.parent / "shared"
    if not found.is_dir():
        pytest.skip("needs the development data in ../shared, which is not here")
    return found
