"""Schemas as people bring them, and the corners of each keyword: judged as the standard says, and written.

`kinds_of_schemas.jsonl` has one schema a line, with values that it allows and others that it refuses. The labels follow
the standard, in the draft that the schema names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import each
from tests.support.second_judge import independent

from cinnabar.errors import NotAccepted
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.strings import parse


@dataclass(frozen=True)
class Kind:
    name: str
    schema: Any
    valid: list[Any]
    invalid: list[Any]

    @property
    def texts(self) -> list[tuple[str, bool]]:
        """All values as JSON texts with their labels."""
        return [(json.dumps(v), True) for v in self.valid] + [(json.dumps(v), False) for v in self.invalid]


LINES = (Path(__file__).parent / "kinds_of_schemas.jsonl").read_text(encoding="utf-8").splitlines()
KINDS = [Kind(**json.loads(line)) for line in LINES]


@each("kind", KINDS)
def test_values_are_judged_as_the_standard_labels_them(kind: Kind) -> None:
    compiled = compile_schema(kind.schema)
    assert [compiled.accepts(text) for text, _ in kind.texts] == [valid for _, valid in kind.texts]


def test_a_second_judge_says_the_same() -> None:
    others = [(kind, independent(kind.schema)) for kind in KINDS]
    for kind, other in others:
        assert other is None or [other(text) for text, _ in kind.texts] == [ok for _, ok in kind.texts], kind.name
    assert sum(other is None for _, other in others) < 5


@pytest.mark.slow
def test_every_kind_has_a_form_that_writes_its_values_unchanged() -> None:
    held = tried = 0
    for kind in KINDS:
        compiled = compile_schema(kind.schema)
        assert compiled.accepts(compiled.minimal()), kind.name
        for text, valid in kind.texts:
            tried += valid
            try:
                written = compiled.canonical(parse(text))
            except NotAccepted:
                continue
            assert valid and compiled.accepts(written), kind.name
            assert parse(written) == parse(text), kind.name
            held += 1
    assert held > 0.93 * tried
