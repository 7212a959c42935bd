"""The documentation builds as a site without a warning, and the site asks no other machine for anything."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from tests.support import ROOT

PAGES = sorted(page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md"))


def script(name: str) -> ModuleType:
    """A module of scripts/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Loaded(HTMLParser):
    """Collects what a browser loads for a page: scripts, styles, pictures, frames."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "object"):
            self.found.append(said.get("src") or said.get("data") or "")
        if tag == "link" and said.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(said.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="needs the extra docs: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_site_and_in_its_navigation(site: Path) -> None:
    home = (site / "index.html").read_text("utf-8")
    for page in PAGES:
        name = str(page.with_suffix(".html"))
        assert (site / name).is_file()
        assert f'href="{name}"' in home or name == "index.html", f"{page}: not in the navigation"


def test_the_site_loads_nothing_from_another_machine(site: Path) -> None:
    loaded = [
        f"{page.relative_to(site)}: {target}"
        for page in site.rglob("*.html")
        for target in _loaded(page)
        if re.match(r"(?:[a-z]+:)?//", target)
    ]
    assert loaded == []
    styles = [path for path in site.rglob("*.css") if re.search(r"url\(['\"]?(?:https?:)?//", path.read_text("utf-8"))]
    assert styles == []


def _loaded(page: Path) -> list[str]:
    parser = Loaded()
    parser.feed(page.read_text("utf-8"))
    return parser.found


def test_marks_of_snippets_and_paths_outside_are_no_part_of_the_site(site: Path) -> None:
    text = (site / "schemas.html").read_text("utf-8")
    assert "../schemas/library" not in text
    assert "python run" not in (site / "tables.html").read_text("utf-8")
    assert "mails/1042.txt" in (site / "index.html").read_text("utf-8")


def test_the_picture_of_the_automaton_is_that_of_its_schema() -> None:
    pictures = script("pictures")
    title = "The automaton of an amount from 0 to 99.99 with at most two decimals"
    drawn = pictures.automaton_picture(pictures.amount(), title)
    assert (ROOT / "docs" / "pictures" / "automaton.svg").read_text("utf-8") == drawn, "scripts/pictures.py draws it"


@pytest.mark.parametrize("name", ["automaton.svg", "row.svg", "steps.svg"])
def test_pictures_are_sound_and_have_a_title(name: str) -> None:
    root = ElementTree.parse(ROOT / "docs" / "pictures" / name).getroot()
    assert root.get("aria-label")
    assert root.find("{http://www.w3.org/2000/svg}title") is not None


@pytest.mark.slow
def test_the_steps_are_those_of_a_real_fill() -> None:
    pictures = script("pictures")
    steps = pictures.real_steps()
    assert steps[-1]["final"]
    assert {pointer for step in steps for pointer in step["committed"]} >= {"/parcel", "/weight"}
    ElementTree.fromstring(pictures.steps_picture(steps, "steps"))
