"""Fixtures of the tests of corrections: an output folder, and runs of a model that is a function."""

from __future__ import annotations

import pytest


@pytest.fixture
def out(tmp_path):
    """An output folder that does not exist yet."""
    return tmp_path / "out"
