"""The report on tables reads the same words in plain order."""

import io

from bench.tables_report import as_it_is, plain_html, plain_pdf
from reportlab.pdfgen import canvas

from cinnabar.extraction.ingest import parse


def test_words_of_a_page_come_in_the_order_of_its_content_stream() -> None:
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, invariant=1)
    for x, cells in ((72, ("Item", "Bolt", "Nut")), (300, ("Net", "3.50", "4.00"))):
        for row, cell in enumerate(cells):
            sheet.drawString(x, 700 - 20 * row, cell)
    sheet.save()
    rows, plain = parse(buffer.getvalue(), "a.pdf"), plain_pdf(buffer.getvalue(), "a.pdf")
    assert [line.split() for line in rows.text.splitlines()] == [["Item", "Net"], ["Bolt", "3.50"], ["Nut", "4.00"]]
    assert plain.text.split() == ["Item", "Bolt", "Nut", "Net", "3.50", "4.00"]
    assert plain.text.splitlines()[:2] == ["Item", "Bolt"]
    assert parse(buffer.getvalue(), "a.pdf").text == rows.text


def test_cells_of_html_come_below_each_other_and_data_as_they_are() -> None:
    page = b"<head><title>t</title></head><table><tr><td>Bolt</td><td>3.50 <b>EUR</b></td></tr></table>"
    assert plain_html(page, "a.html").text == "Bolt\n3.50\nEUR"
    assert as_it_is(b"a,b\n1,2", "a.csv").text == "a,b\n1,2"
