"""A Python process of ours imports nothing from the working folder (tests/project/test_child_processes.py)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cinnabar.engine.child_process import SAFE_PATH, python_command


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with modules that leave a file when they are run; the file."""
    mark = tmp_path / "was_run"
    for name in ("typer", "pip", "prefect", "email", "json", "torch"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write(__name__)\nraise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    for variable in ("PYTHONPATH", "PYTHONSAFEPATH"):
        monkeypatch.delenv(variable, raising=False)
    return mark


def test_a_module_of_the_working_folder_is_run_by_python_alone(planted: Path) -> None:
    command = python_command("-c", "import email, json, typer")
    subprocess.run(command, check=True)
    assert not planted.exists()
    # A process that such a process starts, as Prefect does.
    subprocess.run([command[0], "-c", "import email, json, typer"], check=True, env=os.environ | SAFE_PATH)
    assert not planted.exists()
    # Else the test would show nothing.
    assert subprocess.run([command[0], "-c", "import email"], check=False).returncode == 7
    assert planted.read_text() == "email"
