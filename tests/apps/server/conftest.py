"""One server with the shipped reader for all tests of the server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.server_process import ServerProcess, running


@pytest.fixture(scope="session")
def served() -> Iterator[ServerProcess]:
    with running() as server:
        yield server
