"""Notes of a name and a total, which models without weights read: their schema, and folders of them."""

from __future__ import annotations

from pathlib import Path

from cinnabar.schemas import load_schema

NOTE = load_schema(
    {
        "title": "note",
        "type": "object",
        "properties": {"name": {"type": "string"}, "total": {"type": ["number", "null"], "multipleOf": 0.01}},
        "required": ["name", "total"],
    }
)
#: An earlier version of the schema.
NAMES_ALONE = load_schema({"title": "note", "properties": {"name": {"type": "string"}}, "required": ["name"]})


def write_notes(docs: Path, count: int) -> Path:
    """Writes so many notes, one without a name, a broken file and a copy of the first."""
    docs.mkdir()
    for number in range(count):
        (docs / f"{number:02}.txt").write_text(f"name=N{number}\ntotal={number}.50\n")
    (docs / "nameless.txt").write_text("total=1\n")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (docs / "copy.txt").write_bytes((docs / "00.txt").read_bytes())
    return docs
