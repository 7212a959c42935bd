"""A mailbox behind a real IMAP server: a run reads it once, never changes it, and stores its password nowhere."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support import imap_server
from tests.support.begun_runs import begun_extraction
from tests.support.imap_server import PASSWORD, Server, mail
from tests.support.notes import NOTE
from tests.support.reading_model import ReadingModel

from cinnabar.apps.cli.main import run
from cinnabar.errors import DocumentError, RunError, UsageError
from cinnabar.extraction.documents.inputs import gather, parse_locations
from cinnabar.extraction.documents.mailboxes.address import parse_address
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with imap_server.running() as found:
        yield found


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_IMAP_PASSWORD", PASSWORD)


def opened(address: str, out: Path, batch: int = 16) -> BatchedRun:
    model = ReadingModel()
    source = ModelSource(model.fingerprint, lambda: model)
    return begun_extraction(parse_locations([address]), NOTE, out, source, RunOptions(workers=1, batch=batch))


def read(address: str, out: Path) -> Summary:
    with opened(address, out) as extraction:
        for number in range(len(extraction.batches)):
            extraction.work(number)
        return extraction.finish()


def counts(found: Summary) -> tuple[int, int, int, int]:
    return found.inputs, found.written, found.quarantined, found.skipped


@pytest.mark.slow
def test_new_mails_are_read_and_old_ones_not_even_fetched(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.renumber("Daily", mail(1), mail(2), mail(3, "no name in it"))
    address = server.address("Daily")
    assert counts(read(address, tmp_path)) == (3, 2, 1, 0)
    path, name = query(tmp_path, "select path, name from note order by name").rows[0]
    assert path.startswith(f"{address};UIDVALIDITY=") and ";UID=" in path and name == "N1"
    assert all(b"Seen" not in flags for flags in server.flags("Daily"))

    server.deliver(mail(4), mail(2), mailbox="Daily")
    fetched, real = [], ImapMailbox.fetch
    monkeypatch.setattr(ImapMailbox, "fetch", lambda box, uid: fetched.append(uid) or real(box, uid))
    assert counts(read(address, tmp_path)) == (5, 1, 0, 4)
    assert len(set(fetched)) == 2
    assert query(tmp_path, "select name from note order by 1").rows == [("N1",), ("N2",), ("N4",)]


@pytest.mark.slow
def test_a_renumbered_mailbox_is_read_again_without_second_rows(
    server: Server, tmp_path: Path
) -> None:
    server.renumber("Moved", mail(1), mail(2))
    read(server.address("Moved"), tmp_path)
    before = query(tmp_path, "select * from records order by document").rows
    server.renumber("Moved", mail(2), mail(1), mail(5))
    assert counts(read(server.address("Moved"), tmp_path)) == (3, 1, 0, 2)
    after = query(tmp_path, "select * from records order by document").rows
    assert [row for row in after if row in before] == before and len(after) == 3


def test_the_password_appears_nowhere_in_the_results(server: Server, tmp_path: Path) -> None:
    server.renumber("Secret", mail(1))
    read(server.address("Secret"), tmp_path)
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and PASSWORD.encode() in f.read_bytes()]
    arguments = query(tmp_path, "select arguments from runs").rows
    assert "imap://" in str(arguments) and PASSWORD not in str(arguments)
    assert PASSWORD not in repr(parse_address(server.address()))


def test_a_broken_connection_is_made_again(server: Server) -> None:
    server.renumber("Long", *map(mail, range(6)))
    with ExitStack() as connections:
        items = gather(parse_locations([server.address("Long")]), None, connections)
        assert items[0].read() == mail(0)
        items[0].mailbox._connection.sock.shutdown(socket.SHUT_RDWR)
        assert items[1].read() == mail(1)
        server.renumber("Long", mail(7))
        items[0].mailbox._connection.sock.shutdown(socket.SHUT_RDWR)
        with pytest.raises(RunError, match="renumbered while it was read; run the same command again"):
            items[2].read()


def test_a_mail_deleted_during_the_run_is_named_and_the_rest_stays(server: Server) -> None:
    server.renumber("Going", mail(1), mail(2))
    with ExitStack() as connections:
        items = gather(parse_locations([server.address("Going")]), None, connections)
        with server.client() as client:
            client.select("Going")
            client.store("1", "+FLAGS", "\\Deleted")
            client.expunge()
        # A server keeps showing a session its first state; only a later session finds the mail gone.
        items[0].mailbox._connection.sock.shutdown(socket.SHUT_RDWR)
        with pytest.raises(DocumentError, match="the mail is gone from its mailbox"):
            items[0].read()
        assert items[1].read() == mail(2)


def test_an_empty_mailbox_is_a_run_without_inputs(server: Server, tmp_path: Path) -> None:
    server.renumber("Empty")
    assert counts(read(server.address("Empty"), tmp_path)) == (0, 0, 0, 0)


def test_a_mailbox_with_a_non_ascii_name_is_found(server: Server) -> None:
    server.renumber('"Entw&APw-rfe &- mehr"', mail(1))
    with ExitStack() as connections:
        address = server.address("Entw%C3%BCrfe%20%26%20mehr")
        assert [item.read() for item in gather(parse_locations([address]), None, connections)] == [mail(1)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("127.0.0.1", "no.such.host.invalid"), "no mail server answers at no.such.host.invalid"),
        (("INBOX", "Nope"), "cannot be opened ([NONEXISTENT] Mailbox does not exist.)"),
        (("anna", "bob"), "the server did not let bob@example.org in ([AUTHENTICATIONFAILED]"),
        (("imap:", "imaps:"), "no TLS at this port"),
        (("anna%40example.org@", ""), "expected imap://USER@HOST/MAILBOX"),
        (("@127", ":hush@127"), "an address may not hold a password"),
    ],
)
def test_a_wrong_address_is_one_line_before_any_work(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], expected: str
) -> None:
    wrong = server.address().replace(*change)
    flow = ["--flow"] if "Nope" in wrong else []
    assert run(["extract", wrong, "--schema", "receipt", "--out", str(tmp_path / "out"), *flow]) == 2
    printed = capsys.readouterr().err
    assert expected in printed and printed.count("\n") == 1
    assert "hush" not in printed and PASSWORD not in printed
    assert not (tmp_path / "out").exists()


def test_a_wrong_or_missing_password_is_an_error_that_does_not_show_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = parse_address(server.address())
    for wrong, expected in [
        ("hush", "did not let anna@example.org in"),
        ("", "CINNABAR_IMAP_PASSWORD, which is not set"),
        ("hush\n", "without line breaks"),
    ]:
        monkeypatch.setenv("CINNABAR_IMAP_PASSWORD", wrong)
        with pytest.raises(UsageError, match=expected) as refused:
            ImapMailbox(address)
        assert "hush" not in str(refused.value)


def test_a_password_goes_to_one_server_only() -> None:
    with pytest.raises(UsageError, match="one user on one server"):
        parse_locations(["imaps://a@one.example/INBOX", "imaps://a@two.example/INBOX"])
    assert len(parse_locations(["imaps://a@one.example/INBOX", "imaps://a@one.example/Bills", "mails"])) == 3
