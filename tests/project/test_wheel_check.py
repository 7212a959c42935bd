"""The parts of scripts/check_wheel.sh that need no environment of their own."""

from __future__ import annotations

import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOWEST = runpy.run_path(str(ROOT / "scripts" / "lowest_versions.py"))
EXAMPLE = runpy.run_path(str(ROOT / "scripts" / "first_example.py"))


def test_each_lower_bound_becomes_a_constraint_but_that_of_torch() -> None:
    wanted = ["a>=1.2,<3", "torch>=2.11,<2.14", "b-c>=4; python_version < '3.14'"]
    assert LOWEST["lowest"](wanted) == ["a==1.2", "b-c==4; python_version < '3.14'"]
    assert len(LOWEST["lowest"](PROJECT["dependencies"])) == len(PROJECT["dependencies"]) - len(LOWEST["KEPT"])


def test_the_first_commands_of_a_page_run_over_the_files_before_them(tmp_path: Path) -> None:
    page = (
        "```text file=a/one.txt\nfirst\n```\n```sh\nfalse\n```\n```sh run\ncat a/one.txt\n```\n```sh run\nfalse\n```\n"
    )
    assert EXAMPLE["run_example"](page, tmp_path) == "first\n"
    with pytest.raises(subprocess.CalledProcessError):
        EXAMPLE["run_example"]("```sh run\nfalse\ntrue\n```\n", tmp_path)
    with pytest.raises(ValueError, match="got none"):
        EXAMPLE["run_example"]("no commands", tmp_path)


def test_the_first_commands_of_getting_started_are_its_example() -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    first = next(block for block in EXAMPLE["_BLOCK"].finditer(page) if block["run"])
    assert "cinnabar extract mails" in first["text"] and EXAMPLE["EXPECTED"] in page
