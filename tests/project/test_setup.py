"""`scripts/setup.sh` installs what a target needs once, and after a cut it says why and goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support import ROOT

# An interpreter whose venv module makes another that counts what pip is to install. $PIP says how pip fails.
PYTHON = """#!/bin/sh
case "$*" in
"-m venv .venv")
    mkdir -p .venv/bin .venv/lib/python3/site-packages/half-1.dist-info
    cp "$0" .venv/bin/python; echo made >>calls ;;
*install*) echo "$*" | grep -o '[^ ]*$' >>calls; if [ -n "$PIP" ]; then echo "$PIP"; exit 1; fi ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("scripts/setup.sh", "pyproject.toml", "constraints.txt", "setup.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "src" / "cinnabar" / "engine").mkdir(parents=True)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def set_up(folder: Path, *part: str, pip: str = "", python: str = "./python") -> tuple[int, list[str], str]:
    """Returns the status of setup, what it had pip install, and what it said."""
    (folder / "calls").write_text("")
    env = os.environ | {"PYTHON": python, "PIP": pip}
    done = subprocess.run(["scripts/setup.sh", *part], cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, (folder / "calls").read_text().split(), done.stderr


def test_a_demo_installs_less_than_the_tests_and_nothing_is_installed_twice(checkout: Path) -> None:
    assert set_up(checkout, "demo")[:2] == (0, ["made", "setuptools", ".[ocr]"])
    assert set_up(checkout, "demo") == (0, [], "")
    assert set_up(checkout)[:2] == (0, [".[dev]"])
    assert set_up(checkout) == set_up(checkout, "demo") == (0, [], "")
    (checkout / "constraints.txt").write_text("")
    assert set_up(checkout)[:2] == (0, [".[dev]"])


@pytest.mark.parametrize(
    "said, why", [("No space left on device", "disk is full"), ("(from versions: none)", "index is out of reach")]
)
def test_a_setup_that_is_cut_off_says_why_and_the_next_one_goes_on(checkout: Path, said: str, why: str) -> None:
    assert set_up(checkout, "demo", pip="ERROR: no pip")[:2] == (1, ["made", "setuptools"])
    # An environment whose pip was cut off is made anew, one that lacks packages is kept.
    assert set_up(checkout, "demo")[:2] == (0, ["made", "setuptools", ".[ocr]"])
    status, calls, told = set_up(checkout, pip=f"ERROR: {said}")
    assert (status, calls) == (1, [".[dev]"]) and said in told and why in told and "goes on" in told
    assert set_up(checkout)[:2] == (0, [".[dev]"])


def test_releases_that_an_index_lacks_are_replaced_by_others_in_range(checkout: Path) -> None:
    assert set_up(checkout, "demo")[0] == 0
    assert set_up(checkout, pip="ERROR: ResolutionImpossible")[:2] == (1, [".[dev]", ".[dev]"])


def test_a_package_that_was_cut_off_is_installed_again(checkout: Path) -> None:
    set_up(checkout, "demo")
    assert not [*(checkout / ".venv").rglob("half-1.dist-info")]


def test_a_machine_without_python_is_told_so(checkout: Path) -> None:
    status, calls, told = set_up(checkout, python="no-python")
    assert (status, calls) == (2, []) and "found none" in told
