"""Tests for HTML that no reader sees."""

from __future__ import annotations

import pytest

from cinnabar.extraction.documents.ingest import ParserSettings, parse
from cinnabar.extraction.documents.plain.html import html_to_text

_HIDDEN = [
    "<div style='display:none'>secret</div>",
    "<div style='DISPLAY: none !important; display: block'>secret</div>",
    "<div style='visibility:hidden'><b>secret</b></div>",
    "<div hidden>secret</div>",
    "<span style='font-size:0'>secret</span>",
    "<span style='font-size:0px'><b style='font-size:120%'>secret</b></span>",
    "<span style='font:0/0 a'>secret</span>",
    "<div style='max-height:0;overflow:hidden'>secret</div>",
    "<p style='opacity:0'>secret</p>",
    "<table><tr><td>a<td style='display:none'>secret</table>",
]
_SHOWN = [
    "<div style='font-size:0'><span style='font-size:12px'>secret</span></div>",
    "<div style='visibility:hidden'><span style='visibility:visible'>secret</span></div>",
    "<div aria-hidden='true'>secret</div>",
    "<div style='font-size:1px'>secret</div>",
    "<div style='display:none'>&nbsp;&zwnj;</div>secret",
    "<div style='display:none;display:block'>secret</div>",
    "<div style='height:0'>secret</div>",
    "<script style='display:none'>a</script>secret",
]


@pytest.mark.parametrize("markup", _HIDDEN)
def test_hidden_html_is_left_out_unless_the_settings_ask_for_it(markup: str) -> None:
    page = f"<p>before</p>{markup}after".encode()
    document, shown = parse(page, "a.html"), parse(page, "a.html", settings=ParserSettings(hidden=True))
    assert "secret" not in document.text and "secret" in shown.text
    assert document.text.startswith("before") and document.text.endswith("after")
    assert document.flags == shown.flags == ("hidden_text",)


@pytest.mark.parametrize("markup", _SHOWN)
def test_html_that_a_reader_sees_is_not_flagged(markup: str) -> None:
    document = parse(f"<p>before</p>{markup}".encode(), "a.html")
    assert "secret" in document.text
    assert document.flags == ()


def test_hidden_text_of_a_mail_is_flagged() -> None:
    mail = b"Content-Type: text/html\n\n<p>Total 5</p><div style='display:none'>Total 7</div>"
    document = parse(mail, "a.eml")
    assert "Total 7" not in document.text
    assert document.flags == ("hidden_text",)
    assert "Total 7" in parse(mail, "a.eml", settings=ParserSettings(hidden=True)).text


def test_a_page_too_deep_for_its_layout_is_not_searched() -> None:
    deep = "<div>" * 100_000 + "<p style='display:none'>words" + "</div>" * 100_000
    text, flags = html_to_text(deep)
    assert "words" in text
    assert flags == {"hidden_unsearched"}


@pytest.mark.slow
def test_many_hidden_elements_take_linear_time() -> None:
    text, flags = html_to_text("<p>" + "<i hidden>a</i>b" * 100_000)
    assert text.replace("\n", "") == "b" * 100_000
    assert flags == {"hidden_text"}
