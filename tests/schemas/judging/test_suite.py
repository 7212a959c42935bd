"""The standard's own test suite, and real schemas with their instances, are judged as their labels say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.second_judge import independent

from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.judging import judge_of

pytestmark = pytest.mark.shared

# Groups that need a document from elsewhere, by the part of the message that says so.
ELSEWHERE = ("is not within this schema, and nothing is fetched", "expected a draft of JSON Schema")


def text_of(value: Any) -> str:
    """A value as a text, as the judge gets records."""
    return json.dumps(value, ensure_ascii=False)


def wrong(schema: Any, tests: list[dict[str, Any]]) -> Iterator[str]:
    """The descriptions of the tests with a verdict other than their label."""
    judge = judge_of(schema)
    for i, test in enumerate(tests):
        if judge.accepts(parse(text_of(test["data"]))) != test["valid"]:
            yield test.get("description", str(i))


def suite(shared: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    folder = shared / "suites" / "json-schema-test-suite" / "tests" / "draft2020-12"
    for path in sorted([*folder.glob("*.json"), *folder.glob("optional/*.json")]):
        if path.name not in ("refRemote.json", "format.json"):
            for group in json.loads(path.read_text(encoding="utf-8")):
                yield f"{path.stem}: {group['description']}", group


def test_every_group_of_the_suite_is_judged_exactly_or_refused(shared: Path) -> None:
    judged, refused, found = 0, 0, {}
    for name, group in suite(shared):
        try:
            if problems := list(wrong(group["schema"], group["tests"])):
                found[name] = problems
            judged += 1
        except UnsupportedSchema as problem:
            assert any(part in str(problem) for part in ELSEWHERE), name
            refused += 1
    assert not found
    assert judged > 380
    assert refused < 0.03 * judged


def real(shared: Path) -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    """The real schemas by the names of their files, with the tests whose labels are undisputed."""
    folder = shared / "suites" / "jsonschemabench"
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        case = json.loads((folder / entry["file"]).read_text(encoding="utf-8"))
        doubted = set(entry.get("label_disagree", ()))
        yield entry["file"], case["schema"], [test for i, test in enumerate(case["tests"]) if i not in doubted]


def test_real_schemas_judge_their_instances_as_labelled(shared: Path) -> None:
    found = {file: list(wrong(schema, tests)) for file, schema, tests in [*real(shared)][::6]}
    assert len(found) > 80
    assert not [file for file, problems in found.items() if problems]


@pytest.mark.slow
def test_a_second_judge_says_the_same_of_real_schemas(shared: Path) -> None:
    agreed = 0
    for file, schema, tests in real(shared):
        judge, other = judge_of(schema), independent(schema)
        for text in (text_of(test["data"]) for test in tests if other is not None):
            assert judge.accepts(parse(text)) == other(text), file
            agreed += 1
    assert agreed > 2_000
