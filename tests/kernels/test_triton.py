"""The Triton kernels against their references, in Triton's interpreter on the CPU, in a separate process.

Triton decides at import whether it interprets, so the comparison runs as a script with that variable set.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
from tests.support import ROOT

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")


def interpreted(script: str, *arguments: str) -> str:
    """The last line that the program prints in Triton's interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.{script}", *arguments],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("examples", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_blocks_have_the_results_of_their_definition(examples: int) -> None:
    assert interpreted("kernels.compare_blocks", str(examples)) == "the blocks agree"


@pytest.mark.slow
def test_attention_over_pages_has_the_results_of_its_definition() -> None:
    assert interpreted("kernels.compare_attention") == "attention agrees"
