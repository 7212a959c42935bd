"""The table of formats in the documentation is that of the code."""

from pathlib import Path

from cinnabar.extraction.documents.content.formats import INPUT_FORMATS

PAGE = Path(__file__).parents[4] / "docs" / "formats.md"


def test_the_documentation_has_each_format() -> None:
    rows = [
        f"| {one.name} | {', '.join(f'`{suffix}`' for suffix in one.suffixes)} | `{one.media_type}` |"
        for one in INPUT_FORMATS
    ]
    table = "\n".join(["| format | suffixes | media type |", "|---|---|---|", *rows])
    assert table in PAGE.read_text("utf-8"), f"docs/formats.md needs this table:\n{table}"


def test_each_format_has_its_reader() -> None:
    assert all(callable(one.reader()) for one in INPUT_FORMATS)
