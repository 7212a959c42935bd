"""The modules of the product and of what stands outside of it, their imports, and circles of modules and folders."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path

from tests.support import ROOT

#: The folder that is `cinnabar` itself; setup.py links the others into it, which stand at the top of the repository.
TOP = ROOT / "src" / "cinnabar"
FOLDERS = ("apps", "flows", "extraction", "engine", "kernels", "schemas")
#: The modules of `cinnabar` itself that stand below all folders: they import nothing but each other.
GROUND = frozenset({"cinnabar.closing", "cinnabar.errors", "cinnabar.extras", "cinnabar.wording"})
#: Folders at the top that no wheel holds, with modules of their own.
OUTSIDE = ("training", "bench")


@cache
def modules(outside: bool = False) -> Mapping[str, Path]:
    """Returns the files of all modules by their full name; a package has the file of its `__init__`.

    outside: with the modules of `OUTSIDE` as well.
    """
    own = {path: path.relative_to(TOP) for path in sorted(TOP.glob("*.py"))}
    rooms = {path: path.relative_to(ROOT) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))}
    others = [path for folder in OUTSIDE if outside for path in sorted((ROOT / folder).rglob("*.py"))]
    named = {path: ("cinnabar", *below.with_suffix("").parts) for path, below in (own | rooms).items()}
    named |= {path: path.relative_to(ROOT).with_suffix("").parts for path in others}
    return {".".join(parts).removesuffix(".__init__"): path for path, parts in named.items()}


@cache
def folder_of(module: str) -> str:
    """Returns the package that a module stands in.

    A module of `GROUND` is a folder of its own. So is a package whose `__init__` only hands on names of the folders in
    it: it stands above them.
    """
    if module in GROUND:
        return module
    path = modules(outside=True)[module]
    if path.name == "__init__.py" and "__getattr__" in path.read_text("utf-8"):
        return f"{module} (its names)"
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


@cache
def imports(outside: bool = False) -> Mapping[str, Set[str]]:
    """Returns the modules that each module imports of these, also within functions and for types alone."""
    known = modules(outside)
    return {module: frozenset(_imported(path, known)) - {module} for module, path in known.items()}


@cache
def import_statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Returns the imports anywhere in a file."""
    tree = ast.parse(path.read_text("utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def _imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif node.module is not None and node.module in known:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module


def folders(depth: int | None = None, outside: bool = False) -> dict[str, set[str]]:
    """Returns the folders that each folder imports from.

    depth: parts of a folder's name that count, such as 3 for `cinnabar.extraction.store`; None for all.
    """

    def cut(module: str) -> str:
        folder = folder_of(module)
        return folder if depth is None else ".".join(folder.split(".")[:depth])

    found: dict[str, set[str]] = {cut(module): set() for module in modules(outside)}
    for module, below in imports(outside).items():
        found[cut(module)] |= {cut(other) for other in below} - {cut(module)}
    return found


def in_circles(below: Mapping[str, Set[str]]) -> set[str]:
    """Returns the names that lead back to themselves, and the names between two such circles."""
    left: Mapping[str, Set[str]] = below
    while True:
        asked = {name for others in left.values() for name in others}
        kept = {name: others & left.keys() for name, others in left.items() if name in asked}
        kept = {name: others for name, others in kept.items() if others}
        if kept == left:
            return set(left)
        left = kept


def floors(below: Mapping[str, Set[str]]) -> dict[str, int]:
    """Returns how many folders lie below each folder, one upon the other; without circles only."""

    @cache
    def floor(name: str) -> int:
        return max((floor(other) + 1 for other in below[name] if other in below), default=0)

    return {name: floor(name) for name in below}
