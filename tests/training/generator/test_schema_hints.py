"""Schema hints: descriptions name defaults, and records follow them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from training.generator.drawing import Drawing
from training.generator.family import load_family
from training.generator.locale import locales
from training.generator.records import PrintedDrawing, make_record
from training.generator.schema_hints import add_hints
from training.generator.schema_plan import Plan
from training.generator.schema_variation import draw_plan

from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.schemas import compile_schema


def hinted(kind: str, count: int = 400) -> Iterator[tuple[Plan, dict[str, Any]]]:
    for seed in range(count):
        plan, head = Plan("leaf", "field", "x"), {"description": "What it is."} if seed % 2 else {}
        add_hints(random.Random(seed), kind, plan, head)
        yield plan, head


def test_a_default_is_named_in_the_description_and_found_there() -> None:
    seen = 0
    for kind, said in (("number", "number"), ("integer", "integer"), ("string", "string")):
        for plan, head in hinted(kind):
            if plan.default is None:
                continue
            field = head | {"type": [said, "null"]}
            form = compile_schema({"type": "object", "properties": {"f": field}, "required": ["f"]}).form
            assert str(plan.default) in head["description"]
            named = [n.text.strip('"') for n in form_questions(form).slots[0].named]
            # The search among codes skips a dash between quotation marks and finds the rest.
            assert str(plan.default) in named or plan.default == "-"
            seen += 1
    assert seen > 60


def test_most_descriptions_stay_unchanged_and_some_only_look_like_hints() -> None:
    plans = list(hinted("number"))
    plain = [head for _, head in plans if head.get("description", "What it is.") == "What it is."]
    alike = [h for p, h in plans if p.default is None and any(c.isdigit() for c in h.get("description", ""))]
    assert 0.6 < len(plain) / len(plans) < 0.85 and len(alike) > 10


def test_kinds_without_defaults_stay_unchanged() -> None:
    for kind in ("date", "boolean", "enum", "time"):
        assert all(plan.default is None and head.get("description") in (None, "What it is.")
                   for plan, head in hinted(kind, 50))  # fmt: skip
    verbatim = Plan("leaf", "field", "x", verbatim=True)
    for seed in range(50):
        add_hints(random.Random(seed), "string", verbatim, {})
    assert verbatim.default is None and not verbatim.unsigned


def test_a_record_holds_the_default_where_nothing_is_printed_and_numbers_without_their_sign() -> None:
    family = load_family("invoice")
    drawing = Drawing(family, next(iter(family.layouts)), locales()["en_GB"], random.Random(1))
    source = PrintedDrawing(drawing, "", {}, set(), {})
    leaves = [
        Plan("leaf", "a", "", default=0), Plan("leaf", "b", "no.such.field", default="unknown"),
        Plan("leaf", "c", ""), Plan("leaf", "d", "", default=0, required=False),
    ]  # fmt: skip
    record = make_record(Plan("object", "", children=leaves), source)
    assert record.truth == {"a": 0, "b": "unknown", "c": None, "d": 0} and not record.spans


def test_schemas_of_families_name_the_defaults() -> None:
    drawn = [draw_plan(random.Random(seed), load_family("invoice")) for seed in range(60)]
    leaves = [leaf for plan in drawn for leaf in plan.children if leaf.kind == "leaf"]
    given = [leaf for leaf in leaves if leaf.default is not None]
    assert len(given) > 5
    assert all(str(leaf.default) in leaf.schema["description"] for leaf in given)
    assert any(leaf.unsigned for leaf in leaves)
