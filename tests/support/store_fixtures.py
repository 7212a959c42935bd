"""Fixtures of tests of output folders: the workload, which is a program as well, and a folder."""

from __future__ import annotations

import pytest
from tests.support import store_workload


@pytest.fixture(scope="session")
def workload():
    """The module of that program."""
    return store_workload


@pytest.fixture
def out(tmp_path):
    """An output folder that does not exist yet, with a name that breaks careless quoting."""
    return tmp_path / 'it\'s "out"; drop [1]*'
