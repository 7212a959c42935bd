"""The modules of the product, what each imports, and the circles among modules and among folders."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The folder that is `cinnabar` itself; it links to the others, which stand at the top of the repository.
TOP = ROOT / "src" / "cinnabar"
FOLDERS = ("apps", "flows", "extraction", "engine", "kernels", "schemas")


@cache
def modules() -> Mapping[str, Path]:
    """Returns the files of all modules by their full name; a package has the file of its `__init__`."""
    own = {path: path.relative_to(TOP) for path in sorted(TOP.glob("*.py"))}
    rooms = {path: path.relative_to(ROOT) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))}
    return {
        ".".join(("cinnabar", *below.with_suffix("").parts)).removesuffix(".__init__"): path
        for path, below in (own | rooms).items()
    }


def folder_of(module: str) -> str:
    """Returns the package that a module stands in.

    A package whose `__init__` only hands on names of the folders in it stands above them, and is a folder of its own.
    """
    path = modules()[module]
    if path.name == "__init__.py" and "__getattr__" in path.read_text("utf-8"):
        return f"{module} (its names)"
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


@cache
def imports() -> Mapping[str, Set[str]]:
    """Returns the modules of the product that each module imports, also within functions and for types alone."""
    return {module: frozenset(_imported(path)) - {module} for module, path in modules().items()}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module in modules():
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in modules() else node.module


def folders(depth: int | None = None) -> dict[str, set[str]]:
    """Returns the folders that each folder imports from.

    depth: parts of a folder's name that count, such as 3 for `cinnabar.extraction.store`; None for all.
    """

    def cut(module: str) -> str:
        folder = folder_of(module)
        return folder if depth is None else ".".join(folder.split(".")[:depth])

    found: dict[str, set[str]] = {cut(module): set() for module in modules()}
    for module, below in imports().items():
        found[cut(module)] |= {cut(other) for other in below} - {cut(module)}
    return found


def in_circles(below: Mapping[str, Set[str]]) -> set[str]:
    """Returns the names that lead back to themselves, and the names between two such circles."""
    left: dict[str, Set[str]] = dict(below)
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
