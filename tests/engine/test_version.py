"""The versions of the code that decides values: a change of a part gives new keys to what it read."""

from __future__ import annotations

import ast

import pytest
from tests.support import ROOT

from cinnabar.engine.settings import EFFORTS
from cinnabar.engine.version import FAMILIES, USES, VERSIONS, engine_fingerprint, family_of, read_by, values_version
from cinnabar.extraction.documents.content.formats import INPUT_FORMATS

#: Modules that count as another part than their folder's: `parsing`, `plain`; and one whose importer notes its family.
SHARED = {
    f"cinnabar.extraction.documents.{one}"
    for one in ("office.package", "office.sheet_text", "plain.rows", "mail.rtf", "web.invoice")
}


def test_each_part_has_a_version_and_uses_parts() -> None:
    assert USES.keys() == VERSIONS.keys() and {*FAMILIES} < USES.keys()
    assert {one for used in USES.values() for one in used} <= USES.keys()


def test_the_reader_of_each_format_is_in_a_family() -> None:
    assert {family_of(one.reader()) for one in INPUT_FORMATS} <= {*FAMILIES}
    assert family_of(test_the_reader_of_each_format_is_in_a_family) == ""


def test_a_family_uses_the_families_whose_code_it_imports() -> None:
    documents, wrong = ROOT / "extraction" / "documents", []
    for family, path in ((one, path) for one in FAMILIES for path in (documents / one).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            other = module.removeprefix("cinnabar.extraction.documents.").partition(".")[0]
            if other in FAMILIES and other not in (family, *USES[family]) and module not in SHARED:
                wrong.append(f"{path.name} ({family}) imports {module}")
    assert not wrong


def test_a_key_depends_on_the_parts_that_read_and_on_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> dict[str, object]:
        fillers = {name: engine_fingerprint("m", EFFORTS["low"], name) for name in ("reader", "language", "remote")}
        families = {name: read_by("e", [name]) for name in FAMILIES}
        return {**fillers, **families, "unknown": read_by("e", ())}

    before, concerned = keys(), {}
    for name in VERSIONS:
        with monkeypatch.context() as patch:
            patch.setitem(VERSIONS, name, VERSIONS[name] + 1)
            after = keys()
            concerned[name] = {one for one in before if before[one] != after[one]}
    fillers, all_families = {"reader", "language", "remote"}, {*FAMILIES, "unknown"}
    assert concerned["language"] == {"language"} and concerned["remote"] == {"remote"}
    assert concerned["reader"] == {"reader"} and concerned["replies"] == {"language", "remote"}
    assert concerned["merging"] == fillers and concerned["parsing"] == fillers | all_families
    assert concerned["engine"] == concerned["schemas"] == fillers | all_families
    assert concerned["pdf"] == {"pdf", "ocr", "unknown"} and concerned["ocr"] == {"ocr", "unknown"}
    assert concerned["plain"] == {"plain", "mail", "office", "web", "unknown"}
    assert values_version("routing") == VERSIONS["routing"] + sum(
        VERSIONS[one] - 11 for one in ("reader", "parsing", "engine", "schemas")
    )
