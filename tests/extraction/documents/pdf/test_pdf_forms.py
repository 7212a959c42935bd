"""Values of form fields and comments are read, each once, whether the page shows them or not."""

import io

import numpy as np
import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf.annotations import FreeText, Text
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    TextStringObject,
)
from reportlab.pdfgen import canvas
from tests.support.drawn_pages import written
from tests.support.parsed_files import parts

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.pdf.annotations import leaves


def form(bare: bool = False, **values: str) -> bytes:
    """A page with the text "Form" and a text field for each value; a `bare` one has no appearance."""
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, invariant=1)
    sheet.drawString(72, 750, "Form")
    for number, (name, value) in enumerate(values.items()):
        sheet.acroForm.textfield(name=name, value=value, x=150, y=700 - 30 * number, width=200, height=20)
    sheet.save()
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(buffer.getvalue()))
    for annotation in writer.pages[0].get("/Annots", ()):
        if bare:
            del annotation.get_object()["/AP"]
    return written(writer)


def test_a_value_without_an_appearance_is_read_with_its_name_and_box() -> None:
    document = parse(form(bare=True, customer="Alice Smith", city="Ghent"), "a.pdf")
    assert parts(document, "fields") == ["customer: Alice Smith\ncity: Ghent"]
    fields = next(part for part in document.parts if part.kind == "fields")
    assert (fields.page, document.parts[fields.parent].kind) == (1, "page")
    words = zip(document.words.start.tolist(), document.words.end.tolist(), strict=True)
    at = next(at for at, (start, end) in enumerate(words) if document.text[start:end] == "Ghent")
    height = document.parts[0].height
    assert document.words.box[at] == pytest.approx([150, height - 692, 350, height - 668], abs=4)


def test_a_value_that_the_page_shows_comes_once() -> None:
    document = parse(form(customer="Alice Smith"), "a.pdf")
    assert document.text.split() == ["Form", "Alice", "Smith"]
    assert parts(document, "fields") == []


def test_an_appearance_with_another_text_does_not_hide_the_value() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(form(customer="Alice Smith")))
    field = writer.pages[0]["/Annots"][0].get_object()  # type: ignore[index]
    field[NameObject("/V")] = TextStringObject("Bob")
    document = parse(written(writer), "a.pdf")
    assert parts(document, "fields") == ["customer: Bob"]
    assert "Alice Smith" in document.text


def test_boxes_and_choices_tell_their_state_once() -> None:
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, invariant=1)
    sheet.acroForm.checkbox(name="agreed", checked=True, x=100, y=600)
    sheet.acroForm.checkbox(name="urgent", checked=False, x=100, y=560)
    for at, value in enumerate(("red", "blue")):
        sheet.acroForm.radio(name="colour", value=value, selected=value == "blue", x=100 + 40 * at, y=520)
    sheet.acroForm.choice(name="country", value="Peru", options=["Peru", "Chile"], x=100, y=480, width=100, height=20)
    sheet.drawString(100, 700, "Order")
    sheet.save()
    document = parse(buffer.getvalue(), "a.pdf")
    (fields,) = parts(document, "fields")
    assert fields.splitlines() == ["agreed: Yes", "urgent: Off", "colour: blue"]
    assert document.text.count("Peru") == 1


def test_a_field_without_a_box_on_a_page_is_read() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(form(customer="Alice Smith")))
    del writer.pages[0][NameObject("/Annots")]
    document = parse(written(writer), "a.pdf")
    assert parts(document, "fields") == ["customer: Alice Smith"]


def test_a_typed_password_and_a_hidden_field_are_left_out() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(form(bare=True, secret="pass1234", inner="unseen", plain="shown")))
    secret, inner, _ = (one.get_object() for one in writer.pages[0]["/Annots"])  # type: ignore[attr-defined]
    secret[NameObject("/Ff")] = NumberObject(1 << 13)
    inner[NameObject("/F")] = NumberObject(2)
    document = parse(written(writer), "a.pdf")
    assert parts(document, "fields") == ["plain: shown"]
    assert "hidden_text" in document.flags
    read = parse(written(writer), "a.pdf", ParserSettings(hidden=True))
    assert parts(read, "fields") == ["inner: unseen\nplain: shown"]


def test_comments_are_a_part_of_their_page_with_their_author() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(form()))
    note = Text(text="Check this sum", rect=(50, 550, 200, 650), open=True)
    note[NameObject("/T")] = TextStringObject("Ann")
    writer.add_annotation(0, note)
    writer.add_annotation(0, FreeText(text="typed on top", rect=(50, 450, 200, 480)))
    document = parse(written(writer), "a.pdf")
    assert parts(document, "notes") == ["Ann: Check this sum\ntyped on top"]
    assert document.text.count("typed on top") == 1


