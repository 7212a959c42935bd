"""Hooks of mkdocs.yml: pages that the navigation does not name, and links to files outside of docs/."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

#: The part of the navigation where pages go that it does not name.
_REST = "How-to"


def on_config(config: Any) -> Any:
    """Adds each page that the navigation does not name to its part for all others."""
    folder = Path(config["docs_dir"])
    named = set(re.findall(r"[\w/-]+\.md", str(config["nav"])))
    pages = sorted(str(PurePosixPath(page.relative_to(folder))) for page in folder.rglob("*.md"))
    (rest,) = (part[_REST] for part in config["nav"] if _REST in part)
    rest.extend(page for page in pages if page not in named)
    return config


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
