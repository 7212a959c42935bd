"""Values that descriptions name: found by their kind and marked in the model's input."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from tests.support.tiny_network import form_of, tiny_network, wordpieces

from cinnabar.engine.models.reader.inputs.named_values import NAMED_VALUES
from cinnabar.engine.models.reader.inputs.questions import Question, form_questions, question_tensors


def asked(**field: Any) -> Question:
    return form_questions(form_of(field=field)).slots[0]


@pytest.mark.parametrize(
    ("kind", "description", "named"),
    [
        ("number", "Sum of all fees; 0 when there are none.", ["0"]),
        ("number", "Between 0 and 100, e.g. 12.5", ["0", "100", "12.5"]),
        ("integer", "At least 2.5; otherwise 1", ["1"]),
        ("number", "How many; zero if none; null where not stated", ["0"]),
        ("number", "The first one of the two or three", []),
        ("string", 'State, "unknown" if none; like \'open\'', ['"unknown"', '"open"']),
        ("string", "Currency, EUR unless stated; a dealer's own", ['"EUR"']),
        ("string", "Who sells.", []),
        ("boolean", "Whether it is paid, 0 or 1", []),
    ],
)
def test_values_are_found_in_the_description(kind: str, description: str, named: list[str]) -> None:
    question = asked(type=[kind, "null"], description=description)
    assert [n.text for n in question.named] == named
    assert all(question.note[n.start : n.end].strip("'\"") for n in question.named)


def test_only_values_that_the_field_accepts_are_named() -> None:
    note = "From 1 to 9; 0 when none"
    assert [n.text for n in asked(type="integer", minimum=1, description=note).named] == ["1", "9"]
    assert not asked(enum=["EUR", "USD"], description="EUR when none").named
    dated = asked(type="string", format="date", description="1970-01-01 when not known, 2 digits each")
    assert [n.text for n in dated.named] == ['"1970-01-01"']


def test_of_many_values_the_last_ones_count() -> None:
    note = ", ".join(str(i) for i in range(10, 30)) + "; 5 when none"
    named = asked(type="integer", description=note).named
    assert len(named) == NAMED_VALUES and named[-1].text == "5"


def test_a_schemas_default_is_part_of_the_question() -> None:
    assert asked(type="number", default=0).note == "; 0 when none"
    assert [n.text for n in asked(type="string", default="EUR", description="Currency").named] == ['"EUR"']
    for nothing in (None, "", [], {"a": 1}, "x"):
        assert "when none" not in asked(type=["number", "null"], default=nothing).note


def test_named_values_are_marked_among_the_pieces_that_are_read() -> None:
    question = asked(type="number", description="Sum of all fees; 0 when there are none")
    plain = Question("fees", "a sum")
    tensors = question_tensors([plain, question], wordpieces())
    assert not tensors.named[0].any() and not tensors.named[1, 1:].any()
    first, last = tensors.named[1, 0].tolist()
    assert tensors.ids[1, first:last].tolist() == list(wordpieces().ids("0"))


def test_values_in_the_cut_part_are_not_marked() -> None:
    question = asked(type="number", description="word " * 42 + "; 7 when none")
    assert question.named and not question_tensors([question], wordpieces()).named.any()


def test_values_far_behind_the_read_part_do_not_count() -> None:
    note = "0 when none. " + "word " * 60 + ", ".join(map(str, range(1, 3000)))
    assert [n.text for n in asked(type="number", description=note).named] == ["0"]
    begun = time.thread_time()
    asked(type="number", description="1 2 " * 250_000)
    assert time.thread_time() - begun < 10


def test_the_network_reads_only_the_named_values() -> None:
    questions = question_tensors(
        [asked(type="number", description="Fees; 0 when none"), Question("x", "")], wordpieces()
    )
    network = tiny_network().eval()
    with torch.no_grad():
        read = network.encode_questions(questions)
        shares = network.defaults(torch.randn(2, 32), read.named, read.is_named).exp()
    assert read.is_named.tolist() == [[True, False, False, False], [False] * NAMED_VALUES]
    assert torch.allclose(shares.sum(-1), torch.ones(2)) and shares[1, 0] == 1.0
    assert 0 < shares[0, 1] < 1 and not shares[0, 2:].any()
