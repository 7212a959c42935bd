#!/usr/bin/env python3
"""Writes constraints.txt: no package may be newer than the release that the tests passed with.

    .venv/bin/python scripts/constraints.py > constraints.txt

The file has upper bounds, not pins: if an index lacks the very release, pip takes the newest before it that
pyproject.toml allows; if the index has it, the result is the same on every machine.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution, version

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT, EXTRAS = "cinnabar-extract", frozenset({"dev", "docs", "mutants"})


def installed(root: str, extras: frozenset[str]) -> dict[str, str]:
    """The installed releases, by name, of everything that `root` with these extras needs, without `root` itself."""
    releases: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(root, extras)]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in (wanted or {""})):
                continue
            below = canonicalize_name(requirement.name)
            waiting.append((below, frozenset(requirement.extras)))
            if below == root:  # `dev` names other extras of the project
                continue
            try:
                # The suffix (`+cpu`) is dropped, since a bound holds for every build of a release.
                releases[below] = Version(version(below)).public
            except PackageNotFoundError:
                raise SystemExit(f"{below}, which {name} needs, is not installed: run `make setup`") from None
    return releases


def main() -> None:
    releases = installed(PROJECT, EXTRAS)
    print("# The newest release of each package that the tests passed with; made by scripts/constraints.py.")
    for name, release in sorted(releases.items()):
        print(f"{name}<={release}")
    print(f"{len(releases)} packages", file=sys.stderr)


if __name__ == "__main__":
    main()
