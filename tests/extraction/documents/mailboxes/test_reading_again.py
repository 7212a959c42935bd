"""Rereading mails from their mailboxes, by a backfill and by a retry of the quarantine."""

from __future__ import annotations

import mailbox
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from tests.support import imap_server
from tests.support.begun_runs import backfill
from tests.support.imap_server import PASSWORD, Server
from tests.support.imap_server import mail as sent
from tests.support.reading_model import ReadingModel

from cinnabar.engine.request import Passage
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.inputs import Location, parse_locations
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.backfill.retrying import retry
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.quarantine import held_documents
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.stored_records import Selection
from cinnabar.schemas import SchemaSource, load_schema

TEXT = {"type": "string"}


def schema(**properties: Any) -> SchemaSource:
    fields = {"name": TEXT} | properties
    return load_schema({"title": "note", "type": "object", "properties": fields, "required": ["name"]})


OLD, NEW = schema(), schema(day={"type": ["string", "null"]})
ONE = RunOptions(workers=1)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with imap_server.running() as found:
        yield found


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setenv("CINNABAR_IMAP_PASSWORD", PASSWORD)
    monkeypatch.chdir(tmp_path)


def model() -> ModelSource:
    found = ReadingModel()
    return ModelSource(found.fingerprint, lambda: found)


def mail(number: int, text: str = "") -> EmailMessage:
    found = EmailMessage()
    found["From"], found["Subject"] = "anna@example.org", f"Mail {number}"
    found.set_content(text or f"name=N{number}\nday=mon{number}\n\nFrom here on it is only text.\n")
    return found


def online(number: int) -> bytes:
    return sent(number, f"name=N{number}\r\nday=mon{number}\r\n")


def read(location: str | Path, out: Path, source: SchemaSource = OLD) -> Summary:
    return extract(parse_locations([str(location)]), source, out, model(), ONE)


def fill(
    out: Path, chosen: Selection | None = None, others: list[Location] | None = None
) -> tuple[int, int, int]:
    found = backfill(NEW, out, model(), chosen, ONE, others=others or [])
    assert found is not None
    assert not [*Path("scratch").iterdir()], "a temporary file was left over"
    return found.inputs, found.written, found.skipped


def days(out: Path) -> list[tuple[Any, ...]]:
    return query(out, "select name, day from note_all order by name").rows


def lost(out: Path) -> list[tuple[Any, ...]]:
    sql = "select path, detail from outcomes where code = 'gone' order by run_id, path"
    return query(out, sql).rows


@pytest.mark.slow
def test_mails_of_an_mbox_are_found_by_their_bytes_under_any_number(tmp_path: Path) -> None:
    box, out = Path("mails", "box.mbox"), tmp_path / "out"
    box.parent.mkdir()
    with closing(mailbox.mbox(box)) as mbox:
        for number in range(4):
            mbox.add(mail(number))
    read("mails", out)
    records = "select * from records order by document"
    before = query(out, records).rows
    with closing(mailbox.mbox(box)) as mbox:
        mbox.remove(1)
        mbox.add(mail(9))
    assert backfill(NEW, out, model(), Selection(source="mails/box"), ONE) is None
    assert fill(out, Selection(source="mails/box.mbox")) == (4, 3, 1)
    assert days(out) == [("N0", "mon0"), ("N1", None), ("N2", "mon2"), ("N3", "mon3")]
    paths = query(out, "select path from note order by name").rows
    assert paths == [("mails/box.mbox#1",), ("mails/box.mbox#3",), ("mails/box.mbox#4",)]
    ((path, detail),) = lost(out)
    assert path == "mails/box.mbox#2" and "is not there any more" in detail and "--from" in detail
    kept = "select * replace (true as latest) from records order by document, run_id"
    assert all(row in query(out, kept).rows for row in before)
    # A copy of the mail is enough, in any place.
    with closing(mailbox.mbox(tmp_path / "copy")) as mbox:
        mbox.add(mail(7))
        mbox.add(mail(1))
    assert fill(out, others=[tmp_path / "copy"]) == (1, 1, 0)
    assert days(out)[1] == ("N1", "mon1") and verify(out).problems == []
    assert read("mails", out, NEW).written == 1  # the mail that no run has read before


