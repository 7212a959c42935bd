"""One server with the shipped reader for all tests of the server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_process import ServerProcess, running


@pytest.fixture(scope="session")
def served() -> Iterator[ServerProcess]:
    with running() as server:
        yield server
