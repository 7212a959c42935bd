"""Values look as the examples of a schema do: what has an example's figures and signs is likelier one.

"Dosing scheme, e.g. 1-0-1", `"examples": ["INV-2024-001"]`: an example with figures tells what a value is
made of, whatever the document calls it. Words tell nothing by their shape. A lexical prior for the pointers,
as `label_prior.py` is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import groupby, takewhile

import numpy as np

from cinnabar.engine.models.reader.priors.prior import PriorInput, PriorScores
from cinnabar.schemas.form.form import Form, Slot

#: Characters of an example, at most; parts that it has at least: "550" looks like any number. Characters that
#: are looked through for several.
_LONGEST, _PARTS, _READ = 40, 2, 160
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
def patterns_of(form: Form) -> Mapping[str, re.Pattern[str]]:
    """What the values of fields with telling examples look like, by the fields' paths."""
    patterns = {}
    for slot in form.slots:
        looks = dict.fromkeys(found for example in _examples(slot) if (found := _pattern(example)))
        if looks:
            patterns[slot.path] = re.compile(rf"(?<!\w)(?:{'|'.join(looks)})(?!\w)")
    return patterns


def example_prior(given: PriorInput) -> PriorScores:
    """The scores that examples give to the fields that have some: 0 or own."""
    page, scores = given.page, {}
    pieces = page.columns.pieces
    for path, pattern in patterns_of(given.form).items():
        places = [pieces.at(match.start()) for match in pattern.finditer(page.text)]
        if places:
            scores[path] = np.zeros(len(pieces), np.float32)
            scores[path][places] = given.config.example_prior.own
    return PriorScores(values=scores)


def _examples(slot: Slot) -> Iterator[str]:
    """The examples of a field that takes texts as they stand."""
    if not slot.free or slot.options:
        return
    yield from (str(json.loads(example)).strip() for example in slot.examples)
    for match in _INTRODUCED.finditer(slot.description):
        rest = slot.description[match.end() : match.end() + _READ]
        clause = _ENDED.split(rest, maxsplit=1)[0]
        listed = _BETWEEN.split(clause)
        if len(clause) == _READ:
            # The last one may have been cut in two.
            listed.pop()
        # The sentence may go on behind the last one.
        yield from takewhile(_pattern, (example.strip(_QUOTES) for example in listed))


def _pattern(example: str) -> str:
    """The pattern of what looks as an example does, "" where its look tells nothing.

    Figures stand for figures, letters for letters, capitals for capitals; signs for themselves.
    """
    if not any(map(str.isdecimal, example)) or len(example) > _LONGEST:
        return ""
    # A number with decimals looks as one without. "1.2.3" is none: its signs are its own.
    example = re.sub(r"(?<![\d.,])(\d+)[.,]\d+(?![.,]?\d)", r"\1", example)
    decimals = "" if re.search("[.,]", example) else r"(?:[.,]\d++)?"
    parts = [(kind, "".join(own)) for kind, own in groupby(example, _kind)]
    return "".join(_part(kind, own, decimals) for kind, own in parts) if len(parts) >= _PARTS else ""


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
