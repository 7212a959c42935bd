"""How a Python process of ours is started: one that imports nothing from the working folder."""

from __future__ import annotations

import sys

#: For the environment of a process that starts Python processes itself, such as Prefect's server and its runs.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}


def python_command(*arguments: str) -> list[str]:
    """Returns the command of this Python with these arguments.

    The working folder may hold the documents of others, with an `email.py` or a `pip.py` among them: `-P` keeps it out
    of the import path.
    """
    return [sys.executable, "-P", *arguments]
