"""A forgotten document is gone from every file of the folder; everything else stays as it was, after a crash too."""

from __future__ import annotations

import contextlib
import json
import os

import duckdb
import pyarrow.parquet as pq
import pytest
from tests.support.store_fixtures import compact

from cinnabar.errors import InUse, UsageError
from cinnabar.extraction.maintenance.forgetting import FORGOTTEN, forget
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store import compaction
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.broken_files import FileProblem, set_aside
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import Store

OTHERS = [
    f"SELECT * FROM {view} WHERE document IS DISTINCT FROM ? ORDER BY ALL"
    for view in ("note", "fields", "outcomes", "documents", "records", "history")
]


def digest_of(workload, path):
    return workload.written(path).digest


def others(out, digest):
    with duckdb.connect(str(out / "cinnabar.duckdb"), read_only=True) as connection:
        return [connection.execute(sql, [digest]).fetchall() for sql in OTHERS]


def texts(out):
    """All cells of all Parquet files below the folder, and the text of every other file but DuckDB's."""
    found = []
    for path in out.rglob("*"):
        if path.suffix == ".parquet":
            found.append(str(pq.read_table(path).to_pydict()))
        elif path.is_file():
            found.append(path.read_bytes().decode("latin-1"))
    return "\n".join(found)


def test_a_forgotten_document_is_in_no_file_and_all_others_are_unchanged(out, workload):
    workload.work(out)
    workload.work(out)  # now it is also an input that was skipped
    digest = digest_of(workload, "3.txt")
    before = others(out, digest)
    found = forget(out, "3.txt")
    assert found.digests == (digest,) and found.paths == ("3.txt",)
    counts = {table: count for table, count in found.rows.items() if count}
    assert counts == {"data": 1, "fields": 2, "documents": 1, "outcomes": 2}
    assert digest not in texts(out) and "3.txt" not in texts(out)
    assert others(out, digest) == before
    assert verify(out).problems == []
    assert query(out, "SELECT sum(written), sum(skipped) FROM runs").rows == [(5, 6)]
    with pytest.raises(UsageError, match="no document of this path"):
        forget(out, "3.txt")


def test_a_forgotten_document_is_read_again_by_a_run_over_it(out, workload):
    workload.work(out)
    forget(out, digest_of(workload, "3.txt")[:8])
    assert workload.work(out).written == 1
    assert query(out, "SELECT count(*) FROM note").rows == [(5,)]


def test_a_dry_run_removes_nothing(out, workload):
    workload.work(out)
    before = texts(out)
    assert forget(out, "3.txt", dry_run=True).rows["data"] == 1
    assert texts(out) == before


def test_a_path_stands_for_all_bytes_that_were_read_there(out, workload):
    with Store.open(out) as store:
        for content in ("first", "second"):
            workload.begin(store).commit_batch(
                [workload.written("mails/a.txt", content=content), workload.written("b.txt", content=f"b {content}")]
            )
        workload.begin(store).commit_batch([Outcome("mails/a.txt", "quarantined", "unreadable", "denied")])
    found = forget(out, "a.txt")
    assert (len(found.digests), found.rows["outcomes"]) == (2, 3)
    assert query(out, "SELECT DISTINCT path FROM outcomes").rows == [("b.txt",)]
    with pytest.raises(UsageError, match="no document"):
        forget(out, "a.txt")


def test_a_digest_stands_for_all_paths_of_these_bytes(out, workload):
    with Store.open(out) as store:
        workload.begin(store).commit_batch(
            [workload.written("a.txt", content="same"), workload.written("copies/b.txt", content="same")]
        )
    assert forget(out, digest_of(workload, "same")).paths == ("a.txt", "copies/b.txt")
    assert query(out, "SELECT count(*) FROM outcomes").rows == [(0,)]
    assert query(out, "SELECT count(*) FROM note").rows == [(0,)]


def test_a_name_of_several_documents_is_refused_with_some_of_them(out, workload):
    with Store.open(out) as store:
        workload.begin(store).commit_batch([workload.written("x/a.txt"), workload.written("y/a.txt")])
    with pytest.raises(UsageError, match=r"a\.txt: fits 2 documents \(x/a\.txt, y/a\.txt\); give more of it"):
        forget(out, "a.txt")


MORE_MAILDIRS = ((True, "whole"), (False, "end"))


@pytest.mark.parametrize(
    ("there", "named"),
    [(False, "whole"), (True, "end"), *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE_MAILDIRS)],
)
def test_a_maildir_stands_for_all_mails_in_it_even_after_it_is_gone(out, workload, tmp_path, there, named):
    box = tmp_path / "mails" / "inbox"
    for part in ("cur", "new", "tmp") if there else ():
        (box / part).mkdir(parents=True)
    kept = f"{box}.old/cur/4.M4.host:2,S", f"{tmp_path}/mails/cur.txt"
    mails = f"{box}/cur/1.M1.host:2,RS", f"{box}/cur/2.M2.host:2,S", f"{box}/new/3.M3.host"
    with Store.open(out) as store:
        workload.begin(store).commit_batch([workload.written(path) for path in (*mails, *kept)])
    found = forget(out, str(box) if named == "whole" else "inbox")
    assert set(mails) == set(found.paths) - {str(box)} and found.rows["data"] == 3
    assert query(out, "SELECT path FROM note ORDER BY path").rows == [(path,) for path in sorted(kept)]


def test_a_folder_that_merely_has_mails_of_a_maildir_below_it_is_not_forgotten_as_a_whole(out, workload, tmp_path):
    (tmp_path / "plain" / "cur").mkdir(parents=True)
    with Store.open(out) as store:
        workload.begin(store).commit_batch([workload.written(f"{tmp_path}/plain/cur/1.M1.host")])
        workload.begin(store).commit_batch([workload.written(f"{tmp_path}/gone/{name}") for name in ("cur/1", "a.txt")])
    for name in ("plain", "gone"):
        with pytest.raises(UsageError, match="no document"):
            forget(out, str(tmp_path / name))


