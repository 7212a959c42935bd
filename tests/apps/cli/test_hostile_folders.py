"""A results folder from a stranger: no command touches a file outside of it or ends in an error of the program."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.corrected_folder import run as extracted
from tests.support.hostile_folders import CORPUS, QUICK, correct, prepared, tree

from cinnabar.apps.cli.main import run
from cinnabar.errors import CinnabarError
from cinnabar.extraction.review.listing import Listing, ListSelection

# What lies where the snapshot or a report would be written is one way out of the folder.
CaptureResult = pytest.CaptureFixture[str]
COMMANDS = (
    ("status",),
    ("sql", "select * from bill join fields using (document) join history using (document)"),
    ("show", "a.txt"),
    ("export", "bill", "--to", "TO/bill.csv"),
    ("sql", "select * from checks"),
    ("quarantine", "list"),
    ("improve", "bill", "--discard"),
    ("correct", "a.txt", "--set", '/number="Z"'),
    ("correct", "a.txt", "--undo", "all"),
    ("verify",),
    ("verify", "--clean"),
    ("forget", "b.txt", "--yes"),
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sound") / "out"
    prepared(out)
    return out


@pytest.mark.filterwarnings("ignore::cinnabar.errors.IncompleteFolder")
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in CORPUS]
)
def test_a_folder_from_a_stranger_leads_nowhere_and_breaks_no_command(
    sound: Path, tmp_path: Path, name: str, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, victim = tmp_path / "out", tmp_path / "victim"
    shutil.copytree(sound, out, symlinks=True)
    monkeypatch.chdir(out)
    (victim / "training").mkdir(parents=True)
    for other in ("x", "x.json", "copy", "training/state"):
        (victim / other).write_text('"answer" of the victim')
    (victim / "model.json").write_text("{}")
    CORPUS[name](out, victim / "x")
    to = tmp_path / "to"
    to.mkdir()
    before = tree(victim)
    for command in COMMANDS:
        arguments = [one.replace("TO/", f"{to}/") for one in command]
        status = run([*arguments, "--out", str(out)])
        told = capsys.readouterr()
        assert status in (0, 1, 2) and "failed: " not in told.err, (command, told.err)
        assert tree(victim) == before, command
        assert "of the victim" not in told.out + told.err, command
    for act in (
        lambda: Listing(out).page(ListSelection(), 0, 10),
        lambda: correct(out, "c.txt", "/number", '"K"'),
        lambda: extracted(out, "e333"),
    ):
        try:
            act()
        except CinnabarError:
            continue
        finally:
            assert tree(victim) == before
    assert not [path for path, data in (tree(out) | tree(to)).items() if data and b"of the victim" in data]
    assert {path.name for path in tmp_path.iterdir()} == {"out", "victim", "to"}
