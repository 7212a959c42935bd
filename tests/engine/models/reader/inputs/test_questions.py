"""Questions: the words of a schema, and the kinds of its fields."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import each
from tests.support.tiny_network import form_of, wordpieces

from cinnabar.engine.models.reader.inputs.questions import (
    QUESTION_PIECES,
    Question,
    form_questions,
    is_printed,
    kind_of,
    plain_words,
    question_tensors,
    words_of,
)
from cinnabar.engine.models.reader.inputs.tensors import KINDS, LABEL_PIECES, NOTE_PIECES
from cinnabar.engine.models.reader.inputs.wordpieces import CLS_ID, SEP_ID


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("invoiceNumber", "invoice number"),
        ("invoice_number", "invoice number"),
        ("VATRate", "vat rate"),
        ("due-date.iso", "due date iso"),
        ("Größe", "größe"),
        ("", ""),
    ],
)
def test_a_name_is_read_as_its_words(name: str, words: str) -> None:
    assert words_of(name) == words


def test_a_slot_is_asked_by_its_name_its_description_and_its_parents() -> None:
    form = form_of(
        seller={"type": "object", "required": ["vatId"], "properties": {
            "vatId": {"type": "string", "description": "Tax number.", "examples": ["DE1", "FR2", "IT3"]},
        }},
        total={"type": "number", "title": "Gross amount"},
        due_date={"type": "string", "title": "Due date"},
    )  # fmt: skip
    vat, total, due = form_questions(form).slots
    assert (vat.label, vat.parents) == ("vat id", "seller")
    assert vat.note.startswith("Tax number.") and '"DE1", "FR2"' in vat.note and "IT3" not in vat.note
    assert vat.text.startswith("seller, vat id: Tax number.")
    assert (total.label, total.text) == ("Gross amount (total)", "Gross amount (total)")
    assert due.label == "Due date"


def test_an_array_is_asked_by_the_fields_of_its_rows() -> None:
    row = {"type": "object", "required": ["name", "price"],
           "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}  # fmt: skip
    form = form_of(
        lines={"type": "array", "description": "What was bought.", "items": row},
        tags={"type": "array", "items": {"type": "string"}},
    )
    asked = form_questions(form)
    assert asked.arrays[0] == Question("lines", "What was bought. (name, price)")
    assert asked.arrays[1] == Question("tags", "")
    parents = {q.label: q.parents for q in asked.slots}
    assert parents == {"name": "lines", "price": "lines", "tags": "tags"}


def test_options_are_asked_by_their_words_below_their_field() -> None:
    form = form_of(
        mood={"oneOf": [{"const": "very_good", "description": "All is well."}, {"const": "bad"}]},
        size={"enum": [1, 2, ""]},
    )
    mood, size = form_questions(form).options
    assert mood == (Question("very good", "All is well.", "mood"), Question("bad", "", "mood"))
    assert [q.label for q in size] == ["1", "2", "empty"]


KIND_OF: list[tuple[dict[str, Any], str]] = [
    ({"type": "string"}, "text"),
    ({"type": "string", "pattern": "^[A-Z]{2}$"}, "pattern"),
    ({"type": "string", "format": "date"}, "date"),
    ({"type": "string", "format": "date-time"}, "date"),
    ({"type": "string", "format": "time"}, "time"),
    ({"type": "string", "format": "duration"}, "time"),
    ({"type": "string", "format": "email"}, "pattern"),
    ({"type": "integer"}, "number"),
    ({"type": ["number", "null"]}, "number"),
    ({"type": "boolean"}, "boolean"),
    ({"enum": ["a", "b"]}, "choice"),
    ({"const": True}, "choice"),
]


@each("schema, kind", KIND_OF)
def test_a_slot_has_the_kind_of_its_values(schema: dict[str, Any], kind: str) -> None:
    assert KINDS[kind_of(form_of(x=schema).slots[0])] == kind


def test_questions_become_tensors_cut_to_their_limits() -> None:
    long = Question("name " * 20, "note " * 100, "parent")
    short = Question("total", "")
    tensors = question_tensors([long, short], wordpieces())
    assert tensors.ids.shape == tensors.mask.shape == (2, QUESTION_PIECES)
    assert tensors.mask.sum(1).tolist() == [QUESTION_PIECES, 3]
    assert tensors.ids[1, :3].tolist() == [CLS_ID, *wordpieces().ids("total"), SEP_ID]
    assert (tensors.ids[0, -1], tensors.ids[1, 3:].any().item()) == (SEP_ID, False)
    assert (tensors.label.shape, tensors.note.shape) == ((2, LABEL_PIECES), (2, NOTE_PIECES))
    assert tensors.label[1].tolist() == [*wordpieces().ids("total"), *[0] * (LABEL_PIECES - 1)]
    assert not tensors.note[1].any()


def test_no_questions_are_no_rows() -> None:
    assert question_tensors([], wordpieces()).ids.shape == (0, 2)


@each(
    "option, text",
    [
        ("gbp", "Rent of £1,125 a month"),
        ("usd", "US$5.00"),
        ("cad", "C$ 20"),
        ("eur", "20 euros"),
        ("pln", "5 zł"),
        ("chf", "CHF 5"),
        ("claim", "two claims"),
        (words_of("GmbH"), "Müller GmbH, Kiel"),
        (words_of("kWh"), "12 kWh"),
        ("german", "Sprache: Deutsch"),
        ("englisch", "Langue : anglais"),
        (words_of("PhD"), "a PhD student"),
    ],
)
def test_an_option_is_printed_by_its_name_and_a_currency_by_its_sign(option: str, text: str) -> None:
    assert is_printed(Question(option, ""), plain_words(text))


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("usd", "Rent of £1,125"),
        ("no", "November"),
        ("zar", "random"),
        ("eur", "Europe"),
        ("gbp", ""),
        ("m/s", "12 ms"),
        ("german", "Deutschland"),
        ("de", "Sprache: Deutsch"),  # a code is pointed at
        (words_of("PhD"), "a d"),
    ],
)
def test_a_word_that_contains_an_option_does_not_print_it(option: str, text: str) -> None:
    assert not is_printed(Question(option, ""), plain_words(text))
