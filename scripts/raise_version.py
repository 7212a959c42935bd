#!/usr/bin/env python3
"""Raises the version of the code that decides values and records the hash of that code (engine/version.py).

    .venv/bin/python scripts/raise_version.py

Nothing is done where the code is the recorded one. Confidence that was fitted before is stale after it: run
`make calibrate`.
"""

from __future__ import annotations

import re
from pathlib import Path

from cinnabar.engine.version import SYNTAX, VALUES_VERSION, syntax_hash

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Rewrite the two constants."""
    found = syntax_hash(ROOT)
    if found == SYNTAX:
        print(f"version {VALUES_VERSION} stands: no code that decides values has changed")
        return
    path = ROOT / "engine" / "version.py"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^VALUES_VERSION = \d+$", f"VALUES_VERSION = {VALUES_VERSION + 1}", text)
    text = re.sub(r'(?m)^SYNTAX = "\w*"$', f'SYNTAX = "{found}"', text)
    path.write_text(text, encoding="utf-8")
    print(f"version {VALUES_VERSION + 1}: records are made anew, and `make calibrate` is due")


if __name__ == "__main__":
    main()