def test_a_folder_that_a_run_writes_to_is_refused(out, workload):
    workload.work(out)
    with Store.open(out), pytest.raises(InUse):
        forget(out, "3.txt")
    assert query(out, "SELECT count(*) FROM note").rows == [(5,)]


def test_merged_batches_and_their_sources_lose_the_document(out, workload):
    workload.work(out)
    compact(out)
    digest = digest_of(workload, "3.txt")
    before = others(out, digest)
    forget(out, "3.txt")
    assert digest not in texts(out)
    assert others(out, digest) == before
    assert manifests.read_all(out) == manifests.live(manifests.read_all(out))


def test_batches_that_were_set_aside_and_hold_the_document_are_removed(out, workload):
    workload.work(out)
    digest = digest_of(workload, "3.txt")
    live = manifests.live(manifests.read_all(out))
    numbers = [entry.number for entry in live if any(file.table == "data" for file in entry.files)]
    entry = next(one for one in live if one.number == numbers[-1])
    set_aside(out, [FileProblem(entry.number, entry.files[0].path, "a test")])
    assert digest in texts(out)
    workload.work(out)
    assert forget(out, "3.txt").aside == (f"aside/{entry.name}",)
    assert digest not in texts(out)


def test_what_earlier_versions_kept_and_the_texts_of_paid_answers_go(out, workload):
    workload.work(out)
    encoding = out / "encodings" / "ab" / "abc.safetensors"
    encoding.parent.mkdir(parents=True)
    encoding.write_bytes(b"x")
    journal = out / "remote" / "model.jsonl"
    journal.parent.mkdir()
    line = {"run": "r", "key": "k", "tokens": [1, 0, 1], "cost": "0.01", "answer": "secret", "finish": "stop"}
    journal.write_text(json.dumps(line | {"refusal": None}) + "\n")
    found = forget(out, "3.txt")
    assert set(found.left_over) == {"encodings", "remote"}
    assert not encoding.exists() and not journal.exists()


def test_the_documents_own_pages_of_ocr_go_and_others_stay(out, workload):
    workload.work(out)
    digest = digest_of(workload, "3.txt")
    own, other = out / "pages" / digest / "a.json", out / "pages" / ("0" * 64) / "a.json"
    for page in (own, other):
        page.parent.mkdir(parents=True)
        page.write_text("{}")
    forget(out, "3.txt")
    assert not own.parent.exists() and other.exists()


def test_arguments_of_runs_that_name_the_path_are_blanked(out, workload):
    from cinnabar.extraction.run.stored_run import Run
    from cinnabar.schemas import compile_schema, load_schema

    source = load_schema(workload.SCHEMA)
    with Store.open(out) as store:
        arguments = {"paths": ["./3.txt", "mails"], "limit": 3}
        run = Run(store, source, compile_schema(source.schema), "engine-1", arguments)
        run.commit_batch([workload.written("3.txt")])
        run.finish()
    assert forget(out, "3.txt").rows["runs"] == 2
    (found,) = query(out, "SELECT arguments FROM runs").rows
    assert json.loads(found[0]) == {"paths": [FORGOTTEN, "mails"], "limit": 3}


def test_an_older_version_does_not_take_the_name_of_the_schema(out, workload):
    newer = workload.SCHEMA | {"description": "a later version"}
    with Store.open(out) as store:
        workload.begin(store).commit_batch([workload.written("old.txt"), workload.written("kept.txt")])
        workload.begin(store, newer).commit_batch([workload.written("new.txt")])
    assert query(out, "SELECT path FROM note").rows == [("new.txt",)]
    forget(out, "old.txt")
    assert query(out, "SELECT path FROM note").rows == [("new.txt",)]
    assert query(out, "SELECT path FROM note_all ORDER BY 1").rows == [("kept.txt",), ("new.txt",)]


def test_merges_go_on_after_a_document_was_forgotten(out, workload, monkeypatch):
    monkeypatch.setattr(compaction, "FAN", 4)
    with Store.open(out) as store:
        run = workload.begin(store)
        for number in range(3):
            run.commit_batch([workload.written(f"{number}.txt")])
    forget(out, "1.txt")
    assert workload.work(out).inputs == 6
    assert verify(out).problems == []
    assert query(out, "SELECT count(*), count(DISTINCT document) FROM note").rows == [(5, 5)]


# The folder of this test is forgotten in 36 renames and removals.
_QUICK = (9, 22, 30, 35)


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=() if point in _QUICK else pytest.mark.slow) for point in range(36)]
)
def test_a_crash_before_any_rename_or_removal_leaves_work_that_the_next_opening_ends(
    out, workload, monkeypatch, point
):
    class Crash(BaseException):
        pass

    workload.work(out)
    compact(out)
    workload.work(out)
    digest = digest_of(workload, "3.txt")
    before = others(out, digest)
    steps = 0

    def counted(function):
        def call(*arguments, **options):
            nonlocal steps
            steps += 1
            if steps == point + 1:
                raise Crash
            return function(*arguments, **options)

        return call

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", counted(os.replace))
        broken.setattr(os, "unlink", counted(os.unlink))
        with contextlib.suppress(Crash):
            forget(out, "3.txt")
    assert verify(out).problems == []
    try:
        forget(out, "3.txt")
    except UsageError:
        Store.open(out).close()  # the crash came after the last row was gone
    assert digest not in texts(out)
    assert others(out, digest) == before
