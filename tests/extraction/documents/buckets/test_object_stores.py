"""Documents in a bucket behind a real S3 server: each is read once, as often as it changes, and never lost."""

from __future__ import annotations

import gzip
import io
import traceback
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.support import store_servers
from tests.support.begun_runs import begun_extraction
from tests.support.notes import NOTE
from tests.support.reading_model import READING
from tests.support.store_servers import SECRET, Bucket

from cinnabar.apps.cli.main import run
from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.buckets import bucket as buckets
from cinnabar.extraction.documents.buckets.object_store import FILE, StoreItem
from cinnabar.extraction.documents.content.inputs import content_of
from cinnabar.extraction.documents.ingest import sandbox
from cinnabar.extraction.documents.inputs import Input, examine, gather, parse_locations
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.batch import retries
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query

MBOX = "".join(
    f"From a@b.example Mon Jan  1 10:00:0{n} 2024\nFrom: a@b.example\nSubject: {n}\n\nname=M{n}\ntotal={n}\n\n"
    for n in range(2)
)


@pytest.fixture(scope="module")
def started() -> Iterator[Bucket]:
    with store_servers.bucket() as found:
        yield found


@pytest.fixture
def bucket(started: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    for name, value in {**store_servers.KEYS, "AWS_ENDPOINT_URL": started.url}.items():
        monkeypatch.setenv(name, value)
    for page in started.client.get_paginator("list_objects_v2").paginate(Bucket=started.name):
        for one in page.get("Contents", []):
            started.client.delete_object(Bucket=started.name, Key=one["Key"])
    started.faults, started.before = {}, lambda _kind, _key: None
    started.count.clear()
    return started


def note(name: str) -> str:
    return f"name={name}\ntotal=1.50\n"


def packed(**files: str) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"in/{name}.txt", text)
    return whole.getvalue()


def found(*addresses: str, out: Path | None = None) -> list[Input]:
    locations = parse_locations(addresses)
    with ExitStack() as connections:
        return [examine(item, locations) for item in gather(locations, out, connections)]


def paths(*addresses: str) -> list[str]:
    return [one.path.removeprefix("s3://bucket/") for one in found(*addresses)]


def extracted(out: Path, *addresses: str, options: RunOptions | None = None) -> Summary:
    with begun_extraction(
        parse_locations(addresses), NOTE, out, READING, options or RunOptions(workers=1)
    ) as begun:
        return begun.work_through()


def rows(out: Path) -> list[tuple[Any, ...]]:
    return query(out, "SELECT path, name FROM note ORDER BY 1").rows


def test_a_prefix_stands_for_its_objects_as_a_folder_does(bucket: Bucket) -> None:
    bucket.put_at("in/b é%20#?.txt", note("B"))
    bucket.put_at("in/sub/a.txt", note("A"))
    bucket.put_at("in/sub/", b"")
    bucket.put_at("in/.hidden", note("H"))
    bucket.put_at("in/.git/x.txt", note("H"))
    bucket.put_at("inner/c.txt", note("C"))
    bucket.put_at("in/p.zip", packed(x=note("X")))
    bucket.put_at("in/m.mbox", MBOX)
    expected = ["in/b é%20#?.txt", "in/m.mbox#1", "in/m.mbox#2", "in/p.zip/in/x.txt", "in/sub/a.txt"]
    assert paths("s3://bucket/in") == paths("S3://bucket/in/") == expected
    assert paths("s3://bucket/in/sub/a.txt", "s3://bucket/in/sub") == ["in/sub/a.txt"]
    assert paths("s3://bucket/empty") == []


def test_the_rows_are_those_of_a_local_folder(bucket: Bucket, tmp_path: Path) -> None:
    files = {"a.txt": note("A").encode(), "m.mbox": MBOX.encode(), "p.zip": packed(x=note("X")), "z.pdf": b"%PDF no"}
    (tmp_path / "in").mkdir()
    for name, data in files.items():
        (tmp_path / "in" / name).write_bytes(data)
        bucket.put_at(f"in/{name}", data)
    extracted(tmp_path / "local", str(tmp_path / "in"))
    extracted(tmp_path / "stored", "s3://bucket/in")
    local = [(str(path).replace(str(tmp_path), "s3://bucket"), name) for path, name in rows(tmp_path / "local")]
    assert rows(tmp_path / "stored") == local
    assert len(local) == 4


