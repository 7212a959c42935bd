"""What the author of a schema says each choice means, read from the field's description."""

from __future__ import annotations

import re


def meanings(options: tuple[str, ...], description: str) -> tuple[str, ...]:
    """A text for each option that the description explains, "" for one it does not, () where it explains
    none.

    Read are the forms `name = meaning;` and `name: meaning`, in any order, with or without quotes around the
    name. A meaning ends at a semicolon, a line's end, a full stop before a blank, or where the next one
    begins. `options` are the choices as plain text.
    """
    names = sorted((name for name in options if name), key=len, reverse=True)
    if not names:
        return ()
    quote = "[\"'`“”‘’]?"
    named = re.compile(rf"(?<![\w-]){quote}({'|'.join(map(re.escape, names))}){quote}\s*(?:=|:|—|–)\s*(?=\S)")
    found: dict[str, str] = {}
    hits = list(named.finditer(description))
    ends = [hit.start() for hit in hits[1:]] + [len(description)]
    for hit, end in zip(hits, ends, strict=False):
        text = description[hit.end() : end]
        meaning = re.split(r";|\n|\.(?=\s|$)", text, maxsplit=1)[0].strip().rstrip(",").strip()
        if meaning:
            found.setdefault(hit[1], meaning)
    return tuple(found.get(name, "") for name in options) if found else ()
