"""The versions of the code that decides values: a change of a part is noticed and gives new keys to what it read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cinnabar.engine import version
from cinnabar.engine.settings import EFFORTS
from cinnabar.engine.version import (
    FAMILIES,
    OTHERS,
    PARTS,
    VERSIONS,
    engine_fingerprint,
    part_of,
    part_with,
    read_by,
    values_version,
)
from cinnabar.extraction.documents.content.formats import INPUT_FORMATS

ROOT = Path(__file__).resolve().parents[2]
RULE = '''"""A rule."""

import math
from dataclasses import dataclass
from typing import ClassVar

#: How much.
MUCH = 2.0


@dataclass
class Field:
    """A field."""

    size: int = 3
    KIND: ClassVar[str] = "field"


def rule(x: float, *others: float) -> float:
    """Twice x."""
    total: float = MUCH * x  # why
    try:
        total += sum(one * total for one in others if one)
    except ValueError as error:
        raise TypeError(f"{error} {total=}") from error

    def inner(y: float, start: float = total) -> float:
        scaled = y * total + start
        return scaled

    return inner(total)


class Kept:
    """Something."""

    def __init__(self) -> None:
        self.text = f"{math.pi:.2f}"
'''
#: Imports of a part by one that does not use it, by file: what they take decides no value of the importing part.
TAKEN = {
    # It asks for OCR of documents with pictures, which has a digest of its own.
    ("extraction/documents/ingest/sandbox.py", "ocr"),
    # It notes the family of the reader that it takes.
    ("extraction/documents/pdf/annotations.py", "web"),
}


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


def code_hashes(root: Path) -> dict[str, str]:
    """What the script says of a project's code."""
    found: dict[str, str] = import_module("code_hash").code_hashes(root)
    return found


def hashes(folder: Path, part: str = "pdf", **files: str) -> dict[str, str]:
    """The hashes of a project whose folder of this part has these files."""
    place = folder / next(one for one in PARTS[part].places if not one.endswith(".py"))
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / f"{name}.py").write_text(text)
    return code_hashes(folder)


def test_the_versions_are_raised_with_the_code_that_decides_values() -> None:
    found = code_hashes(ROOT)
    changed = [name for name, (_, before) in VERSIONS.items() if found[name] != before]
    assert not changed, (
        f"the code that decides values has changed in {', '.join(changed)}: run `make version`, and `make calibrate`"
        " before a release"
    )


def test_a_change_concerns_the_hash_of_its_part_alone(tmp_path: Path) -> None:
    before, after = hashes(tmp_path / "a", rule=RULE), hashes(tmp_path / "b", rule=RULE.replace("2.0", "2.5"))
    assert {name for name in PARTS if before[name] != after[name]} == {"pdf"}


CHANGES = [
    ("MUCH = 2.0", "MUCH = 2.5"),
    ("MUCH * x", "MUCH + x"),
    ("def rule", "def other"),
    (":.2f", ":.3f"),
    ("        self.text", "        self.texts"),
    ("*others: float", "*rest: float"),
    ("size: int = 3", "width: int = 3"),
    ("size: int = 3", "size = 3"),
    ("ClassVar[str]", "str"),
    ("@dataclass\n", ""),
    ("start: float = total", "start: float = x"),
    ("one * total for one in others if one", "one * one for one in others if one"),
    ("one * total for one in others if one", "one * total for one in others if total"),
    ("one * total for one in others if one", "one * total for one in total if one"),
    ("total += sum", "x += sum"),
    ("y * total", "y * start"),
    ("return inner(total)", "return inner(x)"),
    ("error} {total=}", "total} {total=}"),
]


