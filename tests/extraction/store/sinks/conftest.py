"""Sinks of every kind, and results to bring there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.corrected_folder import run
from tests.support.postgresql_server import INITDB, server


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The address of a PostgreSQL server that ends with the tests."""
    if INITDB is None:
        pytest.skip("there is no PostgreSQL on this machine")
    with server() as address:
        yield address


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with the results of one run."""
    folder = tmp_path / "out"
    run(folder)
    return folder


@pytest.fixture
def tables(tmp_path: Path) -> str:
    return f"delta:{tmp_path}/tables"
