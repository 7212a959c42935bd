"""A folder that lacks a manifest: every reader tells it, and nothing that a person did is removed."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta

import pytest
from tests.support.corrected_folder import digest_of
from tests.support.corrected_folder import run as extracted
from tests.support.hostile_folders import correct

from cinnabar.apps.cli.main import run
from cinnabar.apps.mcp.query_worker import answer
from cinnabar.errors import IncompleteFolder, RunError
from cinnabar.extraction.corrections import corrections
from cinnabar.extraction.maintenance.forgetting import forget
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.review.listing import Listing
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import store as stores
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store

TOLD = "1 manifest missing"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Runs of two engines over three documents, and a correction behind each; no test changes it."""
    out = tmp_path_factory.mktemp("kept") / "out"
    extracted(out)
    correct(out, "a.txt", "/number", '"N"')
    extracted(out, "e22")
    correct(out, "b.txt", "/number", '"M"')
    return out


@pytest.fixture
def folder(kept, tmp_path):
    """A copy of that folder."""
    return shutil.copytree(kept, tmp_path / "out")


def take(out, place):
    """Takes a manifest out of the folder; `place` is its place among those that count."""
    path = sorted((out / "manifest").glob("batch-*.json"))[place]
    return path, path.read_bytes(), path.unlink()


def as_before(out):
    """Has the folder as an earlier version left it."""
    (out / "snapshot.json").unlink()
    for path in (out / "manifest").rglob("batch-*.json"):
        said = json.loads(path.read_text())
        path.write_text(json.dumps({name: said[name] for name in said if name not in ("after", "counting")}))


def test_every_reader_tells_of_a_lost_manifest_until_it_is_back_or_given_up(folder, tmp_path, capsys):
    commands = (
        ("status",),
        ("sql", "select 1"),
        ("show", "c.txt"),
        ("export", "bill", "--to", str(tmp_path / "bill.csv")),
        ("quarantine", "list"),
        ("correct", "c.txt", "--set", '/number="Z"'),
        ("verify",),
    )
    for place in (0, -1):
        out = tmp_path / f"out{place}"
        shutil.copytree(folder, out)
        Store.open(out).close()
        path = take(out, place)[0]
        for command in commands:
            status = run([*command, "--out", str(out)])
            told = capsys.readouterr()
            assert status == (command[0] == "verify"), (command, told)
            assert (told.out + told.err).count(TOLD) == 1, (place, command, told)
        assert path.name in told.out or place == -1
        with pytest.warns(IncompleteFolder, match=TOLD):
            assert TOLD in Listing(out).facets()["lost"]
        with pytest.warns(IncompleteFolder, match=TOLD):
            assert TOLD in answer({"out": str(out), "sql": "select 1", "rows": 9, "bytes": 999}, 9)["cut"]
        with pytest.warns(IncompleteFolder, match=TOLD):
            extracted(out, "e333")
        assert [problem.path for problem in verify(out).problems] == ["manifest"]
        assert run(["verify", "--clean", "--out", str(out)]) == 1
        capsys.readouterr()
        assert run(["sql", "select 1", "--out", str(out)]) == 0
        assert capsys.readouterr().err == ""


def test_a_manifest_that_is_put_back_counts_with_all_that_it_names(folder):
    before = query(folder, "SELECT document, pointer, after FROM corrections ORDER BY ALL")
    for place in (1, -1):
        path, content, _ = take(folder, place)
        with pytest.warns(IncompleteFolder, match=TOLD):
            extracted(folder, f"e{place}")
        path.write_bytes(content)
        assert verify(folder, clean=True).problems == []
        assert query(folder, "SELECT document, pointer, after FROM corrections ORDER BY ALL") == before


@pytest.mark.filterwarnings("ignore::cinnabar.errors.IncompleteFolder")
@pytest.mark.parametrize("earlier", [False, True])
def test_no_corrections_go_with_their_manifest(folder, earlier):
    if earlier:
        as_before(folder)
    taken = sorted((folder / "corrections").rglob("*.parquet"))
    held = {path: path.read_bytes() for path in taken}
    lost = [folder / "manifest" / f"{path.stem}.json" for path in taken]
    content = {path: path.read_bytes() for path in lost}
    for path in lost:
        path.unlink()
    for _ in range(2):
        assert verify(folder, clean=True).problems
        extracted(folder, "e333")
        assert {path: path.read_bytes() for path in taken} == held
    assert [folder / problem.path for problem in verify(folder).problems] == taken
    for path in lost:
        path.write_bytes(content[path])
    assert verify(folder, clean=True).problems == []
    assert len(corrections(folder)) == 2


def test_a_gap_of_an_earlier_version_is_no_damage(folder):
    as_before(folder)
    take(folder, 0)
    assert query(folder, "SELECT 1").rows == [(1,)]
    assert verify(folder).problems == []
    Store.open(folder).close()
    take(folder, 0)
    with pytest.warns(IncompleteFolder, match=TOLD):
        query(folder, "SELECT 1")


def test_what_the_program_does_leaves_no_gap(folder, monkeypatch):
    """Merges, replaced batches that go, forgotten documents, broken files and manifests: warnings are errors here."""
    monkeypatch.setattr("cinnabar.extraction.store.compaction.FAN", 3)
    monkeypatch.setattr(stores, "KEEP_REPLACED", timedelta(0))
    for number in range(4):
        extracted(folder, f"e{number}")
        correct(folder, "c.txt", "/number", f'"{number}"')
        assert verify(folder, clean=True).problems == []
    forget(folder, "a.txt")
    assert verify(folder).problems == []
    for broken in ("data/bill/*/*.parquet", "manifest/batch-*.json"):
        path = sorted(folder.glob(broken))[-1]
        path.write_bytes(path.read_bytes()[:-9])
        assert verify(folder).problems
        assert verify(folder).problems == []
        extracted(folder, f"later {broken[:4]}")
        assert verify(folder, clean=True).problems == []


def test_a_forgotten_document_is_in_no_file_without_a_manifest(folder):
    take(folder, 1)
    with pytest.warns(IncompleteFolder):
        forget(folder, "a.txt")
    with pytest.warns(IncompleteFolder):
        Store.open(folder).close()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if digest_of("a.txt").encode() in path.read_bytes()]
    assert manifests.unnamed(folder, manifests.read_all(folder))[1] == []


def test_a_copy_that_began_before_the_last_snapshot_lacks_nothing(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    extracted(folder, "e333")
    shutil.copy(folder / "snapshot.json", tmp_path / "copy")
    assert query(tmp_path / "copy", "SELECT 1").rows == [(1,)]
    assert verify(tmp_path / "copy").problems == []


def test_nothing_lost_leaves_nothing_to_go_on_without(folder):
    before = manifests.read_all(folder)
    assert verify(folder, clean=True).problems == [] and manifests.read_all(folder) == before


def test_no_batch_gets_a_number_that_names_do_not_hold(folder):
    (folder / "corrections" / "batch-9999999999.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunError, match="has a number that no batch has"):
        Store.open(folder)
