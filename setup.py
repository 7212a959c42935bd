"""Links the folders at the top of the repository into src/cinnabar, where setuptools and type checkers see them.

Git keeps no links, as Windows cannot check them out. An installation makes them, and so does `python setup.py --name`.
"""

import sys
from pathlib import Path

from setuptools import setup

FOLDERS = ("apps", "engine", "extraction", "flows", "kernels", "schemas")


def link_folders(root: Path) -> None:
    """Makes the links that are missing; a source distribution has the folders themselves."""
    for folder in FOLDERS:
        link = root / "src" / "cinnabar" / folder
        if link.exists() or not (root / folder).is_dir():
            continue
        if sys.platform == "win32":
            from _winapi import CreateJunction  # It takes no rights, unlike a link.

            CreateJunction(str(root / folder), str(link))
        else:
            link.symlink_to(Path("..", "..", folder))


link_folders(Path(__file__).resolve().parent)
setup()
