"""HTML as a browser lays it out: what stands apart, values of forms, raised text, struck text, data for programs."""

from __future__ import annotations

import json
import random

import pytest
from tests.support.cases import each

from cinnabar.extraction.documents.ingest import ParserSettings, parse
from cinnabar.extraction.documents.plain.html import html_to_text

_LABELS = ("Invoice number", "Total", "Qty", "Date of issue", "Ship to")
_VALUES = ("R-771", "45.50 EUR", "4 March 2024", "PO/4711-b", "12 Main St")
# Each writes a label and its value, which a browser sets apart.
_FORMS = [
    *(f"<{tag}>{{0}}</{tag}><{tag}>{{1}}</{tag}>" for tag in ("center", "section", "dd", "form", "legend", "fieldset")),
    "<dl><dt>{0}<dd>{1}</dl>", "{0}<hr>{1}<hr>", "<fieldset><legend>{0}</legend>{1}</fieldset>",
    "<details open><summary>{0}</summary>{1}</details>", "<dialog open>{0}</dialog>{1}<br>",
    "<div style='display:table-row'><i style='display:table-cell'>{0}</i><i style='display:table-cell'>{1}</i></div>",
    "<span style='display: table-cell'>{0}</span><span style='display: table-cell'>{1}</span><br>",
    "<p><b style='display:inline-block'>{0}</b><b style='display:inline-block'>{1}</b></p>",
    "<p><span style='float:left'>{0}</span><span style='FLOAT:RIGHT'>{1}</span></p>",
    "<p><span style='padding-right:20px'>{0}</span>{1}</p>", "<p>{0}<span style='margin:0 0 0 1em'>{1}</span></p>",
    "<p><span style='padding: 0 8px'>{0}</span><b>{1}</b></p>",
    "<div style='display:flex'><span>{0}</span><span>{1}</span></div>",
    "<span style='display:block'>{0}</span><span style='display:block !important'>{1}</span>",
    "<div style='display:grid'><b>{0}</b>{1}</div>", "<p>{0}<em style='position:absolute;left:9em'>{1}</em></p>",
    "<p><label>{0}<input value='{1}'></label></p>", "<p>{0}<textarea>{1}</textarea></p>",
    "<p>{0}<button>{1}</button></p>", "<p>{0}<select><option>x<option selected>{1}</select></p>",
    "<select><optgroup label=a><option>x</option></optgroup><option selected>{0}</option></select>{1}<br>",
]  # fmt: skip


@each("form", _FORMS)
def test_words_that_a_browser_sets_apart_are_apart(form: str) -> None:
    rng = random.Random(form)
    pairs = [(rng.choice(_LABELS), rng.choice(_VALUES)) for _ in range(3)]
    text = html_to_text("<body>before " + "".join(form.format(*pair) for pair in pairs) + "after</body>")[0]
    words = " ".join(f"{label} {value}" for label, value in pairs)
    assert text.split() == f"before {words} after".split()


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<i style='display:inline-block'>4</i><i style='display:inline-block'>7</i>", "47"),
        ("<i style='padding:5px'>D</i><i style='padding:5px'>E</i>", "DE"),
        ("<span style='float:left'>O</span>nce", "Once"),
        ("Wi<b>re</b>d<span style='padding:1px'>!</span>", "Wired!"),
        ("a<div style='display:none'>b</div><template>t</template><datalist><option>d</datalist>", "a"),
        ("<div style='display:table'><p style='display:table-cell'>a</p><p style='display:table-cell'>b</div>", "a  b"),
    ],
)  # fmt: skip
def test_letters_of_one_word_stay_together(markup: str, text: str) -> None:
    assert html_to_text(markup)[0] == text


