"""The version of the code that decides values: a change of that code is noticed and gives new record keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from cinnabar.engine.effort import EFFORTS
from cinnabar.engine.fingerprint import engine_fingerprint
from cinnabar.engine.version import DECIDING, SYNTAX, VALUES_VERSION, syntax_hash

ROOT = Path(__file__).resolve().parents[2]
RULE = '''"""A rule."""

import math

#: How much.
MUCH = 2.0


def rule(x: float) -> float:
    """Twice x."""
    return MUCH * x  # why


class Kept:
    """Something."""

    def __init__(self) -> None:
        self.text = f"{math.pi:.2f}"
'''


def project(folder: Path, **files: str) -> str:
    """The hash of a project whose engine/ has these files."""
    for name in DECIDING:
        place = folder / name
        (place.parent if place.suffix else place).mkdir(parents=True, exist_ok=True)
        if place.suffix:
            place.write_text("")
    (folder / "engine" / "readings").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "engine" / f"{name}.py").write_text(text)
    return syntax_hash(folder)


def test_the_version_is_raised_with_the_code_that_decides_values() -> None:
    found = syntax_hash(ROOT)
    assert found == SYNTAX, (
        f"the code that decides values has changed since version {VALUES_VERSION} (its hash is {found}): run"
        " `make version`, and `make calibrate` before a release"
    )


@pytest.mark.parametrize(
    "old, new",
    [
        ("MUCH = 2.0", "MUCH = 2.5"),
        ("MUCH * x", "MUCH + x"),
        ("def rule", "def other"),
        ("x: float)", "x: int)"),
        (":.2f", ":.3f"),
        ("        self.text", "        self.texts"),
    ],
)
def test_any_change_of_code_changes_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert old in RULE
    assert project(tmp_path / "a", rule=RULE) != project(tmp_path / "b", rule=RULE.replace(old, new))


@pytest.mark.parametrize(
    "old, new",
    [
        ('"""Twice x."""', '"""x, two times."""'),
        ('    """Twice x."""\n', ""),
        ('"""A rule."""\n', ""),
        ("  # why", ""),
        ("#: How much.\n", ""),
        ("MUCH = 2.0\n", "MUCH = 2.0\n\"\"\"How much.\"\"\"\n"),
        ("import math", "import math\nfrom os import path"),
        ("return MUCH * x", "return (\n        MUCH * x\n    )"),
    ],
)
def test_docstrings_comments_imports_and_layout_leave_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert old in RULE
    assert project(tmp_path / "a", rule=RULE) == project(tmp_path / "b", rule=RULE.replace(old, new))


def test_moving_a_definition_to_another_file_leaves_the_hash(tmp_path: Path) -> None:
    head, kept = RULE.split("class Kept")
    whole = project(tmp_path / "a", rule=RULE)
    assert project(tmp_path / "b", one=head, other=f"import math\n\nclass Kept{kept}") == whole


@pytest.mark.parametrize("name", ["names.tsv", "names.tsv.gz"])
def test_a_change_in_a_table_of_names_changes_the_hash(tmp_path: Path, name: str) -> None:
    before = project(tmp_path, rule=RULE)
    (tmp_path / "engine" / "readings" / name).write_text("may\t5\n")
    assert syntax_hash(tmp_path) != before


def test_a_record_key_depends_on_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = engine_fingerprint("model", EFFORTS["medium"])
    monkeypatch.setattr("cinnabar.engine.fingerprint.VALUES_VERSION", VALUES_VERSION + 1)
    assert engine_fingerprint("model", EFFORTS["medium"]) != before
