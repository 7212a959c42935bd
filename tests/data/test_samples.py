"""The sample sets are sound: their script makes them, they fit their schema, and their documents print every truth."""

from __future__ import annotations

import email
import email.policy
import html
import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pypdfium2
import pytest

import cinnabar
from cinnabar.extraction.plan.outcomes import UNREADABLE
from cinnabar.schemas.compiling.loading import load_schema
from cinnabar.schemas.library import LIBRARY

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"
KINDS = ("invoice", "receipt", "contract", "insurance_mail", "event")
# Fields that a reader derives and no document prints: classes, codes of currencies and countries, flags.
DERIVED = {"intent", "currency", "country", "payment_method", "mutual"}
MONTHS = (
    "jan januar january janvier januari enero|feb februar february février februari febrero|mar märz march "
    "mars maart marzo|"
    "apr april avril abril|may mai mei mayo maj|jun juni june juin junio|jul juli july juillet julio|"
    "aug august août augustus agosto|sep september septembre septiembre|oct oktober october octobre octubre|"
    "nov november novembre noviembre|dec dezember december décembre diciembre"
)


def rows(kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / kind / "truth.jsonl").read_text("utf-8").splitlines()]


CASES = [pytest.param(kind, row, id=row["file"].removeprefix("docs/")) for kind in KINDS
         for row in rows(kind)]


def pdf_text(data: bytes) -> str:
    with pypdfium2.PdfDocument(data) as pdf:
        return "\n".join(page.get_textpage().get_text_range() for page in pdf)


def mail_text(message: Any) -> Iterator[str]:
    yield from (str(message.get(name, "")) for name in ("from", "subject", "date"))
    for part in message.walk():
        if part.get_content_type() == "application/pdf":
            yield pdf_text(part.get_content())
        elif part.get_content_type() == "text/html":
            yield html.unescape(re.sub(r"<[^>]*>", " ", part.get_content()))
        elif part.get_content_maintype() == "text":
            yield part.get_content()