def test_values_of_a_form_are_read_and_its_secrets_are_not() -> None:
    text = html_to_text(
        "<form>A<input type=email value=a@b.example>B<input type=hidden value=H><input type=PASSWORD value=P>"
        "<input type=submit value=S><input placeholder=L><label><input type=checkbox checked>Express</label>"
        "<input type=radio>Post<table><tr><td><input type=checkbox><td>7</table>"
        "C<select multiple><option>x<option selected>y<option selected>z</select>D<select><option>u<option>v</select>"
        "<div role=checkbox aria-checked=true>Gift</div></form>"
    )[0]
    assert " ".join(text.split()) == "A a@b.example B ☒ Express ☐ Post 7 C y, z D u ☒ Gift"


@pytest.mark.parametrize(
    "old",
    [
        "<s>$29.99</s>", "<del>$29.99</del>", "<strike><b>$29.99</b></strike>",
        "<span style='text-decoration:line-through'>$29.99</span>",
        "<i style='text-decoration-line: line-through'>$29.99</i>",
        "<div style='text-decoration:line-through !important;color:red'>$29.99</div>",
    ],
)  # fmt: skip
def test_struck_text_is_left_out_and_flagged(old: str) -> None:
    page = f"<p>Total: {old} $19.99 <u>now</u> <del style='text-decoration:none'>only</del></p>".encode()
    document = parse(page, "a.html")
    assert " ".join(document.text.split()) == "Total: $19.99 now only"
    assert document.flags == ("struck_text",)
    assert "29.99" in parse(page, "a.html", settings=ParserSettings(hidden=True)).text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("$19<sup>99</sup>", "$19.99"),
        ("<b>$19</b><small style='vertical-align:top;font-size:60%'>99</small>", "$19.99"),
        ("19<sup>99</sup><b>€</b>", "19.99€"),
        ("<span>19<sup>95</sup></span> EUR", "19.95 EUR"),
        ("4,512<a href=#f><sup>1</sup></a>", "4,512 ¹"),
        ("4,512<sup>1</sup><sup>,</sup><sup>2</sup>", "4,512 ¹, ²"),
        ("4,512<span style='vertical-align:3px'>1</span>", "4,512 ¹"),
        ("120 m<sup>2</sup> 1<sup>st</sup> CO<sub>2</sub>", "120 m² 1st CO2"),
        ("Sum<sup><a href=#x>incl. VAT</a></sup>", "Sum incl. VAT"),
        ("<table><tr><td>5<td><sup>1</sup></table>", "5  1"),
        ("5 <span style='vertical-align:top'>12</span>", "5 12"),
    ],
)
def test_raised_text_joins_no_number(markup: str, text: str) -> None:
    assert html_to_text(markup)[0] == text


def test_a_page_of_nothing_but_data_for_programs_is_read() -> None:
    data = '{"@type":"Order","orderNumber":"PO-1","seller":{"name":"A"},"price":[1.50,2]}'
    script = f'<script type="application/ld+json">{data}</script>'
    assert html_to_text(script)[0] == "orderNumber: PO-1\nseller name: A\nprice: 1.50\nprice: 2"
    meta = '<div itemscope><meta itemprop="orderNumber" content="PO-1"><img src=a></div>'
    assert html_to_text(meta)[0] == "orderNumber: PO-1"
    assert html_to_text(f"<p>Hello</p>{script}{meta}")[0] == "Hello"
    assert html_to_text('<script type="application/ld+json">{"a":</script>')[0] == ""


def test_a_long_name_before_many_data_does_not_fill_the_memory() -> None:
    data = json.dumps({"n" * 10_000: [1] * 2_000})
    text = html_to_text(f'<script type="application/ld+json">{data}</script>')[0]
    assert text.count(": 1") == 2_000 and len(text) < 1_000_000


def test_tables_of_text_with_letters_without_a_width_are_aligned() -> None:
    page = "<table><tr><td>a&#8203;b&shy;&zwnj;<td>c<tr><td>ab<td>d</table>"
    assert html_to_text(page)[0] == "ab  c\nab  d"
