"""Boolean fields and choices have the states of the boxes beside their labels."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from bench.marked_forms import form
from reportlab.pdfgen.canvas import Canvas
from tests.support.cases import each
from tests.support.drawn_pages import drawn
from tests.support.reading_model import ReadingModel

from cinnabar.engine.fill.engine import Engine
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas import compile_schema, load_schema

YES_OR_NO: dict[str, Any] = {"type": ["boolean", "null"]}


def outcome(text: str | bytes, name: str = "a.txt", **fields: Any) -> Outcome:
    schema = {"type": "object", "properties": fields, "required": [*fields]}
    data = text if isinstance(text, bytes) else text.encode()
    document = parse(data, name)
    job = Job(compile_schema(schema), Engine(ReadingModel()), Validator(load_schema(schema)))
    return run_batch([OpenedInput(name, document.digest, document)], job).outcomes[0]


def record(text: str | bytes, name: str = "a.txt", **fields: Any) -> dict[str, Any]:
    found = outcome(text, name, **fields)
    assert found.record is not None, found
    read: dict[str, Any] = json.loads(found.record.text)
    return read


FORM = """Application

Do you smoke?   ☐ Yes  ☒ No
Are you a citizen of the United States?   ☒ Yes  ☐ No
Is the vehicle insured?   ☒ Yes  ☒ No
☒ I accept the terms
☐ Send me the newsletter

