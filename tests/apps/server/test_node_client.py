"""The official client for Node over the documented contract, if npm has fetched it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.server_process import NAME, ServerProcess, running
from tests.support.tiny_checkpoint import write_checkpoint

CONTRACT = Path(__file__).with_name("contract.cjs")
#: Where `npm install --prefix build/node_client openai@7` puts the package; git ignores it.
FOLDER = Path(__file__).resolve().parents[3] / "build" / "node_client"

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which is not here"),
    pytest.mark.skipif(
        not (FOLDER / "node_modules" / "openai").is_dir(),
        reason="needs the npm package openai: npm install --prefix build/node_client openai@7",
    ),
]


def checked(server: ServerProcess, model: str) -> list[str]:
    """The checks that hold."""
    command = ["node", str(CONTRACT), server.url, model, str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"after {done.stdout.split()}: {done.stderr}"
    return done.stdout.split()


def test_the_client_for_node_does_all_that_the_reader_can(served: ServerProcess) -> None:
    assert len(checked(served, NAME)) == 11


def test_the_client_for_node_does_all_that_a_language_model_can(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "tiny", window=2048, block=8)
    with running("--model", str(folder), "--effort", "instant") as server:
        assert len(checked(server, "tiny")) == 15
