"""Long texts end where the paragraph ends that they copy, or where they repeat themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.engine.language.test_denoiser import certain_of, decoded, form_of, task
from tests.support.tiny_models import KINDS, TOKENIZER

from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.text_ends import LONG, is_over, paragraph_ends

FIRST = "We meet in the large hall at noon,\nand speak of all that came of the work of the last year."
SECOND = "Lunch is served after the talk, in the\nsmall room beside the hall, for all who came."
DOCUMENT = f"Talk\n\n{FIRST}\n \n{SECOND}\n"
ENDS = paragraph_ends(DOCUMENT)


def said(text: Any, ends: Any = ENDS, source: bytes = b"", kind: str = "causal", **rules: Any) -> str:
    """What comes of a model that is sure of this text."""
    form = form_of({"kind": {"enum": ["ab", "no"]}, "what": {"type": "string", **rules}})
    record = json.dumps({"kind": "ab", "what": text})
    one = replace(task(form, budget=len(record) + 9), ends_of=ends, source=source)
    model = certain_of(record, len(one.prompt), KINDS[kind])
    (found,) = decoded(Denoiser(model, TOKENIZER, page=8), one)
    return str(json.loads(found.text)["what"])


@pytest.mark.parametrize("between", ["\n\n", " ", "\n"])
def test_a_copy_that_goes_on_ends_with_its_paragraph(between: str) -> None:
    text = f"{FIRST}{between}{SECOND}{between}{FIRST}"
    assert said(text) == FIRST
    assert said(text.replace("\n", " ")) == FIRST.replace("\n", " ")
    # A draft of all of it changes nothing.
    assert said(text, source=json.dumps(text).encode()) == FIRST


def test_a_text_that_repeats_itself_ends() -> None:
    lines = "".join(f"{at} to {at + 1} of the small rooms, " for at in range(9))
    text = said(lines * 4)
    assert len(lines) < len(text) < 3 * len(lines) and (lines * 4).startswith(text)
    # Beside an equal value nothing is repeated.
    assert is_over(b"ab" * 9 + b"ab", 4, ENDS) and not is_over(b'abab", "abab', 4, ENDS)


def test_a_mark_that_would_open_a_text_or_be_escaped_ends_none() -> None:
    empty = [None] * 99
    assert said(empty, type="array", items={"type": ["string", "null"]}) == str(empty)
    assert said("\\" * 99).strip("\\") == ""


def test_a_text_of_a_document_without_long_paragraphs_ends_where_it_repeats_itself() -> None:
    lines = "".join(f"{at} to {at + 1} of the small rooms, " for at in range(9)) * 4
    assert said(lines, frozenset()) == said(lines) != lines == said(lines, None)


def test_other_texts_end_where_the_model_ends_them() -> None:
    short, worded = "in the large hall at noon", " ".join(f"{at} the hall" for at in range(20))
    for text in (short, worded, f"{worded} {SECOND[:-9]}"):
        assert said(text) == text
    both = f"{FIRST} {SECOND}"
    assert said(both, frozenset()) == said(both, minLength=len(both)) == said(both, kind="block") == both


def test_a_paragraphs_end_tells_only_within_one_long_text() -> None:
    end = SECOND[-60:].encode()
    for text in (end, end.replace(b" ", b"\\n"), end + b" ", b'said \\"no\\" ' + end):
        assert is_over(text, len(text), ENDS)
    for text in (b'no", "what": "' + end, rb'no\\", 12, ' + end, end[:-1]):
        assert not is_over(text, len(text), ENDS)
    assert paragraph_ends("Talk\n\nshort") == frozenset() and len(ENDS) == 2 and LONG > 32
    assert paragraph_ends("x" * 50 + "\ud800") != frozenset()
