"""The values of form fields that no page has a box for."""

from __future__ import annotations

import io
from typing import Any

_MAX_FIELDS, _MAX_BYTES = 5_000, 8 << 20


def unplaced_fields(data: bytes) -> list[tuple[str, str]]:
    """Returns the names and values in the tree of a PDF's form; nothing for a large, encrypted or broken file."""
    # Cold start: the second parser takes an eighth of a second.
    import pypdf

    if len(data) > _MAX_BYTES:
        return []
    fields: list[tuple[str, str]] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted:
            return []
        form = reader.trailer["/Root"].get_object()["/AcroForm"].get_object()  # type: ignore[index]
        waiting: list[tuple[str, Any]] = [("", one) for one in form["/Fields"].get_object()][::-1]
        seen: set[tuple[int, int]] = set()
        while waiting and len(seen) < _MAX_FIELDS:
            above, reference = waiting.pop()
            key = (getattr(reference, "idnum", id(reference)), getattr(reference, "generation", -1))
            if key in seen:
                continue
            seen.add(key)
            one = reference.get_object()
            name = ".".join(filter(None, [above, str(one.get("/T", ""))]))
            value = one.get("/V")
            if value is not None and (text := _text_of(value.get_object())):
                fields.append((name, text))
            waiting += [(name, kid) for kid in reversed(one.get("/Kids", ()))]
    except MemoryError:
        raise
    # On a broken file the parser may raise anything; the values that it read before count.
    except Exception:
        return fields
    return fields


def _text_of(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, (_text_of(one.get_object()) for one in value[:100])))
    # Streams hold rich text and signatures are dictionaries.
    return str(value).removeprefix("/").strip() if isinstance(value, str) else ""
