"""mbox and Maildir: each mail is one input, and equal bytes are one document in any place."""

from __future__ import annotations

import mailbox
from contextlib import ExitStack, closing
from email.message import EmailMessage
from pathlib import Path

import pytest
from tests.support.reading_model import ReadingModel

from cinnabar.extraction.documents.inputs import gather, path_of
from cinnabar.extraction.documents.mailboxes.files import is_mbox, mbox_messages
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema

SOURCE = load_schema(
    {
        "title": "note",
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
)
FROM = "From anna@example.org Fri Nov 20 18:57:21 2026\n"


def mail(number: int) -> EmailMessage:
    found = EmailMessage()
    found["From"], found["Subject"] = "anna@example.org", f"Mail {number}"
    found.set_content(f"name=N{number}\n\nFrom here on it is only text.\n")
    return found


def read(folder: Path, out: Path, **options: int) -> tuple[int, int, int, int]:
    model = ReadingModel()
    source = ModelSource(model.fingerprint, lambda: model)
    found = extract([folder], SOURCE, out, source, RunOptions(workers=1, **options))
    return found.inputs, found.written, found.quarantined, found.skipped


def paths(*locations: Path) -> list[str]:
    with ExitStack() as connections:
        return [path_of(item) for item in gather(locations, None, connections)]


def test_an_mbox_with_its_suffix_is_its_mails_and_one_of_another_form_a_document(tmp_path: Path) -> None:
    folder = tmp_path / "mails"
    folder.mkdir()
    with closing(mailbox.mbox(folder / "sure.mbox")) as mbox:
        mbox.add(mail(1))
        mbox.add(mail(2))
    content = "".join(f"From -\nFrom: a@example.org\n\nname=N{number}\n\n" for number in (3, 4))
    (folder / "odd.mbox").write_text(content)
    found = [Path(path).name for path in paths(folder)]
    assert found == ["odd.mbox", "sure.mbox#1", "sure.mbox#2"]
    assert read(folder, tmp_path / "out") == (3, 3, 0, 0)


def test_each_mail_of_an_mbox_and_of_a_maildir_is_one_input(tmp_path: Path) -> None:
    box, maildir, out = tmp_path / "mails" / "box", tmp_path / "mails" / "maildir", tmp_path / "out"
    (tmp_path / "mails").mkdir()
    with closing(mailbox.mbox(box)) as mbox:
        for number in range(3):
            mbox.add(mail(number))
    with closing(mailbox.Maildir(maildir)) as folder:
        for number in range(1, 5):
            folder.add(mail(number))
    (maildir / "dovecot-uidlist").write_text("3 V1 N5\n")
    (maildir / "tmp" / "half").write_text("From: a")

    assert read(tmp_path / "mails", out) == (7, 5, 0, 2)
    assert query(out, "select name from note order by 1").rows == [(f"N{n}",) for n in range(5)]
    names = [Path(row[0]).name for row in query(out, "select path from note order by name").rows]
    assert names[:3] == ["box#1", "box#2", "box#3"]
    assert read(box, out) == (3, 0, 0, 3)
    assert query(out, "select distinct media_type from documents").rows == [("message/rfc822",)]


def test_an_mbox_that_lost_a_mail_is_renumbered_and_read_once(tmp_path: Path) -> None:
    box = tmp_path / "box.mbox"
    with closing(mailbox.mbox(box)) as mbox:
        for number in range(4):
            mbox.add(mail(number))
    assert read(box, tmp_path / "out") == (4, 4, 0, 0)
    with closing(mailbox.mbox(box)) as mbox:
        mbox.remove(0)
        mbox.add(mail(9))
    assert read(box, tmp_path / "out") == (4, 1, 0, 3)
    assert query(tmp_path / "out", "select count(*) from note").rows == [(5,)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FROM + "A: b\n\nText\n\n" + FROM + "C: d\n\nMore\n", ["A: b\n\nText\n", "C: d\n\nMore\n"]),
        # Text about senders is no mail, with or without a blank line above it.
        (FROM + "A: b\n\nFrom Anna\n\nFrom him I heard\n", ["A: b\n\nFrom Anna\n\nFrom him I heard\n"]),
        (FROM + "A: b\n\nText\n" + FROM + "C: d\n", ["A: b\n\nText\n" + FROM + "C: d\n"]),
        # Lines with the line ends of other systems.
        ((FROM + "A: b\n\nT\n\n" + FROM + "C: d\n").replace("\n", "\r\n"), ["A: b\r\n\r\nT\r\n", "C: d\r\n"]),
        # A line longer than one read, with an end like a mail's beginning.
        (FROM + "A: b\n\n" + "x" * (1 << 16) + FROM, ["A: b\n\n" + "x" * (1 << 16) + FROM]),
        (FROM + "A: b\n\nno line end", ["A: b\n\nno line end"]),
        (FROM + "A: b\n\n" + FROM, ["A: b\n", ""]),
    ],
)
def test_an_mbox_is_cut_where_mails_begin(tmp_path: Path, text: str, expected: list[str]) -> None:
    box = tmp_path / "box"
    box.write_bytes(text.encode())
    assert is_mbox(box)
    assert [message.read().decode() for message in mbox_messages(box)] == expected


def test_a_well_made_mbox_has_the_mails_that_the_standard_library_sees(tmp_path: Path) -> None:
    with closing(mailbox.mbox(tmp_path / "box")) as mbox:
        for number in range(5):
            mbox.add(mail(number))
        expected = [mbox.get_bytes(key).replace(b"\n>From ", b"\nFrom ") for key in mbox.iterkeys()]
    assert [message.read() for message in mbox_messages(tmp_path / "box")] == expected


def test_a_file_that_only_looks_like_an_mbox_stays_a_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(FROM + "A: b\n")
    (tmp_path / "letter").write_text("From Anna, who came at 10:30\nDear all,\n")
    (tmp_path / "empty.mbox").write_text("")
    assert [Path(path).name for path in paths(tmp_path)] == ["empty.mbox", "letter", "notes.txt"]


def test_a_maildir_and_a_folder_may_be_empty(tmp_path: Path) -> None:
    with closing(mailbox.Maildir(tmp_path / "maildir")):
        assert paths(tmp_path / "maildir") == []
    assert read(tmp_path / "maildir", tmp_path / "out") == (0, 0, 0, 0)
    (tmp_path / "empty").mkdir()
    assert paths(tmp_path / "empty") == []


def test_a_missing_or_hostile_mail_goes_to_quarantine_alone(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.write_text(FROM + "A: b\n\nname=N1\n\n" + FROM + "\n")
    assert read(box, tmp_path / "out")[:3] == (2, 1, 1)