def test_a_second_run_reads_no_object_and_one_more_only_what_is_new(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put(**{"a.txt": note("A"), "b.txt": note("B"), "p.zip": packed(x=note("X")), "broken.pdf": "%PDF-1.7 no"})
    extracted(tmp_path / "out", "s3://bucket")
    assert bucket.count["get"] == 4
    assert extracted(tmp_path / "out", "s3://bucket").skipped == 4
    assert bucket.count["get"] == 4
    bucket.put_at("a.txt", note("A2"))
    assert extracted(tmp_path / "out", "s3://bucket").written == 1
    assert bucket.count["get"] == 5
    (tmp_path / "out" / FILE).unlink()
    assert extracted(tmp_path / "out", "s3://bucket").skipped == 4
    assert bucket.count["get"] == 9


def test_an_object_that_changes_after_its_listing_is_read_as_it_is_then(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_at("a.txt", note("Old"))

    def change(kind: str, _key: str) -> None:
        if kind == "get":
            bucket.before = lambda _kind, _key: None
            bucket.put_at("a.txt", note("New"))

    bucket.before = change
    assert extracted(tmp_path / "out", "s3://bucket").written == 1
    assert rows(tmp_path / "out") == [("s3://bucket/a.txt", "New")]
    assert extracted(tmp_path / "out", "s3://bucket").skipped == 1
    assert bucket.count["get"] == 1


def test_a_version_that_comes_back_is_known_only_as_the_last(bucket: Bucket, tmp_path: Path) -> None:
    for name, reads in (("A", 1), ("B", 2), ("A", 3)):
        bucket.put_at("a.txt", note(name))
        found("s3://bucket", out=tmp_path)
        assert bucket.count["get"] == reads


def test_a_broken_memory_costs_only_reading(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_at("a.txt", note("A"))
    expected = found("s3://bucket")[0].digest
    for broken in (b"\x00\xff", b"[", b'["s3://bucket/a.txt","x",[["","no hash"]]]\n[1,2]\n{}', b""):
        (tmp_path / FILE).write_bytes(broken)
        reads = bucket.count["get"]
        assert [found("s3://bucket", out=tmp_path)[0].digest for _ in range(2)] == [expected] * 2
        assert bucket.count["get"] == reads + 1


@pytest.mark.parametrize("status", [400, 403])
def test_an_error_tells_no_signature_of_a_request(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Location", self.path)
            self.end_headers()
            self.wfile.write(f"<Error><Message>{self.path}</Message></Error>".encode())

    with store_servers.served(Refusing) as url:
        for name, value in (("ACCOUNT_NAME", "a"), ("ENDPOINT", url), ("SAS_TOKEN", f"sv=1&sig={SECRET}")):
            monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
        with pytest.raises(UsageError) as refused:
            found("az://box")
    assert SECRET in asked[0]
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_an_object_in_a_store_keeps_the_name_of_its_kind(bucket: Bucket) -> None:
    bucket.put(**{"a.pdf": "%PDF-1.7 no", "m.mbox": MBOX, "p.zip": packed(x=note("X"))})
    contents = [one.content for one in found("s3://bucket")]
    assert [content_of(one).name.suffix for one in contents] == [".pdf", ".eml", ".eml", ".txt"]
    assert "Store " not in repr(contents)


def test_what_is_gone_denied_empty_or_too_large_is_a_problem_of_its_own(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "MAX_FILE", 1000)
    bucket.put(**{"a.txt": note("A"), "empty.txt": "", "gone.txt": note("G"), "large.txt": "x" * 1001})

    def remove(kind: str, key: str) -> None:
        if (kind, key) == ("get", "gone.txt"):
            bucket.client.delete_object(Bucket="bucket", Key=key)

    bucket.before = remove
    outcome = {one.path: one.problem and one.problem.code for one in found("s3://bucket")}
    assert outcome == {
        "s3://bucket/a.txt": None,
        "s3://bucket/empty.txt": "empty",
        "s3://bucket/gone.txt": "unreadable",
        "s3://bucket/large.txt": "too_large",
    }
    assert bucket.count["get"] == 3
    assert sandbox.MAX_FILE > 1000


def test_faults_lose_and_double_nothing(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_PAGE", 20)
    for number in range(40):
        bucket.put_at(f"in/{number:03}.txt", note(f"N{number}"))
    bucket.faults = {"503": 0.1, "reset": 0.1, "cut": 0.1}
    assert extracted(tmp_path / "out", "s3://bucket/in").written == 40
    assert [name for _, name in rows(tmp_path / "out")] == [f"N{number}" for number in range(40)]
    assert all(bucket.count[kind] for kind in bucket.faults)


def test_a_store_that_stays_down_ends_the_run_and_not_the_documents(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "_WAITS", (0.01,))
    monkeypatch.setattr(retries, "DELAYS", (0.0, 0.0))
    monkeypatch.setitem(buckets._RETRY, "max_retries", 0)
    bucket.put_at("a.txt", note("A"))

    def down(kind: str, _key: str) -> None:
        bucket.faults = {"503": 1.0} if kind == "get" else {}

    bucket.before = down
    with pytest.raises(RunError, match=r"s3://bucket/a\.txt.*503 SlowDown.*run the same command again"):
        extracted(tmp_path / "out", "s3://bucket")
    bucket.before, bucket.faults = lambda _kind, _key: None, {}
    assert extracted(tmp_path / "out", "s3://bucket").written == 1


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://nobucket/x", "no such bucket"),
        ("s3://key:secret@bucket/x", "may hold no password"),
        ("az://box/x?sv=1&sig=abc", "may hold no password"),
        ("s3:///x", "expected s3://BUCKET/PREFIX"),
        ("s3://bucket/a//b", "empty parts"),
        ("sharepoint://site/drive", "sharepoint://…: expected a folder: mount the server"),
        ("onedrive://me@example.org/x", "onedrive://…: expected a folder: mount"),
        ("sftp://u:secret@host/x", "sftp://…: expected a folder: mount"),
    ],
)
def test_what_cannot_work_is_refused_before_the_run(bucket: Bucket, tmp_path: Path, address: str, said: str) -> None:  # noqa: ARG001
    with pytest.raises(UsageError, match=said) as refused:
        extracted(tmp_path / "out", address)
    assert "secret" not in str(refused.value)
    assert "sig=" not in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("address", "name", "value"),
    [
        ("s3://bucket", "AWS_ENDPOINT_URL", "minio:9000"),
        ("s3://bucket", "AWS_ENDPOINT_URL_S3", "http://minio:99999"),
        ("s3://bucket", "AWS_SESSION_TOKEN", "hidden\n"),
        ("s3://bucket", "AWS_ACCESS_KEY_ID", "hid\x07den"),
        ("az://box", "AZURE_STORAGE_ENDPOINT", "minio:9000"),
        ("az://box", "AZURE_AUTHORITY_HOST", "http://"),
        ("az://box", "AZURE_STORAGE_ACCOUNT_NAME", "hidden\n"),
        ("gs://box", "GOOGLE_BASE_URL", "http://mi nio"),
    ],
)
def test_a_wrong_setting_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], address: str, name: str, value: str
) -> None:
    for known, usual in {**store_servers.KEYS, "AZURE_STORAGE_ACCOUNT_NAME": "a", name: value}.items():
        monkeypatch.setenv(known, usual)
    assert run(["text", f"{address}/a.txt"]) == 2
    said = capfd.readouterr().err
    assert f"{address}/a.txt: {name}: expected" in said or f"{address}: {name}: expected" in said
    assert value.strip() not in said and "Traceback" not in said and "panicked" not in said


