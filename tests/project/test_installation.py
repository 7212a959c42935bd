"""An editable install is a line that type checkers follow, and a wheel holds every file of the product."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.metadata import distributions
from pathlib import Path

import pytest
from setuptools import Distribution
from tests.support import ROOT
from tests.support.import_graph import FOLDERS, TOP

# A program of a user, in a folder without settings.
PROGRAM = """\
import cinnabar
from cinnabar.schemas.library import LIBRARY, Invoice

reveal_type(cinnabar.extract)
reveal_type(cinnabar.extract("mails", schema=Invoice))
reveal_type(LIBRARY)
"""


def test_an_editable_install_is_one_line_that_names_a_folder() -> None:
    found = [*distributions(name="cinnabar-extract", path=[sysconfig.get_path("purelib")])]
    origin = json.loads(found[0].read_text("direct_url.json") or "{}") if found else {}
    if origin != {"dir_info": {"editable": True}, "url": ROOT.as_uri()}:
        pytest.skip("needs an editable install of this folder")
    lines = [Path(str(one.locate())).read_text("utf-8") for one in found[0].files or () if one.suffix == ".pth"]
    assert [line.strip() for line in lines] == [str(ROOT / "src")]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_type_checker_follows_that_line_without_settings(tmp_path: Path) -> None:
    environment, user = tmp_path / "environment", tmp_path / "user"
    venv.create(environment, symlinks=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    # What an editable install writes, and beside it the dependencies.
    (own / "editable.pth").write_text(f"{ROOT / 'src'}\n")
    (own / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    user.mkdir()
    (user / "program.py").write_text(PROGRAM)
    python = str(environment / "bin" / "python")
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "program.py"],
        cwd=user, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    types = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert types[0].startswith("Overload(") and "cinnabar.results.Table[_M]" in types[0]
    assert types[1:] == [
        "cinnabar.results.Table[cinnabar.schemas.library.invoice.Invoice]",
        "dict[str, type[pydantic.main.BaseModel]]",
    ]


def wheel_files(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Returns the names of the files that a wheel of this folder would hold, its metadata apart."""
    monkeypatch.chdir(ROOT)
    product = Distribution({"script_name": "setup.py"})
    product.parse_config_files()
    # Otherwise setuptools writes its metadata into src/.
    product.include_package_data = False
    build = product.get_command_obj("build_py")
    build.build_lib = "/wheel"
    build.ensure_finalized()
    return {Path(name).relative_to("/wheel").as_posix() for name in build.get_outputs(include_bytecode=False)}


def test_a_wheel_holds_every_tracked_file_of_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = subprocess.run(["git", "ls-files", "-z", *FOLDERS, TOP], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("needs a git checkout")
    tracked = {name for name in listed.stdout.split("\0") if name and not (ROOT / name).is_symlink()}
    wanted = {f"cinnabar/{name.removeprefix('src/cinnabar/')}" for name in tracked}
    held = wheel_files(monkeypatch)
    assert wanted - held == set()
    assert {name.partition("/")[0] for name in held} == {"cinnabar"}
    assert [name for name in held if "__pycache__" in name or name.endswith(".pyc")] == []


@pytest.mark.parametrize("model", ["reader", "sentences"])
def test_weights_lie_beside_a_notice_with_the_hash_of_what_they_come_from(model: str) -> None:
    folder = ROOT / "engine" / "weights" / model
    notice = (folder / "NOTICE").read_text("utf-8")
    origin = json.loads((folder / "model.json").read_text("utf-8"))
    origin = origin.get("encoder", origin)
    assert [origin[name] for name in ("from", "licence", "sha256") if origin[name] not in notice] == []


def test_files_that_the_notice_names_exist() -> None:
    named = re.findall(r"\b(?:engine|apps|extraction|training|docs)/[\w./-]+\w/?", (ROOT / "NOTICE").read_text("utf-8"))
    assert named and [name for name in named if not (ROOT / name).exists()] == []


def test_both_licence_files_are_in_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["license-files"] == ["LICENSE", "NOTICE"]
    assert all((ROOT / name).is_file() for name in project["license-files"])