@pytest.mark.parametrize("old, new", CHANGES)
def test_any_change_of_what_code_does_changes_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert old in RULE
    assert hashes(tmp_path / "a", rule=RULE) != hashes(tmp_path / "b", rule=RULE.replace(old, new))


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
        ("import math", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from os import path\nimport math"),
        ("y * total + start", "(\n        y * total + start\n    )"),
        ("x: float", "x: int"),
        (" -> float", ""),
        ("total: float = MUCH", "total = MUCH"),
        ("MUCH = 2.0", "MUCH: float = 2.0"),
        ("size: int = 3", "size: float = 3"),
        ("scaled", "multiplied"),
        ("one * total for one in others if one", "each * total for each in others if each"),
    ],
)
def test_a_change_of_words_leaves_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert old in RULE
    assert hashes(tmp_path / "a", rule=RULE) == hashes(tmp_path / "b", rule=RULE.replace(old, new))


@pytest.mark.parametrize(
    "old, new",
    [
        ("def f(a):\n    b = a\n    return [b for b in b]", "def f(a):\n    c = a\n    return [b for b in c]"),
        ("def f(a):\n    with a as b:\n        return b()", "def f(a):\n    with a as c:\n        return c()"),
        ("def f(a):\n    if b := a:\n        return b", "def f(a):\n    if c := a:\n        return c"),
    ],
)
def test_a_variable_may_have_another_name(tmp_path: Path, old: str, new: str) -> None:
    assert hashes(tmp_path / "a", rule=old) == hashes(tmp_path / "b", rule=new)


@pytest.mark.parametrize(
    "old, new",
    [
        ("def f(x, y):\n    return [x for x in x]", "def f(x, y):\n    return [y for y in y]"),
        ("def f(a):\n    x = a\n    return [x for x in x]", "def f(a):\n    y = a\n    return [x for x in x]"),
        ("def f(a):\n    x = a\n    return lambda y: x", "def f(a):\n    x = a\n    return lambda x: x"),
        ("def f(a):\n    x = a\n    y = a\n    return x", "def f(a):\n    x = a\n    y = a\n    return y"),
        ("def f(a):\n    global x\n    x = a", "def f(a):\n    global y\n    y = a"),
        ("def f(a):\n    x = a\n    return locals()", "def f(a):\n    y = a\n    return locals()"),
        (
            "def f(a):\n    x = a\n    class B:\n        x = 1\n        def g(self): return x",
            "def f(a):\n    y = a\n    class B:\n        x = 1\n        def g(self): return x",
        ),
        ("def f(a):\n    x = a\n    def g(b=x): return b", "def f(a):\n    y = a\n    def g(b=x): return b"),
    ],
)
def test_another_variable_changes_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert hashes(tmp_path / "a", rule=old) != hashes(tmp_path / "b", rule=new)


def test_moving_a_definition_within_its_part_leaves_the_hash(tmp_path: Path) -> None:
    head, kept = RULE.split("class Kept")
    whole = hashes(tmp_path / "a", rule=RULE)
    assert hashes(tmp_path / "b", one=head, other=f"import math\n\nclass Kept{kept}") == whole
    assert hashes(tmp_path / "c", "mail", rule=RULE) != whole


@pytest.mark.parametrize("name", ["names.tsv", "names.tsv.gz"])
def test_a_change_in_a_table_of_names_changes_the_hash(tmp_path: Path, name: str) -> None:
    before = hashes(tmp_path, "engine", rule=RULE)
    (tmp_path / "engine" / "readings").mkdir()
    (tmp_path / "engine" / "readings" / name).write_text("may\t5\n")
    after = code_hashes(tmp_path)
    assert {one for one in PARTS if before[one] != after[one]} == {"engine"}


def test_every_place_of_the_table_is_there() -> None:
    places = [place for part in PARTS.values() for place in part.places]
    assert [one for one in (*places, *OTHERS) if not (ROOT / one).exists()] == []
    assert len({*places, *OTHERS}) == len([*places, *OTHERS])
    assert PARTS.keys() == VERSIONS.keys() and {*FAMILIES} < PARTS.keys()


