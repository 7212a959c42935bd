"""What earlier versions kept and showed of a folder of results, which this one neither reads nor writes.

A run that writes, and `forget`, remove it. What a person did, such as corrections and audits, is in tables and stays.
"""

from __future__ import annotations

import shutil
from pathlib import Path

#: The names of folders and files at the top of an output folder, and what they held.
LEFT_OVER = {
    "encodings": "a model's readings of documents",
    "remote": "answers of a server",
    "cases.json": "what made documents a case",
    "outbox": "events that waited for their receivers",
}

_IN_SQL = "a join in SQL puts the documents of a case together (docs/recipes.md)"
#: The names of views that are gone, and what to do instead.
LEFT_VIEWS = {"cases": _IN_SQL, "case_checks": _IN_SQL}


def left_over(out: Path) -> tuple[str, ...]:
    """Returns the names of what earlier versions left in this folder."""
    return tuple(name for name in LEFT_OVER if (out / name).exists())


def remove_left_over(out: Path) -> str:
    """Removes what earlier versions left in this folder, whose links are checked, and returns the sentence on it.

    The sentence is "" if there was nothing. What cannot be removed stays until the next run.
    """
    found = left_over(out)
    for name in found:
        if (out / name).is_dir():
            shutil.rmtree(out / name, ignore_errors=True)
        else:
            (out / name).unlink(missing_ok=True)
    return f"removed {sentence}" if (sentence := about_left_over(found)) else ""


def about_left_over(names: tuple[str, ...]) -> str:
    """Returns the words on these names, "" for none."""
    parts = ", ".join(f"{name} ({LEFT_OVER[name]})" for name in names)
    return f"of an earlier version, and read by nothing any more: {parts}" if names else ""