def test_the_data_of_an_xfa_form_are_read() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(form()))
    data = DecodedStreamObject()
    data.set_data(
        b'<xfa:datasets xmlns:xfa="http://www.xfa.org/schema/xfa-data/1.0/"><xfa:data><order><buyer>Alice</buyer>'
        b"<sum>42.50</sum><empty/></order></xfa:data></xfa:datasets>"
    )
    packets = ArrayObject([TextStringObject("datasets"), writer._add_object(data)])
    acro_form = DictionaryObject({NameObject("/Fields"): ArrayObject(), NameObject("/XFA"): packets})
    writer.root_object[NameObject("/AcroForm")] = acro_form
    document = parse(written(writer), "a.pdf")
    assert parts(document, "fields") == ["order.buyer: Alice\norder.sum: 42.50"]
    data.set_data(b"<datasets><data>")
    assert "form_unread" in parse(written(writer), "a.pdf").flags


def test_xml_with_entities_or_great_depth_is_refused() -> None:
    assert leaves(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>') is None
    assert leaves(b"<a>" * 200 + b"</a>" * 200) is None
    assert leaves(b'<!DOCTYPE a SYSTEM "file:///etc/hostname"><a>b</a>') is None
    assert leaves(b"<a>b") is None
    assert leaves(b"\x00") is None


def test_text_around_the_elements_of_an_xfa_form_is_not_lost() -> None:
    found = leaves(b"<x:sets xmlns:x='urn:x'><x:data><note>pay <b>all</b> now</note><!-- no --></x:data></x:sets>")
    assert found == [("note", "pay now"), ("note.b", "all")]


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Sc", "Zs"]), max_size=30))
def test_any_value_of_a_field_is_read_or_blank(value: str) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(form(bare=True, name="")))
    field = writer.pages[0]["/Annots"][0].get_object()  # type: ignore[index]
    field[NameObject("/V")] = TextStringObject(value)
    document = parse(written(writer), "a.pdf")
    (found,) = parts(document, "fields") or [""]
    assert found.split() == (["name:", *value.split()] if value.strip() else [])
    assert np.isfinite(document.words.box).all()


def test_a_checked_box_without_an_appearance_is_checked() -> None:
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, invariant=1)
    sheet.drawString(100, 700, "Order")
    sheet.acroForm.checkbox(name="agreed", checked=True, x=100, y=600)
    sheet.acroForm.checkbox(name="urgent", checked=False, x=100, y=560)
    sheet.save()
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(buffer.getvalue()))
    for annotation in writer.pages[0]["/Annots"]:  # type: ignore[attr-defined]
        del annotation.get_object()["/AP"]
    assert parts(parse(written(writer), "a.pdf"), "fields") == ["agreed: Yes\nurgent: Off"]


def radio(drawn: bool, states: bool, chosen: str) -> bytes:
    """A page with two radio buttons of a group, Cash and Card; without `drawn` they have no appearance."""
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, invariant=1)
    sheet.drawString(100, 700, "Order")
    for at, value in enumerate(("Cash", "Card")):
        sheet.acroForm.radio(name="pay", value=value, selected=value == chosen, x=100, y=600 - 40 * at)
    sheet.save()
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(buffer.getvalue()))
    for annotation in writer.pages[0]["/Annots"]:  # type: ignore[attr-defined]
        if not drawn:
            del annotation.get_object()["/AP"]
        if not states:
            annotation.get_object().pop("/AS", None)
    return written(writer)


@pytest.mark.parametrize("drawn", [True, False])
def test_the_chosen_radio_button_is_the_value_of_its_group(drawn: bool) -> None:
    assert parts(parse(radio(drawn, True, "Card"), "a.pdf"), "fields") == ["pay: Card"]


def test_the_tree_of_the_form_tells_the_value_of_buttons_without_states() -> None:
    assert parse(radio(False, False, "Card"), "a.pdf").text == "Order\n\npay: Card"


@pytest.mark.parametrize("states", [True, False])
def test_a_group_of_bare_buttons_without_a_choice_has_no_value(states: bool) -> None:
    assert parse(radio(False, states, ""), "a.pdf").text.split() == ["Order", *(["☐", "☐"] if states else [])]


def test_a_locked_file_tells_how_to_give_its_password() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(form(customer="Alice Smith")))
    writer.encrypt("sesame", algorithm="AES-256")
    with pytest.raises(DocumentError, match="CINNABAR_PASSWORDS or by --password-file") as caught:
        parse(written(writer), "a.pdf")
    assert caught.value.code == "password"
