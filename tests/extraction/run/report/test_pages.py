"""Pages for people are made of templates that escape every value."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from cinnabar.extraction.run.report import reports
from cinnabar.extraction.run.report.reports import report_page, visible

HOSTILE = "<script>alert(1)</script>\u202e\x1b\"' &amp;"


def test_control_and_direction_characters_are_told_and_line_breaks_kept() -> None:
    assert visible("a\tb\n\u202ec\x1b[0m\ud800") == "a\tb\n\\u202ec\\x1b[0m\\ud800"


def page(text: str) -> dict[str, Any]:
    """What a report tells of a run, with this text wherever there is one."""
    one = {"path": text, "detail": text, "confidence": 0.5}
    shares = dict.fromkeys(("quarantined", "sure", "empty", "pace", "wrong"))
    shares |= {"run_id": text, "read": 1, "reviewed": 0, "found": 1}
    field = {"field": text, "places": 1, "found": 1, "sure": 1, "before": None, "fields": 1}
    named = dict.fromkeys(("run_id", "schema_name", "model"), text)
    lists = {"counts": [{"outcome": "skipped", "code": text, "documents": 1}]}
    lists |= {"reasons": [{"code": text, "documents": 1, "examples": [one]}]}
    lists |= {"unsure": [one], "incomplete": [one], "shares": [shares, shares], "fields": [field]}
    numbers = {"read": 1, "seconds": 1.0, "outcomes": Counter(skipped=1), "stages": {"fill": 1.0}}
    numbers["stands"] = {"written": 0, "quarantined": 0, "empty": 1}
    return named | lists | numbers | {"options": {"effort": text}, "started": datetime(2026, 1, 2)}


def test_every_value_of_a_page_is_escaped() -> None:
    made = report_page(page(HOSTILE), [])
    assert "<script" not in made and "\u202e" not in made and "\x1b" not in made
    assert made.count("&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x1b&#34;&#39; &amp;amp;") == 14


def test_a_page_allows_its_own_style_alone() -> None:
    made = report_page(page("a"), [])
    style = re.search(r"<style>(.*?)</style>", made, re.DOTALL)
    assert style is not None and style[1] == (
        Path(reports.__file__).parent / "templates" / "report.css"
    ).read_text().strip("\n")
    assert f"default-src 'none'; style-src '{reports._policy(style[1])}';" in made


def test_a_value_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="has no attribute 'model'"):
        report_page({name: value for name, value in page("a").items() if name != "model"}, [])
