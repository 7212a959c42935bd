"""The packages install exactly their folders, and imports only go down."""

from __future__ import annotations

import ast
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("interface", "flows", "extraction", "engine", "kernels", "schemas")
# The folder that is cinnabar itself: its modules are cinnabar.<module>.
TOP = "interface"
# The folders below each folder, from which it may import.
BELOW = {
    "interface": {"extraction", "engine", "schemas"},
    "flows": {"extraction", "engine", "schemas"},
    "extraction": {"engine", "schemas"},
    "engine": {"kernels", "schemas"},
    "kernels": set[str](),
    "schemas": set[str](),
}
# The modules and names of cinnabar itself, which none of the other folders may import.
OWN = {path.stem for path in (ROOT / TOP).glob("*.py")}
# schemas/ ends at bytes and knows no tensors; NumPy's arrays and Arrow's types are not tensors.
NO_TENSORS = {"torch", "triton", "safetensors", "tokenizers"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def package(folder: str) -> str:
    """The package that a folder is imported as, given its path from the root with dots."""
    return "cinnabar" if folder == TOP else f"cinnabar.{folder}"


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (p for p in sorted((ROOT / folder).rglob("*.py")) if "__pycache__" not in p.parts)


def imported(path: Path) -> set[str]:
    """Full names of the modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module or ''}.{alias.name}" for alias in node.names}
            assert not node.level, f"{path}: expected the full name of a module, got a relative import"
    return found


def test_the_packages_are_the_folders_that_hold_python() -> None:
    here = {package(".".join(p.parent.relative_to(ROOT).parts)) for p in sources()}
    assert sorted(SETUPTOOLS["packages"]) == sorted(here)


def test_every_top_level_package_is_a_folder_of_its_name() -> None:
    assert SETUPTOOLS["package-dir"] == {package(folder): folder for folder in FOLDERS}


def test_the_type_checker_finds_each_folder_and_module_where_python_does() -> None:
    links = {path.name: path.resolve() for path in (ROOT / ".typing" / "cinnabar").iterdir()}
    modules = {path.name: path for path in (ROOT / TOP).iterdir() if path.name != "__pycache__"}
    assert links == modules | {folder: ROOT / folder for folder in FOLDERS if folder != TOP}


def test_other_files_than_python_are_packaged_or_known() -> None:
    patterns = [
        f"{name.removeprefix('cinnabar.').replace('.', '/') if '.' in name else TOP}/{pattern.replace('**/', '')}"
        for name, found in SETUPTOOLS["package-data"].items()
        for pattern in found
    ]
    tracked = subprocess.run(
        ["git", "ls-files", "-z", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("needs a git checkout")
    others = [n for n in tracked.stdout.split("\0") if n and not n.endswith((".py", ".md"))]
    assert [n for n in others if not any(fnmatch(n, p) for p in patterns)] == []


@pytest.mark.parametrize("folder", ["kernels", "tests"])
def test_folders_whose_name_is_taken_elsewhere_are_no_packages(folder: str) -> None:
    assert not list((ROOT / folder).rglob("__init__.py"))


def test_every_other_package_has_its_init_file() -> None:
    folders = {p.parent for p in sources() if p.parent != ROOT / "kernels"}
    assert [str(f) for f in folders if not (f / "__init__.py").is_file()] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_only_go_down(folder: str) -> None:
    allowed = BELOW[folder] | {folder}
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        if path.relative_to(ROOT).parts[0] == folder
        for name in imported(path)
        if name.startswith("cinnabar.") and name.split(".")[1] not in allowed | (OWN if folder == TOP else set())
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


@pytest.mark.parametrize("folder", sorted({str(path.parent.relative_to(ROOT)) for path in sources()}))
def test_no_name_stands_for_two_things_in_a_folder(folder: str) -> None:
    where: dict[str, list[str]] = {}
    for path in sorted((ROOT / folder).glob("*.py")):
        for name in public_names(path):
            where.setdefault(name, []).append(path.name)
    assert {name: files for name, files in where.items() if len(files) > 1} == {}


def in_circles(imports: dict[str, set[str]]) -> set[str]:
    """The modules whose imports lead back to themselves, and the modules between two such cycles."""
    left = dict(imports)
    while True:
        asked = {name for below in left.values() for name in below}
        kept = {name: below & left.keys() for name, below in left.items() if name in asked}
        kept = {name: below for name, below in kept.items() if below}
        if kept == left:
            return set(left)
        left = kept


def test_an_import_cycle_is_found_among_modules_that_lead_to_it_and_from_it() -> None:
    chain = {"above": {"one"}, "one": {"two"}, "two": {"one", "below"}, "below": set[str]()}
    assert in_circles(chain) == {"one", "two"}


def test_no_modules_import_each_other_in_a_cycle() -> None:
    modules = {
        ".".join(("cinnabar", *path.relative_to(ROOT).with_suffix("").parts))
        .removesuffix(".__init__")
        .replace(f"cinnabar.{TOP}", "cinnabar"): path
        for path in sources()
    }
    imports = {
        module: {name if name in modules else name.rpartition(".")[0] for name in imported(path)} - {module}
        for module, path in modules.items()
    }
    assert in_circles(imports) == set()


def test_answers_are_read_without_importing_the_server_client() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "engine" / "answers").glob("*.py"))
        for name in imported(path)
        if name.startswith("cinnabar.engine.models.remote")
    ]
    assert not wrong


def test_nothing_but_the_command_line_imports_the_command_line() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        if path.relative_to(ROOT).parts[:2] != ("flows", "cli")
        for name in imported(path)
        if name.startswith("cinnabar.flows.cli")
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
        if name.split(".")[0] in FOLDERS
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
    extras = PROJECT["project"]["optional-dependencies"]
    lines = PROJECT["project"]["dependencies"] + extras["dev"] + extras["mutants"]
    wanted = [re.split(r"[<>=;\[ ]", line)[0] for line in lines]
    assert [name for name in wanted if name.replace("_", "-").lower() not in bounds] == []


def test_scripts_can_be_run() -> None:
    named = [ROOT / ".ci" / "run", *(ROOT / "scripts").glob("*.sh")]
    assert [str(p) for p in named if not p.stat().st_mode & stat.S_IXUSR] == []


def test_the_check_of_a_change_is_lint_then_test_then_the_slow_tests() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[-3:] == [f"make {target} </dev/null" for target in ("lint", "test", "test-slow")]


def test_the_check_of_a_change_ends_with_the_status_of_the_first_that_fails(tmp_path: Path) -> None:
    script = tmp_path / ".ci" / "run"
    script.parent.mkdir()
    shutil.copy(ROOT / ".ci" / "run", script)
    targets = "lint:\n\t@echo lint $$CI\ntest:\n\t@echo test; exit 1\ntest-slow:\n\t@echo slow\n"
    (tmp_path / "Makefile").write_text(targets)
    # What a make around this test hands down would have the inner one say where it is.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run([script], cwd="/", env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (2, ["lint true", "test"])


def test_importing_the_engine_makes_waiting_threads_passive() -> None:
    code = "import os, sys, cinnabar.engine; print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    env = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["PASSIVE", "False"]
