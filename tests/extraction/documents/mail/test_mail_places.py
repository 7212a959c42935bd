"""A value that was read in an attachment, a quoted mail or an event tells so in the table of fields."""

from __future__ import annotations

import email.policy
from email.message import EmailMessage
from pathlib import Path

from tests.support.drawn_pages import text_pages
from tests.support.outlook_files import Item, msg
from tests.support.reading_model import ReadingModel

from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema

TEXT = {"type": ["string", "null"]}
SOURCE = load_schema(
    {"title": "note", "type": "object", "properties": {"name": TEXT, "total": TEXT, "order": TEXT, "room": TEXT}}
)
INVOICE = text_pages("cover", "total=12.50")


def places(folder: Path, out: Path) -> dict[tuple[str, str], str | None]:
    model = ReadingModel()
    found = extract([folder], SOURCE, out, ModelSource(model.fingerprint, lambda: model), RunOptions(workers=1))
    assert found.written == found.inputs > 0
    sql = "select fields.path, pointer, place from fields join documents using (document) where value_json <> 'null'"
    return {(Path(path).name, pointer): place for path, pointer, place in query(out, sql).rows}


def test_each_value_tells_the_part_that_it_is_from(tmp_path: Path) -> None:
    mail = EmailMessage(policy=email.policy.SMTP)
    mail["From"] = "ada@example.org"
    mail.set_content("name=Ada\n\nOn 6 May 2024 Bob <bob@example.org> wrote:\n> order=4711\n")
    mail.add_attachment(INVOICE, maintype="application", subtype="pdf", filename="invoice.pdf")
    calendar = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:x\r\nLOCATION:room=7\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    mail.add_attachment(calendar, subtype="calendar", filename="meeting.ics")
    folder = tmp_path / "mails"
    folder.mkdir()
    (folder / "a.eml").write_bytes(mail.as_bytes())
    inner = Item({0x0037: "The bill", 0x1000: "see below"}, [], [{0x3707: "invoice.pdf", 0x3701: INVOICE}])
    (folder / "b.msg").write_bytes(msg(Item({0x1000: "name=Bob"}, [], [{0x3001: "The bill", 0x3701: inner}])))
    assert places(folder, tmp_path / "out") == {
        ("a.eml", "/name"): "body",
        ("a.eml", "/order"): "body › quote",
        ("a.eml", "/total"): "invoice.pdf › page 2",
        ("a.eml", "/room"): "meeting.ics › event 1",
        ("b.msg", "/name"): "body",
        ("b.msg", "/total"): "The bill › invoice.pdf › page 2",
    }
