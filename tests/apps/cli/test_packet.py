"""`cinnabar correct` of a packet: shows where documents begin, and splits and joins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.split_packet import split_folder

from cinnabar.apps.cli.main import run


def test_a_packet_is_shown_joined_and_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = ["correct", "packet.pdf", "--out", str(split_folder(tmp_path))]
    assert run([*name, "--parts"]) == 0
    assert "3-5" in capsys.readouterr().out
    assert run([*name, "--join", "6", "--who", "eva", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["first"], one["last"]) for one in told["parts"]] == [(1, 2), (3, 6)]
    assert (told["who"], told["pages"]) == ("eva", 6)
    assert run([*name, "--split", "3"]) == 2
    assert "split: expected one of 2, 4, 5, 6, got 3" in capsys.readouterr().err
    assert run([*name, "--turn", "4:90", "--kind", "3:bill"]) == 0
    assert "3-6&turn=4:90&kind=bill" in capsys.readouterr().out
    assert run([*name, "--turn", "4"]) == 2
    assert "expected a page, a colon" in capsys.readouterr().err
    for wrong, advice in (
        ([], "--parts, --split, --join, --turn or --kind"),
        (["--list", "--split", "4"], "--undo, --list, or of a packet"),
        (["--schema", "bill", "--join", "4"], "--schema: expected --kind PAGE:SCHEMA"),
    ):
        assert run([*name, *wrong]) == 2
        assert advice in capsys.readouterr().err
