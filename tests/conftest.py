"""Fixtures that all tests share, the path to helpers and benches, and the development data if it is present."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

HERE = Path(__file__).resolve().parent

# Collecting and running tests makes millions of objects that stay: a quarter of the collection of tests went to walking
# through them again and again.
gc.set_threshold(50_000, 20, 50)

# Neither the helpers, `tests.support`, nor bench/ are installed; Python finds them by this path.
sys.path.insert(0, str(HERE.parent))

from tests.support.effort import FEW, QUICK  # noqa: E402, it is one of these helpers

# A busy machine is no failure: examples have no deadline, and Hypothesis may draw them slowly.
settings.register_profile("cinnabar", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("cinnabar"), max_examples=FEW)
# scripts/mutants.py asks whether a test fails, not for the smallest example of it.
settings.register_profile(
    "mutants",
    settings.get_profile("cinnabar"),
    phases=(Phase.explicit, Phase.generate),
    database=None,
)
settings.load_profile("quick" if QUICK else "cinnabar")

# The tests use no cache of an earlier run or of the user.
os.environ["CINNABAR_CACHE"] = ""
# No model that a developer has fetched reads in a test.
os.environ["CINNABAR_MODELS"] = str(Path(__file__).parent / "no_models")
# Training would use bfloat16 on processors that have it; tests of a precision name theirs.
os.environ["CINNABAR_PRECISION"] = "int8"


#: Fixtures that start servers of several processes, which takes ten seconds and more.
SERVERS = {"prefect_server", "cluster"}
#: Tests that a change of the product does not need: of benches, of what trains the weights, of the samples' truths.
BESIDE = tuple(str(HERE / one) for one in ("bench", "training", "data/test_samples.py"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow the tests beside the product, of a real Prefect or Ray server, and of all examples of a property."""
    for item in items:
        if str(item.path).startswith(BESIDE) or SERVERS & {*getattr(item, "fixturenames", ())}:
            item.add_marker("slow")
        if not QUICK and getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Take thousands of collected tests and loaded modules out of every later collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _unsynced() -> Iterator[None]:
    """Do not wait for the disk, forty times a run: only a power cut could tell the difference."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server that speaks Mercury's contract, with its key and address in the environment (mercury_server.py)."""
    from tests.support import mercury_server as mercury

    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)
    with mercury.running(mercury.Server()) as running:
        monkeypatch.setenv("INCEPTION_BASE_URL", running.url)
        yield running


@pytest.fixture(scope="session")
def shared() -> Path:
    """The development data beside the project; a test that needs it is skipped where it is missing."""
    found = HERE.parent.parent / "shared"
    if not found.is_dir():
        pytest.skip("needs the development data in ../shared, which is not here")
    return found
