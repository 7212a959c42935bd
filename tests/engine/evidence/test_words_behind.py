"""Clues: a value that was not copied gets the words that it was made from as its spans, if there are any."""

from __future__ import annotations

from tests.support.cases import each

from cinnabar.engine.evidence.words_behind import FARTHEST, row_region, words_behind
from cinnabar.engine.request import Leaf, Origin
from cinnabar.schemas import compile_schema

FORM = compile_schema(
    {
        "type": "object",
        "properties": {
            "kind": {"enum": ["userunknown", "no", "General Practitioner", "systemerror"]},
            "payment": {
                "oneOf": [
                    {"const": "card", "description": "Paid with plastic, by debit or credit."},
                    {"const": "cash", "description": "Coins and notes."},
                ]
            },
            "pets_allowed": {"type": "boolean", "description": "Whether animals may live there."},
            "count": {"type": "integer"},
            "letter": {"enum": ["claim", "order"], "x-cinnabar-options": {"claim": ["hiermit beanstande ich"]}},
        },
    }
).form
SLOT = {slot.path: slot.index for slot in FORM.slots}


def words(field: str, value: str, text: str, origin: Origin = "chosen", begin: int = 0) -> list[str]:
    leaf = Leaf(value, 0.5, origin=origin, slot=SLOT[field])
    return [text[start:end] for start, end in words_behind(FORM, leaf, text, (begin, len(text)))]


@each(
    "field, value, text, behind",
    [
        ("/kind", '"userunknown"', "Status: 5.1.1 User unknown", ["User unknown"]),
        ("/kind", '"General Practitioner"', "see a general\npractitioner today", ["general\npractitioner"]),
        ("/kind", '"no"', "November: nothing, no", ["no"]),
        ("/kind", '"no"', "November nights", []),
        ("/kind", '"userunknown"', "superuserunknown", []),
        ("/kind", '"userunknown"', "userunknown left. Kind: userunknown", ["userunknown"]),
        ("/payment", '"card"', "12.00. Visa DEBIT ended 1234, credit slip", ["DEBIT ended 1234, credit"]),
        ("/payment", '"card"', "He paid. That is all.", []),
        ("/pets_allowed", "true", "Smoking: no. Pets are allowed.", ["Pets are allowed"]),
        ("/pets_allowed", "false", "Pets are not allowed.", []),
        ("/count", "7", "Seats: 17, rows: 7", ["7"]),
        ("/count", "null", "7", []),
        ("/letter", '"claim"', "Hiermit beanstande ich die Lieferung.", ["Hiermit beanstande ich"]),
    ],
)  # fmt: skip
def test_the_words_behind_a_value_are_found(field: str, value: str, text: str, behind: list[str]) -> None:
    assert words(field, value, text) == behind


def test_the_place_behind_the_fields_name_is_chosen_among_several() -> None:
    text = "userunknown is one of the kinds we list here, among many others that follow.\nKind: userunknown"
    leaf = Leaf('"userunknown"', 0.5, origin="chosen", slot=SLOT["/kind"])
    assert words_behind(FORM, leaf, text, (0, len(text))) == ((len(text) - 11, len(text)),)


def test_a_row_is_searched_before_the_document() -> None:
    text = "cash only.\n1 apple cash\n2 pears"
    leaf = Leaf('"cash"', 0.5, origin="chosen", slot=SLOT["/payment"])
    rows = {"/items/0": (11, 0.9), "/items/1": (24, 0.9)}
    region = row_region("/items/0/payment", rows, len(text))
    assert region == (11, 24)
    assert words_behind(FORM, leaf, text, region) == ((19, 23),)
    assert words_behind(FORM, leaf, text, row_region("/items/1/payment", rows, len(text))) == ((0, 4),)
    assert row_region("/kind", rows, len(text)) == (0, len(text))


def test_known_spans_stay_and_frozen_values_get_none() -> None:
    copied = Leaf('"userunknown"', 0.5, ((1, 3),), slot=SLOT["/kind"])
    assert words_behind(FORM, copied, "user unknown", (0, 12)) == ((1, 3),)
    assert words("/kind", '"userunknown"', "userunknown", "known") == []
    assert words("/kind", '"userunknown"', "userunknown", "minimal") == []


def test_a_long_document_is_searched_in_linear_time() -> None:
    text = "u s e r " * (FARTHEST // 4)
    assert words("/kind", '"systemerror"', text) == []
