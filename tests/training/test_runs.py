"""The commands of the reader's recipe."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from training.reader import command
steps = command().steps
try:
    print(steps, flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("saved")
"""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_training_that_is_ended_saves_also_in_the_background(ending: signal.Signals) -> None:
    begun = subprocess.Popen(
        # As a shell begins a command with `&`.
        ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", PROGRAM, "train", "runs", "--steps", "3"],
        cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert begun.stdout is not None and begun.stdout.readline() == "3\n"
    begun.send_signal(ending)
    assert begun.communicate(timeout=60)[0] == "saved\n"
