"""Requests for a part of a text: what the model is shown, and what is wrong with the message of a next edit."""

from __future__ import annotations

import pytest

from cinnabar.engine.chat.requests import RequestRefused, gap_between, next_edit

FILE = "<|current_file_content|>\n{}\n<|/current_file_content|>"
BODY = "current_file_path: src/x.py\na = 1\n<|code_to_edit|>\nb = <|cursor|>a\n<|/code_to_edit|>\nprint(b)"
SNIPPETS = "<|recently_viewed_code_snippets|>\nclass A: pass\n<|/recently_viewed_code_snippets|>\n"
HISTORY = "\n<|edit_diff_history|>\n--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n<|/edit_diff_history|>\n"


def shown(content: str) -> str:
    """What the model sees behind its task."""
    made = next_edit(content)
    assert made.cursor == "<|cursor|>" and "<|cursor|> marks the cursor" in made.prompt[0]
    assert f"between two lines of {made.fence}." in made.prompt[0]
    return made.prompt[1]


def test_all_sections_are_shown() -> None:
    assert shown(SNIPPETS + FILE.format(BODY) + HISTORY) == (
        "Snippets:\nclass A: pass\n\nLatest changes, the newest last:\n--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n\n"
        "File src/x.py:\n```\na = 1\nb = a\nprint(b)\n```\n\nRegion:\n```\nb = <|cursor|>a\n```"
    )


def test_snippets_history_path_and_cursor_may_be_left_out() -> None:
    assert shown(FILE.format("x<|code_to_edit|>y<|/code_to_edit|>z")) == "File:\n```\nxyz\n```\n\nRegion:\n```\ny\n```"


def test_a_region_within_a_line_keeps_its_line_ends() -> None:
    said = shown(FILE.format("f(<|code_to_edit|>\n  1,\n<|/code_to_edit|>)"))
    assert "\nf(\n  1,\n)\n```\n\nRegion:\n```\n\n  1,\n\n```" in said


def test_an_empty_region_is_one() -> None:
    assert "Region:\n```\n<|cursor|>\n```" in shown(FILE.format("<|code_to_edit|><|cursor|><|/code_to_edit|>"))


def test_the_texts_beside_a_gap_are_shown() -> None:
    made = gap_between("a ", " b")
    assert made.prompt[1] == "Beginning:\n```\na \n```\n\nEnd:\n```\n b\n```"
    assert made.around == ("a ", " b") and not made.cursor


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert gap_between("a", "b").fence == "```"
    assert gap_between("````\ncode\n````", "```").fence == "`````"
    assert next_edit(FILE.format("<|code_to_edit|>``<|cursor|>`<|/code_to_edit|>")).fence == "````"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("rewrite this", "nothing outside of the sections, each with its end, found 'rewrite this'"),
        ("", "<|current_file_content|> and <|/current_file_content|> around a file, found none"),
        (HISTORY, "<|current_file_content|> and <|/current_file_content|> around a file, found none"),
        (FILE.format("no region"), "<|code_to_edit|> and <|/code_to_edit|> within <|current_file_content|>"),
        (FILE.format("<|code_to_edit|>"), "one behind the other"),
        (FILE.format("<|/code_to_edit|><|code_to_edit|>"), "one behind the other"),
        (FILE.format(BODY) + FILE.format(BODY), "<|current_file_content|> once, found it 2 times"),
        (FILE.format(BODY + BODY), "<|code_to_edit|> once, found it 2 times"),
        (FILE.format("<|cursor|>" + BODY), "<|cursor|> at most once, and within <|code_to_edit|>, found it 2 times"),
        (FILE.format("<|cursor|><|code_to_edit|><|/code_to_edit|>"), "found it 1 times"),
        ("Please: " + FILE.format(BODY), "nothing outside of the sections, each with its end, found 'Please:'"),
        (FILE.format(BODY) + "thanks", "found 'thanks'"),
        (FILE.format(BODY).removesuffix("<|/current_file_content|>"), "nothing outside of the sections"),
        (FILE.format(BODY + HISTORY), "within another one"),
    ],
)
def test_what_is_wrong_is_told(content: str, said: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        next_edit(content)
    assert said in caught.value.event.message and caught.value.event.message.startswith("messages[0].content: ")
    assert (caught.value.event.code, caught.value.event.param) == ("invalid_value", "messages")
