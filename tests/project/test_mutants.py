"""The tools of scripts/mutants.py: which mutants a draw may hold, how a draw repeats, and which tests run first."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = '''
from functools import lru_cache


@lru_cache(maxsize=1 + 2)
def larger(a: int | str, b: int = 3) -> int | None:
    """Not 1 + 1."""
    if a is None or a == b:
        raise ValueError(f"é expected {a + b}", a - b)
    return [x for x, _ in zip((a,), (b,), strict=True)][0] * 2
'''


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


@pytest.fixture
def script() -> ModuleType:
    return import_module("mutants")


@pytest.fixture
def draws() -> ModuleType:
    return import_module("mutant_draws")


@pytest.fixture
def concerned() -> ModuleType:
    return import_module("mutant_tests")


def test_the_mutated_files_exist_and_every_excluded_mutant_has_a_reason(script: Any, draws: Any) -> None:
    assert [path for path in script.FILES if not (ROOT / path).is_file()] == []
    for path, _, text, _ in draws.equivalent():
        assert text in [line.strip() for line in (ROOT / path).read_text("utf-8").splitlines()]
    assert all(len(entry["reason"]) > 20 for entry in draws.entries())


def test_annotations_decorators_and_error_texts_are_never_mutated(draws: Any) -> None:
    pytest.importorskip("cosmic_ray")
    found = list(draws.mutants_of("larger.py", PROGRAM))
    lines = PROGRAM.splitlines()
    places = {lines[mutant.start[0] - 1][mutant.start[1] :][:3] for mutant in found}
    assert places == {"3) ", "a i", "is ", "or ", "== ", "- b", "0] ", "* 2", "2"}
    assert not any(mutant.operator.endswith("Eq_Is") for mutant in found)


def test_a_seed_repeats_its_draw_whatever_the_other_lines_are(draws: Any) -> None:
    pytest.importorskip("cosmic_ray")

    def drawn(program: str, seed: int) -> list[tuple[str, str]]:
        found = draws.draw({"larger.py": program}, seed, 3)
        return [(mutant.text, mutant.operator) for mutant, _ in found]

    assert drawn(PROGRAM, 1) == drawn(PROGRAM, 1) == drawn(f"\n{PROGRAM}", 1)
    assert len({tuple(drawn(PROGRAM, seed)) for seed in range(5)}) > 1


def test_a_mutant_is_the_program_but_for_one_change(draws: Any) -> None:
    pytest.importorskip("cosmic_ray")
    for mutant, changed in draws.draw({"larger.py": PROGRAM}, 1, 20):
        removed, added = draws.difference(PROGRAM, changed).splitlines()
        assert removed[1:].strip() == mutant.text and removed[0] == "-" and added[0] == "+"


@pytest.mark.slow
def test_the_nearest_tests_come_first(script: Any, concerned: Any) -> None:
    near, others, last = concerned.stages(ROOT, "schemas/automata/numbers.py")
    assert near == ["tests/schemas/automata/test_numbers.py"] and "tests/schemas/compiling/test_compile.py" in others
    assert "tests/engine/fill/test_layout.py" in last and not {*near, *others, concerned.ANY_STEP} & {*last}
    near, others, _ = concerned.stages(ROOT, "engine/fill/step.py")
    assert near[0] == "tests/engine/fill/test_step.py" and others[-1] == concerned.ANY_STEP
    assert next(concerned.stages(ROOT, "kernels/block_scan.py")) == ["tests/kernels/test_block_scan.py"]
    assert "tests/schemas/judging/test_judge.py" in next(concerned.stages(ROOT, "schemas/judging/judge.py"))
    assert [path for path in script.FILES if not any(concerned.stages(ROOT, path))] == []


def test_the_table_shows_the_share_and_each_survivor(script: Any) -> None:
    one = {"path": "engine/a.py", "line": 7, "operator": "Add", "nth": 0, "difference": "-a\n+b", "by": ""}
    lines = script.table([one, one | {"by": "tests/test_a.py::test_b"}]).splitlines()
    assert lines[2:] == ["| engine | 2 | 1 | 50.0% |", "| all | 2 | 1 | 50.0% |", "",
                         "engine/a.py:7 Add (nth = 0)", "-a", "+b"]  # fmt: skip
