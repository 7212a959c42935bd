"""Long texts end where the paragraph ends that they copy."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.engine.diffusion.test_denoiser import certain_of, decoded, form_of, task
from tests.support.tiny_models import KINDS, TOKENIZER

from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.stretches import LONG, ends_copy, paragraph_ends

FIRST = "We meet in the large hall at noon,\nand speak of all that came of the work of the last year."
SECOND = "Lunch is served after the talk, in the\nsmall room beside the hall, for all who came."
DOCUMENT = f"Talk\n\n{FIRST}\n \n{SECOND}\n"
ENDS = paragraph_ends(DOCUMENT)


def said(text: str, ends: frozenset[bytes] = ENDS, source: bytes = b"", kind: str = "causal", **rules: Any) -> str:
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


def test_other_texts_end_where_the_model_ends_them() -> None:
    short, worded = "in the large hall at noon", " ".join(f"{at} the hall" for at in range(20))
    for text in (short, worded, f"{worded} {SECOND[:-9]}"):
        assert said(text) == text
    both = f"{FIRST} {SECOND}"
    assert said(both, frozenset()) == said(both, minLength=len(both)) == said(both, kind="block") == both


def test_a_paragraphs_end_tells_only_within_one_long_text() -> None:
    end = SECOND[-60:].encode()
    assert ends_copy(end, ENDS) and ends_copy(end.replace(b" ", b"\\n"), ENDS) and ends_copy(end + b" ", ENDS)
    assert not ends_copy(b'no", "what": "' + end, ENDS) and not ends_copy(end[:-1], ENDS)
    assert ends_copy(b'said \\"no\\" ' + end, ENDS)
    assert paragraph_ends("Talk\n\nshort") == frozenset() and len(ENDS) == 2 and LONG > 32
    assert paragraph_ends("x" * 50 + "\ud800") != frozenset()