def test_mails_of_a_maildir_are_found_after_they_were_seen_or_renamed(tmp_path: Path) -> None:
    maildir, out = Path("maildir"), tmp_path / "out"
    with closing(mailbox.Maildir(maildir)) as folder:
        keys = [folder.add(mail(number)) for number in range(4)]
        read(maildir, out)
        (maildir / "new" / keys[0]).rename(maildir / "cur" / f"{keys[0]}:2,RS")
        (maildir / "new" / keys[1]).rename(maildir / "cur" / "quite-another:2,S")
        folder.remove(keys[2])
    assert fill(out) == (4, 3, 1)
    assert days(out) == [("N0", "mon0"), ("N1", "mon1"), ("N2", None), ("N3", "mon3")]
    assert [path for path, _ in lost(out)] == [f"maildir/new/{keys[2]}"]
    assert query(out, "select distinct media_type from documents").rows == [("message/rfc822",)]


@pytest.mark.slow
def test_only_the_chosen_mails_behind_imap_are_fetched_and_each_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.renumber("Again", *map(online, range(4)))
    read(server.address("Again"), tmp_path / "out")
    asked, real = [], ImapMailbox.fetch
    monkeypatch.setattr(ImapMailbox, "fetch", lambda box, uid: asked.append(uid) or real(box, uid))
    chosen = Selection(where="name in ('N1', 'N2')", source=server.address("Again"))
    assert fill(tmp_path / "out", chosen) == (2, 2, 0)
    assert len(asked) == len(set(asked)) == 2
    elsewhere = Selection(source=server.address("Aga"))
    assert backfill(NEW, tmp_path / "out", model(), elsewhere, ONE) is None
    assert days(tmp_path / "out") == [("N0", None), ("N1", "mon1"), ("N2", "mon2"), ("N3", None)]
    assert all(b"Seen" not in flags for flags in server.flags("Again"))
    names = [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert not [name for name in names if PASSWORD.encode() in name.read_bytes()]


@pytest.mark.slow
def test_mails_of_a_renumbered_mailbox_are_found_by_their_bytes(
    server: Server, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    server.renumber("Moved", *map(online, range(3)))
    read(server.address("Moved"), out)
    server.renumber("Moved", online(8), online(2), online(0))
    moved = parse_locations([server.address("Moved")])
    assert fill(out, others=moved) == (3, 2, 1)
    assert days(out) == [("N0", "mon0"), ("N1", None), ("N2", "mon2")]
    ((path, detail),) = lost(out)
    assert path.startswith(f"{server.address('Moved')};UIDVALIDITY=") and "is not there any more" in detail
    # First the mailbox is gone, and then the mails are in another one.
    with server.client() as client:
        client.delete("Moved")
    assert fill(out, Selection(source=server.address("Moved"))) == (1, 0, 1)
    server.renumber("Archive", online(1))
    assert fill(out, others=parse_locations([server.address("Archive")])) == (1, 1, 0)
    assert days(out)[1] == ("N1", "mon1")


@pytest.mark.slow
def test_a_uid_that_names_other_bytes_gives_no_record_of_them(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.renumber("Fickle", online(1))
    read(server.address("Fickle"), tmp_path / "out")
    monkeypatch.setattr(ImapMailbox, "fetch", lambda *_: online(2))
    assert fill(tmp_path / "out", Selection(source=server.address("Fickle"))) == (1, 0, 1)
    assert days(tmp_path / "out") == [("N1", None)]


@pytest.mark.slow
def test_an_unreachable_server_is_an_error_before_any_work_and_no_loss(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.renumber("Away", online(1))
    out = tmp_path / "out"
    read(server.address("Away"), out)
    monkeypatch.setenv("CINNABAR_IMAP_PASSWORD", "hush")
    away = Selection(source=server.address("Away"))
    with pytest.raises(UsageError, match="did not let") as refused:
        fill(out, away)
    assert "hush" not in str(refused.value)
    monkeypatch.delenv("CINNABAR_IMAP_PASSWORD")
    with pytest.raises(UsageError, match="CINNABAR_IMAP_PASSWORD, which is not set"):
        fill(out, away)
    # The password of the account that --from names is not sent for another account.
    monkeypatch.setenv("CINNABAR_IMAP_PASSWORD", PASSWORD)
    asked, real = [], ImapMailbox._log_in
    monkeypatch.setattr(ImapMailbox, "_log_in", lambda box, *rest: asked.append(box) or real(box, *rest))
    with DocumentLookup(out, parse_locations([server.address("Away", host="localhost")])) as found:
        path = query(out, "select path from note").rows[0][0]
        assert found.find([path], "0" * 64, 5) is None and len(asked) == 1
    monkeypatch.delenv("CINNABAR_IMAP_PASSWORD")
    # A mail with a copy on this machine needs no server.
    Path("copy.eml").write_bytes(online(1))
    assert query(out, "select count(*) from runs").rows == [(1,)]
    assert fill(out, others=[Path("copy.eml")]) == (1, 1, 0)


def test_a_folder_of_a_stranger_gets_no_password(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.renumber("Theirs", online(1), sent(6, "nome=M\n"))
    out = tmp_path / "out"
    read(server.address("Theirs"), out)
    asked: list[ImapMailbox] = []
    monkeypatch.setattr(ImapMailbox, "__init__", lambda box, _: asked.append(box))
    assert fill(out) == (1, 0, 1)
    assert "lies behind IMAP, name its place with --from" in lost(out)[0][1]
    assert len(retry(out, held_documents(out), model()).gone) == 1
    assert not asked


class Lenient(ReadingModel):
    """Read misspelled names, too."""

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        return [text.replace("nome=", "name=") for text in super().encode(passages)]


@pytest.mark.slow
def test_mails_in_quarantine_are_retried_at_their_present_place(server: Server, tmp_path: Path) -> None:
    out, nameless = tmp_path / "out", "nome=M\n"
    with closing(mailbox.mbox("box.mbox")) as mbox:
        for number in range(3):
            mbox.add(mail(number, nameless))
    with closing(mailbox.Maildir("maildir")) as folder:
        key = folder.add(mail(5, nameless))
    server.renumber("Held", sent(6, nameless), sent(7, nameless))
    places = ["box.mbox", "maildir", server.address("Held")]
    extract(parse_locations(places), schema(), out, model(), ONE)
    assert len(held_documents(out)) == 6
    with closing(mailbox.mbox("box.mbox")) as mbox:
        mbox.remove(0)
    Path("maildir", "new", key).rename(Path("maildir", "cur", f"{key}:2,S"))
    server.renumber("Held", sent(7, nameless))

    found = retry(out, held_documents(out), model(), others=parse_locations([server.address("Held")]))
    assert [(run.inputs, run.written, run.quarantined) for run in found.runs] == [(4, 0, 4)]
    assert sorted(path.rpartition("#")[0] or path[:4] for path in found.gone) == ["box.mbox", "imap"]
    assert len(held_documents(out)) == 6 and verify(out).problems == []
    lenient = ModelSource("lenient", Lenient)
    found = retry(out, held_documents(out, ["box.mbox#2"]), lenient)
    assert [(run.inputs, run.written) for run in found.runs] == [(1, 1)]
    assert query(out, "select path, name from note").rows == [("box.mbox#2", "M")]
    assert len(held_documents(out)) == 5
