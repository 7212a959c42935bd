"""Hooks of mkdocs.yml: links to files outside of docs/, and the marks of fences."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001, names are mkdocs'
    """Turns links to files of the repository outside of docs/ into their paths, and drops the marks of fences."""
    here = PurePosixPath(page.file.src_uri).parent
    depth = len(here.parts)

    def target(match: re.Match[str]) -> str:
        path = match[2].partition("#")[0]
        above = len(re.match(r"(?:\.\./)*", path)[0]) // 3  # type: ignore[index]
        return f"{match[1]} (`{path[3 * above :]}`)" if above > depth else match[0]

    markdown = re.sub(r"\[([^\]]+)\]\(((?:\.\./)+[^)\s]*)\)", target, markdown)
    return re.sub(r"^```(\w+) [^\n]+$", _titled, markdown, flags=re.MULTILINE)


def _titled(match: re.Match[str]) -> str:
    """Returns the first line of a fence with the name of its file as its title, and without its other marks."""
    name = re.search(r"file=(\S+)", match[0])
    return f'```{match[1]} title="{name[1]}"' if name else f"```{match[1]}"
