"""The content of a request for the next edit is read strictly, and what is wrong is told."""

from __future__ import annotations

import pytest

from cinnabar.engine.chat.editing import parse_edit
from cinnabar.engine.chat.refusal import RequestRefused
from cinnabar.engine.chat.requests import Edit

FILE = "<|current_file_content|>\n{}\n<|/current_file_content|>"
BODY = "current_file_path: src/x.py\na = 1\n<|code_to_edit|>\nb = <|cursor|>a\n<|/code_to_edit|>\nprint(b)"
SNIPPETS = "<|recently_viewed_code_snippets|>\nclass A: pass\n<|/recently_viewed_code_snippets|>\n"
HISTORY = "\n<|edit_diff_history|>\n--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n<|/edit_diff_history|>\n"


def test_all_sections_are_read() -> None:
    found = parse_edit(SNIPPETS + FILE.format(BODY) + HISTORY)
    assert found == Edit(
        before="a = 1\n",
        editable="b = a",
        after="\nprint(b)",
        cursor=4,
        path="src/x.py",
        viewed="class A: pass",
        history="--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b",
    )


def test_snippets_history_path_and_cursor_may_be_left_out() -> None:
    found = parse_edit(FILE.format("x<|code_to_edit|>y<|/code_to_edit|>z"))
    assert found == Edit("x", "y", "z")


def test_a_region_within_a_line_keeps_its_line_ends() -> None:
    found = parse_edit(FILE.format("f(<|code_to_edit|>\n  1,\n<|/code_to_edit|>)"))
    assert (found.before, found.editable, found.after) == ("f(", "\n  1,\n", ")")


def test_an_empty_region_is_one() -> None:
    assert parse_edit(FILE.format("<|code_to_edit|><|cursor|><|/code_to_edit|>")) == Edit("", "", "", 0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("rewrite this", "<|current_file_content|> and <|/current_file_content|> once each in the message, found 0"),
        (FILE.format("no region"), "<|code_to_edit|> and <|/code_to_edit|> once each within <|current_file_content|>"),
        (FILE.format("<|code_to_edit|>"), "found 1 and 0"),
        (FILE.format("<|/code_to_edit|><|code_to_edit|>"), "found it behind"),
        (FILE.format(BODY) + FILE.format(BODY), "found 2 and 2"),
        (FILE.format("<|cursor|>" + BODY), "<|cursor|> at most once, and within <|code_to_edit|>, found it 2 times"),
        (FILE.format("<|cursor|><|code_to_edit|><|/code_to_edit|>"), "found it 1 times"),
        ("Please: " + FILE.format(BODY), "nothing outside of the sections, found 'Please:'"),
        (FILE.format(BODY) + "thanks", "nothing behind the last section, found 'thanks'"),
        (FILE.format(BODY + HISTORY), "within another one"),
    ],
)
def test_what_is_wrong_is_told(content: str, said: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        parse_edit(content)
    assert said in caught.value.message and caught.value.message.startswith("messages[0].content: ")
    assert (caught.value.event.code, caught.value.event.param) == ("invalid_value", "messages")
