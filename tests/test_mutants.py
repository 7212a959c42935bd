"""What may be drawn as a mutant, that a draw can be told again, and which tests come first."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = '''
from functools import lru_cache


@lru_cache(maxsize=1 + 2)
def larger(a: int | str, b: int = 3) -> int | None:
    """Not 1 + 1."""
    if a is None or a == b:
        raise ValueError(f"é expected {a + b}", a - b)
    return [x for x, _ in zip((a,), (b,), strict=True)][0] * 2
'''


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "scripts" / "mutants.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mutants", module)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_there_and_what_is_left_out_is_listed_with_reasons(script: Any) -> None:
    assert [path for path in script.FILES if not (ROOT / path).is_file()] == []
    for path, _, text, _ in script.equivalent():
        assert text in [line.strip() for line in (ROOT / path).read_text("utf-8").splitlines()]
    assert all(len(entry["reason"]) > 20 for entry in script.entries())


def test_what_says_nothing_by_its_kind_is_no_mutant(script: Any) -> None:
    pytest.importorskip("cosmic_ray")
    found = list(script.mutants_of("larger.py", PROGRAM))
    lines = PROGRAM.splitlines()
    places = {lines[mutant.start[0] - 1][mutant.start[1] :][:3] for mutant in found}
    assert places == {"3) ", "a i", "is ", "or ", "== ", "- b", "0] ", "* 2", "2"}
    assert not any(mutant.operator.endswith("Eq_Is") for mutant in found)


def test_a_draw_can_be_told_again_and_does_not_depend_on_other_lines(script: Any) -> None:
    pytest.importorskip("cosmic_ray")

    def drawn(program: str, seed: int) -> list[tuple[str, str]]:
        found = script.draw({"larger.py": program}, seed, 3)
        return [(mutant.text, mutant.operator) for mutant, _ in found]

    assert drawn(PROGRAM, 1) == drawn(PROGRAM, 1) == drawn(f"\n{PROGRAM}", 1)
    assert len({tuple(drawn(PROGRAM, seed)) for seed in range(5)}) > 1


def test_a_mutant_is_the_program_but_for_one_change(script: Any) -> None:
    pytest.importorskip("cosmic_ray")
    for mutant, changed in script.draw({"larger.py": PROGRAM}, 1, 20):
        removed, added = script.difference(PROGRAM, changed).splitlines()
        assert removed[1:].strip() == mutant.text and removed[0] == "-" and added[0] == "+"


def test_the_nearest_tests_come_first(script: Any) -> None:
    near, others, last = script.stages(ROOT, "schemas/numbers.py")
    assert near == ["tests/schemas/test_numbers.py"] and "tests/schemas/test_compile.py" in others
    assert "tests/engine/test_layout.py" in last and not {*near, *others, script.ANY_STEP} & {*last}
    near, others, _ = script.stages(ROOT, "kernels/constrained_scan.py")
    assert near == ["tests/kernels/test_constrained_scan.py"] and others[-1] == script.ANY_STEP
    assert "tests/schemas/test_judging.py" in next(script.stages(ROOT, "schemas/judging/judge.py"))
    assert [path for path in script.FILES if not any(script.stages(ROOT, path))] == []


def test_a_table_tells_the_share_and_each_survivor(script: Any) -> None:
    one = {"path": "engine/a.py", "line": 7, "operator": "Add", "nth": 0, "difference": "-a\n+b", "by": ""}
    lines = script.table([one, one | {"by": "tests/test_a.py::test_b"}]).splitlines()
    assert lines[2:] == ["| engine | 2 | 1 | 50.0% |", "| all | 2 | 1 | 50.0% |", "",
                         "engine/a.py:7 Add (nth = 0)", "-a", "+b"]  # fmt: skip
