"""A short way to write the true record of a non-disclosure agreement."""

from __future__ import annotations

from typing import Any


def nda(parties: list[str], effective_date: str | None, governing_law: str | None, term: str | None,
        mutual: bool | None,
        purpose: str | None) -> dict[str, Any]:
    return {"parties": parties, "effective_date": effective_date, "governing_law": governing_law,
            "term": term, "mutual": mutual,
            "purpose": purpose}
