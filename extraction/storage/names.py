"""Names and texts as SQL has them."""

from __future__ import annotations

import re


def identifier(name: str) -> str:
    """A name of letters, digits and underscores that stands for this one, at most 60 characters long."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:60] or "schema"
    return f"_{plain}" if plain[0].isdigit() else plain


def quoted(name: str) -> str:
    """This name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """This text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"
