"""The bench of what stands beside a value: its documents, and what counts as right, in doubt and sure."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from bench.surroundings_report import DOCUMENTS, PARTIES, Reading, counted, field_schema, file_of
from tests.support.cases import each

from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.schemas.compiling.compile import compile_schema


def test_each_kind_has_at_least_twenty_documents_that_can_be_read_with_and_without_the_trouble() -> None:
    data = json.loads(DOCUMENTS.read_text("utf-8"))
    kinds = Counter(kind for kind, *_ in data["documents"])
    assert min(kinds.values()) == 20 and len(kinds) == 8
    for _, form, frame, (name, *about), body, trouble, _, control, _ in data["documents"]:
        head, tail, others = data["frames"][frame]
        members = {one: field_schema(*own) for one, own in {**others, name: about}.items()}
        assert compile_schema({"type": "object", "properties": members, "required": [*members]})
        troubled, plain = (
            parse(file_of(head + body.format(text) + tail, form), f"a.{form}").text for text in (trouble, control)
        )
        assert trouble != control and troubled and plain


def test_sixty_sentences_in_three_languages_name_each_party_and_half_of_them_are_sealed() -> None:
    sentences = json.loads(PARTIES.read_text("utf-8"))
    groups = Counter((half, kind, language) for half, kind, language, *_ in sentences)
    assert len(sentences) == 60 and {*groups.values()} == {5} and len(groups) == 12
    for *_, text, fields, right in sentences:
        assert fields.keys() == right.keys() and all(name in text for name in right.values())


@each(
    "right,got,sure,is_right,counts",
    [
        (1.5, 1.5001, 0.9, True, (1, 1, 0)),
        (1.5, 2, 0.9, False, (0, 0, 1)),
        (1.5, 2, 0.4, False, (0, 1, 0)),
        (None, None, 0.9, True, (1, 1, 0)),
        (False, None, 0.9, False, (0, 1, 0)),
        ("B-1", "b 1", 0.8, True, (1, 1, 0)),
        ("2026-01-02T03:04", "2026-01-02T03:04:00Z", 0.8, True, (1, 1, 0)),
    ],
)
def test_a_value_is_right_in_doubt_or_wrong(
    right: Any, got: Any, sure: float, is_right: bool, counts: tuple[int, int, int]
) -> None:
    one = Reading("kind", "field", False, right, got, sure, ())
    own = counted([one])["all"]
    assert one.is_right is is_right
    assert (own["right"], own["right or in doubt"], own["wrong at .9"]) == counts
