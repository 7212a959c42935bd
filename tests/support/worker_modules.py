"""Modules that a test writes for the worker processes which it starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def importable(name: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes a module of this name, and lets processes that start from now on import it."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / f"{name}.py").write_text(source)
    inherited = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), inherited])))
