"""The engine with Triton's kernels, in Triton's interpreter, writes the records that it writes with numpy."""

from __future__ import annotations

import importlib.util

import pytest
from tests.kernels.test_triton import interpreted
from tests.support.effort import first


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
@pytest.mark.parametrize("kind", first(1, ["causal", "broken", "block", "revising"]))
def test_the_records_do_not_depend_on_the_kernels(kind: str) -> None:
    assert interpreted("engine.language.compare_engine", kind) == "the records agree"
