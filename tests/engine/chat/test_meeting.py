"""Where the text of a hole ends since it meets the text behind the hole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each

from cinnabar.engine.chat.meeting import LEAST, MOST, meeting_of

BODY = "    total = sum(numbers)\n    return total\n"


@each(
    "before, behind, text, kept",
    [
        # Whole lines: the next line comes again.
        ("def f(numbers):\n", BODY, "    check(numbers)\n" + BODY, "    check(numbers)\n"),
        ("def f(numbers):\n", BODY, BODY + "\n\nprint(f([1]))\n", ""),
        # The hole begins behind the indent, and ends before a line end.
        ("def f(numbers):\n    ", "\n" + BODY, "check(numbers)\n" + BODY, "check(numbers)"),
        ("def f(numbers):\n    ", "\n\n" + BODY, "check(numbers)\n\n" + BODY, "check(numbers)"),
        ("def f(numbers):\n    ", "\n\n" + BODY, "check(numbers)\n" + BODY, "check(numbers)"),
        # The text behind begins within the line that the hole begins.
        ("def f(numbers):\n    ", BODY.lstrip(), "check(numbers)\n" + BODY, "check(numbers)\n    "),
        ("def f(numbers):\n    ", BODY.lstrip(), BODY.lstrip(), ""),
        # The same words in another block, or behind others, are no meeting.
        ("def f(numbers):\n    ", "\n" + BODY, "if numbers:\n        total = sum(numbers)\n", None),
        ("def f(numbers):\n    ", "\n" + BODY, "grand = 1; total = sum(numbers)\n", None),
        # Too little to know the text behind by, or not all of it.
        ("if a:\n    ", "\n    return\n", "b()\n    return\n    c()\n", None),
        ("def f(numbers):\n    ", "\n" + BODY, "total = sum(numbers", None),
        # A hole within a line ends where a line ends with the rest of its own.
        ("    if (", "):\n        a()\n", "x == 1):\n        b()\n", "x == 1"),
        ("    if (", "):\n        a()\n", "x == (1):\n", "x == (1"),
        ("x = a", " + b\ny = 2\n", ".c + b\nz", ".c"),
        ("f(", ")\n", "a, g(b), c", None),
        # It stays in its line, but for open brackets.
        ("x = a ", " + b\ny = 2\n", "- c\nreturn x\n", "- c"),
        ("x = f(", ", b)\ny = 2\n", "a,\n    c, g(\n    1),\n    d", None),
        ("x = ", " + b\ny = 2\n", "f(\n    a\n)\nreturn x", "f(\n    a\n)"),
        ("x = ", "", "f(a)\nreturn x", None),
        ("x = ", "\ny = 2\n", "f(a)\nreturn x", None),
        # The text leaves the block that the hole's line and the next line share.
        ("def f():\n    ", "\n    c()\n", "a()\n    b()\n\n\ndef g():\n    c()\n", "a()\n    b()"),
        ("def f():\n    if a:\n        ", "\n    c()\n", "a()\n\n    b()\nd()\n", "a()\n\n    b()"),
        ("def f():\n", "    c()\n", "    a()\n\ndef g():\n", "    a()\n"),
        ("def f():\n\tx = g(", ", 1)\n\tc()\n", "a\n)\n", "a"),
        ("def f():\n    ", "\nc()\n", "a()\n\ndef g():\n    b()\n", "a()"),
        ("def f():\n", "c()\n", "    a()\n\ndef g():\n    b()\n", None),
        ("def f():\n    ", "", "a()\n\ndef g():\n    b()\n", None),
        ("f(", ")", "a)\n", "a)"),
        ("", "", "anything\n", None),
    ],
)
def test_a_hole_ends_where_the_text_behind_it_begins_again(
    before: str, behind: str, text: str, kept: str | None
) -> None:
    found = meeting_of(before, behind)
    assert text.encode()[: found.cut(text.encode())].decode() == (text if kept is None else kept)


TEXTS = st.text("ab() \n", max_size=30)


@given(TEXTS, TEXTS, TEXTS, TEXTS, st.integers(0, 30))
def test_what_is_not_held_is_never_cut_later(before: str, behind: str, text: str, more: str, size: int) -> None:
    behind += "abcdefghij klmnopqrstu\n" * behind.endswith(("\n", " "))
    found = meeting_of(before, behind)
    # Whatever begins the text behind may be there when the rest of it comes.
    begun = text.encode() + (found.ends + found.indent + found.lines)[:size]
    for whole in (begun + more.encode(), begun + (found.ends + found.indent + found.lines)[size:]):
        assert found.cut(begun) < len(begun) or found.cut(whole) >= len(begun) - found.held(begun)


@pytest.mark.parametrize(
    ("before", "behind", "text", "held"),
    [
        ("f(", "ab)\n", "1, ab", "ab"),
        ("    ", "\n    the_next_line(of_all)\n", "a()\n    the_next", "\n    the_next"),
        ("    ", "\n    the_next_line(of_all)\n", "a()\n  b", ""),
        ("    ", "\n    the_next_line(of_all)\n", "a() ", " "),
        ("", "", "a\n ", ""),
    ],
)
def test_what_may_begin_the_text_behind_is_held(before: str, behind: str, text: str, held: str) -> None:
    assert meeting_of(before, behind).held(text.encode()) == len(held)


@given(TEXTS)
def test_a_text_that_goes_on_with_that_behind_is_cut_before_it(text: str) -> None:
    text = text.replace("\n", "\n    ")
    behind = "\n    the_next_line(of_the_function)\n"
    assert len("".join(behind.split())) >= LEAST
    whole = (text + behind).encode()
    assert whole[: meeting_of("    ", behind).cut(whole)] == text.encode()


def test_a_hole_is_known_by_the_beginning_of_a_long_line_behind_it() -> None:
    behind = "x = 1;" * 1000
    begins = f"a()\n{behind[:MOST]}"
    assert meeting_of("", behind).cut(begins.encode()) == len("a()\n")
