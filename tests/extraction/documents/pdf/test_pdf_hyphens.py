"""Soft hyphens at line ends go, real hyphens stay, and each part of a joined word keeps its box."""

import numpy as np
import pytest
from tests.support.drawn_pages import glyph_pdf

from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.pdf.joined_letters import join_words

SOFT = "\u00ad"


def lines_pdf(*lines: str) -> bytes:
    """A page with these lines."""
    glyphs = sorted(set("".join(lines)))
    shown = []
    for number, line in enumerate(lines):
        codes = "".join(f"{0x41 + glyphs.index(letter):02X}" for letter in line)
        shown.append(f"1 0 0 1 50 {300 - 24 * number} Tm <{codes}> Tj")
    return glyph_pdf(*shown, glyphs=glyphs)


def text_of(*lines: str) -> str:
    return parse(lines_pdf(*lines), "a.pdf").text


def test_a_word_that_a_soft_hyphen_divides_is_joined_on_its_first_line() -> None:
    assert text_of(f"die Rech{SOFT}", "nung vom", "Mai") == "die Rechnung\nvom\nMai"
    assert text_of(f"Ver{SOFT}", f"trags{SOFT}", "ende am") == "Vertragsende\nam"


def test_both_parts_of_a_joined_word_keep_their_boxes() -> None:
    document = parse(lines_pdf(f"die Rech{SOFT}", "nung vom"), "a.pdf")
    spans = list(zip(document.words.start.tolist(), document.words.end.tolist(), strict=True))
    assert [document.text[a:b] for a, b in spans] == ["die", "Rech", "nung", "vom"]
    top = document.words.box[:, 1]
    assert np.allclose(top[:2], top[0], atol=1) and np.allclose(top[2:], top[0] + 24, atol=1)


def test_a_real_hyphen_at_the_end_of_a_line_stays() -> None:
    assert text_of("nach Ost-", "berlin ab") == "nach Ost-\nberlin ab"
    assert text_of("am 2024-", "05-01") == "am 2024-\n05-01"
    assert text_of("well-", "known", f"Rech{SOFT}", "nung") == "well-\nknown\nRechnung"


def test_soft_hyphens_within_lines_are_hyphens_of_their_font() -> None:
    assert text_of(f"well{SOFT}known ex{SOFT}", "member") == "well-known ex-\nmember"
    assert text_of(f"am 2024{SOFT}", f"05{SOFT}01") == "am 2024-\n05-01"


@pytest.mark.parametrize(
    ("words", "gaps", "expected"),
    [
        (["ab\u00ad"], [""], "ab-"),
        (["ab\u00ad", "cd"], ["", "\n\n"], "ab-\n\ncd"),
        (["ab\u00ad", "cd"], ["", " "], "ab- cd"),
        (["Ost\u00ad", "Berlin"], ["", "\n"], "Ost-\nBerlin"),
        (["RECH\u00ad", "NUNG"], ["", "\n"], "RECHNUNG"),
        (["ab\u00ad", "(cd"], ["", "\n"], "ab-\n(cd"),
        (["ab\u00ad", "cd", "ef"], ["", "\n  ", "\n\n"], "abcd\n\nef"),
    ],
)
def test_a_soft_hyphen_is_a_hyphen_unless_a_line_of_letters_follows(
    words: list[str], gaps: list[str], expected: str
) -> None:
    found, blanks = join_words(words, gaps)
    assert "".join(blank + word for blank, word in zip(blanks, found, strict=True)) == expected
