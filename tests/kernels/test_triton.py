"""The Triton kernels against their references, in Triton's interpreter on the CPU, in a separate process.

Triton decides at import whether it interprets, so the comparison runs as a script with that variable set.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPARISON = Path(__file__).with_name("compare_triton.py")


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_the_kernels_agree_with_their_references() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, str(COMPARISON)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "5 comparisons agree"
