"""What the examples of a schema say of where values start: what looks as they do.

"Dosing scheme, e.g. 1-0-1", `"examples": ["INV-2024-001"]`: an example with figures tells what a value is
made of, whatever the document calls it. Words tell nothing by their shape. A lexical prior for the pointers,
as `labels.py` is. Of a list of drugs that has no heads F1 was .38 without, .71 with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import groupby, takewhile

import numpy as np

from cinnabar.engine.models.reader.priors.name_matching import Floats, Page
from cinnabar.schemas.form.form import Form, Slot

#: How much likelier (a natural logarithm) a value starts where something looks as an example does.
OWN = 2.0
#: Characters of an example, at most; parts that it has at least: "550" looks like any number. Characters that
#: are looked through for several.
LONGEST, PARTS, READ = 40, 2, 160
#: What introduces an example in a description.
_INTRODUCED = re.compile(
    r"(?<!\w)(?:e\. ?g\.|eg\.|such as|for example|for instance|z\. ?B\.|zum Beispiel|p\. ?ex\.|par exemple|"
    r"p\. ?ej\.|por ejemplo|ad es\.|ad esempio|bijv\.|bijvoorbeeld|np\.|na przykład|por exemplo)[,:]?\s+",
    re.IGNORECASE,
)
#: Where examples end, and what stands between two of them.
_ENDED = re.compile(r"[;)\n]|\.(?=\s|$)")
_BETWEEN = re.compile(r",(?!\d)|\s(?:or|and|oder|und|ou|et|o|e|of|en|lub|i)\s")
_QUOTES = "\"'`“”‘’„«» "
_CAPITALS = "".join(c for c in map(chr, range(ord("A"), 0x530)) if c.isupper())


@lru_cache(maxsize=256)
def looks_of(form: Form) -> Mapping[str, re.Pattern[str]]:
    """What the values of fields with telling examples look like, by the fields' paths."""
    found = {}
    for slot in form.slots:
        looks = dict.fromkeys(look for example in _examples(slot) if (look := _look(example)))
        if looks:
            found[slot.path] = re.compile(rf"(?<!\w)(?:{'|'.join(looks)})(?!\w)")
    return found


def told_by_examples(form: Form, page: Page) -> dict[str, Floats]:
    """What examples say of where each field's value starts, by its path: [T], 0 or OWN."""
    pieces, told = page.columns.pieces, {}
    for path, look in looks_of(form).items():
        places = [pieces.at(match.start()) for match in look.finditer(page.text)]
        if places:
            told[path] = np.zeros(len(pieces), np.float32)
            told[path][places] = OWN
    return told


def _examples(slot: Slot) -> Iterator[str]:
    """The examples of a field that takes texts as they stand."""
    if not slot.free or slot.options:
        return
    yield from (str(json.loads(example)).strip() for example in slot.examples)
    for match in _INTRODUCED.finditer(slot.description):
        rest = slot.description[match.end() : match.end() + READ]
        clause = _ENDED.split(rest, maxsplit=1)[0]
        listed = _BETWEEN.split(clause)
        if len(clause) == READ:
            # The last one may have been cut in two.
            listed.pop()
        # The sentence may go on behind the last one.
        yield from takewhile(_look, (example.strip(_QUOTES) for example in listed))


def _look(example: str) -> str:
    """The pattern of what looks as an example does, "" where its look tells nothing.

    Figures stand for figures, letters for letters, capitals for capitals; signs for themselves.
    """
    if not any(map(str.isdecimal, example)) or len(example) > LONGEST:
        return ""
    # A number with decimals looks as one without. "1.2.3" is none: its signs are its own.
    example = re.sub(r"(?<![\d.,])(\d+)[.,]\d+(?![.,]?\d)", r"\1", example)
    decimals = "" if re.search("[.,]", example) else r"(?:[.,]\d++)?"
    parts = [(kind, "".join(own)) for kind, own in groupby(example, _kind)]
    return "".join(_part(kind, own, decimals) for kind, own in parts) if len(parts) >= PARTS else ""


def _kind(character: str) -> str:
    if character.isdecimal():
        return "figure"
    if character.isalnum():
        return "capital" if character in _CAPITALS else "letter"
    return "blank" if character.isspace() else character


def _part(kind: str, own: str, decimals: str) -> str:
    """What a part of an example stands for; of long numbers the count of figures is telling."""
    if kind == "figure":
        return rf"\d{{{len(own)}}}" if len(own) > 3 else rf"\d{{1,3}}{decimals}"
    if kind == "capital":
        return f"[{_CAPITALS}]++"
    if kind == "letter":
        return rf"[^\W\d_{_CAPITALS}]++"
    return "[ \u00a0]+" if kind == "blank" else re.escape(own)
