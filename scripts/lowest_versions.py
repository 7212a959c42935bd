"""Prints the lowest releases that pyproject.toml allows for a core install, as constraints for pip.

    python scripts/lowest_versions.py >lowest.txt

PyTorch stays a range, because its lowest release on an index is a build with CUDA of some gigabytes.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

#: The dependencies that keep their range.
KEPT = frozenset({"torch"})


def lowest(requirements: list[str]) -> list[str]:
    """Returns a constraint for each requirement with a lower bound: `name==bound`, with its marker."""
    constraints = []
    for requirement in requirements:
        wanted, _, marker = requirement.partition(";")
        match = re.fullmatch(r"([A-Za-z0-9_.-]+)>=([^,\s]+).*", wanted.strip())
        if match and match[1] not in KEPT:
            constraints.append(f"{match[1]}=={match[2]}" + (f";{marker}" if marker else ""))
    return constraints


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print("\n".join(lowest(project["dependencies"])))
