#!/usr/bin/env python3
"""Raises the version of the code that decides values and records the hash of that code (engine/version.py).

    .venv/bin/python scripts/raise_version.py

It does nothing if the hash of the code is the recorded one. Confidence that was fitted before the change is stale: run
`make calibrate`.
"""

from __future__ import annotations

import re
from pathlib import Path

from cinnabar.engine.version import SYNTAX, VALUES_VERSION, syntax_hash

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Rewrites the two constants if the code has changed."""
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
