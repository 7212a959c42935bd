"""Documents behind a real SFTP server (asyncssh): its key is checked, and a young time is not trusted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support import store_servers
from tests.support.begun_runs import backfill, begun_extraction
from tests.support.reading_model import ReadingModel
from tests.support.store_servers import SECRET, Sftp

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.inputs import Input, examine, gather, parse_locations
from cinnabar.extraction.documents.stores import backend
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.run.backfill.retrying import retry
from cinnabar.extraction.run.quarantine import held_documents
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema

OLD = 1_700_000_000


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sftp]:
    with store_servers.sftp_server(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def server(started: Sftp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sftp:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / "known").write_text(started.known)
    monkeypatch.setenv("CINNABAR_SFTP_KNOWN_HOSTS", str(tmp_path / "known"))
    monkeypatch.setenv("CINNABAR_SFTP_PASSWORD", SECRET)
    started.opened.clear()
    return started


def put(server: Sftp, path: str, text: str, modified: float = OLD) -> None:
    file = server.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (modified, modified))


def found(address: str, out: Path | None = None) -> list[Input]:
    locations = parse_locations([address])
    with ExitStack() as connections:
        return [examine(item, locations) for item in gather(locations, out, connections)]


def test_a_folder_is_listed_as_a_local_one(server: Sftp) -> None:
    for path in ("in/b ü#.txt", "in/sub/a.txt", "in/.hidden", "in/.git/x.txt", "outside.txt"):
        put(server, path, path)
    (server.folder / "in/out.txt").symlink_to("../outside.txt")
    address = server.address("in")
    assert [one.path.removeprefix(address) for one in found(address)] == ["/b ü#.txt", "/sub/a.txt"]
    assert [one.path for one in found(server.address("in/sub/a.txt"))] == [server.address("in/sub/a.txt")]
    with pytest.raises(UsageError, match="no such file or folder"):
        found(server.address("none"))


def test_names_that_are_not_in_utf_8_hold_back_themselves_alone(server: Sftp) -> None:
    put(server, "latin/ü.txt", "a")
    for name in (b"latin/\xfc.txt", b"latin/\xfd.txt"):
        (server.folder / os.fsdecode(name)).write_text("a")
    (server.folder / os.fsdecode(b"latin/\xe9t\xe9")).mkdir()
    items = {one.path.rpartition("/")[2]: one.problem for one in found(server.address("latin"))}
    assert items.pop("ü.txt") is None
    assert sorted(items) == ["\\xe9t\\xe9", "\\xfc.txt", "\\xfd.txt"]
    assert {(one.code, "not in UTF-8; rename it" in str(one)) for one in items.values()} == {("unreadable", True)}


def test_only_a_time_that_is_old_enough_stands_for_the_bytes(server: Sftp, tmp_path: Path) -> None:
    put(server, "old/a.txt", "one")
    put(server, "young/a.txt", "one", time.time() - 1)
    reads = {}
    for folder in ("old", "young"):
        for _ in range(3):
            found(server.address(folder), tmp_path)
        reads[folder] = sum(path.endswith(f"{folder}/a.txt") for path in server.opened)
    assert reads == {"old": 1, "young": 3}
    before = found(server.address("old"), tmp_path)[0].digest
    put(server, "old/a.txt", "two", OLD + 1)
    assert found(server.address("old"), tmp_path)[0].digest != before


def test_a_server_whose_key_is_unknown_or_another_gets_no_password(
    server: Sftp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncssh

    put(server, "in/a.txt", "a")
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    (tmp_path / "known").write_text(f"[127.0.0.1]:{server.port} {other}")
    with pytest.raises(UsageError, match="not the known one"):
        found(server.address("in"))
    monkeypatch.delenv("CINNABAR_SFTP_KNOWN_HOSTS")
    with pytest.raises(UsageError, match="ssh-keyscan"):
        found(server.address("in"))


def test_a_wrong_password_is_told_and_not_shown(server: Sftp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_SFTP_PASSWORD", "wr0ng")
    with pytest.raises(UsageError, match="CINNABAR_SFTP_PASSWORD") as refused:
        found(server.address("in"))
    assert "wr0ng" not in str(refused.value)


def test_no_key_and_no_password_is_no_outage(server: Sftp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_WAITS", (0.01,))
    monkeypatch.delenv("CINNABAR_SFTP_PASSWORD")
    with pytest.raises(UsageError, match="did not let the user in; expected an agent, a key"):
        found(server.address())


def test_a_document_is_not_called_gone_if_its_server_was_not_asked(server: Sftp, tmp_path: Path) -> None:
    put(server, "kept/a.txt", "name=A")
    put(server, "kept/b.txt", "nothing")
    schema = {"title": "note", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    out, model, address = (
        tmp_path / "out",
        ModelSource("reading", ReadingModel),
        parse_locations([server.address("kept")]),
    )
    with begun_extraction(address, load_schema(schema), out, model) as begun:
        assert begun.work_through().written == 1
    unasked = "was not looked for: an SFTP server is asked only if --from names it"
    assert retry(out, held_documents(out), model).gone == {(b := server.address("kept/b.txt")): f"{b} {unasked}"}
    assert retry(out, held_documents(out), model, others=address).gone == {}
    schema["properties"] = {"name": {"type": "string"}, "place": {"type": ["string", "null"]}}
    backfill(load_schema(schema), out, model)
    (detail,) = query(out, "SELECT detail FROM outcomes WHERE code = 'gone'").rows[0]
    assert detail.startswith(f"{server.address('kept/a.txt')} {unasked}; the record of the version before stays")


def test_a_server_that_does_not_answer_ends_the_run(server: Sftp, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.setattr(backend, "_WAITS", (0.01,))
    with pytest.raises(RunError, match="run the same command again"):
        found("sftp://anna@127.0.0.1:1/in")


def test_many_files_are_read_by_several_threads(server: Sftp) -> None:
    for number in range(60):
        put(server, f"many/{number:02}.txt", f"text {number}" * 2000)
    assert len({one.digest for one in found(server.address("many"))}) == 60