def test_an_empty_endpoint_counts_as_not_set(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "")
    bucket.put_at("a.txt", note("A"))
    assert paths("s3://bucket") == ["a.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["in/dbl//a.txt", "in/tab\t.txt", "in/bell\a.zip", "in/long." + "x" * 250])
def test_a_key_that_is_no_file_name_is_one_document(bucket: Bucket, tmp_path: Path, key: str) -> None:
    bucket.put_at(key, note("A"))
    bucket.put_at("in/b.txt", note("B"))
    bucket.put_at("in/sub/c.zip", packed(x=note("C")))
    bucket.put_at("in/empty/", b"")
    held = "unsupported" if key.startswith("in/long") else "unreadable"
    ended = extracted(tmp_path / "out", "s3://bucket/in")
    assert (ended.inputs, ended.written, ended.reasons) == (3, 2, {held: 1})
    again = extracted(tmp_path / "out", "s3://bucket/in")
    assert (again.inputs, again.skips) == (3, {"done": 3})
    ((detail,),) = query(tmp_path / "out", f"SELECT detail FROM quarantine WHERE code = '{held}'").rows
    assert held == "unsupported" or f"the key {key!r} has an empty part, . or .., or a control character" in detail


def test_objects_whose_paths_could_be_equal_are_inputs_each(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_at("in/p.zip", packed(x=note("Packed")))
    bucket.put_at("in/p.zip/in/x.txt", note("Object"))
    bucket.put_at("in/m.mbox", MBOX)
    mail = "From: a@b.example\nSubject: s\n\nname={}\n"
    bucket.put_at("in/m.mbox#1", mail.format("Numbered"))
    bucket.put_at("in/m.mbox%231", mail.format("Escaped"))
    ended = extracted(tmp_path / "out", "s3://bucket/in")
    assert (ended.inputs, ended.written) == (6, 6)
    assert [(path.removeprefix("s3://bucket/in/"), name) for path, name in rows(tmp_path / "out")] == [
        ("m.mbox#1", "M0"), ("m.mbox#2", "M1"), ("m.mbox%231", "Numbered"), ("m.mbox%25231", "Escaped"),
        ("p.zip/in/x.txt", "Object"), ("p.zip/in/x.txt#same=2", "Packed"),
    ]  # fmt: skip
    with DocumentLookup(tmp_path / "out") as lookup:
        for path, digest, name in query(tmp_path / "out", "SELECT path, document, name FROM note").rows:
            content = lookup.find([path], digest, None)
            assert content is not None and f"name={name}".encode() in content.read()
    assert extracted(tmp_path / "out", "s3://bucket/in").skips == {"done": 6}


def test_results_in_a_bucket_are_left_out(bucket: Bucket) -> None:
    for name in ("a.txt", "t/manifest/batch-0000000001.json", "t/outcomes/batch-0000000001.parquet", "t/x.html"):
        bucket.put_at(name, note("A"))
    assert paths("s3://bucket") == ["a.txt"]


@pytest.mark.parametrize(
    ("code", "data"), [("broken", b"PK\x03\x04garbage"), ("truncated", gzip.compress(MBOX.encode(), mtime=0)[:60])]
)
def test_a_damaged_archive_is_read_once(bucket: Bucket, tmp_path: Path, code: str, data: bytes) -> None:
    bucket.put(**{"bad.zip": data})
    assert extracted(tmp_path / "out", "s3://bucket").reasons == {code: 1}
    assert extracted(tmp_path / "out", "s3://bucket").skips == {"done": 1}
    assert bucket.count["get"] == 1
    bucket.put_at("bad.zip", packed(x=note("X")))
    assert extracted(tmp_path / "out", "s3://bucket").written == 1


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extras.find_spec", lambda name: None if name == "obstore" else object())
    with pytest.raises(UsageError, match=r"obstore, not installed here: pip install .*\[stores\]"):
        found("s3://bucket/x")


def test_the_command_takes_addresses_and_tells_no_secret(
    bucket: Bucket, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bucket.put_at("in/a.txt", note("A"))
    bucket.put_at("in/p.zip", packed(x=note("X")))
    assert run(["text", "s3://bucket/in/a.txt", "s3://bucket/in/p.zip"]) == 0
    assert "name=X" in capfd.readouterr().out
    assert run(["extract", "s3://bucket/in", "--schema", "receipt", "--out", str(tmp_path / "out")]) == 0
    written = b"".join(file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file())
    said = capfd.readouterr()
    assert SECRET.encode() not in written
    assert SECRET not in said.out + said.err


def test_stored_documents_are_found_again_by_their_addresses(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put(**{"in/a.txt": note("A"), "in/p.zip": packed(x=note("X")), "in/m.mbox": MBOX})
    extracted(tmp_path / "out", "s3://bucket/in")
    stored = query(tmp_path / "out", "SELECT path, document, NULL FROM outcomes ORDER BY 1").rows
    assert len(stored) == 4
    before = bucket.count["get"]
    with DocumentLookup(tmp_path / "out") as lookup:
        contents = [lookup.find([path], digest, size) for path, digest, size in stored]
        assert bucket.count["get"] == before
        items = [one for one in contents if isinstance(one, StoreItem)]
        assert [one.path for one in items] == [path for path, *_ in stored]
        assert [b"name=" in one.read() for one in items] == [True] * 4
        assert lookup.find(["s3://bucket/in/none.txt"], "0" * 64, None) is None
        left = "sftp://anna@elsewhere.example/x"
        assert lookup.find([left], "0" * 64, None) is None
        assert "name a mount of its server by --from" in lookup.explain_missing(left)
    bucket.put_at("in/moved.txt", note("A"))
    bucket.client.delete_object(Bucket="bucket", Key="in/a.txt")
    with DocumentLookup(tmp_path / "out", parse_locations(["s3://bucket/in"])) as lookup:
        moved = lookup.find([stored[0][0]], stored[0][1], len(note("A")))
        assert isinstance(moved, StoreItem)
        assert moved.path == "s3://bucket/in/moved.txt"
