"""The check of the machine's fonts, which stand in for those that a PDF names and does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from cinnabar.extraction.people.diagnosis.findings import Finding, advises, ok

# A page with one letter of a Japanese font that the file does not hold.
_PAGE = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</Font<</F 4 0 R>>>>/Contents 6 0 R>>endobj
4 0 obj<</Type/Font/Subtype/Type0/BaseFont/Gothic/Encoding/UniJIS-UCS2-H/DescendantFonts[5 0 R]>>endobj
5 0 obj<</Type/Font/Subtype/CIDFontType0/BaseFont/Gothic/DW 1000
/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>>>endobj
6 0 obj<</Length 33>>stream
BT /F 12 Tf 20 20 Td <5408> Tj ET
endstream endobj
trailer<</Root 1 0 R>>
"""


def fonts() -> Iterator[Finding]:
    """Fonts for Chinese and Japanese."""
    if has_east_asian_font():
        yield ok("fonts", "one has Chinese and Japanese letters")
    else:
        yield advises(
            "fonts",
            "none has Chinese and Japanese letters; of PDFs that name such a font and do not hold it, letters that are"
            " drawn one by one or downwards are lost",
            "install a font with them, such as fonts-noto-cjk or fonts-droid-fallback, if you read such PDFs",
        )


def has_east_asian_font() -> bool:
    """Whether PDFium finds the letters of a Japanese font that a PDF does not hold.

    It drops a text whose letters have no shape, and therefore no width, unless several of them stand side by side.
    """
    # Cold start: PDFium is loaded for this check alone, and no other fails with it.
    import pypdfium2

    with pypdfium2.PdfDocument(_PAGE) as document:
        page = document[0]
        return bool(page.get_textpage().count_chars())
