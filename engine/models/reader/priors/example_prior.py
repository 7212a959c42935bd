"""Example prior: text with the figures and signs of a schema's example is likelier a value.

With "Dosing scheme, e.g. 1-0-1" or `"examples": ["INV-2024-001"]` an example with figures shows the shape of a value,
under any label in the document. The shape of words tells nothing. It is a lexical prior for the pointers, like
`label_prior.py`.
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

#: The most characters of an example; the fewest of its parts, because "550" looks like any number; the characters that
#: are searched for several examples.
_LONGEST, _PARTS, _READ = 40, 2, 160
#: The phrases that introduce an example in a description.
_INTRODUCED = re.compile(
    r"(?<!\w)(?:e\. ?g\.|eg\.|such as|for example|for instance|z\. ?B\.|zum Beispiel|p\. ?ex\.|par exemple|"
    r"p\. ?ej\.|por ejemplo|ad es\.|ad esempio|bijv\.|bijvoorbeeld|np\.|na przykład|por exemplo)[,:]?\s+",
    re.IGNORECASE,
)
#: The end of the examples, and the separators between two of them.
_ENDED = re.compile(r"[;)\n]|\.(?=\s|$)")
_BETWEEN = re.compile(r",(?!\d)|\s(?:or|and|oder|und|ou|et|o|e|of|en|lub|i)\s")
_QUOTES = "\"'`“”‘’„«» "
_CAPITALS = "".join(c for c in map(chr, range(ord("A"), 0x530)) if c.isupper())


@lru_cache(maxsize=256)
def patterns_of(form: Form) -> Mapping[str, re.Pattern[str]]:
    """Returns the patterns of the values of fields with telling examples, by the fields' paths."""
    patterns = {}
    for slot in form.slots:
        looks = dict.fromkeys(pattern for example in _examples(slot) if (pattern := _pattern(example)))
        if looks:
            patterns[slot.path] = re.compile(rf"(?<!\w)(?:{'|'.join(looks)})(?!\w)")
    return patterns


def example_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of the fields with examples: 0 or `own`."""
    page, scores = given.page, {}
    pieces = page.columns.pieces
    for path, pattern in patterns_of(given.form).items():
        places = [pieces.at(match.start()) for match in pattern.finditer(page.text)]
        if places:
            scores[path] = np.zeros(len(pieces), np.float32)
            scores[path][places] = given.config.example_prior.own
    return PriorScores(values=scores)


def _examples(slot: Slot) -> Iterator[str]:
    """Yields the examples of a field that takes texts unchanged."""
    if not slot.free or slot.options:
        return
    yield from (str(json.loads(example)).strip() for example in slot.examples)
    for match in _INTRODUCED.finditer(slot.description):
        rest = slot.description[match.end() : match.end() + _READ]
        clause = _ENDED.split(rest, maxsplit=1)[0]
        listed = _BETWEEN.split(clause)
        if len(clause) == _READ:
            # The cut may have split the last one.
            listed.pop()
        # The sentence may continue behind the last one.
        yield from takewhile(_pattern, (example.strip(_QUOTES) for example in listed))


def _pattern(example: str) -> str:
    """Returns the pattern of texts that look like an example, or "" if its look tells nothing.

    Figures stand for figures, letters for letters, capitals for capitals; signs for themselves.
    """
    if not any(map(str.isdecimal, example)) or len(example) > _LONGEST:
        return ""
    # A number with decimals has the pattern of one without. "1.2.3" is no number: its signs stay.
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
    """Returns the pattern of a part of an example; long numbers keep their count of figures."""
    if kind == "figure":
        return rf"\d{{{len(own)}}}" if len(own) > 3 else rf"\d{{1,3}}{decimals}"
    if kind == "capital":
        return f"[{_CAPITALS}]++"
    if kind == "letter":
        return rf"[^\W\d_{_CAPITALS}]++"
    return "[ \u00a0]+" if kind == "blank" else re.escape(own)
