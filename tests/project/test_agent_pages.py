"""A release's pages for agents list the documentation, and their commands exist."""

from __future__ import annotations

import re
import sys

from tests.support import ROOT
from tests.support.cases import each

sys.path.insert(0, str(ROOT / "scripts"))
import agent_pages
from tests.support.documentation import check_cinnabar, words_of

SKILL = agent_pages.skill()


def test_every_page_is_listed_once() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\)", agent_pages.pages())
    assert listed == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_a_skill_has_a_name_and_says_when_it_is_of_use() -> None:
    front = re.match(r"---\nname: ([a-z-]{1,64})\ndescription: (.{1,1024})\n---\n", SKILL)
    assert front is not None and "Use it to" in front[2]


@each("line", re.findall(r"`(cinnabar [a-z][^`]*)`", SKILL))
def test_every_command_of_the_skill_exists(line: str) -> None:
    check_cinnabar(words_of(line))
