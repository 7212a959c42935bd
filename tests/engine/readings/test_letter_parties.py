"""The window of a letter: a line with a whole address is the sender's, the lines below it are the addressee's."""

from __future__ import annotations

import io

from reportlab.pdfgen import canvas
from tests.support.cases import each

from cinnabar.engine.readings.letter_parties import letter_parties
from cinnabar.extraction.documents.ingest.dispatch import parse

ADDRESS = "Frau Rita Esch\nAm Wall 3\n10115 Berlin\n"


def told(text: str) -> dict[str, str]:
    found = [one for one in letter_parties(text) if one.words in ("sender", "recipient")]
    return {one.words: text[slice(*(one.party if one.words == "recipient" else one.name))] for one in reversed(found)}


@each(
    "text,sender,addressee",
    [
        (f"Ulm & Sohn GmbH · Uferweg 8 · 94032 Passau\n\n{ADDRESS}", "Ulm & Sohn GmbH", "Frau Rita Esch"),
        (f"Ulm & Sohn GmbH, Uferweg 8, 94032 Passau\n{ADDRESS}", "Ulm & Sohn GmbH", "Frau Rita Esch"),
        ("Orme SA - 6 quai Nord - 38000 Grenoble\n\nM. Luc Frêne\nBP 4\n26000 Valence", "Orme SA", "M. Luc Frêne"),
        ("Ash Ltd | 1 Row | York YO1 6HS\n\nMrs E. Elm\n3 Close\nSelby YO8 4PX\n", "Ash Ltd", "Mrs E. Elm"),
        ("Ash Inc., 1 Row St, Salem, OR 97301\n\nElm LLC\n3 Oak Ave\nBend, OR 97701\n", "Ash Inc.", "Elm LLC"),
        (f"ULM\n\nUlm GmbH • Weg 8 • 94032 Passau    Tel. 2\n{ADDRESS}", "Ulm GmbH", "Frau Rita Esch"),
    ],
)
def test_the_line_above_the_addressee_is_the_sender(text: str, sender: str, addressee: str) -> None:
    assert told(text) == {"sender": sender, "recipient": addressee}


@each(
    "text",
    [
        f"Uferweg 8, 94032 Passau\n\nSehr geehrte Frau Esch,\n\nwir schreiben\n\n{ADDRESS}",
        f"Ulm GmbH\nDock House, The Quay, Ulm IP11 3TF\n\n{ADDRESS}",
        f"Ulm GmbH\nDock House, 2 Quay, Ulm IP11 3TF\n\n{ADDRESS}",
        f"Ulm GmbH · Uferweg 8 · 94032 Passau\n\nRechnung\n\n{ADDRESS}",
        "Esch, Rita, 10115 Berlin\nUlm, Ida, 94032 Passau\nOrt, Udo, 38000 Soest\n",
        ADDRESS,
    ],
)
def test_other_lines_with_a_city_are_no_window(text: str) -> None:
    assert not told(text)


def test_a_window_is_found_on_a_page_with_a_column_beside_it() -> None:
    held = io.BytesIO()
    page = canvas.Canvas(held, pagesize=(595, 842), invariant=1)
    page.setFont("Helvetica", 6)
    page.drawString(70, 700, "Ulm & Sohn GmbH · Uferweg 8 · 94032 Passau")
    page.setFont("Helvetica", 11)
    for row, (left, right) in enumerate(zip(ADDRESS.split("\n"), ("Kunde: 4711", "Ort: Ulm", "", ""), strict=True)):
        page.drawString(70, 680 - 14 * row, left)
        page.drawString(400, 680 - 14 * row, right)
    page.drawString(70, 560, "Sehr geehrte Frau Esch,")
    page.save()
    read = told(parse(held.getvalue(), "letter.pdf").text)
    assert read == {"sender": "Ulm & Sohn GmbH", "recipient": "Frau Rita Esch"}
