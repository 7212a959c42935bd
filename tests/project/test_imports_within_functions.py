"""An import within a function is for a cold start or an optional extra, and a comment beside it says so."""

from __future__ import annotations

import ast
import re

from tests.support import ROOT
from tests.support.cases import each
from tests.support.import_graph import FOLDERS, modules

#: What the comment says: `# Cold start: Torch takes a second.`, `# Extra: learn.`
REASON = re.compile(r"#.*\b(Cold start|Extra|Optional)\b")
BLOCKS = ("body", "orelse", "finalbody")


def without_reason(source: str) -> list[int]:
    """Lines of imports within functions without a reason on the line, or above the first of consecutive ones."""
    lines = source.splitlines()
    wrong: set[int] = set()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            for block in (getattr(node, name, None) for name in BLOCKS):
                wrong |= _in_block(block, lines) if isinstance(block, list) else set()
    return sorted(wrong)


def _in_block(block: list[ast.stmt], lines: list[str]) -> set[int]:
    wrong: set[int] = set()
    consecutive = False  # the statement before is an import below a reason
    for statement in block:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            consecutive = False
            continue
        first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
        begin = first
        while begin and lines[begin - 1].lstrip().startswith("#"):
            begin -= 1
        consecutive |= any(map(REASON.search, lines[begin:first]))
        if not consecutive and not any(map(REASON.search, lines[first:last])):
            wrong.add(statement.lineno)
    return wrong


@each("folder", [*FOLDERS, "src"])
def test_each_import_within_a_function_has_its_reason(folder: str) -> None:
    wrong = {
        str(path.relative_to(ROOT)): lines
        for path in modules().values()
        if path.relative_to(ROOT).parts[0] == folder
        if (lines := without_reason(path.read_text(encoding="utf-8")))
    }
    assert wrong == {}, "import at the top of the file, or give the reason: `# Cold start: …` or `# Extra: …`"


def test_a_reason_is_for_its_line_or_for_consecutive_imports() -> None:
    source = """
import os

def one():
    \"\"\"Says something.\"\"\"
    # Cold start: it takes a second.
    import a
    from b import c

    import d
    print()
    import e
    if os:
        import f  # Extra: learn.
        import g
    else:
        # Why, but not what for.
        import h

class Two:
    def three(self):
        import i

        try:
            import j
        finally:
            # It is said at length:
            # Extra: models.
            import k
"""
    named = [source.splitlines()[line - 1].split()[1] for line in without_reason(source)]
    assert named == ["e", "g", "h", "i", "j"]
