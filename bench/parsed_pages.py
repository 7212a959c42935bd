"""Reads PDFs with the code of any tree, and prints pages and seconds of processor time for each folder.

    python -P bench/parsed_pages.py TREE FOLDER...

`bench.parsing_speed` runs it. It imports nothing but that tree, so that two versions can be compared.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path


class Tree:
    """Finds the package `cinnabar` in a folder."""

    def __init__(self, root: str) -> None:
        self.root = root

    def find_spec(self, name: str, path: Sequence[str] | None = None, _: object = None) -> ModuleSpec | None:
        """Returns where a module of the package lies, None for others."""
        if name == "cinnabar":
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(Path(self.root, "src", "cinnabar")), self.root]
            return spec
        return PathFinder.find_spec(name, path) if name.startswith("cinnabar.") else None


def main(root: str, folders: Sequence[str]) -> None:
    """Prints a line of JSON for each folder: pages, seconds."""
    sys.meta_path.insert(0, Tree(root))
    from cinnabar.extraction.documents.content.parse_context import ParserSettings
    from cinnabar.extraction.documents.ingest import parse

    settings = ParserSettings(ocr="never")
    for number, folder in enumerate([folders[0], *folders]):
        pages, seconds = 0, 0.0
        for path in sorted(Path(folder).rglob("*.pdf")):
            data = path.read_bytes()
            begun = time.process_time()
            try:
                document = parse(data, path.name, settings)
            except Exception as error:
                if type(error).__name__ != "DocumentError":  # its module is not the same in every version
                    raise
                continue
            seconds += time.process_time() - begun
            pages += sum(part.kind == "page" for part in document.parts)
        # The first folder is read twice: the first time imports modules.
        if number:
            print(json.dumps([pages, seconds]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
