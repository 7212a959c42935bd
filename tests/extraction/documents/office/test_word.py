"""Word documents: text in order, tables in rows, notes, tracked changes, and files within."""

from __future__ import annotations

import io
import random
import zipfile

import docx
import pytest
from docx.enum.section import WD_SECTION
from docx.shared import Inches
from tests.support.cases import each
from tests.support.parsed_files import code_of

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def saved(document: docx.document.Document) -> bytes:
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()


def package(body: str, **members: str | bytes) -> bytes:
    """Returns a Word file with this body; each member is related to the document by its name."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
        relations = "".join(
            f'<Relationship Id="{name}" Type="{RELATION}/{name}" Target="{name}.xml"/>' for name in members
        )
        archive.writestr("word/_rels/document.xml.rels", f"<Relationships>{relations}</Relationships>")
        for name, data in members.items():
            archive.writestr(f"word/{name}.xml", data)
    return made.getvalue()


def p(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def r(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def place(document: Document, text: str) -> str:
    return document.places.at(document.text.index(text))


def test_paragraphs_and_tables_come_in_the_order_of_the_body_with_their_places() -> None:
    made = docx.Document()
    made.add_heading("Invoice 17", 1)
    table = made.add_table(2, 2)
    for at, text in enumerate(("Item", "Price", "A long apple", "3.50")):
        table.cell(at // 2, at % 2).text = text
    made.add_paragraph("Total 3.50")
    made.core_properties.title = "Bill"
    document = parse(saved(made), "a.docx")
    assert document.text == "Invoice 17\n\nItem          Price\nA long apple  3.50\n\nTotal 3.50"
    assert place(document, "Price") == "table 1, row 1" and place(document, "Total") == "paragraph 2"
    assert document.metadata["title"] == "Bill"


def numbered(text: str, number: int, level: int = 0) -> str:
    reference = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{reference}</w:pPr>{r(text)}</w:p>"


def lists(*levels: tuple[str, str]) -> str:
    """Returns the definition of a list with these forms and texts, instances 1 and 2 of it, and 3 from 7 on."""
    described = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(levels)
    )
    start = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    instances = "".join(
        f'<w:num w:numId="{number}"><w:abstractNumId w:val="5"/>{start if number == 3 else ""}</w:num>'
        for number in (1, 2, 3)
    )
    return f'<w:numbering {W}><w:abstractNum w:abstractNumId="5">{described}</w:abstractNum>{instances}</w:numbering>'


def test_numbers_of_lists_are_counted_as_word_does() -> None:
    levels = lists(("decimal", "%1."), ("lowerLetter", "%2)"), ("upperRoman", "%1.%3"), ("bullet", "\uf0b7"))
    body = numbered("a", 1) + numbered("b", 1, 1) + numbered("c", 1, 1) + numbered("d", 1, 2) + numbered("e", 2)
    body += numbered("f", 1, 1) + p(r("plain")) + numbered("g", 1, 3) + numbered("h", 3) + numbered("i", 3)
    body += numbered("j", 9)
    document = parse(package(body, numbering=levels), "a.docx")
    assert document.text.split("\n") == [
        "1. a", "a) b", "b) c", "1.I d", "2. e", "a) f", "plain", "• g", "7. h", "8. i", "j"
    ]  # fmt: skip
    assert place(document, "1.I") == "paragraph 4"


def test_numbers_that_a_style_gives_stand_before_its_paragraphs_and_in_cells() -> None:
    styles = (
        f'<w:styles {W}><w:style w:styleId="Base"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        '<w:style w:styleId="Own"><w:basedOn w:val="Base"/></w:style>'
        '<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style></w:styles>'
    )

    def styled(text: str, style: str, more: str = "") -> str:
        return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{more}</w:pPr>{r(text)}</w:p>'

    without = '<w:numPr><w:numId w:val="0"/></w:numPr>'
    body = styled("a", "Own") + styled("b", "Loop") + styled("c", "Base", without)
    body += f"<w:tbl><w:tr><w:tc>{styled('d', 'Own')}</w:tc><w:tc>{p(r('e'))}</w:tc></w:tr></w:tbl>"
    document = parse(package(body, numbering=lists(("decimalZero", "§ %1")), styles=styles), "a.docx")
    assert document.text == "§ 01 a\nb\nc\n\n§ 02 d  e"


def test_headers_and_footers_stand_around_the_body_once() -> None:
    made = docx.Document()
    made.sections[0].header.paragraphs[0].text = "ACME Ltd"
    made.sections[0].footer.paragraphs[0].text = "Bank 12345"
    made.add_paragraph("Hello")
    made.add_section()
    made.sections[1].header.is_linked_to_previous = False
    made.sections[1].header.paragraphs[0].text = "ACME Ltd"
    assert parse(saved(made), "a.docx").text == "ACME Ltd\n\nHello\n\nBank 12345"


PAGES = {
    "one page": ([], False, False, "odd"),
    "first page off": (["first"], False, False, "odd"),
    "first page on": (["first"], True, False, "first"),
    "no header on the first page": ([], True, False, ""),
    "even pages off": (["even"], False, False, "odd"),
    "even pages on": (["even"], False, True, "odd"),
    "a page behind the first": (["first", "break"], True, False, "first odd"),
    "several lines, several pages": (["first", "even", "long"], True, True, "first odd even"),
    "a table that fits": (["first", "table"], True, False, "first"),
    "a section on the next page": (["first", "section"], True, False, "first odd"),
    "a section on the same page": (["first", "continuous"], True, False, "first"),
}


@each("kind", PAGES)
def test_headers_and_footers_count_if_a_page_shows_them(kind: str) -> None:
    has, first, even, shown = PAGES[kind]
    made = docx.Document()
    own = made.sections[0]
    own.different_first_page_header_footer, made.settings.odd_and_even_pages_header_footer = first, even
    own.header.paragraphs[0].text, own.footer.paragraphs[0].text = "odd", "odd below"
    if "first" in has:
        own.first_page_header.paragraphs[0].text, own.first_page_footer.paragraphs[0].text = "first", "first below"
    if "even" in has:
        own.even_page_header.paragraphs[0].text, own.even_page_footer.paragraphs[0].text = "even", "even below"
    made.add_paragraph("body")
    if "break" in has:
        made.add_paragraph("body").paragraph_format.page_break_before = True
    for _ in range(60 if "long" in has else 0):
        made.add_paragraph("body")
    for cell in made.add_table(20, 5)._cells if "table" in has else ():
        cell.text = "body"
    if "section" in has or "continuous" in has:
        made.add_section(WD_SECTION.NEW_PAGE if "section" in has else WD_SECTION.CONTINUOUS)
    words = [line for line in parse(saved(made), "a.docx").text.split("\n") if line and "body" not in line]
    assert words == [*shown.split(), *(f"{one} below" for one in shown.split())]


def test_a_damaged_document_without_sections_keeps_its_headers() -> None:
    assert parse(package(p(r("body")), header=f"<w:hdr {W}>{p(r('ACME'))}</w:hdr>"), "a.docx").text == "ACME\n\nbody"


def test_lines_of_a_cell_stay_below_each_other() -> None:
    made = docx.Document()
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "ACME Ltd\nMain Street 1", "Date: May 1\nNumber: 17"
    assert parse(saved(made), "a.docx").text == "ACME Ltd       Date: May 1\nMain Street 1  Number: 17"


def test_inserted_text_counts_and_deleted_text_does_not() -> None:
    changed = (
        r("a ") + f"<w:ins>{r('new')}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        f"<w:moveFrom>{r('from')}</w:moveFrom><w:moveTo>{r(' to')}</w:moveTo>"
    )
    assert parse(package(p(changed)), "a.docx").text == "a new to"


def test_content_controls_links_and_fields_give_their_text() -> None:
    control = f"<w:sdt><w:sdtPr><w:alias w:val='x'/></w:sdtPr><w:sdtContent>{p(r('Kim'))}</w:sdtContent></w:sdt>"
    field = "<w:r><w:fldChar/></w:r><w:r><w:instrText>DATE</w:instrText></w:r>" + r("May 1")
    box = "<w:r><w:fldChar><w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r>"
    body = control + p(f"<w:hyperlink>{r('our site')}</w:hyperlink>") + p(field) + p(box, r(" yes"))
    assert parse(package(body), "a.docx").text == "Kim\nour site\nMay 1\n☒ yes"


DATA = '<u:form xmlns:u="urn:u"><u:who>Ana Li</u:who><u:who>Bo</u:who><u:in><no>K-7</no></u:in><u:none/>'
DATA += "<u:day>2026-05-19T00:00:00</u:day></u:form>"
ID = "{0A5C3E10-1111-2222-3333-444444444444}"


def bound(path: str, more: str = "<w:text/>", store: str = ID) -> str:
    """Returns the properties of a control that is bound to a path of the custom data."""
    mappings = "xmlns:x='urn:u' xmlns:bad='a b{' xmlns:odd='* &gt;'"
    return f'<w:dataBinding w:prefixMappings="{mappings}" w:xpath="{path}" w:storeItemID="{store}"/>{more}'


@each(
    "properties, text",
    [
        ("<w:text/>", "old"),
        ("<w:showingPlcHdr/><w:text/>", ""),
        ('<w:showingPlcHdr w:val="0"/><w:text/>', "old"),
        (bound("/x:form[1]/x:who[1]"), "Ana Li"),
        (bound("/x:form/x:who[2]/text()"), "Bo"),
        (bound("/x:form/x:who", store=ID.lower()), "Ana Li"),
        (bound("/x:form/x:who", store=""), "Ana Li"),
        (bound("/x:form/x:in/no"), "K-7"),
        (bound("/x:form/x:none[1]"), ""),
        ("<w:showingPlcHdr/>" + bound("/x:form/x:who[1]"), "Ana Li"),
        ("<w:showingPlcHdr/>" + bound("/x:form/x:who[3]"), ""),
        # Of what cannot be found the text in the file counts.
        (bound("/x:form/x:who[3]"), "old"),
        (bound("/x:form/no"), "old"),
        (bound("/form/who"), "old"),
        (bound("/y:form/y:who"), "old"),
        (bound("/bad:form/bad:who"), "old"),
        (bound("/odd:form/x:who"), "old"),
        (bound("/x:form[1]/x:in[1]"), "old"),
        (bound("//x:who"), "old"),
        (bound("/x:form/x:who[1]/../x:who[2]"), "old"),
        (bound(""), "old"),
        (bound("/x:form/x:who", store="{9}"), "old"),
        (bound("/x:form/x:who", "<w:picture/>"), "old"),
        (
            bound(
                "/x:form/x:who", '<w:dropDownList><w:listItem w:displayText="Ana" w:value="Ana Li"/></w:dropDownList>'
            ),
            "Ana",
        ),
        (bound("/x:form/x:who", "<w14:checkbox xmlns:w14='w14'/>"), "☐"),
        (bound("/x:form/x:day", "<w:date/>"), "2026-05-19"),
        (bound("/x:form/@day"), "old"),
    ],
)
def test_a_control_shows_no_prompt_and_the_data_that_it_is_bound_to(properties: str, text: str) -> None:
    inside = f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>§</w:sdtContent></w:sdt>"
    prompt = r("o") + "<w:r><w:rPr><w:b/></w:rPr><w:t>ld</w:t></w:r>"
    cell = (
        f"<w:tc>{p(r('Who'))}</w:tc>" + inside.replace("§", f"<w:tc>{p(prompt)}</w:tc>") + f"<w:tc>{p(r('end'))}</w:tc>"
    )
    body = p(r("Who: "), inside.replace("§", prompt)) + inside.replace("§", p(prompt))
    body += f"<w:tbl><w:tr>{cell}</w:tr></w:tbl>"
    made = io.BytesIO(package(body, customXml=DATA))
    with zipfile.ZipFile(made, "a") as archive:
        relation = f'<Relationship Id="a" Type="{RELATION}/customXmlProps" Target="props.xml"/>'
        archive.writestr("word/_rels/customXml.xml.rels", f"<Relationships>{relation}</Relationships>")
        archive.writestr("word/props.xml", f'<d:datastoreItem d:itemID="{ID}" xmlns:d="d"/>')
    document = parse(made.getvalue(), "a.docx")
    assert document.text.split() == ["Who:", *text.split() * 2, "Who", *text.split(), "end"]
    assert document.flags == ()


def test_alternatives_are_read_once_and_text_boxes_after_their_paragraph() -> None:
    box = f"<w:txbxContent>{p(r('In the box'))}</w:txbxContent>"
    both = f"<AlternateContent><Choice>{box}</Choice><Fallback>{box}</Fallback></AlternateContent>"
    assert parse(package(p(r("Before"), f"<w:r>{both}</w:r>")), "a.docx").text == "Before\nIn the box"


def test_hidden_text_is_left_out_unless_the_settings_ask_for_it() -> None:
    data = package(p(r("seen"), "<w:r><w:rPr><w:vanish/></w:rPr><w:t> unseen</w:t></w:r>"))
    document = parse(data, "a.docx")
    assert (document.text, document.flags) == ("seen", ("hidden_text",))
    assert parse(data, "a.docx", ParserSettings(hidden=True)).text == "seen unseen"


STRUCK_STYLES = f"""<w:styles {W}><w:style w:styleId="Gone"><w:rPr><w:strike/></w:rPr></w:style>
<w:style w:styleId="Heir"><w:basedOn w:val="Gone"/></w:style>
<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>
<w:style w:styleId="Kept"><w:basedOn w:val="Gone"/><w:rPr><w:strike w:val="false"/></w:rPr></w:style></w:styles>"""


@each(
    "paragraph, run, struck",
    [
        ("", "<w:strike/>", True),
        ("", "<w:dstrike/>", True),
        ("", '<w:strike w:val="1"/>', True),
        ("", '<w:strike w:val="0"/>', False),
        ("", "<w:b/>", False),
        ("", "<w:rPrChange><w:rPr><w:strike/></w:rPr></w:rPrChange>", False),
        ("", '<w:rStyle w:val="Gone"/>', True),
        ("", '<w:rStyle w:val="Heir"/>', True),
        ("", '<w:rStyle w:val="Kept"/>', False),
        ("", '<w:rStyle w:val="Loop"/>', False),
        ("", '<w:rStyle w:val="Gone"/><w:strike w:val="off"/>', False),
        ("Gone", "", True),
        ("Heir", "<w:b/>", True),
        ("Gone", '<w:strike w:val="0"/>', False),
        ("Gone", '<w:rStyle w:val="Gone"/>', False),
        ("Kept", "", False),
    ],
)
def test_struck_text_is_left_out_with_a_flag_and_read_if_asked_for(paragraph: str, run: str, struck: bool) -> None:
    style = f'<w:pPr><w:pStyle w:val="{paragraph}"/></w:pPr>' if paragraph else ""
    words = f"<w:r><w:rPr>{run}</w:rPr><w:t>12 May</w:t></w:r>" if run else r("12 May")
    blank = "<w:r><w:rPr><w:strike/></w:rPr><w:t xml:space='preserve'> </w:t></w:r>"
    data = package(p(r("Day:"), blank, r("19 May")) + f"<w:p>{style}{words}</w:p>", styles=STRUCK_STYLES)
    document = parse(data, "a.docx")
    assert document.text == ("Day: 19 May" if struck else "Day: 19 May\n12 May")
    assert document.flags == ("struck_text",) * struck
    assert parse(data, "a.docx", ParserSettings(hidden=True)).text == "Day: 19 May\n12 May"


def test_notes_and_comments_are_parts_of_their_own() -> None:
    notes = f'<w:footnotes {W}><w:footnote w:type="separator">{p(r("-"))}</w:footnote>'
    notes += f"<w:footnote>{p(r('see page 2'))}</w:footnote></w:footnotes>"
    comments = f'<w:comments {W}><w:comment w:author="Kim">{p(r("really?"))}</w:comment></w:comments>'
    document = parse(package(p(r("Text")), footnotes=notes, comments=comments), "a.docx")
    parts = [(one.kind, one.name, document.text[one.start : one.end]) for one in document.parts]
    assert parts == [
        ("body", "", "Text"), ("notes", "Footnotes", "see page 2"), ("notes", "Comments", "Kim: really?"),
    ]  # fmt: skip
    assert place(document, "really") == "comment 1"


def test_deleted_rows_are_left_out_and_wide_cells_keep_the_columns() -> None:
    def row(*cells: str, deleted: bool = False) -> str:
        inside = "".join(f"<w:tc>{cell}</w:tc>" for cell in cells)
        return f"<w:tr><w:trPr>{'<w:del/>' if deleted else ''}</w:trPr>{inside}</w:tr>"

    wide = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>' + p(r("both"))
    table = row(p(r("a")), p(r("b")), p(r("c"))) + row(wide, p(r("z"))) + row(p(r("gone")), p(r("x")), deleted=True)
    assert parse(package(f"<w:tbl>{table}</w:tbl>"), "a.docx").text == "a     b  c\nboth     z"


def test_pictures_are_parts() -> None:
    pillow = pytest.importorskip("PIL.Image")
    picture = io.BytesIO()
    pillow.new("RGB", (40, 20), "white").save(picture, "PNG")
    made = docx.Document()
    made.add_paragraph("Look")
    made.add_picture(picture, Inches(1))
    document = parse(saved(made), "a.docx")
    assert [(one.kind, one.name) for one in document.parts[:2]] == [("body", ""), ("attachment", "image1.png")]


def related(data: bytes, *relations: str, **members: bytes) -> bytes:
    """Returns a Word file with other relations of its document, and more members."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as archive:
        for name in old.namelist():
            archive.writestr(name, f"<R>{''.join(relations)}</R>" if name.endswith("xml.rels") else old.read(name))
        for name, held in members.items():
            archive.writestr(f"word/{name}.docx", held)
    return made.getvalue()


