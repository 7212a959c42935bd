"""Texts for people: what a terminal would obey or hide is shown as an escape, wherever it is printed."""

from __future__ import annotations

import logging
import sys
import unicodedata
from pathlib import Path

import pytest

from cinnabar.apps.cli.console import Bar, cell, standard_output, table
from cinnabar.apps.cli.main import run
from cinnabar.apps.server.settings import WithoutTexts
from cinnabar.wording import harmless

#: A name that shows as `invoice_fdp.exe`, a move of the cursor, a tag and a hidden blank.
TRICK = "invoice_\u202eexe.pdf\x1b[2J\x9b2J\u2066\U000e0041\u200b"
SHOWN = "invoice_\\u202eexe.pdf\\x1b[2J\\x9b2J\\u2066\\U000e0041\\u200b"


def test_every_character_that_a_terminal_obeys_is_an_escape() -> None:
    needed = {"\u200c", "\u200d"}
    for character in map(chr, range(sys.maxunicode + 1)):
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(character) in (
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
        ):  # fmt: skip
            assert harmless(character) != character
        elif kind != "Cf" or character in needed:
            assert harmless(character) == character
    assert harmless("\xad\u200e\ufeff\U0001d173") == "\\xad\\u200e\\ufeff\\U0001d173"
    assert harmless("Größe 5 €, \u0646\u200c\u0627, \u0601") == "Größe 5 €, \u0646\u200c\u0627, \u0601"


def test_tables_notices_errors_and_logs_show_escapes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    standard_output().print(table(("path",), [(TRICK,)], f"records of {TRICK}"))
    assert capsys.readouterr().out.count(SHOWN) == 2
    bar = Bar()
    bar.note(TRICK)
    assert SHOWN in capsys.readouterr().err
    assert run(["sql", "select 1", "--out", str(tmp_path / TRICK)]) == 2
    assert SHOWN in capsys.readouterr().err
    record = logging.makeLogRecord({"msg": "%s asked", "args": (TRICK,), "levelno": logging.INFO})
    assert WithoutTexts("%(message)s").format(record) == f"{SHOWN} asked"
    assert cell({"name": TRICK}) == f'{{"name": "{SHOWN}"}}'.replace("\\x1b", "\\u001b")
