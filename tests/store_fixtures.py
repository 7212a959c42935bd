"""Fixtures of tests of output folders: the workload, which is a program as well, and a folder."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

_PATH = Path(__file__).parent / "extraction" / "store" / "workload.py"


@pytest.fixture(scope="session")
def workload():
    """The module of that program."""
    spec = importlib.util.spec_from_file_location("storage_workload", _PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def out(tmp_path):
    """An output folder that does not exist yet, with a name that breaks careless quoting."""
    return tmp_path / 'it\'s "out"; drop [1]*'


@pytest.fixture(autouse=True)
def _unsynced(monkeypatch):
    """Do not wait for the disk: only a power cut could tell the difference."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
