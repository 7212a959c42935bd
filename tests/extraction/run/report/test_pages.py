"""Pages for people are made of templates that escape every value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from cinnabar.extraction.run.report import reports
from cinnabar.extraction.run.report.reports import render, visible

HOSTILE = "<script>alert(1)</script>\u202e\x1b\"' &amp;"


def test_control_and_direction_characters_are_told_and_line_breaks_kept() -> None:
    assert visible("a\tb\n\u202ec\x1b[0m\ud800") == "a\tb\n\\u202ec\\x1b[0m\\ud800"


def test_every_value_of_a_page_is_escaped() -> None:
    field = {"pointer": HOSTILE, "value": HOSTILE, "confidence": 0.5, "check": True}
    made = render("draft.html", file=HOSTILE, link=HOSTILE, draft=HOSTILE, pieces=[(HOSTILE, field)], fields=[field])
    assert "<script" not in made and "\u202e" not in made and "\x1b" not in made
    assert made.count("&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x1b&#34;&#39; &amp;amp;") == 8


def test_a_page_allows_its_own_style_alone() -> None:
    made = render("draft.html", file="a", link="a", draft="a", pieces=[], fields=[])
    style = re.search(r"<style>(.*?)</style>", made, re.DOTALL)
    assert style is not None and style[1] == (
        Path(reports.__file__).parent / "templates" / "draft.css"
    ).read_text().strip("\n")
    assert f"default-src 'none'; style-src '{reports._policy(style[1])}';" in made


def test_a_value_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'pieces' is undefined"):
        render("draft.html", file="a", link="a", draft="a", fields=[])