def _imported(path: Path) -> Iterator[str]:
    """The files of the project that a file imports, other than for annotations."""
    tree = ast.parse(path.read_text())
    told = [one for one in ast.walk(tree) if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"]
    unread = {id(node) for one in told for node in ast.walk(one)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in unread and (node.module or "").startswith("cinnabar."):
            module = str(node.module).partition(".")[2].replace(".", "/")
            for name in (f"{module}/{one.name}" for one in node.names):
                yield f"{name}.py" if (ROOT / f"{name}.py").exists() else f"{module}.py"


def test_a_part_uses_all_parts_that_its_code_imports() -> None:
    used = {name: version._with_used([name]) for name in PARTS}
    wrong, taken = [], set()
    for top in ("schemas", "kernels", "engine", "extraction"):
        for path in sorted((ROOT / top).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            own = part_of(file)
            for other in _imported(path) if own else ():
                if (part := part_of(other)) and part not in used[own]:
                    taken.add((file, part))
                    wrong += [f"{file} ({own}) imports {other} ({part})"] if (file, part) not in TAKEN else []
    assert wrong == []
    assert taken == TAKEN


def test_the_reader_of_each_format_is_in_a_family() -> None:
    for one in INPUT_FORMATS:
        assert part_with(one.reader()) in FAMILIES, one.name


def test_a_key_depends_on_the_parts_that_read_and_on_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> dict[str, object]:
        fillers = {name: engine_fingerprint("m", EFFORTS["low"], name) for name in ("reader", "language", "remote")}
        families = {name: read_by("e", [name]) for name in FAMILIES}
        return {**fillers, **families, "unknown": read_by("e", ()), "encodings": values_version("reader")}

    before, concerned = keys(), {}
    for name in PARTS:
        with monkeypatch.context() as patch:
            patch.setitem(VERSIONS, name, (VERSIONS[name][0] + 1, ""))
            after = keys()
            concerned[name] = {one for one in before if before[one] != after[one]}
    fillers, all_families = {"reader", "language", "remote"}, {*FAMILIES, "unknown"}
    assert concerned["language"] == {"language"} and concerned["remote"] == {"remote"}
    assert concerned["reader"] == {"reader", "encodings"} and concerned["replies"] == {"language", "remote"}
    assert concerned["merging"] == fillers and concerned["parsing"] == fillers | all_families
    assert concerned["engine"] == concerned["schemas"] == fillers | all_families | {"encodings"}
    assert concerned["pdf"] == {"pdf", "ocr", "unknown"} and concerned["ocr"] == {"ocr", "unknown"}
    assert concerned["plain"] == {"plain", "mail", "office", "web", "unknown"}


def test_only_the_versions_of_changed_parts_are_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script: Any = import_module("raise_version")
    own = hashes(tmp_path, rule=RULE)
    lines = [f'    "{name}": ({number}, "{own[name]}"),\n' for name, (number, _) in VERSIONS.items()]
    (tmp_path / "engine").mkdir()
    path = tmp_path / "engine" / "version.py"
    path.write_text("".join(lines))
    for name, (number, _) in VERSIONS.items():
        monkeypatch.setattr(script, "VERSIONS", {**script.VERSIONS, name: (number, own[name])})
    script.main(tmp_path)
    assert path.read_text() == "".join(lines) and "all versions stand" in capsys.readouterr().out
    (tmp_path / PARTS["mail"].places[0]).mkdir(parents=True)
    (tmp_path / PARTS["mail"].places[0] / "rule.py").write_text(RULE)
    script.main(tmp_path)
    changed = [line for line in path.read_text().splitlines(keepends=True) if line not in lines]
    raised, found = VERSIONS["mail"][0] + 1, code_hashes(tmp_path)["mail"]
    assert changed == [f'    "mail": ({raised}, "{found}"),\n']
    assert f"mail {raised}" in capsys.readouterr().out