Payment:  ☐ cash  ☒ bank transfer  ☐ card
"""
FIELDS = {
    "smokes": {**YES_OR_NO, "description": "Whether the applicant smokes."},
    "us_citizen": {**YES_OR_NO, "description": "Citizen of the United States."},
    "vehicleInsured": YES_OR_NO,
    "terms_accepted": {**YES_OR_NO, "description": "Whether the applicant accepts the terms."},
    "newsletter": YES_OR_NO,
    "payment": {"enum": ["cash", "bank_transfer", "card", None]},
}


@pytest.mark.parametrize(("card", "payment"), [("☒", "card"), ("☐", None)])
@pytest.mark.parametrize("gap", ["   ", "\n"])
def test_a_consent_below_a_choice_is_no_answer_to_it(card: str, payment: str | None, gap: str) -> None:
    text = f"Payment:\n☐ cash{gap}{card} card{gap}☐ bank transfer\n☒ I accept the terms\n"
    found = record(text, terms_accepted=FIELDS["terms_accepted"], payment=FIELDS["payment"])
    assert found == {"terms_accepted": True, "payment": payment}


def test_fields_take_the_states_of_their_boxes_and_a_conflict_is_null() -> None:
    assert record(FORM, **FIELDS) == {
        "smokes": False, "us_citizen": True, "vehicleInsured": None, "terms_accepted": True, "newsletter": False,
        "payment": "bank_transfer",
    }  # fmt: skip


def test_the_order_of_fields_says_nothing() -> None:
    turned = dict(reversed(FIELDS.items()))
    assert record(FORM, **turned) == record(FORM, **FIELDS)


def test_the_evidence_is_the_box_and_its_label() -> None:
    found = outcome(FORM, newsletter=YES_OR_NO)
    assert found.record is not None
    (leaf,) = found.record.leaves
    assert leaf.value == "false" and leaf.confidence == 0.98
    assert leaf.evidence is not None and [FORM[one.start : one.end] for one in leaf.evidence.spans] == [
        "☐", "Send me the newsletter",
    ]  # fmt: skip


def test_a_demanded_value_in_doubt_is_missing() -> None:
    found = outcome("Do you smoke?  ☒ Yes  ☒ No", smoke={"type": "boolean"})
    assert (found.status, found.code, found.pointers) == ("quarantined", "missing", ("/smoke",))


@pytest.mark.parametrize("text", ["☒ Apples\n☐ Pears", "no box", "Do you smoke? yes"])
def test_fields_without_a_box_of_their_own_are_left_to_the_model(text: str) -> None:
    found = outcome(text, smoker=YES_OR_NO)
    assert found.record is not None and found.record.leaves[0].confidence != 0.98


def test_two_labels_as_near_as_each_other_decide_nothing() -> None:
    found = outcome("☒ Contract signed by tenant\n☐ Contract signed by tenant", contract_signed=YES_OR_NO)
    assert found.record is not None and found.record.leaves[0].confidence != 0.98


def test_in_a_form_of_boxes_a_field_whose_box_was_lost_is_null() -> None:
    assert record("☒ Smoker   ☐ Diabetes\nPregnant", smoker=YES_OR_NO, diabetes=YES_OR_NO, pregnant=YES_OR_NO) == {
        "smoker": True, "diabetes": False, "pregnant": None,
    }  # fmt: skip


def test_another_ticked_option_leaves_a_choice_to_the_model() -> None:
    text = "Colour:  ☐ red  ☐ green  ☒ other"
    found = outcome(text, colour={"enum": ["red", "green", None]})
    assert found.record is not None and found.record.leaves[0].confidence != 0.98


def signed_page(ink: bool) -> bytes:
    def draw(sheet: Canvas) -> None:
        sheet.drawString(50, 700, "Lease")
        sheet.line(50, 600, 200, 600)
        sheet.drawString(52, 588, "Signature of the tenant")
        if ink:
            sheet.bezier(60, 605, 90, 630, 110, 590, 150, 612)
            sheet.bezier(150, 612, 120, 600, 180, 630, 190, 606)

    return drawn(draw)


@pytest.mark.parametrize("ink", [True, False])
def test_a_form_is_signed_if_there_is_ink_on_its_line(ink: bool) -> None:
    field = {**YES_OR_NO, "description": "Whether the tenant signed."}
    assert record(signed_page(ink), "a.pdf", signed=field) == {"signed": ink}


def test_an_empty_line_of_a_text_without_pages_says_nothing() -> None:
    found = outcome("Signature: ____________", signed=YES_OR_NO)
    assert found.record is not None and found.record.leaves[0].confidence != 0.98
    assert record("Signature: /s/ Jane Roe", signed=YES_OR_NO) == {"signed": True}


def test_questions_in_a_column_of_their_own_meet_the_boxes_on_their_row() -> None:
    asked = [
        "Do you have any known allergies?", "Was a witness present then?", "Do you hold a driving licence?",
        "Have you been employed here?", "Are there pets in the household?", "Is the vehicle in question insured?",
        "Have you read all of the terms?", "Did you return all of the keys?",
    ]  # fmt: skip

    def draw(sheet: Canvas) -> None:
        for number, question in enumerate(asked):
            sheet.drawString(50, 700 - 20 * number, question)
            sheet.drawString(350, 700 - 20 * number, "[x] Yes it is  [ ] No" if number % 2 else "[ ] Yes it is  [x] No")

    data = drawn(draw)
    assert record(data, "a.pdf", allergies=YES_OR_NO, pets=YES_OR_NO, keys_returned=YES_OR_NO) == {
        "allergies": False, "pets": False, "keys_returned": True,
    }  # fmt: skip


OPTIONS = ("red wine", "white wine", "beer", "cider", "apple juice", "tea")


@each("seed", range(24))
def test_a_list_of_options_has_those_whose_boxes_are_ticked(seed: int) -> None:
    chance = random.Random(seed)
    options = chance.sample(OPTIONS, chance.randrange(3, 7))
    ticked = [option for option in options if chance.random() < 0.5]
    yes, no = chance.choice([("☒", "☐"), ("[x]", "[ ]"), ("☑", "❏"), ("(X)", "( )")])
    labels = [option.title() if chance.random() < 0.3 else option for option in options]
    marked = [
        (f"{yes if option in ticked else no} {label}" if seed % 2 else f"{label} {yes if option in ticked else no}")
        for option, label in zip(options, labels, strict=True)
    ]
    text = f"Order\n\nDrinks:\n{chance.choice(['   ', chr(10)]).join(marked)}\n\nGuests: 4\n"
    asked = chance.sample(options, len(options))
    kinds = {
        "enum": {"type": "array", "items": {"enum": asked}},
        "unique": {"type": "array", "items": {"type": "string", "enum": asked}, "uniqueItems": True},
        "nullable": {"type": ["array", "null"], "items": {"enum": asked}},
        "described": {"type": "array", "items": {"type": "string"}, "description": f"Any of {', '.join(labels)}."},
    }
    for kind, schema in kinds.items():
        found = outcome(text, drinks=schema)
        assert found.record is not None
        read = json.loads(found.record.text)["drinks"]
        assert [one.lower() for one in read] == ticked, kind
        assert found.record.lists["/drinks"] == 0.98
        words = [one.text for leaf in found.record.leaves if leaf.evidence for one in [leaf.evidence]]
        assert len(words) == len(ticked) and all(yes in text for text in words)


@each("tool", ["reportlab", "acroform"])
@each("seed", range(8))
def test_boxes_of_drawn_pages_and_of_buttons_fill_a_list(tool: str, seed: int) -> None:
    drawn_form = form(seed, several=True, tool=tool)
    (name,) = [name for name, layout in drawn_form.layouts.items() if layout == "several"]
    found = record(drawn_form.data, drawn_form.name, **{name: drawn_form.schema["properties"][name]})
    assert found == {name: drawn_form.truth[name]}


def test_a_list_is_unsure_if_a_box_is_in_doubt_or_another_one_ticked() -> None:
    drinks = {"type": "array", "items": {"enum": ["beer", "cider", "tea"]}}
    for text, expected in (
        ("☒ beer\n⍰ cider\n☒ tea", ["beer", "tea"]),
        ("☒ beer\n☐ cider\n☐ tea\n☒ lemonade", ["beer"]),
        ("☒ beer\n☐ tea\n☐ lemonade", ["beer"]),
    ):
        found = outcome(text, drinks=drinks)
        assert found.record is not None
        assert json.loads(found.record.text) == {"drinks": expected} and found.record.lists["/drinks"] < 0.5


def test_a_list_that_demands_more_items_than_are_ticked_is_missing() -> None:
    drinks = {"type": "array", "items": {"enum": ["beer", "cider", "tea"]}, "minItems": 1}
    found = outcome("☐ beer\n☐ cider\n☐ tea", drinks=drinks)
    assert (found.status, found.code) == ("quarantined", "missing")


def test_what_the_schema_refuses_of_one_field_keeps_the_boxes_of_others() -> None:
    drinks = {"type": "array", "items": {"enum": ["beer", "cider", "tea"]}, "maxItems": 1}
    found = record("☒ beer\n☒ cider\n☐ tea\n\nSmoker: ☒ yes ☐ no", drinks=drinks, smoker=YES_OR_NO)
    assert found["smoker"] is True and len(found["drinks"]) <= 1
