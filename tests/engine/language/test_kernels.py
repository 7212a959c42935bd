"""The engine with Triton's kernels, in Triton's interpreter, writes the records that it writes with numpy."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
from tests.support import ROOT
from tests.support.effort import first


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
@pytest.mark.parametrize("kind", first(1, ["causal", "broken", "block", "revising"]))
def test_the_records_do_not_depend_on_the_kernels(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.language.compare_engine", kind],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "the records agree"
