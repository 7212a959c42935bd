"""Fields drafted from the labels that documents print, with the types of their values."""

from __future__ import annotations

from typing import Any

from tests.support.cases import each

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.review.drafting.labels import MOST_FIELDS, draft_of_labels

OTHER = "Place: Hall"


def drafted(*texts: str, name: str = "a.txt") -> dict[str, Any] | None:
    documents: list[Document] = [parse(text.encode(), name) for text in texts]
    return draft_of_labels(documents)["properties"] or None


@each(
    "values, stated",
    [
        (("R-17", "R-18"), {"type": ["string", "null"]}),
        (("Tuesday, 12 May 2026", "03/04/2026"), {"type": ["string", "null"], "format": "date"}),
        (("3", "12"), {"type": ["integer", "null"]}),
        (("9.4 m", "11.25 m"), {"type": ["number", "null"]}),
        (("0,041 g/m³", "1.120 g/m³"), {"type": ["number", "null"]}),
        (("GBP 1,480.00", "GBP 200.50"), {"type": ["number", "null"], "x-cinnabar-decimals": 2}),
        (("20418833", "20417209"), {"type": ["string", "null"]}),
        (("0312", "0415"), {"type": ["string", "null"]}),
        (("ja", "nein"), {"enum": ["ja", "nein", None]}),
        (("yes", "yes"), {"type": ["boolean", "null"]}),
        (("-", "-"), {"type": ["string", "null"]}),
        (("12", "about 13"), {"type": ["string", "null"]}),
    ],
)
def test_a_label_is_a_field_of_the_narrowest_type_that_its_values_have(
    values: tuple[str, str], stated: dict[str, Any]
) -> None:
    schema = drafted(*(f"{OTHER}\nWhat it is: {value}" for value in values))
    assert schema is not None and schema["what_it_is"] == {"title": "What it is", "description": "What it is"} | stated


@each(
    "texts, names",
    [
        (("Ref. no: 5\nDue   1 May 2026", "REF NO 6\nRef no: 6\nDue: 2 May 2026"), ["ref_no", "due"]),
        (("Berth: 1    Owner: A", "Owner:   B\n\nBerth:  2"), ["berth", "owner"]),
        # One document of six is no share of them, and two labels make a schema.
        (("A: 1\nB: 2\nC: 3", *["A: 1\nB: 2"] * 5), ["a", "b"]),
        (("A: 1", "A: 2"), None),
        (("The sea was still.\nA gull stood there at 10:20.",) * 2, None),
        (("Of so many words no label is made: 5\nA: 1\nB: 2",), ["a", "b"]),
        (("\n".join(f"Label {chr(at)}: 5" for at in range(65, 90)),), [f"label_{chr(at)}" for at in range(97, 117)]),
    ],
)
def test_a_field_is_what_a_share_of_the_documents_label(texts: tuple[str, ...], names: list[str] | None) -> None:
    schema = drafted(*texts)
    assert (None if schema is None else [*schema]) == names
    assert len(schema or ()) <= MOST_FIELDS


def test_the_headers_of_a_mail_are_no_fields() -> None:
    mail = "From: a@b.example\nTo: c@d.example\nSubject: Hello\n\nBerth: C-14\nFrom: Monday\n"
    assert [*(drafted(mail, name="a.eml") or ())] == ["berth", "from"]


def test_a_table_that_documents_have_in_common_is_a_list_with_its_columns() -> None:
    head = "Title            Barcode          Due          Fine"
    rows = ["The Tidal Zone   3 1150 00482 7   27/02/2026   0.80"]
    rows += ["Atlas of Moths   3 1150 00519 2   02/03/2026   1.10"]
    schema = drafted("\n".join(["Items overdue", "", head, *rows]))
    assert schema is not None and [*schema] == ["items"]
    columns = schema["items"]["items"]["properties"]
    assert [*columns] == ["title", "barcode", "due", "fine"]
    assert columns["due"]["format"] == "date" and columns["fine"]["x-cinnabar-decimals"] == 2