def test_a_word_file_within_another_is_read_within_its_part() -> None:
    object_ = '<w:r><w:object><o:OLEObject r:id="x" xmlns:o="o" xmlns:r="r"/></w:object></w:r>'
    relation = f'<Relationship Id="x" Type="{RELATION}/package" Target="inner.docx"/>'
    data = related(package(p(r("outer"), object_)), relation, inner=package(p(r("inner words"))))
    document = parse(data, "a.docx")
    assert document.text == "outer\n\ninner words"
    assert [(one.kind, one.name) for one in document.parts] == [("body", ""), ("attachment", "inner.docx")]


def test_a_link_outside_is_flagged_and_not_followed() -> None:
    data = package(p("<w:r><a:blip xmlns:a='a' xmlns:r='r' r:embed='x'/></w:r>", r("text")))
    link = f'<Relationship Id="x" Type="{RELATION}/image" Target="http://host.example/x.png" TargetMode="External"/>'
    document = parse(related(data, link), "a.docx")
    assert (document.text, document.flags) == ("text", ("active_content",))


def test_damaged_xml_is_read_as_far_as_it_goes() -> None:
    body = p(r("first")) + p(r("second"))
    data = package(body + "<w:p><w:r><w:t>third")
    document = parse(data, "a.docx")
    assert document.text.startswith("first\nsecond") and document.flags == ("repaired",)


