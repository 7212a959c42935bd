"""A published copy is the folder at one moment, whoever writes, dies or comes late."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import obstore
import pytest
from corrected_folder import digest_of, run
from held_by_sinks import CHANGES, bring, correct

from cinnabar.extraction.documents.inputs import located
from cinnabar.extraction.people.forgetting import forget
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.sinks import object_store, publishing
from cinnabar.extraction.store.sinks.addresses import check_apart, sink_of
from cinnabar.extraction.store.sinks.publishing import local_copy
from cinnabar.schemas.errors import RunError, UsageError


def manifests_of(address: str) -> list[str]:
    return sorted(path.name for path in Path(address.removeprefix("file://")).glob("manifests/*"))


def objects_of(address: str) -> set[str]:
    root = Path(address.removeprefix("file://"))
    return {f"data/{path.name}" for path in (root / "data").iterdir()}


def named_by_newest(address: str) -> set[str]:
    root = Path(address.removeprefix("file://"))
    return {*json.loads((root / "manifests" / manifests_of(address)[-1]).read_text())["files"].values()}


def shows(address: str, folder: Path) -> bool:
    """True if a reader of the copy has the commits and files of this folder, and no others."""
    with local_copy(address) as copy:
        committed = manifests.read_live(copy)
        manifests.check_digests(copy, committed)
        return committed == manifests.read_live(folder)


class Killed(BaseException):
    """The end of a process: no code of ours handles it."""


@contextmanager
def dying_at(monkeypatch: pytest.MonkeyPatch, step: int) -> Iterator[list[int]]:
    """Lets the writer die before its change of the store with this number; yields the number of changes."""
    seen = [0]

    def deadly(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*args: Any, **kwargs: Any) -> Any:
            if seen[0] == step:
                raise Killed
            seen[0] += 1
            return change(*args, **kwargs)

        return changed

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_AT_ONCE", 1)
        for name in ("put", "delete"):
            patched.setattr(obstore, name, deadly(getattr(obstore, name)))
        yield seen


@pytest.mark.slow
def test_each_state_of_a_folder_is_published_once(out: Path, published: str) -> None:
    bring(out, published)
    assert shows(published, out)
    for number, change in enumerate(CHANGES, 2):
        change(out)
        before = objects_of(published)
        done = bring(out, published)
        assert 0 < done.sent == len(objects_of(published) - before) < len(named_by_newest(published))
        assert bring(out, published).sent == 0
        assert shows(published, out)
        assert manifests_of(published)[-1] == f"{number:08d}.json"


@pytest.mark.slow
def test_a_killed_publisher_loses_nothing_and_shows_nothing_half(
    tmp_path: Path, out: Path, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(out, published)
    older = tmp_path / "older"
    shutil.copytree(out, older)
    run(out, "e22")
    step = died = 0
    while True:
        address = f"file://{tmp_path}/{step}"
        shutil.copytree(published.removeprefix("file://"), address.removeprefix("file://"))
        with dying_at(monkeypatch, step):
            try:
                sink_of(address).bring(out)
                break
            except Killed:
                died += 1
        # What a reader sees in between is the older state or the newer one.
        assert shows(address, out if len(manifests_of(address)) == 2 else older)
        bring(out, address)
        assert shows(address, out)
        step += 1
    assert died > 20


def test_uploads_of_a_killed_publisher_are_taken_up(out: Path, published: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with dying_at(monkeypatch, 10), pytest.raises(Killed):
        sink_of(published).bring(out)
    there = objects_of(published)
    assert there
    bring(out, published)
    assert there <= named_by_newest(published)


@pytest.mark.parametrize("later", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_an_expired_writer_undoes_nothing(
    out: Path, published: str, monkeypatch: pytest.MonkeyPatch, later: int
) -> None:
    bring(out, published)
    correct(out)
    uploaded, waiting = publishing.PublishedCopy._uploaded, [True]

    def paused(self: Any, *args: Any) -> Any:
        done = uploaded(self, *args)
        if waiting:
            waiting.clear()
            for number in range(later):
                run(out, f"e2{number}")
                bring(out, published)
        return done

    monkeypatch.setattr(publishing.PublishedCopy, "_uploaded", paused)
    assert sink_of(published).bring(out).sent == 0
    assert manifests_of(published)[-1] == f"{later + 1:08d}.json"
    assert shows(published, out)


@pytest.mark.slow
def test_a_late_writer_whose_number_was_swept_begins_again(
    out: Path, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(out, published)
    correct(out)
    put, waiting = obstore.put, [True]

    def paused(store: Any, path: str, data: Any, **options: Any) -> Any:
        if waiting and path == "manifests/00000002.json":
            waiting.clear()
            for number in range(3):
                run(out, f"e2{number}")
                bring(out, published)
            assert "00000002.json" not in manifests_of(published)
        return put(store, path, data, **options)

    monkeypatch.setattr(obstore, "put", paused)
    assert sink_of(published).bring(out).sent == 0
    assert manifests_of(published)[-1] == "00000004.json"
    assert shows(published, out)


def test_a_commit_whose_answer_was_lost_is_known_as_own(
    out: Path, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = obstore.put

    def twice(store: Any, path: str, data: Any, **options: Any) -> Any:
        if path.startswith("manifests/"):
            put(store, path, data, **options)
        return put(store, path, data, **options)

    monkeypatch.setattr(obstore, "put", twice)
    assert bring(out, published).sent > 0
    assert manifests_of(published) == ["00000001.json"]


@pytest.mark.slow
def test_only_what_no_manifest_needs_is_swept(out: Path, published: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(out, published)
    strange = Path(published.removeprefix("file://"), "data", "of-somebody-else.parquet")
    strange.write_bytes(b"")
    first = objects_of(published)
    forget(out, digest_of("a.txt"))
    bring(out, published)
    assert first < objects_of(published) and first - named_by_newest(published)  # a reader may be at them
    monkeypatch.setattr(publishing, "GRACE", 0.0)
    bring(out, published)  # without a change, but with something to sweep
    assert objects_of(published) == named_by_newest(published) | {f"data/{strange.name}"}
    assert shows(published, out)
    last = manifests_of(published)
    assert bring(out, published).sent == 0 and manifests_of(published) == last and len(last) <= 2


@pytest.mark.slow
def test_other_results_and_an_older_copy_are_refused(tmp_path: Path, out: Path, published: str) -> None:
    older, other = tmp_path / "older", tmp_path / "other"
    shutil.copytree(out, older)
    run(other, "e5")
    correct(out)
    bring(out, published)
    for folder in (older, other):
        with pytest.raises(UsageError, match="expected an earlier state"):
            bring(folder, published)
    assert shows(published, out)


def test_a_store_without_create_if_absent_is_refused(
    out: Path, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = obstore.put
    monkeypatch.setattr(obstore, "put", lambda store, path, data, **_: put(store, path, data))
    with pytest.raises(UsageError, match="only if there is none"):
        sink_of(published).check()
    with pytest.raises(UsageError, match="only if there is none"):
        sink_of(published).bring(out)


def test_readers_take_no_path_or_content_of_a_stranger(out: Path, published: str) -> None:
    bring(out, published)
    root = Path(published.removeprefix("file://"))
    path = root / "manifests" / "00000001.json"
    good = json.loads(path.read_text())
    for wrong in ("../../stolen.json", "/etc/x.json", "data/../../x.json"):
        bad = json.loads(json.dumps(good))
        bad["files"][wrong] = min(bad["files"].values())
        path.write_text(json.dumps(bad))
        with pytest.raises(RunError, match=f"expected a manifest.*{wrong}"), local_copy(published):
            pass
    path.write_text(json.dumps(good))
    broken = root / min(good["files"].values())
    broken.write_bytes(b"x" * broken.stat().st_size)
    with pytest.raises(RunError, match="SHA-256"), local_copy(published):
        pass


def test_a_reader_fetches_a_file_once(out: Path, published: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(out, published)
    monkeypatch.setenv("CINNABAR_CACHE", str(out.parent / "cache"))
    with local_copy(published) as folder:
        assert query(folder, "select count(*) from bill").rows == [(3,)]
    got = []
    get = obstore.get
    monkeypatch.setattr(obstore, "get", lambda store, path: got.append(path) or get(store, path))
    with local_copy(published) as folder:
        assert query(folder, "select count(*) from bill").rows == [(3,)]
    assert got == ["manifests/00000001.json"]


def test_a_sink_does_not_lie_where_documents_are_read(published: str, tmp_path: Path) -> None:
    inputs = located(["s3://bucket/inbox", "s3://other", str(tmp_path / "inbox")])
    for place in ("s3://bucket/inbox", "s3://bucket/in%62ox/res", "delta+s3://bucket/inbox/res", "s3://other/x"):
        with pytest.raises(UsageError, match=f"{re.escape(place)}: lies where documents are read"):
            check_apart([sink_of(place)], inputs)
    others = ("s3://bucket/inbox2", "s3://bucket", "gs://bucket/inbox", "postgresql://me@db/x", published)
    check_apart(map(sink_of, others), inputs)


def test_wrong_settings_of_a_store_are_told_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_address: str) -> None:
        raise UsageError("AWS_ENDPOINT_URL: expected an address")

    monkeypatch.setattr(object_store, "open_object_store", wrong)
    for address in ("s3://bucket/x", "delta+s3://bucket/x"):
        with pytest.raises(UsageError, match=r"^AWS_ENDPOINT_URL: expected an address$"):
            sink_of(address)


def test_nothing_published_and_wrong_addresses_are_told(out: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="nothing is published"), local_copy(f"file://{tmp_path}/empty"):
        pass
    for wrong, reason in (
        ("s3://", "s3://BUCKET"),
        ("s3://key:secret@bucket/x", "without credentials"),
        ("s3://bucket/x?secret=a@b", "without credentials"),
        ("s3://bucket/x?secret=1", "without credentials"),
        (f"file://{out}/copy", "lies in the output folder"),
        ("ftp://host/x", "begins with one of"),
    ):
        with pytest.raises(UsageError, match=reason) as raised:
            sink_of(wrong, out)
        assert "secret" not in str(raised.value)
