"""The folders are those of the package, imports only go down, and scripts and bounds are in step."""

from __future__ import annotations

import ast
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml
from tests.support.cases import each
from tests.support.import_graph import (
    FOLDERS,
    GROUND,
    ROOT,
    TOP,
    floors,
    folders,
    import_statements,
    imports,
    in_circles,
    modules,
)

# The folders below each folder, from which it may import; `api` is cinnabar itself.
BELOW = {
    "api": {"extraction", "engine", "schemas"},
    "apps": {"flows", "extraction", "engine", "schemas"},
    "flows": {"extraction", "engine", "schemas"},
    "extraction": {"engine", "schemas"},
    "engine": {"kernels", "schemas"},
    "kernels": set[str](),
    "schemas": set[str](),
    "ground": set[str](),
}
# schemas/ ends at bytes and knows no tensors; NumPy's arrays and Arrow's types are not tensors.
NO_TENSORS = {"torch", "triton", "safetensors", "tokenizers"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def sources() -> list[Path]:
    return [*modules().values()]


@cache
def imported(path: Path) -> frozenset[str]:
    """Full names of the modules that a file imports, anywhere in it, and of the names that it imports from them."""
    names: set[str] = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            names |= {f"{node.module or ''}.{alias.name}" for alias in node.names}
            assert not node.level, f"{path}: expected the full name of a module, got a relative import"
    return frozenset(names)


def test_git_keeps_no_links_and_setup_makes_one_to_each_folder_at_the_top(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert [line for line in listed.stdout.splitlines() if line.startswith("120000")] == []
    shutil.copy(ROOT / "setup.py", tmp_path)
    for folder in ("src/cinnabar", *FOLDERS):
        (tmp_path / folder).mkdir(parents=True)
    for _ in range(2):
        subprocess.run([sys.executable, "setup.py", "--name"], cwd=tmp_path, check=True, capture_output=True)
        links = {path.name: path.resolve() for path in (tmp_path / "src" / "cinnabar").iterdir()}
        assert links == {folder: tmp_path / folder for folder in FOLDERS}


def test_a_checkout_without_links_imports_the_folders_at_its_top(tmp_path: Path) -> None:
    package = tmp_path / "src" / "cinnabar"
    package.mkdir(parents=True)
    shutil.copy(TOP / "__init__.py", package)
    for folder in FOLDERS:
        (tmp_path / folder).symlink_to(ROOT / folder)
    code = "from cinnabar import schemas; from cinnabar.kernels import score_limits; "
    code += "print(score_limits.__file__, schemas.__file__)"
    env = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{tmp_path}/kernels/score_limits.py", f"{tmp_path}/schemas/__init__.py"]


@pytest.mark.parametrize("folder", ["kernels", "tests"])
def test_folders_whose_name_is_taken_elsewhere_are_no_packages(folder: str) -> None:
    assert {*(ROOT / folder).rglob("__init__.py")} <= {ROOT / "tests" / "support" / "__init__.py"}


def test_every_other_package_has_its_init_file() -> None:
    folders = {p.parent for p in sources() if p.parent != ROOT / "kernels"}
    assert [str(f) for f in folders if not (f / "__init__.py").is_file()] == []


def folder_at_the_top(module: str) -> str:
    if module in GROUND:
        return "ground"
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in FOLDERS else "api"


@each("folder", BELOW)
def test_imports_only_go_down(folder: str) -> None:
    wrong = [
        f"{module}: {name}"
        for module, names in imports().items()
        for name in names
        if folder_at_the_top(module) == folder and folder_at_the_top(name) not in BELOW[folder] | {folder, "ground"}
    ]
    assert not wrong


def public_names(path: Path) -> set[str]:
    """The functions, classes and constants that a module defines for others."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return {name for name in names if not name.startswith("_")}


@each("folder", sorted({str(path.parent.relative_to(ROOT)) for path in sources()}))
def test_no_name_stands_for_two_things_in_a_folder(folder: str) -> None:
    where: dict[str, list[str]] = {}
    for path in sorted((ROOT / folder).glob("*.py")):
        for name in public_names(path):
            where.setdefault(name, []).append(path.name)
    assert {name: files for name, files in where.items() if len(files) > 1} == {}


def test_an_import_cycle_is_found_among_modules_that_lead_to_it_and_from_it() -> None:
    chain = {"above": {"one"}, "one": {"two"}, "two": {"one", "below"}, "below": set[str]()}
    assert in_circles(chain) == {"one", "two"}


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert in_circles(imports(outside=True)) == set()


def test_no_folders_import_each_other_in_a_cycle() -> None:
    assert in_circles(folders(outside=True)) == set()


def test_extraction_has_nine_rooms_on_seven_floors() -> None:
    rooms = {name: below for name, below in folders(3).items() if name.startswith("cinnabar.extraction.")}
    assert in_circles(rooms) == set()
    assert len(rooms) <= 9
    assert max(floors(rooms).values()) < 7


def test_the_rooms_of_engine_import_each_other_in_no_circle() -> None:
    rooms = {name: below for name, below in folders(3).items() if name.startswith("cinnabar.engine")}
    assert in_circles(rooms) == set()


def test_nothing_but_the_command_line_imports_the_command_line() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        if path.relative_to(ROOT).parts[:2] != ("apps", "cli")
        for name in imported(path)
        if name.startswith("cinnabar.apps.cli")
    ]
    assert not wrong


def test_schemas_know_no_tensors() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        if path.relative_to(ROOT).parts[0] == "schemas"
        for name in imported(path)
        if name.split(".")[0] in NO_TENSORS
    ]
    assert not wrong


def test_modules_are_imported_by_their_full_name() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        for name in imported(path)
        if name.split(".")[0] in {*FOLDERS, "training", "bench", "tests"}
    ]
    assert not wrong


def test_schemas_import_from_any_working_directory_without_a_tensor_library(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()  # a folder of this name in the working directory is not ours
    code = "import sys, cinnabar.schemas.library as found; print('torch' in sys.modules, found.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded, place = done.stdout.strip().split(" ", 1)
    assert loaded == "False"
    assert Path(place).resolve() == ROOT / "schemas" / "library" / "__init__.py"


def test_every_dependency_has_a_bound_that_was_tested() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    bounds = dict(line.split("<=") for line in lines if not line.startswith("#"))
    # `train` is for those who start the shipped model anew, and no test needs it.
    extras = [needs for name, needs in PROJECT["project"]["optional-dependencies"].items() if name != "train"]
    lines = [*PROJECT["project"]["dependencies"], *(line for needs in extras for line in needs)]
    wanted = {re.split(r"[<>=;\[ ]", line)[0] for line in lines} - {PROJECT["project"]["name"]}
    assert [name for name in wanted if name.replace("_", "-").lower() not in bounds] == []


def test_the_lock_has_releases_that_were_tested_with_hashes_and_no_address() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    releases = [line for line in lines if re.fullmatch(r"[a-z\d.-]+==\S+ \\", line)]
    hashes = [line for line in lines if re.fullmatch(r" {4}--hash=sha256:[\da-f]{64}( \\)?", line)]
    assert len(hashes) > len(releases) > 200
    assert sorted({*lines} - {*releases, *hashes}) == sorted(line for line in lines if line.startswith("#"))
    bounds = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    locked = {line.split(" ")[0].replace("==", "<=") for line in releases}
    # A package that a newer release does not need any more has no bound.
    assert len(locked - {*bounds}) <= 3


def test_scripts_can_be_run() -> None:
    named = [ROOT / ".ci" / "run", *(ROOT / "scripts").glob("*.sh")]
    assert [str(p) for p in named if not p.stat().st_mode & stat.S_IXUSR] == []


def check_of_a_change(folder: Path, test: str = "echo test", index: str = "true") -> tuple[int, list[str], str]:
    """Runs `.ci/run` with targets that print their names; returns its status, its lines and its errors.

    test: the command of `make test`. index: the command that stands for pip's download of a package.
    """
    script, python = folder / ".ci" / "run", folder / ".venv" / "bin" / "python"
    for path in (script, python):
        path.parent.mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", script)
    python.write_text(f"#!/bin/sh\n{index}\n")
    python.chmod(0o755)
    targets = {"lint": "echo lint $$CI", "test": test, "wheel-check": "echo wheel $(ARGS)", "test-slow": "echo slow"}
    (folder / "Makefile").write_text("".join(f"{name}:\n\t@{command}\n" for name, command in targets.items()))
    # What a make around this test hands down would have the inner one say where it is.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run([script], cwd="/", env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_the_check_of_a_change_ends_with_the_status_of_the_first_that_fails(tmp_path: Path) -> None:
    status, lines, _ = check_of_a_change(tmp_path, test="echo test; exit 1")
    assert (status, lines) == (2, ["lint true", "test"])


def test_the_wheel_is_left_out_if_the_package_index_is_out_of_reach(tmp_path: Path) -> None:
    assert check_of_a_change(tmp_path / "there")[:2] == (0, ["lint true", "test", "wheel newest", "slow"])
    status, lines, errors = check_of_a_change(tmp_path / "gone", index="exit 1")
    assert (status, lines) == (0, ["lint true", "test", "slow"]) and "wheel-check: left out" in errors


def test_whoever_hosts_the_project_checks_the_newest_and_the_lowest_releases() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["check"]["strategy"]["matrix"] == {"target": ["lint", "test"]}
    assert jobs["check"]["steps"][-1]["run"] == "make ${{ matrix.target }}"
    job = jobs["wheel"]
    assert job["strategy"]["matrix"] == {"releases": ["newest", "lowest"]}
    assert job["steps"][-1]["run"] == "make wheel-check ARGS=${{ matrix.releases }}"
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert job["steps"][1]["with"]["python-version"] == least


def test_actions_are_named_by_the_hash_of_their_commit() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    used = [line.strip() for text in texts for line in text.splitlines() if "uses:" in line]
    assert used and [line for line in used if not re.fullmatch(r"- uses: [\w/-]+@[0-9a-f]{40}  # v[\d.]+", line)] == []


def test_a_release_has_a_section_of_the_changelog() -> None:
    sections = re.findall(r"^## \[(.+)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert sections[0] == PROJECT["project"]["version"]


def test_importing_the_engine_makes_waiting_threads_passive() -> None:
    code = "import os, sys, cinnabar.engine; print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    env = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["PASSIVE", "False"]