def test_entities_are_not_expanded_and_nothing_is_fetched() -> None:
    body = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        text = "<document><body><p><r><t>x &a; &f; y</t></r></p></body></document>"
        archive.writestr("word/document.xml", body + text)
    document = parse(made.getvalue(), "a.docx")
    assert document.text.split() == ["x", "y"] and document.flags == ("repaired",)


def test_a_word_file_without_a_document_is_broken() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/other.xml", "<x/>")
    assert code_of(parse, made.getvalue(), "a.docx") == "broken"


def test_deep_tables_end_with_a_code_or_a_document() -> None:
    body = "<w:tbl><w:tr><w:tc>" * 300 + p(r("deep")) + "</w:tc></w:tr></w:tbl>" * 300
    try:
        parse(package(body), "a.docx")
    except (DocumentError, RecursionError) as error:
        assert not isinstance(error, DocumentError) or error.code in ("empty", "broken", "depth")


def test_a_file_that_damage_leaves_without_a_word_is_broken() -> None:
    depth = 100_000
    data = package("<w:p><w:r>" * depth + "<w:t>x</w:t>" + "</w:r></w:p>" * depth)
    assert code_of(parse, data, "a.docx") == "broken"


def test_a_bomb_in_a_word_file_ends_at_the_bound() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", b" " * (60 << 20))
    assert code_of(parse, made.getvalue(), "a.docx") == "unpacked"


FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'


def drawn_field(seed: random.Random, depth: int, printed: bool) -> tuple[str, str]:
    """Returns the runs of text among fields that lie in each other, and what of it is printed."""
    runs, shown = "", ""
    for _ in range(seed.randint(1, 3)):
        if depth and seed.random() < 0.6:
            kind = seed.choice(("IF 1 = 1", "=", "MERGEFIELD Net", "set x", " ASK y"))
            runs += FIELD.format("begin") + f"<w:r><w:instrText> {kind} </w:instrText></w:r>"
            inner = seed.choice((drawn_field(seed, depth - 1, False), ("", "")))[0]
            runs += inner
            if seed.random() < 0.8:
                result, text = drawn_field(seed, depth - 1, printed and kind.strip()[:3] not in ("set", "ASK"))
                runs, shown = runs + FIELD.format("separate") + result, shown + text
            runs += FIELD.format("end")
        else:
            word = f"w{seed.randrange(10**6)} "
            runs, shown = runs + r(word), shown + word * printed
    return runs, shown


@each("seed", range(40))
def test_of_fields_within_fields_only_printed_results_are_read(seed: int) -> None:
    runs, shown = drawn_field(random.Random(seed), 3, True)
    read = parse(package(p(r("Due: "), runs) + p(r("end"))), "a.docx").text.split()
    assert read == ["Due:", *shown.split(), "end"]
    # A field may run over paragraphs, and hidden or deleted runs hold marks of fields too.
    over = p(FIELD.format("begin"), "<w:r><w:instrText>QUOTE</w:instrText></w:r>", r("no")) + p(
        r("no"), FIELD.format("separate"), r("yes"), FIELD.format("end"), r(" on")
    )
    assert parse(package(over + p(runs)), "a.docx").text.split() == ["yes", "on", *shown.split()]


def test_a_field_without_an_end_hides_nothing_behind_it() -> None:
    lost = FIELD.format("begin") + "<w:r><w:instrText>IF</w:instrText></w:r>"
    whole = FIELD.format("begin") + "<w:r><w:instrText>X</w:instrText></w:r>" + FIELD.format("end")
    assert parse(package(p(lost, r("a")) + p(whole, r("b"))), "a.docx").text == "a\nb"
    hidden = '<w:r><w:rPr><w:vanish/></w:rPr><w:t>x</w:t><w:fldChar w:fldCharType="begin"/></w:r>'
    document = parse(package(p(hidden, r("code"), FIELD.format("separate"), r("b"), FIELD.format("end"))), "a.docx")
    assert (document.text, document.flags) == ("b", ("hidden_text",))
    simple = '<w:fldSimple w:instr=" SET a b"><w:r><w:t>b</w:t></w:r></w:fldSimple>'
    assert parse(package(p(simple, r("c"))), "a.docx").text == "c"