def text_of(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".pdf":
        return pdf_text(data)
    if path.suffix == ".eml":
        return "\n".join(mail_text(email.message_from_bytes(data, policy=email.policy.default)))
    return data.decode("utf-8")


def fold(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def spellings(number: float) -> set[str]:
    """The digits of a number as documents group and cut them, with `.` for the decimal sign."""
    return {f"{abs(number):.{places}f}" for places in range(5) if round(abs(number), places) == abs(number)}


def numbers_of(text: str) -> set[str]:
    found = set()
    plain, grouped = re.findall(r"\d[\d.,']*", text), re.findall(r"\d{1,3}(?:[ \u00a0]\d{3})+(?:[.,]\d+)?",
                                                                 text)
    for token in plain + grouped:
        digits = re.sub(r"[' \u00a0]", "", token).strip(".,")
        found |= {digits.replace(",", ""), digits.replace(".", "").replace(",", ".")}
    return found


def has_date(text: str, value: str) -> bool:
    """Whether the text has the date in digits, or its day beside its month's name and its year somewhere else."""
    year, month, day = value.split("-")
    d, m = int(day), int(month)
    names = "|".join(MONTHS.split("|")[m - 1].split(" "))
    flat = re.sub(r"\s+", " ", text.casefold())
    short = rf"(?:{year}|{year[2:]})"
    digits = rf"(?<!\d)0?{d}[./-]0?{m}[./-]{short}?(?!\d)|(?<!\d)0?{m}/0?{d}/{short}(?!\d)|{value}"
    before = rf"(?<!\d)0?{d}(?:st|nd|rd|th|er|\.)?(?:–\d+| et \w+ \d+)?(?: day of)?[ -](?:de )?(?:{names})"
    after = rf"(?:{names}) (?:\d+–)?0?{d}(?!\d)"
    years = rf"{year}|(?:{names})\W{year[2:]}(?!\d)"
    return bool(re.search(digits, flat) or (re.search(years, flat) and re.search(f"{before}|{after}", flat)))


def has_time(text: str, value: str) -> bool:
    hour, minute = map(int, value.split(":"))
    full = r"\s?(?:uhr|a\.?m|p\.?m|–)" if minute == 0 else r"(?!)"
    return any(
        re.search(rf"(?<!\d)0?{h}(?:[:.h]{minute:02}(?!\d)|{full})", text.casefold())
        for h in {hour, hour % 12 or 12}
    )


def leaves(value: Any, key: str = "", top: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield (top-level field, field, value) for every scalar."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield from leaves(child, name, top or name)
    elif isinstance(value, list):
        for child in value:
            yield from leaves(child, key, top)
    elif value is not None:
        yield top, key, value


def printed(text: str, value: Any) -> bool:
    if isinstance(value, int | float):
        return bool(spellings(value) & numbers_of(text)) or (value == 0
                                                             and bool(re.search(r"(?i)\bfree\b|libre", text)))
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return has_date(text, value)
    if re.fullmatch(r"\d\d:\d\d", value):
        return has_time(text, value)
    # A name may break over two lines or stand in two columns, so its words in order are enough.
    return fold(value) in fold(re.sub(r"(?m)^>.*$", "", text)) or fold(value) in fold(text)


def test_the_script_reproduces_the_stored_files(tmp_path: Path) -> None:
    import reportlab

    script = SAMPLES / "make_samples.py"
    made_with = re.search(r'MADE_WITH = "([^"]+)"', script.read_text("utf-8"))
    assert made_with
    subprocess.run([sys.executable, "-B", str(script), "--out", str(tmp_path)], check=True,
                   capture_output=True)
    again = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    kept = {p: (SAMPLES / p).read_bytes() for p in again}
    for kind in KINDS:
        assert {p.name for p in (SAMPLES / kind / "docs").iterdir()} == {p.name for p in again
                                                                         if p.parent == Path(kind, "docs")}
    same_release = reportlab.__version__ == made_with[1]
    different = [str(p) for p in again if again[p] != kept[p] and (same_release or p.suffix != ".pdf")]
    assert not different


def test_there_are_enough_documents_of_every_kind_and_format() -> None:
    files = [p for kind in KINDS for p in (SAMPLES / kind / "docs").iterdir()]
    assert len(files) >= 50
    assert {p.suffix for p in files} == {".pdf", ".eml", ".txt"}
    assert all(len(rows(kind)) >= 8 for kind in KINDS)
    assert sum(p.stat().st_size for p in files) < 1_500_000


def test_every_file_has_one_expected_outcome_and_the_readable_ones_a_truth() -> None:
    expected = json.loads((SAMPLES / "expected.json").read_text("utf-8"))
    files = {f"{kind}/docs/{p.name}" for kind in KINDS for p in (SAMPLES / kind / "docs").iterdir()}
    assert set(expected) == files
    written = {path for path, entry in expected.items() if entry["outcome"] == "written"}
    assert written == {f"{kind}/{row['file']}" for kind in KINDS for row in rows(kind)}
    assert {expected[path]["code"] for path in files - written} == {"password", "truncated",
                                                                    "image_only"} <= set(UNREADABLE)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_of_a_set_is_that_of_the_library(kind: str) -> None:
    assert json.loads((SAMPLES / kind / "schema.json").read_text("utf-8")) == load_schema(kind).schema


@pytest.mark.parametrize(("kind", "row"), CASES)
def test_a_truth_is_valid(kind: str, row: dict[str, Any]) -> None:
    schema = json.loads((SAMPLES / kind / "schema.json").read_text("utf-8"))
    jsonschema_rs.validator_for(schema, validate_formats=True).validate(row["truth"])
    model = LIBRARY[kind]
    model.model_validate_json(json.dumps(row["truth"]))
    assert set(row["truth"]) == set(model.model_fields), "a truth names every field, null ones too"
    assert set(row.get("also_accepted", {})) <= set(model.model_fields)


@pytest.mark.parametrize(("kind", "row"), CASES)
def test_every_value_of_a_truth_is_printed_in_its_document(kind: str, row: dict[str, Any]) -> None:
    text = text_of(SAMPLES / kind / row["file"])
    also = row.get("also_accepted", {})
    missing = [
        (key, value) for top, key, value in leaves(row["truth"])
        if key not in DERIVED and not printed(text, value)
        and not any(printed(text, other) for other in also.get(top, []) if isinstance(value, str)
                    and isinstance(other, str))
    ]
    assert not missing


@pytest.mark.slow
def test_no_sample_mail_waits_in_quarantine_because_nobody_could_sort_it(tmp_path: Path) -> None:
    docs = SAMPLES / "insurance_mail" / "docs"
    table = cinnabar.extract(docs, "insurance_mail", out=tmp_path / "out")
    assert table.failures == [] and len(table) == 13
    unsorted = [found.path for found in table if found.record.intent is None]
    assert 0 < len(unsorted) < len(table)
